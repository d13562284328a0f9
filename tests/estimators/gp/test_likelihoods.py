"""Gaussian processes with other likelihoods: gradients, calibration on simulated y, exposures, bounds, files, messages."""

import numpy as np
import pytest
from scipy.special import ndtr

import mercer
from mercer import Gaussian, GaussianProcessRegressor, Periodic
from mercer.errors import InputError
from mercer.linalg.likelihoods import predictive_cdf

RNG = np.random.default_rng(11)
X = np.sort(RNG.uniform(0, 6, size=(90, 1)), axis=0)
KERNEL = 1.0 * Gaussian(1.0)


def draw(kind: str, f: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Targets of a likelihood with its parameters: noise 0.09, shape 3, gaps 0.8, 0.8, censored above 0.8."""
    n = len(f)
    if kind == "student":
        return np.asarray(f + 0.3 * rng.standard_t(4.0, n))
    if kind == "poisson":
        return rng.poisson(np.exp(1.0 + f)).astype(float)
    if kind == "negative-binomial":
        return rng.poisson(np.exp(1.0 + f) * rng.gamma(3.0, 1 / 3.0, n)).astype(float)
    if kind == "ordinal":
        return np.searchsorted([-0.8, 0.0, 0.8], f + rng.normal(size=n)).astype(float)
    y = f + 0.3 * rng.normal(size=n)
    return np.column_stack([np.minimum(y, 0.8), np.where(y > 0.8, np.inf, y)])


KINDS = ("student", "poisson", "negative-binomial", "ordinal", "censored")
TARGETS = {kind: draw(kind, np.sin(X[:, 0]), np.random.default_rng(2)) for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
def test_the_gradient_is_that_of_finite_differences(kind: str) -> None:
    gp = GaussianProcessRegressor(KERNEL, likelihood=kind, max_iter=3, n_restarts=0).fit(X, TARGETS[kind])
    at = gp.theta_ + 0.1
    value, gradient = gp.log_marginal_likelihood(at, eval_gradient=True)
    steps = [
        (gp.log_marginal_likelihood(at + 1e-5 * e) - gp.log_marginal_likelihood(at - 1e-5 * e)) / 2e-5
        for e in np.eye(len(at))
    ]
    np.testing.assert_allclose(gradient, steps, rtol=1e-4, atol=1e-4)
    assert np.isfinite(value)


@pytest.mark.parametrize("kind", KINDS)
def test_the_distribution_of_y_is_calibrated(kind: str) -> None:
    """The randomized probability integral transform of new targets is uniform, and intervals hold 90 %."""
    rng = np.random.default_rng(7)
    Z = rng.uniform(0, 12, size=(900, 1))
    kernel = 1.0 * Gaussian(1.5)
    f = np.linalg.cholesky(kernel(Z) + 1e-8 * np.eye(900)) @ rng.normal(size=900)
    y = draw(kind, f, rng)
    train, new = slice(0, 300), slice(300, 900)
    gp = GaussianProcessRegressor(kernel, likelihood=kind, n_restarts=0).fit(Z[train], y[train])
    mean, variance = gp.latent_mean_and_variance(Z[new])
    assert gp._latent is not None
    likelihood = gp._latent.likelihood
    seen = y[new] if kind != "censored" else f[new] + 0.3 * rng.normal(size=600)  # the uncensored y
    top = predictive_cdf(likelihood, seen, mean, variance)
    below = predictive_cdf(likelihood, seen - 1.0, mean, variance) if likelihood.integer else top
    u = below + rng.random(600) * (top - below)
    assert np.abs(np.sort(u) - (np.arange(600) + 0.5) / 600).max() < 0.09  # Kolmogorov-Smirnov, with parameters fitted
    low, high = gp.predict_interval(Z[new]).T
    share = np.mean((seen >= low) & (seen <= high))
    assert share > 0.86
    assert share < 0.94 or likelihood.integer  # intervals of whole numbers hold more than they must


def test_predictions_are_those_of_y() -> None:
    gp = GaussianProcessRegressor(KERNEL, likelihood="poisson", optimizer=None).fit(X, TARGETS["poisson"])
    mean, variance = gp.latent_mean_and_variance(X)
    center, std = gp.predict(X, return_std=True)
    np.testing.assert_allclose(center, np.exp(mean + variance / 2), rtol=1e-6)
    np.testing.assert_allclose(std**2, center + center**2 * np.expm1(variance), rtol=1e-6)
    assert "poisson" in str(gp)


def test_an_exposure_multiplies_the_mean_of_counts() -> None:
    exposure = RNG.uniform(0.5, 20.0, 90)
    y = RNG.poisson(exposure * np.exp(np.sin(X[:, 0])))
    gp = GaussianProcessRegressor(KERNEL, likelihood="poisson").fit(X, y, exposure=exposure)
    assert np.corrcoef(gp.predict(X), np.exp(np.sin(X[:, 0])))[0, 1] > 0.95
    np.testing.assert_allclose(gp.predict(X, exposure=np.full(90, 3.0)), 3.0 * gp.predict(X), rtol=1e-8)
    assert (gp.predict_interval(X, exposure=exposure)[:, 1] >= gp.predict_interval(X, exposure=exposure)[:, 0]).all()


def test_two_ordered_levels_have_no_parameters() -> None:
    """The levels are those of the probit likelihood."""
    y = np.where(np.sin(X[:, 0]) + 0.3 * RNG.normal(size=90) > 0, 5.0, 2.0)
    gp = GaussianProcessRegressor(KERNEL, likelihood="ordinal", n_restarts=0).fit(X, y)
    mean, variance = gp.latent_mean_and_variance(X)
    np.testing.assert_allclose(gp.predict(X), 2.0 + 3.0 * ndtr(mean / np.sqrt(1.0 + variance)))
    assert np.corrcoef(gp.predict(X), np.sin(X[:, 0]))[0, 1] > 0.9
    zero = GaussianProcessRegressor(KERNEL, likelihood="poisson", mean="zero", optimizer=None).fit(X, np.zeros(90))
    assert (zero.predict(X) < 1.0).all()


def test_bounds_that_are_equal_are_gaussian_noise() -> None:
    y = np.sin(X[:, 0]) + 0.1 * RNG.normal(size=90)
    one = GaussianProcessRegressor(KERNEL, likelihood="censored", noise=0.04, optimizer=None).fit(X, np.column_stack([y, y]))
    other = GaussianProcessRegressor(KERNEL, noise=0.04, optimizer=None, normalize_y=False).fit(X, y)
    center, std = other.predict(X, return_std=True, include_noise=True)
    np.testing.assert_allclose(one.predict(X, return_std=True), (center, std), atol=1e-6)
    np.testing.assert_allclose(one.predict_interval(X), other.predict_interval(X), atol=1e-6)
    assert one.log_marginal_likelihood_value_ == pytest.approx(other.log_marginal_likelihood_value_, abs=1e-6)


def test_a_bound_is_better_than_a_wrong_number() -> None:
    f = 2.0 * np.sin(X[:, 0])
    bounds = np.column_stack([np.minimum(f, 1.0), np.where(f > 1.0, np.inf, f)])
    censored = GaussianProcessRegressor(KERNEL, likelihood="censored").fit(X, bounds)
    plain = GaussianProcessRegressor(KERNEL).fit(X, np.minimum(f, 1.0))
    assert np.abs(censored.predict(X) - f).mean() < np.abs(plain.predict(X) - f).mean()


def test_lower_bounds_alone_are_enough_for_a_zero_mean() -> None:
    bounds = np.column_stack([np.sin(X[:, 0]), np.full(90, np.inf)])
    gp = GaussianProcessRegressor(KERNEL, likelihood="censored", mean="zero", noise=0.01, optimizer=None).fit(X, bounds)
    assert (gp.predict(X) > np.sin(X[:, 0]) - 0.1).all()


@pytest.mark.parametrize("kind", ["student", "censored"])
def test_a_constant_added_to_y_is_added_to_predictions(kind: str) -> None:
    y = TARGETS[kind]
    settings: dict[str, object] = {"likelihood": kind, "noise": 0.1, "optimizer": None}
    near, far = (GaussianProcessRegressor(KERNEL, **settings).fit(X, y + shift) for shift in (0.0, 1e8))
    assert not far.diagnosis_.notes
    np.testing.assert_allclose(far.predict(X) - 1e8, near.predict(X), atol=1e-5)
    np.testing.assert_allclose(far.predict_interval(X) - 1e8, near.predict_interval(X), atol=1e-5)


def test_outliers_do_not_move_the_student_process() -> None:
    y = np.sin(X[:, 0]) + 0.05 * RNG.normal(size=90)
    y[::15] += 8.0
    student = GaussianProcessRegressor(KERNEL, likelihood="student").fit(X, y)
    plain = GaussianProcessRegressor(KERNEL).fit(X, y)
    assert np.abs(student.predict(X) - np.sin(X[:, 0])).max() < 0.3 < np.abs(plain.predict(X) - np.sin(X[:, 0])).max()


def test_levels_keep_their_values() -> None:
    levels = np.array([1.0, 2.0, 5.0, 9.0])[TARGETS["ordinal"].astype(int)]
    gp = GaussianProcessRegressor(KERNEL, likelihood="ordinal").fit(X, levels)
    assert np.isin(gp.predict_interval(X), [1.0, 2.0, 5.0, 9.0]).all()
    assert ((gp.predict(X) > 1.0) & (gp.predict(X) < 9.0)).all()
    assert [name for name in gp.theta_names_ if name.startswith("gap")] == ["gap[1]", "gap[2]"]


@pytest.mark.parametrize("kind", KINDS)
def test_saved_and_loaded(kind: str, tmp_path) -> None:
    gp = GaussianProcessRegressor(KERNEL, likelihood=kind, optimizer=None, noise=0.1).fit(X, TARGETS[kind])
    mercer.save(gp, tmp_path / "model")
    again = mercer.load(tmp_path / "model")
    np.testing.assert_allclose(again.predict_interval(X), gp.predict_interval(X), atol=1e-8)
    assert again.log_marginal_likelihood(gp.theta_) == pytest.approx(gp.log_marginal_likelihood_value_)


def test_strings_have_counts() -> None:
    words = ["aab", "abb", "aaa", "zzy", "zyy", "zzz"] * 3
    y = np.array([1, 1, 2, 20, 22, 18] * 3)
    gp = GaussianProcessRegressor(mercer.Spectrum(1).normalized(), likelihood="poisson").fit(words, y)
    assert gp.predict(["zz"])[0] > 3 * gp.predict(["aa"])[0]


@pytest.mark.parametrize(
    ("given", "y", "message"),
    [
        ({"likelihood": "cauchy"}, X[:, 0], "likelihood must be one of gaussian, student"),
        ({"likelihood": "poisson"}, X[:, 0] - 3.0, "row 0 of y is -.*: counts cannot be negative"),
        ({"likelihood": "negative-binomial"}, np.full(90, 1.5), "counts must be whole numbers"),
        ({"likelihood": "poisson"}, np.zeros(90), "every count in y is 0"),
        ({"likelihood": "censored"}, X[:, 0], r"takes y as \(90, 2\) bounds"),
        ({"likelihood": "censored"}, np.column_stack([X[:, 0], X[:, 0] - 1.0]), "the lower bound is above the upper bound"),
        ({"likelihood": "censored"}, np.full((90, 2), np.inf), "low < inf"),
        ({"likelihood": "censored"}, np.tile([-np.inf, np.inf], (90, 1)), "no bound in y is finite"),
        ({"likelihood": "censored"}, np.column_stack([X[:, 0], np.full(90, np.inf)]), "no upper bound in y is finite"),
        ({"likelihood": "censored"}, np.column_stack([np.full(90, -np.inf), X[:, 0]]), "no lower bound in y is finite"),
        ({"likelihood": "ordinal"}, np.ones(90), "at least two levels"),
        ({"likelihood": "student"}, np.where(X[:, 0] > 3, np.nan, 1.0), "y must be finite"),
        ({"likelihood": "student", "noise": np.ones(90)}, X[:, 0], 'takes noise="fit" or one number > 0'),
        ({"likelihood": "poisson", "solver": "inducing"}, np.ones(90), "all rows in one matrix"),
        ({"likelihood": "student", "mean": "linear"}, X[:, 0], "constant or zero latent mean"),
        ({"noise_start": -1.0}, X[:, 0], "noise_start must be None or a number > 0"),
    ],
)
def test_bad_input_is_named(given: dict[str, object], y: np.ndarray, message: str) -> None:
    with pytest.raises(InputError, match=message):
        GaussianProcessRegressor(KERNEL, **given).fit(X, y)


def test_what_another_likelihood_cannot_do_is_named() -> None:
    gp = GaussianProcessRegressor(KERNEL, likelihood="student", optimizer=None, noise=0.1).fit(X, TARGETS["student"])
    for call in (lambda: gp.predict(X, return_cov=True), lambda: gp.sample_y(X)):
        with pytest.raises(InputError, match="return_cov is not available"):
            call()
    with pytest.raises(InputError, match="exposure is for likelihood"):
        gp.predict(X, exposure=np.ones(90))
    with pytest.raises(InputError, match="exposure is for likelihood"):
        GaussianProcessRegressor(KERNEL).fit(X, X[:, 0], exposure=np.ones(90))
    with pytest.raises(InputError, match="exposure must be"):
        GaussianProcessRegressor(KERNEL, likelihood="poisson").fit(X, np.ones(90), exposure=np.zeros(90))
    with pytest.raises(InputError, match="needs the exact route"):
        _ = gp.loo_


def test_the_noise_start_is_a_start_and_periods_that_move_are_reported() -> None:
    t = np.sort(np.random.default_rng(1).uniform(0, 12, 150))[:, None]
    y = 3.0 * np.sin(2 * np.pi * t[:, 0]) + 0.2 * np.random.default_rng(2).normal(size=150)
    gp = GaussianProcessRegressor(4.0 * Gaussian(20.0) * Periodic(1.0, period=1.0), noise_start=0.01).fit(t, y)
    report = {one.name: one for one in gp.diagnosis_.parameters}
    assert report["noise"].start == pytest.approx(0.01)
    period = next(one for name, one in report.items() if name.endswith("period"))
    assert period.value == pytest.approx(1.0, rel=0.01)
    far = GaussianProcessRegressor(
        4.0 * Gaussian(20.0) * Periodic(1.0, period=1.5), bounds={"period": (0.9, 1.6)}, noise_start=0.01
    ).fit(t, y)
    moved = next(one for one in far.diagnosis_.parameters if one.name.endswith("period")).value
    assert any("period moved from 1.5" in note for note in far.diagnosis_.notes) == (moved < 1.5 * np.exp(-0.3))


@pytest.mark.parametrize(("period", "wave"), [(0.7, np.sin), (2.3, np.cos), (1.0, lambda v: np.sign(np.sin(v)))])
def test_periods_near_the_start_are_found(period: float, wave) -> None:
    t = np.linspace(0, 14, 140)[:, None]
    y = (
        50.0
        + 0.8 * t[:, 0] ** 1.5
        + 2.0 * wave(2 * np.pi * t[:, 0] / period)
        + 0.2 * np.random.default_rng(0).normal(size=140)
    )
    kernel = 500.0 * Gaussian(20.0) + 4.0 * Gaussian(30.0) * Periodic(1.0, period=1.04 * period)
    gp = GaussianProcessRegressor(kernel).fit(t, y)
    found = next(one.value for one in gp.diagnosis_.parameters if one.name.endswith("period"))
    assert found == pytest.approx(period, rel=0.01)
