"""The door for tables of any source: CSV, TSV, gzip, Parquet, Arrow, SQLite, folders and globs, standard input, SQL.

read_table("data.csv")                                   read_table("parts/*.parquet", columns=["age", "city"])
read_table("-")                                          read_table("db.sqlite", sql="SELECT * FROM people")
read_table("data.csv", sql="SELECT * FROM data WHERE age > 30")
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.errors import InputError, MemoryBudgetError, MissingExtraError
from mercer.inputs import duck
from mercer.inputs.delimited import (
    Header,
    checked_names,
    count_lines,
    has_decimal_commas,
    read_cells,
    read_header,
    read_text,
    typed,
)
from mercer.inputs.sources import ARROW, CSV, SQLITE, Source, opened
from mercer.inputs.sqlite import read_sqlite
from mercer.inputs.tables import Table, arrow_column

#: What a query calls the table.
VIEW = "data"

#: Names shown in one message.
SHOWN = 12

#: Rows of a head.
HEAD = 2000

#: Beyond this many bytes of text, DuckDB's own word for what is wrong has to do: reading cell by cell would take too long.
DIAGNOSED = 200_000_000


@dataclass(frozen=True)
class Listing:
    """The columns of a table by its first rows, and how many rows there are."""

    head: Table
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
    """The table of a source.

    Numbers become float64 (NaN in holes), dates and times datetime64 (NaT in holes), truth values and words objects (None
    in holes). A column is what all its cells are; empty cells and NA, N/A, NaN, null, None are holes.

    Parameters
    ----------
    source : a file, folder or glob (CSV, TSV, either compressed by gzip, Parquet, Arrow, SQLite), or "-", standard input
    sql : a SELECT; the files are called `data` in it, in a SQLite file its tables have their own names
    columns : the columns to read, in this order; None for all
    rows : read at most this many rows, drawn with `seed`, in their order
    delimiter : of text; None takes the one of , ; tab | that cuts the first line into most cells
    memory : refuse a table of more bytes
    """
    with opened(source) as found:
        return _read(found, _Wish(sql, columns, rows, seed, delimiter, memory))


def list_table(source: str | os.PathLike[str], sql: str | None = None, delimiter: str | None = None) -> Listing:
    """The first rows of a table and the number of all: a head is read, and the reader counts."""
    with opened(source) as found:
        if found.kind == SQLITE:
            data, count = read_sqlite(found.files[0], sql, HEAD)
            return Listing(Table(data), count)
        if found.kind == CSV and sql is None:
            headers = _headers(found, delimiter)
            head = Table(read_text(found.files[0], str(found.files[0]), headers[0], HEAD))
            return Listing(head, _count(found, headers) if len(head) == HEAD or len(headers) > 1 else len(head))
        with duck.database() as connection:
            try:
                whole = _relation(connection, found, _headers(found, delimiter), sql)
                part = replace(whole, sql=f"SELECT * FROM ({whole.sql}) LIMIT {HEAD}")
                head = duck.fetched(connection, part, duck.looked_at(connection, part), None, 0)
                return Listing(head, duck.count(connection, whole))
            except Exception as error:
                raise duck.said(error, found.name) from None


def _count(found: Source, headers: Sequence[Header]) -> int:
    counts = [count_lines(path) for path in found.files]
    known = [count for count in counts if count is not None]
    if len(known) == len(counts):
        return sum(known)
    with duck.database() as connection:
        try:
            return duck.count(connection, duck.text_files(found.files, headers))
        except Exception as error:
            raise duck.said(error, found.name) from None


@dataclass(frozen=True)
class _Wish:
    """What `read_table` was asked for."""

    sql: str | None
    columns: Sequence[str] | None
    rows: int | None
    seed: int
    delimiter: str | None
    memory: int | None


def _read(found: Source, wish: _Wish) -> Table:
    if found.kind == SQLITE:
        return _some(found, Table(read_sqlite(found.files[0], wish.sql)[0]), wish)
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
            if found.kind != CSV or wish.sql is not None or sum(p.stat().st_size for p in found.files) > DIAGNOSED:
                raise reason from None
            return _some(found, Table(_cell_by_cell(found, headers)), wish)
    return _checked(found, read)


def _headers(found: Source, delimiter: str | None) -> list[Header]:
    """The first lines of text files; they must name the same columns, in any order."""
    if found.kind != CSV:
        return []
    if delimiter is not None and len(delimiter) != 1:
        raise InputError(f"the delimiter must be one character; got {delimiter!r}.")
    headers = [read_header(path, str(path) if len(found.files) > 1 else found.name, delimiter) for path in found.files]
    for path, header in zip(found.files, headers, strict=True):
        other = set(header.names) ^ set(headers[0].names)
        if other:
            raise InputError(
                f"{path}: its columns differ from those of {found.files[0].name} ({sorted(other)[0]!r} is in one only); "
                "give files of one table."
            )
    return headers


def _relation(connection: Any, found: Source, headers: Sequence[Header], sql: str | None) -> duck.Relation:
    """What is to be read: the files, or a query over them in which they are called `data`."""
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


def _cell_by_cell(found: Source, headers: Sequence[Header]) -> dict[str, Array]:
    """The plain reader: it says in which line something is wrong, or reads what DuckDB does not, such as mixed line ends."""
    names = headers[0].names
    cells: dict[str, list[str]] = {name: [] for name in names}
    for path, header in zip(found.files, headers, strict=True):
        title = str(path) if len(found.files) > 1 else found.name
        for name, column in read_cells(path, title, header).items():
            cells[name] += column
    return {name: typed(column) for name, column in cells.items()}


def _arrow(found: Source) -> Any:
    try:
        import pyarrow as pa
        from pyarrow import ipc
    except ImportError:
        raise MissingExtraError(f'{found.name}: reading Arrow needs pyarrow: pip install "mercer[cli]"') from None
    parts = []
    for path in found.files:
        with pa.memory_map(str(path)) as file:
            try:
                parts.append(ipc.open_file(file).read_all())
            except pa.ArrowInvalid:
                raise InputError(f"{path}: the file is damaged, or not Arrow; write it again.") from None
    try:
        return pa.concat_tables(parts, promote_options="default")
    except pa.ArrowInvalid as error:
        raise InputError(f"{found.name}: the files do not make one table ({str(error).splitlines()[0]}).") from None


def _arrow_columns(table: Any) -> Table:
    if table.num_rows == 0 or table.num_columns == 0:
        raise InputError(f"the table is empty ({table.num_rows} rows, {table.num_columns} columns).")
    names = checked_names("the Arrow file", table.column_names)
    return Table({name: arrow_column(table.column(i)) for i, name in enumerate(names)})


def _some(found: Source, table: Table, wish: _Wish) -> Table:
    """The columns and rows that were asked for, of a table that is read."""
    if wish.columns is not None:
        refuse_unknown(found.name, table.columns, wish.columns)
        table = table[list(wish.columns)]
    if wish.rows is not None and wish.rows < len(table):
        table = table[np.sort(np.random.default_rng(wish.seed).choice(len(table), wish.rows, replace=False))]
    return _checked(found, table)


def _checked(found: Source, table: Table) -> Table:
    if len(table) == 0:
        raise InputError(f"{found.name}: there are names of columns but no rows below them.")
    for name in table.columns:
        values = table[name].to_numpy()
        if found.kind == CSV and values.dtype.kind == "O" and has_decimal_commas(values[:100]):
            raise InputError(
                f"{found.name}: the column {name!r} holds numbers with decimal commas, which would be read as words; "
                "write 1.5 and not 1,5."
            )
    return table


def _refuse_large(found: Source, shape: duck.Shape, wish: _Wish) -> None:
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
    """A round number below, for people to type."""
    digit = 10 ** max(0, len(str(count)) - 2)
    return max(1, count // digit * digit)


def refuse_unknown(name: str, here: Sequence[str], wanted: Sequence[str]) -> None:
    """Name the first column that is not there, and what was probably meant."""
    known = set(here)
    for label in wanted:
        if label not in known:
            near = difflib.get_close_matches(label, here, 1)
            some = ", ".join(repr(other) for other in here[:SHOWN]) + (" …" if len(here) > SHOWN else "")
            hint = f" Did you mean {near[0]!r}?" if near else f" There are: {some}."
            raise InputError(f"{name}: there is no column {label!r}.{delimiter_hint(here) or hint}")


def delimiter_hint(columns: Sequence[str]) -> str:
    """What a table of one column most often means."""
    if len(columns) > 1:
        return ""
    return (
        f" The file has one column, {columns[0]!r}: is its delimiter a comma, semicolon, tab or bar? Another one is given "
        "with --delimiter."
    )
