"""Delimited text: the header line, cells that are numbers, dates or words, and messages that name line and column.

This reader works cell by cell and gives exact messages. Large files are read by DuckDB by the same
rules (`mercer.inputs.duck`), and tests compare the two.
"""

from __future__ import annotations

import csv
import datetime
import gzip
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from mercer.arrays import Array
from mercer.errors import InputError

#: Texts that mean a missing cell, in columns of any kind.
MISSING = frozenset({"", "NA", "N/A", "NaN", "nan", "null", "NULL", "None"})

DELIMITERS = ",;\t|"

_YEAR, _CLOCK = r"(000[1-9]|00[1-9]\d|0[1-9]\d\d|[1-9]\d{3})", r"([01]\d|2[0-3]):?[0-5]\d"

#: ISO dates and times of the years 1 to 9999. No other format is a date, because 01/02/2026 is ambiguous.
ISO_DATE = rf"{_YEAR}-\d{{2}}-\d{{2}}([T ]{_CLOCK.replace('?', '')}(:[0-5]\d(\.\d{{1,6}})?)?(Z|[+-]{_CLOCK})?)?"

_ISO = re.compile(ISO_DATE)

#: Numbers that hold a comma: decimal commas, commas between groups of three digits; and whole numbers beside them.
_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?([eE][+-]?\d+)?")
_POINT = re.compile(r"[+-]?\d+(\.\d*)?")

#: Longest first line and longest cell, in characters. Longer ones are not tables.
LONGEST = 16_000_000

#: Longest name of a column, in characters.
LONGEST_NAME = 10_000


@dataclass(frozen=True)
class Header:
    """The first line of a file."""

    delimiter: str
    names: tuple[str, ...]


def read_header(path: Path, name: str, delimiter: str | None = None) -> Header:
    """Return the names of the columns and the delimiter."""
    with text_of(path, name) as file:
        first = file.readline(LONGEST)
        if not first.strip():
            raise InputError(f"{name}: the file is empty; its first line must name the columns.")
        if "\0" in first:
            raise InputError(
                f"{name}, line 1: holds zero bytes: this is not text. Give a table (CSV, Parquet, Arrow, SQLite)."
            )
        if len(first) == LONGEST:
            raise InputError(f"{name}, line 1: longer than {LONGEST:,} letters; the first line must name the columns.")
        try:
            with _long_cells():
                found = delimiter or max(DELIMITERS, key=lambda d: len(next(csv.reader([first], delimiter=d))))
                file.seek(0)
                cells = next(csv.reader(file, delimiter=found, strict=True))
        except (csv.Error, StopIteration) as error:
            raise InputError(f"{name}, line 1: not readable as CSV ({error}); check the quotes.") from None
    if all(is_number(cell) for cell in cells):
        raise InputError(f"{name}: the first line holds numbers; it must name the columns: add a line such as x0,x1,x2.")
    return Header(found, tuple(checked_names(name, cells)))


@contextmanager
def _long_cells() -> Iterator[None]:
    """Let the csv module read cells of up to LONGEST letters; its limit is one number for the whole process."""
    before = csv.field_size_limit(LONGEST)
    try:
        yield
    finally:
        csv.field_size_limit(before)


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
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise InputError(f"{name}: the compressed file is cut off or damaged; copy it again.") from None
    except PermissionError:
        raise InputError(f"{name}: no permission to read this file; ask its owner, or copy it.") from None


def not_utf8(name: str, what: str) -> InputError:
    """Return the error for a file that is not UTF-8."""
    return InputError(
        f"{name}: not UTF-8 text ({what}); save the file as UTF-8, e.g. iconv -f latin1 -t utf-8 OLD.csv > NEW.csv"
    )


def checked_names(name: str, header: Iterable[str]) -> list[str]:
    """Return the names of the columns; raise if a name is very long or occurs twice."""
    names = [cell.strip() or f"column {i}" for i, cell in enumerate(header)]
    long = next((label for label in names if len(label) > LONGEST_NAME), None)
    if long is not None:
        raise InputError(
            f"{name}: the column {long[:20] + '…'!r} has a name of {len(long):,} letters, more than {LONGEST_NAME:,}. "
            "Is the first line one of names?"
        )
    twice = next((label for label, times in Counter(names).items() if times > 1), None)
    if twice is not None:
        raise InputError(f"{name}: two columns are called {twice!r}; give each its own name.")
    return names


def read_text(path: Path, name: str, header: Header) -> dict[str, Array]:
    """Return the typed columns of a file."""
    return {label: typed(cells) for label, cells in read_cells(path, name, header).items()}


def read_cells(path: Path, name: str, header: Header) -> dict[str, list[str]]:
    """Return the cells of every column as text; raise if a row has another number of cells than the header."""
    rows: list[list[str]] = []
    blank = [""] if len(header.names) == 1 else []  # an empty line is a missing cell of the only column
    with text_of(path, name) as file, _long_cells():
        lines = csv.reader(file, delimiter=header.delimiter, strict=True)
        try:
            next(lines)
            for row in (row or blank for row in lines):
                if row:
                    rows.append(_of_width(name, row, len(header.names), lines.line_num))
        except csv.Error as error:
            reason = f"a cell of more than {LONGEST:,} letters" if "field larger" in str(error) else str(error)
            raise InputError(f"{name}, line {lines.line_num}: not readable as CSV ({reason}); check the quotes.") from None
    if not rows:
        raise InputError(f"{name}: there is a line of column names but no rows below it.")
    return {label: list(column) for label, column in zip(header.names, zip(*rows, strict=True), strict=True)}


def refuse_long_end(path: Path, name: str) -> None:
    """Raise if the last line has more than LONGEST bytes and no line end: DuckDB 1.5 leaves such a line out silently."""
    since = 0
    for block in _blocks(path):
        after = max(block.rfind(b"\n"), block.rfind(b"\r")) + 1
        since = since + len(block) if after == 0 else len(block) - after
    if since > LONGEST:
        raise InputError(f"{name}: the last line is longer than {LONGEST:,} bytes; is this a table? Check the quotes.")


def _blocks(path: Path) -> Iterator[bytes]:
    """Yield the bytes of a file: unpacked if it is gzip, otherwise only those that may be its last line."""
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
        file.seek(0 if packed else max(0, path.stat().st_size - LONGEST - 1))
        try:
            with gzip.open(file) if packed else nullcontext(file) as opened:
                while block := opened.read(1 << 20):
                    yield block
        except (EOFError, OSError, zlib.error):
            return  # damaged: the reader of the file raises the error


def unpacked_size(files: Iterable[Path], most: int) -> int:
    """Return the number of bytes of text files, unpacked if they are gzip; counting stops at `most`."""
    size = 0
    for path in files:
        known, here = path.stat().st_size, 0
        for block in _blocks(path):
            here += len(block)
            if size + here >= most:
                return most
        size += max(known, here)
    return min(size, most)


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
    found = [None if cell is None else _in_utc(datetime.datetime.fromisoformat(cell.strip())) for cell in cells]
    return np.array(found, dtype="datetime64[us]")


def _in_utc(time: datetime.datetime) -> datetime.datetime:
    """Return a time in UTC without its zone; the first or last time of years 1 to 9999 if UTC has another year."""
    if time.tzinfo is None:
        return time
    try:
        return time.astimezone(datetime.UTC).replace(tzinfo=None)
    except OverflowError:
        return datetime.datetime.min if time.year == 1 else datetime.datetime.max


def is_number(cell: str) -> bool:
    """Whether a text is a number."""
    try:
        float(cell)
    except ValueError:
        return False
    return True


def refuse_commas(name: str, column: str, cells: Iterable[Any]) -> None:
    """Raise if texts are numbers written with commas: decimal commas, or commas between groups of three digits."""
    words = [str(cell).strip() for cell in cells if cell is not None]
    commas = [word for word in words if "," in word]
    grouped = all(_THOUSANDS.fullmatch(word) for word in commas)
    if not commas or not all(_POINT.fullmatch(word) for word in words if "," not in word):
        return
    if grouped:
        raise InputError(
            f"{name}: the column {column!r} holds numbers with commas, such as {commas[0]!r}, which would be read as words; "
            f"write {commas[0].replace(',', '')} (or, if this is a decimal comma, a point)."
        )
    if all(_COMMA.fullmatch(word) for word in commas):
        raise InputError(
            f"{name}: the column {column!r} holds numbers with decimal commas, which would be read as words; "
            "write 1.5 and not 1,5."
        )
