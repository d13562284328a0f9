"""Distances in feature space without cancellation: k(x, x) + k(z, z) - 2 k(x, z) of data far from 0 has no digits left.

||phi(x) - phi(z)|| of many kernels depends on x - z only. Their data are shifted by a common mean first, which changes no
distance. For the others the loss is seen, and said.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.errors import warn
from mercer.kernels.base import Kernel

#: Squared distances below this many roundings of k(x, x) + k(z, z) have no more than three digits.
ROUNDINGS = 1e3


#: Data are shifted where their mean is this many times as large as their spread; nearer to 0 little is lost.
FAR = 100.0


class PrecisionWarning(UserWarning):
    """Most digits of a result were lost to cancellation."""


def without_offset(kernel: Kernel, *collections: Any) -> tuple[Any, ...]:
    """The collections without the mean of the first, where no distance changes by it; as they are elsewhere."""
    tables = [X for X in collections if X is not None]
    if not kernel.by_differences() or not all(_is_table(X) for X in tables):
        return collections
    first = np.asarray(tables[0])
    # rounded to the dtype, so that subtracting it is exact for values that lie close together
    mean = first.mean(axis=0, dtype=np.float64).astype(first.dtype)
    if not np.isfinite(mean).all() or np.abs(mean).max() <= FAR * np.abs(first - mean).max():
        return collections
    moved: dict[int, Any] = {}
    return tuple(None if X is None else moved.setdefault(id(X), X - mean) for X in collections)


def _is_table(X: Any) -> bool:
    return isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f" and len(X) > 0


def warn_of_cancellation(verb: str, squared: Floats, sizes: Floats, eps: float, kernel: object, X: Any) -> None:
    """Say once that squared distances are mostly rounding: half of them are below what k(x, x) + k(z, z) rounds to.

    Equal rows are no reason for alarm: their distances are 0.
    """
    if not _is_table(X) or not squared.size or (X[: len(X) // 2 + 1] == X[0]).all():
        return
    if squared.min() < -ROUNDINGS * eps * float(np.max(sizes)):  # no kernel at all: others say so
        return
    if float(np.mean(squared <= ROUNDINGS * eps * sizes)) >= 0.5 and float(np.max(sizes)) > 0:
        warn(
            f"{verb}: k(x, x) + k(z, z) - 2 k(x, z) cancels for {kernel}; most distances have three digits or none. "
            "Subtract the column means from the data, or scale the kernel to them.",
            PrecisionWarning,
        )
