"""A table as a question: which columns are given, which one is asked for, and whether it is a number or a class."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.errors import InputError
from mercer.inputs.tables import Table, read

#: A target of whole numbers with at most this many different ones is taken for classes.
FEW = 10

#: Fewer rows than this leave nothing to hold out.
MIN_ROWS = 10

#: A number as it is written where the comma is the decimal point.
DECIMAL_COMMA = re.compile(r"[+-]?\d*,?\d+([eE][+-]?\d+)?")

#: The square of a number must be a number.
LARGEST_VALUE = 1e150

#: Names shown in one message.
SHOWN = 12


@dataclass(frozen=True)
class Question:
    """Columns of numbers X, (n, d), and the target y, (n,), of a table."""

    names: tuple[str, ...]
    target: str
    X: NDArray[np.float64]
    y: NDArray[Any]
    task: str  # "regression" or "classification"
    reason: str  # how the task was found
    n_dropped: int  # rows left out because a value is missing


def read_table(path: Path) -> Table:
    """The table of a file, or the reason why it is none."""
    table = read(path)
    if not isinstance(table, Table):
        raise InputError(f"{path}: a table with named columns is needed: .csv, .tsv or .parquet.")
    return table


def describe_columns(table: Table) -> list[str]:
    """A line for every column: name, what is in it, examples."""
    width = max(len(name) for name in table.columns)
    lines = []
    for name in table.columns:
        values = table[name].to_numpy()
        missing = int(_missing(values).sum())
        examples = _examples(values[~_missing(values)][:200].tolist())
        kind = "numbers" if values.dtype.kind == "f" else "text"
        lines.append(f"{name:<{width}}  {kind:<7}  {examples}{f'  ({missing} missing)' if missing else ''}")
    return lines


def _examples(values: list[Any], width: int = 48) -> str:
    """The first different values, as many as fit."""
    shown = ""
    for value in dict.fromkeys(values):
        longer = f"{shown}, {_short(value)}" if shown else _short(value)
        if len(longer) > width:
            return f"{shown}, …"
        shown = longer
    return shown


def ask(path: Path, table: Table, target: str, *, drop: Sequence[str], task: str, drop_missing: bool) -> Question:
    """The question that a table and a target make, checked."""
    refuse_unknown(path, table, [target, *drop])
    if target in drop:
        raise InputError(f"{target!r} is both the target and dropped; take it from one of the two.")
    left_out = {target, *drop}
    names = tuple(name for name in table.columns if name not in left_out)
    if not names:
        raise InputError(f"{path}: no column is left to predict {target!r} from.{_delimiter_hint(table)}")
    _refuse_text(table, names)
    X = np.column_stack([table[name].to_numpy() for name in names])
    y = table[target].to_numpy()
    keep = _complete(path, names, X, target, y, drop_missing)
    _refuse_extremes(path, {**dict(zip(names, X.T, strict=True)), target: y})
    X, y = X[keep], y[keep]
    if len(y) < MIN_ROWS:
        raise InputError(
            f"{path}: {len(y)} row{'s' if len(y) != 1 else ''}{' without missing values' if not keep.all() else ''}; "
            f"at least {MIN_ROWS} are needed, so that some can be held out."
        )
    found, reason = _task(target, y, task)
    return Question(names, target, X, _classes(y) if found == "classification" else y, found, reason, int((~keep).sum()))


def _classes(y: NDArray[Any]) -> NDArray[Any]:
    """The names of classes as they stand in the file: 0 and 1, not 0.0 and 1.0."""
    if y.dtype.kind != "f":
        return y.astype(str)
    return y.astype(np.int64) if (y == np.floor(y)).all() else np.array([f"{value:g}" for value in y])


def matrix(path: Path, table: Table, names: Sequence[str]) -> NDArray[np.float64]:
    """Columns by name, whatever their order in the file; missing values are NaN."""
    here = set(table.columns)
    lacking = [name for name in names if name not in here]
    if lacking:
        raise InputError(
            f"{path}: the model needs {_count(lacking, 'column')} that the file does not have: {_listed(lacking)}."
            f"{_delimiter_hint(table)}"
        )
    _refuse_text(table, names, drop=False)
    return np.column_stack([table[name].to_numpy() for name in names])


def refuse_unknown(path: Path, table: Table, wanted: Sequence[str]) -> None:
    """Name the first column that is not there, and what was probably meant."""
    here = set(table.columns)
    for name in wanted:
        if name not in here:
            near = difflib.get_close_matches(name, table.columns, 1)
            hint = f" Did you mean {near[0]!r}?" if near else f" There are: {_listed(table.columns)}."
            raise InputError(f"{path}: there is no column {name!r}.{_delimiter_hint(table) or hint}")


def complete_rows(X: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which rows have a finite number in every column."""
    return np.asarray(np.isfinite(X).all(axis=1))


def _refuse_text(table: Table, names: Sequence[str], drop: bool = True) -> None:
    text = [name for name in names if table[name].to_numpy().dtype.kind != "f"]
    if not text:
        return
    if all(_decimal_comma(table[name].to_numpy()) for name in text):
        raise InputError(f"{_listed(text)}: decimal commas are read as text; write numbers with points, 1.5 and not 1,5.")
    verb, them = ("do", "them") if len(text) > 1 else ("does", "it")
    remedy = f"Leave {them} out: --drop {_quoted(','.join(text))}" if drop else "The model was fitted on numbers there."
    raise InputError(f"{_count(text, 'column')} {verb} not hold numbers: {_listed(text)}. {remedy}")


def _decimal_comma(values: NDArray[Any]) -> bool:
    cells = [str(value).strip() for value in values[:50]]
    return any("," in cell for cell in cells) and all(DECIMAL_COMMA.fullmatch(cell) for cell in cells if cell)


def _complete(
    path: Path, names: Sequence[str], X: NDArray[Any], target: str, y: NDArray[Any], drop_missing: bool
) -> NDArray[np.bool_]:
    """Rows without missing values; it is an error to have others and not to have said what to do."""
    holes = {name: int((~np.isfinite(X[:, j])).sum()) for j, name in enumerate(names)}
    holes[target] = int(_missing(y).sum())
    keep = complete_rows(X) & ~_missing(y)
    if not keep.all() and not drop_missing:
        counts = _listed([f"{name} {count}" for name, count in holes.items() if count], plain=True)
        raise InputError(
            f"{path}: {int((~keep).sum())} of {len(y)} rows have missing or infinite values ({counts}). "
            "Fill them in, leave the rows out with --drop-missing, or the columns with --drop."
        )
    return np.asarray(keep)


def _refuse_extremes(path: Path, columns: dict[str, NDArray[Any]]) -> None:
    for name, values in columns.items():
        if values.dtype.kind == "f" and (np.abs(values[np.isfinite(values)]) > LARGEST_VALUE).any():
            raise InputError(
                f"{path}: the column {name!r} holds numbers beyond {LARGEST_VALUE:g}; measure it in larger units."
            )


def _missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    if values.dtype.kind == "f":
        return ~np.isfinite(values)
    return np.array([value is None or str(value).strip() == "" for value in values.tolist()], dtype=bool)


def _task(target: str, y: NDArray[Any], asked: str) -> tuple[str, str]:
    different = len(np.unique(y.astype(str) if y.dtype.kind == "O" else y))
    if different < 2:
        raise InputError(f"the target {target!r} has the same value in every row; there is nothing to learn.")
    text = y.dtype.kind == "O"
    if asked == "regression" and text:
        raise InputError(f"the target {target!r} holds text, so it cannot be a regression; use --task classification.")
    if asked in ("regression", "classification"):
        found, reason = asked, "as asked"
    elif text:
        found, reason = "classification", f"the target holds text, {different} classes"
    elif different <= FEW and (y == np.floor(y)).all():
        found, reason = "classification", f"the target has {different} different whole numbers; else say --task regression"
    else:
        found, reason = "regression", f"the target has {different} different numbers"
    if found == "classification" and different > len(y) // 2:
        raise InputError(
            f"the target {target!r} has {different} different values in {len(y)} rows: too many for classes. "
            + ("Choose another column." if text else "Use --task regression.")
        )
    return found, reason


def _delimiter_hint(table: Table) -> str:
    if len(table.columns) > 1:
        return ""
    return f" The file has one column, {table.columns[0]!r}: is its delimiter a comma, semicolon, tab or bar?"


def _count(names: Sequence[str], noun: str) -> str:
    return f"{len(names)} {noun}{'s' if len(names) != 1 else ''}"


def _listed(names: Sequence[str], plain: bool = False) -> str:
    shown = list(names[:SHOWN]) if plain else [repr(name) for name in names[:SHOWN]]
    return ", ".join(shown) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")


def _quoted(text: str) -> str:
    import shlex

    return shlex.quote(text)


def _short(value: Any) -> str:
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 16 else text[:15] + "…"
