"""Sums and cuts of rows kept in a store, compiled."""

from __future__ import annotations

from mercer.arrays import Array, Floats, Ints
from mercer.numeric._compiled_notice import njit

_FAST = {"nnan", "nsz", "contract", "reassoc"}


@njit(fastmath=_FAST)
def add_rows(total: Floats, store: Array, slots: Ints, coef: Floats, start: int, stop: int) -> None:
    """total[start:stop] += coef @ store[slots, start:stop] in float64, four rows at a time."""  # (n,), (S, n), (m,), (m,)
    m = slots.size
    for left in range(start, stop, 1024):
        right = min(left + 1024, stop)
        target = total[left:right]
        k = 0
        while k + 4 <= m:
            r0, r1 = store[slots[k], left:right], store[slots[k + 1], left:right]
            r2, r3 = store[slots[k + 2], left:right], store[slots[k + 3], left:right]
            c0, c1, c2, c3 = coef[k], coef[k + 1], coef[k + 2], coef[k + 3]
            for t in range(right - left):
                target[t] += (c0 * r0[t] + c1 * r1[t]) + (c2 * r2[t] + c3 * r3[t])
            k += 4
        while k < m:
            row, c = store[slots[k], left:right], coef[k]
            for t in range(right - left):
                target[t] += c * row[t]
            k += 1


@njit()
def crossings(store: Array, slots: Ints, columns: Ints, out: Array, start: int, stop: int) -> None:
    """out[a, b] = store[slots[a], columns[b]] for the rows a from start to stop."""  # (S, n), (q,), (q,), (q, q)
    for a in range(start, stop):
        row = store[slots[a]]
        for k in range(columns.size):
            out[a, k] = row[columns[k]]
