"""The mixed route of ridge: a float32 factor for speed, float64 products with the kernel itself for the digits.

The matrix in float64 is never held: half the time and half the memory of a float64 factor. What the factor cannot reach
is answered by None, and the float64 factor takes over.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from mercer.estimators.intervals import conformal_rank
from mercer.estimators.progress import Meter
from mercer.estimators.ridge.loo_quantile import loo_quantile
from mercer.estimators.ridge.problem import Array, Fitted, Problem, from_solution, right_sides
from mercer.gram import GramOperator, gram
from mercer.inputs import as_rows
from mercer.linalg.cholesky import Factor, cholesky, solve_refined

#: From this many rows on a float32 factor is tried first: below it, less than a second could be saved.
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


def _mixed(problem: Problem, meter: Meter) -> _Mixed | None:
    """Factor in float32 where cond(K + alpha I) <= tr(K) / alpha + 1 leaves enough digits to converge; else None."""
    X = as_rows(problem.X).data
    if problem.n < MIXED_ROWS or problem.alpha.ndim or problem.alpha <= 0 or getattr(X, "dtype", None) != np.float64:
        return None
    weights = np.ones(problem.n) if problem.weights is None else problem.weights
    if weights.min() == 0:
        return None
    shift, K = float(problem.alpha) / weights, GramOperator(problem.kernel, problem.X)
    bound = float(np.sum(K.diag(), dtype=np.float64)) / shift.min() + 1.0
    if bound * float(np.finfo(np.float32).eps) > 0.05:
        return None
    single = gram(problem.kernel, X.astype(np.float32), memory=float("inf"), progress=meter)
    factor = cholesky(single, shift, overwrite=True)
    return None if factor.jitter else _Mixed(K, shift, factor)


def fit_mixed(problem: Problem, meter: Meter) -> Fitted | None:
    """The fit from a float32 factor, refined in float64; None where it was not tried or did not converge."""
    mixed = _mixed(problem, meter)
    if mixed is None:
        return None
    refined = solve_refined(mixed.factor, mixed.multiply, right_sides(problem), tol=1e-13)
    if not refined.converged:
        return None
    fitted = from_solution(problem, refined, mixed.shift, f"float32 factor, {refined.message}")
    return dataclasses.replace(fitted, mixed=True)


def mixed_radii(problem: Problem, fitted: Fitted, coverage: float, meter: Meter) -> Array | None:  # -> (t,)
    """The jackknife's radius of each target without the other leave-one-out residuals; None where that cannot be."""
    rank = conformal_rank(problem.n, coverage)
    mixed = _mixed(problem, meter) if fitted.mixed and rank <= problem.n else None
    if mixed is None:
        return None
    taken = 0.0 if fitted.ones is None else fitted.ones**2 / fitted.ones.sum()
    dual = fitted.dual.reshape(problem.n, -1)
    return loo_quantile(mixed.factor, mixed.multiply, dual, rank, floor=float(mixed.shift.min()), taken=taken)
