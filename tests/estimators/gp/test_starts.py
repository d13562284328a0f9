"""Starts of the search: carbon dioxide at Mauna Loa, periods that are written roughly, terms that exchange their roles."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from mercer import Function, Gaussian, GaussianProcessClassifier, GaussianProcessRegressor, Linear, Periodic
from mercer.datasets import load_co2
from mercer.estimators.gp.search import best_period


def test_carbon_dioxide_reaches_the_higher_maximum() -> None:
    table = load_co2().table
    year, month, y = (np.asarray(table[name].to_numpy(), dtype=np.float64) for name in ("year", "month", "co2"))
    before = year < 1995
    t = (year + (month - 1.0) / 12.0)[before][:, None]
    assert len(t) == 437
    kernel = 2500.0 * Gaussian(50.0) + 4.0 * Gaussian(100.0) * Periodic(1.0, period=1.0)
    model = GaussianProcessRegressor(kernel).fit(t, y[before])
    assert model.log_marginal_likelihood_value_ > -134.6
    assert abs(model.kernel_.get_params()["1__1__period"] - 1.0) < 0.01
    labels = [attempt.label for attempt in model.diagnosis_.attempts]
    assert {"as written", "term 1 small and short", "term 2 small and short"} <= set(labels)
    assert "term 1 small and short" in str(model.diagnosis_)


def _tide(t: Any) -> Any:
    return np.cos(2 * np.pi * t / 12.42) + 0.3 * np.cos(2 * np.pi * t / 6.21 + 1.0) + 0.02 * t


def _heart(t: Any) -> Any:
    return np.exp(3.0 * np.cos(2.0 * np.pi * t / 0.83)) / 10.0


SERIES = {
    "tides": (
        lambda t: np.cos(2 * np.pi * t / 12.42) + 0.3 * np.cos(2 * np.pi * t / 6.21 + 1.0) + 0.02 * t,
        12.42,
        11.0,
        150.0,
    ),
    "pulses": (lambda t: _heart(t) + 0.3 * np.sin(0.4 * t), 0.83, 1.0, 12.0),
    "weeks": (lambda t: np.sign(np.sin(2 * np.pi * t / 7.0)) + 0.01 * t + np.sin(t / 40.0), 7.0, 5.5, 140.0),
}


@pytest.mark.parametrize("name", SERIES)
def test_periods_are_found_from_a_rough_start(name: str) -> None:
    function, period, written, span = SERIES[name]
    rng = np.random.default_rng(0)
    t = np.sort(rng.uniform(0.0, span, 160))
    y = function(t) + 0.1 * rng.normal(size=len(t))
    kernel = 1.0 * Gaussian(span) + 1.0 * Gaussian(10.0 * written) * Periodic(1.0, period=written)
    model = GaussianProcessRegressor(kernel).fit(t[:, None], y)
    assert abs(model.kernel_.get_params()["1__1__period"] / period - 1.0) < 0.01


def test_the_periodogram_needs_two_cycles() -> None:
    t = np.linspace(0.0, 10.0, 50)
    assert best_period(t, np.sin(t), 6.0, 8.0) is None
    assert best_period(np.zeros(10), np.zeros(10), 1.0, 2.0) is None


def test_starts_of_terms_need_a_sum_with_scales_and_a_fitted_noise() -> None:
    rng = np.random.default_rng(1)
    X = rng.uniform(0.0, 5.0, (40, 1))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=40)

    def labels(kernel: Any, **settings: Any) -> list[str]:
        model = GaussianProcessRegressor(kernel, max_iter=2, **settings).fit(X, y)
        return [attempt.label for attempt in model.diagnosis_.attempts]

    assert "term 2 small and short" in labels(1.0 * Linear() + 2.0 * Gaussian(3.0))
    assert not any(label.startswith("term") for label in labels(2.0 * Gaussian(3.0)))
    assert not any(label.startswith("term") for label in labels((2.0 * Gaussian(3.0)) * (1.0 * Linear())))
    assert not any(label.startswith("term") for label in labels(1.0 * Linear() + 2.0 * Gaussian(3.0), noise=0.1))
    assert labels(1.0 * Linear() + 2.0 * Gaussian(3.0), n_restarts=0) == ["as written"]


def _counted() -> tuple[list[int], Function]:
    values: list[int] = []

    def bell(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        values.append(len(X) * len(Z))
        return np.exp(-0.5 * ((X[:, None] - Z[None]) ** 2).sum(-1))

    return values, Function(bell)


@pytest.mark.parametrize("model", [GaussianProcessRegressor, GaussianProcessClassifier])
def test_a_function_is_not_evaluated_again_while_its_scale_is_fitted(model: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=30)
    target = y if model is GaussianProcessRegressor else (y > 0).astype(int)
    values, kernel = _counted()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a function without a proof
        found = model(kernel).fit(X, target)
    assert sum(values) <= 5 * 30 * 30  # the search, the diagnosis, probabilities of training rows, and diagonals
    known = model(Gaussian(1.0), fixed=("length_scale",)).fit(X, target)
    assert found.log_marginal_likelihood_value_ == pytest.approx(known.log_marginal_likelihood_value_, abs=1e-4)
