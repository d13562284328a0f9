"""Categories, ordered levels, dates and missing cells: values, proofs, gradients, errors."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pytest

from mercer import Categorical, Gaussian, Laplacian, Linear, Ordered, Periodic, parse
from mercer.errors import InputError
from mercer.testing import check_kernel, naive

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("similarity", [0.0, 0.3, 1.0])
def test_categories_are_equal_or_similar(similarity: float) -> None:
    X, Z = ["a", "b", "a", "c"], ["b", "unseen"]
    kernel = Categorical(similarity)
    expected = [[naive.categorical(x, z, similarity) for z in Z] for x in X]
    assert kernel(X, Z).tolist() == expected
    assert kernel.certificate().status == "valid"
    assert parse(repr(kernel)) == kernel
    features = kernel.feature_map(X)
    assert np.allclose((features @ features.T).toarray(), kernel(X))
    check_kernel(kernel, X, Z, twin=lambda x, z: naive.categorical(x, z, similarity))


@pytest.mark.parametrize("similarity", [-0.1, 1.5, "half", True])
def test_similarity_has_bounds(similarity: Any) -> None:
    with pytest.raises(InputError, match=r"a number in \[0, 1\]"):
        Categorical(similarity)


def test_a_negative_similarity_would_be_no_kernel() -> None:
    assert np.linalg.eigvalsh(np.where(np.eye(4) > 0, 1.0, -0.5))[0] < 0


def test_numbers_and_numpy_scalars_are_categories_too() -> None:
    assert Categorical()(np.array([1, 2]), [1.0, 3])[0].tolist() == [1.0, 0.0]


@pytest.mark.parametrize("hole", [None, np.nan])
def test_a_hole_among_categories_is_named(hole: Any) -> None:
    with pytest.raises(InputError, match="missing cell at row 1"):
        Categorical()(["a", hole])


def test_ordered_levels_by_rank() -> None:
    kernel = Ordered(("low", "mid", "high"), length_scale=2.0)
    assert np.allclose(kernel(["low", "high"], ["mid"]), np.exp(-0.5))
    assert parse(repr(kernel)) == kernel
    check_kernel(kernel, ["low", "mid", "high", "low"])
    with pytest.raises(InputError, match="not among the levels"):
        kernel(["low", "huge"])
    with pytest.raises(InputError, match="levels"):
        Ordered(("a", "a"))


def test_dates_are_days_in_utc() -> None:
    kernel = Laplacian(10.0).dates()
    zone = datetime.timezone(datetime.timedelta(hours=12))
    cells = [
        "2026-11-16",
        datetime.date(2026, 11, 17),
        datetime.datetime(2026, 11, 17, 12),
        np.datetime64("2026-11-18"),
        datetime.datetime(2026, 11, 16, 12, tzinfo=zone),
    ]
    days = np.array([0.0, 1.0, 1.5, 2.0, 0.0])[:, None]
    assert np.allclose(kernel(cells), Laplacian(10.0)(days))
    assert (Periodic(1.0, period=7.0).dates()(cells)).shape == (5, 5)
    assert parse(repr(kernel)) == kernel
    with pytest.raises(InputError, match="ISO form"):
        kernel(["16/11/2026"])


@pytest.mark.parametrize("rule", ["mean", "indicator"])
def test_missing_cells_keep_the_gram_matrix_psd(rule: str) -> None:
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((15, 1))
        X[rng.random(15) < 0.4] = np.nan
        kernel = Gaussian(float(rng.uniform(0.3, 3.0))).missing(rng.standard_normal((6, 1)), rule=rule)
        K = kernel(X)
        assert np.linalg.eigvalsh(K)[0] > -1e-12
        assert np.allclose(np.diagonal(K), kernel.diag(X))
    assert kernel.certificate().status == "valid"


def test_the_mean_rule_is_the_mean_over_the_sample() -> None:
    sample, inner = RNG.standard_normal((5, 1)), Gaussian(0.8)
    X, Z = np.array([[0.3], [np.nan]]), np.array([[1.0], [np.nan], [-2.0]])
    K = inner.missing(sample)(X, Z)
    assert np.isclose(K[0, 0], inner(X[:1], Z[:1])[0, 0])
    assert np.isclose(K[1, 0], inner(sample, Z[:1]).mean())
    assert np.isclose(K[0, 1], inner(sample, X[:1]).mean())
    assert np.isclose(K[1, 1], inner(sample).mean())


def test_a_constant_where_one_is_missing_would_be_no_kernel() -> None:
    # the rule that comes to mind first, and the reason for the two rules here
    worst = 0.0
    for seed in range(50):
        rng = np.random.default_rng(seed)
        x = rng.standard_normal(12)
        K = np.exp(-((x[:, None] - x[None, :]) ** 2))
        holes = rng.random(12) < 0.4
        K[holes, :] = 0.5
        K[:, holes] = 0.5
        K[np.ix_(holes, holes)] = 1.0
        worst = min(worst, np.linalg.eigvalsh(K)[0])
    assert worst < -0.02


@pytest.mark.parametrize("rule", ["mean", "indicator"])
def test_gradients_with_holes_are_differences(rule: str) -> None:
    X, Z = RNG.standard_normal((12, 1)), RNG.standard_normal((9, 1))
    X[::3], Z[::4] = np.nan, np.nan
    W = RNG.standard_normal((12, 9))
    kernel = (2.0 * Gaussian(0.9) + Linear()).missing(RNG.standard_normal((5, 1)), rule=rule)
    gradient, step = kernel.pullback(X, Z, weights=W), 1e-6
    for i in range(len(gradient)):
        move = step * np.eye(len(gradient))[i]
        plus, minus = kernel.with_theta(kernel.theta + move), kernel.with_theta(kernel.theta - move)
        assert np.isclose(gradient[i], np.vdot(W, plus(X, Z) - minus(X, Z)) / (2 * step), atol=1e-6)


def test_holes_among_words_and_a_column_of_holes_alone() -> None:
    kernel = Categorical(0.2).missing(["a", "b", "b"])
    K = kernel(["a", None, "c"])
    assert np.isclose(K[0, 1], (1.0 + 0.2 + 0.2) / 3.0)
    assert np.isclose(K[2, 1], 0.2)
    assert kernel([None, None]).shape == (2, 2)


def test_bad_samples_and_rules_are_refused() -> None:
    with pytest.raises(InputError, match="rule is 'mean' or 'indicator'"):
        Gaussian(1.0).missing([1.0, 2.0], rule="zero")
    with pytest.raises(InputError, match="observed values only"):
        Gaussian(1.0).missing([1.0, np.nan])
    with pytest.raises(InputError, match="changed its type"):
        Gaussian(1.0).missing([1.0, 2.0])([[1.0], ["red"]])
