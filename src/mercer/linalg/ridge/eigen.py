"""One eigendecomposition of the Gram, then every alpha at the price of a product.

With S = sqrt(W) and S K S = U diag(s) U', everything in ridge regression is M = alpha (S K S + alpha I)^-1
= U diag(alpha / (s + alpha)) U': residuals S r = M S (y - b), leverage 1 - h_i = M_ii less the part of the intercept.
M stays finite at alpha = 0, where it projects on the null space, so least squares is the same formula.

If only leave-one-out residuals of many alphas are needed, the tridiagonal form (`tridiagonal`) is cheaper than
eigenvectors; folds need blocks of the inverse, for which eigenvectors are (benchmark row loo-path-n2000).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg
import scipy.linalg.lapack as lapack

from mercer.arrays import Array
from mercer.errors import InputError, NumericalError
from mercer.linalg.ridge import held_out as closed_form
from mercer.linalg.solution import (
    RidgeSolution,
    fold_rows,
    penalties,
    relative_residual,
    row_weights,
    split_rows,
    targets,
)
from mercer.numeric.tiles import row_blocks

_LARGEST = 32_766  # syevd counts its 2 n^2 + 6 n + 1 numbers of workspace in 32 bits
_WIDE = 16  # from this many targets on, alphas are taken one by one: the product with U is large enough by itself
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
        for rows in row_blocks(self.active.size, _ROWS):
            squares = self.vectors[rows] ** 2
            left[rows] = squares @ small
            if not self.complete:
                left[rows] += np.maximum(1.0 - squares.sum(axis=1), 0.0)[:, None]
        taken: Array | float = 0.0
        if self.fit_intercept:
            norms = self.intercept_norm(values, shrunk)
            taken = self.intercept_residual(shrunk) ** 2 / np.where(norms > 0, norms, np.inf)
        eps = np.finfo(self.vectors.dtype).eps
        # At alpha = 0 rounding is relative to one, since M is a projection; else to what the intercept took away.
        floor = np.where(values > 0, 8 * eps * left, 10 * self.active.size * eps)
        out = np.ones((values.size, self.n))
        out[:, self.active] = closed_form.centered_diagonal(left, taken, floor).T
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


class EigenFit:
    """Targets Y in the basis of an `EigenPath`: each alpha costs one product with U.

    >>> K, y = np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([1.0, -2.0])
    >>> fit = EigenFit(EigenPath.from_gram(K), y)
    >>> dual = fit.solve(0.5).value
    >>> bool(np.allclose(dual, (y - K @ dual) / 0.5))  # dual = residual / alpha
    True
    """

    __slots__ = ("_basis", "_left", "_shape", "_targets", "path")

    def __init__(self, path: EigenPath, Y: Array) -> None:  # Y (n, *t)
        columns = targets(Y, path.n).astype(np.float64, copy=False)
        U = path.vectors
        scaled = columns[path.active] * path.root[:, None]
        basis: Array = U.T @ scaled.astype(U.dtype)
        self.path = path
        self._shape = np.shape(Y)[1:]
        self._targets = columns  # (n, t)
        self._basis = basis.astype(np.float64)  # (r, t) U' S Y
        self._left = None if path.complete else scaled - U @ basis  # (a, t) outside the span of U

    def _pairs(self, alphas: Array) -> tuple[Array, Array]:  # (L,) -> (L t,), (L t,)
        """Every alpha with every target, targets running fastest."""
        t = self._basis.shape[1]
        return np.repeat(alphas, t), np.tile(np.arange(t), alphas.size)

    def _batches(self, alphas: Array) -> Iterator[tuple[Array, Array | slice]]:  # (L,) -> alphas, chosen targets
        """What to evaluate together: everything in one product for a few targets, else one alpha with all of them."""
        if self._basis.shape[1] < _WIDE:
            yield self._pairs(alphas)
        else:
            for alpha in alphas:
                yield np.array([alpha]), slice(None)

    def _stacked(self, columns: Array, count: int) -> Array:  # (n, L t) -> (L, n, *t)
        return np.moveaxis(columns.reshape(len(columns), count, *self._shape), 1, 0)

    def _centered(self, alphas: Array, chosen: Array | slice) -> tuple[Array, Array, Array, Array]:
        # alphas (m | 1,), chosen (m,) -> U' S (y - b) (r, m), b (m,), alpha / (s + alpha), 1 / (s + alpha) (r, m | 1)
        path = self.path
        shrunk, inverse = path.shrink(alphas)
        basis = self._basis[:, chosen]
        if not path.fit_intercept:
            return basis, np.zeros(basis.shape[1]), shrunk, inverse
        ones = path.ones[:, None]
        norms = path.intercept_norm(alphas, shrunk)
        along = np.sum(ones * shrunk * basis, axis=0)
        if self._left is not None:
            along += path.ones_left @ self._left[:, chosen]
        lost = norms == 0  # alpha = 0 and the constant is in the span of K
        norms = np.where(lost, np.sum(inverse * ones**2, axis=0), norms)
        along = np.where(lost, np.sum(inverse * ones * basis, axis=0), along)
        intercept = along / norms
        return basis - ones * intercept, intercept, shrunk, inverse

    def _scaled_residuals(self, basis: Array, intercept: Array, shrunk: Array, chosen: Array | slice) -> Array:
        """``S r = M S (y - b)``, (a, m)."""
        path = self.path
        out: Array = path.vectors @ (shrunk * basis).astype(path.vectors.dtype)
        if self._left is not None:
            out = out + self._left[:, chosen] - np.outer(path.ones_left, intercept)
        return out.astype(np.float64, copy=False)

    def _evaluate(self, alphas: Array) -> tuple[Array, Array]:
        # (L,) -> residuals y - f on all rows (n, L t), scaled residuals of the fitted ones (a, L t)
        path, done, count = self.path, 0, alphas.size * self._basis.shape[1]
        residuals, scaled = np.empty((path.n, count)), np.empty((path.active.size, count))
        for some, chosen in self._batches(alphas):
            basis, intercept, shrunk, inverse = self._centered(some, chosen)
            span = slice(done, done + basis.shape[1])
            scaled[:, span] = self._scaled_residuals(basis, intercept, shrunk, chosen)
            residuals[path.active, span] = scaled[:, span] / path.root[:, None]
            if path.idle.size:
                predicted = path.outside @ (inverse * basis) + intercept
                residuals[path.idle, span] = self._targets[path.idle][:, chosen] - predicted
            done = span.stop
        return residuals, scaled

    def solve(self, alpha: float | Array) -> RidgeSolution:  # alpha () or (t,)
        """The dual coefficients at one alpha, or at one per target; minimum norm at alpha = 0."""
        path, values = self.path, penalties(alpha)
        t = self._basis.shape[1]
        if values.size not in (1, t):
            raise InputError(f"there are {t} targets and {values.size} alphas; give one alpha, or one per target.")
        basis, intercept, _, inverse = self._centered(values, slice(None))
        U = path.vectors
        inner: Array = U @ (inverse * basis).astype(U.dtype)
        if self._left is not None:
            beyond = self._left - np.outer(path.ones_left, intercept)
            inner = inner + np.divide(beyond, values, out=np.zeros_like(beyond), where=values > 0)
        dual = np.zeros((path.n, t))
        dual[path.active] = path.root[:, None] * inner
        error, converged = self._check(inner, basis, values)
        return RidgeSolution(
            dual.reshape(path.n, *self._shape),
            intercept.reshape(self._shape),
            converged,
            1,
            error,
            f"eigendecomposition of rank {path.rank} of {path.active.size}, relative residual {error:.1e}",
            0.0,
            path.rank if values.min() == 0 else path.active.size,
            path.condition(float(values.min())),
        )

    def _check(self, inner: Array, basis: Array, alphas: Array) -> tuple[float, bool]:  # (a, t), (r, t), (t,)
        """Put the coefficients back into the system, in the basis: what the loss of orthogonality of U leaves."""
        U, s = self.path.vectors, self.path.values[:, None]
        back = (s + alphas) * (U.T @ inner.astype(U.dtype))
        wanted = np.where((alphas == 0) & (s <= self.path.cutoff), 0.0, basis)
        back = np.where((alphas == 0) & (s <= self.path.cutoff), 0.0, back)
        error = relative_residual(back - wanted, wanted)
        return error, error <= float(np.finfo(U.dtype).eps) ** 0.5

    def residuals(self, alphas: Array) -> Array:  # (L,) -> (L, n, *t)
        """``y - f(x_i)`` on all rows, those of weight zero too."""
        values = penalties(alphas, "alphas")
        return self._stacked(self._evaluate(values)[0], values.size)

    def norm_squared(self, alphas: Array) -> Array:  # (L,) -> (L, *t)
        """``||f||^2 = sum s (U'S(y - b))^2 / (s + alpha)^2``, without the intercept and without the null space.

        An eigenvalue that is rounding carries no part of f, and 1e-15 / (1e-15 + 1e-9)^2 would be a large one.
        """
        values = penalties(alphas, "alphas")
        carrying = np.where(self.path.values > self.path.cutoff, self.path.values, 0.0)
        norms = []
        for batch in self._batches(values):
            basis, _, _, inverse = self._centered(*batch)
            norms.append(carrying @ (inverse * basis) ** 2)
        return np.maximum(np.concatenate(norms), 0.0).reshape(values.size, *self._shape)

    def leave_one_out(self, alphas: Array) -> Array:  # (L,) -> (L, n, *t)
        """``y_i - f_without_i(x_i) = r_i / (1 - h_i)`` for every alpha; at alpha = 0 the limit of alpha -> 0.

        A row of weight zero is out of the fit already, so its residual is its leave-one-out residual. NaN where the row
        has leverage 1 for every alpha, since without it a direction or the intercept is not determined.

        >>> K, y = np.eye(2), np.array([1.0, 3.0])
        >>> EigenFit(EigenPath.from_gram(K), y).leave_one_out([1.0])  # nothing is known of a row but itself
        array([[1., 3.]])
        """
        values = penalties(alphas, "alphas")
        residuals = self._evaluate(values)[0]
        left = self.path.complement(values).T  # (n, L)
        by_alpha = residuals.reshape(self.path.n, values.size, -1)
        closed_form.leave_one_out(by_alpha, left, out=by_alpha)
        for index in np.flatnonzero(values == 0):
            certain = np.flatnonzero(left[:, index] == 0)
            by_alpha[certain, index] = self._limits(certain)
        return self._stacked(residuals, values.size)

    def _limits(self, rows: Array) -> Array:  # (f,) -> (f, t)
        """Leave-one-out residuals at alpha = 0 of rows that the fit meets exactly.

        Both r_i and 1 - h_i vanish like alpha there, and their ratio tends to (C y)_i / C_ii with C = K^+, or with
        C = K^+ - K^+ 1 1'K^+ / (1'K^+ 1) where the constant is in the span of K and an intercept is fitted.
        """
        path, zero = self.path, np.zeros(1)
        basis, _, shrunk, inverse = self._centered(zero, slice(None))
        place = np.full(path.n, -1)
        place[path.active] = np.arange(path.active.size)
        U = path.vectors[place[rows]].astype(np.float64)
        dual, diagonal, taken = U @ (inverse * basis), U**2 @ inverse[:, 0], np.zeros(len(rows))
        outside = np.maximum(1.0 - (U**2).sum(axis=1), 0.0) + U**2 @ shrunk[:, 0]  # in the null space: no limit of this kind
        if path.fit_intercept and not path.intercept_norm(zero, shrunk)[0] > 0:
            taken = (U @ (inverse[:, 0] * path.ones)) ** 2 / float(inverse[:, 0] @ path.ones**2)
        floor = 10 * path.active.size * float(np.finfo(path.vectors.dtype).eps)
        left = closed_form.centered_diagonal(diagonal, taken, floor * diagonal)
        limits = closed_form.leave_one_out(dual, np.where(outside <= floor, left, 0.0))
        return np.asarray(limits / path.root[place[rows], None])

    def held_out(self, alphas: Array, folds: Sequence[Array]) -> list[Array]:  # (L,) -> per fold (L, f, *t)
        """Residuals of each fold under the fit without it: ``S_F^-1 (M_FF)^-1 (S r)_F``, less the intercept's part.

        >>> K, y = np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([1.0, -2.0])
        >>> fit = EigenFit(EigenPath.from_gram(K), y)
        >>> np.round(fit.held_out([1.0], [[0, 1]])[0], 12)  # without both rows the prediction is 0
        array([[ 1., -2.]])
        """
        values = penalties(alphas, "alphas")
        checked = fold_rows(folds, self.path.n)
        residuals, scaled = self._evaluate(values)
        shrunk, _ = self.path.shrink(values)
        place = np.full(self.path.n, -1)
        place[self.path.active] = np.arange(self.path.active.size)
        results = []
        for rows in checked:
            columns = residuals[rows]
            inside = place[rows] >= 0
            fitted = place[rows[inside]]
            if fitted.size:
                errors = self._fold(fitted, values, shrunk, scaled)
                columns[inside] = errors / self.path.root[fitted, None]
                if not inside.all():
                    columns[~inside] = self._idle_without(rows[~inside], fitted, errors, *self._pairs(values))
            results.append(self._stacked(columns, values.size))
        return results

    def _fold(self, fitted: Array, alphas: Array, shrunk: Array, scaled: Array) -> Array:
        # rows (f,), (L,), (r, L), scaled residuals (a, L t) -> (M_FF)^-1 (S r)_F (f, L t)
        path, t = self.path, self._basis.shape[1]
        U = path.vectors[fitted]
        beyond = None if path.complete else np.eye(fitted.size) - U @ U.T
        norms = path.intercept_norm(alphas, shrunk) if path.fit_intercept else None
        ones = path.intercept_residual(shrunk, fitted) if path.fit_intercept else None
        out = np.empty((fitted.size, scaled.shape[1]))
        for index, alpha in enumerate(alphas):
            half = U * np.sqrt(shrunk[:, index]).astype(U.dtype)
            block = (half @ half.T).astype(np.float64)
            if beyond is not None:
                block += beyond
            if norms is not None and ones is not None and norms[index] > 0:
                block -= np.outer(ones[:, index], ones[:, index]) / norms[index]
            which = slice(index * t, (index + 1) * t)
            floor = 10 * path.active.size * float(np.finfo(U.dtype).eps) if alpha == 0 else 0.0
            out[:, which] = closed_form.held_out(block, scaled[fitted, which], floor)
        return out

    def _idle_without(self, idle: Array, fitted: Array, errors: Array, alphas: Array, chosen: Array) -> Array:
        """Rows of weight zero in a fold (i,), predicted by the fit without its rows: y_F is replaced by y_F - e_F."""
        path = self.path
        inverse = path.shrink(alphas)[1]
        basis = self._basis[:, chosen] - path.vectors[fitted].T @ errors
        intercept = np.zeros(alphas.size)
        if path.fit_intercept:
            full = self._centered(alphas, chosen)[1]
            weights = np.stack([path.intercept_weights(a)[fitted] / path.root[fitted] for a in alphas], axis=1)
            intercept = full - np.sum(weights * errors, axis=0)
            basis = basis - path.ones[:, None] * intercept
        where = np.searchsorted(path.idle, idle)
        predicted: Array = path.outside[where] @ (inverse * basis) + intercept
        known: Array = self._targets[np.ix_(idle, chosen)]
        return known - predicted


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
