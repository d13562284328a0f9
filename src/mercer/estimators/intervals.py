"""Prediction intervals for regressors, from leave-one-out residuals."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.errors import InputError
from mercer.solvers.conformal import jackknife, jackknife_plus

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
        """
        if method not in ("jackknife", "jackknife+"):
            raise InputError(f'method must be "jackknife" or "jackknife+"; got {method!r}.')
        prediction, loo = self.predict(X), self.loo_residuals_
        columns = loo.reshape(len(loo), -1)
        centers = prediction.reshape(len(prediction), -1)
        if method == "jackknife":
            intervals = [jackknife(centers[:, j], columns[:, j], coverage) for j in range(columns.shape[1])]
        else:
            intervals = self._jackknife_plus(X, centers, columns, coverage)
        return intervals[0] if loo.ndim == 1 else np.stack(intervals, axis=-1)

    def _jackknife_plus(
        self: Any, X: Any, centers: NDArray[Any], loo: NDArray[Any], coverage: float
    ) -> list[NDArray[np.float64]]:
        intervals = [np.empty((len(centers), 2)) for _ in range(loo.shape[1])]
        for rows, target, influence in self._influence(X, ROWS):
            for j in target:
                intervals[j][rows] = jackknife_plus(centers[rows, j], influence, loo[:, j], coverage)
        return intervals
