"""The routes of ridge, and the solvers that take all rows: Cholesky, eigenvalues, explicit features, conjugate gradients."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
import scipy.linalg as la

from mercer.arrays import Array
from mercer.errors import InputError, check_choice
from mercer.estimators.progress import Meter
from mercer.estimators.ridge import large, many_landmarks, mixed
from mercer.estimators.ridge.problem import Diagnosis, RidgeFit, RidgeProblem, from_solution, right_sides
from mercer.grams import GramOperator, gram
from mercer.grams.chunks.operator import ChunkOperator
from mercer.grams.chunks.rows import ChunkedRows
from mercer.grams.low_rank import low_rank, rows_drawn
from mercer.inputs import as_rows, take
from mercer.inputs.chunks import Chunk, rows_of_chunk
from mercer.kernels.base import Kernel
from mercer.linalg.cholesky import definite_factor
from mercer.linalg.conjugate_gradient import Progress, conjugate_gradient
from mercer.linalg.ridge.dual import DualFit, fit_rows
from mercer.linalg.ridge.eigen import EigenFit, EigenPath
from mercer.linalg.ridge.held_out import centered_diagonal, leave_one_out
from mercer.linalg.ridge.primal import NormalEquations, PrimalFit, minimum_norm, normal_equations, solve_primal
from mercer.linalg.solution import split_rows
from mercer.numeric.encodings import dense
from mercer.numeric.tiles import row_blocks
from mercer.planning import Route, Shape, entry_rate, gemm_rate

#: Rows up to which ||f|| is computed from eigenvalues if the factor cannot give it; beyond, it is not available.
NORM_ROWS = 3000

SOLVERS = ("auto", "cholesky", "eigh", "primal", "cg", *large.SOLVERS)

#: From this many rows on explicit features that count are looked at: for fewer, the Gram matrix is cheap anyway.
COUNTED_ROWS = 1000

#: Rows of explicit features made at a time.
FEATURE_ROWS = 2048

#: Solvers for chunks, and roughly how many products with the kernel matrix conjugate gradients take there.
CHUNK_SOLVERS, PRODUCTS = ("auto", "primal", "nystroem", "fourier", "cg"), 40

#: Conjugate gradients on fewer rows are preconditioned by the diagonal: a factor would cost as much as it saves.
#: Row: flights-nystroem.
FEWEST_OF_PRECONDITIONER = 5000

#: One landmark of the preconditioner per this many rows, and at most this many.
ROWS_PER_LANDMARK, MOST_LANDMARKS = 20, 1000

#: Rows whose part of the diagonal of its inverse is made at a time.
DIAGONAL_ROWS = 4096

#: Leave-one-out without the Gram matrix: random vectors, and landmarks at least.
PROBES, FEWEST_OF_LOO = 32, 300

#: Up to this many rows the full system is solved by conjugate gradients where its matrix does not fit; beyond, landmarks.
MOST_ROWS_OF_CG = 50_000


def ridge_routes(
    shape: Shape, solver: str, least_squares: bool, n_components: int | None = None, memory: Any = None
) -> Iterator[Route]:
    """Yield the routes to a ridge of this shape, best first."""
    fewest = shape.n_features if shape.n_features is not None else shape.n_counted
    if n_components is not None:
        large.check_components(n_components)
    if solver == "auto":
        many = min(shape.n, n_components or 0) >= many_landmarks.FEWEST
        far = "cg" if shape.n <= MOST_ROWS_OF_CG else many_landmarks.NAME if many else "nystroem"
        order = ["primal"] if fewest is not None and fewest < shape.n else []
        order += ["eigh"] if least_squares else ["cholesky", far]
    else:
        check_choice("KernelRidge", "solver", solver, SOLVERS)
        order = [solver]
    if solver == "primal" and fewest is None:
        raise InputError(
            'solver="primal" needs a kernel with a finite feature map, as Polynomial(degree=2) on vectors has; features '
            f"that count, as those of Spectrum(p=3), need {COUNTED_ROWS} rows or more."
        )
    if least_squares and solver in ("cholesky", "cg"):
        raise InputError(
            f"alpha = 0 is least squares of minimum norm, for which solver={solver!r} cannot tell zero eigenvalues from "
            'rounding; take solver="eigh", "primal" or "auto", or a small alpha > 0.'
        )
    return (_route(name, shape, n_components, memory) for name in order)


def _route(name: str, shape: Shape, n_components: int | None, memory: Any) -> Route:
    if name in large.SOLVERS:
        return large.large_route(name, shape, n_components, memory)
    n, t, rate = float(shape.n), shape.n_targets, gemm_rate()
    gram_seconds = n * n * (2.0 * shape.width / rate + 1.0 / entry_rate()) / 2.0
    square = shape.n**2 * shape.itemsize
    if name == "primal":
        features = shape.n_features if shape.n_features is not None else shape.n_counted
        d = float(features or 0)
        bytes_needed = int(8 * (3 * d * d + 2 * FEATURE_ROWS * d + n * t))
        reason = f"{features} explicit features against {shape.n} rows"
        return Route("primal", bytes_needed, (2 * n * d * d + d**3 / 3) / rate, reason)
    if name == "cholesky":
        seconds = gram_seconds + n**3 / 3 / (0.6 * rate)
        return Route("cholesky", square + 8 * 4 * shape.n * t, seconds, "one factorization in the memory of the Gram matrix")
    if name == "eigh":
        reason = "alpha = 0 or on request: eigenvalues decide the rank"
        return Route("eigh", 3 * square, gram_seconds + 9 * n**3 / rate, reason)
    rank = rank_for(shape.n, n_components)
    reason = f"products in tiles, solved to tol; {f'{rank} landmarks' if rank else 'the diagonal'} as preconditioner"
    seconds = (15 if rank else 100) * gram_seconds + 2 * n * float(rank) ** 2 / rate
    return Route("cg", 8 * shape.n * (8 * (t + shape.width) + int(1.3 * rank)), seconds, reason, exact=False)


def chunk_routes(
    shape: Shape, rows: ChunkedRows, kernel: Kernel, solver: str, alpha: Any, n_components: int | None, passes: int = 0
) -> tuple[Route, ...]:
    """The ways to fit a ridge to chunks, best first; `passes` are those that the estimator needs besides."""
    check_choice("KernelRidge on chunks", "solver", solver, CHUNK_SOLVERS)
    if np.any(np.asarray(alpha) == 0):
        raise InputError("ridge on chunks needs alpha > 0: least squares of minimum norm needs all rows at once.")
    if rows.once and solver == "cg":
        raise InputError('solver="cg" goes through the rows in every step, and an iterator is read once.')
    passes += rows.passes_before(kernel)
    rate, n, width = gemm_rate(), float(shape.n), shape.width
    most = max(rows.lengths or (rows_of_chunk(width),))
    held = 16 * most * width  # a chunk as it was loaded, and as it was read
    parts = f"{len(rows.lengths)} chunks" if rows.lengths is not None else "chunks"
    found = {}
    if shape.n_features is not None:
        d = shape.n_features
        size, seconds = held + 8 * (3 * d * d + 2 * FEATURE_ROWS * d), (2 * n * d * d + d**3) / rate
        found["primal"] = Route("primal", size, seconds, f"{d} explicit features, {parts}", True, passes + 1)
    m = large.components(shape, n_components)
    block = 8 * min(most, max(64, large.BLOCK_NUMBERS // m)) * (m + width)
    seconds = n * m * m / rate + n * m * (2.0 * width / rate + 0.5 / entry_rate())
    drawn = 8 * rows_drawn(shape.n, m) * (m + width)
    size, draw = held + max(block + 40 * m * m, drawn + 24 * m * m), 0 if rows.once else 1
    found["nystroem"] = Route("nystroem", size, seconds, f"{m} landmarks, {parts}", False, passes + draw + 1)
    size = held + block + 40 * m * m
    found["fourier"] = Route("fourier", size, seconds, f"{m} columns of Fourier features, {parts}", False, passes + 1)
    reason = f"products of pairs of {parts}; the rows are kept, as the model needs them"
    seconds = PRODUCTS * n * n * (2.0 * width / rate + 1.0 / entry_rate())
    looks = 2 if rank_for(shape.n, n_components) else 3  # without landmarks one more pass for the diagonal
    found["cg"] = Route("cg", int(8 * n * (3 * width + 8)), seconds, reason, False, passes + looks)
    if solver == "primal" and "primal" not in found:
        raise InputError('solver="primal" on chunks needs a kernel with a finite feature map, as Polynomial(degree=2) has.')
    if solver != "auto":
        return (found[solver],)
    few = shape.n_features is not None and shape.n_features <= large.components(shape, n_components)
    return (found["primal"],) if few else (found["nystroem"],)


def fit_ridge(problem: RidgeProblem, solver: str, meter: Meter) -> RidgeFit:
    """Solve by the named route."""
    if solver in large.SOLVERS:
        return large.fit_large(problem, solver, meter)
    return {"primal": _primal, "cholesky": _cholesky, "eigh": _eigh, "cg": _cg}[solver](problem, meter)


def diagnose_ridge(problem: RidgeProblem, fitted: RidgeFit, solver: str, meter: Meter) -> Diagnosis:
    """Leave-one-out residuals and leverages; one more factorization, and nothing n x n is kept."""
    if solver in large.SOLVERS:
        return large.diagnose_large(problem, solver, fitted, meter)
    if solver == "cg":
        return _diagnose_cg(problem, fitted, meter)
    if solver == "primal" and problem.alpha.ndim == 0 and problem.alpha > 0 and problem.counts:
        return _diagnose_counts(problem)
    if solver == "primal":
        Z = np.vstack([dense(block) for _, block in feature_blocks(problem)])
        path = EigenPath.from_features(Z, weights=problem.weights, fit_intercept=problem.fit_intercept)
        return _diagnose_path(problem, path)
    if solver == "eigh":
        return _diagnose_path(problem, _path(problem, meter))
    loo, leverage = np.empty(problem.Y.shape), np.empty(problem.Y.shape if problem.alpha.ndim else problem.n)
    for columns, result in dual_fits(problem, meter):
        loo[columns] = result.leave_one_out()
        leverage[columns] = result.leverage()[:, None] if problem.alpha.ndim else result.leverage()
    return Diagnosis(loo, leverage, leverage.sum(axis=0))


def _diagnose_counts(problem: RidgeProblem) -> Diagnosis:
    """From the factor of the normal equations, some rows at a time: sparse features stay sparse."""
    [(_, Z)] = feature_blocks(problem)
    weights = problem.weights
    equations = normal_equations(_blocks(problem, [(slice(0, problem.n), Z)]), fit_intercept=problem.fit_intercept)
    solved = solve_primal(equations, float(problem.alpha))
    loo, leverage = np.empty(problem.Y.shape), np.empty(problem.n)
    for rows in row_blocks(problem.n, FEATURE_ROWS):
        own = None if weights is None else weights[rows]
        loo[rows] = solved.leave_one_out(Z[rows], problem.Y[rows], own)
        leverage[rows] = solved.leverage(Z[rows], own)
    return Diagnosis(loo, leverage, leverage.sum())


def _diagnose_path(problem: RidgeProblem, path: EigenPath) -> Diagnosis:
    alphas = np.unique(problem.alpha)
    loo, leverage = EigenFit(path, problem.Y).leave_one_out(alphas), path.leverage(alphas)
    if problem.alpha.ndim == 0:
        return Diagnosis(loo[0], leverage[0], leverage[0].sum())
    per_target = leverage[np.searchsorted(alphas, problem.alpha)].T
    return Diagnosis(_pick(loo, alphas, problem), per_target, per_target.sum(axis=0))


def dual_fits(problem: RidgeProblem, meter: Meter) -> Iterator[tuple[Any, DualFit]]:
    """One factorization per distinct alpha, all in the memory of one Gram matrix; yields the columns it serves."""
    K = gram(problem.kernel, problem.encoded, memory=float("inf"), progress=meter)
    rows = split_rows(K, problem.weights, overwrite=True)
    if problem.alpha.ndim == 0:
        yield slice(None), fit_rows(rows, problem.Y, float(problem.alpha), problem.fit_intercept)
        return
    for alpha in np.unique(problem.alpha):
        columns = (slice(None), np.flatnonzero(problem.alpha == alpha))
        result = fit_rows(rows, problem.Y[columns], float(alpha), problem.fit_intercept)
        yield columns, result
        result.factor.restore()


def influences(problem: RidgeProblem, meter: Meter) -> Iterator[tuple[Any, Callable[[Array], Array]]]:
    """d f(x) / d y as a function of kernel rows (m, n), with the columns of the targets it serves."""
    if problem.alpha.min() > 0:
        for columns, result in dual_fits(problem, meter):
            yield columns, result.influence
        return
    path = _path(problem, meter)  # minimum norm: only eigenvalues tell the null space from rounding
    for alpha in np.unique(problem.alpha):
        columns = slice(None) if problem.alpha.ndim == 0 else (slice(None), np.flatnonzero(problem.alpha == alpha))
        yield columns, partial(path.influence, alpha=float(alpha))


def _cholesky(problem: RidgeProblem, meter: Meter) -> RidgeFit:
    single = mixed.fit_mixed(problem, meter) if problem.n >= mixed.MIXED_ROWS else None
    if single is not None:
        return single
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
    norms = _norms_with_digits(problem, dual, norms, meter)
    return RidgeFit(dual, intercept, residuals, norms, jitter, converged, 1, message)


def _norms_with_digits(problem: RidgeProblem, dual: Array, norms: Array, meter: Meter) -> Array:  # (n, *t), (*t) -> (*t)
    """dual'K dual, from eigenvalues where the product cancels: at a small alpha most of dual lies where K is 0."""
    diagonal = problem.kernel.diag(problem.encoded)
    eps = float(np.finfo(diagonal.dtype).eps)
    doubt = problem.n * eps * float(np.abs(diagonal).max()) * np.sum(np.square(dual), axis=0)
    if not (doubt > 1e-6 * norms).any():
        return norms
    if problem.n > NORM_ROWS:
        return np.where(doubt > norms, np.nan, norms)
    alphas = np.unique(problem.alpha)
    return _pick(EigenFit(_path(problem, meter), problem.Y).norm_squared(alphas), alphas, problem)


def _path(problem: RidgeProblem, meter: Meter) -> EigenPath:
    K = gram(problem.kernel, problem.encoded, memory=float("inf"), progress=meter)
    return EigenPath.from_gram(K, weights=problem.weights, fit_intercept=problem.fit_intercept, overwrite=True)


def _eigh(problem: RidgeProblem, meter: Meter) -> RidgeFit:
    targets = EigenFit(_path(problem, meter), problem.Y)
    solution = targets.solve(problem.alpha)
    alphas = np.unique(problem.alpha)
    residuals, norms = targets.residuals(alphas), targets.norm_squared(alphas)
    return RidgeFit(
        solution.value, solution.intercept, _pick(residuals, alphas, problem), _pick(norms, alphas, problem),
        solution.jitter, solution.converged, 1, solution.message, solution.rank,
    )  # fmt: skip


def _pick(values: Array, alphas: Array, problem: RidgeProblem) -> Array:
    """From values for every alpha, (L, n, *t) or (L, *t), those of each target's own alpha."""
    if problem.alpha.ndim == 0:
        return values[0]
    chosen = np.searchsorted(alphas, problem.alpha)
    return np.stack([values[a][..., j] for j, a in enumerate(chosen)], axis=-1)


def feature_blocks(problem: RidgeProblem) -> Iterator[tuple[slice, Any]]:
    """Explicit features, some rows at a time; sparse counts, whose columns all rows decide, at once."""
    if problem.counts:
        yield slice(0, problem.n), problem.kernel.feature_map(problem.encoded, like=problem.like)
        return
    for rows in row_blocks(problem.n, FEATURE_ROWS):
        yield rows, problem.kernel.feature_map(as_rows(problem.encoded).take(rows))


def _blocks(problem: RidgeProblem, features: Iterable[tuple[slice, Any]]) -> Iterator[tuple[Any, Array, Array | None]]:
    for rows, Z in features:
        yield Z, problem.Y[rows], None if problem.weights is None else problem.weights[rows]


def _primal(problem: RidgeProblem, meter: Meter) -> RidgeFit:
    if problem.chunks is not None:
        return _primal_of_chunks(problem, problem.chunks, meter)
    if problem.alpha.ndim:
        return _primal_each(problem, meter)
    alpha = float(problem.alpha)
    kept = list(feature_blocks(problem)) if problem.counts else None  # counts are sparse: made once
    if alpha == 0:
        Z = np.vstack([dense(block) for _, block in kept or feature_blocks(problem)])
        least = minimum_norm(Z, problem.Y, weights=problem.weights, fit_intercept=problem.fit_intercept)
        value, intercept, jitter, rank = least.value, least.intercept, least.jitter, least.rank
        converged, message = least.converged, least.message
    else:
        blocks = _blocks(problem, kept or feature_blocks(problem))
        solved = solve_primal(normal_equations(blocks, fit_intercept=problem.fit_intercept), alpha)
        value, intercept, jitter, rank = solved.value, solved.intercept, solved.jitter, None
        converged, message = solved.converged, solved.message
    residuals = np.empty(problem.Y.shape)
    for rows, Z in kept or feature_blocks(problem):
        residuals[rows] = problem.Y[rows] - Z @ value - intercept
    weights = problem.counted
    # alpha w = Z'W r, so w = Z'(W r / alpha): the dual coefficients without a Gram matrix
    dual = (weights * residuals.T).T / alpha if alpha else np.full(problem.Y.shape, np.nan)
    norms = np.sum(value**2, axis=0)
    return RidgeFit(dual, intercept, residuals, norms, jitter, converged, 1, message, rank, value)


def explicit_sums(chunk: Chunk, kernel: Kernel, fit_intercept: bool, shift: Array) -> tuple[Array, ...]:
    """The normal equations of one chunk."""
    blocks = []
    for start in range(0, len(chunk), FEATURE_ROWS):
        rows = slice(start, start + FEATURE_ROWS)
        blocks.append((rows, None if chunk.weights is None else chunk.weights[rows]))
    made = ((kernel.feature_map(take(chunk.X, rows)), chunk.y[rows], w) for rows, w in blocks)
    found = normal_equations(made, fit_intercept=fit_intercept, shift=shift)
    return found.gram, found.moment, found.sums, found.target_sums, np.array([found.weight])


def _primal_of_chunks(problem: RidgeProblem, rows: ChunkedRows, meter: Meter) -> RidgeFit:
    """Ridge in the explicit features of chunks, from one pass."""
    first = problem.kernel.feature_map(take(rows.head.X, slice(0, large.SHIFT_ROWS)))
    centered = isinstance(first, np.ndarray) and problem.fit_intercept
    shift = first.mean(axis=0, dtype=np.float64) if centered else np.zeros(first.shape[1])
    sums = rows.sum(explicit_sums, problem.kernel, problem.fit_intercept, shift, progress=meter)
    shape = problem.Y.shape[1:]
    gram, moment, columns, targets, weight = sums
    equations = NormalEquations(gram, moment, columns, targets, float(weight[0]), shift, problem.fit_intercept, shape)
    solved: list[PrimalFit] = [solve_primal(equations, float(a)) for a in np.unique(problem.alpha)]
    value, intercept = large.of_each_target(solved, problem)
    return RidgeFit(
        None, intercept.reshape(shape), None, np.sum(value**2, axis=0).reshape(shape), max(s.jitter for s in solved),
        all(s.converged for s in solved), 1, solved[-1].message, weights=value.reshape(-1, *shape),
    )  # fmt: skip


def _primal_each(problem: RidgeProblem, meter: Meter) -> RidgeFit:
    columns = [
        _primal(dataclasses.replace(problem, Y=problem.Y[:, j], alpha=np.asarray(alpha)), meter)
        for j, alpha in enumerate(problem.alpha)
    ]

    def stacked(name: str) -> Array:
        return np.stack([getattr(column, name) for column in columns], axis=-1)

    jitter, converged = max(c.jitter for c in columns), all(c.converged for c in columns)
    return RidgeFit(
        stacked("dual"), stacked("intercept"), stacked("residuals"), stacked("norm_squared"),
        jitter, converged, 1, columns[-1].message, None, stacked("weights"),
    )  # fmt: skip


def gathered(problem: RidgeProblem) -> RidgeProblem:
    """The problem with the rows of all chunks in memory, for conjugate gradients; products still go by chunks."""
    assert problem.chunks is not None
    whole, operator = problem.chunks.gathered(), ChunkOperator(problem.kernel, problem.chunks)
    return dataclasses.replace(problem, X=whole.X, Y=whole.y, weights=whole.weights, operator=operator, chunks=None)


def rank_for(n: int, asked: int | None = None) -> int:
    """Return how many landmarks the preconditioner takes; 0 is the diagonal."""
    if asked is not None:
        return min(int(asked), n)
    return 0 if n < FEWEST_OF_PRECONDITIONER else min(MOST_LANDMARKS, n // ROWS_PER_LANDMARK)


class LandmarkPreconditioner:
    """R -> (F F' + D)^-1 R with D = diag(shift) and F from randomly pivoted Cholesky.

    The inverse is D^-1 - D^-1 F (I + F'D^-1 F)^-1 F'D^-1. If the trace of K - F F' is below that of D, the number of steps
    does not depend on the number of rows (Diaz, Epperly, Frangella, Tropp and Webber 2023).
    """

    def __init__(self, F: Array, shift: Array) -> None:  # (n, m), which is used up, and (n,)
        self._root = np.sqrt(shift)[:, None]
        F /= self._root
        self._F = F
        inner = F.T @ F
        inner[np.diag_indices_from(inner)] += 1.0
        self._inner = definite_factor(inner)

    def __call__(self, R: Array) -> Array:  # (n, t) -> (n, t)
        scaled = R / self._root
        back = la.cho_solve((self._inner, True), self._F.T @ scaled, check_finite=False)
        return np.asarray((scaled - self._F @ back) / self._root)

    def inverse_diagonal(self) -> Array:  # -> (n,)
        """The diagonal of the inverse."""
        out = np.empty(len(self._F))
        for start in range(0, len(out), DIAGONAL_ROWS):
            part = slice(start, start + DIAGONAL_ROWS)
            half = la.solve_triangular(self._inner, self._F[part].T, lower=True, check_finite=False)
            out[part] = (1.0 - np.sum(half**2, axis=0)) / self._root[part, 0] ** 2
        return out


def landmark_preconditioner(problem: RidgeProblem, shift: Array, rank: int) -> LandmarkPreconditioner | None:  # shift (n,)
    """Return the preconditioner with `rank` landmarks; None for the diagonal."""
    if rank == 0 or not (shift > 0).all():
        return None
    F = low_rank(problem.kernel, problem.encoded, rank, rng=np.random.default_rng(0), memory=float("inf")).factor
    return LandmarkPreconditioner(F, shift)


def _cg(problem: RidgeProblem, meter: Meter) -> RidgeFit:
    K = problem.operator or GramOperator(problem.kernel, problem.encoded)
    if problem.alpha.ndim:
        raise InputError("solver cg takes one alpha for all targets; give a number, or fit the targets one by one.")
    weights = problem.counted
    if weights.min() == 0:
        raise InputError("solver cg takes weights > 0; drop the rows of weight zero.")
    shift = float(problem.alpha) / weights

    def watch(state: Progress) -> None:
        meter(state.n_iter, state.max_iter)

    near = landmark_preconditioner(problem, shift, rank_for(problem.n, problem.n_components))
    solution = conjugate_gradient(
        K,
        right_sides(problem),
        shift=shift,
        preconditioner=near,
        tol=problem.tol,
        max_iter=problem.max_iter,
        callback=watch,
    )
    return from_solution(problem, solution, shift, solution.message)


def _diagnose_cg(problem: RidgeProblem, fitted: RidgeFit, meter: Meter) -> Diagnosis:
    """The diagonal of G^-1 from that of the preconditioner P, exact, and of G^-1 - P^-1 by random signs.

    F F' <= K, so that 1 / G_ii <= (G^-1)_ii <= (P^-1)_ii, and an estimate outside is moved to the nearer end.
    """
    weights = problem.counted
    shift = float(problem.alpha) / weights
    K = GramOperator(problem.kernel, problem.encoded)
    rank = max(rank_for(problem.n, problem.n_components), min(problem.n // 2, FEWEST_OF_LOO))
    near = landmark_preconditioner(problem, shift, rank)
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(problem.n, PROBES))
    columns = np.column_stack([signs, np.ones(problem.n)])
    solved = conjugate_gradient(
        K, columns, shift=shift, preconditioner=near, tol=1e-3, max_iter=problem.max_iter,
        callback=lambda state: meter(state.n_iter, state.max_iter),
    ).value  # fmt: skip
    top = 1.0 / shift if near is None else near.inverse_diagonal()
    known = signs / shift[:, None] if near is None else near(signs)
    estimate = top + np.mean(signs * (solved[:, :-1] - known), axis=1)
    diagonal = np.clip(estimate, 1.0 / (np.asarray(K.diag(), dtype=np.float64) + shift), top)
    if problem.fit_intercept:
        ones = solved[:, -1]
        diagonal = np.maximum(centered_diagonal(diagonal, ones**2 / ones.sum()), np.finfo(np.float64).tiny)
    assert fitted.dual is not None
    loo = leave_one_out(fitted.dual, diagonal)
    leverage = 1.0 - shift * diagonal
    return Diagnosis(loo, leverage, leverage.sum())
