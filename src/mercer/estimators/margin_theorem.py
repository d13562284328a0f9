"""The margin theorem, with constants: bounds for new rows from the margins of a linear function on a sample.

For the class {f = <w, phi> + b : ||w|| <= A, |b| <= B} the empirical Rademacher complexity on m rows is at most
A sqrt(tr K) / m + B / sqrt(m). For a fixed class, with probability at least 1 - delta over the rows, every f in it has

    P(y f(x) <= 0) <= share of rows with y f(x) < 1 + 2 (A sqrt(tr K) / m + B / sqrt(m)) + 3 sqrt(ln(2 / delta) / (2 m))

(Koltchinskii and Panchenko, 2002; Bartlett and Mendelson, 2002). f may be divided by any number: divided by rho ||w||, it is
a function with A = 1 / rho, and the share is that of the rows nearer to the hyperplane than rho, or on the wrong side. For
a rho named beforehand that is all. For one that was found on the rows, and for a bias, A = 2^i and B = 2^j run over all
whole i and j, each with its part delta p_i p_j, p_i = 2 / (3 (|i| + 1) (|i| + 2)), which add up to delta.

How f was found does not matter. The rows must be drawn independently, and the kernel must not have been chosen by looking
at them.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from mercer import geometry
from mercer.arrays import Array
from mercer.errors import InputError, describe
from mercer.estimators.definiteness import NotAKernelWarning, known_psd
from mercer.grams.dual_function import DualFunction, HasDualFunction
from mercer.inputs import count, take
from mercer.kernels.base import Kernel

#: Exponents i of 2^-i, the margins over which the bound is minimized; beyond them it is vacuous for any real data.
EXPONENTS = np.arange(-30.0, 31.0)
NORMS = 2.0**EXPONENTS

#: Rows on which the decision of a model is compared with its expansion.
COMPARED = 32


@dataclass(frozen=True)
class MarginBound:
    """P(error on a new row) <= value = min(1, loss + complexity + confidence), with probability 1 - delta."""

    value: float
    rho: float  # the distance from the hyperplane
    loss: float  # share of rows nearer than rho, or on the wrong side
    complexity: float  # 2 / rho (sqrt(tr K) / m + B / sqrt(m))
    confidence: float  # 3 sqrt(ln(2 / part) / (2 m))
    delta: float
    n_rows: int

    def __str__(self) -> str:
        return (
            f"error <= {self.value:.4g} with probability {1 - self.delta:g}: {self.loss:.4g} of {self.n_rows} rows within "
            f"{self.rho:.4g} of the boundary, {self.complexity:.4g} for the class of functions, {self.confidence:.4g} for "
            "chance"
        )


def margin_bound(model: Any, X: Any, y: Any, *, rho: float | None = None, delta: float = 0.05) -> MarginBound:
    """Return a bound of the error of a fitted classifier of two classes from its margins on the rows X, y.

    The model is any f(x) = <w, phi(x)> + b: KernelPerceptron, NearestMean, KernelRidgeClassifier, SVC, or KernelRidge on the
    numbers -1 and 1. `rho` is a distance named beforehand; without it the best one is taken, and paid for.

    >>> import numpy as np
    >>> from mercer import Gaussian, NearestMean, margin_bound
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 2000)
    >>> X = rng.normal(size=(4000, 2)) + 3.0 * y[:, None]
    >>> model = NearestMean(Gaussian(3.0)).fit(X, y)
    >>> bound = margin_bound(model, X, y, rho=0.25)
    >>> bool(bound.loss <= bound.value < 0.6), bool(margin_bound(model, X, y).value >= bound.loss)
    (True, True)
    """
    if not 0.0 < delta < 1.0:
        raise InputError(f"margin_bound: delta must lie between 0 and 1, such as 0.05; got {delta!r}.")
    if rho is not None and not (math.isfinite(rho) and rho > 0):
        raise InputError(f"margin_bound: rho is a distance, a finite number > 0; got {rho!r}.")
    f = _one_function(model)
    bias = float(f.intercept)
    _check_kernel(f.kernel, X)
    norm, m = geometry.norm(f.kernel, f.X, f.dual), count(X)
    if norm == 0.0:
        return MarginBound(1.0, math.nan, 1.0, math.nan, math.nan, delta, m)
    ordered = np.sort(_signs(model, y, m) * _values(model, f, X)) / norm
    trace = float(np.asarray(f.kernel.diag(X), dtype=np.float64).sum())
    free = bias != 0.0 or getattr(model, "fit_intercept", True)  # False: the class has no bias, whatever the data
    found = [_at(ordered, float(r), bias / norm, free, trace, part) for r, part in _margins(rho, delta)]
    value, r, loss, complexity, confidence = min(found)
    return MarginBound(min(value, 1.0), r, loss, complexity, confidence, delta, m)


def _margins(rho: float | None, delta: float) -> list[tuple[float, float]]:
    """Distances and the part of delta that each may spend."""
    if rho is not None:
        return [(rho, delta)]
    return [(float(1.0 / A), float(delta * p)) for A, p in zip(NORMS, _PARTS, strict=True)]


def _at(
    ordered: Array, rho: float, bias: float, free: bool, trace: float, part: float
) -> tuple[float, float, float, float, float]:  # ordered distances (m,)
    """(bound, rho, loss, complexity, confidence) at one distance."""
    m, loss = len(ordered), float(np.searchsorted(ordered, rho) / len(ordered))
    j = math.ceil(math.log2(max(abs(bias) / rho, NORMS[0]))) if free else 0
    complexity = 2.0 * (math.sqrt(max(trace, 0.0)) / (rho * m) + (2.0**j / math.sqrt(m) if free else 0.0))
    confidence = 3.0 * math.sqrt(math.log(2.0 / (part * (float(_part(np.asarray(j))) if free else 1.0))) / (2.0 * m))
    return loss + complexity + confidence, rho, loss, complexity, confidence


def _one_function(model: Any) -> DualFunction:
    """The single function of a model of two classes, with coefficients (n,)."""
    if not isinstance(model, HasDualFunction):
        raise InputError(f"margin_bound: a fitted model sum_i a_i k(x_i, x) + b is needed; got {describe(model)}.")
    found = model.dual_function()
    dual, intercept = found.columns()
    if len(intercept) != 1 or len(_classes(model)) != 2:
        raise InputError("margin_bound: the theorem is about one function of two classes; fit one pair of classes.")
    return replace(found, dual=dual[:, 0], intercept=intercept[0])


def _classes(model: Any) -> Array:
    """The classes of a classifier; -1 and 1 for a regressor on these numbers."""
    return np.asarray(model.classes_) if is_classifier(model) else np.array([-1, 1])


def _check_kernel(kernel: Kernel, X: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotAKernelWarning)
        known = known_psd(kernel, X, "margin_bound")
    if not known:
        raise InputError(
            f"margin_bound: {kernel} is not known to be a kernel, and the theorem is about inner products. k.certificate() "
            'gives the details; k.repaired(X, method="clip") is a kernel near it.'
        )


def _signs(model: Any, y: Any, m: int) -> Array:  # -> (m,)
    classes, labels = _classes(model), np.asarray(y)
    if labels.shape != (m,) or not np.isin(labels, classes).all():
        raise InputError(f"margin_bound: {m} labels are needed, each {classes[0]!r} or {classes[1]!r}; got {describe(y)}.")
    return np.where(labels == classes[1], 1.0, -1.0)


def _values(model: Any, f: DualFunction, X: Any) -> Array:  # -> (m,)
    """f on the rows; raises if the model decides by something else, such as a vote."""
    values = f.predict(X)
    few = np.arange(min(len(values), COMPARED))
    decide = model.decision_function if is_classifier(model) else model.predict
    if not np.allclose(decide(take(X, few)), values[few], rtol=1e-3, atol=1e-6 * float(np.abs(values).max())):
        raise InputError(
            f"margin_bound: {type(model).__name__} does not decide by the sign of sum_i a_i k(x_i, x) + b; its decision may "
            "be a vote."
        )
    return values


def losses_at(ordered: Array, norm: float) -> Array:  # (m,) -> (e,)
    """The share of rows with y f < rho = norm / 2^i, for every exponent: f / rho has ||w|| = 2^i."""
    if not (norm > 0 and math.isfinite(norm)):
        return np.ones(len(EXPONENTS))
    return np.searchsorted(ordered, norm / NORMS) / len(ordered)


def least_bounds(
    losses: Array, m: Array, norm: Array, bias: Array, trace: Array, delta: float
) -> tuple[Array, Array, Array]:  # (e, P), four of (P,) -> three of (P,)
    """The smallest bound of every function, its distance, and its loss; 1, 0 and 1 where none is below 1."""
    A = NORMS[:, None]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # w = 0: no bound below 1; fmin and fmax take the number where the other is none
        B = np.fmax(np.fmin(np.abs(bias) * A / norm, 2.0**500), NORMS[0])
    j = np.ceil(np.log2(B))
    complexity = A * np.sqrt(trace) / m + 2.0**j / np.sqrt(m)
    part = delta * _PARTS[:, None] * _part(j)
    bounds = losses + 2.0 * complexity + 3.0 * np.sqrt(np.log(2.0 / part) / (2.0 * m))
    best = np.argmin(bounds, axis=0), np.arange(bounds.shape[1])
    informative = bounds[best] < 1.0
    return (
        np.where(informative, bounds[best], 1.0),
        np.where(informative, 1.0 / A[best[0], 0], 0.0),
        np.where(informative, losses[best], 1.0),
    )


def _part(i: Array) -> Array:
    """p_i = 2 / (3 (|i| + 1) (|i| + 2)), which add up to 1 over all whole numbers."""
    return 2.0 / (3.0 * (np.abs(i) + 1.0) * (np.abs(i) + 2.0))


_PARTS = _part(EXPONENTS)
