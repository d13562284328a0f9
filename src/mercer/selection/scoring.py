"""Scores of held-out predictions and labels; greater is better."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mercer.arrays import Array
from mercer.errors import InputError


class Scores(NamedTuple):
    """Scores of held-out predictions at every alpha (and target)."""

    mean: Array  # (L, *t)
    error: Array  # (L, *t) standard error of the mean
    deviation: Array  # (L, *t) standard deviation of the splits' scores, or of the rows' in leave-one-out
    splits: Array | None  # (m, L, *t); None for leave-one-out


@dataclass(frozen=True)
class Scoring:
    """A score of numbers with a name, per row or per fold.

    `rows` gives one number per row, (f, *t), (L, f, *t) -> (L, f, *t) or (L, f); `whole` one per fold.

    `joint` marks scores that look at all targets of a row at once, such as the accuracy of coded classes.
    """

    name: str
    rows: Callable[[Array, Array], Array] | None = None
    whole: Callable[[Array, Array], float] | None = None
    root: bool = False  # report -sqrt(-score), for root mean squared errors
    joint: bool = False

    def evaluate(
        self, Y: Array, held: Sequence[Array], folds: Sequence[Array], weights: Array, leave_one_out: bool
    ) -> Scores:
        """The mean over folds of a fold's score, for every alpha (and target); `held` are residuals, (L, f, *t) per fold."""
        parts = [(Y[rows], Y[rows] - errors, weights[rows]) for errors, rows in zip(held, folds, strict=True)]
        if self.rows is None:
            assert self.whole is not None
            return over_folds(np.array([[self.whole(y, p) for p in predicted] for y, predicted, _ in parts]))
        if leave_one_out:  # each row is a fold of its own
            [(y, predicted, own)] = parts
            mean, count, deviation = _weighted_mean(self.rows(y, predicted), own)
            found = Scores(mean, deviation / max(count - 1, 1.0) ** 0.5, deviation, None)
        else:
            found = over_folds(np.stack([_weighted_mean(self.rows(y, p), own)[0] for y, p, own in parts]))
        return self.of_squares(found)

    def sums(self, Y: Array, errors: Array, weights: Array) -> tuple[Array, ...]:  # (f, *t), (L, f, *t), (f,)
        """Sums over some rows from which `of_sums` makes the scores of leave-one-out."""
        if self.rows is None:
            raise InputError(f"scoring={self.name!r} looks at all rows at once, which chunks are not; take a score per row.")
        values = self.rows(Y, Y - errors)
        shaped = weights.reshape(-1, *[1] * (values.ndim - 2))
        first, second = (values * shaped).sum(axis=1), (np.square(values) * shaped).sum(axis=1)
        return first, second, np.array([weights.sum(), np.square(weights).sum()])

    def of_sums(self, first: Array, second: Array, weights: Array) -> Scores:  # (L, *t), (L, *t), (2,)
        """The scores of leave-one-out from sums over all rows."""
        mean = first / weights[0]
        deviation = np.sqrt(np.maximum(second / weights[0] - mean**2, 0.0))
        count = float(weights[0] ** 2 / weights[1])
        return self.of_squares(Scores(mean, deviation / max(count - 1, 1.0) ** 0.5, deviation, None))

    @property
    def squared(self) -> bool:
        """Whether the score follows from sums of squared errors."""
        return self.rows is _squared

    def of_squares(self, found: Scores) -> Scores:
        """The score from mean squares of errors: itself or its root."""
        return _rooted(found) if self.root else found


def _rooted(found: Scores) -> Scores:
    """Of root mean squared errors: the root of the mean, and first-order errors around it."""
    root = np.sqrt(-found.mean)
    scale = np.where(root > 0, 2 * root, np.inf)
    if found.splits is None:
        return Scores(-root, found.error / scale, found.deviation / scale, None)
    splits = -np.sqrt(-found.splits)
    return Scores(-root, found.error / scale, splits.std(axis=0), splits)


def over_folds(values: Array) -> Scores:  # (m, L, *t)
    """The mean of the folds' scores and its standard error, which one fold does not have."""
    mean, several = values.mean(axis=0), len(values) > 1
    error = values.std(axis=0, ddof=1) / len(values) ** 0.5 if several else np.full(mean.shape, np.nan)
    return Scores(mean, error, values.std(axis=0), values)


def _weighted_mean(values: Array, weights: Array) -> tuple[Array, float, Array]:  # (L, f, *t), (f,) -> (L, *t), 1, (L, *t)
    """Return the weighted mean, the effective number of rows, and the standard deviation."""
    total = weights.sum()
    if total == 0:
        nothing = np.full(values.shape[:1] + values.shape[2:], np.nan)
        return nothing, 0.0, nothing
    shaped = weights.reshape(-1, *[1] * (values.ndim - 2))
    mean = (values * shaped).sum(axis=1) / total
    variance = (shaped * (values - mean[:, None]) ** 2).sum(axis=1) / total
    return mean, float(total**2 / np.square(weights).sum()), np.sqrt(variance)


def _squared(y: Array, predicted: Array) -> Array:
    return -np.square(y - predicted)


def _absolute(y: Array, predicted: Array) -> Array:
    return -np.abs(y - predicted)


def _coded_accuracy(y: Array, predicted: Array) -> Array:
    """Rows whose largest decision value, or its sign for one column, is that of the coded label."""
    if y.ndim == 2 and y.shape[1] == 1:  # two classes share one column, which the surface hands over as a matrix
        y, predicted = y[:, 0], predicted[..., 0]
    if y.ndim == 1:
        return ((predicted > 0) == (y > 0)).astype(np.float64)
    return (predicted.argmax(axis=-1) == y.argmax(axis=-1)).astype(np.float64)


ACCURACY = Scoring("accuracy", rows=_coded_accuracy, joint=True)

_KNOWN = {
    "neg_mean_squared_error": Scoring("neg_mean_squared_error", rows=_squared),
    "neg_mean_absolute_error": Scoring("neg_mean_absolute_error", rows=_absolute),
    "neg_root_mean_squared_error": Scoring("neg_root_mean_squared_error", rows=_squared, root=True),
}


def as_scoring(scoring: Any) -> Scoring:
    """Return the score for None, a scikit-learn name, or a function score(y_true, y_predicted), greater being better.

    >>> as_scoring(None).name
    'neg_mean_squared_error'
    """
    if isinstance(scoring, Scoring):
        return scoring
    if scoring is None:
        return _KNOWN["neg_mean_squared_error"]
    if isinstance(scoring, str) and scoring in _KNOWN:
        return _KNOWN[scoring]
    if isinstance(scoring, str):
        score, _ = _from_scikit_learn(scoring)
        return Scoring(scoring, whole=score, joint=True)
    if callable(scoring):
        return Scoring(getattr(scoring, "__name__", "score"), whole=lambda y, p: float(scoring(y, p)), joint=True)
    raise InputError(f"scoring must be None, a scikit-learn scoring name or a function of (y, prediction); got {scoring!r}.")


@dataclass(frozen=True)
class LabelScoring:
    """A score of labels with a name: `score(labels, predicted, decision)` of held-out rows, each (f,)."""

    name: str
    score: Callable[[Array, Array, Array], float]


def as_label_scoring(scoring: Any, n_classes: int) -> LabelScoring:
    """Return the score for None (accuracy), a scikit-learn name, or a function score(labels, predicted).

    >>> as_label_scoring(None, 2).name
    'accuracy'
    """
    if scoring is None or scoring == "accuracy":
        return LabelScoring("accuracy", lambda y, p, d: float(np.mean(y == p)))
    if callable(scoring):
        return LabelScoring(getattr(scoring, "__name__", "score"), lambda y, p, d: float(scoring(y, p)))
    if not isinstance(scoring, str):
        raise InputError(
            f"scoring must be None, a scikit-learn scoring name or a function of (labels, predicted); got {scoring!r}."
        )
    score, wanted = _from_scikit_learn(scoring)
    if "predict" in wanted:
        return LabelScoring(scoring, lambda y, p, d: score(y, p))
    if "decision_function" in wanted and n_classes == 2:
        return LabelScoring(scoring, lambda y, p, d: score(y, d))
    what = "decision values of two classes" if "decision_function" in wanted else "probabilities"
    raise InputError(
        f"scoring={scoring!r} needs {what}, and the surface has labels for {n_classes} classes; "
        'use a score of labels, such as "accuracy", "balanced_accuracy" or "f1_macro".'
    )


def _from_scikit_learn(name: str) -> tuple[Callable[[Array, Array], float], tuple[str, ...]]:
    """The score of that name as a function of (truth, response), and the responses of an estimator that it takes."""
    from sklearn.metrics import get_scorer

    try:
        scorer = get_scorer(name)
    except ValueError as error:
        raise InputError(f"scoring: {error}") from None
    function, sign, options, response = scorer._score_func, scorer._sign, scorer._kwargs, scorer._response_method
    wanted = (response,) if isinstance(response, str) else tuple(response)
    return lambda y, p: float(sign * function(y, p, **options)), wanted
