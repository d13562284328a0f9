"""Numeric targets: n finite numbers, or n rows of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.errors import InputError, describe


def read_targets(what: str, y: Any, n: int, name: str = "y") -> Floats:
    """Return numeric targets, (n,) or (n, t), as finite floats."""
    if y is None:
        raise InputError(f"{what} requires y to be passed, but the target y is None; give one target value per row.")
    try:
        values = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"{name} must be numbers for {what}; got {describe(y)}. Unknown label type: for classes use a classifier."
        ) from None
    if values.ndim not in (1, 2) or len(values) != n:
        raise InputError(f"{name} has shape {values.shape} for {n} rows of X; give (n,), or (n, t) for several targets.")
    if not np.isfinite(values).all():
        row = int(np.argwhere(~np.isfinite(values))[0, 0])
        word = "NaN" if np.isnan(values).any() else "infinity"
        raise InputError(f"Input {name} contains {word} (row {row}); drop such rows first.")
    return values
