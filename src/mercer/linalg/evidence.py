"""Marginal likelihood of a Gaussian, its gradient, and predictions that follow from the same factor, on arrays.

With G = K + diag(noise), targets Y (n, t) that share G, and a mean H beta with the best coefficients beta:

    log p(Y) = -1/2 (tr E'G^-1 E + t log det G + n t log 2 pi),     E = Y - H beta,
    d log p  = <W, dG>,     W = 1/2 (V V' - t G^-1),  V = G^-1 E.

The derivative may treat beta as constant, because the value is stationary in it. If every target has a scale of its own that
is set to its best value, s_j = e_j'G^-1 e_j / n, then column j of V is divided by sqrt(s_j). W is never formed as a whole:
potri leaves G^-1 in one triangle of the memory of K, and W is returned tile by tile.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mercer.arrays import Array, Floats
from mercer.errors import InputError
from mercer.linalg.cholesky import Factor, cholesky
from mercer.linalg.ridge import held_out as closed_form
from mercer.linalg.solution import targets

Tile = Callable[[slice, slice], Array]

#: Directions of H'G^-1 H below this share of its largest eigenvalue are not determined by the data.
_CUTOFF = 1e-12


@dataclass(frozen=True)
class MeanProfile:
    """Best coefficients of the mean, the energy that remains, and the covariance of the coefficients."""

    _stored: ClassVar[dict[str, str]] = {"beta": "float (q, t)", "covariance": "float (q, q)"}

    beta: Floats  # (q, t)
    energy: float  # sum over targets of e'G^-1 e
    covariance: Floats  # (q, q) (H'G^-1 H)^-1: of beta, given the data, under a flat prior


def profile(Q: Floats, n_targets: int) -> MeanProfile:  # (t + q, t + q)
    """Return the best coefficients of the mean from ``Q = T'G^-1 T`` for the columns T = [targets | H].

    >>> T = np.array([[1.0, 1.0], [3.0, 1.0]])  # one target, a constant mean, G = I: the mean is the average
    >>> p = profile(T.T @ T, 1)
    >>> round(float(p.beta[0, 0]), 12), round(p.energy, 12)
    (2.0, 2.0)
    """
    t = n_targets
    total = float(np.trace(Q[:t, :t]))
    if Q.shape[0] == t:
        return MeanProfile(np.zeros((0, t)), total, np.zeros((0, 0)))
    A = Q[t:, t:]
    sizes = np.sqrt(np.maximum(A.diagonal(), np.finfo(np.float64).tiny))
    values, vectors = np.linalg.eigh(A / np.outer(sizes, sizes))
    keep = values > _CUTOFF * values[-1]
    roots = vectors[:, keep] / np.sqrt(values[keep]) / sizes[:, None]
    inverse: Floats = roots @ roots.T
    beta: Floats = inverse @ Q[t:, :t]
    return MeanProfile(beta, max(0.0, total - float(np.sum(Q[t:, :t] * beta))), inverse)


def log_evidence(energy: float, logdet: float, n: int, n_targets: int) -> float:
    """``-1/2 (e'G^-1 e + t log det G + n t log 2 pi)``: the log density of t targets that share G.

    >>> round(log_evidence(1.0, 0.0, 1, 1), 6)  # the standard normal density at 1
    -1.418939
    """
    return -0.5 * (energy + n_targets * logdet + n * n_targets * math.log(2.0 * math.pi))


@dataclass(frozen=True)
class Evidence:
    """The log marginal likelihood (or a bound of it) at the best coefficients of the mean, and its gradient if computed."""

    value: float
    kernel_gradient: Array | None = None  # (p,) with respect to the logarithms of the kernel's parameters
    noise_gradient: Array | float | None = None  # with respect to log(noise), or all logarithms of the likelihood
    jitter: float = 0.0
    spread: Array | None = None  # posterior variances of the latent values of the rows, if the gradient needed them


def log_marginal_likelihood(  # K (n, n), noise (1,) or (n,), columns (n, t + q)
    K: Array,
    noise: Array,
    columns: Array,
    n_targets: int = 1,
    *,
    pullback: Callable[[Tile, Tile], Array] | None = None,
    overwrite: bool = False,
    best_scales: bool = False,
) -> Evidence:
    """Return the log marginal likelihood, and its gradient if ``pullback`` is given.

    ``columns`` are the targets followed by the columns H of the mean. ``pullback(weights, values)`` returns
    d <W, K> / d theta for the symmetric W and K whose tiles on and above the diagonal are ``weights(rows, columns)`` and
    ``values(rows, columns)``. ``best_scales`` gives target j the covariance s_j G with the best s_j instead of G.
    ``overwrite`` works in the memory of K.

    >>> from math import log, pi
    >>> K, y = np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([1.0, 0.0])
    >>> value = log_marginal_likelihood(K, np.array([0.0]), y).value
    >>> bool(np.isclose(value, -0.5 * (2 / 3 + log(3.0) + 2 * log(2 * pi))))
    True
    """
    n, t = K.shape[0], n_targets
    T = targets(columns, n, "columns").astype(np.float64, copy=False)
    if not 1 <= t <= T.shape[1]:
        raise InputError(f"n_targets must lie in 1 … {T.shape[1]}, the number of columns; got {t}.")
    factor = cholesky(K, noise, overwrite=overwrite)
    S = factor.solve(T).astype(np.float64, copy=False)
    Q = T.T @ S
    fitted = profile(Q, t)
    if best_scales:
        energies = Q.diagonal()[:t] - np.sum(Q[t:, :t] * fitted.beta, axis=0)
        scales = np.maximum(energies, np.finfo(np.float64).tiny) / n
        value = log_evidence(n * t, factor.logdet, n, t) - 0.5 * n * float(np.log(scales).sum())
    else:
        value = log_evidence(fitted.energy, factor.logdet, n, t)
    if pullback is None:
        return Evidence(value, jitter=factor.jitter)
    V = S[:, :t] - S[:, t:] @ fitted.beta
    if best_scales:
        V /= np.sqrt(scales)
    inverse = factor.inverse()

    half, left = 0.5 * t, 0.5 * V

    def tile(rows: slice, cols: slice) -> Array:
        W = inverse.tile(rows, cols) * -half
        W += left[rows] @ V[cols].T
        return W

    per_row = np.sum(V * V, axis=1) - t * inverse.diag()
    noise_gradient = 0.5 * float(np.sum(noise * per_row))
    return Evidence(value, pullback(tile, inverse.kernel_tile), noise_gradient, factor.jitter)


def remaining_variance(factor: Factor, cross: Array, prior: Array) -> Array:  # (n, m), (m,) -> (m,)
    """Return ``k(x, x) - k_x' G^-1 k_x``, at least 0, for m new points with kernel columns ``cross``, which is overwritten.

    >>> from mercer.linalg.cholesky import cholesky
    >>> remaining_variance(cholesky(np.eye(1), 3.0), np.ones((1, 1)), np.ones(1)).tolist()
    [0.75]
    """
    V = factor.whiten(cross)
    return np.maximum(prior - np.einsum("ij,ij->j", V, V), 0.0)


@dataclass(frozen=True)
class HeldOutRows:
    """Each row predicted from all others, with a mean that was fitted without it."""

    residuals: Array  # (n, t) y_i - its prediction; NaN where the other rows do not determine it
    variance: Array  # (n,) of y_i given the others, its noise included
    log_density: Array  # (n, t) log p(y_i | the others)


def leave_one_out(factor: Factor, columns: Array, n_targets: int) -> HeldOutRows:  # columns (n, t + q)
    """Return leave-one-out predictions: (C y)_i / C_ii and 1 / C_ii, C = G^-1 - G^-1 H (H'G^-1 H)^-1 H'G^-1.

    >>> from mercer.linalg.cholesky import cholesky
    >>> loo = leave_one_out(cholesky(np.eye(2), 3.0), np.array([[1.0], [5.0]]), 1)
    >>> loo.residuals.ravel().tolist(), loo.variance.tolist()  # unrelated rows are predicted by zero
    ([1.0, 5.0], [4.0, 4.0])
    """
    t = n_targets
    S = factor.solve(columns).astype(np.float64, copy=False)
    fitted = profile(columns.T @ S, t)
    whole = factor.diag_inverse()
    diagonal = closed_form.centered_diagonal(whole, np.einsum("ij,jk,ik->i", S[:, t:], fitted.covariance, S[:, t:]))
    V = S[:, :t] - S[:, t:] @ fitted.beta
    variance = closed_form.leave_one_out(np.ones(len(V)), diagonal)  # NaN if the mean cannot be fitted without this row
    residuals = V * variance[:, None]
    log_density = -0.5 * (math.log(2.0 * math.pi) + np.log(variance)[:, None] + residuals * V)
    return HeldOutRows(residuals, variance, log_density)
