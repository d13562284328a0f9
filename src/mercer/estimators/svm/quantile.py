"""Quantile regression: the pinball loss on the solver of support vector regression."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.arrays import Array, Floats
from mercer.estimators.base import DEFAULT_KERNEL
from mercer.estimators.svm.model import real, require
from mercer.estimators.svm.svr import SupportRegressor
from mercer.linalg.box_qp.problems import BoxProblem, SupportFunction, quantile_regression
from mercer.registry import estimator


@estimator
class KernelQuantileRegressor(SupportRegressor):
    """The quantile of y given x: min 1/2 ||w||^2 + C sum_i rho(y_i - f(x_i)), rho(r) = max(tau r, (tau - 1) r).

    Its dual is max_b y'b - 1/2 ||sum_i b_i phi(x_i)||^2 with sum_i b_i = 0 and C (tau - 1) <= b_i <= C tau: that of SVR with
    epsilon 0 and a lopsided box. At most a share tau of the training targets lies below f, at most 1 - tau above.

    Parameters
    ----------
    kernel : Kernel or str, default Gaussian(length_scale="median")
    quantile : float in (0, 1), default 0.5
        tau; 0.5 is the median, half the absolute error.
    C : float, default 1.0
    tol, max_iter, time_limit, memory, verbose : as in SVC.

    Attributes
    ----------
    those of SVR.

    >>> import numpy as np
    >>> from mercer import Gaussian, KernelQuantileRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0.0, 6.0, (100, 1))
    >>> y = np.sin(X[:, 0]) + rng.standard_normal(100)
    >>> model = KernelQuantileRegressor(Gaussian(length_scale=1.5), quantile=0.9).fit(X, y)
    >>> below = np.mean(y <= model.predict(X) + 1e-3)
    >>> bool(0.88 <= below <= 0.95)
    True
    """

    def __init__(
        self,
        kernel: Any = DEFAULT_KERNEL,
        *,
        quantile: float = 0.5,
        C: float = 1.0,
        tol: float = 1e-3,
        max_iter: int = -1,
        time_limit: float | None = None,
        memory: int | float | str | None = None,
        verbose: bool | None = None,
    ) -> None:
        self.kernel = kernel
        self.quantile = quantile
        self.C = C
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.memory = memory
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        name = type(self).__name__
        # finite: without a bound every quantile would interpolate
        require(name, "C", self.C, "a number > 0", 0 < real(self.C) < math.inf)
        require(name, "quantile", self.quantile, "a number between 0 and 1", 0 < real(self.quantile) < 1)

    def _problem(self, y: Array, weights: Array) -> BoxProblem:
        return quantile_regression(y, float(self.C) * weights, float(self.quantile))

    def _tube(self, found: SupportFunction) -> float:
        return 0.0


def non_crossing(models: Sequence[KernelQuantileRegressor], X: Any) -> Floats:  # -> (n, q)
    """Predictions of several quantiles in rising order, sorted at every row so that they do not cross.

    Sorting never moves the predictions away from the true quantiles (Chernozhukov, Fernandez-Val and Galichon 2010).
    """
    ordered = sorted(models, key=lambda model: float(model.quantile))
    return np.sort(np.column_stack([model.predict(X) for model in ordered]), axis=1)
