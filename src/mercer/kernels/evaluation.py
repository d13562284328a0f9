"""A kernel on two given collections: encoded once, evaluated tile by tile."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mercer.errors import InputError
from mercer.inputs import as_rows
from mercer.kernels.pair import Pair
from mercer.numeric.encodings import dtype_of, gather

if TYPE_CHECKING:
    from mercer.kernels.base import Kernel

REMEDY = "Use mercer.GramOperator(kernel, X) for products with the matrix, or float32 data for half the memory."


class Evaluation:
    """k(X, Z) before it is computed: shape, dtype, symmetry and tiles."""

    def __init__(self, kernel: Kernel, X: Any, Z: Any = None) -> None:
        if kernel.unresolved:
            raise InputError(
                f'{kernel} still has length_scale="median"; call k.resolve(X) to take the number from data '
                "(estimators do it on the training data)."
            )
        left = as_rows(X, "X")
        same = Z is None or Z is X
        right = left if same else as_rows(Z, "Z")
        A = kernel._encode(left)
        self.kernel = kernel
        self.pair = Pair.whole(A, A if same else kernel._encode(right))
        self.shape = self.pair.shape
        self.dtype: np.dtype[Any] = dtype_of(self.pair.A)
        self.symmetric = same and kernel._symmetric

    def block(self, rows: slice, cols: slice) -> NDArray[Any]:
        """The values of one tile, in an array of its own."""
        return self.kernel._block(self.pair.tile(rows, cols))

    def rows(self, index: NDArray[np.integer[Any]]) -> Callable[[slice, slice], NDArray[Any]]:
        """The tiles of the matrix whose i-th row is row index[i] of this one."""
        pair = Pair(gather(self.pair.A, index), self.pair.B, slice(0, len(index)), self.pair.cols)
        return lambda rows, cols: self.kernel._block(pair.tile(rows, cols))

    def diag(self) -> NDArray[Any]:
        """k(x_i, x_i) of the left collection."""
        return self.kernel._diag(self.pair.A)
