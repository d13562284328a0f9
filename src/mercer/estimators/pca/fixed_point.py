"""The fixed-point iteration for pre-images, all points at once.

The error rho(y) = k(y, y) - 2 sum_i gamma_i k(y, x_i) + ||target||^2 has the gradient M ((R - 2 sum gamma_i Q_i) y
- 2 sum gamma_i P_i x_i), see `mercer.kernels.input_gradients`. It vanishes where

    y = 2 sum_i gamma_i P_i x_i / (R - 2 sum_i gamma_i Q_i),

for the Gaussian y = sum gamma_i k(y, x_i) x_i / sum gamma_i k(y, x_i) (Mika et al. 1999), for a linear kernel
y = sum gamma_i x_i. A pull towards an anchor near the data keeps the denominator away from zero, after Abrahamsen and
Hansen 2009, who pull towards the input.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.inputs import Rows
from mercer.kernels.base import Kernel
from mercer.kernels.evaluation import Pair
from mercer.kernels.input_gradients import diagonal_gradient, input_gradient

#: A step longer than this share of the spread of the data goes on; iterations at most; halvings of one step at most.
STEP, ITERATIONS, HALVINGS = 1e-5, 200, 6

#: A denominator below this share of the sum of absolute weights is zero but for rounding.
VANISHING = 1e-10


@dataclass(frozen=True)
class Reached:
    """Where the iteration ended: the points, which of them converged, and which lost their denominator."""

    points: Array  # (b, d)
    converged: Array  # (b,) bool
    lost: Array  # (b,) bool


def fixed_point(  # X (n, d), gamma (b, n), start (b, d), anchor (b, d)
    kernel: Kernel, X: Array, gamma: Array, start: Array, anchor: Array, pull: float, spread: float
) -> Reached:
    """Iterate from `start`; a step that raises the error is halved, a point without denominator is given up."""
    Y, n_points = start.copy(), len(start)
    encoded = kernel._encode(Rows(X))
    best, previous = np.full(n_points, np.inf), Y.copy()
    halved, converged, lost = np.zeros(n_points, int), np.zeros(n_points, bool), np.zeros(n_points, bool)
    active = np.arange(n_points)
    for _ in range(ITERATIONS):
        value, step, vanished = _sweep(kernel, encoded, X, gamma[active], Y[active], anchor[active], pull)
        rounding = 1e-12 * (1.0 + np.abs(value))
        worse = value > best[active] + rounding
        stuck = worse & (halved[active] >= HALVINGS)
        back, on = active[worse], active[~worse]
        Y[back] = np.where(stuck[worse][:, None], previous[back], 0.5 * (previous[back] + Y[back]))
        halved[back] += 1
        best[on], previous[on], halved[on] = value[~worse], Y[on], 0
        moved = np.abs(step - Y[active]).max(axis=1)
        gone = ~worse & vanished
        lost[active[gone]] = True
        arrived = stuck | (~worse & ~gone & (moved <= STEP * spread))
        converged[active[arrived]] = True
        forward = ~worse & ~gone
        Y[active[forward]] = step[forward]
        active = active[~(arrived | gone)]
        if len(active) == 0:
            break
    return Reached(Y, converged, lost)


def _sweep(
    kernel: Kernel, encoded: Any, X: Array, gamma: Array, Y: Array, anchor: Array, pull: float
) -> tuple[Array, Array, Array]:
    """The error (up to a constant) at Y, the next points, and where the denominator vanishes."""
    pair = Pair.whole(kernel._encode(Rows(Y)), encoded)
    P, Q = input_gradient(kernel, pair)
    own = kernel._diag(pair.A)
    value = np.asarray(own - 2.0 * np.einsum("ij,ij->i", gamma, pair.block(kernel)), dtype=np.float64)
    W = gamma * P
    total = 2.0 * np.abs(W).sum(axis=1)
    denominator = diagonal_gradient(kernel, pair.A) - 2.0 * np.einsum("ij,ij->i", gamma, Q) + pull * total
    vanished = denominator <= VANISHING * total
    safe = np.where(vanished, 1.0, denominator)
    step = (2.0 * (W @ X) + (pull * total)[:, None] * anchor) / safe[:, None]
    return value, np.where(vanished[:, None], Y, step).astype(Y.dtype, copy=False), vanished
