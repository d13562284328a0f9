"""Prediction intervals for regressors, from leave-one-out residuals."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.errors import InputError
from mercer.estimators.conformal import jackknife_plus, jackknife_radius

#: Rows of new points whose influence on all training rows is held at a time.
ROWS = 1024


class IntervalMixin:
    """Gives `predict_interval` to a regressor that has `predict`, `loo_residuals_` and, for jackknife+, `_influence`."""

    def predict_interval(self: Any, X: Any, coverage: float = 0.9, *, method: str = "jackknife") -> NDArray[np.float64]:
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

    def _radii(self: Any, coverage: float) -> NDArray[np.float64]:  # -> (t,)
        """Half the width of the jackknife's interval, for each target."""
        loo = self.loo_residuals_
        loo = loo.reshape(len(loo), -1)[self._in_fit(len(loo))]
        return np.array([jackknife_radius(column, coverage) for column in loo.T])

    def _in_fit(self, n: int) -> NDArray[np.bool_]:  # -> (n,)
        """The rows that the fit rests on: one of weight zero is no row of the sample, and says nothing about new ones."""
        return np.ones(n, dtype=bool)

    def _jackknife_plus(self: Any, X: Any, centers: NDArray[Any], coverage: float) -> NDArray[np.float64]:  # -> (m, 2, t)
        loo = self.loo_residuals_.reshape(-1, centers.shape[1])
        used = self._in_fit(len(loo))
        intervals = np.empty((len(centers), 2, centers.shape[1]))
        for rows, target, influence in self._influence(X, ROWS):
            for j in target:
                intervals[rows, :, j] = jackknife_plus(centers[rows, j], influence[:, used], loo[used, j], coverage)
        return intervals
