"""Conditioning a Gaussian on observations: variances and leave-one-out predictions from the factor of G."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.linalg.blas as blas
import scipy.linalg.lapack as lapack

from mercer.arrays import Array
from mercer.errors import InputError
from mercer.estimators.gp.mean_function import profile
from mercer.linalg.cholesky import Factor, cholesky
from mercer.registry import record


def whiten(factor: Factor, B: Array) -> Array:  # (n, m) -> (n, m)
    """``L^-1 B`` with G = L L', in the memory of B where its order allows.

    >>> from mercer.linalg.cholesky import cholesky
    >>> whiten(cholesky(np.eye(2), 3.0), np.array([[2.0], [4.0]])).ravel().tolist()
    [1.0, 2.0]
    """
    A = factor.matrix
    trsm = blas.dtrsm if A.dtype == np.float64 else blas.strsm
    columns = np.asfortranarray(B, dtype=A.dtype)
    solved: Array = trsm(1.0, A, columns, lower=1, overwrite_b=1)
    return solved


def remaining_variance(factor: Factor, cross: Array, prior: Array) -> Array:  # (n, m), (m,) -> (m,)
    """``k(x, x) - k_x' G^-1 k_x`` for m new points with kernel columns ``cross``, which is used up; never below zero.

    >>> from mercer.linalg.cholesky import cholesky
    >>> remaining_variance(cholesky(np.eye(1), 3.0), np.ones((1, 1)), np.ones(1)).tolist()
    [0.75]
    """
    V = whiten(factor, cross)
    return np.maximum(prior - np.einsum("ij,ij->j", V, V), 0.0)


@dataclass(frozen=True)
class LeaveOneOut:
    """Each row predicted from the others, the mean function fitted without it too."""

    residuals: Array  # (n, t) y_i - its prediction; NaN where the others leave it undetermined
    variance: Array  # (n,) of y_i given the others, its noise included
    log_density: Array  # (n, t) log p(y_i | the others)


def leave_one_out(factor: Factor, columns: Array, n_targets: int) -> LeaveOneOut:  # columns (n, t + q)
    """Closed form: with C = G^-1 - G^-1 H (H'G^-1 H)^-1 H'G^-1 the residual is (C y)_i / C_ii, the variance 1 / C_ii.

    >>> from mercer.linalg.cholesky import cholesky
    >>> loo = leave_one_out(cholesky(np.eye(2), 3.0), np.array([[1.0], [5.0]]), 1)
    >>> loo.residuals.ravel().tolist(), loo.variance.tolist()  # unrelated rows: predicted by zero
    ([1.0, 5.0], [4.0, 4.0])
    """
    t = n_targets
    S = factor.solve(columns).astype(np.float64, copy=False)
    fitted = profile(columns.T @ S, t)
    whole = factor.diag_inverse()
    diagonal = whole - np.einsum("ij,jk,ik->i", S[:, t:], fitted.covariance, S[:, t:])
    diagonal[diagonal <= 8 * np.finfo(np.float64).eps * whole] = np.nan  # the mean function needs this very row
    V = S[:, :t] - S[:, t:] @ fitted.beta
    variance = 1.0 / diagonal
    residuals = V * variance[:, None]
    log_density = -0.5 * (math.log(2.0 * math.pi) + np.log(variance)[:, None] + residuals * V)
    return LeaveOneOut(residuals, variance, log_density)


#: Levels of the calibration curve.
LEVELS = tuple(np.round(np.arange(0.05, 1.0, 0.05), 2).tolist())


@record()
@dataclass(frozen=True)
class GPLeaveOneOut:
    """Leave-one-out predictions at the fitted hyper-parameters; the coefficients of the mean are fitted without the row."""

    mean: Array  # (n,) or (n, t)
    std: Array  # same; of y, the noise included
    residuals: Array  # y - mean
    log_density: Array  # log p(y_i | all others)

    @property
    def rmse(self) -> float:
        """The root of the mean squared residual."""
        return float(np.sqrt(np.nanmean(self.residuals**2)))

    @property
    def nlpd(self) -> float:
        """The negative log predictive density, averaged over rows and targets; lower is better."""
        return -float(np.nanmean(self.log_density))

    @property
    def pit(self) -> Array:
        """P(Y_i <= y_i | all others): uniform on [0, 1] if the model is right."""
        from scipy.special import ndtr

        return np.asarray(ndtr(self.residuals / self.std))

    def coverage(self, level: float = 0.9) -> float:
        """The share of rows inside the central interval that should hold `level` of them."""
        if not 0.0 < level < 1.0:
            raise InputError(f"level must lie strictly between 0 and 1; got {level!r}.")
        pit = self.pit[np.isfinite(self.pit)]
        return float(np.mean(np.abs(pit - 0.5) <= level / 2.0)) if pit.size else float("nan")

    def calibration(self, levels: tuple[float, ...] = LEVELS) -> tuple[Array, Array]:  # -> (L,), (L,)
        """Levels and the coverage reached at each: on the diagonal if the error bars are right."""
        return np.array(levels), np.array([self.coverage(level) for level in levels])

    def __str__(self) -> str:
        return (
            f"leave-one-out: RMSE {self.rmse:.4g}, negative log density {self.nlpd:.4g}, "
            f"90 % intervals hold {100 * self.coverage(0.9):.1f} %"
        )


_BLOCK = 32  # reflections applied together


def append_rows(  # cross (n, m) old against new, corner (m, m), shift (1,) or (m,)
    factor: Factor, cross: Array, corner: Array, shift: Array
) -> Factor:
    """The factor of the system with m further rows; the old factor stays as it is.

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
    V = whiten(factor, cross.copy(order="F"))
    matrix[n:, :n] = V.T
    rest = cholesky(corner - V.T @ V, shift + factor.jitter)
    matrix[n:, n:] = np.tril(rest.matrix) + np.triu(corner, 1)
    old = np.broadcast_to(factor.shift, (n,))
    shifts = np.concatenate([old, np.broadcast_to(shift, (m,))])
    return Factor(matrix, np.concatenate([factor.diagonal, corner.diagonal()]), shifts, factor.jitter + rest.jitter)


def remove_rows(factor: Factor, index: Array) -> Factor:  # (r,) row numbers
    """The factor of the system without some rows; the old factor stays as it is.

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
    R = tpqrt(0, min(_BLOCK, len(below)), triangle, np.asfortranarray(extra.T), overwrite_a=1, overwrite_b=1)[0]
    signs = np.where(R.diagonal() < 0, -1.0, 1.0).astype(R.dtype)  # a Cholesky factor has a positive diagonal
    folded: Array = np.triu(R).T * signs
    return folded
