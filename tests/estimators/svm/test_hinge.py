"""The hinge loss on landmarks: the exact machine at full rank, its certificate, several classes, weights, routes, files."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import mercer
from mercer import SVC, Gaussian, Precomputed, Spectrum
from mercer.errors import CapabilityError, InputError
from mercer.estimators.svm import hinge


@pytest.fixture
def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    return X, (X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=400) > 0).astype(int)


def both(X: np.ndarray, y: np.ndarray, weights: np.ndarray | None = None, **more: object) -> tuple[SVC, SVC]:
    kernel = Gaussian(0.8)
    exact = SVC(kernel, solver="exact", tol=1e-5, **more).fit(X, y, weights)
    return exact, SVC(kernel, solver="nystroem", n_components=len(X), **more).fit(X, y, weights)


@pytest.mark.parametrize("held", [True, False])
@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
def test_as_many_landmarks_as_the_rank_are_exact(
    monkeypatch: pytest.MonkeyPatch, data: tuple[np.ndarray, np.ndarray], C: float, held: bool
) -> None:
    if not held:
        monkeypatch.setattr(hinge, "_held", lambda n, m, memory: 0)
        monkeypatch.setattr(hinge, "BLOCK", 1 << 12)
    exact, model = both(*data, C=C)
    assert model.route_.solver == "nystroem" and not model.route_.exact and model.fit_status_ == 0
    assert abs(model.primal_objective_ - exact.primal_objective_) < 1e-3 * exact.primal_objective_
    # landmarks end where pivots are rounding, so that the Gram of the features is a little below the exact one
    assert model.dual_objective_ <= exact.primal_objective_ * (1 + 1e-7)
    assert 0 <= model.duality_gap_ < 1e-3 * model.primal_objective_
    assert np.abs(model.decision_function(data[0]) - exact.decision_function(data[0])).max() < 0.03
    assert np.mean(model.predict(data[0]) == exact.predict(data[0])) > 0.99


def test_the_objective_is_the_one_stated(data: tuple[np.ndarray, np.ndarray]) -> None:
    """From decision values and the norm of f alone: 1/2 ||w||^2 + C sum of max(0, 1 - y f)."""
    X, y = data
    model = SVC(Gaussian(0.8), C=2.0, solver="nystroem", n_components=40).fit(X, y)
    c = model.dual_coef_[0]
    norm = c @ Gaussian(0.8)(model.support_vectors_) @ c
    loss = np.maximum(0.0, 1.0 - np.where(y, 1.0, -1.0) * model.decision_function(X)).sum()
    assert np.isclose(0.5 * norm + 2.0 * loss, model.primal_objective_, rtol=1e-5)
    assert len(model.support_) <= 40 and np.array_equal(model.support_vectors_, X[model.support_])
    assert np.isnan(model.loo_bound_) and 1.0 / model.margin_ == pytest.approx(np.sqrt(norm), rel=1e-5)


def test_a_start_from_some_rows_ends_at_the_same_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hinge, "START", 2)
    rng = np.random.default_rng(1)
    X = rng.normal(size=(16_000, 2))
    y = (np.sin(2 * X[:, 0]) > X[:, 1]).astype(int)
    warm = SVC(Gaussian(1.0), solver="nystroem", n_components=30).fit(X, y)
    monkeypatch.setattr(hinge, "START", 2000)
    cold = SVC(Gaussian(1.0), solver="nystroem", n_components=30).fit(X, y)
    assert np.isclose(warm.primal_objective_, cold.primal_objective_, rtol=1e-3)
    assert warm.duality_gap_ < 2e-3 * warm.primal_objective_


def test_several_classes_weights_and_probabilities(data: tuple[np.ndarray, np.ndarray]) -> None:
    X, _ = data
    y = np.array(["c", "a", "b"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    w = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    exact, model = both(X, y, w, class_weight={"a": 2.0, "b": 1.0, "c": 1.0})
    assert np.abs(model.decision_function(X) - exact.decision_function(X)).max() < 0.02
    assert np.isclose(model.primal_objective_, exact.primal_objective_, rtol=1e-3)
    p = model.predict_proba(X)
    assert np.array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))
    assert np.abs(p - exact.predict_proba(X)).mean() < 0.05


def test_strings_and_files(tmp_path: object) -> None:
    texts, labels = ["abab", "abba", "xyxy", "yxyx"] * 5, [0, 0, 1, 1] * 5
    model = SVC(Spectrum(2), solver="nystroem", n_components=4).fit(texts, labels)
    assert model.score(texts, labels) == 1.0
    mercer.save(model, f"{tmp_path}/h.mercer")
    again = mercer.load(f"{tmp_path}/h.mercer")
    assert np.array_equal(again.decision_function(texts), model.decision_function(texts))
    assert "hinge loss" in str(again)


def test_auto_leaves_the_exact_machine_beyond_the_budget_and_says_so_once(data: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = np.tile(data[0], (6, 1)), np.tile(data[1], 6)
    small = SVC(Gaussian(0.8), n_components=10, memory="1.2 MB")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = small.fit(X, y)
    said = [str(w.message) for w in caught if "nystroem is taken, which is not exact" in str(w.message)]
    assert model.route_.solver == "nystroem" and len(said) == 1
    assert mercer.plan(small, X, y).route.solver == "nystroem"
    assert mercer.plan(small.set_params(solver="exact"), X, y).route.solver != "nystroem"
    assert mercer.plan(SVC(Gaussian(0.8), C=np.inf, memory="1.2 MB"), X, y).route.solver != "nystroem"


def test_one_landmark_of_each_class_and_more_than_rows(data: tuple[np.ndarray, np.ndarray]) -> None:
    model = SVC(Gaussian(0.8), solver="nystroem", n_components=1).fit(*data)
    assert model.n_support_.tolist() == [1, 1]
    assert SVC(Gaussian(0.8), solver="nystroem", n_components=9999).fit(*data).score(*data) > 0.8


def test_limits_leave_a_usable_model(data: tuple[np.ndarray, np.ndarray]) -> None:
    with pytest.warns(UserWarning, match="stopped early"):
        model = SVC(Gaussian(0.8), solver="nystroem", n_components=50, max_iter=3).fit(*data)
    assert model.fit_status_ == 1 and model.score(*data) > 0.7 and model.duality_gap_ > 0


@pytest.mark.parametrize(
    ("model", "X", "words"),
    [
        (SVC(solver="best"), np.arange(8.0).reshape(4, 2), "solver must be one of"),
        (SVC(solver="nystroem", C=np.inf), np.arange(8.0).reshape(4, 2), "finite C"),
        (SVC(solver="nystroem", n_components=0), np.arange(8.0).reshape(4, 2), "n_components must be"),
        (SVC(Precomputed(), solver="nystroem"), np.eye(4), "precomputed"),
        (SVC(solver="nystroem"), np.full((4, 2), np.nan), "NaN"),
    ],
)
def test_refusals(model: SVC, X: np.ndarray, words: str) -> None:
    with pytest.raises((InputError, CapabilityError, ValueError), match=words):
        model.fit(X, [0, 0, 1, 1])
