"""Fill arrays, and compute products and sums, from a function that returns tiles of a matrix.

`block(rows, cols)` returns the values of one tile as an array the caller may keep and overwrite. Tiles are small enough
to stay in cache; a symmetric matrix is made from the tiles on and above its diagonal. Strips walk a matrix row by row of
tiles, for what is found per row without holding the matrix: each strip belongs to one thread, which sees its tiles from left
to right, so a running answer per row needs no lock and does not depend on the number of threads. This module owns tile
sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Array, Floats
from mercer.numeric.threads import Progress, cpu_count, one_blas_thread, run


@lru_cache(maxsize=8)
def _above(n: int) -> NDArray[np.bool_]:
    # tiles come in few sizes, and making the mask takes as long as using it
    mask = ~np.tri(n, dtype=bool)
    mask.flags.writeable = False
    return mask


def onto_lower(tile: Array) -> None:  # (n, n)
    """Write the strict upper triangle onto the lower one.

    >>> tile = np.array([[1.0, 2.0], [9.0, 3.0]])
    >>> onto_lower(tile)
    >>> tile.tolist()
    [[1.0, 2.0], [2.0, 3.0]]
    """
    np.copyto(tile, tile.T.copy(), where=_above(len(tile)).T)


def onto_upper(tile: Array) -> None:  # (n, n)
    """Write the strict lower triangle onto the upper one."""
    np.copyto(tile, tile.T.copy(), where=_above(len(tile)))


Block = Callable[[slice, slice], Array]

#: Rows and columns of a tile. 240 x 240 float64 values are 450 KiB, so that a tile and its distances live in the L2 and L3
#: of one core. Not a power of two: the columns of a 256 x 256 tile fall on the same few cache lines, and copying its
#: transpose waits for them. Row: gaussian-gram-*.
SIDE = 240

#: Largest side of a tile, for any number of rows. Row: gaussian-gram-*.
LARGEST_SIDE = 280


#: Up to this many values the number of BLAS threads is not set, because setting it takes as long as the product.
#: `make bench-small` measures it.
FEW_VALUES = 2**14


def row_blocks(n: int, size: int, start: int = 0) -> list[slice]:
    """Slices of at most `size` rows that cover the rows start … n - 1 in order.

    >>> row_blocks(5, 2)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    return [slice(low, min(low + size, n)) for low in range(start, n, size)]


def even(n: int) -> int:
    """Return a side near SIDE that cuts n rows into about equal parts: a narrow tile costs as many calls as a full one.

    >>> even(768), even(1500), even(10_000), even(100)
    (264, 264, 240, 104)
    """
    parts = max(-(-n // LARGEST_SIDE), round(n / SIDE))
    side = 8 * -(-n // (8 * parts))  # BLAS works on groups of eight
    return side + 8 if side % 64 == 0 else side  # see SIDE


def tiles(shape: tuple[int, int], symmetric: bool, side: int = SIDE, strip: int = 0) -> Iterator[tuple[slice, slice]]:
    """Yield the (rows, cols) slices that cover a matrix, or its upper triangle; if given, `strip` rows at full width."""
    n, m = shape
    for rows in row_blocks(n, strip or side):
        start = rows.start if symmetric else 0
        yield from ((rows, cols) for cols in ([slice(start, m)] if strip else row_blocks(m, side, start)))


def count(shape: tuple[int, int], symmetric: bool, side: int = SIDE, strip: int = 0) -> int:
    """Return the number of tiles that `tiles` yields."""
    if strip:
        return -(-shape[0] // strip)
    down, across = -(-shape[0] // side), -(-shape[1] // side)
    return down * (down + 1) // 2 if symmetric else down * across


def _blas_for(shape: tuple[int, int], n_tiles: int) -> AbstractContextManager[None]:
    """Limit BLAS to one thread also for a matrix of one tile: other threads would stay busy after the product."""
    return one_blas_thread() if n_tiles == 1 and shape[0] * shape[1] > FEW_VALUES else nullcontext()


def _threads(n_tiles: int) -> int:
    return min(cpu_count(), n_tiles)


def fill(block: Block, out: Array, symmetric: bool, progress: Progress | None = None, strip: int = 0) -> Array:
    """Write the matrix into `out`, tile by tile; a symmetric one comes out exactly symmetric."""

    def work(tile: tuple[slice, slice], worker: int) -> None:
        rows, cols = tile
        values = block(rows, cols)
        out[rows, cols] = values
        if symmetric:
            beyond = slice(max(cols.start, rows.stop), cols.stop)  # what does not lie over the rows themselves
            out[beyond, rows] = values[:, beyond.start - cols.start :].T
            if cols.start == rows.start:
                onto_lower(out[rows, rows])

    side = even(len(out)) if symmetric else SIDE
    n_tiles = count(out.shape, symmetric, side, strip)
    with _blas_for(out.shape, n_tiles):
        run(tiles(out.shape, symmetric, side, strip), work, _threads(n_tiles), n_tiles, progress, short=not strip)
    return out


def product(
    block: Block,
    shape: tuple[int, int],
    V: Array,
    symmetric: bool,
    progress: Progress | None = None,
    strip: int = 0,
) -> Floats:
    """Return K @ V for V (m, r) without holding K; sums run in float64."""
    pieces = list(tiles(shape, symmetric, strip=strip)) if symmetric or strip else _oblong(shape)
    n_tiles = len(pieces)
    threads = _threads(n_tiles)
    V = np.ascontiguousarray(V)
    totals = [np.zeros((shape[0], V.shape[1])) for _ in range(threads)]

    def work(tile: tuple[slice, slice], worker: int) -> None:
        rows, cols = tile
        values = block(rows, cols)
        totals[worker][rows] += values @ V[cols]
        if symmetric and cols.stop > rows.stop:
            beyond = slice(max(cols.start, rows.stop), cols.stop)
            totals[worker][beyond] += values[:, beyond.start - cols.start :].T @ V[rows]

    with _blas_for(shape, n_tiles):
        run(pieces, work, threads, n_tiles, progress, static=True, short=not strip)
    for other in totals[1:]:
        totals[0] += other
    return totals[0]


def total(
    term: Callable[[slice, slice], Array],
    shape: tuple[int, int],
    size: int,
    progress: Progress | None = None,
    symmetric: bool = False,
) -> Floats:
    """Return the float64 sum over all tiles of term(rows, cols), an array of `size` numbers.

    With `symmetric`, term(rows, cols) = term(cols, rows): tiles above the diagonal are taken once and counted twice.
    """
    side = even(shape[0]) if symmetric else SIDE
    n_tiles = count(shape, symmetric, side)
    threads = _threads(n_tiles)
    totals = [np.zeros(size) for _ in range(threads)]

    def work(tile: tuple[slice, slice], worker: int) -> None:
        rows, cols = tile
        totals[worker] += (2.0 if symmetric and rows != cols else 1.0) * term(rows, cols)

    run(tiles(shape, symmetric, side), work, threads, n_tiles, progress, static=True, short=True)
    return np.sum(totals, axis=0)


def stacked(term: Block, shape: tuple[int, int], width: int) -> Floats:
    """Return the (n, width) array whose rows are sums over the columns' tiles of what `term` returns for each tile."""
    n_tiles = count(shape, False)
    threads = _threads(n_tiles)
    totals = [np.zeros((shape[0], width)) for _ in range(threads)]

    def work(tile: tuple[slice, slice], worker: int) -> None:
        totals[worker][tile[0]] += term(*tile)

    run(tiles(shape, False), work, threads, n_tiles, None, static=True, short=True)
    for other in totals[1:]:
        totals[0] += other
    return totals[0]


def walk(
    block: Block,
    shape: tuple[int, int],
    visit: Callable[[slice, slice, Array], None],
    progress: Progress | None = None,
    side: int | None = None,
    width: int | None = None,
) -> None:
    """Call visit(rows, cols, values) for every tile of `side` rows, strip by strip; `values` may be overwritten."""
    n, m = shape
    height, breadth = _sides(shape)
    side, width = height if side is None else side, breadth if width is None else width
    strips, across = row_blocks(n, side), row_blocks(m, width)

    def work(rows: slice, worker: int) -> None:
        for cols in across:
            visit(rows, cols, block(rows, cols))

    short = side * m <= LARGEST_SIDE * LARGEST_SIDE
    with _blas_for(shape, len(strips)):
        run(strips, work, min(cpu_count(), len(strips)), len(strips), progress, short=short)


def _sides(shape: tuple[int, int]) -> tuple[int, int]:
    height = max(1, min(shape[0], SIDE * SIDE // max(1, min(shape[1], SIDE))))
    return height, max(SIDE, SIDE * SIDE // height)


def _oblong(shape: tuple[int, int]) -> list[tuple[slice, slice]]:
    """Tiles of a matrix of few rows or few columns, of as many values as square ones: few calls are made."""
    height, width = _sides(shape)
    return [(rows, cols) for rows in row_blocks(shape[0], height) for cols in row_blocks(shape[1], width)]


def fill_wide(block: Block, out: Array) -> Array:
    """Write a matrix of few rows into `out`."""
    pieces = _oblong(out.shape)

    def work(tile: tuple[slice, slice], worker: int) -> None:
        out[tile] = block(*tile)

    run(pieces, work, min(cpu_count(), len(pieces)), short=True)
    return out
