"""Targets of a Gaussian process with another likelihood: counts, ordered levels, outliers, censored numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import ndtr, ndtri

from mercer.arrays import Array, Floats
from mercer.errors import InputError
from mercer.estimators.gp.laplace import FAMILIES, LaplacePosterior, LatentProblem
from mercer.estimators.gp.problem import GPParameters
from mercer.estimators.gp.search import Climb
from mercer.linalg.likelihoods import Likelihood, predictive_moments, predictive_quantile
from mercer.registry import record

#: The values of `likelihood=`.
LIKELIHOODS = ("gaussian", "student", "poisson", "negative-binomial", "ordinal", "censored")

#: The noise variance and the shape of counts that a search starts from, the first as a share of the variance of y.
NOISE_START, SHAPE_START = 0.1, 5.0


@record()
@dataclass(frozen=True)
class LatentTargets:
    """The likelihood of a fitted process with its positive parameters, and the targets it was fitted to."""

    _stored: ClassVar[dict[str, str]] = {
        "kind": "text",
        "values": "float (e,) > 0",
        "levels": "float (l,)",
        "y": "real (n,) | real (n, 2)",
        "offset": "None | float (n,)",
        "unit": "real",
        "intercept": "flag",
    }

    kind: str
    values: Floats  # (e,)
    levels: Floats  # (L,) the values of an ordered target; empty for others
    y: Array  # (n,) numbers, counts or numbers of levels; (n, 2) bounds
    offset: Floats | None  # (n,) log exposure
    unit: float  # a typical variance of the latent function
    intercept: bool

    def __post_init__(self) -> None:
        if self.kind not in LIKELIHOODS[1:] or len(FAMILIES[self.kind].names(len(self.levels))) != len(self.values):
            raise InputError(f"a likelihood {self.kind!r} cannot have {len(self.values)} parameters.")

    @property
    def likelihood(self) -> Likelihood:
        """The likelihood at the fitted parameters."""
        return FAMILIES[self.kind].make(self.values)

    def problem(self, X: Any) -> LatentProblem:
        """Return the problem of these targets on their rows."""
        center = latent_center(self) if self.intercept else 0.0
        return LatentProblem(X, self.y, self.kind, len(self.levels), self.offset, self.unit, self.intercept, center)

    def moments(self, posterior: LaplacePosterior, X: Any, offset: Any) -> tuple[Floats, Floats]:  # -> (m,), (m,)
        """Return mean and standard deviation of y at new rows."""
        mean, variance = posterior.latent(X)
        if self.kind == "ordinal":
            P = self.probabilities(mean, variance)
            center = P @ self.levels
            return center, np.sqrt(np.maximum(P @ self.levels**2 - center**2, 0.0))
        center, spread = predictive_moments(self.likelihood, mean, variance, 0.0 if offset is None else offset)
        return center, np.sqrt(spread)

    def probabilities(self, mean: Floats, variance: Floats) -> Floats:  # (m,), (m,) -> (m, L)
        """Return the probabilities of the levels of an ordered target, for a normal latent value."""
        cuts = np.concatenate([[-np.inf, 0.0], np.cumsum(self.values), [np.inf]])
        return np.diff(ndtr((cuts - mean[:, None]) / np.sqrt(1.0 + variance)[:, None]), axis=1)

    def interval(self, posterior: LaplacePosterior, X: Any, coverage: float, offset: Any) -> Floats:  # -> (m, 2)
        """Return central intervals of y: quantiles of its predictive distribution."""
        mean, variance = posterior.latent(X)
        ends = [
            predictive_quantile(self.likelihood, level, mean, variance, 0.0 if offset is None else offset)
            for level in (0.5 - coverage / 2.0, 0.5 + coverage / 2.0)
        ]
        table = np.stack(ends, axis=1)
        if self.kind == "ordinal":
            table = self.levels[np.clip(table, 0, len(self.levels) - 1).astype(np.intp)]
        return table


@dataclass(frozen=True)
class LatentFit:
    """Result of a fit with another likelihood."""

    targets: LatentTargets  # with the fitted parameters
    problem: LatentProblem
    parameters: GPParameters
    climb: Climb
    posterior: LaplacePosterior
    value: float  # the log marginal likelihood
    notes: tuple[str, ...]


def read_latent_y(what: str, kind: str, y: Any, n: int, intercept: bool) -> Array:
    """Check the targets of a likelihood; errors name the first bad row. `intercept` is whether the latent mean is free."""
    if y is None:
        raise InputError(f"{what} requires y to be passed, but the target y is None.")
    try:
        values = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{what}: y must hold numbers for likelihood={kind!r}.") from None
    if kind == "censored":
        if values.shape != (n, 2):
            raise InputError(
                f'{what}: likelihood="censored" takes y as ({n}, 2) bounds (low, high), equal if observed and infinite if '
                f"open; got shape {values.shape}."
            )
        bad = np.isnan(values).any(axis=1) | (values[:, 0] == np.inf) | (values[:, 1] == -np.inf)
        _refuse(what, bad, values, "bounds must be numbers with low < inf and high > -inf")
        _refuse(what, values[:, 0] > values[:, 1], values, "the lower bound is above the upper bound")
        _refuse_open(what, np.asarray(np.isinf(values).all(axis=0)), intercept)
        return values
    if values.shape != (n,):
        raise InputError(f"{what}: likelihood={kind!r} takes one target per row, ({n},); got shape {values.shape}.")
    _refuse(what, ~np.isfinite(values), values, "y must be finite")
    if kind in ("poisson", "negative-binomial"):
        _refuse(what, values < 0, values, "counts cannot be negative")
        _refuse(what, values != np.round(values), values, "counts must be whole numbers")
        if intercept and not values.any():
            raise InputError(
                f"{what}: every count in y is 0, which does not determine a mean rate; collect more rows, or give "
                'mean="zero" for a rate near 1.'
            )
    return values


def _refuse(what: str, bad: Array, values: Array, rule: str) -> None:
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(f"{what}: row {row} of y is {values[row].tolist()}: {rule}.")


def _refuse_open(what: str, none: Array, intercept: bool) -> None:
    """Raise if no lower bounds or no upper bounds are known (``none``, one flag for each) and a mean needs them."""
    if none.all():
        raise InputError(f"{what}: no bound in y is finite, so y says nothing about the values.")
    if intercept and none.any():
        side, known = ("upper", "lower") if none[1] else ("lower", "upper")
        raise InputError(
            f"{what}: no {side} bound in y is finite, and {known} bounds alone do not determine a mean; add rows with "
            f'{side} bounds or observed values, or give mean="zero".'
        )


def latent_targets(kind: str, y: Array, offset: Floats | None, noise: float | None, intercept: bool) -> LatentTargets:
    """Return the targets with the starts of the likelihood's parameters, taken from the data."""
    levels = np.empty(0)
    if kind == "ordinal":
        levels, codes = np.unique(y, return_inverse=True)
        if len(levels) < 2:
            raise InputError(f'likelihood="ordinal" needs at least two levels; y is {levels[0]:g} in every row.')
        y, unit = codes.astype(np.float64), 1.0
        below = np.cumsum(np.bincount(codes)) / len(codes)
        values = np.diff(ndtri(below[:-1]) * np.sqrt(1.0 + unit))
    elif kind in ("poisson", "negative-binomial"):
        unit = max(float(np.var(np.log(y + 0.5) - (0.0 if offset is None else offset))), 0.1)
        values = np.array([SHAPE_START] if kind == "negative-binomial" else [])
    else:
        known = y[np.isfinite(y)] if kind == "censored" else y
        spread = float(np.subtract(*np.quantile(known, [0.75, 0.25]))) / 1.349 if known.size else 1.0
        unit = spread**2 if spread > 0 else float(np.var(known)) or 1.0
        values = np.array([NOISE_START * unit if noise is None else noise])
    return LatentTargets(kind, values, levels, y, offset, unit, intercept)


def latent_center(targets: LatentTargets) -> float:
    """Return a first constant latent mean."""
    y = targets.y
    if targets.kind in ("poisson", "negative-binomial"):
        exposure = len(y) if targets.offset is None else float(np.exp(targets.offset).sum())
        return float(np.log((y.sum() + 0.5) / exposure))
    if targets.kind == "ordinal":
        return -float(ndtri(np.clip(np.mean(y == 0), 1e-3, 1.0 - 1e-3))) * float(np.sqrt(1.0 + targets.unit))
    known = y[np.isfinite(y)]
    return float(np.median(known)) if known.size else 0.0
