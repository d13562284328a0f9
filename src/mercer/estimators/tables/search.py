"""Search over candidates, and its result.

Each candidate learns its metric inside every fold, and the best few are averaged by held-out rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from dataclasses import asdict, dataclass, field, fields, replace
from html import escape
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Floats, Indices
from mercer.errors import InputError, plural
from mercer.estimators.tables import ridge
from mercer.estimators.tables.candidates import Candidate, LearnedKernel
from mercer.estimators.tables.layout import Latest, gap_of
from mercer.estimators.tables.targets import NONE, YEO_JOHNSON, YEO_JOHNSON_MEAN, spread_of_others, transform_of
from mercer.inputs import Rows
from mercer.inputs.tables import Table
from mercer.numeric.threads import cpu_count, one_thread, run
from mercer.registry import record

#: A candidate continues after its first fold if its error is at most this multiple of the best one's.
STAYS = 1.25

#: Candidates that are fitted on every fold, members of the average, and rounds of its greedy choice.
FINALISTS, MEMBERS, PICKS = 5, 4, 12

#: Members of the mean of few rows at most, and their weight at least.
MEMBERS_OF_FEW, LEAST_WEIGHT = 8, 0.03

#: Rows below which linear candidates are fitted on every fold, folds are repeated, and members weighted by evidence.
FEW_ROWS = 1000

#: Rows before a block of time from which it can be predicted.
FEWEST_BEFORE = 4

Task = tuple[Candidate, int]  # a candidate and the number of a fold
Found = TypeVar("Found")


class Loss(Protocol):
    """Losses (n,) of predictions (n, t) for targets (n, t); weights (n,) matter if a loss compares rows."""

    def __call__(self, F: Floats, Y: Floats, weights: Floats | None = None) -> Floats:
        """Return one loss per row."""
        ...


@dataclass(frozen=True)
class Objective:
    """What a search minimizes on held-out rows, and how the result names it."""

    task: str
    measure: str
    loss: Loss
    root: bool = False  # report the root of the mean loss
    transforms: tuple[str, ...] = (NONE,)  # of the target; those after the first are tried for the best candidates

    def mean(self, F: Floats, Y: Floats, weights: Floats | None) -> float:  # (n, t), (n, t), (n,)
        """Return the mean loss of predictions."""
        return mean_loss(self.loss, F, Y, weights)

    def reported(self, mean: float) -> float:
        """Return the measure of a mean loss."""
        return mean**0.5 if self.root else mean

    def reported_error(self, mean: float, error: float) -> float:
        """Return the standard error of the measure from that of the mean loss."""
        value = self.reported(mean)
        return error / (2.0 * value) if self.root and value > 0 else error


def mean_loss(loss: Loss, F: Floats, Y: Floats, weights: Floats | None) -> float:  # (n, t), (n, t), (n,)
    """Return the mean loss of rows by their weights."""
    losses = loss(F, Y, weights)
    return float(np.mean(losses) if weights is None else np.average(losses, weights=weights))


def some(weights: Floats | None, rows: Any) -> Floats | None:
    """Return the weights of some rows; None if all weights are equal."""
    return None if weights is None else weights[rows]


@dataclass
class Trial:
    """One state of a candidate: held-out predictions, and the kernels learned without each fold."""

    candidate: Candidate
    label: str
    predictions: Floats  # (n, t) held-out predictions, NaN until known
    states: dict[int, LearnedKernel] = field(default_factory=dict)  # by fold
    seconds: float = 0.0  # of the slowest fold

    def known(self) -> NDArray[np.bool_]:
        """Return which rows have a held-out prediction."""
        return ~np.isnan(self.predictions[:, 0])

    def settled(self) -> LearnedKernel:
        """Return the kernel for all rows, from those of the folds."""
        return self.candidate.settled([self.states[fold] for fold in sorted(self.states)])


@dataclass
class Tables:
    """The rows of the search in every scaling, with their targets and folds."""

    inputs: dict[str, Rows]  # by scaling
    targets: Floats  # (n, t)
    folds: Indices  # (n,) -1 for rows that are only trained on
    groups: Indices  # (n,) the same number for equal rows, or for rows of one group
    places: Indices | None = None  # (n,) how many rows are earlier, for rows in time
    weights: Floats | None = None  # (n,) None if all are equal

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return int(self.folds.max()) + 1

    @property
    def tested(self) -> NDArray[np.bool_]:
        """Which rows belong to a fold."""
        return self.folds >= 0

    def parts(self, fold: int) -> tuple[Indices, Indices, Indices]:
        """Return the training rows of a fold, its own rows, and the groups that are left out together when it is predicted.

        A block of time is left out as a whole, and predicted from the rows before it without those in the gap.
        """
        test = np.flatnonzero(self.folds == fold)
        if self.places is None:
            return np.flatnonzero(self.folds != fold), test, self.groups[test]
        start = self.places[test].min()
        before = self.places < start
        train = np.flatnonzero(self.places < start - gap_of(len(self.places)))
        if len(train) < FEWEST_BEFORE:  # a large part of the rows has the time just before the block
            train = np.flatnonzero(before)
        return train, test, np.zeros(len(test), dtype=np.intp)


class Effort:
    """Runs tasks of candidates on folds in parallel until a deadline, and records which were skipped or failed."""

    def __init__(self, deadline: float, progress: Callable[[str], None]) -> None:
        self.deadline, self.progress = deadline, progress
        self.skipped: list[str] = []
        self.failed: dict[str, str] = {}

    def run(self, tasks: list[Task], one: Callable[[Candidate, int], Found], must: int) -> dict[Task, Found]:
        """Return the results by task; the first `must` tasks always start, the others only before the deadline."""
        results: dict[Task, Found] = {}

        def work(place: int, worker: int) -> None:
            candidate, fold = tasks[place]
            if place >= must and time.perf_counter() > self.deadline:
                self.skipped.append(f"{candidate.name}, fold {fold}")
                return
            self.progress(f"{candidate.name}, fold {fold + 1}")
            try:
                with one_thread():  # the result must not depend on how many tasks run at once
                    results[tasks[place]] = one(candidate, fold)
            except ArithmeticError as error:  # a matrix that is not positive definite: the others continue
                self.failed[candidate.name] = str(error)

        run(range(len(tasks)), work, min(cpu_count(), max(1, len(tasks))))
        return results

    def nothing(self) -> InputError:
        """Return the error to raise if every candidate failed."""
        return InputError(f"no candidate could be fitted: {'; '.join(self.failed.values()) or 'the time was too short'}.")

    def notes(self) -> list[str]:
        """Return the notes of a result on skipped and failed candidates."""
        skipped = (
            [f"the time limit was reached: {plural(len(self.skipped), 'fit')} of candidates skipped"] if self.skipped else []
        )
        return skipped + [f"{name} failed: {reason}" for name, reason in self.failed.items()]


FoldResult = tuple[Hashable, LearnedKernel, Floats, float]  # key of the trial, kernel, predictions (m, t), seconds


class CandidateSearch:
    """Runs the candidates over the folds within a deadline and keeps what each of them predicted."""

    def __init__(self, tables: Tables, objective: Objective, effort: Effort) -> None:
        self.tables, self.objective, self.effort = tables, objective, effort
        self.trials: dict[Hashable, Trial] = {}

    def run(self, candidates: list[Candidate]) -> None:
        """Fit all candidates on the first fold, and the finalists on the other folds."""
        self.on_folds([(candidate, 0) for candidate in candidates])
        rest = [(candidate, fold) for candidate in self.finalists() for fold in range(1, self.tables.n_folds)]
        self.on_folds(rest, must=self.tables.n_folds - 1)

    def on_folds(self, tasks: list[Task], must: int = 1) -> None:
        """Run (candidate, fold) tasks; the first `must` always start, the others only before the deadline."""
        found = self.effort.run(tasks, self.one_fold, must)
        for task in tasks:
            for key, state, predictions, seconds in found.get(task, ()):
                if key not in self.trials:
                    self.trials[key] = self.new_trial(key, state)
                trial, fold = self.trials[key], task[1]
                trial.predictions[self.tables.folds == fold] = predictions
                trial.states[fold], trial.seconds = state, max(trial.seconds, seconds)

    def new_trial(self, key: Hashable, state: LearnedKernel) -> Trial:
        """Return an empty trial; the first part of its key is the candidate."""
        return Trial(key[0], state.label, np.full(self.tables.targets.shape, np.nan))  # type: ignore[index]

    def one_fold(self, candidate: Candidate, fold: int) -> list[FoldResult]:
        """Return the kernels learned without a fold, with predictions on the fold in the units of the target.

        Metric and penalty do not use the fold. The coefficients come from all rows except the predicted one and its copies,
        because the errors of a fit without the whole fold would be those of a smaller model.
        """
        tables = self.tables
        train, test, together = tables.parts(fold)
        Z = tables.inputs[candidate.scaling]
        w = tables.weights
        transform = transform_of(candidate.transform, tables.targets[train], some(w, train))
        order = np.concatenate([train, test])
        ordered, Y = Z.take(order), transform.forward(tables.targets[order])
        found: list[FoldResult] = []
        for place, state in enumerate(candidate.learn(Z.take(train), Y[: len(train)], some(w, train))):
            fit = ridge.fit_and_leave_out(state.kernel, ordered, Y, state.alpha, together, weights=some(w, order))
            F = Y[len(train) :] - fit[1]
            found.append(((candidate, place), state, transform.backward(F), 0.0))
            if candidate.transform == YEO_JOHNSON and self.objective.root:  # the same fit predicts the mean
                noise = spread_of_others(fit[1], some(w, test))
                mean = replace(candidate, transform=YEO_JOHNSON_MEAN)
                state = replace(state, noise=float(np.sqrt(np.mean(noise**2))))
                found.append(((mean, place), state, transform.backward(F, noise), 0.0))
        return found

    def finalists(self) -> list[Candidate]:
        """Return the candidates that are fitted on the other folds; linear ones always on few rows, where they may win."""
        best = self.ranked()[:FINALISTS]
        few = len(self.tables.targets) < FEW_ROWS
        tried = dict.fromkeys(trial.candidate for trial in self.trials.values())
        return best + [one for one in tried if few and one.linear and one not in best]

    def ranked(self) -> list[Candidate]:
        """Return candidates by the error of their best state, without those far behind."""
        errors: dict[Candidate, float] = {}
        for trial in self.trials.values():
            errors[trial.candidate] = min(errors.get(trial.candidate, np.inf), self.error(trial)[0])
        if not errors:
            return []
        limit = min(errors.values()) * (STAYS if min(errors.values()) > 0 else 1.0)
        return [candidate for candidate in sorted(errors, key=lambda c: errors[c]) if errors[candidate] <= limit]

    def join(self, again: CandidateSearch) -> None:
        """Take means of the predictions of a search on the same rows in other folds, whose states are added."""
        for key, trial in self.trials.items():
            other = again.trials.get(key)
            if other is None or not self.is_complete(trial) or not again.is_complete(other):
                continue
            times = len(trial.states) // self.tables.n_folds
            trial.predictions = (times * trial.predictions + other.predictions) / (times + 1)
            first = max(trial.states) + 1
            trial.states.update({first + fold: state for fold, state in other.states.items()})

    def loss_of(self, trial: Trial) -> Loss:
        """Return the loss of a trial."""
        return self.objective.loss

    def error(self, trial: Trial) -> tuple[float, float]:
        """Return the mean loss over the held-out rows, with its standard error."""
        known = trial.known()
        w = some(self.tables.weights, known)
        losses = self.loss_of(trial)(trial.predictions[known], self.tables.targets[known], w)
        if w is None:
            return float(np.mean(losses)), float(losses.std() / max(1, len(losses)) ** 0.5)
        mean = float(np.average(losses, weights=w))
        return mean, float(np.sqrt(np.sum((w * (losses - mean)) ** 2)) / w.sum())

    def is_complete(self, trial: Trial) -> bool:
        """Return whether a trial has a prediction for every row of a fold."""
        return bool(trial.known()[self.tables.tested].all())

    def complete(self) -> list[Trial]:
        """Return the trials with predictions for every row of a fold, best first."""
        done = [trial for trial in self.trials.values() if self.is_complete(trial)]
        return sorted(done, key=lambda trial: (self.error(trial)[0], trial.label))

    def attempt(self, trial: Trial, weight: float) -> Attempt:
        """Return the entry of a trial in the result."""
        mean, error = self.error(trial)
        return Attempt(
            trial.label, trial.candidate.scaling, trial.candidate.transform, self.objective.reported(mean),
            self.objective.reported_error(mean, error), self.is_complete(trial), weight,
        )  # fmt: skip


def average(
    predictions: list[Floats], targets: Floats, loss: Loss, counted: Floats | None = None
) -> Floats:  # (n, t) each, (n, t), loss, (n,) -> (m,) weights
    """Return weights of a mean: for few rows by evidence, otherwise by a greedy choice."""
    return _rule(len(targets))(predictions, targets, loss, counted)


def _rule(n: int) -> Callable[[list[Floats], Floats, Loss, Floats | None], Floats]:
    return by_evidence if n < FEW_ROWS else greedy


def by_evidence(
    predictions: list[Floats], targets: Floats, loss: Loss, counted: Floats | None = None
) -> Floats:  # (n, t) each, (n, t), loss, (n,) -> (m,) weights
    """Return weights exp(-z / 2), where z is the mean excess of a loss over the best one in standard errors.

    A few hundred rows do not tell candidates with similar losses apart, and a greedy choice among them fits the rows. On
    ten tables of 300 rows, some drawn twice, test errors were 0.985 of those of the greedy choice.
    """
    losses = np.array([loss(F, targets, counted) for F in predictions])  # (m, n)
    means = np.average(losses, axis=1, weights=counted)
    excess = losses - losses[int(np.argmin(means))]
    mean = np.average(excess, axis=1, weights=counted)
    w = np.ones(len(targets)) if counted is None else counted
    error = np.sqrt(np.sum((w * (excess - mean[:, None])) ** 2, axis=1)) / w.sum()
    weights = np.exp(-0.5 * np.maximum(mean, 0.0) / np.maximum(error, 1e-9 * np.abs(means) + 1e-300))
    limit = float(means.min()) * (STAYS if means.min() > 0 else 1.0)
    weights[means > limit] = 0.0  # a few huge errors are no small excess
    weights[np.argsort(-weights, kind="stable")[MEMBERS_OF_FEW:]] = 0.0
    weights[weights < LEAST_WEIGHT * weights.sum()] = 0.0
    return np.asarray(weights / weights.sum())


def greedy(
    predictions: list[Floats], targets: Floats, loss: Loss, counted: Floats | None = None, most: int = MEMBERS
) -> Floats:  # (n, t) each, (n, t), loss, (n,) -> (m,) weights
    """Return weights of a mean: repeatedly add the prediction that lowers the loss of the mean most, with repeats."""
    picked: list[int] = []
    total = np.zeros_like(targets)
    best = (np.inf, 0)
    for size in range(1, PICKS + 1):
        allowed = set(picked) if len(set(picked)) >= most else set(range(len(predictions)))
        losses = {i: mean_loss(loss, (total + predictions[i]) / size, targets, counted) for i in sorted(allowed)}
        pick = min(losses, key=lambda i: losses[i])
        picked.append(pick)
        total = total + predictions[pick]
        if losses[pick] < best[0] - 1e-12:
            best = (losses[pick], size)
    weights = np.bincount(picked[: best[1]], minlength=len(predictions)).astype(np.float64)
    return weights / weights.sum()


def across(
    predictions: list[Floats], targets: Floats, loss: Loss, counted: Floats | None, folds: Indices
) -> Floats:  # (n, t) each, (n, t), loss, (n,), (n,) -> (n, t)
    """Return the mean for every row with weights that were chosen without the targets of its fold.

    Errors of the mean on the rows that chose its weights are too small, above all with few rows.
    """
    out, rule = np.empty_like(targets), _rule(len(targets))
    for fold in np.unique(folds):
        own = folds == fold
        rest = ~own if (~own).any() else own
        weights = rule([P[rest] for P in predictions], targets[rest], loss, some(counted, rest))
        out[own] = sum((w * P[own] for w, P in zip(weights, predictions, strict=True)), np.zeros_like(out[own]))
    return out


# -- the result -------------------------------------------------------------------------------------------------------


@record()
@dataclass(frozen=True)
class ColumnNote:
    """One column of the training table."""

    name: str
    kind: str
    holes: int
    note: str  # why it was left out; empty for used columns


@record()
@dataclass(frozen=True)
class Attempt:
    """One state of a candidate: its held-out error with standard error, and its weight in the final mean."""

    label: str
    scaling: str
    transform: str
    error: float  # root mean squared error, or log-loss
    standard_error: float
    complete: bool  # False if it was stopped after its first fold
    weight: float


@record()
@dataclass(frozen=True)
class TableResult:
    """Summary of a fit; `print(model.result_)` shows it."""

    task: str
    measure: str
    rows: int
    searched: int  # rows of the search; the chosen models are fitted on all rows
    folds: int
    columns: tuple[ColumnNote, ...]
    attempts: tuple[Attempt, ...]
    error: float  # of the mean of the chosen models, on held-out rows
    baseline: float  # the same measure for a constant prediction
    route: str
    seconds: float
    notes: tuple[str, ...]
    split: str = ""  # how rows were held out, if not at random
    latest: tuple[Latest, ...] = ()  # latest training rows by the columns of time
    copies: int = 0  # rows of the training table that equal another one; each counts as a weight of that row

    @property
    def distinct(self) -> int:
        """Number of rows that the models are fitted to: copies are one row."""
        return self.rows - self.copies

    @property
    def chosen(self) -> tuple[Attempt, ...]:
        """Attempts with a positive weight in the final mean."""
        return tuple(attempt for attempt in self.attempts if attempt.weight > 0)

    @property
    def judged_by(self) -> str:
        """Description of the held-out rows: folds, or leave-one-out if there are as many folds as rows."""
        if self.split:
            return f"{self.split}; {self.folds} fold{'s' if self.folds != 1 else ''} of {self.searched:,} rows"
        if self.folds == self.searched:
            return f"leave-one-out of {self.searched:,} rows"
        return f"{self.folds} folds of {self.searched:,} rows"

    def to_frame(self) -> Any:
        """Return a data frame with a row per attempt, best first: of pandas, or a `Table` if pandas is not installed."""
        rows = [asdict(attempt) for attempt in self.attempts]
        columns = {one.name: np.array([row[one.name] for row in rows]) for one in fields(Attempt)}
        try:
            import pandas
        except ImportError:
            return Table(columns)
        return pandas.DataFrame(columns)

    def _repr_html_(self) -> str:
        left = "style='text-align:left'"
        names = ("candidate", "scaling", "transform", f"held-out {self.measure}", "standard error", "weight")
        head = "".join(f"<th {left}>{escape(name)}</th>" for name in names)
        rows = []
        for one in self.attempts:
            error = f"{one.error:.4g}" if one.complete else f"{one.error:.4g} (first fold)"
            cells = (one.label, one.scaling, one.transform, error, f"{one.standard_error:.2g}", f"{one.weight:.2f}")
            rows.append("<tr>" + "".join(f"<td {left}>{escape(cell)}</td>" for cell in cells) + "</tr>")
        title, rest = str(self).split("\n")[0], [*self.notes]
        facts = (
            f"held-out {self.measure} {self.error:.4g}; a constant has {self.baseline:.4g} ({self.judged_by}); {self.route}"
        )
        notes = "".join(f"<li>{escape(note)}</li>" for note in rest)
        return (
            f"<table><caption {left}>{escape(title)}<br>{escape(facts)}</caption><tr>{head}</tr>{''.join(rows)}</table>"
            f"<ul>{notes}</ul>"
        )

    def __str__(self) -> str:
        used = [column for column in self.columns if not column.note]
        kinds = {kind: sum(column.kind == kind for column in used) for kind in sorted({column.kind for column in used})}
        width = max([30, *[len(attempt.label) for attempt in self.attempts]])
        lines = [
            f"{self.task} on {self.rows:,} rows and {len(used)} of {len(self.columns)} columns "
            f"({', '.join(f'{count} {kind}' for kind, count in kinds.items())}), {self.seconds:.1f} s",
            *[f"  left out: {column.name!r}, {column.note}" for column in self.columns if column.note],
            *[f"  {column.name!r} has {_cells(column.holes)}" for column in used if column.holes],
            f"held-out {self.measure} {self.error:.4g}, a constant has {self.baseline:.4g} ({self.judged_by})",
            *[_line(attempt, width) for attempt in self.attempts],
            f"final fit: {self.route}",
            *[f"note: {note}" for note in self.notes],
        ]
        return "\n".join(lines)


def _line(attempt: Attempt, width: int) -> str:
    share = (
        f"chosen, weight {attempt.weight:.2f}" if attempt.weight else ("" if attempt.complete else "stopped after one fold")
    )
    where = attempt.scaling + (f", {attempt.transform}" if attempt.transform.startswith(YEO_JOHNSON) else "")
    return f"  {attempt.label:<{width}} {where:<22} {attempt.error:.4g} +- {attempt.standard_error:.2g}  {share}".rstrip()


def _cells(count: int) -> str:
    return f"{count:,} missing cell{'s' if count != 1 else ''}"
