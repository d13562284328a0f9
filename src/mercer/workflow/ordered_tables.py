"""Tables in the order of a column: change points and drift for the command line."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.changes import DriftMonitor, change_points
from mercer.changes.change_points import ChangePoints
from mercer.errors import InputError
from mercer.inputs.frames import DATE, NUMBER, Column, noted, read_columns
from mercer.inputs.reading import read_table, refuse_unknown
from mercer.inputs.tables import Table, missing_cells, time_text
from mercer.kernels.base import Kernel
from mercer.kernels.tables.frame import column_product
from mercer.persist import load_with_notes, save
from mercer.twosample.explanation import explain
from mercer.twosample.samples import pool

#: Columns named for one change, and relabelings of the test that chooses them.
NAMED, RELABELINGS = 3, 999


def in_order(table: Table, column: str, name: str, repeats: bool) -> tuple[Table, Array, list[str]]:
    """Return the other columns of a table sorted by one, the sorted values of that one, and notes.

    Without `repeats`, a value that occurs twice is an error, because its rows have no order.
    """
    refuse_unknown(name, table.columns, [column])
    cells = table[column].to_numpy()
    holes = missing_cells(cells)
    if holes.any():
        row = int(table.numbers[int(np.argmax(holes))]) + 1
        raise InputError(f"{name}: the column {column!r} has no value in row {row:,}; rows need one to be in order.")
    try:
        order = np.argsort(cells, kind="stable")
    except TypeError:
        raise InputError(f"{name}: the column {column!r} holds values of several types, which have no order.") from None
    notes = []
    if not (order[1:] > order[:-1]).all():
        notes.append(f"{name}: rows were sorted by {column!r}")
    values = cells[order]
    same = np.flatnonzero(values[1:] == values[:-1])
    if len(same) and not repeats:
        row = int(table.numbers[order[same[0] + 1]]) + 1
        raise InputError(
            f"{name}: the column {column!r} repeats the value {_text(values[same[0]])} (row {row:,}); keep one row per "
            "value, or order by another column."
        )
    rest = [other for other in table.columns if other != column]
    if not rest:
        raise InputError(f"{name}: there is no column beside {column!r}.")
    return table[rest][order], values, notes


def _text(value: Any) -> str:
    if isinstance(value, np.datetime64):
        return time_text(value)
    return f"{value:g}" if isinstance(value, (float, np.floating)) else repr(str(value))


def usable_rows(table: Table, name: str) -> tuple[Any, Kernel | None, list[str], list[str]]:
    """Return rows of the usable columns, the kernel for them (None for numbers), their names, and notes.

    Numbers become an array (n, d). Other columns keep a table, with a product kernel over columns.
    """
    columns = noted(read_columns(table, name))
    used = [column for column in columns if not column.note]
    notes = [f"{column.name!r} is not used: {column.note}" for column in columns if column.note]
    if not used:
        raise InputError(f"{name}: no usable column: {'; '.join(notes)}.")
    names = [column.name for column in used]
    notes += [
        f"{name}: the column {column.name!r} increases with every row, so later rows differ in it. If it is their time, "
        "name it with --order; otherwise leave it out."
        for column in used if _increases(column)
    ]  # fmt: skip
    if all(_is_number(column) for column in used):
        return np.column_stack([column.cells for column in used]).astype(np.float64), None, names, notes
    return table[names], column_product(used), names, notes


def _is_number(column: Column) -> bool:
    return column.kind == NUMBER and not column.holes.any()


def _increases(column: Column) -> bool:
    """Return whether the numbers or dates of a column increase from each row to the next."""
    if column.kind not in (NUMBER, DATE) or column.holes.any() or len(column.cells) < 3:
        return False
    return bool((column.cells[1:] > column.cells[:-1]).all())


@dataclass(frozen=True)
class TableChange:
    """One change: the first row after it by its place in the order and its value, and the columns that differ most."""

    row: int  # 1 for the first
    at: str
    pvalue: float
    columns: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class TableChanges:
    """Changes of a table in the order of a column."""

    found: ChangePoints
    rows: Any  # in order
    names: tuple[str, ...]
    values: Array  # of the order column
    changes: tuple[TableChange, ...]
    notes: tuple[str, ...]


def changes_of_table(table: Table, order: str, name: str, **options: Any) -> TableChanges:
    """Find the changes of a table in the order of a column; `options` are those of `change_points`."""
    rest, values, notes = in_order(table, order, name, repeats=False)
    rows, kernel, names, more = usable_rows(rest, name)
    found = change_points(rows, kernel, **options)
    bounds = [0, *found.places.tolist(), found.n]
    changes = []
    for number, (place, pvalue) in enumerate(zip(found.places.tolist(), found.pvalues.tolist(), strict=True)):
        before, after = slice(bounds[number], place), slice(place, bounds[number + 2])
        changes.append(TableChange(place + 1, _text(values[place]), pvalue, _moved(rows, before, after, found, names)))
    return TableChanges(found, rows, tuple(names), values, tuple(changes), tuple(notes + more))


def _moved(rows: Any, before: slice, after: slice, found: ChangePoints, names: list[str]) -> tuple[str, ...]:
    """Return the columns that differ most between two segments; none of segments with a single row."""
    if min(before.stop - before.start, after.stop - after.start) < 2:
        return ()
    pooled = pool(rows[after], rows[before])
    reasons = explain(pooled, found.kernel, RELABELINGS, np.random.default_rng(0)).significant(0.05)[:NAMED]
    return tuple(names[one.name] if isinstance(one.name, (int, np.integer)) else str(one.name) for one in reasons)


def monitor_of_table(table: Table, name: str, run_length: int, seed: int) -> tuple[DriftMonitor, list[str], list[str]]:
    """Return a monitor with a table as its reference, the columns it looks at, and notes."""
    rows, kernel, names, notes = usable_rows(table, name)
    return DriftMonitor(kernel, run_length, random_state=seed).fit(rows), names, notes


def rows_for(monitor: DriftMonitor, names: list[str], table: Table, name: str) -> Any:
    """Return the rows of a new table as the monitor reads them."""
    lacking = [column for column in names if column not in table.columns]
    if lacking:
        raise InputError(f"{name} has no column {lacking[0]!r}, which the reference has.")
    if not isinstance(monitor.reference_, np.ndarray):
        return table[names]
    cells = []
    for column in read_columns(table[names], name):
        if column.kind != NUMBER or column.holes.any():
            what = "a missing cell" if column.holes.any() else f"{column.kind} cells"
            raise InputError(f"{name}: the column {column.name!r} has {what}; the reference has only numbers there.")
        cells.append(column.cells)
    return np.column_stack(cells).astype(np.float64)


def opened_monitor(source: str, order: str | None, run_length: int, seed: int) -> tuple[DriftMonitor, list[str], list[str]]:
    """Return the monitor of a file: saved before, or fitted to a table; its columns, and notes."""
    path = Path(source)
    if path.is_file() and zipfile.is_zipfile(path):
        model, kept = load_with_notes(source)
        if not isinstance(model, DriftMonitor) or "columns" not in kept:
            raise InputError(
                f"{source}: this file holds a {type(model).__name__}, not a monitor written by mercer watch --save. Give "
                "the table of its training rows instead."
            )
        return model, list(kept["columns"]), []
    table = read_table(source)
    notes: list[str] = []
    if order is not None:
        table, _, notes = in_order(table, order, source, repeats=True)
    monitor, names, more = monitor_of_table(table, source, run_length, seed)
    return monitor, names, notes + more


def save_monitor(monitor: DriftMonitor, names: list[str], path: Path) -> None:
    """Write a monitor with its state and the names of its columns."""
    save(monitor, path, notes={"columns": names})
