"""Ridge on rows that come in chunks: which routes there are, and the normal equations of explicit features."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.errors import InputError, check_choice
from mercer.estimators.progress import Meter
from mercer.estimators.ridge import large
from mercer.estimators.ridge.preconditioner import rank_for
from mercer.estimators.ridge.problem import Problem, RidgeFit
from mercer.estimators.training import passes_before
from mercer.grams.chunks.operator import ChunkOperator
from mercer.grams.chunks.rows import ChunkedRows
from mercer.grams.low_rank import rows_drawn
from mercer.inputs import take
from mercer.inputs.chunks import Chunk, rows_of_chunk
from mercer.kernels.base import Kernel
from mercer.linalg.ridge.primal import NormalEquations, PrimalFit, normal_equations, solve_primal
from mercer.planning import Route, Shape, entry_rate, gemm_rate

#: Rows of explicit features made at a time.
FEATURE_ROWS = 2048

#: Products with the kernel matrix that conjugate gradients take, roughly.
PRODUCTS = 40

SOLVERS = ("auto", "primal", "nystroem", "fourier", "cg")


def chunk_routes(
    shape: Shape, rows: ChunkedRows, kernel: Kernel, solver: str, alpha: Any, n_components: int | None, passes: int = 0
) -> tuple[Route, ...]:
    """The ways to fit a ridge to chunks, best first; `passes` is how many the estimator needs beside."""
    check_choice("KernelRidge on chunks", "solver", solver, SOLVERS)
    if np.any(np.asarray(alpha) == 0):
        raise InputError("ridge on chunks needs alpha > 0: least squares of minimum norm needs all rows at once.")
    if rows.once and solver == "cg":
        raise InputError('solver="cg" goes through the rows in every step, and an iterator is read once.')
    passes += passes_before(kernel, rows)
    rate, n, width = gemm_rate(), float(shape.n), shape.width
    most = max(rows.lengths or (rows_of_chunk(width),))
    held = 16 * most * width  # a chunk as it was loaded, and as it was read
    said = f"{len(rows.lengths)} chunks" if rows.lengths is not None else "chunks"
    found = {}
    if shape.n_features is not None:
        d = shape.n_features
        size, seconds = held + 8 * (3 * d * d + 2 * FEATURE_ROWS * d), (2 * n * d * d + d**3) / rate
        found["primal"] = Route("primal", size, seconds, f"{d} explicit features, {said}", True, passes + 1)
    m = large.components(shape, n_components)
    block = 8 * min(most, max(64, large.BLOCK_NUMBERS // m)) * (m + width)
    seconds = n * m * m / rate + n * m * (2.0 * width / rate + 0.5 / entry_rate())
    drawn = 8 * rows_drawn(shape.n, m) * (m + width)
    size, draw = held + max(block + 40 * m * m, drawn + 24 * m * m), 0 if rows.once else 1
    found["nystroem"] = Route("nystroem", size, seconds, f"{m} landmarks, {said}", False, passes + draw + 1)
    size = held + block + 40 * m * m
    found["fourier"] = Route("fourier", size, seconds, f"{m} columns of Fourier features, {said}", False, passes + 1)
    reason = f"products of pairs of {said}; the rows are kept, as the model needs them"
    seconds = PRODUCTS * n * n * (2.0 * width / rate + 1.0 / entry_rate())
    looks = 2 if rank_for(shape.n, n_components) else 3  # without landmarks the diagonal is asked for
    found["cg"] = Route("cg", int(8 * n * (3 * width + 8)), seconds, reason, False, passes + looks)
    if solver == "primal" and "primal" not in found:
        raise InputError('solver="primal" on chunks needs a kernel with a finite feature map, as Polynomial(degree=2) has.')
    if solver != "auto":
        return (found[solver],)
    few = shape.n_features is not None and shape.n_features <= large.components(shape, n_components)
    return (found["primal"],) if few else (found["nystroem"],)


def at_hand(problem: Problem, solver: str, meter: Meter) -> Problem:
    """The problem as its route takes it: conjugate gradients multiply by chunks, and need the targets of all rows."""
    if not isinstance(problem.X, ChunkedRows) or solver != "cg":
        return problem
    rows = problem.X
    everything = rows.gathered()
    operator = ChunkOperator(problem.kernel, rows)
    return dataclasses.replace(problem, X=everything.X, Y=everything.y, weights=everything.weights, operator=operator)


def explicit_sums(chunk: Chunk, kernel: Kernel, fit_intercept: bool, shift: Array) -> tuple[Array, ...]:
    """The normal equations of one chunk."""
    blocks = []
    for start in range(0, len(chunk), FEATURE_ROWS):
        rows = slice(start, start + FEATURE_ROWS)
        blocks.append((rows, None if chunk.weights is None else chunk.weights[rows]))
    made = ((kernel.feature_map(take(chunk.X, rows)), chunk.y[rows], w) for rows, w in blocks)
    found = normal_equations(made, fit_intercept=fit_intercept, shift=shift)
    return found.gram, found.moment, found.sums, found.target_sums, np.array([found.weight])


def fit_primal(problem: Problem, meter: Meter) -> RidgeFit:
    """Ridge in the explicit features of chunks, from one pass."""
    first = problem.kernel.feature_map(take(problem.X.head.X, slice(0, large.SHIFT_ROWS)))
    dense = isinstance(first, np.ndarray) and problem.fit_intercept
    shift = first.mean(axis=0, dtype=np.float64) if dense else np.zeros(first.shape[1])
    sums = problem.X.sum(explicit_sums, problem.kernel, problem.fit_intercept, shift, progress=meter)
    shape = problem.Y.shape[1:]
    gram, moment, columns, targets, weight = sums
    equations = NormalEquations(gram, moment, columns, targets, float(weight[0]), shift, problem.fit_intercept, shape)
    solved: list[PrimalFit] = [solve_primal(equations, float(a)) for a in np.unique(problem.alpha)]
    value, intercept = large.of_each_target(solved, problem)
    return RidgeFit(
        None, intercept.reshape(shape), None, np.sum(value**2, axis=0).reshape(shape), max(s.jitter for s in solved),
        all(s.converged for s in solved), 1, solved[-1].message, weights=value.reshape(-1, *shape),
    )  # fmt: skip
