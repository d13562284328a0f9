"""`ci_test` against a dense twin, its null distributions, inputs and messages."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import gamma
from tests.independence import dense

from mercer import Gaussian, Spectrum, VertexHistogram, ci_test
from mercer.errors import InputError
from mercer.independence import conditional, residuals
from mercer.independence.residuals import FACTORS, Conditioning
from mercer.independence.variables import read_variable


def nonlinear(n: int, seed: int, d: int = 1):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, d))
    s = Z.sum(axis=1) / np.sqrt(d)
    return np.sin(2.0 * s) + 0.5 * rng.normal(size=n), s**2 + 0.5 * rng.normal(size=n), Z


def chosen(target, Z):
    """The regression of the features of a variable on Z with all rows."""
    variable, z = read_variable(target, "X", None, "ci_test"), read_variable(Z, "Z", None, "ci_test")
    every = np.arange(len(Z))
    return Conditioning(z, every, None, np.random.default_rng(0)).regress(variable.features(every))


@pytest.mark.parametrize("seed", [0, 1])
def test_statistic_and_nulls_equal_the_dense_twin(seed):
    X, Y, Z = nonlinear(60, seed)
    x, y, z = dense.scaled(X), dense.scaled(Y), dense.scaled(Z[:, 0])
    Kx, Ky, Kz = (dense.gaussian(v, dense.median(v)) for v in (x, y, z))
    fits = [chosen(X, Z), chosen(Y, Z)]
    R = [dense.residual_operator(dense.gaussian(z, one.length_scale), one.alpha) for one in fits]
    expected, M = dense.statistic(Kx, Ky, Kz, *R)
    found = ci_test(X, Y, Z, random_state=0, null="gamma")
    assert found.statistic == pytest.approx(expected, rel=1e-8)
    squares = [one @ one for one in R]
    H = np.eye(60) - 1.0 / 60
    c = np.trace(H @ squares[0] @ H @ squares[1]) / (np.diag(H @ squares[0] @ H) * np.diag(H @ squares[1] @ H)).sum()
    mean, variance = c * np.trace(M) / 60, 2.0 * c**2 * (M**2).sum() / 60**2
    assert found.pvalue == pytest.approx(gamma.sf(expected, mean**2 / variance, scale=variance / mean), rel=1e-5)
    assert [one.alpha for one in found.regressions] == [one.alpha for one in fits]
    weights = c * np.linalg.eigvalsh(M) / 60
    spectral = ci_test(X, Y, Z, random_state=0, null="spectral", n_draws=20000).null_distribution
    assert spectral is not None
    assert spectral.mean() == pytest.approx(weights.sum(), rel=0.02)
    assert spectral.var() == pytest.approx(2.0 * (weights**2).sum(), rel=0.1)
    wild = ci_test(X, Y, Z, random_state=0, n_draws=20000).null_distribution
    assert wild is not None
    assert wild.mean() == pytest.approx(mean, rel=0.02)


def test_the_choice_is_the_smallest_leave_one_out_error_of_refits():
    X, _, Z = nonlinear(40, 3)
    x, z = dense.scaled(X), dense.scaled(Z[:, 0])
    L = dense.gaussian(x, dense.median(x))
    fit = chosen(X, Z)
    total = np.trace(dense.centered(L))
    error = dense.left_out_error(dense.gaussian(z, fit.length_scale), L, fit.alpha)
    assert fit.unexplained == pytest.approx(error / total, rel=1e-6)
    base = dense.median(z)
    for factor in FACTORS:
        for power in (-3.0, -1.0, 0.0, 1.0):
            assert error <= dense.left_out_error(dense.gaussian(z, factor * base), L, 10.0**power) * (1 + 1e-3)


def test_landmarks_of_all_rows_are_exact():
    X, Y, Z = nonlinear(150, 4, d=2)
    exact = ci_test(X, Y, Z, random_state=0, method="exact", null="gamma")
    every = ci_test(X, Y, Z, random_state=0, method="landmarks", n_landmarks=150, null="gamma")
    few = ci_test(X, Y, Z, random_state=0, method="landmarks", n_landmarks=80, null="gamma")
    assert every.statistic == pytest.approx(exact.statistic, rel=1e-8)
    assert few.statistic == pytest.approx(exact.statistic, rel=0.2)


def test_a_sketch_of_the_products_is_near_the_matrix(monkeypatch):
    X, Y, Z = nonlinear(400, 5)
    whole = ci_test(X, Y, Z, random_state=0, null="gamma")
    monkeypatch.setattr(conditional, "MATRIX_ROWS", 100)
    monkeypatch.setattr(conditional, "SKETCH", 4096)
    sketched = ci_test(X, Y, Z, random_state=0, null="gamma")
    assert sketched.pvalue == pytest.approx(whole.pvalue, abs=0.05)


def test_a_metric_finds_the_direction_of_a_single_index(monkeypatch):
    X, _, Z = nonlinear(300, 6, d=5)
    learned = chosen(X, Z)
    monkeypatch.setattr(residuals, "METRIC_STEPS", 0)
    assert learned.unexplained < 0.85 * chosen(X, Z).unexplained
    shifted = ci_test(X, X + Z[:, 0], np.hstack([Z[:, :1], np.random.default_rng(0).normal(size=(300, 1))]), random_state=0)
    assert shifted.pvalue < 0.01


@pytest.mark.parametrize("null", ["wild", "spectral", "gamma"])
@pytest.mark.parametrize("split", [False, True])
def test_dependence_is_found_and_independence_is_not(null, split):
    rng = np.random.default_rng(7)
    X, Y, Z = nonlinear(400, 7)
    options = {"null": null, "split": split, "random_state": 0}
    assert ci_test(X, Y, Z, **options).pvalue > 0.05
    assert ci_test(X, Y + 0.8 * X, Z, **options).pvalue < 0.01
    sign = Z[:, 0] + np.sign(Z[:, 0]) * X  # a dependence whose mean over Z is zero
    assert ci_test(X + rng.normal(size=400) * 0.1, sign, Z, **options).pvalue < 0.01


def test_split_regressions_predict_as_a_refit_does():
    X, _, Z = nonlinear(80, 8)
    variable, z = read_variable(X, "X", None, "ci_test"), read_variable(Z, "Z", None, "ci_test")
    features, rows, new = variable.features(np.arange(80)), np.arange(50), np.arange(50, 80)
    conditioning = Conditioning(z, rows, None, np.random.default_rng(0))
    fit = conditioning.regress(features[rows])
    found = conditioning.predict(fit, features[rows], new)
    assert z.vectors is not None
    K = dense.gaussian(z.vectors[:, 0], fit.length_scale)
    inner = K[np.ix_(new, rows)] - K[np.ix_(rows, rows)].mean(axis=0)
    inner -= inner.mean(axis=1, keepdims=True)
    center = features[rows].mean(axis=0)
    expected = (
        inner @ np.linalg.solve(dense.centered(K[:50, :50]) + fit.alpha * np.eye(50), features[rows] - center) + center
    )
    assert np.abs(found - expected).max() < 1e-8


def test_units_and_order_of_columns_do_not_matter():
    X, Y, Z = nonlinear(120, 9, d=3)
    first = ci_test(X, Y, Z, random_state=0)
    second = ci_test(1000.0 * X, Y / 7.0 + 3.0, Z[:, [2, 0, 1]] * [1e-3, 1.0, 1e4], random_state=0)
    assert second.pvalue == pytest.approx(first.pvalue, abs=0.005)
    assert ci_test(X, Y, Z, random_state=0).pvalue == first.pvalue


def test_tables_strings_and_graphs():
    rng = np.random.default_rng(10)
    n = 150
    color = rng.choice(["red", "green", "blue"], n)
    level = np.where(color == "red", 2.0, 0.0) + rng.normal(size=n)
    frame = pd.DataFrame({"color": color, "size": rng.normal(size=n), "day": pd.date_range("2026-01-01", periods=n)})
    frame.loc[3, "size"] = np.nan
    words = ["ab" * 5 if c == "red" else "ba" + "c" * int(k) for c, k in zip(color, rng.integers(1, 6, n), strict=True)]
    assert ci_test(level, pd.Series(color), frame[["size"]], random_state=0).pvalue < 0.01
    assert ci_test(level, words, frame, random_state=0).pvalue > 0.01
    assert ci_test(words, level, frame[["size", "day"]], kernel_x=Spectrum(1).normalized(), random_state=0).pvalue < 0.01
    graphs = [(np.ones((k, k)) - np.eye(k), ["a"] * k) for k in rng.integers(2, 6, n)]
    edges = np.array([len(graph[1]) for graph in graphs], float)
    noisy = edges + 0.3 * rng.normal(size=n)
    assert (
        ci_test(
            edges + 0.5 * rng.normal(size=n), noisy, graphs, kernel_z=(VertexHistogram() + 1.0) ** 4, random_state=0
        ).pvalue
        > 0.01
    )


def test_candidates_for_z_are_chosen_by_each_regression():
    X, Y, Z = nonlinear(150, 11)
    found = ci_test(X, Y, Z, kernel_z=[Gaussian(100.0), Gaussian(0.5)], random_state=0)
    assert all("0.5" in one.kernel for one in found.regressions)


def test_the_result_reads_well():
    X, Y, Z = nonlinear(100, 12)
    found = ci_test(X, Y, Z, random_state=0)
    statistic, pvalue = found
    assert (statistic, pvalue) == (found.statistic, found.pvalue)
    assert "X given Z:" in str(found) and "of the variance is left" in str(found)
    assert 0.2 < found.regressions[0].unexplained < 0.9


def test_warnings():
    X, Y, Z = nonlinear(100, 13, d=2)
    constant = ci_test(X, Y, np.column_stack([Z, np.ones(100)]), random_state=0)
    assert constant.warnings == ("column 2 of Z is constant and was ignored.",)
    assert constant.pvalue == ci_test(X, Y, Z, random_state=0).pvalue
    nothing = ci_test(X, Y, np.zeros(100), random_state=0)
    assert "unconditional" in " ".join(nothing.warnings)
    determined = ci_test(np.tanh(Z[:, 0]), Y, Z[:, 0], random_state=0)
    assert any("Z determines X almost completely" in text for text in determined.warnings)
    wide = ci_test(X, Y, np.random.default_rng(0).normal(size=(100, 30)), random_state=0)
    assert any("30 columns for 100 rows" in text for text in wide.warnings)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.ones(50), np.arange(50.0), np.arange(50.0) ** 2), "X is constant, and a constant is independent of everything"),
        ((np.arange(50.0), np.ones((50, 2)), np.arange(50.0) ** 2), "Y is constant"),
        ((np.arange(50.0), np.arange(50.0) ** 2, 3.0 * np.arange(50.0)), "column 0 of X equals column 0 of Z"),
        ((np.arange(50.0), np.arange(50.0) ** 2, 7.0 - 2.0 * np.arange(50.0)), "column 0 of X equals column 0 of Z"),
        ((np.arange(50.0), np.arange(50.0) ** 2, np.random.default_rng(0).normal(size=(50, 60))), "60 columns and 50 rows"),
        ((np.arange(50.0), np.arange(40.0), np.arange(50.0)), "X has 50 rows, Y has 40"),
        ((np.arange(5.0), np.arange(5.0), np.arange(5.0) ** 2), "5 rows; at least 10"),
        ((np.arange(50.0), np.full(50, np.nan), np.arange(50.0)), "Y"),
        ((np.arange(50.0), [(np.eye(2), ["a", "b"])] * 50, np.arange(50.0) ** 2), "no default kernel for Y"),
    ],
)
def test_bad_input_is_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        ci_test(*arguments, random_state=0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"null": "normal"}, "null must be one of wild, spectral, gamma"),
        ({"n_draws": 0}, "n_draws must be a whole number >= 1"),
        ({"method": "fast"}, "method must be one of auto, exact, landmarks"),
        ({"kernel_z": []}, "the list of kernels for Z is empty"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        ci_test(*nonlinear(50, 0), **options)


def test_pvalues_are_uniform_under_the_null():
    from scipy.stats import kstest

    pvalues = [ci_test(*nonlinear(80, seed), random_state=seed, n_draws=199).pvalue for seed in range(300)]
    assert kstest(pvalues, "uniform").pvalue > 0.01
    assert min(pvalues) > 0.0
