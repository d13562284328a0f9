"""Hold-out in closed form: residuals of rows under the fit without them, from the fit with them.

With G = K + alpha W^-1 and C = G^-1 - G^-1 1 1'G^-1 / (1'G^-1 1) (C = G^-1 without an intercept) the dual coefficients
are C y. The rows F of a fold have the residuals (C_FF)^-1 dual_F under the fit without them; leave-one-out is the fold of
one row, dual_i / C_ii. Multiplying C and dual by the same factors changes nothing, so that residuals r and 1 - leverage may
take their places: r_i / (1 - h_i).

Where the rest of the rows does not determine the fit (leverage 1), the answer is NaN.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.linalg.lapack as lapack

from mercer.arrays import Array, Indices


def centered_diagonal(diagonal: Array, taken: Array | float, floor: Array | None = None) -> Array:  # (n,), (n,) -> (n,)
    """Return ``diag(G^-1) - taken``, with 0 where only rounding is left: at or below ``floor``, 8 eps diag(G^-1).

    ``taken`` is what functions without a penalty remove: u^2 / (1'u) with u = G^-1 1 for an intercept.

    >>> centered_diagonal(np.array([1.0, 1.0]), np.array([0.5, 1.0])).tolist()
    [0.5, 0.0]
    """
    left = diagonal - taken
    left[left <= (8 * np.finfo(np.float64).eps * diagonal if floor is None else floor)] = 0.0
    return left


def leave_one_out(dual: Array, diagonal: Array, out: Array | None = None) -> Array:  # (n, *s, *t), (n, *s) -> (n, *s, *t)
    """Return ``dual_i / C_ii``, or r_i / (1 - h_i) from residuals and 1 - leverage; NaN where that is not positive.

    ``diagonal`` may have further axes of ``dual``, such as one for the alphas; ``out`` is where to write.

    >>> leave_one_out(np.array([1.0, 3.0]), np.array([0.5, 0.0])).tolist()
    [2.0, nan]
    """
    scale = np.where(diagonal > 0, diagonal, np.nan)
    return np.divide(dual, scale.reshape(scale.shape + (1,) * (dual.ndim - scale.ndim)), out=out)


def held_out(block: Array, dual: Array, floor: float = 0.0) -> Array:  # (f, f) symmetric, (f, t) -> (f, t)
    """Return ``C_FF^-1 dual_F`` of one fold; NaN if the block is singular to rounding, or has pivots up to ``floor``.

    >>> held_out(np.array([[2.0, 0.0], [0.0, 4.0]]), np.array([[2.0], [2.0]])).ravel().round(12).tolist()
    [1.0, 0.5]
    >>> held_out(np.zeros((1, 1)), np.ones((1, 1)))
    array([[nan]])
    """
    factor, info = lapack.dpotrf(block, lower=1)
    pivots = factor.diagonal() ** 2
    if info or (pivots <= np.maximum(8 * np.finfo(np.float64).eps * block.diagonal(), floor)).any():
        return np.full(dual.shape, np.nan)
    solution: Array = lapack.dpotrs(factor, dual, lower=1)[0]
    return solution


def held_out_groups(block: Array, dual: Array, groups: Indices) -> Array:  # (m, m), (m, t), (m,) -> (m, t)
    """Return the residuals of every row under the fit without all rows of its group; ``block`` is C on these rows.

    >>> held_out_groups(np.array([[2.0, 0.0], [0.0, 4.0]]), np.array([[2.0], [2.0]]), np.array([0, 1])).ravel().tolist()
    [1.0, 0.5]
    """
    out = leave_one_out(dual, block.diagonal())
    order = np.argsort(groups, kind="stable")
    for members in np.split(order, np.flatnonzero(np.diff(groups[order])) + 1):
        if len(members) > 1:
            out[members] = held_out(block[np.ix_(members, members)], dual[members])
    return out


def held_out_pairs(C: Array, dual: Array) -> Array:  # (n, n), (n, t) -> (n, n, t)
    """Return at [i, j] the residual of row j under the fit without rows i and j; 0 at i = j, NaN if it is not determined.

    >>> C = np.array([[2.0, 1.0], [1.0, 3.0]])
    >>> bool(np.isclose(held_out_pairs(C, np.ones((2, 1)))[0, 1, 0], held_out(C, np.ones((2, 1)))[1, 0]))
    True
    """
    diagonal = C.diagonal()
    product = np.outer(diagonal, diagonal)
    determinant = product - C**2
    determinant[determinant <= 8 * np.finfo(np.float64).eps * product] = np.nan
    pairs = (diagonal[:, None, None] * dual[None] - C[:, :, None] * dual[:, None]) / determinant[:, :, None]
    pairs[np.arange(len(C)), np.arange(len(C))] = 0.0
    return np.asarray(pairs)


def count_undefined(residuals: Sequence[Array]) -> tuple[int, str]:
    """Return how many held-out residuals are NaN, and a sentence with the reason.

    >>> count_undefined([np.array([1.0, np.nan])])[1]
    '1 of 2 held-out residuals are undefined: ...'
    """
    total = sum(part.size for part in residuals)
    lost = sum(int(np.isnan(part).sum()) for part in residuals)
    if not lost:
        return 0, f"all {total} held-out residuals are defined"
    return lost, (
        f"{lost} of {total} held-out residuals are undefined: their rows have leverage 1 (alpha = 0, or no other row to fit "
        "the intercept on), and the fit meets their targets whatever they are; raise alpha"
    )
