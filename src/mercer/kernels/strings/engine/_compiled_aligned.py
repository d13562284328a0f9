"""Runs of equal letters of aligned strings."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

import mercer.numeric._compiled_notice  # noqa: F401
from mercer.arrays import Floats


@numba.njit(cache=True, nogil=True)
def matches(
    left: NDArray[np.int32], right: NDArray[np.int32], gain: Floats, out: Floats
) -> None:  # (n, L), (M, m), (degree + 1,), (n, m)
    """out[i, j] = sum over places of gain[length of the run of equal letters that ends there, at most degree]."""
    width, degree, m = min(left.shape[1], right.shape[0]), gain.shape[0] - 1, out.shape[1]
    run = np.empty(m, np.int32)
    for i in range(left.shape[0]):
        run[:] = 0
        row = out[i]
        row[:] = 0.0
        for k in range(width):
            letter = left[i, k]
            others = right[k]
            for j in range(m):
                r = min(run[j] + 1, degree) if others[j] == letter else 0
                run[j] = r
                row[j] += gain[r]
