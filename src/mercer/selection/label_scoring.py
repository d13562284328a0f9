"""Scores of predicted labels and decision values; greater is better."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.errors import InputError

Array = NDArray[Any]


@dataclass(frozen=True)
class LabelScoring:
    """A score with a name: `score(labels, predicted, decision)` of held-out rows, each (f,)."""

    name: str
    score: Callable[[Array, Array, Array], float]


def _accuracy(labels: Array, predicted: Array, decision: Array) -> float:
    return float(np.mean(labels == predicted))


def as_label_scoring(scoring: Any, n_classes: int) -> LabelScoring:
    """Return the score for None (accuracy), a scikit-learn name, or a function score(labels, predicted).

    >>> as_label_scoring(None, 2).name
    'accuracy'
    """
    if scoring is None or scoring == "accuracy":
        return LabelScoring("accuracy", _accuracy)
    if callable(scoring):
        return LabelScoring(getattr(scoring, "__name__", "score"), lambda y, p, d: float(scoring(y, p)))
    if not isinstance(scoring, str):
        raise InputError(
            f"scoring must be None, a scikit-learn scoring name or a function of (labels, predicted); got {scoring!r}."
        )
    from sklearn.metrics import get_scorer

    try:
        scorer = get_scorer(scoring)
    except ValueError as error:
        raise InputError(f"scoring: {error}") from None
    function, sign, options = scorer._score_func, scorer._sign, scorer._kwargs
    response = scorer._response_method
    wanted = (response,) if isinstance(response, str) else tuple(response)
    if "predict" in wanted:
        return LabelScoring(scoring, lambda y, p, d: float(sign * function(y, p, **options)))
    if "decision_function" in wanted and n_classes == 2:
        return LabelScoring(scoring, lambda y, p, d: float(sign * function(y, d, **options)))
    what = "decision values of two classes" if "decision_function" in wanted else "probabilities"
    raise InputError(
        f"scoring={scoring!r} needs {what}, and the surface has labels for {n_classes} classes; "
        'use a score of labels, such as "accuracy", "balanced_accuracy" or "f1_macro".'
    )
