"""The permutation test of MMD^2: draw relabelings, compare, and assemble the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Floats
from mercer.errors import InputError, NumericalError, check_choice, check_whole, describe
from mercer.inputs import Rows
from mercer.kernels.base import Kernel
from mercer.twosample import feature_blocks
from mercer.twosample.default_kernels import Scales, default_scales, object_kernels, scale_kernels
from mercer.twosample.pvalues import JointPvalue, PilotMeasure, by_quantiles, by_soft_maximum, sequential, stopping_count
from mercer.twosample.quadratic_forms import ROUNDING, Forms, ObservedSums, Permutations, QuadraticForms, Relabelings, Swaps
from mercer.twosample.result import KernelDetail, MMDTestResult, MonteCarlo, estimate_power
from mercer.twosample.routes import all_pairs_of_mmd
from mercer.twosample.samples import Pooled, Samples
from mercer.twosample.scaled_grams import ScaledGrams, StoredGrams, refuse_underflow

#: Ties within this, in units of the largest kernel value, count as >=.
TIES = 1e-12

#: Relabelings of the pilot set of an aggregated test with early stopping.
PILOT = 499

#: With fewer pairs there are too few swaps for small p-values (2^15 for 16 pairs).
FEWEST_PAIRS = 16


@dataclass(frozen=True)
class MMDOptions:
    """Options of `mmd_test`."""

    n_permutations: int
    biased: bool
    aggregation: str
    resampling: str
    method: str
    level: float
    early_stopping: bool
    n_features: int
    scale: bool
    blocks: int | str | None = None


def relabeling_test(
    pooled: Samples,
    matrices: ScaledGrams,
    labels: Relabelings,
    chosen: MMDOptions,
    rng: np.random.Generator,
    seed: int,
    route: str,
    forms: QuadraticForms | None = None,
    row_diag: Floats | None = None,
) -> MMDTestResult:
    """Return the test result for Gram matrices under relabelings; `forms` defaults to forms over tiles of the matrices.

    `row_diag` (q,) is the mean of k(x, x) over rows, if the rows of the matrices are blocks.
    """
    sample = RelabeledStatistics(
        Forms(matrices, labels, hold=chosen.early_stopping) if forms is None else forms, labels, chosen
    )
    joint, drawn = sample.draw(rng)
    return _assemble(pooled, matrices, sample, joint, drawn, seed, route, row_diag)


class RelabeledStatistics:
    """Statistics of all kernels for the observed labels (column 0) and for the relabelings drawn until now.

    The observed labels go through the same float32 arithmetic as the others, which keeps equal statistics equal.
    """

    moments: ObservedSums
    columns: Floats  # (q, 1 + B)
    tolerance: Floats  # (q,): statistics closer than this are equal in float32
    ties: float  # statistics closer than this are equal in float64

    def __init__(self, forms: QuadraticForms, labels: Relabelings, chosen: MMDOptions) -> None:
        self.forms, self.labels, self.chosen = forms, labels, chosen

    @property
    def null(self) -> Floats:
        """Statistics of the relabelings, (q, B)."""
        return self.columns[:, 1:]

    def draw(self, rng: np.random.Generator) -> tuple[JointPvalue, int]:
        """Draw relabelings until the p-value is known; return it and the number of draws."""
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
        if not np.isfinite(self.columns).all():  # NaN compares as smaller than every number, and p would be 0
            bad = int(np.argmin(np.isfinite(self.columns).all(axis=1)))
            raise NumericalError(
                f"mmd_test: {self.forms.bundle.kernels[bad]} gives NaN or infinite statistics on these "
                "samples. Scale the data, or use another kernel."
            )
        top = np.maximum(self.moments.peak, np.abs(self.moments.diag).max(axis=1))
        # float32 kernel values carry a rounding error of their own, however small their differences are
        entries = self.moments.peak + (top if self.forms.bundle.dtype == np.float32 else 0.0)
        rounding = ROUNDING * float(np.finfo(np.float32).eps) * self.labels.size * self.labels.slope()
        self.tolerance = rounding * entries + TIES * top
        self.ties = TIES * float(top[0])

    def _compare(self, signs: NDArray[np.int8], values: Floats) -> NDArray[np.bool_]:
        """Return relabeled >= observed for one kernel; values that are equal in float32 are recomputed in float64."""
        exceeds = values > self.columns[0, 0]
        close = np.flatnonzero(np.abs(values - self.columns[0, 0]) <= self.tolerance[0])
        if len(close):
            again = np.concatenate([self.labels.identity(), signs[close]])
            exact = self.labels.statistics(self.forms.more(again, exact=True), again, self.moments, self.chosen.biased)[0]
            exceeds[close] = exact[1:] >= exact[0] - self.ties
        return exceeds

    def _until_certain(self, rng: np.random.Generator, most: int) -> tuple[JointPvalue, int]:
        """P-value of one kernel: all relabelings at once, or portions until the decision cannot change."""
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
        return JointPvalue(pvalue, observed, self.null[0], one, one, self.chosen.level), used

    def _several_until_certain(self, rng: np.random.Generator, most: int) -> tuple[JointPvalue, int]:
        """Joint p-value of several kernels: a pilot set, then portions until the decision cannot change."""
        self._start(self.labels.draw(rng, min(most, PILOT)))
        pilot = by_quantiles(self.columns, self.tolerance, self.chosen.level)
        measure = PilotMeasure(self.null, self.tolerance)
        enough = stopping_count(self.chosen.level, most)
        exceeds, drawn = np.zeros(0, bool), np.zeros((self.forms.count, 0))
        while (found := sequential(exceeds, enough, most)) is None:
            signs = self.labels.draw(rng, min(2 * enough, most - len(exceeds)))
            values = self.labels.statistics(self.forms.more(signs), signs, self.moments, self.chosen.biased)
            exceeds = np.concatenate([exceeds, measure.exceeds(values, self.columns[:, :1])])
            drawn = np.concatenate([drawn, values], axis=1)
        pvalue, used = found
        null = -np.log(measure.measure(drawn[:, :used])[0])
        statistic = -float(np.log(measure.measure(self.columns[:, :1])[0][0]))
        return replace(pilot, pvalue=pvalue, statistic=statistic, null=null), used


def _assemble(
    pooled: Samples,
    matrices: ScaledGrams,
    sample: RelabeledStatistics,
    joint: JointPvalue,
    drawn: int,
    seed: int,
    route: str,
    row_diag: Floats | None,
) -> MMDTestResult:
    """Assemble the result; the leading kernel has the smallest p-value, then the largest standardized MMD^2."""
    labels, chosen, kernels, units = sample.labels, sample.chosen, matrices.kernels, matrices.unit
    unbiased = labels.estimate(sample.moments, False)
    biased = labels.estimate(sample.moments, True)
    rows = zip(kernels, unbiased * units, biased * units, joint.single, joint.adjusted, strict=True)
    details = tuple(KernelDetail(k, float(u), float(b), float(p), float(a)) for k, u, b, p, a in rows)
    if len(kernels) == 1:
        joint = replace(joint, statistic=joint.statistic * units[0], null=joint.null * units[0])
    spread = sample.null.std(axis=1)
    standard = (sample.columns[:, 0] - sample.null.mean(axis=1)) / np.where(spread > 0, spread, np.inf)
    lead = int(np.lexsort((-standard, joint.single))[0])
    witness = _witness(sample.moments.sums[lead], labels.m, labels.n)
    null = sample.null[lead] - (sample.null[lead].mean() if chosen.biased else 0.0)
    cutoff = min(chosen.level, max(joint.cutoff, 1e-6))
    power = estimate_power(float(unbiased[lead]), witness, labels.m, (pooled.m, pooled.n), null, cutoff)
    power = replace(power, unit=float(units[lead]))
    size = labels.m + labels.n
    diag = float(sample.moments.diag[lead].mean() if row_diag is None else row_diag[lead])
    variance = diag - float(sample.moments.sums[lead, :, 1].sum()) / (size * (size - 1))
    monte = MonteCarlo(labels.name, drawn, chosen.n_permutations, chosen.level)
    return MMDTestResult(
        joint.statistic, joint.pvalue, kernels[lead], details, joint.null, monte, _method_text(route, kernels, chosen),
        power, pooled, seed, variance * float(units[lead]),
    )  # fmt: skip


def _witness(sums: Floats, m: int, n: int) -> Floats:  # (N, 2) -> (N,)
    """Witness at every row, with the row itself left out of its own mean."""
    own = np.repeat([m - 1, m], [m, n])
    other = np.repeat([n, n - 1], [m, n])
    return sums[:, 0] / own - (sums[:, 1] - sums[:, 0]) / other


def _method_text(route: str, kernels: Sequence[Kernel], chosen: MMDOptions) -> str:
    if len(kernels) == 1:
        return f"one kernel, {route}"
    rule = {"quantile": "smallest p-value", "softmax": "soft maximum"}[chosen.aggregation]
    return f"{len(kernels)} kernels with one joint level ({rule}), {route}"


def with_units(result: MMDTestResult, scales: Scales | None, samples: Pooled) -> MMDTestResult:
    """Return a result with the units of columns of the default kernels, and the names of ignored columns."""
    if scales is None or scales.units is None:
        return result
    names = samples.column_names() or range(len(scales.units))
    ignored = tuple(str(name) for name, unit in zip(names, scales.units, strict=True) if unit == 0)
    return replace(result, units=scales.units, ignored=ignored)


def choose_labels(resampling: str, m: int, n: int) -> Relabelings:
    """Return swaps if requested, or if the sizes are equal and there are enough pairs; otherwise permutations."""
    swap = resampling == "swaps" or (resampling == "auto" and m == n and n >= FEWEST_PAIRS)
    return Swaps(m, n) if swap and m == n else Permutations(m, n)


def choose_method(chosen: MMDOptions, samples: Samples, count: int) -> str:
    """Return "exact" or "features": as requested, or by the work of `count` kernels."""
    if chosen.method != "auto":
        return chosen.method
    return "exact" if all_pairs_of_mmd(samples.m + samples.n, count, chosen.n_permutations) else "features"


def check(chosen: MMDOptions, samples: Samples) -> None:
    """Raise if an option is invalid, alone or for these samples."""
    check_whole("mmd_test", "n_permutations", chosen.n_permutations, 1)
    check_whole("mmd_test", "n_features", chosen.n_features, 1)
    if not (isinstance(chosen.level, (int, float)) and 0 < chosen.level < 1):
        raise InputError(f"mmd_test: level must lie strictly between 0 and 1; got {describe(chosen.level)}.")
    check_choice("mmd_test", "aggregation", chosen.aggregation, ("quantile", "softmax"))
    check_choice("mmd_test", "resampling", chosen.resampling, ("auto", "permutations", "swaps"))
    check_choice("mmd_test", "method", chosen.method, ("auto", "exact", "features"))
    if chosen.early_stopping and chosen.aggregation == "softmax":
        raise InputError('mmd_test: early_stopping needs aggregation="quantile". Set early_stopping=False or change it.')
    if chosen.resampling == "swaps" and samples.m != samples.n:
        raise InputError(
            f"mmd_test: swaps exchange x_i and y_i, so both samples need the same size; got {samples.m} and {samples.n}. "
            'Use resampling="permutations".'
        )


def feature_test(
    pooled: Pooled,
    kernels: tuple[Kernel, ...] | None,
    chosen: MMDOptions,
    rng: np.random.Generator,
    seed: int,
    layout: feature_blocks.BlockLayout | None = None,
) -> MMDTestResult:
    """Return the test on mean features of blocks of rows, random ones by default; None stands for the default kernels."""
    layout = feature_blocks.lay_out(pooled.m, pooled.n, rng) if layout is None else layout
    scales = default_scales(pooled, rng, chosen.scale) if kernels is None else None
    if scales is not None and pooled.kind != "sparse":
        scales = feature_blocks.octaves(scales)
        kernels = scales.kernels()
        arrays = feature_blocks.fourier_grams(pooled.rows.vectors(), scales, layout, chosen.n_features, rng)
        how = f"{chosen.n_features} random frequencies per family"
    else:
        if kernels is None:
            kernels = object_kernels(pooled.rows.data) if scales is None else scale_kernels(scales, pooled.kind)
        arrays = [feature_blocks.gram_of_kernel(k, pooled.rows, layout, chosen.n_features, rng) for k in kernels]
        how = f"explicit features or {chosen.n_features} landmarks"
    found = compare_blocks(pooled, pooled.rows, StoredGrams(kernels, arrays), layout, chosen, rng, seed, how)
    return with_units(found, scales, pooled)


def compare_blocks(
    samples: Samples,
    rows: Rows,
    grams: StoredGrams,
    layout: feature_blocks.BlockLayout,
    chosen: MMDOptions,
    rng: np.random.Generator,
    seed: int,
    how: str,
) -> MMDTestResult:
    """Return the test on Gram matrices of block means; `rows` are some rows of the data."""
    matrices = ScaledGrams(grams)
    refuse_underflow(grams.kernels, matrices.diag(), rows)
    labels = choose_labels(chosen.resampling, layout.m, layout.n)
    left = samples.m + samples.n - layout.index.size
    left_out = "" if left == 0 else f", {left} rows left out"
    route = f"{layout.m} + {layout.n} blocks of {layout.size} rows{left_out}, {how}"
    some = rows.take(np.linspace(0, len(rows) - 1, min(len(rows), 1000)).astype(int))
    diag = np.array([np.mean(kernel.diag(some)) for kernel in grams.kernels]) / matrices.unit
    result = relabeling_test(samples, matrices, labels, chosen, rng, seed, route, row_diag=diag)
    monte = replace(result.monte_carlo, resampling=f"{labels.name} of blocks")
    return replace(result, monte_carlo=monte)
