"""Columns of answers as CSV or Parquet: harmless in a spreadsheet, the same digits on every machine."""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Array

#: What a formula begins with, for the spreadsheets that there are.
FORMULA = ("=", "+", "-", "@", "\t", "\r")

Columns = dict[str, Array]


def as_csv(ids: Columns, answers: Columns, known: NDArray[np.bool_]) -> str:
    """One line per row: ids (n rows), then the answers of the rows that are known, empty cells for the others."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([safe(name) for name in (*ids, *answers)])
    first = [[_cell(value) for value in values.tolist()] for values in ids.values()]
    found = zip(*[[_cell(value) for value in values.tolist()] for values in answers.values()], strict=True)
    for row, is_known in enumerate(known):
        writer.writerow([*(column[row] for column in first), *(next(found) if is_known else [""] * len(answers))])
    return stream.getvalue()


def as_parquet(ids: Columns, answers: Columns, known: NDArray[np.bool_]) -> bytes:
    """The same columns as a Parquet file."""
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
    """Ten digits: more than any prediction is good for, and the same on every machine."""
    if value is None or (isinstance(value, float) and value != value):
        return ""
    if isinstance(value, float):
        return f"{value:.10g}" if abs(value) < 1e15 else repr(value)
    return safe(value) if isinstance(value, str) else str(value)


def safe(text: str) -> str:
    """A text that a spreadsheet would run as a formula gets an apostrophe in front, which spreadsheets take for "text"."""
    return f"'{text}" if text.lstrip()[:1] in FORMULA and not _is_number(text) else text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
