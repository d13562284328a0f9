"""A kernel on two given collections: encoded once, evaluated tile by tile.

`Pair` is two encoded collections seen through one tile. It remembers distances, so that terms share them. `Bundle` is
several kernels on one collection, which share them too.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Array, Floats
from mercer.errors import InputError
from mercer.inputs import Rows, as_rows
from mercer.numeric import tiles
from mercer.numeric.compiling import worth
from mercer.numeric.encodings import Encoding, align, dtype_of, gather, length, strip_of
from mercer.numeric.points import PER_VALUE, exp_scaled, manhattan_distances, power_sums, squared_distances

if TYPE_CHECKING:
    from mercer.kernels.base import Kernel


class Pair:
    """Rows `rows` of encoding A against rows `cols` of encoding B.

    Arrays from `inner`, `squared_distances` and `manhattan_distances` are shared between terms: read, never write.
    """

    __slots__ = ("A", "B", "_memo", "cols", "compiled", "rows")

    def __init__(
        self,
        A: Encoding,
        B: Encoding,
        rows: slice,
        cols: slice,
        compiled: bool = False,
        memo: dict[Hashable, Any] | None = None,
    ) -> None:
        self.A, self.B, self.rows, self.cols, self.compiled = A, B, rows, cols, compiled
        self._memo: dict[Hashable, Any] = {} if memo is None else memo

    @classmethod
    def whole(cls, A: Encoding, B: Encoding, compiled: bool = False) -> Pair:
        """All rows of A against all rows of B, aligned."""
        A, B = align(A, B)
        n, m = length(A), length(B)
        return cls(A, B, slice(0, n), slice(0, m), compiled=compiled or worth(n * m, PER_VALUE))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the tile."""
        return self.rows.stop - self.rows.start, self.cols.stop - self.cols.start

    def part(self, i: int) -> Pair:
        """The same tile of the i-th part of composite encodings."""
        return Pair(self.A[i], self.B[i], self.rows, self.cols, self.compiled, self._memo)

    def tile(self, rows: slice, cols: slice) -> Pair:
        """Another tile of the same encodings."""
        return Pair(self.A, self.B, rows, cols, self.compiled)

    def exp(self, values: Array, factor: float, out: Array | None = None) -> Array:
        """exp(factor values) for arguments <= 0, in `out` or a new array."""
        return exp_scaled(values, factor, self.compiled, out)

    @property
    def left(self) -> Any:
        """The encoded rows of the tile."""
        return self._remember(("left", id(self.A)), lambda: self.A.take(self.rows))

    @property
    def right(self) -> Any:
        """The encoded columns of the tile."""
        return self._remember(("right", id(self.B)), lambda: self.B.take(self.cols))

    def inner(self) -> Array:
        """Inner products of Dots or Counts."""
        if self.A.blockwise:
            return self._remember(("inner", id(self.A), id(self.B)), lambda: self.A.between(self.rows, self.B, self.cols))
        return self._remember(("inner", id(self.A), id(self.B)), lambda: self.left.inner(self.right))

    def squared_distances(self, refine: bool) -> Array:
        """Squared distances of Points; `refine` recomputes those of near duplicates from differences."""
        refine = refine or ("squared", True, id(self.A), id(self.B)) in self._memo
        return self._remember(
            ("squared", refine, id(self.A), id(self.B)),
            lambda: squared_distances(self.A, self.rows, self.B, self.cols, refine, self.compiled),
        )

    def manhattan_distances(self) -> Array:
        """Sums of absolute differences of Points."""
        return self._remember(
            ("manhattan", id(self.A), id(self.B)), lambda: manhattan_distances(self.A, self.rows, self.B, self.cols)
        )

    def power_sums(self, norm: float) -> Array:
        """Sums of |difference|^norm of Points."""
        return self._remember(
            ("powers", norm, id(self.A), id(self.B)), lambda: power_sums(self.A, self.rows, self.B, self.cols, norm)
        )

    def block(self, kernel: Any) -> Array:
        """The values of a kernel on this tile, computed once and shared by all gradients: read, never write."""
        return self._remember(("block", id(kernel), id(self.A), id(self.B)), lambda: kernel._block(self))

    def diag(self, kernel: Kernel) -> Array:
        """k(x, x) of all rows of the left encoding."""
        return kernel._diag(self.A)

    def pullback(self, kernel: Kernel, W: Array) -> Floats:
        """d <W, K> / d theta of a kernel on this tile."""
        return kernel._pullback(self, W)

    def diag_pullback(self, kernel: Kernel, w: Array) -> Floats:
        """d <w, diag> / d theta of a kernel, over all rows of the left encoding."""
        return kernel._diag_pullback(self.A, w)

    def know(self, kernel: Any, values: Array) -> None:
        """Store values of a kernel on this tile that are known already."""
        self._memo.setdefault(("block", id(kernel), id(self.A), id(self.B)), values)

    def knows(self, kernel: Any) -> bool:
        """Whether the values of a kernel on this tile have been computed already."""
        return ("block", id(kernel), id(self.A), id(self.B)) in self._memo

    def _remember(self, key: Hashable, make: Callable[[], Any]) -> Any:
        if key not in self._memo:
            self._memo[key] = make()
        return self._memo[key]


Tile = Callable[[slice, slice], Array]

REMEDY = "Use mercer.GramOperator(kernel, X) for products with the matrix, or float32 data for half the memory."


def refuse_unresolved(kernel: Kernel) -> None:
    """Raise if a length scale is still "median"."""
    if kernel.unresolved:
        raise InputError(
            f'{kernel} still has length_scale="median"; call k.resolve(X) to take the number from data '
            "(estimators do it on the training data)."
        )


def checked_diag(kernel: Kernel, encoding: Encoding, name: str) -> Array:
    """Return k(x, x); raise if it overflows. If it is finite, so is |k(x, z)| <= sqrt(k(x, x) k(z, z))."""
    with np.errstate(over="ignore", invalid="ignore"):
        diag = kernel._diag(encoding)
    most = np.finfo(dtype_of(encoding)).max
    if not np.abs(diag).max(initial=0.0) <= most:  # also true for NaN
        bad = ~(np.abs(diag) <= most)
        raise InputError(
            f"{kernel}: k(x, x) overflows {dtype_of(encoding)} for row {int(np.argmax(bad))} of {name}; scale the columns."
        )
    return diag


class Evaluation:
    """k(X, Z) before it is computed: shape, dtype, symmetry and tiles.

    `compiled=True` uses compiled loops even for a small matrix, because many follow; otherwise the size decides.
    """

    def __init__(self, kernel: Kernel, X: Any, Z: Any = None, compiled: bool = False) -> None:
        refuse_unresolved(kernel)
        left = as_rows(X, "X")
        same = Z is None or Z is X
        right = left if same else as_rows(Z, "Z")
        A = kernel._encode(left)
        self.kernel = kernel
        self.pair = Pair.whole(A, A if same else kernel._encode(right), compiled)
        self.shape = self.pair.shape
        self.dtype: np.dtype[Any] = dtype_of(self.pair.A)
        self.symmetric = same and kernel.symmetric
        self.strip = strip_of(self.pair.B)  # rows of a tile that spans the whole width; 0 for square tiles
        # values from outside (Function, Precomputed) have no cheap diagonal, and are checked there
        if kernel.symmetric and not kernel._unit:
            for encoding, rows in {id(rows): (e, rows) for e, rows in ((self.pair.A, left), (self.pair.B, right))}.values():
                checked_diag(kernel, encoding, rows.name)

    def block(self, rows: slice, cols: slice) -> Array:
        """The values of one tile, in an array of its own."""
        return self.kernel._block(self.pair.tile(rows, cols))

    def rows(self, index: NDArray[np.integer[Any]]) -> Callable[[slice, slice], Array]:
        """The tiles of the matrix whose i-th row is row index[i] of this one."""
        pair = Pair(gather(self.pair.A, index), self.pair.B, slice(0, len(index)), self.pair.cols, self.pair.compiled)
        return lambda rows, cols: self.kernel._block(pair.tile(rows, cols))

    def crossings(self, rows: NDArray[np.integer[Any]], cols: NDArray[np.integer[Any]]) -> Callable[[slice, slice], Array]:
        """The tiles of the matrix whose entry (i, j) is entry (rows[i], cols[j]) of this one."""
        same = self.pair.A is self.pair.B and rows is cols  # one object for both sides keeps its diagonal exact
        left = gather(self.pair.A, rows)
        right = left if same else gather(self.pair.B, cols)
        pair = Pair(left, right, slice(0, len(rows)), slice(0, len(cols)), self.pair.compiled)
        return lambda r, c: self.kernel._block(pair.tile(r, c))

    def diag(self) -> Array:
        """k(x_i, x_i) of the left collection."""
        return self.kernel._diag(self.pair.A)


def symmetric_pullback(found: Evaluation, weights: Tile, values: Tile | None, size: int) -> Floats:
    """d <W, K> / d theta for tiles of a symmetric W, and of K where they are known, on and above the diagonal."""
    kernel, pair, symmetric = found.kernel, found.pair, found.symmetric

    def term(rows: slice, cols: slice) -> Floats:
        tile = pair.tile(rows, cols)
        below = rows.start > cols.start  # only for functions that are not known to be symmetric
        if values is not None:
            tile.know(kernel, values(cols, rows).T if below else values(rows, cols))
        return kernel._pullback(tile, weights(cols, rows).T if below else weights(rows, cols))

    return tiles.total(term, found.shape, size, symmetric=symmetric)


class Bundle:
    """k_1(X), …, k_q(X) before they are computed: every kernel is encoded once, every distance of a tile made once."""

    def __init__(self, kernels: Sequence[Kernel], rows: Rows) -> None:
        self.kernels = tuple(kernels)
        self._encodings = tuple(kernel._encode(rows) for kernel in self.kernels)
        self.length = len(rows)
        self._name = rows.name
        self.dtype: np.dtype[Any] = dtype_of(self._encodings)

    def __len__(self) -> int:
        return len(self.kernels)

    def tile(self, rows: slice, cols: slice) -> list[Array]:
        """The values of every kernel on one tile, each in an array of its own."""
        pair = Pair(self._encodings, self._encodings, rows, cols)
        return [kernel._block(pair.part(i)) for i, kernel in enumerate(self.kernels)]

    def diag(self) -> Floats:  # -> (q, N)
        """k(x, x) of every kernel."""
        pairs = zip(self.kernels, self._encodings, strict=True)
        return np.array([checked_diag(kernel, e, self._name) for kernel, e in pairs], dtype=np.float64)


def check_symmetric(bundle: Bundle) -> None:
    """Raise if a function of the user's own is not symmetric: half of its values would never be computed."""
    if all(kernel.symmetric for kernel in bundle.kernels):
        return
    size = min(bundle.length, 32)
    # rows from both ends, so that both samples are seen
    ends = slice(0, size), slice(bundle.length - size, bundle.length)
    for kernel, forth, back in zip(bundle.kernels, bundle.tile(*ends), bundle.tile(*ends[::-1]), strict=True):
        if not kernel.symmetric and not np.allclose(forth, back.T, rtol=1e-6, atol=1e-9 * max(1.0, abs(forth).max())):
            raise InputError(f"{kernel} is not symmetric: k(x, z) and k(z, x) differ. A two-sample test needs a kernel.")
