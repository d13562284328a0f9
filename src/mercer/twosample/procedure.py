"""One test, step by step: draw relabelings, compare, and put the result together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Floats
from mercer.errors import InputError, NumericalError, check_choice, check_whole, describe
from mercer.kernels.base import Kernel
from mercer.twosample.combine import Verdict, Yardstick, by_quantiles, by_soft_maximum, sequential, stopping_count
from mercer.twosample.forms import ROUNDING, Forms, QuadraticForms
from mercer.twosample.labels import Labels, Moments, Permuted, Swapped
from mercer.twosample.power import estimate_power
from mercer.twosample.result import KernelDetail, MMDTestResult, Monte
from mercer.twosample.samples import Samples
from mercer.twosample.units import InUnits

#: Ties within this, in units of the largest kernel value, count as >=.
TIES = 1e-12

#: Products of all kernels, pairs of rows and relabelings up to which every pair is looked at: about a minute.
EXACT_WORK = 2e13

#: Relabelings that only set the yardstick of an aggregated test with early stopping.
PILOT = 499

#: With fewer pairs there are too few swaps for small p-values: 2^15 of them for 16 pairs.
FEWEST_PAIRS = 16


@dataclass(frozen=True)
class Settings:
    """The checked options of a test."""

    n_permutations: int
    biased: bool
    aggregation: str
    resampling: str
    method: str
    level: float
    early_stopping: bool
    n_features: int


def run(
    pooled: Samples,
    matrices: InUnits,
    labels: Labels,
    chosen: Settings,
    rng: np.random.Generator,
    seed: int,
    route: str,
    forms: QuadraticForms | None = None,
) -> MMDTestResult:
    """The test on the matrices of some kernels under some relabelings; `forms` are made of their tiles if not given."""
    sample = Sample(Forms(matrices, labels, hold=chosen.early_stopping) if forms is None else forms, labels, chosen)
    verdict, drawn = sample.draw(rng)
    return _assemble(pooled, matrices, sample, verdict, drawn, seed, route)


class Sample:
    """The statistics of all kernels for the observed labels (column 0) and for the relabelings drawn so far.

    The observed labels go through the same float32 arithmetic as the others, so that equal statistics stay equal.
    """

    moments: Moments
    columns: Floats  # (q, 1 + B)
    tolerance: Floats  # (q,): float32 cannot tell statistics apart that are closer than this
    ties: float  # and float64 not those closer than this

    def __init__(self, forms: QuadraticForms, labels: Labels, chosen: Settings) -> None:
        self.forms, self.labels, self.chosen = forms, labels, chosen

    @property
    def null(self) -> Floats:
        """The relabeled statistics, (q, B)."""
        return self.columns[:, 1:]

    def draw(self, rng: np.random.Generator) -> tuple[Verdict, int]:
        """Draw relabelings until the p-value is known; return it and how many there were."""
        most = self.chosen.n_permutations
        if self.forms.count == 1:
            return self._until_certain(rng, most)
        if self.chosen.early_stopping:
            return self._several_until_certain(rng, most)
        self._start(self.labels.draw(rng, most))
        if self.chosen.aggregation == "quantile":
            return by_quantiles(self.columns, self.tolerance, self.chosen.level), most
        few = min(self.labels.m, self.labels.n)
        scale = np.sqrt(self.moments.squares) / (few * (few - 1))
        return by_soft_maximum(self.columns, self.tolerance, scale, self.chosen.level), most

    def _start(self, signs: NDArray[np.int8]) -> None:
        signs = np.concatenate([self.labels.identity(), signs])
        forms, self.moments = self.forms.first(signs)
        self.columns = self.labels.statistics(forms, signs, self.moments, self.chosen.biased)
        if not np.isfinite(self.columns).all():  # a NaN compares as smaller than everything: p would be 0
            bad = int(np.argmin(np.isfinite(self.columns).all(axis=1)))
            raise NumericalError(f"mmd_test: {self.forms.bundle.kernels[bad]} gives values here that are no numbers.")
        top = np.maximum(self.moments.peak, np.abs(self.moments.diag).max(axis=1))
        # float32 kernel values are rounded themselves, whatever is left of them after differences
        entries = self.moments.peak + (top if self.forms.bundle.dtype == np.float32 else 0.0)
        rounding = ROUNDING * float(np.finfo(np.float32).eps) * self.labels.size * self.labels.slope()
        self.tolerance = rounding * entries + TIES * top
        self.ties = TIES * float(top[0])

    def _compare(self, signs: NDArray[np.int8], values: Floats) -> NDArray[np.bool_]:
        """relabeled >= observed for one kernel; what float32 cannot tell apart is computed again in float64."""
        exceeds = values > self.columns[0, 0]
        close = np.flatnonzero(np.abs(values - self.columns[0, 0]) <= self.tolerance[0])
        if len(close):
            again = np.concatenate([self.labels.identity(), signs[close]])
            exact = self.labels.statistics(self.forms.more(again, exact=True), again, self.moments, self.chosen.biased)[0]
            exceeds[close] = exact[1:] >= exact[0] - self.ties
        return exceeds

    def _until_certain(self, rng: np.random.Generator, most: int) -> tuple[Verdict, int]:
        """One kernel: all relabelings at once, or portions of them until the decision cannot change."""
        early = self.chosen.early_stopping
        enough = stopping_count(self.chosen.level, most) if early else most + 1
        size = min(most, 2 * enough)
        signs = self.labels.draw(rng, size)
        self._start(signs)
        exceeds = self._compare(signs, self.null[0])
        while (found := sequential(exceeds, enough, most)) is None:
            signs = self.labels.draw(rng, min(size, most - len(exceeds)))
            values = self.labels.statistics(self.forms.more(signs), signs, self.moments, self.chosen.biased)
            exceeds = np.concatenate([exceeds, self._compare(signs, values[0])])
            self.columns = np.concatenate([self.columns, values], axis=1)
        pvalue, used = found
        self.columns = self.columns[:, : used + 1]
        one = np.array([pvalue])
        observed = float(self.labels.estimate(self.moments, self.chosen.biased)[0])
        return Verdict(pvalue, observed, self.null[0], one, one, self.chosen.level), used

    def _several_until_certain(self, rng: np.random.Generator, most: int) -> tuple[Verdict, int]:
        """Several kernels: a pilot sets the yardstick, then portions are drawn until the decision cannot change."""
        self._start(self.labels.draw(rng, min(most, PILOT)))
        pilot = by_quantiles(self.columns, self.tolerance, self.chosen.level)
        yardstick = Yardstick(self.null, self.tolerance)
        enough = stopping_count(self.chosen.level, most)
        exceeds, drawn = np.zeros(0, bool), np.zeros((self.forms.count, 0))
        while (found := sequential(exceeds, enough, most)) is None:
            signs = self.labels.draw(rng, min(2 * enough, most - len(exceeds)))
            values = self.labels.statistics(self.forms.more(signs), signs, self.moments, self.chosen.biased)
            exceeds = np.concatenate([exceeds, yardstick.exceeds(values, self.columns[:, :1])])
            drawn = np.concatenate([drawn, values], axis=1)
        pvalue, used = found
        null = -np.log(yardstick.measure(drawn[:, :used])[0])
        statistic = -float(np.log(yardstick.measure(self.columns[:, :1])[0][0]))
        return replace(pilot, pvalue=pvalue, statistic=statistic, null=null), used


def _assemble(
    pooled: Samples, matrices: InUnits, sample: Sample, verdict: Verdict, drawn: int, seed: int, route: str
) -> MMDTestResult:
    """Put a result together; the leading kernel is the one of smallest p-value, then of largest standardized MMD^2."""
    labels, chosen, kernels, units = sample.labels, sample.chosen, matrices.kernels, matrices.unit
    unbiased = labels.estimate(sample.moments, False)
    biased = labels.estimate(sample.moments, True)
    rows = zip(kernels, unbiased * units, biased * units, verdict.single, verdict.adjusted, strict=True)
    details = tuple(KernelDetail(k, float(u), float(b), float(p), float(a)) for k, u, b, p, a in rows)
    if len(kernels) == 1:
        verdict = replace(verdict, statistic=verdict.statistic * units[0], null=verdict.null * units[0])
    spread = sample.null.std(axis=1)
    standard = (sample.columns[:, 0] - sample.null.mean(axis=1)) / np.where(spread > 0, spread, np.inf)
    lead = int(np.lexsort((-standard, verdict.single))[0])
    witness = _witness(sample.moments.sums[lead], labels.m, labels.n)
    null = sample.null[lead] - (sample.null[lead].mean() if chosen.biased else 0.0)
    cutoff = min(chosen.level, max(verdict.cutoff, 1e-6))
    power = estimate_power(float(unbiased[lead]), witness, labels.m, (pooled.m, pooled.n), null, cutoff)
    power = replace(power, unit=float(units[lead]))
    monte = Monte(labels.words, drawn, chosen.n_permutations, chosen.level)
    return MMDTestResult(
        verdict.statistic, verdict.pvalue, kernels[lead], details, verdict.null, monte, _words(route, kernels, chosen),
        power, pooled, seed,
    )  # fmt: skip


def _witness(sums: Floats, m: int, n: int) -> Floats:  # (N, 2) -> (N,)
    """The witness at every row, leaving the row itself out of its own mean."""
    own = np.repeat([m - 1, m], [m, n])
    other = np.repeat([n, n - 1], [m, n])
    return sums[:, 0] / own - (sums[:, 1] - sums[:, 0]) / other


def _words(route: str, kernels: Sequence[Kernel], chosen: Settings) -> str:
    if len(kernels) == 1:
        return f"one kernel, {route}"
    rule = {"quantile": "smallest p-value", "softmax": "soft maximum"}[chosen.aggregation]
    return f"{len(kernels)} kernels with one joint level ({rule}), {route}"


def choose_labels(resampling: str, m: int, n: int) -> Labels:
    """Swaps where they are asked for, or possible and many enough to choose from; else permutations."""
    swap = resampling == "swaps" or (resampling == "auto" and m == n and n >= FEWEST_PAIRS)
    return Swapped(m, n) if swap and m == n else Permuted(m, n)


def choose_way(chosen: Settings, samples: Samples, count: int) -> str:
    """ "exact" or "features": as asked for, or by the work of `count` kernels."""
    if chosen.method != "auto":
        return chosen.method
    work = float(count) * (samples.m + samples.n) ** 2 * chosen.n_permutations
    return "exact" if work <= EXACT_WORK else "features"


def check(chosen: Settings, samples: Samples) -> None:
    """Refuse options that mean nothing, alone or for these samples."""
    check_whole("mmd_test", "n_permutations", chosen.n_permutations, 1)
    check_whole("mmd_test", "n_features", chosen.n_features, 1)
    if not (isinstance(chosen.level, (int, float)) and 0 < chosen.level < 1):
        raise InputError(f"mmd_test: level lies between 0 and 1; got {describe(chosen.level)}.")
    for name, known in _CHOICES.items():
        check_choice("mmd_test", name, getattr(chosen, name), known)
    if chosen.early_stopping and chosen.aggregation == "softmax":
        raise InputError('mmd_test: early_stopping goes with aggregation="quantile"; draw all relabelings, or change one.')
    if chosen.resampling == "swaps" and samples.m != samples.n:
        raise InputError(
            f"mmd_test: swaps exchange x_i and y_i, so both samples need the same size; got {samples.m} and {samples.n}. "
            'Take resampling="permutations".'
        )


_CHOICES = {
    "aggregation": ("quantile", "softmax"),
    "resampling": ("auto", "permutations", "swaps"),
    "method": ("auto", "exact", "features"),
}
