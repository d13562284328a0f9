"""Support vector regression."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.errors import check_number
from mercer.estimators.base import DEFAULT_KERNEL
from mercer.estimators.svm.regressor import SupportRegressor
from mercer.estimators.svm.solver import SolverSettings, check_penalty
from mercer.linalg.box_qp.problems import BoxProblem, SupportFunction, regression
from mercer.registry import estimator


@estimator
class SVR(SupportRegressor):
    """The flattest function within epsilon of the targets: min 1/2 ||w||^2 + C sum_i max(0, |y_i - f(x_i)| - epsilon).

    Its dual is max_b y'b - epsilon sum_i |b_i| - 1/2 ||sum_i b_i phi(x_i)||^2 with sum_i b_i = 0, |b_i| <= C; rows inside
    the tube have b_i = 0. Parameters, attributes and their shapes are scikit-learn's, except that `kernel` is a mercer
    kernel.

    Parameters
    ----------
    kernel : Kernel or str, default Gaussian(length_scale="median")
    C : float, default 1.0
        The price of leaving the tube; inf allows no row outside.
    epsilon : float >= 0, default 0.1
        Half the width of the tube in which errors cost nothing.
    tol, max_iter, time_limit, memory, verbose : as in SVC.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_ (b_i), intercept_, shape_fit_, fit_status_ (0: converged), n_iter_,
    coef_ (finite feature maps), rkhs_norm_ (||w||), dual_objective_, primal_objective_, duality_gap_, tube_ (epsilon),
    kernel_, route_; cv_residuals_ is computed when first asked for.

    >>> import numpy as np
    >>> from mercer import SVR, Gaussian
    >>> X, y = np.arange(8.0).reshape(-1, 1), np.sin(np.arange(8.0))
    >>> model = SVR(Gaussian(length_scale=1.0), C=100.0, epsilon=0.05).fit(X, y)
    >>> bool(np.abs(model.predict(X) - y).max() <= 0.05 + 1e-3)
    True
    """

    def __init__(
        self,
        kernel: Any = DEFAULT_KERNEL,
        *,
        C: float = 1.0,
        epsilon: float = 0.1,
        tol: float = 1e-3,
        max_iter: int = -1,
        time_limit: float | None = None,
        memory: int | float | str | None = None,
        verbose: bool | None = None,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.epsilon = epsilon
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.memory = memory
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_penalty(type(self).__name__, self.C, infinite=", or inf where no row may leave the tube")
        check_number(type(self).__name__, "epsilon", self.epsilon, "a finite number >= 0", lambda v: 0 <= v < float("inf"))

    def _settings(self, **more: Any) -> SolverSettings:
        return super()._settings(unbounded=bool(np.isinf(self.C)), **more)

    def _problem(self, y: Array, weights: Array) -> BoxProblem:
        upper = np.where(weights > 0, np.inf, 0.0) if np.isinf(self.C) else float(self.C) * weights
        return regression(y, upper, float(self.epsilon))

    def _tube(self, found: SupportFunction) -> float:
        return float(self.epsilon)
