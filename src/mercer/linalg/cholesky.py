"""K + alpha I = L L' by LAPACK's potrf in the Gram's own memory, and the one owner of jitter.

``potrf`` writes one triangle and the diagonal and leaves the other triangle alone. So the Gram is its own backup:
with its diagonal kept aside (n numbers) a failed attempt is undone, the matrix still multiplies vectors, and it can
be given back, all without a second n x n array.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import scipy.linalg as la
import scipy.linalg.blas as blas
import scipy.linalg.lapack as lapack

from mercer.arrays import Array
from mercer.errors import InputError, NumericalError
from mercer.linalg.solution import Solution, lapack_view, penalties, relative_residual, square, targets
from mercer.numeric.tiles import onto_lower, onto_upper, row_blocks

_TILE = 512  # 2 MiB of float64: the tile and its transpose stay in the cache while they are swapped

_STRIP = 192  # columns of an inverse at a time; narrow, since each of its corners costs a product with itself


def cholesky(  # K (n, n) symmetric, alpha () or (n,)
    K: Array, alpha: float | Array = 0.0, *, overwrite: bool = False, max_jitter: float | None = None
) -> Factor:
    """Factor ``G = K + diag(alpha) + jitter I = L L'``; with ``overwrite`` the factor lives in the memory of K.

    ``jitter`` is 0 unless the plain factorization fails. Then it is the smallest of eps, 10 eps, 100 eps, … times
    the mean diagonal of K that works (eps of the dtype, since 1e-8 added to 1 vanishes in float32), up to
    ``max_jitter`` times that mean: by default max(sqrt(eps), 10 n eps), which covers rounding and nothing else.

    >>> factor = cholesky(np.array([[2.0, 1.0], [1.0, 2.0]]), 1.0)
    >>> np.round(factor.solve(np.array([3.0, 0.0])) @ [3.0, 1.0], 12), factor.jitter  # G^-1 y is (9, -3) / 8
    (np.float64(3.0), 0.0)
    """
    A = lapack_view(square(K), overwrite)
    n = A.shape[0]
    shift = penalties(alpha)
    if shift.size not in (1, n):
        raise InputError(f"alpha must be one number or one per row ({n},); got shape {shift.shape}.")
    diagonal = A.diagonal().copy()
    scale = float(np.mean(np.abs(diagonal), dtype=np.float64))
    eps = float(np.finfo(A.dtype).eps)
    limit = max(eps**0.5, 10 * n * eps) if max_jitter is None else max_jitter
    jitter, first = 0.0, None
    while True:
        pivot = _attempt(A, diagonal, shift, jitter)
        if pivot is None:
            return Factor(A, diagonal, shift, jitter)
        first = pivot if first is None else first
        mirror_upper(A, diagonal)  # the untouched triangle is the backup
        step = 10 * jitter if jitter else eps * scale
        if not 0.0 < step <= limit * scale:
            raise NumericalError(_not_positive(n, A.dtype, shift, first, pivot, jitter, scale))
        jitter = step


def definite_factor(A: Array, *, lower: bool = True) -> Array:  # (n, n), used up -> (n, n)
    """The triangle of a matrix that is positive definite by what was added to its diagonal, without jitter.

    >>> definite_factor(np.array([[4.0, 2.0], [2.0, 2.0]])).tolist()
    [[2.0, 0.0], [1.0, 1.0]]
    """
    try:
        return np.asarray(la.cholesky(A, lower=lower, overwrite_a=True, check_finite=False))
    except la.LinAlgError:
        raise NumericalError(
            f"a system of {len(A)} unknowns is not positive definite in floats, whatever is on its diagonal; raise alpha "
            "(the noise of a process), or scale the columns."
        ) from None


def _attempt(A: Array, diagonal: Array, shift: Array, jitter: float) -> tuple[int, float] | None:  # A (n, n)
    """Factor in place; None on success, else the row of the first bad pivot and its value."""
    np.fill_diagonal(A, diagonal + shift + jitter)
    potrf = lapack.dpotrf if A.dtype == np.float64 else lapack.spotrf
    _, info = potrf(A, lower=1, clean=0, overwrite_a=1)
    if info > 0:
        return info - 1, float(A[info - 1, info - 1])
    roots = A.diagonal()
    if not np.isfinite(roots).all():  # some builds of LAPACK let NaN through without a word
        row = int(np.flatnonzero(~np.isfinite(roots))[0])
        return row, float(roots[row])
    return None


def _not_positive(
    n: int, dtype: np.dtype, shift: Array, first: tuple[int, float], last: tuple[int, float], jitter: float, mean: float
) -> str:
    return (
        f"K + alpha I ({n} x {n}, {dtype}, alpha = {shift.min():.3g}) is not positive definite: without jitter the "
        f"pivot of row {first[0]} is {first[1]:.3g}, and with the largest jitter tried, {jitter:.3g}, the pivot of "
        f"row {last[0]} is {last[1]:.3g} (mean diagonal {mean:.3g}). More than rounding is negative: the kernel is "
        "not positive semi-definite, or K is not symmetric. Raise alpha above the most negative eigenvalue, or use "
        "a valid kernel; the eigenvalues of EigenPath solve the singular case alpha = 0."
    )


class Factor:
    """``G = K + diag(shift) + jitter I = L L'``: L in the lower triangle, K untouched in the strict upper one.

    ``solve`` may be called as often as wanted. ``diag_inverse(overwrite=True)`` puts L^-1 in the place of L, and solving
    goes on with products; ``inverse`` and ``restore`` use the memory for something else, after which this object refuses
    to answer.
    """

    __slots__ = ("_alive", "_condition", "_inverted", "_matrix", "diagonal", "jitter", "shift")

    def __init__(self, matrix: Array, diagonal: Array, shift: Array, jitter: float) -> None:  # (n, n), (n,), (1|n,)
        self._matrix = matrix
        self._alive = True
        self._inverted = False  # whether the lower triangle holds L^-1 by now
        self._condition: float | None = None
        self.diagonal = diagonal
        self.shift = shift
        self.jitter = jitter

    def __repr__(self) -> str:
        n = self._matrix.shape[0]
        return f"Factor({n} x {n} {self._matrix.dtype}, jitter={self.jitter:.3g}{'' if self._alive else ', consumed'})"

    @property
    def matrix(self) -> Array:  # (n, n) Fortran-ordered: L below and on the diagonal, K strictly above
        """The memory of the factor, as LAPACK left it."""
        if self._inverted:
            raise InputError("this factor was turned into its inverse by diag_inverse(overwrite=True); factor again for L.")
        return self._live()

    def _live(self) -> Array:
        if not self._alive:
            raise InputError("this factor was consumed by inverse() or restore(); factor the matrix again.")
        return self._matrix

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of G."""
        n = self._matrix.shape[0]
        return n, n

    @property
    def dtype(self) -> np.dtype:
        """The precision of the factor."""
        return self._matrix.dtype

    def solve(self, B: Array) -> Array:  # (n,) or (n, t) -> same
        """``G^-1 B`` by two triangular solves (or products, once L is inverted), in the precision of the factor.

        >>> np.round(cholesky(np.eye(2), 1.0).solve(np.array([2.0, 4.0])), 12)
        array([1., 2.])
        """
        A = self._live()
        B = np.asarray(B)
        if B.ndim not in (1, 2) or B.shape[0] != A.shape[0]:
            raise InputError(f"the right-hand side must have {A.shape[0]} rows; got shape {B.shape}.")
        X: Array = np.array(B.reshape(A.shape[0], -1), dtype=A.dtype, order="F")
        if self._inverted:
            trmm = blas.dtrmm if A.dtype == np.float64 else blas.strmm
            for transposed in (0, 1):
                X = trmm(1.0, A, X, lower=1, trans_a=transposed, overwrite_b=1)
        else:
            potrs = lapack.dpotrs if A.dtype == np.float64 else lapack.spotrs
            X = potrs(A, X, lower=1, overwrite_b=1)[0]
        return X if B.ndim == 2 else X[:, 0]

    def whiten(self, B: Array) -> Array:  # (n, m) -> (n, m)
        """``L^-1 B``, in the memory of B if its order and precision allow.

        >>> cholesky(np.eye(2), 3.0).whiten(np.array([[2.0], [4.0]])).ravel().tolist()
        [1.0, 2.0]
        """
        A = self.matrix
        trsm = blas.dtrsm if A.dtype == np.float64 else blas.strsm
        solved: Array = trsm(1.0, A, np.asfortranarray(B, dtype=A.dtype), lower=1, overwrite_b=1)
        return solved

    def multiply(self, X: Array) -> Array:  # (n, t) -> (n, t) float64
        """``(K + diag(shift)) X`` from the untouched triangle, without the jitter, accumulated in float64.

        >>> cholesky(np.eye(2), 1.0).multiply(np.ones((2, 1))).ravel()
        array([2., 2.])
        """
        shift = self.shift[:, None] if self.shift.size > 1 else self.shift
        product = symmetric_product(self._live(), self.diagonal, X)
        product += shift * X
        return product

    def diag_inverse(self, *, overwrite: bool = False) -> Array:  # -> (n,) float64
        """``diag(G^-1)``, the squared column norms of L^-1, in n^3/3 flops.

        With ``overwrite`` L^-1 takes the place of L, which is a quarter faster; without, L is kept.

        >>> np.round(cholesky(np.eye(3), 3.0).diag_inverse(), 12)
        array([0.25, 0.25, 0.25])
        """
        if not (overwrite or self._inverted):
            return inverse_column_norms(self.matrix)
        self._invert()
        return column_norms(self._live())

    def _invert(self) -> None:
        A = self._live()
        if self._inverted:
            return
        trtri = lapack.dtrtri if A.dtype == np.float64 else lapack.strtri
        _, info = trtri(A, lower=1, overwrite_c=1)
        if info:
            raise NumericalError(f"the factor has a zero pivot in row {info - 1}; its inverse does not exist.")
        self._inverted = True

    def inverse(self) -> Inverse:
        """``G^-1 = (L^-1)'L^-1`` by LAPACK's trtri and lauum in the same memory; consumes the factor.

        >>> K = np.array([[2.0, 1.0], [1.0, 2.0]])
        >>> bool(np.allclose(cholesky(K).inverse().dense() @ K, np.eye(2)))
        True
        """
        self._invert()
        A = self._live()
        self._alive = False
        lauum = lapack.dlauum if A.dtype == np.float64 else lapack.slauum
        lauum(A, lower=1, overwrite_c=1)
        return Inverse(A, self.diagonal)

    def last_inverse(self, m: int) -> Array:  # -> (m, m)
        """Return ``G^-1`` on the last m rows, from the last block of L alone: the factor is kept.

        >>> K = np.array([[2.0, 1.0], [1.0, 2.0]])
        >>> cholesky(K).last_inverse(1).round(12)  # of [[2, -1], [-1, 2]] / 3
        array([[0.66666667]])
        """
        first = self.shape[0] - m
        potri = lapack.dpotri if self.dtype == np.float64 else lapack.spotri
        block: Array = potri(np.array(self.matrix[first:, first:], order="F"), lower=1, overwrite_c=1)[0]
        mirror_lower(block)
        return block

    def restore(self) -> Array:  # -> (n, n), K as it came
        """K itself, rebuilt from the untouched triangle in the same memory; consumes the factor.

        >>> K = np.array([[2.0, 1.0], [1.0, 2.0]])
        >>> bool((cholesky(K, 5.0).restore() == K).all())
        True
        """
        A = self._live()
        self._alive = False
        mirror_upper(A, self.diagonal)
        return A

    @property
    def logdet(self) -> float:
        """``log det G = 2 sum log L_ii``."""
        half = float(np.log(self._live().diagonal().astype(np.float64)).sum())
        return -2.0 * half if self._inverted else 2.0 * half

    @property
    def condition(self) -> float:
        """An estimate of ``||G||_1 ||G^-1||_1`` by LAPACK's pocon, computed at first use."""
        if self._condition is None:
            A = self.matrix
            norm = symmetric_norm1(A, self.diagonal + self.shift + self.jitter)
            pocon = lapack.dpocon if A.dtype == np.float64 else lapack.spocon
            rcond, _ = pocon(A, norm, uplo="L")
            self._condition = float(1.0 / rcond) if rcond > 0 else float("inf")
        return self._condition


class Factored:
    """Abstract: a fit that holds the factor it came from."""

    factor: Factor

    @property
    def jitter(self) -> float:
        """What was added to the diagonal beside alpha; 0 almost always."""
        return self.factor.jitter

    @property
    def condition(self) -> float:
        """The estimated condition number of the matrix that was factored."""
        return self.factor.condition


class Inverse:
    """``G^-1`` in the lower triangle of the Gram's memory, K still untouched in the strict upper one."""

    __slots__ = ("_alive", "_diagonal", "_matrix")

    def __init__(self, matrix: Array, diagonal: Array) -> None:  # (n, n), (n,) the diagonal of K
        self._matrix = matrix
        self._diagonal = diagonal
        self._alive = True

    def diag(self) -> Array:  # -> (n,)
        """``diag(G^-1)``."""
        return self._live().diagonal().copy()

    def block(self, rows: Array) -> Array:  # (f,) -> (f, f)
        """``(G^-1)_FF`` for the rows F, symmetric."""
        order = np.argsort(rows, kind="stable")
        ranks = np.empty_like(order)
        ranks[order] = np.arange(order.size)
        F = np.asarray(rows)[order]
        part: Array = self._live()[np.ix_(F, F)]  # sorted rows keep the valid lower triangle below the diagonal
        mirror_lower(part)
        block: Array = part[np.ix_(ranks, ranks)]
        return block

    def tile(self, rows: slice, cols: slice) -> Array:
        """``(G^-1)`` at a tile on or above the diagonal: the same rows and columns, or all rows before all columns."""
        A = self._live()
        if rows != cols:
            part: Array = A[cols, rows].T
            return part
        tile: Array = np.array(A[rows, rows])
        mirror_lower(tile)
        return tile

    def kernel_tile(self, rows: slice, cols: slice) -> Array:
        """K itself at such a tile, from the untouched triangle; a copy in C order."""
        A = self._live()
        tile: Array = np.array(A[rows, cols], order="C")
        if rows == cols:
            mirror_upper(tile, self._diagonal[rows])
        return tile

    def multiply(self, X: Array) -> Array:  # (n, t) -> (n, t)
        """``G^-1 X``."""
        A = self._live()
        symm = blas.dsymm if A.dtype == np.float64 else blas.ssymm
        product: Array = symm(1.0, A, np.asfortranarray(X, dtype=A.dtype), lower=1)
        return product

    def dense(self) -> Array:  # -> (n, n)
        """The whole of ``G^-1``, symmetric, in the same memory; K is given up."""
        A = self._live()
        self._alive = False
        mirror_lower(A)
        return A

    def restore(self) -> Array:  # -> (n, n)
        """K itself, rebuilt from the untouched triangle; the inverse is given up."""
        A = self._live()
        self._alive = False
        mirror_upper(A, self._diagonal)
        return A

    def _live(self) -> Array:
        if not self._alive:
            raise InputError("this inverse was consumed by dense() or restore(); factor the matrix again.")
        return self._matrix


def solve_refined(  # B (n,) or (n, t); multiply (n, t) float64 -> (n, t) float64
    factor: Factor,
    multiply: Callable[[Array], Array],
    B: Array,
    *,
    tol: float = 1e-12,
    max_iter: int = 30,
) -> Solution:
    """Solve ``A X = B`` to float64 accuracy with a factor of lower precision: X += factor^-1 (B - A X).

    Each step multiplies the error by about eps(factor) cond(A), so float32 reaches float64 answers while the
    condition number is below some 1e6; jitter in the factor is refined away too. It stops when the residual is below
    ``tol`` relative to B, or no longer halves; the message tells which.

    >>> A = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> s = solve_refined(cholesky(A.astype(np.float32)), lambda X: A @ X, np.array([1.0, 0.0]))
    >>> s.converged, bool(np.allclose(A @ s.value, [1, 0], atol=1e-12))
    (True, True)
    """
    rhs = targets(B, factor.shape[0], "B").astype(np.float64)
    X = np.zeros_like(rhs)
    R = rhs.copy()
    best, error = X, relative_residual(R, rhs)
    for step in range(1, max_iter + 1):
        X = X + solve_scaled(factor, R)
        R = rhs - multiply(X)
        now = relative_residual(R, rhs)
        if np.isfinite(now) and now < error:
            best = X
        if now <= tol:
            return Solution(X.reshape(np.shape(B)), True, step, now, f"refined to {now:.1e} in {step} steps")
        if not now < 0.5 * error:
            error = min(error, now) if np.isfinite(now) else error
            break
        error = now
    message = (
        f"refinement stopped at a residual of {error:.1e} (asked {tol:.0e}): the system is too ill-conditioned for a "
        f"{factor.dtype} factor; raise alpha, factor in float64, or use it as preconditioner of conjugate_gradient"
    )
    return Solution(best.reshape(np.shape(B)), False, step, error, message)


def solve_scaled(factor: Factor, B: Array) -> Array:  # (n, t) -> (n, t) float64
    """``factor^-1 B`` with each column scaled to one before the cast: a small residual must not underflow in float32.

    >>> solve_scaled(cholesky(np.eye(2, dtype=np.float32)), np.full((2, 1), 1e-60)).ravel()
    array([1.e-60, 1.e-60])
    """
    sizes = np.abs(B).max(axis=0)
    sizes[sizes == 0] = 1.0
    return np.asarray(factor.solve(B / sizes).astype(np.float64) * sizes)


_REFLECTIONS = 32  # applied together


def append_rows(  # cross (n, m) old against new, corner (m, m), shift (1,) or (m,)
    factor: Factor, cross: Array, corner: Array, shift: Array
) -> Factor:
    """Return the factor of the system with m further rows; the given factor is not changed.

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
    V = factor.whiten(cross.copy(order="F"))
    matrix[n:, :n] = V.T
    rest = cholesky(corner - V.T @ V, shift + factor.jitter)
    matrix[n:, n:] = np.tril(rest.matrix) + np.triu(corner, 1)
    old = np.broadcast_to(factor.shift, (n,))
    shifts = np.concatenate([old, np.broadcast_to(shift, (m,))])
    return Factor(matrix, np.concatenate([factor.diagonal, corner.diagonal()]), shifts, factor.jitter + rest.jitter)


def remove_rows(factor: Factor, index: Array) -> Factor:  # (r,) row numbers
    """Return the factor of the system without some rows; the given factor is not changed.

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
    R = tpqrt(0, min(_REFLECTIONS, len(below)), triangle, np.asfortranarray(extra.T), overwrite_a=1, overwrite_b=1)[0]
    signs = np.where(R.diagonal() < 0, -1.0, 1.0).astype(R.dtype)  # a Cholesky factor has a positive diagonal
    folded: Array = np.triu(R).T * signs
    return folded


# Symmetric matrices stored in one triangle: mirrored, multiplied and measured tile by tile, without a copy.


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
