"""Symmetric matrices stored in one triangle: mirrored, multiplied and measured tile by tile, without a copy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.linalg.blas as blas
import scipy.linalg.lapack as lapack

from mercer.arrays import Array
from mercer.numeric.tiles import onto_lower, onto_upper, row_blocks

_TILE = 512  # 2 MiB of float64: the tile and its transpose stay in the cache while they are swapped

_STRIP = 192  # columns of an inverse at a time; narrow, since each of its corners costs a product with itself


def mirror_upper(A: Array, diagonal: Array) -> None:  # A (n, n) in place, diagonal (n,)
    """Write the strict upper triangle of A onto the lower one, and ``diagonal`` on the diagonal.

    >>> A = np.array([[9.0, 1.0], [7.0, 9.0]])
    >>> mirror_upper(A, np.array([2.0, 3.0]))
    >>> A.tolist()
    [[2.0, 1.0], [1.0, 3.0]]
    """
    for P, Q in _tiles_above(A.shape[0]):
        if P == Q:
            onto_lower(A[P, P])
        else:
            A[Q, P] = A[P, Q].T
    np.fill_diagonal(A, diagonal)


def mirror_lower(A: Array) -> None:  # A (n, n) in place
    """Write the strict lower triangle of A onto the upper one.

    >>> A = np.array([[2.0, 1.0], [7.0, 3.0]])
    >>> mirror_lower(A)
    >>> A.tolist()
    [[2.0, 7.0], [7.0, 3.0]]
    """
    for P, Q in _tiles_above(A.shape[0]):
        if P == Q:
            onto_upper(A[P, P])
        else:
            A[P, Q] = A[Q, P].T


def _tiles_above(n: int) -> Iterator[tuple[slice, slice]]:
    spans = row_blocks(n, _TILE)
    for i, rows in enumerate(spans):
        for columns in spans[i:]:
            yield rows, columns


def symmetric_product(A: Array, diagonal: Array, X: Array) -> Array:  # (n, n), (n,), (n, t) -> (n, t) float64
    """K X in float64, where K is the strict upper triangle of the Fortran-ordered A, mirrored, plus ``diagonal``.

    >>> symmetric_product(np.array([[9.0, 1.0], [7.0, 9.0]], order="F"), np.zeros(2), np.array([[1.0], [2.0]])).ravel()
    array([2., 1.])
    """
    X = np.asarray(X, dtype=np.float64)
    if A.dtype == np.float64:
        # symm reads the upper triangle with whatever is on the diagonal; the difference is put right afterwards.
        product: Array = blas.dsymm(1.0, A, np.asfortranarray(X), lower=0)
        product += (diagonal - A.diagonal())[:, None] * X
        return product
    out = diagonal.astype(np.float64)[:, None] * X
    for P, Q in _tiles_above(A.shape[0]):
        tile = A[P, Q].astype(np.float64)
        if P == Q:
            tile = np.triu(tile, 1)
        out[P] += tile @ X[Q]
        out[Q] += tile.T @ X[P]
    return out


def symmetric_norm1(A: Array, diagonal: Array) -> float:  # (n, n), (n,)
    """``max_j sum_i |K_ij|`` of the matrix whose strict upper triangle is in A.

    >>> symmetric_norm1(np.array([[9.0, -1.0], [7.0, 9.0]]), np.array([2.0, 3.0]))
    4.0
    """
    sums = np.abs(diagonal).astype(np.float64)
    for P, Q in _tiles_above(A.shape[0]):
        tile = np.abs(A[P, Q])
        if P == Q:
            tile = np.triu(tile, 1)
        sums[P] += tile.sum(axis=1, dtype=np.float64)
        sums[Q] += tile.sum(axis=0, dtype=np.float64)
    return float(sums.max())


def column_norms(A: Array) -> Array:  # (n, n), lower triangle used -> (n,) float64
    """``sum_i A_ij^2`` over the lower triangle, for every column j; of L^-1 it is the diagonal of (L L')^-1.

    >>> column_norms(np.array([[2.0, 9.0], [1.0, 4.0]]))
    array([ 5., 16.])
    """
    norms = np.empty(A.shape[0])
    for P in row_blocks(A.shape[0], _TILE):
        corner, below = np.tril(A[P, P]), A[P.stop :, P]
        norms[P] = sum(np.einsum("ij,ij->j", part, part, dtype=np.float64) for part in (corner, below))
    return norms


def inverse_column_norms(L: Array) -> Array:  # (n, n), lower triangle used -> (n,) float64
    """``sum_i (L^-1)_ij^2`` for every column j: the diagonal of (L L')^-1.

    L^-1 is built one block of columns at a time from products of tiles, so that L is kept and only an n x 192 strip
    of the inverse ever exists; n^3/3 flops, all of them GEMM.

    >>> inverse_column_norms(np.array([[2.0, 9.0], [0.0, 4.0]]))
    array([0.25  , 0.0625])
    """
    n = L.shape[0]
    spans = row_blocks(n, _STRIP)
    trtri = lapack.dtrtri if L.dtype == np.float64 else lapack.strtri
    corners = [np.tril(trtri(np.array(L[P, P], order="F"), lower=1, overwrite_c=1)[0]) for P in spans]
    norms = np.zeros(n)
    strip = np.empty((n, min(_STRIP, n)), dtype=L.dtype)
    for j, Q in enumerate(spans):
        X = strip[: n - Q.start, : Q.stop - Q.start]
        X[: Q.stop - Q.start] = corners[j]
        for i in range(j + 1, len(spans)):
            P = spans[i]
            known = L[P, Q.start : P.start] @ X[: P.start - Q.start]
            X[P.start - Q.start : P.stop - Q.start] = -(corners[i] @ known)
        norms[Q] = np.einsum("ij,ij->j", X, X, dtype=np.float64)
    return norms
