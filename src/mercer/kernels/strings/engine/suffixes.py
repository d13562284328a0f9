"""All substrings at once: the suffix array of a collection, and the tree of its common substrings.

Substrings that occur at the same places are one class, with one column: a node of the suffix tree, whose substrings are
longer than those of its parent and at most as long as its own. So all substrings, quadratically many, need a number of
columns linear in the letters.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Array, Floats, Ints
from mercer.kernels.strings.engine.branches import branches
from mercer.kernels.strings.engine.letters import PER_LETTER, Letters
from mercer.kernels.strings.engine.substrings import Table
from mercer.numeric.compiling import worth


def substring_table(letters: Letters, weight: Callable[[Array], Floats]) -> Table:
    """Counts of all substrings u, times the root of a weight of their length.

    `weight(h)` is the sum of the weights of the lengths 1 … h: what a class of substrings counts for is the difference
    between its longest and the longest of its parent.
    """
    row = np.repeat(np.arange(len(letters)), letters.lengths)
    end = np.repeat(letters.starts[1:], letters.lengths)
    order, shared = suffix_array(letters.codes.astype(np.int64), end)
    height, parent, leaf = _tree(shared)
    heights = weight(height)
    edge = heights - heights[np.maximum(parent, 0)]  # the root is its own parent: 0
    rows, columns = [], []
    owner, node = row[order], leaf
    while len(node):
        inside = node > 0
        owner, node = owner[inside], node[inside]
        rows.append(owner)
        columns.append(node)
        node = parent[node]
    # what occurs once in the whole collection: the rest of a suffix below its last branching
    own = weight(end[order] - order) - heights[leaf]
    single = np.flatnonzero(own > 0)
    rows.append(row[order][single])
    columns.append(len(height) + np.arange(len(single)))
    matrix = sp.coo_array(
        (np.ones(sum(map(len, rows))), (np.concatenate(rows), np.concatenate(columns))),
        shape=(len(letters), len(height) + len(single)),
    ).tocsr()
    roots = np.sqrt(np.concatenate([edge, own[single]]))
    kept = np.flatnonzero(roots > 0)
    matrix = sp.csr_array((matrix @ sp.diags_array(roots))[:, kept])

    def names() -> list[Hashable]:
        first = _first_suffixes(height, parent, leaf, order)
        starts = np.concatenate([first, order[single]])[kept]
        stops = np.concatenate([first + height, end[order[single]]])[kept]
        return [letters.written(letters.codes[a:b]) for a, b in zip(starts.tolist(), stops.tolist(), strict=True)]

    return Table(matrix, names)


def _first_suffixes(height: Ints, parent: Ints, leaf: Ints, order: Ints) -> Ints:
    """For every node a suffix that begins with its substring."""
    first = np.full(len(height), -1)
    first[leaf] = order
    for node in np.argsort(-height, kind="stable").tolist():  # children are higher than their parents
        if first[parent[node]] < 0:
            first[parent[node]] = first[node]
    return first


def suffix_array(codes: Ints, end: Ints) -> tuple[Ints, Ints]:  # (N,), (N,) -> (N,), (N,)
    """The suffixes of all strings in order, and how many letters each shares with the one before it.

    A suffix ends with its string. By doubling: the order by 2 w letters is the order by pairs of ranks by w letters.
    """
    size = len(codes)
    place = np.arange(size)
    ranks = [np.unique(codes, return_inverse=True)[1] + 1]  # 0 stands for the end of a string
    width = 1
    longest = int((end - place).max(initial=0))
    while width < longest and ranks[-1].max(initial=0) < size:
        rank = ranks[-1]
        later = np.where(place + width < end, rank[np.minimum(place + width, size - 1)], 0)
        ranks.append(np.unique(rank * (size + 1) + later, return_inverse=True)[1] + 1)
        width *= 2
    order = np.argsort(ranks[-1], kind="stable")
    return order, _common(order, end, ranks)


def _common(order: Ints, end: Ints, ranks: list[Ints]) -> Ints:
    """The common letters of neighbors in the order, by the binary digits of their number."""
    size = len(order)
    shared = np.zeros(size, dtype=np.int64)
    left, right = order[:-1], order[1:]
    common = np.zeros(max(size - 1, 0), dtype=np.int64)
    for level in range(len(ranks) - 1, -1, -1):
        a, b = left + common, right + common
        inside = (a < end[left]) & (b < end[right])
        rank = ranks[level]
        equal = inside & (rank[np.minimum(a, size - 1)] == rank[np.minimum(b, size - 1)])
        common += np.where(equal, 1 << level, 0)
    shared[1:] = np.minimum(common, np.minimum(end[left] - left, end[right] - right))
    return shared


def _tree(shared: Ints) -> tuple[Ints, Ints, Ints]:
    if not worth(len(shared), PER_LETTER):
        return branches(shared)
    from mercer.kernels.strings.engine._compiled_suffixes import branches as compiled

    return compiled(shared)
