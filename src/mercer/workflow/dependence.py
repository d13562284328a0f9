"""Partial dependence: what a model predicts on average when one column is set to a value in every row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.inputs.frames import CATEGORY, DATE, NUMBER, ORDERED, Column

#: Values of a column, levels of a category at most, and rows that the mean is taken over.
VALUES, LEVELS, ROWS = 16, 8, 60


@dataclass(frozen=True)
class Curve:
    """The mean over rows at every value, and the middle 80 % of the rows; one output."""

    name: str
    kind: str
    values: tuple[Any, ...]  # numbers, days or levels
    mean: Floats  # (v,)
    low: Floats
    high: Floats


def dependence(columns: list[Column], name: str, predict: Callable[[list[Column]], Floats]) -> list[Curve]:
    """The curves of all outputs (n, t) over one column of some rows; none where its cells have no order and no levels."""
    place = next(i for i, column in enumerate(columns) if column.name == name)
    column = columns[place]
    values = _values(column)
    if len(values) < 2:
        return []
    n = len(column.holes)
    rows = _repeated(columns, len(values))
    cells: list[Any] = [value for value in values for _ in range(n)]
    rows[place] = replace(
        rows[place],
        cells=np.array(cells, dtype=np.float64) if column.kind == NUMBER else cells,
        holes=np.zeros(len(cells), dtype=bool),
    )
    found = predict(rows).reshape(len(values), n, -1)
    low, high = np.quantile(found, [0.1, 0.9], axis=1)
    mean = found.mean(axis=1)
    return [Curve(name, column.kind, values, mean[:, t], low[:, t], high[:, t]) for t in range(found.shape[2])]


def some_rows(columns: list[Column], rows: Indices) -> list[Column]:
    """The same columns with some rows only."""
    return [
        replace(
            column,
            cells=column.cells[rows] if isinstance(column.cells, np.ndarray) else [column.cells[i] for i in rows],
            holes=column.holes[rows],
        )
        for column in columns
    ]


def _repeated(columns: list[Column], times: int) -> list[Column]:
    return [
        replace(
            column,
            cells=np.tile(column.cells, times) if isinstance(column.cells, np.ndarray) else list(column.cells) * times,
            holes=np.tile(column.holes, times),
        )
        for column in columns
    ]


def _values(column: Column) -> tuple[Any, ...]:
    here = column.observed()
    if len(here) == 0:
        return ()
    if column.kind == NUMBER:
        return tuple(np.unique(np.quantile(here, np.linspace(0.02, 0.98, VALUES))).tolist())
    if column.kind == DATE:
        ordered = sorted(here)
        return tuple(dict.fromkeys(ordered[i] for i in np.linspace(0, len(ordered) - 1, VALUES).round().astype(int)))
    if column.kind in (CATEGORY, ORDERED):
        counts: dict[Any, int] = {}
        for cell in here:
            counts[cell] = counts.get(cell, 0) + 1
        common = sorted(counts, key=lambda cell: (-counts[cell], repr(cell)))[:LEVELS]
        return tuple(level for level in column.levels if level in common) if column.levels else tuple(common)
    return ()
