"""`Rows`: a validated collection of data, with the views that kernels use.

A kernel never reads raw input. It takes a view of its `Rows` (vectors, strings, graphs, some columns, the image under a
map). `Rows` validates the data once and caches each view, so two terms of a sum that need the same view share it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.arrays import Array, Floats
from mercer.errors import InputError, describe
from mercer.inputs.graphs import Graph, as_graph, as_molecule
from mercer.inputs.series import as_series, channels_of, is_series
from mercer.inputs.vectors import Matrix, as_vectors, check_finite, check_size, is_frame

T = TypeVar("T")


class Rows:
    """A validated collection of n objects; `name` is its name in error messages.

    Rows taken from a collection keep their `places` in it, which are used to look up precomputed kernel values.
    """

    places: Array | None = None  # (n,), None for 0 … n - 1
    origin: int  # the number of rows of the collection that they were taken from

    def __init__(self, data: Any, name: str = "X", weights: Array | None = None) -> None:
        ordered = hasattr(data, "__len__") and not isinstance(data, (str, bytes, dict, set, frozenset))
        if not (ordered or sp.issparse(data)) or getattr(data, "shape", None) == ():
            raise InputError(
                f"{name} is {describe(data)}, not a collection. Give an (n, d) array, a data frame, or a list of "
                "strings or graphs."
            )
        self.data = data
        self.name = name
        self.weights = weights  # multiplicity of each row in a median; None is once
        self.length = count(data)
        if self.length == 0:
            raise InputError(f"{name} is empty: it has no rows.")
        self.origin = self.length
        self._memo: dict[Hashable, Any] = {}
        self._by_row: set[Hashable] = set()  # keys of views of which rows are taken with those of the collection

    @classmethod
    def computed(cls, X: Array, name: str = "X", weights: Array | None = None) -> Rows:  # (n, d)
        """Return Rows of a float array that was computed from valid data: only overflow is checked."""
        rows = cls(X, name, weights)
        check_finite(X, name)
        rows._memo["vectors"] = np.ascontiguousarray(X)
        return rows

    def __len__(self) -> int:
        return self.length

    def remember(self, key: Hashable, make: Callable[[], T], by_row: bool = False) -> T:
        """Return the view stored under `key`, which the first call computes.

        With `by_row`, it has a method `take`, and rows that are taken later have those of the view.
        """
        if key not in self._memo:
            self._memo[key] = make()
            if by_row:
                self._by_row.add(key)
        view: T = self._memo[key]
        return view

    # -- views -------------------------------------------------------------------------------------------------------

    def vectors(self) -> Matrix:
        """The collection as a finite (n, d) float array or CSR array."""
        return self.remember("vectors", lambda: as_vectors(self.data, self.name))

    def strings(self) -> list[str] | list[tuple[Hashable, ...]]:
        """The collection as strings, or as tuples of tokens."""
        return self.remember("strings", self._strings)

    def graphs(self) -> list[Graph]:
        """The collection as graphs."""
        items = self.items("graphs")
        return self.remember("graphs", lambda: [as_graph(g, f"{self.name}[{i}]") for i, g in enumerate(items)])

    def molecules(self) -> list[Any]:
        """The collection as RDKit molecules; equal texts are read once."""
        return self.remember("molecules", self._molecules)

    def series(self) -> list[Floats]:
        """The collection as time series, (length, channels) each."""
        return self.remember("series", lambda: as_series(self.data, self.name))

    def given(self) -> tuple[Array, Array | None]:
        """Precomputed kernel values with all N training objects, (n, N), and the places of the rows among these.

        A one-dimensional array of whole numbers stands for training objects whose own values are not needed.
        """
        if isinstance(self.data, np.ndarray) and self.data.ndim == 1 and self.data.dtype.kind in "iu":
            return np.empty((len(self), 0), np.float32), self.data
        X = self.vectors()
        if sp.issparse(X):
            raise InputError(f"Precomputed takes a dense matrix of kernel values; {self.name} is sparse.")
        # rows of a matrix that is not square are new objects, which have no place among the training objects
        return np.asarray(X), self.places if self.origin == X.shape[1] else None

    def columns(self, columns: tuple[int | str, ...]) -> Rows:
        """The same rows with the named (data frame) or numbered (array) columns only."""
        suffix = f"[{_list(columns)}]"
        return self.remember(("columns", columns), lambda: self._derived(self._columns(columns), suffix), by_row=True)

    def mapped(self, function: Callable[[Any], Any]) -> Rows:
        """The image of the rows under `function`, which takes and returns a collection of the same length."""
        return self.remember(("mapped", function), lambda: self._mapped(function))

    def values(self, function: Callable[[Any], Any]) -> Floats:
        """function(X) as n finite numbers."""
        return self.remember(("values", function), lambda: self._values(function))

    def take(self, rows: slice | NDArray[np.integer[Any]]) -> Rows:
        """Return some of the rows, in a container of the same type."""
        taken = Rows(take(self.data, rows), self.name)
        taken.places, taken.origin = self._places(rows), self.origin
        checked = self._memo.get("vectors")
        if checked is not None:  # some rows of checked vectors need no second check
            view = taken.data if checked is self.data else take(checked, rows)
            taken._memo["vectors"] = np.ascontiguousarray(view) if isinstance(view, np.ndarray) else view
        for key in self._by_row:
            known = self._memo[key]
            taken.remember(key, partial(known.take, rows), by_row=True)
        return taken

    def branch(self) -> Rows:
        """Return a copy that shares the cached views; views that only the copy computes are freed with it.

        For many kernels that differ in their parameters: counts of strings are kept, scaled copies of vectors are not.
        """
        other = copy.copy(self)
        other._memo, other._by_row = dict(self._memo), set(self._by_row)
        return other

    # -- how the views are made --------------------------------------------------------------------------------------

    def _places(self, rows: slice | NDArray[np.integer[Any]]) -> Array:
        if self.places is not None:
            return np.asarray(self.places[rows])
        if isinstance(rows, slice):  # constant time per row: this is called for many blocks of rows
            return np.arange(*rows.indices(len(self)))
        index = np.asarray(rows)
        return np.flatnonzero(index) if index.dtype == bool else np.where(index < 0, index + len(self), index)

    def _strings(self) -> list[str] | list[tuple[Hashable, ...]]:
        items = self.items("strings")
        if all(isinstance(item, str) for item in items):
            return [str(item) for item in items]
        strings = isinstance(items[0], str)
        for position, item in enumerate(items):
            if not (strings and isinstance(item, str)):  # the message names the first row of another type
                _check_tokens(item, f"{self.name}[{position}]", strings)
        return [tuple(item) for item in items]

    def _molecules(self) -> list[Any]:
        known: dict[str, Any] = {}
        found = []
        for position, item in enumerate(self.items("molecules")):
            molecule = known.get(item) if isinstance(item, str) else None
            if molecule is None:
                molecule = as_molecule(item, f"{self.name}[{position}]")
                if isinstance(item, str):
                    known[item] = molecule
            found.append(molecule)
        return found

    def items(self, kind: str) -> list[Any]:
        """Return the rows as objects, from a list, a series, a one-dimensional array, or a frame of one column."""
        data = self.data
        if is_frame(data):
            if len(data.columns) != 1:
                raise InputError(
                    f"{self.name} is a table of {len(data.columns)} columns; a kernel on {kind} takes one: k.on(column)."
                )
            return list(data[data.columns[0]])
        if isinstance(data, np.ndarray) and data.ndim == 2 and data.shape[1] == 1:
            return list(data[:, 0])
        if sp.issparse(data) or (isinstance(data, np.ndarray) and data.ndim != 1):
            raise InputError(f"{self.name} is an array of shape {data.shape}; a kernel on {kind} takes a list of {kind}.")
        return list(data)

    def _columns(self, columns: tuple[int | str, ...]) -> Any:
        data = self.data
        if is_frame(data):
            return _frame_columns(data, columns, self.name)
        if is_series(data):
            return channels_of(self.series(), columns, self.name)
        names = [c for c in columns if isinstance(c, str)]
        if names:
            raise InputError(
                f"{self.name} is not a data frame, so it has no column {names[0]!r}; give a frame, or number the columns."
            )
        table: Any = data if sp.issparse(data) else _table(data, self.name)
        if table.ndim != 2:
            raise InputError(f"{self.name} has shape {table.shape}; columns can be chosen from an (n, d) table only.")
        check_size(table.shape, self.name)
        wrong = [c for c in columns if not -table.shape[1] <= int(c) < table.shape[1]]
        if wrong:
            raise InputError(f"{self.name} has columns 0 … {table.shape[1] - 1}; there is no column {wrong[0]}.")
        chosen = sp.csc_array(table)[:, list(columns)].tocsr() if sp.issparse(table) else table[:, list(columns)]
        return chosen

    def _derived(self, data: Any, suffix: str) -> Rows:
        return Rows(data, self.name + suffix, self.weights)

    def _mapped(self, function: Callable[[Any], Any]) -> Rows:
        image = Rows(function(self.data), f"{_name_of(function)}({self.name})", self.weights)
        if len(image) != len(self):
            raise InputError(
                f"{_name_of(function)} returned {len(image)} rows for {len(self)}; a map takes rows to rows, one for one."
            )
        return image

    def _values(self, function: Callable[[Any], Any]) -> Floats:
        values = np.asarray(function(self.data), dtype=np.float64)
        if values.shape != (len(self),):
            raise InputError(
                f"{_name_of(function)} returned shape {values.shape} for {len(self)} rows; a weight function returns (n,)."
            )
        if not np.isfinite(values).all():
            row = int(np.flatnonzero(~np.isfinite(values))[0])
            raise InputError(f"{_name_of(function)} returned {values[row]} for row {row}; weights must be finite.")
        return values


def as_rows(data: Any, name: str = "X") -> Rows:
    """Return data as Rows; Rows are returned unchanged, with their cached views."""
    return data if isinstance(data, Rows) else Rows(data, name)


def count(X: Any) -> int:
    """Return the number of rows of a collection."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def take(X: Any, rows: slice | Sequence[int] | NDArray[np.integer[Any]]) -> Any:
    """Return some rows of a collection, in a container of the same type."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if sp.issparse(X):  # not every sparse format supports slices of rows
        return sp.csr_array(X)[rows]
    if isinstance(rows, slice) or hasattr(X, "shape"):
        return X[rows]
    return [X[i] for i in rows]


def append(old: Any, new: Any) -> Any:
    """Concatenate two collections; the result has the type of the first one."""
    if sp.issparse(old) or sp.issparse(new):
        return sp.vstack([old, new], format="csr")
    if hasattr(old, "iloc"):
        import pandas

        return pandas.concat([old, new], ignore_index=True)
    if hasattr(old, "vstack"):  # polars, and mercer's own tables
        return old.vstack(new)
    if is_frame(old):
        import narwhals.stable.v2 as nw

        return nw.concat([nw.from_native(old), nw.from_native(new)]).to_native()
    if isinstance(old, np.ndarray) and isinstance(new, np.ndarray):
        return np.concatenate([old, new])
    return [*old, *new]


def _check_tokens(item: Any, where: str, strings: bool) -> None:
    if isinstance(item, bytes):
        raise InputError(f"{where} is bytes; decode it first: x.decode('ascii').")
    if isinstance(item, str) or not isinstance(item, (list, tuple, np.ndarray)):
        rule = "a string like the others" if strings else "a list of tokens like the others, or all strings"
        raise InputError(f"{where} is {describe(item)}; a kernel on strings needs {rule}.")
    if strings:
        raise InputError(f"{where} is {describe(item)}, but other rows are plain strings; give one kind.")
    for token in item:
        if isinstance(token, (list, dict, set, np.ndarray)):
            raise InputError(f"{where} holds {describe(token)}; a token is a word or a number, not a container.")
        if token is None or isinstance(token, bytes) or token != token:  # NaN equals nothing, not even itself
            raise InputError(f"{where} holds {describe(token)}; a token is a word or a number.")


def _table(data: Any, name: str) -> Array:
    try:
        table = np.asarray(data)
        # NumPy would convert the numbers of mixed rows to text; objects keep their types
        return np.array(data, dtype=object) if table.dtype.kind in "US" and not isinstance(data, np.ndarray) else table
    except ValueError as error:
        raise InputError(f"{name} is ragged: its rows have different lengths ({error}). Give an (n, d) table.") from None


def _frame_columns(frame: Any, columns: Sequence[int | str], name: str) -> Any:
    known = list(frame.columns)
    chosen = []
    for column in columns:
        if column in known:
            chosen.append(column)
        elif isinstance(column, int) and -len(known) <= column < len(known):
            chosen.append(known[column])
        else:
            raise InputError(f"{name} has no column {column!r}; it has {_list(known)}.")
    return frame[chosen]


def _list(values: Sequence[Any]) -> str:
    shown = ", ".join(repr(v) for v in values[:8])
    return shown if len(values) <= 8 else f"{shown}, … ({len(values)} in all)"


def _name_of(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", type(function).__name__)
