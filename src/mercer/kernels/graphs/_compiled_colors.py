"""Weisfeiler-Lehman colors: signatures of nodes, told apart exactly."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

import mercer.numeric._compiled_notice  # noqa: F401
from mercer.arrays import Codes, Ints

Marks = NDArray[np.uint64]


@numba.njit(cache=True, nogil=True)
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


@numba.njit(cache=True, nogil=True, inline="always")
def mixed(h: np.uint64, key: np.uint64) -> np.uint64:
    """One step of a 64-bit mixing function."""
    h ^= key + np.uint64(0x9E3779B97F4A7C15)
    h *= np.uint64(0xBF58476D1CE4E5B9)
    h ^= h >> np.uint64(29)
    h *= np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(32))


@numba.njit(cache=True, nogil=True)
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


@numba.njit(cache=True, nogil=True)
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
