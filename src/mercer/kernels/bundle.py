"""Several kernels on one pooled sample, evaluated tile by tile: terms that ask for the same distances share them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.errors import InputError
from mercer.inputs import Rows
from mercer.kernels.base import Kernel
from mercer.kernels.evaluation import Pair, checked_diag
from mercer.numeric.encodings import dtype_of


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

    def tile(self, rows: slice, cols: slice) -> list[NDArray[Any]]:
        """The values of every kernel on one tile, each in an array of its own."""
        pair = Pair(self._encodings, self._encodings, rows, cols)
        return [kernel._block(pair.part(i)) for i, kernel in enumerate(self.kernels)]

    def diag(self) -> NDArray[np.float64]:  # -> (q, N)
        """k(x, x) of every kernel."""
        pairs = zip(self.kernels, self._encodings, strict=True)
        return np.array([checked_diag(kernel, e, self._name) for kernel, e in pairs], dtype=np.float64)


def check_symmetric(bundle: Bundle) -> None:
    """Refuse a function of the user's own that is not symmetric: half of its values would never be looked at."""
    if all(kernel._symmetric for kernel in bundle.kernels):
        return
    size = min(bundle.length, 32)
    # rows from both ends, so that both samples are seen
    ends = slice(0, size), slice(bundle.length - size, bundle.length)
    for kernel, forth, back in zip(bundle.kernels, bundle.tile(*ends), bundle.tile(*ends[::-1]), strict=True):
        if not kernel._symmetric and not np.allclose(forth, back.T, rtol=1e-6, atol=1e-9 * max(1.0, abs(forth).max())):
            raise InputError(f"{kernel} is not symmetric: k(x, z) and k(z, x) differ. A two-sample test needs a kernel.")
