"""Rows in chunks as one collection: sums, columns and products over all chunks, here or on a cluster.

Sums over pairs of rows are sums over pairs of chunks. Without a cluster a pair is loaded when it is used, and two chunks
are in memory at a time. On a cluster the rows of a chunk are one node of the graph for all pairs with that chunk: they are
read once, kept on the workers, and read again if a worker is lost.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from mercer.arrays import Array, Indices
from mercer.errors import InputError
from mercer.grams.chunks.journal import Journal, digest_of
from mercer.grams.chunks.tasks import GROUP, Arrays, Here, Runner, RunningSums, Task, Work, head_of, length_of, taken_of
from mercer.inputs.chunks import Chunk, ChunkReader, Chunks, DaskPart, Loaded, ReadTargets, UnreadPart, stacked
from mercer.inputs.rows import Rows, take
from mercer.inputs.vectors import columns_of
from mercer.kernels.base import Kernel
from mercer.numeric.points import SAMPLE, SEED
from mercer.numeric.threads import Progress
from mercer.planning import Shape


class PairLoad:
    """Loader of the rows of a pair of chunks, which may be the same chunk, with additional values for each."""

    def __init__(self, loads: Sequence[Callable[[], Loaded]], more: tuple[Any, ...]) -> None:
        self.loads, self.more = tuple(loads), more

    def __call__(self) -> Loaded:
        return tuple(load()[0] for load in self.loads), self.more, None


def pair_parts(parts: Sequence[UnreadPart], more: Sequence[Any], distributed: bool) -> list[UnreadPart]:
    """Return one part per pair i <= j: X holds the rows of both chunks, and y the additional values."""
    sides = [[i] if i == j else [i, j] for i in range(len(parts)) for j in range(i, len(parts))]
    where = [" and ".join(parts[place].where for place in side) for side in sides]
    if not distributed:
        loads: list[Any] = [PairLoad([parts[i].load for i in side], tuple(more[i] for i in side)) for side in sides]
    else:
        import dask

        listed, whole = dask.delayed(_rows_of, pure=False), dask.delayed(_listed, pure=False)
        rows = [whole(p.load.delayed[0]) if isinstance(p.load, DaskPart) else listed(p.load) for p in parts]
        own = [dask.delayed(item, pure=False, traverse=False) for item in more]
        loads = [DaskPart(tuple(rows[i] for i in side), tuple(own[i] for i in side), None) for side in sides]
    return [UnreadPart(name, load) for name, load in zip(where, loads, strict=True)]


def _rows_of(load: Callable[[], Loaded]) -> Any:
    return _listed(load()[0])


def _listed(rows: Any) -> Any:
    """Return a partition of a bag as a list, because an iterator would be empty after its first pair."""
    return list(rows) if isinstance(rows, Iterator) else rows


#: Rows of the first chunk that are read before a fit begins.
HEAD = 1024


class ChunkedRows:
    """The rows of `Chunks` as one fit reads them: their number and columns, and operations on every chunk.

    `passes` counts the passes over the chunks.
    """

    dtype = np.dtype(np.float64)

    def __init__(self, source: Chunks, reader: ChunkReader, runner: Runner, journal: Journal | None, head: Chunk) -> None:
        self._source, self._reader, self._runner, self._journal = source, reader, runner, journal
        self.head = head  # the first rows; the whole first chunk if chunks are read once
        self.lengths = source.lengths
        self.passes = 0
        self._first: Iterator[UnreadPart] | None = None

    @classmethod
    def opened(cls, source: Chunks, kind: str, targets: ReadTargets | None, fit: str, owner: str = " of X") -> ChunkedRows:
        """Read the first chunk, and count the rows if their number is unknown; `fit` identifies the fit in a checkpoint."""
        runner: Runner = Here()
        if source.client is not None:
            from mercer.grams.chunks.distributed import Workers

            runner = Workers(source.client)
        reader, parts, seen = ChunkReader(kind, targets, owner=owner), iter(source.parts), []
        head = names = None
        for number, part in enumerate(parts):
            if source.once:
                seen.append(part)
            if source.lengths is not None and source.lengths[number] == 0:
                continue
            most = np.iinfo(np.intp).max if source.once else HEAD
            found = next(iter(runner.map([Task(number, part)], head_of, reader, (int(most),))))
            if found is not None:
                head, names = found
                break
        if head is None:
            raise InputError("all chunks are empty: there are no rows.")
        self = cls(source, replace(reader, width=columns_of(head.X), names=names), runner, None, head)
        if source.once:
            self._first = chain(seen, parts)
        elif source.checkpoint is not None:  # one pass counts the rows and digests them
            found = [(0, "") if one is None else one for one in self.map(digest_of)]
            self.lengths = tuple(n for n, _ in found)
            self._journal = Journal(source.checkpoint, fit, [digest for _, digest in found])
        elif source.lengths is None:
            self.lengths = tuple(n or 0 for n in self.map(length_of))
        return self

    # -- properties of the rows -----------------------------------------------------------------------------------

    @property
    def once(self) -> bool:
        """Whether the chunks can be read only once."""
        return self._source.once

    @property
    def distributed(self) -> bool:
        """Whether workers of a cluster read and compute."""
        return self._source.client is not None

    @property
    def counted(self) -> bool:
        """Whether the number of rows was known without a pass."""
        return self._source.lengths is not None

    @property
    def n(self) -> int:
        """The number of rows; only those of the first chunk if chunks are read once."""
        return sum(self.lengths) if self.lengths is not None else len(self.head)

    @property
    def shape(self) -> tuple[int, ...]:
        """(n, d), or (n,) for objects."""
        width = columns_of(self.head.X)
        return (self.n,) if width is None else (self.n, width)

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of the columns, for tables."""
        return self._reader.names

    @property
    def weighted(self) -> bool:
        """Whether the rows have weights."""
        return self.head.weights is not None

    def shape_for(self, kernel: Kernel) -> Shape:
        """Return the shape of these rows under a kernel, for the choice of a route."""
        finite = None if kernel.unresolved else kernel.features
        shared = finite is not None and finite.shared
        features = kernel.n_features(take(self.head.X, slice(0, 1))) if shared else None
        y = self.head.y
        targets = y.shape[1] if y is not None and y.ndim == 2 else 1
        return Shape(self.n, targets, 8, features, columns_of(self.head.X) or 1)

    def passes_before(self, kernel: Kernel) -> int:
        """Return the passes before a solver begins: to count or digest the rows, and to draw those that fix a "median"."""
        return int((not self.counted or self._journal is not None) and not self.once) + int(
            kernel.unresolved and not self.once
        )

    # -- operations on every chunk -----------------------------------------------------------------------------------------

    def read_as(self, targets: ReadTargets) -> ChunkedRows:
        """Return the same rows with another reader of targets."""
        return self._changed(_reader=replace(self._reader, targets=targets))

    def _changed(self, **attributes: Any) -> ChunkedRows:
        other = copy.copy(self)
        vars(other).update(attributes)
        return other

    def pairs(self, more: Sequence[Any]) -> ChunkedRows:
        """Return pairs of chunks (i, j), i <= j, as chunks; `more[i]` holds additional values for the rows of chunk i."""

        filled = [place for place, n in enumerate(self.lengths or ()) if n]
        parts = [part for place, part in enumerate(self._source.parts) if place in set(filled)]
        found = pair_parts(parts, [more[place] for place in filled], self.distributed)
        source, reader = replace(self._source, parts=found), self._reader.of_pairs()
        return self._changed(_source=source, _reader=reader, lengths=(1,) * len(found), passes=0)

    def map(self, work: Work, *shared: Any, each: Sequence[Any] | None = None) -> Iterator[Any]:
        """Yield work(chunk, *shared) of every chunk in order, None if it is empty; `each` has one argument per chunk."""
        self.passes += 1
        return self._runner.map(self._tasks(each), work, self._reader, shared)

    def sum(self, work: Work, *shared: Any, each: Sequence[Any] | None = None, progress: Progress | None = None) -> Arrays:
        """Return the sum of work(chunk, *shared), a tuple of arrays, in a fixed order; a checkpoint keeps partial sums."""
        self.passes += 1
        journal, of = self._journal, 0 if self.lengths is None else len(self.lengths)
        ledger = RunningSums()
        if journal is not None:
            known = journal.result(work)
            if known is not None:
                return known
            ledger = RunningSums(*journal.partial())
        left = (task for task in self._tasks(each) if task.number >= ledger.done)
        for level, size, value in self._runner.fold(left, work, self._reader, shared, waves=journal is None):
            ledger.add(level, size, value)
            if progress is not None:
                progress(ledger.done, max(of, ledger.done))
            if journal is not None and ledger.done % GROUP == 0:
                journal.note(ledger.done, (ledger.group, ledger.wave, ledger.total))
        total = ledger.close()
        if total is None:
            raise InputError("all chunks are empty: there are no rows.")
        if journal is not None:
            journal.finish(total)
        return total

    def column(self, work: Work, *shared: Any, each: Sequence[Any] | None = None, progress: Progress | None = None) -> Array:
        """Return the concatenation of work(chunk, *shared), which has one row per row of the chunk."""
        known = None if self._journal is None else self._journal.result(work)
        if known is not None:
            self.passes += 1
            return known[0]
        found = []
        for done, part in enumerate(self.map(work, *shared, each=each), 1):
            if part is not None:
                found.append(part)
            if progress is not None:
                progress(done, max(done, len(self.lengths or ())))
        values = np.concatenate(found)
        if self._journal is not None:
            self._journal.finish((values,))
        return values

    def split(self, values: Array) -> list[Array]:  # (n, …)
        """Return values of all rows, split by chunk."""
        if self.lengths is None:
            raise InputError("chunks that are read once have no known lengths; give a function that returns the iterator.")
        return np.split(values, np.cumsum(self.lengths)[:-1])

    def _tasks(self, each: Sequence[Any] | None) -> Iterator[Task]:
        parts: Iterable[UnreadPart] = self._source.parts
        if self._first is not None:
            parts, self._first = self._first, None
        for number, part in enumerate(parts):
            yield Task(number, part, () if each is None else (each[number],))

    # -- rows in memory ----------------------------------------------------------------------------------------------

    def take(self, index: Indices) -> Chunk:
        """Return rows by their ascending numbers, with targets and weights; other chunks are not read."""
        if self.once:
            return taken_of(self.head, index)
        assert self.lengths is not None
        ends = np.cumsum(self.lengths)
        starts = ends - self.lengths
        cuts = np.searchsorted(index, ends)
        own = [np.asarray(i) - a for i, a in zip(np.split(index, cuts[:-1]), starts, strict=True)]
        tasks = [task for task in self._tasks(own) if len(task.own[0])]
        self.passes += 1
        found = [part for part in self._runner.map(tasks, taken_of, self._reader, ()) if part is not None]
        return together(found)

    def gathered(self) -> Chunk:
        """Return all rows in memory, for models that keep them."""
        self.passes += 1
        everything = np.iinfo(np.intp).max
        parts = self._runner.map(self._tasks(None), head_of, self._reader, (int(everything),))
        return together([part[0] for part in parts if part is not None])

    def held(self) -> tuple[Runner, list[Any]]:
        """The runner of products, and the held rows of the chunks."""
        self.passes += 1
        return self._runner, self._runner.hold(self._tasks(None), self._reader)

    def close(self) -> None:
        """Remove the checkpoint of a finished fit."""
        if self._journal is not None:
            self._journal.remove()
            self._journal = None  # later passes are not part of the fit


def together(parts: Sequence[Chunk]) -> Chunk:
    """Concatenate chunks."""
    first = parts[0]
    y = None if first.y is None else np.concatenate([part.y for part in parts])
    weights = None if first.weights is None else np.concatenate([part.weights for part in parts])
    return replace(first, X=stacked([part.X for part in parts]), y=y, weights=weights)


def pool(X: Any) -> tuple[int, Callable[[Indices], Any]]:
    """Return the number of rows, in chunks or in memory, and a function that takes rows by ascending numbers."""
    if isinstance(X, ChunkedRows):
        return X.n, lambda index: X.take(index).X
    rows = Rows(X)
    return len(rows), lambda index: rows.take(index).data


def resolved(kernel: Kernel, rows: ChunkedRows) -> Kernel:
    """Return the kernel with parameters set from data, using the rows that `resolve` would use in memory."""
    if kernel.adapts:
        raise InputError(
            f"{kernel} takes its alphabet from all strings, which chunks do not provide; give it: alphabet='ACGT'."
        )
    if not kernel.unresolved:
        return kernel
    sample = rows.take(rows_for_median(rows.n))
    return kernel.resolve(Rows(sample.X, weights=sample.weights), sample.weights)


def rows_for_median(n: int) -> Indices:
    """Return the numbers of the rows, of n, whose distances give a median, in memory and in chunks."""
    return np.arange(n) if n <= SAMPLE else np.sort(np.random.default_rng(SEED).choice(n, SAMPLE, replace=False))
