"""Several kernels, one level; early stopping: the rules against their definitions."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import Gaussian
from mercer.twosample import mmd_test
from mercer.twosample.pvalues import PilotMeasure, by_quantiles, by_soft_maximum, ranks, sequential, stopping_count


def _columns(q=4, count=50, seed=0):
    return np.random.default_rng(seed).gamma(1.0, size=(q, count))


def _naive_ranks(columns, tolerance):
    return np.array([[np.mean(row >= value - t) for value in row] for row, t in zip(columns, tolerance, strict=True)])


def test_ranks_count_what_is_at_least_as_large():
    columns = np.round(_columns(), 1)  # with ties
    assert np.allclose(ranks(columns, np.full(4, 1e-9)), _naive_ranks(columns, np.full(4, 1e-9)))


def test_the_smallest_pvalue_rule_is_its_definition():
    for seed in range(20):
        columns = _columns(seed=seed)
        p = _naive_ranks(columns, np.zeros(4)).min(axis=0)
        z = ((columns - columns.mean(axis=1, keepdims=True)) / columns.std(axis=1, keepdims=True)).max(axis=0)
        expected = np.mean([(p[b], -z[b]) <= (p[0], -z[0]) for b in range(columns.shape[1])])
        assert by_quantiles(columns, np.zeros(4), 0.05).pvalue == pytest.approx(expected)


def test_the_soft_maximum_rule_is_its_definition():
    columns, scale = _columns(), np.array([0.5, 1.0, 2.0, 3.0])
    fused = np.log(np.exp(columns / scale[:, None]).mean(axis=0))
    verdict = by_soft_maximum(columns, np.zeros(4), scale, 0.05)
    assert verdict.statistic == pytest.approx(fused[0])
    assert verdict.pvalue == pytest.approx(np.mean(fused >= fused[0]))


@pytest.mark.parametrize("rule", ["quantile", "softmax"])
def test_every_column_in_turn_as_the_observed_one_gives_valid_pvalues(rule):
    """Exchangeability, exhaustively: over all choices of the observed column, P(p <= a) <= a for every a."""
    columns = np.round(_columns(3, 40), 1)
    found = []
    for b in range(40):
        turned = np.concatenate([columns[:, b : b + 1], np.delete(columns, b, axis=1)], axis=1)
        if rule == "quantile":
            found.append(by_quantiles(turned, np.full(3, 1e-9), 0.05).pvalue)
        else:
            found.append(by_soft_maximum(turned, np.full(3, 1e-9), np.ones(3), 0.05).pvalue)
    for a in np.arange(1, 41) / 40:
        assert np.mean(np.array(found) <= a + 1e-12) <= a + 1e-12


def test_one_kernel_twice_over_costs_nothing():
    """A kernel and its double have the same ranks, so the joint p-value is that of either."""
    row = _columns(1, 200)
    alone = by_quantiles(row, np.zeros(1), 0.05)
    both = by_quantiles(np.concatenate([row, 2.0 * row]), np.zeros(2), 0.05)
    assert alone.pvalue == both.pvalue == alone.single[0]


def test_adjusted_pvalues_are_never_below_single_ones():
    verdict = by_quantiles(_columns(6, 100), np.zeros(6), 0.05)
    assert (verdict.adjusted >= verdict.single).all()
    assert verdict.adjusted.min() >= verdict.pvalue - 1e-12


def test_sequential_pvalues_are_besag_and_clifford_s():
    hits = np.array([0, 1, 0, 1, 1, 0, 0], dtype=bool)
    assert sequential(hits, 2, 20) == (2 / 4, 4)
    assert sequential(hits, 3, 20) == (3 / 5, 5)
    assert sequential(hits, 4, 20) is None
    assert sequential(hits, 4, 7) == (4 / 8, 7)


@pytest.mark.parametrize("most", [99, 100, 999, 1000, 1999])
@pytest.mark.parametrize("level", [0.01, 0.05, 0.1])
def test_stopping_is_only_for_certain_decisions(most, level):
    enough = stopping_count(level, most)
    assert enough / most > level  # the largest l there can be
    assert (1 + enough) / (1 + most) > level  # what the full test would say at best


def test_early_stopping_saves_draws_and_decides_the_same():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(60, 2)), rng.normal(size=(70, 2))
    full = mmd_test(X, Y, Gaussian(1.0), n_permutations=1999, random_state=1)
    early = mmd_test(X, Y, Gaussian(1.0), n_permutations=1999, random_state=1, early_stopping=True)
    assert early.monte_carlo.drawn < 1000 < full.monte_carlo.drawn
    assert "stopped early, of 1999" in str(early)
    assert early.pvalue > 0.05 and full.pvalue > 0.05
    assert abs(early.pvalue - full.pvalue) < 0.1
    far = mmd_test(X, Y + 1.0, Gaussian(1.0), n_permutations=1999, random_state=1, early_stopping=True)
    assert far.monte_carlo.drawn == 1999 and far.pvalue == 1 / 2000


def test_early_stopping_of_an_aggregated_test():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(60, 2)), rng.normal(size=(70, 2))
    full = mmd_test(X, Y, n_permutations=999, random_state=1)
    early = mmd_test(X, Y, n_permutations=999, random_state=1, early_stopping=True)
    assert early.monte_carlo.drawn < 999 and early.pvalue > 0.05 and abs(early.pvalue - full.pvalue) < 0.15
    assert len(early.null_distribution) == early.monte_carlo.drawn
    far = mmd_test(X, Y + 1.0, n_permutations=999, random_state=1, early_stopping=True)
    assert far.monte_carlo.drawn == 999 and far.pvalue == 1 / 1000


def test_the_measure_is_its_definition():
    pilot, columns = _columns(3, 40, 1), _columns(3, 30, 2)
    measure = PilotMeasure(pilot, np.zeros(3))
    least, largest = measure.measure(columns)
    for b in range(30):
        shares = [(1 + np.sum(pilot[k] >= columns[k, b])) / 41 for k in range(3)]
        assert least[b] == pytest.approx(min(shares))
        assert largest[b] == pytest.approx(((columns[:, b] - pilot.mean(axis=1)) / pilot.std(axis=1)).max())
    assert measure.exceeds(columns[:, :1], columns[:, :1]).tolist() == [True]


def test_the_summary_and_the_intervals():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(60, 2)), rng.normal(0.8, 1.0, size=(60, 2))
    result = mmd_test(X, Y, n_permutations=499, random_state=0)
    text = str(result)
    for words in ("60 and 60", "differ at level 0.05", "20 kernels with one joint level", "MMD^2", "power"):
        assert words in text
    low, high = result.pvalue_interval().low, result.pvalue_interval().high
    assert low <= result.pvalue <= high
    confidence = result.confidence_interval(0.9)
    assert confidence.low < result.mmd2 < confidence.high
    assert result.kernel in result.kernels and len(result.details) == 20
    assert result.mmd2_biased > 0
    near = mmd_test(X, X + 1e-9, Gaussian(1.0), n_permutations=99, random_state=0)
    assert near.power.sample_sizes is None and "no sample size" in str(near)


def test_the_interval_covers():
    """The normal interval for MMD^2 on samples that differ: near its nominal coverage over 200 draws."""
    # two normals in one dimension and a Gaussian kernel: E k has a closed form
    scale, shift = 1.0, 1.0
    within = 1 / np.sqrt(1 + 2 / scale**2)
    truth = 2 * within - 2 * within * np.exp(-(shift**2) / (2 * (scale**2 + 2)))
    hits = 0
    for seed in range(200):
        rng = np.random.default_rng([seed, 9])
        X, Y = rng.normal(size=(100, 1)), rng.normal(shift, 1.0, size=(100, 1))
        found = mmd_test(X, Y, Gaussian(scale), n_permutations=49, random_state=rng).confidence_interval(0.9)
        hits += found.low <= truth <= found.high
    assert 0.83 <= hits / 200 <= 0.97


def test_the_witness_is_the_difference_of_means():
    rng = np.random.default_rng(0)
    X, Y, Z = rng.normal(size=(30, 2)), rng.normal(1.0, 1.0, size=(40, 2)), rng.normal(size=(25, 2))
    result = mmd_test(X, Y, Gaussian(1.0), n_permutations=9)
    expected = Gaussian(1.0)(Z, X).mean(axis=1) - Gaussian(1.0)(Z, Y).mean(axis=1)
    assert np.abs(result.witness(Z) - expected).max() < 1e-14
    assert result.witness(X).mean() - result.witness(Y).mean() == pytest.approx(result.mmd2_biased)
