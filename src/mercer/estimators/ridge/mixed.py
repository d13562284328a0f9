"""The mixed route of ridge: a float32 factor for speed, float64 products with the kernel itself for the digits.

The matrix in float64 is never held: half the time and half the memory of a float64 factor. What the factor cannot reach
is answered by None, and the float64 factor takes over.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.special

from mercer.arrays import Array
from mercer.estimators.intervals import conformal_rank
from mercer.estimators.progress import Meter
from mercer.estimators.ridge.problem import RidgeFit, RidgeProblem, from_solution, right_sides
from mercer.grams import GramOperator, gram
from mercer.linalg.cholesky import Factor, cholesky, solve_refined, solve_scaled

Multiply = Callable[[Array], Array]  # (n, t) -> (n, t) float64, the product with G

#: Random vectors that measure the rough inverse, and the chance that any row of it is worse than they say.
PROBES, CHANCE = 32, 1e-9

#: At most this share of the rows is computed exactly; where more are in doubt, the float64 factor is the cheaper way.
#: Row: ridge-intervals-n10000.
SHARE, FEWEST = 1 / 32, 64

#: The relative width to which an exact entry is enclosed, and the steps of refinement allowed for it.
WIDTH, STEPS = 1e-11, 8


def loo_quantile(  # dual (n, t), taken (n,)
    factor: Factor, multiply: Multiply, dual: Array, rank: int, *, floor: float, taken: Array | float = 0.0
) -> Array | None:  # -> (t,)
    """The ``rank``-th smallest ``|dual_i| / ((G^-1)_ii - taken_i)`` of each target, or None where float32 cannot tell.

    ``multiply`` is the product with the true G in float64, ``floor`` a lower bound of its eigenvalues (the smallest
    shift), ``taken`` what an intercept takes from the diagonal. The factor turns into its inverse.

    >>> from mercer.linalg.cholesky import cholesky
    >>> G = np.diag([1.0, 2.0, 4.0])
    >>> factor = cholesky(G.astype(np.float32))
    >>> loo_quantile(factor, lambda V: G @ V, np.array([[3.0], [1.0], [1.0]]), 2, floor=1.0)  # of 3, 2, 4
    array([3.])
    """
    rough = factor.diag_inverse(overwrite=True)
    spread = _row_norms(factor, multiply)
    if spread is None:
        return None
    sizes, most = np.abs(dual), max(FEWEST, int(SHARE * len(dual)))
    low, high = rough - spread, rough + spread
    exact = np.zeros(len(dual), dtype=bool)
    while True:
        least, largest = _ratio(sizes, high - taken), _ratio(sizes, low - taken)
        bottom, top = (np.partition(part, rank - 1, axis=0)[rank - 1] for part in (least, largest))
        # what lies below for certain counts, what lies above does not matter, and the rest has to be known exactly
        doubtful = np.flatnonzero(~exact & ((least <= top) & (largest >= bottom)).any(axis=1))
        if not doubtful.size or (top <= bottom * (1 + WIDTH)).all():
            return np.asarray(0.5 * (bottom + top))
        entries = _entries(factor, multiply, doubtful, floor) if doubtful.size <= most else None
        if entries is None:
            return None
        low[doubtful], high[doubtful] = entries
        exact[doubtful] = True


def _ratio(sizes: Array, C: Array) -> Array:  # (n, t), (n,) -> (n, t), infinite where C may be zero
    return np.divide(sizes, C[:, None], out=np.full(sizes.shape, np.inf), where=C[:, None] > 0)


def _row_norms(factor: Factor, multiply: Multiply) -> Array | None:  # -> (n,)
    """Upper bounds of the norms of the rows of G^-1 - S, true all at once except with probability CHANCE."""
    n = factor.shape[0]
    Z = np.random.default_rng(0).standard_normal((n, PROBES))
    residual = Z - multiply(solve_scaled(factor, Z))
    if not np.linalg.norm(residual) <= 0.1 * np.linalg.norm(Z):
        return None
    # S r stands for (G^-1 - S) z = G^-1 r up to a tenth, as r = z - G S z is a tenth of z at most
    errors = 1.25 * solve_scaled(factor, residual)
    # the sum of squares of PROBES normal numbers is below this with probability CHANCE / n
    smallest = 2.0 * float(scipy.special.gammaincinv(PROBES / 2, CHANCE / n))
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", errors, errors) / smallest))


def _entries(factor: Factor, multiply: Multiply, rows: Array, floor: float) -> tuple[Array, Array] | None:
    """Lower and upper bounds of ``(G^-1)_ii`` for the given rows, WIDTH apart relatively; None if that is not reached."""
    units = np.zeros((factor.shape[0], rows.size))
    places = rows, np.arange(rows.size)
    units[places] = 1.0
    X, residual = np.zeros_like(units), units
    for _ in range(STEPS):
        X = X + solve_scaled(factor, residual)
        residual = units - multiply(X)
        low = X[places] + np.einsum("ij,ij->j", X, residual)
        slack = np.einsum("ij,ij->j", residual, residual) / floor
        if (slack <= WIDTH * low).all():
            return low, low + slack
    return None


#: From this many rows on a float32 factor is tried first: below it, less than a second could be saved.
#: Row: kernel-ridge-n10000.
MIXED_ROWS = 8192


@dataclass(frozen=True)
class _Mixed:
    """G = K + diag(shift) as a float64 product, and its factor in float32."""

    K: GramOperator
    shift: Array  # (n,) alpha / weights
    factor: Factor

    def multiply(self, V: Array) -> Array:  # (n, t) -> (n, t)
        """G V in float64."""
        return np.asarray(self.K @ V + self.shift[:, None] * V)


def _mixed(problem: RidgeProblem, meter: Meter) -> _Mixed | None:
    """Factor in float32 where cond(K + alpha I) <= tr(K) / alpha + 1 leaves enough digits to converge; else None."""
    X = problem.X
    if problem.n < MIXED_ROWS or problem.alpha.ndim or problem.alpha <= 0 or getattr(X, "dtype", None) != np.float64:
        return None
    weights = problem.counted
    if weights.min() == 0:
        return None
    shift, K = float(problem.alpha) / weights, GramOperator(problem.kernel, problem.encoded)
    bound = float(np.sum(K.diag(), dtype=np.float64)) / shift.min() + 1.0
    if bound * float(np.finfo(np.float32).eps) > 0.05:
        return None
    single = gram(problem.kernel, X.astype(np.float32), memory=float("inf"), progress=meter)
    factor = cholesky(single, shift, overwrite=True)
    return None if factor.jitter else _Mixed(K, shift, factor)


def fit_mixed(problem: RidgeProblem, meter: Meter) -> RidgeFit | None:
    """The fit from a float32 factor, refined in float64; None where it was not tried or did not converge."""
    mixed = _mixed(problem, meter)
    if mixed is None:
        return None
    refined = solve_refined(mixed.factor, mixed.multiply, right_sides(problem), tol=1e-13)
    if not refined.converged:
        return None
    fitted = from_solution(problem, refined, mixed.shift, f"float32 factor, {refined.message}")
    return dataclasses.replace(fitted, mixed=True)


def mixed_radii(problem: RidgeProblem, fitted: RidgeFit, coverage: float, meter: Meter) -> Array | None:  # -> (t,)
    """The jackknife's radius of each target without the other leave-one-out residuals; None where that cannot be."""
    rank = conformal_rank(problem.n, coverage)
    mixed = _mixed(problem, meter) if fitted.mixed and rank <= problem.n else None
    if mixed is None:
        return None
    assert fitted.dual is not None
    taken = 0.0 if fitted.ones is None else fitted.ones**2 / fitted.ones.sum()
    dual = fitted.dual.reshape(problem.n, -1)
    return loo_quantile(mixed.factor, mixed.multiply, dual, rank, floor=float(mixed.shift.min()), taken=taken)
