"""Conditioning a Gaussian on observations: variances and leave-one-out predictions from the factor of G."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.linalg.blas as blas
from numpy.typing import NDArray

from mercer.errors import InputError
from mercer.estimators.gp.mean_function import profile
from mercer.linalg.cholesky import Factor
from mercer.registry import record

Array = NDArray[np.float64]


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
