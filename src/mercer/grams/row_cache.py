"""`KernelRows`: rows of one Gram matrix for solvers that use a few of them at a time, repeatedly.

A small matrix is held in memory. Rows of a larger one are computed on demand, many at once, and kept in a store of limited
size that replaces the least recently used rows. The store is one array whose pages the operating system allocates when they
are first written, so a large store costs only the part that is used.

Values are float32 by default, which takes half the memory and time. Vectors are rounded to float32 first if a sample of
kernel values shows that this is accurate enough; otherwise the values are computed in float64 and rounded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from mercer.arrays import Array, Floats
from mercer.errors import InputError, MemoryBudgetError
from mercer.inputs import Rows, as_rows, columns_of, is_frame
from mercer.kernels.base import Kernel
from mercer.kernels.evaluation import Evaluation
from mercer.numeric import tiles
from mercer.numeric.encodings import DENSE_WIDTH, dense
from mercer.numeric.memory import LITTLE, allocate, available_bytes, budget_bytes, format_bytes, parse_bytes
from mercer.numeric.threads import Progress, cpu_count, run
from mercer.numeric.tiles import row_blocks

#: Up to this many rows `choose` computes the whole matrix at once; for more, computing only the needed rows is faster.
#: Row: svc-fit-*.
WHOLE_MATRIX_ROWS = 4096
#: Largest error of a float32 encoding, relative to the largest k(x, x), that is negligible for a tolerance of 1e-4.
LOSS = 5e-6
#: Below this tolerance of the solver float32 values are too coarse.
FINE = 1e-4
#: Up to this many rows solvers get float64 values at any tolerance: it costs little, and results of small problems are
#: compared digit by digit. Benchmark: svc-fit-letter.
EXACT_UP_TO = 1024
#: Values of a tile, which fit into the caches of one core together with the data. Benchmark: svc-fit-*.
TILE = 2**17
#: Side of a tile of one thread. Not a multiple of a large power of two, because its transpose is copied column by column.
SERIAL = 290
#: Rows computed at a time if they are used once and not kept. Benchmark: svc-mnist60k.
STREAM = 512
_REMEDY = "Raise memory=, or fit on fewer rows."


def value_tolerance(n: int, tol: float, exact: bool = False) -> float:
    """Return the tolerance that decides between float32 and float64 values in a problem on n rows.

    >>> value_tolerance(100, 1e-3) < FINE <= value_tolerance(5000, 1e-3)
    True
    """
    return min(tol, 0.5 * FINE) if exact or n <= EXACT_UP_TO else tol


@final
class KernelRows:
    """Rows of K = k(X, X), held, cached or given.

    >>> from mercer import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> rows = KernelRows.cached(Gaussian(length_scale=1.0), X)
    >>> bool(np.allclose(rows.rows(np.array([3, 1])), Gaussian(length_scale=1.0)(X)[[3, 1]], atol=1e-6))
    True
    """

    def __init__(
        self,
        diagonal: Array,
        dtype: np.dtype[Any],
        store: Array | None = None,
        values: _Values | None = None,
        budget: int = 0,
        threads: int | None = None,
    ) -> None:
        self.n, self.dtype = len(diagonal), dtype
        self.threads = cpu_count() if threads is None else threads
        self.made = 0  # rows computed so far, the cost of a fit
        self._diagonal, self._store, self._values, self._budget = diagonal, store, values, budget
        self.capacity = self.n if values is None else _capacity(self.n, dtype, budget)  # rows that fit into the store
        self._slot_of = np.arange(self.n) if values is None else np.full(self.n, -1)
        self._row_of = np.full(self.capacity, -1)
        self._used = np.zeros(self.capacity, dtype=np.int64)
        self._clock = 0

    # -- construction ------------------------------------------------------------------------------------------------------

    @classmethod
    def held(
        cls,
        kernel: Any,
        X: Any,
        *,
        dtype: DTypeLike = np.float32,
        memory: int | float | str | None = None,
        progress: Progress | None = None,
    ) -> KernelRows:
        """Return the whole matrix in memory."""
        values = _Values(kernel, X, np.dtype(dtype))
        out = allocate((values.n, values.n), dtype, "the Gram matrix", _REMEDY, parse_bytes(memory))
        tiles.fill(values.evaluation.block, out, values.evaluation.symmetric, progress)
        return cls(values.diagonal, out.dtype, out)

    @classmethod
    def cached(
        cls,
        kernel: Any,
        X: Any,
        *,
        bytes: int | float | str | None = None,
        dtype: DTypeLike = np.float32,
    ) -> KernelRows:
        """Return rows on demand, kept in a store of at most that many bytes (8 GiB if not given)."""
        values = _Values(kernel, X, np.dtype(dtype))
        budget = budget_bytes(bytes, values.n**2 * np.dtype(dtype).itemsize)
        return cls(values.diagonal, np.dtype(dtype), None, values, budget)

    @classmethod
    def of(cls, K: Array, *, dtype: DTypeLike | None = None) -> KernelRows:
        """Return the rows of a given matrix, which is copied only if its dtype differs."""
        K = np.asarray(K)
        if K.ndim != 2 or K.shape[0] != K.shape[1]:
            raise InputError(f"KernelRows.of takes a square Gram matrix; got shape {K.shape}.")
        if dtype is None:
            dtype = K.dtype if K.dtype in (np.float32, np.float64) else np.float64
        store = np.ascontiguousarray(K, dtype)
        return cls(np.diagonal(K).astype(np.float64), store.dtype, store)

    @classmethod
    def choose(
        cls,
        kernel: Any,
        X: Any,
        *,
        tol: float = 1e-3,
        memory: int | float | str | None = None,
        again: bool = False,
        most: bool = False,
        progress: Progress | None = None,
    ) -> KernelRows:
        """Return a held matrix if it is small, otherwise cached rows; float64 for a tolerance below 1e-4.

        With `again` (several problems use it) it is held if it fits the budget. With `most` (most of its rows are needed, as
        in regression) it is held for up to four times as many rows, because symmetry halves the cost of the whole matrix.
        """
        dtype = np.dtype(np.float64 if tol < FINE else np.float32)
        if kernel.given:
            return cls.of(kernel(X), dtype=dtype)
        n = len(as_rows(X))
        budget = budget_bytes(memory, n * n * dtype.itemsize)
        if (again or n <= (4 * WHOLE_MATRIX_ROWS if most else WHOLE_MATRIX_ROWS)) and n * n * dtype.itemsize <= budget:
            return cls.held(kernel, X, dtype=dtype, memory=budget, progress=progress)
        return cls.cached(kernel, X, bytes=budget, dtype=dtype)

    def part(self, index: Array, *, bytes: int | float | str | None = None, threads: int | None = None) -> KernelRows:
        """Return the matrix of some of the objects, with its own store if this one is cached; limits are inherited."""
        index, threads = np.asarray(index), self.threads if threads is None else threads
        if self._values is None:
            return KernelRows(self._diagonal[index], self.dtype, self.store[np.ix_(index, index)], threads=threads)
        values = self._values.part(index)
        budget = self._budget if bytes is None else parse_bytes(bytes)
        return KernelRows(values.diagonal, self.dtype, None, values, budget, threads)

    # -- access ------------------------------------------------------------------------------------------------------

    @property
    def whole(self) -> bool:
        """Whether the whole matrix is held."""
        return self._values is None

    @property
    def store(self) -> Array:  # (S, n)
        """The array that holds the rows, allocated at the first access."""
        if self._store is None:
            self._store = np.empty((self.capacity, self.n), self.dtype)
        return self._store

    def diag(self) -> Floats:
        """Return k(x_i, x_i) in float64."""
        return self._diagonal

    def rows(self, index: Array, columns: Array | None = None, out: Array | None = None) -> Array:  # (q,) -> (q, n)
        """Return the rows of the given numbers, whole or at the given columns, in a new array."""
        index = np.asarray(index)
        if self._values is None:
            return self.store[index] if columns is None else self.store[np.ix_(index, columns)]
        width = self.n if columns is None else len(columns)
        out = np.empty((len(index), width), self.dtype) if out is None else out
        wanted = self._values.rows(index) if columns is None else self._values.crossings(index, np.asarray(columns))[0]
        self._fill(wanted, out, np.arange(len(index)))
        return out

    def block(
        self, rows: Array | slice, columns: Array | slice, out: Array, mirror: Array | None = None
    ) -> Array:  # (q,), (m,) -> (q, m), (m, q)
        """Return values at the given row and column numbers or ranges, written into `out` by the calling thread only.

        `mirror` gets the transpose, tile by tile while the values are in cache.
        """
        if self._values is None:
            if isinstance(rows, slice) or isinstance(columns, slice):
                out[:] = self.store[rows, columns]
            else:
                from mercer.numeric._compiled_rows import crossings

                crossings(self.store, rows, columns, out, 0, len(rows))
            if mirror is not None:
                mirror[:] = out.T
            return out
        values, symmetric = self._values.crossings(rows, columns)
        other = out if symmetric else mirror
        for r, c in tiles.tiles(out.shape, symmetric, SERIAL):
            tile = values(r, c)
            out[r, c] = tile
            if other is not None and not (symmetric and r == c):
                other[c, r] = tile.T
        return out

    def whole_of(self, K: Array, diagonal: Array) -> KernelRows:  # (m, m), (m,)
        """Return the rows of a given matrix, for the calling thread only."""
        return KernelRows(diagonal, K.dtype, K, threads=1)

    def fetch(self, index: Array) -> tuple[Array, Array]:  # (q,) -> (S, n), (q,)
        """Return the store and the slots of these rows, which are computed if missing. The caller must not write to them."""
        index = np.asarray(index)
        self._clock += 1
        slots = self._slot_of[index]
        if self._values is not None and (slots < 0).any():
            missing = np.unique(index[slots < 0])
            self._used[slots[slots >= 0]] = self._clock  # otherwise they could be replaced
            self._make(missing)
            slots = self._slot_of[index]
        if self._values is not None:
            self._used[slots] = self._clock
        return self.store, slots

    def product(self, index: Array, coef: Array) -> Floats:  # (m,), (m,) -> (n,)
        """Return sum_k coef_k K[index_k], summed in float64; computed rows are kept while there is free space."""
        index, coef = np.asarray(index), np.asarray(coef, dtype=np.float64)
        total = np.zeros(self.n)
        if self._values is not None:
            missing = np.unique(index[self._slot_of[index] < 0])
            self._make(missing[: int((self._row_of < 0).sum())])
        known = self._slot_of[index] >= 0
        self.add(total, self.store, self._slot_of[index[known]], coef[known])
        index, coef = index[~known], coef[~known]
        for start in range(0, len(index), STREAM):
            part = slice(start, start + STREAM)
            block = self.rows(index[part])
            self.add(total, block, np.arange(len(block)), coef[part])
        return total

    def add(self, total: Array, store: Array, slots: Array, coef: Array) -> None:  # (n,), (S, n), (m,), (m,)
        """Compute total += coef @ store[slots] without copying rows."""
        from mercer.numeric._compiled_rows import add_rows

        if len(slots) == 0:
            return
        n = len(total)
        step = max(1024, -(-n // (4 * self.threads)))

        def work(start: int, worker: int) -> None:
            add_rows(total, store, slots, coef, start, min(start + step, n))

        threads = self.threads if len(slots) * n > 2**20 else 1
        run(range(0, n, step), work, threads, short=True)

    # -- the store ---------------------------------------------------------------------------------------------------

    def _make(self, missing: Array) -> None:  # (m,) rows that are not stored
        assert self._values is not None
        if len(missing) == 0:
            return
        if len(missing) > self.capacity:
            raise MemoryBudgetError(
                f"{len(missing)} rows of {self.n} kernel values are needed at once, but the budget of "
                f"{format_bytes(self.capacity * self.n * self.dtype.itemsize)} holds {self.capacity}. {_REMEDY}"
            )
        free = np.flatnonzero(self._row_of < 0)[: len(missing)]
        if len(free) < len(missing):
            taken = np.flatnonzero((self._row_of >= 0) & (self._used < self._clock))
            oldest = taken[np.argsort(self._used[taken], kind="stable")[: len(missing) - len(free)]]
            if len(oldest) + len(free) < len(missing):
                raise MemoryBudgetError(
                    f"the memory budget holds {self.capacity} rows of {self.n} kernel values, fewer than one working set "
                    f"needs. {_REMEDY}"
                )
            self._slot_of[self._row_of[oldest]] = -1
            self._row_of[oldest] = -1
            free = np.sort(np.concatenate([free, oldest]))
        self._fill(self._values.rows(missing), self.store, free)
        self._slot_of[missing], self._row_of[free] = free, missing
        self.made += len(missing)

    def _fill(self, block: Callable[[slice, slice], Array], out: Array, slots: Array) -> None:  # (S, m), (q,)
        """Write rows into out[slots], tile by tile on all threads."""
        q, m = len(slots), out.shape[1]
        height = min(q, 256)
        width = max(256, TILE // max(1, height))
        pieces = [(rows, cols) for rows in row_blocks(q, height) for cols in row_blocks(m, width)]
        run_of = q > 0 and int(slots[-1]) - int(slots[0]) == q - 1  # neighbors: a plain copy

        def work(tile: tuple[slice, slice], worker: int) -> None:
            rows, cols = tile
            values = block(rows, cols)
            if run_of:
                out[int(slots[0]) + rows.start : int(slots[0]) + rows.stop, cols] = values
            else:
                out[slots[rows], cols] = values

        run(pieces, work, min(self.threads, max(1, len(pieces))), short=True)


@final
class _Values:
    """Kernel values on one collection, from encodings in the lowest precision that the dtype allows."""

    def __init__(self, kernel: Kernel, X: Any, dtype: np.dtype[Any], evaluation: Evaluation | None = None) -> None:
        self.kernel, self.dtype, self.X = kernel, dtype, as_rows(X)
        if evaluation is None:
            coarse = _coarse(kernel, self.X.data) if dtype == np.float32 else self.X.data
            if coarse is not self.X.data:  # an encoding of its own
                self.X = Rows(coarse)
            evaluation = Evaluation(kernel, self.X)
        self.evaluation = evaluation
        self.n = evaluation.shape[0]
        self.diagonal = np.asarray(evaluation.diag(), dtype=np.float64)

    def rows(self, index: Array) -> Callable[[slice, slice], Array]:
        """Return the matrix of the given rows, tile by tile."""
        return self.evaluation.rows(index)

    def crossings(self, rows: Array | slice, columns: Array | slice) -> tuple[Callable[[slice, slice], Array], bool]:
        """Return the matrix of the given rows and columns, tile by tile, and whether it is symmetric."""
        if isinstance(rows, slice) and isinstance(columns, slice):
            top, left = rows.start, columns.start
            return lambda r, c: self.evaluation.block(
                slice(r.start + top, r.stop + top), slice(c.start + left, c.stop + left)
            ), self.evaluation.symmetric and rows == columns
        assert not isinstance(rows, slice) and not isinstance(columns, slice)
        return self.evaluation.crossings(rows, columns), self.evaluation.symmetric and rows is columns

    def part(self, index: Array) -> _Values:
        """Return the same values for some of the objects."""
        return _Values(self.kernel, self.X.take(index), self.dtype, None)


def _capacity(n: int, dtype: np.dtype[Any], budget: int) -> int:
    """Return how many rows fit into the budget and the free memory of the machine."""
    whole = n * n * dtype.itemsize
    free = available_bytes() if min(whole, budget) > LITTLE else None
    count = min(n, min(budget, budget if free is None else int(0.9 * free)) // (n * dtype.itemsize))
    if count < min(2, n):
        raise MemoryBudgetError(
            f"the memory budget of {format_bytes(budget)} does not hold two rows of {n} kernel values. {_REMEDY}"
        )
    return count


def _coarse(kernel: Kernel, X: Any) -> Any:
    """Return vectors in float32 if a sample of kernel values stays accurate, dense if narrow; other data unchanged."""
    if kernel.views != {"vectors"} or columns_of(X) is None or is_frame(X):
        return X
    n, d = X.shape
    narrow = dense(X) if sp.issparse(X) and d <= DENSE_WIDTH and n * d <= 2**28 else X
    if narrow.dtype != np.float64:
        return narrow
    some = np.unique(np.linspace(0, n - 1, min(n, 128)).astype(np.int64))
    sample = narrow[some] if not sp.issparse(narrow) else sp.csr_array(narrow)[some]
    with np.errstate(over="ignore"):
        rounded = sample.astype(np.float32)
        top = abs(narrow).max()
    if not top < 1e18:
        return narrow
    try:
        fine, coarse = kernel(sample), kernel(rounded)
    except InputError:  # overflow in float32
        return narrow
    scale = float(np.abs(np.diagonal(fine)).max())
    return narrow.astype(np.float32) if float(np.abs(fine - coarse).max()) <= LOSS * scale else narrow
