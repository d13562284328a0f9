"""Inner products of sparse rows, X Z' as dense tiles.

Each column goes where it is cheapest: those that many rows have through one dense product; small whole numbers are counted
in sets of bits; the rest is summed along lists of the rows that have a column. Small work is left to scipy, without a
compiler.

Sums of whole numbers are exact: float32 is used only where no sum can reach 2^24.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Array, Floats, Ints
from mercer.kernels.strings.engine.masks import Windows, of_counts
from mercer.numeric import tiles
from mercer.numeric.compiling import worth

#: A column that this share of the rows have is cheaper in a dense product (0.02 ns per pair of rows and column, all
#: columns) than along its list (1 ns per pair of rows that have it). Row: spectrum-*.
COMMON = 0.125

#: At most this many bytes of dense columns. Row: strings-n100000.
DENSE_BYTES = 2**29

#: Nanoseconds that a compiled loop saves per stored number: from 2^17 on it is worth loading; and per pair of rows, since
#: a sparse product visits every pair that has a column in common: from 1024 rows on. Row: spectrum-*.
PER_STORED, PER_PAIR = 64, 8


class Listed:
    """Sparse rows, prepared for products with each other."""

    def __init__(self, matrix: sp.csr_array) -> None:
        self.indptr = matrix.indptr.astype(np.int64, copy=False)
        self.indices = matrix.indices.astype(np.int32, copy=False)
        self.data, self.single = _narrow(matrix)
        self.width = matrix.shape[1]
        self.dense: Array | None = None
        self._set_apart(matrix)
        self.windows = self._as_windows() if self.single else None
        if self.windows is None:
            from mercer.kernels.strings.engine._compiled_counting import transposed

            self.pointer, self.rows, self.values = transposed(self.indptr, self.indices, self.data, self.width)

    def _set_apart(self, matrix: sp.csr_array) -> None:
        """Move the columns that many rows have to a dense array."""
        n, width = matrix.shape
        common = np.flatnonzero(np.bincount(self.indices, minlength=width) > COMMON * n)
        dtype = np.float32 if self.single else np.float64
        if len(common) <= 8 or len(common) * n * np.dtype(dtype).itemsize > DENSE_BYTES:
            return
        place = np.full(width, -1, dtype=np.int64)
        place[common] = np.arange(len(common))
        row = np.repeat(np.arange(n), np.diff(self.indptr))
        inside = place[self.indices] >= 0
        self.dense = np.zeros((n, len(common)), dtype)
        self.dense[row[inside], place[self.indices[inside]]] = self.data[inside]
        self.indptr = np.concatenate([[0], np.cumsum(~inside)])[self.indptr]
        self.indices, self.data = self.indices[~inside], self.data[~inside]

    def _as_windows(self) -> Windows | None:
        """Small whole numbers as that many occurrences; None where that would be many times more."""
        if float(self.data.sum(dtype=np.float64)) > 4.0 * len(self.data):
            return None
        return of_counts(self.indptr, self.indices, self.data, self.width)

    def between(self, left: Ints, low: int, high: int) -> Floats:  # (r,) -> (r, high - low)
        """Inner products of the rows `left` with the rows low … high - 1."""
        if self.windows is not None and len(self.data):
            out = self.windows.between(left, np.arange(low, high))
        else:
            out = np.zeros((len(left), high - low))
        if self.dense is not None:
            out += self.dense[left] @ self.dense[low:high].T
        if self.windows is None and len(self.data):
            from mercer.kernels.strings.engine._compiled_counting import add_common

            add_common(self.indptr, self.indices, self.data, left, self.pointer, self.rows, self.values, low, high, out)
        return out


def columns_gram(Z: sp.csr_array) -> Floats:  # (n, d) -> (d, d)
    """Z'Z as a dense array."""
    if not worth(Z.nnz, PER_STORED):
        return np.asarray((Z.T @ Z).toarray())
    d = Z.shape[1]
    listed = Listed(sp.csr_array(Z.T))

    def block(rows: slice, cols: slice) -> Floats:
        return listed.between(np.arange(rows.start, rows.stop), cols.start, cols.stop)

    return tiles.fill(block, np.empty((d, d)), symmetric=True, strip=min(512, max(64, d // 8)))


def _narrow(matrix: sp.csr_array) -> tuple[Array, bool]:
    """The stored numbers in float32 if they are whole and no inner product can reach 2^24, and whether they are."""
    data = matrix.data
    if np.array_equal(data, np.rint(data)) and len(data):
        largest = float(np.add.reduceat(np.append(data * data, 0.0), np.minimum(matrix.indptr[:-1], len(data))).max())
        if largest * 1.0 < 2**24:
            return data.astype(np.float32), True
    return data, False
