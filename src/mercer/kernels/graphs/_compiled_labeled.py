"""Induced subgraphs of two and three nodes by their labels."""

from __future__ import annotations

import numba
import numpy as np

import mercer.numeric._compiled_notice  # noqa: F401
from mercer.arrays import Codes, Ints
from mercer.kernels.graphs._compiled_graphlets import joined

EMPTY, ONE_EDGE, PATH, TRIANGLE = range(4)


@numba.njit(cache=True, nogil=True)
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


@numba.njit(cache=True, nogil=True)
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


@numba.njit(cache=True, nogil=True)
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


@numba.njit(cache=True, nogil=True)
def threes(
    indptr: Ints, neighbors: Codes, base: int, label: Ints, total: Ints, connected: bool, table: Ints
) -> None:  # label (n,), total (k,); writes table (4, k, k, k)
    """Induced subgraphs of three nodes of one graph."""
    table[:] = 0
    triangles_and_paths(indptr, neighbors, base, label, table)
    if not connected:
        lone_edges(indptr, neighbors, base, label, total, table)
        lone_nodes(total, table)


@numba.njit(cache=True, nogil=True)
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
