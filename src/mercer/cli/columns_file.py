"""Predictions as CSV or Parquet: safe in a spreadsheet, the same digits on every machine."""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Array

#: First characters of formulas in spreadsheets.
FORMULA = ("=", "+", "-", "@", "\t", "\r")

Columns = dict[str, Array]


def as_csv(ids: Columns, answers: Columns, known: NDArray[np.bool_]) -> str:
    """Return CSV with one line per row: the id, then the values of known rows, empty cells for the others."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([safe(name) for name in (*ids, *answers)])
    first = [[_cell(value) for value in values.tolist()] for values in ids.values()]
    found = zip(*[[_cell(value) for value in values.tolist()] for values in answers.values()], strict=True)
    for row, is_known in enumerate(known):
        writer.writerow([*(column[row] for column in first), *(next(found) if is_known else [""] * len(answers))])
    return stream.getvalue()


def as_parquet(ids: Columns, answers: Columns, known: NDArray[np.bool_]) -> bytes:
    """Return the same columns as a Parquet file."""
    import pyarrow as pa
    from pyarrow import parquet

    columns = {name: pa.array(values.tolist(), from_pandas=True) for name, values in ids.items()}
    for name, values in answers.items():
        placed = np.empty(len(known), dtype=object)
        placed[known] = values.tolist()
        columns[name] = pa.array(placed.tolist())
    stream = io.BytesIO()
    parquet.write_table(pa.table(columns), stream)
    return stream.getvalue()


def _cell(value: Any) -> str:
    """Return a number with ten digits, which are the same on every machine."""
    if value is None or (isinstance(value, float) and value != value):
        return ""
    if isinstance(value, float):
        return f"{value:.10g}" if abs(value) < 1e15 else repr(value)
    return safe(value) if isinstance(value, str) else str(value)


def safe(text: str) -> str:
    """Return a text with an apostrophe in front if a spreadsheet would run it as a formula."""
    return f"'{text}" if text.lstrip()[:1] in FORMULA and not _is_number(text) else text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
