"""Every number a ridge display draws is the one its definition gives; every picture can be drawn, given axes or none."""

from __future__ import annotations

import io
import subprocess
import sys
import warnings
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression

from mercer import (
    Exponential,
    Gaussian,
    KernelRidge,
    KernelRidgeClassifier,
    KernelRidgeCV,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    RationalQuadratic,
    Spectrum,
)
from mercer.errors import CapabilityError, InputError, MissingExtraError
from mercer.report.drawing import log_axis, positive
from mercer.report.ridge import (
    FitDisplay,
    PathDisplay,
    PredictionDisplay,
    RobustDisplay,
    SmoothnessDisplay,
    SurfaceDisplay,
)


def sample(n: int = 40, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(0, 6, n))
    return x[:, None], np.sin(2 * x) + 0.2 * rng.normal(size=n)


X, Y = sample()
TUNED = KernelRidgeCV().fit(X, Y)


def drawn(display: Any) -> None:
    """Rendering must neither fail nor warn, about glyphs or layout for example."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        display.figure_.savefig(io.BytesIO(), format="png")
    assert display.ax_.figure is display.figure_


# -- the surface -------------------------------------------------------------------------------------------------------


def test_surface_shows_the_scores_in_order() -> None:
    display, surface = SurfaceDisplay.from_estimator(TUNED), TUNED.surface_
    scales = [setting["length_scale"] for setting in display.settings]
    assert scales == sorted(params["length_scale"] for params in surface.params)
    row = [params["length_scale"] for params in surface.params].index(scales[2])
    assert np.allclose(display.errors[2], np.sqrt(-surface.scores[row]))
    assert display.errors[display.best_index] == pytest.approx(np.sqrt(-TUNED.best_score_))
    assert scales[display.best_index[0]] == TUNED.best_length_scale_
    assert display.alphas[display.best_index[1]] == TUNED.best_alpha_
    drawn(display)


def test_surface_outlines_one_standard_error() -> None:
    display, surface = SurfaceDisplay.from_estimator(TUNED), TUNED.surface_
    best = np.unravel_index(surface.scores.argmax(), surface.scores.shape)
    within = surface.scores >= surface.scores[best] - surface.standard_errors[best]
    assert display.near.sum() == within.sum() and display.near[display.best_index]


def test_surface_finds_its_point_under_the_other_rule() -> None:
    model = KernelRidgeCV(rule="one_standard_error").fit(X, Y)
    display = SurfaceDisplay.from_estimator(model)
    assert display.near[display.best_index]
    assert display.alphas[display.best_index[1]] == model.best_alpha_


def test_one_kernel_setting_is_a_curve() -> None:
    model = KernelRidgeCV(Polynomial(degree=2), alphas=[1e-3, 0.1, 10.0]).fit(X / 6, Y)
    display = SurfaceDisplay.from_estimator(model)
    assert not display.ax_.collections or display.ax_.get_xlabel() == "alpha"
    assert display.ax_.get_ylabel() == "leave-one-out RMSE"
    drawn(display)


def test_one_alpha_is_a_curve_over_the_length_scale() -> None:
    model = KernelRidgeCV(Gaussian(1.0), alphas=[0.1], length_scales=[0.3, 1.0, 3.0]).fit(X, Y)
    display = SurfaceDisplay.from_estimator(model)
    assert display.ax_.get_xlabel() == "length scale"
    drawn(display)


def test_settings_of_several_parameters_are_spelled_out() -> None:
    grid = {"0__length_scale": [0.5, 1.0], "1__length_scale": [2.0, 4.0]}
    model = KernelRidgeCV(Gaussian(1.0) + Exponential(1.0), param_grid=grid, alphas=[0.01, 0.1]).fit(X, Y)
    display = SurfaceDisplay.from_estimator(model)
    labels = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert labels[0] == "0.length scale 0.5, 1.length scale 2"
    drawn(display)


def test_alpha_zero_has_a_place_and_undefined_points_are_hatched() -> None:
    model = KernelRidgeCV(Gaussian(0.05), alphas=[0.0, 0.1, 1.0], length_scales=[0.05, 1.0]).fit(X, Y)
    display = SurfaceDisplay.from_estimator(model)
    assert display.ax_.get_xticklabels()[0].get_text() == "0"
    drawn(display)


def test_surface_of_a_classifier_shows_the_error_rate() -> None:
    model = KernelRidgeClassifier(alpha="loo", alphas=[0.01, 1.0], length_scales=[0.5, 1.0]).fit(X, Y > 0)
    display = SurfaceDisplay.from_estimator(model)
    assert display.measure == "leave-one-out error rate"
    assert display.errors[display.best_index] == pytest.approx(1 - model.best_score_)
    drawn(display)


@pytest.mark.parametrize("scoring", ["neg_mean_absolute_error", "r2", "explained_variance"])
def test_surface_of_other_scores(scoring: str) -> None:
    model = KernelRidgeCV(Gaussian(1.0), alphas=[0.01, 0.1], length_scales=[0.5, 1.0], cv=4, scoring=scoring).fit(X, Y)
    display = SurfaceDisplay.from_estimator(model)
    assert display.errors.argmin() == np.ravel_multi_index(display.best_index, display.errors.shape)
    drawn(display)


def test_an_estimator_without_a_surface_is_told() -> None:
    with pytest.raises(InputError, match="KernelRidge has no surface_; fit a KernelRidgeCV"):
        SurfaceDisplay.from_estimator(KernelRidge().fit(X, Y))


# -- fits --------------------------------------------------------------------------------------------------------------


def test_each_panel_is_the_fit_it_says() -> None:
    display = FitDisplay.from_estimator(TUNED, X, Y, truth=lambda x: np.sin(2 * x))
    assert display.axes_.shape == (3, 3)
    kernel = Gaussian(display.length_scales[2])
    model = KernelRidge(kernel, alpha=display.alphas[1], fit_intercept=True).fit(X, Y)
    assert np.allclose(display.curves[2, 1], model.predict(display.grid[:, None]))
    assert display.loo_errors[1, 1] == pytest.approx(np.sqrt(-TUNED.best_score_), rel=1e-6)
    assert display.loo_errors.argmin() == 4
    drawn(display)


def test_fits_take_one_axes_or_one_per_panel() -> None:
    settings = {"alphas": (1e-3, 1.0), "length_scales": (1.0,)}
    _, one = plt.subplots()
    drawn(FitDisplay.from_data(X, Y, ax=one, **settings))
    _, two = plt.subplots(1, 2)
    assert FitDisplay.from_data(X, Y, ax=two, **settings).axes_[0, 1] is two[1]
    _, three = plt.subplots(1, 3)
    with pytest.raises(InputError, match="1 x 2 panels; give one axes or 2, not 3"):
        FitDisplay.from_data(X, Y, ax=three, **settings)


def test_fits_need_one_column_and_one_length_scale() -> None:
    with pytest.raises(InputError, match="draws a function of one number; X has shape"):
        FitDisplay.from_data(np.c_[X, X], Y, alphas=(1.0,), length_scales=(1.0,))
    with pytest.raises(InputError, match=r"varies one length scale, but Linear.* has 0"):
        FitDisplay.from_data(X, Y, kernel=Linear(), alphas=(1.0,), length_scales=(1.0,))
    with pytest.raises(InputError, match="y has shape"):
        FitDisplay.from_data(X, Y[:-1], alphas=(1.0,), length_scales=(1.0,))


def test_outliers_bend_the_plain_fit_only() -> None:
    spoiled = np.sin(2 * X[:, 0])
    spoiled[::8] += 5.0
    display = RobustDisplay.from_data(X, spoiled, kernel=Gaussian(0.7), alpha=0.1, truth=lambda x: np.sin(2 * x))
    assert display.huber_error < 0.3 * display.plain_error
    assert display.weights[::8].max() < 0.3 and np.median(display.weights) == 1
    drawn(display)


def test_robust_from_either_loss_is_the_same_picture() -> None:
    pictures = []
    for loss in ("squared", "huber"):
        model = KernelRidge(Gaussian(0.7), alpha=0.1, loss=loss).fit(X, Y)
        pictures.append(RobustDisplay.from_estimator(model, X, Y))
    assert np.allclose(pictures[0].plain, pictures[1].plain) and np.allclose(pictures[0].huber, pictures[1].huber)
    assert np.isnan(pictures[0].plain_error)
    drawn(pictures[0])


# -- along alpha -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_the_path_is_that_of_single_fits(fit_intercept: bool) -> None:
    alphas = [1e-3, 0.1, 10.0]
    display = PathDisplay.from_data(X, Y, kernel=Gaussian(1.0), alphas=alphas, fit_intercept=fit_intercept, resamples=3)
    for index, alpha in enumerate(alphas):
        model = KernelRidge(Gaussian(1.0), alpha=alpha, fit_intercept=fit_intercept).fit(X, Y)
        assert display.norms[index] == pytest.approx(model.rkhs_norm_, rel=1e-6)
        assert display.dof[index] == pytest.approx(model.effective_dof_, rel=1e-6)
        assert display.loo_errors[index] == pytest.approx(np.sqrt(np.mean(model.loo_residuals_**2)), rel=1e-6)
        assert display.training_errors[index] == pytest.approx(np.sqrt(np.mean((Y - model.predict(X)) ** 2)), rel=1e-6)


def test_the_spread_is_over_refits_on_resampled_rows() -> None:
    display = PathDisplay.from_data(X, Y, kernel=Gaussian(1.0), alphas=[0.05], resamples=6, random_state=3)
    rng, n, fits = np.random.default_rng(3), len(Y), []
    for _ in range(6):
        rows = np.repeat(np.arange(n), rng.multinomial(n, np.full(n, 1 / n)))
        fits.append(KernelRidge(Gaussian(1.0), alpha=0.05).fit(X[rows], Y[rows]).predict(X))
    assert display.spread[0] == pytest.approx(np.sqrt(np.var(fits, axis=0, ddof=1).mean()), rel=1e-6)


def test_path_of_an_estimator() -> None:
    display = PathDisplay.from_estimator(TUNED, X, Y, resamples=4)
    assert display.chosen == TUNED.best_alpha_
    assert np.all(np.diff(display.norms) < 0) and np.all(np.diff(display.dof) < 0)
    assert display.spread[-1] < display.spread[0]
    drawn(display)


def test_path_on_strings_and_of_several_targets() -> None:
    strings, y = ["abba", "abab", "baba", "aabb", "bbaa"], np.arange(5.0)
    drawn(PathDisplay.from_data(strings, y, kernel=Spectrum(2), alphas=[0.0, 0.1, 1.0], resamples=2))
    with pytest.raises(InputError, match="draws one target"):
        PathDisplay.from_data(X, np.c_[Y, Y])


# -- smoothness --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [Gaussian(0.5), Exponential(1.0), Linear(), Polynomial(degree=3)])
def test_mercer_coefficients_add_up_to_the_norm(kernel: Any) -> None:
    model = KernelRidge(kernel, alpha=0.1, solver="cholesky").fit(X / 6, Y)
    display = SmoothnessDisplay.from_estimator(model)
    assert display.shares.sum() == pytest.approx(model.rkhs_norm_**2, rel=1e-6)
    assert np.allclose(display.fit / display.kernel, display.shares)
    assert display.fit.sum() == pytest.approx(np.mean(model.predict(X / 6) ** 2), rel=1e-6)
    drawn(display)


@pytest.mark.parametrize(
    ("kernel", "period", "tolerance"),
    [
        (Gaussian(0.5), None, 1e-8),
        (Matern(nu=2.5, length_scale=0.5), None, 1e-6),
        (Exponential(1.0), None, 2e-2),  # its spectrum falls like 1 / w^2: the cut at the last wave shows
        (Periodic(length_scale=1.0, period=3.0), 3.0, 1e-8),
        (2.0 * Gaussian(0.5) + Gaussian(2.0), None, 1e-8),
    ],
)
def test_fourier_coefficients_add_up_to_the_norm(kernel: Any, period: float | None, tolerance: float) -> None:
    model = KernelRidge(kernel, alpha=0.1).fit(X, Y)
    display = SmoothnessDisplay.from_estimator(model, basis="fourier", period=period)
    assert display.shares.sum() == pytest.approx(model.rkhs_norm_**2, rel=tolerance)
    drawn(display)


def test_fourier_coefficients_of_the_gaussian_are_its_transform() -> None:
    scale, length = 0.5, 20.0
    model = KernelRidge(Gaussian(scale), alpha=0.1).fit(X, Y)
    display = SmoothnessDisplay.from_estimator(model, basis="fourier", period=length)
    known = scale * np.sqrt(2 * np.pi) / length * np.exp(-0.5 * (2 * np.pi * display.index * scale) ** 2)
    assert np.allclose(display.kernel, known, rtol=1e-6, atol=1e-12 * known.max())


def test_what_smoothness_cannot_draw() -> None:
    linear = KernelRidge(Linear(), alpha=0.1, solver="cholesky").fit(X, Y)
    with pytest.raises(CapabilityError, match="known to be stationary"):
        SmoothnessDisplay.from_estimator(linear, basis="fourier")
    slow = KernelRidge(RationalQuadratic(1.0, shape=0.5), alpha=0.1).fit(X, Y)
    forever = KernelRidge(Periodic(1.0, period=3.0), alpha=0.1).fit(X, Y)
    with pytest.raises(InputError, match=r"does not decay within .*; give period="):
        SmoothnessDisplay.from_estimator(forever, basis="fourier")
    with pytest.raises(InputError, match='"mercer" or "fourier"'):
        SmoothnessDisplay.from_estimator(slow, basis="wavelets")


# -- predictions -------------------------------------------------------------------------------------------------------


def test_predictions_tell_their_coverage() -> None:
    new, truth = sample(60, seed=1)
    display = PredictionDisplay.from_estimator(TUNED, new, truth, coverage=0.8)
    low, high = TUNED.predict_interval(new, 0.8).T
    assert display.covered == np.mean((low <= truth) & (truth <= high))
    assert f"80% intervals cover {display.covered:.1%}" in display.ax_.get_title()
    drawn(display)


def test_predictions_without_intervals_and_many_rows() -> None:
    y = np.linspace(0, 1, 1000)
    display = PredictionDisplay.from_predictions(y, y + 0.1)
    assert display.rmse == pytest.approx(0.1)
    assert "1,000 rows (400 shown)" in display.ax_.get_title()
    drawn(display)


def test_predictions_of_wrong_shapes() -> None:
    with pytest.raises(InputError, match="one target at a time"):
        PredictionDisplay.from_predictions(np.zeros((3, 2)), np.zeros((3, 2)))
    with pytest.raises(InputError, match=r"interval must have shape \(3, 2\)"):
        PredictionDisplay.from_predictions(np.zeros(3), np.zeros(3), interval=np.zeros((2, 3)))


# -- all of them -------------------------------------------------------------------------------------------------------


def test_displays_draw_on_given_axes() -> None:
    figure, axes = plt.subplots(1, 2)
    assert SurfaceDisplay.from_estimator(TUNED, ax=axes[0]).figure_ is figure
    display = PredictionDisplay.from_estimator(TUNED, X, Y, ax=axes[1])
    assert display.ax_ is axes[1]
    again = display.plot()
    assert again is display and display.ax_ is not axes[1]


@pytest.mark.parametrize("display", [FitDisplay, PathDisplay, RobustDisplay, SmoothnessDisplay])
def test_displays_of_one_ridge_say_what_they_need(display: Any) -> None:
    data = () if display is SmoothnessDisplay else (X, Y)
    with pytest.raises(InputError, match=f"{display.__name__} draws one target; the estimator was fitted to 2"):
        display.from_estimator(KernelRidge(alpha=[0.1, 1.0]).fit(X, np.c_[Y, Y]), *data)
    with pytest.raises(NotFittedError):
        display.from_estimator(KernelRidge(), *data)
    with pytest.raises(InputError, match=f"{display.__name__} draws a KernelRidge or KernelRidgeCV; got LinearRegression"):
        display.from_estimator(LinearRegression().fit(X, Y), *data)


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingExtraError, match=r'pip install .*\[plots\]"'):
        SurfaceDisplay.from_estimator(TUNED)


def test_importing_the_displays_loads_no_matplotlib() -> None:
    code = "import sys, mercer.report.ridge; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_places_on_a_logarithmic_axis() -> None:
    assert positive([0.0, 0.1]).tolist() == pytest.approx([0.01, 0.1])
    assert positive([0.0]).tolist() == [1.0]
    _, ax = plt.subplots()
    log_axis(ax.xaxis, [0.1, 1.0])  # nothing to name
    assert ax.get_xticklabels()[0].get_text() != "0"


def test_a_slow_tail_has_a_spectrum_and_says_what_is_left_out():
    X = np.linspace(0.0, 6.0, 40).reshape(-1, 1)
    model = KernelRidge(RationalQuadratic(1.0, shape=1.0), alpha=0.1).fit(X, np.sin(X[:, 0]))
    display = SmoothnessDisplay.from_estimator(model, basis="fourier")
    assert abs(display.left_out) < 0.05
    assert display.left_out == pytest.approx(1.0 - display.shares.sum() / model.rkhs_norm_**2)
    assert "% left out" in display.axes_.flat[1].get_title()
