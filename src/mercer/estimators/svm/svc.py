"""Support vector classification."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer.arrays import Array
from mercer.errors import check_choice, check_whole
from mercer.estimators.base import DEFAULT_KERNEL
from mercer.estimators.svm.classifier import Margin, SupportClassifier
from mercer.estimators.svm.hard_margin import HardMargin
from mercer.estimators.svm.hinge import HINGE, SOLVERS, routes_beyond
from mercer.estimators.svm.solver import Solver, SolverSettings, check_penalty, least_bytes
from mercer.linalg.box_qp.problems import SupportFunction, classification, support_function
from mercer.numeric.memory import parse_bytes
from mercer.planning import Route, Shape
from mercer.registry import estimator


@dataclass(frozen=True)
class SoftMargin:
    """min 1/2 ||w||^2 + C sum_i weight_i max(0, 1 - y_i f(x_i)) for a finite C."""

    C: float
    bounded: ClassVar[bool] = True

    def upper(self, weights: Array) -> Array:
        """C times the weights."""
        return self.C * weights

    def fit(self, solver: Solver, signs: Array, rows: Array, weights: Array) -> SupportFunction:
        """Solve one box problem."""
        problem = classification(signs, self.C * weights, rows)
        return support_function(problem, solver(problem), rows)

    def for_fold(self) -> SoftMargin:
        """C holds for any rows."""
        return self


@estimator
class SVC(SupportClassifier):
    """The separating function of largest margin: min 1/2 ||w||^2 + C sum_i max(0, 1 - y_i (<w, phi(x_i)> + b)).

    Its dual is max_a sum_i a_i - 1/2 ||sum_i a_i y_i phi(x_i)||^2 with sum_i a_i y_i = 0, 0 <= a_i <= C. More than two
    classes: one function per pair of classes, and each casts a vote. Parameters, attributes and their shapes and order are
    scikit-learn's, except that `kernel` is a mercer kernel and that probabilities are there whenever they are asked for.

    Parameters
    ----------
    kernel : Kernel or str, default Gaussian(length_scale="median")
    C : float, default 1.0
        The price of an error; inf is the hard margin, and an error where no function separates the classes.
    tol : float, default 1e-3
        The largest violation of the optimality conditions at which the solver stops (LIBSVM's).
    class_weight : dict {class: factor of C}, "balanced" or None
    decision_function_shape : "ovr" or "ovo"
    break_ties : bool, default False
        Break ties of votes by decision values; otherwise they go to the first class.
    solver : "auto", "exact" or "nystroem"
        "exact" solves the dual problem on kernel rows. "nystroem" minimizes the hinge loss over functions on landmarks of
        each pair of classes. "auto" takes it, and says so, where `memory` keeps less than one kernel row in twenty.
    n_components : int, optional
        Landmarks of each pair of classes for "nystroem"; 2000 if not given.
    max_iter, time_limit : int (-1: none) and seconds or None
        Limits of the solver; at a limit it warns and leaves a usable model.
    memory : bytes or text such as "4 GB", optional
        Budget of the kernel values; 8 GiB if not given.
    random_state : seed of the folds on which probabilities are calibrated.
    verbose : bool or None

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_ (y_i a_i), intercept_, classes_, class_weight_, shape_fit_,
    fit_status_ (0: converged), n_iter_, coef_ (finite feature maps), kernel_, route_; dual_objective_, primal_objective_,
    duality_gap_ (sums over pairs of classes); margin_ (1/||w||), radius_ (max ||phi(x_i)||), loo_bound_ (support vectors /
    rows, an upper bound of the leave-one-out error), margin_bound_ (of the error probability) and ledger_, which holds
    them together for each pair of classes.

    >>> from mercer import SVC, Linear
    >>> X, y = [[-2.0, -1.0], [-1.0, -1.0], [1.0, 1.0], [1.0, 2.0]], [1, 1, 2, 2]
    >>> model = SVC(Linear()).fit(X, y)
    >>> model.support_.tolist(), model.predict([[-0.8, -1.0], [3.0, 2.0]]).tolist()
    ([1, 2], [1, 2])
    >>> bool(abs(model.primal_objective_ - model.dual_objective_) <= 1e-3)
    True
    """

    def __init__(
        self,
        kernel: Any = DEFAULT_KERNEL,
        *,
        C: float = 1.0,
        tol: float = 1e-3,
        class_weight: Any = None,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        solver: str = "auto",
        n_components: int | None = None,
        max_iter: int = -1,
        time_limit: float | None = None,
        memory: int | float | str | None = None,
        random_state: Any = None,
        verbose: bool | None = None,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.tol = tol
        self.class_weight = class_weight
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.solver = solver
        self.n_components = n_components
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.memory = memory
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_penalty(type(self).__name__, self.C, infinite=", or inf for the hard margin")
        if self.n_components is not None:
            check_whole(type(self).__name__, "n_components", self.n_components, 1)

    def _settings(self, **more: Any) -> SolverSettings:
        hard = bool(np.isinf(self.C))
        return super()._settings(unbounded=hard, side_by_side=not hard, **more)

    def _routes(self, shape: Shape) -> tuple[Route, ...]:
        check_choice("SVC", "solver", self.solver, SOLVERS)
        exact = super()._routes(shape)
        only = self.solver == "exact" or np.isinf(self.C) or self._given_kernel().given
        if self.solver != HINGE and (only or least_bytes(shape.n) <= parse_bytes(self.memory)):
            return exact
        return routes_beyond(exact, shape, self)

    def _margin(self) -> Margin:
        return HardMargin(type(self).__name__) if np.isinf(self.C) else SoftMargin(float(self.C))
