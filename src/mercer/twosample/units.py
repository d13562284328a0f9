"""Gram matrices in units of their own size, so that no statistic underflows or overflows, whatever the units of the data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Array, Floats
from mercer.errors import InputError
from mercer.inputs import Rows, is_float32
from mercer.kernels.base import Kernel
from mercer.twosample.forms import Matrices

#: Kernel values smaller than this have lost digits, or are about to.
SMALLEST = 1e-290

#: float32 data outside these are read as float64: products of four values must fit float32.
LIGHT = 2.0**-30, 2.0**30


class InUnits:
    """The matrices of some kernels, each divided by its largest diagonal entry; `unit` (q,) is what it was divided by."""

    def __init__(self, matrices: Matrices, kernels: Sequence[Kernel] | None = None, unit: Floats | None = None) -> None:
        self._matrices = matrices
        self.kernels = tuple(matrices.kernels if kernels is None else kernels)  # as they are reported
        self._diag = matrices.diag()
        self.unit = self._units() if unit is None else unit  # given for a part of the rows, in the units of them all

    def _units(self) -> Floats:
        largest = np.abs(self._diag).max(axis=1)
        size = min(64, self.length)
        ends = slice(0, size), slice(self.length - size, self.length)
        for k, block in enumerate(self._matrices.tile(*ends)):  # functions of the user's own may have a small diagonal
            largest[k] = max(largest[k], float(np.abs(block).max()))
        for kernel, top in zip(self.kernels, largest, strict=True):
            if not np.isfinite(top):
                raise InputError(f"{kernel}: kernel values overflow on these data; divide the data by a constant.")
            if 0 < top < SMALLEST:
                raise InputError(_underflow(kernel))
        return np.where(largest > 0, largest, 1.0)

    @property
    def length(self) -> int:
        """Rows of every matrix."""
        return self._matrices.length

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision of the entries."""
        return self._matrices.dtype

    def tile(self, rows: slice, cols: slice) -> list[Array]:
        """A tile of every matrix, in units."""
        found = self._matrices.tile(rows, cols)
        return [
            values if unit == 1.0 else np.divide(values, values.dtype.type(unit), out=values)
            for values, unit in zip(found, self.unit, strict=True)
        ]

    def diag(self) -> Floats:  # -> (q, N)
        """The diagonals, in units."""
        return self._diag / self.unit[:, None]


def _underflow(kernel: Kernel) -> str:
    return f"{kernel}: kernel values underflow on these data; multiply the data by a constant."


def with_room(rows: Rows) -> Rows:
    """The rows, float32 vectors as float64 where products of a few of their values would leave float32."""
    X = rows.data
    if not is_float32(X):
        return rows
    largest = _largest(X)
    return rows if largest == 0 or LIGHT[0] <= largest <= LIGHT[1] else Rows(X.astype(np.float64), rows.name)


def gram_in_units(kernel: Kernel, rows: Rows) -> tuple[Floats, float]:  # -> (n, n), number
    """A Gram matrix divided by its largest entry, and that entry."""
    K = np.asarray(kernel(with_room(rows)), dtype=np.float64)
    unit = float(np.abs(K).max())
    if 0 < unit < SMALLEST or not np.isfinite(unit):
        raise InputError(f"{kernel}: kernel values leave the range of floats on {rows.name}; multiply it by a constant.")
    refuse_underflow([kernel], np.diagonal(K)[None], rows)
    unit = unit or 1.0
    return K / unit, unit


def refuse_underflow(kernels: Sequence[Kernel], diag: Floats, rows: Rows) -> None:  # (q,), (q, N)
    """Refuse kernels that are 0 at every row only because products of tiny numbers are."""
    X = rows.data
    if (diag != 0).any(axis=1).all() or getattr(getattr(X, "dtype", None), "kind", "") != "f":
        return
    largest = _largest(X)
    if not 0 < largest < 1.0:
        return
    for kernel, values in zip(kernels, diag, strict=True):
        if kernel._symmetric and not values.any() and np.any(kernel.diag(X / X.dtype.type(largest))):
            raise InputError(_underflow(kernel))


def _largest(X: Any) -> float:
    return float(np.abs(X.data if sp.issparse(X) else X).max(initial=0.0))
