"""Support vector regression with nu in place of epsilon."""

from __future__ import annotations

from typing import Any

from mercer.arrays import Array
from mercer.errors import check_number
from mercer.estimators.base import DEFAULT_KERNEL
from mercer.estimators.svm.regressor import SupportRegressor
from mercer.estimators.svm.solver import check_penalty
from mercer.linalg.box_qp.problems import BoxProblem, SupportFunction, nu_regression
from mercer.registry import estimator


@estimator
class NuSVR(SupportRegressor):
    """Support vector regression that finds the width of its tube by the share of rows to be left outside.

    min 1/2 ||w||^2 + C (nu n e + sum_i max(0, |y_i - f(x_i)| - e)) over f and e. At most the share nu of the rows
    lies outside the tube, at least the share nu are support vectors (Schölkopf et al., 2000). It is SVR with
    epsilon = tube_.

    Parameters
    ----------
    kernel : Kernel or str, default Gaussian(length_scale="median")
    nu : float in (0, 1], default 0.5
    C : float, default 1.0
    tol, max_iter, time_limit, memory, verbose : as in SVC.

    Attributes
    ----------
    Those of SVR; tube_ is the epsilon that was found.

    >>> import numpy as np
    >>> from mercer import Gaussian, NuSVR
    >>> X, y = np.arange(20.0).reshape(-1, 1), np.sin(np.arange(20.0))
    >>> model = NuSVR(Gaussian(length_scale=1.0), nu=0.4, C=10.0).fit(X, y)
    >>> bool((np.abs(model.predict(X) - y) > model.tube_ + 1e-2).mean() <= 0.4)
    True
    """

    def __init__(
        self,
        kernel: Any = DEFAULT_KERNEL,
        *,
        nu: float = 0.5,
        C: float = 1.0,
        tol: float = 1e-3,
        max_iter: int = -1,
        time_limit: float | None = None,
        memory: int | float | str | None = None,
        verbose: bool | None = None,
    ) -> None:
        self.kernel = kernel
        self.nu = nu
        self.C = C
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.memory = memory
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_penalty(type(self).__name__, self.C)
        check_number(type(self).__name__, "nu", self.nu, "a number in (0, 1]", lambda v: 0 < v <= 1)

    def _problem(self, y: Array, weights: Array) -> BoxProblem:
        return nu_regression(y, float(self.C) * weights, float(self.nu))

    def _tube(self, found: SupportFunction) -> float:
        return found.scale
