"""Estimators on rows in chunks: the model of the same rows in memory, in as many passes as the plan says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tests.cluster.cases import CASES, LABELS, NEW, STEP, Case, X, Y

import mercer
from mercer.errors import CapabilityError, InputError
from mercer.estimators.base import KernelEstimator


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_model_of_chunks_is_that_of_the_rows(case: Case) -> None:
    chunked = case.says(case.fit(mercer.chunks(X, case.target, rows=STEP)))
    whole = case.says(case.fit(mercer.chunks(X, case.target, rows=len(X))))
    np.testing.assert_allclose(chunked, whole, rtol=0, atol=1e-7 * np.abs(whole).max())


@pytest.mark.parametrize(
    "make",
    [
        lambda: mercer.KernelRidge(alpha=0.1, n_components=60, solver="nystroem"),
        lambda: mercer.KernelRidge(alpha=0.1, n_components=60, solver="nystroem", fit_intercept=True),
        lambda: mercer.KernelRidge(mercer.Polynomial(2), fit_intercept=True),
        lambda: mercer.KernelRidge(alpha=30.0, solver="cg"),
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_ridge_on_chunks_is_ridge_in_memory(make: Any, weighted: bool) -> None:
    w = np.random.default_rng(3).integers(1, 4, len(X)).astype(float) if weighted else None
    kernel = mercer.Gaussian(2.0) if weighted else None  # a weighted median takes other rows
    here, there = (make() if kernel is None or make().kernel == mercer.Polynomial(2) else make().set_params(kernel=kernel)
                   for _ in range(2))  # fmt: skip
    here.fit(X, Y, w)
    there.fit(mercer.chunks(X, Y, w, rows=STEP))
    np.testing.assert_allclose(there.predict(NEW), here.predict(NEW), rtol=0, atol=1e-6)


def test_several_targets_each_with_its_alpha() -> None:
    T = np.column_stack([Y, Y**2])
    for kernel, solver in ((mercer.Polynomial(2), "primal"), (mercer.Gaussian(2.0), "nystroem")):
        model = mercer.KernelRidge(kernel, alpha=[0.1, 10.0], n_components=50, solver=solver)
        there = model.fit(mercer.chunks(X, T, rows=STEP)).predict(NEW)
        np.testing.assert_allclose(there, model.fit(X, T).predict(NEW), atol=1e-7)


def test_random_features_are_those_of_the_rows() -> None:
    kernel = mercer.Gaussian("median")
    here = mercer.RandomFourierFeatures(kernel, n_components=20, random_state=0).fit(X)
    there = mercer.RandomFourierFeatures(kernel, n_components=20, random_state=0).fit(mercer.chunks(X, rows=STEP))
    assert there.kernel_ == here.kernel_
    np.testing.assert_allclose(there.transform(NEW), here.transform(NEW), atol=1e-12)


@pytest.mark.parametrize("rule", ["rpcholesky", "uniform", X[:7]])
def test_nystroem_draws_the_same_landmarks(rule: Any) -> None:
    here = mercer.Nystroem(n_components=20, landmarks=rule, random_state=0).fit(X)
    there = mercer.Nystroem(n_components=20, landmarks=rule, random_state=0).fit(mercer.chunks(X, rows=STEP))
    np.testing.assert_array_equal(there.components_, here.components_)
    np.testing.assert_array_equal(there.transform(NEW), here.transform(NEW))
    assert there.missed_ == here.missed_


@pytest.mark.parametrize("solver", ["nystroem", "fourier"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_surface_of_chunks_is_that_of_the_rows(solver: str, weighted: bool) -> None:
    w = np.random.default_rng(3).integers(1, 4, len(X)).astype(float) if weighted else None
    settings: dict[str, Any] = {"n_components": 40, "solver": solver, "alphas": [0.01, 1.0], "length_scales": [1.0, 3.0]}
    for T in (Y, np.column_stack([Y, Y**2])):
        here = mercer.KernelRidgeCV(mercer.Gaussian(1.0), **settings).fit(X, T, w)
        there = mercer.KernelRidgeCV(mercer.Gaussian(1.0), **settings).fit(mercer.chunks(X, T, w, rows=STEP))
        np.testing.assert_allclose(there.surface_.mean_scores, here.surface_.mean_scores, rtol=1e-6)
        np.testing.assert_allclose(there.cv_results_["std_test_score"], here.cv_results_["std_test_score"], rtol=1e-5)
        assert there.best_params_ == here.best_params_
        np.testing.assert_allclose(there.predict(NEW), here.predict(NEW), atol=1e-6)


def test_a_grid_of_our_own_is_narrowed_on_a_sample() -> None:
    n = 2500
    rows = np.random.default_rng(1).normal(size=(n, 2))
    y = np.sin(rows[:, 0])
    model = mercer.KernelRidgeCV(n_components=50).fit(mercer.chunks(rows, y, rows=600))
    here = mercer.KernelRidgeCV(n_components=50, solver="nystroem").fit(rows, y)
    assert model.best_length_scale_ == here.best_length_scale_ and model.best_alpha_ == here.best_alpha_
    with pytest.raises(InputError, match="leave cv=None"):
        mercer.KernelRidgeCV(cv=5).fit(mercer.chunks(rows, y))


def test_means_balls_and_components_are_those_of_the_rows() -> None:
    weights = np.random.default_rng(3).integers(0, 4, len(X)).astype(float)
    for kernel in (mercer.Gaussian(2.0), mercer.Linear()):
        here = mercer.NearestMean(kernel).fit(X, LABELS, weights)
        there = mercer.NearestMean(kernel).fit(mercer.chunks(X, LABELS, weights, rows=STEP))
        np.testing.assert_allclose(there.predict_proba(NEW), here.predict_proba(NEW), atol=1e-9)
        np.testing.assert_allclose(there.loo_scores_, here.loo_scores_, atol=1e-9)
        ball = mercer.NoveltyBall(kernel).fit(X)
        other = mercer.NoveltyBall(kernel).fit(mercer.chunks(X, rows=STEP))
        np.testing.assert_allclose(other.score_samples(NEW), ball.score_samples(NEW), atol=1e-9)
        np.testing.assert_allclose(other.p_values(NEW), ball.p_values(NEW))
        assert other.guaranteed_radius_ == pytest.approx(ball.guaranteed_radius_)
    for w in (None, weights):
        settings = {"n_components": 3, "eigen_solver": "landmarks", "n_landmarks": 80}
        here = mercer.KernelPCA(mercer.Gaussian(2.0), **settings)
        here.fit(X if w is None else X[w > 0], sample_weight=None if w is None else w[w > 0])
        there = mercer.KernelPCA(mercer.Gaussian(2.0), **settings)
        there.fit(mercer.chunks(X if w is None else X[w > 0], None, None if w is None else w[w > 0], rows=STEP))
        np.testing.assert_allclose(there.transform(NEW), here.transform(NEW), atol=1e-7)
        np.testing.assert_allclose(there.eigenvalues_, here.eigenvalues_, rtol=1e-8)
        np.testing.assert_allclose(there.explained_variance_ratio_, here.explained_variance_ratio_, rtol=1e-7)
        np.testing.assert_allclose(there.score_samples(NEW), here.score_samples(NEW), atol=1e-7)
    with pytest.raises(InputError, match="on chunks it is 'landmarks'"):
        mercer.KernelPCA(n_components=2, eigen_solver="eigh").fit(mercer.chunks(X, rows=STEP))


def test_classes_that_are_not_in_every_chunk() -> None:
    order = np.argsort(LABELS, kind="stable")  # the first chunks hold one class only
    model = mercer.KernelRidgeClassifier(n_components=60).fit(mercer.chunks(X[order], LABELS[order], rows=STEP))
    assert model.classes_.tolist() == ["high", "low", "middle"]
    here = mercer.KernelRidgeClassifier(n_components=60, solver="nystroem").fit(X[order], LABELS[order])
    np.testing.assert_allclose(model.decision_function(NEW), here.decision_function(NEW), atol=1e-7)


def test_strings_and_graphs_come_in_chunks() -> None:
    words = ["".join(np.random.default_rng(i).choice(list("acgt"), 8)) for i in range(60)]
    y = np.array([word.count("a") for word in words], dtype=float)
    kernel = mercer.Spectrum(p=2)
    here = mercer.KernelRidge(kernel, solver="nystroem", n_components=30).fit(words, y).predict(words)
    there = mercer.KernelRidge(kernel, n_components=30).fit(mercer.chunks(words, y, rows=7))
    np.testing.assert_allclose(there.predict(words), here, atol=1e-6)
    graphs = [mercer.Graph(4, [(0, 1), (1, 2)][: 1 + i % 2], node_labels=[i % 3] * 4) for i in range(20)]
    kernel = mercer.VertexHistogram()  # type: ignore[assignment]
    here = mercer.KernelRidge(kernel, solver="nystroem").fit(graphs, y[:20]).predict(graphs)
    there = mercer.KernelRidge(kernel).fit(mercer.chunks(graphs, y[:20], rows=6)).predict(graphs)  # type: ignore[assignment]
    np.testing.assert_allclose(there, here, atol=1e-6)


def test_the_plan_says_the_passes_that_a_fit_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    import mercer.estimators.base as base

    seen: list[Any] = []
    inner = base.KernelEstimator._read_chunks
    monkeypatch.setattr(base.KernelEstimator, "_read_chunks", lambda *given: seen.append(inner(*given)) or seen[-1])

    def parts() -> Iterator[Any]:
        return ((X[i : i + STEP], Y[i : i + STEP]) for i in range(0, len(X), STEP))

    for given in (lambda: mercer.chunks(X, Y, rows=STEP), lambda: mercer.chunks(parts)):
        for model in (
            mercer.KernelRidge(n_components=50),
            mercer.KernelRidge(mercer.Gaussian(1.0), n_components=50, solver="fourier"),
            mercer.KernelRidge(mercer.Polynomial(2)),
            mercer.KernelRidge(mercer.Gaussian(1.0), alpha=100.0, solver="cg"),
            mercer.Nystroem(n_components=10, landmarks="uniform"),
            mercer.Nystroem(n_components=10),
            mercer.RandomFourierFeatures(),
            mercer.NoveltyBall(mercer.Linear()),
            mercer.KernelRidgeCV(n_components=20, alphas=[1.0], length_scales=[1.0, 2.0]),
            mercer.NoveltyBall(),
            mercer.NoveltyDetector(max_rows=100, contamination=0.1),
            mercer.KernelPCA(n_components=2, n_landmarks=30),
            mercer.GaussianProcessRegressor(noise=0.1, optimizer=None, solver="inducing", n_inducing=30),
        ):
            planned = mercer.plan(model, given()).route
            model.fit(given())
            assert planned.passes == seen[-1].X.passes, (model, planned)
            assert f"{planned.passes} pass" in str(planned)


def test_an_iterator_is_read_once() -> None:
    def parts() -> Iterator[Any]:
        return ((X[i : i + STEP], Y[i : i + STEP]) for i in range(0, len(X), STEP))

    model = mercer.KernelRidge(mercer.Gaussian(2.0), alpha=0.1, solver="fourier", n_components=60).fit(parts())
    again = mercer.KernelRidge(mercer.Gaussian(2.0), alpha=0.1, solver="fourier", n_components=60)
    np.testing.assert_allclose(model.predict(NEW), again.fit(mercer.chunks(X, Y, rows=STEP)).predict(NEW), atol=1e-9)
    assert model.route_.passes == 1
    with pytest.raises(InputError, match="an iterator is read once"):
        mercer.KernelRidge(solver="cg").fit(parts())
    with pytest.raises(InputError, match="pass of its own, and an iterator is read once"):
        mercer.KernelRidgeClassifier().fit((x, np.sign(y)) for x, y in parts())
    used = parts()
    next(used)
    list(used)
    with pytest.raises(InputError, match="all chunks are empty"):
        mercer.KernelRidge().fit(used)
    with pytest.raises(InputError, match="plan looks at the first chunk"):
        mercer.plan(mercer.KernelRidge(), parts())


def test_what_needs_the_rows_says_that_they_are_gone() -> None:
    model = mercer.KernelRidge(n_components=20).fit(mercer.chunks(X, Y, rows=STEP))
    for name in ("loo_residuals_", "leverage_", "dual_coef_"):
        with pytest.raises(InputError, match="which a fit by chunks does not keep"):
            getattr(model, name)
    assert "passes over the chunks" in str(model)
    with pytest.raises(InputError, match="huber"):
        mercer.KernelRidge(loss="huber").fit(mercer.chunks(X, Y, rows=STEP))
    with pytest.raises(InputError, match="alpha > 0"):
        mercer.KernelRidge(alpha=0.0).fit(mercer.chunks(X, Y, rows=STEP))
    with pytest.raises(InputError, match="kmeans"):
        mercer.Nystroem(landmarks="kmeans").fit(mercer.chunks(X, rows=STEP))


def test_a_model_of_chunks_is_saved_and_loaded(tmp_path: Any) -> None:
    pytest.importorskip("skops")
    for model, y in (
        (mercer.KernelRidge(n_components=20), Y),
        (mercer.KernelRidge(mercer.Polynomial(2)), Y),
        (mercer.KernelRidgeClassifier(n_components=20), LABELS),
        (mercer.NearestMean(), LABELS),
        (mercer.KernelPCA(n_components=2, n_landmarks=20), None),
        (mercer.GaussianProcessRegressor(noise=0.1, optimizer=None, solver="inducing", n_inducing=20), Y),
        (mercer.GaussianProcessClassifier(optimizer=None, solver="inducing", n_inducing=20), LABELS),
        (mercer.KernelLogisticRegression(n_components=20), LABELS),
    ):
        model.fit(mercer.chunks(X, y, rows=STEP))
        mercer.save(model, tmp_path / "model.mercer")
        name = "transform" if y is None else "predict"
        there = getattr(mercer.load(tmp_path / "model.mercer"), name)(NEW)
        np.testing.assert_array_equal(there, getattr(model, name)(NEW))


def _everything() -> list[type]:
    found = [getattr(mercer, name) for name in mercer.__all__]
    return [cls for cls in found if isinstance(cls, type) and issubclass(cls, KernelEstimator) and not cls._takes_chunks]


@pytest.mark.parametrize("cls", _everything(), ids=lambda cls: cls.__name__)
def test_the_others_say_that_they_cannot_and_what_to_use(cls: type) -> None:
    with pytest.raises(CapabilityError, match=r"cannot be fitted by chunks: .* Use \w+"):
        cls().fit(mercer.chunks(X, LABELS, rows=STEP))


def test_predictions_of_chunks_come_chunk_by_chunk() -> None:
    model = mercer.KernelRidge(n_components=20).fit(X, Y)
    answers = model.predict(mercer.chunks(X, rows=STEP))
    assert not isinstance(answers, np.ndarray)
    np.testing.assert_allclose(np.concatenate(list(answers)), model.predict(X), atol=1e-12)


def test_a_fit_in_memory_after_one_on_chunks_keeps_its_rows_again() -> None:
    model = mercer.KernelRidge(mercer.Gaussian(1.0), n_components=20).fit(mercer.chunks(X, Y, rows=STEP))
    assert not hasattr(model, "X_fit_")
    model.fit(X, Y)
    assert model.X_fit_ is X and model.loo_residuals_.shape == Y.shape
