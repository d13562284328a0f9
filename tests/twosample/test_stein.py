"""`stein_test` against derivatives written out, its level and power, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from mercer import Gaussian, Linear, RationalQuadratic, stein_test
from mercer.errors import CapabilityError, InputError
from mercer.twosample.stein import SteinKernel, distribution_score


def dense_stein(kernel, x, y, sx, sy, step=1e-4):
    """The Stein kernel of two points by numerical derivatives of the kernel."""
    d = len(x)

    def k(a, b):
        return float(kernel(a[None], b[None])[0, 0])

    eye = step * np.eye(d)
    total = sx @ sy * k(x, y)
    for j in range(d):
        e = eye[j]
        dy = (k(x, y + e) - k(x, y - e)) / (2 * step)
        dx = (k(x + e, y) - k(x - e, y)) / (2 * step)
        both = (k(x + e, y + e) - k(x + e, y - e) - k(x - e, y + e) + k(x - e, y - e)) / (4 * step**2)
        total += sx[j] * dy + sy[j] * dx + both
    return total


@pytest.mark.parametrize("kernel", [Gaussian(1.3), Gaussian((0.7, 2.0)), RationalQuadratic(1.1, shape=0.5)])
def test_values_equal_numerical_derivatives(kernel):
    rng = np.random.default_rng(0)
    X, S = rng.normal(size=(6, 2)), rng.normal(size=(6, 2))
    found = SteinKernel(kernel, X, S).values(slice(0, 6))
    lengths = kernel.get_params()["length_scale"]
    if isinstance(lengths, tuple):  # in coordinates divided by the length scales
        X, S, kernel = X / lengths, S * lengths, Gaussian(1.0)
    expected = [[dense_stein(kernel, X[i], X[j], S[i], S[j]) for j in range(6)] for i in range(6)]
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_statistic_null_and_witness_equal_dense_formulas(monkeypatch):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 2))
    found = stein_test(X, lambda x: -x, Gaussian(1.0), random_state=0, n_draws=99)
    diff = X[:, None] - X[None]
    K = np.exp(-0.5 * (diff**2).sum(axis=2))
    U = K * ((X @ X.T) + np.einsum("id,ijd->ij", -X, diff) - np.einsum("jd,ijd->ij", -X, diff) + 2 - (diff**2).sum(axis=2))
    np.fill_diagonal(U, 0.0)
    assert found.statistic == pytest.approx(U.sum() / (30 * 29), rel=1e-10)
    np.testing.assert_allclose(found.contributions, U.sum(axis=1) / 29, rtol=1e-9, atol=1e-12)
    monkeypatch.setattr("mercer.twosample.stein.ROWS_AT_A_TIME", 7)
    again = stein_test(X, lambda x: -x, Gaussian(1.0), random_state=0, n_draws=99)
    np.testing.assert_allclose(again.null_distribution, found.null_distribution, rtol=1e-9, atol=1e-12)
    Z = np.array([[0.5, -1.0]])
    k = np.exp(-0.5 * ((X - Z) ** 2).sum(axis=1))
    np.testing.assert_allclose(found.witness(Z)[0], (k[:, None] * (-X - (X - Z))).mean(axis=0), rtol=1e-10)


def test_level_and_power():
    rng = np.random.default_rng(2)
    null = [stein_test(rng.normal(size=(60, 2)), lambda x: -x, random_state=i, n_draws=199).pvalue for i in range(300)]
    assert 0.02 <= np.mean(np.array(null) <= 0.05) <= 0.085

    def mixture(x):  # two modes at -2 and 2; the sample has one of them
        weights = np.exp(-0.5 * (x - 2.0) ** 2), np.exp(-0.5 * (x + 2.0) ** 2)
        return (weights[0] * (2.0 - x) + weights[1] * (-2.0 - x)) / (weights[0] + weights[1])

    both = [rng.normal(np.where(rng.random(150) < 0.5, -2.0, 2.0)) for _ in range(20)]
    one = [rng.normal(1.7, 1.1, 150) for _ in range(20)]
    assert sum(stein_test(x, mixture, random_state=0, n_draws=199).pvalue <= 0.05 for x in both) <= 4
    assert sum(stein_test(x, mixture, random_state=0, n_draws=199).pvalue <= 0.05 for x in one) >= 16


def test_scores_of_distributions():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 2))
    covariance = np.array([[2.0, 0.5], [0.5, 1.0]])
    normal = stats.multivariate_normal([1.0, -1.0], covariance)
    expected = -(X - [1.0, -1.0]) @ np.linalg.inv(covariance)
    np.testing.assert_allclose(distribution_score(normal, X, np.ones(2))(X), expected, rtol=1e-10)
    np.testing.assert_allclose(
        distribution_score(stats.norm(2.0, 3.0), X[:, :1], np.ones(1))(X[:, :1]), (2.0 - X[:, :1]) / 9.0
    )
    logistic = distribution_score(stats.logistic(), X[:, :1], np.ones(1))(X[:, :1])
    np.testing.assert_allclose(logistic, -np.tanh(X[:, :1] / 2.0), atol=1e-8)
    student = distribution_score(stats.multivariate_t([0.0, 0.0], np.eye(2), df=3), X, np.ones(2))(X)
    np.testing.assert_allclose(student, -5.0 * X / (3.0 + (X**2).sum(axis=1, keepdims=True)), atol=1e-8)
    assert stein_test(X[:, 0], stats.norm(), random_state=0).pvalue > 0.01
    assert stein_test(X[:, 0], stats.norm(1.0), random_state=0).pvalue < 0.01


def test_units_do_not_matter():
    X = np.random.default_rng(4).normal(size=(80, 2))
    units = np.array([1e4, 1e-3])
    first = stein_test(X, lambda x: -(x - 0.3), random_state=0)
    second = stein_test(X * units, lambda x: -(x / units - 0.3) / units, random_state=0)
    assert second.pvalue == first.pvalue
    assert "Stein discrepancy" in str(first) and tuple(first) == (first.statistic, first.pvalue)


@pytest.mark.parametrize(
    ("X", "score", "error", "message"),
    [
        (np.ones((20, 1)), lambda x: -x, InputError, "column 0 of X is constant"),
        (np.arange(20.0), lambda x: np.full_like(x, np.nan), InputError, "score is not finite at row 0"),
        (np.arange(20.0), lambda x: np.ones((3, 1)), InputError, r"shape \(3, 1\) for X of shape \(20, 1\)"),
        (np.arange(20.0), "normal", InputError, "Give a function"),
        (np.ones((1, 1)), lambda x: -x, InputError, "1 row"),
        (np.arange(20.0), lambda x: "high", InputError, "score failed on X of shape .*could not convert"),
        (np.arange(20.0), lambda x: -1e200 * x, InputError, "scores up to .* are too large to square"),
        (1e200 * np.arange(20.0), lambda x: -x, InputError, "length scale .* is too large"),
        (np.arange(1.0, 20.0), stats.expon(), InputError, "density of 'expon' does not fall to 0 at 0"),
        (np.linspace(0.1, 0.9, 20), stats.uniform(), InputError, "density of 'uniform' does not fall to 0"),
        (np.arange(1.0, 20.0), stats.gamma(0.5), InputError, "density of 'gamma' does not fall to 0"),
        (np.eye(20)[:, :2], stats.t(5), InputError, "'t' has one variable, and X has 2 columns"),
        (np.eye(20)[:, :2], stats.multivariate_normal(np.zeros(3)), InputError, "has 3 variables, and X has 2 columns"),
        (
            np.eye(20)[:, :2],
            stats.multivariate_normal(np.zeros(2), np.ones((2, 2)), allow_singular=True),
            InputError,
            "covariance .* is singular",
        ),
    ],
)
def test_bad_input_is_refused(X, score, error, message):
    with pytest.raises(error, match=message):
        stein_test(X, score)


def test_offsets_do_not_matter():
    """Rows far from 0 keep the digits of their differences."""
    X = np.round(np.random.default_rng(3).normal(size=(60, 2)) * 2.0**20) / 2.0**20  # sums with 2^30 are exact
    near = stein_test(X, lambda x: -x, random_state=0)
    far = stein_test(X + 2.0**30, lambda x: 2.0**30 - x, random_state=0)
    assert far.pvalue == near.pvalue and far.statistic == pytest.approx(near.statistic, rel=1e-9)
    np.testing.assert_allclose(far.witness(X[:5] + 2.0**30), near.witness(X[:5]), rtol=1e-8, atol=1e-12)


def test_a_density_that_falls_to_0_at_its_ends_is_tested():
    rng = np.random.default_rng(7)
    for density in (stats.gamma(3.0), stats.beta(2.0, 2.0), stats.lognorm(0.5)):
        X = density.rvs(size=100, random_state=rng)
        assert stein_test(X, density, random_state=0).pvalue > 0.01


def test_a_score_may_write_into_its_argument():
    X = np.random.default_rng(8).normal(size=(50, 1))
    kept = X.copy()
    found = stein_test(X, lambda x: np.negative(x, out=x), random_state=0)
    assert found.pvalue == stein_test(X, lambda x: -x, random_state=0).pvalue and np.array_equal(X, kept)


def test_a_kernel_without_the_derivatives_is_refused():
    with pytest.raises(CapabilityError, match="give a Gaussian or a RationalQuadratic"):
        stein_test(np.arange(20.0), lambda x: -x, Linear())
