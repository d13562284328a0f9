"""Robust spread of columns, the unit of tests without a kernel."""

from __future__ import annotations

import numpy as np

from mercer.arrays import Array, Floats

#: The interquartile range of a standard normal variable.
NORMAL_QUARTILES = 1.3489795003921634


def column_spread(X: Array) -> Floats:  # (n, d) -> (d,)
    """Return a unit per column: interquartile range / 1.349, or the standard deviation if that is 0; 0 if constant.

    The result depends on the set of values of a column and not on the order of rows.
    """
    values = np.asarray(X, dtype=np.float64)
    low, high = values.min(axis=0), values.max(axis=0)
    largest = np.maximum(np.maximum(np.abs(low), np.abs(high)), np.finfo(np.float64).tiny)
    scaled = values / largest  # squares of very large or very small numbers leave the range of floats
    quartiles = np.quantile(scaled, [0.25, 0.75], axis=0)
    spread = (quartiles[1] - quartiles[0]) / NORMAL_QUARTILES
    spread = np.where(spread > 0, spread, scaled.std(axis=0))
    return np.where(high > low, spread * largest, 0.0)
