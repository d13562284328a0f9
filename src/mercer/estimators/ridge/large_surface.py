"""The cross-validated surface on features that stand for the kernel: all alphas from one m x m decomposition per kernel.

Z'WZ = V diag(s) V' comes from one pass over the rows; a second pass makes u_i = V'z_i, from which the residual and the
leverage of every row follow for every alpha: f(x_i) = sum_k u_ik c_k / (s_k + alpha), h_i = sum_k u_ik^2 / (s_k + alpha).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.linalg as la

from mercer.errors import InputError
from mercer.estimators.progress import Meter
from mercer.estimators.ridge.grid import grid_surface
from mercer.estimators.ridge.large import equations, feature_map, on_raw, raw_blocks
from mercer.estimators.ridge.problem import Array, Problem
from mercer.estimators.ridge.surface import Data, assemble
from mercer.gram.fourier_grid import has_grid
from mercer.kernels.base import Kernel
from mercer.selection.scoring import Scoring
from mercer.selection.surface import PenaltyAxis, Surface


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
    if solver == "fourier" and all(has_grid(kernel, data.X.shape[1]) for kernel in kernels):
        return grid_surface(params, kernels, data, axis, scoring, step)
    if data.splits is not None:
        raise InputError(f'route "{solver}" chooses by leave-one-out; leave cv=None, or raise memory= for the exact routes.')
    found = []
    weights = np.ones(len(data.Y)) if data.weights is None else data.weights
    for index, kernel in enumerate(kernels):
        held = held_out(kernel, data, alphas, solver, n_components)
        found.append(scoring.evaluate(data.Y, [held], [np.arange(len(data.Y))], weights, leave_one_out=True))
        step(index + 1, len(kernels))
    return assemble(params, kernels, axis, found, solver, scoring.name)


def held_out(kernel: Kernel, data: Data, alphas: Array, solver: str, n_components: int | None) -> Array:  # -> (L, n, *t)
    """Leave-one-out residuals of one kernel at every alpha, in two passes."""
    problem = Problem(
        kernel, data.X, data.Y, np.asarray(alphas.min()), data.weights, data.fit_intercept, n_components=n_components
    )  # fmt: skip
    features = feature_map(problem, solver)
    sums = equations(problem, features, Meter("surface", False))
    gram, moment, mean, middle = sums.centered()
    values, vectors = la.eigh(gram, overwrite_a=True, check_finite=False, driver="evd")
    shrink = 1.0 / (np.maximum(values, 0.0)[:, None] + alphas)  # (m, L)
    turned = vectors.T @ moment  # (m, t)
    rotation = on_raw(features, vectors)  # raw rows times it are V'z
    center = vectors.T @ mean
    Y = data.Y.reshape(len(data.Y), -1)
    own = 1.0 / sums.weight if data.fit_intercept else 0.0
    loo = np.empty((len(alphas), *Y.shape))
    held = None
    for rows, R in raw_blocks(features, data.X):
        held = np.empty(R.shape) if held is None else held  # the first block is the largest
        U = np.matmul(R, rotation, out=held[: len(R)])
        U -= center
        h = np.multiply(U, U, out=R) @ shrink + own  # (b, L)
        if data.weights is not None:
            h *= data.weights[rows, None]
        for number in range(len(alphas)):
            fitted = U @ (shrink[:, number, None] * turned) + middle
            loo[number, rows] = (Y[rows] - fitted) / (1.0 - h[:, number])[:, None]
    return loo.reshape(len(alphas), *data.Y.shape)
