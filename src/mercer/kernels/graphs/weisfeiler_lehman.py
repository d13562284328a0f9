"""Kernels on graphs: Weisfeiler-Lehman colors, as counts and as the best assignment of nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np

from mercer.arrays import Codes, Ints
from mercer.inputs import Graph
from mercer.kernels.base import Derivation
from mercer.kernels.counting.table import FeatureTable, layered_counts, unary_table
from mercer.kernels.features import Occurrence
from mercer.kernels.fields import flag, whole
from mercer.kernels.graphs.base import GraphCounts, label_text, unlabeled_rule
from mercer.kernels.graphs.batch import Batch
from mercer.numeric.threads import cpu_count, run
from mercer.numeric.tiles import row_blocks


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

    iterations: int = whole(5, at_least=0, at_most=1000, keyword=False)
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

    iterations: int = whole(5, at_least=0, at_most=1000, keyword=False)
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


#: Names of colors are spelled out up to this many characters; longer ones end in a digest of the whole.
LONGEST = 60

#: Nodes whose signatures are made at a time. Row: wl5-*.
CHUNK = 2**14


@dataclass(frozen=True)
class Colors:
    """The color of every node at every level; colors of a level are numbered by first appearance."""

    batch: Batch
    bonds: bool  # whether the labels of edges count
    codes: Codes  # (levels, N)
    some: tuple[Ints, ...]  # for every level a node of each color

    @property
    def first(self) -> Ints:  # (levels + 1,)
        """The position of the first color of each level among all colors."""
        return np.concatenate([[0], np.cumsum([len(nodes) for nodes in self.some])])

    def table(self) -> FeatureTable:
        """Counts of all colors of all levels by graph."""
        keys = self.codes + self.first[:-1, None].astype(np.int32)
        return FeatureTable(layered_counts(keys, self.batch.first, int(self.first[-1])), self.names)

    def names(self) -> list[Hashable]:
        """What the colors stand for: "2:C(C(C,O),O(C))" is a C whose neighbors are such a C and such an O."""
        vocabulary = [label_text(label) for label in self.batch.nodes[1]]
        labels = [vocabulary[code] for code in self.batch.nodes[0].tolist()]
        indptr, neighbors, edge = self.batch.adjacency
        words, numbers = ([], []) if not self.bonds else self._bond_words()
        texts = [labels[v] for v in self.some[0].tolist()]
        names: list[Hashable] = [f"0:{text}" for text in texts]
        for level in range(1, len(self.some)):
            before, found = self.codes[level - 1], []
            for v in self.some[level].tolist():
                arcs = slice(indptr[v], indptr[v + 1])
                inner = [texts[code] for code in before[neighbors[arcs]].tolist()]
                if self.bonds:
                    inner = [words[numbers[e]] + text for e, text in zip(edge[arcs].tolist(), inner, strict=True)]
                found.append(_shortened(labels[v], sorted(inner)))
            texts = found
            names += [f"{level}:{text}" for text in texts]
        return names

    def _bond_words(self) -> tuple[list[str], list[int]]:
        codes, vocabulary = self.batch.bonds
        return [
            label if isinstance(label, str) and label in "-=#:" else f"{label_text(label)}~" for label in vocabulary
        ], codes.tolist()


def _shortened(label: str, inner: list[str]) -> str:
    text = f"{label}({','.join(inner)})"
    if len(text) <= LONGEST:
        return text
    return f"{label}(…{len(inner)})#{blake2b(text.encode(), digest_size=8).hexdigest()}"


def refine(batch: Batch, iterations: int, bonds: bool = False) -> Colors:
    """Return the colors of levels 0 … iterations; each level refines a color by the sorted colors of the neighbors."""
    from mercer.kernels.graphs._compiled_graphs import refined, signatures

    indptr, neighbors, edge = batch.adjacency
    codes, vocabulary = batch.nodes
    arcs, n_bonds = np.empty(0, np.int32), 1
    if bonds:
        edge_codes, edge_words = batch.bonds
        arcs, n_bonds = edge_codes[edge], max(len(edge_words), 1)
    N = len(codes)
    found = np.empty((iterations + 1, N), dtype=np.int32)
    found[0] = codes
    some = [_first_nodes(codes, len(vocabulary))]
    around, marks = np.empty(len(neighbors), np.int64), np.empty(N, np.uint64)
    for level in range(1, iterations + 1):
        before, out = found[level - 1], found[level]
        parts = row_blocks(N, CHUNK)

        def work(part: slice, worker: int, before: Codes = before) -> None:
            signatures(indptr, neighbors, arcs, n_bonds, before, part.start, part.stop, around, marks)

        run(parts, work, min(cpu_count(), len(parts)))
        some.append(refined(indptr, before, around, marks, out))
        if len(some[-1]) == len(some[-2]):
            # no color was split, so no later level splits one
            found[level + 1 :] = out
            some += [some[-1]] * (iterations - level)
            break
    return Colors(batch, bonds, found, tuple(some))


def _first_nodes(codes: Codes, count: int) -> Ints:
    some = np.zeros(count, dtype=np.int64)
    some[codes[::-1]] = np.arange(len(codes))[::-1]
    return some
