"""Support vector classification: SVC, NuSVC, and what they share with SVCCV."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state

from mercer.arrays import Array, Floats
from mercer.errors import InputError, check_choice, check_whole
from mercer.estimators.base import DEFAULT_KERNEL, TrainingSet, check_is_fitted
from mercer.estimators.definiteness import known_psd
from mercer.estimators.prediction_sets import HeldOutClasses, SetMixin
from mercer.estimators.progress import Meter
from mercer.estimators.summary import Summary, at_most, known
from mercer.estimators.svm.decision import screened_classes, worth_screening
from mercer.estimators.svm.hinge import HINGE, SOLVERS, HingeSolver, hinge_route, or_on_landmarks
from mercer.estimators.svm.margin_bounds import MarginLedger, margin_ledgers, without_bounds
from mercer.estimators.svm.model import (
    KeptTraining,
    ReadMachine,
    Solver,
    SolverSettings,
    SupportModel,
    fit_status,
    least_bytes,
    real,
    require,
    require_share,
)
from mercer.estimators.svm.one_vs_one import (
    HardMargin,
    Margin,
    NuMargin,
    SoftMargin,
    coefficients,
    one_against_rest,
    pairs,
    winners,
)
from mercer.estimators.svm.probability import agreeing, coupled, pair_slopes, sigmoid
from mercer.inputs.labels import class_weights, classes_of, encode, read_labels
from mercer.kernels.base import Kernel
from mercer.linalg.box_qp.problems import SupportFunction
from mercer.numeric.memory import parse_bytes
from mercer.planning import Route, Shape
from mercer.registry import estimator
from mercer.selection.folds import class_folds

#: Folds whose held-out decision values calibrate the probabilities.
FOLDS = 5

#: The margin bound holds with probability 1 - DELTA for each pair of classes.
DELTA = 0.05

#: Results computed from the functions of the pairs at first use.
LEDGERS = ("ledger_", "margin_bound_")


@dataclass(frozen=True)
class Labels:
    """Class labels as numbers, with the weights of rows and of classes."""

    classes: Array  # (k,) sorted; a class whose rows all weigh nothing is none
    codes: Array  # (n,) 0 … k - 1, and -1 for rows of weight 0
    weights: Array  # (n,)
    class_weight: Array  # (k,)

    @classmethod
    def of(cls, what: str, data: TrainingSet, class_weight: Any) -> Labels:
        """From the labels that a fit has read."""
        labels, weights = data.y, data.counted
        classes, kept = classes_of(what, labels, data.weights), weights > 0
        codes = np.full(len(labels), -1)
        codes[kept] = encode(what, labels[kept], classes)
        return cls(classes, codes, weights, class_weights(what, class_weight, classes, codes, weights))

    def times_class(self, weights: Array) -> Array:  # (n,) -> (n,)
        """Weights of rows times the weights of their classes."""
        return weights * self.class_weight[self.codes]


@dataclass(frozen=True)
class FittedPairs:
    """The functions of all pairs of classes."""

    kernel: Kernel
    labels: Labels
    found: list[SupportFunction | None]
    upper: Array  # (n,) bounds of the multipliers
    diagonal: Array  # (n,) k(x, x)
    hinge: bool = False  # solved on landmarks: coefficients are no multipliers, and support vectors say nothing of errors
    trusted: bool = True  # the kernel is known to be one, on these rows at least


class SupportClassifier(ClassifierMixin, SetMixin, SupportModel):
    """Abstract: support vector classification, one against one beyond two classes."""

    _stored: ClassVar[dict[str, str]] = {
        "classes_": "labels (C,)",
        "class_weight_": "float (C,)",
        "_later.training.y": "absent | int (_,) codes C",
        "_later.training.seed": "absent | None | int >= 0",
        "dual_coef_": "float (C-1, S)",
        "intercept_": "float (pairs(C),)",
        "_weights": "None | float (_, pairs(C))",
        "n_support_": "int (C,) >= 0 sum S",
        "best_C_": "absent | float > 0",
        "_pairs_found": "absent",
        "_later.slopes": "absent | real (pairs(C), 2)",
        "_later.sets": "absent | a HeldOutClasses",
        "ledger_": "absent | a MarginLedger | each _: a MarginLedger",
        "margin_": "absent | real | real (_,)",
        "margin_bound_": "absent | real | real (_,)",
        "loo_bound_": "absent | real",
        "radius_": "absent | real",
    }

    class_weight: Any
    decision_function_shape: Any
    break_ties: Any
    random_state: Any
    n_components: int | None = None

    classes_: Array
    _pairs_found: FittedPairs  # kept until the ledgers are computed, copied or saved

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit to rows X with class labels y; a weight multiplies the C of its row, and 0 leaves the row out."""
        return self._fit(X, y, sample_weight)

    def _margin(self) -> Margin:
        """The requested results; of a tuned classifier after its fit only."""
        raise NotImplementedError  # pragma: no cover - abstract

    def _check_parameters(self) -> None:
        super()._check_parameters()
        asked = {"decision_function_shape": self.decision_function_shape, "break_ties": self.break_ties}
        for (name, value), allowed in zip(asked.items(), (("ovr", "ovo"), (True, False)), strict=True):
            if value not in allowed:
                raise InputError(f"{type(self).__name__}: {name} must be {allowed[0]!r} or {allowed[1]!r}; got {value!r}.")

    def _read_y(self, y: Any, n: int) -> Array:
        return read_labels(type(self).__name__, y, n)

    def _solve(self, data: TrainingSet, route: Route, meter: Meter) -> Any:
        labels = Labels.of(type(self).__name__, data, self.class_weight)
        return self._pairs(data, labels, data.kernel, self._margin(), meter, route.solver == HINGE)

    def _pairs(
        self, data: TrainingSet, labels: Labels, kernel: Kernel, margin: Margin, meter: Meter, hinge: bool = False
    ) -> FittedPairs:
        """Fit all pairs of classes on all rows."""
        solver: Solver | HingeSolver = (
            self._hinge(kernel, data.X, meter) if hinge else self._solver(kernel, data.rows, data.n, meter)
        )
        weights = labels.times_class(labels.weights)
        found = solver.fit_pairs(margin, labels.codes, len(labels.classes), weights)
        return FittedPairs(kernel, labels, found, margin.upper(weights), solver.diag(), hinge)

    def _hinge(self, kernel: Kernel, X: Any, meter: Meter | None = None) -> HingeSolver:
        return HingeSolver(kernel, X, self._settings(), self.n_components, meter)

    def _store(self, data: TrainingSet, solution: Any) -> None:
        self._store_pairs(data, solution)
        self.fit_status_ = fit_status(type(self).__name__, solution.found)

    def _store_pairs(self, data: TrainingSet, solution: FittedPairs) -> None:
        labels, codes, k = solution.labels, solution.labels.codes, len(solution.labels.classes)
        self.classes_, self.class_weight_ = labels.classes, labels.class_weight
        found = [function for function in solution.found if function is not None]
        table, intercepts = coefficients(solution.found, codes, k)
        support = np.flatnonzero(table.any(axis=0))
        support = support[np.argsort(codes[support], kind="stable")]
        self._expand(solution.kernel, data.X, table, intercepts, support, np.bincount(codes[support], minlength=k))
        self.n_iter_ = np.array([function.n_iter for function in found], dtype=np.int32)
        self.dual_objective_ = float(sum(function.dual for function in found))
        self.duality_gap_ = float(sum(function.gap for function in found))
        self.primal_objective_ = self.dual_objective_ + self.duality_gap_
        trusted = known_psd(solution.kernel, data.X, type(self).__name__)
        if not trusted:
            self.duality_gap_ = self.primal_objective_ = math.nan
        margins = np.array([_margin_of(function) if trusted else math.nan for function in found])
        self.margin_ = float(margins[0]) if k == 2 else margins
        self.radius_ = math.sqrt(max(float(solution.diagonal[codes >= 0].max()), 0.0))
        self.loo_bound_ = len(support) / int((codes >= 0).sum()) if trusted and not solution.hinge else math.nan
        self._pairs_found = replace(solution, trusted=trusted)
        for name in LEDGERS:
            self.__dict__.pop(name, None)
        self._later = {"training": KeptTraining(data.X, codes, labels.weights, drawn_seed(self.random_state))}

    @cached_property
    def ledger_(self) -> Any:
        """The margin reached and the bounds that rest on it: of the two classes, or a list, one for each pair."""
        self._refuse_read_in("margin bounds")
        ledgers = _ledgers(self._pairs_found)
        return ledgers[0] if len(self.classes_) == 2 else ledgers

    @cached_property
    def margin_bound_(self) -> Any:
        """A bound of the probability of an error, for every pair of classes."""
        ledger = self.ledger_
        return ledger.margin_bound if len(self.classes_) == 2 else np.array([pair.margin_bound for pair in ledger])

    def __getstate__(self) -> dict[str, Any]:
        """The ledgers in place of the functions on all rows that they are made from."""
        state = dict(super().__getstate__())
        if state.pop("_pairs_found", None) is not None:
            state.update(ledger_=self.ledger_, margin_bound_=self.margin_bound_)
        return state

    def with_coefficients(self, kernel: Kernel, found: ReadMachine) -> Any:
        """Set the fitted attributes from the coefficients of a scikit-learn model, and return self."""
        self.classes_, self.class_weight_ = found.classes, found.class_weight  # type: ignore[assignment]
        return super().with_coefficients(kernel, found)

    def _shape(self, X: Any, y: Any = None) -> Shape:
        shape = super()._shape(X)
        return shape if y is None else replace(shape, n_targets=max(2, len(np.unique(np.asarray(y)))))

    def decision_function(self, X: Any) -> Floats:
        """Return f(x), (n,), positive for the second class; for k > 2 classes (n, k), or (n, k(k-1)/2) for "ovo".

        "ovr" counts the pairs won and breaks ties by the decision values; "ovo" are the decision values of the pairs (0, 1),
        (0, 2), …, (1, 2), …, positive for the first class of the pair.
        """
        values = self._columns(X)
        if len(self.classes_) == 2:
            return values[:, 0]
        return values if self.decision_function_shape == "ovo" else one_against_rest(values, len(self.classes_))

    def predict(self, X: Any) -> Array:
        """Return the class that wins most pairs; ties go to the first class, or by decision values with break_ties."""
        check_is_fitted(self)
        if self.break_ties and self.decision_function_shape == "ovo":
            raise InputError(
                f'{type(self).__name__}: break_ties must be False when decision_function_shape is "ovo": '
                'ties are broken by the values of "ovr".'
            )
        new, functions, won = self._read(X, reset=False), self._functions(), None
        if self._weights is None and not self.break_ties and worth_screening(functions, new):
            won = screened_classes(functions, new)
        return self.classes_[self._winners(self._columns_of(new)) if won is None else won]

    def _winners(self, values: Array) -> Array:  # (n, P) -> (n,)
        return winners(values, len(self.classes_), bool(self.break_ties))

    def predict_proba(self, X: Any) -> Floats:
        """Return class probabilities, (n, k): the largest is the predicted class's, and p = 1/2 at a decision of 0.

        Calibrated on the decision values of rows held out in five folds, which are computed at the first call.
        """
        values = self._columns(X)
        return self._probabilities(values, self._once("slopes", self._calibration))

    def _probabilities(self, values: Array, slopes: Array) -> Floats:  # (n, P), (P, 2) -> (n, k)
        p, k = sigmoid(values, slopes), len(self.classes_)
        table = np.column_stack([1.0 - p[:, 0], p[:, 0]]) if k == 2 else coupled(p, k)
        return agreeing(table, self._winners(values))

    def _set_probabilities(self, X: Any, calibrated: bool) -> Floats:
        """Of a model read from scikit-learn with the slope 1, because it has no training rows to calibrate them."""
        if not (calibrated and self._read_in):
            return super()._set_probabilities(X, calibrated)
        values = self._columns(X)
        return self._probabilities(values, np.ones((values.shape[1], 2)))

    def _held_out_classes(self) -> HeldOutClasses:
        self._once("slopes", self._calibration)
        found: HeldOutClasses | None = self._later.get("sets")
        return super()._held_out_classes() if found is None else found  # None: three classes, or a file of 0.2

    def probability_slopes(self) -> Array | None:  # -> (pairs, 2)
        """Return the slopes for f < 0 and f > 0 of 1 / (1 + exp(-slope f)); None for a model read from scikit-learn."""
        check_is_fitted(self)
        return None if self._read_in else np.asarray(self._once("slopes", self._calibration))

    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithms of the class probabilities."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def _calibration(self, training: KeptTraining) -> Array:  # -> (P, 2)
        """The slopes of the probabilities; the held-out probabilities are kept for sets."""
        k, codes, held = len(self.classes_), training.y, self._held_out(training)
        if k == 2:  # f is positive for the second class
            codes = np.where(codes < 0, -1, 1 - codes)
        found = pair_slopes(held, codes, training.weights, k)
        known = np.flatnonzero((training.y >= 0) & np.isfinite(held).all(axis=1))
        if k == 2:  # with more classes a row is held out of its own pairs only
            self._later["sets"] = HeldOutClasses(self._probabilities(held[known], found), training.y[known])
        return found

    def _held_out(self, training: KeptTraining) -> Array:  # -> (n, P)
        """Decision values of every row by functions that gave it no weight; NaN where there is none."""
        codes, k, margin = training.y, len(self.classes_), self._margin().for_fold()
        seed = drawn_seed(self.random_state) if training.seed is None else training.seed  # None: a file of version 0.1
        folds = class_folds(codes, FOLDS, seed, training.X)
        decisions = np.full((len(folds), k * (k - 1) // 2), np.nan)
        with Meter(f"{type(self).__name__} probabilities", self.verbose) as meter:
            hinge = self.route_.solver == HINGE
            solver: Solver | HingeSolver = (
                self._hinge(self.kernel_, training.X)
                if hinge
                else self._solver(self.kernel_, training.X, len(codes), again=True)
            )
            for fold in range(FOLDS):
                meter(fold, FOLDS)
                weights = np.where(folds == fold, 0.0, training.weights) * self.class_weight_[codes]
                for p, function in enumerate(solver.fit_pairs(margin, codes, k, weights)):
                    if function is not None:
                        out = folds[function.rows] == fold
                        decisions[function.rows[out], p] = function.outputs[out]
        return decisions

    def _summary(self) -> Summary:
        ledgers = [self.ledger_] if isinstance(self.ledger_, MarginLedger) else list(self.ledger_)
        worst = max(ledger.training_error for ledger in ledgers)
        per_class = ", ".join(f"{c} ({n})" for c, n in zip(self.classes_, self.n_support_, strict=True))
        lines = [
            ("kernel", str(self.kernel_)),
            ("support vectors", f"{len(self.support_)} of {self.shape_fit_[0]} rows: {per_class}"),
            ("training error", f"{worst:.4g}" + ("" if len(ledgers) == 1 else " (the worst pair of classes)")),
            ("leave-one-out error", f"{at_most(self.loo_bound_)} (support vectors / rows)"),
            ("dual objective", f"{self.dual_objective_:.8g}, duality gap {known(self.duality_gap_)}"),
            ("iterations", f"{int(self.n_iter_.sum())}" + ("" if self.fit_status_ == 0 else ", stopped early")),
        ]
        if len(ledgers) == 1:
            lines.insert(3, ("ledger", str(ledgers[0])))
        numbers = {"loo_bound": self.loo_bound_, "dual_objective": self.dual_objective_, "duality_gap": self.duality_gap_}
        return Summary(repr(self), (*lines, *self._route_lines()), numbers)


def _margin_of(function: SupportFunction) -> float:
    """1 / ||w||."""
    return 1.0 / function.norm if function.norm > 0 else math.inf


def _ledgers(fitted: FittedPairs) -> list[MarginLedger]:
    names, codes = fitted.labels.classes.tolist(), fitted.labels.codes
    found = [function for function in fitted.found if function is not None]
    both = pairs(len(names))
    positive = [codes[function.rows] == i for (i, _), function in zip(both, found, strict=True)]
    labels: list[Any] = [(names[i], names[j]) for i, j in both]
    if len(names) == 2:
        labels, positive = [names[1]], [~positive[0]]
    ledgers = margin_ledgers(labels, found, positive, fitted.upper, fitted.diagonal, DELTA)
    if fitted.hinge:
        ledgers = [replace(ledger, n_at_bound=0, loo_bound=math.nan) for ledger in ledgers]
    return ledgers if fitted.trusted else [without_bounds(ledger) for ledger in ledgers]


def drawn_seed(random_state: Any) -> int:
    """A seed as a number, drawn once at fit, so that later calls and copies use the same folds."""
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


@estimator
class SVC(SupportClassifier):
    """The separating function of largest margin: min 1/2 ||w||^2 + C sum_i max(0, 1 - y_i (<w, phi(x_i)> + b)).

    Its dual is max_a sum_i a_i - 1/2 ||sum_i a_i y_i phi(x_i)||^2 with sum_i a_i y_i = 0, 0 <= a_i <= C. More than two
    classes: one function per pair of classes, and each casts a vote. Parameters, attributes and their shapes and order are
    scikit-learn's, except that `kernel` is a mercer kernel and that probabilities are always available.

    Parameters
    ----------
    kernel : Kernel or str, default Gaussian(length_scale="median")
    C : float, default 1.0
        The price of an error; inf is the hard margin, and an error where no function separates the classes.
    tol : float, default 1e-3
        The largest violation of the optimality conditions at which the solver stops (LIBSVM's).
    class_weight : dict {class: factor of C}, "balanced" or None
        "balanced" makes the weights of all classes add up to the same; a row of weight 2 counts as two rows.
    decision_function_shape : "ovr" or "ovo"
    break_ties : bool, default False
        Break ties of votes by decision values; otherwise they go to the first class.
    solver : "auto", "exact" or "nystroem"
        "exact" solves the dual problem on kernel rows. "nystroem" minimizes the hinge loss over functions on landmarks of
        each pair of classes. "auto" uses it, with a warning, if `memory` keeps less than one kernel row in twenty.
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
        require(type(self).__name__, "C", self.C, "a number > 0, or inf for the hard margin", real(self.C) > 0)
        if self.n_components is not None:
            check_whole(type(self).__name__, "n_components", self.n_components, 1)

    def _settings(self, **more: Any) -> SolverSettings:
        hard = bool(np.isinf(self.C))
        return super()._settings(unbounded=hard, side_by_side=not hard, **more)

    def _routes(self, shape: Shape) -> tuple[Route, ...]:
        if self.solver not in SOLVERS:
            check_choice("SVC", "solver", self.solver, SOLVERS)
        exact = super()._routes(shape)
        only = self.solver == "exact" or np.isinf(self.C) or self._given_kernel().given
        if self.solver != HINGE and (only or least_bytes(shape.n) <= parse_bytes(self.memory)):
            return exact
        hinge = hinge_route(shape, self.n_components, self.memory)
        if self.solver != HINGE:
            return or_on_landmarks(exact[-1], shape, hinge)
        if not np.isfinite(self.C):
            raise InputError('SVC: solver="nystroem" needs a finite C: landmarks have no hard margin of all rows.')
        return (hinge,)

    def _margin(self) -> Margin:
        return HardMargin(type(self).__name__) if np.isinf(self.C) else SoftMargin(float(self.C))


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
        At most twice the share of the smaller class; larger ones are infeasible, and the error names the limit.
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
        require_share(type(self).__name__, "nu", self.nu)

    def _margin(self) -> Margin:
        return NuMargin(float(self.nu))
