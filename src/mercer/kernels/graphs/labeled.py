"""Graphlets of two and three nodes whose labels count."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from mercer.arrays import Ints
from mercer.errors import InputError
from mercer.kernels.counting.table import FeatureTable, table_of_counts
from mercer.kernels.graphs.base import label_text
from mercer.kernels.graphs.batch import Batch
from mercer.kernels.graphs.chunks import by_chunks

#: Different labels that one graph may have: the table of a graph has their number to the third.
MOST_LABELS = 128

#: Stands between the labels of joined nodes; no plain label holds it.
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
    from mercer.kernels.graphs._compiled_labeled import threes, twos

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
    """The name of a labeled graphlet: "C–O" and "C O" are two nodes with and without an edge."""
    places: list[int] = []
    for _ in range(p):
        key, place = divmod(key, width)
        places.insert(0, place)
    return shape_name(key, [label_text(vocabulary[place]) for place in places])


def shape_name(kind: int, words: list[str]) -> str:
    """`kind` counts shapes by their edges; the words of what is alike are sorted."""
    if len(words) == 2:
        return (BOND if kind else " ").join(sorted(words))
    a, b, c = words
    if kind == 1:  # an edge and a node
        return BOND.join(sorted([a, b])) + f" {c}"
    if kind == 2:  # a path with a in the middle
        b, c = sorted([b, c])
        return BOND.join([b, a, c])
    return (BOND if kind else " ").join(sorted(words)) + (" ring" if kind else "")
