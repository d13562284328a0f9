"""What a two-sample test says: numbers first, then the reasons on request."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.arrays import Floats, Ints
from mercer.kernels.base import Kernel
from mercer.kernels.evaluation import Evaluation
from mercer.numeric import tiles
from mercer.twosample.power import PowerEstimate, interval
from mercer.twosample.samples import Pooled, Samples

if TYPE_CHECKING:
    from mercer.twosample.column_shares import ColumnShares
    from mercer.twosample.why import Explanation, Prototypes


#: Prototypes are chosen among at most this many rows, drawn at random.
CANDIDATES = 5000


@dataclass(frozen=True)
class KernelDetail:
    """One kernel of a test: MMD^2 both ways, its p-value alone, and corrected for the number of kernels."""

    kernel: Kernel
    unbiased: float
    biased: float
    pvalue: float
    adjusted_pvalue: float


@dataclass(frozen=True)
class Interval:
    """A confidence interval, as scipy.stats gives them."""

    low: float
    high: float


@dataclass(frozen=True)
class Monte:
    """How the null distribution was sampled."""

    resampling: str  # "permutations", "swaps" or "permutations of blocks"
    drawn: int  # relabelings used
    planned: int  # relabelings asked for
    level: float


@dataclass(frozen=True, eq=False)
class MMDTestResult:
    """The result of `mercer.mmd_test`; unpacks into statistic and pvalue.

    `statistic` is MMD^2 of the kernel, or the aggregated statistic of several; `details` lists each kernel, `kernel` is
    the one that speaks most clearly, and the witness, the power and the explanation are its.
    """

    statistic: float
    pvalue: float
    kernel: Kernel
    details: tuple[KernelDetail, ...]
    null_distribution: Floats = field(repr=False)
    monte_carlo: Monte
    method: str  # which route, in words
    power: PowerEstimate = field(repr=False)
    _pooled: Samples = field(repr=False)
    _seed: int = field(repr=False)

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
        """The biased MMD^2 of `kernel`: the squared distance of the two mean feature vectors, never negative."""
        return self._leading().biased

    def _leading(self) -> KernelDetail:
        return next(detail for detail in self.details if detail.kernel == self.kernel)

    def witness(self, Z: Any) -> Floats:  # (r, d) -> (r,)
        """mean_i k(x_i, z) - mean_j k(y_j, z): positive where X has more mass, negative where Y has."""
        return self._pooled.witness(self.kernel, Z)

    def confidence_interval(self, confidence_level: float = 0.95) -> Interval:
        """A normal-approximation interval for the population's MMD^2 under `kernel`; good when the samples differ."""
        return Interval(*interval(self.power, confidence_level))

    def pvalue_interval(self, confidence_level: float = 0.95) -> Interval:
        """Clopper and Pearson's interval for the p-value that infinitely many relabelings would give."""
        from scipy.stats import beta

        drawn, tail = self.monte_carlo.drawn, (1.0 - confidence_level) / 2.0
        hits = min(drawn, max(0, round(self.pvalue * (drawn + 1)) - 1))
        low = beta.ppf(tail, hits, drawn - hits + 1) if hits else 0.0
        high = beta.ppf(1.0 - tail, hits + 1, drawn - hits) if hits < drawn else 1.0
        return Interval(float(low), float(high))

    def explain(self, n_permutations: int = 999) -> Explanation:
        """Which columns, substrings or examples carry the difference, with p-values corrected for their number."""
        from mercer.twosample.why import explain

        return explain(self._pooled.at_hand("explain()"), self.kernel, n_permutations, np.random.default_rng(self._seed))

    def columns(self) -> ColumnShares:
        """MMD^2 shared out among the columns by exact Shapley values; for kernels that are sums of products over columns."""
        from mercer.twosample.column_shares import column_shares

        return column_shares(self._pooled.at_hand("columns()"), self.kernel, np.random.default_rng(self._seed))

    def prototypes(self, count: int = 5) -> Prototypes:
        """The rows of each sample at the extremes of the witness: what one side has and the other lacks."""
        from mercer.twosample.why import prototypes

        pooled = self._pooled.at_hand("prototypes()")
        chosen = np.arange(len(pooled))
        if len(pooled) > CANDIDATES:  # the witness costs a pass over the data for every row it is asked at
            chosen = np.sort(np.random.default_rng(self._seed).choice(len(pooled), CANDIDATES, replace=False))
        return prototypes(pooled, self._witness_at(pooled, chosen), chosen, count)

    def _witness_at(self, pooled: Pooled, chosen: Ints) -> Floats:
        """The witness at some pooled rows."""
        values = Evaluation(self.kernel, pooled.rows)
        shape = (len(chosen), len(pooled))
        return tiles.product(values.rows(chosen), shape, pooled.weights()[:, None], False)[:, 0]

    def summary(self) -> str:
        """The result in words."""
        return "\n".join(self._lines())

    def __str__(self) -> str:
        return self.summary()

    def _lines(self) -> list[str]:
        level, best = self.monte_carlo.level, self._leading()
        word = "differ" if self.pvalue <= level else "are not shown to differ"
        chance = self.pvalue_interval()
        drawn = f"{self.monte_carlo.drawn} {self.monte_carlo.resampling}"
        if self.monte_carlo.drawn < self.monte_carlo.planned:
            drawn += f" (stopped early, of {self.monte_carlo.planned})"
        lines = [
            f"Two samples of {self._pooled.m} and {self._pooled.n}: they {word} at level {level:g}, p = {self.pvalue:.4g}",
            f"  p-value      {drawn}; 95 % Monte Carlo interval {chance.low:.4g} to {chance.high:.4g}",
            f"  method       {self.method}",
            f"  kernel       {self.kernel}" + (f", the clearest of {len(self.details)}" if len(self.details) > 1 else ""),
            f"  MMD^2        {best.unbiased:.6g} unbiased, {best.biased:.6g} biased",
            *([f'  it compares  {self._seen()}; Gaussian("median") sees every difference'] if self._seen() else []),
            f"  power        {self.power.achieved:.2f} at these sizes; for {self.power.target:g}: {self._needed()}",
        ]
        return lines

    def _seen(self) -> str:
        """What the kernel compares, where that is less than the whole distribution."""
        orders = [detail.kernel._moments() for detail in self.details]
        highest = max((order for order in orders if order is not None), default=0)
        if None in orders:
            return ""
        return {0: "nothing", 1: "means only"}.get(highest, f"moments up to order {highest} only")

    def _needed(self) -> str:
        sizes = self.power.sample_sizes
        if sizes is None:
            seen = self._seen()
            return "no sample size, the estimated difference is zero" + (f" ({seen})" if seen else "")
        return f"about {sizes[0]} and {sizes[1]} rows"
