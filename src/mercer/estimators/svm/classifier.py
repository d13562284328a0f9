"""What SVC and NuSVC share: pairs of classes on one set of kernel values, votes, probabilities, the ledger."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state, compute_class_weight
from sklearn.utils.validation import check_is_fitted

from mercer.errors import InputError
from mercer.estimators.base import whole_or_nothing
from mercer.estimators.progress import Meter
from mercer.estimators.summary import Summary
from mercer.estimators.svm.decision import one_against_rest, pairs, votes
from mercer.estimators.svm.fit import (
    Job,
    check_solver_parameters,
    coefficients,
    fit_pairs,
    fold_numbers,
    open_job,
    warn_if_open,
)
from mercer.estimators.svm.float32_predict import screened_classes, worth_screening
from mercer.estimators.svm.margin_bounds import MarginLedger, open_ledgers
from mercer.estimators.svm.model import SupportModel, Training
from mercer.estimators.svm.probability import agreeing, coupled, pair_slopes, sigmoid
from mercer.estimators.svm.problems import Machine
from mercer.inputs import count
from mercer.inputs.labels import classes_of, encode, read_labels
from mercer.plan import Shape

Array = NDArray[Any]

#: Folds whose held-out decision values calibrate the probabilities.
FOLDS = 5

#: The margin bound holds with probability 1 - DELTA for each pair of classes.
DELTA = 0.05


class SupportClassifier(ClassifierMixin, SupportModel):
    """Abstract: support vector classification, one against one beyond two classes."""

    classes_: Array
    ledger_: Any

    def _machine(self, job: Job, signs: Array, rows: Array, weights: Array) -> Machine:  # all (v,)
        """Fit one pair: rows of the training set with signs and weights, some of which may be 0."""
        raise NotImplementedError  # pragma: no cover - abstract

    def _check_parameters(self) -> None:
        raise NotImplementedError  # pragma: no cover - abstract

    @whole_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit to rows X with class labels y; a weight multiplies the C of its row, and 0 leaves the row out."""
        self._check_parameters()
        check_solver_parameters(self)
        name = type(self).__name__
        X = self._read(X, reset=True)
        labels, weights = read_labels(name, y, count(X)), self._read_weights(sample_weight, count(X))
        self.classes_ = classes_of(name, labels, weights)
        kept = np.ones(len(labels), bool) if weights is None else weights > 0
        codes = np.full(len(labels), -1)
        codes[kept] = encode(name, labels[kept], self.classes_)
        self.class_weight_ = compute_class_weight(self.class_weight, classes=self.classes_, y=labels[kept])
        training = Training(X, codes, np.ones(len(labels)) if weights is None else weights)
        kernel = self._resolved(X, weights)
        self.route_ = self._route_for(kernel, X, labels)
        with Meter(f"{name} ({self.route_.solver})", self.verbose) as meter:
            job = open_job(self, kernel, X, meter)
            machines = self._machines(job, training, training.weights)
        self._keep(kernel, training, machines, np.asarray(job.rows.diag(), dtype=np.float64))
        self.fit_status_ = warn_if_open(name, machines, self)
        return self

    def _machines(self, job: Job, training: Training, weights: Array) -> list[Machine | None]:
        """One machine per pair; rows of weight 0 have no say, but get their decision values."""
        weights, k = weights * self.class_weight_[training.y], len(self.classes_)
        penalty = self._penalty()
        if k > 2 and penalty is not None:
            return job.pairs(training.y, penalty * weights)
        done = iter(range(1, k * k))

        def solve(signs: Array, rows: Array) -> Machine | None:
            job.tell(next(done), k * (k - 1) // 2)
            own = weights[rows]
            known = (own[signs > 0] > 0).any() and (own[signs < 0] > 0).any()
            return self._machine(job, signs, rows, own) if known else None

        return fit_pairs(training.y, k, solve)

    def _penalty(self) -> float | None:
        """C where it is one finite number, as a tuned classifier has chosen it: then pairs are solved side by side."""
        return getattr(self, "best_C_", None)

    def _keep(self, kernel: Any, training: Training, machines: list[Machine | None], diagonal: Array) -> None:
        codes, k = training.y, len(self.classes_)
        found = [machine for machine in machines if machine is not None]
        table, intercepts = coefficients(machines, codes, k)
        support = np.flatnonzero(table.any(axis=0))
        support = support[np.argsort(codes[support], kind="stable")]
        self._expand(kernel, training.X, table, intercepts, support, np.bincount(codes[support], minlength=k))
        self.n_iter_ = np.array([machine.n_iter for machine in found], dtype=np.int32)
        self.dual_objective_ = float(sum(machine.dual for machine in found))
        self.duality_gap_ = float(sum(machine.gap for machine in found))
        self.primal_objective_ = self.dual_objective_ + self.duality_gap_
        ledgers = self._open_ledgers(found, training, diagonal)
        self.ledger_ = ledgers[0] if k == 2 else ledgers
        self.margin_ = ledgers[0].margin if k == 2 else np.array([ledger.margin for ledger in ledgers])
        self.radius_ = math.sqrt(max(float(diagonal[codes >= 0].max()), 0.0))
        self.loo_bound_ = len(support) / int((codes >= 0).sum())
        self.margin_bound_ = ledgers[0].margin_bound if k == 2 else np.array([ledger.margin_bound for ledger in ledgers])
        self._later = {"training": training}

    def _open_ledgers(self, machines: list[Machine], training: Training, diagonal: Array) -> list[MarginLedger]:
        names, codes = self.classes_.tolist(), training.y
        everyone = replace(machines[0], rows=np.arange(len(codes)))  # the boxes of all rows at once
        upper = self._uppers(everyone, training)
        if len(names) == 2:
            return open_ledgers([names[1]], machines, [codes[machines[0].rows] == 1], upper, diagonal, DELTA)
        both = pairs(len(names))
        positive = [codes[machine.rows] == i for (i, _), machine in zip(both, machines, strict=True)]
        return open_ledgers([(names[i], names[j]) for i, j in both], machines, positive, upper, diagonal, DELTA)

    def _uppers(self, machine: Machine, training: Training) -> Array:
        """The upper ends of the boxes of a machine's rows, before the nu forms are scaled."""
        return training.weights[machine.rows] * self.class_weight_[training.y[machine.rows]]

    def _shape(self, X: Any, y: Any = None) -> Shape:
        shape = super()._shape(X)
        return shape if y is None else replace(shape, n_targets=max(2, len(np.unique(np.asarray(y)))))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
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
        new = self._read(X, reset=False)
        winners = None
        if self._weights is None and not self.break_ties and worth_screening(self.kernel_, new, self.support_vectors_):
            winners = screened_classes(self, new)
        return self.classes_[self._winners(self._columns_of(new)) if winners is None else winners]

    def _winners(self, values: Array) -> Array:  # (n, P) -> (n,)
        k = len(self.classes_)
        if k == 2:
            return (values[:, 0] > 0).astype(np.intp)
        return (one_against_rest(values, k) if self.break_ties else votes(values, k)).argmax(axis=1)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return class probabilities, (n, k): the largest is the predicted class's, and p = 1/2 at a decision of 0.

        Calibrated on the decision values of rows held out in five folds, which are computed when this is first asked for.
        """
        values = self._columns(X)
        p, k = sigmoid(values, self._once("slopes", self._calibration)), len(self.classes_)
        table = np.column_stack([1.0 - p[:, 0], p[:, 0]]) if k == 2 else coupled(p, k)
        return agreeing(table, self._winners(values))

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
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
        """Decision values of every row by machines that gave it no weight; NaN where there is none."""
        codes, k = training.y, len(self.classes_)
        folds = fold_numbers(codes, FOLDS, check_random_state(self.random_state), training.X)
        decisions = np.full((len(folds), k * (k - 1) // 2), np.nan)
        with Meter(f"{type(self).__name__} probabilities", self.verbose) as meter:
            job = open_job(self, self.kernel_, training.X, again=True)
            for fold in range(FOLDS):
                meter(fold, FOLDS)
                machines = self._machines(job, training, np.where(folds == fold, 0.0, training.weights))
                for p, machine in enumerate(machines):
                    if machine is not None:
                        out = folds[machine.rows] == fold
                        decisions[machine.rows[out], p] = machine.outputs[out]
        return decisions

    def _summary(self) -> Summary:
        ledgers = [self.ledger_] if isinstance(self.ledger_, MarginLedger) else list(self.ledger_)
        worst = max(ledger.training_error for ledger in ledgers)
        per_class = ", ".join(f"{c} ({n})" for c, n in zip(self.classes_, self.n_support_, strict=True))
        lines = [
            ("kernel", str(self.kernel_)),
            ("support vectors", f"{len(self.support_)} of {self.shape_fit_[0]} rows: {per_class}"),
            ("training error", f"{worst:.4g}" + ("" if len(ledgers) == 1 else " (the worst pair of classes)")),
            ("leave-one-out error", f"<= {self.loo_bound_:.4g} (support vectors / rows)"),
            ("dual objective", f"{self.dual_objective_:.8g}, duality gap {self.duality_gap_:.3g}"),
            ("iterations", f"{int(self.n_iter_.sum())}" + ("" if self.fit_status_ == 0 else ", stopped early")),
        ]
        if len(ledgers) == 1:
            lines.insert(3, ("ledger", str(ledgers[0])))
        numbers = {"loo_bound": self.loo_bound_, "dual_objective": self.dual_objective_, "duality_gap": self.duality_gap_}
        return Summary(repr(self), (*lines, *self._route_lines()), numbers)
