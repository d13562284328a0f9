"""Achieved power and the sample size for a wanted power, from one test.

For a difference MMD^2 > 0 the unbiased statistic is nearly normal around it. Its variance has two parts,

    4 (var w(x) / m + var w(y) / n) + v0,

with w the witness and v0 the variance under relabelings, which falls with 1 / n^2. The test rejects above the 1 - level
quantile q of the relabelings, which falls with 1 / n. With both samples t times as large,

    power(t) = Phi((MMD^2 - q / t) / sqrt(4 (…) / t + v0 / t^2)).

The estimate is as uncertain as MMD^2 itself: a p-value of 0.05 always goes with a power near one half.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.arrays import Floats

#: Factors of the sample size searched for the wanted power.
LARGEST_FACTOR = 2.0**40


@dataclass(frozen=True)
class PowerEstimate:
    """Power of a test with one kernel at its corrected level."""

    achieved: float
    sample_sizes: tuple[int, int] | None  # for the target; None if the estimated difference is not positive
    target: float
    effect: float  # unbiased MMD^2; this and the next three in units of `unit`, so that no square underflows
    first_order: float  # variance that falls with 1 / n
    second_order: float  # variance that falls with 1 / n^2
    quantile: float  # of the null distribution at these sizes
    sizes: tuple[int, int]
    unit: float = 1.0  # the largest kernel value

    def at(self, factor: float) -> float:
        """The power with both samples `factor` times as large."""
        from scipy.special import ndtr

        spread = np.sqrt(self.first_order / factor + self.second_order / factor**2)
        if spread == 0:
            return float(self.effect > self.quantile / factor)
        return float(ndtr((self.effect - self.quantile / factor) / spread))


def estimate_power(
    effect: float, witness: Floats, cut: int, sizes: tuple[int, int], null: Floats,
    level: float, target: float = 0.8,
) -> PowerEstimate:  # fmt: skip
    """Return the power of a test from its statistic, the witness at its rows, and its null distribution.

    The first `cut` values of the witness belong to X: of rows, or of the blocks of rows that were compared.
    """
    m, n = sizes
    first = 4.0 * (float(np.var(witness[:cut])) / cut + float(np.var(witness[cut:])) / (len(witness) - cut))
    quantile = float(np.quantile(null, 1.0 - level))
    known = PowerEstimate(0.0, None, target, effect, first, float(np.var(null)), quantile, sizes)
    factor = _factor(known, target)
    needed = None if factor is None else (max(2, int(np.ceil(m * factor))), max(2, int(np.ceil(n * factor))))
    return PowerEstimate(known.at(1.0), needed, target, effect, first, known.second_order, quantile, sizes)


def _factor(known: PowerEstimate, target: float) -> float | None:
    """The smallest factor with the wanted power, by bisection on its logarithm."""
    if known.effect <= 0 or known.at(LARGEST_FACTOR) < target:
        return None
    low, high = 2.0 / min(known.sizes), LARGEST_FACTOR
    if known.at(low) >= target:
        return low
    for _ in range(100):
        middle = float(np.sqrt(low * high))
        low, high = (low, middle) if known.at(middle) >= target else (middle, high)
    return high


def interval(known: PowerEstimate, confidence_level: float) -> tuple[float, float]:
    """The normal interval around the estimated MMD^2."""
    from scipy.special import ndtri

    half = float(ndtri(0.5 + confidence_level / 2.0) * np.sqrt(known.first_order + known.second_order))
    return known.unit * (known.effect - half), known.unit * (known.effect + half)
