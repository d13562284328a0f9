"""Facts of a table whose rows come in chunks: the role of each row, and what each column holds.

A permutation of all rows would have to be stored somewhere. A hash of the seed and the number of a row in its file gives the
same role on any worker and for any chunks, and nothing is sent or stored.

Means and variances of two parts give those of both (Chan, Golub and LeVeque 1979), so one pass standardizes. Levels of
categories are counted while they are few. Numbers are taken from the rows of the fit only, kinds and missing cells from all
rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Array, Floats, Indices
from mercer.errors import InputError
from mercer.estimators.tables.encoding import ColumnBlock, common_levels, numbers_of, periods_of, standard_scale
from mercer.estimators.tables.search import ColumnNote
from mercer.inputs.chunks import Chunk
from mercer.inputs.frames import CATEGORY, DATE, GRAPH, MOLECULE, NUMBER, ORDERED, TEXT, Column, read_columns
from mercer.inputs.tables import Table, missing_cells
from mercer.selection.folds import uniform_by_number

HELD_OUT, CALIBRATING, FITTED = 0, 1, 2

#: Held-out rows and calibrating rows, at most: they are collected in one place, and more would not change the result.
MOST_HELD_OUT, MOST_CALIBRATING = 50_000, 1500

#: Share of calibrating rows in a small table.
CALIBRATES = 0.1

#: Sample of the fitted rows that is collected for the report and the rivals: rows and bytes, at most.
MOST_SAMPLED, SAMPLED_BYTES = 100_000, 2**28

#: Smallest table for a cluster: with fewer rows, one of the roles might get none by chance.
FEWEST = 100

#: Different values of a category, or classes of a target, at most: all of them are counted.
MOST_LEVELS = 1000

Levels = Mapping[Any, int] | None  # number of rows of each; None if there are more than MOST_LEVELS


@dataclass(frozen=True)
class RowDraw:
    """Random roles of rows: shares of held-out and calibrating rows, and of the sample of fitted rows."""

    seed: int
    held_out: float
    calibrating: float
    sampled: float

    def uniform(self, first: int, count: int) -> Floats:  # -> (count,)
        """Return numbers in [0, 1) for the rows first, first + 1, …"""
        return uniform_by_number(self.seed, first, count)

    def roles(self, first: int, count: int) -> Indices:  # -> (count,)
        """Return the roles of the rows first, first + 1, …"""
        return np.searchsorted([self.held_out, self.held_out + self.calibrating], self.uniform(first, count), side="right")

    def in_sample(self, first: int, count: int) -> NDArray[np.bool_]:  # -> (count,)
        """Return which of these rows are in the sample if they are fitted."""
        return np.asarray(self.uniform(first, count) >= 1.0 - self.sampled)


def draw_for(n: int, width: int, holdout: float, seed: int) -> RowDraw:
    """Return the shares for n rows with this number of columns."""
    if n < FEWEST:
        raise InputError(f"{n} rows are too few for a cluster, which takes at least {FEWEST}; leave --scheduler out.")
    held_out = min(holdout, MOST_HELD_OUT / n)
    calibrating = min(CALIBRATES * (1.0 - held_out), MOST_CALIBRATING / n)
    if (1.0 - held_out - calibrating) * n < max(FEWEST // 10, n // 10):
        raise InputError(f"--holdout {holdout:g} leaves too few rows to learn from; hold out less.")
    return RowDraw(seed, held_out, calibrating, min(1.0, min(MOST_SAMPLED, SAMPLED_BYTES // (8 * width)) / n))


class RowRoles:
    """Role of each row of all parts, by its number in the file: held out, calibrating, fitted, or excluded."""

    def __init__(self, draw: RowDraw, lengths: Sequence[int], left_out: Sequence[NDArray[np.uint8] | None]) -> None:
        self._draw, self._lengths, self._left_out = draw, lengths, left_out  # bits of excluded rows, None for none
        self.starts = np.cumsum([0, *lengths])[:-1].tolist()

    def rows(self, role: int | None, sampled: bool = False) -> Indices:
        """Return the numbers of the rows with a role, or with any role; `sampled`: those in the sample only."""
        return np.concatenate([self._rows_of(part, role, sampled) for part in range(len(self._lengths))])

    def lengths(self, role: int | None) -> tuple[int, ...]:
        """Return the number of rows with a role in each part."""
        return tuple(len(self._rows_of(part, role, False)) for part in range(len(self._lengths)))

    def numbers(self, role: int | None, index: Indices) -> Indices:  # (m,) -> (m,)
        """Return the numbers in the file of rows given by their positions among those with a role."""
        ends = np.cumsum(self.lengths(role))
        parts = np.searchsorted(ends, index, side="right")
        found = np.empty(len(index), dtype=np.intp)
        for part in np.unique(parts).tolist():
            mine = parts == part
            rows = self._rows_of(part, role, False)
            found[mine] = rows[index[mine] - (ends[part] - len(rows))]
        return found

    def _rows_of(self, part: int, role: int | None, sampled: bool) -> Indices:
        first, count, out = self.starts[part], self._lengths[part], self._left_out[part]
        wanted = np.ones(count, dtype=bool) if role is None else self._draw.roles(first, count) == role
        if out is not None:
            wanted &= ~np.unpackbits(out, count=count).astype(bool)
        if sampled:
            wanted &= self._draw.in_sample(first, count)
        return np.flatnonzero(wanted) + first


def left_out(table: Table, target: str, names: Sequence[str], drop_missing: bool) -> NDArray[np.bool_]:  # -> (n,)
    """Return which rows are excluded: without a target, or with missing cells if `drop_missing`."""
    out = missing_cells(table[target].to_numpy())
    if drop_missing:
        out = out | np.any([missing_cells(table[name].to_numpy()) for name in names], axis=0)
    return np.asarray(out)


@dataclass(frozen=True)
class RunningMoments:
    """Count, mean, sum of squared deviations and range of some numbers."""

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0
    low: float = np.inf
    high: float = -np.inf

    def plus(self, other: RunningMoments) -> RunningMoments:
        """Return the moments of both parts."""
        n = self.count + other.count
        if not n:
            return self
        gap = other.mean - self.mean
        return RunningMoments(
            n,
            self.mean + gap * (other.count / n),
            self.squares + other.squares + gap**2 * (self.count * other.count / n),
            min(self.low, other.low),
            max(self.high, other.high),
        )

    @property
    def spread(self) -> float:
        """Standard deviation."""
        return float((self.squares / max(1, self.count)) ** 0.5)


def moments(values: Floats) -> RunningMoments:  # (n,)
    """Return the moments of some numbers."""
    if not len(values):
        return RunningMoments()
    mean = float(values.mean())
    return RunningMoments(len(values), mean, float(np.sum((values - mean) ** 2)), float(values.min()), float(values.max()))


@dataclass(frozen=True)
class ColumnFacts:
    """Facts of one column of some rows."""

    name: str
    kind: str  # empty if all cells are missing
    holes: int
    numbers: RunningMoments  # of the rows of the fit: numbers, or days
    times: bool  # dates with times of the day
    levels: Levels  # of text, in the rows of the fit
    counting: tuple[float, float] | None  # first and last number, if each is one more than the one before

    def plus(self, other: ColumnFacts) -> ColumnFacts:
        """Return the facts of both parts; raise if their kinds differ."""
        if self.kind and other.kind and self.kind != other.kind:
            raise InputError(
                f"the column {self.name!r} holds {_MANY[self.kind]} in some parts and {_MANY[other.kind]} in others; "
                f"correct its cells, or leave it out: --drop {self.name!r}"
            )
        runs = self.counting is not None and other.counting is not None and other.counting[0] == self.counting[1] + 1
        return ColumnFacts(
            self.name, self.kind or other.kind, self.holes + other.holes, self.numbers.plus(other.numbers),
            self.times or other.times, counted(self.levels, other.levels),
            (self.counting[0], other.counting[1]) if runs and self.counting and other.counting else None,
        )  # fmt: skip

    def note(self, rows: int) -> str:
        """Return why the column is left out; empty if it is used."""
        if not self.kind:
            return "all missing"
        if self.kind == CATEGORY:
            return "constant" if self.levels is not None and len(self.levels) == 1 and not self.holes else ""
        size = max(1.0, abs(self.numbers.low), abs(self.numbers.high))
        if self.numbers.high - self.numbers.low <= 1e-12 * size and not self.holes:
            return "constant"
        return "identifier" if self.counting is not None and self.kind == NUMBER and rows > 1 else ""

    def block(self) -> ColumnBlock:
        """Return how the column becomes columns of a matrix."""
        if self.kind == CATEGORY:
            assert self.levels is not None
            return ColumnBlock(self.name, CATEGORY, None, common_levels(self.levels), ())
        periods = periods_of(self.numbers.high - self.numbers.low, self.times) if self.kind == DATE else ()
        return ColumnBlock(self.name, self.kind, standard_scale(self.numbers.mean, self.numbers.spread), (), periods)


_MANY = {NUMBER: "numbers", CATEGORY: "text", DATE: "dates"}


@dataclass(frozen=True)
class TargetFacts:
    """Facts of the target of some rows that have one."""

    kind: str
    fitted: RunningMoments
    values: Levels  # all different values
    in_fit: Levels  # those of the rows of the fit

    def plus(self, other: TargetFacts) -> TargetFacts:
        """Return the facts of both parts."""
        if self.kind and other.kind and self.kind != other.kind:
            raise InputError("the target holds numbers in some parts and text in others; correct its cells.")
        return TargetFacts(
            self.kind or other.kind, self.fitted.plus(other.fitted), counted(self.values, other.values),
            counted(self.in_fit, other.in_fit),
        )  # fmt: skip


@dataclass(frozen=True)
class TableFacts:
    """Facts of some rows of a table: counts of rows and excluded rows, and the facts of the columns."""

    rows: int
    without_target: int
    with_holes: int  # left out for missing cells
    columns: tuple[ColumnFacts, ...]
    target: TargetFacts

    def plus(self, other: TableFacts) -> TableFacts:
        """Return the facts of both parts."""
        columns = tuple(one.plus(two) for one, two in zip(self.columns, other.columns, strict=True))
        return TableFacts(
            self.rows + other.rows, self.without_target + other.without_target, self.with_holes + other.with_holes, columns,
            self.target.plus(other.target),
        )  # fmt: skip

    def notes(self) -> tuple[ColumnNote, ...]:
        """Return the columns with the reason if one is left out."""
        return tuple(ColumnNote(c.name, c.kind or NUMBER, c.holes, c.note(self.kept)) for c in self.columns)

    @property
    def kept(self) -> int:
        """Number of rows with a role."""
        return self.rows - self.without_target - self.with_holes


def counted(one: Levels, two: Levels) -> Levels:
    """Return the counts of both parts; None if there are too many levels."""
    if one is None or two is None:
        return None
    both = Counter(one)
    both.update(two)
    return both if len(both) <= MOST_LEVELS else None


def part_facts(
    chunk: Chunk, first: int, draw: RowDraw, names: Sequence[str], target: str, drop_missing: bool
) -> tuple[TableFacts, NDArray[np.uint8] | None]:
    """Return the facts of one chunk, and the bits of its excluded rows; None if there are none."""
    table = chunk.X
    out = left_out(table, target, names, drop_missing)
    bits = np.packbits(out) if out.any() else None
    missing = int(left_out(table, target, names, False).sum())
    rows = np.flatnonzero(~out)
    fitted = (draw.roles(first, len(table)) == FITTED)[rows]
    some = table[rows]
    try:
        columns = read_columns(some[list(names)], unchecked=True) if len(rows) else []
    except InputError as error:
        raise InputError(f"{chunk.where} {error}") from None
    found = tuple(_column_facts(column, fitted) for column in columns) or tuple(_nothing(name) for name in names)
    goal = _target_facts(chunk.where, target, some[target].to_numpy(), fitted)
    return TableFacts(len(table), missing, int(out.sum()) - missing, found, goal), bits


def _nothing(name: str) -> ColumnFacts:
    return ColumnFacts(name, "", 0, RunningMoments(), False, {}, None)


def _column_facts(column: Column, fitted: NDArray[np.bool_]) -> ColumnFacts:
    facts = replace(_nothing(column.name), holes=int(column.holes.sum()))
    if column.holes.all():
        return facts
    if column.kind == GRAPH or (column.kind == TEXT and any(isinstance(cell, list) for cell in column.observed()[:20])):
        raise InputError(
            f"the column {column.name!r} holds lists or graphs, which --scheduler does not support; leave it out: --drop "
            f"{column.name!r}"
        )
    here = fitted & ~column.holes
    if column.kind in (CATEGORY, TEXT, ORDERED, MOLECULE):
        found = Counter(cell for cell, wanted in zip(column.cells, here, strict=True) if wanted)
        return replace(facts, kind=CATEGORY, levels=found if len(found) <= MOST_LEVELS else None)
    values = numbers_of(column)
    counting = None
    if not column.holes.any() and values[0] == np.floor(values[0]) and np.all(np.diff(values) == 1.0):
        counting = (float(values[0]), float(values[-1]))
    times = column.kind == DATE and bool(np.any(values[here] != np.floor(values[here])))
    return replace(facts, kind=column.kind, numbers=moments(values[here]), times=times, counting=counting)


def _target_facts(where: str, name: str, y: Array, fitted: NDArray[np.bool_]) -> TargetFacts:
    if y.dtype.kind == "M":
        raise InputError(f"the target {name!r} holds dates; predict a number instead, such as days since a date.")
    if not len(y):
        return TargetFacts("", RunningMoments(), {}, {})
    if y.dtype.kind == "f":
        if np.isinf(y).any():
            raise InputError(f"{where} the target {name!r} holds an infinite number; correct it, or leave the row out.")
        return TargetFacts(NUMBER, moments(y[fitted]), _few(y), _few(y[fitted]))
    return TargetFacts(CATEGORY, RunningMoments(), _few(y), _few(y[fitted]))


def _few(values: Array) -> Levels:
    if values.dtype.kind == "f":
        different, counts = np.unique(values, return_counts=True)
        found = dict(zip(different.tolist(), counts.tolist(), strict=True)) if len(different) <= MOST_LEVELS else None
        return found
    words = Counter(values.tolist())
    return words if len(words) <= MOST_LEVELS else None
