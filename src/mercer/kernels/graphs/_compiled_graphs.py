"""Loops over many graphs: lists of neighbors, Weisfeiler-Lehman colors, shortest paths (64 sources per word), walks."""

from __future__ import annotations

import numpy as np
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from mercer.arrays import Codes, Floats, Ints
from mercer.numeric._compiled_notice import njit


@njit()
def neighbor_lists(pairs: Ints, n: int) -> tuple[Ints, Codes, Codes]:  # (M, 2) -> (n + 1,), (2 M,), (2 M,)
    """Lists of neighbors from edges that are sorted, smaller node first; neighbors come out ascending."""
    m = pairs.shape[0]
    indptr = np.zeros(n + 1, np.int64)
    for e in range(m):
        indptr[pairs[e, 0] + 1] += 1
        indptr[pairs[e, 1] + 1] += 1
    for v in range(n):
        indptr[v + 1] += indptr[v]
    place = indptr[:-1].copy()
    neighbors = np.empty(2 * m, np.int32)
    edge = np.empty(2 * m, np.int32)
    for side in range(2):  # smaller neighbors first, then larger ones
        for e in range(m):
            u, v = pairs[e, 1 - side], pairs[e, side]
            at = place[u]
            place[u] = at + 1
            neighbors[at] = v
            edge[at] = e
    return indptr, neighbors, edge


Marks = NDArray[np.uint64]


@njit()
def sort(values: Ints, start: int, stop: int) -> None:
    """Sort values[start:stop] by Shell's method: insertion for the few neighbors that most nodes have."""
    gap = 1
    while 9 * gap < stop - start:
        gap = 3 * gap + 1
    while gap > 0:
        for k in range(start + gap, stop):
            key, at = values[k], k
            while at >= start + gap and values[at - gap] > key:
                values[at] = values[at - gap]
                at -= gap
            values[at] = key
        gap //= 3


@njit(inline="always")
def mixed(h: np.uint64, key: np.uint64) -> np.uint64:
    """One step of a 64-bit mixing function."""
    h ^= key + np.uint64(0x9E3779B97F4A7C15)
    h *= np.uint64(0xBF58476D1CE4E5B9)
    h ^= h >> np.uint64(29)
    h *= np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(32))


@njit()
def signatures(
    indptr: Ints,
    neighbors: Codes,
    bonds: Codes,
    n_bonds: int,
    colors: Codes,
    low: int,
    high: int,
    around: Ints,
    marks: Marks,
) -> None:  # (N + 1,), (2 M,), (2 M,) or (0,), (N,) -> writes around (2 M,), marks (N,)
    """Sort the colors around every node from `low` to `high`, and mix them and its own into 64 bits."""
    for v in range(low, high):
        start, stop = indptr[v], indptr[v + 1]
        for k in range(start, stop):
            key = np.int64(colors[neighbors[k]])
            around[k] = key * n_bonds + bonds[k] if bonds.shape[0] else key
        sort(around, start, stop)
        h = mixed(np.uint64(colors[v]), np.uint64(stop - start))
        for k in range(start, stop):
            h = mixed(h, np.uint64(around[k]))
        marks[v] = h


@njit()
def refined(
    indptr: Ints, colors: Codes, around: Ints, marks: Marks, out: Codes
) -> Ints:  # (N + 1,), (N,), (2 M,), (N,) -> writes out (N,); (colors,) a node of each
    """Number equal signatures equally, in the order of first appearance; equal marks are compared in full.

    A table with open addressing: signatures that share a mark or a slot are told apart, so no collision can change a value.
    """
    n = colors.shape[0]
    size = 16
    while size < 2 * n:
        size *= 2
    slots = np.full(size, -1, np.int32)
    some = np.empty(n, np.int64)
    count = 0
    for v in range(n):
        start, length = indptr[v], indptr[v + 1] - indptr[v]
        slot = np.int64(marks[v] & np.uint64(size - 1))
        found = -1
        while slots[slot] >= 0:
            u = some[slots[slot]]
            if marks[u] == marks[v] and colors[u] == colors[v] and indptr[u + 1] - indptr[u] == length:
                other, same = indptr[u], True
                for k in range(length):
                    if around[start + k] != around[other + k]:
                        same = False
                        break
                if same:
                    found = slots[slot]
                    break
            slot = (slot + 1) & (size - 1)
        if found < 0:
            found = count
            slots[slot] = count
            some[count] = v
            count += 1
        out[v] = found
    return some[:count].copy()


@intrinsic
def ones(typing_context, word):  # type: ignore[no-untyped-def]
    """The number of bits that are set in a 64-bit word: one instruction."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


@njit()
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


@njit()
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


@njit()
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


@njit()
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


@njit()
def common_walks(
    indptr: Ints, neighbors: Codes, labels: Codes, first: Ints, g: int, h: int, decay: float, steps: int, work: Floats
) -> float:  # work (3, at least n_g n_h)
    """sum over l = 0 … steps of decay^l times the pairs of walks of l edges in g and h with equal labels on the way."""
    base, n = first[g], first[g + 1] - first[g]
    other, m = first[h], first[h + 1] - first[h]
    same, now, half = work[0], work[1], work[2]
    total = 0.0
    for i in range(n):
        for j in range(m):
            same[i * m + j] = 1.0 if labels[base + i] == labels[other + j] else 0.0
            now[i * m + j] = same[i * m + j]
            total += same[i * m + j]
    weight, count = 1.0, total
    for _ in range(steps):
        if count == 0.0:
            break
        weight *= decay
        for i in range(n):  # one step in g …
            row = half[i * m : (i + 1) * m]
            row[:] = 0.0
            for a in range(indptr[base + i], indptr[base + i + 1]):
                at = (neighbors[a] - base) * m
                for j in range(m):
                    row[j] += now[at + j]
        count = 0.0
        for i in range(n):  # … and one in h
            for j in range(m):
                at = i * m + j
                value = 0.0
                if same[at]:
                    for b in range(indptr[other + j], indptr[other + j + 1]):
                        value += half[i * m + neighbors[b] - other]
                now[at] = value
                count += value
        total += weight * count
    return total


@njit()
def walk_block(
    indptr: Ints,
    neighbors: Codes,
    labels: Codes,
    first: Ints,
    left: Ints,
    right: Ints,
    decay: float,
    steps: int,
    out: Floats,
) -> None:  # (r,), (c,) graphs; writes out (r, c)
    """The values of a tile."""
    largest = np.zeros(2, np.int64)
    for g in left:
        largest[0] = max(largest[0], first[g + 1] - first[g])
    for h in right:
        largest[1] = max(largest[1], first[h + 1] - first[h])
    work = np.empty((3, largest[0] * largest[1]), np.float64)
    for r in range(left.shape[0]):
        for c in range(right.shape[0]):
            out[r, c] = common_walks(indptr, neighbors, labels, first, left[r], right[c], decay, steps, work)


@njit()
def walk_numbers(
    indptr: Ints, neighbors: Codes, first: Ints, low: int, high: int, out: Floats
) -> None:  # out (n, steps + 1)
    """The number of walks of 0 … steps edges in every graph, labels aside."""
    for g in range(low, high):
        base, n = first[g], first[g + 1] - first[g]
        now, then = np.ones(n), np.empty(n)
        for step in range(out.shape[1]):
            out[g, step] = now.sum()
            for v in range(n):
                total = 0.0
                for a in range(indptr[base + v], indptr[base + v + 1]):
                    total += now[neighbors[a] - base]
                then[v] = total
            now, then = then, now
