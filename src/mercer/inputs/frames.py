"""Data frames as columns: the kind of each column, its missing cells, and notes on columns without information.

pandas, polars and Arrow come through narwhals; arrays of numbers get the names x0, x1, …
"""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Floats, Indices
from mercer.errors import InputError, describe
from mercer.inputs.graphs import Graph, is_molecule
from mercer.inputs.molecules import as_smiles, fault, looks_like_molecules, shown, unreadable
from mercer.inputs.tables import Table, is_missing, missing_cells

NUMBER, CATEGORY, ORDERED, DATE, TEXT, GRAPH = "number", "category", "ordered", "date", "text", "graph"
MOLECULE = "molecule"

#: Kinds whose cells are compared by kernels of their own, not as numbers or levels.
OBJECTS = (TEXT, GRAPH, MOLECULE)

#: A text column is categorical if it has at most this many distinct values, or at most half as many as rows.
FEW_LEVELS = 20

#: Levels of a category that a model keeps, to tell new ones from known ones.
KEPT_LEVELS = 10_000

_IDENTIFIER = re.compile(r"(^|[_\s.-])(id|uuid|guid|key|index|rownames?)$|^(Unnamed: 0)$|[a-z]I[dD]$", re.IGNORECASE)

_ISO_TIME = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}([.]\d{3}|[.]\d{6})?)?(Z|[+-]\d{2}:\d{2})?)?$")

_UUID = re.compile(r"[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}$", re.IGNORECASE)


@dataclass(frozen=True)
class Column:
    """One column of a table: its cells, their kind, and a note."""

    _stored: ClassVar[dict[str, str]] = {
        "name": "text",
        "kind": f"word {NUMBER} {CATEGORY} {ORDERED} {DATE} {TEXT} {GRAPH} {MOLECULE}",
        "note": "text",
    }

    name: str
    kind: str  # one of the seven kinds above
    cells: Any  # (n,) float array with NaN for missing numbers, otherwise a list of n cells with None for missing ones
    holes: NDArray[np.bool_]  # (n,)
    levels: tuple[Hashable, ...] = ()  # in order, for ordered categories; of a fitted model, of all categories
    note: str = ""  # why it is not used: constant, identifier, duplicate, all missing; otherwise empty

    def observed(self) -> Any:
        """Return the cells that are not missing."""
        if isinstance(self.cells, np.ndarray):
            return self.cells[~self.holes]
        return [cell for cell, hole in zip(self.cells, self.holes, strict=True) if not hole]

    def take(self, rows: Indices) -> Column:  # (m,)
        """Return some rows of the column."""
        cells = self.cells[rows] if isinstance(self.cells, np.ndarray) else [self.cells[i] for i in rows]
        return replace(self, cells=cells, holes=self.holes[rows])


def without_cells(column: Column) -> Column:
    """Return a column without its cells; of categories the levels are kept, unless there are very many."""
    levels = column.levels
    if column.kind == CATEGORY:
        known = tuple(dict.fromkeys(column.observed()))
        levels = known if len(known) <= KEPT_LEVELS else ()
    return replace(column, cells=[], holes=column.holes[:0], levels=levels)


def unseen(column: Column, known: Column) -> list[Any]:
    """Return the cells of a column of categories that are not levels of the column of a training table."""
    if known.kind != CATEGORY or not known.levels:
        return []
    levels = set(known.levels)
    return [cell for cell in column.observed() if cell not in levels]


def some_rows(columns: list[Column], rows: Indices) -> list[Column]:  # (m,)
    """Return some rows of columns; the kinds stay those of the whole columns."""
    return [column.take(rows) for column in columns]


def as_if_alone(columns: list[Column], rows: Indices) -> list[Column]:  # (m,)
    """Return some rows of columns with the kinds that `read_columns` would give a table of these rows only."""
    found = []
    for column in some_rows(columns, rows):
        here = column.observed()
        words = column.kind in (CATEGORY, TEXT) and not (here and isinstance(here[0], list))
        found.append(replace(column, kind=_words(here)) if words else column)
    return found


def read_columns(frame: Any, name: str = "X", *, unchecked: bool = False) -> list[Column]:
    """Return the columns of a frame or array with their kinds; raise if two columns have the same name.

    Texts that are nearly all SMILES are molecules, and cells that RDKit cannot read raise an error unless `unchecked`.
    A `Table` may say otherwise: `kinds` of some columns.
    """
    if isinstance(frame, list) and frame and isinstance(frame[0], Column):
        return frame  # read before
    names, columns = _raw(frame, name)
    repeated = [label for label, count in Counter(names).items() if count > 1]
    if repeated:
        raise InputError(f"{name} has two columns named {repeated[0]!r}; give every column a name of its own.")
    kinds = frame.kinds if isinstance(frame, Table) else {}
    found = [
        _column(label, cells, levels, dtype, kinds.get(label, ""))
        for label, (cells, levels, dtype) in zip(names, columns, strict=True)
    ]
    for column in found:
        if column.kind == MOLECULE and not unchecked:
            check_molecules(column, name, frame.numbers if isinstance(frame, Table) else None)
    return found


def as_table(data: Any, name: str = "X") -> Any:
    """Return a `Table` of a dict of columns, of a dict that is one row, or of a list of dicts; other data unchanged.

    A row of a list may leave out cells, which are then missing.
    """
    if isinstance(data, Mapping):
        single = not any(isinstance(cells, (Sequence, np.ndarray)) and not isinstance(cells, str) for cells in data.values())
        columns = {str(label): [cells] if single else list(cells) for label, cells in data.items()}
        sizes = {label: len(cells) for label, cells in columns.items()}
        if len(set(sizes.values())) > 1:
            shown = ", ".join(f"{label!r} has {size}" for label, size in list(sizes.items())[:6])
            raise InputError(f"{name}: the columns of the dict have different lengths ({shown}). Give one cell per row.")
    elif isinstance(data, (list, tuple)) and data and all(isinstance(row, Mapping) for row in data):
        columns = {
            label: [row.get(label) for row in data] for label in dict.fromkeys(label for row in data for label in row)
        }
    else:
        return data
    if not columns:
        raise InputError(f"{name} has no columns.")
    return Table({str(label): _cells(cells) for label, cells in columns.items()})


def _cells(cells: list[Any]) -> Any:  # -> (n,)
    numbers = [cell for cell in cells if not is_missing(cell)]
    if numbers and all(isinstance(cell, (int, float, np.number)) and not isinstance(cell, bool) for cell in numbers):
        return np.array([np.nan if is_missing(cell) else float(cell) for cell in cells])
    found = np.empty(len(cells), dtype=object)
    found[:] = cells
    return found


def check_molecules(column: Column, name: str, numbers: Indices | None = None) -> None:
    """Raise if a cell of a column of molecules cannot be read; `numbers` are those of the rows in a file."""
    bad = unreadable(column.cells)
    if len(bad):
        row = int(bad[0]) if numbers is None else int(numbers[bad[0]]) + 1
        more = f", and {len(bad) - 1} more cells" if len(bad) > 1 else ""
        raise InputError(
            f"{name}: column {column.name!r} holds molecules, and {shown(column.cells[bad[0]])} at row {row} "
            f"{fault(column.cells[bad[0]])}{more}; correct it, empty the cell, or leave the row out."
        )


def noted(columns: list[Column]) -> list[Column]:
    """Return the columns with notes on those without information: constant, all missing, identifiers, duplicates."""
    seen: dict[Any, str] = {}
    found = []
    for column in columns:
        note = _note(column)
        key = _content(column)
        if not note and key in seen:
            note = f"duplicate of {seen[key]!r}"
        seen.setdefault(key, column.name)
        found.append(replace(column, note=note))
    return found


def like(columns: list[Column], training: list[Column], name: str = "X") -> list[Column]:
    """Return new columns in the order and with the kinds of the training table; raise if a column has another type."""
    given = {column.name: column for column in columns}
    lacking = [column.name for column in training if column.name not in given]
    if lacking:
        raise InputError(f"{name} has no column {lacking[0]!r}, which the training table had.")
    return [_as_kind(given[old.name], old, name) for old in training]


def _as_kind(new: Column, old: Column, name: str) -> Column:
    if old.kind == MOLECULE and new.kind in (TEXT, CATEGORY):  # too few rows to tell, or a cell that is no molecule
        same = replace(new, kind=MOLECULE)
        check_molecules(same, name)
        return same
    if new.kind == old.kind or new.holes.all():
        cells = np.full(len(new.holes), np.nan) if old.kind == NUMBER and new.holes.all() else new.cells
        return replace(new, kind=old.kind, levels=old.levels, cells=cells)
    words = {CATEGORY, TEXT, ORDERED, MOLECULE}
    if new.kind in words and old.kind in words:
        return replace(new, kind=old.kind, levels=old.levels)
    if old.kind in words and new.kind == DATE:  # texts of a model that did not look for dates
        return replace(
            new, kind=old.kind, levels=old.levels, cells=[cell if cell is None else str(cell) for cell in new.cells]
        )
    if old.kind in words and new.kind == NUMBER:  # categories written as numbers
        return replace(new, kind=old.kind, levels=old.levels, cells=_plain(new.cells))
    odd = next((cell for cell in new.observed() if old.kind == NUMBER and not is_number(cell)), None)
    shown = "" if odd is None else f", such as {str(odd)[:40]!r}"
    raise InputError(
        f"{name}: column {old.name!r} changed its type: {_many(old.kind)} in training, {_many(new.kind)} now{shown}. "
        "Correct the cell, or leave it empty."
    )


def is_number(cell: Any) -> bool:
    """Whether a cell is a number or the text of one."""
    try:
        float(cell)
    except (TypeError, ValueError):
        return False
    return True


def _many(kind: str) -> str:
    return {
        NUMBER: "numbers",
        CATEGORY: "categories",
        ORDERED: "ordered categories",
        DATE: "dates",
        TEXT: "text",
        GRAPH: "graphs",
    }.get(kind, "molecules")


def _raw(frame: Any, name: str) -> tuple[list[str], list[tuple[Any, tuple[Hashable, ...], str]]]:
    frame = as_table(frame, name)
    if isinstance(frame, np.ndarray) or (isinstance(frame, (list, tuple)) and not hasattr(frame, "columns")):
        return _from_array(frame, name)
    if not hasattr(frame, "columns") and hasattr(frame, "__array__"):
        return _from_array(np.asarray(frame), name)
    if not hasattr(frame, "columns"):
        raise InputError(f"{name} is {describe(frame)}; give a data frame (pandas, polars, Arrow) or an (n, d) array.")
    labels = getattr(frame, "column_names", None) or list(frame.columns)
    names = [label if isinstance(label, str) else str(label) for label in labels]
    if len(set(names)) < len(names):
        return names, []  # the caller says so
    if not names:
        raise InputError(f"{name} has no columns.")
    if isinstance(frame, Table):
        return names, [(frame[label].to_numpy(), (), "") for label in labels]
    import narwhals.stable.v2 as nw

    try:
        table = nw.from_native(frame, eager_only=True)
    except TypeError:  # columns by name, each an array
        return names, [(frame[label].to_numpy(), (), "") for label in labels]
    return names, [_series(table[:, i]) for i in range(len(names))]


def _series(series: Any) -> tuple[Any, tuple[Hashable, ...], str]:
    import narwhals.stable.v2 as nw

    dtype = series.dtype
    if dtype.is_numeric():
        return series.cast(nw.Float64()).to_numpy(), (), NUMBER
    levels: tuple[Hashable, ...] = ()
    if dtype == nw.Enum or (dtype == nw.Categorical and getattr(getattr(series.to_native(), "cat", None), "ordered", False)):
        levels = tuple(series.cat.get_categories().to_list())
    return series.to_list(), levels, ""


def _from_array(data: Any, name: str) -> tuple[list[str], list[tuple[Any, tuple[Hashable, ...], str]]]:
    try:
        table = np.asarray(data)
        if table.dtype.kind in "US" and not isinstance(data, np.ndarray):
            table = np.array(data, dtype=object)
    except ValueError:
        raise InputError(f"{name} is ragged: its rows have different lengths. Give an (n, d) table.") from None
    if table.ndim == 1 and table.size == 0:
        raise InputError(f"{name} is empty: it has no rows.")
    if table.ndim != 2:
        raise InputError(
            f"{name} has shape {table.shape}; a table is (n, d). Reshape your data: one column is {name}.reshape(-1, 1)."
        )
    if 0 in table.shape:
        raise InputError(
            f"{name} is empty: {table.shape[0]} sample(s) and {table.shape[1]} feature(s) (shape={table.shape}) "
            "while a minimum of 1 is required."
        )
    if table.dtype.kind == "c":
        raise InputError(f"{name}: Complex data not supported; give real and imaginary parts as two columns.")
    names = [f"x{i}" for i in range(table.shape[1])]
    if table.dtype.kind in "fiub":
        return names, [(column, (), NUMBER) for column in table.T.astype(np.float64)]
    return names, [(column.tolist(), (), "") for column in table.T]


def _column(name: str, cells: Any, levels: tuple[Hashable, ...], known: str, asked: str) -> Column:
    if known == NUMBER or (isinstance(cells, np.ndarray) and cells.dtype.kind in "fiu"):
        return _numbers(name, np.asarray(cells, dtype=np.float64))
    cells = list(cells)
    holes = missing_cells(cells)
    here = [cell for cell, hole in zip(cells, holes, strict=True) if not hole]
    clean = [None if hole else cell for cell, hole in zip(cells, holes, strict=True)]
    if levels:
        return Column(name, ORDERED, _plain(clean), holes, levels)
    if here and all(isinstance(cell, (int, float, np.number)) and not isinstance(cell, (bool, np.bool_)) for cell in here):
        return _numbers(name, np.array([np.nan if cell is None else float(cell) for cell in clean]))
    if here and all(isinstance(cell, (datetime.date, np.datetime64)) for cell in here):
        return Column(name, DATE, clean, holes)
    if here and (isinstance(here[0], Graph) or hasattr(here[0], "is_directed")):
        return Column(name, GRAPH, clean, holes)
    if here and is_molecule(here[0]):
        return Column(name, MOLECULE, [as_smiles(cell) for cell in clean], holes)
    unhashable = next((cell for cell in here if isinstance(cell, (list, dict, set, np.ndarray))), None)
    if isinstance(unhashable, list):
        return Column(name, TEXT, clean, holes)  # tokens
    if unhashable is not None:
        raise InputError(
            f"column {name!r} holds {describe(unhashable)}; argument must be a string or a number in every cell."
        )
    if not asked and (times := _iso_times(clean)) is not None:
        return Column(name, DATE, times, holes)
    kind = asked or _words(here)
    if kind == TEXT and not asked and looks_like_molecules(here):
        kind = MOLECULE
    return Column(name, kind, [None if hole else str(cell) for cell, hole in zip(clean, holes, strict=True)] if asked else
                  _plain(clean), holes)  # fmt: skip


def _iso_times(cells: list[Any]) -> list[Any] | None:
    """Return texts as dates, or as times without a zone; None unless every text is written in ISO form."""
    here = [cell for cell in cells if cell is not None]
    if not here or not all(isinstance(cell, str) and _ISO_TIME.match(cell) for cell in here):
        return None
    try:
        if all(len(cell) == len("2026-11-16") for cell in here):
            return [None if cell is None else datetime.date.fromisoformat(cell) for cell in cells]
        times = [None if cell is None else datetime.datetime.fromisoformat(cell) for cell in cells]
    except ValueError:  # such as February 30
        return None
    return [time.astimezone(datetime.UTC).replace(tzinfo=None) if time and time.tzinfo else time for time in times]


def _numbers(name: str, values: Floats) -> Column:
    if np.isinf(values).any():
        row = int(np.flatnonzero(np.isinf(values))[0])
        raise InputError(f"column {name!r} has an infinite value (inf) at row {row}; numbers must be finite, or missing.")
    largest = float(np.nanmax(np.abs(values))) if not np.isnan(values).all() else 0.0
    if largest > 1e150:
        raise InputError(f"column {name!r} holds {largest:.3g}; numbers must be below 1e150, so that squares are numbers.")
    return Column(name, NUMBER, values, np.isnan(values))


def _plain(cells: Any) -> list[Any]:
    plain = (cell.item() if isinstance(cell, np.generic) else cell for cell in cells)
    return [
        None if is_missing(cell) else (int(cell) if isinstance(cell, float) and cell.is_integer() else cell)
        for cell in plain
    ]


def _words(cells: list[Any]) -> str:
    if not all(isinstance(cell, str) for cell in cells):
        return CATEGORY
    different = len(set(cells))
    few = different <= FEW_LEVELS or 2 * different <= len(cells)
    return CATEGORY if few else TEXT


def _note(column: Column) -> str:
    if column.holes.all():
        return "all missing"
    here = column.observed()
    if column.kind == GRAPH or (column.kind == TEXT and isinstance(here[0], list)):
        return ""
    if column.kind == NUMBER:
        spread = float(np.ptp(here))
        if spread <= 1e-12 * max(1.0, float(np.abs(here).max())) and not column.holes.any():
            return "constant"
        return "identifier" if len(here) >= FEW_LEVELS and _counts_rows(column.name, here) else ""
    different = len(set(here))
    if different == 1 and not column.holes.any():
        return "constant"
    if different == len(here) >= FEW_LEVELS and column.kind in (TEXT, CATEGORY):
        shapes = {re.sub(r"[0-9]", "0", str(cell)) for cell in here}  # such as A-00000
        if (len(shapes) == 1 and "0" in next(iter(shapes))) or _UUID.match(str(here[0])) or _IDENTIFIER.search(column.name):
            return "identifier"
    return ""


def _counts_rows(name: str, values: Floats) -> bool:
    """Whether values are distinct whole numbers that are consecutive, or whose column is named like an identifier."""
    if not np.all(values == np.round(values)) or len(np.unique(values)) < len(values):
        return False
    gapless = float(np.ptp(values)) == len(values) - 1
    return bool(_IDENTIFIER.search(name)) or (gapless and bool(np.all(np.diff(values) == 1)))


def _content(column: Column) -> Any:
    if isinstance(column.cells, np.ndarray):
        return column.cells.tobytes()
    if column.kind == GRAPH or any(isinstance(cell, list) for cell in column.cells[:20]):
        return id(column)
    return (column.kind, tuple(column.cells))
