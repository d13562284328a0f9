"""Kernels on graphs: inner products of counts of what is in them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from mercer.errors import InputError
from mercer.inputs import Graph, Rows
from mercer.kernels.derivation import Derivation
from mercer.kernels.pair import Pair
from mercer.kernels.strings.counts import CountKernel
from mercer.numeric.encodings import Counts, Encoding


@dataclass(frozen=True, repr=False)
class VertexHistogram(CountKernel):
    """sum over labels of (nodes with that label in x) (nodes with that label in z).

    Graphs without node labels count as graphs whose nodes all carry one label; all graphs are labeled or none is.

    >>> from mercer import Graph
    >>> water, methane = Graph(3, [(0, 1), (0, 2)], node_labels="OHH"), Graph(5, node_labels="CHHHH")
    >>> VertexHistogram()([water, methane]).tolist()
    [[5.0, 8.0], [8.0, 17.0]]
    """

    _domain = "graphs"

    def _encode(self, rows: Rows) -> Encoding:
        return rows.remember("vertex histogram", lambda: Counts.of([_labels(g) for g in _one_kind(rows)]))

    def _block(self, pair: Pair) -> NDArray[Any]:
        names = pair.A.names
        if _UNLABELED in names and len(names) > 1:  # silently 0 otherwise, as no label would be in common
            raise InputError(
                "VertexHistogram: the graphs of one collection have node labels, those of the other have none; label all "
                "of them or none."
            )
        return super()._block(pair)

    def _derivation(self) -> Derivation:
        return Derivation("explicit features", "<phi(x), phi(z)> with phi(x) the counts of node labels")


class _Unlabeled:
    """The label of nodes without labels; no label of the user's own is equal to it."""

    def __repr__(self) -> str:
        return "no label"


_UNLABELED = _Unlabeled()


def _one_kind(rows: Rows) -> list[Graph]:
    graphs = rows.graphs()
    labeled = [graph.node_labels is not None for graph in graphs if graph.n_nodes]
    if any(labeled) and not all(labeled):
        raise InputError(
            f"{rows.name}: {sum(labeled)} of {len(labeled)} graphs have node labels; label all of them or none."
        )
    return graphs


def _labels(graph: Graph) -> dict[Any, float]:
    labels = graph.node_labels if graph.node_labels is not None else (_UNLABELED,) * graph.n_nodes
    return dict(Counter(labels))
