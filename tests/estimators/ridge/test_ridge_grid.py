"""Ridge on a grid of frequencies against the exact fit: values, intercept, weights, targets, search, files."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest
from sklearn.model_selection import KFold

import mercer
from mercer import Gaussian, KernelRidge, KernelRidgeClassifier, KernelRidgeCV, Matern
from mercer.errors import InputError
from mercer.kernels.base import Kernel

pytest.importorskip("finufft")

RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, size=(700, 2))
Y = np.sin(3 * X[:, 0]) * X[:, 1] + 0.1 * RNG.normal(size=700) + 3.0
W = RNG.random(700) + 0.2


@pytest.mark.parametrize("kernel", [Gaussian(0.8), Matern(2.5)], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_the_exact_fit(kernel: Kernel, fit_intercept: bool, weighted: bool) -> None:
    weights = W if weighted else None
    exact, model = (
        KernelRidge(kernel, alpha=0.1, fit_intercept=fit_intercept, solver=solver).fit(X, Y, weights)
        for solver in ("auto", "fourier")
    )
    assert np.abs(model.predict(X) - exact.predict(X)).max() < 1e-3
    assert abs(model.rkhs_norm_ - exact.rkhs_norm_) < 2e-3 * exact.rkhs_norm_
    assert abs(model.effective_dof_ - exact.effective_dof_) < 0.08 * exact.effective_dof_ + fit_intercept
    assert np.sqrt(np.mean((model.loo_residuals_ - exact.loo_residuals_) ** 2)) < 0.12 * np.std(exact.loo_residuals_)
    assert "at lag zero" in model._fitted.message


def test_several_targets() -> None:
    targets = np.column_stack([Y, -2 * Y])
    exact, model = (KernelRidge(Gaussian(0.8), alpha=[0.1, 1.0], solver=s).fit(X, targets) for s in ("auto", "fourier"))
    assert np.abs(model.predict(X[:40]) - exact.predict(X[:40])).max() < 2e-3
    assert model.loo_residuals_.shape == (700, 2)


@pytest.mark.slow
def test_the_search_ranks_as_leave_one_out_does() -> None:
    grid = {"alphas": [0.01, 0.1, 1.0], "length_scales": [0.5, 1.0, 2.0], "fit_intercept": True}
    exact, model = (KernelRidgeCV(Gaussian(1.0), solver=s, **grid).fit(X, Y) for s in ("auto", "fourier"))
    for i, scale in enumerate(grid["length_scales"]):
        for j, alpha in enumerate(grid["alphas"]):
            one = KernelRidge(Gaussian(scale), alpha=alpha, fit_intercept=True).fit(X, Y)
            generalized = np.mean((Y - one.predict(X)) ** 2) / (1.0 - one.effective_dof_ / len(Y)) ** 2
            assert abs(-model.surface_.scores[i, j] / generalized - 1.0) < 0.06
    best = exact.surface_.scores.max()
    assert exact.surface_.scores[model.best_index_] > best - 0.05 * abs(best)


def test_intervals_cover() -> None:
    rng = np.random.default_rng(1)
    new = rng.uniform(-2, 2, size=(2000, 2))
    truth = np.sin(3 * new[:, 0]) * new[:, 1] + 0.1 * rng.normal(size=2000) + 3.0
    low, high = KernelRidge(Gaussian(0.8), alpha=0.1, solver="fourier").fit(X, Y).predict_interval(new, coverage=0.9).T
    assert 0.85 < np.mean((low <= truth) & (truth <= high)) < 0.95


def test_files(tmp_path: object) -> None:
    model = KernelRidge(Gaussian(0.8), alpha=0.1, solver="fourier").fit(X, Y)
    mercer.save(model, f"{tmp_path}/g.mercer")
    assert np.array_equal(mercer.load(f"{tmp_path}/g.mercer").predict(X), model.predict(X))


def test_refusals() -> None:
    with pytest.raises(InputError, match="alpha > 0"):
        KernelRidge(Gaussian(0.8), alpha=0.0, solver="fourier").fit(X, Y)


@pytest.mark.parametrize(
    "scoring", ["neg_mean_squared_error", "neg_root_mean_squared_error", "neg_mean_absolute_error", "r2"]
)
def test_folds_are_fits_without_them(scoring: str) -> None:
    """Sums of the folds against refits on the rows that are left, weighted, with an intercept."""
    alphas, scales, folds = [0.1, 1.0], [0.5, 1.0], KFold(3, shuffle=True, random_state=0)
    model = KernelRidgeCV(
        Gaussian(1.0), alphas=alphas, length_scales=scales, cv=folds, scoring=scoring, solver="fourier", fit_intercept=True
    ).fit(X, Y, W if scoring != "r2" else None)
    exact = KernelRidgeCV(
        Gaussian(1.0), alphas=alphas, length_scales=scales, cv=folds, scoring=scoring, fit_intercept=True
    ).fit(X, Y, W if scoring != "r2" else None)
    np.testing.assert_allclose(model.surface_.scores, exact.surface_.scores, rtol=1e-2)
    np.testing.assert_allclose(model.surface_.split_scores, exact.surface_.split_scores, rtol=1e-2)


def test_parts_that_leave_rows_out_are_refitted() -> None:
    splits = [(np.arange(0, 400), np.arange(400, 600)), (np.arange(300, 700), np.arange(0, 200))]
    grid = {"alphas": [0.1], "length_scales": [0.8], "cv": splits}
    exact, model = (KernelRidgeCV(Gaussian(1.0), solver=s, **grid).fit(X, Y) for s in ("auto", "fourier"))
    np.testing.assert_allclose(model.surface_.split_scores, exact.surface_.split_scores, rtol=1e-2)


def test_many_frequencies_are_chosen_by_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no trace is at hand, folds stand for leave-one-out, and the model says so."""
    grid = {"alphas": [0.01, 0.1, 1.0], "length_scales": [0.5, 1.0, 2.0], "fit_intercept": True}
    exact = KernelRidgeCV(Gaussian(1.0), **grid).fit(X, Y)
    monkeypatch.setattr("mercer.estimators.ridge.grid.FEW_FREQUENCIES", 0)
    monkeypatch.setattr(import_module("mercer.grams.fourier_grid"), "DENSE", 0)
    model = KernelRidgeCV(Gaussian(1.0), solver="fourier", **grid).fit(X, Y)
    assert "5 splits, in place of leave-one-out" in model.surface_.how and model.surface_.split_scores.shape[2] == 5
    assert exact.surface_.scores[model.best_index_] > 1.05 * exact.surface_.scores.max()


def test_classes_in_two_columns() -> None:
    labels = np.digitize(Y, [2.5, 3.5])
    for folds in (None, 4):
        model = KernelRidgeClassifier(
            Gaussian(1.0), alpha="loo", alphas=[0.1, 1.0], length_scales=[0.5, 1.0], cv=folds, solver="fourier"
        ).fit(X, labels)
        exact = KernelRidgeClassifier(Gaussian(model.best_length_scale_), alpha=model.best_alpha_).fit(X, labels)
        assert np.mean(model.predict(X) != exact.predict(X)) < 0.01
        assert model.best_score_ > 0.85
