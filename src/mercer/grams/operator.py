"""`gram` and `GramOperator`: the matrix k(X, Z) as an array, and as an operator that never stores it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

from mercer.arrays import Array, Floats
from mercer.errors import InputError
from mercer.kernels.base import Kernel
from mercer.kernels.evaluation import REMEDY, Evaluation
from mercer.kernels.parsing import as_kernel
from mercer.numeric import tiles
from mercer.numeric.memory import allocate, parse_bytes
from mercer.numeric.threads import Progress
from mercer.numeric.tiles import fill_wide


def gram(
    kernel: Any,
    X: Any,
    Z: Any = None,
    *,
    out: Array | None = None,
    memory: int | float | str | None = None,
    progress: Progress | None = None,
) -> Array:
    """Return K with K_ij = k(x_i, z_j), tile by tile on all cores; gram(k, X) is gram(k, X, X), exactly symmetric.

    Parameters
    ----------
    kernel : Kernel or str
        A kernel or its text.
    X, Z : collections
        Arrays, CSR, data frames, lists of strings or graphs. float32 data give a float32 matrix.
    out : (n, m) array, optional
        Where to write: float32 or float64, C- or Fortran-ordered. Otherwise a new array is made.
    memory : bytes or text such as "4 GB", optional
        Budget for the new array, 8 GiB if not given. What does not fit is refused before anything is allocated.
    progress : function (done, total), optional
        Called after tiles; raise in it, or press Ctrl-C, to stop.

    >>> import numpy as np
    >>> from mercer import Linear, gram
    >>> X = np.arange(6.0).reshape(3, 2)
    >>> bool(np.all(gram(Linear(), X) == X @ X.T))
    True
    """
    values = Evaluation(kernel if isinstance(kernel, Kernel) else as_kernel(kernel), X, Z)
    if out is None:
        out = allocate(values.shape, values.dtype, "the Gram matrix", REMEDY, parse_bytes(memory))
    else:
        _check_out(out, values.shape)
    return tiles.fill(values.block, out, values.symmetric, progress, values.strip)


def _check_out(out: Any, shape: tuple[int, int]) -> None:
    if not isinstance(out, np.ndarray) or out.dtype not in (np.float32, np.float64):
        raise InputError("out must be a float32 or float64 array.")
    if out.shape != shape:
        raise InputError(f"out has shape {out.shape}; the Gram matrix has {shape}.")
    if not out.flags.writeable:
        raise InputError("out is read-only; give an array that may be written.")


class GramOperator(LinearOperator):
    """K = k(X, Z) as a scipy LinearOperator: K @ v in tiles, rows and blocks on demand.

    Memory is that of the data, the result and one tile per core. Sums run in float64 whatever the data. A symmetric
    operator evaluates each tile once for both of its places.

    >>> import numpy as np
    >>> from mercer import Gaussian, GramOperator
    >>> X, v = np.random.default_rng(0).normal(size=(50, 3)), np.ones(50)
    >>> K = GramOperator(Gaussian(length_scale=1.0), X)
    >>> bool(np.allclose(K @ v, Gaussian(length_scale=1.0)(X) @ v))
    True
    """

    def __init__(self, kernel: Any, X: Any, Z: Any = None, *, progress: Progress | None = None) -> None:
        self.kernel = kernel if isinstance(kernel, Kernel) else as_kernel(kernel)
        self.progress = progress
        self._values = Evaluation(self.kernel, X, Z)
        super().__init__(dtype=np.dtype(np.float64), shape=self._values.shape)

    @property
    def symmetric(self) -> bool:
        """Whether this is the matrix of one collection with itself, for a symmetric kernel."""
        return self._values.symmetric

    def _matmat(self, V: Array) -> Floats:  # (m, r) -> (n, r)
        self._check_finite(V)
        return self.times(V)

    def times(self, V: Array) -> Floats:  # (m,) or (m, r) -> (n,) or (n, r)
        """Return K @ V without checks of V, for the coefficients of a fitted model."""
        values, table = self._values, V if V.ndim == 2 else V[:, None]
        found = tiles.product(values.block, values.shape, table, values.symmetric, self.progress, values.strip)
        return found if V.ndim == 2 else found[:, 0]

    def _matvec(self, v: Array) -> Floats:
        return self._matmat(np.reshape(v, (-1, 1)))[:, 0]

    def _rmatmat(self, V: Array) -> Floats:  # (n, r) -> (m, r)
        if self._values.symmetric:
            return self._matmat(V)
        self._check_finite(V)
        n, m = self.shape
        return tiles.product(lambda rows, cols: self._values.block(cols, rows).T, (m, n), V, False, self.progress)

    def _rmatvec(self, v: Array) -> Floats:
        return self._rmatmat(np.reshape(v, (-1, 1)))[:, 0]

    @staticmethod
    def _check_finite(V: Array) -> None:
        if not np.isfinite(V).all():
            raise InputError("GramOperator: the vector to multiply has NaN or infinite entries.")

    def diag(self) -> Array:
        """Return k(x_i, x_i), for the operator of one collection with itself."""
        if self._values.pair.A is not self._values.pair.B:
            raise InputError("GramOperator.diag: an operator between two collections has no diagonal.")
        return self._values.diag()

    def block(self, rows: slice, cols: slice) -> Array:
        """Return the values of one block as an array."""
        n, m = self.shape
        start, stop, _ = rows.indices(n)
        first, last, _ = cols.indices(m)
        shape = (max(0, stop - start), max(0, last - first))
        out = allocate(shape, self._values.dtype, "the block", REMEDY)
        if 0 in shape:
            return out

        def shifted(r: slice, c: slice) -> Array:
            return self._values.block(slice(r.start + start, r.stop + start), slice(c.start + first, c.stop + first))

        return tiles.fill(shifted, out, symmetric=False)

    def rows(self, index: int | Sequence[int] | NDArray[np.integer[Any]]) -> Array:
        """Return the rows k(x_i, Z) of the given numbers as an (r, m) array."""
        wanted = np.atleast_1d(np.asarray(index))
        if wanted.dtype.kind not in "iu" or wanted.ndim != 1:
            raise InputError(f"GramOperator.rows takes row numbers; got {index!r}.")
        if len(wanted) and not (-self.shape[0] <= wanted.min() and wanted.max() < self.shape[0]):
            raise InputError(f"GramOperator.rows: row numbers must lie in 0 … {self.shape[0] - 1}.")
        out = allocate((len(wanted), self.shape[1]), self._values.dtype, "the rows", REMEDY)
        if len(wanted) == 0:
            return out
        chosen = self._values.rows(wanted % self.shape[0])
        return tiles.fill(chosen, out, symmetric=False)

    def submatrix(
        self,
        rows: NDArray[np.integer[Any]],
        cols: NDArray[np.integer[Any]] | slice,
        out: Array | None = None,
    ) -> Array:
        """Return the values at the given row numbers and column numbers, or a range of columns.

        `out` is where to write them, if given.
        """
        columns = range(self.shape[1])[cols] if isinstance(cols, slice) else cols
        shape = (len(rows), len(columns))
        if out is None:
            out = allocate(shape, self._values.dtype, "the submatrix", REMEDY)
        if 0 in shape:
            return out
        if isinstance(cols, slice):
            first, chosen = int(columns[0]), self._values.rows(rows)
            return fill_wide(lambda r, c: chosen(r, slice(c.start + first, c.stop + first)), out)
        return fill_wide(self._values.crossings(rows, cols), out)

    def visit(self, seen: Callable[[slice, slice, Array], None], progress: Progress | None = None) -> None:
        """Call seen(rows, cols, values) for every tile, on all cores; tiles of equal rows are seen one after the other."""
        tiles.walk(self._values.block, self.shape, seen, progress)

    @property
    def value_dtype(self) -> np.dtype[Any]:
        """The type of single kernel values; products are float64 whatever it is."""
        return self._values.dtype

    def row_diag(self) -> Floats:  # -> (n,)
        """Return k(x_i, x_i) of the rows, also for an operator between two collections."""
        return np.asarray(self._values.diag(), dtype=np.float64)

    def pullback(self, start: int, W: Array) -> Floats:  # (r, m) -> (p,)
        """Return d <W, K[start : start + r]> / d theta, for weights of r consecutive rows."""
        kernel, pair = self.kernel, self._values.pair

        def term(r: slice, c: slice) -> Floats:
            return pair.tile(slice(start + r.start, start + r.stop), c).pullback(kernel, W[r, c])

        return tiles.total(term, (W.shape[0], W.shape[1]), len(kernel.theta))

    def diag_pullback(self, weights: Array) -> Floats:  # (n,) -> (p,)
        """Return d sum_i weights_i k(x_i, x_i) / d theta."""
        return self._values.pair.diag_pullback(self.kernel, weights)
