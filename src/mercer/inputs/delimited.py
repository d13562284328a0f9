"""Delimited text: the header line, cells that are numbers, dates or words, and messages that name line and column.

This reader works cell by cell. It gives exact messages and reads heads of files. Large files are read by DuckDB by the same
rules (`mercer.inputs.duck`), and tests compare the two.
"""

from __future__ import annotations

import csv
import datetime
import gzip
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from mercer.arrays import Array
from mercer.errors import InputError

#: Texts that mean a missing cell, in columns of any kind.
MISSING = frozenset({"", "NA", "N/A", "NaN", "nan", "null", "NULL", "None"})

DELIMITERS = ",;\t|"

#: ISO dates and times. No other format is a date, because 01/02/2026 is ambiguous.
ISO_DATE = r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:?\d{2})?)?"

#: A number with a decimal comma.
DECIMAL_COMMA = r"[+-]?\d*,\d+([eE][+-]?\d+)?"

_ISO, _COMMA = re.compile(ISO_DATE), re.compile(rf"{DECIMAL_COMMA}|[+-]?\d+")


@dataclass(frozen=True)
class Header:
    """The first line of a file."""

    delimiter: str
    names: tuple[str, ...]


def read_header(path: Path, name: str, delimiter: str | None = None) -> Header:
    """Return the names of the columns and the delimiter."""
    with text_of(path, name) as file:
        first = file.readline(1_000_000)
        if not first.strip():
            raise InputError(f"{name}: the file is empty; its first line must name the columns.")
        found = delimiter or max(DELIMITERS, key=lambda d: len(next(csv.reader([first], delimiter=d))))
        file.seek(0)
        return Header(found, tuple(checked_names(name, _first_row(name, file, found))))


def _first_row(name: str, file: IO[str], delimiter: str) -> list[str]:
    try:
        return next(csv.reader(file, delimiter=delimiter, strict=True))
    except (csv.Error, StopIteration) as error:
        raise InputError(f"{name}, line 1: not readable as CSV ({error}); check the quotes.") from None


@contextmanager
def text_of(path: Path, name: str) -> Iterator[IO[str]]:
    """Return a file as text, decompressed if it is gzip; errors name the file."""
    try:
        with path.open("rb") as raw:
            packed = raw.read(2) == b"\x1f\x8b"
        opener: Any = gzip.open if packed else open
        with opener(path, "rt", encoding="utf-8-sig", newline="") as file:
            yield file
    except UnicodeDecodeError as error:
        raise not_utf8(name, f"byte {error.object[error.start]:#04x}") from None
    except (EOFError, gzip.BadGzipFile):
        raise InputError(f"{name}: the compressed file is cut off or damaged; copy it again.") from None
    except PermissionError:
        raise InputError(f"{name}: no permission to read this file; ask its owner, or copy it.") from None


def not_utf8(name: str, what: str) -> InputError:
    """Return the error for a file that is not UTF-8."""
    return InputError(
        f"{name}: not UTF-8 text ({what}); save the file as UTF-8, e.g. iconv -f latin1 -t utf-8 OLD.csv > NEW.csv"
    )


def checked_names(name: str, header: Iterable[str]) -> list[str]:
    """Return the names of the columns; raise if the first line holds numbers or a name occurs twice."""
    cells = list(header)
    names = [cell.strip() or f"column {i}" for i, cell in enumerate(cells)]
    if all(is_number(cell) for cell in cells):
        raise InputError(f"{name}: the first line holds numbers; it must name the columns: add a line such as x0,x1,x2.")
    twice = next((label for label, times in Counter(names).items() if times > 1), None)
    if twice is not None:
        raise InputError(f"{name}: two columns are called {twice!r}; give each its own name.")
    return names


def read_text(path: Path, name: str, header: Header, head: int | None = None) -> dict[str, Array]:
    """Return the typed columns of a file, or of its first `head` rows."""
    return {label: typed(cells) for label, cells in read_cells(path, name, header, head).items()}


def read_cells(path: Path, name: str, header: Header, head: int | None = None) -> dict[str, list[str]]:
    """Return the cells of every column as text; raise if a row has another number of cells than the header."""
    rows: list[list[str]] = []
    with text_of(path, name) as file:
        lines = csv.reader(file, delimiter=header.delimiter, strict=True)
        try:
            next(lines)
            for row in lines:
                if row:
                    rows.append(_of_width(name, row, len(header.names), lines.line_num))
                if len(rows) == head:
                    break
        except csv.Error as error:
            raise InputError(f"{name}, line {lines.line_num}: not readable as CSV ({error}); check the quotes.") from None
    if not rows:
        raise InputError(f"{name}: there is a line of column names but no rows below it.")
    return {label: list(column) for label, column in zip(header.names, zip(*rows, strict=True), strict=True)}


def count_lines(path: Path) -> int | None:
    """Return the number of rows by counting line ends; None if quotes, blank lines or compression make this wrong."""
    lines, last = 0, b"\n"
    with path.open("rb") as file:
        if file.read(2) == b"\x1f\x8b":
            return None
        file.seek(0)
        while block := file.read(1 << 24):
            if b'"' in block or b"\n\n" in block or b"\r" in block or (last == b"\n" == block[:1]):
                return None
            lines += block.count(b"\n")
            last = block[-1:]
    return lines - (last == b"\n")  # minus the header, plus a last line without a line end


def _of_width(name: str, row: list[str], width: int, line: int) -> list[str]:
    if len(row) != width:
        raise InputError(
            f"{name}, line {line}: {len(row)} cells, but the first line names {width} columns; "
            "a cell that holds the delimiter needs quotes."
        )
    return row


def typed(cells: list[str]) -> Array:
    """Return cells as numbers (float64), times (datetime64) or text (objects); missing cells are NaN, NaT or None."""
    holes = [cell.strip() in MISSING for cell in cells]
    try:
        return np.array([np.nan if hole else float(cell) for cell, hole in zip(cells, holes, strict=True)])
    except ValueError:
        pass
    if all(hole or _ISO.fullmatch(cell.strip()) for cell, hole in zip(cells, holes, strict=True)):
        try:
            return as_times([None if hole else cell for cell, hole in zip(cells, holes, strict=True)])
        except ValueError:
            pass  # 2026-02-31 does not exist: the column is text
    out = np.empty(len(cells), dtype=object)
    out[:] = [None if hole else cell for cell, hole in zip(cells, holes, strict=True)]
    return out


def as_times(cells: Iterable[str | None]) -> Array:
    """Return ISO texts as datetime64; times with a zone are converted to UTC."""
    found = [None if cell is None else datetime.datetime.fromisoformat(cell.strip()) for cell in cells]
    plain = [t.astimezone(datetime.UTC).replace(tzinfo=None) if t is not None and t.tzinfo else t for t in found]
    return np.array(plain, dtype="datetime64[us]")


def is_number(cell: str) -> bool:
    """Whether a text is a number."""
    try:
        float(cell)
    except ValueError:
        return False
    return True


def has_decimal_commas(cells: Iterable[Any]) -> bool:
    """Whether texts are numbers with decimal commas."""
    words = [str(cell).strip() for cell in cells if cell is not None]
    return any("," in word for word in words) and all(_COMMA.fullmatch(word) for word in words)
