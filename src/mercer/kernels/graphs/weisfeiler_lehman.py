"""Kernels on graphs: Weisfeiler-Lehman colors, as counts and as the best assignment of nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from mercer.inputs import Graph
from mercer.kernels.counting.table import FeatureTable, unary_table
from mercer.kernels.derivation import Derivation
from mercer.kernels.features import Occurrence
from mercer.kernels.fields import flag, whole
from mercer.kernels.graphs.base import GraphCounts, unlabeled_rule
from mercer.kernels.graphs.batch import Batch
from mercer.kernels.graphs.colors import refine


@dataclass(frozen=True, repr=False)
class WeisfeilerLehman(GraphCounts):
    """The Weisfeiler-Lehman subtree kernel: sum over levels 0 … iterations of the common colors of nodes.

    k(x, z) = sum_i sum_c (nodes of x with color c at level i) (nodes of z with color c at level i). At level 0 the color of
    a node is its label, at level i + 1 its color and the colors of its neighbors at level i, as a multiset (Shervashidze
    et al. 2011). Colors are compared exactly: no hash can collide, and values do not depend on what else was passed.

    Parameters
    ----------
    iterations : int >= 0, default 5
        How often colors are refined; a sum of iterations + 1 levels.
    edge_labels : bool, default False
        Look at the labels of edges too: the colors around a node come with the label of the edge between.
    unlabeled : None, "constant" or "degree"
        What stands for a missing label; see `VertexHistogram`.

    >>> from mercer import Graph
    >>> path, ring = Graph(3, [(0, 1), (1, 2)]), Graph(3, [(0, 1), (1, 2), (0, 2)])
    >>> WeisfeilerLehman(1)([path, ring]).tolist()
    [[14.0, 12.0], [12.0, 18.0]]
    >>> WeisfeilerLehman(1).feature_names([Graph(2, [(0, 1)], "CO")])
    ['0:C', '0:O', '1:C(O)', '1:O(C)']
    """

    iterations: int = whole(5, at_least=0, keyword=False)
    edge_labels: bool = flag(False)
    unlabeled: str | None = unlabeled_rule()

    def _labels_read(self) -> tuple[str, ...]:
        return ("node", "edge") if self.edge_labels else ("node",)

    def _table(self, batch: Batch) -> FeatureTable:
        return refine(batch, self.iterations, self.edge_labels).table()

    def _occurrences(self, item: Any) -> Iterator[Occurrence]:
        for name, _, nodes in colored_nodes(self, item):
            yield Occurrence(name, nodes, 1.0)

    def _derivation(self) -> Derivation:
        because = f"<phi(x), phi(z)> with phi(x) the counts of Weisfeiler-Lehman colors of levels 0 … {self.iterations}"
        return Derivation("explicit features", because)


@dataclass(frozen=True, repr=False)
class WLOptimalAssignment(GraphCounts):
    """The Weisfeiler-Lehman optimal assignment kernel: the best matching of the nodes of two graphs.

    k(x, z) = max over one-to-one matchings of nodes of the sum over matched pairs of the number of levels at which their
    colors agree = sum over all colors of min(count in x, count in z) (Kriege et al. 2016). Colors are those of
    `WeisfeilerLehman`, levels 0 … iterations.

    Parameters
    ----------
    iterations : int >= 0, default 5
    edge_labels : bool, default False
        Look at the labels of edges too.
    unlabeled : None, "constant" or "degree"
        What stands for a missing label; see `VertexHistogram`.

    >>> from mercer import Graph
    >>> path, ring = Graph(3, [(0, 1), (1, 2)]), Graph(3, [(0, 1), (1, 2), (0, 2)])
    >>> WLOptimalAssignment(1)([path, ring]).tolist()
    [[6.0, 4.0], [4.0, 6.0]]
    """

    iterations: int = whole(5, at_least=0, keyword=False)
    edge_labels: bool = flag(False)
    unlabeled: str | None = unlabeled_rule()

    def _labels_read(self) -> tuple[str, ...]:
        return ("node", "edge") if self.edge_labels else ("node",)

    def _table(self, batch: Batch) -> FeatureTable:
        """min(a, b) = sum over t >= 1 of [a >= t] [b >= t]: every count becomes that many ones."""
        return unary_table(refine(batch, self.iterations, self.edge_labels).table())

    def _occurrences(self, item: Any) -> Iterator[Occurrence]:
        places = list(colored_nodes(self, item))
        counts = Counter(name for name, _, _ in places)
        centers: dict[str, tuple[int, ...]] = {}
        for name, center, _ in places:
            centers[name] = (*centers.get(name, ()), center)
        for name, count in counts.items():
            for t in range(1, count + 1):  # no node is the t-th one: all nodes of the color share it
                yield Occurrence(f"{name} x{t}", centers[name], 1.0)

    def _derivation(self) -> Derivation:
        because = (
            "<phi(x), phi(z)> with phi_(c,t)(x) = 1 if color c occurs at least t times in x: "
            "sum_t [a >= t] [b >= t] = min(a, b)"
        )
        return Derivation("explicit features", because)


def colored_nodes(kernel: Any, item: Graph) -> Iterator[tuple[str, int, tuple[int, ...]]]:
    """Every color of every node of one graph: its name, the node, and the nodes it is made of, within `level` steps."""
    batch = kernel._alone(item)
    if item.n_nodes == 0:
        return
    colors = refine(batch, kernel.iterations, kernel.edge_labels)
    names, first = colors.names(), colors.first
    indptr, neighbors, _ = batch.adjacency
    reach: list[frozenset[int]] = [frozenset([v]) for v in range(item.n_nodes)]
    for level, codes in enumerate(colors.codes):
        if level:
            around = [neighbors[indptr[v] : indptr[v + 1]].tolist() for v in range(item.n_nodes)]
            reach = [reach[v].union(*(reach[u] for u in around[v])) for v in range(item.n_nodes)]
        for v, code in enumerate(codes.tolist()):
            yield str(names[int(first[level]) + code]), v, tuple(sorted(reach[v]))
