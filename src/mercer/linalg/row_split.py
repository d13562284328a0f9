"""Which rows take part in a fit: those of weight zero are taken out, in place, before anything is factored."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.errors import InputError
from mercer.linalg.arguments import row_weights, square
from mercer.linalg.solution import Array


@dataclass(frozen=True)
class Rows:
    """A Gram matrix split into the rows that are fitted and those that are only predicted."""

    matrix: Array  # (a, a) the fitted rows, Fortran-ordered, free to be overwritten
    outside: Array  # (n - a, a) the rows of weight zero against the fitted ones
    active: Array  # (a,) row numbers
    idle: Array  # (n - a,) row numbers
    weights: Array  # (a,) > 0

    @property
    def n(self) -> int:
        """The number of rows, fitted or not."""
        return self.active.size + self.idle.size


def split_rows(K: Array, weights: Array | None = None, *, overwrite: bool = False) -> Rows:  # K (n, n), weights (n,)
    """Take the rows of weight zero out of K; with ``overwrite`` the rest is packed into the memory of K.

    >>> rows = split_rows(np.arange(9.0).reshape(3, 3) + np.arange(9.0).reshape(3, 3).T, np.array([1.0, 0.0, 2.0]))
    >>> rows.matrix.tolist(), rows.outside.tolist()
    ([[0.0, 8.0], [8.0, 16.0]], [[4.0, 12.0]])
    """
    K = square(K)
    w = row_weights(weights, K.shape[0])
    active, idle = np.flatnonzero(w), np.flatnonzero(w == 0)
    outside = K[np.ix_(idle, active)]
    if idle.size == 0:
        matrix = lapack_view(K, overwrite)
    elif overwrite:
        matrix = _pack(lapack_view(K, True), active)
    else:
        matrix = np.asfortranarray(K[np.ix_(active, active)])
    return Rows(matrix, outside, active, idle, w[active])


def lapack_view(K: Array, overwrite: bool) -> Array:  # (n, n) -> (n, n) Fortran-ordered
    """K in LAPACK's order: its own memory with ``overwrite`` (refused when that cannot be), a copy without."""
    if not overwrite:
        return np.array(K, order="F")
    if not K.flags.writeable:
        raise InputError("K is read-only and cannot be overwritten; pass overwrite=False or a writeable array.")
    if K.flags.f_contiguous:
        return K
    if K.flags.c_contiguous:
        return K.T  # symmetric: the transpose is the same matrix in LAPACK's order, and nothing is copied
    raise InputError("K is a strided view and cannot be factored in place; pass overwrite=False or a contiguous copy.")


def _pack(A: Array, active: Array) -> Array:  # (n, n) Fortran-ordered, (a,) -> (a, a) in the front of its memory
    a = active.size
    flat = A.T.reshape(-1)  # a view: the transpose of a Fortran-ordered array is contiguous
    for i, row in enumerate(active):
        # Written at i a, read from row >= i on, so no row is overwritten before it has been moved.
        flat[i * a : (i + 1) * a] = A.T[row, active]
    return flat[: a * a].reshape(a, a).T
