"""All relabelings as one matrix product: quadratic forms s_b'A s_b over the tiles of A on and above its diagonal.

Tiles are evaluated in the precision of the data, their sums for the observed statistic kept in float64, and the tiles
then multiplied as float32 (float64 on request) with all relabelings at once. Products of a tile are summed in float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Array, Floats
from mercer.kernels.base import Kernel
from mercer.numeric import tiles
from mercer.numeric.threads import cpu_count, one_blas_thread, run
from mercer.twosample.labels import Labels, Moments

#: Relabelings multiplied at a time: the product of one tile with this many stays in a core's L2. Row: mmd-aggregated-*.
RELABELINGS_AT_A_TIME = 512

#: Tiles are kept between calls up to this many bytes; beyond, kernels are evaluated again. Row: mmd-aggregated-*.
HOLD = 2**29

#: Relabelings as float32 take at most this many bytes; more of them are done in several passes. Row: mmd-aggregated-*.
SPREAD = 2**29

#: Bound on the rounding error of a float32 form in units of eps * size * (largest entry); measured, it stays below 8.
ROUNDING = 64.0


Tile = tuple[slice, slice]  # rows, columns


class Matrices(Protocol):
    """The Gram matrices of several kernels on one pooled sample, tile by tile."""

    @property
    def kernels(self) -> tuple[Kernel, ...]: ...

    @property
    def length(self) -> int: ...

    @property
    def dtype(self) -> np.dtype[Any]: ...

    def tile(self, rows: slice, cols: slice) -> list[Array]: ...

    def diag(self) -> Floats: ...


class QuadraticForms(Protocol):
    """Who sums quadratic forms in the labels: tiles in memory (`Forms`), or pairs of chunks."""

    @property
    def bundle(self) -> Matrices: ...

    @property
    def count(self) -> int: ...

    def first(self, signs: NDArray[np.int8]) -> tuple[Floats, Moments]: ...

    def more(self, signs: NDArray[np.int8], exact: bool = False) -> Floats: ...


class Forms:
    """The quadratic forms of every kernel of a bundle under relabelings of its rows."""

    def __init__(
        self,
        bundle: Matrices,
        labels: Labels,
        hold: bool = False,
        pieces: Sequence[Tile] | None = None,
        shift: Floats | None = None,
    ) -> None:
        """`pieces` are the tiles to sum over, `shift` (q,) the constants to take off: given for a part of the rows."""
        self.bundle, self.labels = bundle, labels
        self.count = len(bundle.kernels)
        self._tiles = list(tiles.tiles((labels.size, labels.size), symmetric=True)) if pieces is None else list(pieces)
        self._threads = min(cpu_count(), len(self._tiles))
        self._shift = self._constants() if shift is None else shift
        self._held: dict[tuple[int, int], list[Array]] = {}
        self._keep = hold and self.count * labels.size**2 * 2 <= HOLD  # worth it only if more passes are to come

    def _constants(self) -> Floats:
        if not self.labels.shifted:
            return np.zeros(self.count)
        few = slice(0, min(64, self.bundle.length)), slice(max(0, self.bundle.length - 64), self.bundle.length)
        return np.array([block.mean(dtype=np.float64) for block in self.bundle.tile(*few)])

    def first(self, signs: NDArray[np.int8]) -> tuple[Floats, Moments]:  # (B, size) -> (q, B)
        """The forms, and the moments of the observed labels from the same pass."""
        book = Book(self.count, self.labels.observed, self._threads)
        step = self._step()
        parts = [self._pass(signs[:step], np.float32, book)]
        parts += [self.more(signs[start : start + step]) for start in range(step, len(signs), step)]
        return np.concatenate(parts, axis=1), book.moments(self.bundle.diag(), self._shift)

    def more(self, signs: NDArray[np.int8], exact: bool = False) -> Floats:  # (B, size) -> (q, B)
        """The forms of further relabelings; `exact` evaluates and sums in float64."""
        step = self._step()
        parts = [
            self._pass(signs[start : start + step], np.float64 if exact else np.float32, None)
            for start in range(0, len(signs), step)
        ]
        return np.concatenate(parts, axis=1)

    def _step(self) -> int:
        return max(1, SPREAD // (4 * self.labels.size))

    def _pass(self, signs: NDArray[np.int8], dtype: Any, book: Book | None) -> Floats:
        # one contiguous panel per tile: a slice of the whole would be read in short strides
        parts = {part.start: part for tile in self._tiles for part in tile}
        panels = {start: signs[:, part].astype(dtype) for start, part in parts.items()}
        totals = np.zeros((self._threads, self.count, len(signs)))
        buffers = np.empty((self._threads, RELABELINGS_AT_A_TIME, tiles.SIDE), dtype)

        def work(tile: Tile, worker: int) -> None:
            rows, cols = tile
            for k, values in enumerate(self._values(rows, cols, dtype, book, worker)):
                weight = 1.0 if rows == cols else 2.0
                _add(totals[worker, k], weight, values, panels[rows.start], panels[cols.start], buffers[worker])

        with one_blas_thread():  # also for a single tile: products this small lose by being shared out
            run(self._tiles, work, self._threads, static=True)  # sums per thread: the same digits every time
        return np.asarray(totals.sum(axis=0))

    def _values(self, rows: slice, cols: slice, dtype: Any, book: Book | None, worker: int) -> list[Array]:
        key = rows.start, cols.start
        if dtype == np.float32 and book is None and key in self._held:
            return self._held[key]
        sums: list[Any] = [None] * self.count
        for block in self.labels.blocks(rows, cols):
            for k, values in enumerate(self.bundle.tile(block.rows, block.cols)):
                if book is not None:
                    book.enter(worker, k, block.rows, block.cols, values, block.paired)
                signed = values + values.T if block.twice else values
                sums[k] = signed if sums[k] is None else _plus(sums[k], block.sign, signed)
        result = []
        for k, values in enumerate(sums):
            if self.labels.shifted:
                values -= values.dtype.type(self._shift[k])
            if rows == cols:
                np.fill_diagonal(values, 0.0)
            if book is not None:
                book.peak[worker, k] = max(book.peak[worker, k], float(np.abs(values).max()))
            result.append(values.astype(dtype, copy=False))
        if self._keep and dtype == np.float32:
            self._held[key] = result
        return result


def _plus(total: Array, sign: float, values: Array) -> Array:
    return np.add(total, values, out=total) if sign > 0 else np.subtract(total, values, out=total)


def _add(
    total: Floats, weight: float, values: Array, left: Array, right: Array,
    buffer: Array,
) -> None:  # fmt: skip
    """total[b] += weight * left_b' values right_b."""
    transposed = values.T
    for start in range(0, len(total), RELABELINGS_AT_A_TIME):
        part = slice(start, min(start + RELABELINGS_AT_A_TIME, len(total)))
        product = buffer[: part.stop - start, : len(values)]
        if product.shape[1] == buffer.shape[1]:
            np.matmul(right[part], transposed, out=product)
        else:  # the last tile is narrower, and an out of short rows would be copied
            product = right[part] @ transposed
        total[part] += weight * np.einsum("bi,bi->b", product, left[part])


class Book:
    """The sums for the observed labels, one account per thread."""

    def __init__(self, count: int, observed: Floats, threads: int) -> None:
        self.weights = np.stack([observed, np.ones(len(observed))], axis=1)  # (N, 2): v and 1
        self.light = self.weights.astype(np.float32)
        self.sums = np.zeros((threads, count, len(observed), 2))
        self.squares, self.paired, self.peak = np.zeros((3, threads, count))

    def enter(self, worker: int, k: int, rows: slice, cols: slice, values: Array, paired: bool) -> None:
        """Add one block of a Gram matrix, in both of its places; the diagonal of the whole is left out, in place."""
        if rows == cols:
            np.fill_diagonal(values, 0.0)
        weights = self.light if values.dtype == np.float32 else self.weights
        self.sums[worker, k, rows] += values @ weights[cols]
        flat = values.ravel()
        square = float(np.dot(flat, flat))
        if rows != cols:
            self.sums[worker, k, cols] += values.T @ weights[rows]
            square *= 2.0
        self.squares[worker, k] += square
        if paired:
            self.paired[worker, k] += float(np.trace(values, dtype=np.float64))

    def moments(self, diag: Floats, shift: Floats) -> Moments:
        """The accounts of all threads together."""
        return Moments(
            self.sums.sum(axis=0), self.squares.sum(axis=0), self.paired.sum(axis=0), diag, shift, self.peak.max(axis=0)
        )
