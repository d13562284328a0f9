"""Kernels on strings: substrings of all lengths, from the suffix array and the tree of common substrings.

Substrings that occur at the same places form one class, with one column: a node of the suffix tree, whose substrings are
longer than those of its parent and at most as long as its own. So all substrings, which are quadratically many, need a
number of columns that is linear in the number of letters.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Array, Floats, Ints
from mercer.kernels.base import Derivation
from mercer.kernels.counting.table import FeatureTable
from mercer.kernels.features import FeatureMap, Occurrence
from mercer.kernels.fields import positive, whole_or_none
from mercer.kernels.strings.letters import PER_LETTER, Letters
from mercer.kernels.strings.pairs import check_listed
from mercer.kernels.strings.spectrum import SubstringKernel, whole_item
from mercer.numeric.compiling import worth


@dataclass(frozen=True, repr=False)
class AllSubstrings(SubstringKernel):
    """All common substrings, each weighted by its length.

    k(x, z) = sum over all substrings u of decay^|u| (count of u in x) (count of u in z), from the suffix array of the
    strings: time and memory do not grow with the lengths that are counted. An empty string has no substring: its values
    are 0.

    Parameters
    ----------
    decay : float > 0, default 0.5
        What each further letter multiplies the weight by; 1 counts all lengths alike.
    longest : int, optional
        Leave out substrings of more letters.

    >>> AllSubstrings(decay=1.0)(["abab", "ba"]).tolist()
    [[16.0, 5.0], [5.0, 3.0]]
    >>> from mercer import Spectrum
    >>> texts = ["abab", "ba", "bbb"]
    >>> bool(np.allclose(AllSubstrings(0.5, longest=2)(texts), (0.5 * Spectrum(1) + 0.25 * Spectrum(2))(texts)))
    True
    """

    decay: float = positive(0.5, keyword=False, free=False)
    longest: int | None = whole_or_none(None, at_least=1)

    def _weight(self, lengths: Array) -> Floats:
        """decay + decay^2 + … + decay^length."""
        counted = np.asarray(lengths if self.longest is None else np.minimum(lengths, self.longest))
        sums = np.concatenate([[0.0], np.cumsum(self.decay ** np.arange(1.0, counted.max(initial=0) + 1))])
        return np.asarray(sums[counted])

    def _feature_map(self, *terms: FeatureMap) -> FeatureMap:
        # columns are classes of substrings that occur at the same places, in this collection
        return dataclasses.replace(super()._feature_map(), stay=False)

    def _table(self, letters: Letters) -> FeatureTable:
        return substring_table(letters, self._weight)

    def _occurrences(self, item: Any) -> Iterator[Occurrence]:
        item = whole_item(item)
        check_listed(self, min(len(item), self.longest or len(item)) ** 2, len(item))
        for i in range(len(item)):
            for j in range(i + 1, min(len(item), i + (self.longest or len(item))) + 1):
                yield Occurrence(item[i:j], tuple(range(i, j)), self.decay ** ((j - i) / 2.0))

    def _derivation(self) -> Derivation:
        because = f"<phi(x), phi(z)> with phi_u(x) = {self.decay!r}^(|u|/2) times the count of u, for every substring u"
        return Derivation("explicit features", because)


def substring_table(letters: Letters, weight: Callable[[Array], Floats]) -> FeatureTable:
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
    rows, columns, counts = climbed(row[order], leaf, height, parent)
    # what occurs once in the whole collection: the rest of a suffix below its last branching
    own = weight(end[order] - order) - heights[leaf]
    single = np.flatnonzero(own > 0)
    places = np.concatenate([rows, row[order][single]]), np.concatenate([columns, len(height) + np.arange(len(single))])
    numbers = np.concatenate([counts, np.ones(len(single))])
    matrix = sp.coo_array((numbers, places), shape=(len(letters), len(height) + len(single))).tocsr()
    roots = np.sqrt(np.concatenate([edge, own[single]]))
    kept = np.flatnonzero(roots > 0)
    matrix = sp.csr_array((matrix @ sp.diags_array(roots))[:, kept])

    def names() -> list[Hashable]:
        first = _first_suffixes(height, parent, leaf, order)
        starts = np.concatenate([first, order[single]])[kept]
        stops = np.concatenate([first + height, end[order[single]]])[kept]
        return [letters.written(letters.codes[a:b]) for a, b in zip(starts.tolist(), stops.tolist(), strict=True)]

    return FeatureTable(matrix, names)


#: Steps up the tree for all suffixes at once. Trees of strings that are not periodic are not that high.
STEPS = 64


def climbed(owner: Ints, leaf: Ints, height: Ints, parent: Ints) -> tuple[Ints, Ints, Floats]:
    """Return (row, node, count): how many suffixes of a string begin with the substring of a node, if any does.

    All suffixes climb at once, one step at a time. A string of period 1 has a node for every letter, so that there are
    quadratically many steps; these are counted string by string, where every node is visited once.
    """
    rows: list[Ints] = []
    columns: list[Ints] = []
    node, own = leaf, owner
    for _ in range(STEPS):
        inside = node > 0
        own, node = own[inside], node[inside]
        if not len(node):
            found = np.concatenate([own, *rows]), np.concatenate([node, *columns])
            return *found, np.ones(len(found[0]))
        rows.append(own)
        columns.append(node)
        node = parent[node]
    from mercer.kernels.strings._compiled_strings import visited_nodes

    by_string = np.argsort(owner, kind="stable")
    return visited_nodes(owner[by_string], leaf[by_string], height, parent)


def _first_suffixes(height: Ints, parent: Ints, leaf: Ints, order: Ints) -> Ints:
    """Return for every node a suffix that begins with its substring."""
    first = np.full(len(height), -1)
    first[leaf] = order
    for node in np.argsort(-height, kind="stable").tolist():  # children are higher than their parents
        if first[parent[node]] < 0:
            first[parent[node]] = first[node]
    return first


def suffix_array(codes: Ints, end: Ints) -> tuple[Ints, Ints]:  # (N,), (N,) -> (N,), (N,)
    """Return the sorted suffixes of all strings, and how many letters each shares with the one before it.

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
    """Return the number of common letters of neighbors in the order, one binary digit at a time."""
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
    from mercer.kernels.strings._compiled_strings import compiled_branches

    return compiled_branches(branches)(shared)


def branches(shared: Ints) -> tuple[Ints, Ints, Ints]:  # (N,) -> heights, parents of the nodes, (N,) node of a suffix
    """Return the tree of common substrings; node 0 is the root, and its own parent.

    A node of height h is a run of suffixes that share h letters. Runs are opened and closed along the order, on a stack.
    """
    size = len(shared)
    height, parent = np.zeros(size + 1, np.int64), np.zeros(size + 1, np.int64)
    leaf, stack = np.zeros(size, np.int64), np.zeros(size + 1, np.int64)
    count, top = 1, 0
    for r in range(size):
        common = shared[r] if r > 0 else 0
        closed = -1
        while height[stack[top]] > common:
            closed = stack[top]
            top -= 1
            if height[stack[top]] >= common:
                parent[closed] = stack[top]
        if height[stack[top]] < common:
            height[count] = common
            if closed >= 0:
                parent[closed] = count
            else:
                leaf[r - 1] = count
            top += 1
            stack[top] = count
            count += 1
        leaf[r] = stack[top]
    while top > 0:
        parent[stack[top]] = stack[top - 1]
        top -= 1
    return height[:count], parent[:count], leaf
