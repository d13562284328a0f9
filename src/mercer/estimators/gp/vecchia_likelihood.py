"""Gaussian processes by conditioning on near rows (Vecchia 1988), block by block.

The density of y is a product of conditionals, each block of rows given all earlier ones. Given only the nearest earlier
rows c it is

    log p(y) ≈ sum over blocks g of log N(y_c, y_g | 0, S) - log N(y_c | 0, S_cc),    S = K + D on the rows c, g,

in O(n) for blocks of fixed size (blocks instead of single rows: Guinness 2018). Each block is one small Gram matrix, one
Cholesky factor and one weight matrix for the gradient; kernels stay outside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg.blas as blas

from mercer.estimators.gp.nearest_blocks import Block
from mercer.linalg.cholesky import cholesky
from mercer.linalg.solution import Array
from mercer.numeric.threads import cpu_count, run

Gram = Callable[[Array], Array]  # row numbers (s,) -> K (s, s), an array of its own
Pull = Callable[[Array, Array], Array]  # row numbers (s,), weights (s, s) -> (p,)
Joint = Callable[[int, Array], tuple[Array, Array, float]]


@dataclass(frozen=True)
class Conditionals:
    """What the product of conditionals makes of T' G^-1 T and log det G, and its factors, if they were kept."""

    quadratic: Array  # (c, c)
    logdet: float
    jitter: float
    factors: dict[int, Array] | None  # block number -> L (s, s)


def conditionals(  # columns (n, c), noise (1,) or (n,)
    parts: Sequence[Block], gram: Gram, columns: Array, noise: Array, *, keep: bool = False
) -> Conditionals:
    """One factor per block; the log density of t targets is -1/2 (tr quadratic + t logdet + n t log 2 pi).

    >>> X = np.arange(4.0)
    >>> K, y = np.exp(-np.abs(np.subtract.outer(X, X))), np.ones((4, 1))
    >>> parts = [Block(np.arange(i), np.array([i])) for i in range(4)]  # every row given all earlier ones
    >>> found = conditionals(parts, lambda rows: K[np.ix_(rows, rows)], y, np.array([0.1]))
    >>> G = K + 0.1 * np.eye(4)
    >>> bool(np.isclose(found.logdet, np.linalg.slogdet(G)[1]) and np.isclose(found.quadratic, y.T @ np.linalg.solve(G, y)))
    True
    """
    n, c = columns.shape
    d = np.broadcast_to(noise, (n,))
    threads = min(cpu_count(), len(parts))
    totals = [(np.zeros((c, c)), np.zeros(2)) for _ in range(threads)]
    factors: dict[int, Array] = {}

    def work(task: tuple[int, Block], worker: int) -> None:
        number, part = task
        rows, k = part.rows, len(part.given)
        L, jitter = _factor(gram(rows), d[rows])
        own = _solve(L, columns[rows])[k:]
        quadratic, numbers = totals[worker]
        quadratic += own.T @ own
        numbers[0] += 2.0 * float(np.log(L.diagonal()[k:]).sum())
        numbers[1] = max(numbers[1], jitter)
        if keep:
            factors[number] = L

    run(enumerate(parts), work, threads, static=True)
    quadratic = np.sum([one for one, _ in totals], axis=0)
    numbers = np.array([one for _, one in totals])
    return Conditionals(quadratic, float(numbers[:, 0].sum()), float(numbers[:, 1].max()), factors if keep else None)


def conditional_gradient(  # columns (n, c), combine (c, t), noise (1,) or (n,)
    parts: Sequence[Block],
    gram: Gram,
    pull: Pull,
    columns: Array,
    combine: Array,
    noise: Array,
    factors: dict[int, Array] | None = None,
) -> tuple[Array, float]:  # -> (p,), number
    """The gradient of the log density of the t targets E = columns @ combine: in theta, and in the logarithm of the noise.

    For L = chol(S) and U the rows of L^-1 that belong to g, S^-1 minus the padded S_cc^-1 is U'U. With z = L^-1 E,
    a = S^-1 E and v = U' z_g the weight on S is (a v' + v (a - v)' - t U'U) / 2.
    """
    n, t = len(columns), combine.shape[1]
    d = np.broadcast_to(noise, (n,))
    threads = min(cpu_count(), len(parts))
    thetas: list[Array] = [np.zeros(1)] * threads  # replaced, never written to
    slopes = np.zeros(threads)

    def work(task: tuple[int, Block], worker: int) -> None:
        number, part = task
        rows, k, g = part.rows, len(part.given), len(part.targets)
        L = _factor(gram(rows), d[rows])[0] if factors is None else factors[number]
        z = _solve(L, columns[rows] @ combine)  # (s, t)
        unit = np.zeros((k + g, g), order="F")
        unit[k:] = np.eye(g)
        U = _solve(L, unit, transposed=True)  # (s, g): U' of the formula
        a, v = _solve(L, z, transposed=True), U @ z[k:]
        W = U @ U.T
        W *= -0.5 * t
        W += 0.5 * (a @ v.T + v @ (a - v).T)
        slopes[worker] += float(d[rows] @ W.diagonal())
        thetas[worker] = thetas[worker] + pull(rows, W)

    run(enumerate(parts), work, threads, static=True)
    return np.sum(thetas, axis=0), float(slopes.sum())


def local_posterior(  # near (r, k) row numbers, columns (n, c), noise (1,) or (n,) -> (r, c), (r,)
    near: Array, joint: Joint, columns: Array, noise: Array
) -> tuple[Array, Array]:
    """Posterior mean and latent variance of each new row given its own near rows only.

    ``joint(i, rows)`` returns K (k, k), the covariances k_i (k,) with the new row i, and k_ii.

    >>> K, y = np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([[1.0], [0.0]])
    >>> joint = lambda i, rows: (K[:1, :1].copy(), K[1, :1], 1.0)
    >>> mean, variance = local_posterior(np.array([[0]]), joint, y, np.array([1.0]))
    >>> mean.round(12).tolist(), variance.round(12).tolist()
    ([[0.25]], [0.875])
    """
    n, c = columns.shape
    d = np.broadcast_to(noise, (n,))
    mean, variance = np.empty((len(near), c)), np.empty(len(near))

    def work(i: int, worker: int) -> None:
        rows = near[i]
        K, cross, prior = joint(i, rows)
        L, _ = _factor(K, d[rows])
        solved = _solve(L, np.column_stack([cross, columns[rows]]))  # (k, 1 + c)
        mean[i] = solved[:, 0] @ solved[:, 1:]
        variance[i] = max(prior - float(np.vdot(solved[:, 0], solved[:, 0])), 0.0)

    run(range(len(near)), work, min(cpu_count(), max(1, len(near) // 16)))
    return mean, variance


def _factor(K: Array, d: Array) -> tuple[Array, float]:  # (s, s) overwritten, (s,) -> L in the lower triangle, jitter
    found = cholesky(K, d, overwrite=True)
    return found.matrix, found.jitter


def _solve(L: Array, B: Array, transposed: bool = False) -> Array:  # (s, s), (s, c) -> (s, c)
    return blas.dtrsm(1.0, L, np.array(B, dtype=np.float64, order="F"), lower=1, trans_a=int(transposed), overwrite_b=1)
