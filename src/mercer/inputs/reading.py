"""`read_table` and `list_table`: tables from files, folders, patterns and databases."""

from __future__ import annotations

import difflib
import glob
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.errors import InputError, MemoryBudgetError, MissingExtraError, install_command
from mercer.inputs import duck
from mercer.inputs.delimited import (
    Header,
    checked_names,
    read_cells,
    read_header,
    refuse_commas,
    refuse_long_end,
    typed,
    unpacked_size,
)
from mercer.inputs.sequences import sequence_columns
from mercer.inputs.sqlite_files import read_sqlite
from mercer.inputs.tables import Table, arrow_column

CSV, PARQUET, ARROW, SQLITE = "csv", "parquet", "arrow", "sqlite"
FASTA, FASTQ = "fasta", "fastq"

#: Standard input.
STDIN = "-"

#: First bytes of binary files; all other files are text.
_MAGIC = {b"PAR1": PARQUET, b"ARROW1": ARROW, b"SQLite format 3\0": SQLITE}

#: First bytes of known file types that are not supported, with advice.
_OTHERS = {
    b"PK\x03\x04": "a zip archive or a spreadsheet; save the table as CSV",
    b"\xd0\xcf\x11\xe0": "an old spreadsheet; save the table as CSV",
    b"\x28\xb5\x2f\xfd": "compressed with zstd; unpack it first: zstd -d",
    b"BZh": "compressed with bzip2; unpack it first: bunzip2",
    b"\xfd7zXZ": "compressed with xz; unpack it first: unxz",
    b"\x93NUMPY": "a NumPy array without names of columns; write it as CSV or Parquet",
    b"\x89HDF": "an HDF5 file; write the table as CSV or Parquet",
}

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")

#: Names of files with sequences; each may be followed by .gz.
SEQUENCES = {
    **dict.fromkeys((".fasta", ".fa", ".faa", ".fna", ".ffn", ".fas"), FASTA),
    **dict.fromkeys((".fastq", ".fq"), FASTQ),
}

#: Suffixes of the files that are read from a folder.
SUFFIXES = (
    ".csv", ".tsv", ".csv.gz", ".tsv.gz", ".txt", ".txt.gz", ".parquet", ".arrow", ".feather", ".ipc",
    *SEQUENCES, *(f"{suffix}.gz" for suffix in SEQUENCES),
)  # fmt: skip


@dataclass(frozen=True)
class FileSource:
    """Files of one kind that make one table."""

    name: str  # for messages
    kind: str
    files: tuple[Path, ...]


@contextmanager
def opened(source: str | os.PathLike[str]) -> Iterator[FileSource]:
    """Yield the files of a path, folder or pattern; standard input is kept in a temporary file while it is used."""
    given = os.fspath(source)
    if given == STDIN:
        with _standard_input() as path:
            yield FileSource("standard input", kind_of(path, "standard input"), (path,))
        return
    files = _files(given)
    kinds = {path: kind_of(path, str(path)) for path in files}
    if len(set(kinds.values())) > 1:
        one, other = next((files[0], path) for path in files if kinds[path] != kinds[files[0]])
        raise InputError(f"{given}: {one.name} is {kinds[one]} and {other.name} is {kinds[other]}; give files of one kind.")
    kind = kinds[files[0]]
    if kind == SQLITE and len(files) > 1:
        raise InputError(f"{given}: holds {len(files)} SQLite databases; give one of them.")
    yield FileSource(given, kind, files)


@contextmanager
def _standard_input() -> Iterator[Path]:
    stream = sys.stdin.buffer if hasattr(sys.stdin, "buffer") else sys.stdin
    if stream is None or stream.isatty():
        raise InputError("- is standard input, and nothing is sent to it: cat data.csv | mercer fit - --target COLUMN")
    handle, name = tempfile.mkstemp(prefix="mercer-stdin-")
    try:
        with os.fdopen(handle, "wb") as file:
            shutil.copyfileobj(stream, file)
        yield Path(name)
    finally:
        with suppress(OSError):
            os.unlink(name)


def _files(given: str) -> tuple[Path, ...]:
    if _ADDRESS.match(given):
        raise InputError(f"{given}: this is a network address; mercer opens none. Download the file first (curl -O).")
    path = Path(given)
    with _readable(path):
        if path.is_dir():
            found = sorted(p for p in path.iterdir() if p.name.lower().endswith(SUFFIXES) and p.is_file())
            if not found:
                raise InputError(f"{given}: this folder holds no table ({', '.join(SUFFIXES)}); give a file.")
            return tuple(found)
        if path.exists():
            if not path.is_file():
                raise InputError(f"{given}: this is a device or a pipe, not a file; send it: cat … | mercer … -")
            return (path,)
    if glob.has_magic(given):
        found = [Path(name) for name in sorted(glob.glob(given, recursive=True)) if Path(name).is_file()]
        if found:
            return tuple(found)
        raise InputError(f"{given}: no file has such a name; check the pattern and the folder.")
    raise InputError(f"{given}: there is no such file; check the name and the folder.")


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except PermissionError:
        raise InputError(f"{path}: no permission to read this; ask its owner, or copy it.") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}; check the name and the disk.") from None


def kind_of(path: Path, name: str) -> str:
    """Return the type of a file, detected from its first bytes."""
    with _readable(path), path.open("rb") as file:
        start = file.read(16)
    for magic, kind in _MAGIC.items():
        if start.startswith(magic):
            return kind
    for magic, words in _OTHERS.items():
        if start.startswith(magic):
            raise InputError(f"{name}: this is {words}.")
    if start.startswith(b">"):
        return FASTA
    return SEQUENCES.get(Path(path.name.lower().removesuffix(".gz")).suffix, CSV)


def holds_sequences(source: str) -> bool:
    """Return whether a source is a file of sequences, whose rows have an id; standard input is not looked at."""
    if source == STDIN or _ADDRESS.match(source):
        return False
    return kind_of(_files(source)[0], source) in (FASTA, FASTQ)


#: Name of the table in queries.
VIEW = "data"

#: Names shown in one message.
SHOWN = 12

#: Rows of a listing.
SAMPLE = 2000

#: Larger texts are not read again cell by cell for a better message, because that would take too long.
DIAGNOSED = 200_000_000


@dataclass(frozen=True)
class Listing:
    """Some rows of a table in their order, drawn from the whole table, and its number of rows."""

    sample: Table
    rows: int


def read_table(
    source: str | os.PathLike[str],
    sql: str | None = None,
    columns: Sequence[str] | None = None,
    *,
    rows: int | None = None,
    seed: int = 0,
    delimiter: str | None = None,
    memory: int | None = None,
) -> Table:
    """Return the table of a source.

    Numbers become float64, dates and times datetime64, booleans and text objects; missing cells are NaN, NaT and None. A
    column is numeric or a date only if all its cells are. Empty cells and NA, N/A, NaN, null, None are missing.

    Parameters
    ----------
    source : a file, folder or glob (CSV, TSV, FASTA, FASTQ, each also compressed by gzip, Parquet, Arrow, SQLite), or "-",
        standard input
    sql : a SELECT statement; the files are the table `data`, and the tables of a SQLite file have their own names
    columns : the columns to read, in this order; None for all
    rows : read at most this many rows, drawn with `seed`, in their order
    delimiter : field delimiter of text; None chooses comma, semicolon, tab or pipe, whichever gives most columns
    memory : raise an error if the table needs more bytes
    """
    with opened(source) as found:
        return _read(found, _Wish(sql, columns, rows, seed, delimiter, memory)).sample


def list_table(
    source: str | os.PathLike[str], sql: str | None = None, delimiter: str | None = None, memory: int | None = None
) -> Listing:
    """Return a sample of the rows of a table and their number; files are read, and refused, as `read_table` does."""
    with opened(source) as found:
        return _read(found, _Wish(sql, None, SAMPLE, 0, delimiter, memory))


@dataclass(frozen=True)
class _Wish:
    """Arguments of `read_table`."""

    sql: str | None
    columns: Sequence[str] | None
    rows: int | None
    seed: int
    delimiter: str | None
    memory: int | None


def _read(found: FileSource, wish: _Wish) -> Listing:
    if found.kind == SQLITE:
        return _some(found, Table(read_sqlite(found.files[0], wish.sql, wish.memory)), wish)
    if found.kind in (FASTA, FASTQ):
        return _some(found, _sequences(found, wish.sql), wish)
    if found.kind == ARROW and wish.sql is None:
        return _some(found, _arrow_columns(_arrow(found)), wish)
    headers = _headers(found, wish.delimiter)
    with duck.database(wish.memory) as connection:
        try:
            table = _relation(connection, found, headers, wish.sql)
            if wish.columns is not None:
                refuse_unknown(found.name, table.names, wish.columns)
                table = duck.chosen(table, wish.columns)
            shape = duck.looked_at(connection, table)
            _refuse_large(found, shape, wish)
            read = duck.fetched(connection, table, shape, wish.rows, wish.seed)
        except Exception as error:
            reason = duck.said(error, found.name)
            if found.kind != CSV or wish.sql is not None or unpacked_size(found.files, DIAGNOSED) >= DIAGNOSED:
                raise reason from None
            return _some(found, Table(_cell_by_cell(found, headers)), wish)
    return Listing(_checked(found, read), shape.rows)


def _sequences(found: FileSource, sql: str | None) -> Table:
    """Return the table of files of sequences, or a query over it; fields that a file lacks are missing there."""
    parts = [sequence_columns(path, found.kind == FASTQ) for path in found.files]
    lengths = [len(part["sequence"]) for part in parts]
    names = list(dict.fromkeys(name for part in parts for name in part if name != "sequence"))
    data = {name: _joined([part.get(name) for part in parts], lengths) for name in [*names, "sequence"]}
    if sql is None:
        return Table(data)
    with duck.database() as connection:
        try:
            connection.register(VIEW, _as_arrow(found, data))
            table = duck.relation(connection, duck.one_question(connection, sql))
            return duck.fetched(connection, table, duck.looked_at(connection, table), None, 0)
        except Exception as error:
            raise duck.said(error, found.name) from None


def _joined(parts: Sequence[Array | None], lengths: Sequence[int]) -> Array:
    """Return the cells of a column in several files; numbers only if all of them are."""
    numbers = all(part is None or part.dtype.kind == "f" for part in parts)
    empty = np.nan if numbers else None
    dtype: Any = np.float64 if numbers else object
    pairs = zip(parts, lengths, strict=True)
    return np.concatenate([np.full(n, empty, dtype=dtype) if part is None else part.astype(dtype) for part, n in pairs])


def _as_arrow(found: FileSource, data: dict[str, Array]) -> Any:
    try:
        import pyarrow as pa
    except ImportError:
        raise MissingExtraError(f"{found.name}: queries over sequences need pyarrow: {install_command('cli')}") from None
    return pa.table({name: pa.array(values.tolist(), from_pandas=True) for name, values in data.items()})


def _headers(found: FileSource, delimiter: str | None) -> list[Header]:
    """Return the headers of text files; raise unless they name the same columns, in any order."""
    if found.kind != CSV:
        return []
    if delimiter is not None and len(delimiter) != 1:
        raise InputError(f"the delimiter must be one character; got {delimiter!r}.")
    headers = [read_header(path, str(path) if len(found.files) > 1 else found.name, delimiter) for path in found.files]
    for path, header in zip(found.files, headers, strict=True):
        refuse_long_end(path, str(path))
        other = set(header.names) ^ set(headers[0].names)
        if other:
            raise InputError(
                f"{path}: its columns differ from those of {found.files[0].name} ({sorted(other)[0]!r} is in one only); "
                "give files of one table."
            )
    return headers


def _relation(connection: Any, found: FileSource, headers: Sequence[Header], sql: str | None) -> duck.Relation:
    """Return the relation to read: the files, or a query over them as the table `data`."""
    if found.kind == CSV:
        table = duck.text_files(found.files, headers)
        if sql is None:
            return table
        duck.define_view(connection, VIEW, table, duck.looked_at(connection, table))
    elif found.kind == ARROW:
        connection.register(VIEW, _arrow(found))
    else:
        if sql is None:
            return duck.relation(connection, duck.parquet_files(found.files))
        connection.execute(f"CREATE VIEW {VIEW} AS {duck.parquet_files(found.files)}")
    return duck.relation(connection, duck.one_question(connection, sql or f"SELECT * FROM {VIEW}"))


def _cell_by_cell(found: FileSource, headers: Sequence[Header]) -> dict[str, Array]:
    """Read cell by cell after DuckDB failed: name the wrong line, or read what DuckDB cannot, such as mixed line ends."""
    names = headers[0].names
    cells: dict[str, list[str]] = {name: [] for name in names}
    for path, header in zip(found.files, headers, strict=True):
        title = str(path) if len(found.files) > 1 else found.name
        for name, column in read_cells(path, title, header).items():
            cells[name] += column
    return {name: typed(column) for name, column in cells.items()}


def _arrow(found: FileSource) -> Any:
    try:
        import pyarrow as pa
        from pyarrow import ipc
    except ImportError:
        raise MissingExtraError(f"{found.name}: reading Arrow needs pyarrow: {install_command('cli')}") from None
    parts = []
    for path in found.files:
        with pa.memory_map(str(path)) as file:
            try:
                parts.append(ipc.open_file(file).read_all())
                parts[-1].validate(full=True)  # offsets of a damaged file may point anywhere
            except (pa.ArrowException, OSError):
                raise InputError(f"{path}: the file is damaged, or not Arrow; write it again.") from None
    try:
        return pa.concat_tables(parts, promote_options="default")
    except pa.ArrowInvalid as error:
        raise InputError(f"{found.name}: the files do not make one table ({str(error).splitlines()[0]}).") from None


def _arrow_columns(table: Any) -> Table:
    if table.num_rows == 0 or table.num_columns == 0:
        raise InputError(f"the table is empty ({table.num_rows} rows, {table.num_columns} columns).")
    names = checked_names("the Arrow file", table.column_names)
    return Table({name: arrow_column(table.column(i), name) for i, name in enumerate(names)})


def _some(found: FileSource, table: Table, wish: _Wish) -> Listing:
    """Return the requested columns and rows of a table in memory."""
    count = len(table)
    if wish.columns is not None:
        refuse_unknown(found.name, table.columns, wish.columns)
        table = table[list(wish.columns)]
    if wish.rows is not None and wish.rows < len(table):
        table = table[np.sort(np.random.default_rng(wish.seed).choice(len(table), wish.rows, replace=False))]
    return Listing(_checked(found, table), count)


def _checked(found: FileSource, table: Table) -> Table:
    if len(table) == 0:
        raise InputError(f"{found.name}: there are names of columns but no rows below them.")
    for name in table.columns:
        values = table[name].to_numpy()
        if found.kind == CSV and values.dtype.kind == "O":
            refuse_commas(found.name, name, values[:100])
    return table


def _refuse_large(found: FileSource, shape: duck.ScannedTable, wish: _Wish) -> None:
    rows = shape.rows if wish.rows is None else min(shape.rows, wish.rows)
    if wish.memory is not None and rows * shape.bytes_per_row > wish.memory:
        needed, allowed = _size(rows * shape.bytes_per_row), _size(wish.memory)
        raise MemoryBudgetError(
            f"{found.name}: {rows:,} rows take {needed} in memory, and {allowed} are allowed for them; allow more "
            f"(--memory, ulimit -v), or fit on some of the rows: --rows {_round(int(wish.memory / shape.bytes_per_row))}"
        )


def _size(count: float) -> str:
    return f"{count / 1e9:.3g} GB" if count >= 1e9 else f"{count / 1e6:.3g} MB"


def _round(count: int) -> int:
    """Return a round number below a count, which is easy to type."""
    digit = 10 ** max(0, len(str(count)) - 2)
    return max(1, count // digit * digit)


def refuse_unknown(name: str, here: Sequence[str], wanted: Sequence[str]) -> None:
    """Raise if a column does not exist, and suggest the most similar name."""
    known = set(here)
    for label in wanted:
        if label not in known:
            near = " or ".join(repr(other) for other in _similar(label, here))
            some = ", ".join(repr(other) for other in here[:SHOWN]) + (" …" if len(here) > SHOWN else "")
            hint = f" Did you mean {near}?" if near else f" There are: {some}."
            raise InputError(f"{name}: there is no column {label!r}.{delimiter_hint(here) or hint}")


def _similar(label: str, here: Sequence[str]) -> list[str]:
    """Return up to three columns that contain a text or are spelled like it, regardless of case."""
    low = {other: other.lower() for other in here}
    word = label.lower().strip()
    holding = [other for other, text in low.items() if word and (word in text or (len(text) > 2 and text in word))]
    near = difflib.get_close_matches(word, low.values(), 3)
    spelled = [other for other in here if low[other] in near]
    return list(dict.fromkeys([*sorted(holding, key=len), *sorted(spelled, key=lambda other: near.index(low[other]))]))[:3]


def delimiter_hint(columns: Sequence[str]) -> str:
    """Return a hint about the delimiter for a table of one column."""
    if len(columns) > 1:
        return ""
    return (
        f" The file has one column, {columns[0]!r}: is its delimiter a comma, semicolon, tab or bar? Another one is given "
        "with --delimiter."
    )
