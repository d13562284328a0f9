"""`Table`, the minimal table of columns, and the conversion of its cells."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Array, Floats, Indices
from mercer.errors import InputError, MissingExtraError, describe, install_command
from mercer.inputs.delimited import MISSING, read_cells, read_header
from mercer.inputs.sequences import read_fasta

EPOCH = datetime.datetime(1970, 1, 1)
SECONDS = 86_400.0


def is_missing(cell: Any) -> bool:
    """Whether a value is None, NaN, NaT or a missing value of a data frame."""
    if cell is None or type(cell).__name__ == "NAType":
        return True
    try:
        return bool(cell != cell)  # NaN and NaT equal nothing, not even themselves
    except (TypeError, ValueError):
        return False


def missing_cells(cells: Any) -> NDArray[np.bool_]:  # n cells -> (n,)
    """Return a mask of the missing cells."""
    if isinstance(cells, np.ndarray) and cells.dtype.kind == "f":
        return np.isnan(cells).reshape(len(cells))
    if isinstance(cells, np.ndarray) and cells.dtype.kind == "M":
        return np.isnat(cells).reshape(len(cells))
    return np.fromiter((is_missing(cell) for cell in cells), dtype=bool, count=len(cells))


def as_categories(cells: Sequence[Any], name: str) -> list[Hashable]:
    """Return cells as plain hashable values; raise if a cell is missing or is a container."""
    found: list[Hashable] = []
    for row, cell in enumerate(cells):
        value = cell.item() if isinstance(cell, np.generic) else cell
        if is_missing(value):
            raise InputError(f"{name} has a missing cell at row {row}; say what a hole is: k.missing(sample).")
        if isinstance(value, (list, dict, set, np.ndarray)):
            raise InputError(
                f"{name} holds {describe(value)} at row {row}; a category is a word, a number or True or False."
            )
        found.append(value)
    return found


def as_days(cells: Sequence[Any], name: str) -> Floats:  # n cells -> (n, 1)
    """Return dates and times as days since 1970-01-01; times with a zone are converted to UTC."""
    days = [_day(cell, name, row) for row, cell in enumerate(cells)]
    return np.array(days, dtype=np.float64)[:, None]


def time_text(cell: Any) -> str:
    """Return a date or time as text, without seconds if they are 0, and without the time if it is midnight.

    >>> time_text(np.datetime64("2026-11-16T00:00:00.000000")), time_text(datetime.datetime(2026, 11, 16, 9, 30))
    ('2026-11-16', '2026-11-16T09:30')
    """
    text = str(cell).replace(" ", "T").removesuffix(".000000")
    text = text.removesuffix(":00") if text.count(":") == 2 else text
    return text.removesuffix("T00:00")


def _day(cell: Any, name: str, row: int) -> float:
    if is_missing(cell):
        raise InputError(f"{name} has a missing date at row {row}; say what a hole is: k.dates().missing(sample).")
    if isinstance(cell, str):
        try:
            cell = datetime.datetime.fromisoformat(cell)
        except ValueError:
            raise InputError(
                f"{name} holds {cell!r} at row {row}; dates are written in ISO form, 2026-11-16T09:30."
            ) from None
    if isinstance(cell, np.datetime64):
        return float(cell.astype("datetime64[us]").astype(np.int64)) / (1e6 * SECONDS)
    if isinstance(cell, datetime.datetime):
        if cell.tzinfo is not None:
            cell = cell.astimezone(datetime.UTC).replace(tzinfo=None)
        return (cell - EPOCH).total_seconds() / SECONDS
    if isinstance(cell, datetime.date):
        return float((cell - EPOCH.date()).days)
    if isinstance(cell, (int, float, np.number)) and not isinstance(cell, bool):
        return float(cell)  # days already
    raise InputError(f"{name} holds {describe(cell)} at row {row}; a date, a time or ISO text was expected.")


def unreadable(name: str, what: str) -> InputError:
    """Return the error for a column whose cells are neither numbers, dates, texts nor lists of texts."""
    return InputError(
        f"the column {name!r} holds {what}, which is not read; leave it out with --sql 'SELECT other, columns FROM data', "
        "or write it as numbers or text."
    )


def in_range(times: Array, name: str) -> Array:  # (n,) of any unit
    """Return times; raise if one is outside of the years 1 to 9999, which Python's dates cannot hold."""
    seconds = times.astype("datetime64[s]")  # nanoseconds reach the year 2262 only, and are not compared with others
    if bool(((seconds < np.datetime64("0001-01-01")) | (seconds >= np.datetime64("10000-01-01"))).any()):
        raise InputError(
            f"the column {name!r} holds a time outside of the years 1 to 9999; correct it, or leave it out with --sql."
        )
    return times


class TableColumn:
    """One column of a Table."""

    def __init__(self, values: Array) -> None:
        self._values = values

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values.tolist())

    def to_numpy(self) -> Array:
        """Return the values: float64 for numbers, objects for anything else."""
        return self._values


class Table:
    """Named columns: the part of the data frame interface that kernels use, without a data-frame library.

    Rows keep their `numbers` in the source when a table is sliced. `kinds` says of some columns that they are "text" or
    "molecule", which is otherwise found out.
    """

    def __init__(
        self, data: dict[str, Array], numbers: Indices | None = None, kinds: Mapping[str, str] | None = None
    ) -> None:
        self._data, self._numbers = data, numbers
        self.kinds: Mapping[str, str] = {} if kinds is None else kinds
        self.columns = list(data)
        self.shape = (len(next(iter(data.values()))), len(data))

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> Any:
        """Return a column by name, a table by a list of names, or rows by a slice, a list or an array of row numbers."""
        if isinstance(key, str):
            return TableColumn(self._data[key])
        if isinstance(key, list) and all(isinstance(name, str) for name in key):
            return Table({name: self._data[name] for name in key}, self._numbers, self.kinds)
        return Table({name: values[key] for name, values in self._data.items()}, self.numbers[key], self.kinds)

    def with_kinds(self, kinds: Mapping[str, str]) -> Table:
        """Return the same table with the kinds of some columns decided."""
        return Table(self._data, self._numbers, kinds)

    @property
    def numbers(self) -> Indices:  # -> (n,)
        """The number of every row in the source; the first is 0."""
        return np.arange(len(self)) if self._numbers is None else self._numbers

    def vstack(self, other: Table) -> Table:
        """Return the rows of both tables with the columns of this one; a column of two types holds objects."""
        both = {name: _stacked(values, other._data[name]) for name, values in self._data.items()}
        return Table(both, kinds=self.kinds)

    def to_numpy(self) -> Array:
        """Return the whole table as one array, (n, columns)."""
        return np.column_stack(list(self._data.values()))


def _stacked(left: Array, right: Array) -> Array:
    if left.dtype.kind == right.dtype.kind:
        return np.concatenate([left, right])
    both = np.empty(len(left) + len(right), dtype=object)
    both[: len(left)], both[len(left) :] = left.tolist(), right.tolist()
    return both


def read(path: Path) -> Any:
    """Return the data of a file: a Table, an array, a CSR array or a list of strings."""
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise InputError(
            f"{path}: cannot tell what kind of file this is from its name; it must end in {', '.join(_READERS)}."
        )
    try:
        return reader(path)
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file; check the name and the folder.") from None
    except IsADirectoryError:
        raise InputError(f"{path}: this is a folder; give a file in it.") from None
    except PermissionError:
        raise InputError(f"{path}: no permission to read this file.") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text (byte {error.start}); save the file as UTF-8.") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}.") from None


# -- text --------------------------------------------------------------------------------------------------------------


def _read_csv(path: Path) -> Table:
    cells = read_cells(path, str(path), read_header(path, str(path)))
    return Table({name: _column(column) for name, column in cells.items()})


def _column(cells: list[str]) -> Array:
    """Return numbers, or the cells as they are written, because a string kernel accepts any text."""
    try:
        return np.array([np.nan if cell.strip() in MISSING else float(cell) for cell in cells])
    except ValueError:
        return np.array(cells, dtype=object)


def _read_lines(path: Path) -> list[str]:
    lines = path.read_text(encoding="utf-8-sig").split("\n")
    if lines[-1] == "":  # after the end of the last line, not an empty string
        lines.pop()
    if not lines:
        raise InputError(f"{path}: the file is empty; write one string per line.")
    return lines


# -- binary ------------------------------------------------------------------------------------------------------------


def _read_npy(path: Path) -> Any:
    return _array(path, _load(path))


def _read_npz(path: Path) -> Any:
    with _load(path) as archive:
        names = list(archive.files)
        if {"format", "data", "shape"} <= set(names):  # written by scipy.sparse.save_npz
            from scipy.sparse import load_npz

            return load_npz(path)
        if len(names) != 1 and "X" not in names:
            raise InputError(f"{path}: holds {len(names)} arrays ({', '.join(names[:8])}); save one, or call it X.")
        try:
            return _array(path, archive["X" if "X" in names else names[0]])
        except ValueError as error:
            raise _damaged(path, error) from None


def _load(path: Path) -> Any:
    try:
        return np.load(path, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise _damaged(path, error) from None
    except Exception as error:  # a damaged zip archive raises many types of errors
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise _damaged(path, error) from None


def _damaged(path: Path, error: Exception) -> InputError:
    if "Object arrays" in str(error):  # NumPy mentions pickles also if the file is not an array at all
        return InputError(f"{path}: holds Python objects, which are not loaded; save an array of numbers or of strings.")
    return InputError(f"{path}: the file is damaged, or not what its name says; write it again with NumPy.")


def _array(path: Path, array: Any) -> Any:
    if not isinstance(array, np.ndarray):
        raise InputError(f"{path}: holds several arrays under the name of one; call the file .npz.")
    return array.tolist() if array.dtype.kind in "US" and array.ndim == 1 else array


def _read_parquet(path: Path) -> Table:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingExtraError(f"{path}: reading Parquet needs pyarrow: {install_command('cli')}") from None
    with path.open("rb") as file:
        try:
            table = pq.read_table(file)
        except (pa.ArrowException, OSError):
            raise InputError(f"{path}: the file is damaged, or not Parquet; write it again.") from None
    if table.num_rows == 0 or table.num_columns == 0:
        raise InputError(f"{path}: the table is empty ({table.num_rows} rows, {table.num_columns} columns).")
    return Table({name: _truth_as_numbers(arrow_column(table[name], name)) for name in table.column_names})


def _truth_as_numbers(values: Array) -> Array:
    return values.astype(np.float64) if {type(value) for value in values} <= {bool, np.bool_} else values


def arrow_column(column: Any, name: str) -> Array:
    """Return a column of an Arrow table: numbers, times or objects; missing cells are NaN, NaT and None.

    Integers beyond 2^53 are rounded to float64, nanoseconds to microseconds; durations become seconds, times of day text.
    """
    import pyarrow as pa

    column, kind = _plain_arrow(column)
    is_ = pa.types
    if is_.is_integer(kind) or is_.is_floating(kind) or is_.is_decimal(kind):
        return np.asarray(column.cast(pa.float64(), safe=False).to_numpy())  # a missing value becomes NaN
    if is_.is_duration(kind):
        return column.to_numpy() / np.timedelta64(1, "s")
    if is_.is_timestamp(kind) or is_.is_date(kind):  # times with a zone are in UTC
        return in_range(np.asarray(column.to_numpy()), name).astype("datetime64[us]")
    if is_.is_list(kind) or is_.is_large_list(kind) or is_.is_fixed_size_list(kind):
        known = is_.is_integer(kind.value_type) or is_.is_string(kind.value_type) or is_.is_large_string(kind.value_type)
    else:
        known = is_.is_boolean(kind) or is_.is_null(kind) or str(kind) in ("string", "large_string", "string_view")
    if not known and not is_.is_time(kind):
        raise unreadable(name, "binary data" if "binary" in str(kind) else f"cells of the type {str(kind)[:60]}")
    values = np.empty(len(column), dtype=object)
    values[:] = [str(cell) if is_.is_time(kind) and cell is not None else cell for cell in column.to_pylist()]
    return values


def _plain_arrow(column: Any) -> tuple[Any, Any]:
    """Return a column without dictionary, run-end or extension encoding, and its type."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        column = pa.chunked_array([chunk.storage for chunk in column.chunks], kind.storage_type)
    elif pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
    elif pa.types.is_run_end_encoded(kind):
        column = pa.chunked_array([pc.run_end_decode(chunk) for chunk in column.chunks], kind.value_type)
    return column, column.type


_READERS: dict[str, Callable[[Path], Any]] = {
    ".csv": _read_csv,
    ".tsv": _read_csv,
    ".npy": _read_npy,
    ".npz": _read_npz,
    ".parquet": _read_parquet,
    ".txt": _read_lines,
    **dict.fromkeys((".fasta", ".fa", ".faa", ".fna"), lambda path: list(read_fasta(path))),
}
