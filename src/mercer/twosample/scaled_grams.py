"""Gram matrices divided by their largest diagonal entry, which keeps statistics within the range of floats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Array, Floats
from mercer.errors import InputError
from mercer.inputs import Rows, is_float32
from mercer.kernels.base import Kernel
from mercer.twosample.quadratic_forms import GramTiles

#: Kernel values below this lose digits by underflow.
SMALLEST = 1e-290

#: float32 data outside this range are converted to float64, because products of four values must fit.
LIGHT = 2.0**-30, 2.0**30


@dataclass(frozen=True)
class StoredGrams:
    """Gram matrices held in memory."""

    kernels: tuple[Kernel, ...]
    arrays: list[Array]

    @property
    def length(self) -> int:
        """Number of rows of each matrix."""
        return len(self.arrays[0])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Data type of the entries."""
        return self.arrays[0].dtype

    def tile(self, rows: slice, cols: slice) -> list[Array]:
        """Return copies of one tile of every matrix."""
        return [array[rows, cols].copy() for array in self.arrays]

    def diag(self) -> Floats:
        """Return the diagonal of every matrix, (q, n)."""
        return np.array([np.diagonal(array) for array in self.arrays])


class ScaledGrams:
    """Gram matrices of kernels, each divided by its largest diagonal entry `unit` (q,)."""

    def __init__(self, matrices: GramTiles, kernels: Sequence[Kernel] | None = None, unit: Floats | None = None) -> None:
        self._matrices = matrices
        self.kernels = tuple(matrices.kernels if kernels is None else kernels)  # as reported in the result
        self._diag = matrices.diag()
        self.unit = self._units() if unit is None else unit  # given for chunks, in the units of all rows

    def _units(self) -> Floats:
        largest = np.abs(self._diag).max(axis=1)
        size = min(64, self.length)
        ends = slice(0, size), slice(self.length - size, self.length)
        for k, block in enumerate(self._matrices.tile(*ends)):  # a user's function may have a small diagonal
            largest[k] = max(largest[k], float(np.abs(block).max()))
        for kernel, top in zip(self.kernels, largest, strict=True):
            if not np.isfinite(top):
                raise InputError(f"{kernel}: kernel values overflow on these data. Divide the data by a constant.")
            if 0 < top < SMALLEST:
                raise InputError(_underflow(kernel))
        return np.where(largest > 0, largest, 1.0)

    @property
    def length(self) -> int:
        """Number of rows of each matrix."""
        return self._matrices.length

    @property
    def dtype(self) -> np.dtype[Any]:
        """Data type of the entries."""
        return self._matrices.dtype

    def tile(self, rows: slice, cols: slice) -> list[Array]:
        """Return one tile of every scaled matrix."""
        found = self._matrices.tile(rows, cols)
        return [
            values if unit == 1.0 else np.divide(values, values.dtype.type(unit), out=values)
            for values, unit in zip(found, self.unit, strict=True)
        ]

    def diag(self) -> Floats:  # -> (q, N)
        """Return the diagonals of the scaled matrices."""
        return self._diag / self.unit[:, None]


def _underflow(kernel: Kernel) -> str:
    return f"{kernel}: kernel values underflow on these data. Multiply the data by a constant."


def widened(rows: Rows) -> Rows:
    """Return the rows, converted from float32 to float64 if products of a few values would leave float32."""
    X = rows.data
    if not is_float32(X):
        return rows
    largest = _largest(X)
    return rows if largest == 0 or LIGHT[0] <= largest <= LIGHT[1] else Rows(X.astype(np.float64), rows.name)


def gram_in_units(kernel: Kernel, rows: Rows) -> tuple[Floats, float]:  # -> (n, n), number
    """Return a Gram matrix divided by its largest absolute entry, and that entry."""
    K = np.asarray(kernel(widened(rows)), dtype=np.float64)
    unit = float(np.abs(K).max())
    if 0 < unit < SMALLEST or not np.isfinite(unit):
        raise InputError(
            f"{kernel}: kernel values on {rows.name} leave the range of floats. Multiply {rows.name} by a constant."
        )
    refuse_underflow([kernel], np.diagonal(K)[None], rows)
    unit = unit or 1.0
    return K / unit, unit


def refuse_underflow(kernels: Sequence[Kernel], diag: Floats, rows: Rows) -> None:  # (q,), (q, N)
    """Raise if a kernel is 0 at every row only because products of tiny numbers underflow."""
    X = rows.data
    if (diag != 0).any(axis=1).all() or not (is_array(X) and X.dtype.kind == "f"):
        return
    largest = _largest(X)
    if not 0 < largest < 1.0:
        return
    for kernel, values in zip(kernels, diag, strict=True):
        if kernel.symmetric and not values.any() and np.any(kernel.diag(X / X.dtype.type(largest))):
            raise InputError(_underflow(kernel))


def is_array(X: Any) -> bool:
    """Return whether a collection is a NumPy array or a sparse matrix."""
    return isinstance(X, np.ndarray) or sp.issparse(X)


def _largest(X: Any) -> float:
    return float(np.abs(X.data if sp.issparse(X) else X).max(initial=0.0))
