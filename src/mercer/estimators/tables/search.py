"""The honest search: every candidate learns its metric inside each fold, and the best few are averaged by held-out rows."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Floats, Indices
from mercer.errors import InputError
from mercer.estimators.tables import ridge
from mercer.estimators.tables.candidates import Candidate, State
from mercer.estimators.tables.targets import transform_of
from mercer.numeric.threads import cpu_count, one_thread, run

#: A candidate goes on after its first fold while its error is at most this many times the best one's.
STAYS = 1.25

#: Candidates that see every fold, members of the average, and rounds of its greedy choice.
FINALISTS, MEMBERS, PICKS = 5, 4, 12

Loss = Callable[[Floats, Floats], Floats]  # predictions (n, t) and targets (n, t) -> (n,) losses
Task = tuple[Candidate, int]  # with the number of the fold
Found = TypeVar("Found")


@dataclass
class Trial:
    """A state of a candidate on its way through the folds."""

    candidate: Candidate
    place: int  # which state of the candidate
    label: str
    predictions: Floats  # (n, t) held-out predictions, NaN until known
    states: dict[int, State] = field(default_factory=dict)  # by fold

    def known(self) -> NDArray[np.bool_]:
        """Which rows have a held-out prediction."""
        return ~np.isnan(self.predictions[:, 0])


@dataclass
class Tables:
    """The rows of the search in every scaling, with their targets and folds."""

    inputs: dict[str, Any]  # scaling -> (n, width)
    targets: Floats  # (n, t)
    folds: Indices  # (n,)
    groups: Indices  # (n,) the same number for equal rows

    @property
    def n_folds(self) -> int:
        """How many folds there are."""
        return int(self.folds.max()) + 1


def one_fold(candidate: Candidate, tables: Tables, fold: int) -> list[tuple[State, Floats]]:
    """States learned without a fold, with predictions on the fold in the target's units.

    Metric and penalty know nothing of the fold. The coefficients come from all rows but the one that is predicted (and its
    copies), so that the errors are those of a model of this size: those of a fit without the whole fold would be too large.
    """
    train, test = np.flatnonzero(tables.folds != fold), np.flatnonzero(tables.folds == fold)
    Z = tables.inputs[candidate.scaling]
    transform = transform_of(candidate.transform, tables.targets[train])
    order = np.concatenate([train, test])
    Y = transform.forward(tables.targets[order])
    found = []
    for state in candidate.learn(Z[train], Y[: len(train)]):
        residuals = ridge.fit_and_leave_out(state.kernel, Z[order], Y, state.alpha, tables.groups[test])[1]
        found.append((state, transform.backward(Y[len(train) :] - residuals)))
    return found


class Effort:
    """Runs tasks of candidates on folds side by side within a deadline, and keeps what was left out or failed."""

    def __init__(self, deadline: float, progress: Callable[[str], None]) -> None:
        self.deadline, self.progress = deadline, progress
        self.skipped: list[str] = []
        self.failed: dict[str, str] = {}

    def run(self, tasks: list[Task], one: Callable[[Candidate, int], Found], must: int) -> dict[Task, Found]:
        """The results by task; the first `must` tasks are begun whatever the time, the others until the deadline."""
        results: dict[Task, Found] = {}

        def work(place: int, worker: int) -> None:
            candidate, fold = tasks[place]
            if place >= must and time.perf_counter() > self.deadline:
                self.skipped.append(f"{candidate.name}, fold {fold}")
                return
            self.progress(f"{candidate.name}, fold {fold + 1}")
            try:
                with one_thread():  # so that the result does not depend on how many run side by side
                    results[tasks[place]] = one(candidate, fold)
            except ArithmeticError as error:  # a matrix that is not positive definite: the others go on
                self.failed[candidate.name] = str(error)

        run(range(len(tasks)), work, min(cpu_count(), max(1, len(tasks))))
        return results

    def nothing(self) -> InputError:
        """The error where no candidate has come through."""
        return InputError(f"no candidate could be fitted: {'; '.join(self.failed.values()) or 'the time was too short'}")

    def notes(self) -> list[str]:
        """What a result says about it."""
        said = [f"the time was up: {len(self.skipped)} fits of candidates were left out"] if self.skipped else []
        return said + [f"{name} failed: {reason}" for name, reason in self.failed.items()]


class Search:
    """Runs the candidates over the folds within a deadline and keeps what each of them predicted."""

    def __init__(self, tables: Tables, loss: Loss, effort: Effort) -> None:
        self.tables, self.loss, self.effort = tables, loss, effort
        self.trials: dict[tuple[Candidate, int], Trial] = {}

    def run(self, candidates: list[Candidate]) -> None:
        """The first fold for all, the other folds for those that stay."""
        self._folds([(candidate, 0) for candidate in candidates])
        stay = self.ranked()[:FINALISTS]
        rest = [(candidate, fold) for candidate in stay for fold in range(1, self.tables.n_folds)]
        self._folds(rest, must=self.tables.n_folds - 1)

    def ranked(self) -> list[Candidate]:
        """Candidates by their best state so far, without those far behind."""
        errors: dict[Candidate, float] = {}
        for trial in self.trials.values():
            errors[trial.candidate] = min(errors.get(trial.candidate, np.inf), self.error(trial))
        if not errors:
            return []
        limit = min(errors.values()) * (STAYS if min(errors.values()) > 0 else 1.0)
        return [candidate for candidate in sorted(errors, key=lambda c: errors[c]) if errors[candidate] <= limit]

    def error(self, trial: Trial) -> float:
        """The mean loss over the rows that were held out."""
        known = trial.known()
        return float(np.mean(self.loss(trial.predictions[known], self.tables.targets[known])))

    def complete(self) -> list[Trial]:
        """Trials that have seen every fold, best first."""
        done = [trial for trial in self.trials.values() if trial.known().all()]
        return sorted(done, key=lambda trial: (self.error(trial), trial.label))

    def _folds(self, tasks: list[Task], must: int = 1) -> None:
        """Run (candidate, fold) tasks; the first `must` of them whatever the time, the others until the deadline."""
        found = self.effort.run(tasks, lambda candidate, fold: one_fold(candidate, self.tables, fold), must)
        for task in tasks:
            if task in found:
                self._keep(task, found[task])

    def _keep(self, task: Task, found: list[tuple[State, Floats]]) -> None:
        candidate, fold = task
        for place, (state, predictions) in enumerate(found):
            empty = np.full(self.tables.targets.shape, np.nan)
            trial = self.trials.setdefault((candidate, place), Trial(candidate, place, state.label, empty))
            trial.predictions[self.tables.folds == fold] = predictions
            trial.states[fold] = state


def average(predictions: list[Floats], targets: Floats, loss: Loss, most: int = MEMBERS) -> Floats:  # -> (m,) weights
    """Weights of a mean of predictions: repeatedly add the one that lowers the loss of the mean most, with repeats."""
    picked: list[int] = []
    total = np.zeros_like(targets)
    best = (np.inf, 0)
    for size in range(1, PICKS + 1):
        allowed = set(picked) if len(set(picked)) >= most else set(range(len(predictions)))
        losses = {i: float(np.mean(loss((total + predictions[i]) / size, targets))) for i in sorted(allowed)}
        pick = min(losses, key=lambda i: losses[i])
        picked.append(pick)
        total = total + predictions[pick]
        if losses[pick] < best[0] - 1e-12:
            best = (losses[pick], size)
    weights = np.bincount(picked[: best[1]], minlength=len(predictions)).astype(np.float64)
    return weights / weights.sum()
