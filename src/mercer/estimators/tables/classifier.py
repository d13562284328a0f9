"""`TableClassifier`: classification on a data frame, with calibrated probabilities."""

from __future__ import annotations

import time as clock
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from mercer.arrays import Array, Floats
from mercer.errors import InputError, describe, plural
from mercer.estimators.base import whole_or_nothing
from mercer.estimators.prediction_sets import HeldOutClasses, SetMixin
from mercer.estimators.tables.base import TableEstimator
from mercer.estimators.tables.class_scoring import decide, objective_of
from mercer.estimators.tables.fitting import Outcome
from mercer.estimators.tables.refits import RefitMixin
from mercer.estimators.tables.row_weights import read_weights
from mercer.estimators.tables.targets import calibrated, probabilities
from mercer.inputs.labels import class_weights
from mercer.kernels.base import Kernel
from mercer.registry import estimator


@estimator
class TableClassifier(ClassifierMixin, SetMixin, RefitMixin, TableEstimator):
    """Classification on a data frame: as `TableRegressor`, on indicators of the classes, with calibrated probabilities.

    Candidates are compared by the log-loss of held-out rows; scores become probabilities by a floor and a power that
    minimize it. `predict` is the class of the largest probability, or of the smallest expected cost.

    Parameters
    ----------
    kernel, order, time, memory, random_state, verbose : as for TableRegressor
    class_weight : dict of class: weight, "balanced" or None
        Multiplies the weights of the rows of a class. "balanced" gives every class the same total weight.
    scoring : "log-loss", "auc", or a matrix of costs
        What candidates are compared by. "auc" is the area under the ROC curve, with several classes the mean over classes
        of each against the rest. Costs have a row per true class and a column per predicted class in the order of
        classes_, or are {(true, predicted): cost}; `predict` then minimizes the expected cost.

    Attributes
    ----------
    classes_, members_, result_, feature_importances_, n_features_in_, feature_names_in_, costs_ (None without costs),
    threshold_ (two classes: `predict` returns the second one if its probability is above).

    >>> import numpy as np
    >>> from mercer import TableClassifier
    >>> X = np.linspace(0.0, 6.0, 60)[:, None]
    >>> model = TableClassifier(time=0.1).fit(X, np.where(X[:, 0] > 3.0, "high", "low"))
    >>> model.predict([[1.0], [5.0]]).tolist()
    ['low', 'high']
    """

    _stored: ClassVar[dict[str, str]] = {
        "classes_": "labels (_,)",
        "floor_": "float",
        "power_": "float",
        "_held": "absent | a HeldOutClasses",
        "_costs": "absent | None | float (_, _)",
    }

    classes_: Array
    floor_: float
    power_: float

    def _check_loaded(self) -> None:
        super()._check_loaded()
        if len(self.classes_) != len(self.members_[0].transform.center):
            raise InputError("classes_ does not fit the members of the mean; the file is damaged or was changed.")
        objective_of(self.scoring, self.classes_)
        none = np.zeros(0, dtype=np.intp)
        class_weights(type(self).__name__, self.class_weight, self.classes_, none, np.zeros(0))

    def __init__(
        self,
        *,
        kernel: Kernel | str | None = None,
        order: str | Sequence[str] | bool | None = None,
        time: float | None = None,
        memory: int | float | str | None = None,
        class_weight: Any = None,
        scoring: Any = "log-loss",
        random_state: Any = None,
        verbose: bool | None = None,
    ) -> None:
        self.kernel = kernel
        self.order = order
        self.time = time
        self.memory = memory
        self.class_weight = class_weight
        self.scoring = scoring
        self.random_state = random_state
        self.verbose = verbose

    @whole_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> TableClassifier:
        """Learn from a table X (data frame or (n, d) array) and one label per row.

        `sample_weight` and `groups` are as in TableRegressor. A class whose rows all have weight 0 is not learned.
        """
        started = clock.perf_counter()
        columns = self._training_columns(X)
        name, n = type(self).__name__, len(columns[0].holes)
        labels, weights = _labels(y, n), read_weights(name, sample_weight, n)
        classes = np.unique(labels[weights > 0])
        if len(classes) < 2:
            raise InputError(f"TableClassifier needs at least two classes; y has one class, {classes[0]!r}.")
        objective, costs = objective_of(self.scoring, classes)
        codes = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
        counted = np.where(weights > 0, codes, -1)
        weights = weights * class_weights(name, self.class_weight, classes, counted, weights)[codes]
        rows, columns, layout = self._weighted(columns, codes, weights, groups)
        codes = codes[rows.kept]
        Y = np.eye(len(classes))[codes]
        outcome = self._fitting(columns, Y, objective, codes, layout, rows.weights).run()
        self._costs = costs
        return self._store_rows(replace(outcome, classes=classes), rows, started)._dated(columns, layout)

    def _read_target(self, y: Any, n: int) -> Array:
        labels = _labels(y, n)
        new = [label for label in np.unique(labels) if label not in self.classes_]
        if new:
            raise InputError(
                f"refit: y holds the class {new[0]!r}, which the model does not know; call fit for new classes."
            )
        return labels

    def _targets_for_order(self, target: Array) -> Floats:
        return np.eye(int(target.max()) + 1)[target]

    def _calibrate(self, outcome: Outcome) -> None:
        assert outcome.classes is not None
        self.classes_ = outcome.classes
        self.floor_, self.power_ = calibrated(outcome.held_out, outcome.targets, outcome.weights)
        self._held = HeldOutClasses(self.probabilities(outcome.held_out), outcome.targets.argmax(axis=1))

    def _targets(self, y: Array) -> Floats:
        return np.eye(len(self.classes_))[np.searchsorted(self.classes_, y)]

    def predict_proba(self, X: Any) -> Floats:  # -> (n, c)
        """Return the probability of every class, in the order of classes_."""
        return self.probabilities(self.scores(self.new_inputs(X)))

    def _held_out_classes(self) -> HeldOutClasses:
        found: HeldOutClasses | None = self.__dict__.get("_held")  # None: a file of version 0.2
        return super()._held_out_classes() if found is None else found

    def probabilities(self, scores: Floats) -> Floats:  # (n, c) -> (n, c)
        """Return the probabilities of scores."""
        return probabilities(scores, self.floor_, self.power_)

    def predict(self, X: Any) -> Array:
        """Return the most probable class of every row, or that of the smallest expected cost."""
        check_is_fitted(self)
        return np.asarray(self.classes_[decide(self.predict_proba(X), self.costs_)])

    @property
    def costs_(self) -> Floats | None:
        """Costs (true class, predicted class) of decisions; None if `scoring` gives none."""
        check_is_fitted(self)
        found: Floats | None = self.__dict__.get("_costs")  # absent in older files
        return found

    @property
    def threshold_(self) -> float:
        """Probability of the second of two classes above which `predict` returns it: 1/2 without costs."""
        check_is_fitted(self)
        if len(self.classes_) != 2:
            raise AttributeError(f"threshold_ is for two classes; the model has {len(self.classes_)}.")
        costs = self.costs_
        if costs is None:
            return 0.5
        first, second = costs[0, 1] - costs[0, 0], costs[1, 0] - costs[1, 1]
        return float(first / (first + second))

    def output(self, scores: Floats, target: Any) -> tuple[int, str]:
        classes = self.classes_.tolist()
        if target is None:
            place = int(scores.argmax())
        elif target in classes:
            place = classes.index(target)
        elif str(target) in [str(label) for label in classes]:
            place = [str(label) for label in classes].index(str(target))
        else:
            shown = ", ".join(repr(label) for label in classes[:10])
            raise InputError(f"explain: target must be one of the classes {shown}; got {describe(target)}.")
        return place, f"score of class {classes[place]!r}"


def _labels(y: Any, n: int) -> Array:
    if y is None:
        raise InputError("TableClassifier requires y to be passed, but the target y is None.")
    labels = column_or_1d(y, warn=True)
    missing = [row for row, label in enumerate(labels) if label is None or label != label]
    if missing:
        raise InputError(
            f"Input y contains NaN (row {missing[0]}): a row without a target cannot be learned from; drop such rows first."
        )
    check_classification_targets(labels)
    if len(labels) != n:
        raise InputError(f"y has {plural(len(labels), 'value')} for {plural(n, 'row')} of X; give one value per row.")
    return np.asarray(labels)
