"""Kernel PCA: equal to its peers and to its definition, on every route."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.decomposition

from mercer import Gaussian, Graph, KernelPCA, Laplacian, Linear, Matern, Polynomial, Precomputed, Spectrum, VertexHistogram

GAMMA = 0.2


def laplacian(x: np.ndarray, z: np.ndarray) -> float:
    return float(np.exp(-GAMMA * np.abs(x - z).sum()))


PEERS = [
    (Gaussian.from_gamma(GAMMA), {"kernel": "rbf", "gamma": GAMMA}),
    (Linear(), {"kernel": "linear"}),
    (GAMMA**2 * Polynomial(2, offset=0.5 / GAMMA), {"kernel": "poly", "gamma": GAMMA, "degree": 2, "coef0": 0.5}),
    (Laplacian(1.0 / GAMMA), {"kernel": laplacian}),
]


def points(n: int = 90, d: int = 4, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) * np.arange(1, d + 1) ** -0.5


def projector(V: np.ndarray) -> np.ndarray:
    return V @ V.T


def centered(K: np.ndarray) -> np.ndarray:
    H = np.eye(len(K)) - 1.0 / len(K)
    return H @ K @ H


# -- equal to scikit-learn, to linear PCA, to PCA of explicit features --------------------------------------------------


@pytest.mark.parametrize(("kernel", "peer"), PEERS)
@pytest.mark.parametrize("solver", ["auto", "eigh", "lanczos"])
def test_equal_to_scikit_learn(kernel: Any, peer: dict[str, Any], solver: str) -> None:
    X, new = points(300), points(20, seed=1)
    theirs = sklearn.decomposition.KernelPCA(4, eigen_solver="dense", **peer).fit(X)
    ours = KernelPCA(kernel, n_components=4, eigen_solver=solver).fit(X)
    np.testing.assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-8)
    np.testing.assert_allclose(np.abs(ours.eigenvectors_), np.abs(theirs.eigenvectors_), atol=1e-8)
    np.testing.assert_allclose(np.abs(ours.transform(new)), np.abs(theirs.transform(new)), atol=1e-8)
    np.testing.assert_allclose(projector(ours.eigenvectors_), projector(theirs.eigenvectors_), atol=1e-8)


@pytest.mark.parametrize("solver", ["primal", "eigh", "lanczos"])
def test_linear_kernel_is_linear_pca(solver: str) -> None:
    X, new = points(300, 6), points(20, 6, seed=1)
    linear = sklearn.decomposition.PCA(3).fit(X)
    ours = KernelPCA(Linear(), n_components=3, eigen_solver=solver, regularization=0.0).fit(X)
    np.testing.assert_allclose(ours.eigenvalues_, linear.explained_variance_ * 299, rtol=1e-10)
    np.testing.assert_allclose(ours.explained_variance_ratio_, linear.explained_variance_ratio_, rtol=1e-10)
    np.testing.assert_allclose(np.abs(ours.transform(new)), np.abs(linear.transform(new)), atol=1e-10)
    # the way back is exact, too: mean + sum of coordinates times directions
    np.testing.assert_allclose(
        ours.inverse_transform(ours.transform(new)), linear.inverse_transform(linear.transform(new)), atol=1e-10
    )


@pytest.mark.parametrize("solver", ["auto", "primal", "eigh", "lanczos"])
def test_finite_kernels_are_pca_of_their_features(solver: str) -> None:
    X, new, k = points(300, 3), points(15, 3, seed=1), Polynomial(2, offset=1.0)
    explicit = sklearn.decomposition.PCA(5).fit(k.feature_map(X))
    ours = KernelPCA(k, n_components=5, eigen_solver=solver).fit(X)
    np.testing.assert_allclose(ours.eigenvalues_, explicit.explained_variance_ * 299, rtol=1e-9)
    np.testing.assert_allclose(np.abs(ours.transform(new)), np.abs(explicit.transform(k.feature_map(new))), atol=1e-8)


def test_strings_are_pca_of_their_counts() -> None:
    words = ["banana", "bandana", "ananas", "cabana", "kiwi", "kiwano", "papaya", "mango", "mangold"]
    k = Spectrum(p=2)
    Z = np.asarray(sp.csr_array(k.feature_map(words)).todense())
    explicit = sklearn.decomposition.PCA(4).fit(Z)
    ours = KernelPCA(k, n_components=4).fit(words)
    np.testing.assert_allclose(ours.eigenvalues_, explicit.explained_variance_ * 8, rtol=1e-9)
    np.testing.assert_allclose(np.abs(ours.transform(words)), np.abs(explicit.transform(Z)), atol=1e-9)


# -- the definition -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["eigh", "lanczos", "landmarks"])
def test_directions_are_orthonormal_and_variances_are_eigenvalues(solver: str) -> None:
    X, k = points(250), Matern(nu=1.5, length_scale=2.0)
    model = KernelPCA(k, n_components=6, eigen_solver=solver, n_landmarks=120).fit(X)
    A = model.dual_coef_
    np.testing.assert_allclose(A.T @ k(model.X_fit_) @ A, np.eye(6), atol=1e-8)
    Z = model.transform(X)
    np.testing.assert_allclose(Z.mean(axis=0), 0.0, atol=1e-9)
    np.testing.assert_allclose(Z.T @ Z / 250, np.diag(model.eigenvalues_ / 250), atol=1e-8)
    np.testing.assert_allclose(model.fit_transform(X), Z, atol=1e-8)
    np.testing.assert_allclose(model.explained_variance_, model.eigenvalues_ / 250)


def test_the_eigenvalue_equation_of_the_lectures() -> None:
    X, k = points(60), Gaussian(1.0)
    model = KernelPCA(k, n_components=3).fit(X)
    n, Kc = 60, centered(k(X))
    for value, alpha in zip(model.explained_variance_, model.dual_coef_.T, strict=True):
        np.testing.assert_allclose(n * value * alpha, Kc @ alpha, atol=1e-9)
        assert alpha @ Kc @ alpha == pytest.approx(1.0)
    np.testing.assert_allclose(model.explained_variance_ratio_, model.eigenvalues_ / np.trace(Kc), rtol=1e-10)


def test_nearly_equal_eigenvalues_are_compared_by_projector() -> None:
    angles = 2 * np.pi * np.arange(200) / 200  # a regular polygon: eigenvalues come in pairs
    X = np.column_stack([np.cos(angles), np.sin(angles)])
    full = KernelPCA(Gaussian(0.7), n_components=4, eigen_solver="eigh").fit(X)
    part = KernelPCA(Gaussian(0.7), n_components=4, eigen_solver="lanczos").fit(X)
    np.testing.assert_allclose(full.eigenvalues_, part.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(projector(full.eigenvectors_), projector(part.eigenvectors_), atol=1e-8)


def test_signs_are_fixed() -> None:
    X = points(300)
    for solver in ("eigh", "lanczos", "landmarks"):
        V = KernelPCA(Gaussian(1.0), n_components=5, eigen_solver=solver, n_landmarks=200).fit(X).eigenvectors_
        assert (V[np.abs(V).argmax(axis=0), np.arange(5)] > 0).all()


def test_landmarks_come_near_and_are_exact_with_all_rows() -> None:
    X, new = points(400, 3), points(30, 3, seed=1)
    exact = KernelPCA(Gaussian(1.0), n_components=5).fit(X)
    few = KernelPCA(Gaussian(1.0), n_components=5, eigen_solver="landmarks", n_landmarks=100).fit(X)
    np.testing.assert_allclose(few.eigenvalues_, exact.eigenvalues_, rtol=1e-2)
    assert len(few.X_fit_) == 100 and few.eigenvectors_.shape == (400, 5)
    every = KernelPCA(Gaussian(1.0), n_components=5, eigen_solver="landmarks", n_landmarks=400).fit(X)
    np.testing.assert_allclose(every.eigenvalues_, exact.eigenvalues_, rtol=1e-7)
    np.testing.assert_allclose(every.transform(new), exact.transform(new), atol=1e-5)
    np.testing.assert_allclose(every.score_samples(new), exact.score_samples(new), atol=1e-5)


def test_products_in_tiles_give_the_same() -> None:
    X = points(300)
    held = KernelPCA(Gaussian(1.0), n_components=4, eigen_solver="lanczos").fit(X)
    assert held.route_.solver == "lanczos"
    tiles = KernelPCA(Gaussian(1.0), n_components=4, eigen_solver="lanczos", memory=held.route_.bytes - 1).fit(X)
    assert tiles.route_.solver == "lanczos-tiles"
    np.testing.assert_allclose(tiles.eigenvalues_, held.eigenvalues_, rtol=1e-10)


def test_a_loose_tolerance_keeps_its_word() -> None:
    X = points(400)
    model = KernelPCA(Gaussian(1.0), n_components=8, eigen_solver="lanczos", tol=1e-6).fit(X)
    K = centered(Gaussian(1.0)(X))
    V, values = model.eigenvectors_, model.eigenvalues_
    assert np.linalg.norm(K @ V - V * values, axis=0).max() <= 2e-6 * values[0]


# -- weights, kinds of data --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["eigh", "lanczos", "landmarks", "primal"])
def test_weights_are_copies(solver: str) -> None:
    X, rng = points(260, 3), np.random.default_rng(3)
    w = rng.integers(0, 3, 260)
    k = Polynomial(2) if solver == "primal" else Gaussian(1.0)
    options: dict[str, Any] = {"n_components": 3, "eigen_solver": solver, "n_landmarks": 10_000}
    weighted, copied = KernelPCA(k, **options).fit(X, sample_weight=w), KernelPCA(k, **options).fit(np.repeat(X, w, axis=0))
    np.testing.assert_allclose(weighted.eigenvalues_, copied.eigenvalues_, rtol=1e-7)
    np.testing.assert_allclose(np.abs(weighted.transform(X)), np.abs(copied.transform(X)), atol=1e-5)
    np.testing.assert_allclose(weighted.explained_variance_ratio_, copied.explained_variance_ratio_, rtol=1e-7)
    np.testing.assert_allclose(weighted.score_samples(X), copied.score_samples(X), atol=1e-6)
    assert weighted.eigenvectors_.shape == (260, 3) and not weighted.eigenvectors_[w == 0].any()


def test_sparse_precomputed_and_float32() -> None:
    X, new, k = points(100), points(10, seed=1), Gaussian(1.0)
    expected = KernelPCA(k, n_components=3).fit(X).transform(new)
    sparse = KernelPCA(k, n_components=3).fit(sp.csr_array(X)).transform(sp.csr_array(new))
    np.testing.assert_allclose(sparse, expected, atol=1e-9)
    pre = KernelPCA(Precomputed(), n_components=3).fit(k(X))
    np.testing.assert_allclose(pre.transform(k(new, X)), expected, atol=1e-9)
    low = KernelPCA(Precomputed(), n_components=3, eigen_solver="landmarks", n_landmarks=100).fit(k(X))
    np.testing.assert_allclose(low.transform(k(new, X)), expected, atol=1e-5)
    single = KernelPCA(k, n_components=3).fit(X.astype(np.float32)).transform(new.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, expected, atol=2e-4)


def test_graphs() -> None:
    graphs = [Graph(3, [(0, 1), (1, 2)], node_labels=[i % 3, j % 2, 0]) for i in range(4) for j in range(3)]
    model = KernelPCA(VertexHistogram(), n_components=2).fit(graphs)
    assert model.transform(graphs[:5]).shape == (5, 2)
    back = model.inverse_transform(model.transform(graphs[:5]))
    np.testing.assert_allclose(model.transform(back), model.transform(graphs[:5]), atol=1e-9)


def test_names_and_output_containers() -> None:
    pandas = pytest.importorskip("pandas")
    X = points(40)
    model = KernelPCA(Gaussian(1.0), n_components=2).set_output(transform="pandas").fit(X)
    assert model.get_feature_names_out().tolist() == ["kernelpca0", "kernelpca1"]
    assert isinstance(model.transform(X), pandas.DataFrame)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.denoise(X[:2]).shape == (2, 4)
