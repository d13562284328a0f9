"""Tables and queries of SQLite files, by the standard library; the file is opened for reading only."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any
from urllib.request import pathname2url

import numpy as np

from mercer.arrays import Array
from mercer.errors import InputError
from mercer.inputs.delimited import checked_names, typed


def read_sqlite(path: Path, sql: str | None, head: int | None = None) -> tuple[dict[str, Array], int]:
    """The columns of the one table of a file, or of a query, and the number of rows; with `head`, its first rows."""
    connection = sqlite3.connect(f"file:{pathname2url(str(path.absolute()))}?mode=ro", uri=True)
    try:
        question = sql or f"SELECT * FROM {_only_table(path, connection)}"
        cursor = connection.execute(question)
        if cursor.description is None:
            raise InputError(f'{path}: --sql takes one SELECT, such as --sql "SELECT * FROM …".')
        names = checked_names(str(path), [str(entry[0]) for entry in cursor.description])
        rows = cursor.fetchall() if head is None else cursor.fetchmany(head)
        count = len(rows)
        if head is not None and len(rows) == head:
            count = int(connection.execute(f"SELECT count(*) FROM ({question.rstrip().rstrip(';')})").fetchone()[0])
    except sqlite3.Error as error:
        raise InputError(f"{path}: SQLite says: {error}; check the query, or the file.") from None
    finally:
        connection.close()
    if not rows:
        raise InputError(f"{path}: the table has no rows.")
    return {name: _column(list(cells)) for name, cells in zip(names, zip(*rows, strict=True), strict=True)}, count


def _only_table(path: Path, connection: sqlite3.Connection) -> str:
    found = connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'")
    names = [str(row[0]) for row in found]
    if len(names) != 1:
        raise InputError(
            f"{path}: holds {len(names)} tables ({', '.join(names[:12])}); say which one: "
            f"--sql 'SELECT * FROM {(names or ['…'])[0]}'"
        )
    return '"' + names[0].replace('"', '""') + '"'


def _column(cells: list[Any]) -> Array:
    """SQLite has a type per cell: all numbers or missing are numbers, the rest is read as the same text in a CSV file."""
    if all(cell is None or isinstance(cell, (int, float)) for cell in cells):
        return np.array([np.nan if cell is None else float(cell) for cell in cells])
    return typed(["" if cell is None else cell.hex() if isinstance(cell, bytes) else str(cell) for cell in cells])
