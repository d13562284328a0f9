"""Ridge beyond the Gram matrix: landmarks and Fourier features against the exact fit, surfaces, routes, memory."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import mercer
from mercer import Gaussian, KernelRidge, KernelRidgeClassifier, KernelRidgeCV, Linear, Matern, Spectrum
from mercer.errors import CapabilityError, InputError
from mercer.estimators.ridge import large, routes


def data(n: int = 400, targets: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(n, 2))
    y = np.sin(3 * X[:, 0]) * X[:, 1] + 0.05 * rng.normal(size=n) + 5.0
    Y = np.column_stack([y, -y, X[:, 0]])[:, :targets] if targets else y
    return X, Y, rng.random(n) + 0.1


@pytest.mark.parametrize("block", [1 << 12, 1 << 23])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_as_many_landmarks_as_the_rank_are_exact(
    monkeypatch: pytest.MonkeyPatch, fit_intercept: bool, weighted: bool, block: int
) -> None:
    monkeypatch.setattr(large, "BLOCK_NUMBERS", block)
    X, y, w = data()
    exact, model = (
        KernelRidge(Gaussian(1.0), alpha=0.1, fit_intercept=fit_intercept, **more).fit(X, y, w if weighted else None)
        for more in ({}, {"solver": "nystroem", "n_components": 400})
    )
    assert model.route_.solver == "nystroem" and not model.route_.exact
    for name in ("loo_residuals_", "leverage_", "dual_coef_", "rkhs_norm_", "intercept_", "effective_dof_"):
        assert np.abs(getattr(model, name) - getattr(exact, name)).max() < 1e-6
    assert np.abs(model.predict(X[:50]) - exact.predict(X[:50])).max() < 1e-8
    assert np.abs(model.predict_interval(X[:5]) - exact.predict_interval(X[:5])).max() < 1e-6


def test_several_targets_with_an_alpha_each() -> None:
    X, Y, _ = data(targets=3)
    exact, model = (
        KernelRidge(Gaussian(1.0), alpha=[0.1, 0.2, 0.1], **more).fit(X, Y)
        for more in ({}, {"solver": "nystroem", "n_components": 400})
    )
    for name in ("loo_residuals_", "leverage_", "dual_coef_", "effective_dof_"):
        assert np.abs(getattr(model, name) - getattr(exact, name)).max() < 1e-6


def test_fourier_features_converge_to_the_exact_fit() -> None:
    """In five columns the frequencies are random."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(1500, 5))
    y = np.sin(3 * X[:, 0]) * X[:, 1] + 0.05 * rng.normal(size=1500)
    exact = KernelRidge(Gaussian(1.0), alpha=1.0, fit_intercept=True).fit(X, y)
    errors = []
    for m in (50, 200, 1400):
        model = KernelRidge(Gaussian(1.0), alpha=1.0, fit_intercept=True, solver="fourier", n_components=m).fit(X, y)
        errors.append(np.sqrt(np.mean((model.predict(X) - exact.predict(X)) ** 2)))
    assert errors[2] < 0.03 and errors[2] < 0.4 * errors[0]
    assert np.abs(model.loo_residuals_ - exact.loo_residuals_).mean() < 0.03


def test_leave_one_out_is_a_refit_without_the_row() -> None:
    """With the same features, given as a precomputed finite map."""
    X, y, _ = data(60)
    model = KernelRidge(Matern(1.5), alpha=0.3, solver="nystroem", n_components=15, fit_intercept=True).fit(X, y)
    Z = model._problem.features(X)
    for i in (0, 17, 59):
        keep = np.arange(60) != i
        again = KernelRidge(Linear(), alpha=0.3, fit_intercept=True).fit(Z[keep], y[keep])
        assert np.isclose(y[i] - again.predict(Z[[i]])[0], model.loo_residuals_[i], atol=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_surface_of_features_is_the_exact_one_at_full_rank(weighted: bool) -> None:
    X, y, w = data(300)
    grid = {"alphas": [0.01, 0.1, 1.0], "length_scales": [0.5, 1.0], "fit_intercept": True}
    exact, model = (
        KernelRidgeCV(Gaussian(1.0), **grid, **more).fit(X, y, w if weighted else None)
        for more in ({}, {"solver": "nystroem", "n_components": 300})
    )
    assert np.abs(exact.surface_.scores - model.surface_.scores).max() < 1e-6
    assert np.abs(exact.surface_.standard_errors - model.surface_.standard_errors).max() < 1e-6
    assert exact.best_params_ == model.best_params_ and model.route_.solver == "nystroem"
    assert np.isclose(-np.average(model.loo_residuals_**2, weights=w if weighted else None), model.best_score_, atol=1e-8)


def test_classification_and_strings() -> None:
    X, y, _ = data()
    labels = np.digitize(y, [4.5, 5.5])
    model = KernelRidgeClassifier(Gaussian(0.7), alpha=0.1, solver="nystroem", n_components=200).fit(X, labels)
    assert model.score(X, labels) > 0.88
    tuned = KernelRidgeClassifier(Gaussian(0.7), alpha="loo", alphas=[0.1, 1.0], solver="nystroem", n_components=100)
    assert tuned.fit(X, labels).best_alpha_ in (0.1, 1.0)
    texts = ["abab", "abba", "xyxy", "yxyx"] * 5
    found = KernelRidgeClassifier(Spectrum(2), alpha=0.1, solver="nystroem", n_components=10).fit(texts, [0, 0, 1, 1] * 5)
    assert found.score(texts, [0, 0, 1, 1] * 5) == 1.0


def test_rows_in_float32_far_from_zero() -> None:
    X, y, _ = data()
    far = (X + 1e4).astype(np.float32)
    for solver in ("nystroem", "fourier"):
        near = KernelRidge(Gaussian(1.0), alpha=1.0, solver=solver, n_components=200).fit(far.astype(np.float64), y)
        model = KernelRidge(Gaussian(1.0), alpha=1.0, solver=solver, n_components=200).fit(far, y)
        assert np.abs(model.predict(far) - near.predict(far.astype(np.float64))).max() < 1e-3


def test_auto_goes_to_landmarks_beyond_the_budget_and_says_so_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "MOST_ROWS_OF_CG", 100)
    monkeypatch.setattr(large, "COMPONENTS", 50)
    monkeypatch.setattr(large, "BLOCK_NUMBERS", 1 << 12)
    X, y, _ = data()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = KernelRidge(Gaussian(1.0), alpha=0.1, memory="800 KB").fit(X, y)
    assert model.route_.solver == "nystroem"
    assert len([w for w in caught if "nystroem is taken, which is not exact" in str(w.message)]) == 1
    assert mercer.plan(KernelRidge(Gaussian(1.0), memory="800 KB"), X, y).route.solver == "nystroem"


def test_conjugate_gradients_with_landmarks_need_few_steps() -> None:
    X, y, w = data()
    exact = KernelRidge(Gaussian(1.0), alpha=0.01, fit_intercept=True).fit(X, y, w)
    plain, better = (
        KernelRidge(Gaussian(1.0), alpha=0.01, fit_intercept=True, solver="cg", n_components=m).fit(X, y, w)
        for m in (None, 150)
    )
    assert better.n_iter_ < 12 < plain.n_iter_
    assert np.abs(better.predict(X) - exact.predict(X)).max() < 1e-6
    assert "150 landmarks" in better.route_.reason


@pytest.mark.parametrize(
    ("model", "X", "words"),
    [
        (KernelRidge(Linear() + Gaussian(), solver="fourier"), np.ones((5, 2)), "Linear() has no spectral measure"),
        (KernelRidge(Spectrum(2), solver="fourier"), ["ab", "ba", "aa", "bb", "ab"], "takes vectors"),
        (KernelRidge(alpha=0.0, solver="nystroem"), np.arange(10.0).reshape(5, 2), "needs alpha > 0"),
        (KernelRidge(solver="nystroem", n_components=0), np.ones((5, 2)), "n_components must be"),
        (KernelRidge(solver="best"), np.ones((5, 2)), "solver must be one of"),
        (KernelRidgeCV(solver="cg"), np.arange(10.0).reshape(5, 2), "solver must be one of"),
        (KernelRidgeCV(solver="nystroem", cv=2), np.arange(10.0).reshape(5, 2), "chooses by leave-one-out"),
        (KernelRidgeCV(solver="nystroem", alphas=[0.0, 1.0]), np.arange(10.0).reshape(5, 2), "needs alphas > 0"),
    ],
)
def test_refusals(model: KernelRidge, X: object, words: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises((InputError, CapabilityError)) as error:
            model.fit(X, np.arange(5.0))
    assert words in str(error.value)


def test_jackknife_plus_is_refused_without_a_gram_matrix() -> None:
    X, y, _ = data(50)
    model = KernelRidge(Gaussian(1.0), solver="nystroem", n_components=20).fit(X, y)
    with pytest.raises(InputError, match="jackknife"):
        model.predict_interval(X, method="jackknife+")


def test_intervals_cover() -> None:
    """90 % intervals on new rows of the same law, with half the landmarks that would be needed."""
    rng = np.random.default_rng(1)
    X = rng.uniform(-2, 2, size=(3000, 2))
    y = np.sin(3 * X[:, 0]) * X[:, 1] + 0.2 * rng.normal(size=3000)
    model = KernelRidge(Gaussian(0.7), alpha=0.5, solver="nystroem", n_components=60).fit(X[:1500], y[:1500])
    low, high = model.predict_interval(X[1500:], coverage=0.9).T
    assert 0.87 < np.mean((low <= y[1500:]) & (y[1500:] <= high)) < 0.93


@pytest.mark.parametrize("solver", ["nystroem", "fourier"])
def test_files(tmp_path: object, solver: str) -> None:
    X, y, _ = data(80)
    model = KernelRidge(Gaussian(1.0), alpha=0.1, solver=solver, n_components=30).fit(X, y)
    mercer.save(model, f"{tmp_path}/m.mercer")
    again = mercer.load(f"{tmp_path}/m.mercer")
    assert np.array_equal(again.predict(X), model.predict(X))
    assert np.allclose(again.loo_residuals_, model.loo_residuals_)


def test_smooth_kernels_in_one_column_keep_their_digits() -> None:
    """Pivots of k(S, S) of 1e-10 would multiply the rounding of raw sums beyond a small penalty."""
    X = np.linspace(0, 1, 400)[:, None]
    y = np.sin(12 * X[:, 0])
    exact = KernelRidge(Gaussian(0.5), alpha=1e-4).fit(X, y)
    model = KernelRidge(Gaussian(0.5), alpha=1e-4, solver="nystroem", n_components=60).fit(X, y)
    assert np.abs(model.predict(X) - exact.predict(X)).max() < 1e-3
    tuned = KernelRidgeCV(
        Gaussian(0.5), alphas=[1e-6, 1e-3], length_scales=[0.3, 0.5], solver="nystroem", n_components=60
    ).fit(X, y)
    assert np.isfinite(tuned.surface_.scores).all()
