"""Compiled loops: random subsets, sums over permuted matrices, sums of cosines and sines at doubled angles."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Array, Floats, Ints
from mercer.numeric._compiled_notice import njit


@njit()
def draw_subsets(uniforms: Floats, signs: NDArray[np.int8], mark: int) -> None:  # (B, k), (B, N)
    """Write `mark` at k distinct uniform places of every row of signs, by k steps of the Fisher-Yates shuffle."""
    count, few = uniforms.shape
    size = signs.shape[1]
    order = np.arange(size)
    for b in range(count):
        for i in range(few):  # any order is a valid start, also the one left by the row before
            j = i + int(uniforms[b, i] * (size - i))
            order[i], order[j] = order[j], order[i]
            signs[b, order[i]] = mark


@njit(fastmath=True)
def permuted_products(K: Array, L: Array, orders: Ints, out: Floats) -> None:
    """Set out[b] = sum over i != j of K[i, j] L[p_i, p_j] with p = orders[b]; both symmetric with zero diagonal."""
    n = K.shape[0]
    for b in range(orders.shape[0]):
        order = orders[b]
        total = 0.0
        for i in range(1, n):
            row, other = K[i], L[order[i]]
            part = K[0, 0]  # zero, in the type of K
            for j in range(i):
                part += row[j] * other[order[j]]
            total += part
        out[b] = 2.0 * total


@njit()
def add_octaves(cosines: Array, sines: Array, out: Floats) -> None:  # (r, D), (r, D), (L, 2D)
    """Add the sums of cos(2^l a) to out[l, :D] and of sin(2^l a) to out[l, D:]; both inputs are overwritten.

    cos 2a = 1 - 2 sin^2 a and sin 2a = 2 sin a cos a cost a few products instead of two transcendental functions.
    """
    count, width = cosines.shape
    for level in range(out.shape[0]):
        low, high = out[level, :width], out[level, width:]
        for i in range(count):
            c, s = cosines[i], sines[i]
            for j in range(width):
                low[j] += c[j]
                high[j] += s[j]
                twice = s[j] + s[j]
                s[j] = twice * c[j]
                c[j] = 1 - twice * (twice * np.float32(0.5))
