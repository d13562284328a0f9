"""Weisfeiler-Lehman colors of many graphs, level by level, with names that do not depend on other graphs."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from mercer.arrays import Codes, Ints
from mercer.kernels.counting.table import FeatureTable, layered_counts
from mercer.kernels.graphs.base import label_text
from mercer.kernels.graphs.batch import Batch
from mercer.numeric.threads import cpu_count, run

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
        """Where the colors of each level begin among all colors."""
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
    """Levels 0 … iterations: labels, then own color and the sorted colors around, again and again."""
    from mercer.kernels.graphs._compiled_colors import refined, signatures

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
        parts = [(low, min(low + CHUNK, N)) for low in range(0, N, CHUNK)]

        def work(part: tuple[int, int], worker: int, before: Codes = before) -> None:
            signatures(indptr, neighbors, arcs, n_bonds, before, *part, around, marks)

        run(parts, work, min(cpu_count(), len(parts)))
        some.append(refined(indptr, before, around, marks, out))
        if len(some[-1]) == len(some[-2]):
            # nothing was told apart, so nothing ever will be
            found[level + 1 :] = out
            some += [some[-1]] * (iterations - level)
            break
    return Colors(batch, bonds, found, tuple(some))


def _first_nodes(codes: Codes, count: int) -> Ints:
    some = np.zeros(count, dtype=np.int64)
    some[codes[::-1]] = np.arange(len(codes))[::-1]
    return some
