"""Prediction intervals from held-out residuals: jackknife, jackknife+ and CV+ (Barber et al. 2021).

Row i has the residual e_i under a fit f_i without it: without this row alone (jackknife), or without its fold (CV+). With
r = ceil(coverage (n + 1)) the interval at x runs from the (n + 1 - r)-th smallest of f_i(x) - |e_i| to the r-th smallest of
f_i(x) + |e_i|. The plain jackknife takes f for every f_i. With too few rows an interval is infinite.
"""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Array, Floats, Indices
from mercer.errors import InputError, describe


def conformal_rank(n: int, coverage: float) -> int:
    """Return ``ceil(coverage (n + 1))``, the rank of the residual that bounds the interval; n + 1 stands for infinity.

    >>> conformal_rank(9, 0.9), conformal_rank(19, 0.9), conformal_rank(8, 0.9)
    (9, 18, 9)
    """
    if isinstance(coverage, bool) or not isinstance(coverage, Real) or not 0.0 < coverage < 1.0:
        shown = f"{coverage:g}" if isinstance(coverage, Real) else describe(coverage)
        raise InputError(f"coverage must be between 0 and 1, such as 0.9; got {shown}.")
    exact = coverage * (n + 1)
    # 0.7 * 10 may be 7.000000000000001 by rounding: the whole number is meant
    return min(math.ceil(exact - max(1e-9, 4 * np.finfo(np.float64).eps * exact)), n + 1)


def conformal_radius(sizes: Array, coverage: float, weights: Array | None = None) -> float:  # (n,), number, (n,)
    """Return the ceil(coverage (n + 1))-th smallest of n sizes of residuals; infinite if n is too small.

    With weights, a size counts as often as its weight says, in units of the mean weight.

    >>> conformal_radius(np.array([1.0, 4.0, 2.0, 3.0]), 0.8), conformal_radius(np.ones(4), 0.9)
    (4.0, inf)
    >>> conformal_radius(np.array([1.0, 4.0, 2.0, 3.0]), 0.6, weights=np.array([3.0, 0.5, 0.25, 0.25]))
    1.0
    """
    rank = conformal_rank(len(sizes), coverage)
    if weights is not None:
        order = np.argsort(sizes, kind="stable")
        reached = np.cumsum(weights[order]) / np.mean(weights)
        place = int(np.searchsorted(reached, coverage * (len(sizes) + 1) - 1e-9 * len(sizes)))
        return float(sizes[order[place]]) if place < len(sizes) else math.inf
    return float(np.partition(sizes, rank - 1)[rank - 1]) if rank <= len(sizes) else math.inf


def jackknife_radius(loo: Array, coverage: float) -> float:  # (n,)
    """Return half the width of the jackknife interval f(x) -+ radius, from leave-one-out residuals.

    >>> jackknife_radius(np.array([1.0, -4.0, 2.0, 3.0]), 0.8)
    4.0
    """
    return conformal_radius(_sizes(loo), coverage)


def held_out_interval(centers: Array, sizes: Array, coverage: float) -> Array:  # (m, n), (n,) -> (m, 2)
    """Return the interval at m new points from the predictions f_i(x) (row: point, column: i) and the sizes |e_i|.

    >>> held_out_interval(np.zeros((1, 4)), np.array([1.0, 4.0, 2.0, 3.0]), 0.8)
    array([[-4.,  4.]])
    """
    m, n = centers.shape
    rank = conformal_rank(n, coverage)
    if rank > n:
        return np.broadcast_to([-np.inf, np.inf], (m, 2)).copy()
    upper = np.partition(centers + sizes, rank - 1, axis=1)[:, rank - 1]
    lower = np.partition(centers - sizes, n - rank, axis=1)[:, n - rank]
    return np.stack([lower, upper], axis=1)


def jackknife_plus(prediction: Array, influence: Array, loo: Array, coverage: float) -> Array:
    # (m,), (m, n), (n,) -> (m, 2)
    """Return jackknife+ intervals, which cover with probability >= 1 - 2 (1 - coverage) for any data.

    The fit without row i predicts f_i(x) = f(x) - e_i d f(x)/d y_i. Rows of ``prediction`` and ``influence`` are new points;
    give a large set in parts. After tuning on the same residuals the guarantee is approximate.

    >>> jackknife_plus(np.array([0.0]), np.zeros((1, 4)), np.array([1.0, -4.0, 2.0, 3.0]), 0.8)
    array([[-4.,  4.]])
    """
    sizes, center = _sizes(loo), np.asarray(prediction, dtype=np.float64)
    if np.shape(influence) != (center.size, sizes.size) or center.ndim != 1:
        raise InputError(
            f"influence must have one row per prediction and one column per residual, {(center.size, sizes.size)}; "
            f"got {np.shape(influence)}."
        )
    known = np.where(np.isfinite(sizes), np.asarray(loo, dtype=np.float64), 0.0)
    return held_out_interval(center[:, None] - np.asarray(influence) * known, sizes, coverage)


def cv_plus(by_fold: Array, sizes: Array, folds: Indices, coverage: float) -> Array:  # (m, F), (n,), (n,) -> (m, 2)
    """Return CV+ intervals from the predictions of the F fold models at m new points; `folds` is the fold of each row.

    >>> cv_plus(np.array([[0.0, 1.0]]), np.ones(4), np.array([0, 0, 1, 1]), 0.8)
    array([[-1.,  2.]])
    """
    if len(folds) and not 0 <= folds.min() <= folds.max() < by_fold.shape[1]:
        raise InputError(f"folds must lie in 0 … {by_fold.shape[1] - 1}; the model was damaged or changed after the fit.")
    out = np.empty((len(by_fold), 2))
    for start in range(0, len(out), FOLD_ROWS):
        part = slice(start, start + FOLD_ROWS)
        out[part] = held_out_interval(by_fold[part][:, folds], sizes, coverage)
    return out


def _sizes(loo: Array) -> Array:  # (n,) -> (n,)
    loo = np.asarray(loo, dtype=np.float64)
    if loo.ndim != 1:
        raise InputError(f"leave-one-out residuals must have shape (n,), one target at a time; got {loo.shape}.")
    return np.where(np.isnan(loo), np.inf, np.abs(loo))


#: New points whose n candidates for either end are held at a time by CV+.
FOLD_ROWS = 256

#: New points whose derivatives by all training targets are held at a time by jackknife+.
NEW_ROWS = 1024


class IntervalMixin:
    """Gives `predict_interval` to a regressor that has `predict`, `loo_residuals_` and, for jackknife+, `_influence`."""

    def predict_interval(
        self: Any, X: Any, coverage: float = 0.9, *, method: str = "jackknife", shift: Any = None
    ) -> Floats:
        """Return an interval for the target at each new point, (n, 2), or (n, 2, t) for several targets.

        Parameters
        ----------
        coverage : float
            The fraction of new targets that should fall inside.
        method : "jackknife", "jackknife+" or "local"
            The jackknife takes f(x) -+ q, q the ceil(coverage (n + 1))-th smallest leave-one-out residual: no further
            factorization. The jackknife+ moves each end with the leave-one-out predictions at x; it covers at least
            1 - 2 (1 - coverage) whatever the data. After tuning on the same residuals both are approximate. "local" makes
            intervals wider where leave-one-out residuals are larger, so that they cover near every point, approximately.
        shift : Kernel or str, optional
            For "local": the kernel of the shifts of the rows that are guarded against, by default the kernel of the model.

        Sample weights count in the fit only: rows of weight zero are out, every other row is one residual, whatever its
        weight, and is left out with all its copies. The jackknife takes equal rows with equal targets for copies; up to 200
        rows it repeats the choice of `KernelRidgeCV` without each row.
        """
        if method not in ("jackknife", "jackknife+", "local"):
            raise InputError(f'method must be "jackknife", "jackknife+" or "local"; got {method!r}.')
        if shift is not None and method != "local":
            raise InputError(f'shift= is for method="local"; got method={method!r}.')
        prediction = self.predict(X)
        centers = prediction.reshape(len(prediction), -1)
        if method == "jackknife":
            radii = self._radii(coverage)
            intervals = np.stack([centers - radii, centers + radii], axis=1)
        elif method == "local":
            intervals = self._local_intervals(X, centers, coverage, shift)
        else:
            intervals = self._jackknife_plus(X, centers, coverage)
        return intervals[:, :, 0] if prediction.ndim == 1 else intervals

    def _radii(self: Any, coverage: float) -> Floats:  # -> (t,)
        """Half the width of the jackknife's interval, for each target."""
        loo = self.loo_residuals_
        loo = loo.reshape(len(loo), -1)[self._in_fit(len(loo))]
        return np.array([jackknife_radius(column, coverage) for column in loo.T])

    def _in_fit(self, n: int) -> NDArray[np.bool_]:  # -> (n,)
        """Whether each row counts in the fit; rows of weight zero do not belong to the sample."""
        return np.ones(n, dtype=bool)

    def _jackknife_plus(self: Any, X: Any, centers: Array, coverage: float) -> Floats:  # -> (m, 2, t)
        loo = self.loo_residuals_.reshape(-1, centers.shape[1])
        used = self._in_fit(len(loo))
        intervals = np.empty((len(centers), 2, centers.shape[1]))
        for rows, target, influence in self._influence(X, NEW_ROWS):
            for j in target:
                intervals[rows, :, j] = jackknife_plus(centers[rows, j], influence[:, used], loo[used, j], coverage)
        return intervals
