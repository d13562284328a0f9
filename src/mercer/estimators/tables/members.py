"""From columns and targets to a mean of kernel models: what `TableRegressor` and `TableClassifier` share."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from mercer.arrays import Array, Floats, Indices
from mercer.estimators.progress import Meter
from mercer.estimators.tables import ridge
from mercer.estimators.tables.candidates import Candidate, State, candidates, given
from mercer.estimators.tables.encoding import encoding_of, numbered
from mercer.estimators.tables.given_kernel import by_number, named, refuse_unfit
from mercer.estimators.tables.pace import timed, within
from mercer.estimators.tables.product_kernel import product_kernel
from mercer.estimators.tables.search import FINALISTS, Effort, Loss, Search, Tables, Trial, average
from mercer.estimators.tables.targets import YEO_JOHNSON, Transform, transform_of
from mercer.grams.dual_function import DualFunction
from mercer.inputs.frames import CATEGORY, DATE, NUMBER, ORDERED, Column
from mercer.kernels.base import Kernel
from mercer.numeric.memory import budget_bytes
from mercer.registry import record
from mercer.selection.folds import group_folds, row_groups

#: Rows of the search, without a limit of time, below 45, 20 and 5 s; candidates are compared on these. Up to a quarter more
#: are searched as well, so that the rows beyond are enough to judge by.
SEARCHED, SEARCHED_45, SEARCHED_20, SEARCHED_5 = 2000, 1200, 700, 350
MARGIN = 1.25

#: Shares of the time after which no candidate is begun, and which the final fits may take.
SEARCHING, FINAL = 0.45, 0.3

#: Rows fitted exactly, at most; landmarks beyond; rows that judge the finalists where there are more than are searched.
EXACT, LANDMARKS, JUDGES = 12_000, 2000, 1500


@record()
@dataclass(frozen=True)
class Member:
    """One model of the mean: what it was learned as, and its fit on all rows."""

    _stored: ClassVar[dict[str, str]] = {
        "transform": "a Transform",
        "transform.center": "float (t,)",
        "model": "a DualFunction",
        "model.intercept": "float (t,)",
        "weight": "float",
        "scaling": "text",
    }

    label: str
    scaling: str
    transform: Transform
    model: DualFunction
    weight: float

    def predict(self, inputs: dict[str, Any]) -> Floats:  # -> (n, t)
        """Predictions in the units of the targets."""
        return self.transform.backward(self.model.predict(inputs[self.scaling]))


@dataclass(frozen=True)
class Outcome:
    """What a fit leaves behind."""

    members: tuple[Member, ...]
    search: Search
    rows: Indices  # of the search
    weights: dict[int, float]  # place in search.complete() -> weight
    held_out: Floats  # (m, t) predictions of the mean on rows that it has not seen
    judged: Indices  # (m,) those rows
    by_folds: bool  # whether held_out comes from the folds
    route: str


def encoders(columns: list[Column]) -> tuple[dict[str, Any], bool]:
    """How the columns become inputs, by scaling, and whether the table is mixed (holes, text, graphs)."""
    vector = {NUMBER, CATEGORY, ORDERED, DATE}
    mixed = any(column.holes.any() or column.kind not in vector for column in columns)
    if mixed:
        return {"columns": numbered(columns)}, True
    return {rule: encoding_of(columns, rule) for rule in ("standard", "quantile")}, False


def encoders_for(kernel: Kernel, columns: list[Column]) -> tuple[dict[str, Any], bool]:
    """How the columns come to a kernel that was given: by number where it names them, else as vectors."""
    if named(kernel, columns)[1]:
        return {"columns": numbered(columns, "standard")}, True
    refuse_unfit(kernel, columns)
    return {"standard": encoding_of(columns, "standard")}, False


class Fitting:
    """One fit of a table model, step by step."""

    def __init__(
        self,
        columns: list[Column],
        targets: Floats,  # (n, t)
        loss: Loss,
        *,
        labels: Array | None,
        transforms: tuple[str, ...],
        seconds: float | None,
        memory: Any,
        seed: int,
        verbose: bool | None,
        kernel: Kernel | None = None,
    ) -> None:
        self.columns, self.targets, self.loss, self.labels = columns, targets, loss, labels
        self.transforms, self.seed = transforms, seed
        self.started = time.perf_counter()
        self.seconds = seconds
        self.budget = budget_bytes(memory)
        self.rng = np.random.default_rng(seed)
        self.meter = Meter("fit", verbose)
        self.steps, self.total = 0, 0  # fits of a candidate on a fold: begun, and expected at most
        self.landmarks: int | None = None  # where the time asks for them
        self.given = kernel
        self.encoders, self.mixed = encoders(columns) if kernel is None else encoders_for(kernel, columns)
        table = {column.name: column for column in columns}
        self.inputs = {rule: encoder(table) for rule, encoder in self.encoders.items()}

    def run(self) -> Outcome:
        """Search on some rows, then fit the chosen states on all of them."""
        n = len(self.targets)
        rows = self.searched(n)
        search = self._search(rows, self.listed())
        done = search.complete()
        if not done:
            raise search.effort.nothing()
        weights = average([trial.predictions for trial in done], search.tables.targets, self.loss)
        picked = [(trial, float(weight)) for trial, weight in zip(done, weights, strict=True) if weight > 0]
        states = [trial.candidate.settled([trial.states[fold] for fold in sorted(trial.states)]) for trial, _ in picked]
        picked, states = self._in_time(picked, states, n)
        if len(rows) < n:
            return self._with_judges(rows, search, done, picked, states)
        members = self._members(picked, states, np.arange(n))[0]
        held_out = sum((weight * trial.predictions for trial, weight in picked), np.zeros_like(search.tables.targets))
        found = {done.index(trial): weight for trial, weight in picked}
        self.meter.close()
        return Outcome(members, search, rows, found, held_out, rows, True, self._route(n))

    def listed(self) -> list[Candidate]:
        """What is tried."""
        if self.given is not None:
            scaling = "columns" if self.mixed else "standard"
            kernel = by_number(self.given, self.columns, self.inputs["columns"]) if self.mixed else self.given
            return given(kernel, scaling, repr(self.given))
        mixed = product_kernel(self.columns, self.inputs["columns"]) if self.mixed else None
        return candidates(next(iter(self.inputs.values())).shape[1], mixed)

    # -- parts -------------------------------------------------------------------------------------------------------

    def searched(self, n: int) -> Indices:
        """The rows on which candidates are compared."""
        most = SEARCHED
        for limit, fewer in ((45.0, SEARCHED_45), (20.0, SEARCHED_20), (5.0, SEARCHED_5)):
            if self.seconds is not None and self.seconds < limit:
                most = fewer
        return self.rng.permutation(n)[: n if n <= MARGIN * most else most]

    def tables(self, rows: Indices) -> Tables:
        """The rows of the search in every scaling, with folds that keep equal rows together."""
        inputs = {rule: table[rows] for rule, table in self.inputs.items()}
        labels = None if self.labels is None else self.labels[rows]
        groups = row_groups(next(iter(inputs.values())))
        folds = group_folds(groups, min(5 if len(rows) < 700 else 3, len(rows)), self.rng, labels)
        return Tables(inputs, self.targets[rows], _renumbered(folds), groups)

    def effort(self) -> Effort:
        """What the time allows for candidates."""
        return Effort(np.inf if self.seconds is None else self.started + SEARCHING * self.seconds, self.tell)

    def _search(self, rows: Indices, tried: list[Candidate]) -> Search:
        tables, effort = self.tables(rows), self.effort()
        search = Search(tables, self.loss, effort)
        self.expect(len(tried), tables.n_folds)
        search.run([replace(candidate, transform=self.transforms[0]) for candidate in tried])
        if len(self.transforms) > 1 and search.ranked() and time.perf_counter() < effort.deadline:
            best = [replace(candidate, transform=YEO_JOHNSON) for candidate in search.ranked()[:2]]
            search._folds([(candidate, fold) for candidate in best for fold in range(tables.n_folds)], must=0)
        return search

    def expect(self, candidates: int, folds: int) -> None:
        """How many fits on a fold there will be at most, for the progress that is shown."""
        again = 2 * folds if len(self.transforms) > 1 else 0
        self.total = candidates + min(FINALISTS, candidates) * (folds - 1) + again

    def tell(self, what: str) -> None:
        """Show what is begun."""
        self.steps += 1
        self.meter.label = f"fit: {what}"
        self.meter(self.steps, max(self.steps, self.total))

    def _in_time(
        self, picked: list[tuple[Trial, float]], states: list[State], n: int
    ) -> tuple[list[tuple[Trial, float]], list[State]]:
        """The heaviest members, as many as can be fitted in time, with weights that sum to 1; sets the landmarks."""
        if self.seconds is None:
            return picked, states
        order = sorted(range(len(picked)), key=lambda i: -picked[i][1])
        left = self.started + (SEARCHING + FINAL) * self.seconds - time.perf_counter()
        scaling = picked[order[0]][0].candidate.scaling
        pace = timed(states[order[0]].kernel, self.inputs[scaling])
        count, self.landmarks = within(pace, n, len(picked), max(left, 0.5 * FINAL * self.seconds))
        kept = sorted(order[:count])
        total = sum(picked[i][1] for i in kept)
        return [(picked[i][0], picked[i][1] / total) for i in kept], [states[i] for i in kept]

    def _members(
        self, picked: list[tuple[Trial, float]], states: list[State], rows: Indices, judges: int = 0
    ) -> tuple[tuple[Member, ...], list[Floats]]:
        """The chosen states fitted on rows, and what they predict for the last ones, each of them left out."""
        members, predictions = [], []
        landmarks = self._landmarks(len(rows))
        first = len(rows) - judges
        for (trial, weight), state in zip(picked, states, strict=True):  # one after the other: each may fill the memory
            candidate: Candidate = trial.candidate
            transform = transform_of(candidate.transform, self.targets[rows])
            Z, Y = self.inputs[candidate.scaling][rows], transform.forward(self.targets[rows])
            alone = np.arange(judges)
            model, residuals = ridge.fit_and_leave_out(state.kernel, Z, Y, state.alpha, alone, landmarks, self.seed)
            model = replace(model, rows=rows[model.numbers()])
            members.append(Member(trial.label, candidate.scaling, transform, model, weight))
            predictions.append(transform.backward(Y[first:] - residuals))
        return tuple(members), predictions

    def _with_judges(
        self,
        rows: Indices,
        search: Search,
        done: list[Trial],
        picked: list[tuple[Trial, float]],
        states: list[State],
    ) -> Outcome:
        """More rows than were searched: all are fitted, and some that the metrics have not seen judge, each left out."""
        others = self.rng.permutation(np.setdiff1d(np.arange(len(self.targets)), rows))
        judges = others[:JUDGES]
        order = np.concatenate([rows, others[JUDGES:], judges])
        members, predictions = self._members(picked, states, order, len(judges))
        weights = average(predictions, self.targets[judges], self.loss)
        held_out = sum(
            (w * p for w, p in zip(weights, predictions, strict=True)), np.zeros((len(judges), self.targets.shape[1]))
        )
        kept = [(i, float(weight)) for i, weight in enumerate(weights) if weight > 0]
        found = {done.index(picked[i][0]): w for i, w in kept}
        self.meter.close()
        chosen = tuple(replace(members[i], weight=w) for i, w in kept)
        return Outcome(chosen, search, rows, found, held_out, judges, False, self._route(len(order)))

    def _landmarks(self, n: int) -> int | None:
        if self.landmarks is not None:
            return int(max(50, min(self.landmarks, n, self.budget // (32 * n))))
        if n <= EXACT and 16 * n * n <= self.budget:
            return None
        return int(max(50, min(LANDMARKS, n, self.budget // (32 * n))))

    def _route(self, n: int) -> str:
        count = self._landmarks(n)
        return f"exact on {n:,} rows" if count is None else f"{count:,} landmarks for {n:,} rows"


def _renumbered(folds: Indices) -> Indices:
    """Folds without gaps: with many equal rows one of them may have got nothing."""
    return np.unique(folds, return_inverse=True)[1].astype(np.intp).reshape(-1)
