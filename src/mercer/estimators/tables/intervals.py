"""Conformal intervals whose width varies over x, with the spread of the residuals and with the size of the prediction.

The *spread* is a model of the size of the residuals over the columns; the *groups* are quantiles of the residuals among rows
with similar predictions. Each is used only if held-out residuals support it: the spread if it gives better interval scores
than a constant width, the groups if one quantile for all rows covers them unevenly. If the noise is the same everywhere, a
varying width only adds noise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import chdtri

from mercer.arrays import Floats, Indices
from mercer.errors import InputError
from mercer.estimators.intervals import conformal_radius
from mercer.estimators.local_intervals import calibrate as calibrate_near
from mercer.estimators.local_intervals import check_rows
from mercer.estimators.tables import ridge
from mercer.estimators.tables.learned_metrics import with_length_scale
from mercer.estimators.tables.search import some
from mercer.grams.dual_function import DualFunction
from mercer.inputs import Rows
from mercer.kernels.base import Kernel
from mercer.kernels.stationary import Laplacian
from mercer.registry import record
from mercer.selection.folds import random_folds, row_groups

#: The spread is clipped to these multiples of its mean.
NARROWEST, WIDEST = 0.2, 5.0

#: Groups of similar predictions, the smallest size of one, and the parts of one through which the line goes; the coverage at
#: which both choices are made; folds of the choice of the spread; significance level of the choice of groups.
GROUPS, SMALLEST, PARTS, COVERAGE, FOLDS, DOUBT = 5, 100, 2, 0.9, 5, 0.2

#: Held-out predictions form groups only if their standard deviation is this many times what one row moves a mean.
APART = 20.0


@record()
@dataclass(frozen=True)
class Calibration:
    """Held-out residuals divided by the spread expected at their rows, the model of the spread, and the predictions."""

    _stored: ClassVar[dict[str, str]] = {
        "scores": "float (m,)",
        "spread": "None | a DualFunction",
        "center": "float",
        "predictions": "None | float (m,)",
        "groups": "int > 0 < m+1",
        "rows": "None | absent | rows m",
        "weights": "None | absent | float (m,)",
    }

    scores: Floats  # (m,) |residual| / spread
    spread: DualFunction | None  # of the logarithm of |residual|; None for a constant width
    center: float  # mean of that logarithm
    predictions: Floats | None = None  # (m,) held-out predictions; None: the quantile does not depend on them
    groups: int = 1
    weights: Floats | None = None  # (m,) of the residuals; None if all are equal
    rows: Any = None  # (m rows) encoded rows of the scores; None in files of older versions

    def width(self, Z: Any) -> Floats:  # -> (n,)
        """Return the expected spread at new rows, in units of its mean."""
        if self.spread is None:
            return np.ones(len(Z))
        return np.clip(np.exp(self.spread.predict(Z)[:, 0] - self.center), NARROWEST, WIDEST)

    def radius(self, predictions: Floats, coverage: float) -> Floats:  # (n,) -> (n,)
        """Return the conformal quantile of the scores at new predictions, in units of the spread there."""
        if self.predictions is None:
            return np.full(len(predictions), conformal_radius(self.scores, coverage, self.weights))
        return grouped(self.scores, self.predictions, self.groups, predictions, coverage, self.weights)

    def local_radius(self, Z: Any, coverage: float, shift: Any) -> Floats:  # (n rows) -> (n,)
        """Return thresholds of the scores near each new row, in units of the spread there; `shift` None: its kernel."""
        if self.rows is None or self.weights is not None:
            why = "was written by an older version" if self.rows is None else "was fitted with sample_weight"
            raise InputError(
                f'method="local": the model {why} and keeps no rows for it; use ConformalRegressor(model, shift) with '
                "calibration rows."
            )
        own = Laplacian("median") if self.spread is None else self.spread.kernel
        check_rows('TableRegressor: method="local"', len(self.scores), coverage)
        found = calibrate_near(own if shift is None else shift, self.rows, self.scores, "auto", coverage, outside=False)
        return found.thresholds(Z, coverage)


def grouped(
    scores: Floats, at: Floats, groups: int, new: Floats, coverage: float, weights: Floats | None = None
) -> Floats:  # (m,), (m,), number, (n,), number, (m,) -> (n,)
    """Return conformal quantiles of scores among rows with similar predictions `at`, at new predictions.

    A line through the quantiles of smaller parts gives their shape. Divided by it, the scores of each group have a conformal
    quantile of their own, so that every group is covered: local conformal intervals for a kernel that compares the groups.
    """
    line = _line(scores, at, groups, coverage, weights)
    relative, ordered = scores / line(at), np.sort(at)
    ends = np.unique([part[-1] for part in np.array_split(ordered, groups)])
    own, other = (np.searchsorted(ends[ends < ordered[-1]], values) for values in (at, new))
    factors = np.array(
        [conformal_radius(relative[own == k], coverage, some(weights, own == k)) for k in range(int(own.max()) + 1)]
    )
    if not np.isfinite(factors).all():  # too few rows in a group for this coverage
        factors[:] = conformal_radius(relative, coverage, weights)
    return np.asarray(factors[other] * line(new))


def _line(scores: Floats, at: Floats, groups: int, coverage: float, weights: Floats | None) -> Callable[[Floats], Floats]:
    """Return the line through quantiles of parts with similar predictions, or 1 if the parts are too small for them."""
    order = np.argsort(at, kind="stable")
    for count in (PARTS * groups, groups):
        parts = np.array_split(order, count)
        levels = np.array([conformal_radius(scores[part], coverage, some(weights, part)) for part in parts])
        if np.isfinite(levels).all() and levels.min() > 0.0:
            middles = np.array([np.median(at[part]) for part in parts])
            return lambda values: np.asarray(np.interp(values, middles, levels))
    return np.ones_like


def calibrate(
    residuals: Floats, predictions: Floats, Z: Rows, kernel: Kernel | None, weights: Floats | None = None,
    groups: Indices | None = None,
) -> Calibration:  # fmt: skip
    """Return the calibration from held-out residuals (m,) and predictions (m,) at rows Z.

    Spreads are those of fits without the row, and without the rows of its group (m,): by default rows equal to it, whose
    residuals are nearly its own.
    """
    sizes = np.abs(residuals)
    typical = float(np.median(sizes))
    if typical == 0.0 or len(sizes) < 30:
        return Calibration(sizes, None, 0.0, weights=weights, rows=Z.data)
    logs = np.log(sizes + 0.1 * typical)[:, None]
    if kernel is None:
        kernel = with_length_scale(Laplacian("median"), Z, logs, None, weights)[0]
    fit = ridge.choose(np.asarray(kernel(Z), dtype=np.float64), logs, 1.0, weights)
    center = float(logs.mean())
    groups = row_groups(Z.data) if groups is None else groups
    left_out = fit.residuals
    if len(np.unique(groups)) < len(groups):
        left_out = ridge.fit_and_leave_out(kernel, Z, logs, fit.alpha, groups, weights=weights)[1]
    # a group that the other rows do not determine has a residual without bound: the mean spread
    left_out = np.where(np.abs(left_out) < ridge.UNDETERMINED, left_out, logs - center)
    without = np.clip(np.exp((logs - left_out)[:, 0] - center), NARROWEST, WIDEST)
    varies = _varies(sizes, without)
    spread = DualFunction(kernel, Z.data, fit.dual, fit.intercept, fit.alpha) if varies else None
    scores = sizes / without if varies else sizes
    # leaving out a group of size g moves the mean by its residuals * g / n: such predictions only repeat the residual
    moved = float(np.sqrt(np.mean(residuals**2))) / len(np.unique(groups))
    count = _groups(scores, predictions) if np.std(predictions) > APART * moved else 1
    return Calibration(scores, spread, center, predictions if count > 1 else None, count, weights, Z.data)


def _varies(sizes: Floats, spread: Floats) -> bool:
    """Return whether the spread gives better interval scores than a constant width, by more than a standard error.

    The score of a residual is the width plus 2 / (1 - coverage) times its excess; radii come from the other folds.
    """
    fold = random_folds(len(sizes), FOLDS, np.random.default_rng(0))
    better = np.zeros_like(sizes)
    for unit, sign in ((spread, -1.0), (np.ones_like(sizes), 1.0)):
        scores = sizes / unit
        radius = unit * np.array([conformal_radius(scores[fold != k], COVERAGE) for k in range(FOLDS)])[fold]
        better += sign * (2.0 * radius + 2.0 / (1.0 - COVERAGE) * np.maximum(sizes - radius, 0.0))
    return bool(better.mean() > better.std() / np.sqrt(len(sizes)))


def _groups(scores: Floats, predictions: Floats) -> int:
    """Return the number of groups: more than 1 if one quantile covers fifths of the predictions unevenly (chi-square)."""
    if len(scores) < GROUPS * SMALLEST:
        return 1
    inside = scores <= conformal_radius(scores, COVERAGE)
    parts = np.array_split(np.argsort(predictions, kind="stable"), GROUPS)
    share = inside.mean()
    if share == 1.0:  # all scores are equal
        return 1
    distance = sum(len(part) * (inside[part].mean() - share) ** 2 for part in parts) / (share * (1.0 - share))
    return GROUPS if distance > chdtri(GROUPS - 1, DOUBT) else 1


def interval(found: Calibration, widths: Floats, coverage: float, center: Floats) -> Floats:  # (n,), number, (n,) -> (n, 2)
    """Return center -+ the conformal quantile of the scores at the new predictions times the spread at the new rows."""
    if not 0.0 < coverage < 1.0:
        raise InputError(f"coverage must lie between 0 and 1; got {coverage!r}.")
    radius = found.radius(center, coverage) * widths
    return np.column_stack([center - radius, center + radius])
