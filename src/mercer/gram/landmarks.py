"""Landmarks of a collection too large for a factor of all its rows, and the feature map of given landmarks."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray

from mercer.errors import CapabilityError
from mercer.gram.low_rank import LandmarkFeatures, low_rank
from mercer.inputs import Rows, widened
from mercer.kernels.base import Kernel

#: Each landmark is drawn from this many rows, and from at least FEWEST_ROWS: the factor of all rows need not be held, and to
#: choose them costs little beside one pass over the rows. Row: flights-nystroem.
ROWS_PER_LANDMARK, FEWEST_ROWS = 5, 5000

#: Pivots of k(S, S) below this share of its largest entry are rounding: given landmarks may repeat each other.
TOLERANCE = 1e-12


def rows_drawn(n: int, count: int) -> int:
    """How many of n rows the landmarks are drawn from."""
    return min(n, max(ROWS_PER_LANDMARK * count, FEWEST_ROWS))


def landmark_features(kernel: Kernel, X: Any, count: int, rng: np.random.Generator) -> tuple[LandmarkFeatures, float]:
    """Landmarks by randomly pivoted Cholesky from some of the rows, and the share they miss."""
    rows = Rows(X)
    n = len(rows)
    if n <= rows_drawn(n, count):
        found = low_rank(kernel, X if kernel.given else widened(X), count, rng=rng, memory=float("inf"))
        return found.features, found.missed
    drawn = np.sort(rng.choice(n, size=rows_drawn(n, count), replace=False))
    part = rows.take(drawn)
    found = low_rank(kernel, part if kernel.given else widened(part.data), count, rng=rng, memory=float("inf"))
    own = found.features
    return LandmarkFeatures(own.kernel, own.landmarks, drawn[own.index], own.triangle), found.missed


def from_landmarks(kernel: Kernel, rows: Rows, index: NDArray[np.intp] | None) -> LandmarkFeatures:
    """The map of given landmarks; those that the ones before them span are left out."""
    if kernel.given:
        raise CapabilityError("Nystroem: a precomputed kernel has no other rows than its own; use landmarks='rpcholesky'.")
    K = np.asarray(kernel(widened(rows.data)), dtype=np.float64)
    scale = float(K.diagonal().max(initial=0.0))
    factor, pivots, rank, _ = la.lapack.dpstrf(K, lower=1, tol=TOLERANCE * scale * len(K) if scale > 0 else -1.0)
    kept = pivots[: max(1, rank)] - 1
    triangle = np.tril(factor[: len(kept), : len(kept)])
    if scale == 0:
        triangle = np.ones((1, 1))
    own = np.arange(len(rows)) if index is None else index
    return LandmarkFeatures(kernel, rows.take(kept).data, own[kept], triangle)
