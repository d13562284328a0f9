"""Quadratic forms in the labels of rows that come in chunks: sums over pairs of chunks, here or on a cluster.

MMD^2 of a relabeling s needs s'K0 s and the row sums of K0, the Gram matrix without its diagonal. With rows in chunks
s'K0 s is the sum of s_i'K_ij s_j over pairs of chunks, for all B relabelings at once. A pair is given the signs of its own
rows, a bit for each relabeling; K_ij lives tile by tile. Nobody holds the matrix, and the client holds the N x B signs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Array, Floats
from mercer.grams.chunks.operator import ChunkOperator, diagonal_of
from mercer.grams.chunks.rows import ChunkedRows
from mercer.inputs import Rows, count
from mercer.inputs.chunks import Chunk, stacked
from mercer.kernels.base import Kernel
from mercer.kernels.evaluation import Bundle
from mercer.numeric import tiles
from mercer.numeric.memory import DEFAULT_BUDGET, check_fits
from mercer.twosample.forms import Forms, Tile
from mercer.twosample.labels import Labels, Moments, Permuted
from mercer.twosample.units import InUnits

#: Sums are all that chunks have: the largest of P values is taken for the root of this order of their summed powers, which
#: is no smaller, and for 5000 pairs of chunks at most 1.7 times as large.
ORDER = 16


class ChunkMatrices:
    """The Gram matrices of several kernels on rows in chunks: diagonals, and small tiles for a look at their size."""

    dtype = np.dtype(np.float64)

    def __init__(self, kernels: tuple[Kernel, ...], rows: ChunkedRows) -> None:
        self.kernels, self.length, self._rows = kernels, rows.n, rows
        self._diag = rows.column(diagonal_of, kernels).T  # (q, N)

    def diag(self) -> Floats:  # -> (q, N)
        """k(x, x) of every kernel."""
        return self._diag

    def tile(self, rows: slice, cols: slice) -> list[Array]:
        """A tile of every matrix; the chunks that it lies in are read for it."""
        index = np.union1d(np.r_[rows], np.r_[cols])
        places = [np.searchsorted(index, (part.start, part.stop - 1)) for part in (rows, cols)]
        bundle = Bundle(self.kernels, Rows(self._rows.take(index).X, "the pooled sample"))
        return bundle.tile(*(slice(int(low), int(high) + 1) for low, high in places))

    def ends(self, size: int) -> Bundle:
        """The first and the last rows, so that both samples are seen."""
        index = np.union1d(np.arange(min(size, self.length)), np.arange(max(0, self.length - size), self.length))
        return Bundle(self.kernels, Rows(self._rows.take(index).X, "the pooled sample"))


class ChunkForms:
    """The quadratic forms of several kernels under relabelings of rows in chunks."""

    def __init__(self, matrices: InUnits, rows: ChunkedRows, labels: Labels) -> None:
        self.bundle, self.count, self._rows, self._labels = matrices, len(matrices.kernels), rows, labels
        size = min(64, matrices.length)
        corner = matrices.tile(slice(0, size), slice(matrices.length - size, matrices.length))
        self._shift = np.array([block.mean(dtype=np.float64) for block in corner])

    def first(self, signs: NDArray[np.int8]) -> tuple[Floats, Moments]:  # (B, size) -> (q, B)
        """The forms, and the moments of the observed labels."""
        forms, squares, powers = self._summed(signs, exact=False)
        peak = powers ** (1.0 / ORDER) * (self._rows.n / self._labels.size)
        shift = self._shift if self._labels.shifted else np.zeros(self.count)
        # sum_i k(x_i, y_i) of swaps is in the forms and in what they are compared with, and cancels
        return forms, Moments(self._row_sums(), squares, np.zeros(self.count), self.bundle.diag(), shift, peak)

    def more(self, signs: NDArray[np.int8], exact: bool = False) -> Floats:  # (B, size) -> (q, B)
        """The forms of further relabelings; `exact` multiplies in float64."""
        return self._summed(signs, exact)[0]

    def _summed(self, signs: NDArray[np.int8], exact: bool) -> tuple[Floats, Floats, Floats]:
        wide = self._labels.over_rows(signs)  # (B, N)
        bits = [np.packbits(part.T > 0, axis=1) for part in self._rows.split(wide.T)]
        pairs = self._rows.pairs(bits)
        with quiet_graphs():
            forms, squares, powers = pairs.sum(pair_forms, self.bundle.kernels, self.bundle.unit, self._shift, exact)
        self._rows.passes += pairs.passes
        if not self._labels.shifted:  # signs that sum to 0 make -(constant) (0 - N) of the constant that was taken off
            forms = forms - self._shift[:, None] * self._rows.n
        return forms, squares, powers

    def _row_sums(self) -> Floats:  # -> (q, N, 2)
        """K0 v and K0 1 for the observed labels v."""
        V = np.stack([self._labels.observed, np.ones(self._rows.n)], axis=1)
        found = ChunkOperator(self.bundle.kernels, self._rows) @ V
        sums = found.reshape(self._rows.n, self.count, 2).transpose(1, 0, 2) / self.bundle.unit[:, None, None]
        return np.asarray(sums - self.bundle.diag()[:, :, None] * V)


def pair_forms(chunk: Chunk, kernels: tuple[Kernel, ...], unit: Floats, shift: Floats, exact: bool) -> tuple[Floats, ...]:
    """What a pair of chunks adds: s_i'K_ij s_j and its mirror image (q, B), squares (q,), and powers of the largest (q,)."""
    sizes = [count(X) for X in chunk.X]
    rows = Rows(stacked(chunk.X), chunk.where)
    ones = np.hstack([np.unpackbits(bits, axis=1)[:, :n] for bits, n in zip(chunk.y, sizes, strict=True)])
    signs: NDArray[np.int8] = np.where(ones > 0, np.int8(1), np.int8(-1))  # (B, c)
    labels = Permuted(sizes[0], sum(sizes[1:]))
    forms = Forms(InUnits(Bundle(kernels, rows), unit=unit), labels, pieces=_pieces(sizes), shift=shift)
    if exact:
        return forms.more(signs, exact=True), np.zeros(len(kernels)), np.zeros(len(kernels))
    values, moments = forms.first(signs)
    return values, moments.squares, moments.peak**ORDER


def _pieces(sizes: list[int]) -> list[Tile]:
    """The tiles of a chunk on and above its diagonal, or all between the rows of one and the columns of another."""
    if len(sizes) == 1:
        return list(tiles.tiles((sizes[0], sizes[0]), symmetric=True))
    first, second = sizes
    between = tiles.tiles((first, second), symmetric=False)
    return [(rows, slice(cols.start + first, cols.stop + first)) for rows, cols in between]


def quiet_graphs() -> Any:
    """No warning of a large graph: the signs of the rows are in it, since what is in a graph survives a lost worker."""
    from contextlib import nullcontext

    try:
        import dask
    except ImportError:
        return nullcontext()
    return dask.config.set({"distributed.admin.large-graph-warning-threshold": "4GB"})


def check_signs(m: int, n: int, relabelings: int, kernels: int) -> None:
    """Refuse relabelings that do not fit into the memory of this process, before any is drawn."""
    # the signs as drawn, and with the observed ones before them; the random numbers of permutations; a few numbers per row
    needed = (m + n) * (2 * relabelings + 48 * kernels) + (0 if m == n else 8 * min(m, n) * relabelings)
    check_fits(
        needed, f"mmd_test by chunks: {relabelings} relabelings of {m + n} rows", "Take fewer, or method='features'.",
        DEFAULT_BUDGET,
    )  # fmt: skip
