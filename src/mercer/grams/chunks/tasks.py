"""Work on one chunk after the other, or on many at once: what a task is, who runs tasks, and the order of their sums.

Sums of arrays are taken in a fixed order: eight chunks after each other make a group, eight groups a wave, and waves are
added up. The tasks run in this process (`Here`) or on the workers of a cluster (`mercer.grams.chunks.distributed`). Both
give the same digits if BLAS has the same number of threads.
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

#: Chunks that are added up one after the other before their sum goes on, and groups of them that make a wave.
GROUP = 8
WAVE = GROUP * GROUP

Arrays = tuple[Array, ...]
Work = Callable[..., Any]  # (chunk, *own, *shared) -> anything
Kernels = Kernel | tuple[Kernel, ...]  # one, or several whose products stand side by side


@dataclass(frozen=True)
class Task:
    """One part to work on: its number, and arguments of its own."""

    number: int
    part: UnreadPart
    own: tuple[Any, ...] = ()


class Runner(Protocol):
    """Who applies a function to parts: results come in the order of the parts, None for empty ones."""

    def map(self, tasks: Iterable[Task], work: Work, reader: ChunkReader, shared: tuple[Any, ...]) -> Iterator[Any]:
        """The results, one by one."""

    def fold(
        self, tasks: Iterable[Task], work: Work, reader: ChunkReader, shared: tuple[Any, ...], waves: bool
    ) -> Iterator[tuple[int, int, Any]]:
        """Sums of results: the level (0 a chunk, 1 a group, 2 a wave), how many chunks it has, and the sum."""

    def hold(self, tasks: Iterable[Task], reader: ChunkReader) -> list[Any]:
        """The rows of every part that has some, held where they are read."""

    def products(self, kernel: Kernels, held: list[Any], V: list[Array]) -> Iterator[Array]:
        """sum_j k(X_i, X_j) V_j for every held i."""


def apply(work: Work, reader: ChunkReader, number: int, where: str, loaded: Any, arguments: tuple[Any, ...]) -> Any:
    """Read one part and do the work on it; None where it is empty."""
    chunk = reader.read(number, where, loaded)
    return None if chunk is None else work(chunk, *arguments)


def plus(total: Arrays | None, part: Arrays | None) -> Arrays | None:
    """total + part, in the memory of the total; None is nothing."""
    if part is None or total is None:
        return part if total is None else total
    for whole, more in zip(total, part, strict=True):
        whole += more
    return total


def total_of(parts: Iterable[Arrays | None]) -> Arrays | None:
    """The sum of arrays that belong to somebody else, one after the other."""
    total: Arrays | None = None
    for part in parts:
        total = tuple(np.array(a) for a in part) if total is None and part is not None else plus(total, part)
    return total


def product_of(kernel: Kernels, left: Any, right: Any, V: Array, same: bool) -> Arrays:
    """k(left, right) @ V for two held chunks, side by side for several kernels; `same` says that the chunks are one."""
    several = kernel if isinstance(kernel, tuple) else (kernel,)
    found = [GramOperator(one, left, None if same else right).times(V) for one in several]
    return (found[0] if len(found) == 1 else np.hstack(found),)


class Here:
    """This process, one chunk after the other, each on all cores."""

    def map(self, tasks: Iterable[Task], work: Work, reader: ChunkReader, shared: tuple[Any, ...]) -> Iterator[Any]:
        """The results, one by one."""
        for task in tasks:
            yield apply(work, reader, task.number, task.part.where, task.part.load(), task.own + shared)

    def fold(
        self, tasks: Iterable[Task], work: Work, reader: ChunkReader, shared: tuple[Any, ...], waves: bool
    ) -> Iterator[tuple[int, int, Any]]:
        """Every result by itself: it is added up at once."""
        for result in self.map(tasks, work, reader, shared):
            yield 0, 1, result

    def hold(self, tasks: Iterable[Task], reader: ChunkReader) -> list[Any]:
        """The rows of every part that has some."""
        return [X for X in self.map(tasks, rows_of, reader, ()) if X is not None]

    def products(self, kernel: Kernels, held: list[Any], V: list[Array]) -> Iterator[Array]:
        """sum_j k(X_i, X_j) V_j for every held i."""
        for left in held:
            found = total_of(product_of(kernel, left, X, v, X is left) for X, v in zip(held, V, strict=True))
            assert found is not None
            yield found[0]


def rows_of(chunk: Chunk) -> Any:
    """The rows of a chunk."""
    return chunk.X


def length_of(chunk: Chunk) -> int:
    """The number of rows of a chunk."""
    return len(chunk)


def head_of(chunk: Chunk, most: int) -> tuple[Chunk, tuple[str, ...] | None]:
    """The first rows of a chunk."""
    part = slice(0, most)
    y = None if chunk.y is None else chunk.y[part]
    weights = None if chunk.weights is None else chunk.weights[part]
    return replace(chunk, X=take(chunk.X, part), y=y, weights=weights), chunk.names


def taken_of(chunk: Chunk, index: Indices) -> Chunk:
    """Some rows of a chunk."""
    y = None if chunk.y is None else chunk.y[index]
    weights = None if chunk.weights is None else chunk.weights[index]
    return replace(chunk, X=take(chunk.X, index), y=y, weights=weights)


class RunningSums:
    """Sums on their way: of the open group, of the open wave, and of all waves before it."""

    def __init__(self, done: int = 0, levels: Sequence[Arrays | None] = (None, None, None)) -> None:
        self.done = done
        self.group, self.wave, self.total = levels

    def add(self, level: int, size: int, value: Arrays | None) -> None:
        """Enter a sum of `size` chunks at its level; full groups and waves go up."""
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
        """The sum of all, open groups and waves included."""
        return plus(self.total, plus(self.wave, self.group))
