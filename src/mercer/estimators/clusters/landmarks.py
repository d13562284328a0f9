"""Clusters of many rows: centers are combinations of landmarks, and the rows pass by in blocks or chunks.

With k(S, S) = L L' for landmarks S, a center is sum_j c_j phi(s_j), and the mean of some rows, projected on the span of the
landmarks, is (L L')^-1 times the mean of k(S, x). A pass needs k(S, x) of one block of rows at a time and nothing of size n.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.estimators.clusters.lloyd import Partition, best_partition, center_distances
from mercer.grams.chunks.rows import ChunkedRows, pool
from mercer.grams.low_rank import LandmarkFeatures
from mercer.inputs import count, take
from mercer.inputs.chunks import Chunk
from mercer.numeric.threads import Progress

#: Kernel values held at a time.
VALUES = 2**22

#: Rows that the first centers are found on.
SAMPLE = 3000


@dataclass(frozen=True)
class Centers:
    """Centers sum_j coef_jc phi(s_j)."""

    coef: Floats  # (m, k)
    norms: Floats  # (k,) squared lengths

    @property
    def k(self) -> int:
        """The number of centers."""
        return len(self.norms)


def sampled_rows(X: Any, weights: Floats | None, rng: np.random.Generator) -> Chunk:
    """Return some random rows with their weights, or all if they are few."""
    n = X.n if isinstance(X, ChunkedRows) else count(X)
    drawn = np.arange(n) if n <= SAMPLE else np.sort(rng.choice(n, SAMPLE, replace=False))
    if isinstance(X, ChunkedRows):
        return X.take(drawn)
    return Chunk(0, "X", take(X, drawn), None, None if weights is None else weights[drawn])


def first_centers(
    features: LandmarkFeatures, rows: Chunk, k: int, n_init: int, max_iter: int, tol: float, rng: np.random.Generator
) -> Centers:
    """Return centers of some rows, by k-means on their features."""
    Z = features(rows.X)
    weights = np.ones(len(Z)) if rows.weights is None else rows.weights
    found = best_partition(Z @ Z.T, weights, k, n_init, max_iter, tol, rng)
    return _of_features(features, Z.T @ found.members)


def centers_at(features: LandmarkFeatures, X: Any, places: Indices) -> Centers:
    """Return the projections of some rows as centers."""
    order = np.argsort(places)
    coordinates = np.empty((features.n_components, len(places)))
    coordinates[:, order] = features(pool(X)[1](places[order])).T
    return _of_features(features, coordinates)


def _of_features(features: LandmarkFeatures, coordinates: Floats) -> Centers:  # (m, k)
    return Centers(features.expansion(coordinates), np.einsum("mc,mc->c", coordinates, coordinates))


def settled(
    features: LandmarkFeatures, X: Any, weights: Floats | None, start: Centers, max_iter: int, tol: float, meter: Progress
) -> tuple[Partition, Floats]:
    """Return the partition that Lloyd's iterations over all rows reach from some centers, and the sizes of its clusters."""
    centers, before, inertia, step, done = start, np.inf, np.inf, 0, False
    while not done and step < max_iter:
        step += 1
        sums, sizes, total = _summed(features, X, weights, centers)
        inertia = float(total)
        done = before - inertia <= tol * inertia
        if not done:
            centers, before = _moved(features, centers, sums, sizes), inertia
        meter(step, max_iter)
    labels, own, inertia = _labeled(features, X, weights, centers)
    found = Partition(labels, centers.coef, centers.norms, inertia, step, done)
    return found, np.bincount(labels, own, minlength=centers.k).astype(np.float64)


def _moved(features: LandmarkFeatures, centers: Centers, sums: Floats, sizes: Floats) -> Centers:
    """Return centers at the means of their rows; a center without rows stays."""
    from scipy.linalg import solve_triangular

    used = sizes > 0
    coordinates = solve_triangular(features.triangle, sums[:, used] / sizes[used], lower=True, check_finite=False)
    coef, norms = centers.coef.copy(), centers.norms.copy()
    moved = _of_features(features, coordinates)
    coef[:, used], norms[used] = moved.coef, moved.norms
    return Centers(coef, norms)


def _summed(features: LandmarkFeatures, X: Any, weights: Floats | None, centers: Centers) -> tuple[Floats, Floats, Floats]:
    if isinstance(X, ChunkedRows):
        sums, sizes, total = X.sum(cluster_sums, features, centers.coef, centers.norms)
        return sums, sizes, total
    return cluster_sums(Chunk(0, "X", X, None, weights), features, centers.coef, centers.norms)


def _labeled(features: LandmarkFeatures, X: Any, weights: Floats | None, centers: Centers) -> tuple[Indices, Floats, float]:
    """Return the cluster and the weight of every row, and the inertia."""
    arguments = (features, centers.coef, centers.norms)
    if isinstance(X, ChunkedRows):
        found = X.column(cluster_labels, *arguments)
    else:
        found = cluster_labels(Chunk(0, "X", X, None, weights), *arguments)
    return found[:, 0].astype(np.intp), found[:, 1], float(found[:, 1] @ found[:, 2])


def cluster_sums(
    chunk: Chunk, features: LandmarkFeatures, coef: Floats, norms: Floats
) -> tuple[Floats, Floats, Floats]:  # -> (m, k), (k,), ()
    """Return sums of k(S, x) over the rows of every cluster, the sizes of the clusters, and the inertia, by weight."""
    sums, sizes, inertia = np.zeros_like(coef), np.zeros(len(norms)), 0.0
    for K, squared, weights in _blocks(chunk, features, coef, norms):
        nearest = squared.argmin(axis=1)
        members = np.zeros_like(squared)
        members[np.arange(len(K)), nearest] = weights
        sums += K.T @ members
        sizes += members.sum(axis=0)
        inertia += float(weights @ squared[np.arange(len(K)), nearest])
    return sums, sizes, np.array(inertia)


def cluster_labels(chunk: Chunk, features: LandmarkFeatures, coef: Floats, norms: Floats) -> Floats:  # -> (n, 3)
    """Return the cluster of every row, its weight, and its squared distance to the center."""
    found = []
    for K, squared, weights in _blocks(chunk, features, coef, norms):
        nearest = squared.argmin(axis=1)
        found.append(np.column_stack([nearest, weights, squared[np.arange(len(K)), nearest]]))
    return np.concatenate(found)


def _blocks(
    chunk: Chunk, features: LandmarkFeatures, coef: Floats, norms: Floats
) -> Iterator[tuple[Floats, Floats, Floats]]:  # (b, m), (b, k), (b,)
    """Yield kernel values with the landmarks, squared distances to the centers, and weights, for blocks of rows."""
    step = max(1, VALUES // max(1, features.n_components))
    for start in range(0, len(chunk), step):
        rows = slice(start, start + step)
        X = take(chunk.X, rows)
        K = np.asarray(features.kernel(X, features.landmarks), dtype=np.float64)
        own = np.asarray(features.kernel.diag(X), dtype=np.float64)
        weights = np.ones(len(K)) if chunk.weights is None else chunk.weights[rows]
        yield K, center_distances(K @ coef, own, norms), weights
