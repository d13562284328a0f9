"""The k nearest of a row, kept while tiles pass by."""

from __future__ import annotations

from mercer.arrays import Array, Floats, Ints
from mercer.numeric._compiled_notice import njit


@njit()
def merge(
    values: Array, left: Floats, right: Floats, first: int, skip: Ints,
    tolerance: Floats, distances: Floats, places: Ints,
) -> float:  # (n, c), (n,), (c,), (n,), (n,), (n, k), (n, k)  # fmt: skip
    """Put squared distances left_i + right_j - 2 values_ij into sorted lists of the k smallest per row.

    A newcomer goes before those that are larger by more than `tolerance`: ties keep the order of their numbers, and
    rounding does not break them. Row i leaves out the column skip[i]. Returns the most negative excess over tolerance.
    """
    k, worst = distances.shape[1], 0.0
    for i in range(values.shape[0]):
        near, who, slack = distances[i], places[i], tolerance[i]
        for j in range(values.shape[1]):
            d = left[i] + right[j] - 2.0 * values[i, j]
            if d < near[k - 1] - slack and first + j != skip[i]:
                if d < -slack:
                    worst = min(worst, d + slack)
                    d = 0.0
                d = max(d, 0.0)
                p = k - 1
                while p > 0 and d < near[p - 1] - slack:
                    near[p], who[p] = near[p - 1], who[p - 1]
                    p -= 1
                near[p], who[p] = d, first + j
    return worst
