"""Many landmarks by conjugate gradients, and leave-one-out without the Gram matrix, against the direct routes."""

from __future__ import annotations

import numpy as np
import pytest

import mercer
from mercer import Gaussian, KernelRidge, KernelRidgeClassifier, Matern, Spectrum
from mercer.estimators.ridge import many_landmarks, routes

RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, size=(500, 2))
Y = np.sin(3 * X[:, 0]) * X[:, 1] + 0.2 * RNG.normal(size=500) + 5.0
W = RNG.random(500) + 0.2
NEW = RNG.uniform(-2, 2, size=(60, 2))


@pytest.mark.parametrize("held", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_all_rows_as_landmarks_are_exact(
    monkeypatch: pytest.MonkeyPatch, fit_intercept: bool, weighted: bool, held: bool
) -> None:
    if not held:
        monkeypatch.setattr(many_landmarks, "_held", lambda n, m, memory: 0)
        monkeypatch.setattr(many_landmarks, "BLOCK", 1 << 15)
    weights = W if weighted else None
    exact, model = (
        KernelRidge(Matern(1.5), alpha=0.1, fit_intercept=fit_intercept, **more).fit(X, Y, weights)
        for more in ({}, {"solver": "nystroem-cg", "n_components": 500})
    )
    assert model.route_.solver == "nystroem-cg" and not model.route_.exact and model.n_iter_ < 60
    assert np.abs(model.predict(NEW) - exact.predict(NEW)).max() < 1e-4
    assert np.isclose(model.rkhs_norm_, exact.rkhs_norm_, rtol=1e-3)
    assert abs(model.effective_dof_ - exact.effective_dof_) < 0.1 * exact.effective_dof_
    assert abs(np.std(model.loo_residuals_) / np.std(exact.loo_residuals_) - 1.0) < 0.1


def test_the_same_landmarks_give_the_function_of_the_direct_route() -> None:
    model = KernelRidge(Gaussian(0.8), alpha=0.1, solver="nystroem-cg", n_components=80, fit_intercept=True).fit(X, Y)
    Z = model._problem.features(X)
    Z = np.column_stack([Z, np.ones(len(Z))])
    penalty = 0.1 * np.eye(81)
    penalty[-1, -1] = 0.0
    w = np.linalg.solve(Z.T @ Z + penalty, Z.T @ Y)
    assert np.abs(model.predict(X) - Z @ w).max() < 1e-4


def test_targets_with_an_alpha_each_classes_strings_and_files(tmp_path: object) -> None:
    targets = np.column_stack([Y, -Y])
    exact, model = (
        KernelRidge(Matern(1.5), alpha=[0.1, 1.0], **more).fit(X, targets)
        for more in ({}, {"solver": "nystroem-cg", "n_components": 500})
    )
    assert np.abs(model.predict(NEW) - exact.predict(NEW)).max() < 1e-4
    assert model.loo_residuals_.shape == (500, 2) and np.shape(model.effective_dof_) == (2,)
    mercer.save(model, f"{tmp_path}/m.mercer")
    assert np.array_equal(mercer.load(f"{tmp_path}/m.mercer").predict(NEW), model.predict(NEW))
    classes = np.digitize(Y, [4.5, 5.5])
    chosen = KernelRidgeClassifier(Gaussian(0.7), alpha=0.1, solver="nystroem-cg", n_components=300).fit(X, classes)
    assert chosen.score(X, classes) > 0.85
    texts = ["abab", "abba", "xyxy", "yxyx"] * 5
    found = KernelRidgeClassifier(Spectrum(2), alpha=0.1, solver="nystroem-cg", n_components=10).fit(texts, [0, 0, 1, 1] * 5)
    assert found.score(texts, [0, 0, 1, 1] * 5) == 1.0


def test_auto_takes_them_where_many_landmarks_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "MOST_ROWS_OF_CG", 100)
    monkeypatch.setattr(many_landmarks, "FEWEST", 40)
    monkeypatch.setattr(many_landmarks, "BLOCK", 1 << 12)
    for m, solver in ((20, "nystroem"), (60, "nystroem-cg")):
        offered = routes.ridge_routes(KernelRidge()._shape(X), "auto", False, m)
        assert [route.solver for route in offered] == ["cholesky", solver]


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_leave_one_out_without_the_gram_matrix(fit_intercept: bool, weighted: bool) -> None:
    weights = W if weighted else None
    exact, model = (
        KernelRidge(Matern(1.5, length_scale=0.5), alpha=0.2, fit_intercept=fit_intercept, solver=solver).fit(X, Y, weights)
        for solver in ("cholesky", "cg")
    )
    off = model.leverage_ - exact.leverage_
    assert np.abs(off).max() < 0.15 and np.sqrt(np.mean(off**2)) < 0.02
    assert abs(model.effective_dof_ / exact.effective_dof_ - 1.0) < 0.02
    assert np.sqrt(np.mean((model.loo_residuals_ - exact.loo_residuals_) ** 2)) < 0.05 * np.std(exact.loo_residuals_)
    near, far = model.predict_interval(NEW), exact.predict_interval(NEW)
    assert np.abs(near - far).max() < 0.05 * np.ptp(far, axis=1).max()
