"""The kernel matrix of rows in chunks as an operator with `shape`, `@` and `diag()`, for iterative solvers."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Array, Floats
from mercer.errors import InputError
from mercer.grams.chunks.rows import ChunkedRows
from mercer.grams.chunks.tasks import Kernels
from mercer.inputs.chunks import Chunk
from mercer.kernels.base import Kernel
from mercer.numeric.threads import Progress


class ChunkOperator:
    """K = k(X, X) for rows in chunks, with `shape`, `@` and `diag()`: products of pairs of chunks, summed in their order.

    The products of several kernels, K_1 V, …, K_q V, are adjacent columns, and so are their diagonals.
    """

    dtype = np.dtype(np.float64)

    def __init__(self, kernel: Kernels, rows: ChunkedRows, progress: Progress | None = None) -> None:
        if rows.lengths is None:
            raise InputError(
                "products with a kernel matrix read the chunks repeatedly, but an iterator can be read only once."
            )
        self.kernel, self.progress, self._rows = kernel, progress, rows
        self.shape = (rows.n, rows.n)
        self._runner, self._held = rows.held()
        self._ends = np.cumsum([n for n in rows.lengths if n])

    def __matmul__(self, V: Array) -> Floats:  # (n,) or (n, r) -> the same
        """Return K V."""
        if not np.isfinite(V).all():
            raise InputError("ChunkOperator: the vector to multiply has NaN or infinite entries.")
        cut, found = np.split(np.asarray(V, dtype=np.float64), self._ends[:-1]), []
        for done, part in enumerate(self._runner.products(self.kernel, self._held, cut), 1):
            found.append(part)
            if self.progress is not None:
                self.progress(done, len(self._held))
        return np.concatenate(found)

    def diag(self) -> Floats:
        """Return k(x_i, x_i)."""
        return self._rows.column(diagonal_of, self.kernel)


def diagonal_of(chunk: Chunk, kernel: Kernels) -> Floats:
    """Return k(x, x) of the rows of a chunk, (n,), or (n, q) for several kernels."""
    if isinstance(kernel, tuple):
        return np.stack([diagonal_of(chunk, one) for one in kernel], axis=1)
    return np.asarray(kernel.diag(chunk.X), dtype=np.float64)


def diagonal(kernel: Kernel, X: Any) -> Array:
    """Return k(x, x) of rows, in chunks or in memory."""
    return X.column(diagonal_of, kernel) if isinstance(X, ChunkedRows) else kernel.diag(X)
