"""Results of solvers, and checks of their input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mercer.arrays import Array
from mercer.errors import InputError
from mercer.numeric.tiles import row_blocks


@dataclass(frozen=True)
class Solution:
    """The result of a solver, with its convergence.

    ``residual`` is relative to the right-hand side: ``||b - A x|| / ||b||``, the
    worst over columns.

    >>> Solution(np.zeros(2), True, 3, 1e-12, "converged").converged
    True
    """

    value: Array  # (n,) or (n, t)
    converged: bool
    n_iter: int
    residual: float
    message: str


@dataclass(frozen=True)
class RidgeSolution:
    """A ridge fit at one alpha per target: ``f(x) = <value, features or kernel row of x> + intercept``.

    ``jitter`` is the number added to the diagonal (0 almost always), ``rank`` the number of directions that
    carry the fit, ``condition`` an estimate of the condition number of the system that was solved.
    """

    value: Array  # (n, *t) dual coefficients, or (d, *t) primal weights
    intercept: Array  # (*t)
    converged: bool
    n_iter: int
    residual: float
    message: str
    jitter: float
    rank: int
    condition: float


def relative_residual(residual: Array, target: Array) -> float:  # (n, t), (n, t) -> worst column of ||r|| / ||b||
    """``max_j ||r_j|| / ||b_j||``, with 0/0 = 0 (a zero target is solved by zero).

    >>> relative_residual(np.array([[3.0], [4.0]]), np.array([[0.0], [10.0]]))
    0.5
    """
    norms = np.sqrt(np.einsum("ij,ij->j", target, target, dtype=np.float64))
    errors = np.sqrt(np.einsum("ij,ij->j", residual, residual, dtype=np.float64))
    if errors.size == 0:
        return 0.0
    # A zero target leaves nothing to be relative to: its error counts as it is.
    return float(np.max(errors / np.where(norms > 0, norms, 1.0)))


_ROWS = 1024  # rows looked at together when a bad entry is searched for


def square(K: Array, name: str = "K") -> Array:  # (n, n) -> (n, n) float32 or float64
    """A non-empty square floating matrix without NaN or infinity, uncopied when it already is one.

    >>> square(np.eye(2)).shape
    (2, 2)
    """
    K = np.asarray(K)
    if K.ndim != 2 or K.shape[0] != K.shape[1] or K.shape[0] == 0:
        raise InputError(f"{name} must be a non-empty square matrix; got shape {K.shape}.")
    if K.dtype not in (np.float32, np.float64):
        if K.dtype.kind not in "biuf":
            raise InputError(f"{name} must hold real numbers; got dtype {K.dtype}.")
        K = K.astype(np.float64)
    _require_finite_matrix(K, name)
    return K


def _require_finite_matrix(K: Array, name: str) -> None:  # (n, n)
    # One sum is a single pass without a temporary; only when it is not finite do we look for the entry.
    with np.errstate(over="ignore", invalid="ignore"):
        total = K.sum()
    if np.isfinite(total):
        return
    for rows in row_blocks(K.shape[0], _ROWS):
        bad = np.argwhere(~np.isfinite(K[rows]))
        if bad.size:
            i, j = int(bad[0, 0]) + rows.start, int(bad[0, 1])
            raise InputError(
                f"{name}[{i}, {j}] is {K[i, j]}; a Gram matrix must be finite. "
                "Look at rows of the data with missing or huge values."
            )


def targets(Y: Array, n: int, name: str = "y") -> Array:  # (n,) or (n, t) -> (n, t) float
    """The targets as columns, floating, finite and as many as there are rows.

    >>> targets([1, 2, 3], 3).shape
    (3, 1)
    """
    Y = np.asarray(Y)
    if Y.ndim not in (1, 2) or Y.shape[0] != n:
        raise InputError(f"{name} must have one row per row of the system, ({n},) or ({n}, t); got shape {Y.shape}.")
    if Y.dtype not in (np.float32, np.float64):
        if Y.dtype.kind not in "biuf":
            raise InputError(f"{name} must hold real numbers; got dtype {Y.dtype}.")
        Y = Y.astype(np.float64)
    if not np.isfinite(Y).all():
        i = int(np.argwhere(~np.isfinite(Y))[0, 0])
        raise InputError(f"{name} has a value that is NaN or infinite in row {i}; drop the row or fill it in.")
    return Y if Y.ndim == 2 else Y[:, None]


def penalties(alpha: float | Sequence[float] | Array, name: str = "alpha") -> Array:  # scalar or (L,) -> (L,)
    """Alphas as a non-empty vector of finite numbers >= 0.

    >>> penalties(1).tolist()
    [1.0]
    """
    values = np.atleast_1d(np.asarray(alpha, dtype=np.float64))
    if values.ndim != 1 or values.size == 0:
        raise InputError(f"{name} must be a number or a non-empty list of numbers; got shape {values.shape}.")
    if not np.isfinite(values).all() or (values < 0).any():
        bad = values[~(np.isfinite(values) & (values >= 0))][0]
        raise InputError(f"{name} must be finite and >= 0; got {bad:g}. It is the weight of the penalty ||f||^2.")
    return values


def row_weights(weights: Array | None, n: int) -> Array:  # None or (n,) -> (n,) float64
    """Sample weights as a vector of finite numbers >= 0 that are not all zero; ones when there are none.

    >>> row_weights(None, 3).tolist()
    [1.0, 1.0, 1.0]
    """
    if weights is None:
        return np.ones(n)
    w = np.asarray(weights, dtype=np.float64)
    if w.shape != (n,):
        raise InputError(f"weights must have shape ({n},), one per row; got {w.shape}.")
    if not np.isfinite(w).all() or (w < 0).any():
        i = int(np.flatnonzero(~(np.isfinite(w) & (w >= 0)))[0])
        raise InputError(f"weights must be finite and >= 0; weight {i} is {w[i]:g}.")
    if not w.any():
        raise InputError("all weights are zero: no row is left to fit on.")
    return w


def fold_rows(folds: Sequence[Array], n: int) -> list[Array]:  # each (f,) row numbers or (n,) bool
    """The rows held out together, fold by fold; folds may overlap, and need not cover all rows.

    >>> [f.tolist() for f in fold_rows([[2, 0], np.array([False, True, False])], 3)]
    [[2, 0], [1]]
    """
    checked = []
    for number, fold in enumerate(folds):
        rows = np.asarray(fold)
        if rows.dtype == bool and rows.shape == (n,):
            rows = np.flatnonzero(rows)
        if rows.ndim != 1 or rows.size == 0 or rows.dtype.kind not in "iu":
            raise InputError(f"fold {number} must be a non-empty list of row numbers; got {fold!r}.")
        outside = rows[(rows < 0) | (rows >= n)]
        if outside.size:
            raise InputError(f"fold {number} names row {outside[0]}; there are {n} rows, counted from 0.")
        rows = rows.astype(np.intp)
        if np.unique(rows).size != rows.size:
            raise InputError(f"fold {number} names a row twice.")
        checked.append(rows)
    if not checked:
        raise InputError("there are no folds; give at least one list of rows to hold out.")
    return checked


@dataclass(frozen=True)
class SplitRows:
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


def split_rows(K: Array, weights: Array | None = None, *, overwrite: bool = False) -> SplitRows:  # K (n, n), weights (n,)
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
    return SplitRows(matrix, outside, active, idle, w[active])


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
