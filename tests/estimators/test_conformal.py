import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.linalg.ridge import naive
from tests.linalg.ridge.test_dual import CASES, problem

from mercer.errors import InputError
from mercer.estimators.intervals import conformal_rank, jackknife_plus, jackknife_radius
from mercer.linalg.ridge.dual import solve_dual
from mercer.linalg.ridge.eigen import EigenPath


@given(st.integers(0, 500), st.integers(1, 99))
@settings(max_examples=200, deadline=None)
def test_the_rank_is_exact(n, percent):
    assert conformal_rank(n, percent / 100) == min(math.ceil(Fraction(percent, 100) * (n + 1)), n + 1)


@given(st.lists(st.floats(-100, 100), min_size=1, max_size=40), st.integers(1, 99))
@settings(max_examples=100, deadline=None)
def test_radius_against_sorting(values, percent):
    rank = math.ceil(Fraction(percent, 100) * (len(values) + 1))
    wanted = sorted(abs(v) for v in values)[rank - 1] if rank <= len(values) else math.inf
    assert jackknife_radius(np.array(values), percent / 100) == wanted


@pytest.mark.parametrize(("kind", "intercept"), CASES)
def test_jackknife_plus_against_refits(kind, intercept):
    K, Y, w = problem(kind)
    y, rng = Y[:, 0], np.random.default_rng(8)
    # Kernel rows of new points: mixtures of the old ones are as good as any.
    rows = rng.dirichlet(np.ones(25), size=6) @ K
    fit = solve_dual(K, y, 0.5, weights=w, fit_intercept=intercept)
    prediction, loo = rows @ fit.value + fit.intercept, fit.leave_one_out()
    used = np.arange(25) if w is None else np.flatnonzero(w)
    for influence in (
        fit.influence(rows),
        EigenPath.from_gram(K, weights=w, fit_intercept=intercept).influence(rows, 0.5),
    ):
        found = jackknife_plus(prediction, influence[:, used], loo[used], 0.8)
        without, size = np.empty((6, used.size)), np.empty(used.size)
        for column, i in enumerate(used):
            kept = np.ones(25) if w is None else w.copy()
            kept[i] = 0
            dual, b = naive.ridge(K, y, 0.5, kept, intercept)
            without[:, column], size[column] = rows @ dual + b, abs(y[i] - K[i] @ dual - b)
        n = used.size
        upper = np.sort(without + size, axis=1)[:, math.ceil(0.8 * (n + 1)) - 1]
        lower = np.sort(without - size, axis=1)[:, math.floor(round(0.2 * (n + 1), 9)) - 1]
        assert np.allclose(found, np.c_[lower, upper], rtol=0, atol=1e-9)
        tiles = [jackknife_plus(prediction[s], influence[s][:, used], loo[used], 0.8) for s in ([0, 1], [2, 3, 4, 5])]
        assert np.array_equal(np.vstack(tiles), found)


def test_too_few_rows_are_infinite():
    assert jackknife_radius(np.ones(9), 0.9) == 1  # nine are just enough for 0.9
    assert jackknife_radius(np.ones(8), 0.9) == np.inf
    assert np.array_equal(jackknife_plus(np.zeros(2), np.zeros((2, 8)), np.ones(8), 0.9), [[-np.inf, np.inf]] * 2)


def test_an_undefined_residual_counts_as_infinite():
    loo = np.array([1.0, np.nan, 2.0, 3.0])
    assert jackknife_radius(loo, 0.6) == 3.0 and jackknife_radius(loo, 0.8) == np.inf
    found = jackknife_plus(np.zeros(1), np.zeros((1, 4)), loo, 0.6)
    assert np.array_equal(found, [[-3.0, 3.0]])
    assert np.array_equal(jackknife_plus(np.zeros(1), np.zeros((1, 4)), loo, 0.8), [[-np.inf, np.inf]])


def test_coverage_on_fresh_data():
    """Pooled over 60 draws the jackknife+ covers at least its guarantee, and close to what was asked for."""
    rng = np.random.default_rng(0)
    hits, total = 0, 0
    for _ in range(60):
        X = rng.uniform(-2, 2, size=(80, 1))
        y = np.sin(2 * X[:, 0]) + 0.3 * rng.standard_t(3, size=80)
        K = np.exp(-((X - X.T) ** 2))
        train, test = np.arange(50), np.arange(50, 80)
        fit = solve_dual(K[np.ix_(train, train)], y[train], 0.5)
        rows = K[np.ix_(test, train)]
        interval = jackknife_plus(rows @ fit.value, fit.influence(rows), fit.leave_one_out(), 0.9)
        hits += ((interval[:, 0] <= y[test]) & (y[test] <= interval[:, 1])).sum()
        total += 30
    assert hits / total >= 0.8  # the theorem
    assert 0.87 <= hits / total <= 0.94  # and what happens


def test_bad_input_is_named():
    with pytest.raises(InputError, match=r"between 0 and 1.*got 90"):
        jackknife_radius(np.ones(3), 90)
    with pytest.raises(InputError, match="one target at a time"):
        jackknife_radius(np.ones((3, 2)), 0.9)
    with pytest.raises(InputError, match=r"\(2, 3\); got \(3, 2\)"):
        jackknife_plus(np.ones(2), np.ones((3, 2)), np.ones(3), 0.5)
