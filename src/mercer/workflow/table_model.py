"""From columns and targets to a mean of kernel models: what `TableRegressor` and `TableClassifier` share."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mercer.errors import InputError
from mercer.estimators.metric.folds import assign, row_groups
from mercer.estimators.metric.ridge import Expansion
from mercer.estimators.progress import Meter
from mercer.inputs.frames import CATEGORY, DATE, NUMBER, ORDERED, Column
from mercer.kernels.base import Kernel
from mercer.numeric.memory import budget_bytes
from mercer.numeric.threads import cpu_count, one_thread, run
from mercer.registry import record
from mercer.workflow.table_candidates import Candidate, State, candidates
from mercer.workflow.table_encoding import encoding_of, numbered
from mercer.workflow.table_kernels import product_kernel
from mercer.workflow.table_search import MEMBERS, Loss, Search, Tables, Trial, average, fitted, learning_exponent
from mercer.workflow.table_targets import YEO_JOHNSON, Transform, transform_of

Array = NDArray[np.float64]

#: Rows of the search, without a limit of time, below 45 s and below 20 s; candidates are compared on these.
SEARCHED, SEARCHED_45, SEARCHED_20 = 2000, 1200, 700

#: Rows fitted exactly, at most; landmarks beyond; rows that judge the finalists where there are more than are searched.
EXACT, LANDMARKS, JUDGES = 12_000, 2000, 1500


@record()
@dataclass(frozen=True)
class Member:
    """One model of the mean: what it was learned as, and its fit on all rows."""

    _stored: ClassVar[dict[str, str]] = {
        "transform": "a Transform",
        "transform.center": "float (t,)",
        "model": "a Expansion",
        "model.intercept": "float (t,)",
        "weight": "float",
        "scaling": "text",
    }

    label: str
    scaling: str
    transform: Transform
    model: Expansion
    weight: float

    def predict(self, inputs: dict[str, Any]) -> Array:  # -> (n, t)
        """Predictions in the units of the targets."""
        return self.transform.backward(self.model.predict(inputs[self.scaling]))


@dataclass(frozen=True)
class Outcome:
    """What a fit leaves behind."""

    members: tuple[Member, ...]
    encoders: dict[str, Any]  # scaling -> Encoding or Numbered
    search: Search
    rows: NDArray[np.intp]  # of the search
    weights: dict[int, float]  # place in search.complete() -> weight
    held_out: Array  # (m, t) predictions of the mean on rows that it has not seen
    judged: NDArray[np.intp]  # (m,) those rows
    by_folds: bool  # whether held_out comes from the folds
    shrink: float  # errors of the final model by the learning curve, relative to those of held_out
    route: str


def encoders(columns: list[Column]) -> tuple[dict[str, Any], bool]:
    """How the columns become inputs, by scaling, and whether the table is mixed (holes, text, graphs)."""
    vector = {NUMBER, CATEGORY, ORDERED, DATE}
    mixed = any(column.holes.any() or column.kind not in vector for column in columns)
    if mixed:
        return {"columns": numbered(columns)}, True
    return {rule: encoding_of(columns, rule) for rule in ("standard", "quantile")}, False


class Fitting:
    """One fit of a table model, step by step."""

    def __init__(
        self,
        columns: list[Column],
        targets: Array,  # (n, t)
        loss: Loss,
        *,
        labels: NDArray[Any] | None,
        transforms: tuple[str, ...],
        seconds: float | None,
        memory: Any,
        seed: int,
        verbose: bool | None,
    ) -> None:
        self.columns, self.targets, self.loss, self.labels = columns, targets, loss, labels
        self.transforms, self.seed = transforms, seed
        self.started = time.perf_counter()
        self.seconds = seconds
        self.budget = budget_bytes(memory)
        self.rng = np.random.default_rng(seed)
        self.meter = Meter("fit", verbose)
        self.steps = 0
        self.encoders, self.mixed = encoders(columns)
        table = {column.name: column for column in columns}
        self.inputs = {rule: encoder(table) for rule, encoder in self.encoders.items()}

    def run(self) -> Outcome:
        """Search on some rows, then fit the chosen states on all of them."""
        n = len(self.targets)
        rows = self._searched(n)
        kernel = product_kernel(self.columns, self.inputs["columns"]) if self.mixed else None
        search = self._search(rows, kernel)
        done = search.complete()
        if not done:
            raise InputError(
                f"no candidate could be fitted: {'; '.join(search.failed.values()) or 'the time was too short'}"
            )
        weights = average([trial.predictions for trial in done], search.tables.targets, self.loss)
        picked = [(trial, float(weight)) for trial, weight in zip(done, weights, strict=True) if weight > 0]
        states = self._states([trial for trial, _ in picked], rows)
        if len(rows) == n:
            members = self._members(picked, states, np.arange(n))
            held_out = sum((weight * trial.predictions for trial, weight in picked), np.zeros_like(search.tables.targets))
            found = {done.index(trial): weight for trial, weight in picked}
            shrink = (1.0 - 1.0 / search.tables.n_folds) ** self._exponent(search, picked)
            self.meter.close()
            return Outcome(members, self.encoders, search, rows, found, held_out, rows, True, shrink, self._route(n))
        return self._with_judges(rows, search, done, picked, states)

    # -- parts -------------------------------------------------------------------------------------------------------

    def _searched(self, n: int) -> NDArray[np.intp]:
        most = SEARCHED
        if self.seconds is not None:
            most = SEARCHED if self.seconds >= 45 else (SEARCHED_45 if self.seconds >= 20 else SEARCHED_20)
        return self.rng.permutation(n)[:most]

    def _search(self, rows: NDArray[np.intp], kernel: Kernel | None) -> Search:
        inputs = {rule: table[rows] for rule, table in self.inputs.items()}
        first = next(iter(inputs.values()))
        labels = None if self.labels is None else self.labels[rows]
        n_folds = min(5 if len(rows) < 700 else 3, len(rows))
        folds = assign(row_groups(first), n_folds, self.rng, labels)
        tables = Tables(inputs, self.targets[rows], _renumbered(folds))
        deadline = np.inf if self.seconds is None else self.started + 0.55 * self.seconds
        search = Search(tables, self.loss, deadline, self._tell)
        listed = [replace(candidate, transform=self.transforms[0]) for candidate in candidates(first.shape[1], kernel)]
        search.run(listed)
        if len(self.transforms) > 1 and search.ranked() and time.perf_counter() < deadline:
            best = [replace(candidate, transform=YEO_JOHNSON) for candidate in search.ranked()[:2]]
            search._folds([(candidate, fold) for candidate in best for fold in range(tables.n_folds)], must=0)
        return search

    def _tell(self, what: str) -> None:
        self.steps += 1
        self.meter.label = f"fit: {what}"
        self.meter(self.steps, 40)

    def _states(self, trials: list[Trial], rows: NDArray[np.intp]) -> list[State]:
        """What each chosen trial learns from all rows of the search."""
        states: dict[int, State] = {}

        def work(place: int, worker: int) -> None:
            trial = trials[place]
            Y = transform_of(trial.candidate.transform, self.targets[rows]).forward(self.targets[rows])
            with one_thread():
                learned = trial.candidate.learn(self.inputs[trial.candidate.scaling][rows], Y, trial.place)
            states[place] = learned[min(trial.place, len(learned) - 1)]

        run(range(len(trials)), work, min(cpu_count(), len(trials)))
        return [states[place] for place in range(len(trials))]

    def _members(self, picked: list[tuple[Trial, float]], states: list[State], rows: NDArray[np.intp]) -> tuple[Member, ...]:
        members = []
        landmarks = self._landmarks(len(rows))
        for (trial, weight), state in zip(picked, states, strict=True):  # one after the other: each may fill the memory
            candidate: Candidate = trial.candidate
            transform = transform_of(candidate.transform, self.targets[rows])
            Z = self.inputs[candidate.scaling][rows]
            model = fitted(state, Z, transform.forward(self.targets[rows]), landmarks, self.seed)
            members.append(Member(trial.label, candidate.scaling, transform, model, weight))
        return tuple(members)

    def _with_judges(
        self,
        rows: NDArray[np.intp],
        search: Search,
        done: list[Trial],
        picked: list[tuple[Trial, float]],
        states: list[State],
    ) -> Outcome:
        """More rows than were searched: some judge the finalists fitted on all others, then all rows are used."""
        n = len(self.targets)
        others = self.rng.permutation(np.setdiff1d(np.arange(n), rows))
        judges = others[: max(1, min(JUDGES, len(others) // 2))]
        trained = np.setdiff1d(np.arange(n), judges)
        trials = self._members(picked, states, trained)
        new = {rule: table[judges] for rule, table in self.inputs.items()}
        predictions = [member.predict(new) for member in trials]
        weights = average(predictions, self.targets[judges], self.loss, MEMBERS)
        held_out = sum(
            (w * p for w, p in zip(weights, predictions, strict=True)), np.zeros((len(judges), self.targets.shape[1]))
        )
        kept = [(i, float(weight)) for i, weight in enumerate(weights) if weight > 0]
        members = self._members([(picked[i][0], w) for i, w in kept], [states[i] for i, _ in kept], np.arange(n))
        found = {done.index(picked[i][0]): w for i, w in kept}
        shrink = (len(trained) / n) ** self._exponent(search, picked)
        self.meter.close()
        return Outcome(members, self.encoders, search, rows, found, held_out, judges, False, shrink, self._route(n))

    def _exponent(self, search: Search, picked: list[tuple[Trial, float]]) -> float:
        """How fast the error of the heaviest member falls with the number of rows."""
        return learning_exponent(search.tables, max(picked, key=lambda pair: pair[1])[0], self.rng)

    def _landmarks(self, n: int) -> int | None:
        if n <= EXACT and 16 * n * n <= self.budget:
            return None
        return int(max(50, min(LANDMARKS, n, self.budget // (32 * n))))

    def _route(self, n: int) -> str:
        count = self._landmarks(n)
        return f"exact on {n:,} rows" if count is None else f"{count:,} landmarks for {n:,} rows"


def _renumbered(folds: NDArray[np.intp]) -> NDArray[np.intp]:
    """Folds without gaps: with many equal rows one of them may have got nothing."""
    return np.unique(folds, return_inverse=True)[1].astype(np.intp).reshape(-1)
