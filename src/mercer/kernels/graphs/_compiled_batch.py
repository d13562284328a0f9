"""Lists of neighbors, and counts of keys by graph."""

from __future__ import annotations

import numba
import numpy as np

import mercer.numeric._compiled_notice  # noqa: F401
from mercer.arrays import Codes, Ints


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
