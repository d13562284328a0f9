"""Distances that are no matrix product, and what a matrix product of distances needs afterwards."""

from __future__ import annotations

import numba

import mercer.numeric._compiled_notice  # noqa: F401
from mercer.arrays import Array


@numba.njit(cache=True, nogil=True)
def manhattan(a: Array, bt: Array, out: Array) -> None:  # (n, d), (d, m) -> (n, m)
    """out[i, j] = sum_k |a[i, k] - bt[k, j]|, four columns at a time: each pass over a row costs a load and a store."""
    d, m = bt.shape
    whole = d - d % 4
    for i in range(a.shape[0]):
        row = out[i]
        row[:] = 0.0
        for k in range(0, whole, 4):
            x0, x1, x2, x3 = a[i, k], a[i, k + 1], a[i, k + 2], a[i, k + 3]
            b0, b1, b2, b3 = bt[k], bt[k + 1], bt[k + 2], bt[k + 3]
            for j in range(m):
                row[j] += (abs(x0 - b0[j]) + abs(x1 - b1[j])) + (abs(x2 - b2[j]) + abs(x3 - b3[j]))
        for k in range(whole, d):
            x = a[i, k]
            b = bt[k]
            for j in range(m):
                row[j] += abs(x - b[j])


@numba.njit(cache=True, nogil=True)
def recompute_below(
    values: Array, limits: Array, others: Array, a: Array, b: Array
) -> None:  # (n, m), (n,), (m,), (n, d), (m, d)
    """Replace values[i, j] < limits[i] + others[j] by ||a_i - b_j||^2 from differences, in place."""
    for i in range(values.shape[0]):
        row = values[i]
        limit = limits[i]
        count = 0
        for j in range(row.size):  # counting vectorizes, branching does not: most rows have nothing to mend
            count += row[j] < limit + others[j]
        if count == 0:
            continue
        for j in range(row.size):
            if row[j] < limit + others[j]:
                total = 0.0
                for k in range(a.shape[1]):
                    difference = a[i, k] - b[j, k]
                    total += difference * difference
                row[j] = total


@numba.njit(cache=True, nogil=True)
def power_sums(a: Array, bt: Array, norm: float, out: Array) -> None:  # (n, d), (d, m) -> (n, m)
    """out[i, j] = sum_k |a[i, k] - bt[k, j]|^norm."""
    d, m = bt.shape
    for i in range(a.shape[0]):
        row = out[i]
        row[:] = 0.0
        for k in range(d):
            x, b = a[i, k], bt[k]
            for j in range(m):
                row[j] += abs(x - b[j]) ** norm


@numba.njit(cache=True, nogil=True)
def absolute_slopes(a: Array, b: Array, W: Array, out: Array) -> None:
    # (n, d), (m, d), (n, m) -> (n, d)
    """out[i, k] += sum_j W[i, j] sign(a[i, k] - b[j, k])."""
    for i in range(a.shape[0]):
        row, total = a[i], out[i]
        for j in range(b.shape[0]):
            weight = W[i, j]
            other = b[j]
            for k in range(row.size):
                total[k] += weight * ((row[k] > other[k]) - (row[k] < other[k]))


@numba.njit(cache=True, nogil=True)
def power_slopes(a: Array, b: Array, W: Array, norm: float, out: Array) -> None:
    # (n, d), (m, d), (n, m) -> (n, d)
    """out[i, k] += sum_j W[i, j] |a[i, k] - b[j, k]|^(norm - 1) sign(a[i, k] - b[j, k]); equal entries add nothing."""
    for i in range(a.shape[0]):
        for j in range(b.shape[0]):
            for k in range(a.shape[1]):
                step = a[i, k] - b[j, k]
                if step > 0.0:
                    out[i, k] += W[i, j] * step ** (norm - 1.0)
                elif step < 0.0:
                    out[i, k] -= W[i, j] * (-step) ** (norm - 1.0)


@numba.njit(cache=True, nogil=True)
def absolute_sums(a: Array, b: Array, W: Array, out: Array) -> None:
    # (n, d), (m, d), (n, m) -> (d,)
    """out[k] += sum_ij W[i, j] |a[i, k] - b[j, k]|."""
    for i in range(a.shape[0]):
        row = a[i]
        for j in range(b.shape[0]):
            weight = W[i, j]
            other = b[j]
            for k in range(row.size):
                out[k] += weight * abs(row[k] - other[k])
