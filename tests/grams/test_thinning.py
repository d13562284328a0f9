"""Thinning: near the mean of all rows, better than random rows by more than a factor, exact weights, any input."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

import mercer
from mercer import Gaussian, Linear, Nystroem, Spectrum, thin, thin_weights
from mercer.errors import InputError
from mercer.grams import thinning
from mercer.grams.thinning import balanced_signs

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 2))


def mmd(K: Any, places: Any, weights: Any = None) -> float:
    own = np.zeros(len(K))
    own[places] = 1.0 / len(places) if weights is None else weights
    gap = own - 1.0 / len(K)
    return float(np.sqrt(max(gap @ K @ gap, 0.0)))


def test_nearer_to_the_mean_than_random_rows_at_a_better_rate() -> None:
    kernel = Gaussian(1.0)
    ratios = []
    for n in (400, 6400):
        rows = np.random.default_rng(n).normal(size=(n, 2))
        K, m = kernel(rows), int(np.sqrt(n))
        random = np.mean([mmd(K, np.random.default_rng(s).choice(n, m, replace=False)) for s in range(10)])
        ratios.append(mmd(K, thin(rows, m, kernel)) / random)
    assert ratios[0] < 0.3 and ratios[1] < ratios[0] / 1.3  # n grows by 16: the rates differ by n^(1/4), which is 2


def test_halving_rounds_keep_the_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    K = Gaussian(1.0)(X)
    monkeypatch.setattr(thinning, "SPARE", 1)
    monkeypatch.setattr(thinning, "SPARE_ROOT", 1)
    monkeypatch.setattr(thinning, "GROUP", 16)
    random = np.mean([mmd(K, np.random.default_rng(s).choice(600, 25, replace=False)) for s in range(10)])
    assert mmd(K, thin(X, 25, Gaussian(1.0))) < 0.5 * random


def test_signs_keep_sums_of_differences_short() -> None:
    F = RNG.normal(size=(3, 64, 5))
    gaps = np.einsum("bid,bjd->bij", F, F)
    signs = balanced_signs(gaps, np.random.default_rng(1))
    assert set(np.unique(signs)) == {-1.0, 1.0}
    lengths = np.linalg.norm(np.einsum("bi,bid->bd", signs, F), axis=1)
    random = np.linalg.norm(np.einsum("bi,bid->bd", np.where(RNG.random(signs.shape) < 0.5, 1.0, -1.0), F), axis=1)
    assert lengths.mean() < 0.5 * random.mean()


def test_distinct_ascending_and_reproducible() -> None:
    first, again = thin(X, 37), thin(X, 37)
    assert np.array_equal(first, again) and len(np.unique(first)) == 37 and (np.diff(first) > 0).all()
    assert not np.array_equal(first, thin(X[::-1], 37)[::-1])
    assert np.array_equal(thin(X, 600), np.arange(600)) and len(thin(X, 1)) == 1


def test_many_rows_are_chosen_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thinning, "MOST", 30)
    places = thin(X, 101, Gaussian(1.0))
    assert len(np.unique(places)) == 101
    assert mmd(Gaussian(1.0)(X), places) < 0.5 * mmd(Gaussian(1.0)(X), RNG.choice(600, 101, replace=False))


def test_weights_minimize_the_distance_of_means() -> None:
    rows = X[:80]
    places = np.array([3, 10, 40, 41, 77])
    weights = thin_weights(rows, places, Gaussian(0.7))
    K = Gaussian(0.7)(rows)
    twin = minimize(
        lambda w: mmd(K, places, w) ** 2, np.full(5, 0.2), bounds=[(0, 1)] * 5,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1}, options={"ftol": 1e-14},
    )  # fmt: skip
    assert np.allclose(weights, twin.x, atol=1e-4) and weights.sum() == pytest.approx(1.0) and weights.min() >= 0
    assert mmd(K, places, weights) <= mmd(K, places) + 1e-12


def test_strings_graphs_and_equal_rows() -> None:
    words = ["".join(RNG.choice(list("abc"), 8)) for _ in range(60)]
    K = np.asarray(Spectrum(2)(words))
    assert mmd(K, thin(words, 10, Spectrum(2))) < mmd(K, RNG.choice(60, 10, replace=False))
    graphs = [mercer.Graph(n, [(i, i + 1) for i in range(n - 1)]) for n in range(3, 13)]
    assert len(thin(graphs, 4, mercer.WeisfeilerLehman(1))) == 4
    assert len(np.unique(thin(np.ones((300, 2)), 20, Gaussian(1.0)))) == 20


def test_thinned_landmarks_of_nystroem() -> None:
    model = Nystroem(Gaussian(1.0), n_components=20, landmarks="thinned", random_state=0).fit(X)
    uniform = Nystroem(Gaussian(1.0), n_components=20, landmarks="uniform", random_state=0).fit(X)
    assert len(model.component_indices_) <= 20 and model.missed_ < uniform.missed_
    assert np.array_equal(np.asarray(model.components_), X[model.component_indices_])


@pytest.mark.parametrize(("n", "m"), [(3000, 100), (3000, 300), (700, 200)])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_memory_of_thinned_landmarks_is_that_of_the_route(n: int, m: int, kind: Any) -> None:
    rows = np.random.default_rng(4).normal(size=(n, 3)).astype(kind)
    model = Nystroem(Gaussian(1.0), n_components=m, landmarks="thinned")
    model.fit(rows[: n // 10])
    tracemalloc.start()
    model.fit(rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 1.05 * model.route_.bytes


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: thin(X, 0), "m must be a whole number >= 1"),
        (lambda: thin(X, 601), "601 rows were asked for, but X has 600"),
        (lambda: thin([], 1), "empty"),
        (lambda: thin_weights(X, [0, 600]), "row numbers from 0 to 599"),
        (lambda: thin_weights(X, [1, 1]), "more than once"),
        (lambda: thin_weights(X, [0.5]), "row numbers"),
        (lambda: thin_weights(X, [], Linear()), "row numbers"),
    ],
)
def test_bad_input(call: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        call()
