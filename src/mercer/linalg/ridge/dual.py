"""Ridge regression in its dual form, from one factor in the Gram's own memory.

With G = K + alpha W^-1 and C = G^-1 - G^-1 1 1' G^-1 / (1' G^-1 1) (C = G^-1 without an intercept):
dual = C y, f(x) = k_x' dual + b, b = v'y with v = G^-1 1 / (1' G^-1 1), and y - f = alpha W^-1 dual on the fitted rows.

`cholesky_held_out` is the route to held-out residuals for a few alphas: one factorization each, all in the memory of the
Gram matrix. `EigenFit` gives the same for many alphas. At alpha = 0 a factor interpolates, every leverage is 1, and
held-out residuals are NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mercer.arrays import Array, Indices
from mercer.errors import InputError
from mercer.linalg.cholesky import Factor, Factored, Inverse, cholesky, solve_refined
from mercer.linalg.ridge import held_out as closed_form
from mercer.linalg.solution import SplitRows, fold_rows, penalties, relative_residual, split_rows, targets


@dataclass(frozen=True)
class DualFit(Factored):
    """A dual ridge fit with the factor it came from, which gives leverages and held-out residuals."""

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
        """``diag(C)`` on the fitted rows, n^3/3 flops at the first access; the factor turns into its inverse."""
        diag = self.factor.diag_inverse(overwrite=True)
        return diag if self.means is None else closed_form.centered_diagonal(diag, self.means**2 * self.total)

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

    def leave_one_out(self) -> Array:  # -> (n, *t)
        """Return ``y_i - f_without_i(x_i)``; NaN at leverage 1, and the plain residual at weight zero.

        The cost is n^3/3 flops for diag(C), in the memory of the factor.

        >>> solve_dual(np.eye(2), np.array([1.0, 3.0]), 1.0).leave_one_out().round(12)  # rows without any relation
        array([1., 3.])
        """
        out, active = self.residuals.copy(), self.rows.active
        diagonal = self.diag_c if self.alpha > 0 else np.zeros(active.size)
        out[active] = closed_form.leave_one_out(self.value[active], diagonal)
        return out

    def held_out(self, folds: Sequence[Array]) -> list[Array]:  # -> per fold (f, *t)
        """Return the residuals of each fold under the fit without it; consumes the factor.

        >>> K, y = np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([1.0, -2.0])
        >>> solve_dual(K, y, 1.0).held_out([[0, 1]])[0].round(12)  # without both rows the prediction is 0
        array([ 1., -2.])
        """
        return self._held_out(fold_rows(folds, self.rows.n), self.factor.inverse())

    def held_out_last(self, groups: Indices) -> Array:  # (m,) -> (m, *t)
        """Return the residuals of the last m rows, each left out together with the others of its group.

        (G^-1) on the last rows follows from the last block of the Cholesky factor alone: m^3 flops after the fit, and no
        inverse of the whole. All weights must be positive.

        >>> K, y = np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([1.0, -2.0])
        >>> solve_dual(K, y, 1.0).held_out_last(np.array([0])).round(12)  # y_1 - K_10 y_0 / (K_00 + alpha)
        array([-2.33333333])
        """
        m, shape = len(groups), self.value.shape[1:]
        if m == 0:
            return np.empty((0, *shape))
        if self.rows.idle.size:
            raise InputError("the last rows can be left out of a fit only if all weights are positive.")
        first = self.rows.n - m
        block = self.factor.last_inverse(m).astype(np.float64, copy=False)
        if self.means is not None:
            block -= np.outer(self.means[first:], self.means[first:]) * self.total
        dual = self.value[first:].reshape(m, -1)
        return closed_form.held_out_groups(block, dual, np.asarray(groups)).reshape(m, *shape)

    def _held_out(self, folds: list[Array], inverse: Inverse) -> list[Array]:
        n, shape = self.rows.n, self.value.shape[1:]
        dual, residuals = self.value.reshape(n, -1), self.residuals.reshape(n, -1)
        place = np.full(n, -1)
        place[self.rows.active] = np.arange(self.rows.active.size)
        results = []
        for rows in folds:
            errors = residuals[rows]
            inside = place[rows] >= 0
            fitted = place[rows[inside]]
            if fitted.size:
                errors[inside] = self._fold(fitted, dual[rows[inside]], inverse)
                if not inside.all():
                    moved = np.zeros((self.rows.active.size, dual.shape[1]))
                    moved[fitted] = errors[inside]
                    errors[~inside] += self._shift_of_idle(rows[~inside], moved, inverse)
            results.append(errors.reshape(rows.size, *shape))
        return results

    def _fold(self, fitted: Array, dual: Array, inverse: Inverse) -> Array:  # (f,), (f, t) -> (f, t)
        if self.alpha == 0:
            return np.full(dual.shape, np.nan)
        block = inverse.block(fitted).astype(np.float64)
        if self.means is not None:
            block -= np.outer(self.means[fitted], self.means[fitted]) * self.total
        return closed_form.held_out(block, dual)

    def _shift_of_idle(self, idle: Array, moved: Array, inverse: Inverse) -> Array:  # (i,), (a, t) -> (i, t)
        """How leaving out a fold lowers the prediction at rows of weight zero: y_F is replaced by y_F - e_F."""
        change = inverse.multiply(moved).astype(np.float64)  # of G^-1 y
        outside = self.rows.outside[np.searchsorted(self.rows.idle, idle)]
        if self.means is None:
            return np.asarray(outside @ change)
        intercept = self.means @ moved
        change -= np.outer(self.means * self.total, intercept)
        return np.asarray(outside @ change + intercept)


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
    # With jitter the given matrix is singular to working precision: refinement towards it would not converge.
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


@dataclass(frozen=True)
class HeldOutResiduals:
    """Held-out residuals ``y - f_without(x)`` of every fold for every alpha, and the jitter each alpha needed."""

    residuals: list[Array]  # per fold (L, f, *t)
    jitter: Array  # (L,)
    undefined: int  # how many residuals are NaN, because their rows have leverage 1
    message: str


def cholesky_held_out(  # K (n, n), Y (n, *t), alphas (L,), weights (n,)
    K: Array,
    Y: Array,
    alphas: Array,
    *,
    folds: Sequence[Array] | None = None,
    weights: Array | None = None,
    fit_intercept: bool = False,
    overwrite: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> HeldOutResiduals:
    """Held-out residuals for a few alphas, one factorization each in the same memory; leave-one-out without folds.

    Leave-one-out is one entry of ``residuals`` with all rows. ``progress(done, total)`` is called after each alpha.

    >>> K, y = np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([1.0, -2.0])
    >>> cholesky_held_out(K, y, [1.0]).residuals[0].round(12)  # y_i - K_ij y_j / (K_jj + alpha)
    array([[ 1.66666667, -2.33333333]])
    """
    values = penalties(alphas, "alphas")
    rows = split_rows(K, weights, overwrite=overwrite)
    checked = None if folds is None else fold_rows(folds, rows.n)
    per_alpha, jitter = [], np.zeros(values.size)
    for index, alpha in enumerate(values):
        fit = fit_rows(rows, Y, float(alpha), fit_intercept)
        jitter[index] = fit.jitter
        if checked is None:
            per_alpha.append([fit.leave_one_out()])
            fit.factor.restore()
        else:
            inverse = fit.factor.inverse()
            per_alpha.append(fit._held_out(checked, inverse))
            inverse.restore()
        if progress is not None:
            progress(index + 1, values.size)
    residuals = [np.stack(parts) for parts in zip(*per_alpha, strict=True)]
    return HeldOutResiduals(residuals, jitter, *closed_form.count_undefined(residuals))
