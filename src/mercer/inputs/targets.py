"""Numeric targets: n finite numbers, or n rows of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.errors import InputError, describe


def read_targets(what: str, y: Any, n: int, name: str = "y", *, holes: bool = False) -> Floats:
    """Return numeric targets, (n,) or (n, t), as finite floats; with `holes`, NaN marks an unknown cell."""
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
    bad = np.isinf(values) if holes else ~np.isfinite(values)
    if bad.any():
        row = int(np.argwhere(bad)[0, 0])
        word = "infinity" if holes or not np.isnan(values).any() else "NaN"
        raise InputError(f"Input {name} contains {word} (row {row}); drop such rows first.")
    return values
