"""Distances that are no matrix product."""

from __future__ import annotations

from typing import Any

import numba
from numpy.typing import NDArray


@numba.njit(cache=True, nogil=True)
def manhattan(a: NDArray[Any], bt: NDArray[Any], out: NDArray[Any]) -> None:  # (n, d), (d, m) -> (n, m)
    """out[i, j] = sum_k |a[i, k] - bt[k, j]|."""
    for i in range(a.shape[0]):
        row = out[i]
        x = a[i, 0]
        for j in range(bt.shape[1]):
            row[j] = abs(x - bt[0, j])
        for k in range(1, a.shape[1]):
            x = a[i, k]
            for j in range(bt.shape[1]):
                row[j] += abs(x - bt[k, j])
