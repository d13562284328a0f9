"""The slow obvious twins: MMD^2 by loops over its definition, tests one relabeling at a time, perturbed uniforms."""

from __future__ import annotations

from typing import Any

import numpy as np


def mmd2(K: Any, v: Any, biased: bool = False) -> float:
    """The three-term formula for the rows with v true against the rest, straight from its definition."""
    x, y = np.flatnonzero(v), np.flatnonzero(~np.asarray(v, bool))
    xx, yy, xy = K[np.ix_(x, x)], K[np.ix_(y, y)], K[np.ix_(x, y)]
    if biased:
        return float(xx.mean() + yy.mean() - 2.0 * xy.mean())
    within = (xx.sum() - np.trace(xx)) / (len(x) * (len(x) - 1))
    other = (yy.sum() - np.trace(yy)) / (len(y) * (len(y) - 1))
    return float(within + other - 2.0 * xy.mean())


def mmd2_by_loops(k: Any, X: Any, Y: Any) -> float:
    """The same in scalars: three double loops over pairs of rows."""
    m, n = len(X), len(Y)
    one = sum(k(X[i], X[j]) for i in range(m) for j in range(m) if i != j) / (m * (m - 1))
    two = sum(k(Y[i], Y[j]) for i in range(n) for j in range(n) if i != j) / (n * (n - 1))
    return one + two - 2.0 * sum(k(x, y) for x in X for y in Y) / (m * n)


def relabelings(signs: Any, m: int, n: int) -> list[Any]:
    """Rows of signs, of permutations (m + n wide) or of swaps (n wide), as masks of the first sample."""
    if signs.shape[1] == m + n:
        return [row > 0 for row in signs]
    return [np.concatenate([row > 0, row < 0]) for row in signs]


def pvalue(K: Any, masks: Any, m: int, biased: bool = False) -> tuple[float, float, list[float]]:
    """Statistic, p-value and null of a permutation test, one relabeling after the other."""
    observed = mmd2(K, np.arange(len(K)) < m, biased)
    null = [mmd2(K, mask, biased) for mask in masks]
    return observed, (1 + sum(value >= observed - 1e-12 for value in null)) / (1 + len(null)), null


def _bump(x: Any) -> Any:
    """The perturbation of Schrab et al.: a smooth bump up, then one down, on (-1, 0)."""
    out = np.zeros_like(x)
    up, down = (x > -1) & (x < -0.5), (x > -0.5) & (x < 0)
    out[up] = np.exp(-1 / (1 - (4 * x[up] + 3) ** 2))
    out[down] = -np.exp(-1 / (1 - (4 * x[down] + 1) ** 2))
    return out


def perturbed_uniform(rng: np.random.Generator, n: int, d: int, perturbations: int) -> Any:
    """n draws by rejection from 1 + (c_d / p) sum_j theta_j prod_r G(p x_r - j_r), theta random signs, d = 1 or 2."""
    height = {1: 2.7, 2: 7.3}[d] / perturbations
    theta = rng.choice([-1, 1], (perturbations,) * d)
    kept: list[Any] = []
    while sum(map(len, kept)) < n:
        x = rng.random((4 * n, d))
        bumps = np.stack([_bump(x * perturbations - j) for j in range(1, perturbations + 1)], axis=-1)
        wave = bumps[:, 0] @ theta if d == 1 else np.einsum("ni,nj,ij->n", bumps[:, 0], bumps[:, 1], theta)
        kept.append(x[rng.random(len(x)) * (1 + height * np.exp(-d)) < 1 + height * wave])
    return np.concatenate(kept)[:n]
