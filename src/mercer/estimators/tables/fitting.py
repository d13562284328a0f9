"""The fit of a table model on rows in memory: candidates are compared on some rows, the chosen ones fitted on all."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from mercer.arrays import Array, Floats, Indices
from mercer.errors import plural
from mercer.estimators.progress import Meter
from mercer.estimators.tables import ridge
from mercer.estimators.tables.candidates import Candidate, LearnedKernel, candidates, given, of_molecules
from mercer.estimators.tables.encoding import COLUMNS, Encoder, Encoding, encode, encoders_of
from mercer.estimators.tables.kernels import by_number, encoders_for, product_kernel
from mercer.estimators.tables.layout import Layout
from mercer.estimators.tables.local_models import SIZE, TREES, LocalModel, fit_local
from mercer.estimators.tables.logistic import LANDMARKS as LOGISTIC_LANDMARKS
from mercer.estimators.tables.logistic import REFITTED, LogisticFeatures, LogisticRefit, landmarks_for
from mercer.estimators.tables.many_rows import predicted
from mercer.estimators.tables.pace import measured_pace, within
from mercer.estimators.tables.search import (
    FEW_ROWS,
    FINALISTS,
    Attempt,
    CandidateSearch,
    ColumnNote,
    Effort,
    Objective,
    TableResult,
    Tables,
    Trial,
    across,
    average,
    greedy,
    some,
)
from mercer.estimators.tables.targets import LOGISTIC, YEO_JOHNSON, Transform, transform_of
from mercer.grams.dual_function import DualFunction
from mercer.inputs import Rows, as_rows
from mercer.inputs.frames import CATEGORY, DATE, MOLECULE, Column, without_cells
from mercer.kernels.base import Kernel
from mercer.kernels.stationary import Laplacian
from mercer.numeric.memory import budget_bytes
from mercer.registry import record
from mercer.selection.folds import group_folds, row_groups

#: Rows of the search: without a time limit, below 45, 20 and 5 s. Up to a quarter more are searched as well, because fewer
#: rows beyond would be too few to judge by.
SEARCHED, SEARCHED_45, SEARCHED_20, SEARCHED_5 = 2000, 1200, 700, 350
MARGIN = 1.25

#: Times that fewer than FEW_ROWS rows are divided into folds.
REPEATS = 2

#: Shares of the time limit after which no candidate is started, and which the final fits may take.
SEARCHING, FINAL = 0.45, 0.3

#: Rows fitted exactly, at most; landmarks beyond; rows that judge the finalists if there are more than are searched.
EXACT, LANDMARKS, JUDGES = 12_000, 2000, 1500

#: Landmarks below which a logistic refit of all rows is worse than ridges with many more.
FEWEST_LOGISTIC = 250

#: Bounds of the number of landmarks of a member: rows times landmarks squared are about WORK; members beyond MANY rows.
MOST_LANDMARKS, FEWEST_LANDMARKS, WORK, MANY, MEMBERS_OF_MANY = 3000, 500, 4e11, 50_000, 2

#: Landmarks of a table of molecules alone: their counts are encoded again with every block of rows. With 3,000 instead of
#: 1,500 the fit to HIV takes a third more time and memory, and the area under the curve is 0.002 larger.
MOLECULE_LANDMARKS = 1500

#: Rows from which local models are tried beside landmarks, and fits of a cell that their choices cost.
FEWEST_LOCAL, COMPARISONS = 20_000, 30

#: Rows up to which predictions are in double precision; largest error beyond, of class scores and as a share of the held-out
#: error of numbers.
FEW_PREDICTED, OF_SCORES, OF_NUMBERS = 10_000, 1e-3, 0.01


@record()
@dataclass(frozen=True)
class Member:
    """One model of the mean: its scaling, the transform of its target, its fitted function and its weight."""

    _stored: ClassVar[dict[str, str]] = {
        "transform": "a Transform",
        "transform.center": "float (t,)",
        "model": "a DualFunction",
        "model.intercept": "float (t,)",
        "weight": "float",
        "scaling": "text",
        "local": "absent | None | a LocalModel",
    }

    label: str
    scaling: str
    transform: Transform
    model: DualFunction
    weight: float
    local: LocalModel | None = None  # of what the model misses; for linear transforms

    def predict(self, inputs: dict[str, Rows], allowed: float = 0.0) -> Floats:  # -> (n, t)
        """Return predictions in the units of the targets; many rows with an error of at most `allowed`."""
        rows = inputs[self.scaling]
        if len(rows) <= FEW_PREDICTED or not allowed > 0.0:
            return self.transform.backward(self.function(rows))
        found = predicted(self.model, rows, self.transform.backward, allowed)
        return found if self.local is None else found + self.local.predict(rows) * self.transform.spread

    def function(self, rows: Any) -> Floats:  # -> (n, t)
        """Return the fitted function at encoded rows, before the transform is undone."""
        found = self.model.predict(rows)
        return found if self.local is None else found + self.local.predict(as_rows(rows))


@dataclass(frozen=True)
class Outcome:
    """What a fit found, on rows in memory or in chunks; `TableEstimator.store` makes the fitted model of it."""

    columns: list[Column]  # those used, without cells
    encoders: dict[str, Encoder]
    members: tuple[Member, ...]
    judged: dict[str, Rows]  # rows that the chosen members have not seen, by scaling
    targets: Floats  # (m, t) of these rows
    held_out: Floats  # (m, t) predictions of the mean for them
    measured: dict[str, Rows]  # rows on which importances are measured
    result: TableResult
    classes: Array | None = None
    weights: Floats | None = None  # (m,) of the rows that judge; None if all are equal
    groups: Indices | None = None  # (m,) of the rows that judge; None: equal rows are a group


class Fitting:
    """One fit of a table model: columns in every scaling, targets, limits and random numbers."""

    def __init__(
        self,
        columns: list[Column],
        targets: Floats,  # (n, t)
        objective: Objective,
        *,
        labels: Array | None = None,
        seconds: float | None = None,
        memory: Any = None,
        seed: int = 0,
        verbose: bool | None = None,
        kernel: Kernel | None = None,
        notes: tuple[ColumnNote, ...] = (),
        layout: Layout | None = None,
        weights: Floats | None = None,  # (n,)
    ) -> None:
        self.columns, self.targets, self.objective, self.labels = columns, targets, objective, labels
        self.weights = weights
        self.notes, self.seed, self.layout = notes, seed, layout
        self.started = time.perf_counter()
        self.seconds = seconds
        self.budget = budget_bytes(memory)
        self.rng = np.random.default_rng(seed)
        self.meter = Meter("fit", verbose)
        self.steps, self.total = 0, 0  # fits of a candidate on a fold: started, and expected at most
        self.landmarks: int | None = None  # set by a time limit
        self.given = kernel
        self.encoders = encoders_of(columns) if kernel is None else encoders_for(kernel, columns)
        self.mixed = COLUMNS in self.encoders
        self.inputs = encode(self.encoders, columns)
        self.said: list[str] = []  # notes on time
        self._taken: tuple[Indices, dict[str, Rows], dict[str, Rows]] | None = None

    def run(self) -> Outcome:
        """Search on some rows, then fit the chosen states on all of them."""
        n = len(self.targets)
        judges = self.judges
        rows = self.searched(n, judges)
        if self.layout is not None and self.layout.places is not None and self.given is None:
            self._try_without_time(rows)
        search = self._search(rows, self.listed())
        done = search.complete()
        if not done:
            raise search.effort.nothing()
        tested = search.tables.tested
        targets = search.tables.targets[tested]
        classes = self.labels is not None and self.given is None
        if classes and landmarks_for(n, self.targets.shape[1], LOGISTIC_LANDMARKS) >= min(n, FEWEST_LOGISTIC):
            linear = [trial for trial in done[REFITTED:] if trial.candidate.linear]
            done += LogisticRefit(search, done[:REFITTED] + linear, self.seed).run()
        counted = some(search.tables.weights, tested)
        weights = average([trial.predictions[tested] for trial in done], targets, self.objective.loss, counted)
        picked = [_Picked(trial, float(w), trial.settled()) for trial, w in zip(done, weights, strict=True) if w > 0]
        picked = self._in_time(_heaviest(picked, MEMBERS_OF_MANY) if n > MANY else picked, n)
        if len(rows) < n and (self.layout is None or len(judges)):
            return self._with_judges(rows, judges, search, picked)
        members = self._members(picked, np.arange(n))[0]
        folds = search.tables.folds[tested]
        held_out = across([trial.predictions[tested] for trial in done], targets, self.objective.loss, counted, folds)
        inputs = search.tables.inputs
        if not tested.all():
            inputs = {rule: table.take(np.flatnonzero(tested)) for rule, table in inputs.items()}
        found = self._outcome(search, members, picked, inputs, targets, held_out, counted)
        groups = search.tables.groups[tested] if self.layout is not None and self.layout.groups is not None else None
        return replace(found, groups=groups)

    def listed(self) -> list[Candidate]:
        """Return the candidates."""
        if self.given is not None:
            scaling = COLUMNS if self.mixed else "standard"
            kernel = by_number(self.given, self.columns, self.inputs[COLUMNS].data) if self.mixed else self.given
            return given(kernel, scaling, repr(self.given))
        alone = of_molecules(self.columns) if self.mixed else []
        if alone and len(self.columns) == 1:
            return alone
        mixed = product_kernel(self.columns, self.inputs[COLUMNS].data) if self.mixed else None
        return alone + candidates(self._tied(), mixed)

    def _tied(self) -> tuple[int, ...]:
        """Return the number of the length scale of every matrix column: the levels of a category share one."""
        encoder = self.encoders.get("standard")
        if not isinstance(encoder, Encoding):
            return ()
        found: list[int] = []
        for block in encoder.blocks:
            first, width = (found[-1] + 1 if found else 0), len(block.names())
            found += [first] * width if block.kind == CATEGORY else range(first, first + width)
        return tuple(found)

    def searched(self, n: int, judges: Indices | None = None) -> Indices:
        """Return the rows on which candidates are compared, without judges and rows near them."""
        rows = self.rng.permutation(n)
        if judges is not None and len(judges):
            assert self.layout is not None
            rows = rows[~np.isin(rows, np.concatenate([judges, self.layout.near(judges)]))]
        return rows[: n if n <= MARGIN * self.most() else self.most()]

    @property
    def only_molecules(self) -> bool:
        """Whether every column is one of molecules."""
        return all(column.kind == MOLECULE for column in self.columns)

    def most(self) -> int:
        """Return how many rows are searched at most."""
        # nothing but penalties is learned on molecules
        most = SEARCHED_20 if self.only_molecules and self.given is None else SEARCHED
        for limit, fewer in ((45.0, SEARCHED_45), (20.0, SEARCHED_20), (5.0, SEARCHED_5)):
            if self.seconds is not None and self.seconds < limit:
                most = min(most, fewer)
        return most

    @cached_property
    def judges(self) -> Indices:
        """The rows of a layout that judge if there are more rows than are searched."""
        if self.layout is None or len(self.targets) <= MARGIN * self.most():
            return np.empty(0, dtype=np.intp)
        return self.layout.judges(JUDGES, self.rng)

    def _try_without_time(self, rows: Indices) -> None:
        """Leave out the columns of time, or the trend of dates, unless they help in most blocks of later rows."""
        assert self.layout is not None
        own = {column.name for column in self.columns if column.kind == DATE} | set(self.layout.order)
        rest = [column for column in self.columns if column.name not in own]
        if len(rest) == len(self.columns):
            return
        versions = [(self.columns, True), (self.columns, False)] + ([(rest, True)] if rest else [])
        errors: list[Floats] = []
        seen: dict[int, dict[str, Encoder]] = {}
        for number, (columns, trend) in enumerate(versions):
            seen[number] = encoders_of(columns, trend)
            self.encoders = {"quantile": seen[number]["quantile"]} if "quantile" in seen[number] else seen[number]
            self.inputs = encode(self.encoders, columns)
            search = CandidateSearch(self.tables(rows), self.objective, self.effort())
            first = replace(time_candidate("quantile" in self.inputs, self, columns), transform=self.objective.transforms[0])
            search.on_folds([(first, fold) for fold in range(search.tables.n_folds)], must=search.tables.n_folds)
            errors.append(_block_errors(search))
        best = _fewest(errors)
        self.columns, trend = versions[best]
        self.encoders = seen[best]
        self.mixed = COLUMNS in self.encoders
        self.inputs = encode(self.encoders, self.columns)
        self._say_time(own, trend)

    def _say_time(self, own: set[str], trend: bool) -> None:
        kept = {column.name for column in self.columns}
        self.notes = tuple(
            note if note.name in kept or note.note else replace(note, note=NO_HELP) for note in self.notes
        )  # fmt: skip
        dates = [repr(column.name) for column in self.columns if column.kind == DATE and column.name in own]
        if not trend and dates:
            self.said.append(f"{', '.join(dates)}: periods are used without a trend, which did not help on later rows")

    def tables(self, rows: Indices) -> Tables:
        """Return the rows of the search in every scaling, with folds that keep equal rows together."""
        inputs = self._inputs_of(rows)
        labels = None if self.labels is None else self.labels[rows]
        n_folds = min(5 if len(rows) < 700 else 3, len(rows))
        if self.layout is not None:
            own = self.layout.take(rows)
            folds = own.folds(n_folds, self.rng, labels)
            groups = np.arange(len(rows)) if own.groups is None else own.groups
            folds = folds if own.groups is None else _renumbered(folds)
            return Tables(inputs, self.targets[rows], folds, groups, own.places, some(self.weights, rows))
        groups = row_groups(inputs[COLUMNS if self.mixed else next(iter(inputs))].data)
        if len(np.unique(groups)) < 2:  # rows without any difference cannot be told apart: each is left out by itself
            groups = np.arange(len(rows))
        folds = group_folds(groups, n_folds, self.rng, labels)
        return Tables(inputs, self.targets[rows], _renumbered(folds), groups, None, some(self.weights, rows))

    def _inputs_of(self, rows: Indices) -> dict[str, Rows]:
        """Return some rows in every scaling; for the rows of the last call, the same ones with all that they remember."""
        if self._taken is None or self._taken[0] is not rows or self._taken[1] is not self.inputs:
            self._taken = rows, self.inputs, {rule: table.take(rows) for rule, table in self.inputs.items()}
        return self._taken[2]

    def effort(self) -> Effort:
        """Return the runner of candidates with its deadline."""
        return Effort(np.inf if self.seconds is None else self.started + SEARCHING * self.seconds, self.tell)

    def expect(self, candidates: int, folds: int) -> None:
        """Set the largest number of fits on a fold, for the progress display."""
        again = 2 * folds if len(self.objective.transforms) > 1 else 0
        self.total = candidates + min(FINALISTS, candidates) * (folds - 1) + again

    def tell(self, what: str) -> None:
        """Show which fit starts."""
        self.steps += 1
        self.meter.label = f"fit: {what}"
        self.meter(self.steps, max(self.steps, self.total))

    def _search(self, rows: Indices, tried: list[Candidate]) -> CandidateSearch:
        tables, effort = self.tables(rows), self.effort()
        for candidate in tried:
            if candidate.scaling == COLUMNS and not candidate.kernel.unresolved:
                candidate.kernel.encode(tables.inputs[COLUMNS])  # folds share what is counted in molecules
        search = CandidateSearch(tables, self.objective, effort)
        self.expect(len(tried), tables.n_folds)
        search.run([replace(candidate, transform=self.objective.transforms[0]) for candidate in tried])
        if len(self.objective.transforms) > 1 and search.ranked() and time.perf_counter() < effort.deadline:
            best = [replace(candidate, transform=YEO_JOHNSON) for candidate in search.ranked()[:2]]
            search.on_folds([(candidate, fold) for candidate in best for fold in range(tables.n_folds)], must=0)
        self._repeat(search, rows)
        return search

    def _repeat(self, search: CandidateSearch, rows: Indices) -> None:
        """Take means over further random folds of few rows: which rows share a fold decides less."""
        in_time = self.layout is not None and self.layout.places is not None
        if self.given is not None or in_time or len(rows) >= FEW_ROWS:
            return
        for _ in range(1, REPEATS):
            done = dict.fromkeys(trial.candidate for trial in search.complete() if trial.candidate.fitted)
            again = CandidateSearch(self.tables(rows), self.objective, search.effort)
            if time.perf_counter() < search.effort.deadline:
                again.on_folds([(one, fold) for one in done for fold in range(again.tables.n_folds)], must=0)
                search.join(again)

    def _in_time(self, picked: list[_Picked], n: int) -> list[_Picked]:
        """Return the heaviest members that can be fitted in time, with weights that sum to 1; set the landmarks."""
        if self.seconds is None:
            return picked
        order = sorted(range(len(picked)), key=lambda i: -picked[i].weight)
        left = self.started + (SEARCHING + FINAL) * self.seconds - time.perf_counter()
        first = picked[order[0]]
        pace = measured_pace(first.state.kernel, self.inputs[first.trial.candidate.scaling])
        count, self.landmarks = within(pace, n, len(picked), max(left, 0.5 * FINAL * self.seconds))
        kept = sorted(order[:count])
        if self.landmarks is not None:
            self.said.append(f"the time limit was reached: the model has {self._route(n)}")
        if count < len(picked):
            self.said.append(f"the time limit was reached: {count} of {plural(len(picked), 'member')} of the mean fitted")
        total = sum(picked[i].weight for i in kept)
        return [replace(picked[i], weight=picked[i].weight / total) for i in kept]

    def _members(
        self, picked: list[_Picked], rows: Indices, groups: Indices | None = None
    ) -> tuple[tuple[Member, ...], list[Floats]]:
        """Return the chosen states fitted on rows, and their predictions for the last ones, each left out with its group."""
        members, predictions = [], []
        landmarks = self._landmarks(len(rows))
        groups = np.empty(0, dtype=np.intp) if groups is None else groups
        first = len(rows) - len(groups)
        for one in picked:  # one after the other: each may fill the memory
            candidate, state = one.trial.candidate, one.state
            if candidate.scaling == COLUMNS and landmarks is None:
                state.kernel.encode(self.inputs[COLUMNS])  # members share it, too
            transform = transform_of(candidate.transform, self.targets[rows], some(self.weights, rows))
            if state.noise:
                transform = replace(transform, noise=np.full(self.targets.shape[1], state.noise))
            Z, w = self.inputs[candidate.scaling].take(rows), some(self.weights, rows)
            Y = transform.forward(self.targets[rows])
            if transform.link:
                count = landmarks_for(len(rows), Y.shape[1], landmarks or LOGISTIC_LANDMARKS)
                model, F = LogisticFeatures(state.kernel, Z, count, self.seed).fit(Y, 1.0 / state.alpha, groups, w)
            else:
                model, residuals = ridge.fit_and_leave_out(state.kernel, Z, Y, state.alpha, groups, landmarks, self.seed, w)
                F = Y[first:] - residuals
            model = replace(model, rows=rows[model.numbers()])
            members.append(Member(one.trial.label, candidate.scaling, transform, model, one.weight))
            predictions.append(transform.backward(F))
        return tuple(members), predictions

    def _with_judges(self, rows: Indices, judges: Indices, search: CandidateSearch, picked: list[_Picked]) -> Outcome:
        """Fit all rows; rows that no metric has seen judge the members again, each left out of the fit with its group."""
        others = self.rng.permutation(np.setdiff1d(np.arange(len(self.targets)), rows))
        if self.layout is None:
            judges, near = others[:JUDGES], others[:0]
            groups = np.arange(len(judges))
        else:
            near = self.layout.near(judges)
            groups = np.zeros(len(near) + len(judges), dtype=np.intp) if len(near) else self.layout.take(judges).alike()
        rest = others[~np.isin(others, np.concatenate([judges, near]))]
        order = np.concatenate([rows, rest, near, judges])
        members, predictions = self._members(picked, order, groups)
        members, predictions, origins = self._with_local(members, predictions, picked, order, groups)
        predictions = [part[len(near) :] for part in predictions]
        targets, counted = self.targets[judges], some(self.weights, judges)
        weights = greedy(predictions, targets, self.objective.loss, counted)
        held_out = sum((w * p for w, p in zip(weights, predictions, strict=True)), np.zeros(targets.shape))
        kept = [(i, float(weight)) for i, weight in enumerate(weights) if weight > 0]
        chosen = tuple(replace(members[i], weight=w) for i, w in kept)
        judged = {rule: table.take(judges) for rule, table in self.inputs.items()}
        for i, _ in kept:
            if members[i].local is not None:
                self._say_local(members[i], predictions[i], predictions[origins[i]], targets, counted)
        shares = np.bincount(origins, weights, len(picked))
        final = [replace(one, weight=float(share)) for one, share in zip(picked, shares, strict=True)]
        found = self._outcome(search, chosen, final, judged, targets, held_out, counted)
        own = None if self.layout is None or self.layout.groups is None else self.layout.take(judges).groups
        return replace(found, groups=own)

    def _with_local(
        self, members: tuple[Member, ...], predictions: list[Floats], picked: list[_Picked], order: Indices, groups: Indices
    ) -> tuple[tuple[Member, ...], list[Floats], list[int]]:
        """Return the members with one more: the heaviest with local models of what it misses; and the origin of each."""
        origins = list(range(len(members)))
        n, t = len(order), self.targets.shape[1]
        able = [i for i in origins if members[i].transform.is_linear and members[i].scaling != COLUMNS]
        if not able or self.given is not None or self._landmarks(n) is None or n < FEWEST_LOCAL:
            return members, predictions, origins
        first = max(able, key=lambda i: members[i].weight)
        member, one = members[first], picked[first]
        Z, w = self.inputs[member.scaling].take(order), some(self.weights, order)
        width = Z.data.shape[1]
        if 8.0 * n * (2 * width + 4 * t) > self.budget or not self._time_for_cells(one, Z):
            return members, predictions, origins
        self.tell("local models")
        Y, spread = self.targets[order], member.transform.spread
        error = float(np.sqrt(np.mean((Y[n - len(groups) :] - predictions[first]) ** 2)))
        allowed = OF_SCORES if self.labels is not None else OF_NUMBERS * error
        R = (Y - predicted(member.model, Z, member.transform.backward, allowed)) / spread
        try:
            local, values = fit_local(one.trial.candidate, one.state, Z, R, groups, w, self.seed)
        except ArithmeticError as reason:  # a matrix that is not positive definite
            self.said.append(f"local models failed: {reason}")
            return members, predictions, origins
        found = predictions[first] + values * spread
        return (*members, replace(member, local=local)), [*predictions, found], [*origins, first]

    def _time_for_cells(self, one: _Picked, Z: Rows) -> bool:
        """Return whether local models can be fitted before the time limit."""
        if self.seconds is None:
            return True
        pace = measured_pace(one.state.kernel, Z)
        cells = COMPARISONS + TREES * len(Z) / SIZE
        return time.perf_counter() - self.started + cells * pace.exact(SIZE) < self.seconds

    def _say_local(self, member: Member, own: Floats, before: Floats, targets: Floats, counted: Floats | None) -> None:
        assert member.local is not None
        objective = self.objective
        old, new = (objective.reported(objective.mean(F, targets, counted)) for F in (before, own))
        cells = sum(tree.n_cells for tree in member.local.trees)
        what = f"held-out {objective.measure} of {member.label} from {old:.4g} to {new:.4g}"
        self.said.append(f"local ridges in {cells:,} cells of similar rows change the {what}")

    def _outcome(
        self, search: CandidateSearch, members: tuple[Member, ...], picked: list[_Picked], judged: dict[str, Rows],
        targets: Floats, held_out: Floats, counted: Floats | None,
    ) -> Outcome:  # fmt: skip
        weights = {id(one.trial): one.weight for one in picked}
        others = [one.trial for one in picked if one.trial.candidate.transform == LOGISTIC]
        trials = sorted([*search.trials.values(), *others], key=lambda trial: search.error(trial)[0])
        attempts = tuple(search.attempt(trial, weights.get(id(trial), 0.0)) for trial in trials)
        searched, w = search.tables.targets, search.tables.weights
        constant = np.broadcast_to(np.average(searched, axis=0, weights=w), searched.shape)
        error = self.objective.mean(held_out, targets, counted)
        baseline = self.objective.mean(constant, searched, w)
        route = self._route(len(self.targets))
        found = self.outcome(search, members, judged, targets, held_out, attempts, error, baseline, route)
        return replace(found, weights=counted)

    def outcome(
        self, search: CandidateSearch, members: tuple[Member, ...], judged: dict[str, Rows], targets: Floats,
        held_out: Floats, attempts: tuple[Attempt, ...], error: float, baseline: float, route: str,
    ) -> Outcome:  # fmt: skip
        """Return the outcome with its result; errors are mean losses."""
        self.meter.close()
        objective, tables = self.objective, search.tables
        result = TableResult(
            objective.task, objective.measure, len(self.targets), len(tables.targets), tables.n_folds, self.notes, attempts,
            objective.reported(error), objective.reported(baseline), route, 0.0,
            (*self._arranged(), *self._limited(len(tables.targets)), *self.said, *search.effort.notes()),
            "" if self.layout is None else self.layout.describe(),
        )  # fmt: skip
        bare = [without_cells(column) for column in self.columns]
        return Outcome(bare, self.encoders, members, judged, targets, held_out, tables.inputs, result)

    def _limited(self, searched: int) -> list[str]:
        """Return the note on a search with fewer rows than without a time limit."""
        n = len(self.targets)
        if self.seconds is None or self.most() >= SEARCHED or searched >= min(n, SEARCHED):
            return []
        return [f"because of the time limit of {self.seconds:g} s, models were compared on {searched:,} of {n:,} rows"]

    def _arranged(self) -> list[str]:
        if self.layout is None or not self.layout.reason:
            return []
        return [f"{self.layout.reason}, so later rows judge; order=False compares models on rows at random"]

    def _landmarks(self, n: int) -> int | None:
        if self.landmarks is not None:
            return int(max(50, min(self.landmarks, n, self._landmarks_in_memory())))
        if n <= EXACT and 16 * n * n <= self.budget:
            return None
        limit = MOLECULE_LANDMARKS if self.only_molecules else MOST_LANDMARKS
        most = min(limit, max(FEWEST_LANDMARKS, int((WORK / n) ** 0.5)))
        return int(max(50, min(most, n, self._landmarks_in_memory())))

    def _landmarks_in_memory(self) -> int:
        """Return how many landmarks fit into memory: a few square matrices, the candidates for them, and a block of rows."""
        return int((self.budget / 100.0) ** 0.5)

    def _route(self, n: int) -> str:
        count = self._landmarks(n)
        return f"exact on {n:,} rows" if count is None else f"{count:,} landmarks for {n:,} rows"


@dataclass(frozen=True)
class _Picked:
    """A trial of the mean with its weight and its kernel for all rows."""

    trial: Trial
    weight: float
    state: LearnedKernel


def _heaviest(picked: list[_Picked], most: int) -> list[_Picked]:
    """Return the heaviest members of the mean, with weights that sum to 1."""
    kept = sorted(picked, key=lambda one: -one.weight)[:most]
    total = sum(one.weight for one in kept)
    return [replace(one, weight=one.weight / total) for one in kept]


#: Note of a column of time that was tried and left out.
NO_HELP = "time, which did not help on later rows"


def time_candidate(vectors: bool, fitting: Fitting, columns: list[Column]) -> Candidate:
    """Return the candidate by which versions of the columns of time are compared."""
    if vectors:
        return Candidate("Laplacian", "quantile", "likelihood", Laplacian("median"))
    return Candidate("columns", COLUMNS, "likelihood", product_kernel(columns, fitting.inputs[COLUMNS].data))


def _block_errors(search: CandidateSearch) -> Floats:  # -> (folds,)
    """Return the mean loss of the only trial in each fold, infinite if it failed."""
    tables = search.tables
    found = np.full(tables.n_folds, np.inf)
    for trial in search.trials.values():
        for fold in trial.states:
            own = tables.folds == fold
            found[fold] = search.objective.mean(trial.predictions[own], tables.targets[own], some(tables.weights, own))
    return found


def _fewest(errors: list[Floats]) -> int:
    """Return the version with the fewest columns of time that no longer one beats on average and in most blocks."""
    best = len(errors) - 1
    for number in range(len(errors) - 2, -1, -1):
        wins = np.mean(errors[number] < errors[best])
        if np.mean(errors[number]) < np.mean(errors[best]) and wins > 0.5:
            best = number
    return best


def _renumbered(folds: Indices) -> Indices:
    """Return folds without gaps: with many equal rows a fold may be empty."""
    return np.unique(folds, return_inverse=True)[1].astype(np.intp).reshape(-1)
