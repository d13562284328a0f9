"""Lengths of shortest paths between all nodes, 64 sources to a word."""

from __future__ import annotations

import numba
import numpy as np
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

import mercer.numeric._compiled_notice  # noqa: F401
from mercer.arrays import Codes, Ints

Marks = NDArray[np.uint64]


@intrinsic
def ones(typing_context, word):  # type: ignore[no-untyped-def]
    """The number of bits that are set in a 64-bit word: one instruction."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


@numba.njit(cache=True, nogil=True)
def numbered(labels: Codes, order: Ints, base: int, local: Ints, names: Ints) -> int:  # order, local, names (n,)
    """Number the labels of one graph from 0: local[v] is the number of node v, names[k] the label k; return how many."""
    k = 0
    for i in range(order.shape[0]):
        label = labels[order[i]]
        if i == 0 or label != names[k - 1]:
            names[k] = label
            k += 1
        local[order[i] - base] = k - 1
    return k


@numba.njit(cache=True, nogil=True)
def spread(
    indptr: Ints, neighbors: Codes, base: int, sources: Ints, local: Ints, k: int, words: Marks, table: Ints
) -> tuple[int, Ints]:  # sources (at most 64,), words (3, n), table (distances k,) -> the largest distance, the table
    """Add to table[(d - 1) k + b] the pairs of a source and a node with label b at distance d."""
    visited, now, then = words[0], words[1], words[2]
    visited[:] = np.uint64(0)
    everyone = np.uint64(0)
    for i in range(sources.shape[0]):
        visited[sources[i] - base] = np.uint64(1) << np.uint64(i)
        everyone |= np.uint64(1) << np.uint64(i)
    now[:] = visited
    distance, moving = 0, True
    while moving:
        moving = False
        if (distance + 1) * k > table.shape[0]:
            larger = np.zeros(2 * table.shape[0] + k, np.int64)
            larger[: table.shape[0]] = table
            table = larger
        for v in range(local.shape[0]):
            word = np.uint64(0)
            if visited[v] != everyone:  # else nothing new can come
                for a in range(indptr[base + v], indptr[base + v + 1]):
                    word |= now[neighbors[a] - base]
                word &= ~visited[v]
            then[v] = word
            if word:
                moving = True
                table[distance * k + local[v]] += np.int64(ones(word))  # type: ignore[call-arg]
        if moving:
            for v in range(local.shape[0]):
                visited[v] |= then[v]
            now, then = then, now
            distance += 1
    return distance, table


@numba.njit(cache=True, nogil=True)
def path_counts(
    indptr: Ints, neighbors: Codes, labels: Codes, order: Ints, first: Ints, low: int, high: int, width: int, longest: int
) -> tuple[Ints, Ints, Ints]:  # graphs low … high - 1 -> keys, counts, (high - low + 1,) where each graph begins
    """How many ordered pairs of nodes have labels a, b and distance d >= 1; the key is (a width + b) longest + d.

    `order` (N,) lists the nodes of each graph by label. Sources of one label share words of 64 bits. At every step the
    set of sources that reach a node is the union of those that reached a neighbor, without those that came before.
    """
    keys, counts = np.empty(1024, np.int64), np.empty(1024, np.int64)
    begins = np.zeros(high - low + 1, np.int64)
    filled = 0
    for g in range(low, high):
        base, n = first[g], first[g + 1] - first[g]
        own, local, names = order[base : base + n], np.empty(n, np.int64), np.empty(n, np.int64)
        k = numbered(labels, own, base, local, names)
        words, table = np.empty((3, n), np.uint64), np.zeros(k * 16, np.int64)
        start = 0
        for source in range(k):
            stop, deepest = start, 0
            while stop < n and local[own[stop] - base] == source:
                stop += 1
            for block in range(start, stop, 64):
                sources = own[block : min(block + 64, stop)]
                distance, table = spread(indptr, neighbors, base, sources, local, k, words, table)
                deepest = max(deepest, distance)
            while filled + deepest * k > keys.shape[0]:
                keys = np.concatenate((keys, np.empty_like(keys)))
                counts = np.concatenate((counts, np.empty_like(counts)))
            for end in range(k):
                for d in range(deepest):
                    if table[d * k + end]:
                        keys[filled] = (names[source] * width + names[end]) * longest + d + 1
                        counts[filled] = table[d * k + end]
                        filled += 1
                        table[d * k + end] = 0
            start = stop
        begins[g - low + 1] = filled
    return keys[:filled].copy(), counts[:filled].copy(), begins


@numba.njit(cache=True, nogil=True)
def distances_from(indptr: Ints, neighbors: Codes, source: int) -> Ints:  # one graph -> (n,), -1 where there is no path
    """The length of a shortest path from one node to every node."""
    n = indptr.shape[0] - 1
    found = np.full(n, -1, np.int64)
    queue = np.empty(n, np.int64)
    queue[0], head, tail = source, 0, 1
    found[source] = 0
    while head < tail:
        v = queue[head]
        head += 1
        for a in range(indptr[v], indptr[v + 1]):
            u = neighbors[a]
            if found[u] < 0:
                found[u] = found[v] + 1
                queue[tail] = u
                tail += 1
    return found
