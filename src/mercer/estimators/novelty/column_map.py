"""Columns of numbers on scales where distances mean novelty, and the kernel on them.

Every column becomes t(x) = x / unit + asinh((x - median) / spread) / typical: the first part grows beyond the range of the
training rows, the second spreads the values that are dense. Both rise with x, so |t(x) - t(z)| is the sum of both
differences. A second copy of the columns is divided by their ranges. The kernel is the mean of exp(-||t(x) - t(z)||_1) and
of exp(-||x - z||_2) on the copy, each in units of half the median distance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mercer.arrays import Floats
from mercer.errors import warn
from mercer.kernels.base import Kernel
from mercer.kernels.stationary import Exponential, Laplacian
from mercer.numeric.points import median_distance
from mercer.numeric.spread import column_spread
from mercer.registry import record

#: A range counts as this many standard deviations.
RANGE = 4.0

#: The length scale as a share of the median distance. Benchmark: show-novelty.
SHARE = 0.5


@record()
@dataclass(frozen=True)
class ColumnMap:
    """The two scales of every column; typical is the median distance of training rows in the second part of t."""

    _stored: ClassVar[dict[str, str]] = {
        "units": "float (d,) > 0",
        "centers": "float (d,)",
        "spreads": "float (d,) > 0",
        "ranges": "float (d,) > 0",
        "typical": "float > 0",
    }

    units: Floats  # (d,)
    centers: Floats  # (d,)
    spreads: Floats  # (d,)
    ranges: Floats  # (d,)
    typical: float

    def __call__(self, X: Floats) -> Floats:  # (n, d) -> (n, 2d)
        """Return the columns on both scales, t first."""
        return np.hstack([self.first(X), (X - self.centers) / self.ranges])

    def first(self, X: Floats) -> Floats:  # (n, d) -> (n, d)
        """Return t(x)."""
        moved = X - self.centers
        return moved / self.units + np.arcsinh(moved / self.spreads) / self.typical

    def kernel(self) -> Kernel:
        """Return the kernel on both scales, of rows as this map returns them."""
        d = len(self.units)
        return 0.5 * Laplacian(1.0).on(*range(d)) + 0.5 * Exponential(1.0).on(*range(d, 2 * d))


def column_map(X: Floats) -> ColumnMap:  # (n, d)
    """Return the scales of training rows.

    The unit of a column is the geometric mean of its standard deviation and a quarter of its range: the standard deviation
    alone is small where a few rows differ from all others, the range alone large. A constant column has the unit 1.
    """
    if not np.ptp(X, axis=0).any():
        warn("NoveltyDetector: all training rows are equal, so every row that differs from them is novel.")
        ones = np.ones(X.shape[1])
        return ColumnMap(ones, X[0].copy(), ones, SHARE * ones, 1.0)
    units, centers = column_units(X), np.median(X, axis=0)
    spreads, ranges = _positive(column_spread(X)), _positive(np.ptp(X, axis=0))
    half = 2.0 * SHARE  # of two parts
    units = units * (half * median_distance(X / units, "manhattan"))
    typical = half * median_distance(np.arcsinh((X - centers) / spreads), "manhattan")
    ranges = ranges * (SHARE * median_distance(X / ranges, "euclidean"))
    return ColumnMap(units, centers, spreads, ranges, typical)


def column_units(X: Floats) -> Floats:  # (n, d) -> (d,)
    """Return the unit of every column."""
    return _positive(np.sqrt(X.std(axis=0)) * np.sqrt(np.ptp(X, axis=0) / RANGE))


def _positive(values: Floats) -> Floats:
    return np.where(values > 0, values, 1.0)
