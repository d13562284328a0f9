"""The best segmentation of ordered rows: exact, from the rows of the Gram matrix on demand, or from features.

The cost of a segment is sum_i k(x_i, x_i) - (1 / length) sum_ij k(x_i, x_j), the squared distances of its feature vectors to
their mean. Memory is a few rows of the matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Floats, Ints
from mercer.inputs import Rows, as_rows, take
from mercer.kernels.base import Kernel
from mercer.kernels.evaluation import Evaluation
from mercer.numeric import tiles
from mercer.numeric.tiles import row_blocks

#: Rows of the Gram matrix that are evaluated at once, and landmarks of features.
ROWS, FEATURES = 128, 256


@dataclass(frozen=True)
class Segmentations:
    """The best segmentation for every number of changes up to some number; costs are inf where there is none."""

    costs: Floats  # (D + 1,) of 0 … D changes
    places: tuple[Ints, ...]  # the first row of each new segment, for 0 … D changes


def _traced(costs: Floats, before: Ints) -> tuple[Ints, ...]:  # (D + 1,), (m + 1, D + 1)
    """Follow the beginnings of last segments back, for every number of changes."""
    found = []
    for changes in range(len(costs)):
        end, places = len(before) - 1, []
        for d in range(changes, 0, -1) if np.isfinite(costs[changes]) else ():
            end = int(before[end, d])
            places.append(end)
        found.append(np.array(places[::-1], dtype=np.int64))
    return tuple(found)


class OrderedGram:
    """Kernel values of ordered rows, some rows of the matrix at a time."""

    def __init__(self, kernel: Kernel, X: Any) -> None:
        self.values = Evaluation(kernel, as_rows(X))
        self.n = self.values.shape[0]
        own = np.asarray(self.values.diag(), dtype=np.float64)
        self.diagonal = np.concatenate([[0.0], np.cumsum(own)])  # (n + 1,)

    def upper(self, rows: slice) -> Floats:  # -> (rows.stop, b)
        """The values of all rows up to the last of some rows with these."""
        return self.block(slice(0, rows.stop), rows)

    def block(self, rows: slice, cols: slice) -> Floats:
        """The values of some rows with some others."""
        out = np.empty((rows.stop - rows.start, cols.stop - cols.start))

        def part(r: slice, c: slice) -> Any:
            left = slice(rows.start + r.start, rows.start + r.stop)
            return self.values.block(left, slice(cols.start + c.start, cols.start + c.stop))

        return tiles.fill(part, out, False)

    def features(self, part: slice, rng: Any) -> Floats:  # -> (rows, r)
        """Features of some rows, whose inner products are near their kernel values, from landmarks among these rows."""
        size = part.stop - part.start
        index = np.sort(rng.choice(size, min(FEATURES, size), replace=False)) + part.start
        own = self._values_of(index, index)
        return np.ascontiguousarray(self._values_of(np.arange(part.start, part.stop), index) @ inverse_root(own))

    def _values_of(self, rows: Ints, cols: Ints) -> Floats:
        block = self.values.crossings(rows, cols)
        return np.asarray(block(slice(0, len(rows)), slice(0, len(cols))), dtype=np.float64)


def inverse_root(K: Floats) -> Floats:  # (m, m) -> (m, r)
    """Return R with R R' = K^-1 on the directions whose eigenvalues are above rounding."""
    values, vectors = np.linalg.eigh(K)
    kept = values > 1e-10 * values[-1]
    return np.asarray(vectors[:, kept] / np.sqrt(values[kept]))


def _layers(gram: OrderedGram, costs: Floats, least: int, penalty: float = 0.0) -> Ints:  # (D, n + 1) -> (D, n + 1)
    """Fill in the least costs of the first e rows, layer by layer, and return where the last segments begin."""
    from mercer.changes._compiled_segments import extend

    n = gram.n
    before, kept = np.zeros(costs.shape, dtype=np.int64), np.ones(costs.shape, dtype=np.bool_)
    sums, inverse = np.zeros(n), np.concatenate([[0.0], 1.0 / np.arange(1, n + 1)])
    for rows in row_blocks(n, ROWS):
        extend(gram.upper(rows), rows.start, sums, gram.diagonal, inverse, costs, before, kept, least, penalty)
    return before


def best_segmentations(gram: OrderedGram, most: int, least: int) -> Segmentations:
    """Return the best segmentations into 1 … most + 1 segments of at least `least` rows."""
    costs = np.full((most + 2, gram.n + 1), np.inf)  # the first layer is that of no segment
    costs[0, 0] = 0.0
    before = _layers(gram, costs, least)
    return Segmentations(costs[1:, -1].copy(), _traced(costs[1:, -1], before[1:].T))


def penalized_places(gram: OrderedGram, penalty: float, least: int) -> tuple[Ints, float]:
    """Return the places of the least cost plus penalty times the number of changes, and that cost without penalties."""
    costs = np.full((1, gram.n + 1), np.inf)
    costs[0, 0] = -penalty
    before = _layers(gram, costs, least, penalty)[0]
    places, end = [], int(before[-1])
    while end > 0:
        places.append(end)
        end = int(before[end])
    return np.array(places[::-1], dtype=np.int64), float(costs[0, -1] - penalty * len(places))


class OrderedFeatures:
    """Features of ordered rows, whose inner products stand for kernel values; segments cost a few additions each."""

    def __init__(self, Z: Floats, diagonal: Floats) -> None:
        self.Z = Z  # (n, r)
        self.n = len(Z)
        self.sums = np.concatenate([np.zeros((1, Z.shape[1])), np.cumsum(Z, axis=0)])  # (n + 1, r)
        self.diagonal = np.concatenate([[0.0], np.cumsum(diagonal)])

    def block(self, rows: slice, cols: slice) -> Floats:
        """The inner products of some rows with some others."""
        return np.asarray(self.Z[rows] @ self.Z[cols].T)

    def features(self, part: slice, rng: Any) -> Floats:
        """The features of some rows."""
        return np.ascontiguousarray(self.Z[part])

    def segment_costs(self, starts: Ints, end: int) -> Floats:  # (s,) -> (s,)
        """The costs of the segments that begin at `starts` and end before `end`."""
        means = self.sums[end] - self.sums[starts]
        return self.diagonal[end] - self.diagonal[starts] - np.einsum("ij,ij->i", means, means) / (end - starts)


def landmark_features(kernel: Kernel, rows: Rows, rng: Any) -> OrderedFeatures:
    """Features z with z'z near k, from landmarks drawn among the rows."""
    landmarks = take(rows.data, np.sort(rng.choice(len(rows), min(FEATURES, len(rows)), replace=False)))
    root = inverse_root(np.asarray(kernel(landmarks), dtype=np.float64))
    return OrderedFeatures(
        np.asarray(kernel(rows.data, landmarks), dtype=np.float64) @ root, np.asarray(kernel.diag(rows.data))
    )


def grid_segmentations(features: OrderedFeatures, most: int, least: int, step: int) -> Segmentations:
    """Return segmentations whose places are multiples of `step`, each then moved to the best row within one step.

    Exact for step = 1. Time grows with (n / step)^2 and with n, not with n^2.
    """
    n = features.n
    ends = np.append(np.arange(0, n, step), n)
    size = len(ends)
    costs, before = np.full((size, most + 1), np.inf), np.zeros((size, most + 1), dtype=np.int64)
    for e in range(1, size):
        starts = ends[:e][ends[e] - ends[:e] >= least]
        if len(starts) == 0:
            continue
        cost = features.segment_costs(starts, int(ends[e]))
        costs[e, 0] = cost[0]
        for d in range(1, most + 1):
            total = costs[: len(starts), d - 1] + cost
            best = int(np.argmin(total))
            costs[e, d], before[e, d] = total[best], best
    coarse = [ends[chain] for chain in _traced(costs[-1], before)]
    moved = [_moved(features, chain, least, step) if step > 1 else chain for chain in coarse]
    total_costs = [_cost(features, chain) if np.isfinite(c) else np.inf for chain, c in zip(moved, costs[-1], strict=True)]
    return Segmentations(np.array(total_costs), tuple(moved))


def _moved(features: OrderedFeatures, places: Ints, least: int, step: int) -> Ints:
    """Move every place to the best row within one step, one after the other, those beside it held fixed."""
    bounds = np.concatenate([[0], places, [features.n]])
    for number in range(1, len(bounds) - 1):
        low = max(bounds[number - 1] + least, bounds[number] - step)
        high = min(bounds[number + 1] - least, bounds[number] + step)
        tried = np.arange(low, high + 1)
        if len(tried):
            left = [features.segment_costs(bounds[number - 1 : number], int(t))[0] for t in tried]
            right = features.segment_costs(tried, int(bounds[number + 1]))
            bounds[number] = tried[int(np.argmin(np.array(left) + right))]
    return bounds[1:-1]


def _cost(features: OrderedFeatures, places: Ints) -> float:
    bounds = np.concatenate([[0], places, [features.n]])
    return float(sum(features.segment_costs(bounds[i : i + 1], int(bounds[i + 1]))[0] for i in range(len(bounds) - 1)))
