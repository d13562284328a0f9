"""What SVC, NuSVC and SVCCV share: pairs of classes on one set of kernel values, votes, probabilities, the ledger."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state, compute_class_weight

from mercer.arrays import Array, Floats
from mercer.errors import InputError
from mercer.estimators.base import TrainingSet, check_is_fitted
from mercer.estimators.progress import Meter
from mercer.estimators.standing import stands
from mercer.estimators.summary import Summary, at_most, known
from mercer.estimators.svm.float32_predict import screened_classes, worth_screening
from mercer.estimators.svm.hinge import HINGE, HingeSolver
from mercer.estimators.svm.margin_bounds import MarginLedger, margin_ledgers, without_bounds
from mercer.estimators.svm.model import SupportModel, Training
from mercer.estimators.svm.one_vs_one import SHORT, class_pairs, one_against_rest, pairs, two_classes, winners
from mercer.estimators.svm.probability import agreeing, coupled, pair_slopes, sigmoid
from mercer.estimators.svm.solver import Solver, fit_status
from mercer.inputs.labels import classes_of, encode, read_labels
from mercer.kernels.base import Kernel
from mercer.linalg.box_qp.problems import SupportFunction
from mercer.planning import Route, Shape
from mercer.selection.folds import class_folds

#: Folds whose held-out decision values calibrate the probabilities.
FOLDS = 5

#: The margin bound holds with probability 1 - DELTA for each pair of classes.
DELTA = 0.05

#: What is computed from the functions of the pairs when it is first asked for.
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
        if class_weight is None:
            return cls(classes, codes, weights, np.ones(len(classes)))
        return cls(classes, codes, weights, compute_class_weight(class_weight, classes=classes, y=labels[kept]))

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


class Margin(Protocol):
    """What a support vector classifier asks for; its function for two classes."""

    bounded: ClassVar[bool]  # pairs of classes have an upper bound per row, and are solved side by side

    def upper(self, weights: Array) -> Array:  # (n,) -> (n,)
        """The upper bounds of the multipliers, before nu forms are scaled."""
        ...

    def fit(self, solver: Solver, signs: Array, rows: Array, weights: Array) -> SupportFunction:  # all (v,)
        """Fit two classes: rows of the training set with signs and weights, some of which may be 0."""
        ...

    def for_fold(self) -> Margin:
        """The same, asked of a part of the rows."""
        ...


class SupportClassifier(ClassifierMixin, SupportModel):
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
    _pairs_found: FittedPairs  # kept for the ledgers until they are asked for, copied or saved

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit to rows X with class labels y; a weight multiplies the C of its row, and 0 leaves the row out."""
        return self._fit(X, y, sample_weight)

    def _margin(self) -> Margin:
        """What is asked of the functions; of a tuned classifier after its fit only."""
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
        found = fit_pairs(solver, margin, labels.codes, len(labels.classes), weights)
        diagonal = solver.diag() if isinstance(solver, HingeSolver) else np.asarray(solver.rows.diag(), dtype=np.float64)
        return FittedPairs(kernel, labels, found, margin.upper(weights), diagonal, hinge)

    def _hinge(self, kernel: Kernel, X: Any, meter: Meter | None = None) -> HingeSolver:
        return HingeSolver(kernel, X, self._settings(), self.n_components, meter)

    def _store(self, data: TrainingSet, solution: Any) -> None:
        self._store_pairs(data, solution)
        self.fit_status_ = fit_status(type(self).__name__, solution.found, stacklevel=5)

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
        trusted = stands(solution.kernel, data.X, type(self).__name__)
        if not trusted:
            self.duality_gap_ = self.primal_objective_ = math.nan
        margins = np.array([_margin_of(function) if trusted else math.nan for function in found])
        self.margin_ = float(margins[0]) if k == 2 else margins
        self.radius_ = math.sqrt(max(float(solution.diagonal[codes >= 0].max()), 0.0))
        self.loo_bound_ = len(support) / int((codes >= 0).sum()) if trusted and not solution.hinge else math.nan
        self._pairs_found = replace(solution, trusted=trusted)
        for name in LEDGERS:
            self.__dict__.pop(name, None)
        self._later = {"training": Training(data.X, codes, labels.weights, drawn_seed(self.random_state))}

    @cached_property
    def ledger_(self) -> Any:
        """The margin reached and the bounds that rest on it: of the two classes, or a list, one for each pair."""
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
            state.update({name: getattr(self, name) for name in LEDGERS})
        return state

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

        Calibrated on the decision values of rows held out in five folds, which are computed when this is first asked for.
        """
        values = self._columns(X)
        p, k = sigmoid(values, self._once("slopes", self._calibration)), len(self.classes_)
        table = np.column_stack([1.0 - p[:, 0], p[:, 0]]) if k == 2 else coupled(p, k)
        return agreeing(table, self._winners(values))

    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithms of the class probabilities."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def _calibration(self, training: Training) -> Array:  # -> (P, 2)
        """The slopes of the probabilities."""
        k, codes = len(self.classes_), training.y
        if k == 2:  # f is positive for the second class
            codes = np.where(codes < 0, -1, 1 - codes)
        return pair_slopes(self._held_out(training), codes, training.weights, k)

    def _held_out(self, training: Training) -> Array:  # -> (n, P)
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
                for p, function in enumerate(fit_pairs(solver, margin, codes, k, weights)):
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


def fit_pairs(
    solver: Solver | HingeSolver, margin: Margin, codes: Array, classes: int, weights: Array
) -> list[SupportFunction | None]:  # (n,), (n,)
    """One function per pair of classes, None where a class has no row of positive weight.

    Codes are 0 … classes - 1, and -1 for rows that are left out. Rows of weight 0 have no say, but get decision values.
    """
    if isinstance(solver, HingeSolver) or (classes > 2 and margin.bounded and len(codes) > SHORT):
        return solver.pairs(codes, margin.upper(weights))
    found: list[SupportFunction | None] = []
    pairs = [two_classes(codes)] if classes == 2 else class_pairs(codes, classes)
    for number, pair in enumerate(pairs):
        solver.begin(number, len(pairs))
        own = weights[pair.index]
        found.append(margin.fit(solver, pair.signs, pair.index, own) if pair.has_both(own) else None)
    return found


def coefficients(
    found: Sequence[SupportFunction | None], codes: Array, classes: int
) -> tuple[Array, Array]:  # -> (k - 1, n), (P,)
    """All coefficients by training row, in LIBSVM's order (see `pair_columns`), and the intercepts."""
    table, intercepts = np.zeros((classes - 1, len(codes))), np.zeros(len(found))
    for p, ((i, j), function) in enumerate(zip(pairs(classes), found, strict=True)):
        if function is None:
            continue
        own = codes[function.rows] == i
        table[j - 1, function.rows[own]] = function.coef[own]
        table[i, function.rows[~own]] = function.coef[~own]
        intercepts[p] = function.intercept
    return table, intercepts


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
    """A seed as a number, drawn once at fit: asked again later, or of a copy, the folds are the same."""
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))
