"""The result of a two-sample test, with its power and the sample size for a target power.
For a difference MMD^2 > 0 the unbiased statistic is nearly normal around it. Its variance has two parts,

    4 (var w(x) / m + var w(y) / n) + v0,

where w is the witness and v0 is the variance under relabelings, which falls with 1 / n^2. The test rejects above the
1 - level quantile q of the relabelings, which falls with 1 / n. With both samples t times as large,

    power(t) = Phi((MMD^2 - q / t) / sqrt(4 (…) / t + v0 / t^2)).

The estimate is as uncertain as MMD^2 itself: a p-value of 0.05 always goes with a power near one half.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.arrays import Floats, Ints
from mercer.errors import readable
from mercer.kernels.base import Kernel
from mercer.kernels.evaluation import Evaluation
from mercer.numeric import tiles
from mercer.twosample.samples import Pooled, Samples

if TYPE_CHECKING:
    from mercer.twosample.explanation import ColumnShares, Explanation, Prototypes


#: Largest factor of the sample size in the search for the target power.
LARGEST_FACTOR = 2.0**40


@dataclass(frozen=True)
class PowerEstimate:
    """Power of a test with one kernel at its corrected level."""

    achieved: float
    sample_sizes: tuple[int, int] | None  # for the target power; None if the estimated difference is not positive
    target: float
    effect: float  # unbiased MMD^2; this and the next three in units of `unit`, because squares could underflow
    first_order: float  # variance that falls with 1 / n
    second_order: float  # variance that falls with 1 / n^2
    quantile: float  # of the null distribution at these sizes
    sizes: tuple[int, int]
    unit: float = 1.0  # the largest kernel value

    def at(self, factor: float) -> float:
        """Return the power with both samples `factor` times as large."""
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

    The first `cut` values of the witness belong to X. Values are of rows, or of blocks of rows.
    """
    m, n = sizes
    first = 4.0 * (float(np.var(witness[:cut])) / cut + float(np.var(witness[cut:])) / (len(witness) - cut))
    quantile = float(np.quantile(null, 1.0 - level))
    known = PowerEstimate(0.0, None, target, effect, first, float(np.var(null)), quantile, sizes)
    factor = _factor(known, target)
    needed = None if factor is None else (max(2, int(np.ceil(m * factor))), max(2, int(np.ceil(n * factor))))
    return PowerEstimate(known.at(1.0), needed, target, effect, first, known.second_order, quantile, sizes)


def _factor(known: PowerEstimate, target: float) -> float | None:
    """Return the smallest factor with the target power, by bisection on its logarithm."""
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
    """Return the normal interval around the estimated MMD^2."""
    from scipy.special import ndtri

    half = float(ndtri(0.5 + confidence_level / 2.0) * np.sqrt(known.first_order + known.second_order))
    return known.unit * (known.effect - half), known.unit * (known.effect + half)


#: Prototypes are chosen among at most this many rows, drawn at random.
CANDIDATES = 5000


@dataclass(frozen=True)
class KernelDetail:
    """One kernel of a test: unbiased and biased MMD^2, its p-value alone and corrected for the number of kernels."""

    kernel: Kernel
    unbiased: float
    biased: float
    pvalue: float
    adjusted_pvalue: float


@dataclass(frozen=True)
class ConfidenceInterval:
    """A confidence interval with the fields of scipy.stats."""

    low: float
    high: float


@dataclass(frozen=True)
class MonteCarlo:
    """Sampling of the null distribution."""

    resampling: str  # "permutations", "swaps" or "permutations of blocks"
    drawn: int  # relabelings used
    planned: int  # relabelings requested
    level: float


@dataclass(frozen=True, eq=False)
class MMDTestResult:
    """The result of `mercer.mmd_test`; unpacks into statistic and pvalue.

    `statistic` is MMD^2 of the kernel, or the aggregated statistic of several kernels, which `details` lists. `kernel` is
    the one with the smallest p-value; the witness, the power and the explanation use it.
    """

    statistic: float
    pvalue: float
    kernel: Kernel
    details: tuple[KernelDetail, ...]
    null_distribution: Floats = field(repr=False)
    monte_carlo: MonteCarlo
    method: str  # how the statistic was computed
    power: PowerEstimate = field(repr=False)
    samples: Samples = field(repr=False)
    seed: int = field(repr=False)
    variance: float = field(repr=False)  # of the features of `kernel` in the pooled sample
    units: tuple[float, ...] | None = field(default=None, repr=False)  # by which the default kernels divide columns
    ignored: tuple[str, ...] = ()  # constant columns
    block: int = 1  # neighboring rows that were relabeled together
    warnings: tuple[str, ...] = ()  # reasons to doubt the p-value

    def __iter__(self) -> Any:
        return iter((self.statistic, self.pvalue))

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """All kernels of the test."""
        return tuple(detail.kernel for detail in self.details)

    @property
    def mmd2(self) -> float:
        """The unbiased MMD^2 of `kernel`."""
        return self._leading().unbiased

    @property
    def mmd2_biased(self) -> float:
        """The biased MMD^2 of `kernel`, the squared distance of the two mean feature vectors; never negative."""
        return self._leading().biased

    def _leading(self) -> KernelDetail:
        return next(detail for detail in self.details if detail.kernel == self.kernel)

    def witness(self, Z: Any) -> Floats:  # (r, d) -> (r,)
        """Return mean_i k(x_i, z) - mean_j k(y_j, z): positive where X has more mass, negative where Y has."""
        return self.samples.witness(self.kernel, Z)

    def confidence_interval(self, confidence_level: float = 0.95) -> ConfidenceInterval:
        """Return a normal interval for the population MMD^2 of `kernel`; accurate if the samples differ."""
        return ConfidenceInterval(*interval(self.power, confidence_level))

    @property
    def effect_size(self) -> float:
        """Share of the variance of the features of `kernel` between the samples: m n / (m + n)^2 MMD^2 / variance.

        It is 0 for equal distributions and 1 for samples that consist of one point each. The estimate is unbiased up to
        the ratio and may be slightly negative.
        """
        return self._share(self.mmd2)

    def effect_interval(self, confidence_level: float = 0.95) -> ConfidenceInterval:
        """Return a normal interval for `effect_size`, limited to [0, 1]."""
        low, high = interval(self.power, confidence_level)
        return ConfidenceInterval(*(min(max(self._share(end), 0.0), 1.0) for end in (low, high)))

    def _share(self, mmd2: float) -> float:
        m, n = self.samples.m, self.samples.n
        return m * n / (m + n) ** 2 * mmd2 / self.variance if self.variance > 0 else 0.0

    def pvalue_interval(self, confidence_level: float = 0.95) -> ConfidenceInterval:
        """Return the Clopper-Pearson interval for the p-value of infinitely many relabelings."""
        from scipy.stats import beta

        drawn, tail = self.monte_carlo.drawn, (1.0 - confidence_level) / 2.0
        hits = min(drawn, max(0, round(self.pvalue * (drawn + 1)) - 1))
        low = beta.ppf(tail, hits, drawn - hits + 1) if hits else 0.0
        high = beta.ppf(1.0 - tail, hits + 1, drawn - hits) if hits < drawn else 1.0
        return ConfidenceInterval(float(low), float(high))

    def explain(self, n_permutations: int = 999) -> Explanation:
        """Rank columns, substrings or examples by their part in the difference, with corrected p-values."""
        from mercer.twosample.explanation import explain

        pooled = self.samples.in_memory("explain()")
        return explain(pooled, self.kernel, n_permutations, np.random.default_rng(self.seed), self.block)

    def columns(self) -> ColumnShares:
        """Return exact Shapley values of MMD^2 by column, for kernels that are sums of products over columns."""
        from mercer.twosample.explanation import column_shares

        return column_shares(self.samples.in_memory("columns()"), self.kernel, np.random.default_rng(self.seed))

    def prototypes(self, count: int = 5) -> Prototypes:
        """Return the rows of each sample with the most extreme witness values."""
        from mercer.twosample.explanation import prototypes

        pooled = self.samples.in_memory("prototypes()")
        chosen = np.arange(len(pooled))
        if len(pooled) > CANDIDATES:  # each witness value costs a pass over the data
            chosen = np.sort(np.random.default_rng(self.seed).choice(len(pooled), CANDIDATES, replace=False))
        return prototypes(pooled, self._witness_at(pooled, chosen), chosen, count)

    def _witness_at(self, pooled: Pooled, chosen: Ints) -> Floats:
        """Return the witness at some pooled rows."""
        values = Evaluation(self.kernel, pooled.rows)
        shape = (len(chosen), len(pooled))
        return tiles.product(values.rows(chosen), shape, pooled.weights()[:, None], False)[:, 0]

    def summary(self) -> str:
        """Return the result as text."""
        return readable("\n".join(self._lines()))

    def __str__(self) -> str:
        return self.summary()

    def _lines(self) -> list[str]:
        level, best = self.monte_carlo.level, self._leading()
        found = "differ" if self.pvalue <= level else "are not shown to differ"
        chance = self.pvalue_interval()
        drawn = f"{self.monte_carlo.drawn} {self.monte_carlo.resampling}"
        if self.monte_carlo.drawn < self.monte_carlo.planned:
            drawn += f" (stopped early, of {self.monte_carlo.planned})"
        lines = [
            f"Two samples of {self.samples.m} and {self.samples.n}: they {found} at level {level:g}, p = {self.pvalue:.4g}",
            f"  p-value      {drawn}; 95 % Monte Carlo interval {chance.low:.4g} to {chance.high:.4g}",
            f"  method       {self.method}",
            f"  kernel       {self._kernel()}" + f", smallest p-value of {len(self.details)}" * (len(self.details) > 1),
            f"  MMD^2        {best.unbiased:.6g} unbiased, {best.biased:.6g} biased",
            f"  effect size  {self.effect_size:.3g} of the variance of features, 95 % interval {self._effect()}",
            *([f"  ignored      constant columns: {', '.join(self.ignored)}"] if self.ignored else []),
            *([f'  it compares  {self._compared()}; Gaussian("median") sees all differences'] if self._compared() else []),
            *[f"  warning      {text}" for text in self.warnings],
            f"  power        {self.power.achieved:.2f} at these sizes; for {self.power.target:g}: {self._needed()}",
        ]
        return lines

    def _kernel(self) -> str:
        """Return the kernel as text; one with a length scale per column by its length scale in units of their spread."""
        if self.units is None or len(self.units) < 2:
            return str(self.kernel)
        lengths = self.kernel.get_params()["length_scale"]
        scale = next((one / unit for one, unit in zip(lengths, self.units, strict=True) if unit > 0), 1.0)
        return f"{type(self.kernel).__name__}, length scale {scale:.3g} times the spread of each column"

    def _effect(self) -> str:
        limits = self.effect_interval()
        return f"{limits.low:.3g} to {limits.high:.3g}"

    def _compared(self) -> str:
        """Return what the kernels compare, if that is less than the whole distribution."""
        orders = [detail.kernel.moment_order() for detail in self.details]
        highest = max((order for order in orders if order is not None), default=0)
        if None in orders:
            return ""
        return {0: "nothing", 1: "means only"}.get(highest, f"moments up to order {highest} only")

    def _needed(self) -> str:
        sizes = self.power.sample_sizes
        if sizes is None:
            compared = self._compared()
            return "no sample size, the estimated difference is zero" + (f" ({compared})" if compared else "")
        return f"about {sizes[0]} and {sizes[1]} rows"
