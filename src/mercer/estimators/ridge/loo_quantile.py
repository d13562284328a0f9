"""One order statistic of the leave-one-out residuals, exact in float64, from a float32 factor.

The jackknife needs the r-th smallest of |e_i| = |dual_i| / C_ii, C_ii = (G^-1)_ii - taken_i (`dual`), and no other residual.
The float32 factor gives every (G^-1)_ii roughly. Only rows that could be the r-th are computed to the last digits: with any
x near G^-1 e_i and its residual r = e_i - G x,

    (G^-1)_ii = x_i + x'r + r'G^-1 r   and   0 <= r'G^-1 r <= |r|^2 / min(shift),

so the error of the value is the square of that of x, and its bound holds for every kernel. How far the rough values of all
other rows may be off is asked of random vectors z: entry i of (G^-1 - S) z, S the inverse the factor stands for, is normal,
its standard deviation is the norm of row i, and no entry of a row, the one on the diagonal included, exceeds that norm.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.special

from mercer.linalg.cholesky import Factor, solve_scaled
from mercer.linalg.solution import Array

Multiply = Callable[[Array], Array]  # (n, t) -> (n, t) float64, the product with G

#: Random vectors that measure the rough inverse, and the chance that any row of it is worse than they say.
PROBES, CHANCE = 32, 1e-9

#: At most this share of the rows is computed exactly; where more are in doubt, the float64 factor is the cheaper way.
SHARE, FEWEST = 1 / 32, 64

#: The relative width to which an exact entry is enclosed, and the steps of refinement allowed for it.
WIDTH, STEPS = 1e-11, 8


def loo_quantile(  # dual (n, t), taken (n,)
    factor: Factor, multiply: Multiply, dual: Array, rank: int, *, floor: float, taken: Array | float = 0.0
) -> Array | None:  # -> (t,)
    """The ``rank``-th smallest ``|dual_i| / ((G^-1)_ii - taken_i)`` of each target, or None where float32 cannot tell.

    ``multiply`` is the product with the true G in float64, ``floor`` a lower bound of its eigenvalues (the smallest
    shift), ``taken`` what an intercept takes from the diagonal. The factor turns into its inverse.

    >>> from mercer.linalg.cholesky import cholesky
    >>> G = np.diag([1.0, 2.0, 4.0])
    >>> factor = cholesky(G.astype(np.float32))
    >>> loo_quantile(factor, lambda V: G @ V, np.array([[3.0], [1.0], [1.0]]), 2, floor=1.0)  # of 3, 2, 4
    array([3.])
    """
    rough = factor.diag_inverse(overwrite=True)
    spread = _row_norms(factor, multiply)
    if spread is None:
        return None
    sizes, most = np.abs(dual), max(FEWEST, int(SHARE * len(dual)))
    low, high = rough - spread, rough + spread
    exact = np.zeros(len(dual), dtype=bool)
    while True:
        least, largest = _ratio(sizes, high - taken), _ratio(sizes, low - taken)
        bottom, top = (np.partition(part, rank - 1, axis=0)[rank - 1] for part in (least, largest))
        # what lies below for certain counts, what lies above does not matter, and the rest has to be known exactly
        doubtful = np.flatnonzero(~exact & ((least <= top) & (largest >= bottom)).any(axis=1))
        if not doubtful.size or (top <= bottom * (1 + WIDTH)).all():
            return np.asarray(0.5 * (bottom + top))
        entries = _entries(factor, multiply, doubtful, floor) if doubtful.size <= most else None
        if entries is None:
            return None
        low[doubtful], high[doubtful] = entries
        exact[doubtful] = True


def _ratio(sizes: Array, C: Array) -> Array:  # (n, t), (n,) -> (n, t), infinite where C may be zero
    return np.divide(sizes, C[:, None], out=np.full(sizes.shape, np.inf), where=C[:, None] > 0)


def _row_norms(factor: Factor, multiply: Multiply) -> Array | None:  # -> (n,)
    """Upper bounds of the norms of the rows of G^-1 - S, true all at once except with probability CHANCE."""
    n = factor.shape[0]
    Z = np.random.default_rng(0).standard_normal((n, PROBES))
    residual = Z - multiply(solve_scaled(factor, Z))
    if not np.linalg.norm(residual) <= 0.1 * np.linalg.norm(Z):
        return None
    # S r stands for (G^-1 - S) z = G^-1 r up to a tenth, as r = z - G S z is a tenth of z at most
    errors = 1.25 * solve_scaled(factor, residual)
    # the sum of squares of PROBES normal numbers is below this with probability CHANCE / n
    smallest = 2.0 * float(scipy.special.gammaincinv(PROBES / 2, CHANCE / n))
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", errors, errors) / smallest))


def _entries(factor: Factor, multiply: Multiply, rows: Array, floor: float) -> tuple[Array, Array] | None:
    """Lower and upper bounds of ``(G^-1)_ii`` for the given rows, WIDTH apart relatively; None if that is not reached."""
    units = np.zeros((factor.shape[0], rows.size))
    places = rows, np.arange(rows.size)
    units[places] = 1.0
    X, residual = np.zeros_like(units), units
    for _ in range(STEPS):
        X = X + solve_scaled(factor, residual)
        residual = units - multiply(X)
        low = X[places] + np.einsum("ij,ij->j", X, residual)
        slack = np.einsum("ij,ij->j", residual, residual) / floor
        if (slack <= WIDTH * low).all():
            return low, low + slack
    return None
