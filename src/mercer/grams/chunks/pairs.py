"""Pairs of chunks as chunks: what is summed over pairs of rows is summed over pairs of chunks, in the order of all sums.

Here a pair is loaded when its turn comes, so that two chunks are in memory at a time. On a cluster the rows of a chunk are
one node of the graph for all pairs that they are in: read once, kept on the workers, and read again where one is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from mercer.inputs.chunks import Loaded, Part
from mercer.inputs.dask_parts import DaskPart


class PairLoad:
    """Loads the rows of two chunks, or of one that stands for both, with what belongs to each."""

    def __init__(self, loads: Sequence[Callable[[], Loaded]], more: tuple[Any, ...]) -> None:
        self.loads, self.more = tuple(loads), more

    def __call__(self) -> Loaded:
        return tuple(load()[0] for load in self.loads), self.more, None


def pair_parts(parts: Sequence[Part], more: Sequence[Any], distributed: bool) -> list[Part]:
    """One part per pair i <= j: X is the rows of both, or of the one, and y is what belongs to them."""
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
    return [Part(name, load) for name, load in zip(where, loads, strict=True)]


def _rows_of(load: Callable[[], Loaded]) -> Any:
    return _listed(load()[0])


def _listed(rows: Any) -> Any:
    """A partition of a bag may be an iterator, which only the first of its pairs would see."""
    return list(rows) if isinstance(rows, Iterator) else rows
