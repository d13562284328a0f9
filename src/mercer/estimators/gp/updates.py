"""Rows added to and taken out of a Cholesky factor, without factoring again.

Adding m rows costs n^2 m: [L11 0; L21 L22] with L21 = K21 L11^-T and L22 the factor of what the old rows leave unexplained.
Taking r rows out costs (n - p)^2 r, p the first of them: the columns of the removed rows are folded into the triangle below
by reflections (LAPACK's tpqrt), which is stable where subtracting would not be.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg.lapack as lapack

from mercer.errors import InputError
from mercer.estimators.gp.conditioning import whiten
from mercer.linalg.cholesky import Factor, cholesky
from mercer.linalg.solution import Array

_BLOCK = 32  # reflections applied together


def append_rows(  # cross (n, m) old against new, corner (m, m), shift (1,) or (m,)
    factor: Factor, cross: Array, corner: Array, shift: Array
) -> Factor:
    """The factor of the system with m further rows; the old factor stays as it is.

    >>> K = np.array([[2.0, 1.0, 0.5], [1.0, 2.0, 1.0], [0.5, 1.0, 2.0]])
    >>> grown = append_rows(cholesky(K[:2, :2], 1.0), K[:2, 2:], K[2:, 2:], np.array([1.0]))
    >>> bool(np.allclose(grown.solve(np.ones(3)), np.linalg.solve(K + np.eye(3), np.ones(3))))
    True
    """
    n, m = cross.shape
    if factor.shape[0] != n or corner.shape != (m, m):
        raise InputError(f"the factor has {factor.shape[0]} rows; got cross {cross.shape} and corner {corner.shape}.")
    matrix = np.empty((n + m, n + m), dtype=factor.dtype, order="F")
    matrix[:n, :n] = factor.matrix
    matrix[:n, n:] = cross  # the strict upper triangle keeps the kernel values
    V = whiten(factor, cross.copy(order="F"))
    matrix[n:, :n] = V.T
    rest = cholesky(corner - V.T @ V, shift + factor.jitter)
    matrix[n:, n:] = np.tril(rest.matrix) + np.triu(corner, 1)
    old = np.broadcast_to(factor.shift, (n,))
    shifts = np.concatenate([old, np.broadcast_to(shift, (m,))])
    return Factor(matrix, np.concatenate([factor.diagonal, corner.diagonal()]), shifts, factor.jitter + rest.jitter)


def remove_rows(factor: Factor, index: Array) -> Factor:  # (r,) row numbers
    """The factor of the system without some rows; the old factor stays as it is.

    >>> K = np.array([[2.0, 1.0, 0.5], [1.0, 2.0, 1.0], [0.5, 1.0, 2.0]])
    >>> left = remove_rows(cholesky(K, 1.0), np.array([0]))
    >>> bool(np.allclose(left.solve(np.ones(2)), np.linalg.solve(K[1:, 1:] + np.eye(2), np.ones(2))))
    True
    """
    n = factor.shape[0]
    gone = np.unique(np.asarray(index, dtype=np.intp))
    if gone.size and not 0 <= gone[0] <= gone[-1] < n:
        raise InputError(f"rows to remove must lie in 0 … {n - 1}; got {gone[0]} … {gone[-1]}.")
    if gone.size == n:
        raise InputError("all rows would be removed; at least one must stay.")
    kept = np.setdiff1d(np.arange(n), gone)
    A = factor.matrix
    matrix = np.asfortranarray(A[np.ix_(kept, kept)])
    if gone.size:
        p = int(gone[0])
        below = kept[p:]  # rows after the first removed one; those before are untouched
        corner = matrix[p:, p:]
        if below.size:
            corner[:] = np.tril(_folded(corner, A[np.ix_(below, gone)], below, gone)) + np.triu(corner, 1)
    shift = factor.shift if factor.shift.size == 1 else factor.shift[kept]
    return Factor(matrix, factor.diagonal[kept], shift, factor.jitter)


def _folded(L: Array, extra: Array, below: Array, gone: Array) -> Array:  # (b, b), (b, r) -> (b, b) lower
    """The lower triangle M with M M' = L L' + extra extra', L being the lower triangle of its array."""
    extra = np.where(gone[None, :] <= below[:, None], extra, 0.0)  # above the diagonal the array holds kernel values
    triangle = np.asfortranarray(np.tril(L).T)
    tpqrt = lapack.dtpqrt if L.dtype == np.float64 else lapack.stpqrt
    R = tpqrt(0, min(_BLOCK, len(below)), triangle, np.asfortranarray(extra.T), overwrite_a=1, overwrite_b=1)[0]
    signs = np.where(R.diagonal() < 0, -1.0, 1.0).astype(R.dtype)  # a Cholesky factor has a positive diagonal
    folded: Array = np.triu(R).T * signs
    return folded
