"""Ridge on a Gram matrix with an intercept, and its exact leave-one-out errors: what every step of a metric needs."""

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
from mercer.kernels.base import Kernel
from mercer.linalg.cholesky import definite_factor
from mercer.linalg.ridge.held_out import centered_diagonal, held_out_groups, leave_one_out

#: Penalties that are tried, half decades apart, times the mean of k(x, x).
ALPHAS = 10.0 ** np.arange(-6.0, 2.01, 0.5)

#: From this many rows on, a part of them judges a penalty.
FEWER = 900


@dataclass(frozen=True)
class Ridge:
    """One solution: its penalty, coefficients, and leave-one-out residuals."""

    alpha: float
    dual: Floats  # (n, t)
    intercept: Floats  # (t,)
    residuals: Floats  # (n, t)

    @property
    def error(self) -> float:
        """The mean squared leave-one-out residual."""
        return float(np.mean(self.residuals**2))


def solve(K: Floats, Y: Floats, alpha: float) -> Ridge | None:  # (n, n), (n, t)
    """Ridge with intercept and leave-one-out residuals; None where K + alpha I is not positive definite in floats.

    With G = K + alpha I and C = G^-1 - G^-1 1 1' G^-1 / (1' G^-1 1): dual = C Y, residuals = dual_i / C_ii.
    """
    n = len(K)
    G = np.array(K, dtype=np.float64, order="F")
    G.flat[:: n + 1] += alpha
    factor, info = la.lapack.dpotrf(G, lower=1, overwrite_a=1, clean=0)
    if info:
        return None
    inverse, _ = la.lapack.dpotri(factor, lower=1, overwrite_c=1)
    ones = np.ones((n, 1))
    columns = la.blas.dsymm(1.0, inverse, np.asfortranarray(np.hstack([Y, ones])), lower=1)
    weights = columns[:, -1]
    total = float(weights.sum())
    intercept = columns[:, :-1].sum(axis=0) / total
    dual = columns[:, :-1] - np.multiply.outer(weights, intercept)
    spread = centered_diagonal(np.diagonal(inverse), weights**2 / total)
    if n == 1:  # the only row left out leaves nothing
        return Ridge(alpha, dual, intercept, Y - intercept)
    if not np.all(spread > 0) or not np.isfinite(dual).all():
        return None
    return Ridge(alpha, dual, intercept, leave_one_out(dual, spread))


def choose(K: Floats, Y: Floats, start: float | None = None) -> Ridge:
    """The penalty of the smallest leave-one-out error on a grid of half decades, found by walking downhill from `start`."""
    known: dict[float, Ridge | None] = {}

    def error(alpha: float) -> float:
        found = known[alpha] = solve(K, Y, alpha)
        return np.inf if found is None else found.error

    found = known[_downhill(K, error, start)]
    assert found is not None
    return found


def penalty(K: Floats, Y: Floats, start: float | None = None) -> float:
    """The penalty alone, as `choose` finds it: with many rows by the errors of the last third, at half the price."""
    if len(K) < FEWER:
        return choose(K, Y, start).alpha
    last = np.arange(len(K) // 3)

    def error(alpha: float) -> float:
        found = _factored(np.array(K), Y, alpha, last)
        return np.inf if found is None else float(np.nan_to_num(np.mean(found[2] ** 2), nan=np.inf))

    return _downhill(K, error, start)


def _downhill(K: Floats, error_at: Callable[[float], float], start: float | None) -> float:
    """The penalty of a local minimum, by double steps of the grid first where there is no start."""
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


def error_of_scales(K: Floats, Y: Floats) -> tuple[float, float]:  # (n, n), (n, t) -> error, alpha
    """The smallest leave-one-out error over all penalties of the grid, from one eigendecomposition."""
    values, vectors = la.eigh(K, check_finite=False)
    values = np.maximum(values, 0.0)
    turned = vectors.T @ np.hstack([Y, np.ones((len(K), 1))])
    squares = vectors**2
    unit = float(values.sum()) / len(K) or 1.0
    best = (np.inf, unit)
    for alpha in unit * ALPHAS:
        inverse = 1.0 / (values + alpha)
        columns = vectors @ (inverse[:, None] * turned)
        weights, total = columns[:, -1], float(columns[:, -1].sum())
        dual = columns[:, :-1] - np.multiply.outer(weights, columns[:, :-1].sum(axis=0) / total)
        spread = centered_diagonal(squares @ inverse, weights**2 / total)
        error = float(np.mean(leave_one_out(dual, spread) ** 2)) if np.all(spread > 0) else np.inf
        best = min(best, (error, float(alpha)))
    return best


def fit(kernel: Kernel, X: Any, Y: Floats, alpha: float, n_landmarks: int | None = None, seed: int = 0) -> DualFunction:
    """Ridge with a given penalty on all rows: exact, or in the span of landmarks drawn by pivoted Cholesky."""
    return fit_and_leave_out(kernel, X, Y, alpha, np.empty(0, dtype=np.intp), n_landmarks, seed)[0]


def fit_and_leave_out(
    kernel: Kernel, X: Any, Y: Floats, alpha: float, groups: Indices, n_landmarks: int | None = None, seed: int = 0
) -> tuple[DualFunction, Floats]:  # (n, d), (n, t), number, (m,) -> f, (m, t)
    """The fit, and the residuals of the last m rows when each is left out together with those of its group.

    With H the matrix from targets to fitted values: the residuals of a group F left out are (I - H_FF)^-1 (y - f)_F. Only
    the block of the last rows is needed of H, and the last block of the Cholesky factor gives it: it costs little.
    """
    if n_landmarks is not None:
        return _by_landmarks(kernel, X, Y, alpha, n_landmarks, seed, groups)
    found = _factored(np.asarray(kernel(X), dtype=np.float64), Y, alpha, groups)
    if found is None:
        raise NumericalError(f"K + alpha I is not positive definite in floats with alpha = {alpha:.3g}; raise alpha.")
    dual, intercept, residuals = found
    return DualFunction(kernel, X, dual, intercept, alpha), residuals


def _factored(K: Floats, Y: Floats, alpha: float, groups: Indices) -> tuple[Floats, Floats, Floats] | None:
    """Dual, intercept and the last residuals from one factorization in the place of K; None where that fails."""
    n, first = len(K), len(K) - len(groups)
    columns = np.hstack([Y, np.ones((n, 1))])
    K.flat[:: n + 1] += alpha
    factor, info = la.lapack.dpotrf(K.T, lower=1, overwrite_a=1, clean=0)  # K is symmetric: its transpose is K, in place
    if info:
        return None
    solved, _ = la.lapack.dpotrs(factor, columns, lower=1)
    weights, total = solved[first:, -1], float(solved[:, -1].sum())
    intercept = solved[:, :-1].sum(axis=0) / total
    dual = solved[:, :-1] - np.multiply.outer(solved[:, -1], intercept)
    if not len(groups):
        return dual, intercept, np.empty((0, Y.shape[1]))
    inverse, _ = la.lapack.dpotri(np.array(factor[first:, first:], order="F"), lower=1, overwrite_c=1)
    block = np.tril(inverse) + np.tril(inverse, -1).T - np.multiply.outer(weights, weights) / total
    return dual, intercept, held_out_groups(block, dual[first:], groups)


def _by_landmarks(
    kernel: Kernel, X: Any, Y: Floats, alpha: float, count: int, seed: int, groups: Indices
) -> tuple[DualFunction, Floats]:
    found = low_rank(kernel, X, count, rng=np.random.default_rng(seed))
    F = found.factor
    center, middle = F.mean(axis=0), Y.mean(axis=0)
    n = len(F)
    normal = F.T @ F - n * np.multiply.outer(center, center)
    normal.flat[:: len(normal) + 1] += alpha
    factor = (definite_factor(normal), True)
    w = la.cho_solve(factor, F.T @ (Y - middle), check_finite=False)
    intercept = middle - center @ w
    own = found.features
    expansion = DualFunction(kernel, own.landmarks, own.expansion(w), intercept, alpha, own.index)
    last = F[n - len(groups) :]
    half = la.solve_triangular(factor[0], (last - center).T, lower=True, check_finite=False)
    block = np.eye(len(groups)) - half.T @ half - 1.0 / n
    return expansion, held_out_groups(block, Y[n - len(groups) :] - last @ w - intercept, groups)
