"""Shapley values of products, summed over games that share their first factors."""

from __future__ import annotations

import numpy as np

from mercer.arrays import Floats
from mercer.numeric._compiled_notice import njit


@njit()
def sum_games(p: Floats, q: Floats, weights: Floats, nodes: Floats, shares: Floats, out: Floats) -> None:
    """out += sum_i weights[i] sum_b (Shapley values of the game p[i], q[:, i, b]): (n, m), (m, n, B), (n,) -> (m,)."""
    m, n, B = q.shape
    factors, before, total = np.empty((m, B)), np.empty((m, B)), np.empty((m, B))
    after = np.empty(B)
    for i in range(n):
        total[:] = 0.0
        for g in range(nodes.size):
            s, share = nodes[g], shares[g]
            after[:] = share
            for j in range(m):
                x, others, row, left = p[i, j], q[j, i], factors[j], before[j]
                for b in range(B):
                    row[b] = others[b] + s * (x - others[b])
                if j == 0:
                    left[:] = 1.0
                else:
                    last, known = before[j - 1], factors[j - 1]
                    for b in range(B):
                        left[b] = last[b] * known[b]
            for j in range(m - 1, -1, -1):
                row, left, sums = factors[j], before[j], total[j]
                for b in range(B):
                    sums[b] += left[b] * after[b]
                    after[b] *= row[b]
        for j in range(m):
            x, others, sums, value = p[i, j], q[j, i], total[j], 0.0
            for b in range(B):
                value += (x - others[b]) * sums[b]
            out[j] += weights[i] * value
