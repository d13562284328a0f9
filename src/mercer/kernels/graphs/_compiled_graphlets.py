"""Counts of small subgraphs: by formulas up to four nodes, by enumeration of connected sets of five, and by node labels."""

from __future__ import annotations

import numpy as np

from mercer.arrays import Codes, Ints
from mercer.numeric._compiled_notice import njit


@njit()
def upward(indptr: Ints, neighbors: Codes, order: Ints, base: int, n: int) -> tuple[Ints, Ints, Ints]:
    """Lists of neighbors that come later in the order of degrees: pointers (n + 1,), nodes, and the rank of every node."""
    rank = np.empty(n, np.int64)
    for i in range(n):
        rank[order[base + i] - base] = i
    pointer = np.zeros(n + 1, np.int64)
    later = np.empty((indptr[base + n] - indptr[base]) // 2, np.int64)
    at = 0
    for v in range(n):
        for a in range(indptr[base + v], indptr[base + v + 1]):
            u = neighbors[a] - base
            if rank[u] > rank[v]:
                later[at] = u
                at += 1
        pointer[v + 1] = at
    return pointer, later, rank


@njit()
def cliques(pointer: Ints, later: Ints, with_four: bool, at_node: Ints, at_edge: Ints) -> int:
    """Count triangles at every node (n,) and at every edge (m,), the edges in the order of `later`; return the 4-cliques."""
    n = pointer.shape[0] - 1
    mark = np.full(n, -1, np.int64)  # the edge from u, while u is looked at
    inner = np.full(n, -1, np.int64)  # the edge (u, v) of whose triangles a node is the third
    third = np.empty(n, np.int64)
    four = 0
    for u in range(n):
        for a in range(pointer[u], pointer[u + 1]):
            mark[later[a]] = a
        for a in range(pointer[u], pointer[u + 1]):
            v, found = later[a], 0
            for b in range(pointer[v], pointer[v + 1]):
                w = later[b]
                if mark[w] >= 0:
                    at_node[u] += 1
                    at_node[v] += 1
                    at_node[w] += 1
                    at_edge[a] += 1
                    at_edge[b] += 1
                    at_edge[mark[w]] += 1
                    third[found] = w
                    inner[w] = a
                    found += 1
            if with_four and found > 1:
                for k in range(found):
                    w = third[k]
                    for c in range(pointer[w], pointer[w + 1]):
                        if inner[later[c]] == a:
                            four += 1
        for a in range(pointer[u], pointer[u + 1]):
            mark[later[a]] = -1
    return four


@njit()
def squares(indptr: Ints, neighbors: Codes, base: int, rank: Ints) -> int:
    """The number of cycles of four edges, with or without diagonals, each seen from its node of highest rank."""
    n = rank.shape[0]
    ways = np.zeros(n, np.int64)
    total = 0
    for u in range(n):
        for a in range(indptr[base + u], indptr[base + u + 1]):
            v = neighbors[a] - base
            if rank[v] < rank[u]:
                for b in range(indptr[base + v], indptr[base + v + 1]):
                    w = neighbors[b] - base
                    if rank[w] < rank[u]:
                        total += ways[w]
                        ways[w] += 1
        for a in range(indptr[base + u], indptr[base + u + 1]):
            v = neighbors[a] - base
            if rank[v] < rank[u]:
                for b in range(indptr[base + v], indptr[base + v + 1]):
                    ways[neighbors[b] - base] = 0
    return total


@njit()
def small_counts(
    indptr: Ints, neighbors: Codes, order: Ints, first: Ints, low: int, high: int, size: int, out: Ints
) -> None:  # (N,) nodes of each graph by degree; graphs low … high - 1; out (n, 10)
    """Nodes, edges, paths of 3, triangles; star, path, paw, cycle, diamond, clique of 4: not only induced."""
    for g in range(low, high):
        base, n = first[g], first[g + 1] - first[g]
        row = out[g]
        pointer, later, rank = upward(indptr, neighbors, order, base, n)
        at_node, at_edge = np.zeros(n, np.int64), np.zeros(later.shape[0], np.int64)
        row[9] = cliques(pointer, later, size > 3, at_node, at_edge)
        row[0], row[1] = n, later.shape[0]
        for v in range(n):
            d = indptr[base + v + 1] - indptr[base + v]
            row[2] += d * (d - 1) // 2
            row[3] += at_node[v]
            row[4] += d * (d - 1) * (d - 2) // 6
            row[6] += at_node[v] * (d - 2)
            for a in range(pointer[v], pointer[v + 1]):
                u = base + later[a]
                row[5] += (d - 1) * (indptr[u + 1] - indptr[u] - 1)
                row[8] += at_edge[a] * (at_edge[a] - 1) // 2
        row[3] //= 3
        row[5] -= 3 * row[3]
        if size > 3:
            row[7] = squares(indptr, neighbors, base, rank)


@njit()
def enter(
    indptr: Ints, neighbors: Codes, base: int, w: int, bit: int, root: int, touch: Codes, stack: Ints, top: int
) -> int:
    """Take node w into the set: mark its neighbors, and put those that touch nothing else on the stack."""
    for a in range(indptr[base + w], indptr[base + w + 1]):
        u = neighbors[a] - base
        if touch[u] == 0 and u > root:
            stack[top] = u
            top += 1
        touch[u] |= bit
    return top


@njit()
def leave(indptr: Ints, neighbors: Codes, base: int, w: int, bit: int, touch: Codes) -> None:
    """Take node w out of the set again."""
    for a in range(indptr[base + w], indptr[base + w + 1]):
        touch[neighbors[a] - base] &= ~bit


@njit()
def five_sets(indptr: Ints, neighbors: Codes, base: int, n: int, out: Ints) -> None:  # writes out (1024,)
    """Count every connected set of five nodes once, by the mask of the graph it induces.

    Sets grow from their smallest node; a node is offered once, by the first member of the set that it touches, so that no
    set comes twice (Wernicke 2006). Offers are one stack: those of a larger set are the rest of the smaller one's and what
    is new. The last node is not entered: its marks say what it would make of the set.
    """
    touch = np.zeros(n, np.int32)
    stack = np.empty(n + 1, np.int64)
    for root in range(n):
        end1 = enter(indptr, neighbors, base, root, 1, root, touch, stack, 0)
        for i in range(end1):
            one = stack[i]
            end2 = enter(indptr, neighbors, base, one, 2, root, touch, stack, end1)
            for j in range(i + 1, end2):
                two = stack[j]
                mask2 = 1 | (touch[two] & 3) << 1
                end3 = enter(indptr, neighbors, base, two, 4, root, touch, stack, end2)
                for k in range(j + 1, end3):
                    three = stack[k]
                    mask3 = mask2 | (touch[three] & 7) << 3
                    end4 = enter(indptr, neighbors, base, three, 8, root, touch, stack, end3)
                    for last in range(k + 1, end4):
                        out[mask3 | (touch[stack[last]] & 15) << 6] += 1
                    leave(indptr, neighbors, base, three, 8, touch)
                leave(indptr, neighbors, base, two, 4, touch)
            leave(indptr, neighbors, base, one, 2, touch)
        leave(indptr, neighbors, base, root, 1, touch)


@njit()
def five_counts(
    indptr: Ints, neighbors: Codes, first: Ints, chosen: Ints, number: Ints, out: Ints
) -> None:  # (k,) graphs, (1024,) class of each mask; out (n, classes)
    """Connected induced subgraphs of five nodes by class."""
    by_mask = np.empty(1024, np.int64)
    for g in chosen:
        by_mask[:] = 0
        five_sets(indptr, neighbors, first[g], first[g + 1] - first[g], by_mask)
        for mask in range(1024):
            if by_mask[mask]:
                out[g, number[mask]] += by_mask[mask]


@njit()
def joined(indptr: Ints, neighbors: Codes, u: int, v: int) -> bool:
    """Whether two nodes are neighbors; lists of neighbors ascend."""
    start, stop = indptr[u], indptr[u + 1]
    while start < stop:
        middle = (start + stop) // 2
        if neighbors[middle] < v:
            start = middle + 1
        else:
            stop = middle
    return start < indptr[u + 1] and neighbors[start] == v


@njit()
def masks_of(indptr: Ints, neighbors: Codes, base: int, sets: Ints) -> Ints:  # (k, p) nodes of one graph -> (k,)
    """The mask of the graph that each set of nodes induces."""
    out = np.zeros(sets.shape[0], np.int64)
    for i in range(sets.shape[0]):
        bit = 0
        for j in range(1, sets.shape[1]):
            for k in range(j):
                if joined(indptr, neighbors, base + sets[i, j], base + sets[i, k]):
                    out[i] |= 1 << bit
                bit += 1
    return out


EMPTY, ONE_EDGE, PATH, TRIANGLE = range(4)


@njit()
def triangles_and_paths(
    indptr: Ints, neighbors: Codes, base: int, label: Ints, table: Ints
) -> None:  # label (n,); table (4, k, k, k)
    """Triangles by sorted labels; paths of three nodes by the label of the middle and the sorted labels of the ends."""
    for v in range(label.shape[0]):
        start, stop = indptr[base + v], indptr[base + v + 1]
        for a in range(start, stop):
            u = neighbors[a] - base
            for b in range(a + 1, stop):
                w = neighbors[b] - base
                x, y = min(label[u], label[w]), max(label[u], label[w])
                if not joined(indptr, neighbors, base + u, base + w):
                    table[PATH, label[v], x, y] += 1
                elif v < u:  # u < w, as lists ascend: every triangle once
                    z = label[v]
                    table[TRIANGLE, min(z, x), max(min(z, y), x), max(z, y)] += 1


@njit()
def lone_edges(
    indptr: Ints, neighbors: Codes, base: int, label: Ints, total: Ints, table: Ints
) -> None:  # label (n,), total (k,); table (4, k, k, k)
    """An edge by its sorted labels and a node that touches neither end, by its label."""
    k = total.shape[0]
    near = np.zeros(k, np.int64)
    seen = np.full(label.shape[0], -1, np.int64)
    for u in range(label.shape[0]):
        for a in range(indptr[base + u], indptr[base + u + 1]):
            v = neighbors[a] - base
            if v < u:
                continue
            near[:] = 0
            for end in (u, v):
                for b in range(indptr[base + end], indptr[base + end + 1]):
                    w = neighbors[b] - base
                    if seen[w] != a:
                        seen[w] = a
                        near[label[w]] += 1
            x, y = min(label[u], label[v]), max(label[u], label[v])
            for c in range(k):
                table[ONE_EDGE, x, y, c] += total[c] - near[c]


@njit()
def lone_nodes(total: Ints, table: Ints) -> None:  # total (k,); table (4, k, k, k)
    """Three nodes without an edge: all sets of three with these labels, less those that have edges."""
    k = total.shape[0]
    for x in range(k):
        for y in range(x, k):
            for z in range(y, k):
                if x == z:
                    count = total[x] * (total[x] - 1) * (total[x] - 2) // 6
                elif x == y:
                    count = total[x] * (total[x] - 1) // 2 * total[z]
                elif y == z:
                    count = total[y] * (total[y] - 1) // 2 * total[x]
                else:
                    count = total[x] * total[y] * total[z]
                table[EMPTY, x, y, z] += count - table[TRIANGLE, x, y, z]
    for kind in (PATH, ONE_EDGE):
        for x in range(k):
            for y in range(k):
                for z in range(k):
                    low, high = min(x, y, z), max(x, y, z)
                    table[EMPTY, low, x + y + z - low - high, high] -= table[kind, x, y, z]


@njit()
def threes(
    indptr: Ints, neighbors: Codes, base: int, label: Ints, total: Ints, connected: bool, table: Ints
) -> None:  # label (n,), total (k,); writes table (4, k, k, k)
    """Induced subgraphs of three nodes of one graph."""
    table[:] = 0
    triangles_and_paths(indptr, neighbors, base, label, table)
    if not connected:
        lone_edges(indptr, neighbors, base, label, total, table)
        lone_nodes(total, table)


@njit()
def twos(
    indptr: Ints, neighbors: Codes, base: int, label: Ints, total: Ints, connected: bool, table: Ints
) -> None:  # label (n,), total (k,); writes table (2, k, k)
    """Pairs of nodes of one graph by their labels: without an edge and with one."""
    table[:] = 0
    k = total.shape[0]
    for u in range(label.shape[0]):
        for a in range(indptr[base + u], indptr[base + u + 1]):
            v = neighbors[a] - base
            if u < v:
                table[1, min(label[u], label[v]), max(label[u], label[v])] += 1
    if not connected:
        for x in range(k):
            for y in range(x, k):
                together = total[x] * (total[x] - 1) // 2 if x == y else total[x] * total[y]
                table[0, x, y] = together - table[1, x, y]
