"""Tables in files as parts: ranges of rows of Parquet, Arrow or CSV files, read when they are needed.

Parquet and CSV are read by DuckDB, Arrow files are mapped into memory. A CSV file cannot be read from the middle: its parts
are read in order by one open reader, and a part requested out of order starts again at the first line.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.errors import InputError, MissingExtraError, install_command
from mercer.inputs import duck
from mercer.inputs.delimited import Header, read_header
from mercer.inputs.reading import ARROW, CSV, PARQUET, SQLITE, opened, refuse_unknown
from mercer.inputs.tables import Table, arrow_column

Named = tuple[str, Callable[[], tuple[Any, Any, Any]]]  # where, load


@dataclass(frozen=True)
class FilePart:
    """Rows `start` to `stop` of one file, as a Table of columns X, with its targets and weights."""

    path: str
    kind: str
    start: int
    stop: int
    columns: tuple[str, ...]
    target: tuple[str, ...]
    single: bool  # one column of targets, not a list of them
    weight: str | None

    def __call__(self) -> tuple[Any, Any, Any]:
        wanted = tuple(dict.fromkeys((*self.columns, *self.target, *((self.weight,) if self.weight else ()))))
        read = {PARQUET: _parquet, ARROW: _arrow, CSV: _text}[self.kind]
        table = read(self.path, wanted, self.start, self.stop)
        X = Table({name: table[name] for name in self.columns})
        y = None
        if self.target:
            y = table[self.target[0]] if self.single else np.column_stack([table[name] for name in self.target])
        return X, y, None if self.weight is None else table[self.weight]


def file_parts(
    source: str | os.PathLike[str],
    target: str | Sequence[str] | None,
    weight: str | None,
    columns: Sequence[str] | None,
    rows: int | None,
    chunk_bytes: int,
) -> tuple[list[Named], tuple[int, ...]]:
    """Return the parts of a file, a folder or a glob of files, in the order of their names, and their numbers of rows."""
    if rows is not None and (isinstance(rows, bool) or not isinstance(rows, (int, np.integer)) or rows < 1):
        raise InputError(f"chunks: rows must be a whole number >= 1; got {rows!r}.")
    goals = () if target is None else (target,) if isinstance(target, str) else tuple(target)
    parts: list[Named] = []
    lengths: list[int] = []
    with opened(source) as found:
        if found.kind == SQLITE:
            raise InputError(f"{found.name}: a SQLite table is read as a whole; write it as Parquet to read it by chunks.")
        first: tuple[str, ...] | None = None
        for path in found.files:
            names, n = _look(path, found.kind)
            if first is None:
                first = names
                for label in (goals, (weight,) if weight else (), tuple(columns or ())):
                    refuse_unknown(found.name, names, label)
            elif set(names) != set(first):
                other = sorted(set(names) ^ set(first))[0]
                raise InputError(
                    f"{path}: its columns differ from those of {found.files[0].name} ({other!r} is in one only); give files "
                    "of one table."
                )
            chosen = tuple(c for c in first if c not in {*goals, weight}) if columns is None else tuple(columns)
            step = rows or max(1, chunk_bytes // (8 * len(chosen)))
            for start in range(0, n, step):
                stop = min(start + step, n)
                where = f"{path}, rows {start} … {stop - 1}:"
                part = FilePart(str(path), found.kind, start, stop, chosen, goals, isinstance(target, str), weight)
                parts.append((where, part))
                lengths.append(stop - start)
    if not parts:
        raise InputError(f"{os.fspath(source)}: there are names of columns but no rows below them.")
    return parts, tuple(lengths)


def _look(path: Path, kind: str) -> tuple[tuple[str, ...], int]:
    """Return the names of the columns and the number of rows; Parquet and Arrow files store both in their metadata."""
    if kind == ARROW:
        with _mapped(str(path)) as file:
            return tuple(file.schema.names), sum(file.get_batch(i).num_rows for i in range(file.num_record_batches))
    header = read_header(path, str(path), None) if kind == CSV else None
    with duck.database() as connection:
        try:
            if header is not None:
                table = duck.text_files([path], [header])
            else:
                table = duck.relation(connection, duck.parquet_files([path]))
            return table.names, duck.count(connection, table)
        except Exception as error:
            raise duck.said(error, str(path)) from None


def _parquet(path: str, columns: tuple[str, ...], start: int, stop: int) -> dict[str, Array]:
    with duck.database() as connection:
        try:
            rows = f"file_row_number >= {start} AND file_row_number < {stop}"
            files = duck.parquet_files([Path(path)]).replace("union_by_name=true", "file_row_number=true")
            table = duck.relation(connection, f"SELECT {', '.join(map(duck.quoted, columns))} FROM ({files}) WHERE {rows}")
            found = duck.fetched(connection, table, duck.shape_of_types(table, stop - start), None, 0)
            return {name: found[name].to_numpy() for name in found.columns}
        except Exception as error:
            raise duck.said(error, path) from None


def _mapped(path: str) -> Any:
    try:
        import pyarrow as pa
        from pyarrow import ipc
    except ImportError:
        raise MissingExtraError(f"{path}: reading Arrow needs pyarrow: {install_command('cli')}") from None
    try:
        return ipc.open_file(pa.memory_map(path))
    except (pa.ArrowException, OSError):
        raise InputError(f"{path}: the file is damaged, or not Arrow; write it again.") from None


def _arrow(path: str, columns: tuple[str, ...], start: int, stop: int) -> dict[str, Array]:
    import pyarrow as pa

    with _mapped(path) as file:
        batches, at = [], 0
        for i in range(file.num_record_batches):
            batch = file.get_batch(i)
            low, high = max(start - at, 0), min(stop - at, batch.num_rows)
            if low < high:
                batches.append(batch.select(list(columns)).slice(low, high - low))
            at += batch.num_rows
        table = pa.Table.from_batches(batches)
        return {name: np.array(arrow_column(table.column(name), name)) for name in columns}


class _Reader:
    """One open query over the lines of a CSV file."""

    def __init__(self, path: str, columns: tuple[str, ...]) -> None:
        self.key = (path, columns)
        header: Header = read_header(Path(path), path, None)
        self._connection = duck.connected()
        table = duck.chosen(duck.text_files([Path(path)], [header]), columns)
        self._batches = duck.batches(self._connection, f"SELECT {', '.join(table.columns)} FROM ({table.sql})")
        self._held: list[Any] = []  # record batches that were read and not returned yet
        self.place = 0

    def take(self, count: int) -> Any:
        import pyarrow as pa

        held = sum(batch.num_rows for batch in self._held)
        while held < count:
            batch = next(self._batches)
            self._held.append(batch)
            held += batch.num_rows
        table = pa.Table.from_batches(self._held)
        rest = table.slice(count)
        self._held = rest.to_batches() if rest.num_rows else []
        self.place += count
        return table.slice(0, count)

    def close(self) -> None:
        self._connection.close()


_readers = threading.local()


def _text(path: str, columns: tuple[str, ...], start: int, stop: int) -> dict[str, Array]:
    """Return columns of a CSV file: numbers if all cells of these rows are numbers, otherwise text."""
    reader: _Reader | None = getattr(_readers, "open", None)
    try:
        if reader is None or reader.key != (path, columns) or reader.place > start:
            if reader is not None:
                reader.close()
                _readers.open = None
            reader = _Reader(path, columns)
        if reader.place < start:
            reader.take(start - reader.place)
        table = reader.take(stop - start)
        _readers.open = reader
    except StopIteration:
        raise InputError(f"{path}: the file has fewer rows than it had when it was counted; was it changed?") from None
    except Exception as error:
        raise duck.said(error, path) from None
    return {name: _cells(table.column(i)) for i, name in enumerate(columns)}


def _cells(column: Any) -> Array:
    from mercer.inputs.delimited import MISSING

    try:
        import pyarrow as pa
        import pyarrow.compute as pc

        trimmed = pc.utf8_trim_whitespace(column)
        holes = pc.is_in(trimmed, value_set=pa.array(sorted(MISSING)))
        numbers = pc.cast(pc.if_else(holes, pa.scalar(None, pa.string()), trimmed), pa.float64())
        return np.asarray(numbers.to_numpy(), dtype=np.float64)
    except pa.ArrowInvalid:
        values = np.empty(len(column), dtype=object)
        values[:] = column.to_pylist()
        return values
