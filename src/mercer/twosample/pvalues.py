"""P-values from statistics under relabelings: one kernel, several kernels with one joint level, early stopping.

Every rule is a symmetric function of the observed column and the B relabeled ones. Under the null hypothesis the observed
column is one more draw, which makes the p-values valid for every sample size. Ties count against the observed statistic.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Floats


@dataclass(frozen=True)
class JointPvalue:
    """Joint p-value, with the p-value of each kernel alone (`single`) and corrected for their number (`adjusted`)."""

    pvalue: float
    statistic: float
    null: Floats  # (B,) the statistic under relabelings
    single: Floats  # (q,)
    adjusted: Floats  # (q,)
    cutoff: float  # the joint test rejects at `level` if one kernel reaches this p-value


def exceedances(observed: float, null: Floats, tolerance: float) -> int:
    """Return the number of relabeled statistics >= the observed one, including ties within rounding."""
    return int(np.count_nonzero(null >= observed - tolerance))


def ranks(columns: Floats, tolerance: Floats) -> Floats:  # (q, B+1) -> (q, B+1)
    """Return the p-value of every column among all columns, for each kernel."""
    out = np.empty_like(columns)
    for k, row in enumerate(columns):
        out[k] = len(row) - np.searchsorted(np.sort(row), row - tolerance[k], side="left")
    return out / columns.shape[1]


def by_quantiles(columns: Floats, tolerance: Floats, level: float) -> JointPvalue:
    """Return the joint p-value of the smallest p-value over kernels (the correction of MMDAgg).

    columns[:, 0] is observed. T_b = min_k p_k(b) is compared with T_0. T takes few values; ties are broken by the largest
    standardized statistic, which is symmetric in the columns too.
    """
    p = ranks(columns, tolerance)
    smallest = p.min(axis=0)
    spread = columns.std(axis=1, keepdims=True)
    steady = np.maximum(spread, tolerance[:, None])
    steady[steady == 0] = 1.0
    # a spread below the rounding error would make equal columns look different
    standard = ((columns - columns.mean(axis=1, keepdims=True)) / steady).max(axis=0)
    slack = float((tolerance / steady[:, 0]).max())
    least = smallest[0]
    counted = (smallest < least) | ((smallest == least) & (standard >= standard[0] - slack))
    ordered = np.sort(smallest)
    adjusted = np.searchsorted(ordered, p[:, 0], side="right") / len(ordered)
    cutoff = float(ordered[max(int(np.floor(level * len(ordered))) - 1, 0)])
    return JointPvalue(
        float(counted.mean()), float(-np.log(least)), -np.log(smallest[1:]), p[:, 0], np.maximum(adjusted, p[:, 0]), cutoff
    )


def by_soft_maximum(columns: Floats, tolerance: Floats, scale: Floats, level: float) -> JointPvalue:
    """Return the joint p-value of log mean_k exp(MMD^2_k / scale_k), the soft maximum of MMD-FUSE.

    scale_k comes from the sum of squares of the pooled Gram matrix, which no relabeling changes.
    """
    scale = np.where(scale > 0, scale, np.inf)  # a constant kernel adds nothing
    exponents = columns / scale[:, None]
    top = exponents.max(axis=0)
    fused = top + np.log(np.exp(exponents - top).mean(axis=0))
    slack = float((tolerance / scale).max())
    count = exceedances(fused[0], fused[1:], slack)
    p = ranks(columns, tolerance)
    ordered = np.sort(p.min(axis=0))
    adjusted = np.searchsorted(ordered, p[:, 0], side="right") / len(ordered)
    cutoff = float(ordered[max(int(np.floor(level * len(ordered))) - 1, 0)])
    return JointPvalue(
        (1 + count) / columns.shape[1], float(fused[0]), fused[1:], p[:, 0], np.maximum(adjusted, p[:, 0]), cutoff
    )


def stopping_count(level: float, most: int) -> int:
    """Return the number of exceedances h with h / l > level for every l <= most, after which the decision is fixed.

    >>> stopping_count(0.05, 999)
    50
    """
    return int(np.floor(level * most)) + 1


def sequential(exceeds: NDArray[np.bool_], enough: int, most: int) -> tuple[float, int] | None:
    """Return the p-value of Besag and Clifford and the relabelings used, or None if more relabelings are needed.

    It is h / l if the h-th exceedance comes at draw l <= B, otherwise (1 + number) / (1 + B).
    """
    count = np.cumsum(exceeds)
    if len(count) and count[-1] >= enough:
        used = int(np.searchsorted(count, enough)) + 1
        return enough / used, used
    if len(count) == most:
        return float(1 + count[-1]) / (1 + most), most
    return None


class PilotMeasure:
    """Extremeness of a labeling over several kernels, measured against a pilot set of relabelings.

    The pilot set is used for nothing else. Given the pilot, one fixed function measures the observed labeling and all
    further relabelings, and a sequential test on these measures is valid.
    """

    def __init__(self, pilot: Floats, tolerance: Floats) -> None:  # (q, P)
        self.sorted, self.tolerance = np.sort(pilot, axis=1), tolerance
        self.mean = pilot.mean(axis=1, keepdims=True)
        self.spread = np.maximum(pilot.std(axis=1, keepdims=True), tolerance[:, None])
        self.spread[self.spread == 0] = 1.0
        self.slack = float((tolerance / self.spread[:, 0]).max())

    def measure(self, columns: Floats) -> tuple[Floats, Floats]:  # (q, B)
        """Return the smallest p-value over kernels, and the largest standardized statistic, which breaks ties."""
        size = self.sorted.shape[1]
        counts = [
            size - np.searchsorted(row, values - slack, side="left")
            for row, values, slack in zip(self.sorted, columns, self.tolerance, strict=True)
        ]
        return (1.0 + np.min(counts, axis=0)) / (1.0 + size), ((columns - self.mean) / self.spread).max(axis=0)

    def exceeds(self, columns: Floats, observed: Floats) -> NDArray[np.bool_]:
        """Return which columns are at least as extreme as the observed one, (q, 1)."""
        least, largest = self.measure(columns)
        (bar,), (height,) = self.measure(observed)
        return (least < bar) | ((least == bar) & (largest >= height - self.slack))
