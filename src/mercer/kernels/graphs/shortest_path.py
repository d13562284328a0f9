"""Kernels on graphs: pairs of nodes by their labels and their distance."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.errors import InputError
from mercer.kernels.base import Derivation
from mercer.kernels.counting.table import FeatureTable, table_of_counts
from mercer.kernels.features import Occurrence
from mercer.kernels.graphs.base import GraphCounts, label_text, unlabeled_rule
from mercer.kernels.graphs.batch import Batch, by_chunks


@dataclass(frozen=True, repr=False)
class ShortestPath(GraphCounts):
    """The shortest-path kernel: ordered pairs of nodes, compared by the labels of both and the distance between.

    k(x, z) = sum over labels a, b and distances d >= 1 of (pairs in x) (pairs in z), where a pair is two different nodes u,
    v with labels a, b and a shortest path of d edges (Borgwardt and Kriegel 2005). Pairs are ordered: (u, v) and (v, u) both
    count, so that values are four times those over unordered pairs where all labels are equal. Nodes without a path
    between them do not count.

    Parameters
    ----------
    unlabeled : None, "constant" or "degree"
        What stands for a missing label; see `VertexHistogram`.

    >>> from mercer import Graph
    >>> path, ring = Graph(3, [(0, 1), (1, 2)]), Graph(3, [(0, 1), (1, 2), (0, 2)])
    >>> ShortestPath()([path, ring]).tolist()
    [[20.0, 24.0], [24.0, 36.0]]
    >>> ShortestPath().feature_names([Graph(3, [(0, 1), (1, 2)], "COC")])
    ['C C 2', 'C O 1', 'O C 1']
    """

    unlabeled: str | None = unlabeled_rule()

    def _table(self, batch: Batch) -> FeatureTable:
        from mercer.kernels.graphs._compiled_graphs import path_counts

        indptr, neighbors, _ = batch.adjacency
        labels, vocabulary = batch.nodes
        width = max(len(vocabulary), 1)
        longest = int(np.diff(batch.first).max(initial=0)) + 1
        if width * width * longest >= 2**62:
            raise InputError(f"ShortestPath: {width} labels and graphs of {longest - 1} nodes are too many for exact keys.")
        order = batch.sorted_by(labels)
        keys, counts, first = by_chunks(
            batch, lambda low, high: path_counts(indptr, neighbors, labels, order, batch.first, low, high, width, longest)
        )

        def name(key: int) -> str:
            ends, distance = divmod(key, longest)
            return _name(vocabulary[ends // width], vocabulary[ends % width], distance)

        return table_of_counts(keys, counts, first, name)

    def _occurrences(self, item: Any) -> Iterator[Occurrence]:
        from mercer.kernels.graphs._compiled_graphs import distances_from

        batch = self._alone(item)
        indptr, neighbors, _ = batch.adjacency
        labels, vocabulary = batch.nodes
        for u in range(item.n_nodes):
            for v, distance in enumerate(distances_from(indptr, neighbors, u).tolist()):
                if distance > 0:
                    yield Occurrence(_name(vocabulary[labels[u]], vocabulary[labels[v]], distance), (u, v), 1.0)

    def _derivation(self) -> Derivation:
        because = "<phi(x), phi(z)> with phi(x) the counts of ordered pairs of nodes by labels and distance"
        return Derivation("explicit features", because)


def _name(a: Hashable, b: Hashable, distance: int) -> str:
    return f"{label_text(a)} {label_text(b)} {distance}"
