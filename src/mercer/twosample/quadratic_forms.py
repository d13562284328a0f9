"""MMD^2 under many relabelings of a pooled sample, by quadratic forms in the labels.

With K0 the Gram matrix without its diagonal, v in {0, 1}^N the rows that count as the first sample, and s = 2v - 1,

    MMD^2_u = v'K0 v / (m (m-1)) + (1-v)'K0 (1-v) / (n (n-1)) - 2 v'K0 (1-v) / (m n)

needs one quadratic form s'K0 s per relabeling; the other terms are row sums of K0. Adding a constant to all entries does
not change it. A constant near the mean entry is subtracted first, because float32 is precise enough for the remainder.

For m = n, swapping x_i and y_i for random i is a group of relabelings too. With H_ij = k(x_i, x_j) + k(y_i, y_j)
- k(x_i, y_j) - k(y_i, x_j) for i != j and signs e in {-1, 1}^n, MMD^2_u is a constant plus b e'He, b > 0: the matrix is
n x n instead of 2n x 2n.

The forms of all relabelings are sums of matrix products over the tiles on and above the diagonal. Tiles are evaluated in
the precision of the data. Their sums for the observed statistic are kept in float64, and the tiles are multiplied as
float32 (float64 on request) with all relabelings at once. Products of a tile are summed in float64.
"""

from __future__ import annotations

import abc
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Array, Floats
from mercer.kernels.base import Kernel
from mercer.numeric import tiles
from mercer.numeric.threads import cpu_count, one_blas_thread, run


def permutations(rng: np.random.Generator, m: int, n: int, count: int) -> NDArray[np.int8]:  # -> (count, m + n)
    """Draw rows of signs with exactly m entries +1, uniformly over all such rows."""
    from mercer.twosample._compiled_sums import draw_subsets

    few = min(m, n)  # drawing the smaller sample is enough
    signs = np.full((count, m + n), -1 if m <= n else 1, np.int8)
    draw_subsets(rng.random((count, few)), signs, 1 if m <= n else -1)
    return signs


def swaps(rng: np.random.Generator, n: int, count: int) -> NDArray[np.int8]:  # -> (count, n)
    """Draw rows of independent fair signs: -1 swaps x_i and y_i, +1 leaves them."""
    bits = np.unpackbits(rng.integers(0, 256, (count, -(-n // 8)), dtype=np.uint8), axis=1)[:, :n]
    signs = bits.view(np.int8)
    signs *= 2
    signs -= 1
    return np.ascontiguousarray(signs)


@dataclass(frozen=True)
class ObservedSums:
    """Sums over the Gram matrices of q kernels for the observed labels."""

    sums: Floats  # (q, N, 2): K0 v and K0 1 for the observed labels
    squares: Floats  # (q,): sum over i != j of K_ij^2
    paired: Floats  # (q,): sum_i k(x_i, y_i), where samples are paired
    diag: Floats  # (q, N): k(x, x)
    shift: Floats  # (q,): the constant subtracted from the entries of the forms
    peak: Floats  # (q,): the largest |entry| of the matrices of the forms


@dataclass(frozen=True)
class SignedBlock:
    """A signed block of the pooled Gram matrix inside a tile; `twice` adds its transpose."""

    rows: slice
    cols: slice
    sign: float
    twice: bool = False
    paired: bool = False  # its diagonal holds k(x_i, y_i)


class Relabelings(abc.ABC):
    """A group of relabelings of m + n rows, and its quadratic form (abstract)."""

    def __init__(self, m: int, n: int) -> None:
        self.m, self.n = m, n
        self.observed = np.repeat([1.0, 0.0], [m, n])  # v of the observed labels

    size: int  # rows of the matrix of the form
    name: str  # what is drawn, for messages

    @abc.abstractmethod
    def draw(self, rng: np.random.Generator, count: int) -> NDArray[np.int8]:
        """Draw relabelings, one per row."""

    @abc.abstractmethod
    def identity(self) -> NDArray[np.int8]:
        """Return the observed labels as one row of signs."""

    @abc.abstractmethod
    def blocks(self, rows: slice, cols: slice) -> Iterator[SignedBlock]:
        """Yield the blocks of the pooled Gram matrix whose signed sum is this tile."""

    @abc.abstractmethod
    def statistics(
        self, forms: Floats, signs: NDArray[np.int8], moments: ObservedSums, biased: bool
    ) -> Floats:  # (q, B), (B, size) -> (q, B)
        """Return MMD^2 of every kernel under every relabeling."""

    @abc.abstractmethod
    def over_rows(self, signs: NDArray[np.int8]) -> NDArray[np.int8]:  # (B, size) -> (B, m + n)
        """Return the sign of every pooled row under every relabeling."""

    @abc.abstractmethod
    def slope(self) -> float:
        """Return the derivative of MMD^2 with respect to the form."""

    shifted: bool  # whether a constant is subtracted from the entries

    def estimate(self, moments: ObservedSums, biased: bool) -> Floats:  # -> (q,)
        """Return MMD^2 of every kernel for the observed labels, in float64."""
        first = slice(0, self.m)
        within, across = moments.sums[:, first, 0].sum(axis=1), moments.sums[:, first, 1].sum(axis=1)
        total, diag = moments.sums[:, :, 1].sum(axis=1), moments.diag
        return self._three_terms(within, across, total, diag[:, first].sum(axis=1), diag.sum(axis=1), biased)

    def _three_terms(self, within: Any, across: Any, total: Any, diag: Any, trace: Any, biased: bool) -> Any:
        """Return MMD^2 from v'K0 v, v'K0 1, 1'K0 1, v'd and 1'd."""
        m, n = self.m, self.n
        other, between = total - 2.0 * across + within, across - within
        if biased:
            return (within + diag) / m**2 + (other + trace - diag) / n**2 - 2.0 * between / (m * n)
        return within / (m * (m - 1)) + other / (n * (n - 1)) - 2.0 * between / (m * n)


class Permutations(Relabelings):
    """Relabelings by all choices of m of the m + n rows."""

    shifted, name = True, "permutations"

    def __init__(self, m: int, n: int) -> None:
        super().__init__(m, n)
        self.size = m + n

    def draw(self, rng: np.random.Generator, count: int) -> NDArray[np.int8]:
        return permutations(rng, self.m, self.n, count)

    def identity(self) -> NDArray[np.int8]:
        return np.repeat(np.array([1, -1], np.int8), [self.m, self.n])[None, :]

    def blocks(self, rows: slice, cols: slice) -> Iterator[SignedBlock]:
        yield SignedBlock(rows, cols, 1.0)

    def over_rows(self, signs: NDArray[np.int8]) -> NDArray[np.int8]:
        return signs

    def slope(self) -> float:
        m, n = self.m, self.n
        return 0.25 * (1.0 / (m * (m - 1)) + 1.0 / (n * (n - 1)) + 2.0 / (m * n))

    def statistics(self, forms: Floats, signs: NDArray[np.int8], moments: ObservedSums, biased: bool) -> Floats:
        size, shift = self.size, moments.shift
        row_sums = moments.sums[:, :, 1] - shift[:, None] * (size - 1)  # (q, N), of K0 - shift
        total = row_sums.sum(axis=1)[:, None]
        signed = self._signed(row_sums, signs)
        within, across = 0.25 * (forms + 2.0 * signed + total), 0.5 * (signed + total)
        if not biased:
            return self._three_terms(within, across, total, 0.0, 0.0, False)
        diag = moments.diag - shift[:, None]
        trace = diag.sum(axis=1)[:, None]
        return self._three_terms(within, across, total, 0.5 * (self._signed(diag, signs) + trace), trace, True)

    @staticmethod
    def _signed(values: Floats, signs: NDArray[np.int8]) -> Floats:  # (q, N), (B, N) -> (q, B)
        out = np.empty((len(values), len(signs)))
        for start in range(0, len(signs), 256):  # in parts, because signs become float64 for this product
            part = slice(start, start + 256)
            out[:, part] = values @ signs[part].T.astype(np.float64)
        return out


class Swaps(Relabelings):
    """Relabelings that swap x_i and y_i for some i; both samples have n rows."""

    shifted, name = False, "swaps"  # a constant cancels inside H

    def __init__(self, m: int, n: int) -> None:
        super().__init__(m, n)
        self.size = n

    def draw(self, rng: np.random.Generator, count: int) -> NDArray[np.int8]:
        return swaps(rng, self.n, count)

    def identity(self) -> NDArray[np.int8]:
        return np.ones((1, self.n), np.int8)

    def blocks(self, rows: slice, cols: slice) -> Iterator[SignedBlock]:
        below, right = (slice(part.start + self.n, part.stop + self.n) for part in (rows, cols))
        yield SignedBlock(rows, cols, 1.0)
        yield SignedBlock(below, right, 1.0)
        if rows == cols:
            yield SignedBlock(rows, right, -1.0, twice=True, paired=True)
        else:
            yield SignedBlock(rows, right, -1.0)
            yield SignedBlock(below, cols, -1.0)

    def over_rows(self, signs: NDArray[np.int8]) -> NDArray[np.int8]:
        return np.hstack([signs, -signs])

    def slope(self) -> float:
        return 0.5 * (1.0 / (self.n * (self.n - 1)) + 1.0 / self.n**2)

    def statistics(self, forms: Floats, signs: NDArray[np.int8], moments: ObservedSums, biased: bool) -> Floats:
        first = slice(0, self.n)
        within, across = moments.sums[:, first, 0].sum(axis=1), moments.sums[:, first, 1].sum(axis=1)
        other = moments.sums[:, :, 1].sum(axis=1) - 2.0 * across + within
        here = within + other - 2.0 * (across - within) + 2.0 * moments.paired  # 1'H1, without swaps
        slope = 1.0 / self.n**2 if biased else self.slope()
        return self.estimate(moments, biased)[:, None] + slope * (forms - here[:, None])


#: Relabelings per matrix product; the product of a tile with this many fits the L2 cache. Row: mmd-aggregated-*.
RELABELINGS_AT_A_TIME = 512

#: Bytes of tiles kept between calls; beyond this, kernels are evaluated again. Row: mmd-aggregated-*.
HOLD = 2**29

#: Bytes of relabelings as float32 in one pass; more relabelings take several passes. Row: mmd-aggregated-*.
SPREAD = 2**29

#: Bound on the rounding error of a float32 form in units of eps * size * (largest entry); the measured factor stays below 8.
ROUNDING = 64.0


Tile = tuple[slice, slice]  # rows, columns


class GramTiles(Protocol):
    """Gram matrices of several kernels on one pooled sample, by tiles."""

    @property
    def kernels(self) -> tuple[Kernel, ...]: ...

    @property
    def length(self) -> int: ...

    @property
    def dtype(self) -> np.dtype[Any]: ...

    def tile(self, rows: slice, cols: slice) -> list[Array]: ...

    def diag(self) -> Floats: ...


class QuadraticForms(Protocol):
    """Sums of quadratic forms in the labels, over tiles in memory (`Forms`) or over pairs of chunks."""

    @property
    def bundle(self) -> GramTiles: ...

    @property
    def count(self) -> int: ...

    def first(self, signs: NDArray[np.int8]) -> tuple[Floats, ObservedSums]: ...

    def more(self, signs: NDArray[np.int8], exact: bool = False) -> Floats: ...


class Forms:
    """Quadratic forms of every kernel of a bundle under relabelings of its rows."""

    def __init__(
        self,
        bundle: GramTiles,
        labels: Relabelings,
        hold: bool = False,
        pieces: Sequence[Tile] | None = None,
        shift: Floats | None = None,
    ) -> None:
        """Sum over the tiles `pieces` (default: all) of the matrices minus the constants `shift` (default: measured)."""
        self.bundle, self.labels = bundle, labels
        self.count = len(bundle.kernels)
        self._tiles = list(tiles.tiles((labels.size, labels.size), symmetric=True)) if pieces is None else list(pieces)
        self._threads = min(cpu_count(), len(self._tiles))
        self._shift = self._constants() if shift is None else shift
        self._held: dict[tuple[int, int], list[Array]] = {}
        self._keep = hold and self.count * labels.size**2 * 2 <= HOLD  # only further passes use kept tiles

    def _constants(self) -> Floats:
        if not self.labels.shifted:
            return np.zeros(self.count)
        few = slice(0, min(64, self.bundle.length)), slice(max(0, self.bundle.length - 64), self.bundle.length)
        return np.array([block.mean(dtype=np.float64) for block in self.bundle.tile(*few)])

    def first(self, signs: NDArray[np.int8]) -> tuple[Floats, ObservedSums]:  # (B, size) -> (q, B)
        """Return the forms (q, B), and the sums of the observed labels from the same pass."""
        book = SumAccounts(self.count, self.labels.observed, self._threads)
        step = self._step()
        parts = [self._pass(signs[:step], np.float32, book)]
        parts += [self.more(signs[start : start + step]) for start in range(step, len(signs), step)]
        return np.concatenate(parts, axis=1), book.total(self.bundle.diag(), self._shift)

    def more(self, signs: NDArray[np.int8], exact: bool = False) -> Floats:  # (B, size) -> (q, B)
        """Return the forms of further relabelings; `exact` evaluates and sums in float64."""
        step = self._step()
        parts = [
            self._pass(signs[start : start + step], np.float64 if exact else np.float32, None)
            for start in range(0, len(signs), step)
        ]
        return np.concatenate(parts, axis=1)

    def _step(self) -> int:
        return max(1, SPREAD // (4 * self.labels.size))

    def _pass(self, signs: NDArray[np.int8], dtype: Any, book: SumAccounts | None) -> Floats:
        # one contiguous panel per tile, because a slice of the whole is read in short strides
        parts = {part.start: part for tile in self._tiles for part in tile}
        panels = {start: signs[:, part].astype(dtype) for start, part in parts.items()}
        totals = np.zeros((self._threads, self.count, len(signs)))
        buffers = np.empty((self._threads, RELABELINGS_AT_A_TIME, tiles.SIDE), dtype)

        def work(tile: Tile, worker: int) -> None:
            rows, cols = tile
            for k, values in enumerate(self._values(rows, cols, dtype, book, worker)):
                weight = 1.0 if rows == cols else 2.0
                _add(totals[worker, k], weight, values, panels[rows.start], panels[cols.start], buffers[worker])

        with one_blas_thread():  # also for a single tile: threads slow down products this small
            run(self._tiles, work, self._threads, static=True)  # sums per thread keep the digits reproducible
        return np.asarray(totals.sum(axis=0))

    def _values(self, rows: slice, cols: slice, dtype: Any, book: SumAccounts | None, worker: int) -> list[Array]:
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
    """Add weight * left_b' values right_b to total[b]."""
    transposed = values.T
    for start in range(0, len(total), RELABELINGS_AT_A_TIME):
        part = slice(start, min(start + RELABELINGS_AT_A_TIME, len(total)))
        product = buffer[: part.stop - start, : len(values)]
        if product.shape[1] == buffer.shape[1]:
            np.matmul(right[part], transposed, out=product)
        else:  # the last tile is narrower, and matmul would copy an output of short rows
            product = right[part] @ transposed
        total[part] += weight * np.einsum("bi,bi->b", product, left[part])


class SumAccounts:
    """Sums for the observed labels, accumulated per thread."""

    def __init__(self, count: int, observed: Floats, threads: int) -> None:
        self.weights = np.stack([observed, np.ones(len(observed))], axis=1)  # (N, 2): v and 1
        self.light = self.weights.astype(np.float32)
        self.sums = np.zeros((threads, count, len(observed), 2))
        self.squares, self.paired, self.peak = np.zeros((3, threads, count))

    def enter(self, worker: int, k: int, rows: slice, cols: slice, values: Array, paired: bool) -> None:
        """Add one block of a Gram matrix and its mirror image; diagonal entries of the matrix are set to 0 in place."""
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

    def total(self, diag: Floats, shift: Floats) -> ObservedSums:
        """Return the sums over all threads."""
        return ObservedSums(
            self.sums.sum(axis=0), self.squares.sum(axis=0), self.paired.sum(axis=0), diag, shift, self.peak.max(axis=0)
        )
