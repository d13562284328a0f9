"""Least squares without a penalty: the minimum-norm solution, with the rank it rests on.

The limit alpha -> 0 of ridge regression. Where the system is singular there are many solutions; the one of smallest
norm is the limit, and the number of directions that carry it is reported. From a Gram matrix alone, `EigenFit.solve`
at alpha = 0 gives the same function.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse

from mercer.errors import InputError
from mercer.linalg.arguments import row_weights, targets
from mercer.linalg.solution import Array, RidgeSolution


def minimum_norm(  # Z (n, d), Y (n, *t), weights (n,)
    Z: Any, Y: Array, *, weights: Array | None = None, fit_intercept: bool = False, rcond: float | None = None
) -> RidgeSolution:
    """The weights of smallest norm among the minimizers of ``sum w_i (y_i - <w, z_i> - b)^2``, by the SVD (gelsd).

    Singular values up to ``rcond`` (default max(n, d) eps) times the largest count as zero. ``residual`` is the
    gradient ||Z'W r|| / ||Z'W y|| that a minimizer brings to zero.

    >>> fit = minimum_norm(np.array([[1.0, 1.0], [2.0, 2.0]]), np.array([2.0, 4.0]))  # two equal columns
    >>> fit.value.round(12), fit.rank
    (array([1., 1.]), 1)
    """
    if scipy.sparse.issparse(Z):
        raise InputError("minimum-norm least squares needs a dense Z; call .toarray(), or give an alpha > 0.")
    Z = np.asarray(Z)
    if Z.ndim != 2 or 0 in Z.shape or Z.dtype.kind not in "biuf":
        raise InputError(f"Z must be a non-empty (n, d) array of numbers; got {Z.dtype} {Z.shape}.")
    if not np.isfinite(Z).all():
        raise InputError(f"Z has a NaN or infinite value in row {int(np.argwhere(~np.isfinite(Z))[0, 0])}.")
    w = row_weights(weights, Z.shape[0])
    y = targets(Y, Z.shape[0]).astype(np.float64)
    mean, middle = np.zeros(Z.shape[1]), np.zeros(y.shape[1])
    if fit_intercept:
        mean, middle = np.average(Z.astype(np.float64), axis=0, weights=w), np.average(y, axis=0, weights=w)
    eps = float(np.finfo(Z.dtype if Z.dtype.kind == "f" else np.float64).eps)
    A, b = (Z - mean)[w > 0] * np.sqrt(w[w > 0])[:, None], (y - middle)[w > 0] * np.sqrt(w[w > 0])[:, None]
    value, _, rank, sigma = scipy.linalg.lstsq(
        A, b, cond=max(A.shape) * eps if rcond is None else rcond, lapack_driver="gelsd", check_finite=False
    )
    gradient, scale = np.linalg.norm(A.T @ (b - A @ value)), np.linalg.norm(A.T @ b)
    error = float(gradient / scale) if scale > 0 else float(gradient)
    return RidgeSolution(
        value.reshape(-1, *np.shape(Y)[1:]),
        (middle - mean @ value).reshape(np.shape(Y)[1:]),
        error <= 1e-9,
        1,
        error,
        f"rank {rank} of {min(A.shape)}" + ("" if rank == min(A.shape) else ": the solution of smallest norm"),
        0.0,
        int(rank),
        float(sigma[0] / sigma[rank - 1]) if rank else 1.0,
    )
