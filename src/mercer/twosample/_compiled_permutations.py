"""Random subsets, and sums over permuted matrices, that no matrix product expresses."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

import mercer.numeric._compiled_notice  # noqa: F401
from mercer.arrays import Array, Floats, Ints


@numba.njit(cache=True, nogil=True)
def draw_subsets(uniforms: Floats, signs: NDArray[np.int8], mark: int) -> None:  # (B, k), (B, N)
    """Write `mark` at k distinct places of every row of signs, uniformly: the first k steps of Fisher and Yates."""
    count, few = uniforms.shape
    size = signs.shape[1]
    order = np.arange(size)
    for b in range(count):
        for i in range(few):  # the order left by the row before is as good a start as any
            j = i + int(uniforms[b, i] * (size - i))
            order[i], order[j] = order[j], order[i]
            signs[b, order[i]] = mark


@numba.njit(cache=True, nogil=True, fastmath=True)
def permuted_products(K: Array, L: Array, orders: Ints, out: Floats) -> None:
    """out[b] = sum over i != j of K[i, j] L[p_i, p_j] with p = orders[b]; both symmetric with zero diagonal."""
    n = K.shape[0]
    for b in range(orders.shape[0]):
        order = orders[b]
        total = 0.0
        for i in range(1, n):
            row, other = K[i], L[order[i]]
            part = K[0, 0]  # a zero of the right type
            for j in range(i):
                part += row[j] * other[order[j]]
            total += part
        out[b] = 2.0 * total
