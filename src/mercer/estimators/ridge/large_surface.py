"""The cross-validated surface on features that stand for the kernel: all alphas from one m x m decomposition per kernel.

Z'WZ = V diag(s) V' comes from one pass over the rows; a second pass makes u_i = V'z_i, from which the residual and the
leverage of every row follow for every alpha: f(x_i) = sum_k u_ik c_k / (s_k + alpha), h_i = sum_k u_ik^2 / (s_k + alpha).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.errors import InputError
from mercer.estimators.progress import Meter
from mercer.estimators.ridge.grid import grid_surface
from mercer.estimators.ridge.large import equations, feature_map, on_raw, raw_blocks
from mercer.estimators.ridge.problem import Problem
from mercer.estimators.ridge.surface import Data, assemble
from mercer.grams.chunks.tasks import plus
from mercer.grams.fourier_grid import has_grid
from mercer.inputs import take
from mercer.inputs.chunks import Chunk
from mercer.kernels.base import Kernel
from mercer.linalg.eigenpairs import eigenpairs
from mercer.linalg.ridge.held_out import leave_one_out
from mercer.selection.scoring import Scoring
from mercer.selection.surface import PenaltyAxis, Surface

#: Rows of a chunk whose residuals at every alpha are held at a time.
SCORED_ROWS = 1 << 16


def large_surface(
    params: Sequence[dict[str, Any]],
    kernels: Sequence[Kernel],
    data: Data,
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


def fit_at_all(kernel: Kernel, data: Data, alphas: Array, solver: str, n_components: int | None) -> LeaveOneOut:
    """The fit of one kernel at every alpha, from one pass."""
    problem = Problem(
        kernel, data.X, data.Y, np.asarray(alphas.min()), data.weights, data.fit_intercept, n_components=n_components
    )  # fmt: skip
    features = feature_map(problem, solver)
    sums = equations(problem, features, Meter("surface", False))
    gram, moment, mean, middle = sums.centered()
    values, vectors = eigenpairs(gram)
    shrink = 1.0 / (np.maximum(values, 0.0)[:, None] + alphas)
    own = 1.0 / sums.weight if data.fit_intercept else 0.0
    return LeaveOneOut(
        features, on_raw(features, vectors), vectors.T @ mean, shrink, vectors.T @ moment, np.atleast_1d(middle), own
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
