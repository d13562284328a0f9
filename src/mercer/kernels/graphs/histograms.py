"""Kernels on graphs: how often each label of a node, or of an edge, occurs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Codes, Ints
from mercer.kernels.base import Derivation
from mercer.kernels.counting.table import FeatureTable
from mercer.kernels.features import Occurrence
from mercer.kernels.graphs.base import GraphCounts, label_text, unlabeled_rule
from mercer.kernels.graphs.batch import Batch


@dataclass(frozen=True, repr=False)
class VertexHistogram(GraphCounts):
    """sum over labels of (nodes with that label in x) (nodes with that label in z).

    Parameters
    ----------
    unlabeled : None, "constant" or "degree"
        What stands for the label of a node without one. "constant": one label that no node of the user's has; "degree":
        the number of neighbors. None is "constant" if no graph has labels, and raises for a mix of labeled and
        unlabeled graphs.

    >>> from mercer import Graph
    >>> water, methane = Graph(3, [(0, 1), (0, 2)], node_labels="OHH"), Graph(5, node_labels="CHHHH")
    >>> VertexHistogram()([water, methane]).tolist()
    [[5.0, 8.0], [8.0, 17.0]]
    """

    unlabeled: str | None = unlabeled_rule()

    def _table(self, batch: Batch) -> FeatureTable:
        codes, names = batch.nodes
        return _histogram(codes, batch.first, names)

    def _occurrences(self, item: Any) -> Iterator[Occurrence]:
        codes, names = self._alone(item).nodes
        for node, code in enumerate(codes.tolist()):
            yield Occurrence(names[code], (node,), 1.0)

    def _derivation(self) -> Derivation:
        return Derivation("explicit features", "<phi(x), phi(z)> with phi(x) the counts of node labels")


@dataclass(frozen=True, repr=False)
class EdgeHistogram(GraphCounts):
    """sum over labels of (edges with that label in x) (edges with that label in z).

    Parameters
    ----------
    unlabeled : None, "constant" or "degree"
        What stands for the label of an edge without one. "constant": one label that no edge of the user's has; "degree":
        the numbers of neighbors of its two ends. None is "constant" where no graph has edge labels, and refuses graphs
        with and without edge labels together.

    >>> from mercer import Graph
    >>> ethene = Graph(2, [(0, 1)], "CC", edge_labels="=")
    >>> propene = Graph(3, [(0, 1), (1, 2)], "CCC", edge_labels="=-")
    >>> EdgeHistogram()([ethene, propene]).tolist()
    [[1.0, 1.0], [1.0, 2.0]]
    """

    unlabeled: str | None = unlabeled_rule()
    _reads: ClassVar[tuple[str, ...]] = ("edge",)

    def _table(self, batch: Batch) -> FeatureTable:
        codes, names = batch.bonds
        return _histogram(codes, batch.edges_first, [f"edge {label_text(name)}" for name in names])

    def _occurrences(self, item: Any) -> Iterator[Occurrence]:
        codes, names = self._alone(item).bonds
        for pair, code in zip(item.edges, codes.tolist(), strict=True):
            yield Occurrence(f"edge {label_text(names[code])}", pair, 1.0)

    def _derivation(self) -> Derivation:
        return Derivation("explicit features", "<phi(x), phi(z)> with phi(x) the counts of edge labels")


def _histogram(codes: Codes, first: Ints, names: list[Any]) -> FeatureTable:
    """How often each code occurs in each part."""
    n, width = len(first) - 1, max(len(names), 1)
    row = np.repeat(np.arange(n), np.diff(first))
    cells, counts = np.unique(row * width + codes, return_counts=True)
    indptr = np.searchsorted(cells, np.arange(n + 1) * width)
    matrix = sp.csr_array((counts.astype(np.float64), cells % width, indptr), shape=(n, len(names)))
    return FeatureTable(matrix, lambda: list(names))
