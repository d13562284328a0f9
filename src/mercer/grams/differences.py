"""Distances in feature space without cancellation in k(x, x) + k(z, z) - 2 k(x, z) for data far from 0.

||phi(x) - phi(z)|| of many kernels depends on x - z only. For these the mean of the data is subtracted first, which changes
no distance. For other kernels a warning reports the loss of precision.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.errors import warn
from mercer.kernels.base import Kernel

#: Squared distances below this many roundings of k(x, x) + k(z, z) have no more than three digits.
ROUNDINGS = 1e3


#: The mean is subtracted if it is at least this many times the spread of the data; otherwise little precision is lost.
FAR = 100.0


class PrecisionWarning(UserWarning):
    """Most digits of a result were lost to cancellation."""


def without_offset(kernel: Kernel, *collections: Any) -> tuple[Any, ...]:
    """Return the collections minus the mean of the first if that changes no distance, otherwise unchanged."""
    tables = [X for X in collections if X is not None]
    if not kernel.by_differences() or not all(_is_table(X) for X in tables):
        return collections
    first = np.asarray(tables[0])
    # rounded to the dtype, which makes the subtraction exact for values close to the mean
    mean = first.mean(axis=0, dtype=np.float64).astype(first.dtype)
    if not np.isfinite(mean).all() or np.abs(mean).max() <= FAR * np.abs(first - mean).max():
        return collections
    moved: dict[int, Any] = {}
    return tuple(None if X is None else moved.setdefault(id(X), X - mean) for X in collections)


def _is_table(X: Any) -> bool:
    return isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f" and len(X) > 0


def warn_of_cancellation(verb: str, squared: Floats, sizes: Floats, eps: float, kernel: object, X: Any) -> None:
    """Warn if at least half of the squared distances are below the rounding error of k(x, x) + k(z, z).

    Equal rows are not counted: their distances are 0.
    """
    if not _is_table(X) or not squared.size or (X[: len(X) // 2 + 1] == X[0]).all():
        return
    if squared.min() < -ROUNDINGS * eps * float(np.max(sizes)):  # not positive semi-definite: reported elsewhere
        return
    if float(np.mean(squared <= ROUNDINGS * eps * sizes)) >= 0.5 and float(np.max(sizes)) > 0:
        warn(
            f"{verb}: k(x, x) + k(z, z) - 2 k(x, z) cancels for {kernel}; most distances have three digits or none. "
            "Subtract the column means from the data, or scale the kernel to them.",
            PrecisionWarning,
        )
