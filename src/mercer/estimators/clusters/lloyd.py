"""Lloyd's iterations of k-means from a Gram matrix alone: centers are weighted means of feature vectors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.arrays import Floats, Indices


@dataclass(frozen=True)
class Partition:
    """Clusters of n rows: labels, weights of the rows in their centers, and how far the rows are from them."""

    labels: Indices  # (n,)
    members: Floats  # (n, k) weight of row i in the center c; columns sum to 1
    center_norms: Floats  # (k,) squared lengths of the centers
    inertia: float  # weighted sum of squared distances to the nearest center
    n_iter: int
    converged: bool


def center_distances(cross: Floats, diagonal: Floats, center_norms: Floats) -> Floats:  # (m, k), (m,), (k,) -> (m, k)
    """Return squared distances in feature space; rounding below 0 becomes 0."""
    return np.maximum(diagonal[:, None] - 2.0 * cross + center_norms, 0.0)


#: Sums over clusters are updated if at most this share of the rows changed theirs, otherwise computed anew.
FEW = 0.25


def lloyd(K: Floats, weights: Floats, seeds: Indices, max_iter: int, tol: float) -> Partition:  # (n, n), (n,), (k,)
    """Return the partition that Lloyd's iterations reach from centers at some rows.

    A cluster that loses all its rows gets the row that is farthest from its center. Kernel values with the centers are
    sums over clusters, which change only by the rows that change their cluster.
    """
    k, diagonal, every = len(seeds), np.asarray(np.diagonal(K)), np.arange(len(K))
    labels = np.asarray(center_distances(K[:, seeds], diagonal, diagonal[seeds]).argmin(axis=1))
    before, sums, known = np.inf, np.empty(0), labels
    for step in range(1, max_iter + 1):
        labels = _without_empty(labels, K, weights, k)
        changed = np.flatnonzero(labels != known)
        if step == 1 or len(changed) > FEW * len(K):
            sums = K @ _assigned(labels, weights, k)
        elif len(changed):
            moved = _assigned(labels[changed], weights[changed], k) - _assigned(known[changed], weights[changed], k)
            sums += K[changed].T @ moved
        sizes = np.bincount(labels, weights, minlength=k)
        cross = sums / sizes
        norms = np.bincount(labels, weights * cross[every, labels], minlength=k) / sizes
        squared = center_distances(cross, diagonal, norms)
        nearest = np.asarray(squared.argmin(axis=1))
        inertia = float(weights @ squared[every, nearest])
        if np.array_equal(nearest, labels) or before - inertia <= tol * inertia:
            return Partition(nearest, membership(labels, weights, k), norms, inertia, step, True)
        known, labels, before = labels, nearest, inertia
    return Partition(labels, membership(known, weights, k), norms, inertia, max_iter, False)


def _assigned(labels: Indices, weights: Floats, k: int) -> Floats:  # (n,), (n,) -> (n, k)
    """Return the weight of every row in the column of its cluster."""
    found = np.zeros((len(labels), k))
    found[np.arange(len(labels)), labels] = weights
    return found


def membership(labels: Indices, weights: Floats, k: int) -> Floats:  # (n,), (n,) -> (n, k)
    """Return the weight of every row in the center of its cluster."""
    members = _assigned(labels, weights, k)
    return members / members.sum(axis=0)


def _without_empty(labels: Indices, K: Floats, weights: Floats, k: int) -> Indices:
    """Give clusters without weight the rows that are farthest from the centers of theirs."""
    sizes = np.bincount(labels, weights, minlength=k)
    if (sizes > 0).all():
        return labels
    labels = labels.copy()
    known = np.flatnonzero(sizes > 0)
    members = membership(np.searchsorted(known, labels), weights, len(known))
    cross = K @ members
    squared = center_distances(cross, np.diagonal(K), np.einsum("ic,ic->c", members, cross)).min(axis=1)
    counts = np.bincount(labels, weights > 0, minlength=k)
    far = iter(np.argsort(-squared * (weights > 0), kind="stable"))
    for empty in np.flatnonzero(sizes <= 0):
        row = next(r for r in far if counts[labels[r]] > 1)
        counts[labels[row]] -= 1
        labels[row] = empty
        counts[empty] += 1
    return labels


def plus_plus(K: Floats, weights: Floats, k: int, rng: np.random.Generator) -> Indices:  # (n, n), (n,) -> (k,)
    """Draw rows for centers by k-means++: proportionally to the squared distance to those drawn, the best of a few."""
    diagonal = np.diagonal(K)
    tries = 2 + int(np.log(k))
    seeds = [int(rng.choice(len(K), p=weights / weights.sum()))]
    nearest = center_distances(K[:, seeds], diagonal, diagonal[seeds])[:, 0]
    while len(seeds) < k:
        share = weights * nearest
        total = float(share.sum())
        chosen = rng.choice(len(K), size=tries, p=share / total if total > 0 else weights / weights.sum())
        squared = np.minimum(nearest[:, None], center_distances(K[:, chosen], diagonal, diagonal[chosen]))
        best = int(np.argmin(weights @ squared))
        seeds.append(int(chosen[best]))
        nearest = squared[:, best]
    return np.array(seeds, dtype=np.intp)


def best_partition(
    K: Floats, weights: Floats, k: int, n_init: int, max_iter: int, tol: float, rng: np.random.Generator
) -> Partition:  # (n, n), (n,)
    """Return the partition of least inertia over several random starts."""
    runs = (lloyd(K, weights, plus_plus(K, weights, k, rng), max_iter, tol) for _ in range(n_init))
    return min(runs, key=lambda run: run.inertia)


def prediction_strength(
    K: Floats, weights: Floats, k: int, splits: list[tuple[Indices, Indices]], rng: np.random.Generator
) -> Floats:  # -> (s,)
    """Return how well the clusters of one half are those of the other (Tibshirani and Walther 2005), for each split.

    For every cluster of the second half: the share of its pairs of rows that the centers of the first half put together
    too; the smallest of these shares counts.
    """
    found = []
    for first, second in splits:
        left = best_partition(K[np.ix_(first, first)], weights[first], k, 3, 100, 1e-6, rng)
        right = best_partition(K[np.ix_(second, second)], weights[second], k, 3, 100, 1e-6, rng)
        cross = K[np.ix_(second, first)] @ left.members
        moved = center_distances(cross, np.diagonal(K)[second], left.center_norms).argmin(axis=1)
        shares = []
        for cluster in range(k):
            inside = moved[right.labels == cluster]
            size = len(inside)
            pairs = (np.bincount(inside, minlength=k) * (np.bincount(inside, minlength=k) - 1)).sum()
            shares.append(pairs / (size * (size - 1)) if size > 1 else 0.0)
        found.append(min(shares))
    return np.array(found)
