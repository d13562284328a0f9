"""`relative_test` against dense formulas, its level and power, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import Gaussian, mmd_test, relative_test
from mercer.errors import InputError


def draws(seed: int, shifts: tuple[float, float, float], n: int = 100):
    rng = np.random.default_rng(seed)
    return [rng.normal(shift, 1.0, size=(n + 5 * i, 1)) for i, shift in enumerate(shifts)]


def test_statistic_equals_two_tests_and_the_variance_a_jackknife():
    X, Y, Z = draws(0, (0.3, 1.0, 0.0), 60)
    kernel = Gaussian(1.0)
    found = relative_test(X, Y, Z, kernel)
    assert found.mmd2_x == pytest.approx(mmd_test(X, Z, kernel, 9, 0).mmd2, abs=1e-9)
    assert found.mmd2_y == pytest.approx(mmd_test(Y, Z, kernel, 9, 0).mmd2, abs=1e-9)
    assert found.statistic == pytest.approx(found.mmd2_y - found.mmd2_x)
    variance = 0.0
    for place in range(3):
        parts = [X, Y, Z]
        size = len(parts[place])
        left_out = []
        for i in range(size):
            changed = list(parts)
            changed[place] = np.delete(parts[place], i, axis=0)
            left_out.append(relative_test(changed[0], changed[1], changed[2], kernel).statistic)
        variance += (size - 1) / size * np.square(np.array(left_out) - np.mean(left_out)).sum()
    assert found.standard_error == pytest.approx(np.sqrt(variance), rel=0.05)


def test_level_at_the_boundary_and_power():
    boundary = [relative_test(*draws(seed, (0.7, -0.7, 0.0))).pvalue for seed in range(300)]
    assert 0.02 <= np.mean(np.array(boundary) <= 0.05) <= 0.085
    equal = [relative_test(*draws(seed, (0.0, 0.0, 0.0))).pvalue for seed in range(200)]
    assert np.mean(np.array(equal) <= 0.05) <= 0.08
    nearer = [relative_test(*draws(seed, (0.3, 1.0, 0.0))).pvalue for seed in range(50)]
    assert np.mean(np.array(nearer) <= 0.05) > 0.9
    farther = relative_test(*draws(0, (1.0, 0.3, 0.0)))
    assert farther.pvalue > 0.9 and farther.confidence_interval().high < 0.0


def test_units_strings_and_text():
    X, Y, Z = draws(1, (0.3, 1.0, 0.0))
    assert relative_test(X * 1e6, Y * 1e6, Z * 1e6).pvalue == pytest.approx(relative_test(X, Y, Z).pvalue, rel=1e-6)
    found = relative_test(["abab"] * 9 + ["abba", "aabb"], ["cdcd"] * 8 + ["ccdd", "abcd", "dcba"], ["abab", "baba"] * 6)
    assert found.pvalue < 0.05
    assert "X nearer to Z than Y" in str(found) and tuple(found) == (found.statistic, found.pvalue)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.ones((20, 1)),) * 3, "every column is constant"),
        ((np.arange(20.0), np.arange(5.0), np.arange(20.0)), "Y has 5 rows; at least 10"),
        ((np.ones((20, 1)), np.ones((20, 1)), np.ones((20, 2))), "Z does not match"),
    ],
)
def test_bad_input_is_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        relative_test(*arguments)
