"""From a question to a fitted model: hold some rows out, fit the table model, set it beside its rivals on these rows."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.arrays import Array, Floats, Indices
from mercer.errors import InputError
from mercer.estimators.tables.refit import refitted
from mercer.inputs.frames import read_columns
from mercer.inputs.tables import Table
from mercer.workflow.columns import CLASSIFICATION, Question, holes
from mercer.workflow.rivals import Rival, rivals
from mercer.workflow.scores import Resampled, Score, classification_scores, regression_scores
from mercer.workflow.settings import Settings

#: The last fit to all rows is made while no more than this part of the time is spent.
TIME_LEFT = 0.7


@dataclass(frozen=True)
class Elsewhere:
    """Rows that were never brought together: who read them, how often, and what was left out of the search for that."""

    rows: int  # that the saved model is fitted to
    workers: int
    threads: int
    chunks: int
    bytes: int  # of the files
    passes: int
    limits: str  # which candidates were tried, and why no others

    def to_dict(self) -> dict[str, Any]:
        """The facts by name."""
        return dict(vars(self))


@dataclass(frozen=True)
class Training:
    """All that a fit of `mercer fit` found: what a report is made of.

    `X_train` and `X_test` are tables whose columns are those of the question, in its order: every one that the model was
    given, also those it left out (`model.result_.columns` says why). `predictions`, `intervals` and `probabilities` are of
    the held-out rows `X_test` by `model`, which has seen `X_train` only. `final` is the model that is saved: the same
    choices, fitted to all rows; where memory or time forbid that, it is `model` itself.

    Where the rows were read by the workers of a cluster, `elsewhere` says so, and the tables hold the rows that were brought
    here: `X_train` a sample of those that were fitted, with all landmarks, `question.X` also those of `final`.
    """

    question: Question  # the data's name, target, task, why, the id, what was left out
    settings: Settings
    model: Any  # TableRegressor or TableClassifier, the one that was judged; `model.result_` is its TableResult
    X_train: Table
    y_train: Array  # (n,) numbers or labels
    X_test: Table
    y_test: Array  # (m,)
    predictions: Array  # (m,) numbers or labels
    intervals: Floats | None  # (m, 2) at settings.coverage; None for classes
    probabilities: Floats | None  # (m, c) in the order of model.classes_; None for numbers
    rivals: tuple[Rival, ...]  # baseline, linear, boosting on the same split
    scores: tuple[Score, ...]  # of the model on the held-out rows
    seconds: dict[str, float]  # by step: "read", "fit", "judge", "fit all"
    peak_bytes: int  # the most memory the process has taken, 0 where the system does not say
    command: str = ""  # to type again
    final: Any = None  # the model to save
    versions: dict[str, str] = field(default_factory=dict)
    elsewhere: Elsewhere | None = None

    @property
    def n_fitted(self) -> int:
        """The rows that the judged model has learned from, here or elsewhere."""
        return int(self.model.result_.rows)

    @property
    def n_in_model(self) -> int:
        """The rows that the saved model has learned from."""
        if self.final is self.model:
            return self.n_fitted
        return len(self.question.y) if self.elsewhere is None else self.elsewhere.rows

    @property
    def classes(self) -> Array | None:
        """The classes, or None for numbers."""
        return None if self.question.task != CLASSIFICATION else self.model.classes_

    @property
    def covered(self) -> float | None:
        """The part of the held-out targets inside their intervals."""
        if self.intervals is None:
            return None
        return float(np.mean((self.intervals[:, 0] <= self.y_test) & (self.y_test <= self.intervals[:, 1])))

    def metrics(self) -> dict[str, Any]:
        """The facts for programs."""
        question, result = self.question, self.model.result_
        return {
            "versions": self.versions,
            "command": self.command,
            "data": question.data,
            "target": question.target,
            "task": question.task,
            "reason": question.reason,
            "id": question.id,
            "columns": [{"name": c.name, "kind": c.kind, "holes": c.holes, "left_out": c.note or None}
                        for c in result.columns],
            "rows": {"fitted": self.n_fitted, "held_out": len(self.y_test), "in_model": self.n_in_model},
            "notes": [*question.notes, *result.notes],
            "model": [{"kernel": repr(member.model.kernel), "label": member.label, "scaling": member.scaling,
                       "alpha": member.model.alpha, "weight": member.weight} for member in self.model.members_],
            "route": result.route,
            "in_folds": {"measure": result.measure, "value": result.error, "constant": result.baseline},
            "held_out": {score.measure: score.to_dict() for score in self.scores},
            "rivals": {rival.key: {s.measure: s.to_dict() for s in self.rival_scores(rival)} for rival in self.rivals},
            "intervals": None if self.intervals is None else {
                "coverage": self.settings.coverage, "covered": self.covered, "half_width": self.half_width},
            "seed": self.settings.seed,
            "seconds": {step: round(seconds, 3) for step, seconds in self.seconds.items()},
            "peak_bytes": self.peak_bytes,
            **({} if self.elsewhere is None else {"cluster": self.elsewhere.to_dict()}),
        }  # fmt: skip

    def lines(self) -> list[tuple[str, str]]:
        """The facts for people: the error on the rows held out, with its rivals', and the intervals."""
        first = self.scores[0]
        lines = [(f"held-out {first.measure}", f"{_shown(first)} on {len(self.y_test):,} rows"
                  + (f" (R² {self.scores[2].value:.3f})" if self.classes is None else ""))]  # fmt: skip
        lines += [(rival.name, _shown(self.rival_scores(rival)[0])) for rival in self.rivals]
        if self.covered is not None and self.half_width is not None:
            inside = f"± {self.half_width:.4g} at the median, holding {100 * self.covered:.1f} % of the held-out rows"
            known = inside if np.isfinite(self.half_width) else "infinite: too few rows for so high a coverage"
            lines.append((f"{100 * self.settings.coverage:g} % intervals", known))
        return lines

    @property
    def half_width(self) -> float | None:
        """Half the median width of the intervals."""
        return None if self.intervals is None else float(np.median(np.diff(self.intervals, axis=1))) / 2

    def rival_scores(self, rival: Rival) -> list[Score]:
        """The scores of a rival on the same rows."""
        return scores_of(self.y_test, rival.predictions, self.classes)


def split(question: Question, settings: Settings) -> tuple[Indices, Indices]:
    """Rows to learn from and rows held out, by the seed; classes in proportion where every class has a row for either.

    Where the only holes of a column would be held out, one of their rows moves to the others: a model that has seen no hole
    has no rule for it.
    """
    from sklearn.model_selection import train_test_split

    rows = np.arange(len(question.y))
    n_test = int(np.ceil(settings.holdout * len(rows)))
    if len(rows) - n_test < max(4, len(rows) // 10):
        raise InputError(f"--holdout {settings.holdout:g} leaves too few rows to learn from; hold out less.")
    labels = _strata(question, min(n_test, len(rows) - n_test))
    train, _ = train_test_split(rows, test_size=n_test, random_state=settings.seed, stratify=labels)
    learned = np.zeros(len(rows), dtype=bool)
    learned[train] = True
    for name in question.names:
        missing = holes(question.X[name].to_numpy())
        if missing.any() and not missing[learned].any():
            learned[np.argmax(missing)] = True
    if question.task == CLASSIFICATION:
        for label in np.unique(question.y):  # a class that is held out as a whole cannot be learned
            if not (question.y[learned] == label).any():
                learned[np.argmax(question.y == label)] = True
    if learned.all():
        raise InputError(f"{question.data}: no row is left to hold out; give more rows, or hold out more with --holdout.")
    return np.flatnonzero(learned), np.flatnonzero(~learned)


def _strata(question: Question, smaller: int) -> Array | None:
    if question.task != CLASSIFICATION:
        return None
    counts = np.unique(question.y, return_counts=True)[1]
    return question.y if counts.min() >= 2 and smaller >= len(counts) else None


def make_model(task: str, settings: Settings) -> Any:
    """The table model that the question asks for, not yet fitted."""
    from mercer.estimators.tables.classifier import TableClassifier
    from mercer.estimators.tables.regressor import TableRegressor

    make: Any = TableClassifier if task == CLASSIFICATION else TableRegressor
    return make(kernel=settings.kernel, time=settings.time, memory=settings.memory, random_state=settings.seed)


def train(
    question: Question,
    settings: Settings,
    *,
    command: str = "",
    seconds_read: float = 0.0,
    tell: Callable[[str], None] = lambda step: None,
) -> Training:
    """Fit on some rows, judge on the others; `tell` hears which step begins."""
    rows, held_out = split(question, settings)
    X_train, X_test = question.X[rows], question.X[held_out]
    y_train, y_test = question.y[rows], question.y[held_out]
    start = time.perf_counter()
    tell("fit")
    model = make_model(question.task, settings).fit(X_train, y_train)
    fitted = time.perf_counter()
    tell("judge")
    intervals = probabilities = None
    if question.task == CLASSIFICATION:
        probabilities = model.predict_proba(X_test)
        predictions = model.classes_[probabilities.argmax(axis=1)]
    else:
        predictions = model.predict(X_test)
        intervals = model.predict_interval(X_test, settings.coverage)
    classes = None if probabilities is None else model.classes_
    columns = read_columns(X_train)
    used = {note.name for note in model.result_.columns if not note.note}
    learned = [column for column in columns if column.name in used]
    others = rivals(learned, y_train, read_columns(X_test), classes, settings.seed)
    scores = scores_of(y_test, predictions if probabilities is None else probabilities, classes)
    judged = time.perf_counter()
    tell("fit all")
    in_time = settings.time is None or fitted - start < TIME_LEFT * settings.time
    final = refitted(model, question.X, question.y) if in_time else None
    seconds = {
        "read": seconds_read,
        "fit": fitted - start,
        "judge": judged - fitted,
        "fit all": time.perf_counter() - judged,
    }
    return Training(
        question, settings, model, X_train, y_train, X_test, y_test, predictions, intervals, probabilities, tuple(others),
        tuple(scores), seconds, peak_bytes(), command, model if final is None else final, versions(),
    )  # fmt: skip


def scores_of(y: Array, predicted: Floats, classes: Array | None) -> list[Score]:
    """Scores of predictions (m,), or of probabilities (m, c), for held-out targets."""
    if classes is None:
        return regression_scores(y, predicted, Resampled(len(y)))
    return classification_scores(np.searchsorted(classes, y), predicted, Resampled(len(y)))


def _shown(score: Score) -> str:
    if score.measure == "accuracy":
        return f"{100 * score.value:.1f} % ({100 * score.low:.1f} to {100 * score.high:.1f})"
    return f"{score.value:.4g} ({score.low:.4g} to {score.high:.4g})"


def peak_bytes() -> int:
    """The most memory that this process has taken."""
    try:
        import resource
    except ImportError:  # Windows
        return 0
    return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) * (1 if sys.platform == "darwin" else 1024)


def versions() -> dict[str, str]:
    """What the fit was made with."""
    from importlib.metadata import version
    from platform import python_version

    return {"python": python_version()} | {name: version(name) for name in ("mercer", "numpy", "scipy", "scikit-learn")}
