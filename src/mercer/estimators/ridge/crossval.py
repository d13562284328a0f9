"""Held-out residuals in closed form from a Cholesky factor: leave-one-out and any folds, no refits.

For a fold F the residuals under the fit without F are (C_FF)^-1 dual_F, with C of `dual`; leave-one-out is the fold of
one row. This is the route for a few alphas (one factorization each, all in the Gram's memory); `EigenFit` has the
same answers for many. At alpha = 0 a factor interpolates, every leverage is 1, and held-out residuals are NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from mercer.arrays import Array
from mercer.linalg.cholesky import Inverse
from mercer.linalg.ridge.dual import DualFit, fit_rows
from mercer.linalg.ridge.eigen_fit import solve_or_nan
from mercer.linalg.solution import fold_rows, penalties, split_rows


@dataclass(frozen=True)
class HeldOutResiduals:
    """Held-out residuals ``y - f_without(x)`` of every fold for every alpha, and the jitter each alpha needed."""

    residuals: list[Array]  # per fold (L, f, *t)
    jitter: Array  # (L,)
    undefined: int  # how many residuals are NaN, because their rows have leverage 1
    message: str


def leave_one_out(fit: DualFit) -> Array:  # -> (n, *t)
    """``y_i - f_without_i(x_i) = dual_i / C_ii``; NaN at leverage 1, and the plain residual at weight zero.

    The cost is n^3/3 flops for diag(C), in the memory of the factor.

    >>> from mercer.linalg.ridge.dual import solve_dual
    >>> leave_one_out(solve_dual(np.eye(2), np.array([1.0, 3.0]), 1.0)).round(12)  # nothing else is known of a row
    array([1., 3.])
    """
    out = fit.residuals.copy()
    active = fit.rows.active
    diag = fit.diag_c if fit.alpha > 0 else np.zeros(active.size)
    scale = np.where(diag > 0, diag, np.nan)
    out[active] = (fit.value[active].T / scale).T
    return out


def held_out(fit: DualFit, folds: Sequence[Array]) -> list[Array]:  # -> per fold (f, *t)
    """Residuals of each fold under the fit without it, ``(C_FF)^-1 dual_F``; consumes the factor of the fit.

    >>> from mercer.linalg.ridge.dual import solve_dual
    >>> K, y = np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([1.0, -2.0])
    >>> held_out(solve_dual(K, y, 1.0), [[0, 1]])[0].round(12)  # without both rows the prediction is 0
    array([ 1., -2.])
    """
    return _held_out(fit, fold_rows(folds, fit.rows.n), fit.factor.inverse())


def _held_out(fit: DualFit, folds: list[Array], inverse: Inverse) -> list[Array]:
    n, shape = fit.rows.n, fit.value.shape[1:]
    dual, residuals = fit.value.reshape(n, -1), fit.residuals.reshape(n, -1)
    place = np.full(n, -1)
    place[fit.rows.active] = np.arange(fit.rows.active.size)
    results = []
    for rows in folds:
        errors = residuals[rows]
        inside = place[rows] >= 0
        fitted = place[rows[inside]]
        if fitted.size:
            errors[inside] = _fold(fit, fitted, dual[rows[inside]], inverse)
            if not inside.all():
                moved = np.zeros((fit.rows.active.size, dual.shape[1]))
                moved[fitted] = errors[inside]
                errors[~inside] += _shift_of_idle(fit, rows[~inside], moved, inverse)
        results.append(errors.reshape(rows.size, *shape))
    return results


def _fold(fit: DualFit, fitted: Array, dual: Array, inverse: Inverse) -> Array:  # (f,), (f, t) -> (f, t)
    if fit.alpha == 0:
        return np.full(dual.shape, np.nan)
    block = inverse.block(fitted).astype(np.float64)
    if fit.means is not None:
        block -= np.outer(fit.means[fitted], fit.means[fitted]) * fit.total
    return solve_or_nan(block, dual, 0.0)


def _shift_of_idle(fit: DualFit, idle: Array, moved: Array, inverse: Inverse) -> Array:  # (i,), (a, t) -> (i, t)
    """How rows of weight zero see a fold go: fitting y_F - e_F for y_F lowers their prediction by this much."""
    change = inverse.multiply(moved).astype(np.float64)  # of G^-1 y
    outside = fit.rows.outside[np.searchsorted(fit.rows.idle, idle)]
    if fit.means is None:
        return np.asarray(outside @ change)
    intercept = fit.means @ moved
    change -= np.outer(fit.means * fit.total, intercept)
    return np.asarray(outside @ change + intercept)


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
            per_alpha.append([leave_one_out(fit)])
            fit.factor.restore()
        else:
            inverse = fit.factor.inverse()
            per_alpha.append(_held_out(fit, checked, inverse))
            inverse.restore()
        if progress is not None:
            progress(index + 1, values.size)
    residuals = [np.stack(parts) for parts in zip(*per_alpha, strict=True)]
    return HeldOutResiduals(residuals, jitter, *count_undefined(residuals))


def count_undefined(residuals: Sequence[Array]) -> tuple[int, str]:
    """How many held-out residuals are NaN, and the sentence that says why.

    >>> count_undefined([np.array([1.0, np.nan])])[1]
    '1 of 2 held-out residuals are undefined: ...'
    """
    total = sum(part.size for part in residuals)
    lost = sum(int(np.isnan(part).sum()) for part in residuals)
    if not lost:
        return 0, f"all {total} held-out residuals are defined"
    return lost, (
        f"{lost} of {total} held-out residuals are undefined: their rows have leverage 1 (alpha = 0, or nothing left "
        "to fit the intercept on), so the fit follows them whatever their targets; raise alpha"
    )
