"""Robust spreads of columns, the units of tests without a kernel."""

from __future__ import annotations

import numpy as np

from mercer.arrays import Array, Floats

#: The interquartile range of a standard normal variable.
NORMAL_QUARTILES = 1.3489795003921634

#: The quantile of deviations from the median that is the unit of a column, and its value for a standard normal variable.
DEVIATION_SHARE, NORMAL_DEVIATION = 0.75, 1.1503493803760079


def column_deviation(X: Array) -> Floats:  # (n, d) -> (d,)
    """Return a unit per column: the 75 % quantile of deviations from the median that are not 0, / 1.150; 0 if constant.

    It is the standard deviation of a normal column, does not depend on the order of rows, and up to a quarter of the rows
    that deviate cannot change it much. A column that is mostly one value has the unit of its other values. Its
    standard deviation would be small, and dividing by that would give rare values a large weight.
    """
    values = np.asarray(X, dtype=np.float64)
    n, d = values.shape
    # differences of very large numbers leave the range of floats; a power of two keeps all digits of small differences
    largest = np.ldexp(1.0, np.frexp(np.abs(values).max(axis=0))[1] - 1)
    scaled = values / largest
    deviations = np.sort(np.abs(scaled - np.sort(scaled, axis=0)[(n - 1) // 2]), axis=0)
    count = np.count_nonzero(deviations, axis=0)
    place = np.maximum(n - count + DEVIATION_SHARE * (count - 1), 0.0)
    low = np.minimum(place.astype(np.intp), n - 1)
    below, above = deviations[low, np.arange(d)], deviations[np.minimum(low + 1, n - 1), np.arange(d)]
    unit = below + (place - low) * (above - below)
    return np.where(count > 0, unit / NORMAL_DEVIATION * largest, 0.0)


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
