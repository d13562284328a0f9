"""The discriminant: linear discriminant analysis for the linear kernel, a dense twin otherwise, and its messages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.linalg as la
from sklearn.datasets import load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import Gaussian, KernelDiscriminant, Linear, Polynomial, Spectrum
from mercer.errors import InputError
from mercer.estimators.projections import routes
from mercer.estimators.projections.kernel_discriminant import loo_error
from mercer.grams.coordinates import exact_coordinates, landmark_coordinates
from mercer.inputs import Rows
from mercer.linalg import generalized
from mercer.linalg.generalized import block_eigenpairs, generalized_eigenpairs, singular_pairs

RNG = np.random.default_rng(0)
X = np.concatenate([RNG.normal(size=(25, 2)) + center for center in ([0, 0], [3, 1], [0, 4])])
Y = np.repeat(["a", "b", "c"], 25)


@parametrize_with_checks([KernelDiscriminant(), KernelDiscriminant(Linear(), 1, alpha=0.01)])
def test_sklearn_contract(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_equal_to_linear_discriminant_analysis(load: Any) -> None:
    data = load()
    rows = (data.data - data.data.mean(axis=0)) / data.data.std(axis=0)
    theirs = LinearDiscriminantAnalysis(solver="eigen").fit(rows, data.target)
    ours = KernelDiscriminant(Linear(), alpha=0.0).fit(rows, data.target)
    centered = theirs.transform(rows) - theirs.transform(rows).mean(axis=0)  # this solver does not subtract the mean
    assert np.allclose(np.abs(ours.transform(rows)), np.abs(centered), rtol=1e-6, atol=1e-6)
    assert np.array_equal(ours.predict(rows), theirs.predict(rows))
    assert np.allclose(ours.predict_proba(rows), theirs.predict_proba(rows), atol=1e-6)
    assert np.allclose(ours.explained_variance_ratio_, theirs.explained_variance_ratio_, atol=1e-6)
    two = data.target < 2
    one = LinearDiscriminantAnalysis(solver="eigen").fit(rows[two], data.target[two]).decision_function(rows[two])
    found = KernelDiscriminant(Linear(), alpha=0.0).fit(rows[two], data.target[two]).decision_function(rows[two])
    assert np.allclose(found, one, rtol=1e-5, atol=1e-5)


def test_the_dense_twin_in_explicit_features() -> None:
    kernel, alpha = Polynomial(2), 0.03
    model = KernelDiscriminant(kernel, alpha=alpha).fit(X, Y)
    F = np.asarray(kernel.feature_map(X))
    F, labels = F - F.mean(axis=0), np.array(Y)
    means = np.stack([F[labels == c].mean(axis=0) for c in "abc"])
    within = sum((F[labels == c] - m).T @ (F[labels == c] - m) for c, m in zip("abc", means, strict=True))
    between = sum((labels == c).sum() * np.outer(m, m) for c, m in zip("abc", means, strict=True))
    covariance = within + alpha * np.trace(within + between) * np.eye(F.shape[1])
    values, W = la.eigh(between, covariance)
    W = W[:, ::-1][:, :2] * np.sqrt(len(X))
    assert np.allclose(np.abs(model.transform(X)), np.abs(F @ W), rtol=1e-8, atol=1e-8)
    assert np.allclose(model.explained_variance_ratio_, values[::-1][:2] / values[::-1][:2].sum())
    inverse = np.linalg.inv(covariance / len(X))
    log = np.array([[-0.5 * (f - m) @ inverse @ (f - m) for m in means] for f in F]) + np.log(1 / 3)
    proba = np.exp(log - log.max(axis=1, keepdims=True))
    assert np.allclose(model.predict_proba(X), proba / proba.sum(axis=1, keepdims=True), atol=1e-8)


def test_leave_one_out_is_refitting_without_each_row() -> None:
    found = exact_coordinates(Gaussian(1.0), Rows(X), np.ones(len(X)))
    scores, penalty = np.eye(3)[np.repeat([0, 1, 2], 25)] / 5.0, 0.01 * found.total
    squares = 0.0
    for i in range(len(X)):
        rest = np.delete(np.arange(len(X)), i)
        Z = np.c_[np.ones(len(rest)), found.Z[rest]]
        shift = np.diag([0.0, *np.full(found.Z.shape[1], penalty)])
        beta = np.linalg.solve(Z.T @ Z + shift, Z.T @ scores[rest])
        squares += ((scores[i] - np.r_[1.0, found.Z[i]] @ beta) ** 2).sum()
    assert loo_error(found, scores, np.ones(len(X)), penalty) == pytest.approx(squares / 3, rel=1e-8)


def test_weights_count_as_copies() -> None:
    weights = RNG.integers(0, 4, len(X))
    copies = np.repeat(np.arange(len(X)), weights)
    weighted = KernelDiscriminant(Gaussian(1.5)).fit(X, Y, sample_weight=weights)
    copied = KernelDiscriminant(Gaussian(1.5)).fit(X[copies], Y[copies])
    assert weighted.alpha_ == copied.alpha_
    assert np.allclose(weighted.loo_errors_, copied.loo_errors_, rtol=1e-6)
    assert np.allclose(np.abs(weighted.transform(X)), np.abs(copied.transform(X)), rtol=1e-5, atol=1e-5)
    assert np.allclose(weighted.predict_proba(X), copied.predict_proba(X), atol=1e-6)


def test_landmarks_stand_for_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "LANDMARKS", 40)
    with pytest.warns(UserWarning, match="so landmarks is taken"):
        model = KernelDiscriminant(Gaussian(2.0), memory="200 KB").fit(X, Y)
    assert model.route_.solver == "landmarks" and len(model.X_fit_) <= 40
    assert (model.predict(X) == KernelDiscriminant(Gaussian(2.0)).fit(X, Y).predict(X)).mean() > 0.95
    every = landmark_coordinates(Gaussian(2.0), Rows(X), np.ones(len(X)), len(X), np.random.default_rng(0))
    exact = exact_coordinates(Gaussian(2.0), Rows(X), np.ones(len(X)))
    assert np.allclose(every.Z @ every.Z.T, exact.Z @ exact.Z.T, atol=1e-6)


def test_coordinates_of_new_rows_are_centered_inner_products() -> None:
    weights = RNG.uniform(0.5, 2.0, len(X))
    found = exact_coordinates(Polynomial(2), Rows(X), weights)
    new = RNG.normal(size=(6, 2))
    Z = np.asarray(Polynomial(2)(new, X)) @ found.transform - found.offset
    phi, mean = np.asarray(Polynomial(2).feature_map(X)), weights / weights.sum()
    center, fresh = mean @ phi, np.asarray(Polynomial(2).feature_map(new))
    assert np.allclose(Z @ found.Z.T, (fresh - center) @ (phi - center).T, atol=1e-9)
    assert np.allclose((found.Z * weights[:, None]).T @ found.Z, np.diag(found.values), atol=1e-8 * found.values.max())


def test_generalized_eigenpairs_against_a_general_solver() -> None:
    A, b = RNG.normal(size=(8, 8)), RNG.uniform(0.5, 2.0, 8)
    A = A + A.T
    values, W = generalized_eigenpairs(A, b, 3)
    assert np.allclose(values, la.eigh(A, np.diag(b), eigvals_only=True)[::-1][:3])
    assert np.allclose(A @ W, b[:, None] * W * values) and np.allclose((W * b[:, None]).T @ W, np.eye(3))


def test_singular_pairs_by_both_methods(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(90, 60)), rng.normal(size=(90, 40))
    U, wanted, V = la.svd(A.T @ B)
    for _ in range(2):
        left, values, right = singular_pairs(A, B, 3)
        assert np.allclose(values, wanted[:3], rtol=1e-10)
        assert np.allclose(np.abs(left.T @ U[:, :3]), np.eye(3), atol=1e-7)
        assert np.allclose(left.T @ U[:, :3], right.T @ V[:3].T, atol=1e-7)
        monkeypatch.setattr(generalized, "ROWS", 10)
        monkeypatch.setattr(generalized, "ROWS_PER_PAIR", 2)


def test_block_eigenpairs_by_both_methods(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    parts = [rng.normal(size=(50, r)) for r in (20, 30, 25)]
    whole = np.hstack(parts)
    blocks = whole.T @ whole - la.block_diag(*(A.T @ A for A in parts))
    wanted, vectors = la.eigh(blocks)
    for _ in range(2):
        values, found = block_eigenpairs(parts, 3)
        assert np.allclose(values, wanted[::-1][:3], rtol=1e-10)
        assert np.allclose(np.abs(np.vstack(found).T @ vectors[:, ::-1][:, :3]), np.eye(3), atol=1e-7)
        monkeypatch.setattr(generalized, "ROWS", 10)
        monkeypatch.setattr(generalized, "ROWS_PER_PAIR", 2)


def test_strings_and_files(tmp_path: Path) -> None:
    words = ["".join(RNG.choice(list(letters), 12)) for letters in ("abc", "bcd") for _ in range(12)]
    labels = np.repeat([0, 1], 12)
    model = KernelDiscriminant(Spectrum(2).normalized()).fit(words, labels)
    assert model.score(words, labels) > 0.9 and model.transform(words[:3]).shape == (3, 1)
    mercer.save(model, tmp_path / "model")
    assert np.array_equal(mercer.load(tmp_path / "model").predict_proba(words), model.predict_proba(words))
    assert "leave-one-out" in str(model) and mercer.plan(model, words).route.solver == "gram"


@pytest.mark.parametrize(
    ("change", "rows", "labels", "words"),
    [
        ({"alpha": -1.0}, X, Y, "alpha must be a number >= 0"),
        ({"n_components": 3}, X, Y, "3 classes have 2 directions; n_components is 3"),
        ({"n_components": 0}, X, Y, "n_components"),
        ({}, np.ones((6, 2)), [0, 0, 0, 1, 1, 1], "all rows are equal for the kernel"),
        ({}, X[:3], [0, 1, 2], "the number of rows must be more than the number of classes"),
        ({}, X[:3], [1, 1, 1], "one class"),
    ],
)
def test_bad_input(change: dict[str, Any], rows: Any, labels: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        KernelDiscriminant(Gaussian(1.0), **change).fit(rows, labels)
