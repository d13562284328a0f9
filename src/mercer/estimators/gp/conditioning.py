"""Conditioning a Gaussian on observations: variances and leave-one-out predictions from the factor of G."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.linalg.blas as blas

from mercer.estimators.gp.mean_columns import profile
from mercer.linalg.cholesky import Factor
from mercer.linalg.solution import Array


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
