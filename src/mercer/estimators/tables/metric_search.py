"""Which metric and how many rounds: recursive feature machines compared on folds in which the metric is learned anew."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.estimators.tables import ridge
from mercer.estimators.tables.metric_steps import Step, steps
from mercer.grams.dual_function import DualFunction
from mercer.kernels.base import Kernel
from mercer.planning import Route
from mercer.selection.folds import group_folds, row_groups

Loss = Callable[[Floats, Floats], float]

METRICS = ("diagonal", "full")

#: "auto" tries full metrics up to this many columns: with more, d^2 numbers are too many for the rows there are.
FULL_COLUMNS = 200


@dataclass(frozen=True)
class Machine:
    """The chosen metric with its held-out evidence.

    `scores` has a row per metric tried and a column per round, the mean held-out loss; `held_out` are the predictions of
    the chosen state on rows it has not seen, `folds` and `fold_models` those that made them.
    """

    metric: str
    rounds: int
    scores: dict[str, Floats]
    held_out: Floats  # (n, t)
    folds: Indices  # (n,)
    fold_models: tuple[DualFunction, ...]
    step: Step  # learned on the rows of the metric
    rows: Indices  # those rows


def metrics_of(metric: str, width: int) -> tuple[str, ...]:
    """The metrics to try."""
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
) -> Machine:  # (n, d), (n, t)
    """Choose metric and round by the held-out loss, then learn that metric on all rows, or on most_rows of them."""
    rows = np.arange(len(X)) if len(X) <= most_rows else np.sort(rng.permutation(len(X))[:most_rows])
    part, targets = X[rows], Y[rows]
    folds = group_folds(row_groups(part), min(n_folds, len(rows)), rng, None if labels is None else labels[rows])
    folds = np.unique(folds, return_inverse=True)[1].astype(np.intp).reshape(-1)
    scores: dict[str, Floats] = {}
    kept: dict[str, tuple[Floats, list[list[DualFunction]]]] = {}
    for name in metrics_of(metric, X.shape[1]):
        predictions, models = _over_folds(kernel, part, targets, folds, name == "full", n_steps)
        scores[name] = np.array([loss(values, targets) for values in predictions])
        kept[name] = predictions, models
    best = min(scores, key=lambda name: float(scores[name].min()))
    rounds = int(np.argmin(scores[best]))
    *_, step = steps(kernel, part, targets, best == "full", rounds)
    predictions, models = kept[best]
    return Machine(best, rounds, scores, predictions[rounds], folds, tuple(fold[rounds] for fold in models), step, rows)


def _over_folds(
    kernel: Kernel, X: Floats, Y: Floats, folds: Indices, full: bool, n_steps: int
) -> tuple[Floats, list[list[DualFunction]]]:
    """Held-out predictions of every round, (rounds, n, t), and the models of every fold and round."""
    out = np.full((n_steps + 1, *Y.shape), np.nan)
    models = []
    for fold in range(int(folds.max()) + 1):
        train, test = folds != fold, folds == fold
        found = []
        for place, step in enumerate(steps(kernel, X[train], Y[train], full, n_steps)):
            model = DualFunction(step.kernel, X[train], step.fit.dual, step.fit.intercept, step.fit.alpha)
            out[place, test] = model.predict(X[test])
            found.append(model)
        models.append(found)
    return out, models


def final(machine: Machine, X: Floats, Y: Floats, n_landmarks: int | None, seed: int) -> DualFunction:
    """The chosen state on all rows: the fit at hand, an exact one, or one on landmarks."""
    step = machine.step
    if len(machine.rows) == len(X):
        return DualFunction(step.kernel, X, step.fit.dual, step.fit.intercept, step.fit.alpha)
    return ridge.fit(step.kernel, X, Y, step.fit.alpha, None if n_landmarks is None else min(n_landmarks, len(X)), seed)


def route(n: int, part: int, n_landmarks: int | None) -> Route:
    """How n rows are fitted with a metric learned from `part` of them; seconds by about 4e-10 per cubed row and round."""
    seconds = 4e-9 * float(part) ** 3 / 10.0
    learned = f"the metric is learned from {'all rows' if part == n else f'{part:,} rows'}"
    if n_landmarks is None:
        return Route("cholesky", 16 * n * n, seconds + 4e-11 * float(n) ** 3, f"{learned}, the fit on all is exact")
    seconds += 1e-10 * n * float(n_landmarks) ** 2
    return Route("nystroem", 16 * n * n_landmarks, seconds, f"{learned}; {n_landmarks:,} landmarks", False)
