"""Targets along an eigen path: coefficients, fitted values, leave-one-out and folds for every alpha."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import scipy.linalg.lapack as lapack

from mercer.arrays import Array
from mercer.errors import InputError
from mercer.linalg.ridge.eigen import EigenPath
from mercer.linalg.solution import RidgeSolution, fold_rows, penalties, relative_residual, targets

_WIDE = 16  # from this many targets on, alphas are taken one by one: the product with U is large enough by itself


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
        left = self.path.complement(values).T[:, :, None]  # (n, L, 1)
        by_alpha = residuals.reshape(self.path.n, values.size, -1)
        by_alpha /= np.where(left > 0, left, np.nan)
        for index in np.flatnonzero(values == 0):
            certain = np.flatnonzero(left[:, index, 0] == 0)
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
        dual, diagonal = U @ (inverse * basis), U**2 @ inverse[:, 0]
        outside = np.maximum(1.0 - (U**2).sum(axis=1), 0.0) + U**2 @ shrunk[:, 0]  # in the null space: no limit of this kind
        if path.fit_intercept and not path.intercept_norm(zero, shrunk)[0] > 0:
            direction = U @ (inverse[:, 0] * path.ones)
            diagonal = diagonal - direction**2 / float(inverse[:, 0] @ path.ones**2)
        floor = 10 * path.active.size * float(np.finfo(path.vectors.dtype).eps)
        known = (diagonal > floor * (U**2 @ inverse[:, 0])) & (outside <= floor)
        limits = dual / np.where(known, diagonal, np.nan)[:, None]
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
            out[:, which] = solve_or_nan(block, scaled[fitted, which], floor)
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


def solve_or_nan(block: Array, rhs: Array, floor: float) -> Array:  # (f, f) symmetric, (f, t) -> (f, t)
    """``block^-1 rhs`` for a positive semi-definite block, NaN when it is singular to rounding or to ``floor``.

    >>> solve_or_nan(np.zeros((1, 1)), np.ones((1, 1)), 0.0)
    array([[nan]])
    """
    factor, info = lapack.dpotrf(block, lower=1)
    pivots = factor.diagonal() ** 2
    if info or (pivots <= np.maximum(8 * np.finfo(np.float64).eps * block.diagonal(), floor)).any():
        return np.full(rhs.shape, np.nan)
    solution: Array = lapack.dpotrs(factor, rhs, lower=1)[0]
    return solution
