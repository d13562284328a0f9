"""The k nearest training rows by the kernel distance, found tile by tile: memory does not grow with n_new x n_train."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Array, Floats, Ints
from mercer.errors import InputError
from mercer.grams import GramOperator
from mercer.grams.differences import warn_of_cancellation, without_offset
from mercer.kernels.base import Kernel
from mercer.numeric.threads import Progress

#: Squared distances that differ by less than this many roundings of k(x, x) + k(z, z) are ties.
ROUNDINGS = 16.0


def nearest(
    kernel: Kernel, X: Any, new: Any, k: int, progress: Progress | None = None
) -> tuple[Floats, Ints]:  # -> (n, k), (n, k)
    """Distances to the k nearest rows of X and their numbers, nearest first; ties by number. new=None: X itself, each
    row without itself.

    ||phi(x) - phi(z)||^2 = k(x, x) + k(z, z) - 2 k(x, z).
    """
    from mercer.estimators.neighbors._compiled_nearest import merge

    X, new = without_offset(kernel, X, new)
    K = GramOperator(kernel, X) if new is None else GramOperator(kernel, new, X)
    right = np.asarray(kernel.diag(X), dtype=np.float64)
    left = right if new is None else np.asarray(kernel.diag(new), dtype=np.float64)
    n = K.shape[0]
    eps = float(np.finfo(K.value_dtype).eps)
    tolerance = ROUNDINGS * eps * (np.abs(left) + float(np.abs(right).max()))
    distances, places = np.full((n, k), np.inf), np.full((n, k), -1, np.int64)
    skip = np.arange(n) if new is None else np.full(n, -1, np.int64)
    failures: list[int] = []

    def visit(rows: slice, cols: slice, values: Array) -> None:
        worst = merge(
            values, left[rows], right[cols], cols.start, skip[rows], tolerance[rows], distances[rows], places[rows]
        )
        if worst < 0.0:
            failures.append(rows.start)

    K.visit(visit, progress)
    if failures:
        _refuse(K, left, right, min(failures))
    distances[distances <= tolerance[:, None]] = 0.0  # rounding: a question that is a training row is at distance 0 of it
    return np.sqrt(distances, out=distances), places


def look_at_digits(kernel: Kernel, X: Any) -> None:
    """Say it if the distances between training rows are rounding; some of the first against some of the last are enough."""
    if not isinstance(X, np.ndarray) or len(X) < 2:
        return
    size = min(64, len(X) // 2)
    X = without_offset(kernel, X)[0]
    ends = X[:size], X[-size:]
    left, right = (np.asarray(kernel.diag(end), dtype=np.float64) for end in ends)
    sizes, values = left[:, None] + right[None, :], kernel(*ends)
    squared = sizes - 2.0 * np.asarray(values, dtype=np.float64)
    warn_of_cancellation("the nearest rows", squared, np.abs(sizes), float(np.finfo(values.dtype).eps), kernel, X)


def _refuse(K: GramOperator, left: Array, right: Array, start: int) -> None:
    """Name the pair whose distance is imaginary."""
    for row in range(start, K.shape[0]):
        squared = left[row] + right - 2.0 * K.block(slice(row, row + 1), slice(None))[0]
        j = int(squared.argmin())
        if squared[j] < 0.0:
            raise InputError(
                f"the kernel distance between row {row} and training row {j} is imaginary: k(x, x) + k(z, z) - 2 k(x, z) = "
                f"{squared[j]:.3g} < 0, so {K.kernel} is not a kernel. mercer.repair(K) gives the nearest Gram matrix that "
                "has distances."
            )
