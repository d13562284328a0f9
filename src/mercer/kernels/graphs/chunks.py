"""Graphs dealt out to threads in chunks of about equal work; results put together in the order of the graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.arrays import Ints
from mercer.kernels.graphs.batch import Batch
from mercer.numeric.threads import cpu_count, run

#: Nodes of a chunk: enough that a thread is not woken for nothing, few enough that large graphs are spread.
NODES = 2**11


def chunks(batch: Batch) -> list[tuple[int, int]]:
    """Ranges of graphs, each of about NODES nodes."""
    cuts, ends = [0], batch.first
    for i in range(1, len(batch)):
        if ends[i] - ends[cuts[-1]] >= NODES:
            cuts.append(i)
    return list(zip(cuts, [*cuts[1:], len(batch)], strict=True))


def by_chunks(batch: Batch, work: Callable[[int, int], tuple[Any, Any, Ints]]) -> tuple[Any, Any, Ints]:
    """Run work(low, high) -> (keys, counts, begins) over all graphs; keys and counts end to end, (n + 1,) begins."""
    parts = chunks(batch)
    found: list[Any] = [None] * len(parts)

    def one(number: int, worker: int) -> None:
        found[number] = work(*parts[number])

    run(range(len(parts)), one, min(cpu_count(), len(parts)))
    shift = np.concatenate([[0], np.cumsum([len(keys) for keys, _, _ in found])])
    begins = [begin[:-1] + at for (_, _, begin), at in zip(found, shift[:-1], strict=True)]
    keys = np.concatenate([keys for keys, _, _ in found])
    counts = np.concatenate([counts for _, counts, _ in found])
    return keys, counts, np.concatenate([*begins, shift[-1:]])
