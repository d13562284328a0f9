"""Ridge with an intercept for table models: choice of the penalty, and fits with residuals of left-out rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as la

from mercer.arrays import Floats, Indices
from mercer.errors import NumericalError
from mercer.grams.dual_function import DualFunction
from mercer.grams.low_rank import landmark_features, low_rank, rows_drawn
from mercer.inputs import as_rows
from mercer.kernels.base import Kernel
from mercer.linalg.ridge.dual import DualFit, solve_dual
from mercer.linalg.ridge.eigen import EigenFit, EigenPath
from mercer.linalg.ridge.held_out import held_out_groups
from mercer.linalg.ridge.primal import solve_primal

#: Penalties that are tried, half decades apart, times the mean of k(x, x).
ALPHAS = 10.0 ** np.arange(-6.0, 2.01, 0.5)

#: From this many rows on, the penalty is judged by the errors of a third of them.
FEWER = 900

#: Rows whose features by landmarks are held at a time.
BLOCK = 8192

#: Residual of a left-out row whose fit the other rows do not determine; sums of its fourth powers are finite.
UNDETERMINED = 1e50


@dataclass(frozen=True)
class LeaveOneOutFit:
    """A ridge solution: its penalty, coefficients, and leave-one-out residuals."""

    alpha: float
    dual: Floats  # (n, t)
    intercept: Floats  # (t,)
    residuals: Floats  # (n, t)
    weights: Floats | None = None  # (n,)

    @property
    def error(self) -> float:
        """Mean squared leave-one-out residual."""
        return mean_square(self.residuals, self.weights)


def mean_square(residuals: Floats, weights: Floats | None) -> float:  # (n, t), (n,)
    """Return the mean of squared residuals over rows by their weights, and over targets."""
    if weights is None:
        return float(np.mean(residuals**2))
    return float(np.average(np.mean(residuals**2, axis=1), weights=weights))


def solve(
    K: Floats, Y: Floats, alpha: float, weights: Floats | None = None
) -> LeaveOneOutFit | None:  # (n, n), (n, t), number, (n,)
    """Return ridge with intercept and leave-one-out residuals; None if K + alpha I is not numerically positive definite."""
    found = _solved(K, Y, alpha, weights)
    if found is None:
        return None
    # the only row has no leave-one-out residual
    residuals = found.leave_one_out() if len(K) > 1 else Y - found.intercept
    return LeaveOneOutFit(alpha, found.value, found.intercept, residuals, weights) if np.isfinite(residuals).all() else None


def choose(K: Floats, Y: Floats, start: float | None = None, weights: Floats | None = None) -> LeaveOneOutFit:
    """Return the fit of the smallest leave-one-out error on a grid of half decades, by descent from `start`."""
    known: dict[float, LeaveOneOutFit | None] = {}

    def error(alpha: float) -> float:
        found = known[alpha] = solve(K, Y, alpha, weights)
        return np.inf if found is None else found.error

    found = known[_descend(K, error, start)]
    assert found is not None
    return found


def penalty(K: Floats, Y: Floats, start: float | None = None, weights: Floats | None = None) -> float:
    """Return the penalty that `choose` finds; with many rows by the errors of the last third, at half the cost."""
    if len(K) < FEWER:
        return choose(K, Y, start, weights).alpha
    last = np.arange(len(K) // 3)
    of_last = None if weights is None else weights[len(K) - len(last) :]

    def error(alpha: float) -> float:
        found = _solved(K, Y, alpha, weights)
        return np.inf if found is None else float(np.nan_to_num(mean_square(found.held_out_last(last), of_last), nan=np.inf))

    return _descend(K, error, start)


def _solved(K: Floats, Y: Floats, alpha: float, weights: Floats | None = None, overwrite: bool = False) -> DualFit | None:
    try:
        found = solve_dual(K, Y, alpha, weights=weights, fit_intercept=True, overwrite=overwrite)
    except NumericalError:
        return None
    return None if found.jitter or not np.isfinite(found.value).all() else found


def _descend(K: Floats, error_at: Callable[[float], float], start: float | None) -> float:
    """Return the penalty of a local minimum; without a start, by double steps of the grid first."""
    unit = float(np.trace(K)) / len(K) or 1.0
    grid = unit * ALPHAS
    known: dict[int, float] = {}

    def error(i: int) -> float:
        if not 0 <= i < len(grid):
            return np.inf
        if i not in known:
            known[i] = error_at(float(grid[i]))
        return known[i]

    place = len(grid) // 2 if start is None else int(np.argmin(np.abs(np.log(grid / start))))
    step = 2 if start is None else 1
    while True:
        errors = [error(place - step), error(place), error(place + step)]
        best = int(np.argmin(errors))
        if not np.isfinite(errors[best]):
            if place + step >= len(grid):
                raise NumericalError("the Gram matrix is not finite or far from positive semi-definite; check the kernel.")
            place += step
        elif best != 1:
            place += (best - 1) * step
        elif step == 1:
            return float(grid[place])
        else:
            step = 1


def errors_of(K: Floats, Y: Floats, alphas: Floats, weights: Floats | None = None) -> Floats:  # (n, n), (n, t), (a,) -> (a,)
    """Return the mean squared leave-one-out errors of several penalties, from one eigendecomposition."""
    path = EigenPath.from_gram(K, weights=weights, fit_intercept=True)
    residuals = EigenFit(path, Y).leave_one_out(alphas)
    if weights is None:
        errors = np.mean(residuals.reshape(len(alphas), -1) ** 2, axis=1)
    else:
        errors = np.array([mean_square(part, weights) for part in residuals])
    return np.asarray(np.where(np.isnan(errors), np.inf, errors))


def least_residuals(K: Floats, Y: Floats) -> Floats:  # (n, n), (n, t) -> (n, t)
    """Return the leave-one-out residuals of the penalty with the smallest error, from one eigendecomposition."""
    alphas = (float(np.trace(K)) / len(K) or 1.0) * ALPHAS
    residuals = EigenFit(EigenPath.from_gram(K, fit_intercept=True), Y).leave_one_out(alphas)  # (a, n, t)
    errors = np.mean(residuals**2, axis=(1, 2))
    return np.asarray(np.nan_to_num(residuals[int(np.argmin(np.where(np.isnan(errors), np.inf, errors)))]))


def smallest_error(K: Floats, Y: Floats, weights: Floats | None = None) -> float:  # (n, n), (n, t)
    """Return the smallest leave-one-out error over all penalties of the grid."""
    return float(errors_of(K, Y, (float(np.trace(K)) / len(K) or 1.0) * ALPHAS, weights).min())


def fit(
    kernel: Kernel, X: Any, Y: Floats, alpha: float, n_landmarks: int | None = None, seed: int = 0,
    weights: Floats | None = None,
) -> DualFunction:  # fmt: skip
    """Return ridge with a given penalty on all rows: exact, or in the span of landmarks from pivoted Cholesky."""
    return fit_and_leave_out(kernel, X, Y, alpha, np.empty(0, dtype=np.intp), n_landmarks, seed, weights)[0]


def fit_and_leave_out(
    kernel: Kernel, X: Any, Y: Floats, alpha: float, groups: Indices, n_landmarks: int | None = None, seed: int = 0,
    weights: Floats | None = None,
) -> tuple[DualFunction, Floats]:  # (n, d), (n, t), number, (m,), (n,) -> f, (m, t)  # fmt: skip
    """Return the fit, and the residuals of the last m rows when each is left out together with those of its group."""
    if n_landmarks is not None:
        return _by_landmarks(kernel, X, Y, alpha, n_landmarks, seed, groups, weights)
    found = _solved(np.asarray(kernel(X), dtype=np.float64), Y, alpha, weights, overwrite=True)
    if found is None:
        raise NumericalError(f"K + alpha I is not numerically positive definite with alpha = {alpha:.3g}; raise alpha.")
    function = DualFunction(kernel, as_rows(X).data, found.value, found.intercept, alpha)
    return function, _finite(found.held_out_last(groups))


def _by_landmarks(
    kernel: Kernel, X: Any, Y: Floats, alpha: float, count: int, seed: int, groups: Indices, weights: Floats | None
) -> tuple[DualFunction, Floats]:
    """Return the fit in the span of landmarks; with many rows their features are made block by block and not kept."""
    rows, rng = as_rows(X), np.random.default_rng(seed)
    n = len(rows)
    first = n - len(groups)
    if n <= rows_drawn(n, count):
        found = low_rank(kernel, rows, count, rng=rng)
        own, last = found.features, found.factor[first:]
        fitted = solve_primal([(found.factor, Y, weights)], alpha, fit_intercept=True)
    else:
        own = landmark_features(kernel, rows.data, count, rng)[0]
        parts = [slice(start, min(start + BLOCK, n)) for start in range(0, n, BLOCK)]
        blocks = ((own(rows.take(p).data), Y[p], None if weights is None else weights[p]) for p in parts)
        fitted = solve_primal(blocks, alpha, fit_intercept=True)
        last = own(rows.take(slice(first, n)).data) if len(groups) else np.empty((0, own.n_components))
    function = DualFunction(kernel, own.landmarks, own.expansion(fitted.value), fitted.intercept, alpha, own.index)
    residuals = Y[first:] - fitted.predict(last)
    half = la.solve_triangular(fitted.factor.matrix, (last - fitted.mean).T, lower=True, check_finite=False)
    if weights is None:
        return function, _finite(held_out_groups(np.eye(len(groups)) - half.T @ half - 1.0 / n, residuals, groups))
    root = np.sqrt(weights[first:])  # the leverages of rows multiplied by the roots of their weights
    block = np.eye(len(groups)) - root[:, None] * (half.T @ half + 1.0 / float(weights.sum())) * root
    return function, _finite(held_out_groups(block, root[:, None] * residuals, groups) / root[:, None])


def _finite(residuals: Floats) -> Floats:
    """Return residuals with a huge one for each row whose fit the other rows do not determine: such a fit is not chosen."""
    return np.where(np.isnan(residuals), UNDETERMINED, residuals)
