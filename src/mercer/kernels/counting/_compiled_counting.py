"""Numbers of distinct keys, and counts of keys by row."""

from __future__ import annotations

import numpy as np

from mercer.arrays import Array, Codes, Floats, Ints
from mercer.numeric._compiled_notice import njit


@njit()
def numbered(keys: Ints, ids: Codes) -> Ints:
    """Write the number of each key to `ids`, in the order of first appearance, and return the distinct keys.

    A hash table with open addressing that compares whole keys, so that collisions do not merge different keys.
    """
    size = 16
    while size < 2 * keys.shape[0]:
        size *= 2
    slots = np.full(size, -1, np.int32)
    distinct = np.empty(keys.shape[0], np.int64)
    count = 0
    for i in range(keys.shape[0]):
        key = keys[i]
        mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
        slot = np.int64((mixed ^ (mixed >> np.uint64(32))) & np.uint64(size - 1))
        while slots[slot] >= 0 and distinct[slots[slot]] != key:
            slot = (slot + 1) & (size - 1)
        if slots[slot] < 0:
            slots[slot] = count
            distinct[count] = key
            count += 1
        ids[i] = slots[slot]
    return distinct[:count].copy()


@njit()
def count(keys: Array, first: Ints, bound: int) -> tuple[Ints, Codes, Floats]:  # (layers, M), (n + 1,) -> CSR (n, bound)
    """CSR counts of keys < bound; row i has keys[:, first[i]:first[i + 1]]. Columns of a row are in order of discovery."""
    layers, n = keys.shape[0], first.shape[0] - 1
    seen = np.zeros(bound, np.int32)
    indptr = np.zeros(n + 1, np.int64)
    indices = np.empty(keys.size, np.int32)
    data = np.empty(keys.size, np.float64)
    filled = 0
    for i in range(n):
        start = filled
        for layer in range(layers):
            for k in range(first[i], first[i + 1]):
                key = keys[layer, k]
                if seen[key] == 0:
                    indices[filled] = key
                    filled += 1
                seen[key] += 1
        for k in range(start, filled):
            data[k] = seen[indices[k]]
            seen[indices[k]] = 0
        indptr[i + 1] = filled
    return indptr, indices[:filled].copy(), data[:filled].copy()


@njit()
def unary(
    indptr: Ints, indices: Codes, data: Floats, width: int
) -> tuple[Ints, Codes, Ints]:  # CSR (n, width) -> indptr, indices of 0/1 rows, (width + 1,) first column of each
    """Counts as that many ones: column c becomes as many columns as its largest count."""
    first = np.zeros(width + 1, np.int64)
    for k in range(indices.shape[0]):
        first[indices[k] + 1] = max(first[indices[k] + 1], np.int64(data[k]))
    for c in range(width):
        first[c + 1] += first[c]
    n = indptr.shape[0] - 1
    out_indptr = np.zeros(n + 1, np.int64)
    for i in range(n):
        out_indptr[i + 1] = out_indptr[i]
        for k in range(indptr[i], indptr[i + 1]):
            out_indptr[i + 1] += np.int64(data[k])
    out = np.empty(out_indptr[n], np.int32)
    at = 0
    for k in range(indices.shape[0]):
        for t in range(np.int64(data[k])):
            out[at] = first[indices[k]] + t
            at += 1
    return out_indptr, out, first
