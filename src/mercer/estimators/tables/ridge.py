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
from mercer.grams.low_rank import low_rank
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

#: Residual of a left-out row whose fit the other rows do not determine; sums of its fourth powers are finite.
UNDETERMINED = 1e50


@dataclass(frozen=True)
class LeaveOneOutFit:
    """A ridge solution: its penalty, coefficients, and leave-one-out residuals."""

    alpha: float
    dual: Floats  # (n, t)
    intercept: Floats  # (t,)
    residuals: Floats  # (n, t)

    @property
    def error(self) -> float:
        """Mean squared leave-one-out residual."""
        return float(np.mean(self.residuals**2))


def solve(K: Floats, Y: Floats, alpha: float) -> LeaveOneOutFit | None:  # (n, n), (n, t)
    """Return ridge with intercept and leave-one-out residuals; None if K + alpha I is not numerically positive definite."""
    found = _solved(K, Y, alpha)
    if found is None:
        return None
    # the only row has no leave-one-out residual
    residuals = found.leave_one_out() if len(K) > 1 else Y - found.intercept
    return LeaveOneOutFit(alpha, found.value, found.intercept, residuals) if np.isfinite(residuals).all() else None


def choose(K: Floats, Y: Floats, start: float | None = None) -> LeaveOneOutFit:
    """Return the fit of the smallest leave-one-out error on a grid of half decades, by descent from `start`."""
    known: dict[float, LeaveOneOutFit | None] = {}

    def error(alpha: float) -> float:
        found = known[alpha] = solve(K, Y, alpha)
        return np.inf if found is None else found.error

    found = known[_descend(K, error, start)]
    assert found is not None
    return found


def penalty(K: Floats, Y: Floats, start: float | None = None) -> float:
    """Return the penalty that `choose` finds; with many rows by the errors of the last third, at half the cost."""
    if len(K) < FEWER:
        return choose(K, Y, start).alpha
    last = np.arange(len(K) // 3)

    def error(alpha: float) -> float:
        found = _solved(K, Y, alpha)
        return np.inf if found is None else float(np.nan_to_num(np.mean(found.held_out_last(last) ** 2), nan=np.inf))

    return _descend(K, error, start)


def _solved(K: Floats, Y: Floats, alpha: float, overwrite: bool = False) -> DualFit | None:
    try:
        found = solve_dual(K, Y, alpha, fit_intercept=True, overwrite=overwrite)
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


def errors_of(K: Floats, Y: Floats, alphas: Floats) -> Floats:  # (n, n), (n, t), (a,) -> (a,)
    """Return the mean squared leave-one-out errors of several penalties, from one eigendecomposition."""
    path = EigenPath.from_gram(K, fit_intercept=True)
    residuals = EigenFit(path, Y).leave_one_out(alphas).reshape(len(alphas), -1)
    errors = np.mean(residuals**2, axis=1)
    return np.asarray(np.where(np.isnan(errors), np.inf, errors))


def least_residuals(K: Floats, Y: Floats) -> Floats:  # (n, n), (n, t) -> (n, t)
    """Return the leave-one-out residuals of the penalty with the smallest error, from one eigendecomposition."""
    alphas = (float(np.trace(K)) / len(K) or 1.0) * ALPHAS
    residuals = EigenFit(EigenPath.from_gram(K, fit_intercept=True), Y).leave_one_out(alphas)  # (a, n, t)
    errors = np.mean(residuals**2, axis=(1, 2))
    return np.asarray(np.nan_to_num(residuals[int(np.argmin(np.where(np.isnan(errors), np.inf, errors)))]))


def smallest_error(K: Floats, Y: Floats) -> float:  # (n, n), (n, t)
    """Return the smallest leave-one-out error over all penalties of the grid."""
    return float(errors_of(K, Y, (float(np.trace(K)) / len(K) or 1.0) * ALPHAS).min())


def fit(kernel: Kernel, X: Any, Y: Floats, alpha: float, n_landmarks: int | None = None, seed: int = 0) -> DualFunction:
    """Return ridge with a given penalty on all rows: exact, or in the span of landmarks from pivoted Cholesky."""
    return fit_and_leave_out(kernel, X, Y, alpha, np.empty(0, dtype=np.intp), n_landmarks, seed)[0]


def fit_and_leave_out(
    kernel: Kernel, X: Any, Y: Floats, alpha: float, groups: Indices, n_landmarks: int | None = None, seed: int = 0
) -> tuple[DualFunction, Floats]:  # (n, d), (n, t), number, (m,) -> f, (m, t)
    """Return the fit, and the residuals of the last m rows when each is left out together with those of its group."""
    if n_landmarks is not None:
        return _by_landmarks(kernel, X, Y, alpha, n_landmarks, seed, groups)
    found = _solved(np.asarray(kernel(X), dtype=np.float64), Y, alpha, overwrite=True)
    if found is None:
        raise NumericalError(f"K + alpha I is not numerically positive definite with alpha = {alpha:.3g}; raise alpha.")
    function = DualFunction(kernel, as_rows(X).data, found.value, found.intercept, alpha)
    return function, _finite(found.held_out_last(groups))


def _by_landmarks(
    kernel: Kernel, X: Any, Y: Floats, alpha: float, count: int, seed: int, groups: Indices
) -> tuple[DualFunction, Floats]:
    found = low_rank(kernel, X, count, rng=np.random.default_rng(seed))
    F, own = found.factor, found.features
    fitted = solve_primal([(F, Y)], alpha, fit_intercept=True)
    function = DualFunction(kernel, own.landmarks, own.expansion(fitted.value), fitted.intercept, alpha, own.index)
    last, Y_last = F[len(F) - len(groups) :], Y[len(F) - len(groups) :]
    half = la.solve_triangular(fitted.factor.matrix, (last - fitted.mean).T, lower=True, check_finite=False)
    block = np.eye(len(groups)) - half.T @ half - 1.0 / len(F)
    return function, _finite(held_out_groups(block, Y_last - fitted.predict(last), groups))


def _finite(residuals: Floats) -> Floats:
    """Return residuals with a huge one for each row whose fit the other rows do not determine: such a fit is not chosen."""
    return np.where(np.isnan(residuals), UNDETERMINED, residuals)
