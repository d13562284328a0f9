"""Kernel CCA: scikit-learn's CCA for linear kernels, dense twins otherwise, the choice of alpha, and messages."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.linalg as la
from sklearn.cross_decomposition import CCA

import mercer
from mercer import Gaussian, KernelCCA, Linear, Polynomial, Spectrum
from mercer.errors import InputError
from mercer.estimators.projections import kernel_cca, routes
from mercer.estimators.projections.canonical import mean_correlations, pivoted_factor

RNG = np.random.default_rng(0)
COMMON = RNG.normal(size=(120, 2))
LEFT = np.c_[COMMON + 0.5 * RNG.normal(size=(120, 2)), RNG.normal(size=(120, 2))] @ RNG.normal(size=(4, 4))
RIGHT = np.c_[COMMON + 0.7 * RNG.normal(size=(120, 2)), RNG.normal(size=(120, 1))] @ RNG.normal(size=(3, 3))


def correlations(parts: list[Any]) -> list[float]:
    return [float(np.corrcoef(parts[0][:, c], parts[1][:, c])[0, 1]) for c in range(parts[0].shape[1])]


def test_equal_to_scikit_learns_cca_for_linear_kernels() -> None:
    theirs = CCA(2, max_iter=5000, tol=1e-14).fit(LEFT, RIGHT)
    ours = KernelCCA([Linear(), Linear()], 2, alpha=1e-12).fit([LEFT, RIGHT])
    wanted = correlations(list(theirs.transform(LEFT, RIGHT)))
    assert np.allclose(ours.correlations_, wanted, atol=1e-6)
    parts = ours.transform([LEFT, RIGHT])
    assert np.allclose(correlations(parts), wanted, atol=1e-6)
    for mine, other in zip(parts, theirs.transform(LEFT, RIGHT), strict=True):
        for c in range(2):
            assert abs(np.corrcoef(mine[:, c], other[:, c])[0, 1]) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("n_views", [2, 3])
def test_the_dense_twin_in_explicit_features(n_views: int) -> None:
    kernel, alpha, n = Polynomial(2), 0.05, 60
    views = [RNG.normal(size=(n, 2)) + COMMON[:n] for _ in range(n_views)]
    model = KernelCCA(kernel, 2, alpha=alpha).fit(views)
    F = [np.asarray(kernel.feature_map(view)) for view in views]
    F = [part - part.mean(axis=0) for part in F]
    sizes = [part.shape[1] for part in F]
    edges = np.cumsum([0, *sizes])
    A, B = np.zeros((edges[-1], edges[-1])), np.zeros((edges[-1], edges[-1]))
    for u in range(n_views):
        own = slice(edges[u], edges[u + 1])
        B[own, own] = F[u].T @ F[u] / n + alpha * np.trace(F[u].T @ F[u]) / n * np.eye(sizes[u])
        for v in range(n_views):
            if u != v:
                A[own, edges[v] : edges[v + 1]] = F[u].T @ F[v] / n
    _, W = la.eigh(A, B)
    W = W[:, ::-1][:, :2]
    parts = model.transform(views)
    for v in range(n_views):
        wanted = F[v] @ W[edges[v] : edges[v + 1]]
        scale = np.linalg.norm(parts[v], axis=0) / np.linalg.norm(wanted, axis=0)
        assert np.allclose(np.abs(parts[v]), np.abs(wanted) * scale, atol=1e-7)
    assert np.allclose(model.correlations_, mean_correlations(parts))


@pytest.mark.parametrize("n_views", [2, 3])
@pytest.mark.parametrize("alpha", [1e-6, 1e-3, 0.1])
def test_both_factorizations_give_the_same_functions(n_views: int, alpha: float, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    views = [np.c_[rng.normal(size=(80, 1)), COMMON[:80] + 0.3 * rng.normal(size=(80, 2))] for _ in range(n_views)]
    new = [rng.normal(size=(9, 3)) for _ in range(n_views)]
    kernel = Gaussian(2.0)
    fast = KernelCCA(kernel, 2, alpha=alpha).fit(views)
    monkeypatch.setattr(kernel_cca, "SOLVED", np.inf)
    slow = KernelCCA(kernel, 2, alpha=alpha).fit(views)
    assert np.allclose(fast.correlations_, slow.correlations_, atol=1e-9)
    for one, other in zip(fast.transform(new), slow.transform(new), strict=True):  # rounding, and axes that are left out
        assert np.allclose(one, other, atol=1e-11 / alpha * np.abs(other).max())
    for rows in (views, new):
        parts = [f.predict(part) for f, part in zip(fast.views_, rows, strict=True)]
        assert all(np.array_equal(a, b) for a, b in zip(parts, fast.transform(rows), strict=True))


@pytest.mark.parametrize("alpha", [1e-12, 0.1])
def test_views_without_a_relation_have_constant_functions(alpha: float) -> None:
    signs = np.array([[1.0, 1.0, -1.0, -1.0], [1.0, -1.0, 1.0, -1.0]]).repeat(5, axis=1)
    model = KernelCCA(Linear(), 1, alpha=alpha).fit([signs[0][:, None], signs[1][:, None]])
    assert np.allclose(model.correlations_, 0.0, atol=1e-12)
    assert all(np.allclose(part, 0.0, atol=1e-7) for part in model.transform([signs[0][:, None], signs[1][:, None]]))


@pytest.mark.parametrize(("n_views", "count"), [(2, 2), (3, 2), (3, 12)])
def test_memory_is_that_of_the_route(n_views: int, count: int) -> None:
    views = [np.random.default_rng(v).normal(size=(500, 4)) for v in range(n_views)]
    KernelCCA(Gaussian(1.0), count, alpha=0.1).fit([view[:40] for view in views])
    for alpha in (0.1, 1e-7):
        tracemalloc.start()
        model = KernelCCA(Gaussian(1.0), count, alpha=alpha).fit(views)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak <= 1.05 * model.route_.bytes


def test_factor_with_pivots() -> None:
    rows = np.random.default_rng(5).normal(size=(30, 3))
    K = rows @ rows.T
    G = pivoted_factor(K.copy(), 1e-12)
    assert G.shape == (30, 3) and np.allclose(G @ G.T, K, atol=1e-12)
    assert pivoted_factor(np.zeros((4, 4)), 1e-12).shape == (4, 0)


def test_chosen_alpha_finds_a_curved_relation() -> None:
    rng = np.random.default_rng(1)
    t = rng.uniform(-2, 2, 300)
    left = np.c_[t, rng.normal(size=300)]
    right = np.c_[t**2 + 0.1 * rng.normal(size=300), rng.normal(size=300)]
    train, test = slice(0, 200), slice(200, 300)
    model = KernelCCA(Gaussian("median"), 1).fit([left[train], right[train]])
    scores = {a: KernelCCA(Gaussian("median"), 1, alpha=a).fit([left[train], right[train]]).score([left[test], right[test]])
              for a in (1e-6, 1e-3, 1.0)}  # fmt: skip
    assert model.score([left[test], right[test]]) > 0.9
    assert model.score([left[test], right[test]]) >= max(scores.values()) - 0.03
    assert len(model.alphas_) == len(model.held_out_) and model.alpha_ == model.alphas_[np.argmax(model.held_out_)]
    linear = KernelCCA(Linear(), 1).fit([left[train], right[train]])
    assert linear.score([left[test], right[test]]) < 0.5


def test_strings_beside_numbers_and_files(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    share = rng.uniform(size=80)
    words = ["".join(rng.choice(["a", "b"], 20, p=[p, 1 - p])) for p in share]
    numbers = np.c_[share, rng.normal(size=80)]
    model = KernelCCA([Spectrum(2).normalized(), "Gaussian('median')"], 1).fit([words, numbers])
    assert model.score([words, numbers]) > 0.8
    only, none = model.transform([words, None])
    assert none is None and only is not None and only.shape == (80, 1)
    mercer.save(model, tmp_path / "model")
    loaded = mercer.load(tmp_path / "model")
    assert np.array_equal(loaded.transform([words, None])[0], only) and loaded.alpha_ == model.alpha_
    assert "held-out correlation" in str(model) and str(KernelCCA()).startswith("KernelCCA(")


def test_landmarks_where_memory_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "LANDMARKS", 30)
    whole = KernelCCA(Linear(), 2, alpha=1e-6).fit([LEFT, RIGHT])
    with pytest.warns(UserWarning, match="so landmarks is taken"):
        model = KernelCCA(Linear(), 2, alpha=1e-6, memory="400 KB").fit([LEFT, RIGHT])
    assert model.route_.solver == "landmarks"
    assert np.allclose(model.correlations_, whole.correlations_, atol=1e-6)


def test_components_are_limited_by_the_rank() -> None:
    assert KernelCCA(Linear(), 5, alpha=0.1).fit([LEFT, RIGHT]).transform([LEFT, RIGHT])[0].shape == (120, 3)


def test_a_failed_fit_leaves_nothing() -> None:
    model = KernelCCA(Linear())
    with pytest.raises(InputError):
        model.fit([LEFT, RIGHT[:5]])
    assert not model.__sklearn_is_fitted__()
    with pytest.raises(InputError, match="fitted to 2 views; got 1"):
        model.fit([LEFT, RIGHT]).transform([LEFT])
    with pytest.raises(InputError, match=r"views\[1\] has 2 columns, but it had 3 in the fit"):
        model.transform([LEFT, RIGHT[:, :2]])
    frames = [pd.DataFrame(LEFT, columns=list("abcd")), pd.DataFrame(RIGHT, columns=list("xyz"))]
    named = KernelCCA(Linear(), alpha=0.1).fit(frames)
    with pytest.raises(InputError, match=r"views\[1\] has the columns \['z', 'y', 'x'\], but it had \['x', 'y', 'z'\]"):
        named.transform([frames[0], frames[1][["z", "y", "x"]]])
    with pytest.raises(InputError, match="needs every view"):
        model.score([LEFT, None])


@pytest.mark.parametrize(
    ("change", "views", "words"),
    [
        ({}, LEFT, "a list of two or more collections"),
        ({}, [LEFT], "a list of two or more collections"),
        ({}, [LEFT, RIGHT[:7]], r"views\[1\] has 7 rows and views\[0\] has 120"),
        ({}, [LEFT, np.ones((120, 2))], r"views\[1\] is constant"),
        ({"alpha": 1.0, "kernels": Linear()}, [np.ones((120, 2)), RIGHT], r"views\[0\] is constant"),
        ({}, [LEFT, np.eye(120)[:, :1]], r"views\[1\] is constant: .* in a part of the rows that alpha=\"auto\" looks at"),
        ({"alpha": 0.0}, [LEFT, RIGHT], "alpha must be a finite number > 0"),
        ({"alpha": np.inf}, [LEFT, RIGHT], "alpha must be a finite number > 0"),
        ({"n_components": 0}, [LEFT, RIGHT], "n_components"),
        ({"kernels": [Linear()]}, [LEFT, RIGHT], "1 kernel for 2 views"),
        ({}, [LEFT[:2], RIGHT[:2]], "at least 3 rows"),
        ({}, [LEFT[:6], RIGHT[:6]], "needs at least 10 rows"),
        ({"alpha": 0.1}, [LEFT, np.where(RIGHT > 1, np.nan, RIGHT)], "NaN"),
    ],
)
def test_bad_input(change: dict[str, Any], views: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        KernelCCA(**change).fit(views)


def test_few_rows_are_looked_at_for_alpha(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_cca, "AUTO_ROWS", 60)
    assert KernelCCA(Linear(), 1).fit([LEFT, RIGHT]).score([LEFT, RIGHT]) > 0.5
