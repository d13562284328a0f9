"""Terms of a fitted sum: against the joint normal distribution of the terms and the observations, written out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mercer import Gaussian, GaussianProcessRegressor, KernelRidge, Linear, Matern, Spectrum
from mercer.errors import InputError
from mercer.report.gaussian_process import TermsDisplay

RNG = np.random.default_rng(0)
X = RNG.uniform(0.0, 5.0, (30, 1))
Y = np.sin(X[:, 0]) + 0.4 * X[:, 0] + 0.1 * RNG.normal(size=30)
NEW = np.linspace(-1.0, 6.0, 9)[:, None]
TERMS = (1.5 * Gaussian(0.7), 0.3 * Linear(), 0.2 * Matern(1.5, length_scale=0.4))
KERNEL = TERMS[0] + TERMS[1] + TERMS[2]


def _by_hand(noise: float) -> tuple[Any, Any]:
    """Condition (f_1, f_2, f_3) at the new rows on y, for a process without a mean function."""
    inverse = np.linalg.inv(KERNEL(X) + noise * np.eye(len(X)))
    cross = [term(NEW, X) for term in TERMS]
    means = [k @ inverse @ Y for k in cross]
    variances = [np.diagonal(t(NEW) - k @ inverse @ k.T) for t, k in zip(TERMS, cross, strict=True)]
    return np.column_stack(means), np.sqrt(np.column_stack(variances))


def test_terms_of_a_process_without_mean() -> None:
    settings: dict[str, Any] = {"noise": 0.05, "mean": "zero", "normalize_y": False, "optimizer": None}
    model = GaussianProcessRegressor(KERNEL, **settings).fit(X, Y)
    found = model.components(NEW)
    mean, std = _by_hand(0.05)
    assert np.allclose(found.mean[:, :3], mean, atol=1e-10)
    assert np.allclose(found.std[:, :3], std, atol=1e-8)
    assert np.all(found.mean[:, 3] == 0.0)
    assert found.names == (*map(str, TERMS), "mean")
    assert "standard deviation" in str(found)


@pytest.mark.parametrize("mean", ["zero", "constant", "linear"])
def test_the_means_add_up_to_the_prediction(mean: str) -> None:
    model = GaussianProcessRegressor(KERNEL, noise=0.05, mean=mean, optimizer=None).fit(X, Y)
    found = model.components(NEW)
    assert np.allclose(found.total, model.predict(NEW), atol=1e-10)
    both = GaussianProcessRegressor(KERNEL, noise=0.05, mean=mean, optimizer=None).fit(X, np.column_stack([Y, 3.0 - Y]))
    assert np.allclose(both.components(NEW).total, both.predict(NEW), atol=1e-10)
    assert both.components(NEW).std.shape == (9, 4, 2)


def test_a_constant_mean_is_the_limit_of_a_wide_constant_kernel() -> None:
    """The generalized least squares coefficients are those of a normal prior whose variance grows."""
    model = GaussianProcessRegressor(KERNEL, noise=0.05, optimizer=None).fit(X, Y)
    settings: dict[str, Any] = {"noise": 0.05, "mean": "zero", "normalize_y": False, "optimizer": None}
    wide = GaussianProcessRegressor(KERNEL + 1e6, **settings).fit(X, Y)
    a, b = model.components(NEW), wide.components(NEW)
    assert np.allclose(a.mean[:, :3], b.mean[:, :3], atol=1e-3)
    assert np.allclose(a.std[:, :3], b.std[:, :3], atol=1e-3)
    assert np.allclose(a.std[:, 3], b.std[:, 3], atol=1e-2)


def test_ridge_has_the_terms_of_its_process() -> None:
    ridge = KernelRidge(KERNEL, alpha=0.05, fit_intercept=False).fit(X, Y)
    found = ridge.components(NEW)
    mean, std = _by_hand(0.05)
    assert np.allclose(found.mean[:, :3], mean, atol=1e-9)
    scale = np.sqrt(Y @ np.linalg.solve(KERNEL(X) + 0.05 * np.eye(30), Y) / 30)
    assert np.allclose(found.std[:, :3], scale * std, atol=1e-7)
    weights = RNG.integers(0, 3, size=30).astype(float)
    for model in (
        KernelRidge(KERNEL, alpha=0.05).fit(X, np.column_stack([Y, -Y])),
        KernelRidge(KERNEL, alpha=0.05).fit(X, Y, sample_weight=weights),
    ):
        assert np.allclose(model.components(NEW).total, model.predict(NEW), atol=1e-8)
    copies = KernelRidge(KERNEL, alpha=0.05).fit(
        np.repeat(X, weights.astype(int), axis=0), np.repeat(Y, weights.astype(int))
    )
    assert np.allclose(model.components(NEW).mean, copies.components(NEW).mean, atol=1e-6)


def test_terms_of_counts_and_of_strings() -> None:
    counts = np.random.default_rng(1).poisson(np.exp(Y))
    model = GaussianProcessRegressor(KERNEL, likelihood="poisson", optimizer=None).fit(X, counts)
    latent, variance = model.latent_mean_and_variance(NEW)
    found = model.components(NEW)
    assert np.allclose(found.total, latent, atol=1e-9)
    one = GaussianProcessRegressor(1.0 * Gaussian(1.0), likelihood="poisson", optimizer=None).fit(X, counts)
    alone, (_, variance) = one.components(NEW), one.latent_mean_and_variance(NEW)
    assert np.all(alone.std[:, 0] ** 2 <= variance + alone.std[:, 1] ** 2 + 2 * alone.std[:, 0] * alone.std[:, 1] + 1e-9)
    texts = ["abab", "bbba", "aaab", "abba"]
    spelled = GaussianProcessRegressor(Spectrum(1) + Spectrum(2), noise=0.1, optimizer=None).fit(texts, np.arange(4.0))
    assert np.allclose(spelled.components(texts).total, spelled.predict(texts), atol=1e-10)


def test_messages_and_display() -> None:
    alone = KernelRidge(Gaussian(1.0), alpha=0.1, fit_intercept=False).fit(X, Y)
    with pytest.raises(InputError, match="is one term"):
        alone.components(NEW)
    rough = GaussianProcessRegressor(KERNEL, noise=0.1, optimizer=None, solver="inducing", n_inducing=10).fit(X, Y)
    with pytest.raises(InputError, match="components needs the exact route"):
        rough.components(NEW)
    model = GaussianProcessRegressor(KERNEL, noise=0.1, optimizer=None).fit(X, Y)
    with pytest.raises(InputError, match="names must have 4 entries"):
        TermsDisplay.from_estimator(model, X, names=["one"])
    drawn = TermsDisplay.from_estimator(model, X, names=["a", "b", "c", "mean"])
    assert [ax.get_title(loc="left") for ax in drawn.axes_] == ["a", "b", "c", "mean"]
    with pytest.raises(InputError, match="one target"):
        TermsDisplay.from_estimator(
            GaussianProcessRegressor(KERNEL, noise=0.1, optimizer=None).fit(X, np.column_stack([Y, Y])), X
        )
