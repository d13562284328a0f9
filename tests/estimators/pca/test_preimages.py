"""Pre-images: fixed points, neighbors, the learned map, strings by edits, graphs among candidates; denoising; tuning."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.optimize

import mercer
from mercer import Gaussian, Graph, KernelPCA, Laplacian, Linear, Matern, Polynomial, Precomputed, Spectrum, VertexHistogram
from mercer.errors import CapabilityError
from mercer.estimators.pca.preimages import alphabet_of, fixed_point, neighbors_of


def ring(n: int = 120, noise: float = 0.0, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * np.pi, n)
    return np.column_stack([np.cos(angle), np.sin(angle)]) + noise * rng.normal(size=(n, 2))


def feature_error(model: KernelPCA, y: Any, beta: np.ndarray) -> float:
    """||phi(y) - target||^2 by the definition, from kernel values alone."""
    X, k = model.X_fit_, model.kernel_
    n = len(X)
    gamma = model.dual_coef_ @ beta
    gamma = gamma + (1.0 - gamma.sum()) / n
    return float(k([y], [y])[0, 0] - 2.0 * k([y], X)[0] @ gamma + gamma @ k(X) @ gamma)


def test_the_error_reported_is_the_error() -> None:
    model = KernelPCA(Gaussian(0.5), n_components=4).fit(ring())
    new = ring(6, noise=0.3, seed=1)
    for method in ("fixed-point", "neighbors", "ridge"):
        found = model.preimages(model.transform(new), method=method)
        expected = [feature_error(model, y, b) for y, b in zip(found.points, model.transform(new), strict=True)]
        np.testing.assert_allclose(found.errors, np.maximum(expected, 0), atol=1e-9)
        assert set(found.methods) <= {method, "neighbors"}


@pytest.mark.parametrize(
    "kernel",
    [Gaussian(0.6), Gaussian([0.5, 0.9]), Matern(nu=2.5, length_scale=0.8), Gaussian(0.7) + 0.1 * Linear()],
    ids=str,
)
def test_the_fixed_point_is_a_minimum_of_the_error(kernel: Any) -> None:
    model = KernelPCA(kernel, n_components=5, regularization=0.0).fit(ring())
    Z = model.transform(ring(5, noise=0.2, seed=2))
    found = model.preimages(Z)
    assert (found.methods == "fixed-point").all()
    for y, beta, error in zip(found.points, Z, found.errors, strict=True):
        best = scipy.optimize.minimize(lambda p, b=beta: feature_error(model, p, b), y)
        assert error <= best.fun + 1e-6


def test_a_point_on_the_training_set_comes_back() -> None:
    X = ring(60)
    model = KernelPCA(Gaussian(0.5), regularization=0.0).fit(X)  # all components: the projection is phi(x) itself
    found = model.preimages(model.transform(X))
    np.testing.assert_allclose(found.points, X, atol=1e-3)
    assert found.errors.max() < 1e-6


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2, offset=1.0)])
def test_inner_product_kernels_have_a_fixed_point_too(kernel: Any) -> None:
    X = ring(50) * 0.5
    model = KernelPCA(kernel, regularization=0.0).fit(X)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-3)


def test_denoising_brings_points_back_to_the_ring() -> None:
    model = KernelPCA(Gaussian(0.5), n_components=6).fit(ring(300, noise=0.02))
    noisy = ring(100, noise=0.2, seed=3)
    clean = model.denoise(noisy)
    off = lambda Y: np.abs(np.linalg.norm(Y, axis=1) - 1.0).mean()  # noqa: E731
    assert off(clean) < 0.35 * off(noisy)
    linear = KernelPCA(Linear(), n_components=1).fit(ring(300)).denoise(noisy)
    assert off(clean) < 0.35 * off(linear)


def test_fewer_components_may_be_used() -> None:
    X, noisy = ring(80), ring(10, noise=0.2, seed=4)
    many, few = KernelPCA(Gaussian(0.5), n_components=8).fit(X), KernelPCA(Gaussian(0.5), n_components=3).fit(X)
    np.testing.assert_allclose(many.denoise(noisy, n_components=3), few.denoise(noisy), atol=1e-6)
    with pytest.raises(ValueError, match="1 … 8"):
        many.denoise(noisy, n_components=9)


def test_far_away_the_neighbors_answer() -> None:
    model = KernelPCA(Gaussian(0.1), n_components=3, regularization=0.0).fit(ring())
    far = np.array([[50.0, 50.0], [1.0, 0.0]])  # every k(x, x_i) of the first is 0: so is the denominator
    found = model.preimages(model.transform(far), start=far)
    assert found.methods.tolist()[0] == "neighbors" and found.n_fallbacks >= 1
    assert np.isfinite(found.points).all() and np.abs(found.points).max() < 2.0


def test_a_vanishing_denominator_is_seen() -> None:
    X = np.array([[-1.0, 0.0], [1.0, 0.0]])
    gamma, start = np.array([[1.0, -1.0]]), np.array([[0.0, 0.0]])  # the weights cancel exactly half way
    found = fixed_point(Gaussian(1.0), X, gamma, start, start, 0.0, 1.0)
    assert found.lost.all() and np.isfinite(found.points).all()


def test_the_pull_keeps_points_near_the_data() -> None:
    X, noisy = ring(100), ring(20, noise=0.4, seed=5)
    strong = KernelPCA(Gaussian(0.5), n_components=2, regularization=1e6).fit(X)
    near = strong.preimages(strong.transform(noisy), method="neighbors").points
    np.testing.assert_allclose(strong.denoise(noisy), near, atol=1e-3)


def test_a_gain_gives_back_what_noise_took() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([ring(200), np.zeros((200, 40))])
    noisy = X[:40] + 0.25 * rng.normal(size=(40, 42))
    plain = KernelPCA(Gaussian(1.0), n_components=10).fit(X)
    loud = KernelPCA(Gaussian(1.0), n_components=10, gain=(1 + 0.25**2) ** 21).fit(X)
    assert np.square(loud.denoise(noisy) - X[:40]).sum() < np.square(plain.denoise(noisy) - X[:40]).sum()


def test_neighbors_work_where_there_is_no_gradient() -> None:
    model = KernelPCA(Laplacian(1.0), n_components=10).fit(ring())
    found = model.preimages(model.transform(ring(5, seed=6)))
    assert (found.methods == "neighbors").all()
    with pytest.raises(CapabilityError, match="no known gradient"):
        model.inverse_transform(model.transform(ring(2)), method="fixed-point")


def test_the_learned_map() -> None:
    X = ring(150)
    model = KernelPCA(Gaussian(0.7), n_components=6, fit_inverse_transform=True, alpha=1e-4).fit(X)
    new = ring(20, seed=7)
    back = model.inverse_transform(model.transform(new))
    assert np.abs(back - new).max() < 0.05
    assert (model.preimages(model.transform(new)).methods == "ridge").all()


def test_what_cannot_be_done_is_said() -> None:
    pre = KernelPCA(Precomputed(), n_components=2).fit(Gaussian(1.0)(ring(20)))
    with pytest.raises(CapabilityError, match="precomputed"):
        pre.inverse_transform(np.zeros((1, 2)))
    model = KernelPCA(Gaussian(1.0), n_components=2).fit(ring(20))
    with pytest.raises(ValueError, match=r"give \(n, 2\)"):
        model.inverse_transform(np.zeros((3, 5)))
    with pytest.raises(ValueError, match="NaN"):
        model.inverse_transform(np.full((1, 2), np.nan))
    with pytest.raises(ValueError, match="one of auto"):
        model.inverse_transform(np.zeros((1, 2)), method="magic")
    with pytest.raises(CapabilityError, match="for kernels on strings"):
        model.inverse_transform(np.zeros((1, 2)), method="edits")


# -- strings and graphs --------------------------------------------------------------------------------------------------

WORDS = ["banana", "bananas", "bandana", "ananas", "kiwi", "kiwis", "kiwano", "mango", "mangos", "mangold"]


def test_every_single_edit_is_a_neighbor() -> None:
    around = set(neighbors_of("ab", ["a", "b"]))
    assert around == {"bb", "aa", "b", "a", "aab", "bab", "abb", "aba"}
    assert set(neighbors_of(("x",), ["x", "y"])) == {("y",), ("x", "x"), ("y", "x"), ("x", "y")}
    assert alphabet_of(["ba", "c"]) == ["a", "b", "c"]


def test_strings_are_restored_by_edits() -> None:
    model = KernelPCA(Spectrum(p=2).normalized()).fit(WORDS)
    found = model.preimages(model.transform(["bananna"]), start=["bananna"])
    assert found.methods.tolist() == ["edits"]
    expected = feature_error(model, found.points[0], model.transform(["bananna"])[0])
    assert found.errors[0] == pytest.approx(max(expected, 0.0), abs=1e-9)
    # no single edit is better
    alphabet = alphabet_of(WORDS)
    beta = model.transform(["bananna"])[0]
    others = [feature_error(model, y, beta) for y in neighbors_of(found.points[0], alphabet)]
    assert min(others) >= found.errors[0] - 1e-9
    assert model.inverse_transform(model.transform(["kiwi", "mango"])) == ["kiwi", "mango"]


def test_lists_of_tokens_are_edited_too() -> None:
    lines = [("a", "b", "c"), ("a", "b", "d"), ("a", "b", "c", "d"), ("x", "y", "z")]
    model = KernelPCA(Spectrum(p=2)).fit(lines)
    assert [tuple(line) for line in model.denoise([("a", "b", "c")])] == [("a", "b", "c")]


def test_graphs_are_chosen_among_candidates() -> None:
    graphs = [Graph(4, [(0, 1), (1, 2)], node_labels=[i, j, 0, 1]) for i in range(3) for j in range(3)]
    extra = Graph(5, [(0, 1)], node_labels=[0, 1, 2, 0, 1])
    model = KernelPCA(VertexHistogram()).fit(graphs)
    beta = model.transform([extra])
    among = model.preimages(beta)
    wider = model.preimages(beta, candidates=[extra])
    assert among.methods.tolist() == wider.methods.tolist() == ["candidates"]
    errors = [feature_error(model, g, beta[0]) for g in graphs]
    assert among.errors[0] == pytest.approx(min(errors), abs=1e-9) and wider.errors[0] <= among.errors[0] + 1e-12


# -- novelty and tuning ----------------------------------------------------------------------------------------------------


def test_the_score_is_the_distance_to_the_span() -> None:
    X, new, k = ring(60), ring(8, noise=0.5, seed=8), Gaussian(0.7)
    model = KernelPCA(k, n_components=4).fit(X)
    for x, score in zip(new, model.score_samples(new), strict=True):
        beta = model.transform([x])[0]
        assert -score == pytest.approx(feature_error(model, x, beta), abs=1e-9)
    assert model.score_samples(X).mean() > model.score_samples(ring(50, noise=0.5, seed=9)).mean()
    every = KernelPCA(k).fit(X)
    np.testing.assert_allclose(every.score_samples(X), 0.0, atol=1e-8)


def test_tuning_takes_the_best_setting_on_clean_rows() -> None:
    rng = np.random.default_rng(0)
    X, clean = ring(200), ring(40, seed=10)
    noisy = clean + 0.2 * rng.normal(size=clean.shape)
    model = KernelPCA(Gaussian("median")).tune_denoising(X, clean, noisy, n_components=(2, 4, 8, 16))
    results = model.denoising_results_
    assert len(results) == 5 * 4 * 2 + 2 * 4 * 3 or len(results) == 5 * 4 * 2 + 1 * 4 * 3
    best = min(results, key=lambda found: found["error"])
    assert np.square(model.denoise(noisy) - clean).mean() == pytest.approx(best["error"], rel=1e-3)
    assert (model.n_components, model.preimage, model.gain) == (best["n_components"], best["preimage"], best["gain"])
    assert best["error"] < np.square(noisy - clean).mean()
    fixed = KernelPCA(Gaussian(1.0)).tune_denoising(X, clean, noisy, length_scales=[0.3, 0.6], n_components=[4], gains=[1.0])
    tried = {found["kernel"] for found in fixed.denoising_results_}
    assert tried == {"Gaussian(length_scale=0.3)", "Gaussian(length_scale=0.6)"}
    with pytest.raises(ValueError, match="must go together"):
        KernelPCA().tune_denoising(X, clean, noisy[:3])
    with pytest.raises(ValueError, match="nothing to choose from"):
        KernelPCA().tune_denoising(X, clean, noisy, n_components=[1000])
    with pytest.raises(ValueError, match="has 2"):
        KernelPCA(Gaussian(1.0) + mercer.Matern()).tune_denoising(X, clean, noisy, length_scales=[1.0])
