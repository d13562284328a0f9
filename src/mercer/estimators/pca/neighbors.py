"""Pre-images from neighbors: the training rows nearest to the target in feature space, combined as they are there.

The weights minimize ||target - sum_j w_j phi(x_j)||^2 with sum_j w_j = 1 over the k nearest rows, a local linear embedding;
the pre-image is sum_j w_j x_j. It takes feature-space distances only (Kwok and Tsang 2004 turn them into input distances
first, which needs a kernel that can be inverted; this needs any kernel on vectors), and stays near the data by construction.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.errors import NumericalError
from mercer.estimators.pca.targets import Targets
from mercer.inputs import take
from mercer.kernels.base import Kernel

#: Ridge on the k x k system, relative to its mean diagonal: rows more neighbors than dimensions make it singular.
RIDGE = 1e-2


def nearest_rows(distances: Array, k: int) -> Array:  # (b, a) -> (b, k)
    """The k nearest anchors, nearest first; ties go to the row that came first."""
    k = min(k, distances.shape[1])
    found = np.sort(np.argpartition(distances, k - 1, axis=1)[:, :k], axis=1)
    order = np.argsort(np.take_along_axis(distances, found, axis=1), axis=1, kind="stable")
    return np.take_along_axis(found, order, axis=1)


def by_neighbors(kernel: Kernel, anchors: Any, X: Array, targets: Targets, diagonal: Array, k: int) -> Array:
    """The pre-images, (b, d), for anchors whose vectors are the rows of X."""
    inner, squares = targets.inner(), targets.squared_norms
    found = nearest_rows(np.maximum(diagonal - 2.0 * inner + squares[:, None], 0.0), k)
    used, place = np.unique(found, return_inverse=True)
    place = place.reshape(found.shape)
    K = np.asarray(kernel(take(anchors, used)), dtype=np.float64)
    near = np.take_along_axis(inner, found, axis=1)  # (b, k)
    G = K[place[:, :, None], place[:, None, :]] - near[:, :, None] - near[:, None, :] + squares[:, None, None]
    size = np.einsum("bjj->b", G) / G.shape[1]
    G += (RIDGE * np.where(size > 0, size, 1.0))[:, None, None] * np.eye(G.shape[1])
    try:
        w = np.linalg.solve(G, np.ones((*G.shape[:2], 1)))[:, :, 0]
    except np.linalg.LinAlgError:
        raise NumericalError(
            f"pre-images from {k} neighbors: their inner products with {kernel} are too far apart for float64; scale the "
            "columns or the kernel."
        ) from None
    w /= w.sum(axis=1, keepdims=True)
    return np.asarray(np.einsum("bk,bkd->bd", w, X[found]))
