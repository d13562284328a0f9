"""Gaussian processes on a grid of frequencies against the exact route: evidence, slopes, predictions, error bars, fits."""

from __future__ import annotations

import numpy as np
import pytest

import mercer
from mercer import Gaussian, Linear, Matern, Spectrum
from mercer import GaussianProcessRegressor as Process
from mercer.errors import CapabilityError, InputError
from mercer.estimators.gp import fourier
from mercer.grams import fourier_grid
from mercer.kernels.base import Kernel

pytest.importorskip("finufft")

RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, size=(400, 2))
Y = np.sin(2 * X[:, 0]) * X[:, 1] + 0.1 * RNG.normal(size=400) + 3.0
NEW = RNG.uniform(-2, 2, size=(30, 2))


def both(kernel: Kernel, X: np.ndarray, y: np.ndarray, **more: object) -> tuple[Process, Process]:
    settings = {"noise": 0.02, "optimizer": None, **more}
    exact, model = (Process(kernel, solver=solver, **settings).fit(X, y) for solver in ("exact", "fourier"))
    return exact, model


@pytest.mark.parametrize("mean", ["zero", "constant", "linear"])
@pytest.mark.parametrize("kernel", [1.5 * Gaussian(1.0), Gaussian((0.9, 1.4))], ids=str)
def test_few_frequencies_are_exact(kernel: Kernel, mean: str) -> None:
    exact, model = both(kernel, X, Y, mean=mean)
    assert model._posterior._factor is not None
    assert abs(model.log_marginal_likelihood_value_ - exact.log_marginal_likelihood_value_) < 0.02
    for a, b in zip(exact.predict(NEW, return_std=True), model.predict(NEW, return_std=True), strict=True):
        assert np.abs(a - b).max() < 2e-4 * np.abs(a).max()
    assert np.abs(exact.predict(NEW, return_cov=True)[1] - model.predict(NEW, return_cov=True)[1]).max() < 1e-5
    where = exact.theta_ + 0.05
    value, slope = exact.log_marginal_likelihood(where, eval_gradient=True)
    found, found_slope = model.log_marginal_likelihood(where, eval_gradient=True)
    assert abs(value - found) < 0.02 and np.abs(slope - found_slope).max() < 2e-3 * np.abs(slope).max()


def test_noise_per_row_and_several_targets() -> None:
    noise = RNG.uniform(0.01, 0.1, size=400)
    exact, model = both(Gaussian(1.0), X, np.column_stack([Y, -3 * Y]), noise=noise)
    assert abs(model.log_marginal_likelihood_value_ - exact.log_marginal_likelihood_value_) < 0.05
    for a, b in zip(exact.predict(NEW, return_std=True), model.predict(NEW, return_std=True), strict=True):
        assert np.abs(a - b).max() < 2e-4 * np.abs(a).max()


@pytest.mark.slow
def test_random_signs_for_many_frequencies(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same numbers within the error of their means; of samples the standard deviation is known to 9 %."""
    monkeypatch.setattr(fourier_grid, "DENSE", 10)
    monkeypatch.setattr(fourier, "PROBES", 200)
    noise = RNG.uniform(0.01, 0.1, size=400)
    exact, model = both(Gaussian(1.0), X, Y, noise=noise)
    assert abs(model.log_marginal_likelihood_value_ - exact.log_marginal_likelihood_value_) < 3.0
    mean, std = exact.predict(NEW, return_std=True)
    found, found_std = model.predict(NEW, return_std=True)
    assert np.abs(found - mean).max() < 1e-4
    ratio = found_std / std
    assert ratio.min() > 0.65 and ratio.max() < 1.35 and abs(np.sqrt(np.mean(ratio**2)) - 1.0) < 0.12
    assert np.abs(exact.predict(NEW, return_cov=True)[1] - model.predict(NEW, return_cov=True)[1]).max() < 1e-5
    slopes = [m.log_marginal_likelihood(exact.theta_ + 0.05, eval_gradient=True)[1] for m in (exact, model)]
    assert np.abs(slopes[0] - slopes[1]).max() < 0.25 * np.abs(slopes[0]).max()


def test_a_fit_finds_what_the_exact_one_finds() -> None:
    rng = np.random.default_rng(2)
    x = rng.uniform(-2, 2, size=(900, 1))
    y = np.sin(3 * x[:, 0]) + 0.2 * rng.normal(size=900)
    exact, model = (Process(Gaussian(), solver=solver, n_restarts=0).fit(x, y) for solver in ("exact", "fourier"))
    assert model.route_.solver == "fourier" and "frequencies" in model.route_.reason
    assert abs(model.log_marginal_likelihood_value_ - exact.log_marginal_likelihood_value_) < 0.1
    assert np.abs(model.theta_ - exact.theta_).max() < 0.2  # a tenth of a standard error
    low, high = model.predict_interval(x, coverage=0.9).T
    assert 0.86 < np.mean((low <= y) & (y <= high)) < 0.94


def test_the_search_does_not_see_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Transforms of the rows: two for the grid of the search, two for that of the posterior."""
    engine, problem = fourier.FourierEngine(), Process(Gaussian(1.0), noise=0.1, optimizer=None).fit(X, Y)._problem
    engine.prepare(problem, Gaussian(1.0), 0.1)

    def no(*args: object, **more: object) -> None:
        raise AssertionError("a transform of the rows")

    monkeypatch.setattr(fourier.FourierGrid, "adjoint", no)  # type: ignore[attr-defined]
    values = [engine.evidence(problem, Gaussian(scale), 0.1, True).value for scale in (0.7, 1.0, 1.5)]
    assert np.isfinite(values).all()
    with pytest.raises(AssertionError, match="transform"):
        engine.evidence(problem, Gaussian(0.2), 0.1, True)  # beyond the margin: another grid


def test_files_and_plan(tmp_path: object) -> None:
    model = Process(Matern(2.5, length_scale=2.0), noise=0.05, optimizer=None, solver="fourier")
    plan = mercer.plan(model, X[:, :1], Y)
    model.fit(X[:, :1], Y)
    assert plan.route.solver == "fourier" and str(len(model._posterior.grid.weights)) in plan.route.reason
    mercer.save(model, f"{tmp_path}/f.mercer")
    again = mercer.load(f"{tmp_path}/f.mercer")
    for a, b in zip(model.predict(NEW[:, :1], return_std=True), again.predict(NEW[:, :1], return_std=True), strict=True):
        assert np.allclose(a, b, rtol=1e-9)


@pytest.mark.parametrize(
    ("model", "rows", "words"),
    [
        (Process(Linear(), solver="fourier"), X, "spectral density"),
        (Process(Gaussian(), solver="fourier"), np.column_stack([X, X]), "one to three columns"),
        (Process(Gaussian(1.0), noise=0.0, optimizer=None, solver="fourier"), X, "noise > 0"),
        (Process(Spectrum(2), solver="fourier"), ["ab", "ba"] * 200, "dense rows"),
        (Process(Gaussian(), solver="best"), X, "solver must be one of"),
        (Process(Gaussian(), solver="fourier"), np.full_like(X, np.nan), "NaN"),
    ],
)
def test_refusals(model: Process, rows: object, words: str) -> None:
    with pytest.raises((InputError, CapabilityError, ValueError), match=words):
        model.fit(rows, Y)
