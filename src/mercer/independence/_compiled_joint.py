"""Compiled loop: sums of products of several matrices with permuted rows and columns."""

from __future__ import annotations

import numpy as np

from mercer.arrays import Array, Floats, Ints
from mercer.numeric._compiled_notice import njit


@njit(fastmath=True)
def permuted_joint_sums(grams: Array, orders: Ints, out: Floats) -> None:  # (d, n, n), (b, d, n), (b,)
    """Set out[b] to the sum over i, j of the product over v of grams[v, p_v(i), p_v(j)], with p_v = orders[b, v]."""
    d, n = grams.shape[0], grams.shape[1]
    row = np.empty(n, grams.dtype)
    for b in range(orders.shape[0]):
        total = 0.0
        for i in range(n):
            values, places = grams[0, orders[b, 0, i]], orders[b, 0]
            for j in range(i + 1):
                row[j] = values[places[j]]
            for v in range(1, d):
                values, places = grams[v, orders[b, v, i]], orders[b, v]
                for j in range(i + 1):
                    row[j] *= values[places[j]]
            part = row[i] - row[i]
            for j in range(i):
                part += row[j]
            total += 2.0 * part + row[i]
        out[b] = total
