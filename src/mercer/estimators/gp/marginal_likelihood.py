"""The log marginal likelihood of a Gaussian process and its gradient, in the memory of one Gram matrix.

With G = K + diag(noise), targets Y (n, t) that share G, and a mean function H beta at its best:

    log p(Y) = -1/2 (tr E'G^-1 E + t log det G + n t log 2 pi),     E = Y - H beta,
    d log p  = <W, dG>,     W = 1/2 (V V' - t G^-1),  V = G^-1 E,

where beta may be held fixed, since the value is stationary in it. W is never made whole: potri leaves G^-1 in one triangle
of the Gram's memory, and the sum over the kernel's parameters asks for W tile by tile.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mercer.arrays import Array
from mercer.errors import InputError
from mercer.estimators.gp.mean_function import log_evidence, profile
from mercer.linalg.cholesky import cholesky
from mercer.linalg.solution import targets

Tile = Callable[[slice, slice], Array]


@dataclass(frozen=True)
class Evidence:
    """The log marginal likelihood (or a bound of it) at one setting, at the best beta, and its gradient if asked for."""

    value: float
    kernel_gradient: Array | None = None  # (p,) with respect to the logarithms of the kernel's parameters
    noise_gradient: float | None = None  # with respect to log(noise)
    jitter: float = 0.0


def log_marginal_likelihood(  # K (n, n), noise (1,) or (n,), columns (n, t + q)
    K: Array,
    noise: Array,
    columns: Array,
    n_targets: int = 1,
    *,
    pullback: Callable[[Tile, Tile], Array] | None = None,
    overwrite: bool = False,
) -> Evidence:
    """The value, and with ``pullback`` the gradient; ``overwrite`` works in the memory of K.

    ``columns`` are the targets followed by the columns of the mean function. ``pullback(weights, values)`` returns
    d <W, K> / d theta for the symmetric W and K whose tiles on and above the diagonal are ``weights(rows, columns)`` and
    ``values(rows, columns)``.

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
    fitted = profile(T.T @ S, t)
    value = log_evidence(fitted.energy, factor.logdet, n, t)
    if pullback is None:
        return Evidence(value, jitter=factor.jitter)
    V = S[:, :t] - S[:, t:] @ fitted.beta
    inverse = factor.inverse()

    half, left = 0.5 * t, 0.5 * V

    def tile(rows: slice, cols: slice) -> Array:
        W = inverse.tile(rows, cols) * -half
        W += left[rows] @ V[cols].T
        return W

    per_row = np.sum(V * V, axis=1) - t * inverse.diag()
    noise_gradient = 0.5 * float(np.sum(noise * per_row))
    return Evidence(value, pullback(tile, inverse.kernel_tile), noise_gradient, factor.jitter)
