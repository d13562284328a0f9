"""Scores of held-out predictions; greater is better."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.errors import InputError

Array = NDArray[Any]


@dataclass(frozen=True)
class Scoring:
    """A score with a name: `rows` gives one number per row, (f, *t), (L, f, *t) -> (L, f, *t) or (L, f); `whole` per fold.

    `joint` marks scores that look at all targets of a row at once, such as the accuracy of coded classes.
    """

    name: str
    rows: Callable[[Array, Array], Array] | None = None
    whole: Callable[[Array, Array], float] | None = None
    root: bool = False  # report -sqrt(-score), for root mean squared errors
    joint: bool = False

    def evaluate(
        self, Y: Array, held: Sequence[Array], folds: Sequence[Array], weights: Array, leave_one_out: bool
    ) -> tuple[Array, Array]:
        """The mean over folds of a fold's score, and its standard error, for every alpha (and target)."""
        if self.rows is None:
            return self._by_fold(Y, held, folds)
        parts = [self.rows(Y[rows], Y[rows] - errors) for errors, rows in zip(held, folds, strict=True)]
        if leave_one_out:  # each row is a fold of its own
            mean, error = _weighted_mean(parts[0], weights[folds[0]])
        else:
            means = np.stack([_weighted_mean(part, weights[rows])[0] for part, rows in zip(parts, folds, strict=True)])
            mean, error = _over_folds(means)
        if self.root:
            root = np.sqrt(-mean)
            return -root, error / np.where(root > 0, 2 * root, np.inf)
        return mean, error

    def _by_fold(self, Y: Array, held: Sequence[Array], folds: Sequence[Array]) -> tuple[Array, Array]:
        assert self.whole is not None
        values = np.array(
            [[self.whole(Y[rows], Y[rows] - e) for e in errors] for errors, rows in zip(held, folds, strict=True)]
        )
        return _over_folds(values)


def _over_folds(values: Array) -> tuple[Array, Array]:  # (folds, L, *t) -> (L, *t), (L, *t)
    """The mean of the folds' scores and its standard error, which one fold does not have."""
    mean = values.mean(axis=0)
    return mean, values.std(axis=0, ddof=1) / len(values) ** 0.5 if len(values) > 1 else np.full(mean.shape, np.nan)


def _weighted_mean(values: Array, weights: Array) -> tuple[Array, Array]:  # (L, f, *t), (f,) -> (L, *t), (L, *t)
    total = weights.sum()
    if total == 0:
        nothing = np.full(values.shape[:1] + values.shape[2:], np.nan)
        return nothing, nothing
    shaped = weights.reshape(-1, *[1] * (values.ndim - 2))
    mean = (values * shaped).sum(axis=1) / total
    variance = (shaped * (values - mean[:, None]) ** 2).sum(axis=1) / total
    count = total**2 / np.square(weights).sum()  # how many rows of equal weight would say as much
    return mean, np.sqrt(variance / max(count - 1, 1.0))


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
        from sklearn.metrics import get_scorer

        try:
            scorer = get_scorer(scoring)
        except ValueError as error:
            raise InputError(f"scoring: {error}") from None
        function, sign, options = scorer._score_func, scorer._sign, scorer._kwargs
        return Scoring(scoring, whole=lambda y, p: float(sign * function(y, p, **options)), joint=True)
    if callable(scoring):
        return Scoring(getattr(scoring, "__name__", "score"), whole=lambda y, p: float(scoring(y, p)), joint=True)
    raise InputError(f"scoring must be None, a scikit-learn scoring name or a function of (y, prediction); got {scoring!r}.")
