"""A fitted support vector machine: what is stored, how it evaluates, and what it says of itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer.arrays import Array
from mercer.errors import InputError
from mercer.estimators.base import KernelEstimator, TrainingSet, check_is_fitted
from mercer.estimators.progress import Meter
from mercer.estimators.svm.decision import SupportFunctions
from mercer.estimators.svm.diagnosis import LONG, diagnose_data
from mercer.estimators.svm.one_vs_one import pair_columns
from mercer.estimators.svm.solver import Solver, SolverSettings, check_limits, svm_routes
from mercer.grams.dual_function import DualFunction
from mercer.grams.products import from_features, to_features
from mercer.inputs import count, take
from mercer.kernels.base import Kernel
from mercer.numeric.memory import format_bytes
from mercer.planning import Route, Shape
from mercer.registry import record


@record()
@dataclass(frozen=True)
class Training:
    """What is kept of the training set for questions asked later: held-out residuals, probabilities."""

    _stored: ClassVar[dict[str, str]] = {
        "X": "rows n",
        "y": "float (n,) | int (n,)",
        "weights": "float (n,) >= 0",
    }

    X: Any
    y: Array  # (n,) class numbers (-1: left out) or targets
    weights: Array  # (n,)
    seed: int | None = None  # of the folds


class SupportModel(KernelEstimator):
    """Abstract: f(x) = sum over the support vectors of dual_coef_ k(x_i, x) + intercept_, one or several of them."""

    _stored: ClassVar[dict[str, str]] = {
        "support_": "int (S,) >= 0",
        "support_vectors_": "rows S d | float (0, 0)",
        "dual_coef_": "float (1, S)",
        "intercept_": "float (1,)",
        "n_support_": "int (1,) >= 0 sum S",
        "_weights": "None | float (_, 1)",
        "dual_objective_": "absent | real",
        "primal_objective_": "absent | real",
        "duality_gap_": "absent | real",
        "fit_status_": "absent | int",
        "n_iter_": "absent | int | int (_,)",
        "shape_fit_": "absent | each _: int",
        "_later": "absent | a dict",
        "_later.training": "absent | a Training",
    }

    tol: Any
    max_iter: Any
    time_limit: Any

    support_: Array
    support_vectors_: Any
    n_support_: Array
    dual_coef_: Array
    intercept_: Array
    _later: dict[str, Any]  # what is computed when first asked for, and the training set while it may be needed for that
    _weights: Array | None
    _keeps_rows = False  # the support vectors are enough

    def _check_loaded(self) -> None:
        if self.__dict__.get("_later") == {}:
            raise InputError(f"{type(self).__name__}._later is empty; the file is damaged or was changed.")

    def _check_parameters(self) -> None:
        check_limits(type(self).__name__, self.tol, self.max_iter, self.time_limit)

    def _settings(self, **more: Any) -> SolverSettings:
        """How the problem is solved, without the estimator; `more` is what a family knows of its problem."""
        limit = None if self.time_limit is None else float(self.time_limit)
        return SolverSettings(float(self.tol), int(self.max_iter), limit, self.memory, **more)

    def _solver(self, kernel: Kernel, X: Any, n: int, meter: Meter | None = None, again: bool = False) -> Solver:
        """The solver on the kernel values of X; `again`: several problems will be solved on them."""
        settings = self._settings()
        return Solver(settings.kernel_rows(kernel, X, n, again), settings, meter)

    def _expand(self, kernel: Kernel, X: Any, table: Array, intercepts: Array, support: Array, counts: Array) -> None:
        """Keep the support vectors of X: `table` (r, n) holds all coefficients, `support` the rows that have one."""
        self.kernel_, self.support_, self.n_support_ = kernel, support.astype(np.int32), counts.astype(np.int32)
        self.dual_coef_, self.intercept_ = np.ascontiguousarray(table[:, support]), intercepts
        self.shape_fit_ = X.shape if hasattr(X, "shape") else (count(X),)
        self.support_vectors_ = np.empty((0, 0)) if kernel.given else (take(X, support) if len(support) else X[:0])
        self._weights = None
        features = kernel.n_features(take(X, np.arange(1))) if self._has_weights() else None
        if features is not None and features <= len(support):
            self._weights = self._explicit_weights()

    def _columns(self, X: Any) -> Array:  # (m rows) -> (m, functions)
        """All functions at new rows; through the explicit features where they are fewer than the support vectors."""
        check_is_fitted(self)
        return self._columns_of(self._read(X, reset=False))

    def _columns_of(self, new: Any) -> Array:  # (m rows) -> (m, functions)
        if self._weights is not None:
            return from_features(self.kernel_, new, self._weights) + self.intercept_
        return self._functions()(new)

    def _functions(self) -> SupportFunctions:
        """The functions as a value."""
        counts = self.n_support_ if len(self.intercept_) > 1 else self.n_support_.sum(keepdims=True)
        support = self.support_ if self.kernel_.given else self.support_vectors_
        return SupportFunctions(self.kernel_, support, self.dual_coef_.T, counts, self.intercept_)

    def _has_weights(self) -> bool:
        features = self.kernel_.features
        return features is not None and features.shared

    def _explicit_weights(self) -> Array:  # -> (D, functions)
        """The vectors w in the coordinates of the explicit features."""
        if len(self.support_) == 0:
            features = self.kernel_.n_features(np.zeros((1, self.n_features_in_))) or 0
            return np.zeros((features, len(self.intercept_)))
        return to_features(self.kernel_, self.support_vectors_, self._coefficients())

    def _coefficients(self) -> Array:  # -> (S, functions)
        """The coefficients of every function, pair by pair beyond two classes."""
        return self.dual_coef_.T if len(self.intercept_) == 1 else pair_columns(self.dual_coef_.T, self.n_support_)

    def dual_function(self) -> DualFunction:
        """Return f(x) = sum_i a_i k(x_i, x) + b on the support vectors, one column per function."""
        check_is_fitted(self)
        return DualFunction(self.kernel_, self.support_vectors_, self._coefficients(), self.intercept_)

    @property
    def coef_(self) -> Array:
        """w in the coordinates of `kernel_.feature_map`, (functions, D); for Linear() those of x. Finite maps only."""
        if not self.__sklearn_is_fitted__() or not self._has_weights():
            raise AttributeError(
                f"{type(self).__name__}: coef_ is there after fit for kernels with a finite feature map, such as Linear()."
            )
        weights = self._explicit_weights() if self._weights is None else self._weights
        coef = weights.T.copy()
        coef.flags.writeable = False  # changing it would change no prediction
        return coef

    def _choose_route(self, data: TrainingSet) -> Route:
        """The route within the budget; before a long fit a look at the data, with a warning where it would be of no use."""
        route = super()._choose_route(data)
        if data.n >= LONG:
            diagnose_data(data.kernel, data.X, route).announce(type(self).__name__, data.n, stacklevel=5)
        return route

    def _notes(self, X: Any, route: Route) -> tuple[str, ...]:
        return diagnose_data(self._resolved(X), X, route).notes

    def _routes(self, shape: Shape) -> tuple[Route, ...]:
        return svm_routes(shape, self._settings())

    def _route_lines(self) -> tuple[tuple[str, str], ...]:
        return (
            ("route", f"{self.route_.solver}: {self.route_.reason}"),
            ("memory of the fit", format_bytes(self.route_.bytes)),
        )

    def _once(self, name: str, make: Callable[[Training], Any]) -> Any:
        """What make(training) gives, computed when first asked for; then the training set is let go."""
        if name not in self._later:
            self._later[name] = make(self._later["training"])
            del self._later["training"]
        return self._later[name]
