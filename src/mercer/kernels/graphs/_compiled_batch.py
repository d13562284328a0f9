"""Lists of neighbors, and counts of keys by graph."""

from __future__ import annotations

import numba
import numpy as np

import mercer.numeric._compiled_notice  # noqa: F401
from mercer.arrays import Array, Codes, Floats, Ints


@numba.njit(cache=True, nogil=True)
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


@numba.njit(cache=True, nogil=True)
def counted_rows(
    keys: Array, first: Ints, bound: int
) -> tuple[Ints, Codes, Floats]:  # (layers, N), (n + 1,) -> CSR (n, layers of keys)
    """CSR counts of keys < bound, of which every node has one in each layer; columns of a row ascend layer by layer only."""
    layers, n = keys.shape[0], first.shape[0] - 1
    seen = np.zeros(bound, np.int32)
    indptr = np.zeros(n + 1, np.int64)
    indices = np.empty(keys.size, np.int32)
    data = np.empty(keys.size, np.float64)
    filled = 0
    for i in range(n):
        start = filled
        for layer in range(layers):
            for v in range(first[i], first[i + 1]):
                key = keys[layer, v]
                if seen[key] == 0:
                    indices[filled] = key
                    filled += 1
                seen[key] += 1
        for k in range(start, filled):
            data[k] = seen[indices[k]]
            seen[indices[k]] = 0
        indptr[i + 1] = filled
    return indptr, indices[:filled].copy(), data[:filled].copy()
