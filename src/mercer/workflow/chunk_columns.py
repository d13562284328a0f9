"""What the columns of a table in chunks are: facts of every chunk, and of all of them in the order of the chunks.

Means and variances of two parts make those of both (Chan, Golub and LeVeque 1979), so that one pass standardizes; levels of
categories are counted while they are few. Numbers are taken from the rows of the fit alone, kinds and holes from all rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Array, Floats
from mercer.errors import InputError
from mercer.estimators.tables.encoding import Block, common_levels, numbers_of, periods_of, standard_scale
from mercer.inputs.chunks import Chunk
from mercer.inputs.frames import CATEGORY, DATE, GRAPH, NUMBER, ORDERED, TEXT, Column, read_columns
from mercer.workflow.chunk_parts import left_out
from mercer.workflow.chunk_split import FITTED, Draw

#: Different words of a column, or classes of a target, at most: all of them are counted.
MOST_LEVELS = 1000

Levels = Mapping[Any, int] | None  # how many rows have each; None where there are more than MOST_LEVELS


@dataclass(frozen=True)
class Moments:
    """Number, mean, sum of squared deviations and range of some numbers."""

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0
    low: float = np.inf
    high: float = -np.inf

    def plus(self, other: Moments) -> Moments:
        """Those of both parts."""
        n = self.count + other.count
        if not n:
            return self
        gap = other.mean - self.mean
        return Moments(
            n,
            self.mean + gap * (other.count / n),
            self.squares + other.squares + gap**2 * (self.count * other.count / n),
            min(self.low, other.low),
            max(self.high, other.high),
        )

    @property
    def spread(self) -> float:
        """The standard deviation."""
        return float((self.squares / max(1, self.count)) ** 0.5)


def moments(values: Floats) -> Moments:  # (n,)
    """The moments of some numbers."""
    if not len(values):
        return Moments()
    mean = float(values.mean())
    return Moments(len(values), mean, float(np.sum((values - mean) ** 2)), float(values.min()), float(values.max()))


@dataclass(frozen=True)
class ColumnFacts:
    """One column of some rows."""

    name: str
    kind: str  # empty where all cells are missing
    holes: int
    numbers: Moments  # of the rows of the fit: numbers, or days
    times: bool  # dates with times of the day
    levels: Levels  # of words, in the rows of the fit
    counting: tuple[float, float] | None  # the first and the last number, where each is one more than that before

    def plus(self, other: ColumnFacts) -> ColumnFacts:
        """The facts of both parts; words and numbers are of two kinds."""
        if self.kind and other.kind and self.kind != other.kind:
            raise InputError(
                f"the column {self.name!r} holds {_MANY[self.kind]} in some parts and {_MANY[other.kind]} in others, so "
                f"that no worker can tell what it is; correct its cells, or leave it out: --drop {self.name!r}"
            )
        runs = self.counting is not None and other.counting is not None and other.counting[0] == self.counting[1] + 1
        return ColumnFacts(
            self.name, self.kind or other.kind, self.holes + other.holes, self.numbers.plus(other.numbers),
            self.times or other.times, counted(self.levels, other.levels),
            (self.counting[0], other.counting[1]) if runs and self.counting and other.counting else None,
        )  # fmt: skip

    def note(self, rows: int) -> str:
        """Why the column says nothing; empty where it may say something."""
        if not self.kind:
            return "all missing"
        if self.kind == CATEGORY:
            return "constant" if self.levels is not None and len(self.levels) == 1 and not self.holes else ""
        size = max(1.0, abs(self.numbers.low), abs(self.numbers.high))
        if self.numbers.high - self.numbers.low <= 1e-12 * size and not self.holes:
            return "constant"
        return "identifier" if self.counting is not None and self.kind == NUMBER and rows > 1 else ""

    def block(self) -> Block:
        """How the column becomes columns of a matrix."""
        if self.kind == CATEGORY:
            assert self.levels is not None
            return Block(self.name, CATEGORY, None, common_levels(self.levels), ())
        periods = periods_of(self.numbers.high - self.numbers.low, self.times) if self.kind == DATE else ()
        return Block(self.name, self.kind, standard_scale(self.numbers.mean, self.numbers.spread), (), periods)


_MANY = {NUMBER: "numbers", CATEGORY: "words", DATE: "dates"}


@dataclass(frozen=True)
class TargetFacts:
    """The target of some rows that have one."""

    kind: str
    fitted: Moments
    values: Levels  # all different values
    in_fit: Levels  # those of the rows of the fit

    def plus(self, other: TargetFacts) -> TargetFacts:
        """The facts of both parts."""
        if self.kind and other.kind and self.kind != other.kind:
            raise InputError("the target holds numbers in some parts and words in others; correct its cells.")
        return TargetFacts(
            self.kind or other.kind, self.fitted.plus(other.fitted), counted(self.values, other.values),
            counted(self.in_fit, other.in_fit),
        )  # fmt: skip


@dataclass(frozen=True)
class TableFacts:
    """Some rows of a table: how many, which of them were left out, and what their columns are."""

    rows: int
    without_target: int
    with_holes: int  # left out for missing cells
    columns: tuple[ColumnFacts, ...]
    target: TargetFacts

    def plus(self, other: TableFacts) -> TableFacts:
        """The facts of both parts."""
        columns = tuple(one.plus(two) for one, two in zip(self.columns, other.columns, strict=True))
        return TableFacts(
            self.rows + other.rows, self.without_target + other.without_target, self.with_holes + other.with_holes, columns,
            self.target.plus(other.target),
        )  # fmt: skip

    @property
    def kept(self) -> int:
        """Rows that teach something."""
        return self.rows - self.without_target - self.with_holes


def counted(one: Levels, two: Levels) -> Levels:
    """Counts of both parts, while they are few."""
    if one is None or two is None:
        return None
    both = Counter(one)
    both.update(two)
    return both if len(both) <= MOST_LEVELS else None


def part_facts(
    chunk: Chunk, first: int, draw: Draw, names: Sequence[str], target: str, drop_missing: bool
) -> tuple[TableFacts, NDArray[np.uint8] | None]:
    """The facts of one chunk, and the bits of the rows that are left out; None where none is."""
    table = chunk.X
    out = left_out(table, target, names, drop_missing)
    bits = np.packbits(out) if out.any() else None
    missing = int(left_out(table, target, names, False).sum())
    rows = np.flatnonzero(~out)
    fitted = (draw.roles(first, len(table)) == FITTED)[rows]
    some = table[rows]
    try:
        columns = read_columns(some[list(names)]) if len(rows) else []
    except InputError as error:
        raise InputError(f"{chunk.where} {error}") from None
    found = tuple(_column_facts(column, fitted) for column in columns) or tuple(_nothing(name) for name in names)
    goal = _target_facts(chunk.where, target, some[target].to_numpy(), fitted)
    return TableFacts(len(table), missing, int(out.sum()) - missing, found, goal), bits


def _nothing(name: str) -> ColumnFacts:
    return ColumnFacts(name, "", 0, Moments(), False, {}, None)


def _column_facts(column: Column, fitted: NDArray[np.bool_]) -> ColumnFacts:
    facts = replace(_nothing(column.name), holes=int(column.holes.sum()))
    if column.holes.all():
        return facts
    if column.kind == GRAPH or (column.kind == TEXT and any(isinstance(cell, list) for cell in column.observed()[:20])):
        raise InputError(
            f"the column {column.name!r} holds lists or graphs, which are not taken with --scheduler; leave it out: --drop "
            f"{column.name!r}"
        )
    here = fitted & ~column.holes
    if column.kind in (CATEGORY, TEXT, ORDERED):
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
        return TargetFacts("", Moments(), {}, {})
    if y.dtype.kind == "f":
        if np.isinf(y).any():
            raise InputError(f"{where} the target {name!r} holds an infinite number; correct it, or leave the row out.")
        return TargetFacts(NUMBER, moments(y[fitted]), _few(y), _few(y[fitted]))
    return TargetFacts(CATEGORY, Moments(), _few(y), _few(y[fitted]))


def _few(values: Array) -> Levels:
    if values.dtype.kind == "f":
        different, counts = np.unique(values, return_counts=True)
        found = dict(zip(different.tolist(), counts.tolist(), strict=True)) if len(different) <= MOST_LEVELS else None
        return found
    words = Counter(values.tolist())
    return words if len(words) <= MOST_LEVELS else None
