"""Kernels on graphs: common subgraphs of p nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from mercer.arrays import Ints
from mercer.errors import CapabilityError, InputError
from mercer.inputs import Graph, Rows
from mercer.kernels.base import Derivation
from mercer.kernels.counting.table import FeatureTable, present, table_of_counts
from mercer.kernels.features import FeatureMap, Occurrence
from mercer.kernels.fields import flag, one_of, whole_or_none
from mercer.kernels.graphs.base import GraphCounts, label_text, unlabeled_rule
from mercer.kernels.graphs.batch import Batch, by_chunks
from mercer.kernels.graphs.subgraphs import canonical, classes, induced_counts, pairs
from mercer.numeric.encodings import Dots, Encoding

#: Largest number of node sets that `explain` enumerates.
MOST_PLACES = 2_000_000


@dataclass(frozen=True, repr=False)
class Graphlet(GraphCounts):
    """The graphlet kernel: the number of induced subgraphs of p nodes in common.

    k(x, z) = sum over classes c of isomorphic graphs with p nodes of (sets of p nodes of x that induce c) (the same of z).
    Counts are exact, by formulas up to four nodes and by enumeration of connected sets for five; counts of classes that
    are not connected follow from those of the connected ones. A graph with fewer than p nodes has none: its values are 0.
    Counts grow like n^p, so that `.normalized()` is what models usually want. Labels count only with labeled=True.

    Parameters
    ----------
    p : 2, 3, 4 or 5, default 3
    connected : bool, default False
        Count only classes that are connected.
    presence : bool, default False
        Count each class once: the number of classes in common.
    labeled : bool, default False
        Classes of graphs whose node labels agree too, for p = 2 and 3.
    samples : int, optional
        For p = 5, graphs with too many connected sets to enumerate (about 10^11) raise an error. With `samples` such graphs,
        and only those, get estimates from that many sets of nodes drawn at random (with a fixed seed): (n choose 5) times
        the share of each class, with standard error at most (n choose 5) / (2 sqrt(samples)).
    unlabeled : None, "constant" or "degree"
        What stands for a missing label, with labeled=True; see `VertexHistogram`.

    >>> from mercer import Graph
    >>> path, ring = Graph(4, [(0, 1), (1, 2), (2, 3)]), Graph(4, [(0, 1), (1, 2), (2, 3), (0, 3)])
    >>> Graphlet(3)([path, ring]).tolist()
    [[8.0, 8.0], [8.0, 16.0]]
    >>> Graphlet(3).feature_names([path])
    ['3 nodes', 'edge + node', 'path 3', 'triangle']
    """

    p: int = one_of((2, 3, 4, 5), 3, keyword=False)
    connected: bool = flag(False)
    presence: bool = flag(False)
    labeled: bool = flag(False)
    samples: int | None = whole_or_none(None, at_least=100)
    unlabeled: str | None = unlabeled_rule()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.labeled and self.p > 3:
            raise InputError(f"Graphlet: labeled=True is for p = 2 and 3; got p={self.p}.")
        if self.unlabeled is not None and not self.labeled:
            raise InputError("Graphlet: unlabeled= replaces missing labels, but labeled=False uses no labels.")

    def _labels_read(self) -> tuple[str, ...]:
        return ("node",) if self.labeled else ()

    def _encode(self, rows: Rows) -> Encoding:
        if self.labeled:
            return super()._encode(rows)
        return rows.remember(("graphlets", self), lambda: Dots(self._counted(self._batch_of(rows))))

    def _counted(self, batch: Batch) -> Any:  # -> (n, classes)
        key = ("graphlet counts", self.p, self.connected, self.samples)
        counts = batch.remember(key, lambda: induced_counts(batch, self.p, self.connected, self.samples))
        return (counts > 0).astype(np.float64) if self.presence else counts

    def _table(self, batch: Batch) -> FeatureTable:
        found = labeled_table(batch, self.p, self.connected)
        return present(found) if self.presence else found

    def _feature_map(self, *terms: FeatureMap) -> FeatureMap:
        if self.labeled:
            return super()._feature_map()
        chosen = classes(self.p, self.connected)
        return FeatureMap(
            lambda encoding, combined: encoding.array.copy(),
            lambda encoding: len(chosen),
            lambda encoding: [one.name for one in chosen],
        )

    def _occurrences(self, item: Any) -> Iterator[Occurrence]:
        if comb(item.n_nodes, self.p) > MOST_PLACES:
            raise CapabilityError(
                f"explain: {self}: a graph of {item.n_nodes} nodes has {comb(item.n_nodes, self.p)} sets of {self.p} nodes, "
                f"more than {MOST_PLACES} to enumerate; take a smaller p."
            )
        found = list(self._places(item))
        count = Counter(name for name, _ in found) if self.presence else {}
        for name, nodes in found:
            yield Occurrence(name, nodes, 1.0 / count.get(name, 1))

    def _places(self, item: Graph) -> Iterator[tuple[Hashable, tuple[int, ...]]]:
        """Yield every set of p nodes with the name of its class."""
        named = {one.mask: one.name for one in classes(self.p, self.connected)}
        joined = dict.fromkeys(item.edges, 1)
        batch = self._alone(item)
        words = [label_text(batch.nodes[1][code]) for code in batch.nodes[0].tolist()] if self.labeled else []
        order = pairs(self.p)
        for nodes in combinations(range(item.n_nodes), self.p):
            mask = sum(joined.get((nodes[i], nodes[j]), 0) << bit for bit, (i, j) in enumerate(order))
            name = named.get(int(canonical(self.p)[mask]))
            if name is not None:
                yield (_labeled_name(mask, [words[v] for v in nodes]) if self.labeled else name), nodes

    def _derivation(self) -> Derivation:
        what = "indicators" if self.presence else "counts"
        kind = "connected " if self.connected else ""
        because = f"<phi(x), phi(z)> with phi(x) the {what} of {kind}induced subgraphs of {self.p} nodes by class"
        return Derivation("explicit features", because + (" and labels" if self.labeled else ""))


def _labeled_name(mask: int, words: list[str]) -> str:
    """The name of a set of two or three nodes with these labels; bits are the pairs (0, 1), (0, 2), (1, 2)."""
    if len(words) == 2 or mask in (0, 7):
        return shape_name(0 if mask == 0 else 3 if len(words) == 3 else 1, words)
    edges = [pair for bit, pair in enumerate(pairs(3)) if mask >> bit & 1]
    if len(edges) == 1:
        i, j = edges[0]
        return shape_name(1, [words[i], words[j], words[3 - i - j]])
    (middle,) = set(edges[0]) & set(edges[1])
    return shape_name(2, [words[middle], *(words[v] for v in range(3) if v != middle)])


#: Different labels that one graph may have: the table of a graph has their number to the third.
MOST_LABELS = 128

#: Separates the labels of joined nodes; no plain label contains it.
BOND = "–"


def labeled_table(batch: Batch, p: int, connected: bool) -> FeatureTable:
    """Induced subgraphs of p = 2 or 3 nodes by their shape and the labels of their nodes."""
    vocabulary = batch.nodes[1]
    width = len(vocabulary) + 1
    if 4 * width**3 >= 2**62:
        raise InputError(f"Graphlet: {len(vocabulary)} labels are too many for exact keys; take labeled=False.")
    keys, counts, first = by_chunks(batch, lambda low, high: _counts(batch, low, high, p, connected, width))
    return table_of_counts(keys, counts, first, lambda key: key_name(key, p, width, vocabulary))


def _counts(batch: Batch, low: int, high: int, p: int, connected: bool, width: int) -> tuple[Ints, Ints, Ints]:
    from mercer.kernels.graphs._compiled_graphlets import threes, twos

    indptr, neighbors, _ = batch.adjacency
    keys, counts, sizes = [], [], [0]
    for g in range(low, high):
        base = int(batch.first[g])
        distinct, own, total = np.unique(batch.nodes[0][base : batch.first[g + 1]], return_inverse=True, return_counts=True)
        k = len(distinct)
        if k > MOST_LABELS:
            raise InputError(
                f"Graphlet: graph {g} of {batch.name} has {k} labels; labeled graphlets take at most {MOST_LABELS}."
            )
        table = np.zeros((4, k, k, k) if p == 3 else (2, k, k), dtype=np.int64)
        (threes if p == 3 else twos)(indptr, neighbors, base, own.reshape(-1), total, connected, table)
        kind, *places = np.nonzero(table)
        key = kind.astype(np.int64)
        for place in places:
            key = key * width + distinct[place]
        order = np.argsort(key)
        keys.append(key[order])
        counts.append(table[(kind, *places)][order])
        sizes.append(len(key))
    return np.concatenate(keys), np.concatenate(counts), np.cumsum(sizes)


def key_name(key: int, p: int, width: int, vocabulary: Sequence[Hashable]) -> str:
    """Return the name of a labeled graphlet: "C–O" and "C O" are two nodes with and without an edge."""
    places: list[int] = []
    for _ in range(p):
        key, place = divmod(key, width)
        places.insert(0, place)
    return shape_name(key, [label_text(vocabulary[place]) for place in places])


def shape_name(kind: int, words: list[str]) -> str:
    """Return the name of a shape with `kind` edges; labels of equivalent nodes are sorted."""
    if len(words) == 2:
        return (BOND if kind else " ").join(sorted(words))
    a, b, c = words
    if kind == 1:  # an edge and a node
        return BOND.join(sorted([a, b])) + f" {c}"
    if kind == 2:  # a path with a in the middle
        b, c = sorted([b, c])
        return BOND.join([b, a, c])
    return (BOND if kind else " ").join(sorted(words)) + (" ring" if kind else "")
