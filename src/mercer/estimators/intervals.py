"""Prediction intervals for regressors, from leave-one-out residuals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Array, Floats
from mercer.errors import InputError


def conformal_rank(n: int, coverage: float) -> int:
    """``ceil(coverage (n + 1))``, the rank of the residual that bounds the interval; n + 1 stands for infinity.

    >>> conformal_rank(9, 0.9), conformal_rank(19, 0.9), conformal_rank(8, 0.9)
    (9, 18, 9)
    """
    if not 0.0 < coverage < 1.0:
        raise InputError(f"coverage must be between 0 and 1, such as 0.9; got {coverage:g}.")
    # 0.7 * 10 is 7.000000000000001 or 6.999999999999999 by rounding: whole numbers are meant.
    return min(math.ceil(round(coverage * (n + 1), 9)), n + 1)


def _absolute(loo: Array) -> Array:  # (n,) -> (n,)
    loo = np.asarray(loo, dtype=np.float64)
    if loo.ndim != 1:
        raise InputError(f"leave-one-out residuals must have shape (n,), one target at a time; got {loo.shape}.")
    return np.where(np.isnan(loo), np.inf, np.abs(loo))


def jackknife_radius(loo: Array, coverage: float) -> float:  # (n,)
    """The ceil(coverage (n + 1))-th smallest |leave-one-out residual|: the jackknife's interval is f(x) -+ this.

    It is infinite when n is too small.

    >>> jackknife_radius(np.array([1.0, -4.0, 2.0, 3.0]), 0.8), jackknife_radius(np.ones(4), 0.9)
    (4.0, inf)
    """
    size = _absolute(loo)
    rank = conformal_rank(size.size, coverage)
    return float(np.partition(size, rank - 1)[rank - 1]) if rank <= size.size else math.inf


def jackknife_plus(prediction: Array, influence: Array, loo: Array, coverage: float) -> Array:
    # (m,), (m, n), (n,) -> (m, 2)
    """The jackknife+ of Barber et al. (2021), which covers with probability >= 1 - 2 (1 - coverage) for any data.

    The fit without row i predicts f_i(x) = f(x) - e_i d f(x)/d y_i. The interval runs from the (n + 1 - r)-th smallest
    of f_i(x) - |e_i| to the r-th smallest of f_i(x) + |e_i|. Rows of ``prediction`` and ``influence`` are new points,
    so a large set is done tile by tile. After tuning on the same residuals the guarantee is approximate.

    >>> jackknife_plus(np.array([0.0]), np.zeros((1, 4)), np.array([1.0, -4.0, 2.0, 3.0]), 0.8)
    array([[-4.,  4.]])
    """
    size = _absolute(loo)
    center = np.asarray(prediction, dtype=np.float64)
    if np.shape(influence) != (center.size, size.size) or center.ndim != 1:
        raise InputError(
            f"influence must have one row per prediction and one column per residual, {(center.size, size.size)}; "
            f"got {np.shape(influence)}."
        )
    rank = conformal_rank(size.size, coverage)
    if rank > size.size:
        return np.broadcast_to([-np.inf, np.inf], (center.size, 2)).copy()
    known = np.where(np.isfinite(size), np.asarray(loo, dtype=np.float64), 0.0)
    without = center[:, None] - np.asarray(influence) * known
    upper = np.partition(without + size, rank - 1, axis=1)[:, rank - 1]
    lower = np.partition(without - size, size.size - rank, axis=1)[:, size.size - rank]
    return np.stack([lower, upper], axis=1)


#: Rows of new points whose influence on all training rows is held at a time.
NEW_ROWS = 1024


class IntervalMixin:
    """Gives `predict_interval` to a regressor that has `predict`, `loo_residuals_` and, for jackknife+, `_influence`."""

    def predict_interval(self: Any, X: Any, coverage: float = 0.9, *, method: str = "jackknife") -> Floats:
        """Return an interval for the target at each new point, (n, 2), or (n, 2, t) for several targets.

        Parameters
        ----------
        coverage : float
            The fraction of new targets that should fall inside.
        method : "jackknife" or "jackknife+"
            The jackknife takes f(x) -+ q, q the ceil(coverage (n + 1))-th smallest leave-one-out residual: no further
            factorization. The jackknife+ moves each end with the leave-one-out predictions at x; it covers at least
            1 - 2 (1 - coverage) whatever the data. After tuning on the same residuals both are approximate.

        Sample weights count in the fit only: rows of weight zero are out, every other row is one residual, whatever its
        weight, and is left out with all its copies.
        """
        if method not in ("jackknife", "jackknife+"):
            raise InputError(f'method must be "jackknife" or "jackknife+"; got {method!r}.')
        prediction = self.predict(X)
        centers = prediction.reshape(len(prediction), -1)
        if method == "jackknife":
            radii = self._radii(coverage)
            intervals = np.stack([centers - radii, centers + radii], axis=1)
        else:
            intervals = self._jackknife_plus(X, centers, coverage)
        return intervals[:, :, 0] if prediction.ndim == 1 else intervals

    def _radii(self: Any, coverage: float) -> Floats:  # -> (t,)
        """Half the width of the jackknife's interval, for each target."""
        loo = self.loo_residuals_
        loo = loo.reshape(len(loo), -1)[self._in_fit(len(loo))]
        return np.array([jackknife_radius(column, coverage) for column in loo.T])

    def _in_fit(self, n: int) -> NDArray[np.bool_]:  # -> (n,)
        """The rows that the fit rests on: one of weight zero is no row of the sample, and says nothing about new ones."""
        return np.ones(n, dtype=bool)

    def _jackknife_plus(self: Any, X: Any, centers: Array, coverage: float) -> Floats:  # -> (m, 2, t)
        loo = self.loo_residuals_.reshape(-1, centers.shape[1])
        used = self._in_fit(len(loo))
        intervals = np.empty((len(centers), 2, centers.shape[1]))
        for rows, target, influence in self._influence(X, NEW_ROWS):
            for j in target:
                intervals[rows, :, j] = jackknife_plus(centers[rows, j], influence[:, used], loo[used, j], coverage)
        return intervals
