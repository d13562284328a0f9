"""Tasks on chunks: the functions that they run, the runner in this process, and the order of their sums.

Sums of arrays are taken in a fixed order: eight consecutive chunks make a group, eight groups a wave, and waves are added in
order. The tasks run in this process (`Here`) or on the workers of a cluster (`mercer.grams.chunks.distributed`). Both give
the same digits if BLAS has the same number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from mercer.arrays import Array, Indices
from mercer.grams.operator import GramOperator
from mercer.inputs.chunks import Chunk, ChunkReader, UnreadPart
from mercer.inputs.rows import take
from mercer.kernels.base import Kernel

#: Chunks of a group, and groups of a wave.
GROUP = 8
WAVE = GROUP * GROUP

Arrays = tuple[Array, ...]
Work = Callable[..., Any]  # (chunk, *own, *shared) -> anything
Kernels = Kernel | tuple[Kernel, ...]  # one, or several whose products are adjacent columns


@dataclass(frozen=True)
class Task:
    """One part, its number, and its own arguments."""

    number: int
    part: UnreadPart
    own: tuple[Any, ...] = ()


class Runner(Protocol):
    """Runner that applies a function to parts: results are in the order of the parts, None for empty ones."""

    def map(self, tasks: Iterable[Task], work: Work, reader: ChunkReader, shared: tuple[Any, ...]) -> Iterator[Any]:
        """The results, one by one."""

    def fold(
        self, tasks: Iterable[Task], work: Work, reader: ChunkReader, shared: tuple[Any, ...], waves: bool
    ) -> Iterator[tuple[int, int, Any]]:
        """Yield sums of results: the level (0 a chunk, 1 a group, 2 a wave), its number of chunks, and the sum."""

    def hold(self, tasks: Iterable[Task], reader: ChunkReader) -> list[Any]:
        """Return the rows of every part that is not empty, held where they are read."""

    def products(self, kernel: Kernels, held: list[Any], V: list[Array]) -> Iterator[Array]:
        """sum_j k(X_i, X_j) V_j for every held i."""


def apply(work: Work, reader: ChunkReader, number: int, where: str, loaded: Any, arguments: tuple[Any, ...]) -> Any:
    """Return the result of a function on one part, or None if the part is empty."""
    chunk = reader.read(number, where, loaded)
    return None if chunk is None else work(chunk, *arguments)


def plus(total: Arrays | None, part: Arrays | None) -> Arrays | None:
    """Add part to total in place and return it; None counts as zero."""
    if part is None or total is None:
        return part if total is None else total
    for whole, more in zip(total, part, strict=True):
        whole += more
    return total


def total_of(parts: Iterable[Arrays | None]) -> Arrays | None:
    """Return the sum of arrays in their order, without writing to them."""
    total: Arrays | None = None
    for part in parts:
        total = tuple(np.array(a) for a in part) if total is None and part is not None else plus(total, part)
    return total


def product_of(kernel: Kernels, left: Any, right: Any, V: Array, same: bool) -> Arrays:
    """Return k(left, right) @ V for two held chunks; `same` tells that both are one chunk."""
    several = kernel if isinstance(kernel, tuple) else (kernel,)
    found = [GramOperator(one, left, None if same else right).times(V) for one in several]
    return (found[0] if len(found) == 1 else np.hstack(found),)


class Here:
    """Runner in this process: one chunk after the other, each on all cores."""

    def map(self, tasks: Iterable[Task], work: Work, reader: ChunkReader, shared: tuple[Any, ...]) -> Iterator[Any]:
        """The results, one by one."""
        for task in tasks:
            yield apply(work, reader, task.number, task.part.where, task.part.load(), task.own + shared)

    def fold(
        self, tasks: Iterable[Task], work: Work, reader: ChunkReader, shared: tuple[Any, ...], waves: bool
    ) -> Iterator[tuple[int, int, Any]]:
        """Yield every result as a sum of one chunk."""
        for result in self.map(tasks, work, reader, shared):
            yield 0, 1, result

    def hold(self, tasks: Iterable[Task], reader: ChunkReader) -> list[Any]:
        """Return the rows of every part that is not empty."""
        return [X for X in self.map(tasks, rows_of, reader, ()) if X is not None]

    def products(self, kernel: Kernels, held: list[Any], V: list[Array]) -> Iterator[Array]:
        """sum_j k(X_i, X_j) V_j for every held i."""
        for left in held:
            found = total_of(product_of(kernel, left, X, v, X is left) for X, v in zip(held, V, strict=True))
            assert found is not None
            yield found[0]


def rows_of(chunk: Chunk) -> Any:
    """Return the rows of a chunk."""
    return chunk.X


def length_of(chunk: Chunk) -> int:
    """Return the number of rows of a chunk."""
    return len(chunk)


def head_of(chunk: Chunk, most: int) -> tuple[Chunk, tuple[str, ...] | None]:
    """Return the first rows of a chunk."""
    part = slice(0, most)
    y = None if chunk.y is None else chunk.y[part]
    weights = None if chunk.weights is None else chunk.weights[part]
    return replace(chunk, X=take(chunk.X, part), y=y, weights=weights), chunk.names


def taken_of(chunk: Chunk, index: Indices) -> Chunk:
    """Return some rows of a chunk."""
    y = None if chunk.y is None else chunk.y[index]
    weights = None if chunk.weights is None else chunk.weights[index]
    return replace(chunk, X=take(chunk.X, index), y=y, weights=weights)


class RunningSums:
    """Partial sums: of the open group, of the open wave, and of all waves before it."""

    def __init__(self, done: int = 0, levels: Sequence[Arrays | None] = (None, None, None)) -> None:
        self.done = done
        self.group, self.wave, self.total = levels

    def add(self, level: int, size: int, value: Arrays | None) -> None:
        """Add a sum of `size` chunks at its level; a full group or wave is added to the next level."""
        self.done += size
        if level == 0:
            self.group = plus(self.group, value)
        elif level == 1:
            self.wave = plus(self.wave, value)
        else:
            self.total = plus(self.total, value)
        if level == 0 and self.done % GROUP == 0:
            self.wave, self.group = plus(self.wave, self.group), None
        if level <= 1 and self.done % WAVE == 0:
            self.total, self.wave = plus(self.total, self.wave), None

    def close(self) -> Arrays | None:
        """Return the total, including open groups and waves."""
        return plus(self.total, plus(self.wave, self.group))
