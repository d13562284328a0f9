"""A support vector machine: its settings, kernel values, limits and routes, the fitted functions, and how they predict."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer.arrays import Array
from mercer.errors import InputError, describe, warn
from mercer.estimators.base import KernelEstimator, TrainingSet, check_is_fitted
from mercer.estimators.progress import Meter
from mercer.estimators.svm.decision import SupportFunctions
from mercer.estimators.svm.diagnosis import LONG, diagnose_data
from mercer.estimators.svm.one_vs_one import SHORT, WHOLE, Margin, class_pairs, pair_columns, solve_pairs, two_classes
from mercer.grams.dual_function import DualFunction
from mercer.grams.products import from_features, to_features
from mercer.grams.row_cache import FINE, WHOLE_MATRIX_ROWS, KernelRows, value_tolerance
from mercer.inputs import count, take
from mercer.kernels.base import Kernel
from mercer.linalg.box_qp.problems import BoxProblem, BoxSolution, SupportFunction, classification, support_function
from mercer.linalg.box_qp.solver import refinement, solve_box
from mercer.linalg.box_qp.steps import DIRECT
from mercer.numeric.memory import budget_bytes, format_bytes
from mercer.numeric.threads import cpu_count
from mercer.planning import Route, Shape, entry_rate, gemm_rate
from mercer.registry import record


@dataclass(frozen=True)
class SolverSettings:
    """Tolerance, limits and memory of a fit, and what is known of its problem before it is solved."""

    tol: float = 1e-3
    max_iter: int = -1  # -1: no limit
    time_limit: float | None = None  # seconds
    memory: int | float | str | None = None  # of kernel values
    support: str = "some"  # how many rows become support vectors and have kernel rows computed: "few", "some" or "most"
    unbounded: bool = False  # no upper bound on the multipliers, whose size then asks for float64 kernel values
    side_by_side: bool = False  # pairs of classes have one finite C and are solved on all cores

    def precision(self, n: int) -> float:
        """The tolerance that decides between float32 and float64 kernel values."""
        return value_tolerance(n, self.tol, exact=self.unbounded)

    def few(self, n: int) -> bool:
        """Whether so few rows of a Gram matrix will be used that computing all of it does not pay, however small it is."""
        return self.support == "few" and n > DIRECT

    def whole_up_to(self) -> int:
        """The number of rows up to which the whole Gram is made."""
        return 4 * WHOLE_MATRIX_ROWS if self.support == "most" else WHOLE_MATRIX_ROWS

    def kernel_rows(self, kernel: Kernel, X: Any, n: int, again: bool = False) -> KernelRows:
        """The kernel values of the n rows X; `again`: several problems will be solved on them."""
        fine = self.precision(n)
        if self.few(n) and not kernel.given:
            return KernelRows.cached(kernel, X, bytes=self.memory, dtype=np.float64 if fine < FINE else np.float32)
        return KernelRows.choose(kernel, X, tol=fine, memory=self.memory, again=again, most=self.support == "most")


@dataclass
class Solver:
    """Kernel values of a training set, and how long the solver may work on them; calling it solves one problem."""

    rows: KernelRows
    settings: SolverSettings
    meter: Meter | None = None  # None for the folds of a cross-validation, which have a meter of their own
    alone: bool = True  # one problem in all: the meter shows its progress

    def __post_init__(self) -> None:
        limit = self.settings.time_limit
        self.deadline = None if limit is None else time.monotonic() + limit

    def __call__(self, problem: BoxProblem, tol: float | None = None) -> BoxSolution:
        fine, tick = self.settings.tol if tol is None else tol, self.meter if self.alone else None
        return solve_box(problem, self.rows, tol=fine, tick=tick, further=self.further(fine), **self.limits())

    def fit_pairs(
        self, margin: Margin, codes: Array, classes: int, weights: Array
    ) -> list[SupportFunction | None]:  # (n,), (n,)
        """Fit one function per pair of classes, None if a class has no row of positive weight.

        Codes are 0 … classes - 1, and -1 for rows that are left out. Rows of weight 0 do not count, but get decision values.
        """
        if classes > 2 and margin.bounded and len(codes) > SHORT:
            return self._side_by_side(codes, margin.upper(weights))
        found: list[SupportFunction | None] = []
        pairs = [two_classes(codes)] if classes == 2 else class_pairs(codes, classes)
        for number, pair in enumerate(pairs):
            self.begin(number, len(pairs))
            own = weights[pair.index]
            found.append(margin.fit(self, pair.signs, pair.index, own) if pair.has_both(own) else None)
        return found

    def _side_by_side(self, codes: Array, upper: Array) -> list[SupportFunction | None]:  # (n,), (n,)
        """Solve all pairs of classes on all cores; None if a class has no row with a positive bound."""
        memory, tol = budget_bytes(self.settings.memory, 4 * len(codes) ** 2), self.settings.tol
        found = solve_pairs(
            self.rows, codes, upper, tol=tol, tick=self.meter, memory=memory, further=self.further(tol), **self.limits()
        )
        return [
            support_function(classification(pair.signs, upper[pair.index]), solution, pair.index)
            if pair.has_both(upper[pair.index])
            else None
            for pair, solution in zip(class_pairs(codes), found, strict=True)
        ]

    def diag(self) -> Array:  # -> (n,)
        """k(x_i, x_i) of the training rows."""
        return np.asarray(self.rows.diag(), dtype=np.float64)

    def further(self, tol: float) -> tuple[float, int] | None:
        """The finer tolerance of few rows without limits, see `refinement`."""
        return refinement(self.rows.n, tol, limited=self.limited)

    @property
    def limited(self) -> bool:
        """Whether the number of steps or the time is limited."""
        return self.settings.max_iter >= 0 or self.deadline is not None

    def limits(self) -> dict[str, Any]:
        """What is left of the limits, for `solve_box`."""
        left = None if self.deadline is None else max(self.deadline - time.monotonic(), 1e-3)
        return {"max_iter": self.settings.max_iter, "time_limit": left}

    def begin(self, number: int, total: int) -> None:
        """Show that problem `number`, counted from 0, of several begins."""
        self.alone = total == 1
        if self.meter is not None and not self.alone:
            self.meter(number, total)


#: Where fewer kernel rows than one in this many can be kept, the exact solver makes most of them again and again.
KEPT = 20


def least_bytes(n: int) -> int:
    """The bytes below which rows on demand are made again and again."""
    return 4 * n**2 // KEPT + 128 * n


def svm_routes(shape: Shape, settings: SolverSettings) -> tuple[Route, ...]:
    """The Gram matrix where it is small, else rows on demand within the budget."""
    n, itemsize = shape.n, 8 if settings.precision(shape.n) < FINE else 4
    budget = budget_bytes(settings.memory, itemsize * n * n)
    whole, word = itemsize * n * n, f"float{8 * itemsize}"
    entry = 2.0 * shape.width / gemm_rate() + 1.0 / entry_rate()
    kept = min(whole, budget - 128 * n)
    reason = (
        f"kernel rows in {word} are made when the solver asks for them; {max(0, kept // (itemsize * n))} of {n} can be kept"
    )
    rows = Route("rows", max(kept, 2 * itemsize * n) + 128 * n, entry * n * n / 3.0, reason)
    k = shape.n_targets
    if k > 2 and n > WHOLE_MATRIX_ROWS and settings.side_by_side and 2 * n <= WHOLE * k:
        together = itemsize * _beside(n, k) + 128 * n
        reason = f"the matrices of pairs of {k} classes in {word}, one per core at a time"
        return Route("pairs", together, entry * n * n / 2.0, reason), rows
    if settings.few(n) or n > settings.whole_up_to():
        return (rows,)
    reason = f"the Gram matrix of {n} rows, held once in {word}"
    beside = _beside(n, k) if k > 2 and settings.side_by_side else 0
    return Route("gram", whole + itemsize * beside + 128 * n, entry * n * n / 2.0, reason), rows


def _beside(n: int, k: int) -> int:
    """Numbers that pairs of k equal classes take: the matrix of a pair for every core, and each class with itself."""
    return min(cpu_count(), k * (k - 1) // 2) * (2 * n // k) ** 2 + n * n // k


def fit_status(what: str, found: Sequence[SupportFunction | None]) -> int:
    """0 if every function reached the tolerance; else 1, with a warning that names the limit that was reached."""
    stopped = [function for function in found if function is not None and not function.converged]
    if not stopped:
        return 0
    warn(
        f"{what}: the solver stopped early: {stopped[0].message}. The model can be used; its dual objective is "
        f"within {sum(function.gap for function in stopped):.3g} of the best. Raise the limit, or scale the columns.",
        ConvergenceWarning,
    )
    return 1


def real(value: Any) -> float:
    """Return the value of a number; NaN, which meets no condition, for anything else."""
    return float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan


def require(owner: str, name: str, value: Any, rule: str, holds: bool) -> None:
    """Raise InputError if a parameter does not hold its rule."""
    if not holds:
        raise InputError(f"{owner}: {name} must be {rule}; got {describe(value)}.")


def require_share(owner: str, name: str, value: Any) -> None:
    """Raise InputError if a parameter is not a number in (0, 1]."""
    require(owner, name, value, "a number in (0, 1]", 0 < real(value) <= 1)


@record("Training")
@dataclass(frozen=True)
class KeptTraining:
    """The training set, kept to compute held-out residuals and probabilities when they are first needed."""

    _stored: ClassVar[dict[str, str]] = {
        "X": "rows n",
        "y": "float (n,) | int (n,)",
        "weights": "float (n,) >= 0",
    }

    X: Any
    y: Array  # (n,) class numbers (-1: left out) or targets
    weights: Array  # (n,)
    seed: int | None = None  # of the folds


@dataclass(frozen=True)
class ReadMachine:
    """The coefficients of a fitted support vector machine of scikit-learn."""

    support: Array  # (S,)
    vectors: Any  # (S rows)
    dual: Array  # (functions or classes - 1, S)
    intercept: Array  # (functions,)
    counts: Array  # (1,) or (classes,) support vectors of each class
    shape: tuple[int, ...]  # of the training rows
    columns: int
    names: Any = None  # of the columns
    classes: Array | None = None
    class_weight: Array | None = None


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
        "shape_fit_": "absent | each 1: int | each 2: int | each 3: int",
        "_later": "absent | a dict",
        "_later.training": "absent | a KeptTraining",
    }

    tol: Any
    max_iter: Any
    time_limit: Any

    support_: Array
    support_vectors_: Any
    n_support_: Array
    dual_coef_: Array
    intercept_: Array
    _later: dict[str, Any]  # results computed at first use, and the training set while it is needed for them
    _weights: Array | None
    _keeps_rows = False  # the support vectors are enough

    def _check_loaded(self) -> None:
        if self.__dict__.get("_later") == {}:
            raise InputError(f"{type(self).__name__}._later is empty; the file is damaged or was changed.")

    def _check_parameters(self) -> None:
        owner, steps = type(self).__name__, real(self.max_iter)
        rule = "a number > 0, the largest violation of the optimality conditions"
        require(owner, "tol", self.tol, rule, real(self.tol) > 0)
        rule = "-1 (no limit) or a whole number >= 1"
        require(owner, "max_iter", self.max_iter, rule, steps == -1 or (steps >= 1 and steps % 1 == 0))
        limit = self.time_limit
        require(owner, "time_limit", limit, "None or seconds > 0", limit is None or real(limit) > 0)

    def _settings(self, **more: Any) -> SolverSettings:
        """How the problem is solved, without the estimator; `more` are settings of the family."""
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

    def with_coefficients(self, kernel: Kernel, found: ReadMachine) -> Any:
        """Set the fitted attributes from the coefficients of a scikit-learn model, and return self."""
        self._begin_read_in(kernel, found.columns, found.names)
        self.support_, self.n_support_ = found.support.astype(np.int32), found.counts.astype(np.int32)
        self.support_vectors_ = np.empty((0, 0)) if kernel.given else found.vectors
        self.dual_coef_, self.intercept_ = np.ascontiguousarray(found.dual, dtype=np.float64), found.intercept
        self.shape_fit_, self.fit_status_, self._weights = found.shape, 0, None
        return self

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
        """w in the coordinates of `kernel_.feature_map`, (functions, D); for Linear() those of x. Finite maps only.

        Kernels that count, such as Spectrum, have the columns of feature_map(support_vectors_), with the names
        feature_names(support_vectors_): f(x) = feature_map(x, like=support_vectors_) @ coef_.T + intercept_.
        """
        features = self.kernel_.features if self.__sklearn_is_fitted__() else None
        if features is None or not features.stay:
            raise AttributeError(
                f"{type(self).__name__}: coef_ is there after fit for kernels with a finite feature map, such as Linear()."
            )
        if self._weights is not None:
            weights = self._weights
        elif features.shared:
            weights = self._explicit_weights()
        elif len(self.support_) == 0:
            weights = np.zeros((0, len(self.intercept_)))
        else:
            weights = np.asarray(self.kernel_.feature_map(self.support_vectors_).T @ self._coefficients())
        coef = weights.T.copy()
        coef.flags.writeable = False  # changing it would change no prediction
        return coef

    def _choose_route(self, data: TrainingSet) -> Route:
        """The route within the budget; before a long fit a look at the data, with a warning where it would be of no use."""
        route = super()._choose_route(data)
        if data.n >= LONG:
            diagnose_data(data.kernel, data.X, route).announce(type(self).__name__, data.n)
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

    def _once(self, name: str, make: Callable[[KeptTraining], Any]) -> Any:
        """Return make(training), computed at first use; the training set is dropped afterwards."""
        self._refuse_read_in("intervals and probabilities")
        if name not in self._later:
            self._later[name] = make(self._later["training"])
            del self._later["training"]
        return self._later[name]
