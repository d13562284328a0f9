import tracemalloc

import numpy as np
import pytest
from tests.linalg.ridge import naive

from mercer.errors import InputError
from mercer.linalg.ridge.dual import solve_dual

CASES = [(None, False), (None, True), ("weights", False), ("weights", True), ("zeros", False), ("zeros", True)]


def problem(kind, n=25, t=2, seed=0):
    rng = np.random.default_rng(seed)
    K, _ = naive.gram(rng, n)
    w = None if kind is None else rng.uniform(0.2, 3, size=n)
    if kind == "zeros":
        w[[0, 4, n - 1]] = 0
    return K, rng.normal(size=(n, t)) + 5, w


@pytest.mark.parametrize(("kind", "intercept"), CASES)
def test_dual_against_the_bordered_system(kind, intercept):
    K, Y, w = problem(kind)
    fit = solve_dual(K, Y, 0.7, weights=w, fit_intercept=intercept)
    dual, b = naive.ridge(K, Y, 0.7, w, intercept)
    H = naive.smoother(K, 0.7, w, intercept)
    assert np.allclose(fit.value, dual, rtol=0, atol=1e-10)
    assert np.allclose(fit.intercept, b, rtol=0, atol=1e-10)
    assert np.allclose(fit.residuals, Y - K @ dual - b, rtol=0, atol=1e-10)
    assert np.allclose(fit.leverage(), H.diagonal(), rtol=0, atol=1e-10)
    assert np.isclose(fit.effective_dof(), np.trace(H))
    assert np.allclose(fit.norm_squared, np.einsum("it,ij,jt->t", dual, K, dual), rtol=1e-10)
    assert np.allclose(fit.influence(K), H, rtol=0, atol=1e-10)
    assert fit.converged and fit.jitter == 0 and fit.residual < 1e-12


@pytest.mark.parametrize("intercept", [False, True])
def test_dual_is_residual_over_alpha(intercept):
    K, Y, _ = problem(None)
    fit = solve_dual(K, Y[:, 0], 0.3, fit_intercept=intercept)
    assert fit.value.shape == (25,) and fit.intercept.shape == ()
    f = K @ fit.value + fit.intercept
    assert np.allclose(fit.value, (Y[:, 0] - f) / 0.3, rtol=0, atol=1e-10)
    if intercept:
        assert abs(fit.value.sum()) < 1e-10  # what an unpenalized intercept means


def test_weight_zero_is_leaving_the_row_out_and_two_is_repeating_it():
    K, Y, _ = problem(None)
    w = np.ones(25)
    w[3] = 2.0
    w[7] = 0.0
    twice = np.r_[np.delete(np.arange(25), 7), 3]
    fit = solve_dual(K, Y, 0.5, weights=w, fit_intercept=True)
    other = solve_dual(K[np.ix_(twice, twice)], Y[twice], 0.5, fit_intercept=True)
    assert np.allclose(Y - fit.residuals, K[:, twice] @ other.value + other.intercept, rtol=0, atol=1e-10)


@pytest.mark.parametrize("kind", [None, "zeros"])
def test_in_place(kind):
    K, Y, w = problem(kind)
    mine = K.copy()
    fit = solve_dual(mine, Y, 0.7, weights=w, overwrite=True)
    assert np.shares_memory(fit.factor.matrix, mine)
    assert np.allclose(fit.value, naive.ridge(K, Y, 0.7, w)[0], rtol=0, atol=1e-10)
    untouched = K.copy()
    solve_dual(untouched, Y, 0.7, weights=w)
    assert np.array_equal(untouched, K)


def test_a_fit_in_place_allocates_a_small_share_of_the_gram():
    n = 2000
    K = np.exp(-np.abs(np.subtract.outer(np.arange(n), np.arange(n))) / 50.0)
    y = np.sin(np.arange(n) / 9)
    tracemalloc.start()
    fit = solve_dual(K, y, 0.1, fit_intercept=True, overwrite=True)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert fit.converged and np.shares_memory(fit.factor.matrix, K)
    assert peak < 0.02 * K.nbytes


def test_float32_is_refined():
    K, Y, _ = problem(None)
    K32 = K.astype(np.float32)
    fit = solve_dual(K32, Y, 0.01, fit_intercept=True)
    exact, b = naive.ridge(K32.astype(np.float64), Y, 0.01, None, True)
    assert "refined" in fit.message and fit.converged
    assert np.allclose(fit.value, exact, rtol=0, atol=1e-9 * np.abs(exact).max())
    assert np.allclose(fit.intercept, b, rtol=1e-9)


def test_one_alpha_at_a_time():
    K, Y, _ = problem(None, t=3)
    with pytest.raises(InputError, match="alpha must be one number"):
        solve_dual(K, Y, np.array([0.1, 10.0, 0.1]))


def test_duplicates_at_alpha_zero_report_their_jitter():
    K = np.ones((3, 3))
    fit = solve_dual(K, np.array([1.0, 1.0, 1.0]), 0.0)
    assert fit.jitter > 0 and "jitter" in fit.message and "singular" in fit.message
    assert np.allclose(K @ fit.value, 1.0)
    assert fit.condition > 1e14


def test_one_row():
    fit = solve_dual(np.array([[2.0]]), np.array([3.0]), 1.0)
    assert np.allclose(fit.value, [1.0])
    fit = solve_dual(np.array([[2.0]]), np.array([3.0]), 1.0, fit_intercept=True)
    assert np.allclose(fit.value, [0.0]) and np.isclose(fit.intercept, 3.0)
    assert np.allclose(fit.leverage(), [1.0])
