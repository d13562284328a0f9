"""Support vector classification with nu in place of C."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from mercer.arrays import Array
from mercer.errors import check_number
from mercer.estimators.base import DEFAULT_KERNEL
from mercer.estimators.svm.classifier import Margin, SupportClassifier
from mercer.estimators.svm.solver import Solver
from mercer.linalg.box_qp.problems import SupportFunction, largest_nu, nu_classification, support_function
from mercer.registry import estimator


@dataclass(frozen=True)
class NuMargin:
    """min 1/2 ||w||^2 - nu r + 1/n sum_i max(0, r - y_i f(x_i)), divided by r."""

    nu: float
    capped: bool = False  # a fold of a feasible set may miss feasibility by a row: then the largest nu it allows is taken
    bounded: ClassVar[bool] = False

    def upper(self, weights: Array) -> Array:
        """The weights."""
        return weights

    def fit(self, solver: Solver, signs: Array, rows: Array, weights: Array) -> SupportFunction:
        """Solve one box problem with the sums of both signs fixed."""
        nu = min(self.nu, largest_nu(signs, weights)) if self.capped else self.nu
        problem = nu_classification(signs, weights, nu, rows)
        return support_function(problem, solver(problem), rows)

    def for_fold(self) -> NuMargin:
        """Capped at what the rows of the fold allow."""
        return replace(self, capped=True)


@estimator
class NuSVC(SupportClassifier):
    """Support vector classification whose parameter bounds errors and support vectors: nu in (0, 1] in place of C.

    min 1/2 ||w||^2 - nu r + 1/n sum_i max(0, r - y_i (<w, phi(x_i)> + b)) (Schölkopf et al., 2000). At most the share nu of
    the rows lies inside the margin or on the wrong side, at least the share nu are support vectors. The function is divided
    by r, so that the margin is at decision values of 1, as with SVC; it is that of SVC with C = 1 / r.

    Parameters
    ----------
    kernel : Kernel or str, default Gaussian(length_scale="median")
    nu : float in (0, 1], default 0.5
        At most twice the share of the smaller class; larger ones are infeasible, and the error says how large it may be.
    tol, class_weight, decision_function_shape, break_ties, max_iter, time_limit, memory, random_state, verbose : as in SVC.

    Attributes
    ----------
    Those of SVC; `loo_bound_` is about the SVC that it is equal to, whose C stays when a row is left out.

    >>> import numpy as np
    >>> from mercer import Gaussian, NuSVC
    >>> X, y = np.arange(20.0).reshape(-1, 1), np.arange(20) % 10 < 5
    >>> model = NuSVC(Gaussian(length_scale=2.0), nu=0.3).fit(X, y)
    >>> bool(model.n_support_.sum() >= 0.3 * 20), model.score(X, y)
    (True, 1.0)
    """

    def __init__(
        self,
        kernel: Any = DEFAULT_KERNEL,
        *,
        nu: float = 0.5,
        tol: float = 1e-3,
        class_weight: Any = None,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        max_iter: int = -1,
        time_limit: float | None = None,
        memory: int | float | str | None = None,
        random_state: Any = None,
        verbose: bool | None = None,
    ) -> None:
        self.kernel = kernel
        self.nu = nu
        self.tol = tol
        self.class_weight = class_weight
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.memory = memory
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number(type(self).__name__, "nu", self.nu, "a number in (0, 1]", lambda v: 0 < v <= 1)

    def _margin(self) -> Margin:
        return NuMargin(float(self.nu))
