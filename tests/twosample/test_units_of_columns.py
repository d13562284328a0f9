"""Tests without a kernel do not depend on the units of columns, and report sizes of effects."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer import hsic_test, mmd_test
from mercer.errors import InputError
from mercer.numeric.spread import column_deviation

UNITS = np.array([1.0, 1e4, 1e-3])


def samples(shift: float = 0.8, n: int = 80):
    rng = np.random.default_rng(1)
    X, Y = rng.normal(size=(n, 3)), rng.normal(size=(n + 10, 3))
    Y[:, 0] += shift
    return X, Y


def test_spread_of_columns():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(2.0, 3.0, 20_001), np.zeros(20_001), rng.random(20_001) < 0.1, np.full(20_001, 7.1)])
    unit = column_deviation(X)
    assert unit[0] == pytest.approx(3.0, rel=0.03)
    assert unit[1] == 0.0 and unit[3] == 0.0
    assert 1.15035 * unit[2] == pytest.approx(1.0, rel=1e-4)  # not the standard deviation 0.3 of a rare value
    np.testing.assert_allclose(column_deviation(X * [1e-200, 1.0, 1e200, 1.0])[[0, 2]], unit[[0, 2]] * [1e-200, 1e200])
    np.testing.assert_allclose(column_deviation(X[::-1]), unit, rtol=1e-12)
    for column, found in zip(X[:501].T, column_deviation(X[:501]), strict=True):
        deviations = np.abs(column - np.sort(column)[250])
        deviations = deviations[deviations > 0]
        assert found == pytest.approx(np.quantile(deviations, 0.75) / 1.15034938 if len(deviations) else 0.0, rel=1e-6)


def test_a_few_outliers_and_rare_values_do_not_set_the_unit():
    rng = np.random.default_rng(5)
    plain = rng.normal(size=(400, 1))
    spoiled = plain.copy()
    spoiled[:40] = 1e9
    assert column_deviation(spoiled)[0] == pytest.approx(column_deviation(plain)[0], rel=0.4)
    counts = np.zeros((400, 2))
    counts[:100, 0], counts[:2, 1] = 1.0, 1.0
    assert column_deviation(counts)[0] == column_deviation(counts)[1] > 0
    assert column_deviation(np.ones((1, 2))).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("method", ["exact", "features"])
def test_mmd_does_not_depend_on_units(method):
    X, Y = samples()
    options = {"n_permutations": 199, "random_state": 0, "method": method}
    first, second = mmd_test(X, Y, **options), mmd_test(X * UNITS, Y * UNITS, **options)
    assert second.pvalue == first.pvalue <= 0.01
    assert second.effect_size == pytest.approx(first.effect_size, rel=1e-4)
    unscaled = mmd_test(X * UNITS, Y * UNITS, scale=False, **options)
    assert unscaled.pvalue > 0.05  # the shifted column is hidden by the column in small units


def test_chunks_use_the_same_units():
    X, Y = samples(n=60)
    whole = mmd_test(X * UNITS, Y * UNITS, n_permutations=99, random_state=0)
    parts = mmd_test(mercer.chunks(X * UNITS, rows=25), Y * UNITS, n_permutations=99, random_state=0)
    assert parts.pvalue == whole.pvalue
    assert parts.kernels == whole.kernels


def test_the_kernel_and_the_witness_are_in_units_of_the_data():
    X, Y = samples()
    first = mmd_test(X, Y, n_permutations=99, random_state=0)
    second = mmd_test(X * UNITS, Y * UNITS, n_permutations=99, random_state=0)
    np.testing.assert_allclose(second.witness(X[:5] * UNITS), first.witness(X[:5]), rtol=1e-6)
    K = np.asarray(second.kernel(np.concatenate([X, Y]) * UNITS))
    m = len(X)
    within = (K[:m, :m].sum() - m) / (m * (m - 1)) + (K[m:, m:].sum() - len(Y)) / (len(Y) * (len(Y) - 1))
    assert second.mmd2 == pytest.approx(within - 2.0 * K[:m, m:].mean(), abs=1e-6)
    assert "times the spread of each column" in str(second)


def test_constant_columns_are_named():
    X, Y = samples()
    frames = [pd.DataFrame({"a": Z[:, 0], "b": np.ones(len(Z)), "c": Z[:, 1]}) for Z in (X, Y)]
    found = mmd_test(*frames, n_permutations=99, random_state=0)
    assert found.ignored == ("b",)
    assert "constant columns: b" in str(found)
    without = mmd_test(*(frame[["a", "c"]] for frame in frames), n_permutations=99, random_state=0)
    assert found.pvalue == without.pvalue


def test_hsic_does_not_depend_on_units():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(100, 3))
    y = np.abs(X[:, 0]) + 0.2 * rng.normal(size=100)
    options = {"n_permutations": 199, "random_state": 0}
    first, second = hsic_test(X, y[:, None], **options), hsic_test(X * UNITS, y[:, None] * 1e6, **options)
    assert second.pvalue == first.pvalue <= 0.01
    assert hsic_test(X * UNITS, y[:, None], scale=False, **options).pvalue > 0.05
    constant = hsic_test(np.column_stack([X, np.ones(100)]), y[:, None], **options)
    assert constant.pvalue == first.pvalue
    assert constant.ignored == ("column 3 of X",) and "ignored      constant: column 3 of X" in str(constant)
    assert first.ignored == ()
    frame = pd.DataFrame({"a": X[:, 0], "same": np.ones(100)})
    assert hsic_test(y[:, None], frame, **options).ignored == ("same of Y",)
    assert hsic_test(np.ones((100, 1)), y[:, None], mercer.Gaussian(1.0), **options).ignored == ()


def test_the_effect_size_is_a_share_of_variance():
    rng = np.random.default_rng(3)
    linear = mmd_test(rng.normal(size=(4000, 1)), rng.normal(1.0, 1.0, size=(4000, 1)), mercer.Linear(), 99, 0)
    assert linear.effect_size == pytest.approx(0.25 / 1.25, abs=0.02)  # p (1 - p) d^2 / (1 + p (1 - p) d^2)
    limits = linear.effect_interval()
    assert limits.low < 0.2 < limits.high and limits.high - limits.low < 0.06
    apart = mmd_test(np.zeros((20, 1)), np.ones((20, 1)), mercer.Linear(), 99, 0)
    assert apart.effect_size == pytest.approx(1.0, abs=0.06)
    same = mmd_test(rng.normal(size=(300, 2)), rng.normal(size=(300, 2)), n_permutations=99, random_state=0)
    assert abs(same.effect_size) < 0.02 and same.effect_interval().low == 0.0
    blocks = mmd_test(rng.normal(size=(3000, 1)), rng.normal(1, 1, size=(3000, 1)), None, 99, 0, method="features")
    exact = mmd_test(rng.normal(size=(3000, 1)), rng.normal(1, 1, size=(3000, 1)), None, 99, 0, method="exact")
    assert blocks.effect_size == pytest.approx(exact.effect_size, rel=0.5)
    assert "effect size" in str(same)


def test_columns_whose_squares_are_no_floats_are_named():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(2, 30, 2))
    for factor in (1e-200, 1e200):
        units = np.array([1.0, factor])
        with pytest.raises(InputError, match=r"mmd_test: values of column 1 differ by about .*Multiply the column"):
            mmd_test(X * units, Y * units)
    with pytest.raises(InputError, match="hsic_test, X: values of column 1 differ by about"):
        hsic_test(X * np.array([1.0, 1e-200]), Y)
