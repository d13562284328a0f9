"""Inner products of sparse rows: X Z' as dense tiles.

Each column is handled where it is cheapest. Columns that many rows have go through one dense product. Small whole numbers
are counted in sets of bits. The rest is summed along lists of the rows that have a column. Small products are left to
SciPy, which needs no compiled loops.

Sums of whole numbers are exact: float32 is used only if no sum can reach 2^24.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.arrays import Array, Codes, Floats, Ints
from mercer.numeric import tiles
from mercer.numeric.compiling import worth
from mercer.numeric.encodings import squared_norms
from mercer.numeric.threads import cpu_count, run

Marks = NDArray[np.uint32]

#: A column that this share of the rows have is cheaper in a dense product (0.02 ns per pair of rows and column, all
#: columns) than along its list (1 ns per pair of rows that have it). Row: spectrum-*.
COMMON = 0.125

#: Largest size of the dense columns in bytes. Row: strings-n100000.
DENSE_BYTES = 2**29

#: Nanoseconds that a compiled loop saves per stored number (it pays from 2^17 numbers on), and per pair of rows, because a
#: sparse product visits every pair of rows with a common column (it pays from 1024 rows on). Row: spectrum-*.
PER_STORED, PER_PAIR = 64, 8

#: Within a group of rows, a key that occurs at most this often is kept as a list, other keys as sets of bits. Row: gapped-*.
FEW = 4


@dataclass(frozen=True)
class KeyedRows:
    """Rows of keys, under several numberings of the keys at once, prepared for counting pairs of equal keys.

    An item of a row is stored in parts. A numbering is a table per part, and the key of an item is the sum of the entries
    for its parts. Without a table the first part is the key. Numberings with the same weight form a group.
    """

    parts: Marks  # (q, M) parts of each item
    back: Marks  # (q, M) parts of each item read backwards, or (q, 0)
    first: Ints  # (n + 1,) where the items of each row begin
    groups: tuple[tuple[float, Marks, Ints, int], ...]  # weight, (t, q, S) tables, (t,) directions, bound of the keys

    #: Rows per tile: the caller's default.
    strip = None

    @classmethod
    def of_counts(cls, indptr: Ints, indices: Codes, counts: Array, width: int) -> Self:
        """Rows of whole numbers, each count c as c equal keys."""
        times = counts.astype(np.int64)
        first = np.concatenate([[0], np.cumsum(times)])[indptr]
        keys = np.repeat(indices, times).astype(np.uint32)[None]
        group = (1.0, np.empty((1, 1, 0), dtype=np.uint32), np.zeros(1, dtype=np.int64), max(width, 1))
        return cls(keys, np.empty((1, 0), dtype=np.uint32), first, (group,))

    @property
    def longest(self) -> int:
        """Largest number of items of a row."""
        return int(np.diff(self.first).max(initial=0))

    def between(self, left: Ints, right: Ints) -> Floats:  # (r,), (m,) -> (r, m)
        """Weighted number of pairs of items with equal keys, for each of the rows `left` with each of the rows `right`."""
        from mercer.numeric._compiled_sparse_products import LEVELS, shared_keys

        out = np.zeros((len(left), len(right)))
        for weight, tables, strands, bound in self.groups:
            most = LEVELS * self.longest * len(tables) * (2 if self.back.shape[1] else 1)
            shared_keys(
                self.parts, self.back, tables, strands, self.first, bound, left, right, FEW,
                max(8, most.bit_length()), out, weight,
            )  # fmt: skip
        return out

    def own(self, rows: Ints) -> Floats:  # (r,) -> (r,)
        """Weighted number of pairs of items with equal keys within each row."""
        from mercer.numeric._compiled_sparse_products import own_keys

        out = np.zeros(len(rows))

        def work(part: slice, worker: int) -> None:
            for weight, tables, strands, bound in self.groups:
                own_keys(self.parts, self.back, tables, strands, self.first, bound, rows[part], weight, out[part])

        parts = tiles.row_blocks(len(rows), 256)
        run(parts, work, min(cpu_count(), len(parts)))
        return out


class SparseRows:
    """Sparse rows, prepared for products with each other."""

    def __init__(self, matrix: sp.csr_array) -> None:
        self.indptr = matrix.indptr.astype(np.int64, copy=False)
        self.indices = matrix.indices.astype(np.int32, copy=False)
        self.data, self.single = _narrow(matrix)
        self.width = matrix.shape[1]
        self.dense: Array | None = None
        self._move_common_columns(matrix)
        self.keyed = self._as_keys() if self.single else None
        if self.keyed is None:
            from mercer.numeric._compiled_sparse_products import transposed

            self.pointer, self.rows, self.values = transposed(self.indptr, self.indices, self.data, self.width)

    def _move_common_columns(self, matrix: sp.csr_array) -> None:
        """Move the columns that many rows have to a dense array."""
        n, width = matrix.shape
        common = np.flatnonzero(np.bincount(self.indices, minlength=width) > COMMON * n)
        dtype = np.float32 if self.single else np.float64
        if len(common) <= 8 or len(common) * n * np.dtype(dtype).itemsize > DENSE_BYTES:
            return
        place = np.full(width, -1, dtype=np.int32)
        place[common] = np.arange(len(common), dtype=np.int32)
        inside = place[self.indices] >= 0
        before = np.concatenate([[0], np.cumsum(inside)])[self.indptr]  # stored numbers of these columns before each row
        row = np.repeat(np.arange(n, dtype=np.int32), np.diff(before))
        self.dense = np.zeros((n, len(common)), dtype)
        self.dense[row, place[self.indices[inside]]] = self.data[inside]
        self.indptr = self.indptr - before
        self.indices, self.data = self.indices[~inside], self.data[~inside]

    def _as_keys(self) -> KeyedRows | None:
        """Small whole numbers as repeated keys; None if there would be more than four times as many keys as numbers."""
        if float(self.data.sum(dtype=np.float64)) > 4.0 * len(self.data):
            return None
        return KeyedRows.of_counts(self.indptr, self.indices, self.data, self.width)

    def between(self, left: Ints, right: NDArray[np.integer[Any]] | slice) -> Floats:  # (r,), (m,) -> (r, m)
        """Inner products of the rows `left` with the rows `right`."""
        among = np.arange(right.start, right.stop) if isinstance(right, slice) else np.asarray(right, dtype=np.int64)
        if self.keyed is not None and len(self.data):
            out = self.keyed.between(left, among)
        else:
            out = np.zeros((len(left), len(among)))
        if self.dense is not None:
            out += self.dense[left] @ self.dense[right].T
        if self.keyed is None and len(self.data):
            from mercer.numeric._compiled_sparse_products import add_common

            low, high = int(among.min()), int(among.max()) + 1  # sums go to a run of rows
            run = out if isinstance(right, slice) else np.zeros((len(left), high - low))
            add_common(self.indptr, self.indices, self.data, left, self.pointer, self.rows, self.values, low, high, run)
            if run is not out:
                out += run[:, among - low]
        return out


def columns_gram(Z: sp.csr_array) -> Floats:  # (n, d) -> (d, d)
    """Z'Z as a dense array."""
    if not worth(Z.nnz, PER_STORED):
        return np.asarray((Z.T @ Z).toarray())
    d = Z.shape[1]
    columns = SparseRows(sp.csr_array(Z.T))

    def block(rows: slice, cols: slice) -> Floats:
        return columns.between(np.arange(rows.start, rows.stop), cols)

    return tiles.fill(block, np.empty((d, d)), symmetric=True, strip=min(512, max(64, d // 8)))


def _narrow(matrix: sp.csr_array) -> tuple[Array, bool]:
    """The stored numbers, in float32 if inner products are exact in it, and whether they are float32."""
    single = whole_in_single(matrix)
    return (matrix.data.astype(np.float32), True) if single else (matrix.data, False)


def whole_in_single(matrix: sp.csr_array) -> bool:
    """Return whether inner products of rows are exact in float32: whole numbers, of which none can reach 2^24."""
    data = matrix.data
    if not len(data) or not np.array_equal(data, np.rint(data)):
        return False
    return float(squared_norms(matrix).max()) < 2**24
