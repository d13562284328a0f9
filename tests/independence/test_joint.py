"""`joint_hsic_test` against the formula written out, its level, and what it refuses."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mercer import Gaussian, Spectrum, joint_hsic_test
from mercer.errors import InputError
from mercer.independence.joint import statistics


def naive(grams):
    """dHSIC by its three terms."""
    product = np.prod(grams, axis=0)
    means = [gram.mean() for gram in grams]
    rows = np.prod([gram.mean(axis=1) for gram in grams], axis=0)
    return product.mean() + np.prod(means) - 2.0 * rows.mean()


def test_statistics_of_permutations_equal_the_formula():
    rng = np.random.default_rng(0)
    views = rng.normal(size=(3, 20, 2))
    grams = np.stack([Gaussian(1.0)(view) for view in views])
    orders = np.stack([np.stack([rng.permutation(20) for _ in range(3)]) for _ in range(5)])
    expected = [naive([gram[np.ix_(p, p)] for gram, p in zip(grams, order, strict=True)]) for order in orders]
    np.testing.assert_allclose(statistics(grams, orders), expected, rtol=1e-12)


def test_result_equals_the_formula_and_finds_dependence_of_three():
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, 150))
    c = np.abs(rng.normal(size=150)) * np.sign(a * b)
    found = joint_hsic_test([a, b, c], [Gaussian(1.0)] * 3, random_state=0, n_permutations=199)
    grams = [np.asarray(Gaussian(1.0)(v[:, None])) for v in (a, b, c)]
    assert found.statistic == pytest.approx(naive(grams), abs=1e-6)
    assert found.pvalue == 0.005
    for pair in ([a, b], [a, c], [b, c]):
        assert joint_hsic_test(pair, random_state=0, n_permutations=199).pvalue > 0.05


def test_units_mixed_types_and_seeds():
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=(2, 60))
    words = ["ab" * 3 if value > 0 else "cd" * 3 for value in a]
    first = joint_hsic_test([a, b, words], random_state=3, n_permutations=99)
    second = joint_hsic_test([1e5 * a, b / 7.0, words], random_state=3, n_permutations=99)
    assert first.pvalue == second.pvalue == 0.01
    assert "3 variables, 60 rows" in str(first)
    assert joint_hsic_test([a, words], [None, Spectrum(1)], random_state=0, n_permutations=99).pvalue == 0.01


def test_level_over_draws():
    pvalues = [
        joint_hsic_test(list(np.random.default_rng(seed).normal(size=(3, 30))), random_state=seed, n_permutations=99).pvalue
        for seed in range(300)
    ]
    assert 0.02 <= np.mean(np.array(pvalues) <= 0.05) <= 0.085


@pytest.mark.parametrize(
    ("views", "kernels", "message"),
    [
        ([np.arange(5.0)], None, "at least two collections"),
        (np.ones((5, 2)), None, r"give list\(X.T\)"),
        (pd.DataFrame(np.ones((5, 2))), None, r"for those of a data frame \[X\[\[column\]\]"),
        ([np.arange(5.0), np.arange(6.0)], None, "view 0 has 5 rows, view 1 has 6"),
        ([np.arange(5.0), np.ones(5)], None, "view 1 is constant"),
        ([np.arange(5.0), np.arange(5.0)], [None], "2 views and 1 kernel"),
        ([np.arange(3.0), np.arange(3.0)], None, "3 rows; at least 4"),
    ],
)
def test_bad_input_is_refused(views, kernels, message):
    with pytest.raises(InputError, match=message):
        joint_hsic_test(views, kernels)
