"""`Pair`: two encoded collections seen through one tile. It remembers distances, so that terms share them."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from numpy.typing import NDArray

from mercer.numeric.compiling import worth
from mercer.numeric.encodings import Encoding, align, length
from mercer.numeric.exponential import PER_VALUE, exp_scaled
from mercer.numeric.points import manhattan_distances, power_sums, squared_distances


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

    def exp(self, values: NDArray[Any], factor: float, out: NDArray[Any] | None = None) -> NDArray[Any]:
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

    def inner(self) -> NDArray[Any]:
        """Inner products of Dots or Counts."""
        if hasattr(self.A, "between"):
            return self._remember(("inner", id(self.A), id(self.B)), lambda: self.A.between(self.rows, self.B, self.cols))
        return self._remember(("inner", id(self.A), id(self.B)), lambda: self.left.inner(self.right))

    def squared_distances(self, refine: bool) -> NDArray[Any]:
        """Squared distances of Points; `refine` recomputes those of near duplicates from differences."""
        refine = refine or ("squared", True, id(self.A), id(self.B)) in self._memo
        return self._remember(
            ("squared", refine, id(self.A), id(self.B)),
            lambda: squared_distances(self.A, self.rows, self.B, self.cols, refine, self.compiled),
        )

    def manhattan_distances(self) -> NDArray[Any]:
        """Sums of absolute differences of Points."""
        return self._remember(
            ("manhattan", id(self.A), id(self.B)), lambda: manhattan_distances(self.A, self.rows, self.B, self.cols)
        )

    def power_sums(self, norm: float) -> NDArray[Any]:
        """Sums of |difference|^norm of Points."""
        return self._remember(
            ("powers", norm, id(self.A), id(self.B)), lambda: power_sums(self.A, self.rows, self.B, self.cols, norm)
        )

    def block(self, kernel: Any) -> NDArray[Any]:
        """The values of a kernel on this tile, computed once for all gradients that ask; shared: read, never write."""
        return self._remember(("block", id(kernel), id(self.A), id(self.B)), lambda: kernel._block(self))

    def know(self, kernel: Any, values: NDArray[Any]) -> None:
        """Take the values of a kernel on this tile from somebody who has them."""
        self._memo.setdefault(("block", id(kernel), id(self.A), id(self.B)), values)

    def knows(self, kernel: Any) -> bool:
        """Whether the values of a kernel on this tile are at hand."""
        return ("block", id(kernel), id(self.A), id(self.B)) in self._memo

    def _remember(self, key: Hashable, make: Callable[[], Any]) -> Any:
        if key not in self._memo:
            self._memo[key] = make()
        return self._memo[key]
