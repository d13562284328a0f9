"""Agreements of windows, pair of strings by pair, along the diagonals: for wide windows and any values of agreements."""

from __future__ import annotations

import numpy as np

from mercer.arrays import Codes, Floats, Ints
from mercer.numeric._compiled_notice import njit


@njit()
def paired_windows(
    codes: Codes, starts: Ints, chunk: Ints, others: Ints, width: int, values: Floats, out: Floats
) -> None:  # fmt: skip
    """out[r, c] = sum of values[m] over pairs of windows of strings chunk[r] and others[c]; m is the number of places at
    which they agree. Windows with a negative code are left out."""
    for r in range(chunk.shape[0]):
        a = codes[starts[chunk[r]] : starts[chunk[r] + 1]]
        for c in range(others.shape[0]):
            b = codes[starts[others[c]] : starts[others[c] + 1]]
            total = 0.0
            for shift in range(width - a.shape[0], b.shape[0] - width + 1):  # place in b less place in a
                first, last = max(0, -shift), min(a.shape[0], b.shape[0] - shift)
                agree, clean = 0, 0
                for i in range(first, last):
                    agree += a[i] == b[i + shift]
                    clean = clean + 1 if a[i] >= 0 and b[i + shift] >= 0 else 0
                    if i - first >= width:
                        agree -= a[i - width] == b[i - width + shift]
                    if clean >= width:
                        total += values[agree]
            out[r, c] = total


@njit()
def own_pairs(codes: Codes, starts: Ints, rows: Ints, width: int, values: Floats, out: Floats) -> None:
    """The same of every string with itself."""
    value = np.zeros((1, 1))
    for r in range(rows.shape[0]):
        paired_windows(codes, starts, rows[r : r + 1], rows[r : r + 1], width, values, value)
        out[r] = value[0, 0]
