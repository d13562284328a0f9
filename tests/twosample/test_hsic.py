"""Independence: HSIC against its published formula and a naive permutation test."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import Gaussian, Laplacian, Linear, Spectrum
from mercer.twosample import hsic_test
from mercer.twosample.hsic import centered, draw_orders


def _unbiased(K, L):
    """Song et al. (2012), as printed."""
    K, L = K.copy(), L.copy()
    np.fill_diagonal(K, 0.0)
    np.fill_diagonal(L, 0.0)
    n, one = len(K), np.ones(len(K))
    middle = (one @ K @ one) * (one @ L @ one) / ((n - 1) * (n - 2))
    return (np.trace(K @ L) + middle - 2.0 / (n - 2) * (one @ K @ L @ one)) / (n * (n - 3))


def _xy(n=30, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    return x, x[:, :1] ** 2 + 0.5 * rng.normal(size=(n, 1))


def test_the_statistic_is_the_unbiased_hsic():
    X, Y = _xy()
    found = hsic_test(X, Y, Gaussian(1.0), Laplacian(2.0), n_permutations=9)
    assert abs(found.statistic - _unbiased(Gaussian(1.0)(X), Laplacian(2.0)(Y))) < 1e-14


def test_equal_to_a_naive_permutation_test():
    X, Y = _xy(25, 3)
    found = hsic_test(X, Y, Gaussian(1.0), Gaussian(1.0), n_permutations=199, random_state=4)
    seed = int(np.random.default_rng(4).integers(2**63))
    K, L = Gaussian(1.0)(X), Gaussian(1.0)(Y)
    null = [_unbiased(K, L[np.ix_(order, order)]) for order in draw_orders(seed, 25, 199)]
    assert np.abs(found.null_distribution - null[1:]).max() < 1e-13
    assert found.pvalue == np.mean(np.array(null) >= null[0] - 1e-12)


def test_centering_makes_rows_sum_to_zero():
    K = centered(Gaussian(1.0)(_xy()[0]))
    assert np.abs(K.sum(axis=1)).max() < 1e-12 and np.all(np.diagonal(K) == 0)


def test_dependence_is_found_where_correlation_is_blind():
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 150)
    x, y = np.cos(angle)[:, None], np.sin(angle)[:, None]
    assert hsic_test(x, y, random_state=0).pvalue <= 0.01
    assert hsic_test(x, rng.permutation(y), random_state=0).pvalue > 0.05
    linear = hsic_test(x, y, Linear(), Linear(), random_state=0)
    assert linear.pvalue > 0.05


def test_different_types_on_either_side():
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("AC" if i % 2 else "GT"), 8)) for i in range(60)]
    label = np.arange(60)[:, None] % 2 * 1.0
    found = hsic_test(words, label, Spectrum(1).normalized(), Gaussian(1.0), random_state=0)
    assert found.pvalue == 0.001
    both = hsic_test(words, label, [Spectrum(1), Spectrum(2)], Gaussian(1.0), random_state=0)
    assert len(both.details) == 2 and both.kernel in (Spectrum(1), Spectrum(2)) and both.kernel_y == Gaussian(1.0)


def test_landmarks_approach_the_exact_test():
    X, Y = _xy(400, 1)
    exact = hsic_test(X, Y, random_state=0, n_permutations=199)
    quick = hsic_test(X, Y, random_state=0, n_permutations=199, method="features")
    assert exact.pvalue == quick.pvalue == 1 / 200
    assert "64 landmarks" in quick.method and "one joint level" in str(exact)
    K, L = Gaussian(1.0)(X), Gaussian(1.0)(Y)
    H = np.eye(400) - 1 / 400
    every = hsic_test(X, Y, Gaussian(1.0), Gaussian(1.0), n_permutations=9, method="features", n_features=400)
    assert every.hsic == pytest.approx(np.trace(K @ H @ L @ H) / 400**2, rel=1e-4)


def test_constant_data_are_independent_of_everything():
    X, _ = _xy()
    assert hsic_test(X, np.ones((30, 1)), Gaussian(1.0), Gaussian(1.0), n_permutations=99).pvalue == 1.0
