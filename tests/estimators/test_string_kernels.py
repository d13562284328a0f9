"""String kernels in every estimator and test: the model is that of the precomputed Gram matrix, whatever the kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import mercer
from mercer import AllSubstrings, GappedSpectrum, Kernel, Mismatch, Precomputed, Spectrum, Subsequence, WeightedDegree

rng = np.random.default_rng(5)
X = ["".join(rng.choice(list("ACGT"), n)) for n in rng.integers(5, 15, 36)]
NEW = ["".join(rng.choice(list("ACGT"), n)) for n in (0, 2, 8, 14)]
y = np.array([s.count("A") - s.count("CG") for s in X], dtype=float)
TWO, THREE = np.where(y > np.median(y), "many", "few"), np.array([s.count("A") % 3 for s in X])

KERNELS: dict[str, Kernel] = {
    "spectrum": Spectrum(2),
    "presence": Spectrum(2, presence=True),
    "blended": Spectrum(3, shortest=1, weights=(1.0, 0.5, 0.25)),
    "strands": Spectrum(2, reverse_complement=True),
    "mismatch": Mismatch(3, alphabet="ACGT"),
    "gapped": GappedSpectrum(2, gaps=1),
    "subsequence": Subsequence(2, decay=0.7),
    "weighted degree": WeightedDegree(3),
    "all substrings": AllSubstrings(0.5),
    "sum": 2.0 * Spectrum(1) + GappedSpectrum(2, gaps=1).normalized() + 0.5,
    "product": Spectrum(2).normalized() * Subsequence(2).normalized() + Spectrum(1),
    "exponential": (0.5 * Mismatch(2, alphabet="ACGT").normalized()).exp().normalized(),
    "power": (Spectrum(2).normalized() + 1.0) ** 2,
    "centered": Spectrum(2).normalized().centered(X[:5]),
}

# estimator, target; no "median" and no randomness beside the seed, so that two fits can be compared
ESTIMATORS: dict[str, tuple[Any, Any]] = {
    "ridge": (mercer.KernelRidge(alpha=0.3, fit_intercept=True), y),
    "ridge by products": (mercer.KernelRidge(alpha=0.3, solver="cg"), y),
    "ridge cv": (mercer.KernelRidgeCV(alphas=[0.1, 1.0]), y),
    "ridge classes": (mercer.KernelRidgeClassifier(alpha=0.3), THREE),
    "means": (mercer.NearestMean(), TWO),
    "perceptron": (mercer.KernelPerceptron(random_state=0, max_iter=20), TWO),
    "neighbors": (mercer.KernelKNeighborsClassifier(n_neighbors=3), TWO),
    "neighbors of numbers": (mercer.KernelKNeighborsRegressor(n_neighbors=3), y),
    "ball": (mercer.NoveltyBall(), None),
    "svc": (mercer.SVC(C=1.0, tol=1e-8), TWO),
    "svc, three classes": (mercer.SVC(C=1.0, tol=1e-8), THREE),
    "svr": (mercer.SVR(C=1.0, tol=1e-8), y),
    "one class": (mercer.OneClassSVM(tol=1e-8), None),
}


def output(model: Any, data: Any) -> Any:
    for method in ("decision_function", "score_samples", "predict"):
        if hasattr(model, method):
            return getattr(model, method)(data)
    raise AssertionError(model)


def compare(name: str, kernel: Kernel) -> None:
    estimator, target = ESTIMATORS[name]
    K, T = kernel(X), kernel(NEW, X)
    model = clone(estimator).set_params(kernel=kernel).fit(X, target)
    if name == "ball":  # this one and neighbors need k(x, x) of new rows too
        squared = kernel.diag(NEW) - 2.0 * T.mean(axis=1) + K.mean()
        assert np.allclose(output(model, NEW), model.radius_ - np.sqrt(np.maximum(squared, 0.0)), atol=1e-6)
        return
    if name.startswith("neighbors"):  # ties make sorting ambiguous; values are compared below
        assert len(output(model, NEW)) == len(NEW)
        return
    twin = clone(estimator).set_params(kernel=Precomputed()).fit(K, target)
    scale = 1.0 + np.abs(output(twin, T)).max()
    assert np.allclose(output(model, NEW), output(twin, T), atol=2e-6 * scale), name


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_kernel_runs_in_every_estimator(name: str) -> None:
    for kernel in KERNELS.values():
        compare(name, kernel)


def test_neighbors_without_ties() -> None:
    kernel = Subsequence(2, decay=0.71).normalized() + 0.01 * Subsequence(1, decay=0.3)
    K, T = kernel(X), kernel(NEW[2:], X)
    squared = kernel.diag(NEW[2:])[:, None] - 2.0 * T + np.diagonal(K)
    nearest = np.argsort(squared, axis=1, kind="stable")[:, :3]
    model = mercer.KernelKNeighborsRegressor(kernel, n_neighbors=3).fit(X, y)
    assert np.allclose(model.predict(NEW[2:]), y[nearest].mean(axis=1))


@pytest.mark.parametrize("name", KERNELS)
def test_gaussian_processes(name: str) -> None:
    """With fixed parameters the mean is that of kernel ridge."""
    process = mercer.GaussianProcessRegressor(KERNELS[name], noise=0.3, mean="zero", optimizer=None, normalize_y=False)
    ridge = mercer.KernelRidge(KERNELS[name], alpha=0.3)
    assert np.allclose(process.fit(X, y).predict(NEW), ridge.fit(X, y).predict(NEW), atol=1e-8)


@pytest.mark.parametrize("name", KERNELS)
def test_two_samples_and_independence(name: str) -> None:
    kernel = KERNELS[name]
    by_strings = mercer.mmd_test(X[:18], X[18:], kernel, n_permutations=99, random_state=0)
    K = kernel(X)
    inside = [K[:18, :18], K[18:, 18:]]
    unbiased = sum((part.sum() - np.trace(part)) / (18 * 17) for part in inside) - 2.0 * K[:18, 18:].mean()
    assert by_strings.statistic == pytest.approx(unbiased, abs=1e-10 * (1 + np.abs(K).max()))
    result = mercer.hsic_test(X, y.reshape(-1, 1), kernel, mercer.Linear(), n_permutations=99, random_state=0)
    assert 0.0 < result.pvalue <= 1.0


def test_the_length_is_chosen_by_cross_validation() -> None:
    model = mercer.KernelRidgeCV(Spectrum(1), param_grid={"p": [1, 2, 3]}).fit(X, y)
    assert model.kernel_.p in (1, 2, 3)  # type: ignore[attr-defined]
    loo = [mercer.KernelRidgeCV(Spectrum(p), alphas=[model.best_alpha_]).fit(X, y).best_score_ for p in (1, 2, 3)]
    assert np.argmax(loo) + 1 == model.kernel_.p  # type: ignore[attr-defined]
    classes = mercer.KernelRidgeClassifier(
        WeightedDegree(1).normalized(), alpha="loo", param_grid={"0__degree": [1, 2]}
    ).fit(X, TWO)
    assert classes.kernel_.get_params()["0__degree"] in (1, 2)
    search = GridSearchCV(mercer.SVC(Spectrum(1)), {"kernel__p": [1, 2], "C": [0.1, 1.0]}, cv=3).fit(X, TWO)
    assert search.best_params_["kernel__p"] in (1, 2)


@pytest.mark.parametrize("name", KERNELS)
def test_models_are_saved(name: str, tmp_path: Path) -> None:
    model = mercer.KernelRidgeClassifier(KERNELS[name], alpha=0.3).fit(X, TWO)
    mercer.save(model, tmp_path / "m.mercer")
    again = mercer.load(tmp_path / "m.mercer")
    assert again.kernel_ == model.kernel_
    assert np.array_equal(again.decision_function(NEW), model.decision_function(NEW))


def test_tokens_run_too() -> None:
    words = [[s[i : i + 2] for i in range(0, len(s), 2)] for s in X]
    model = mercer.SVC(Spectrum(1).normalized() + GappedSpectrum(1, gaps=1).normalized(), C=10.0).fit(words, TWO)
    assert model.score(words, TWO) > 0.7


@pytest.mark.parametrize(
    "wrong", [[b"AC", b"GT"], [1.0, 2.0], [None, "AC"], [["a", ["b"]], ["c"]], [], ["AC", ["A"]]], ids=str
)
@pytest.mark.parametrize("name", ["ridge", "svc", "means", "perceptron", "neighbors", "ball"])
def test_what_is_no_string_is_refused(name: str, wrong: Any) -> None:
    estimator, _ = ESTIMATORS[name]
    with pytest.raises(ValueError) as caught:
        clone(estimator).set_params(kernel=Spectrum(2)).fit(wrong, [0.0, 1.0][: len(wrong)])
    assert str(caught.value).startswith(("X", "Mercer", "Found"))
