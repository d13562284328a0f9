"""Strips: a matrix walked row by row of tiles, for what is found per row without holding the matrix; and low, wide tiles.

Each strip of rows belongs to one thread, which sees its tiles from left to right. So a running answer per row (a maximum,
a count, the k nearest) needs no lock, and comes out the same however many threads there are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

from mercer.numeric.threads import Progress, cpu_count, run
from mercer.numeric.tiles import SIDE, Block


def walk(
    block: Block,
    shape: tuple[int, int],
    visit: Callable[[slice, slice, NDArray[Any]], None],
    progress: Progress | None = None,
    side: int = SIDE,
    width: int | None = None,
) -> None:
    """Call visit(rows, cols, values) for every tile of `side` rows, strip by strip; `values` may be overwritten."""
    n, m = shape
    strips = [slice(i, min(i + side, n)) for i in range(0, n, side)]
    width = side if width is None else width

    def work(rows: slice, worker: int) -> None:
        for j in range(0, m, width):
            cols = slice(j, min(j + width, m))
            visit(rows, cols, block(rows, cols))

    run(strips, work, min(cpu_count(), len(strips)), len(strips), progress)


def fill_wide(block: Block, out: NDArray[Any]) -> NDArray[Any]:
    """Write a matrix of few rows into `out`: tiles hold as many values as square ones, so that few calls are made."""
    n, m = out.shape
    height = min(n, SIDE)
    width = max(SIDE, SIDE * SIDE // max(1, height))
    pieces = [
        (slice(i, min(i + height, n)), slice(j, min(j + width, m))) for i in range(0, n, height) for j in range(0, m, width)
    ]

    def work(tile: tuple[slice, slice], worker: int) -> None:
        out[tile] = block(*tile)

    run(pieces, work, min(cpu_count(), len(pieces)))
    return out
