"""Shapley values of columns: equal to the definition over all subsets, to shap, and adding up to the prediction."""

from __future__ import annotations

from itertools import combinations
from math import factorial
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import mercer
from mercer import Gaussian, Kernel, Laplacian, Linear
from mercer.errors import CapabilityError, InputError
from mercer.kernels.column_terms import column_terms
from mercer.numeric.shapley import product_shapley

RNG = np.random.default_rng(5)
X, NEW = RNG.normal(size=(40, 4)), RNG.normal(size=(6, 4))
Y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2]

KERNELS = [
    Gaussian(1.3),
    Gaussian((0.7, 1.0, 2.0, 5.0)),
    Laplacian(2.0),
    mercer.PowerExponential(1.0, power=1.0, length_scale=3.0),
    Gaussian(1.0).on(0, 2) * Laplacian(2.0).on(1) + 0.5 * Linear(),
    (Gaussian(1.0) + 1.0) ** 2 * Gaussian(3.0).on(3),
    mercer.Matern(2.5, length_scale=2.0).on(1) + Gaussian(1.0).on(0, 1, 2, 3) + 0.3,
    mercer.Polynomial(2).on(2) * Gaussian(1.0),
]


def over_subsets(values: Any, d: int) -> np.ndarray:
    """The Shapley values of a game by its definition."""
    found = np.zeros(d)
    for j in range(d):
        others = [i for i in range(d) if i != j]
        for size in range(d):
            share = factorial(size) * factorial(d - 1 - size) / factorial(d)
            for S in combinations(others, size):
                found[j] += share * (values({*S, j}) - values(set(S)))
    return found


@pytest.mark.parametrize("m", [1, 2, 3, 6, 9])
def test_products_over_all_subsets(m: int) -> None:
    p, q = RNG.normal(size=(5, m)), RNG.normal(size=(m, 5, 3))
    p[0, 0] = q[m - 1, 1, 0] = 0.0  # nothing is divided
    weights = RNG.normal(size=5)

    def game(S: set[int]) -> float:
        inside = np.array([j in S for j in range(m)])[:, None, None]
        return float(weights @ np.where(inside, p.T[:, :, None], q).prod(axis=0).sum(axis=1))

    assert np.allclose(product_shapley(p, q, weights), over_subsets(game, m), rtol=0, atol=1e-12)


@pytest.mark.parametrize("m", [1, 2, 7, 16])
def test_compiled_games_are_those_of_numpy(m: int, monkeypatch: pytest.MonkeyPatch) -> None:
    p, q, weights = RNG.normal(size=(50, m)), RNG.normal(size=(m, 50, 9)), RNG.normal(size=50)
    plain = product_shapley(p, q, weights)
    monkeypatch.setattr("mercer.numeric.shapley.PER_FACTOR", 1e9)
    monkeypatch.setattr("mercer.numeric.shapley.CACHED_NUMBERS", 100)  # several parts, on several threads
    assert np.allclose(product_shapley(p, q, weights), plain, rtol=1e-12, atol=1e-12 * np.abs(plain).max())


def test_several_rows_are_explained_in_turn() -> None:
    model = mercer.KernelRidge(Gaussian(1.3), alpha=0.1).fit(X, Y)
    found = mercer.explain(model, NEW, background=X[:7])
    assert len(found) == len(NEW)
    for x, one in zip(NEW, found, strict=True):
        assert np.allclose(one.contributions, mercer.explain(model, x, background=X[:7]).contributions, rtol=0, atol=1e-14)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_the_terms_add_up_to_the_kernel(kernel: Kernel) -> None:
    total = 0.0
    for term in column_terms(kernel, range(4)):
        total = total + term.weight * np.prod([k(X, NEW) for k in term.factors.values()] or [np.ones((40, 6))], axis=0)
    assert np.allclose(total, kernel(X, NEW), rtol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_interventional_values_are_those_of_the_definition(kernel: Kernel) -> None:
    model = mercer.KernelRidge(kernel, alpha=0.1).fit(X, Y)
    background, x = X[:7], NEW[0]

    def game(S: set[int]) -> float:
        rows = background.copy()
        rows[:, list(S)] = x[list(S)]
        return float(model.predict(rows).mean())

    found = mercer.explain(model, x, background=background)
    assert np.allclose(found.contributions, over_subsets(game, 4), rtol=0, atol=1e-10)
    assert np.isclose(found.base + found.contributions.sum(), model.predict([x])[0], atol=1e-10)
    assert np.isclose(found.base, model.predict(background).mean(), atol=1e-10)


def test_baseline_values_are_those_of_the_definition() -> None:
    scales = np.array([0.7, 1.0, 2.0, 5.0])
    model = mercer.KernelRidge(Gaussian(tuple(scales)), alpha=0.1).fit(X, Y)
    factors = np.exp(-0.5 * ((X - NEW[1]) / scales) ** 2)  # (n, d)
    found = mercer.explain(model, NEW[1], background="baseline")
    expected = over_subsets(lambda S: float(model.dual_coef_ @ factors[:, sorted(S)].prod(axis=1)), 4)
    assert np.allclose(found.contributions, expected, rtol=0, atol=1e-10)
    assert np.isclose(found.base + found.contributions.sum(), found.value)


@pytest.mark.parametrize(
    "model",
    [
        mercer.SVC(Gaussian(1.0), C=2.0),
        mercer.KernelRidgeClassifier(Gaussian(1.0)),
        mercer.KernelPerceptron(Gaussian(1.0), max_iter=5),
        mercer.NearestMean(Gaussian(1.0)),
    ],
    ids=lambda m: type(m).__name__,
)
@pytest.mark.filterwarnings("ignore")
def test_classifiers(model: Any) -> None:
    model.fit(X, np.where(Y > 0, "up", "down"))
    found = mercer.explain(model, NEW[2], background=X)
    assert np.isclose(found.base + found.contributions.sum(), model.decision_function(NEW[2:3])[0])
    assert "class 'up'" in str(found)


def test_processes_and_vector_machines_for_regression() -> None:
    for model in (mercer.SVR(Gaussian(1.0)), mercer.GaussianProcessRegressor(Gaussian(1.0), noise=0.1, optimizer=None)):
        found = mercer.explain(model.fit(X, Y), NEW[0])
        assert np.isclose(found.base + found.contributions.sum(), model.predict(NEW[:1])[0])
    assert found.against == "mean over a background of 40 rows"


def test_examples_and_the_intercept_add_up_to_the_value() -> None:
    model = mercer.KernelRidge(Gaussian(1.0), alpha=0.1).fit(X[:9], Y[:9])
    found = mercer.explain(model, NEW[0])
    assert np.isclose(sum(part for _, part in found.examples) + model.intercept_, found.value)


def test_columns_of_a_table_by_name() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"age": X[:, 0], "size": X[:, 1], "color": ["red", "blue", "green", "red"] * 10})
    kernel = Gaussian(1.0).on("age", "size") * mercer.Categorical().on("color")
    model = mercer.KernelRidge(kernel, alpha=0.1).fit(frame, Y)
    found = mercer.explain(model, frame.iloc[[3]], background=frame.iloc[:5])
    assert found.names == ("age", "size", "color")

    def game(S: set[int]) -> float:
        rows = frame.iloc[:5].copy()
        for j in S:
            rows.iloc[:, j] = frame.iloc[3, j]
        return float(model.predict(rows).mean())

    assert np.allclose(found.contributions, over_subsets(game, 3), atol=1e-10)


def test_a_column_without_influence_gets_nothing() -> None:
    found = mercer.explain(mercer.KernelRidge(Gaussian(1.0).on(0, 1)).fit(X, Y), NEW[0])
    assert found.contributions[2] == found.contributions[3] == 0.0


def test_many_columns() -> None:
    wide = RNG.normal(size=(30, 300))
    model = mercer.KernelRidge(Gaussian(20.0), alpha=1e-3).fit(wide, wide[:, 7])
    found = mercer.explain(model, wide[0])
    assert np.isclose(found.base + found.contributions.sum(), model.predict(wide[:1])[0], atol=1e-9)


def test_refusals() -> None:
    model = mercer.KernelRidge(mercer.Matern(1.5)).fit(X, Y)
    with pytest.raises(CapabilityError, match="not a product over columns"):
        mercer.explain(model, NEW[0])
    good = mercer.KernelRidge(Gaussian(1.0)).fit(X, Y)
    with pytest.raises(InputError, match="baseline"):
        mercer.explain(good, NEW[0], background="zero")
    with pytest.raises(ValueError, match="3 features"):
        mercer.explain(good, NEW[:, :3][0])
    many = (Gaussian(1.0) + 1.0).on(0)
    for _ in range(10):
        many = many * (Gaussian(1.0).on(0, 1) + Laplacian(1.0))
    with pytest.raises(CapabilityError, match="more than 1000 terms"):
        column_terms(many, range(4))


def test_the_same_as_shap() -> None:
    shap = pytest.importorskip("shap", reason="shap comes with the extra bench")
    model = mercer.KernelRidge(Gaussian((0.7, 1.0, 2.0, 5.0)), alpha=0.1).fit(X, Y)
    exact = shap.explainers.Exact(model.predict, shap.maskers.Independent(X[:9], max_samples=9))
    expected = exact(NEW[:3]).values
    found = np.array([mercer.explain(model, x, background=X[:9]).contributions for x in NEW[:3]])
    assert np.allclose(found, expected, atol=1e-8)


def test_sparse_rows_are_explained_as_dense_ones() -> None:
    dense = np.where(np.random.default_rng(0).random((30, 4)) < 0.5, 0.0, 1.5)
    model = mercer.KernelRidge(Gaussian(1.0)).fit(sp.csr_array(dense), dense[:, 0] - dense[:, 1])
    found, expected = mercer.explain(model, sp.csr_array(dense[:2])), mercer.explain(model, dense[:2])
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one.contributions, other.contributions, atol=1e-10)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        ("abc", "x holds str 'abc' at row 0, not a number"),
        ([[1.0, 2.0, 3.0], [1.0]], "x is ragged"),
        ([None, 1.0, 2.0], "x has NaN at row 0, column 0"),
        (np.zeros((2, 2, 3)), "x has 3 dimensions"),
        ({"a": 1}, "x holds dict"),
    ],
)
def test_what_is_no_vector_is_refused_by_name(x: Any, message: str) -> None:
    model = mercer.KernelRidge(Gaussian(1.0)).fit(np.eye(3), [1.0, 2.0, 3.0])
    with pytest.raises(InputError, match=message):
        mercer.explain(model, x)
