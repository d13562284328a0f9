"""Ridge by each of its routes: data and kernel in, the same fitted facts out, whatever the way."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.errors import InputError
from mercer.estimators.progress import Meter
from mercer.gram import GramOperator, gram
from mercer.kernels.base import Kernel
from mercer.numeric.speed import entry_rate, gemm_rate
from mercer.plan import Route, Shape
from mercer.solvers.cholesky import cholesky, solve_refined
from mercer.solvers.conjugate_gradient import Progress, conjugate_gradient
from mercer.solvers.crossval import leave_one_out
from mercer.solvers.dual import DualFit, fit_rows
from mercer.solvers.eigen import EigenPath
from mercer.solvers.eigen_fit import EigenFit
from mercer.solvers.least_squares import minimum_norm
from mercer.solvers.primal import normal_equations, solve_primal
from mercer.solvers.rows import split_rows
from mercer.solvers.solution import Solution

Array = NDArray[Any]

#: Rows of explicit features made at a time.
BLOCK = 2048

#: From this many rows on a float32 factor is tried first: below it, less than a second could be saved.
MIXED_ROWS = 8192

SOLVERS = ("auto", "cholesky", "eigh", "primal", "cg")


@dataclass(frozen=True)
class Problem:
    """One ridge problem: minimize sum_i w_i (y_i - f(x_i))^2 + alpha ||f||^2."""

    kernel: Kernel
    X: Any
    Y: Array  # (n, *t)
    alpha: Array  # () or (t,)
    weights: Array | None  # (n,)
    fit_intercept: bool
    tol: float = 1e-8
    max_iter: int | None = None

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.Y)

    def with_weights(self, weights: Array) -> Problem:
        """The same problem with other weights."""
        return dataclasses.replace(self, weights=weights)


@dataclass(frozen=True)
class Fitted:
    """What every route returns."""

    dual: Array  # (n, *t)
    intercept: Array  # (*t)
    residuals: Array  # (n, *t) y - f on the training rows
    norm_squared: Array  # (*t) ||f||^2
    jitter: float
    converged: bool
    n_iter: int
    message: str
    rank: int | None = None
    weights: Array | None = None  # (d, *t) primal weights of explicit features


@dataclass(frozen=True)
class Diagnosis:
    """What is computed when asked for: leave-one-out residuals, leverages and their sum."""

    loo: Array  # (n, *t)
    leverage: Array  # (n,), or (n, t) with one alpha per target
    effective_dof: Any  # their sum, one number or one per target


def routes(shape: Shape, solver: str, least_squares: bool) -> tuple[Route, ...]:
    """The ways to fit a ridge of this shape, best first."""
    if solver not in SOLVERS:
        raise InputError(f"solver must be one of {', '.join(SOLVERS)}; got {solver!r}.")
    offered = {route.solver: route for route in _all_routes(shape)}
    if solver == "primal" and "primal" not in offered:
        raise InputError('solver="primal" needs a kernel with a finite feature map on vectors, as Polynomial(degree=2) is.')
    if solver != "auto":
        return (offered[solver],)
    order = ["primal"] if "primal" in offered and (shape.n_features or 0) < shape.n else []
    order += ["eigh"] if least_squares else ["cholesky", "cg"]
    return tuple(offered[name] for name in order)


def _all_routes(shape: Shape) -> Iterator[Route]:
    n, t, rate = float(shape.n), shape.n_targets, gemm_rate()
    gram_seconds = n * n * (2.0 * shape.width / rate + 1.0 / entry_rate()) / 2.0
    square = shape.n**2 * shape.itemsize
    if shape.n_features is not None:
        d = float(shape.n_features)
        bytes_needed = int(8 * (3 * d * d + 2 * BLOCK * d + n * t))
        reason = f"{shape.n_features} explicit features against {shape.n} rows"
        yield Route("primal", bytes_needed, (2 * n * d * d + d**3 / 3) / rate, reason)
    seconds = gram_seconds + n**3 / 3 / (0.6 * rate)
    yield Route("cholesky", square + 8 * 4 * shape.n * t, seconds, "one factorization in the memory of the Gram matrix")
    yield Route("eigh", 3 * square, gram_seconds + 9 * n**3 / rate, "alpha = 0 or on request: eigenvalues decide the rank")
    reason = "the Gram matrix does not fit: products in tiles, solved to tol"
    yield Route("cg", 8 * 8 * shape.n * (t + shape.width), 100 * gram_seconds, reason, exact=False)


def fit(problem: Problem, solver: str, meter: Meter) -> Fitted:
    """Solve by the named route."""
    return {"primal": _primal, "cholesky": _cholesky, "eigh": _eigh, "cg": _cg}[solver](problem, meter)


def diagnose(problem: Problem, solver: str, meter: Meter) -> Diagnosis:
    """Leave-one-out residuals and leverages; one more factorization, and nothing n x n is kept."""
    if solver == "cg":
        raise InputError(
            "leave-one-out quantities need the Gram matrix, which did not fit the memory budget (route cg). "
            "Raise memory=, or fit on fewer rows."
        )
    if solver == "primal":
        Z = np.vstack([_dense(block) for _, block in feature_blocks(problem)])
        path = EigenPath.from_features(Z, weights=problem.weights, fit_intercept=problem.fit_intercept)
        return _diagnose_path(problem, path)
    if solver == "eigh":
        return _diagnose_path(problem, _path(problem, meter))
    loo, leverage = np.empty(problem.Y.shape), np.empty(problem.Y.shape if problem.alpha.ndim else problem.n)
    for columns, result in dual_fits(problem, meter):
        loo[columns] = leave_one_out(result)
        leverage[columns] = result.leverage()[:, None] if problem.alpha.ndim else result.leverage()
    return Diagnosis(loo, leverage, leverage.sum(axis=0))


def _diagnose_path(problem: Problem, path: EigenPath) -> Diagnosis:
    alphas = np.unique(problem.alpha)
    loo, leverage = EigenFit(path, problem.Y).leave_one_out(alphas), path.leverage(alphas)
    if problem.alpha.ndim == 0:
        return Diagnosis(loo[0], leverage[0], leverage[0].sum())
    per_target = leverage[np.searchsorted(alphas, problem.alpha)].T
    return Diagnosis(_pick(loo, alphas, problem), per_target, per_target.sum(axis=0))


def dual_fits(problem: Problem, meter: Meter) -> Iterator[tuple[Any, DualFit]]:
    """One factorization per distinct alpha, all in the memory of one Gram matrix; yields the columns it serves."""
    K = gram(problem.kernel, problem.X, memory=float("inf"), progress=meter)
    rows = split_rows(K, problem.weights, overwrite=True)
    if problem.alpha.ndim == 0:
        yield slice(None), fit_rows(rows, problem.Y, float(problem.alpha), problem.fit_intercept)
        return
    for alpha in np.unique(problem.alpha):
        columns = (slice(None), np.flatnonzero(problem.alpha == alpha))
        result = fit_rows(rows, problem.Y[columns], float(alpha), problem.fit_intercept)
        yield columns, result
        result.factor.restore()


def _mixed(problem: Problem, meter: Meter) -> Fitted | None:
    """A float32 factor, refined in float64 against the matrix itself, which is never held: half the time and memory.

    Tried for many rows where cond(K + alpha I) <= tr(K) / alpha + 1 leaves float32 enough digits to converge; None where it
    was not tried or did not converge, and then the float64 factor answers.
    """
    if problem.n < MIXED_ROWS or problem.alpha.ndim or problem.alpha <= 0 or getattr(problem.X, "dtype", None) != np.float64:
        return None
    weights = np.ones(problem.n) if problem.weights is None else problem.weights
    shift = float(problem.alpha) / np.where(weights > 0, weights, np.nan)
    K = GramOperator(problem.kernel, problem.X)
    bound = float(np.sum(K.diag(), dtype=np.float64)) / shift.min() + 1.0
    if weights.min() == 0 or bound * float(np.finfo(np.float32).eps) > 0.05:
        return None
    single = gram(problem.kernel, problem.X.astype(np.float32), memory=float("inf"), progress=meter)
    factor = cholesky(single, shift, overwrite=True)
    Y = problem.Y.reshape(problem.n, -1)
    rhs = np.column_stack([Y, np.ones(problem.n)]) if problem.fit_intercept else Y
    refined = solve_refined(factor, lambda V: K @ V + shift[:, None] * V, rhs, tol=1e-13)
    if factor.jitter or not refined.converged:
        return None
    dual, intercept = refined.value, np.zeros(Y.shape[1])
    if problem.fit_intercept:
        ones, dual = dual[:, -1], dual[:, :-1]
        intercept = dual.sum(axis=0) / ones.sum()
        dual = dual - np.outer(ones, intercept)
    return _from_dual(problem, dual, intercept, shift, refined, f"float32 factor, {refined.message}")


def _from_dual(
    problem: Problem, dual: Array, intercept: Array, shift: Array, solution: Solution, message: str
) -> Fitted:
    """The fitted facts from dual coefficients alone: residuals are shift times dual, and K dual = y - b - residuals."""
    Y, shape = problem.Y.reshape(problem.n, -1), problem.Y.shape
    residuals = shift[:, None] * dual
    norms = np.sum(dual * (Y - residuals - intercept), axis=0)
    return Fitted(
        dual.reshape(shape), intercept.reshape(shape[1:]), residuals.reshape(shape), norms.reshape(shape[1:]),
        0.0, solution.converged, solution.n_iter, message,
    )  # fmt: skip


def _cholesky(problem: Problem, meter: Meter) -> Fitted:
    mixed = _mixed(problem, meter)
    if mixed is not None:
        return mixed
    shape = problem.Y.shape
    dual, residuals = np.empty(shape), np.empty(shape)
    intercept, norms = np.empty(shape[1:]), np.empty(shape[1:])
    jitter, converged, message = 0.0, True, ""
    for columns, result in dual_fits(problem, meter):
        targets = columns[1] if isinstance(columns, tuple) else slice(None)
        dual[columns], residuals[columns] = result.value, result.residuals
        if shape[1:]:
            intercept[targets], norms[targets] = result.intercept, result.norm_squared
        else:
            intercept, norms = result.intercept, result.norm_squared
        jitter, converged = max(jitter, result.jitter), converged and result.converged
        message = result.message
    return Fitted(dual, intercept, residuals, norms, jitter, converged, 1, message)


def _path(problem: Problem, meter: Meter) -> EigenPath:
    K = gram(problem.kernel, problem.X, memory=float("inf"), progress=meter)
    return EigenPath.from_gram(K, weights=problem.weights, fit_intercept=problem.fit_intercept, overwrite=True)


def _eigh(problem: Problem, meter: Meter) -> Fitted:
    targets = EigenFit(_path(problem, meter), problem.Y)
    solution = targets.solve(problem.alpha)
    alphas = np.unique(problem.alpha)
    residuals, norms = targets.residuals(alphas), targets.norm_squared(alphas)
    return Fitted(
        solution.value, solution.intercept, _pick(residuals, alphas, problem), _pick(norms, alphas, problem),
        solution.jitter, solution.converged, 1, solution.message, solution.rank,
    )  # fmt: skip


def _pick(values: Array, alphas: Array, problem: Problem) -> Array:
    """From values for every alpha, (L, n, *t) or (L, *t), those of each target's own alpha."""
    if problem.alpha.ndim == 0:
        return values[0]
    chosen = np.searchsorted(alphas, problem.alpha)
    return np.stack([values[a][..., j] for j, a in enumerate(chosen)], axis=-1)


def feature_blocks(problem: Problem) -> Iterator[tuple[slice, Any]]:
    """Explicit features, some rows at a time."""
    for start in range(0, problem.n, BLOCK):
        rows = slice(start, min(start + BLOCK, problem.n))
        data = problem.X.iloc[rows] if hasattr(problem.X, "iloc") else problem.X[rows]
        yield rows, problem.kernel.feature_map(data)


def _blocks(problem: Problem) -> Iterator[tuple[Any, Array, Array | None]]:
    for rows, Z in feature_blocks(problem):
        yield Z, problem.Y[rows], None if problem.weights is None else problem.weights[rows]


def _primal(problem: Problem, meter: Meter) -> Fitted:
    if problem.alpha.ndim:
        return _primal_each(problem, meter)
    alpha = float(problem.alpha)
    if alpha == 0:
        Z = np.vstack([_dense(block) for _, block in feature_blocks(problem)])
        least = minimum_norm(Z, problem.Y, weights=problem.weights, fit_intercept=problem.fit_intercept)
        value, intercept, jitter, rank = least.value, least.intercept, least.jitter, least.rank
        converged, message = least.converged, least.message
    else:
        solved = solve_primal(normal_equations(_blocks(problem), fit_intercept=problem.fit_intercept), alpha)
        value, intercept, jitter, rank = solved.value, solved.intercept, solved.jitter, None
        converged, message = solved.converged, solved.message
    residuals = np.empty(problem.Y.shape)
    for rows, Z in feature_blocks(problem):
        residuals[rows] = problem.Y[rows] - Z @ value - intercept
    weights = np.ones(problem.n) if problem.weights is None else problem.weights
    # alpha w = Z'W r, so w = Z'(W r / alpha): the dual coefficients without a Gram matrix
    dual = (weights * residuals.T).T / alpha if alpha else np.full(problem.Y.shape, np.nan)
    norms = np.sum(value**2, axis=0)
    return Fitted(dual, intercept, residuals, norms, jitter, converged, 1, message, rank, value)


def _primal_each(problem: Problem, meter: Meter) -> Fitted:
    columns = [
        _primal(dataclasses.replace(problem, Y=problem.Y[:, j], alpha=np.asarray(alpha)), meter)
        for j, alpha in enumerate(problem.alpha)
    ]

    def stacked(name: str) -> Array:
        return np.stack([getattr(column, name) for column in columns], axis=-1)

    jitter, converged = max(c.jitter for c in columns), all(c.converged for c in columns)
    return Fitted(
        stacked("dual"), stacked("intercept"), stacked("residuals"), stacked("norm_squared"),
        jitter, converged, 1, columns[-1].message, None, stacked("weights"),
    )  # fmt: skip


def _dense(Z: Any) -> Array:
    return np.asarray(Z.toarray() if hasattr(Z, "toarray") else Z)


def _cg(problem: Problem, meter: Meter) -> Fitted:
    K = GramOperator(problem.kernel, problem.X)
    if problem.alpha.ndim:
        raise InputError("solver cg takes one alpha for all targets; give a number, or fit the targets one by one.")
    weights = np.ones(problem.n) if problem.weights is None else problem.weights
    if weights.min() == 0:
        raise InputError("solver cg takes weights > 0; drop the rows of weight zero.")
    shift = float(problem.alpha) / weights
    Y = problem.Y.reshape(problem.n, -1)
    rhs = np.column_stack([Y, np.ones(problem.n)]) if problem.fit_intercept else Y

    def watch(state: Progress) -> None:
        meter(state.n_iter, state.max_iter)

    solution = conjugate_gradient(K, rhs, shift=shift, tol=problem.tol, max_iter=problem.max_iter, callback=watch)
    dual = solution.value
    intercept = np.zeros(Y.shape[1])
    if problem.fit_intercept:
        ones, dual = dual[:, -1], dual[:, :-1]
        intercept = dual.sum(axis=0) / ones.sum()
        dual = dual - np.outer(ones, intercept)
    return _from_dual(problem, dual, intercept, shift, solution, solution.message)
