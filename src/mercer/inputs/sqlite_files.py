"""Tables in SQLite files, read without running anything but one SELECT, within limits of work and memory."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import pathname2url

import numpy as np

from mercer.arrays import Array
from mercer.errors import InputError, MemoryBudgetError
from mercer.inputs.delimited import LONGEST, checked_names, typed
from mercer.inputs.tables import unreadable

#: Bytes of a Python object in a row, in addition to the characters of a text.
CELL_BYTES = 60

#: Steps of SQLite's machine that a query may take: some, and more for each byte of the file. Reading a whole table takes
#: about three per byte; a view that refers to itself may take steps without end.
STEPS, STEPS_PER_BYTE = 200_000_000, 50

#: Steps between two calls of the function that counts them.
COUNTED = 1_000_000

#: Rows that are fetched together.
ROWS = 10_000

#: Statements that are passed to SQLite.
_QUERIES = ("select", "with", "values")

#: Actions of a statement that are allowed. All others are denied before they run: ATTACH, PRAGMA, everything that writes.
_ALLOWED = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE)


class _Steps:
    """Count the steps of a query and stop it after the last allowed one."""

    def __init__(self, most: int) -> None:
        self.left = most // COUNTED + 1

    def __call__(self) -> bool:
        self.left -= 1
        return self.left < 0


def read_sqlite(path: Path, sql: str | None, memory: int | None = None) -> dict[str, Array]:
    """Return the columns of a query, or of the only table of a file; raise if they need more than `memory` bytes."""
    steps = _Steps(STEPS + STEPS_PER_BYTE * path.stat().st_size)
    with _opened(path, steps) as connection:
        question = sql if sql is not None else f"SELECT * FROM {_only_table(path, connection)}"
        if not question.lstrip(" \t\r\n(").lower().startswith(_QUERIES):
            raise InputError(f'{path}: --sql takes one SELECT, such as --sql "SELECT * FROM …".')
        cursor = connection.execute(question)
        names = checked_names(str(path), [str(entry[0]) for entry in cursor.description])
        rows = _fetched(path, cursor, memory)
    if not rows:
        raise InputError(f"{path}: the table has no rows.")
    return {name: _column(path, name, list(cells)) for name, cells in zip(names, zip(*rows, strict=True), strict=True)}


@contextmanager
def _opened(path: Path, steps: _Steps) -> Iterator[sqlite3.Connection]:
    """Yield a connection that can only read this file; errors of SQLite are raised as errors of mercer."""
    connection = sqlite3.connect(f"file:{pathname2url(str(path.absolute()))}?mode=ro", uri=True)
    try:
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)
        connection.set_authorizer(lambda action, *_: sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY)
        connection.set_progress_handler(steps, COUNTED)
        yield connection
    except (sqlite3.Error, sqlite3.Warning) as error:  # a second statement is a Warning in Python 3.11
        if steps.left < 0:
            raise InputError(
                f"{path}: the query was stopped because it takes very long; does a view refer to itself without end? "
                "Write its result into a file first."
            ) from None
        if "interrupted" in str(error):
            raise KeyboardInterrupt from None  # raised inside the function that counts steps, where SQLite hides it
        raise InputError(f"{path}: SQLite says: {error}; check the query, or the file.") from None
    finally:
        connection.close()


def _fetched(path: Path, cursor: sqlite3.Cursor, memory: int | None) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    size = 0
    while part := cursor.fetchmany(ROWS):
        rows += part
        size += sum(CELL_BYTES + (len(cell) if isinstance(cell, (str, bytes)) else 0) for row in part for cell in row)
        if memory is not None and size > memory:
            raise MemoryBudgetError(
                f"{path}: the first {len(rows):,} rows take more than the {memory / 1e6:.3g} MB that are allowed for them; "
                "allow more (--memory), or read fewer of them: --sql 'SELECT … LIMIT …'"
            )
    return rows


def _only_table(path: Path, connection: sqlite3.Connection) -> str:
    found = connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'")
    names = [str(row[0]) for row in found]
    if len(names) != 1:
        raise InputError(
            f"{path}: holds {len(names)} tables ({', '.join(names[:12])}); say which one: "
            f"--sql 'SELECT * FROM {(names or ['…'])[0]}'"
        )
    return '"' + names[0].replace('"', '""') + '"'


def _column(path: Path, name: str, cells: list[Any]) -> Array:
    """Return numbers if all cells are numbers or missing; other cells are read like text in a CSV file."""
    if all(cell is None or isinstance(cell, (int, float)) for cell in cells):
        return np.array([np.nan if cell is None else float(cell) for cell in cells])
    if any(isinstance(cell, bytes) for cell in cells):
        raise unreadable(name, "binary data")
    return typed(["" if cell is None else str(cell) for cell in cells])
