"""Rows that come in chunks: files, iterators, functions, and collections of Dask."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Floats
from mercer.errors import InputError, MissingExtraError, describe, install_command
from mercer.inputs.chunk_files import file_parts
from mercer.inputs.rows import Rows, count, take
from mercer.inputs.vectors import as_vectors, columns_of, is_frame

#: Bytes of one chunk if its number of rows is not given: large compared with the overhead of a task, small for any memory.
CHUNK_BYTES = 64 * 2**20

Loaded = tuple[Any, Any, Any]  # X, y, weights of one part


@dataclass(frozen=True)
class UnreadPart:
    """Rows that are not read yet: their location, for messages, and the function that loads them."""

    where: str
    load: Callable[[], Loaded]


@dataclass(frozen=True)
class Chunks:
    """Parts in order, their numbers of rows if known, and how a fit iterates over them.

    `parts` can be iterated again unless `once`. `client` is the Dask client whose workers read and compute; None is this
    process.
    """

    parts: Iterable[UnreadPart]
    lengths: tuple[int, ...] | None
    once: bool = False
    checkpoint: Path | None = None
    client: Any = None


def chunks(
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    target: str | Sequence[str] | None = None,
    weight: str | None = None,
    columns: Sequence[str] | None = None,
    rows: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    client: Any = None,
) -> Chunks:
    """Return rows to fit chunk by chunk: `estimator.fit(mercer.chunks(…))` needs no more memory for more of them.

    Parameters
    ----------
    X : array, memory-mapped array, CSR, list; path of a CSV, Parquet or Arrow file, or a folder of them; Dask array, data
        frame or bag; a function that returns an iterator of (X, y) or (X, y, weights); or such an iterator, read once
    y, sample_weight : as in fit, for collections; Dask collections for Dask collections
    target, weight : columns of a table that hold the target (several: a list) and the weights of the rows
    columns : the columns of a table that are rows of X; None for all others
    rows : rows of one chunk; 64 MB of them if not given. Dask collections and iterators are chunks already
    checkpoint : a folder that keeps what a fit has summed so far; the same fit after a crash goes on from there, and ends
        with the same digits
    client : a dask.distributed Client whose workers do the work; Dask collections find it themselves

    >>> import numpy as np, mercer
    >>> X, y = np.arange(10.0).reshape(-1, 1), np.arange(10.0)
    >>> model = mercer.KernelRidge(mercer.Linear(), alpha=1e-9).fit(mercer.chunks(X, y, rows=4))
    >>> model.predict([[20.0]]).round(6).tolist()
    [20.0]
    """
    if isinstance(X, Chunks):
        found = X
        if y is not None or sample_weight is not None:
            raise InputError("chunks: the targets and weights of chunks come with them; leave y and sample_weight out.")
    elif is_dask(X):
        parts, lengths, known = dask_parts(X, y, sample_weight, target, weight, columns)
        found = Chunks([UnreadPart(*part) for part in parts], lengths, client=known)
    elif isinstance(X, (str, os.PathLike)):
        if y is not None or sample_weight is not None:
            raise InputError('chunks: name the columns of a file: target="price", and weight= for weights.')
        parts, lengths = file_parts(X, target, weight, columns, rows, CHUNK_BYTES)
        found = Chunks([UnreadPart(*part) for part in parts], lengths)
    elif isinstance(X, Iterator) or callable(X):
        if y is not None or sample_weight is not None:
            raise InputError("chunks: an iterator gives (X, y) or (X, y, weights); leave y and sample_weight out.")
        found = Chunks(_Stream(X), None, once=isinstance(X, Iterator))
    else:
        found = _of_collection(X, y, sample_weight, rows)
    if checkpoint is not None and found.once:
        raise InputError(
            "chunks: checkpoint= needs chunks that can be read again; give a function that returns the iterator."
        )
    if client is not None and isinstance(found.parts, _Stream):
        raise InputError("chunks: an iterator lives in this process; for workers give files, or a Dask collection.")
    folder = found.checkpoint if checkpoint is None else Path(checkpoint)
    return replace(found, checkpoint=folder, client=found.client if client is None else client)


def as_chunks(X: Any, y: Any = None, sample_weight: Any = None) -> Chunks | None:
    """Return the arguments of `fit` as chunks, or None if they are in memory. No other function detects lazy input."""
    lazy = isinstance(X, Chunks) or is_dask(X) or isinstance(X, Iterator)
    if not lazy and callable(X) and not hasattr(X, "__len__"):
        lazy = True
    if not lazy:
        if is_dask(y) or isinstance(y, Chunks):
            raise InputError("y is lazy and X is not; give both as Dask collections, or compute y: y.compute().")
        return None
    return chunks(X, y, sample_weight)


# -- parts of collections in memory -----------------------------------------------------------------------------------------


class _Cut:
    """Rows `start` to `stop` of collections in this process; a memory-mapped array is pickled as the name of its file."""

    def __init__(self, collections: Loaded, start: int, stop: int) -> None:
        self.collections, self.start, self.stop = collections, start, stop

    def __call__(self) -> Loaded:
        rows = slice(self.start, self.stop)
        X, y, w = (None if c is None else take(c, rows) for c in self.collections)
        return X, y, w

    def __getstate__(self) -> Any:
        rows = slice(self.start, self.stop)
        return tuple(None if c is None else _mapped(c, rows) for c in self.collections)

    def __setstate__(self, state: Any) -> None:
        X, y, w = (np.memmap(**c) if isinstance(c, dict) else c for c in state)
        self.collections = (X, y, w)
        self.start, self.stop = 0, max(count(c) for c in self.collections if c is not None)


def _mapped(collection: Any, rows: slice) -> Any:
    """Return rows for another process: their position in the file if they are memory-mapped, otherwise the rows."""
    # the whole map: NumPy does not know the position of a view in the file
    if isinstance(collection, np.memmap) and type(collection.base).__name__ == "mmap" and collection.flags.c_contiguous:
        return {
            "filename": collection.filename,
            "dtype": collection.dtype,
            "mode": "r",
            "offset": collection.offset + rows.start * collection.strides[0],
            "shape": (rows.stop - rows.start, *collection.shape[1:]),
        }
    return np.asarray(take(collection, rows)) if isinstance(collection, np.memmap) else take(collection, rows)


def _of_collection(X: Any, y: Any, w: Any, rows: int | None) -> Chunks:
    if rows is not None and (isinstance(rows, bool) or not isinstance(rows, (int, np.integer)) or rows < 1):
        raise InputError(f"chunks: rows must be a whole number >= 1; got {rows!r}.")
    n = len(Rows(X))  # raises if X is not a collection
    for name, values in (("y", y), ("sample_weight", w)):
        if values is not None and count(values) != n:
            raise InputError(f"chunks: {name} has {count(values)} rows, X has {n}.")
    y = np.asarray(y) if isinstance(y, (list, tuple)) else y
    w = np.asarray(w) if isinstance(w, (list, tuple)) else w
    step = rows_of_chunk(columns_of(X)) if rows is None else int(rows)
    cuts = [(start, min(start + step, n)) for start in range(0, n, step)]
    parts = [UnreadPart(f"chunk {i} (rows {a} … {b - 1})", _Cut((X, y, w), a, b)) for i, (a, b) in enumerate(cuts)]
    return Chunks(parts, tuple(b - a for a, b in cuts))


def rows_of_chunk(width: int | None) -> int:
    """Return the number of rows in a chunk of CHUNK_BYTES; an object counts as a hundred numbers."""
    return max(1, CHUNK_BYTES // (8 * max(1, 100 if width is None else width)))


class _Stream:
    """The parts of an iterator, or of the iterators that a function returns, a new one for each pass."""

    def __init__(self, source: Any) -> None:
        self._source = source
        self._used = False

    def __iter__(self) -> Iterator[UnreadPart]:
        if isinstance(self._source, Iterator):
            if self._used:
                raise InputError(
                    "this iterator was read before, and this fit needs another pass over the rows. Give a function that "
                    "returns the iterator, or a method that needs one pass (docs/cluster.md lists them)."
                )
            self._used, chunks = True, self._source
        else:
            chunks = iter(self._source())
        for number, item in enumerate(chunks):
            yield UnreadPart(f"chunk {number}", _Given(_triple(item, number)))


class _Given:
    def __init__(self, loaded: Loaded) -> None:
        self.loaded = loaded

    def __call__(self) -> Loaded:
        return self.loaded


def _triple(item: Any, number: int) -> Loaded:
    if isinstance(item, tuple) and len(item) in (2, 3):
        return item[0], item[1], item[2] if len(item) == 3 else None
    if isinstance(item, tuple) or item is None or isinstance(item, (str, bytes)):
        raise InputError(f"chunk {number} is {describe(item)}; an iterator gives X, (X, y) or (X, y, weights).")
    return item, None, None


# -- reading ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Chunk:
    """Rows that were read: X in the form that the kernel takes, targets, weights, and the number of the chunk."""

    number: int
    where: str
    X: Any
    y: Any = None
    weights: Floats | None = None
    names: tuple[str, ...] | None = None  # of the columns, for tables

    def __len__(self) -> int:
        return count(self.X)


#: Reads the targets of one part: (y, number of rows, name for messages) -> targets.
ReadTargets = Callable[[Any, int, str], Any]


@dataclass(frozen=True)
class ChunkReader:
    """How parts are read: the input type of the kernel, the columns of the first part, and the reader of the targets."""

    kind: str  # "vectors", "strings", "graphs" or "table"
    targets: ReadTargets | None
    width: int | None = None
    names: tuple[str, ...] | None = None
    owner: str = " of X"  # follows the name of a part in messages; empty if the name already tells the owner

    def read(self, number: int, where: str, loaded: Loaded) -> Chunk | None:
        """Return the rows of one part, or None if it is empty. Errors name the part."""
        X, y, w = loaded
        if X is None:
            raise InputError(f"{where}{self.owner} holds no rows at all (None); give a collection.")
        if isinstance(X, Iterator):  # a partition of a bag
            X = list(X)
        if count(X) == 0:
            return None
        rows = self._rows(X, where + self.owner)
        if y is not None:
            y = y if hasattr(y, "shape") or is_frame(y) else list(y)
            if count(y) != count(rows):
                raise InputError(f"{where}: X has {count(rows)} rows and y has {count(y)}; one target per row.")
        read = self.targets(y, count(rows), f"{where} of y") if self.targets is not None else None
        return Chunk(number, where, rows, read, _weights(w, count(rows), where), names_of(X))

    def of_pairs(self) -> ChunkReader:
        """Return the reader for pairs of these parts."""
        return PairReader(self.kind, None, self.width, self.names, self.owner)

    def _rows(self, X: Any, where: str) -> Any:
        names = names_of(X)
        if self.names is not None and names is not None and names != self.names:
            other = sorted(set(names) ^ set(self.names))
            what = f"{other[0]!r} is in one only" if other else "their order differs"
            raise InputError(f"{where} has other columns than the first part: {what}. Give parts of one table.")
        if self.kind == "vectors":
            X = as_vectors(X, where)
            # one type for all parts: sums are float64 in any case
            X = X.astype(np.float64) if X.dtype != np.float64 else X
        elif self.kind == "strings":
            Rows(X, where).strings()
            X = list(X) if not hasattr(X, "shape") else X
        elif self.kind == "graphs":
            X = Rows(X, where).graphs()
        if self.width is not None and columns_of(X) != self.width:
            raise InputError(f"{where} has {columns_of(X)} columns, the first has {self.width}; give parts of one table.")
        return X


class PairReader(ChunkReader):
    """Reader of parts whose X is a tuple with the rows of two parts, or of one, and whose y holds values for them."""

    def read(self, number: int, where: str, loaded: Loaded) -> Chunk | None:
        """Return both collections as the X of one chunk."""
        found = [super(PairReader, self).read(number, where, (X, None, None)) for X in loaded[0]]
        read = [side.X for side in found if side is not None]
        return Chunk(number, where, tuple(read), loaded[1]) if len(read) == len(found) else None


def names_of(X: Any) -> tuple[str, ...] | None:
    """The names of the columns of a frame."""
    return tuple(str(c) for c in X.columns) if is_frame(X) else None


def _weights(w: Any, n: int, where: str) -> Floats | None:
    if w is None:
        return None
    values = np.asarray(w, dtype=np.float64)
    if values.shape != (n,):
        raise InputError(f"{where}: sample_weight has shape {values.shape} for {n} rows; give one weight per row.")
    if not np.isfinite(values).all() or values.min() < 0:
        raise InputError(f"{where}: sample_weight must hold finite numbers >= 0.")
    return values


def stacked(parts: Sequence[Any]) -> Any:
    """Concatenate collections; the result has the type of the first one."""
    if len(parts) == 1:
        return parts[0]
    first = parts[0]
    if sp.issparse(first):
        return sp.vstack(list(parts), format="csr")
    if isinstance(first, np.ndarray):
        return np.concatenate(list(parts))
    if hasattr(first, "vstack"):
        for part in parts[1:]:
            first = first.vstack(part)
        return first
    if hasattr(first, "iloc"):
        import pandas

        return pandas.concat(list(parts), ignore_index=True)
    return [item for part in parts for item in part]


Named = tuple[str, Callable[[], tuple[Any, Any, Any]]]  # where, load


def is_dask(X: Any) -> bool:
    """Whether a value is a Dask collection; Dask is not imported for the check."""
    return hasattr(X, "__dask_graph__") and not isinstance(X, type)


class DaskPart:
    """The delayed X, y and weights of one partition; a call computes them in this process by Dask's current scheduler."""

    def __init__(self, X: Any, y: Any, weights: Any) -> None:
        self.delayed = (X, y, weights)

    def __call__(self) -> tuple[Any, Any, Any]:
        import dask

        X, y, w = dask.compute(*self.delayed)
        return X, y, w


def dask_parts(
    X: Any,
    y: Any,
    sample_weight: Any,
    target: str | Sequence[str] | None,
    weight: str | None,
    columns: Sequence[str] | None,
) -> tuple[list[Named], tuple[int, ...] | None, Any]:
    """Return the partitions of X with their targets and weights, their lengths if Dask knows them, and the client."""
    try:
        import dask.delayed  # noqa: F401
    except ImportError:
        raise MissingExtraError(f"Dask collections need dask: {install_command('dask')}") from None
    if hasattr(X, "columns") and hasattr(X, "map_partitions"):
        X, y, sample_weight = _from_frame(X, y, sample_weight, target, weight, columns)
    elif target is not None or weight is not None or columns is not None:
        raise InputError("chunks: target=, weight= and columns= name columns of a data frame; X is none.")
    delayed, lengths = _split(X, "X", None)
    found = [delayed]
    for name, values in (("y", y), ("sample_weight", sample_weight)):
        if values is None:
            found.append([None] * len(delayed))
            continue
        parts, other = _split(values, name, lengths)
        if len(parts) != len(delayed):
            raise InputError(
                f"{name} has {len(parts)} partitions and X has {len(delayed)}; give them the same partitions, such as "
                "y.rechunk(X.chunks[0])."
            )
        for i, (mine, its) in enumerate(zip(lengths or (), other or (), strict=False)):
            if mine != its:
                raise InputError(f"partition {i}: X has {mine} rows and {name} has {its}; give them the same partitions.")
        found.append(parts)
    parts = [(f"partition {i}", DaskPart(*triple)) for i, triple in enumerate(zip(*found, strict=True))]
    return parts, lengths, _client()


def _client() -> Any:
    """Return the current client of dask.distributed, if there is one."""
    try:
        from distributed.client import default_client

        return default_client()
    except (ImportError, ValueError):
        return None


def _from_frame(
    frame: Any, y: Any, w: Any, target: str | Sequence[str] | None, weight: str | None, columns: Sequence[str] | None
) -> tuple[Any, Any, Any]:
    named = [] if target is None else [target] if isinstance(target, str) else list(target)
    unknown = [c for c in (*named, *([weight] if weight else ()), *(columns or ())) if c not in frame.columns]
    if unknown:
        raise InputError(f"X has no column {unknown[0]!r}; it has {', '.join(map(repr, list(frame.columns)[:12]))}.")
    if target is not None:
        y = frame[target] if isinstance(target, str) else frame[list(target)]
    if weight is not None:
        w = frame[weight]
    rest = [c for c in frame.columns if c not in {*named, weight}] if columns is None else list(columns)
    return frame[rest] if rest != list(frame.columns) else frame, y, w


def _split(values: Any, name: str, lengths: tuple[int, ...] | None) -> tuple[list[Any], tuple[int, ...] | None]:
    """Return the delayed partitions of a collection, and their lengths if known; `lengths` are those of X."""
    if not is_dask(values):
        if lengths is None:
            raise InputError(
                f"{name} is {describe(values)}, and the partitions of X have unknown sizes; give {name} as a Dask "
                "collection of the same partitions, or call X.compute_chunk_sizes()."
            )
        if count(values) != sum(lengths):
            raise InputError(f"{name} has {count(values)} rows, X has {sum(lengths)}.")
        ends = np.cumsum(lengths)
        values = values if hasattr(values, "shape") else np.asarray(values)
        return [take(values, slice(int(e - k), int(e))) for e, k in zip(ends, lengths, strict=True)], lengths
    if hasattr(values, "chunks"):  # an array
        if values.ndim > 1 and values.numblocks[1] > 1:
            values = values.rechunk({1: -1})
        known = not any(np.isnan(n) for n in values.chunks[0])
        if known and lengths is not None and tuple(values.chunks[0]) != lengths and sum(values.chunks[0]) == sum(lengths):
            values = values.rechunk({0: lengths})
        own = tuple(int(n) for n in values.chunks[0]) if known else None
        return list(values.to_delayed().ravel()), own
    if hasattr(values, "to_delayed"):  # a data frame, a series or a bag
        return list(values.to_delayed()), None
    return [values], None  # a single delayed object
