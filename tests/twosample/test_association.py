"""The effect size of `hsic_test`: its formula, its limits and the coverage of its interval."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import Gaussian, Linear, Spectrum, hsic_test
from mercer.twosample.association import of_features, of_grams
from mercer.twosample.hsic import centered


def test_linear_kernels_give_the_squared_correlation():
    rng = np.random.default_rng(0)
    x = rng.normal(size=4000)
    y = 0.6 * x + 0.8 * rng.normal(size=4000)
    found = hsic_test(x[:, None], y[:, None], Linear(), Linear(), n_permutations=9, random_state=0, method="exact")
    assert found.effect_size == pytest.approx(np.corrcoef(x, y)[0, 1] ** 2, abs=2e-3)


def test_equal_variables_have_effect_one():
    x = np.random.default_rng(1).normal(size=(50, 2))
    found = hsic_test(x, x, Gaussian(1.0), Gaussian(1.0), n_permutations=9, random_state=0)
    assert found.effect_size == pytest.approx(1.0, abs=1e-12)
    assert found.effect_interval().high == pytest.approx(1.0, abs=1e-12)


def test_the_error_is_that_of_a_jackknife():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(80, 1))
    y = x**2 + rng.normal(size=(80, 1))
    K, L = Gaussian(1.0)(x), Gaussian(1.0)(y)
    whole = of_grams(centered(K), centered(L))
    without = []
    for i in range(80):
        kept = np.delete(np.arange(80), i)
        without.append(of_grams(centered(K[np.ix_(kept, kept)]), centered(L[np.ix_(kept, kept)])).value)
    jackknife = np.sqrt(79 / 80 * np.square(without - np.mean(without)).sum())
    assert whole.error == pytest.approx(jackknife, rel=0.1)


def test_features_and_grams_agree():
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(600, 2)), rng.normal(size=(600, 3))
    y[:, :2] += x
    exact, light = of_grams(centered(x @ x.T), centered(y @ y.T)), of_features(x, y)
    assert light.value == pytest.approx(exact.value, abs=5e-3)
    assert light.error == pytest.approx(exact.error, rel=0.05)


def test_the_interval_covers_the_effect_in_the_population():
    def draw(rng, n):
        x = rng.normal(size=(n, 1))
        return x, np.sin(2.0 * x) + 0.5 * rng.normal(size=(n, 1))

    def test(seed, n):
        x, y = draw(np.random.default_rng(seed), n)
        return hsic_test(x, y, Gaussian(1.0), Gaussian(1.0), n_permutations=1, random_state=0)

    truth = test(4, 3000).effect_size
    hits = 0
    for seed in range(150):
        limits = test([5, seed], 120).effect_interval(0.9)
        hits += limits.low <= truth <= limits.high
    assert 0.82 <= hits / 150 <= 0.97


def test_a_constant_side_and_strings():
    x = ["ab", "abab", "cd", "cdc", "ab", "cd"]
    found = hsic_test(x, np.arange(6.0)[:, None], Spectrum(1), n_permutations=19, random_state=0)
    assert "effect size" in str(found)
    constant = hsic_test(np.ones((6, 1)), np.arange(6.0)[:, None], Linear(), Linear(), n_permutations=9, random_state=0)
    assert constant.effect_size == 0.0
