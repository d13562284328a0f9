"""The recurrence of local alignments, one pair of strings at a time."""

from __future__ import annotations

import numpy as np

from mercer.arrays import Codes, Floats, Ints
from mercer.numeric._compiled_notice import njit


@njit()
def alignment_pairs(
    a: Codes, a_starts: Ints, b: Codes, b_starts: Ints, weights: Floats, opened: float, extended: float, large: float,
    out: Floats,
) -> None:  # fmt: skip
    """out[i, j] = log of the sum over all local alignments of string i of a and string j of b."""
    longest = 0
    for j in range(b_starts.shape[0] - 1):
        longest = max(longest, b_starts[j + 1] - b_starts[j])
    M, X, Y = np.empty(longest + 1), np.empty(longest + 1), np.empty(longest + 1)
    for i in range(a_starts.shape[0] - 1):
        for j in range(b_starts.shape[0] - 1):
            x, z = a[a_starts[i] : a_starts[i + 1]], b[b_starts[j] : b_starts[j + 1]]
            out[i, j] = alignments(x, z, weights, opened, extended, large, M, X, Y)


@njit()
def alignments(
    x: Codes, z: Codes, weights: Floats, opened: float, extended: float, large: float, M: Floats, X: Floats, Y: Floats
) -> float:
    """Return the logarithm of the sum; `M`, `X` and `Y` are rows of the recurrence, which are overwritten."""
    M[:], X[:], Y[:] = 0.0, 0.0, 0.0
    total, one, scale = 1.0, 1.0, 0
    for i in range(x.shape[0]):
        letter, diagonal, left, here = x[i], one, 0.0, 0.0
        for j in range(z.shape[0]):
            above_m, above_x, above_y = M[j + 1], X[j + 1], Y[j + 1]
            gap = opened * left + extended * here  # left = M + X of the place before, here = its Y
            new = weights[letter, z[j]] * diagonal
            M[j + 1] = new
            X[j + 1] = opened * above_m + extended * above_x
            Y[j + 1] = gap
            diagonal = one + above_m + above_x + above_y
            left, here = new + X[j + 1], gap
            total += new
        if total > large:
            total /= large
            one /= large
            scale += 1
            for j in range(z.shape[0] + 1):
                M[j] /= large
                X[j] /= large
                Y[j] /= large
    return np.log(total) + scale * np.log(large)
