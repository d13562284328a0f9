"""A slow twin of `ci_test` for one column each: dense matrices, every formula written out."""

from __future__ import annotations

import numpy as np


def gaussian(x, length_scale):
    return np.exp(-((x[:, None] - x[None, :]) ** 2) / (2.0 * length_scale**2))


def scaled(x):
    deviations = np.abs(x - np.sort(x)[(len(x) - 1) // 2])
    return x / (np.quantile(deviations[deviations > 0], 0.75) / 1.1503493803760079)


def median(x):
    distances = np.abs(x[:, None] - x[None, :])[np.triu_indices(len(x), 1)]
    return np.median(distances[distances > 0])


def centered(K):
    n = len(K)
    H = np.eye(n) - np.ones((n, n)) / n
    return H @ K @ H


def left_out_error(K, L, alpha):
    """Sum of ||phi(x_i) - prediction without row i||^2 by refits with an intercept; L is the Gram matrix of phi."""
    n, total = len(K), 0.0
    for i in range(n):
        rest = np.delete(np.arange(n), i)
        # weights of the prediction at i: mean of the rest, and ridge regression of the centered rest
        G = centered(K[np.ix_(rest, rest)])
        k = K[i, rest] - K[np.ix_(rest, rest)].mean(axis=0)
        k = k - k.mean()
        w = np.ones(n - 1) / (n - 1)
        inner = np.linalg.solve(G + alpha * np.eye(n - 1), k)
        w = w + inner - inner.mean()
        total += L[i, i] - 2.0 * w @ L[rest, i] + w @ L[np.ix_(rest, rest)] @ w
    return total


def residual_operator(K, alpha):
    return alpha * np.linalg.inv(centered(K) + alpha * np.eye(len(K)))


def statistic(Kx, Ky, Kz, Rx, Ry):
    A, B = Rx @ centered(Kx) @ Rx, Ry @ centered(Ky) @ Ry
    M = A * B * Kz
    return M.sum() / len(M), M
