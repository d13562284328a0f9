"""Displays of two-sample tests: what they draw, on axes given or made, and what they say without matplotlib."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from mercer import Gaussian
from mercer.errors import InputError, MissingExtraError
from mercer.report.twosample import NullDisplay, RankingDisplay, WitnessDisplay
from mercer.twosample import hsic_test, mmd_test


def _result(d, kernel=Gaussian(1.0)):  # noqa: B008 - a kernel is a value
    rng = np.random.default_rng(0)
    return mmd_test(rng.normal(-1, 1, (40, d)), rng.normal(1, 1, (50, d)), kernel, n_permutations=99, random_state=0)


def test_the_witness_over_one_column():
    result = _result(1)
    display = WitnessDisplay.from_result(result)
    assert np.allclose(display.values, result.witness(display.points))
    assert display.values[0] > 0 > display.values[-1]
    assert display.figure_ is display.ax_.figure


def test_the_witness_over_two_columns_on_given_axes():
    import matplotlib.pyplot as plt

    _, ax = plt.subplots()
    result = _result(2)
    display = WitnessDisplay.from_result(result, ax=ax)
    assert display.ax_ is ax and display.values.shape == (80, 80)
    assert np.allclose(display.values.ravel(), result.witness(display.points))


def test_more_columns_are_refused_with_advice():
    with pytest.raises(InputError, match=r"this one has 3 columns.*RankingDisplay"):
        WitnessDisplay.from_result(_result(3))


def test_the_null_distribution():
    for result, name in ((_result(2), "MMD^2"), (_result(2, None), "aggregated statistic")):
        display = NullDisplay.from_result(result)
        assert display.name == name and len(display.null) == 99
        assert display.ax_.lines[0].get_xdata()[0] == result.statistic
    X = np.random.default_rng(0).normal(size=(30, 1))
    assert NullDisplay.from_result(hsic_test(X, X, Gaussian(1.0), Gaussian(1.0), n_permutations=19)).name == "HSIC"


def test_the_ranking():
    display = RankingDisplay.from_explanation(_result(3).explain(99), shown=2)
    assert len(display.ax_.patches) == 2
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == [
        str(reason.name) for reason in display.explanation.reasons[:2]
    ]


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[plots\]"):
        NullDisplay.from_result(_result(1))
