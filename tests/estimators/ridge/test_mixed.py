"""Intervals after a float32 factor: one order statistic of the residuals, the same as from all of them in float64."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mercer
from mercer import Gaussian, KernelRidge
from mercer.estimators.ridge import kernel_ridge
from mercer.estimators.ridge import mixed as ridge_mixed

N = 700


@pytest.fixture
def data() -> tuple[Any, ...]:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(N, 3))
    Y = np.sin(X[:, :2]) + 0.2 * rng.standard_t(4, size=(N, 2))
    return X, Y, rng.uniform(0.5, 2.0, N), rng.normal(size=(20, 3))


@pytest.fixture
def mixed_from_ten_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ridge_mixed, "MIXED_ROWS", 10)


def no_residuals(*arguments: Any) -> Any:
    raise AssertionError("the residuals of all rows were computed")


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("targets", [0, slice(None)])
def test_the_same_intervals_without_the_residuals_of_all_rows(
    data: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch, intercept: bool, weighted: bool, targets: Any
) -> None:
    X, Y, weights, new = data
    model = KernelRidge(Gaussian(1.5), alpha=0.1, fit_intercept=intercept)
    w = weights if weighted else None
    wanted = [model.fit(X, Y[:, targets], w).predict_interval(new, coverage) for coverage in (0.5, 0.9, 0.99)]
    monkeypatch.setattr(ridge_mixed, "MIXED_ROWS", 10)
    monkeypatch.setattr(kernel_ridge, "diagnose_ridge", no_residuals)
    for coverage, interval in zip((0.5, 0.9, 0.99), wanted, strict=True):
        quick = model.fit(X, Y[:, targets], w).predict_interval(new, coverage)
        assert quick.shape == interval.shape and model._loo is None
        np.testing.assert_allclose(quick, interval, rtol=1e-8)
        np.testing.assert_array_equal(model.predict_interval(new, coverage), quick)  # and the quantile is remembered


@pytest.mark.usefixtures("mixed_from_ten_rows")
def test_a_second_coverage_computes_all_residuals_once(data: tuple[Any, ...]) -> None:
    X, Y, _, new = data
    model = KernelRidge(Gaussian(1.5), alpha=0.1).fit(X, Y[:, 0])
    first = model.predict_interval(new, 0.9)
    assert model._loo is None
    model.predict_interval(new, 0.5)
    assert model._loo is not None
    np.testing.assert_allclose(model.predict_interval(new, 0.9), first, rtol=1e-9)
    assert np.isinf(KernelRidge(Gaussian(1.5), alpha=0.1).fit(X, Y[:, 0]).predict_interval(new, 0.9999)).all()


@pytest.mark.usefixtures("mixed_from_ten_rows")
def test_where_the_quantile_is_not_to_be_had_all_residuals_answer(
    data: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    X, Y, _, new = data
    model = KernelRidge(Gaussian(1.5), alpha=0.1)
    wanted = model.fit(X, Y).predict_interval(new)
    monkeypatch.setattr(ridge_mixed, "loo_quantile", lambda *arguments, **options: None)
    np.testing.assert_allclose(model.fit(X, Y).predict_interval(new), wanted, rtol=1e-8)
    assert model._loo is not None


@pytest.mark.usefixtures("mixed_from_ten_rows")
def test_residuals_that_are_known_are_used(data: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    X, Y, _, new = data
    model = KernelRidge(Gaussian(1.5), alpha=0.1).fit(X, Y[:, 0])
    assert model.loo_residuals_.shape == (N,)
    monkeypatch.setattr(kernel_ridge, "mixed_radii", no_residuals)
    assert model.predict_interval(new).shape == (20, 2)


@pytest.mark.usefixtures("mixed_from_ten_rows")
def test_a_saved_model_remembers_the_quantile(
    data: tuple[Any, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, Y, _, new = data
    model = KernelRidge(Gaussian(1.5), alpha=0.1, fit_intercept=True).fit(X, Y[:, 0])
    interval = model.predict_interval(new)
    mercer.save(model, tmp_path / "model.mercer")
    again = mercer.load(tmp_path / "model.mercer")
    monkeypatch.setattr(kernel_ridge, "mixed_radii", no_residuals)
    np.testing.assert_array_equal(again.predict_interval(new), interval)
