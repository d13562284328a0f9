"""Ridge regression in the features: w = (Z'WZ + alpha I)^-1 Z'Wy, accumulated over blocks of rows in float64.

Z never has to be in memory at once, and no n x n matrix is made: d^2 numbers carry the whole fit. The intercept is
fitted by centering, on sums taken around a shift near the mean, so that a large offset of the data costs no digits.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.linalg.lapack as lapack
import scipy.sparse

from mercer.arrays import Array
from mercer.errors import InputError
from mercer.linalg.cholesky import Factor, Factored, cholesky
from mercer.linalg.ridge import held_out as closed_form
from mercer.linalg.solution import RidgeSolution, penalties, relative_residual, row_weights, targets
from mercer.numeric.sparse_products import columns_gram

Block = tuple[Any, Array] | tuple[Any, Array, Array | None]  # Z (b, d) dense or CSR, y (b, *t), weights (b,)


@dataclass(frozen=True)
class NormalEquations:
    """``Z'WZ``, ``Z'WY`` and the other sums of a ridge fit, around ``shift`` and in float64.

    Sums over disjoint rows with one shift add and subtract: ``total.without(fold)`` are the equations of the other
    rows, which is m-fold cross-validation in one pass over the data.
    """

    gram: Array  # (d, d) sum w (z - m)(z - m)'
    moment: Array  # (d, t) sum w (z - m) y'
    sums: Array  # (d,) sum w (z - m)
    target_sums: Array  # (t,) sum w y
    weight: float  # sum w
    shift: Array  # (d,) m; zero without an intercept and for sparse rows
    fit_intercept: bool
    shape: tuple[int, ...]  # the trailing shape of the targets

    def without(self, other: NormalEquations) -> NormalEquations:
        """The equations of the rows that are not in ``other``, which must have been summed with the same shift."""
        if not np.array_equal(self.shift, other.shift) or self.fit_intercept != other.fit_intercept:
            raise InputError("normal equations can be subtracted only when they were accumulated around one shift.")
        return NormalEquations(
            self.gram - other.gram,
            self.moment - other.moment,
            self.sums - other.sums,
            self.target_sums - other.target_sums,
            self.weight - other.weight,
            self.shift,
            self.fit_intercept,
            self.shape,
        )

    def centered(self) -> tuple[Array, Array, Array, Array]:  # -> (d, d), (d, t), (d,), (t,)
        """The centered Gram and moment, the mean of the rows and the mean target; as they are without intercept."""
        if not self.fit_intercept:
            return self.gram, self.moment, np.zeros_like(self.sums), np.zeros_like(self.target_sums)
        if not self.weight > 0:
            raise InputError("no row of positive weight is left to fit the intercept on.")
        mean, middle = self.sums / self.weight, self.target_sums / self.weight
        gram = self.gram - np.outer(self.sums, mean)
        moment = self.moment - np.outer(self.sums, middle)
        return gram, moment, mean + self.shift, middle


def normal_equations(blocks: Iterable[Block], *, fit_intercept: bool = False, shift: Array | None = None) -> NormalEquations:
    """Sum the normal equations over blocks ``(Z, y)`` or ``(Z, y, weights)``; float32 rows are summed in float64.

    >>> Z, y = np.array([[1.0], [2.0], [4.0]]), np.array([2.0, 4.0, 8.0])
    >>> sums = normal_equations([(Z[:2], y[:2]), (Z[2:], y[2:])])
    >>> float(sums.gram[0, 0]), float(sums.moment[0, 0])
    (21.0, 42.0)
    """
    total: NormalEquations | None = None
    for block in blocks:
        Z, y, w = _checked(block)
        if shift is None:
            # The first mean is near enough to the mean to keep the digits; a sparse block must stay sparse.
            keep = fit_intercept and not scipy.sparse.issparse(Z) and bool(w.any())
            shift = np.average(Z, axis=0, weights=w) if keep else np.zeros(Z.shape[1])
        part = _sum_block(Z, y, w, shift, fit_intercept, np.shape(block[1])[1:])
        total = part if total is None else _add(total, part)
    if total is None:
        raise InputError("there are no rows: the normal equations need at least one block.")
    return total


def _checked(block: Block) -> tuple[Any, Array, Array]:  # -> Z (b, d) float64, y (b, t), w (b,)
    Z, y = block[0], block[1]
    if scipy.sparse.issparse(Z):
        Z = scipy.sparse.csr_array(Z).astype(np.float64)
        values = Z.data
    else:
        values = Z = np.asarray(Z, dtype=np.float64)
    if Z.ndim != 2 or 0 in Z.shape:
        raise InputError(f"a block of features must be a non-empty (rows, d) array; got shape {Z.shape}.")
    if not np.isfinite(values).all():
        raise InputError("the features hold NaN or infinity; fill in or drop those rows.")
    w = block[2] if len(block) == 3 else None
    if w is not None and not np.any(w):
        return Z, targets(y, Z.shape[0]), np.zeros(Z.shape[0])  # a block may be all idle, the whole may not
    return Z, targets(y, Z.shape[0]), row_weights(w, Z.shape[0])


def _sum_block(  # Z (b, d), y (b, t), w (b,), shift (d,)
    Z: Any, y: Array, w: Array, shift: Array, fit_intercept: bool, shape: tuple[int, ...]
) -> NormalEquations:
    if Z.shape[1] != shift.size:
        raise InputError(f"a block has {Z.shape[1]} features, the ones before it {shift.size}.")
    root = np.sqrt(w)[:, None]
    if scipy.sparse.issparse(Z):
        scaled = Z.multiply(root).tocsr()
        gram, sums, moment = columns_gram(scaled), Z.T @ w, Z.T @ (y * w[:, None])
        if shift.any():
            gram = gram - np.outer(sums, shift) - np.outer(shift, sums) + np.outer(shift, shift) * w.sum()
            moment, sums = moment - np.outer(shift, w @ y), sums - shift * w.sum()
    else:
        moved = (Z - shift) * root if shift.any() else Z * root
        gram, sums, moment = moved.T @ moved, moved.T @ root[:, 0], moved.T @ (y * root)
    return NormalEquations(gram, moment, sums, w @ y, float(w.sum()), shift, fit_intercept, shape)


def _add(a: NormalEquations, b: NormalEquations) -> NormalEquations:
    if a.shape != b.shape:
        raise InputError(f"a block has targets of shape {b.shape} per row, the ones before it {a.shape}.")
    gram = a.gram
    gram += b.gram  # the sum is ours: no second d x d array per block
    return NormalEquations(
        gram,
        a.moment + b.moment,
        a.sums + b.sums,
        a.target_sums + b.target_sums,
        a.weight + b.weight,
        a.shift,
        a.fit_intercept,
        a.shape,
    )


@dataclass(frozen=True)
class PrimalFit(Factored):
    """A primal ridge fit with its d x d factor; predictions and leave-one-out are computed block by block."""

    value: Array  # (d, *t) weights
    intercept: Array  # (*t)
    converged: bool
    n_iter: int
    residual: float
    message: str
    alpha: float
    factor: Factor
    mean: Array  # (d,) the mean the rows are centered by, zero without an intercept
    weight: float  # the total weight; infinite without an intercept

    @property
    def norm_squared(self) -> Array:  # -> (*t)
        """``||f||^2 = ||w||^2``."""
        return np.asarray(np.sum(self.value**2, axis=0))

    @property
    def effective_dof(self) -> float:
        """``tr (Z'WZ)(Z'WZ + alpha I)^-1 = d - alpha tr (Z'WZ + alpha I)^-1``, plus 1 with an intercept."""
        d = self.value.shape[0]
        lost = (self.alpha + self.jitter) * float(self.factor.diag_inverse().sum())
        return float(d - lost) + (1.0 if np.isfinite(self.weight) else 0.0)

    def predict(self, Z: Any) -> Array:  # (b, d) -> (b, *t)
        """``Z w + intercept``."""
        return np.asarray(Z @ self.value + self.intercept)

    def leverage(self, Z: Any, weights: Array | None = None) -> Array:  # (b, d), (b,) -> (b,)
        """``h_i = w_i (z_i'(Z'WZ + alpha I)^-1 z_i + 1 / sum w)`` of fitted rows, z centered with an intercept.

        >>> Z, y = np.array([[1.0], [2.0]]), np.array([1.0, 0.0])
        >>> solve_primal([(Z, y)], 5.0).leverage(Z)
        array([0.1, 0.4])
        """
        rows = Z.toarray() if scipy.sparse.issparse(Z) else np.asarray(Z, dtype=np.float64)
        w = np.ones(rows.shape[0]) if weights is None else np.asarray(weights, dtype=np.float64)
        half: Array = lapack.dtrtrs(self.factor.matrix, np.asfortranarray((rows - self.mean).T), lower=1)[0]
        own: Array = np.einsum("ij,ij->j", half, half) + 1.0 / self.weight
        return w * own

    def leave_one_out(self, Z: Any, Y: Array, weights: Array | None = None) -> Array:  # (b, d), (b, *t) -> (b, *t)
        """``(y_i - f(x_i)) / (1 - h_i)`` of fitted rows; NaN where the leverage is 1."""
        left = 1.0 - self.leverage(Z, weights)
        # Leverages of exactly one come out less by the rounding of the factor, which the condition number measures.
        blur = 10 * self.value.shape[0] * np.finfo(np.float64).eps * (self.condition if self.alpha == 0 else 1.0)
        return closed_form.leave_one_out(np.asarray(Y) - self.predict(Z), np.where(left > blur, left, 0.0))


def solve_primal(equations: NormalEquations | Iterable[Block], alpha: float, *, fit_intercept: bool = False) -> PrimalFit:
    """Minimize ``sum w_i (y_i - <w, z_i> - b)^2 + alpha ||w||^2`` from normal equations, or from blocks of rows.

    >>> Z, y = np.array([[1.0], [2.0]]), np.array([1.0, 0.0])
    >>> fit = solve_primal([(Z, y)], 5.0)
    >>> np.round(5.0 * fit.value - Z.T @ (y - Z @ fit.value), 12)  # alpha w = Z' residual
    array([0.])
    """
    if not isinstance(equations, NormalEquations):
        equations = normal_equations(equations, fit_intercept=fit_intercept)
    value = float(penalties(alpha)[0])
    gram, moment, mean, middle = equations.centered()
    factor = cholesky(gram, value)
    weights = factor.solve(moment)
    error = relative_residual(moment - factor.multiply(weights) - factor.jitter * weights, moment)
    shape = equations.shape
    note = f"; jitter {factor.jitter:.2g} was added, since Z'WZ + alpha I is singular" if factor.jitter else ""
    return PrimalFit(
        weights.reshape(-1, *shape),
        (middle - mean @ weights).reshape(shape),
        error <= float(np.finfo(np.float64).eps) ** 0.5,
        1,
        error,
        f"solved to a relative residual of {error:.1e}{note}",
        value,
        factor,
        mean,
        equations.weight if equations.fit_intercept else float("inf"),
    )


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
