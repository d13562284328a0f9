"""Nystroem: exact at the landmarks, any input, all rules, edge cases, scikit-learn's checks, files."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.kernel_approximation import Nystroem as Peer
from sklearn.utils.estimator_checks import check_estimator

import mercer
from mercer import Exponential, Gaussian, Laplacian, Linear, Nystroem, Spectrum, VertexHistogram
from mercer.errors import CapabilityError, InputError


@pytest.mark.parametrize("rule", ["rpcholesky", "uniform", "kmeans"])
def test_exact_where_one_of_the_two_is_a_landmark(rule: str) -> None:
    X = np.random.default_rng(0).normal(size=(80, 3))
    model = Nystroem(Exponential(2.0), n_components=12, landmarks=rule, random_state=0).fit(X)
    F, S = model.transform(X), model.components_
    assert F.shape == (80, 12)
    assert np.allclose(F @ model.transform(S).T, Exponential(2.0)(X, S), atol=1e-10)
    assert (1.0 - np.einsum("ij,ij->i", F, F) > -1e-10).all()
    assert np.allclose(F, Exponential(2.0)(X, S) @ model.normalization_.T, atol=1e-10)
    if rule != "kmeans":
        assert np.array_equal(S, X[model.component_indices_])
    else:
        assert model.component_indices_ is None


def test_given_landmarks_are_those_of_scikit_learn() -> None:
    """The same span, so the same inner products: k(X, S) k(S, S)^-1 k(S, X)."""
    X = np.random.default_rng(0).normal(size=(60, 3))
    peer = Peer(gamma=0.5, n_components=10, random_state=0).fit(X)
    F, G = Nystroem(Gaussian(1.0), landmarks=peer.components_).fit_transform(X), peer.transform(X)
    assert np.allclose(F @ F.T, G @ G.T, atol=1e-10)


def test_landmarks_by_what_is_missed_are_better_than_uniform_ones() -> None:
    """Clusters of very different size: uniform rows forget the small ones."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(1900, 2)) * 0.1, rng.normal(size=(100, 2)) + rng.integers(-20, 20, (100, 2))])
    missed = {}
    for rule in ("rpcholesky", "uniform"):
        models = [Nystroem(Gaussian(1.0), n_components=60, landmarks=rule, random_state=seed).fit(X) for seed in range(3)]
        missed[rule] = np.mean([model.missed_ for model in models])
    assert missed["rpcholesky"] < 0.5 * missed["uniform"]


def test_strings_graphs_and_sparse_rows() -> None:
    texts = ["abcab", "bcabc", "xyz", "xyzzy", "abcabc"]
    F = Nystroem(Spectrum(2), n_components=5, random_state=0).fit_transform(texts)
    assert np.allclose(F @ F.T, Spectrum(2)(texts), atol=1e-9)
    graphs = [mercer.Graph(3, [(0, 1)], node_labels=[1, 2, 2]), mercer.Graph(2, [(0, 1)], node_labels=[2, 3])]
    F = Nystroem(VertexHistogram(), n_components=2, random_state=0).fit_transform(graphs)
    assert np.allclose(F @ F.T, VertexHistogram()(graphs), atol=1e-9)
    X = sp.random_array((30, 10), density=0.3, format="csr", random_state=np.random.default_rng(0))
    F = Nystroem(Gaussian(1.0), n_components=30, random_state=0).fit_transform(X)
    assert np.allclose(F @ F.T, Gaussian(1.0)(X), atol=1e-8)


def test_more_components_than_rows_and_than_the_rank() -> None:
    X = np.random.default_rng(0).normal(size=(20, 3))
    assert Nystroem(Gaussian(1.0), n_components=500, random_state=0).fit_transform(X).shape[1] <= 20
    F = Nystroem(Linear(), n_components=10, random_state=0).fit_transform(X)
    assert F.shape == (20, 3) and np.allclose(F @ F.T, X @ X.T)
    twice = np.vstack([X[:2], X[:2]])
    F = Nystroem(Gaussian(1.0), landmarks=twice).fit_transform(X)
    assert F.shape == (20, 2)
    assert Nystroem(Gaussian(1.0), n_components=1, random_state=0).fit_transform(X).shape == (20, 1)


def test_rows_that_are_all_zero() -> None:
    assert not Nystroem(Linear(), n_components=3).fit_transform(np.zeros((5, 2))).any()
    assert not Nystroem(Linear(), landmarks=np.zeros((2, 2))).fit_transform(np.zeros((5, 2))).any()


def test_float32_comes_back_as_float32() -> None:
    X = (np.random.default_rng(0).normal(size=(50, 3)) + 1e4).astype(np.float32)
    F = Nystroem(Gaussian(1.0), n_components=50, random_state=0).fit_transform(X)
    assert F.dtype == np.float32 and np.abs(F @ F.T - Gaussian(1.0)(X.astype(np.float64))).max() < 1e-4


@pytest.mark.parametrize(
    ("model", "X", "words"),
    [
        (Nystroem(n_components=0), np.ones((3, 2)), "n_components must be"),
        (Nystroem(landmarks="best"), np.ones((3, 2)), "landmarks must be one of"),
        (Nystroem(landmarks=np.ones((2, 3))), np.ones((3, 2)), "landmarks have 3 columns"),
        (Nystroem(Spectrum(2), landmarks="kmeans"), ["ab", "cd"], "needs rows of numbers"),
        (Nystroem(), np.full((3, 2), np.nan), "NaN"),
        (Nystroem(mercer.Precomputed(), landmarks="uniform"), np.eye(3), "precomputed"),
    ],
)
def test_refusals(model: Nystroem, X: object, words: str) -> None:
    with pytest.raises((InputError, CapabilityError, ValueError)) as error:
        model.fit(X)
    assert words in str(error.value)


def test_scikit_learn_checks() -> None:
    check_estimator(Nystroem(n_components=5, random_state=0))


def test_files_and_summary(tmp_path: object) -> None:
    X = np.random.default_rng(0).normal(size=(30, 3))
    model = Nystroem(Laplacian(2.0), n_components=7, random_state=0).fit(X)
    mercer.save(model, f"{tmp_path}/n.mercer")
    assert np.array_equal(mercer.load(f"{tmp_path}/n.mercer").transform(X), model.transform(X))
    assert "% of the trace" in str(model)
    assert model.get_feature_names_out()[0] == "nystroem0"
    assert mercer.plan(model, X).route.solver == "nystroem"
