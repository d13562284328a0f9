"""Probability statements, tested as such: the level of every variant on data without a difference, seeds fixed.

The quick version runs always, with bounds at four standard errors; the full one (2000 draws, the issue's bounds) is slow.
"""

from __future__ import annotations

import numpy as np
import pytest

from mercer import Gaussian, Graph, Laplacian, Spectrum, VertexHistogram
from mercer.twosample import hsic_test, mmd_test

B = 199  # p <= 0.05 is exactly ten of two hundred


def _vectors(m, n, d=3):
    return lambda rng: (rng.normal(size=(m, d)), rng.normal(size=(n, d)))


def _coins(rng):
    return rng.integers(0, 2, (20, 2)).astype(float), rng.integers(0, 2, (25, 2)).astype(float)


def _rounded(rng):
    return np.round(rng.normal(size=(25, 2))), np.round(rng.normal(size=(25, 2)))


def _strings(rng):
    def word():
        return "".join(rng.choice(list("ACGT"), rng.integers(3, 12)))

    return [word() for _ in range(20)], [word() for _ in range(28)]


def _graphs(rng):
    def graph():
        size = int(rng.integers(2, 7))
        return Graph(size, [(0, 1)], node_labels=rng.choice(list("CNO"), size).tolist())

    return [graph() for _ in range(18)], [graph() for _ in range(18)]


def _sized(m, n):
    return lambda rng: (rng.gamma(2.0, size=(m, 2)), rng.gamma(2.0, size=(n, 2)))


#: name -> samples, options, whether the data are continuous, so that the level has to be reached as well
CASES = {
    "default, equal sizes": (_vectors(30, 30), {}, True),
    "default, unequal sizes": (_vectors(20, 45), {}, True),
    "default, by soft maximum": (_vectors(30, 30), {"aggregation": "softmax"}, True),
    "one kernel, swaps": (_vectors(30, 30), {"kernel": Gaussian(1.5)}, True),
    "one kernel, permutations": (_vectors(25, 25), {"kernel": Gaussian(1.5), "resampling": "permutations"}, True),
    "one kernel, very unequal": (_sized(6, 70), {"kernel": Laplacian(1.0)}, True),
    "biased, very unequal": (_sized(6, 70), {"kernel": Laplacian(1.0), "biased": True}, True),
    "early stopping": (_vectors(25, 35), {"kernel": Gaussian(1.5), "early_stopping": True}, True),
    "default, early stopping": (_vectors(25, 25), {"early_stopping": True}, True),
    "discrete": (_coins, {}, False),
    "discrete, one kernel": (_coins, {"kernel": Gaussian(1.0)}, False),
    "tied": (_rounded, {}, False),
    "strings": (_strings, {"kernel": Spectrum(2)}, False),
    "strings, default": (_strings, {}, False),
    "graphs": (_graphs, {"kernel": VertexHistogram()}, False),
    "blocks": (_vectors(520, 520, 2), {"method": "features", "n_features": 16}, True),
    "blocks, unequal, landmarks": (
        _vectors(530, 1100, 2), {"method": "features", "n_features": 16, "kernel": Gaussian(1.0)}, True,
    ),
}  # fmt: skip


def level(case: str, draws: int) -> float:
    """The share of null draws with p <= 0.05."""
    make, options, _ = CASES[case]
    hits = 0
    for seed in range(draws):
        rng = np.random.default_rng([seed, len(case)])
        hits += mmd_test(*make(rng), n_permutations=B, random_state=rng, **options).pvalue <= 0.05
    return hits / draws


@pytest.mark.parametrize("case", CASES)
def test_level(case):
    draws = 40 if "blocks" in case else 150
    assert level(case, draws) <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / draws)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_level_over_2000_draws(case):
    share = level(case, 2000)
    print(f"\nlevel of {case}: {share:.4f}")
    assert share <= 0.065
    assert share >= 0.035 or not CASES[case][2]


def _independent(draws: int, options: dict) -> float:
    hits = 0
    for seed in range(draws):
        rng = np.random.default_rng([seed, 7])
        X, Y = rng.normal(size=(25, 2)), rng.exponential(size=(25, 1))
        hits += hsic_test(X, Y, n_permutations=B, random_state=rng, **options).pvalue <= 0.05
    return hits / draws


def test_level_of_hsic():
    assert _independent(150, {}) <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / 150)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [{}, {"kernel": Gaussian(1.0), "kernel_y": Laplacian(1.0)}, {"method": "features", "n_features": 10}]
)
def test_level_of_hsic_over_2000_draws(options):
    share = _independent(2000, options)
    print(f"\nlevel of hsic {options}: {share:.4f}")
    assert 0.035 <= share <= 0.065


def test_pvalues_of_continuous_data_are_uniform():
    values = []
    for seed in range(300):
        rng = np.random.default_rng([seed, 5])
        X, Y = rng.normal(size=(20, 1)), rng.normal(size=(20, 1))
        values.append(mmd_test(X, Y, Gaussian(1.0), n_permutations=99, random_state=rng).pvalue)
    from scipy.stats import kstest

    assert kstest(values, "uniform").pvalue > 1e-3
