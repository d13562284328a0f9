"""Shapley values of products, in closed form.

A game v(S) = prod_{j in S} p_j prod_{j not in S} q_j of m players has the Shapley values

    phi_j = (p_j - q_j) int_0^1 prod_{l != j} ((1 - s) q_l + s p_l) ds,

since the weight |S|! (m - 1 - |S|)! / m! of a coalition is the integral of s^|S| (1 - s)^(m - 1 - |S|). The integrand is a
polynomial of degree m - 1, which Gauss-Legendre quadrature with ceil(m / 2) nodes integrates exactly; nothing is divided,
so factors may be zero.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Numbers of one block of games: its products stay in the cache of a core.
CACHED_NUMBERS = 2**16


def product_shapley(p: Array, q: Array, weights: Array) -> Array:  # (N, m), (N, m), (N,) -> (m,)
    """The weighted sum of the Shapley values of N products."""
    n, m = p.shape
    nodes, shares = np.polynomial.legendre.leggauss((m + 1) // 2)
    total = np.zeros(m)
    step = max(1, CACHED_NUMBERS // m)
    for low in range(0, n, step):
        P, Q = p[low : low + step].T, q[low : low + step].T  # (m, r): products run over contiguous rows
        inner = np.zeros_like(P)
        for s, share in zip(0.5 * (1.0 + nodes), 0.5 * shares, strict=True):
            inner += share * _all_but_one(Q + s * (P - Q))
        total += ((P - Q) * inner) @ weights[low : low + step]
    return total


def _all_but_one(factors: Array) -> Array:  # (m, r) -> (m, r)
    """The product of all rows but one, for every row: those before it times those after it."""
    before, after = np.ones_like(factors), np.ones_like(factors[0])
    np.cumprod(factors[:-1], axis=0, out=before[1:])
    for j in range(len(factors) - 1, -1, -1):
        before[j] *= after
        after *= factors[j]
    return before
