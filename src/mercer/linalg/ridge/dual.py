"""Ridge regression in its dual form, from one factor in the Gram's own memory.

With G = K + alpha W^-1 and C = G^-1 - G^-1 1 1' G^-1 / (1' G^-1 1) (C = G^-1 without an intercept):
dual = C y, f(x) = k_x' dual + b, b = v'y with v = G^-1 1 / (1' G^-1 1), and y - f = alpha W^-1 dual on the fitted rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mercer.arrays import Array
from mercer.errors import InputError
from mercer.linalg.cholesky import Factor, Factored, cholesky, solve_refined
from mercer.linalg.solution import SplitRows, penalties, relative_residual, split_rows, targets


@dataclass(frozen=True)
class DualFit(Factored):
    """A dual ridge fit with the factor it came from; the factor answers everything else without a second one."""

    value: Array  # (n, *t) dual coefficients, zero on rows of weight zero
    intercept: Array  # (*t)
    residuals: Array  # (n, *t) y - f
    converged: bool
    n_iter: int
    residual: float
    message: str
    alpha: float
    factor: Factor
    rows: SplitRows
    means: Array | None  # (a,) v with b = v'y; None without an intercept
    total: float  # 1'G^-1 1, the denominator of v; 0 without an intercept

    @property
    def norm_squared(self) -> Array:  # -> (*t)
        """``||f||^2 = dual' K dual``, without the intercept."""
        a = self.rows.active
        dual = self.value[a].reshape(a.size, -1)
        smooth = self.factor.multiply(dual) - (self.factor.shift * dual.T).T  # K dual, from the untouched triangle
        norms: Array = np.sum(dual * smooth, axis=0)
        return np.maximum(norms, 0.0).reshape(self.intercept.shape)

    @cached_property
    def diag_c(self) -> Array:  # -> (a,)
        """``diag(C)`` on the fitted rows, n^3/3 flops when first asked for; the factor turns into its inverse."""
        diag = self.factor.diag_inverse(overwrite=True)
        return diag if self.means is None else centered_diagonal(diag, self.means, self.total)

    def leverage(self) -> Array:  # -> (n,)
        """``h_i = d f(x_i) / d y_i = 1 - alpha C_ii / w_i``, the intercept included; 0 on rows of weight zero."""
        out = np.zeros(self.rows.n)
        out[self.rows.active] = 1.0 - (self.factor.shift + self.jitter) * self.diag_c
        return out

    def effective_dof(self) -> float:
        """``tr H``, the sum of the leverages."""
        return float(self.leverage().sum())

    def influence(self, kernel_rows: Array) -> Array:  # (m, n) -> (m, n)
        """``d f(x) / d y_i`` for new points with kernel rows k_x: k_x' C, plus v with an intercept.

        The prediction without row i is f(x) - e_i times this, e_i the leave-one-out residual.

        >>> K = np.array([[2.0, 1.0], [1.0, 2.0]])
        >>> y = np.array([1.0, 0.0])
        >>> fit = solve_dual(K, y, 1.0)
        >>> np.allclose(fit.influence(K) @ y, y - fit.residuals)
        True
        """
        out = np.zeros(kernel_rows.shape)
        part = self.factor.solve(np.asarray(kernel_rows)[:, self.rows.active].T).T
        if self.means is not None:
            part = part + np.outer(1.0 - part.sum(axis=1), self.means)
        out[:, self.rows.active] = part
        return out


def centered_diagonal(diag: Array, means: Array, total: float) -> Array:  # (a,), (a,), 1'G^-1 1 -> (a,)
    """``diag(G^-1 - u u' / (1'u))`` with u = means total; what rounding leaves of an exact zero is zero.

    >>> centered_diagonal(np.array([1.0, 1.0]), np.array([0.5, 0.5]), 2.0).tolist()
    [0.5, 0.5]
    """
    taken = means**2 * total
    left = diag - taken
    left[left <= 8 * np.finfo(np.float64).eps * diag] = 0.0
    return left


def solve_dual(  # K (n, n), Y (n, *t), weights (n,)
    K: Array,
    Y: Array,
    alpha: float,
    *,
    weights: Array | None = None,
    fit_intercept: bool = False,
    overwrite: bool = False,
) -> DualFit:
    """Minimize ``sum w_i (y_i - f(x_i))^2 + alpha ||f||^2`` over f = sum dual_i k(x_i, .) + intercept.

    With ``overwrite`` the factor takes the memory of K and no other n x n array is made. A float32 factor is refined
    to float64 answers where the condition allows.

    >>> K = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> y = np.array([1.0, -2.0])
    >>> fit = solve_dual(K, y, 0.5)
    >>> bool(np.allclose(fit.value, (y - K @ fit.value) / 0.5))  # dual = residual / alpha
    True
    """
    if np.ndim(alpha) != 0:
        raise InputError("alpha must be one number; solve once for each target that has its own.")
    rows = split_rows(K, weights, overwrite=overwrite)
    return fit_rows(rows, Y, float(penalties(alpha)[0]), fit_intercept)


def fit_rows(rows: SplitRows, Y: Array, alpha: float, fit_intercept: bool) -> DualFit:  # Y (n, *t)
    """The dual fit in the memory of ``rows.matrix``; ``fit.factor.restore()`` gives the matrix back."""
    columns = targets(Y, rows.n).astype(np.float64, copy=False)
    known = columns[rows.active]
    uniform = bool((rows.weights == rows.weights[0]).all())
    shift = alpha / (rows.weights[:1] if uniform else rows.weights)
    factor = cholesky(rows.matrix, shift, overwrite=True)
    rhs = np.column_stack([known, np.ones(len(known))]) if fit_intercept else known
    X, steps, note = _solve(factor, rhs)
    intercept, means, total = np.zeros(columns.shape[1]), None, 0.0
    if fit_intercept:
        total = float(X[:, -1].sum())
        X, means = X[:, :-1], X[:, -1] / total
        intercept = means @ known
        X = X - np.outer(means, X.sum(axis=0))  # C y = X - u (1'X) / (1'u)
    error = relative_residual(known - intercept - factor.multiply(X) - factor.jitter * X, known)
    dual, residuals = np.zeros(columns.shape), np.empty(columns.shape)
    dual[rows.active] = X
    residuals[rows.active] = ((factor.shift + factor.jitter) * X.T).T
    residuals[rows.idle] = columns[rows.idle] - rows.outside @ X - intercept
    shape = np.shape(Y)
    converged = error <= float(np.finfo(factor.dtype).eps) ** 0.5
    return DualFit(
        dual.reshape(shape),
        intercept.reshape(shape[1:]),
        residuals.reshape(shape),
        converged,
        steps,
        error,
        _message(factor, error, converged, note),
        alpha,
        factor,
        rows,
        means,
        total,
    )


def _solve(factor: Factor, rhs: Array) -> tuple[Array, int, str]:  # (a, t) -> (a, t), steps, note
    # With jitter the matrix asked for is singular to working precision: refining towards it would not settle.
    if factor.dtype == np.float64 or factor.jitter:
        return factor.solve(rhs).astype(np.float64, copy=False), 1, ""
    refined = solve_refined(factor, factor.multiply, rhs)
    return refined.value, refined.n_iter, refined.message


def _message(factor: Factor, error: float, converged: bool, note: str) -> str:
    text = f"solved to a relative residual of {error:.1e}"
    if note:
        text += f"; {note}"
    if factor.jitter:
        text += f"; jitter {factor.jitter:.2g} was added to the diagonal, since K + alpha I is singular to rounding"
    return text if converged else text + "; the system is badly conditioned, raise alpha"
