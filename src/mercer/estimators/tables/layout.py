"""Layout of the rows of a table: which rows a model is compared on, and which must stay apart from them.

Rows are exchangeable, or belong to groups that are never split, or have an order in time. Folds of rows in time are
consecutive blocks, each predicted from rows before it with a gap between them, because neighbors in time are near-copies.

If neither `order` nor `groups` is given, `find_order` inspects the table. If a date column increases with the row number, or
residuals of neighboring rows are more alike than those of rows in random order, later rows are held out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy import stats
from scipy.special import ndtri

from mercer.arrays import Floats, Indices
from mercer.errors import InputError
from mercer.estimators.tables import ridge
from mercer.estimators.tables.encoding import VECTORS, encoding_of, many_levels, numbers_of
from mercer.inputs import Rows
from mercer.inputs.frames import DATE, MOLECULE, NUMBER, ORDERED, Column, some_rows
from mercer.inputs.tables import time_text
from mercer.kernels.stationary import Laplacian
from mercer.registry import record
from mercer.selection.folds import group_folds, read_groups, time_blocks, time_places

#: Share of the rows before the first block, and rows between training rows and a block, as a share of all rows.
EARLIEST, GAP = 0.5, 0.01

#: Rows at most whose neighbors are compared, stretches that they come from, and rows at least.
NEIGHBORS, STRETCHES, FEWEST = 400, 4, 60

#: Correlation of neighbors at least, and its size in standard deviations of rows in random order.
ALIKE, DEVIATIONS = 0.1, 4.0

#: A date column: share of descents at most, different values at least, and its longest gap as a share of its span at most.
DESCENTS, DIFFERENT, LONGEST = 0.02, 20, 0.2

_TIME = re.compile(
    r"(^|[_\s.-])(date|datetime|time|timestamp|year|epoch)s?$|^(date|datetime|timestamp)([_\s.-]|$)", re.IGNORECASE
)

ROW_NUMBER = "the row number"


@record()
@dataclass(frozen=True)
class Latest:
    """The latest training row by one or several columns of time."""

    _stored: ClassVar[dict[str, str]] = {"columns": "each k: text", "values": "each k: float"}

    columns: tuple[str, ...]
    values: tuple[float, ...]  # numbers, or days since 1970-01-01
    text: str


@dataclass(frozen=True)
class Layout:
    """Places in time and groups of the rows of a table."""

    places: Indices | None = None  # (n,) how many rows are earlier
    groups: Indices | None = None  # (n,) numbered from 0
    order: tuple[str, ...] = ()  # columns of the time; empty for the row number
    reason: str = ""  # why the order was assumed, if it was not given

    def take(self, rows: Indices) -> Layout:
        """Return the layout of some rows."""
        places = None if self.places is None else time_places(self.places[rows])
        groups = None if self.groups is None else np.unique(self.groups[rows], return_inverse=True)[1].reshape(-1)
        return replace(self, places=places, groups=groups)

    def alike(self) -> Indices:  # -> (n,)
        """Return the group of every row; all rows in time are one."""
        if self.groups is not None:
            return self.groups
        assert self.places is not None
        return np.zeros(len(self.places), dtype=np.intp)

    def describe(self) -> str:
        """Return how rows were held out, as part of a sentence; empty for rows at random."""
        if self.places is not None:
            by = ", ".join(map(repr, self.order)) or ROW_NUMBER
            return f"blocks of later rows by {by}, each predicted from earlier rows"
        return "" if self.groups is None else "whole groups of rows"

    def folds(self, n_folds: int, rng: np.random.Generator, labels: Any = None) -> Indices:  # -> (n,)
        """Return the fold of every row; -1 for rows that are only trained on."""
        if self.places is not None:
            return time_blocks(self.places, n_folds, EARLIEST)
        assert self.groups is not None
        return group_folds(self.groups, min(n_folds, int(self.groups.max()) + 1), rng, labels)

    def judges(self, most: int, rng: np.random.Generator) -> Indices:
        """Return rows that judge a fit to all other rows: the last rows, or whole groups; none if there are no such rows."""
        if self.places is not None:
            ordered = np.sort(self.places)
            first = ordered[len(ordered) - min(most, len(ordered) // 5)]
            found = np.flatnonzero(self.places >= first)
            return found if len(found) <= 2 * most else found[:0]
        assert self.groups is not None
        sizes, count = np.bincount(self.groups), 0
        drawn: list[int] = []
        for group in rng.permutation(len(sizes)):
            if count + sizes[group] <= most and count < len(self.groups) // 5:
                drawn.append(int(group))
                count += sizes[group]
        return np.flatnonzero(np.isin(self.groups, drawn)) if len(drawn) > 1 else np.empty(0, dtype=np.intp)

    def near(self, rows: Indices) -> Indices:
        """Return the rows that must not teach about some last rows: those within the gap before them."""
        if self.places is None:
            return rows[:0]
        start = self.places[rows].min()
        return np.flatnonzero((self.places < start) & (self.places >= start - gap_of(len(self.places))))


def gap_of(n: int) -> int:
    """Return the number of rows between training rows and a block of time."""
    return max(1, int(np.ceil(GAP * n)))


def layout_of(columns: list[Column], order: Any, groups: Any, targets: Floats) -> Layout | None:
    """Return the layout that was asked for or found; None for rows in random order.

    `order` names a column or several; True is the order of the rows, None looks for an order, False does not. Groups with an
    order are placed by their latest row, so that no group is split.
    """
    n = len(targets)
    numbers = None if groups is None else read_groups(groups, n)
    if order is False:
        return None if numbers is None else Layout(groups=numbers)
    if order is None:
        return Layout(groups=numbers) if numbers is not None else find_order(columns, targets)
    names = () if order is True else order_names(columns, order)
    places = np.arange(n) if order is True else places_of(named_columns(columns, names))
    if numbers is not None:
        latest = np.zeros(int(numbers.max()) + 1, dtype=np.intp)
        np.maximum.at(latest, numbers, places)
        places = time_places(latest[numbers])
    if places.max() == 0:
        raise InputError(f"order={order!r}: the column has the same value in every row; leave order out.")
    return Layout(places, None, names)


def named_columns(columns: list[Column], names: Sequence[str]) -> list[Column]:
    """Return columns by name, in the order of the names."""
    by_name = {column.name: column for column in columns}
    return [by_name[name] for name in names]


def latest_rows(columns: list[Column], order: tuple[str, ...]) -> tuple[Latest, ...]:
    """Return the latest row by the columns of an order, and by every date column."""
    known = {column.name for column in columns}
    several = [order] if order and known.issuperset(order) else []
    several += [(column.name,) for column in columns if column.kind == DATE and (column.name,) not in several]
    found = []
    for names in several:
        own = named_columns(columns, names)
        values = np.column_stack([numbers_of(column) for column in own])
        values = values[~np.isnan(values).any(axis=1)]
        if len(values):
            last = max(map(tuple, values.tolist()))
            text = " ".join(_time_text(column, value) for column, value in zip(own, last, strict=True))
            found.append(Latest(names, last, text))
    return tuple(found)


def later_rows(columns: list[Column], latest: Latest) -> int:
    """Return how many rows of a new table are later than the latest training row."""
    if not {column.name for column in columns}.issuperset(latest.columns):
        return 0
    own = named_columns(columns, latest.columns)
    if any(column.kind not in (NUMBER, ORDERED, DATE) for column in own):
        return 0
    values = np.column_stack([numbers_of(column) for column in own])
    return sum(tuple(row) > latest.values for row in values.tolist() if row == row)


def _time_text(column: Column, value: float) -> str:
    if column.kind == ORDERED:
        return str(column.levels[int(value)])
    return (
        time_text(np.datetime64(0, "s") + np.timedelta64(round(value * 86400), "s")) if column.kind == DATE else f"{value:g}"
    )


def order_names(columns: list[Column], order: Any) -> tuple[str, ...]:
    """Return the names of the columns that a parameter `order` asks for: a name, a position, or several."""
    several = order if isinstance(order, Sequence) and not isinstance(order, str) else [order]
    names = [column.name for column in columns]
    found = [names[one] if isinstance(one, int) and -len(names) <= one < len(names) else one for one in several]
    unknown = [one for one in found if one not in names]
    if unknown or not found:
        what = f"there is no column {unknown[0]!r}" if unknown else "no column is named"
        raise InputError(f"order={order!r}: {what}; the columns are {', '.join(map(repr, names[:12]))}.")
    return tuple(found)


def places_of(columns: list[Column]) -> Indices:  # -> (n,)
    """Return how many rows are earlier, by the first column, ties by the next ones."""
    for column in columns:
        if column.kind not in (NUMBER, ORDERED, DATE):
            raise InputError(
                f"order: column {column.name!r} holds {column.kind} cells; rows are ordered by numbers, dates or ordered "
                "levels. Write dates as 2026-01-31."
            )
        if column.holes.any():
            raise InputError(
                f"order: column {column.name!r} has a missing cell at row {int(np.argmax(column.holes))}; fill it, or leave "
                "the row out."
            )
    ranks = np.column_stack([numbers_of(column) for column in columns])
    distinct, number = np.unique(ranks, axis=0, return_inverse=True)
    del distinct
    return time_places(number.reshape(-1))


def find_order(columns: list[Column], targets: Floats) -> Layout | None:  # (n, t)
    """Return the layout in time of a table that looks ordered, with the reason; None otherwise."""
    n = len(targets)
    if n < FEWEST:
        return None
    for column in columns:
        dated = column.kind == DATE or (column.kind == NUMBER and _TIME.search(column.name))
        if dated and not column.holes.any() and increases(numbers_of(column)):
            what = f"the column {column.name!r} increases with the row number"
            return Layout(places_of([column]), None, (column.name,), what)
    if any(column.kind == MOLECULE and not column.note for column in columns):
        return None  # similar molecules are listed together, and the ridge of neighbor_correlation does not see them
    correlation = None if sorted_by(targets) else neighbor_correlation(columns, targets)
    if correlation is None:
        return None
    what = f"neighboring rows have similar errors (correlation {correlation:.2f})"
    return Layout(np.arange(n), None, (), what)


def sorted_by(targets: Floats) -> bool:  # (n, t)
    """Return whether a file is sorted by its target: neighbors are then alike, and the last rows differ most."""
    if targets.shape[1] > 1:  # indicators of classes
        runs = 1 + int(np.any(np.diff(targets, axis=0) != 0.0, axis=1).sum())
        return runs <= 2 * targets.shape[1]
    steps = np.sign(np.diff(targets[:, 0]))
    return bool(max(np.mean(steps >= 0), np.mean(steps <= 0)) > 0.9)


def increases(values: Floats) -> bool:  # (n,)
    """Return whether values increase with few exceptions, and cover their span without a long gap."""
    distinct = np.unique(values)
    if len(distinct) < DIFFERENT or np.mean(np.diff(values) < 0) > DESCENTS or values[-1] <= values[0]:
        return False
    return bool(np.diff(distinct).max() <= LONGEST * np.ptp(distinct))


def neighbor_correlation(columns: list[Column], targets: Floats) -> float | None:  # (n, t)
    """Return the correlation of neighboring rows' residuals if it is beyond chance, otherwise None.

    Residuals are leave-one-out, of a ridge on the columns: a file that is sorted by a column has similar neighbors too, and
    rows at random judge a model of that column well. They are ranked, because a few large ones would decide otherwise.
    """
    n = len(targets)
    length = min(n, NEIGHBORS) // STRETCHES
    starts = np.linspace(0, n - length, STRETCHES).astype(np.intp)
    rows = np.arange(n) if n <= NEIGHBORS else (starts[:, None] + np.arange(length)).ravel()
    usable = [c for c in some_rows(columns, rows) if not c.note and c.kind in VECTORS and not c.holes.all()]
    Y = targets[rows]
    if usable and not all(many_levels(column) for column in usable):
        Z = Rows(encoding_of(usable, "quantile")({column.name: column for column in usable}))
        K = np.asarray(Laplacian("median").resolve(Z)(Z), dtype=np.float64)
        residuals = ridge.least_residuals(K, Y)
    else:
        residuals = Y - Y.mean(axis=0)
    scores = ndtri((np.column_stack([stats.rankdata(column) for column in residuals.T]) - 0.5) / len(rows))
    pairs = np.diff(rows) == 1
    total = float(np.sum(scores**2)) / len(rows)
    if not total > 0:
        return None
    correlation = float(np.sum(scores[:-1][pairs] * scores[1:][pairs])) / (total * int(pairs.sum()))
    beyond = correlation * np.sqrt(pairs.sum()) > DEVIATIONS
    return correlation if beyond and correlation > ALIKE else None
