"""Shapley values of products, in closed form.

A game v(S) = prod_{j in S} p_j prod_{j not in S} q_j of m players has the Shapley values

    phi_j = (p_j - q_j) int_0^1 prod_{l != j} ((1 - s) q_l + s p_l) ds,

since the weight |S|! (m - 1 - |S|)! / m! of a coalition is the integral of s^|S| (1 - s)^(m - 1 - |S|). The integrand is a
polynomial of degree m - 1, which Gauss-Legendre quadrature with ceil(m / 2) nodes integrates exactly; nothing is divided,
so factors may be zero.
"""

from __future__ import annotations

import numpy as np

from mercer.arrays import Floats
from mercer.numeric.compiling import worth
from mercer.numeric.threads import cpu_count, run
from mercer.numeric.tiles import row_blocks

#: Numbers of one block of games: its products stay in the cache of a core.
CACHED_NUMBERS = 2**16


#: Nanoseconds that compiled loops save per factor and node: from 2^20 on they are worth loading. Row: shapley-columns.
PER_FACTOR = 8


def product_shapley(p: Floats, q: Floats, weights: Floats) -> Floats:  # (n, m), (m, n, B), (n,) -> (m,)
    """sum_i weights_i sum_b of the Shapley values of the games with p_i and q_ib."""
    m, n, B = q.shape
    nodes, shares = np.polynomial.legendre.leggauss((m + 1) // 2)
    nodes, shares = 0.5 * (1.0 + nodes), 0.5 * shares
    compiled = worth(n * B * m * len(nodes), PER_FACTOR)
    step = max(1, CACHED_NUMBERS // (m * B))
    parts = row_blocks(n, step)
    threads = min(cpu_count(), len(parts)) if compiled else 1
    totals = np.zeros((threads, m))

    def work(part: slice, worker: int) -> None:
        if compiled:
            from mercer.numeric._compiled_shapley import sum_games

            sum_games(p[part], q[:, part], weights[part], nodes, shares, totals[worker])
        else:
            totals[worker] += _games(p[part], q[:, part], weights[part], nodes, shares)

    run(parts, work, threads, static=True)
    return np.asarray(totals.sum(axis=0))


def _games(p: Floats, q: Floats, weights: Floats, nodes: Floats, shares: Floats) -> Floats:  # (r, m), (m, r, B), (r,) -> m
    P = p.T[:, :, None]
    inner = np.zeros_like(q)
    for s, share in zip(nodes, shares, strict=True):
        inner += share * _all_but_one(q + s * (P - q))
    return np.asarray(((P - q) * inner).sum(axis=2) @ weights)


def _all_but_one(factors: Floats) -> Floats:  # (m, r, B) -> (m, r, B)
    """The product of all factors but one, for every one: those before it times those after it."""
    before, after = np.ones_like(factors), np.ones_like(factors[0])
    np.cumprod(factors[:-1], axis=0, out=before[1:])
    for j in range(len(factors) - 1, -1, -1):
        before[j] *= after
        after *= factors[j]
    return before
