"""A table as a question: which columns are given, which one is asked for, and whether it is a number or a class."""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Array, Indices
from mercer.errors import InputError
from mercer.inputs.reading import SHOWN, delimiter_hint, refuse_unknown
from mercer.inputs.tables import Table, missing_cells

REGRESSION, CLASSIFICATION = "regression", "classification"

#: A target of whole numbers with at most this many different ones is taken for classes.
FEW = 10

#: Fewer rows than this leave nothing to hold out.
MIN_ROWS = 10


@dataclass(frozen=True)
class Question:
    """Columns of a table and the target, (n,), that they are to predict."""

    data: str  # what the table is called
    X: Table
    target: str
    y: Array  # float64, or labels: whole numbers or text
    task: str  # REGRESSION or CLASSIFICATION
    reason: str  # how the task was found
    id: str | None  # the column that names the rows, not learned from
    ids: Array | None  # (n,) its cells
    notes: tuple[str, ...]  # rows and columns that were left out, and why

    @property
    def names(self) -> tuple[str, ...]:
        """The columns to learn from."""
        return tuple(self.X.columns)


def ask(
    name: str, table: Table, target: str, *, drop: Sequence[str] = (), id: str | None = None, task: str = "auto",
    drop_missing: bool = False,
) -> Question:  # fmt: skip
    """The question that a table and a target make, checked."""
    names = learned_from(name, table.columns, target, drop, id)
    y = table[target].to_numpy()
    rows, notes = _rows(name, table, target, names, y, drop_missing)
    if drop:
        notes.append(f"left out as asked: {listed(list(drop))}")
    _refuse_infinite(name, table, names, rows)
    ids = None if id is None else table[id].to_numpy()[rows]
    _refuse_dates(target, y)
    found, reason = decide(target, set(y[rows].tolist()), len(rows), task)
    y = class_labels(y[rows]) if found == CLASSIFICATION else y[rows]
    return Question(name, table[names][rows], target, y, found, reason, id, ids, tuple(notes))


def learned_from(name: str, columns: Sequence[str], target: str, drop: Sequence[str], id: str | None) -> list[str]:
    """The columns that a target is predicted from, of those that a table has."""
    refuse_unknown(name, columns, [target, *drop, *([id] if id else [])])
    for other, word in ((drop, "dropped"), ([id], "the id")):
        if target in other:
            raise InputError(f"{target!r} is both the target and {word}; take it from one of the two.")
    names = [column for column in columns if column not in {target, id, *drop}]
    if not names:
        raise InputError(f"{name}: no column is left to predict {target!r} from.{delimiter_hint(columns)}")
    return names


def dropped(columns: Sequence[str], texts: Sequence[str] | None) -> list[str]:
    """Column names from --drop a,b --drop c; a name that holds a comma is taken whole."""
    names = []
    for text in texts or []:
        names += [text] if text in columns else [part.strip() for part in text.split(",") if part.strip()]
    return names


def _rows(name: str, table: Table, target: str, names: list[str], y: Array, drop_missing: bool) -> tuple[Indices, list[str]]:
    """The rows that can teach, and what was left out."""
    here = ~holes(y)
    notes = []
    if not here.all():
        notes.append(f"{int((~here).sum())} of {len(y)} rows have no {target!r} and were left out: nothing to learn from")
    if drop_missing:
        whole = here & ~np.any([holes(table[column].to_numpy()) for column in names], axis=0)
        if whole.sum() < here.sum():
            notes.append(f"{int(here.sum() - whole.sum())} rows with missing cells were left out, as asked")
        here = whole
    if here.sum() < MIN_ROWS:
        what = "" if here.all() else f" with a value of {target!r}" if not drop_missing else " without missing cells"
        raise InputError(
            f"{name}: {int(here.sum())} row{'s' if here.sum() != 1 else ''}{what}; at least {MIN_ROWS} are needed, so that "
            "some can be held out."
        )
    return np.flatnonzero(here), notes


def _refuse_infinite(name: str, table: Table, names: list[str], rows: Indices) -> None:
    """Here and not in the fit, which sees some of the rows and cannot say which row of the file it is."""
    for column in names:
        values = table[column].to_numpy()[rows]
        if values.dtype.kind == "f" and np.isinf(values).any():
            row = int(table.numbers[rows[np.argmax(np.isinf(values))]]) + 1
            raise InputError(
                f"{name}: the column {column!r} has an infinite value (row {row:,}); correct it, empty the cell, or leave "
                "the row out with --sql."
            )


def holes(values: Array) -> NDArray[np.bool_]:  # (n,) -> (n,)
    """Which cells of a column are missing."""
    return np.isnat(values) if values.dtype.kind == "M" else missing_cells(values)


def class_labels(y: Array) -> Array:
    """The names of classes as they stand in the file: 0 and 1, not 0.0 and 1.0."""
    if y.dtype.kind != "f":
        return y.astype(str)
    return y.astype(np.int64) if (y == np.floor(y)).all() else np.array([f"{value:g}" for value in y])


def _refuse_dates(target: str, y: Array) -> None:
    if y.dtype.kind == "M":
        raise InputError(
            f"the target {target!r} holds dates; predict a number instead, such as days: "
            f"--sql 'SELECT *, epoch({target})/86400 AS days FROM data'"
        )


def decide(target: str, values: Set[Any], n: int, asked: str) -> tuple[str, str]:
    """The task, and why: from the different values of a target of n rows, all numbers or all words."""
    words = any(not isinstance(value, float) for value in values)
    different = len(values)
    if different < 2:
        raise InputError(
            f"the target {target!r} has the same value in every row; there is nothing to learn. Choose another."
        )
    if asked == REGRESSION and words:
        raise InputError(f"the target {target!r} holds text, so it cannot be a regression; use --task classification.")
    if asked in (REGRESSION, CLASSIFICATION):
        found, reason = asked, "as asked"
    elif words:
        found, reason = CLASSIFICATION, f"the target holds text, {different} classes"
    elif different <= FEW and all(value == np.floor(value) for value in values):
        found, reason = CLASSIFICATION, f"the target has {different} different whole numbers; else say --task regression"
    else:
        found, reason = REGRESSION, f"the target has {different} different numbers"
    if found == REGRESSION and not all(map(math.isfinite, values)):
        raise InputError(f"the target {target!r} holds infinite numbers; correct them or leave these rows out with --sql.")
    if found == CLASSIFICATION and different > n // 2:
        raise InputError(
            f"the target {target!r} has {different} different values in {n} rows: too many for classes. "
            + ("Choose another column." if words else "Use --task regression.")
        )
    return found, reason


def listed(names: Sequence[str]) -> str:
    """Names in one message."""
    return ", ".join(repr(name) for name in names[:SHOWN]) + (
        f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    )
