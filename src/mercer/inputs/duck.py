"""Tables read by DuckDB and by SQLite."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.errors import InputError, MemoryBudgetError, MissingExtraError, install_command
from mercer.inputs.delimited import ISO_DATE, LONGEST, MISSING, Header, as_times, not_utf8, typed
from mercer.inputs.tables import Table, in_range, unreadable

NUMBER, DATE, TRUTH, WORDS = "number", "date", "truth", "words"

#: Bytes of a Python str in addition to its characters.
TEXT_BYTES = 60

#: Bytes of a reader's buffer, which holds two lines of the longest kind: DuckDB's default is sixteen, which is 256 MB per
#: thread, and large files would be read by one thread only.
BUFFER = 2 * LONGEST

#: More columns of text than this are read as they are and judged by Arrow. A query with an expression for each of them takes
#: DuckDB a time that grows faster than the square of their number: 42 s for 400 columns.
WIDE = 100

#: Name of the column with row numbers in queries that draw rows.
NUMBER_OF_ROW = '"mercer: row"'

#: DuckDB's types that are numbers.
_NUMERIC = re.compile(r"(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|DECIMAL\([\d,]+\)|DOUBLE|FLOAT|INTERVAL)$")

#: DuckDB's types that are text, and lists of texts or whole numbers, which are tokens.
_TEXTUAL = re.compile(r"TEXT$|VARCHAR$|JSON$|UUID$|TIME($|_NS$|\b WITH TIME ZONE$)|ENUM\(.*\)$|\"NULL\"$")
_TOKENS = re.compile(r"(VARCHAR|U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?)\[\d*\]$")


@dataclass(frozen=True)
class Relation:
    """A query to select from: the names of its columns for users, and their names in DuckDB."""

    sql: str
    names: tuple[str, ...]
    columns: tuple[str, ...]  # quoted
    kinds: tuple[str, ...]  # DuckDB's types; "TEXT" for cells whose type is not known yet


@dataclass(frozen=True)
class ScannedTable:
    """Number of rows, kinds of columns and bytes per row, from one pass over the cells."""

    rows: int
    kinds: tuple[str, ...]  # NUMBER, DATE, TRUTH or WORDS
    bytes_per_row: float


def connected(memory: int | None = None) -> Any:
    """Return a connection to DuckDB in memory that cannot install extensions; the caller closes it."""
    if "duckdb" not in sys.modules and _counted():
        # DuckDB's allocator, which reads this when it is loaded, keeps the addresses of all that it has given back: 2 GB
        # after a pass over 2 GB of text, 330 MB after one chunk of Parquet
        os.environ.setdefault("DUCKDB_JE_MALLOC_CONF", "retain:false")
    try:
        import duckdb
    except ImportError:
        raise MissingExtraError(f"reading tables needs duckdb: {install_command('cli')}") from None
    folder = os.path.join(tempfile.gettempdir(), f"mercer-duckdb-{os.getpid()}")
    config: dict[str, Any] = {
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "temp_directory": folder,
        # it makes a join of each list of words that mean a missing cell; planning them takes minutes for 400 columns
        "disabled_optimizers": "in_clause",
    }
    if memory is not None:
        config["memory_limit"] = f"{max(memory, 2**27)}B"
    connection = duckdb.connect(":memory:", config=config)
    connection.execute("SET TimeZone = 'UTC'")  # of times without a zone, wherever this runs
    return connection


def _counted() -> bool:
    """Whether the address space of this process is limited (ulimit -v, ulimit -d)."""
    try:
        import resource
    except ImportError:  # Windows
        return False
    limits = (resource.RLIMIT_AS, resource.RLIMIT_DATA)
    return any(resource.getrlimit(which)[0] != resource.RLIM_INFINITY for which in limits)


@contextmanager
def database(memory: int | None = None) -> Iterator[Any]:
    """Yield a connection to DuckDB in memory; its errors are raised as errors of mercer."""
    connection = connected(memory)
    import duckdb

    try:
        yield connection
    except duckdb.InterruptException:
        raise KeyboardInterrupt from None
    except duckdb.OutOfMemoryException:
        raise MemoryBudgetError(
            "reading the table needs more memory than it may take; allow more (--memory, ulimit -v), or read less of it: "
            "--rows N, or some columns with --sql"
        ) from None
    finally:
        connection.close()


def quoted(name: str) -> str:
    """Return a name quoted for SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return a text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def text_files(files: Sequence[Path], headers: Sequence[Header]) -> Relation:
    """Return the rows of CSV files with the same columns, in the order of the files; cells are text."""
    names = headers[0].names
    ordered, parts = ", ".join(f"c{i}" for i in range(len(names))), []
    for path, header in zip(files, headers, strict=True):
        typed = ", ".join(f"{literal(f'c{names.index(name)}')}: 'VARCHAR'" for name in header.names)
        parts.append(
            f"SELECT {ordered} FROM read_csv({literal(_escaped(str(path)))}, auto_detect=false, header=true, "
            f"delim={literal(header.delimiter)}, quote='\"', escape='\"', columns={{{typed}}}, strict_mode=true, "
            f"max_line_size={LONGEST}, buffer_size={BUFFER})"
        )
    return Relation(_one_after_the_other(parts), names, tuple(f"c{i}" for i in range(len(names))), ("TEXT",) * len(names))


def _one_after_the_other(queries: Sequence[str]) -> str:
    """Return a query for the rows of all queries in order; one scan of all files would return rows in any order.

    The list is split in halves because DuckDB parses a chain of thousands of UNIONs by recursion.
    """
    if len(queries) == 1:
        return queries[0]
    half = len(queries) // 2
    return f"({_one_after_the_other(queries[:half])}) UNION ALL ({_one_after_the_other(queries[half:])})"


def _escaped(path: str) -> str:
    """Return a path whose special characters are escaped, because DuckDB expands patterns."""
    return re.sub(r"([*?\[])", r"[\1]", path)


def parquet_files(files: Sequence[Path]) -> str:
    """A query for Parquet files, columns matched by name."""
    listed = ", ".join(literal(_escaped(str(path))) for path in files)
    return f"SELECT * FROM read_parquet([{listed}], union_by_name=true)"


def relation(connection: Any, sql: str) -> Relation:
    """Return the result of a query as a relation; its columns have types."""
    found = connection.execute(f"DESCRIBE {sql}").fetchall()
    names = tuple(str(row[0]) for row in found)
    return Relation(sql, names, tuple(quoted(name) for name in names), tuple(str(row[1]) for row in found))


def chosen(table: Relation, columns: Sequence[str]) -> Relation:
    """Return a relation with some of the columns."""
    places = [table.names.index(name) for name in columns]
    return Relation(
        table.sql, tuple(columns), tuple(table.columns[i] for i in places), tuple(table.kinds[i] for i in places)
    )


def looked_at(connection: Any, table: Relation) -> ScannedTable:
    """Return the number of rows, the kind of each column and the bytes per row in memory, from one pass."""
    if _is_wide(table):
        return _looked_at_wide(connection, table)
    asked = ["count(*)"]
    for column, kind in zip(table.columns, table.kinds, strict=True):
        if kind == "TEXT":
            present = f"NOT {_missing(column)}"
            # no FILTER: DuckDB would keep a buffer of all columns for each of them
            asked += [
                f"count(CASE WHEN {present} THEN 1 END)",
                f"count(CASE WHEN {present} THEN TRY_CAST({column} AS DOUBLE) END)",
                f"count(CASE WHEN {present} AND {_is_date(column)} THEN 1 END)",
                f"avg(strlen({column}))",
            ]
        elif _is_words(kind):
            asked.append(f"avg(strlen(CAST({column} AS VARCHAR)))")
    found = list(connection.execute(f"SELECT {', '.join(asked)} FROM ({table.sql})").fetchone())
    rows = int(found.pop(0))
    kinds, size = [], 0.0
    for name, kind in zip(table.names, table.kinds, strict=True):
        if kind == "TEXT":
            present, numbers, dates, letters = (found.pop(0) for _ in range(4))
            kinds.append(NUMBER if numbers == present else DATE if dates == present else WORDS)
        else:
            kinds.append(_kind(kind, name))
            letters = found.pop(0) if _is_words(kind) else 0.0
        size += 8.0 + (TEXT_BYTES + float(letters or 0.0) if kinds[-1] == WORDS else 0.0)
    return ScannedTable(rows, tuple(kinds), size)


def _is_wide(table: Relation) -> bool:
    return len(table.columns) > WIDE and all(kind == "TEXT" for kind in table.kinds)


def _looked_at_wide(connection: Any, table: Relation) -> ScannedTable:
    """The same pass by batches of rows, in a time proportional to the number of cells."""
    rows, letters = 0, np.zeros(len(table.columns))
    seen: list[set[str]] = [set() for _ in table.columns]  # types of `typed`: float, datetime or object
    for batch in batches(connection, f"SELECT {', '.join(table.columns)} FROM ({table.sql})"):
        rows += batch.num_rows
        for place, column in enumerate(batch.columns):
            letters[place] += column.nbytes
            numbers = None if "O" in seen[place] else _numbers(column)
            if numbers is not None:
                seen[place] |= set() if np.isnan(numbers).all() else {"f"}  # missing cells decide nothing
            elif "O" not in seen[place]:
                seen[place].add(typed(column.fill_null("").to_pylist()).dtype.kind)
    kinds = tuple(NUMBER if found <= {"f"} else DATE if found == {"M"} else WORDS for found in seen)
    words = np.array([kind == WORDS for kind in kinds])
    return ScannedTable(rows, kinds, 8.0 * len(kinds) + float((TEXT_BYTES + letters / max(rows, 1))[words].sum()))


def _present(column: Any) -> Any:
    """An Arrow column of texts with null in missing cells."""
    import pyarrow as pa
    import pyarrow.compute as pc

    missing = pc.is_in(pc.utf8_trim_whitespace(column), value_set=pa.array(sorted(MISSING)))
    return pc.if_else(missing, None, column)


def _numbers(column: Any) -> Array | None:
    """An Arrow column of texts as numbers, NaN in missing cells; None if Arrow cannot read all others as numbers."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        numbers = pc.utf8_trim_whitespace(_present(column)).cast(pa.float64())
    except pa.ArrowInvalid:
        return None
    return np.array(numbers.to_numpy(zero_copy_only=False), dtype=np.float64)


def _from_arrow(column: Any, kind: str) -> Array:
    """An Arrow column of texts as the values of a kind."""
    numbers = _numbers(column) if kind == NUMBER else None
    if numbers is not None:
        return numbers
    if kind == NUMBER:
        return typed(column.fill_null("").to_pylist())  # numbers that Python reads and Arrow does not
    cells = np.empty(len(column), dtype=object)
    cells[:] = _present(column).to_pylist()
    return _array(cells, kind, "TEXT")


def shape_of_types(table: Relation, rows: int) -> ScannedTable:
    """Return the kinds of the columns by their types in DuckDB, without reading cells."""
    return ScannedTable(rows, tuple(map(_kind, table.kinds, table.names)), 0.0)


def batches(connection: Any, query: str, rows: int = 65_536) -> Iterator[Any]:
    """Yield the result of a query as Arrow record batches while it is being computed."""
    return iter(_reader(connection, query, rows))


def _reader(connection: Any, query: str, rows: int = 65_536) -> Any:
    found = connection.sql(query)
    name = "to_arrow_reader" if hasattr(found, "to_arrow_reader") else "fetch_arrow_reader"  # before DuckDB 2
    return getattr(found, name)(rows)


def _arrow_columns(connection: Any, query: str) -> dict[str, Any]:
    """Return the columns of a query by name, as Arrow arrays."""
    whole = _reader(connection, query).read_all()
    return {name: column.combine_chunks() for name, column in zip(whole.column_names, whole.columns, strict=True)}


def count(connection: Any, table: Relation) -> int:
    """The number of rows."""
    return int(connection.execute(f"SELECT count(*) FROM ({table.sql})").fetchone()[0])


def define_view(connection: Any, name: str, table: Relation, shape: ScannedTable) -> None:
    """Create a view of a table under a name, with cells of the kinds that were found."""
    asked = [
        f"{_value(column, kind, found, dates=True)} AS {quoted(label)}"
        for label, column, kind, found in zip(table.names, table.columns, table.kinds, shape.kinds, strict=True)
    ]
    connection.execute(f"CREATE VIEW {name} AS SELECT {', '.join(asked)} FROM ({table.sql})")


def fetched(connection: Any, table: Relation, shape: ScannedTable, rows: int | None, seed: int) -> Table:
    """Return the columns; with `rows`, only that many rows, drawn with the seed, in their order."""
    wide = _is_wide(table)
    asked = []
    for place, (column, kind, found) in enumerate(zip(table.columns, table.kinds, shape.kinds, strict=True)):
        asked.append(f"{column if wide else _value(column, kind, found)} AS v{place}")
    source, picked = f"({table.sql})", None
    if rows is not None and rows < shape.rows:
        # rows with a small hash of their number are taken: only slightly more rows than needed are sorted and kept
        most = int(min(1.0, (rows + 6.0 * rows**0.5 + 10.0) / shape.rows) * (2**64 - 1))
        numbered = f"SELECT *, row_number() OVER () AS {NUMBER_OF_ROW} FROM {source}"
        draw = f"hash({NUMBER_OF_ROW} + {seed} * 4294967296)"
        source, asked = f"({numbered}) WHERE {draw} <= {most}", [*asked, f"{draw} AS drawn", f"{NUMBER_OF_ROW} AS numbers"]
    query = f"SELECT {', '.join(asked)} FROM {source}"
    got = _arrow_columns(connection, query) if wide else connection.execute(query).fetchnumpy()
    numbers = None
    if "drawn" in got:
        picked = np.sort(np.argsort(np.asarray(got.pop("drawn")), kind="stable")[:rows])
        numbers = np.asarray(got.pop("numbers"))[picked].astype(np.intp) - 1
    out = {}
    for place, (name, kind, raw) in enumerate(zip(table.names, shape.kinds, table.kinds, strict=True)):
        cells = got.pop(f"v{place}")
        values = _from_arrow(cells, kind) if wide else _array(cells, kind, raw)
        if kind == DATE:
            in_range(values, name)
        out[name] = values if picked is None else values[picked]
    return Table(out, numbers)


def _value(column: str, kind: str, found: str, dates: bool = False) -> str:
    if kind == "TEXT":
        here = f"CASE WHEN {_missing(column)} THEN NULL ELSE {column} END"
        if found == DATE and dates:
            return f"make_timestamp(epoch_us(CAST({_with_seconds(here)} AS TIMESTAMPTZ)))"  # times with a zone in UTC
        return f"CAST({here} AS DOUBLE)" if found == NUMBER else here
    if found == NUMBER:
        return f"epoch({column})" if kind == "INTERVAL" else f"CAST({column} AS DOUBLE)"
    if found == WORDS and _is_words(kind):
        return f"CAST({column} AS VARCHAR)"
    return column


def _array(values: Any, kind: str, raw: str) -> Array:
    whole = type(values) is np.ndarray  # asked first, because loading np.ma takes longer than reading a row
    masked = np.ma.getmaskarray(values) if not whole and isinstance(values, np.ma.MaskedArray) else None
    plain = np.asarray(values.data if masked is not None else values)
    if kind == NUMBER:
        return plain.astype(np.float64) if masked is None else np.where(masked, np.nan, plain).astype(np.float64)
    if kind == DATE and raw != "TEXT":
        times = plain.astype("datetime64[us]")
        if masked is not None:
            times[masked] = np.datetime64("NaT")
        return times
    cells = plain.astype(object)
    if masked is not None:
        cells[masked] = None
    if kind == DATE:
        return as_times(cells)
    if kind == WORDS and _is_words(raw):  # equal texts share their memory
        known: dict[Any, Any] = {}
        cells[:] = [known.setdefault(cell, cell) for cell in cells]
    elif kind == WORDS:  # lists of tokens
        cells[:] = [cell.tolist() if isinstance(cell, np.ndarray) else cell for cell in cells]
    return cells


def _missing(column: str) -> str:
    words = ", ".join(literal(word) for word in sorted(MISSING))
    return f"({column} IS NULL OR trim({column}) IN ({words}))"


def _is_date(column: str) -> str:
    cast = f"TRY_CAST({_with_seconds(column)} AS TIMESTAMP)"
    whole = f"regexp_full_match(trim({column}), {literal(ISO_DATE)}) AND {cast} IS NOT NULL"
    return f"CASE WHEN contains({column}, '-') AND strlen({column}) > 9 THEN {whole} ELSE false END"  # most cells end here


def _with_seconds(column: str) -> str:
    """Return SQL that adds seconds to 2021-02-03T10:00+02:00: DuckDB 1.5 and older read no zone after minutes."""
    cell = f"trim({column})"
    seconds = f"substr({cell}, 1, 16) || ':00' || substr({cell}, 17)"
    return f"CASE WHEN substr({cell}, 17, 1) IN ('Z', '+', '-') THEN {seconds} ELSE {cell} END"


def _is_words(kind: str) -> bool:
    return _TEXTUAL.match(kind) is not None


def _kind(kind: str, name: str) -> str:
    if _NUMERIC.match(kind):
        return NUMBER
    if kind == "BOOLEAN":
        return TRUTH
    if _is_words(kind) or _TOKENS.match(kind):
        return WORDS
    if kind == "DATE" or kind.startswith("TIMESTAMP"):
        return DATE
    raise unreadable(name, "binary data" if kind == "BLOB" else f"cells of the type {kind[:60]}")


def one_question(connection: Any, sql: str) -> str:
    """Return a query without its semicolon; raise if it is not a single statement that only reads."""
    import duckdb

    try:
        statements = connection.extract_statements(sql)
    except duckdb.Error as error:
        raise said(error, "--sql") from None
    if len(statements) != 1 or statements[0].type.name != "SELECT":
        raise InputError('--sql takes one SELECT, such as --sql "SELECT * FROM data WHERE year > 2020".')
    return str(statements[0].query).strip().rstrip(";")


def said(error: Exception, where: str) -> InputError:
    """Return an error of DuckDB as an InputError of one line; raise other errors unchanged."""
    import duckdb

    if not isinstance(error, duckdb.Error) or isinstance(error, (duckdb.InterruptException, duckdb.OutOfMemoryException)):
        raise error
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if "not utf-8" in str(error):
        return not_utf8(where, "a line holds bytes of another encoding")
    hint = next((line for line in lines[1:] if line.startswith(("Did you mean", "Candidate", "LINE"))), "")
    return InputError(f"{where}: {lines[0] if lines else 'not readable'}{' ' + hint if hint else ''}")
