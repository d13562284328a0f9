"""Ridge on features that stand for the kernel: landmarks or Fourier features, in one pass over blocks of rows.

With z(x) = L^-1 k(S, x) for landmarks S (k(S, S) = L L'), or cosines and sines of frequencies, the fit is
w = (Z'WZ + alpha I)^-1 Z'Wy. Z'WZ is summed in float64 from the raw values k(S, x) and divided by L at the end: one product
of m^2 numbers per row, and no n x m array.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from mercer.arrays import Array
from mercer.errors import CapabilityError, InputError
from mercer.estimators.progress import Meter
from mercer.estimators.ridge import many_landmarks
from mercer.estimators.ridge.grid import diagnose_grid, fit_grid, grid_route, grid_surface, predict_grid
from mercer.estimators.ridge.problem import Diagnosis, RidgeData, RidgeFit, RidgeProblem
from mercer.estimators.ridge.surface import assemble
from mercer.grams import GramOperator
from mercer.grams.chunks.tasks import plus
from mercer.grams.fourier_grid import FourierGrid, has_grid
from mercer.grams.low_rank import LandmarkFeatures, landmark_features, rows_drawn
from mercer.grams.products import check_weights
from mercer.inputs import Rows, as_rows, columns_of, count, take, widened
from mercer.inputs.chunks import Chunk
from mercer.kernels.base import Kernel
from mercer.kernels.evaluation import Evaluation
from mercer.kernels.spectral.fourier_map import FourierMap, draw
from mercer.linalg.eigenpairs import eigenpairs
from mercer.linalg.ridge.held_out import leave_one_out
from mercer.linalg.ridge.primal import NormalEquations, PrimalFit, solve_primal
from mercer.numeric.tiles import fill
from mercer.planning import LOADING, Route, Shape, entry_rate, gemm_rate
from mercer.registry import record
from mercer.selection.scoring import Scoring
from mercer.selection.surface import PenaltyAxis, Surface

record()(FourierMap)  # fitted ridges contain this map; the kernels layer cannot register it

SOLVERS = ("nystroem", "fourier", many_landmarks.NAME)

#: Those that have a cross-validated surface.
SURFACES = ("nystroem", "fourier")

#: Landmarks or columns of Fourier features where n_components is not given.
COMPONENTS = 2000

#: Numbers of one block of raw features. Row: flights-nystroem.
BLOCK_NUMBERS = 1 << 23

#: What rounding may add to the sums of features, as a share of the penalty.
ROUNDING = 1e-2

#: Rows whose products with weights are made at a time: what is held is their encoding. Row: flights-nystroem.
PRODUCT_ROWS = 1 << 16

#: Rows of whose features the mean is taken before the sums begin.
SHIFT_ROWS = 1024

#: Rows of a chunk whose residuals at every alpha are held at a time.
SCORED_ROWS = 1 << 16

#: The draws of a fit: the same script gives the same model.
DRAWS_SEED = 0


def check_components(asked: int | None) -> None:
    """Raise if the number of landmarks or columns is not a whole number >= 1, or None."""
    if asked is not None and (isinstance(asked, bool) or not isinstance(asked, (int, np.integer)) or asked < 1):
        raise InputError(f"n_components must be a whole number >= 1, or None; got {asked!r}.")


def components(shape: Shape, asked: int | None) -> int:
    """Return how many landmarks or columns a fit takes."""
    check_components(asked)
    return min(shape.n, COMPONENTS if asked is None else int(asked))


def large_route(name: str, shape: Shape, asked: int | None, memory: Any = None) -> Route:
    """A route whose memory does not grow with the square of the rows."""
    m, n, t, rate = components(shape, asked), float(shape.n), shape.n_targets, gemm_rate()
    if name == many_landmarks.NAME:
        return many_landmarks.many_route(shape, min(shape.n, m if asked is not None else many_landmarks.FEWEST), memory)
    if name == "fourier" and shape.n_frequencies is not None:
        return grid_route(shape, shape.n_frequencies)
    rows = min(shape.n, max(64, BLOCK_NUMBERS // m))
    kept = 8 * 4 * shape.n * t
    entries = n * m * (2.0 * shape.width / rate + 1.0 / entry_rate() / 2.0)
    drawn = rows_drawn(shape.n, m)
    seconds = LOADING + (n * m * m + drawn * m * m + 5.0 * m**3) / rate + 2.0 * entries
    if name == "fourier":
        held = 8 * (rows * (m + shape.width) + 4 * m * m)
        return Route(name, held + kept, seconds, f"{m} columns of Fourier features, one pass over the rows", exact=False)
    choosing = 0.4 * (seconds - LOADING)  # pivots are drawn in small products
    held = max(8 * (rows * (m + shape.width) + 5 * m * m), 8 * (drawn * (m + shape.width) + 3 * m * m))
    return Route(name, held + kept, seconds + choosing, f"{m} landmarks, one pass over the rows", exact=False)


def feature_map(problem: RidgeProblem, solver: str) -> LandmarkFeatures | FourierMap:
    """The features of a route, chosen from the training rows with a fixed seed."""
    if problem.features is not None:
        return problem.features
    m = min(problem.n, problem.n_components or COMPONENTS)
    rng = np.random.default_rng(DRAWS_SEED)
    if solver == "nystroem":
        return landmark_features(problem.kernel, problem.X if problem.chunks is None else problem.chunks, m, rng)[0]
    near = problem.first_rows  # the center of some rows is enough to keep the digits of the phases
    width = columns_of(near)
    if width is None:
        raise CapabilityError(f'solver="fourier" takes vectors, but {problem.kernel} compares others; use "nystroem".')
    drawn = draw(problem.kernel.spectral(width), (m + 1) // 2, "auto", rng)
    center = np.zeros(width) if sp.issparse(near) else near.mean(axis=0, dtype=np.float64)
    return FourierMap(drawn.frequencies, drawn.weights, np.asarray(center), np.empty(0))


def on_grid(problem: RidgeProblem, solver: str) -> bool:
    """Whether the frequencies of a route lie on a grid: for kernels with a spectral density in one to three columns."""
    if solver != "fourier" or isinstance(problem.features, FourierMap):
        return False
    width = None if problem.chunks is not None or sp.issparse(problem.X) else columns_of(problem.X)
    return isinstance(problem.features, FourierGrid) or (width is not None and has_grid(problem.kernel, width))


def write_raw(features: LandmarkFeatures | FourierMap, X: Any, out: Array) -> None:  # out (b, m) float64
    """k(x, S) for landmarks, z(x) for Fourier features; float32 rows are read in float64."""
    X = widened(X)
    if isinstance(features, FourierMap):
        features.write(X, out)
        return
    if features.kernel.given:
        raise CapabilityError('a precomputed kernel is a matrix already; use solver="cholesky".')
    values = Evaluation(features.kernel, X, features.landmarks)
    fill(values.block, out, False, strip=values.strip)


def whiten(features: LandmarkFeatures | FourierMap, values: Array) -> Array:  # (m, r) -> (m, r)
    """L^-1 values: what is known of raw features, for the features themselves."""
    if isinstance(features, FourierMap):
        return values
    return np.asarray(la.solve_triangular(features.triangle, values, lower=True, check_finite=False))


def on_raw(features: LandmarkFeatures | FourierMap, weights: Array) -> Array:  # (m, *t) -> (m, *t)
    """L^-T w: the weights that raw features take."""
    return weights if isinstance(features, FourierMap) else features.expansion(weights)


def width_of(features: LandmarkFeatures | FourierMap | FourierGrid) -> int:
    """The number of features."""
    if isinstance(features, FourierGrid):
        return len(features.weights)
    return features.n_columns if isinstance(features, FourierMap) else features.n_components


def raw_blocks(
    features: LandmarkFeatures | FourierMap, X: Any, meter: Meter | None = None, beside: int = 0
) -> Iterator[tuple[slice, Array]]:
    """Raw features, some rows at a time, with columns `beside` them to be written to; the next block uses their memory."""
    rows, m = Rows(X), width_of(features)
    step = min(len(rows), max(64, BLOCK_NUMBERS // m))
    buffer = np.empty((step, m + beside))
    for start in range(0, len(rows), step):
        part = slice(start, min(start + step, len(rows)))
        block = buffer[: part.stop - part.start]
        write_raw(features, rows.take(part).data, block[:, :m])
        yield part, block
        if meter is not None:
            meter(part.stop, len(rows))


def raw_products(features: LandmarkFeatures | FourierMap, X: Any, c: Array) -> Iterator[tuple[slice, Array]]:  # c (m, *t)
    """Raw features times c; those of landmarks are never held."""
    if isinstance(features, FourierMap):
        for part, R in raw_blocks(features, X):
            yield part, R @ c
        return
    rows = Rows(X)
    for start in range(0, len(rows), PRODUCT_ROWS):
        part = slice(start, min(start + PRODUCT_ROWS, len(rows)))
        yield part, GramOperator(features.kernel, widened(rows.take(part).data), features.landmarks) @ c


def equations(problem: RidgeProblem, features: LandmarkFeatures | FourierMap, meter: Meter) -> NormalEquations:
    """The normal equations of the features, from one pass."""
    if isinstance(features, FourierMap):
        return _sums(problem, features, meter)
    if not _divided_at_the_end(problem, features):
        return _sums(problem, features, meter, whitened=True)
    raw = _sums(problem, features, meter)
    half = whiten(features, raw.gram)
    gram = whiten(features, half.T)
    columns = whiten(features, np.column_stack([raw.sums, raw.shift]))
    return dataclasses.replace(
        raw, gram=(gram + gram.T) / 2.0, moment=whiten(features, raw.moment), sums=columns[:, 0], shift=columns[:, 1]
    )


def _divided_at_the_end(problem: RidgeProblem, features: LandmarkFeatures) -> bool:
    """Whether the rounding of raw sums, once L has been divided out of them twice, stays far below the penalty."""
    if problem.chunks is not None and (problem.chunks.once or problem.chunks.weighted):
        return False  # what the rows weigh is known at the end
    total = float(problem.n if problem.weights is None else problem.weights.sum())
    diagonal = np.einsum("ij,ij->i", features.triangle, features.triangle)
    lowest, largest = float(features.triangle.diagonal().min()), float(diagonal.max(initial=0.0))
    rounding = float(np.finfo(np.float64).eps) * total * largest * largest  # infinite, where a power would raise
    return rounding <= ROUNDING * float(np.min(problem.alpha)) * lowest * lowest


def _sums(
    problem: RidgeProblem, features: LandmarkFeatures | FourierMap, meter: Meter, whitened: bool = False
) -> NormalEquations:
    """The sums of raw features, or of `whitened` ones: of all rows at once, or of every chunk."""
    m, shift = width_of(features), None
    if problem.fit_intercept:
        shift = _shift(problem, features, whitened)
    if problem.chunks is not None:
        (total,) = problem.chunks.sum(chunk_sums, features, whitened, shift, progress=meter)
    else:
        total = row_sums(problem.X, problem.Y, problem.weights, features, whitened, shift, meter)
    gram, moment, sums = total[:m, :m].copy(), total[:m, m:-1].copy(), total[:m, -1].copy()
    moved = np.zeros(m) if shift is None else shift
    return NormalEquations(
        gram, moment, sums, total[m:-1, -1].copy(), float(total[-1, -1]), moved, problem.fit_intercept, problem.Y.shape[1:]
    )


def _shift(problem: RidgeProblem, features: LandmarkFeatures | FourierMap, whitened: bool) -> Array:  # -> (m,)
    """The mean of the first rows: near enough to the mean to keep the digits of centered sums."""
    first = as_rows(problem.first_rows).take(slice(0, SHIFT_ROWS)).data
    R = np.empty((count(first), width_of(features)))
    write_raw(features, first, R)
    mean = R.mean(axis=0)
    return whiten(features, mean[:, None])[:, 0] if whitened else np.asarray(mean)


def chunk_sums(chunk: Chunk, features: LandmarkFeatures | FourierMap, whitened: bool, shift: Array | None) -> tuple[Array]:
    """The sums of one chunk."""
    return (row_sums(chunk.X, chunk.y, chunk.weights, features, whitened, shift),)


def row_sums(  # Y (n, *t), weights (n,), shift (m,) -> (m + t + 1, m + t + 1)
    X: Any,
    Y: Array,
    weights: Array | None,
    features: LandmarkFeatures | FourierMap,
    whitened: bool,
    shift: Array | None,
    meter: Meter | None = None,
) -> Array:
    """[Z - shift, Y, 1]' W [Z - shift, Y, 1]: targets and ones stand beside the features, so that one product has all."""
    Y = Y.reshape(len(Y), -1)
    m, t = width_of(features), Y.shape[1]
    total, product = np.zeros((m + t + 1, m + t + 1)), np.empty((m + t + 1, m + t + 1))
    for rows, R in raw_blocks(features, X, meter, beside=t + 1):
        R[:, m:-1], R[:, -1] = Y[rows], 1.0
        if whitened:
            R[:, :m] = whiten(features, R[:, :m].T).T
        if shift is not None:
            R[:, :m] -= shift
        if weights is not None:
            R *= np.sqrt(weights[rows])[:, None]
        total += np.matmul(R.T, R, out=product)
    return total


def fit_large(problem: RidgeProblem, solver: str, meter: Meter) -> RidgeFit:
    """Solve on the features of a route."""
    if np.any(problem.alpha == 0):
        raise InputError(f'solver="{solver}" needs alpha > 0: features that stand for the kernel have no exact interpolant.')
    if solver == many_landmarks.NAME:
        return many_landmarks.fit_many(problem, meter)
    if on_grid(problem, solver):
        return fit_grid(problem, meter)
    features = feature_map(problem, solver)
    return fit_sums(problem, features, equations(problem, features, meter))


def fit_sums(problem: RidgeProblem, features: LandmarkFeatures | FourierMap, sums: NormalEquations) -> RidgeFit:
    """Solve the normal equations of the features at the penalty of the problem."""
    solved = [solve_primal(sums, float(a)) for a in np.unique(problem.alpha)]
    value, intercept = of_each_target(solved, problem)
    shape, message = problem.Y.shape[1:], solved[-1].message
    return RidgeFit(
        None, intercept.reshape(shape), None,
        np.sum(value**2, axis=0).reshape(shape), max(s.jitter for s in solved), all(s.converged for s in solved), 1, message,
        weights=value.reshape(-1, *shape), features=features,
    )  # fmt: skip


def residuals_of(problem: RidgeProblem, fitted: RidgeFit) -> Array:  # -> (n, *t)
    """y - f on the training rows, which a fit by one pass over them has not made."""
    if fitted.residuals is not None:
        return fitted.residuals
    assert fitted.weights is not None
    return np.asarray(problem.Y - predict_large(fitted.features, problem.X, fitted.weights, fitted.intercept))


def of_each_target(solved: list[PrimalFit], problem: RidgeProblem) -> tuple[Array, Array]:  # -> (m, t), (t,)
    """Weights and intercepts, each target's at its own alpha."""
    value = solved[0].value.reshape(len(solved[0].value), -1).copy()
    intercept = np.atleast_1d(solved[0].intercept).astype(np.float64).copy()
    for fit in solved[1:]:
        mine = problem.alpha == fit.alpha
        value[:, mine] = fit.value[:, mine]
        intercept[mine] = fit.intercept[mine]
    return value, intercept


def predict_large(features: LandmarkFeatures | FourierMap | FourierGrid, X: Any, weights: Array, intercept: Any) -> Array:
    """f at new rows, some at a time."""
    check_weights(weights, width_of(features))
    if isinstance(features, FourierGrid):
        return predict_grid(features, X, weights, intercept)
    c = on_raw(features, weights)
    return np.concatenate([f + intercept for _, f in raw_products(features, X, c)])


def diagnose_large(problem: RidgeProblem, solver: str, fitted: RidgeFit, meter: Meter) -> Diagnosis:
    """Leave-one-out residuals and leverages, from one more sum and one more pass."""
    if solver == many_landmarks.NAME:
        return many_landmarks.diagnose_many(problem, residuals_of(problem, fitted))
    if on_grid(problem, solver):
        return diagnose_grid(problem, residuals_of(problem, fitted))
    features = feature_map(problem, solver)
    sums = equations(problem, features, meter)
    Y = problem.Y.reshape(problem.n, -1)
    loo = np.empty(Y.shape)
    leverage = np.empty(Y.shape if problem.alpha.ndim else (problem.n, 1))
    for alpha in np.unique(problem.alpha):
        mine = np.flatnonzero(np.broadcast_to(problem.alpha == alpha, Y.shape[1:]))
        solved = solve_primal(sums, float(alpha))
        for rows, R in raw_blocks(features, problem.X):
            Z = whiten(features, R.T).T
            own = None if problem.weights is None else problem.weights[rows]
            h = solved.leverage(Z, own)
            value = solved.value.reshape(len(solved.value), -1)[:, mine]
            errors = Y[rows][:, mine] - Z @ value - np.atleast_1d(solved.intercept)[mine]
            loo[rows.start : rows.stop, mine] = leave_one_out(errors, 1.0 - h)
            leverage[rows.start : rows.stop, mine if problem.alpha.ndim else slice(None)] = h[:, None]
    values = leverage if problem.alpha.ndim else leverage[:, 0]
    return Diagnosis(loo.reshape(problem.Y.shape), values, values.sum(axis=0))


def large_surface(
    params: Sequence[dict[str, Any]],
    kernels: Sequence[Kernel],
    data: RidgeData,
    axis: PenaltyAxis,
    scoring: Scoring,
    solver: str,
    n_components: int | None,
    step: Callable[[int, int], None],
) -> Surface:
    """The surface by landmarks or Fourier features: exact leave-one-out of the model with these features."""
    alphas = axis.values
    if alphas.min() <= 0:
        raise InputError(f'route "{solver}" needs alphas > 0; got {alphas.min():g}.')
    if solver == "fourier" and not data.chunked and all(has_grid(kernel, data.X.shape[1]) for kernel in kernels):
        return grid_surface(params, kernels, data, axis, scoring, step)
    if data.splits is not None:
        raise InputError(f'route "{solver}" chooses by leave-one-out; leave cv=None, or raise memory= for the exact routes.')
    found = []
    weights = np.ones(len(data.Y)) if data.weights is None else data.weights
    for index, kernel in enumerate(kernels):
        left = fit_at_all(kernel, data, alphas, solver, n_components)
        if data.chunked:
            found.append(scoring.of_sums(*data.rows.sum(chunk_scores, left, scoring)))
        else:
            held = left.residuals(data.X, data.Y, data.weights)
            found.append(scoring.evaluate(data.Y, [held], [np.arange(len(data.Y))], weights, leave_one_out=True))
        step(index + 1, len(kernels))
    return assemble(params, kernels, axis, found, solver, scoring.name)


@dataclass(frozen=True)
class LeaveOneOut:
    """The fit of one kernel at every alpha, in the basis of eigenvectors: what a pass needs for held-out residuals."""

    features: Any
    rotation: Array  # (m, m): raw rows times it are V'z
    center: Array  # (m,)
    shrink: Array  # (m, L) 1 / (s_k + alpha)
    turned: Array  # (m, t)
    middle: Array  # (t,)
    own: float  # what the intercept adds to a leverage
    sums: NormalEquations

    def residuals(self, X: Any, Y: Array, weights: Array | None) -> Array:  # (n, *t), (n,) -> (L, n, *t)
        """Leave-one-out residuals of rows of the fit."""
        T = Y.reshape(len(Y), -1)
        loo, held = np.empty((self.shrink.shape[1], *T.shape)), None
        for rows, R in raw_blocks(self.features, X):
            held = np.empty(R.shape) if held is None else held  # the first block is the largest
            U = np.matmul(R, self.rotation, out=held[: len(R)])
            U -= self.center
            h = np.multiply(U, U, out=R) @ self.shrink + self.own  # (b, L)
            if weights is not None:
                h *= weights[rows, None]
            for number in range(len(loo)):
                fitted = U @ (self.shrink[:, number, None] * self.turned) + self.middle
                loo[number, rows] = leave_one_out(T[rows] - fitted, 1.0 - h[:, number])
        return loo.reshape(len(loo), *Y.shape)


def fit_at_all(kernel: Kernel, data: RidgeData, alphas: Array, solver: str, n_components: int | None) -> LeaveOneOut:
    """The fit of one kernel at every alpha, from one pass."""
    problem = data.problem(kernel, np.asarray(alphas.min()), n_components=n_components)
    features = feature_map(problem, solver)
    sums = equations(problem, features, Meter("surface", False))
    gram, moment, mean, middle = sums.centered()
    values, vectors = eigenpairs(gram.copy() if gram is sums.gram else gram)
    shrink = 1.0 / (np.maximum(values, 0.0)[:, None] + alphas)
    own = 1.0 / sums.weight if data.fit_intercept else 0.0
    return LeaveOneOut(
        features, on_raw(features, vectors), vectors.T @ mean, shrink, vectors.T @ moment, np.atleast_1d(middle), own, sums
    )


def chunk_scores(chunk: Chunk, left: LeaveOneOut, scoring: Scoring) -> tuple[Array, ...]:
    """Sums of the scores of one chunk, some rows at a time: residuals of every alpha are many numbers."""
    total: tuple[Array, ...] | None = None
    for start in range(0, len(chunk), SCORED_ROWS):
        rows = slice(start, min(start + SCORED_ROWS, len(chunk)))
        Y, w = chunk.y[rows], None if chunk.weights is None else chunk.weights[rows]
        held = left.residuals(take(chunk.X, rows), Y, w)
        total = plus(total, scoring.sums(Y, held, np.ones(len(Y)) if w is None else w))
    assert total is not None
    return total
