"""Training of a table model: hold rows out, fit, compare with rival models on the held-out rows, fit all rows."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Array, Floats, Indices
from mercer.errors import InputError
from mercer.estimators.tables.layout import ROW_NUMBER, Layout
from mercer.inputs import Rows
from mercer.inputs.frames import Column, as_if_alone, like, read_columns
from mercer.workflow.question import CLASSIFICATION, FitSettings, Question
from mercer.workflow.rivals import Rival, rivals
from mercer.workflow.scores import (
    Difference,
    Resampled,
    Score,
    classification_difference,
    classification_scores,
    regression_difference,
    regression_scores,
)

#: The fit to all rows starts only if at most this share of the time limit is used.
TIME_LEFT = 0.7

#: Blocks of held-out rows in time, from which scores are resampled.
BLOCKS = 12

#: Classes whose confusion is printed on the terminal, at most.
MOST_SHOWN = 6


@dataclass(frozen=True)
class Elsewhere:
    """How rows that were never collected were read: workers, chunks, passes, and the limits of the search."""

    rows: int  # to which the saved model is fitted
    workers: int
    threads: int
    chunks: int
    bytes: int  # of the files
    passes: int
    limits: str  # which candidates were tried, and why only these

    def to_dict(self) -> dict[str, Any]:
        """Return the facts by name."""
        return dict(vars(self))


@dataclass(frozen=True)
class Judged:
    """Predictions of a model for held-out rows, with their scores; the rows are encoded and predicted once."""

    columns: list[Column]  # with the kinds of the training columns
    inputs: dict[str, Rows]  # encoded
    y: Array  # (m,)
    predictions: Array  # (m,)
    intervals: Floats | None  # (m, 2) for regression
    probabilities: Floats | None  # (m, c) for classification
    scores: tuple[Score, ...]
    units: Indices | None = None  # (m,) blocks of time or groups, whose rows depend on each other


@dataclass(frozen=True)
class Training:
    """Results of `mercer fit`, from which the report is made.

    `train` and `test` are the columns of the rows that `model` was fitted to and of the held-out rows: every column of the
    question, in its order, also those that the model leaves out (`model.result_.columns` gives the reasons). `numbers` are
    the positions of the training rows in the source. `final` is the model that is saved: the same choices, fitted to all
    rows, or `model` itself if memory or time forbid that.

    If the rows were read by the workers of a cluster, `elsewhere` describes it, and the columns hold the rows that were
    collected here: `train` a sample of the fitted rows with all landmarks, `question.X` also the landmarks of `final`.
    """

    question: Question
    settings: FitSettings
    model: Any  # TableRegressor or TableClassifier, the one that was judged; `model.result_` is its TableResult
    train: list[Column]
    y_train: Array  # (n,)
    numbers: Indices  # (n,)
    judged: Judged
    rivals: tuple[Rival, ...]
    seconds: dict[str, float]  # by step
    peak_bytes: int
    command: str = ""  # to run again
    final: Any = None  # the model to save
    versions: dict[str, str] = field(default_factory=dict)
    elsewhere: Elsewhere | None = None

    @property
    def test(self) -> list[Column]:
        """Columns of the held-out rows, with their kinds in training."""
        return self.judged.columns

    @property
    def y_test(self) -> Array:  # (m,)
        """Targets of the held-out rows."""
        return self.judged.y

    @property
    def predictions(self) -> Array:  # (m,)
        """Predicted numbers or classes of the held-out rows."""
        return self.judged.predictions

    @property
    def intervals(self) -> Floats | None:  # (m, 2)
        """Intervals of the held-out rows, for regression."""
        return self.judged.intervals

    @property
    def probabilities(self) -> Floats | None:  # (m, c)
        """Probabilities of the classes for the held-out rows."""
        return self.judged.probabilities

    @property
    def scores(self) -> tuple[Score, ...]:
        """Scores of the model on the held-out rows."""
        return self.judged.scores

    @property
    def n_fitted(self) -> int:
        """Number of rows that the judged model was fitted to, here or elsewhere."""
        return int(self.model.result_.rows)

    @property
    def n_in_model(self) -> int:
        """Number of rows that the saved model was fitted to."""
        if self.final is self.model:
            return self.n_fitted
        return len(self.question.y) if self.elsewhere is None else self.elsewhere.rows

    @property
    def classes(self) -> Array | None:
        """Classes, or None for regression."""
        return None if self.question.task != CLASSIFICATION else self.model.classes_

    @property
    def covered(self) -> float | None:
        """Share of the held-out targets inside their intervals."""
        if self.intervals is None:
            return None
        return float(np.mean((self.intervals[:, 0] <= self.y_test) & (self.y_test <= self.intervals[:, 1])))

    def metrics(self) -> dict[str, Any]:
        """Return the results for programs."""
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
            "split": self.split,
            "notes": [*question.notes, *self.notes],
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

    @property
    def split(self) -> str:
        """How rows were held out."""
        layout = self.question.layout
        if layout is None:
            return "rows at random"
        if layout.places is not None:
            return f"the last rows by {', '.join(layout.order) or ROW_NUMBER}"
        return f"whole groups of {self.question.group}"

    @property
    def notes(self) -> list[str]:
        """Notes of the fit, and on errors that change over time."""
        return [*self.model.result_.notes, *changes(self)]

    def lines(self) -> list[tuple[str, str]]:
        """Return lines for the terminal: the held-out error, those of the rivals, and the intervals."""
        first = self.scores[0]
        lines = [(f"held-out {first.measure}", f"{_shown(first)} on {len(self.y_test):,} rows"
                  + (f" (R² {self.scores[2].value:.3f})" if self.classes is None else ""))]  # fmt: skip
        lines += [(rival.name, _shown(self.rival_scores(rival)[0]) + self._verdict(rival)) for rival in self.rivals]
        if self.classes is not None:
            lines += self._class_lines()
        if self.covered is not None and self.half_width is not None:
            inside = f"± {self.half_width:.4g} (median); {100 * self.covered:.1f} % of the held-out targets are inside"
            known = inside if np.isfinite(self.half_width) else "infinite: too few rows for this coverage"
            lines.append((f"{100 * self.settings.coverage:g} % intervals", known))
        return lines

    def difference(self, rival: Rival, resampled: Resampled | None = None) -> Difference:
        """Return the error of a rival minus that of the model on the held-out rows: RMSE, or share of mistakes."""
        draws = Resampled(len(self.y_test), self.judged.units) if resampled is None else resampled
        if self.probabilities is None or self.classes is None:
            return regression_difference(self.y_test, self.predictions, rival.predictions, draws)
        codes = np.searchsorted(self.classes, self.y_test)
        return classification_difference(codes, self.probabilities, rival.predictions, draws)

    def _verdict(self, rival: Rival) -> str:
        gap = self.difference(rival)
        if gap.low > 0 or gap.high < 0:
            return "; the model is better beyond noise" if gap.low > 0 else "; the model is worse beyond noise"
        return "; the difference is within noise"

    def _class_lines(self) -> list[tuple[str, str]]:
        """Return the other scores, and the confusion matrix: for every class, what its held-out rows were predicted as."""
        assert self.classes is not None
        lines = [(f"held-out {score.measure}", _shown(score)) for score in self.scores[1:]]
        if len(self.classes) > MOST_SHOWN:
            return lines
        counts = self.confusion()
        for place, label in enumerate(self.classes.tolist()):
            said = ", ".join(f"{int(n):,} {other}" for n, other in zip(counts[place], self.classes, strict=True) if n)
            lines.append((f"true {label}", f"{int(counts[place].sum()):,} held-out rows, predicted: {said or 'none'}"))
        return lines

    def confusion(self) -> Indices:  # -> (c, c)
        """Return numbers of held-out rows by true class (row) and predicted class (column), in the order of `classes`."""
        assert self.classes is not None
        c = len(self.classes)
        true, said = (np.searchsorted(self.classes, labels) for labels in (self.y_test, self.predictions))
        return np.bincount(true * c + said, minlength=c * c).reshape(c, c)

    @property
    def half_width(self) -> float | None:
        """Half the median width of the intervals."""
        return None if self.intervals is None else float(np.median(np.diff(self.intervals, axis=1))) / 2

    @property
    def folded(self) -> Score:
        """The score by which candidates were compared: RMSE or log-loss."""
        return self.scores[0 if self.classes is None else 1]

    def part(self, rows: NDArray[np.bool_]) -> Score:
        """Return the score by which candidates were compared, on some of the held-out rows."""
        judged = self.judged
        units = None if judged.units is None else np.unique(judged.units[rows], return_inverse=True)[1].reshape(-1)
        predicted = judged.predictions if judged.probabilities is None else judged.probabilities
        return scores_of(judged.y[rows], predicted[rows], self.classes, units)[0 if self.classes is None else 1]

    def rival_scores(self, rival: Rival) -> list[Score]:
        """Return the scores of a rival on the same rows."""
        return scores_of(self.y_test, rival.predictions, self.classes, self.judged.units)


def split(question: Question, settings: FitSettings) -> tuple[Indices, Indices]:
    """Return training rows and held-out rows: the last ones, whole groups, or by the seed, stratified if classes allow."""
    from sklearn.model_selection import train_test_split

    rows, layout = np.arange(len(question.y)), question.layout
    n_test = int(np.ceil(settings.holdout * len(rows)))
    if len(rows) - n_test < max(4, len(rows) // 10):
        raise InputError(f"--holdout {settings.holdout:g} leaves too few rows to learn from; use a smaller share.")
    learned = np.zeros(len(rows), dtype=bool)
    if layout is not None:
        learned[:] = ~_apart(layout, n_test, settings.seed)
        if learned.sum() < 4:
            raise InputError(f"{question.data}: no rows are left to learn from: too many share one time or one group.")
    else:
        labels = _strata(question, min(n_test, len(rows) - n_test))
        train, _ = train_test_split(rows, test_size=n_test, random_state=settings.seed, stratify=labels)
        learned[train] = True
    if question.task == CLASSIFICATION:
        for label in np.unique(question.y):  # a class without training rows cannot be learned
            if not (question.y[learned] == label).any():
                learned[np.argmax(question.y == label)] = True
    if learned.all():
        raise InputError(f"{question.data}: no row is left to hold out; give more rows, or a larger --holdout.")
    return np.flatnonzero(learned), np.flatnonzero(~learned)


def _apart(layout: Layout, n_test: int, seed: int) -> NDArray[np.bool_]:  # -> (n,)
    """Return the rows to hold out: the last ones with all of equal time, or random groups with about n_test rows."""
    if layout.places is not None:
        starts = np.unique(layout.places)[1:]
        first = starts[np.argmin(np.abs(starts - (len(layout.places) - n_test)))]
        return np.asarray(layout.places >= first)
    assert layout.groups is not None
    sizes = np.bincount(layout.groups)
    order = np.random.default_rng(seed).permutation(len(sizes))
    count = int(np.argmin(np.abs(np.cumsum(sizes[order]) - n_test))) + 1
    return np.isin(layout.groups, order[: min(count, len(sizes) - 1)])


def units_of(layout: Layout | None, rows: Indices) -> Indices | None:  # (m,) -> (m,)
    """Return blocks of time or groups of held-out rows, from which scores are resampled; None for rows at random."""
    if layout is None:
        return None
    own = layout.take(rows)
    if own.places is None:
        return own.groups
    blocks = own.places * min(BLOCKS, len(rows)) // len(rows)
    return np.unique(blocks, return_inverse=True)[1].reshape(-1)


def changes(training: Training) -> list[str]:
    """Return a note if errors on held-out rows in time differ from those of the folds, or change over the held-out time."""
    layout, units = training.question.layout, training.judged.units
    if layout is None or layout.places is None or units is None or training.model.result_.measure != training.folded.measure:
        return []
    score, expected = training.folded, training.model.result_.error
    if not score.low <= expected <= score.high:
        return [
            f"the held-out {score.measure} of the last rows is {score.value:.4g} ({score.low:.4g} to {score.high:.4g}), and "
            f"was {expected:.4g} on earlier blocks: the relation changes over time; errors on later rows may change again"
        ]
    if units.max() < 5:
        return []
    late = units >= (int(units.max()) + 1) // 2
    early, last = (training.part(rows) for rows in (~late, late))
    if early.high < last.low or last.high < early.low:
        return [
            f"the {score.measure} changes over the held-out time, from {early.value:.4g} in its first half to "
            f"{last.value:.4g}: errors on later rows may change again"
        ]
    return []


def _strata(question: Question, smaller: int) -> Array | None:
    if question.task != CLASSIFICATION:
        return None
    counts = np.unique(question.y, return_counts=True)[1]
    return question.y if counts.min() >= 2 and smaller >= len(counts) else None


def make_model(task: str, settings: FitSettings, layout: Layout | None = None) -> Any:
    """Return the unfitted table model of a task, for rows of a layout."""
    from mercer.estimators.tables.classifier import TableClassifier
    from mercer.estimators.tables.regressor import TableRegressor

    make: Any = TableClassifier if task == CLASSIFICATION else TableRegressor
    order: Any = False if layout is None or layout.places is None else list(layout.order) or True
    return make(kernel=settings.kernel, order=order, time=settings.time, memory=settings.memory, random_state=settings.seed)


def judge(
    model: Any, test: list[Column], train: list[Column], y: Array, coverage: float, units: Indices | None = None
) -> Judged:
    """Return the predictions of a table model for held-out columns, with their scores."""
    columns = like(test, train)
    inputs = model.encode(columns)
    scores = model.scores(inputs)
    if model.result_.task != CLASSIFICATION:
        centers = scores[:, 0]
        intervals = model.intervals(inputs, centers, coverage)
        return Judged(columns, inputs, y, centers, intervals, None, tuple(scores_of(y, centers, None, units)), units)
    P = model.probabilities(scores)
    labels = model.classes_[P.argmax(axis=1)]
    return Judged(columns, inputs, y, labels, None, P, tuple(scores_of(y, P, model.classes_, units)), units)


def train(
    question: Question,
    settings: FitSettings,
    *,
    command: str = "",
    seconds_read: float = 0.0,
    tell: Callable[[str], None] = lambda step: None,
) -> Training:
    """Fit on some rows and judge on the others; `tell` is called with the name of each step."""
    rows, held_out = split(question, settings)
    whole = read_columns(question.X)
    learned, y_train = as_if_alone(whole, rows), question.y[rows]
    start = time.perf_counter()
    tell("fit")
    groups = None if question.groups is None else question.groups[rows]
    model = make_model(question.task, settings, question.layout).fit(learned, y_train, groups=groups)
    fitted = time.perf_counter()
    tell("judge")
    units = units_of(question.layout, held_out)
    found = judge(model, as_if_alone(whole, held_out), learned, question.y[held_out], settings.coverage, units)
    used = {note.name for note in model.result_.columns if not note.note}
    classes = None if question.task != CLASSIFICATION else model.classes_
    others = rivals([c for c in learned if c.name in used], y_train, found.columns, classes, settings.seed)
    judged = time.perf_counter()
    tell("fit all")
    in_time = settings.time is None or fitted - start < TIME_LEFT * settings.time
    final = model.refitted(whole, question.y) if in_time else None
    seconds = {
        "read": seconds_read,
        "fit": fitted - start,
        "judge": judged - fitted,
        "fit all": time.perf_counter() - judged,
    }
    return Training(
        question, settings, model, learned, y_train, question.X.numbers[rows], found, tuple(others), seconds, peak_bytes(),
        command, model if final is None else final, versions(),
    )  # fmt: skip


def scores_of(y: Array, predicted: Floats, classes: Array | None, units: Indices | None = None) -> list[Score]:
    """Return scores of predictions (m,), or of probabilities (m, c), for held-out targets."""
    if classes is None:
        return regression_scores(y, predicted, Resampled(len(y), units))
    return classification_scores(np.searchsorted(classes, y), predicted, Resampled(len(y), units))


def _shown(score: Score) -> str:
    if score.measure == "accuracy":
        return f"{100 * score.value:.1f} % ({100 * score.low:.1f} to {100 * score.high:.1f})"
    return f"{score.value:.4g} ({score.low:.4g} to {score.high:.4g})"


def peak_bytes() -> int:
    """Return the peak memory of this process in bytes."""
    try:
        import resource
    except ImportError:  # Windows
        return 0
    return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) * (1 if sys.platform == "darwin" else 1024)


def versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries."""
    from importlib.metadata import version
    from platform import python_version

    return {"python": python_version()} | {name: version(name) for name in ("mercer", "numpy", "scipy", "scikit-learn")}
