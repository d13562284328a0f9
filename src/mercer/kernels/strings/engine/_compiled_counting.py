"""Counting windows of strings, and sums over what two strings have in common."""

from __future__ import annotations

import numba
import numpy as np

import mercer.numeric._compiled_notice  # noqa: F401
from mercer.arrays import Array, Codes, Floats, Ints


@numba.njit(cache=True, nogil=True)
def spell(codes: Codes, starts: Ints, mask: Ints, width: int, base: int, first: Ints, out: Ints) -> None:
    """out[first[i] + k] = the number that the letters at `mask` of the k-th window of string i spell."""
    for i in range(starts.shape[0] - 1):
        begin = starts[i]
        for k in range(first[i + 1] - first[i]):
            code = 0
            for q in mask:
                code = code * base + codes[begin + k + q]
            out[first[i] + k] = code


@numba.njit(cache=True, nogil=True)
def numbered(keys: Ints, ids: Codes) -> Ints:
    """Give equal keys equal numbers, in the order of first appearance; returns the distinct keys.

    A table with open addressing that compares whole keys: what falls on the same slot is told apart.
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


@numba.njit(cache=True, nogil=True)
def count(keys: Array, first: Ints, bound: int) -> tuple[Ints, Codes, Floats]:
    """CSR counts of keys < bound; string i has keys[first[i]:first[i + 1]]. Columns of a row come as they are found."""
    n = first.shape[0] - 1
    seen = np.zeros(bound, np.int32)
    indptr = np.zeros(n + 1, np.int64)
    indices = np.empty(keys.shape[0], np.int32)
    data = np.empty(keys.shape[0], np.float64)
    filled = 0
    for i in range(n):
        start = filled
        for k in range(first[i], first[i + 1]):
            key = keys[k]
            if seen[key] == 0:
                indices[filled] = key
                filled += 1
            seen[key] += 1
        for k in range(start, filled):
            data[k] = seen[indices[k]]
            seen[indices[k]] = 0
        indptr[i + 1] = filled
    return indptr, indices[:filled].copy(), data[:filled].copy()


@numba.njit(cache=True, nogil=True)
def transposed(
    indptr: Ints, indices: Codes, data: Array, width: int
) -> tuple[Ints, Codes, Array]:  # CSR of (n, width) -> CSR of (width, n), sorted
    """The same matrix by columns; rows of a column ascend."""
    pointer = np.zeros(width + 1, np.int64)
    for k in range(indices.shape[0]):
        pointer[indices[k] + 1] += 1
    for c in range(width):
        pointer[c + 1] += pointer[c]
    place = pointer[:-1].copy()
    rows = np.empty(indices.shape[0], np.int32)
    values = np.empty(indices.shape[0], data.dtype)
    for i in range(indptr.shape[0] - 1):
        for k in range(indptr[i], indptr[i + 1]):
            at = place[indices[k]]
            place[indices[k]] = at + 1
            rows[at] = i
            values[at] = data[k]
    return pointer, rows, values


@numba.njit(cache=True, nogil=True)
def lower_bound(rows: Codes, start: int, stop: int, value: int) -> int:
    """The first place in rows[start:stop], ascending, with an entry >= value."""
    while start < stop:
        middle = (start + stop) // 2
        if rows[middle] < value:
            start = middle + 1
        else:
            stop = middle
    return start


@numba.njit(cache=True, nogil=True)
def add_common(
    indptr: Ints, indices: Codes, data: Array, picked: Ints,
    pointer: Ints, rows: Codes, values: Array, low: int, high: int, out: Floats,
) -> None:  # CSR (n, D), (r,), lists of D columns, (r, high - low)  # fmt: skip
    """out[i, j - low] += sum over columns c of data[i, c] values[c, j], for rows `picked` and low <= j < high."""
    for i in range(picked.shape[0]):
        total = out[i]
        for k in range(indptr[picked[i]], indptr[picked[i] + 1]):
            start, stop = pointer[indices[k]], pointer[indices[k] + 1]
            if start == stop:
                continue
            if rows[start] < low:
                start = lower_bound(rows, start, stop, low)
            if start < stop and rows[stop - 1] >= high:
                stop = lower_bound(rows, start, stop, high)
            weight = data[k]
            for at in range(start, stop):
                total[rows[at] - low] += weight * values[at]
