"""The largest eigenvalues of a symmetric operator: block Lanczos with full orthogonalization and thick restarts.

A block of b vectors is multiplied at a time, so that the products run at the speed of a matrix product instead of that of
memory. The basis Q is kept orthonormal and T = Q'AQ is updated by the coefficients of the orthogonalization; the residual
of a Ritz pair (theta, Qs) is ||B s_last||, where B is what the last block left outside of the basis (Golub and Underwood
1977; thick restarts after Wu and Simon 2000).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg as la

from mercer.arrays import Array
from mercer.errors import InputError
from mercer.linalg.conjugate_gradient import Operator

#: Vectors multiplied at once: enough for a product to be limited by arithmetic instead of by reading the matrix.
#: Row: pca-32-n5000.
BLOCK_SIZE = 16

#: A check costs a dense eigenproblem, so the basis grows by this factor between two of them. Row: pca-32-n5000.
GROWTH = 1.15

#: A column of a new block shorter than this share of the largest eigenvalue is rounding: the space is exhausted there.
EXHAUSTED = 1e-13

#: Columns nearer to dependent than this are orthogonalized by Householder reflections with pivoting.
DEPENDENT = 1e-5


@dataclass(frozen=True)
class EigenPairs:
    """The largest eigenvalues in falling order, and how well they are known."""

    values: Array  # (q,)
    vectors: Array  # (n, q) orthonormal
    residual: float  # max_l ||A v_l - value_l v_l|| / |largest value|
    lowest: float  # the smallest Ritz value seen: far below zero for an indefinite operator
    n_products: int  # vectors multiplied
    n_restarts: int
    converged: bool


def largest_eigenpairs(  # A (n, n)
    A: Operator,
    q: int,
    *,
    tol: float = 1e-10,
    max_products: int | None = None,
    block: int = BLOCK_SIZE,
    rng: np.random.Generator | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> EigenPairs:
    """Return the q algebraically largest eigenpairs of a symmetric operator, residuals within tol of the largest value.

    `max_products` bounds the number of vectors multiplied (default 50 times q plus 1000); what is not converged by then is
    returned as it is, with `converged` False.

    >>> A = np.diag(np.arange(100.0))
    >>> np.round(largest_eigenpairs(A, 3).values, 8)
    array([99., 98., 97.])
    """
    n = int(A.shape[0])
    if not 1 <= q <= n:
        raise InputError(f"the number of eigenpairs must lie in 1 … {n}, the size of the operator; got {q}.")
    rng = np.random.default_rng(0) if rng is None else rng
    room = min(n, q + max(2 * q, 10 * block))
    if room + block > n:
        return _dense(A, q)
    limit = 50 * q + 1000 if max_products is None else max_products
    basis = _Basis(A, room, min(block, n), rng)
    while True:
        found = basis.grow(q, tol, limit, progress)
        if found is not None:
            return found
        basis.restart(min(q + 2 * block, room - block))


class _Basis:
    """An orthonormal basis with the operator's projection on it, and the block that comes next."""

    def __init__(self, A: Operator, room: int, block: int, rng: np.random.Generator) -> None:
        self.A, self.room, self.block, self.rng = A, room, block, rng
        n = int(A.shape[0])
        self.Q = np.empty((n, room + block), order="F")
        self.T = np.zeros((room + block, room + block))
        self.Q[:, :block] = np.linalg.qr(rng.standard_normal((n, block)))[0]
        self.size = 0  # columns already multiplied; the next `block` columns are in Q, and wait
        self.coupling = np.zeros((block, block))
        self.products = self.restarts = 0
        self.scale = 0.0

    def grow(self, q: int, tol: float, limit: int, progress: Callable[[int, int], None] | None) -> EigenPairs | None:
        """Multiply blocks until q pairs have converged, the products are used up, or the room is full."""
        look = max(q + 1, int(self.size * GROWTH))
        while self.size + self.block <= self.room:
            self._step()
            spent = self.products >= limit
            if self.size >= look or self.size + self.block > self.room or spent:
                values, S, residuals = self._ritz(q)
                good = int(np.count_nonzero(residuals <= tol * self.scale)) if len(values) == q else 0
                if progress is not None:
                    progress(good, q)
                if good == q or (spent and len(values) == q):
                    return self._finish(values, S, residuals, good == q)
                look = int(self.size * GROWTH) + 1
        return None

    def _step(self) -> None:
        """Multiply the waiting block, take its part in the basis out, and keep what is left as the next block."""
        m, b = self.size, self.block
        W = np.asarray(self.A @ self.Q[:, m : m + b], dtype=np.float64)
        done = self.Q[:, : m + b]
        H = done.T @ W
        W = W - done @ H
        again = done.T @ W  # once is not enough: the first pass leaves rounding of the size of what it removed
        W -= done @ again
        H += again
        self.T[: m + b, m : m + b] = H
        self.T[m : m + b, : m + b] = H.T
        self.T[m : m + b, m : m + b] = 0.5 * (H[m:] + H[m:].T)
        self.scale = max(self.scale, float(np.sqrt(np.einsum("ij,ij->j", H, H).max())))
        self.size, self.products = m + b, self.products + b
        self._next_block(W)

    def _next_block(self, W: Array) -> None:  # (n, b)
        """W = next @ coupling; directions that are only rounding are replaced by random ones with no coupling."""
        m, b = self.size, self.block
        if (split := _cholesky_qr(W)) is not None:
            self.Q[:, m : m + b], self.coupling = split
            return
        fresh, R, order = la.qr(W, mode="economic", pivoting=True, check_finite=False)
        lost = np.abs(np.diagonal(R)) <= EXHAUSTED * self.scale
        R = R.copy()
        R[lost] = 0.0
        self.coupling = np.empty_like(R)
        self.coupling[:, order] = R
        if lost.any():
            done, kept = self.Q[:, :m], fresh[:, ~lost]
            extra = self.rng.standard_normal((len(W), int(lost.sum())))
            for _ in range(2):
                extra -= done @ (done.T @ extra)
                extra -= kept @ (kept.T @ extra)
                extra = la.qr(extra, mode="economic", check_finite=False)[0]
            fresh[:, lost] = extra
        self.Q[:, m : m + b] = fresh

    def _ritz(self, q: int) -> tuple[Array, Array, Array]:  # -> (q,), (m, q), (q,)
        """The largest Ritz values, their vectors in the basis, and the norms of their residuals."""
        m, b = self.size, self.block
        values, S = np.linalg.eigh(self.T[:m, :m])
        self.lowest, self.scale = float(values[0]), float(max(abs(values[0]), abs(values[-1])))
        values, S = values[::-1][:q], S[:, ::-1][:, :q]
        residuals = np.linalg.norm(self.coupling @ S[m - b :], axis=0)
        return values, S, residuals

    def _finish(self, values: Array, S: Array, residuals: Array, converged: bool) -> EigenPairs:
        worst = float(residuals.max() / self.scale) if self.scale > 0 else 0.0
        vectors = self.Q[:, : self.size] @ S
        return EigenPairs(values, vectors, worst, self.lowest, self.products, self.restarts, converged)

    def restart(self, keep: int) -> None:
        """Keep the best Ritz vectors, and go on with the waiting block: A Y = Y diag(theta) + next (coupling S_last)."""
        m, b = self.size, self.block
        values, S, _ = self._ritz(keep)
        waiting = self.Q[:, m : m + b].copy()
        self.Q[:, :keep] = self.Q[:, :m] @ S
        self.Q[:, keep : keep + b] = waiting
        self.T[:] = 0.0
        self.T[:keep, :keep] = np.diag(values)
        self.size = keep
        self.restarts += 1


def _cholesky_qr(W: Array) -> tuple[Array, Array] | None:  # (n, b) -> (n, b), (b, b)
    """W = Q R by the Cholesky factor of W'W, twice, or None where the columns are too near to dependent for it.

    Everything in the loop goes through numpy: scipy has a thread pool of its own, and the threads of one pool that wait for
    work hold the cores of the other for milliseconds, which is as long as the product with the matrix takes.
    """
    R = np.eye(W.shape[1])
    for _ in range(2):  # the first pass leaves rounding times the squared condition number
        try:
            L = np.linalg.cholesky(W.T @ W)
        except np.linalg.LinAlgError:
            return None
        if L.diagonal().min() <= DEPENDENT * L.diagonal().max():
            return None
        W, R = W @ np.linalg.inv(L).T, L.T @ R
    return W, R


def _dense(A: Operator, q: int) -> EigenPairs:
    """All of a small operator, by LAPACK."""
    n = int(A.shape[0])
    K = np.asarray(A @ np.eye(n), dtype=np.float64)
    K = 0.5 * (K + K.T)
    values, vectors = la.eigh(K, check_finite=False)
    return EigenPairs(values[::-1][:q].copy(), vectors[:, ::-1][:, :q].copy(), 0.0, float(values[0]), n, 0, True)
