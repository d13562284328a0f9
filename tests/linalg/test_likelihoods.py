"""Likelihoods against finite differences, sums over y, SciPy's distributions and simulation."""

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from mercer.linalg.likelihoods import (
    Censored,
    Likelihood,
    Logit,
    NegativeBinomial,
    Ordinal,
    Poisson,
    Probit,
    StudentT,
    log_softmax,
    predictive_cdf,
    predictive_moments,
    predictive_quantile,
)

N = 40


def _bounds(rng: np.random.Generator) -> np.ndarray:
    low = rng.normal(size=N)
    kind = np.arange(N) % 4
    return np.column_stack([np.where(kind == 1, -np.inf, low), np.where(kind == 2, np.inf, low + 0.7 * (kind == 3))])


CASES: dict[str, tuple[Likelihood, object]] = {
    "logit": (Logit(), lambda rng: rng.integers(0, 2, N).astype(float)),
    "probit": (Probit(), lambda rng: rng.integers(0, 2, N).astype(float)),
    "poisson": (Poisson(), lambda rng: rng.poisson(3.0, N).astype(float)),
    "negative binomial": (NegativeBinomial(1.7), lambda rng: rng.poisson(3.0, N).astype(float)),
    "student": (StudentT(4.0, 0.6), lambda rng: rng.normal(size=N)),
    "ordinal": (Ordinal((0.7, 1.1)), lambda rng: rng.integers(0, 4, N).astype(float)),
    "censored": (Censored(0.6), _bounds),
}


@pytest.mark.parametrize("name", CASES)
def test_derivatives_are_those_of_finite_differences(name: str, rng: np.random.Generator) -> None:
    likelihood, make = CASES[name]
    y, f, h = make(rng), rng.normal(scale=1.5, size=N), 1e-5
    found = likelihood.derivatives(y, f)
    values = [lambda f: likelihood.log_density(y, f), *[lambda f, k=k: likelihood.derivatives(y, f)[k] for k in (0, 1)]]
    for derivative, value in zip(found, values, strict=True):
        np.testing.assert_allclose(derivative, (value(f + h) - value(f - h)) / (2 * h), rtol=1e-5, atol=1e-6)
    W, slope = likelihood.curvature(y, f)
    assert (W >= 0).all()
    numeric = (likelihood.curvature(y, f + h)[0] - likelihood.curvature(y, f - h)[0]) / (2 * h)
    np.testing.assert_allclose(slope, numeric, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", [name for name in CASES if name != "censored"])
def test_density_moments_and_cdf_belong_together(name: str) -> None:
    likelihood, _ = CASES[name]
    f = np.array([-0.8, 0.3, 1.1])
    mean, variance = likelihood.moments(f)
    for i, latent in enumerate(f):
        if likelihood.integer:
            top = {"logit": 2, "probit": 2, "ordinal": 4}.get(name, 400)
            y = np.arange(float(top))
            p = np.exp(likelihood.log_density(y, np.full(top, latent)))
            assert p.sum() == pytest.approx(1.0, abs=1e-10)
            assert mean[i] == pytest.approx(p @ y, abs=1e-9)
            assert variance[i] == pytest.approx(p @ y**2 - (p @ y) ** 2, abs=1e-8)
            np.testing.assert_allclose(likelihood.cdf(y, np.full(top, latent)), np.cumsum(p), atol=1e-10)
        else:
            density = lambda y, latent=latent: float(np.exp(likelihood.log_density(np.array([y]), np.array([latent])))[0])  # noqa: E731
            below = quad(density, -np.inf, 0.4)[0]
            assert likelihood.cdf(np.array([0.4]), np.array([latent]))[0] == pytest.approx(below, abs=1e-8)


def test_densities_are_those_of_scipy(rng: np.random.Generator) -> None:
    f, counts, y = rng.normal(size=N), rng.poisson(3.0, N), rng.normal(size=N)
    np.testing.assert_allclose(Poisson().log_density(counts, f), stats.poisson(np.exp(f)).logpmf(counts), atol=1e-12)
    r = 1.7
    np.testing.assert_allclose(
        NegativeBinomial(r).log_density(counts, f), stats.nbinom(r, r / (r + np.exp(f))).logpmf(counts), atol=1e-12
    )
    np.testing.assert_allclose(StudentT(4.0, 0.6).log_density(y, f), stats.t(4.0, f, 0.6).logpdf(y), atol=1e-12)
    exact = np.column_stack([y, y])
    np.testing.assert_allclose(Censored(0.6).log_density(exact, f), stats.norm(f, 0.6).logpdf(y), atol=1e-12)


def test_far_tails_stay_finite() -> None:
    f = np.array([-40.0, 40.0])
    for likelihood, y in ((Logit(), [1.0, 0.0]), (Probit(), [1.0, 0.0]), (Ordinal((1.0,)), [2.0, 0.0])):
        found = [likelihood.log_density(np.array(y), f), *likelihood.derivatives(np.array(y), f)]
        assert all(np.isfinite(part).all() for part in found)
    bounds = np.array([[45.0, np.inf], [-np.inf, -45.0]])
    assert all(np.isfinite(part).all() for part in Censored(1.0).derivatives(bounds, np.zeros(2)))


def test_a_narrow_interval_is_a_point_with_its_width() -> None:
    f, low = np.array([0.5, -3.0, 30.0]), np.array([0.2, 1.0, -2.0])
    narrow, exact = np.column_stack([low, low + 1e-9]), np.column_stack([low, low])
    np.testing.assert_allclose(
        Censored(0.7).log_density(narrow, f), Censored(0.7).log_density(exact, f) + np.log(1e-9), rtol=1e-6
    )
    for one, other in zip(Censored(0.7).derivatives(narrow, f), Censored(0.7).derivatives(exact, f), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", [name for name in CASES if name not in ("logit", "probit")])
def test_the_prediction_is_that_of_simulated_y(name: str, rng: np.random.Generator) -> None:
    likelihood, _ = CASES[name]
    mean, variance, draws = np.array([0.4]), np.array([0.3]), 200_000
    f = mean + np.sqrt(variance) * rng.normal(size=draws)
    if name == "poisson":
        y = rng.poisson(np.exp(f)).astype(float)
    elif name == "negative binomial":
        y = rng.poisson(np.exp(f) * rng.gamma(1.7, 1 / 1.7, draws)).astype(float)
    elif name == "student":
        y = f + 0.6 * rng.standard_t(4.0, draws)
    elif name == "ordinal":
        y = np.searchsorted([0.0, 0.7, 1.8], f + rng.normal(size=draws)).astype(float)
    else:
        y = f + 0.6 * rng.normal(size=draws)
    center, spread = predictive_moments(likelihood, mean, variance)
    assert center[0] == pytest.approx(y.mean(), abs=5 * y.std() / draws**0.5)
    assert spread[0] == pytest.approx(y.var(), rel=0.05)
    for level in (0.05, 0.5, 0.9, 0.95):
        q = predictive_quantile(likelihood, level, mean, variance)
        assert q[0] == pytest.approx(np.quantile(y, level, method="inverted_cdf"), abs=0.02)
        assert predictive_cdf(likelihood, q, mean, variance)[0] >= level - 1e-9


def test_an_offset_is_the_logarithm_of_an_exposure() -> None:
    mean, variance, exposure = np.zeros(2), np.full(2, 0.2), np.array([1.0, 5.0])
    center, _ = predictive_moments(Poisson(), mean, variance, np.log(exposure))
    assert center[1] == pytest.approx(5.0 * center[0])


def test_softmax_probabilities_do_not_overflow() -> None:
    P = np.exp(log_softmax(np.array([[1000.0, 0.0], [-1000.0, -1000.0]])))
    np.testing.assert_allclose(P, [[1.0, 0.0], [0.5, 0.5]])
