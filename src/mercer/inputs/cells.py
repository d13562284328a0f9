"""Single cells of a column: which are missing, what category or what day each of them is."""

from __future__ import annotations

import datetime
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Floats
from mercer.errors import InputError, describe

EPOCH = datetime.datetime(1970, 1, 1)
SECONDS = 86_400.0


def is_missing(cell: Any) -> bool:
    """None, NaN, NaT and the missing values of data frames."""
    if cell is None or type(cell).__name__ == "NAType":
        return True
    try:
        return bool(cell != cell)  # NaN and NaT equal nothing, not even themselves
    except (TypeError, ValueError):
        return False


def missing_cells(cells: Any) -> NDArray[np.bool_]:  # n cells -> (n,)
    """True where a cell is missing."""
    if isinstance(cells, np.ndarray) and cells.dtype.kind == "f":
        return np.isnan(cells).reshape(len(cells))
    return np.fromiter((is_missing(cell) for cell in cells), dtype=bool, count=len(cells))


def as_categories(cells: Sequence[Any], name: str) -> list[Hashable]:
    """Cells as plain hashable values, or an error that names the first that is missing or no single value."""
    found: list[Hashable] = []
    for row, cell in enumerate(cells):
        value = cell.item() if isinstance(cell, np.generic) else cell
        if is_missing(value):
            raise InputError(f"{name} has a missing cell at row {row}; say what a hole is: k.missing(sample).")
        if isinstance(value, (list, dict, set, np.ndarray)):
            raise InputError(
                f"{name} holds {describe(value)} at row {row}; a category is a word, a number or True or False."
            )
        found.append(value)
    return found


def as_days(cells: Sequence[Any], name: str) -> Floats:  # n cells -> (n, 1)
    """Dates and times as days since 1970-01-01; naive ones as they are, those with a zone in UTC."""
    days = [_day(cell, name, row) for row, cell in enumerate(cells)]
    return np.array(days, dtype=np.float64)[:, None]


def time_text(cell: Any) -> str:
    """A date or time for people: without seconds that are all 0, and without the time where it is midnight.

    >>> time_text(np.datetime64("2026-11-16T00:00:00.000000")), time_text(datetime.datetime(2026, 11, 16, 9, 30))
    ('2026-11-16', '2026-11-16T09:30')
    """
    text = str(cell).replace(" ", "T").removesuffix(".000000")
    text = text.removesuffix(":00") if text.count(":") == 2 else text
    return text.removesuffix("T00:00")


def _day(cell: Any, name: str, row: int) -> float:
    if is_missing(cell):
        raise InputError(f"{name} has a missing date at row {row}; say what a hole is: k.dates().missing(sample).")
    if isinstance(cell, str):
        try:
            cell = datetime.datetime.fromisoformat(cell)
        except ValueError:
            raise InputError(
                f"{name} holds {cell!r} at row {row}; dates are written in ISO form, 2026-11-16T09:30."
            ) from None
    if isinstance(cell, np.datetime64):
        return float(cell.astype("datetime64[us]").astype(np.int64)) / (1e6 * SECONDS)
    if isinstance(cell, datetime.datetime):
        if cell.tzinfo is not None:
            cell = cell.astimezone(datetime.UTC).replace(tzinfo=None)
        return (cell - EPOCH).total_seconds() / SECONDS
    if isinstance(cell, datetime.date):
        return float((cell - EPOCH.date()).days)
    if isinstance(cell, (int, float, np.number)) and not isinstance(cell, bool):
        return float(cell)  # days already
    raise InputError(f"{name} holds {describe(cell)} at row {row}; a date, a time or ISO text was expected.")
