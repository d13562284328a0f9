"""The ball around the mean of a sample in feature space: distances, leave-one-out, conformal p-values, guarantees.

With c_i = (1/m) sum_j k(x_i, x_j) and N = ||phi_S||^2 the mean of the c_i,

    ||phi(x_i) - phi_S||^2 = k(x_i, x_i) - 2 c_i + N.

Leaving x_i out of the mean stretches its distance by m / (m - 1), exactly: no second pass is needed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mercer.arrays import Array
from mercer.errors import InputError
from mercer.registry import record


@record()
@dataclass(frozen=True)
class Ball:
    """The mean of m points, by kernel values only."""

    _stored: ClassVar[dict[str, str]] = {
        "means": "float (m,)",
        "diagonal": "float (m,)",
        "rounding": "float",
    }

    means: Array  # (m,) c_i = <phi(x_i), phi_S>
    diagonal: Array  # (m,) k(x_i, x_i)
    rounding: float  # squared lengths below this are zeros with rounding

    @property
    def m(self) -> int:
        """The number of points."""
        return len(self.means)

    @property
    def center_squared(self) -> float:
        """||phi_S||^2."""
        return max(float(self.means.mean()), 0.0)

    def squared_distances(self) -> Array:
        """||phi(x_i) - phi_S||^2, (m,)."""
        return self.squared(self.diagonal, self.means)

    def squared(self, diagonal: Array, means: Array) -> Array:  # (n,), (n,) -> (n,)
        """||phi(x) - phi_S||^2 of any points, from k(x, x) and <phi(x), phi_S>."""
        values = np.asarray(diagonal - 2.0 * means + self.center_squared)
        if values.size and values.min() < -self.rounding:
            row = int(values.argmin())
            raise InputError(
                f"the squared distance of row {row} to the mean is {values[row]:.3g} < 0: this is not a kernel, so lengths "
                "do not exist. mercer.check_gram(K) shows why, mercer.repair(K) gives the nearest matrix that is."
            )
        return np.maximum(values, 0.0)

    def leave_one_out(self) -> Array:
        """||phi(x_i) - mean of the others||, (m,); nan for a single point."""
        stretch = self.m / (self.m - 1) if self.m > 1 else math.nan
        return np.sqrt(self.squared_distances()) * stretch


def guaranteed_radius(distances: Array, k: int) -> float:
    """A radius round phi_S that a new point from the same source exceeds with probability <= (m + 1 - k) / (m + 1).

    Round the mean of S and x together, x lies at m/(m+1) d and x_i within d_i + d/(m+1), by the triangle inequality.
    So d > (m+1)/(m-1) d_(k) puts x farther out than k of the m points, around a mean in which all m + 1 count alike; and
    among exchangeable points that has probability at most (m + 1 - k) / (m + 1). Nothing is assumed of the source.
    """
    m = len(distances)
    return float(np.partition(distances, k - 1)[k - 1]) * (m + 1) / (m - 1) if m > 1 else math.inf


def conformal_scores(values: Array, ball: Ball, cols: slice, squared: Array, means: Array) -> Array:
    # (n, c), (n,), (n,) -> (n, c)
    """Squared distances of the points `cols` of S to the mean of S and x, for n new points x with values k(x, x_i)."""
    m = ball.m
    inner = values - ball.means[None, cols] - means[:, None] + ball.center_squared
    own = ball.squared_distances()[cols]
    return own[None, :] - (2.0 / (m + 1)) * inner + (squared / (m + 1) ** 2)[:, None]


def without_each(values: Array, ball: Ball, rows: slice, cols: slice) -> Array:  # (r, c) -> (r, c)
    """Squared distance of x_j to the mean of all but x_i, for K[rows i, cols j]."""
    m, n = ball.m, ball.center_squared
    centers = (m * m * n - 2.0 * m * ball.means[rows] + ball.diagonal[rows]) / (m - 1) ** 2
    towards = (m * ball.means[None, cols] - values) / (m - 1)
    return np.asarray(ball.diagonal[None, cols] - 2.0 * towards + centers[:, None])
