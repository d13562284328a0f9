"""Parts of a table in files as workers of a cluster read them: cells of their kinds, then rows as vectors with targets."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Array, Floats
from mercer.errors import InputError
from mercer.estimators.tables.encoding import Encoding
from mercer.estimators.tables.targets import Transform
from mercer.inputs.chunk_files import FilePart
from mercer.inputs.chunks import Chunks, UnreadPart, chunks
from mercer.inputs.delimited import has_decimal_commas, typed
from mercer.inputs.frames import Column, like, read_columns
from mercer.inputs.reading import CSV, STDIN
from mercer.inputs.tables import Table
from mercer.workflow.chunk_split import FITTED, Draw
from mercer.workflow.columns import class_labels, holes

#: A chunk is not made smaller than this to keep all workers busy: a task costs some milliseconds.
FEWEST_ROWS = 1000

#: Chunks for every thread of the workers, at least, where there are rows enough.
PER_THREAD = 2


class TypedPart:
    """The rows of one part as the reader of whole tables would give them: words of a CSV file may be dates, or missing."""

    def __init__(self, load: FilePart) -> None:
        self.load = load

    def __call__(self) -> tuple[Table, None, None]:
        table = self.load()[0]
        found = {name: table[name].to_numpy() for name in table.columns}
        if self.load.kind == CSV:
            found = {name: self._typed(name, values) for name, values in found.items()}
        return Table(found), None, None

    def _typed(self, name: str, values: Array) -> Array:
        if values.dtype.kind == "f":
            return values
        if has_decimal_commas(values[:100]):
            raise InputError(
                f"{self.load.path}: the column {name!r} holds numbers with decimal commas, which would be read as words; "
                "write 1.5 and not 1,5."
            )
        return typed(["" if cell is None else cell for cell in values])


def table_parts(data: str, columns: Sequence[str] | None, threads: int, rows: int | None = None) -> list[TypedPart]:
    """The parts of a file, a folder or a glob, as many as keep all threads busy; `rows` sets the size of one."""
    if data == STDIN:
        raise InputError("- is standard input, which workers cannot read; with --scheduler give files on a disk they share.")
    place = data if "://" in data else os.path.abspath(data)  # workers have a folder of their own
    found: list[Any] = [part.load for part in chunks(place, columns=columns, rows=rows).parts]
    n = sum(load.stop - load.start for load in found)
    most = max(FEWEST_ROWS, -(-n // (PER_THREAD * threads))) if rows is None else n
    return [TypedPart(load) for load in _cut(found, most)]


def _cut(parts: Sequence[FilePart], most: int) -> Iterator[FilePart]:
    for part in parts:
        for start in range(part.start, part.stop, most):
            yield replace(part, start=start, stop=min(start + most, part.stop))


def names_in(parts: Sequence[TypedPart]) -> list[str]:
    """The columns of the table."""
    return list(parts[0].load.columns)


def bytes_of(parts: Sequence[TypedPart]) -> int:
    """The size of the files."""
    return sum(Path(path).stat().st_size for path in {part.load.path for part in parts})


def lengths_of(parts: Sequence[TypedPart]) -> tuple[int, ...]:
    """How many rows each part has."""
    return tuple(part.load.stop - part.load.start for part in parts)


def as_source(parts: Sequence[Any], lengths: tuple[int, ...], client: Any) -> Chunks:
    """Parts of either kind as what a fit goes through."""
    return Chunks([UnreadPart(where(part), part) for part in parts], lengths, client=client)


def where(part: Any) -> str:
    """What a part is called in messages."""
    load = part.load
    return f"{load.path}, rows {load.start} … {load.stop - 1}:"


def left_out(table: Table, target: str, names: Sequence[str], drop_missing: bool) -> NDArray[np.bool_]:  # -> (n,)
    """Rows that teach nothing: without a target, or with missing cells where such rows are not wanted."""
    out = holes(table[target].to_numpy())
    if drop_missing:
        out = out | np.any([holes(table[name].to_numpy()) for name in names], axis=0)
    return np.asarray(out)


@dataclass(frozen=True)
class Reading:
    """How a part becomes vectors and targets: the same on every worker."""

    draw: Draw
    names: tuple[str, ...]  # of all columns of the question, which decide which rows are whole
    used: tuple[Column, ...]
    encoding: Encoding
    target: str
    transform: Transform
    classes: Array | None  # (c,) for labels
    drop_missing: bool

    def vectors(self, table: Table) -> Floats:  # -> (n, d)
        """Rows of a table as the kernels take them."""
        columns = like(read_columns(table[[column.name for column in self.used]]), list(self.used))
        return self.encoding({column.name: column for column in columns})

    def targets(self, y: Array) -> Floats:  # (n,) -> (n,), or (n, c) for labels
        """Targets as they are learned."""
        if self.classes is None:
            return self.transform.forward(np.asarray(y, dtype=np.float64)[:, None])[:, 0]
        return np.eye(len(self.classes))[np.searchsorted(self.classes, self.labels(y))]

    def labels(self, y: Array) -> Array:  # (n,) -> (n,)
        """Targets in the units of the answer: numbers, or classes by their names."""
        if self.classes is None:
            return np.asarray(y, dtype=np.float64)
        if self.classes.dtype.kind == "i":
            return y.astype(np.int64)
        return y.astype(str) if y.dtype.kind != "f" else np.array([f"{value:g}" for value in y.tolist()])


class EncodedPart:
    """The rows of one part that are for the fit, or all that are for anything, as vectors with their targets."""

    def __init__(self, part: TypedPart, first: int, reading: Reading, everything: bool) -> None:
        self.part, self.first, self.reading, self.everything = part, first, reading, everything

    @property
    def load(self) -> FilePart:
        """Where the rows are."""
        return self.part.load

    def __call__(self) -> tuple[Any, Any, None]:
        reading, table = self.reading, self.part()[0]
        wanted = ~left_out(table, reading.target, reading.names, reading.drop_missing)
        if not self.everything:
            wanted &= reading.draw.roles(self.first, len(table)) == FITTED
        rows = np.flatnonzero(wanted)
        if not len(rows):
            return np.empty((0, len(reading.encoding.names))), None, None
        some = table[rows]
        return reading.vectors(some), reading.targets(some[reading.target].to_numpy()), None


def class_names(values: Sequence[Any]) -> Array:  # -> (c,)
    """The different values of a target as names of classes, in order."""
    words = any(not isinstance(value, float) for value in values)
    return np.unique(class_labels(np.array(list(values), dtype=object if words else np.float64)))
