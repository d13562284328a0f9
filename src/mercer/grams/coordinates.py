"""Rows as vectors: coordinates of centered feature vectors along their principal axes, exact or on landmarks.

With the weighted mean of the rows as origin, z(x) = k(x, S) T - offset, where S are the rows or landmarks. The columns of
Z = z(X) satisfy Z' W Z = diag(values), so that scatter matrices of feature vectors are small, plain matrices.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.grams.low_rank import landmark_features
from mercer.grams.operator import GramOperator, gram
from mercer.inputs import Rows, widened
from mercer.kernels.base import Kernel
from mercer.linalg.eigenpairs import eigenpairs

#: Axes whose eigenvalue is below this share of the largest, times the number of rows, are rounding.
ROUNDING = 8.0 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Coordinates:
    """Coordinates of training rows, and what gives those of new ones: z(x) = k(x, anchors) transform - offset."""

    values: Floats  # (r,) weighted sums of squares along the axes, falling
    Z: Floats  # (n, r)
    anchors: Any  # a rows
    transform: Floats  # (a, r)
    offset: Floats  # (r,)

    @property
    def total(self) -> float:
        """The weighted sum of squared distances to the mean."""
        return float(self.values.sum())

    def projection(self, W: Floats) -> tuple[Floats, Floats]:  # (r, q) -> (a, q), (q,)
        """Return dual coefficients and intercepts of the functions z(x)' W."""
        return self.transform @ W, -(self.offset @ W)


def exact_coordinates(kernel: Kernel, rows: Rows, weights: Floats) -> Coordinates:
    """Return coordinates from the Gram matrix of all rows."""
    K = np.asarray(gram(kernel, rows), dtype=np.float64)
    share, root = weights / weights.sum(), np.sqrt(weights)
    means = K @ share
    centered = K - means[:, None] - means + share @ means
    values, vectors = eigenpairs(centered * root[:, None] * root)
    largest = max(float(values[-1]), float(np.abs(np.diagonal(K)).max()))
    kept = np.flatnonzero(values > ROUNDING * len(K) * largest)[::-1]
    transform = root[:, None] * vectors[:, kept] / np.sqrt(values[kept])
    transform -= share[:, None] * transform.sum(axis=0)  # the coefficients of a difference to the mean add up to zero
    if root.all():
        Z = vectors[:, kept] * np.sqrt(values[kept]) / root[:, None]
    else:
        Z = centered @ transform
    return Coordinates(values[kept], Z, rows.data, transform, means @ transform)


def landmark_coordinates(kernel: Kernel, rows: Rows, weights: Floats, count: int, rng: np.random.Generator) -> Coordinates:
    """Return coordinates of the projections on the span of some landmarks; nothing of size n x n is made."""
    features, _ = landmark_features(kernel, rows.data if kernel.given else widened(rows.data), count, rng)
    F = features(rows.data)
    mean = (weights / weights.sum()) @ F
    F -= mean
    values, vectors = eigenpairs((F * weights[:, None]).T @ F)
    largest = max(float(values[-1]), float(np.abs(np.asarray(kernel.diag(rows), dtype=np.float64)).max()))
    kept = np.flatnonzero(values > ROUNDING * len(F) * largest)[::-1]
    axes = np.asarray(vectors[:, kept])
    return Coordinates(values[kept], F @ axes, features.landmarks, features.expansion(axes), mean @ axes)


def projected(kernel: Kernel, X: Any, anchors: Any, dual: Floats, intercept: Floats) -> Floats:  # -> (n, q)
    """Return the values of functions k(x, anchors) dual + intercept at rows."""
    return np.asarray(GramOperator(kernel, X, anchors) @ dual) + intercept
