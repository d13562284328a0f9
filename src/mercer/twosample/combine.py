"""From statistics under relabelings to p-values: one kernel, several kernels with one joint level, early stopping.

Every rule here is a symmetric function of the observed column and the B relabeled ones, which is all that the argument
"the observed one is one more draw" needs: p-values are valid for every sample size, ties count against the observed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Floats


@dataclass(frozen=True)
class Verdict:
    """A joint p-value with the p-value of every kernel alone (`single`) and corrected for their number (`adjusted`)."""

    pvalue: float
    statistic: float
    null: Floats  # (B,) the statistic under relabelings
    single: Floats  # (q,)
    adjusted: Floats  # (q,)
    cutoff: float  # a kernel alone has to reach this p-value for the joint test to reject at `level`


def exceedances(observed: float, null: Floats, tolerance: float) -> int:
    """How many relabeled statistics are >= the observed one, ties within rounding included."""
    return int(np.count_nonzero(null >= observed - tolerance))


def ranks(columns: Floats, tolerance: Floats) -> Floats:  # (q, B+1) -> (q, B+1)
    """The p-value of every column among all columns, kernel by kernel."""
    out = np.empty_like(columns)
    for k, row in enumerate(columns):
        out[k] = len(row) - np.searchsorted(np.sort(row), row - tolerance[k], side="left")
    return out / columns.shape[1]


def by_quantiles(columns: Floats, tolerance: Floats, level: float) -> Verdict:
    """One joint level from the smallest p-value of all kernels (MMDAgg's correction, as a p-value).

    columns[:, 0] is observed. T_b = min_k p_k(b) is compared with T_0. T takes few values, so equal ones are ordered by
    the largest standardized statistic, which is symmetric in the columns too.
    """
    p = ranks(columns, tolerance)
    smallest = p.min(axis=0)
    spread = columns.std(axis=1, keepdims=True)
    steady = np.maximum(spread, tolerance[:, None])
    steady[steady == 0] = 1.0
    # not smaller than the rounding: among columns that are all equal, nothing is large
    standard = ((columns - columns.mean(axis=1, keepdims=True)) / steady).max(axis=0)
    slack = float((tolerance / steady[:, 0]).max())
    least = smallest[0]
    counted = (smallest < least) | ((smallest == least) & (standard >= standard[0] - slack))
    ordered = np.sort(smallest)
    adjusted = np.searchsorted(ordered, p[:, 0], side="right") / len(ordered)
    cutoff = float(ordered[max(int(np.floor(level * len(ordered))) - 1, 0)])
    return Verdict(
        float(counted.mean()), float(-np.log(least)), -np.log(smallest[1:]), p[:, 0], np.maximum(adjusted, p[:, 0]), cutoff
    )


def by_soft_maximum(columns: Floats, tolerance: Floats, scale: Floats, level: float) -> Verdict:
    """One joint level from log mean_k exp(MMD^2_k / scale_k), the soft maximum of MMD-FUSE.

    scale_k is made of the sum of squares of the pooled Gram matrix, which no relabeling changes.
    """
    scale = np.where(scale > 0, scale, np.inf)  # a kernel without any variation adds nothing
    exponents = columns / scale[:, None]
    top = exponents.max(axis=0)
    fused = top + np.log(np.exp(exponents - top).mean(axis=0))
    slack = float((tolerance / scale).max())
    count = exceedances(fused[0], fused[1:], slack)
    p = ranks(columns, tolerance)
    ordered = np.sort(p.min(axis=0))
    adjusted = np.searchsorted(ordered, p[:, 0], side="right") / len(ordered)
    cutoff = float(ordered[max(int(np.floor(level * len(ordered))) - 1, 0)])
    return Verdict(
        (1 + count) / columns.shape[1], float(fused[0]), fused[1:], p[:, 0], np.maximum(adjusted, p[:, 0]), cutoff
    )


def stopping_count(level: float, most: int) -> int:
    """The number of exceedances h after which h / l > level for every l <= most: the decision can no longer change.

    >>> stopping_count(0.05, 999)
    50
    """
    return int(np.floor(level * most)) + 1


def sequential(exceeds: NDArray[np.bool_], enough: int, most: int) -> tuple[float, int] | None:
    """Besag and Clifford's p-value and how many relabelings it used, or None while it asks for more.

    h / l if the h-th exceedance comes at draw l <= B, else (1 + number) / (1 + B): valid like the fixed-size one.
    """
    count = np.cumsum(exceeds)
    if len(count) and count[-1] >= enough:
        used = int(np.searchsorted(count, enough)) + 1
        return enough / used, used
    if len(count) == most:
        return float(1 + count[-1]) / (1 + most), most
    return None


class Yardstick:
    """How extreme a labeling is over several kernels, measured against a pilot set of relabelings.

    The pilot is drawn like the others and used for nothing else, so given the pilot, the observed labeling and further
    relabelings are measured by one fixed function: a sequential test on these measures is valid.
    """

    def __init__(self, pilot: Floats, tolerance: Floats) -> None:  # (q, P)
        self.sorted, self.tolerance = np.sort(pilot, axis=1), tolerance
        self.mean = pilot.mean(axis=1, keepdims=True)
        self.spread = np.maximum(pilot.std(axis=1, keepdims=True), tolerance[:, None])
        self.spread[self.spread == 0] = 1.0
        self.slack = float((tolerance / self.spread[:, 0]).max())

    def measure(self, columns: Floats) -> tuple[Floats, Floats]:  # (q, B)
        """The smallest p-value over kernels, and the largest standardized statistic to order equal ones."""
        size = self.sorted.shape[1]
        counts = [
            size - np.searchsorted(row, values - slack, side="left")
            for row, values, slack in zip(self.sorted, columns, self.tolerance, strict=True)
        ]
        return (1.0 + np.min(counts, axis=0)) / (1.0 + size), ((columns - self.mean) / self.spread).max(axis=0)

    def exceeds(self, columns: Floats, observed: Floats) -> NDArray[np.bool_]:
        """Which columns are at least as extreme as the observed one, (q, 1)."""
        least, largest = self.measure(columns)
        (bar,), (height,) = self.measure(observed)
        return (least < bar) | ((least == bar) & (largest >= height - self.slack))
