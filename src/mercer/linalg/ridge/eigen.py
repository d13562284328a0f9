"""One eigendecomposition of the Gram, then every alpha at the price of a product.

With S = sqrt(W) and S K S = U diag(s) U', everything in ridge regression is M = alpha (S K S + alpha I)^-1
= U diag(alpha / (s + alpha)) U': residuals S r = M S (y - b), leverage 1 - h_i = M_ii less the part of the intercept.
M stays finite at alpha = 0, where it projects on the null space, so least squares is the same formula.

Where only leave-one-out residuals of many alphas are asked for, the tridiagonal form (`tridiagonal`) is cheaper than
eigenvectors; folds need blocks of the inverse, for which eigenvectors are (benchmark row loo-path-n2000).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg
import scipy.linalg.lapack as lapack

from mercer.arrays import Array
from mercer.errors import InputError, NumericalError
from mercer.linalg.solution import penalties, row_weights, split_rows

_LARGEST = 32_766  # syevd counts its 2 n^2 + 6 n + 1 numbers of workspace in 32 bits
_ROWS = 512  # rows of U squared together, so that U * U is never held whole


@dataclass(frozen=True)
class EigenPath:
    """``S K S = U diag(s) U'`` and all that depends on alpha but not on the targets.

    Rows of weight zero are out of the decomposition; ``outside`` carries their kernel rows in its basis. U may have
    fewer columns than rows (from explicit features): the rest of the space has eigenvalue 0.
    """

    vectors: Array  # (a, r) U, orthonormal columns
    values: Array  # (r,) s, float64
    outside: Array  # (n - a, r) K_outside S U
    active: Array  # (a,) row numbers
    idle: Array  # (n - a,) row numbers
    root: Array  # (a,) sqrt of the weights
    cutoff: float  # eigenvalues up to this one count as zero at alpha = 0
    fit_intercept: bool

    @classmethod
    def from_gram(  # K (n, n), weights (n,)
        cls, K: Array, *, weights: Array | None = None, fit_intercept: bool = False, overwrite: bool = False
    ) -> EigenPath:
        """Decompose K by divide and conquer (syevd); with ``overwrite`` U takes the memory of K.

        LAPACK wants 2 n^2 numbers of workspace while it runs. Eigenvalues that rounding made negative are zero.

        >>> path = EigenPath.from_gram(np.array([[2.0, 1.0], [1.0, 2.0]]))
        >>> np.round(path.effective_dof([0.0, 1.0, 3.0]), 12)  # sum s / (s + alpha), s = 1, 3
        array([2.  , 1.25, 0.75])
        """
        rows = split_rows(K, weights, overwrite=overwrite)
        A, root = rows.matrix, np.sqrt(rows.weights)
        scale = root.astype(A.dtype)
        if (root != 1.0).any():
            A *= scale
            A *= scale[:, None]
        values = _eigh_in_place(A)
        cutoff = _rounding(values, A.dtype)
        values[(values < 0) & (values >= -cutoff)] = 0.0
        outside = (rows.outside * scale) @ A
        return cls(A, values, outside, rows.active, rows.idle, root, cutoff, fit_intercept)

    @classmethod
    def from_features(  # Z (n, d), weights (n,)
        cls, Z: Array, *, weights: Array | None = None, fit_intercept: bool = False
    ) -> EigenPath:
        """The same path for K = Z Z' from a thin singular value decomposition: n d^2 instead of n^3.

        >>> Z = np.array([[1.0], [2.0], [2.0]])
        >>> np.round(EigenPath.from_features(Z).values, 12)
        array([9.])
        """
        Z = np.asarray(Z)
        if Z.ndim != 2 or 0 in Z.shape or Z.dtype.kind != "f":
            raise InputError(f"Z must be a non-empty floating (n, d) array; got {Z.dtype} {Z.shape}.")
        if not np.isfinite(Z).all():
            raise InputError(f"Z has a NaN or infinite value in row {int(np.argwhere(~np.isfinite(Z))[0, 0])}.")
        w = row_weights(weights, Z.shape[0])
        active, idle, root = np.flatnonzero(w), np.flatnonzero(w == 0), np.sqrt(w[w > 0])
        scaled = Z[active] * root.astype(Z.dtype)[:, None]
        U, sigma, Vt = scipy.linalg.svd(scaled, full_matrices=False, overwrite_a=True, check_finite=False)
        # Singular values, not their squares, meet the rounding of Z: directions below it carry nothing.
        kept = sigma > max(scaled.shape) * np.finfo(Z.dtype).eps * (sigma[0] if sigma.size else 0.0)
        sigma = sigma[kept].astype(np.float64)
        outside = (Z[idle] @ Vt[kept].T) * sigma
        return cls(np.asfortranarray(U[:, kept]), sigma**2, outside, active, idle, root, 0.0, fit_intercept)

    @property
    def n(self) -> int:
        """The number of rows, fitted or not."""
        return self.active.size + self.idle.size

    @property
    def rank(self) -> int:
        """The number of eigenvalues above rounding."""
        return int(np.count_nonzero(self.values > self.cutoff))

    @property
    def complete(self) -> bool:
        """Whether U is square, so that nothing lies outside its span."""
        return bool(self.vectors.shape[1] == self.active.size)

    def condition(self, alpha: float) -> float:
        """``(s_max + alpha) / (s_min + alpha)``; at alpha = 0 over the eigenvalues that are not zero."""
        s = self.values if alpha > 0 else self.values[self.values > self.cutoff]
        if s.size == 0:
            return 1.0
        low = 0.0 if alpha > 0 and not self.complete else float(s.min())
        return (float(s.max()) + alpha) / (low + alpha)

    @cached_property
    def ones(self) -> Array:  # (r,) float64
        """``U' S 1``, the intercept's direction in the basis."""
        product: Array = self.vectors.T @ self.root.astype(self.vectors.dtype)
        return product.astype(np.float64)

    @cached_property
    def ones_left(self) -> Array:  # (a,) float64
        """What of S 1 lies outside the span of U."""
        if self.complete:
            return np.zeros(self.active.size)
        spanned: Array = self.vectors @ self.ones.astype(self.vectors.dtype)
        return self.root - spanned

    def shrink(self, alphas: Array) -> tuple[Array, Array]:  # (m,) -> (r, m), (r, m)
        """``alpha / (s + alpha)`` and ``1 / (s + alpha)``; at alpha = 0 the null space and the pseudo-inverse."""
        s = self.values[:, None]
        lowest = float(self.values.min(initial=0.0))
        if lowest < 0.0 and lowest + alphas.min() <= 0.0:
            raise NumericalError(
                f"K has the eigenvalue {lowest:.3g}, so K + alpha I is not positive definite at alpha = "
                f"{alphas.min():.3g}. Every alpha must be above {-lowest:.3g}, or use a positive semi-definite kernel."
            )
        positive = alphas > 0
        inverse = 1.0 / np.where(positive, s + alphas, np.where(s > self.cutoff, s, np.inf))
        return np.where(positive, alphas * inverse, s <= self.cutoff), inverse

    def intercept_norm(self, alphas: Array, shrunk: Array) -> Array:  # (m,), (r, m) -> (m,)
        """``q' M q`` with q = S 1; exactly 0 where the constant is in the span of K at alpha = 0."""
        norms: Array = self.ones**2 @ shrunk + self.ones_left @ self.ones_left
        small = 10 * self.active.size * np.finfo(self.vectors.dtype).eps * (self.root @ self.root)
        return np.where((alphas == 0) & (norms <= small), 0.0, norms)

    def intercept_residual(self, shrunk: Array, rows: Array | slice = slice(None)) -> Array:  # (r, m), (f,) -> (f, m)
        """``(M q)_F`` with q = S 1."""
        product: Array = self.vectors[rows] @ (shrunk * self.ones[:, None]).astype(self.vectors.dtype)
        return product.astype(np.float64) + self.ones_left[rows, None]

    def complement(self, alphas: Array) -> Array:  # (L,) -> (L, n)
        """``1 - leverage`` for every alpha with one product (U * U) R; 0 where a row is fitted whatever its target.

        >>> path = EigenPath.from_gram(np.eye(2))
        >>> path.complement([1.0, 3.0]).tolist()
        [[0.5, 0.5], [0.75, 0.75]]
        """
        values = penalties(alphas, "alphas")
        shrunk, _ = self.shrink(values)
        small = shrunk.astype(self.vectors.dtype)
        left = np.empty((self.active.size, values.size))
        for start in range(0, self.active.size, _ROWS):
            squares = self.vectors[start : start + _ROWS] ** 2
            left[start : start + _ROWS] = squares @ small
            if not self.complete:
                left[start : start + _ROWS] += np.maximum(1.0 - squares.sum(axis=1), 0.0)[:, None]
        before = left.copy()
        if self.fit_intercept:
            norms = self.intercept_norm(values, shrunk)
            left -= self.intercept_residual(shrunk) ** 2 / np.where(norms > 0, norms, np.inf)
        eps = np.finfo(self.vectors.dtype).eps
        # At alpha = 0 rounding is relative to one, since M is a projection; else to what the intercept took away.
        floor = np.where(values > 0, 8 * eps * before, 10 * self.active.size * eps)
        out = np.ones((values.size, self.n))
        out[:, self.active] = np.where(left > floor, left, 0.0).T
        return out

    def leverage(self, alphas: Array) -> Array:  # (L,) -> (L, n)
        """``h_i = d f(x_i) / d y_i``, the intercept included; 0 on rows of weight zero.

        >>> EigenPath.from_gram(np.eye(2)).leverage([1.0, 3.0]).tolist()
        [[0.5, 0.5], [0.25, 0.25]]
        """
        return 1.0 - self.complement(alphas)

    def effective_dof(self, alphas: Array) -> Array:  # (L,) -> (L,)
        """``tr H = sum s / (s + alpha)``, plus the share of the intercept (at most 1)."""
        values = penalties(alphas, "alphas")
        shrunk, _ = self.shrink(values)
        total: Array = np.sum(1.0 - shrunk, axis=0)
        if self.fit_intercept:
            norms = self.intercept_norm(values, shrunk)
            own = self.ones**2 @ shrunk**2 + self.ones_left @ self.ones_left
            total = total + own / np.where(norms > 0, norms, np.inf)
        return total

    def intercept_weights(self, alpha: float) -> Array:  # -> (a,) v with b = v'y
        """The weights v of the intercept, ``b = v'y``, which sum to one."""
        values = np.array([float(alpha)])
        shrunk, inverse = self.shrink(values)
        norm = float(self.intercept_norm(values, shrunk)[0])
        if norm > 0:
            weights: Array = self.root * self.intercept_residual(shrunk)[:, 0] / norm
            return weights
        # The constant is in the span of K: its own minimum-norm share decides, the limit of alpha -> 0.
        direction: Array = self.vectors @ (inverse[:, 0] * self.ones).astype(self.vectors.dtype)
        return self.root * direction / float(inverse[:, 0] @ self.ones**2)

    def influence(self, kernel_rows: Array, alpha: float) -> Array:  # (m, n) -> (m, n)
        """``d f(x) / d y_i`` for new points with kernel rows k_x: k_x' C, plus v with an intercept.

        >>> K, y = np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([1.0, 0.0])
        >>> np.allclose(EigenPath.from_gram(K).influence(K, 1.0) @ y, K @ np.linalg.solve(K + np.eye(2), y))
        True
        """
        value = float(penalties(alpha)[0])
        _, inverse = self.shrink(np.array([value]))
        dtype = self.vectors.dtype
        scaled = (np.asarray(kernel_rows)[:, self.active] * self.root).astype(dtype)
        part = ((scaled @ self.vectors) * inverse[:, 0].astype(dtype)) @ self.vectors.T * self.root
        if self.fit_intercept:
            part = part + np.outer(1.0 - part.sum(axis=1), self.intercept_weights(value))
        out = np.zeros(kernel_rows.shape)
        out[:, self.active] = part
        return out


def _eigh_in_place(A: Array) -> Array:  # (n, n) Fortran-ordered, becomes U -> (n,) float64 ascending
    n = A.shape[0]
    if n > _LARGEST:
        raise InputError(
            f"the eigendecomposition of a {n} x {n} Gram is beyond LAPACK's workspace (at most {_LARGEST} rows); "
            "use the Cholesky route for a few alphas, or a low-rank one."
        )
    syevd = lapack.dsyevd if A.dtype == np.float64 else lapack.ssyevd
    query = lapack.dsyevd_lwork if A.dtype == np.float64 else lapack.ssyevd_lwork
    lwork, liwork, _ = query(n, compute_v=1, lower=1)
    lwork = max(int(lwork), 2 * n * n + 6 * n + 1)  # of one row LAPACK wants 1, and SciPy 1.13 insists on the formula
    values, vectors, info = syevd(A, compute_v=1, lower=1, lwork=lwork, liwork=int(liwork), overwrite_a=1)
    if info:
        raise NumericalError(f"the eigendecomposition of the {n} x {n} Gram did not converge (LAPACK syevd: {info}).")
    assert np.shares_memory(vectors, A)
    return np.asarray(values, dtype=np.float64)


def _rounding(values: Array, dtype: np.dtype) -> float:  # (n,)
    """What rounding does to an eigenvalue: 10 n eps times the largest, the rule by which a Gram is called psd."""
    return float(10 * values.size * np.finfo(dtype).eps * np.abs(values).max(initial=0.0))
