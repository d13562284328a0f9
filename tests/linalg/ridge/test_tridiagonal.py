"""The tridiagonal path against the eigen path and against refits."""

import numpy as np
import pytest

from mercer.errors import InputError, NumericalError
from mercer.linalg.ridge.eigen import EigenFit, EigenPath
from mercer.linalg.ridge.tridiagonal import TridiagonalPath

ALPHAS = np.logspace(-3, 2, 7)


def gram(rng: np.random.Generator, n: int) -> np.ndarray:
    X = rng.normal(size=(n, 3))
    return np.exp(-0.5 * np.sum((X[:, None] - X[None]) ** 2, axis=2))


@pytest.mark.parametrize("n", [1, 2, 3, 40, 600])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_equals_the_eigen_path(rng: np.random.Generator, n: int, intercept: bool, weighted: bool) -> None:
    K, Y = gram(rng, n), rng.normal(size=(n, 2))
    weights = rng.random(n) + 0.1 if weighted else None
    if weighted and n > 3:
        weights[[1, n - 1]] = 0.0
    got = TridiagonalPath.from_gram(K, weights=weights, fit_intercept=intercept).leave_one_out(ALPHAS, Y)
    wanted = EigenFit(EigenPath.from_gram(K, weights=weights, fit_intercept=intercept), Y).leave_one_out(ALPHAS)
    # cond(K + alpha I) <= n / 1e-3, and both sides lose about that many eps
    np.testing.assert_allclose(got, wanted, rtol=1e-8, atol=1e-8)


def test_equals_refits(rng: np.random.Generator) -> None:
    K, y = gram(rng, 25), rng.normal(size=25)
    got = TridiagonalPath.from_gram(K).leave_one_out(ALPHAS, y)
    for a, alpha in enumerate(ALPHAS):
        for i in range(25):
            rest = np.arange(25) != i
            dual = np.linalg.solve(K[np.ix_(rest, rest)] + alpha * np.eye(24), y[rest])
            np.testing.assert_allclose(got[a, i], y[i] - K[i, rest] @ dual, rtol=1e-9, atol=1e-10)


def test_k_is_left_alone_unless_given_away(rng: np.random.Generator) -> None:
    K = gram(rng, 30)
    before = K.copy()
    TridiagonalPath.from_gram(K).leave_one_out([1.0], np.ones(30))
    assert np.array_equal(K, before)


def test_what_it_cannot_do_is_said(rng: np.random.Generator) -> None:
    with pytest.raises(InputError, match="alphas > 0"):
        TridiagonalPath.from_gram(gram(rng, 5)).leave_one_out([0.0], np.ones(5))
    with pytest.raises(NumericalError, match="not positive definite"):
        TridiagonalPath.from_gram(-gram(rng, 5)).leave_one_out([0.1], np.ones(5))
