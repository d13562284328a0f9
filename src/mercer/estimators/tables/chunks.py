"""The fit of a table model on rows in chunks: ridges on landmarks, whose sums go over chunks, here or on workers.

The rows are never collected. Encodings, candidates, members and the stored outcome are those of the fit in memory
(`fitting`); length scales and penalties are chosen by leave-one-out on all rows. Classes are regressions on indicators; with
an intercept that is the ridge of KernelRidgeClassifier, whose labels are -1 and +1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from mercer.arrays import Array, Floats, Indices
from mercer.errors import InputError
from mercer.estimators.tables.candidates import Candidate, LearnedKernel, given, summable
from mercer.estimators.tables.chunk_facts import FITTED, RowDraw, TableFacts, left_out
from mercer.estimators.tables.encoding import Encoding
from mercer.estimators.tables.fitting import LANDMARKS, Member, Outcome
from mercer.estimators.tables.kernels import named, read_kernel
from mercer.estimators.tables.search import Attempt, TableResult
from mercer.estimators.tables.targets import CODES, NONE, Transform, transform_of
from mercer.grams.dual_function import DualFunction
from mercer.inputs import Rows
from mercer.inputs.chunks import Chunks
from mercer.inputs.frames import NUMBER, Column, like, read_columns
from mercer.inputs.tables import Table
from mercer.registry import find_estimator
from mercer.selection.surface import length_scale_steps

#: Landmarks while candidates are compared; a pass costs their square per row.
SEARCHED = 500

#: Rows from which the length scales to try are taken.
NEAR = 2000

#: The scaling of all candidates.
SCALING = "standard"


class TablePart(Protocol):
    """A part of a table that loads its rows when called."""

    def __call__(self) -> tuple[Table, None, None]:
        """Return the rows."""
        ...


@dataclass(frozen=True)
class ChunkReading:
    """How a part becomes vectors and targets, the same on every worker."""

    draw: RowDraw
    names: tuple[str, ...]  # of all columns of the question; they decide which rows have missing cells
    used: tuple[Column, ...]
    encoding: Encoding
    target: str
    transform: Transform
    classes: Array | None  # (c,) for labels
    drop_missing: bool

    @classmethod
    def of(cls, facts: TableFacts, draw: RowDraw, target: str, classes: Array | None, drop_missing: bool) -> ChunkReading:
        """Return the reading of a table from the facts of all its chunks."""
        used = [column for column in facts.columns if not column.note(facts.kept)]
        columns = tuple(Column(c.name, c.kind, [], np.empty(0, dtype=bool)) for c in used)
        encoding = Encoding(tuple(column.block() for column in used))
        names = tuple(column.name for column in facts.columns)
        return cls(draw, names, columns, encoding, target, _transform(facts, classes), classes, drop_missing)

    def vectors(self, table: Table) -> Floats:  # -> (n, d)
        """Return the rows of a table as vectors."""
        columns = like(read_columns(table[[column.name for column in self.used]], unchecked=True), list(self.used))
        return self.encoding({column.name: column for column in columns})

    def targets(self, y: Array) -> Floats:  # (n,) -> (n,), or (n, c) for labels
        """Return targets as they are learned."""
        if self.classes is None:
            return self.transform.forward(np.asarray(y, dtype=np.float64)[:, None])[:, 0]
        return np.eye(len(self.classes))[np.searchsorted(self.classes, self.labels(y))]

    def labels(self, y: Array) -> Array:  # (n,) -> (n,)
        """Return targets in the units of the question: numbers, or names of classes."""
        if self.classes is None:
            return np.asarray(y, dtype=np.float64)
        if self.classes.dtype.kind == "i":
            return y.astype(np.int64)
        return y.astype(str) if y.dtype.kind != "f" else np.array([f"{value:g}" for value in y.tolist()])

    def shares(self, facts: TableFacts) -> Floats:  # -> (c,)
        """Return the shares of the classes in the rows of the fit."""
        counts = facts.target.in_fit
        assert counts is not None and self.classes is not None
        labels = self.labels(np.array(list(counts), dtype=np.float64 if facts.target.kind == NUMBER else object))
        found = np.bincount(np.searchsorted(self.classes, labels), list(counts.values()), len(self.classes))
        return found / found.sum()

    def constant_error(self, facts: TableFacts) -> float:
        """Return the error of a constant on the rows of the fit: root mean squared, or the Brier score of the shares."""
        if self.classes is None:
            return facts.target.fitted.spread
        return float(1.0 - np.sum(self.shares(facts) ** 2))


def _transform(facts: TableFacts, classes: Array | None) -> Transform:
    if classes is not None:
        return transform_of(CODES, np.zeros((1, len(classes))))
    y = facts.target.fitted
    plain = transform_of(NONE, np.array([[y.low], [y.high]]))
    spread = y.spread if y.spread > 1e-12 * max(abs(y.mean), 1e-300) else 1.0
    return replace(plain, center=np.array([y.mean]), spread=np.array([spread]))


class EncodedPart:
    """The rows of a part as vectors with their targets: those of the fit, or all that are not excluded."""

    def __init__(self, part: TablePart, first: int, reading: ChunkReading, everything: bool) -> None:
        self.part, self.first, self.reading, self.everything = part, first, reading, everything

    def __call__(self) -> tuple[Any, Any, None]:
        reading, table = self.reading, self.part()[0]
        wanted = ~left_out(table, reading.target, reading.names, reading.drop_missing)
        if not self.everything:
            wanted &= reading.draw.roles(self.first, len(table)) == FITTED
        rows = np.flatnonzero(wanted)
        if not len(rows):
            return np.empty((0, len(reading.encoding.names))), None, None
        some = table[rows]
        return reading.vectors(some), reading.targets(some[reading.target].to_numpy()), None


# -- candidates ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ChunkTrial:
    """A candidate on all chunks: its kernel, its leave-one-out error, and the number of passes."""

    state: LearnedKernel
    error: float  # root mean squared error in the units of the target, or Brier score
    standard_error: float
    passes: int


@dataclass(frozen=True)
class ChunkFit:
    """A ridge on landmarks: its function, whose `rows` are the positions of the landmarks among the rows of the fit."""

    model: DualFunction
    passes: int
    error: float = np.nan  # leave-one-out error; unknown for a second fit


@dataclass(frozen=True)
class ChunkFitting:
    """One fit of a table model on chunks."""

    reading: ChunkReading
    rows: Chunks  # those of the fit, encoded
    memory: Any = None

    def listed(self, kernel: Any) -> list[Candidate]:
        """Return the candidates, or a given kernel or its text alone."""
        found = read_kernel(kernel)
        if found is None:
            return summable()
        if named(found, list(self.reading.used))[1]:
            raise InputError(
                f"{found} names columns, but workers encode all columns as one vector; give a kernel on whole rows, such as "
                "Gaussian('median'), or leave --scheduler out."
            )
        return given(found, SCALING, repr(found))

    def search(self, candidates: list[Candidate], near: Table) -> list[ChunkTrial]:
        """Return the candidates with their errors on all chunks; `near` is a sample of the fitted rows."""
        sample = self.reading.vectors(near), self.reading.targets(near[self.reading.target].to_numpy())
        return [self._trial(candidate, sample) for candidate in candidates]

    def _trial(self, candidate: Candidate, near: tuple[Floats, Floats]) -> ChunkTrial:
        """Choose length scale and penalty of a candidate by leave-one-out on all chunks.

        A sample `near` gives a first length scale, so that only three of them need passes over the chunks. Parameters that
        a kernel has already stay.
        """
        kernel = candidate.kernel
        options: dict[str, Any] = {
            "fit_intercept": True, "n_components": SEARCHED, "memory": self.memory, "verbose": False,
        }  # fmt: skip
        grid: dict[str, Any] = {"param_grid": {}}
        if kernel.unresolved:
            coarse = _estimator("KernelRidgeCV")(kernel, solver="nystroem", **options).fit(*near)
            kernel, center = coarse.kernel_, coarse.best_length_scale_
            grid = grid if center is None else {"length_scales": length_scale_steps(center, -1, 1)}
        model = _estimator("KernelRidgeCV")(kernel, **grid, **options).fit(self.rows)
        state = LearnedKernel(candidate.name, model.kernel_, float(model.best_alpha_))
        return ChunkTrial(state, *self._error(model), model.route_.passes or 0)

    def _error(self, model: Any) -> tuple[float, float]:
        """Return the leave-one-out error of a KernelRidgeCV with its standard error: root mean squared, or Brier score."""
        scores, errors = model.surface_.scores[model.best_index_], model.surface_.standard_errors[model.best_index_]
        if not scores.ndim:
            root, spread = float(np.sqrt(-scores)), float(self.reading.transform.spread[0])
            return spread * root, spread * float(errors) / (2.0 * root) if root > 0 else 0.0
        # squares of a row are summed over its classes; the sum of their standard errors is an upper bound
        return float(-scores.sum()), float(errors.sum())

    def fit(self, best: ChunkTrial) -> ChunkFit:
        """Return the ridge of the best candidate on all chunks, with the penalty chosen again for more landmarks."""
        model = _estimator("KernelRidgeCV")(
            best.state.kernel, param_grid={}, fit_intercept=True, n_components=LANDMARKS, memory=self.memory, verbose=False
        ).fit(self.rows)
        return _fitted(model, float(model.best_alpha_), self._error(model)[0])

    def refit(self, before: DualFunction, rows: Chunks) -> ChunkFit:
        """Return the ridge with the same kernel and penalty on other chunks."""
        model = _estimator("KernelRidge")(
            before.kernel, alpha=before.alpha, fit_intercept=True, solver="nystroem", n_components=LANDMARKS,
            memory=self.memory, verbose=False,
        ).fit(rows)  # fmt: skip
        return _fitted(model, before.alpha, np.nan)

    def outcome(
        self, task: str, facts: TableFacts, tried: list[ChunkTrial], fitted: ChunkFit, calibrating: Table, measured: Table,
        notes: tuple[str, ...],
    ) -> Outcome:  # fmt: skip
        """Return what `TableEstimator.store` needs; `calibrating` are rows that the fit has not seen."""
        reading, best = self.reading, min(tried, key=lambda one: one.error)
        n, rule = facts.target.fitted.count if reading.classes is None else _count(facts), reading.transform
        attempts = tuple(
            Attempt(one.state.label, SCALING, NONE if reading.classes is None else CODES, one.error, one.standard_error,
                    True, float(one is best))
            for one in sorted(tried, key=lambda one: one.error)
        )  # fmt: skip
        result = TableResult(
            task, "RMSE" if reading.classes is None else "Brier score", n, n, n, facts.notes(), attempts, fitted.error,
            reading.constant_error(facts), f"{len(fitted.model.dual):,} landmarks for {n:,} rows", 0.0, notes,
        )  # fmt: skip
        member = Member(best.state.label, SCALING, rule, fitted.model, 1.0)
        judged, y = {SCALING: Rows(reading.vectors(calibrating))}, calibrating[reading.target].to_numpy()
        targets = reading.labels(y)[:, None] if reading.classes is None else reading.targets(y)
        return Outcome(
            list(reading.used), {SCALING: reading.encoding}, (member,), judged, targets, member.predict(judged),
            {SCALING: Rows(reading.vectors(measured))}, result, reading.classes,
        )  # fmt: skip


def _count(facts: TableFacts) -> int:
    assert facts.target.in_fit is not None
    return sum(facts.target.in_fit.values())


def _estimator(name: str) -> Any:
    """Return a public estimator by name: a family does not import another."""
    return find_estimator(name)


def _fitted(model: Any, alpha: float, error: float) -> ChunkFit:
    return ChunkFit(replace(model.landmark_function(), alpha=alpha), model.route_.passes or 0, error)


def placed(members: tuple[Member, ...], model: DualFunction, places: Indices) -> list[Member]:
    """Return the members with another function, whose landmarks have these row numbers."""
    return [replace(member, model=replace(model, rows=places)) for member in members]
