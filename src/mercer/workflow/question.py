"""What `mercer fit` predicts: the target, the columns to predict it from, the task, and the options of `mercer fit`."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mercer.arrays import Array, Indices
from mercer.errors import InputError, plural
from mercer.estimators.tables.layout import Layout, layout_of
from mercer.inputs.frames import CATEGORY, DATE, MOLECULE, NUMBER, TEXT, Column, is_number, noted, read_columns
from mercer.inputs.molecules import fault, shown, unreadable
from mercer.inputs.reading import SHOWN, delimiter_hint, refuse_unknown
from mercer.inputs.tables import Table, missing_cells, time_text

REGRESSION, CLASSIFICATION = "regression", "classification"

#: A target of whole numbers with at most this many different values is treated as classes.
FEW = 10

#: Smallest number of rows of which some can be held out.
MIN_ROWS = 10


#: A column of words is nearly one of numbers if this share of its cells are numbers; cells that are looked at first.
NEARLY, LOOKED_AT = 0.9, 100


@dataclass(frozen=True)
class FitSettings:
    """Options of `mercer fit` that are passed to the model."""

    kernel: str | None = None  # its text; None: chosen by the table model
    time: float | None = None  # seconds
    memory: str | None = None
    seed: int = 0
    holdout: float = 0.2  # share of the rows
    coverage: float = 0.9


@dataclass(frozen=True)
class FileQuestion:
    """The question about a table in files that workers of a cluster read."""

    data: str  # a file, a folder or a glob that workers can read too
    target: str
    drop: Sequence[str] = ()
    id: str | None = None
    task: str = "auto"
    drop_missing: bool = False

    @property
    def name(self) -> str:
        """Name of the table in messages."""
        return Path(self.data).name


@dataclass(frozen=True)
class Question:
    """Columns of a table and the target, (n,), that they are to predict."""

    data: str  # name of the table
    X: Table
    target: str
    y: Array  # float64, or labels: whole numbers or text
    task: str  # REGRESSION or CLASSIFICATION
    reason: str  # why this task
    id: str | None  # the column that names the rows; not used as a predictor
    ids: Array | None  # (n,) its cells
    notes: tuple[str, ...]  # rows and columns that were left out, and why
    layout: Layout | None = None  # order and groups of the rows; None: rows in random order
    group: str | None = None  # the column of the groups; not used as a predictor
    groups: Array | None = None  # (n,) its cells

    @property
    def names(self) -> tuple[str, ...]:
        """Columns to learn from."""
        return tuple(self.X.columns)


def ask(
    name: str, table: Table, target: str, *, drop: Sequence[str] = (), id: str | None = None, task: str = "auto",
    drop_missing: bool = False, order: Sequence[str] | bool | None = None, group: str | None = None,
    kinds: Mapping[str, str] | None = None, skip_bad: bool = False,
) -> Question:  # fmt: skip
    """Return the checked question of a table and a target; `order` and `group` as in TableRegressor.

    `kinds` of columns that are decided: "text" or "molecule".
    """
    names = learned_from(name, table.columns, target, drop, id, group)
    refuse_unknown(name, table.columns, list(kinds or {}))
    y = table[target].to_numpy()
    rows, notes = _rows(name, table, target, names, y, drop_missing)
    _refuse_infinite(name, table, names, rows)
    table = table.with_kinds(kinds or {})
    rows, molecules = _with_molecules(name, table[names], rows, skip_bad, notes)
    table = table.with_kinds({**(kinds or {}), **molecules})
    notes += [note for column in names for note in nearly_numbers(str(column), table[column].to_numpy()[rows])]
    if drop:
        notes.append(f"left out by --drop: {listed(list(drop))}")
    ids = None if id is None else table[id].to_numpy()[rows]
    if ids is not None:
        notes += repeated_ids(str(id), ids)
    _refuse_dates(target, y)
    found, reason = decide(target, set(y[rows].tolist()), len(rows), task)
    y = class_labels(y[rows]) if found == CLASSIFICATION else y[rows]
    X, groups = table[names][rows], None if group is None else table[group].to_numpy()[rows]
    layout = _layout(name, X, y, found, order, groups)
    if layout is not None and layout.reason:
        notes.append(f"{layout.reason}, so the last rows are held out; --order none holds out rows at random")
    return Question(name, X, target, y, found, reason, id, ids, tuple(notes), layout, group, groups)


def nearly_numbers(column: str, cells: Array) -> list[str]:
    """Return a note if nearly all cells of a column of words are numbers: one wrong cell changes how it is read."""
    if cells.dtype.kind != "O":
        return []
    words = [cell for cell in cells.tolist() if isinstance(cell, str)]
    if not words or np.mean([is_number(cell) for cell in words[:LOOKED_AT]]) < NEARLY:
        return []
    odd = [cell for cell in words if not is_number(cell)]
    if not 0 < len(odd) <= (1.0 - NEARLY) * len(words):
        return []
    shown = ", ".join(repr(cell[:40]) for cell in list(dict.fromkeys(odd))[:3])
    return [
        f"the column {column!r} is read as words because {plural(len(odd), 'cell')} of {len(words):,} "
        f"{'is' if len(odd) == 1 else 'are'} no number: {shown}; correct or empty {'it' if len(odd) == 1 else 'them'}"
    ]


def repeated_ids(column: str, ids: Array) -> list[str]:
    """Return a note if the column that names the rows holds a value more than once."""
    written = [f"{value:.17g}" if isinstance(value, float) else str(value) for value in ids]
    values, counts = np.unique(written, return_counts=True)
    if (counts == 1).all():
        return []
    often = int(np.argmax(counts))
    rows = plural(int((counts[counts > 1] - 1).sum()), "row")
    repeat = "repeats" if rows.startswith("1 ") else "repeat"
    return [
        f"the column {column!r} does not name every row: {rows} {repeat} an earlier value, such as "
        f"{str(values[often])[:40]} ({counts[often]:,} rows); if rows with one value belong together, use --group "
        f"{shlex.quote(column)}"
    ]


def _layout(name: str, X: Table, y: Array, task: str, order: Any, groups: Array | None) -> Layout | None:
    targets = np.eye(len(np.unique(y)))[np.unique(y, return_inverse=True)[1]] if task == CLASSIFICATION else y[:, None]
    try:
        return layout_of(noted(read_columns(X)), order, groups, targets)
    except InputError as error:
        raise InputError(f"{name}: {error}") from None


def learned_from(
    name: str, columns: Sequence[str], target: str, drop: Sequence[str], id: str | None, group: str | None = None
) -> list[str]:
    """Return the columns of a table from which the target is predicted."""
    refuse_unknown(name, columns, [target, *drop, *[one for one in (id, group) if one]])
    for other, word in ((drop, "dropped"), ([id], "the id"), ([group], "the group")):
        if target in other:
            raise InputError(f"{target!r} is both the target and {word}; remove it from one of the two.")
    names = [column for column in columns if column not in {target, id, group, *drop}]
    if not names:
        raise InputError(f"{name}: no column is left to predict {target!r} from.{delimiter_hint(columns)}")
    return names


def dropped(columns: Sequence[str], texts: Sequence[str] | None) -> list[str]:
    """Return column names from --drop a,b --drop c; a column name that contains a comma is not split."""
    names = []
    for text in texts or []:
        names += [text] if text in columns else [part.strip() for part in text.split(",") if part.strip()]
    return names


def asked_order(columns: Sequence[str], text: str | None) -> Sequence[str] | bool | None:
    """Return the order that --order asks for: columns with commas between, "rows" for the order of the rows, or "none"."""
    if text is None or text in columns:
        return text if text is None else [text]
    if text in ("none", "rows"):
        return text == "rows"
    return [part.strip() for part in text.split(",") if part.strip()]


def _rows(name: str, table: Table, target: str, names: list[str], y: Array, drop_missing: bool) -> tuple[Indices, list[str]]:
    """Return rows with a known target, and notes on rows that were left out."""
    here = ~missing_cells(y)
    notes = []
    if not here.all():
        notes.append(f"{int((~here).sum())} of {len(y)} rows have no {target!r} and were left out")
    if drop_missing:
        whole = here & ~np.any([missing_cells(table[column].to_numpy()) for column in names], axis=0)
        if whole.sum() < here.sum():
            notes.append(f"{int(here.sum() - whole.sum())} rows with missing cells were left out by --drop-missing")
        here = whole
    if here.sum() < MIN_ROWS:
        what = "" if here.all() else f" with a value of {target!r}" if not drop_missing else " without missing cells"
        raise InputError(
            f"{name}: {int(here.sum())} row{'s' if here.sum() != 1 else ''}{what}; at least {MIN_ROWS} are needed, because "
            "some are held out."
        )
    return np.flatnonzero(here), notes


def _with_molecules(
    name: str, table: Table, rows: Indices, skip_bad: bool, notes: list[str]
) -> tuple[Indices, dict[str, str]]:
    """Return the rows whose molecules can be read, and the columns of molecules; raise at others, or leave them out."""
    here = table[rows]
    found = [column for column in read_columns(here, name, unchecked=True) if column.kind == MOLECULE]
    bad = np.zeros(len(rows), dtype=bool)
    for column in found:
        if column.name not in table.kinds:
            option = shlex.quote(column.name)
            notes.append(f"the column {column.name!r} is read as molecules (SMILES); --text {option} reads it as text")
        wrong = unreadable(column.cells)
        bad[wrong] = True
        if len(wrong) and not skip_bad:
            raise InputError(
                f"{name}: {_unreadable(column, here, wrong)}. Correct them, or leave the rows out with --skip-bad; "
                f"--text {shlex.quote(column.name)} reads the column as text."
            )
        if len(wrong):
            notes.append(f"left out by --skip-bad: {_unreadable(column, here, wrong)}")
    if bad.any() and len(rows) - bad.sum() < MIN_ROWS:
        raise InputError(f"{name}: --skip-bad leaves {len(rows) - int(bad.sum())} rows; at least {MIN_ROWS} are needed.")
    return rows[~bad], {column.name: MOLECULE for column in found}


def _unreadable(column: Column, table: Table, wrong: Indices) -> str:
    """Return which cells of a column are no molecules, with their rows in the file."""
    count = len(wrong)
    cells = [(int(table.numbers[i]) + 1, column.cells[i]) for i in wrong[:3].tolist()]
    listed_cells = ", ".join(f"row {row:,}: {shown(cell)} {fault(cell)}" for row, cell in cells)
    more = f" and {count - 3:,} more" if count > 3 else ""
    verb = "is" if count == 1 else "are"
    return f"{plural(count, 'cell')} of {column.name!r} {verb} not readable as molecules ({listed_cells}{more})"


def _refuse_infinite(name: str, table: Table, names: list[str], rows: Indices) -> None:
    """Raise if a column has an infinite value, with its row in the file; the fit would count only the rows it uses."""
    for column in names:
        values = table[column].to_numpy()[rows]
        if values.dtype.kind == "f" and np.isinf(values).any():
            row = int(table.numbers[rows[np.argmax(np.isinf(values))]]) + 1
            raise InputError(
                f"{name}: the column {column!r} has an infinite value (row {row:,}); correct it, empty the cell, or leave "
                "the row out with --sql."
            )


def class_labels(y: Array) -> Array:
    """Return class names as they are written in the file: 0 and 1, not 0.0 and 1.0."""
    if y.dtype.kind != "f":
        return y.astype(str)
    if (y == np.floor(y)).all() and (np.abs(y) <= 2.0**53).all():
        return y.astype(np.int64)
    return np.array([f"{value:.17g}" if abs(value) > 2.0**53 else f"{value:g}" for value in y])


def _refuse_dates(target: str, y: Array) -> None:
    if y.dtype.kind == "M":
        raise InputError(
            f"the target {target!r} holds dates; predict a number instead, such as days: "
            f"--sql 'SELECT *, epoch({target})/86400 AS days FROM data'"
        )


def decide(target: str, values: Set[Any], n: int, asked: str) -> tuple[str, str]:
    """Return the task and the reason, from the different values of a target of n rows, all numbers or all text."""
    words = any(not isinstance(value, float) for value in values)
    different = len(values)
    if different < 2:
        raise InputError(
            f"the target {target!r} has the same value in every row; there is nothing to learn. Choose another target."
        )
    if asked == REGRESSION and words:
        raise InputError(f"the target {target!r} holds text, so it cannot be a regression; use --task classification.")
    if asked in (REGRESSION, CLASSIFICATION):
        found, reason = asked, "set by --task"
    elif words:
        found, reason = CLASSIFICATION, f"the target holds text, {different} classes"
    elif different <= FEW and all(value == np.floor(value) for value in values):
        found, reason = (
            CLASSIFICATION,
            f"the target has {different} different whole numbers; for numbers use --task regression",
        )
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
    """Return names for a message."""
    return ", ".join(repr(name) for name in names[:SHOWN]) + (
        f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    )


_WORDS = {NUMBER: "numbers", CATEGORY: "categories", DATE: "dates", TEXT: "text", MOLECULE: "molecules"}


def describe_columns(table: Table) -> list[str]:
    """Return a line per column: name, kind, examples, missing cells, and whether a fit leaves it out."""
    columns = noted(read_columns(table, unchecked=True))
    width = min(40, max(len(column.name) for column in columns))
    return [_line(column, width) for column in columns]


#: Words in the names of columns that are often predicted.
_GOALS = {"y", "target", "label", "class", "outcome", "response", "result", "price", "score", "species", "diagnosis"}


def suggested_target(table: Table) -> str:
    """Return a column for an example: the last that can be a target and whose name says so, or the last that can be one."""
    columns = noted(read_columns(table, unchecked=True))
    able = [c.name for c in columns if not c.note and c.kind in (NUMBER, CATEGORY) and 2 * int(c.holes.sum()) <= len(table)]
    named = [name for name in able if _GOALS & set(re.findall(r"[a-z]+", name.lower()))]
    return (named or able or list(table.columns))[-1]


def _line(column: Column, width: int) -> str:
    missing = int(column.holes.sum())
    said = [f"{missing} missing"] if missing and column.note != "all missing" else []
    bad = len(unreadable(column.cells)) if column.kind == MOLECULE else 0
    said += [f"{bad} unreadable"] if bad else []
    said += [f"{column.note}: a fit leaves it out"] if column.note else []
    here = column.observed()
    examples = _examples(list(here[:: max(1, len(here) // 200)]), column.kind)  # 200 at least, from all rows
    return f"{column.name:<{width}}  {_WORDS.get(column.kind, column.kind):<10}  {examples:<48}  {'; '.join(said)}".rstrip()


def _examples(values: list[Any], kind: str, width: int = 48) -> str:
    """Return the first different values that fit into the width."""
    shown = ""
    for value in dict.fromkeys(_short(value, kind) for value in values):
        longer = f"{shown}, {value}" if shown else value
        if len(longer) > width - 3:
            return f"{shown}, …"
        shown = longer
    return shown


def _short(value: Any, kind: str) -> str:
    if kind == DATE:
        return time_text(value)[:16]
    text = f"{value:g}" if kind == NUMBER else " ".join(str(value).split())
    return text if len(text) <= 16 else text[:15] + "…"
