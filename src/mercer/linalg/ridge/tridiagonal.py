"""Leave-one-out for many alphas from a tridiagonal form: three quarters of the cost of eigenvectors.

S K S = Q T Q' with T tridiagonal (LAPACK sytrd). Each alpha then is a tridiagonal system, and the leverages need the
diagonal of Q (T + alpha I)^-1 Q': with T + alpha I = L D L', row i of it is ||D^(-1/2) L^-1 q_i||^2, one recurrence along
a row of Q, run for all alphas in one compiled pass. Folds need blocks of the inverse and take `EigenPath`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg.lapack as lapack

from mercer.arrays import Array
from mercer.errors import InputError, NumericalError
from mercer.linalg.ridge import held_out as closed_form
from mercer.linalg.solution import penalties, split_rows, targets
from mercer.numeric.threads import cpu_count, run

_ROWS = 256  # rows of Q per task: with twenty alphas their recurrences stay in the L2 cache


@dataclass(frozen=True)
class TridiagonalPath:
    """``S K S = Q T Q'``; Q leaves the first coordinate alone, so only its lower right block is stored."""

    block: Array  # (a - 1, a - 1) Fortran-ordered: Q = diag(1, block)
    diagonal: Array  # (a,) of T
    beside: Array  # (a - 1,) of T
    outside: Array  # (n - a, a) kernel rows of weight zero
    active: Array  # (a,) row numbers
    idle: Array  # (n - a,) row numbers
    root: Array  # (a,) sqrt of the weights
    fit_intercept: bool

    @classmethod
    def from_gram(  # K (n, n), weights (n,)
        cls, K: Array, *, weights: Array | None = None, fit_intercept: bool = False, overwrite: bool = False
    ) -> TridiagonalPath:
        """Reduce K to tridiagonal form; with ``overwrite`` in the memory of K, plus n^2 numbers for Q.

        >>> K, y = np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([1.0, -2.0])
        >>> TridiagonalPath.from_gram(K).leave_one_out([1.0], y).round(12)  # y_i - K_ij y_j / (K_jj + alpha)
        array([[ 1.66666667, -2.33333333]])
        """
        rows = split_rows(np.asarray(K, dtype=np.float64), weights, overwrite=overwrite)
        A, root = rows.matrix, np.sqrt(rows.weights)
        if (root != 1.0).any():
            A *= root
            A *= root[:, None]
        n = len(A)
        if n < 2:
            block, diagonal, beside = np.empty((0, 0)), A.diagonal().copy(), np.empty(0)
            return cls(block, diagonal, beside, rows.outside, rows.active, rows.idle, root, fit_intercept)
        lwork = int(lapack.dsytrd_lwork(n, lower=1)[0])
        reflectors, diagonal, beside, tau, info = lapack.dsytrd(A, lower=1, lwork=lwork, overwrite_a=1)
        block = np.asfortranarray(reflectors[1:, :-1])  # column k: the k-th reflector, from its unit entry down
        block, _, failed = lapack.dorgqr(block, tau, lwork=64 * n, overwrite_a=1)
        if info or failed:
            raise NumericalError(f"the tridiagonal form of the {n} x {n} Gram failed (LAPACK sytrd {info}, orgqr {failed}).")
        return cls(block, diagonal, beside, rows.outside, rows.active, rows.idle, root, fit_intercept)

    def leave_one_out(self, alphas: Array, Y: Array) -> Array:  # (L,), (n, *t) -> (L, n, *t)
        """``y_i - f_without_i(x_i) = dual_i / C_ii`` for every alpha > 0; the plain residual at weight zero."""
        values = penalties(alphas, "alphas")
        if values.min() <= 0:
            raise InputError("the tridiagonal path needs alphas > 0; the eigen path has the limit alpha = 0.")
        columns = targets(Y, self.active.size + self.idle.size).astype(np.float64, copy=False)
        scaled = np.column_stack([columns[self.active] * self.root[:, None], self.root])
        pivots, lower = self._factors(values)
        solved = self._back(self._solve(pivots, lower, self._forth(scaled)))  # (a, L, t + 1)
        left = self._diagonals(pivots, lower)
        inner, intercept = solved[:, :, :-1], np.zeros((values.size, columns.shape[1]))
        if self.fit_intercept:
            ones = solved[:, :, -1]
            total = self.root @ ones
            intercept = np.einsum("al,at->lt", ones, scaled[:, :-1]) / total[:, None]
            inner = inner - ones[:, :, None] * intercept
            left = closed_form.centered_diagonal(left, ones.T**2 / total[:, None])
        out = np.empty((values.size, len(columns), columns.shape[1]))
        held = closed_form.leave_one_out(inner, self.root[:, None] * left.T)
        out[:, self.active] = held.transpose(1, 0, 2)
        if self.idle.size:
            dual = (self.root[:, None, None] * inner).reshape(self.active.size, -1)
            predicted = (self.outside @ dual).reshape(self.idle.size, values.size, -1).transpose(1, 0, 2)
            out[:, self.idle] = columns[self.idle] - predicted - intercept[:, None, :]
        return out.reshape(values.size, *np.shape(Y))

    def _factors(self, alphas: Array) -> tuple[Array, Array]:  # (L,) -> (L, a), (L, a - 1)
        """T + alpha I = L D L' for every alpha: the pivots D and the entries beside the diagonal of L."""
        pivots, lower = np.empty((alphas.size, self.diagonal.size)), np.empty((alphas.size, self.beside.size))
        for index, alpha in enumerate(alphas):
            # LAPACK's wrapper wants one entry beside the diagonal even of a single row
            pivots[index], off, info = lapack.dpttrf(self.diagonal + alpha, _padded(self.beside))
            lower[index] = off[: self.beside.size]
            if info:
                raise NumericalError(
                    f"K + alpha I is not positive definite at alpha = {alpha:.3g}: pivot {info} is negative. "
                    "Raise the smallest alpha, or use a positive semi-definite kernel."
                )
        return pivots, lower

    def _solve(self, pivots: Array, lower: Array, B: Array) -> Array:  # (a, r) -> (a, L, r)
        out = np.empty((len(B), len(pivots), B.shape[1]))
        for index in range(len(pivots)):
            out[:, index] = lapack.dpttrs(pivots[index], _padded(lower[index]), B)[0]
        return out

    def _forth(self, B: Array) -> Array:  # (a, r) -> Q'B
        return np.vstack([B[:1], self.block.T @ B[1:]])

    def _back(self, X: Array) -> Array:  # (a, L, r) -> Q X
        flat = X.reshape(len(X), -1)
        return np.vstack([flat[:1], self.block @ flat[1:]]).reshape(X.shape)

    def _diagonals(self, pivots: Array, lower: Array) -> Array:  # (L, a), (L, a - 1) -> (L, a)
        """diag (S K S + alpha I)^-1 for every alpha."""
        from mercer.linalg.ridge._compiled_tridiagonal import inverse_diagonal

        n = self.diagonal.size
        out = np.empty((len(pivots), n))
        first = np.zeros((1, n), order="F")
        first[0, 0] = 1.0

        def work(start: int, worker: int) -> None:
            stop = min(start + _ROWS, n - 1)
            part = np.empty((len(pivots), stop - start))
            # rows below the first have a zero in the first coordinate, so their recurrence starts at the second
            inverse_diagonal(self.block[start:stop], lower[:, 1:], pivots[:, 1:], part)
            out[:, 1 + start : 1 + stop] = part

        head = np.empty((len(pivots), 1))
        inverse_diagonal(first, lower, pivots, head)
        out[:, :1] = head
        run(range(0, n - 1, _ROWS), work, min(cpu_count(), max(1, (n - 1) // _ROWS)))
        return out


def _padded(beside: Array) -> Array:  # (a - 1,)
    return beside if beside.size else np.zeros(1)
