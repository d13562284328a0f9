"""`RFMRegressor` and `RFMClassifier`: recursive feature machines, kernels that learn their metric."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state

from mercer.arrays import Array, Floats, Indices
from mercer.errors import InputError, check_choice, check_whole, plural
from mercer.estimators.base import DualModel, TrainingSet, check_is_fitted
from mercer.estimators.intervals import cv_plus
from mercer.estimators.prediction_sets import SetMixin
from mercer.estimators.progress import Meter
from mercer.estimators.summary import Summary
from mercer.estimators.tables import ridge
from mercer.estimators.tables.learned_metrics import MetricStep, metric_steps
from mercer.estimators.tables.targets import FLOOR, POWER, calibrated, probabilities
from mercer.grams.dual_function import DualFunction
from mercer.inputs import Rows, as_rows
from mercer.inputs.labels import classes_of, encode, read_labels
from mercer.kernels.base import Kernel
from mercer.kernels.stationary import PowerExponential
from mercer.planning import Route, Shape
from mercer.registry import estimator
from mercer.selection.folds import group_folds, row_groups

DEFAULT = PowerExponential()

#: Rows from which the metric is learned, at most; rows fitted exactly, at most; landmarks beyond.
METRIC_ROWS, EXACT_ROWS, LANDMARKS = 4000, 12_000, 2000


Loss = Callable[[Floats, Floats], float]

METRICS = ("diagonal", "full")

#: "auto" tries full metrics up to this many columns: beyond, the rows do not determine d^2 numbers.
FULL_COLUMNS = 200


@dataclass(frozen=True)
class FeatureMachine:
    """The chosen metric with its held-out scores.

    `scores` has the mean held-out loss of every round by metric. `held_out` are the predictions of the chosen round for rows
    that it has not seen, made by `fold_models` with the folds `folds`.
    """

    metric: str
    rounds: int
    scores: dict[str, Floats]
    held_out: Floats  # (n, t)
    folds: Indices  # (n,)
    fold_models: tuple[DualFunction, ...]
    step: MetricStep  # learned on the rows of the metric
    rows: Indices  # these rows


def metrics_of(metric: str, width: int) -> tuple[str, ...]:
    """Return the metrics to try."""
    if metric != "auto":
        return (metric,)
    return METRICS if width <= FULL_COLUMNS else METRICS[:1]


def search(
    kernel: Kernel,
    X: Floats,
    Y: Floats,
    *,
    metric: str,
    n_steps: int,
    n_folds: int,
    most_rows: int,
    loss: Loss,
    rng: np.random.Generator,
    labels: Indices | None = None,
) -> FeatureMachine:  # (n, d), (n, t)
    """Choose metric and round by the held-out loss, then learn this metric on all rows, or on most_rows of them."""
    rows = np.arange(len(X)) if len(X) <= most_rows else np.sort(rng.permutation(len(X))[:most_rows])
    part, targets = as_rows(X).take(rows), Y[rows]
    folds = group_folds(row_groups(part.data), min(n_folds, len(rows)), rng, None if labels is None else labels[rows])
    folds = np.unique(folds, return_inverse=True)[1].astype(np.intp).reshape(-1)
    scores: dict[str, Floats] = {}
    kept: dict[str, tuple[Floats, list[list[DualFunction]]]] = {}
    for name in metrics_of(metric, X.shape[1]):
        predictions, models = _over_folds(kernel, part, targets, folds, name == "full", n_steps)
        scores[name] = np.array([loss(values, targets) for values in predictions])
        kept[name] = predictions, models
    best = min(scores, key=lambda name: float(scores[name].min()))
    rounds = int(np.argmin(scores[best]))
    *_, step = metric_steps(kernel, part, targets, best == "full", rounds)
    predictions, models = kept[best]
    return FeatureMachine(
        best, rounds, scores, predictions[rounds], folds, tuple(fold[rounds] for fold in models), step, rows
    )


def _over_folds(
    kernel: Kernel, X: Rows, Y: Floats, folds: Indices, full: bool, n_steps: int
) -> tuple[Floats, list[list[DualFunction]]]:
    """Return held-out predictions of every round, (rounds, n, t), and the models of every fold and round."""
    out = np.full((n_steps + 1, *Y.shape), np.nan)
    models = []
    for fold in range(int(folds.max()) + 1):
        train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        known, new = X.take(train), X.take(test)
        found = []
        for place, step in enumerate(metric_steps(kernel, known, Y[train], full, n_steps)):
            model = DualFunction(step.kernel, known.data, step.fit.dual, step.fit.intercept, step.fit.alpha)
            out[place, test] = model.predict(new)
            found.append(model)
        models.append(found)
    return out, models


def final(machine: FeatureMachine, X: Floats, Y: Floats, n_landmarks: int | None, seed: int) -> DualFunction:
    """Return the chosen round on all rows: the fit that exists, an exact one, or one on landmarks."""
    step = machine.step
    if len(machine.rows) == len(X):
        return DualFunction(step.kernel, X, step.fit.dual, step.fit.intercept, step.fit.alpha)
    return ridge.fit(step.kernel, X, Y, step.fit.alpha, None if n_landmarks is None else min(n_landmarks, len(X)), seed)


def route(n: int, part: int, n_landmarks: int | None) -> Route:
    """Return the route for n rows with a metric learned from `part` of them; about 4e-10 s per cubed row and round."""
    seconds = 4e-9 * float(part) ** 3 / 10.0
    learned = f"the metric is learned from {'all rows' if part == n else f'{part:,} rows'}"
    if n_landmarks is None:
        return Route("cholesky", 16 * n * n, seconds + 4e-11 * float(n) ** 3, f"{learned}, the fit on all rows is exact")
    seconds += 1e-10 * n * float(n_landmarks) ** 2
    return Route("nystroem", 16 * n * n_landmarks, seconds, f"{learned}; {n_landmarks:,} landmarks", False)


class _RFM(DualModel):
    """Abstract: parameters, search and attributes of regressor and classifier."""

    _stored: ClassVar[dict[str, str]] = {
        "intercept_": "float (*t)",
        "metric_": "float (d,) | float (d, d)",
        "alpha_": "absent | real",
        "n_steps_": "absent | int",
        "scores_": "absent | a dict",
    }

    def __init__(
        self,
        kernel: Any = DEFAULT,
        *,
        metric: str = "auto",
        n_steps: int = 5,
        cv: int = 3,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.metric = metric
        self.n_steps = n_steps
        self.cv = cv
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags

    def _read(self, X: Any, reset: bool) -> Floats:  # -> (n, d)
        if sp.issparse(X):
            raise InputError(f"{type(self).__name__} takes dense arrays; X is sparse. Use X.toarray().")
        data = np.asarray(super()._read(X, reset), dtype=np.float64)
        if reset and len(data) < 3:
            raise InputError(
                f"{type(self).__name__} needs at least 3 rows for its folds; X has {plural(len(data), 'sample')}."
            )
        return data

    def _check_parameters(self) -> None:
        check_whole(type(self).__name__, "n_steps", self.n_steps, 0)
        check_whole(type(self).__name__, "cv", self.cv, 2)
        check_choice(type(self).__name__, "metric", self.metric, ("auto", *METRICS))

    def _shape(self, X: Any, y: Any = None) -> Shape:
        return super()._shape(X)  # routes do not depend on targets, and classes are read as a pair

    def _search(
        self, data: TrainingSet, route: Route, Y: Floats, loss: Any, labels: Indices | None
    ) -> tuple[FeatureMachine, DualFunction]:
        """Return the machine that the folds choose, and its model of all rows."""
        seed = 0 if self.random_state is None else int(check_random_state(self.random_state).randint(2**31 - 1))
        machine = search(
            data.kernel, data.X, Y, metric=self.metric, n_steps=self.n_steps, n_folds=self.cv, most_rows=METRIC_ROWS,
            loss=loss, rng=np.random.default_rng(seed), labels=labels,
        )  # fmt: skip
        return machine, final(machine, data.X, Y, LANDMARKS if route.solver == "nystroem" else None, seed)

    def _keep(self, machine: FeatureMachine, model: DualFunction) -> None:
        self.kernel_, self.X_fit_, self.alpha_ = model.kernel, model.X, model.alpha
        self.dual_coef_, self.intercept_ = model.dual, model.intercept
        self.metric_ = machine.step.metric
        self.n_steps_, self.scores_ = machine.rounds, machine.scores

    def _routes(self, shape: Shape) -> tuple[Route, ...]:
        part = min(shape.n, METRIC_ROWS)
        exact, few = route(shape.n, part, None), route(shape.n, part, min(shape.n, LANDMARKS))
        return (exact, few) if shape.n <= EXACT_ROWS else (few,)

    @property
    def feature_importances_(self) -> Floats:  # -> (d,)
        """Diagonal of the metric M divided by its sum: the mean squared slope of the model along each column."""
        check_is_fitted(self)
        diagonal = self.metric_ if self.metric_.ndim == 1 else np.diagonal(self.metric_)
        return np.asarray(diagonal / diagonal.sum())

    def directions(self, count: int = 3) -> tuple[Floats, Floats]:  # -> (count,), (count, d)
        """Return the largest eigenvalues of M and their directions, along which the model changes most."""
        check_is_fitted(self)
        M = np.diag(self.metric_) if self.metric_.ndim == 1 else self.metric_
        values, vectors = np.linalg.eigh(M)
        return values[::-1][:count], vectors.T[::-1][:count]

    def _summary(self) -> Summary:
        kind = "diagonal" if self.metric_.ndim == 1 else "full"
        facts = (
            ("kernel", type(self._given_kernel()).__name__),
            ("metric", f"{kind}, {self.n_steps_} rounds"),
            ("alpha", f"{self.alpha_:.3g}"),
            ("route", str(self.route_)),
        )
        return Summary(type(self).__name__, facts)


def _in_units(y: Floats) -> tuple[Floats, Floats, Floats]:  # (n,) or (n, t) -> (n, t), (t,), (t,)
    """Return targets as columns, with their means and standard deviations; 1 if a target is constant."""
    Y = y.reshape(len(y), -1)
    spread = Y.std(axis=0)
    return Y, Y.mean(axis=0), np.where(spread > 0, spread, 1.0)


def squared_error(F: Floats, Y: Floats) -> float:
    """Return the mean squared error."""
    return float(np.mean((F - Y) ** 2))


def class_loss(F: Floats, Y: Floats) -> float:
    """Return the log-loss of the probabilities of scores."""
    P = probabilities(F, FLOOR, POWER)
    return float(-np.log(np.sum(P * Y, axis=1)).mean())


@estimator
class RFMRegressor(RegressorMixin, _RFM):
    """Kernel ridge regression whose kernel learns its metric: k(x, z) = exp(-(||S(x - z)||_p / L)^q), S = M^(1/2).

    M starts as I; each round fits, and takes for M the average of grad f(x) grad f(x)' over the training rows (full), or
    its diagonal, scaled to max |M| = 1. L and alpha are chosen by exact leave-one-out given M; diagonal or full and the
    number of rounds by folds in which M is learned anew, since leave-one-out after metric learning is optimistic. Equal
    rows stay in one fold. Round 0 is among the choices, so that the held-out error is never above the start's.

    Parameters
    ----------
    kernel : Kernel with slopes in x, default PowerExponential(norm=2.0, power=1.0)
    metric : "auto", "diagonal" or "full"
    n_steps : int
        Rounds, at most.
    cv : int
        Folds of the choice.
    random_state : int, RandomState or None

    Attributes
    ----------
    kernel_ (an ordinary kernel, with the metric inside), X_fit_, dual_coef_, intercept_, alpha_, metric_ (M, (d, d) or
    its diagonal), n_steps_ (rounds chosen), scores_ (mean held-out squared error by metric and round),
    feature_importances_, route_.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((150, 6))
    >>> model = RFMRegressor(random_state=0).fit(X, np.sin(2.0 * X[:, 3]))  # one column matters
    >>> int(np.argmax(model.feature_importances_))
    3
    """

    _stored: ClassVar[dict[str, str]] = {
        "_center": "float (k,)",
        "_spread": "float (k,)",
        "residuals_": "float (m, k)",
        "_fold_models": "each F: a DualFunction",
        "_folds": "int (m,) < F",
    }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X: Any, y: Any = None) -> RFMRegressor:
        """Learn metric and coefficients from X (n, d) and y (n,) or (n, t)."""
        fitted: RFMRegressor = self._fit(X, y)
        return fitted

    def _read_y(self, y: Any, n: int) -> Floats:
        return self._read_targets(y, n)

    def _solve(self, data: TrainingSet, route: Route, meter: Meter) -> tuple[FeatureMachine, DualFunction]:
        Y, center, spread = _in_units(data.y)
        return self._search(data, route, (Y - center) / spread, squared_error, None)

    def _store(self, data: TrainingSet, solution: tuple[FeatureMachine, DualFunction]) -> None:
        self._keep(*solution)
        Y, center, spread = _in_units(data.y)
        self.scores_ = {name: np.mean(spread**2) * values for name, values in self.scores_.items()}
        self.dual_coef_ = self.dual_coef_ * spread
        self.intercept_ = self.intercept_ * spread + center
        if data.y.ndim == 1:
            self.dual_coef_, self.intercept_ = self.dual_coef_[:, 0], float(self.intercept_[0])
        machine = solution[0]
        self.residuals_ = (Y[machine.rows] - center) - machine.held_out * spread
        self._folds, self._fold_models = machine.folds, machine.fold_models
        self._center, self._spread = center, spread

    def predict(self, X: Any) -> Floats:
        """Return f(x) for every row."""
        return self._decision(X)

    def predict_interval(self, X: Any, coverage: float = 0.9) -> Floats:
        """Return CV+ intervals, (n, 2) or (n, 2, t): held-out residuals around the predictions of their folds' models.

        At least 1 - 2 (1 - coverage) in theory, close to `coverage` in practice. Leave-one-out intervals are not valid
        after metric learning and are not offered.
        """
        check_is_fitted(self)
        new = self._read(X, reset=False)
        by_fold = np.stack([model.predict(new) for model in self._fold_models]) * self._spread + self._center
        found = np.stack(
            [
                cv_plus(by_fold[:, :, j].T, np.abs(self.residuals_[:, j]), self._folds, coverage)
                for j in range(by_fold.shape[2])
            ],
            axis=2,
        )
        return found[:, :, 0] if np.ndim(self.dual_coef_) == 1 else found


@estimator
class RFMClassifier(ClassifierMixin, SetMixin, _RFM):
    """Classification by a recursive feature machine on indicators of the classes, with calibrated probabilities.

    Metric and rounds are chosen by the held-out log-loss; the scores become probabilities by a floor and a power that
    minimize it. See `RFMRegressor` for the machine and the parameters.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((120, 5))
    >>> model = RFMClassifier(n_steps=2, random_state=0).fit(X, np.where(X[:, 1] > 0, "up", "down"))
    >>> int(np.argmax(model.feature_importances_)), model.predict([[0.0, 2.0, 0.0, 0.0, 0.0]]).tolist()
    (1, ['up'])
    """

    _stored: ClassVar[dict[str, str]] = {
        "classes_": "labels (C,)",
        "dual_coef_": "float (n, C)",
        "intercept_": "float (C,)",
        "floor_": "float",
        "power_": "float",
    }

    def fit(self, X: Any, y: Any = None) -> RFMClassifier:
        """Learn metric and coefficients from X (n, d) and one label per row."""
        fitted: RFMClassifier = self._fit(X, y)
        return fitted

    def _read_y(self, y: Any, n: int) -> tuple[Array, Indices]:
        name = type(self).__name__
        labels = read_labels(name, y, n)
        classes = classes_of(name, labels)
        if len(classes) < 2:
            raise InputError(f"RFMClassifier needs at least two classes; y has one class, {classes[0]!r}.")
        return classes, encode(name, labels, classes)

    def _solve(self, data: TrainingSet, route: Route, meter: Meter) -> tuple[FeatureMachine, DualFunction]:
        classes, codes = data.y
        return self._search(data, route, np.eye(len(classes))[codes], class_loss, codes)

    def _store(self, data: TrainingSet, solution: tuple[FeatureMachine, DualFunction]) -> None:
        self._keep(*solution)
        self.classes_, codes = data.y
        machine = solution[0]
        self.floor_, self.power_ = calibrated(machine.held_out, np.eye(len(self.classes_))[codes[machine.rows]])

    def predict_proba(self, X: Any) -> Floats:  # -> (n, c)
        """Return the probability of every class, in the order of classes_."""
        return probabilities(self._decision(X), self.floor_, self.power_)

    def predict(self, X: Any) -> Array:
        """Return the most probable class of every row."""
        check_is_fitted(self)
        return np.asarray(self.classes_[np.argmax(self.predict_proba(X), axis=1)])
