"""One order statistic of leave-one-out residuals from a float32 factor, against sorting all of them in float64."""

import numpy as np
import pytest
from tests.linalg.ridge import naive

from mercer.estimators.ridge import mixed as module
from mercer.estimators.ridge.mixed import loo_quantile
from mercer.linalg.cholesky import cholesky
from mercer.linalg.ridge.dual import solve_dual

N = 900


def problem(alpha, length_scale=1.0, weighted=False, targets=1, seed=0):
    """K, Y, the weights (or None) and G of a noisy regression."""
    rng = np.random.default_rng(seed)
    K, X = naive.gram(rng, N, length_scale=length_scale)
    Y = np.sin(X.sum(axis=1))[:, None] + 0.3 * rng.normal(size=(N, targets))
    weights = rng.uniform(0.5, 2.0, N) if weighted else None
    shift = alpha / (np.ones(N) if weights is None else weights)
    return K, Y, weights, K + np.diag(shift), shift


def quantile(K, G, shift, dual, rank, taken=0.0):
    factor = cholesky(K.astype(np.float32), shift)
    return loo_quantile(factor, lambda V: G @ V, dual, rank, floor=float(shift.min()), taken=taken)


@pytest.mark.parametrize("alpha", [1.0, 0.03, 1e-3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_it_is_the_one_that_sorting_finds(alpha, weighted, intercept):
    K, Y, weights, G, shift = problem(alpha, weighted=weighted)
    fit = solve_dual(K, Y, alpha, weights=weights, fit_intercept=intercept)
    u = np.linalg.solve(G, np.ones(N))
    taken = u**2 / u.sum() if intercept else 0.0
    ordered = np.sort(np.abs(fit.leave_one_out()[:, 0]))
    for rank in (1, 450, 811, N):
        found = quantile(K, G, shift, fit.value, rank, taken)
        assert found is not None
        np.testing.assert_allclose(found, ordered[rank - 1], rtol=1e-9)
        # and no neighbor in the order would have passed for it
        others = np.delete(ordered, rank - 1)
        assert np.abs(found - others).min() > 100 * abs(found[0] - ordered[rank - 1])


def test_several_targets_at_once():
    K, Y, _, G, shift = problem(0.1, targets=3)
    fit = solve_dual(K, Y, 0.1)
    wanted = np.sort(np.abs(fit.leave_one_out()), axis=0)[809]
    np.testing.assert_allclose(quantile(K, G, shift, fit.value, 810), wanted, rtol=1e-10)


def test_equal_residuals_and_zeros():
    G, shift = 2.0 * np.eye(N), np.full(N, 2.0)
    dual = np.repeat([0.0, 1.0, 3.0], N // 3)[:, None]
    K = np.zeros((N, N))
    assert quantile(K, G, shift, dual, 300) == 0.0
    assert quantile(K, G, shift, dual, 450) is None  # 300 rows in doubt are more than are worth the work
    dual[400:, 0] += np.arange(N - 400)
    dual[450:460] = dual[450]  # ten equal ones are not
    np.testing.assert_allclose(quantile(K, G, shift, dual, 455), 2.0 * dual[450], rtol=1e-12)


@pytest.mark.parametrize("alpha", [1.0, 1e-3])
def test_the_random_vectors_bound_the_error_of_every_row(alpha):
    K, _, _, G, shift = problem(alpha)
    factor = cholesky(K.astype(np.float32), shift)
    errors = np.abs(factor.diag_inverse(overwrite=True) - np.linalg.inv(G).diagonal())
    bounds = module._row_norms(factor, lambda V: G @ V)
    assert (errors <= bounds).all()
    assert np.median(bounds) < 1e4 * np.median(errors)  # and are worth something


def test_the_enclosure_of_an_entry_holds_the_entry(monkeypatch):
    K, _, _, G, shift = problem(1e-2)
    rows = np.array([0, 17, N - 1])
    exact = np.linalg.inv(G).diagonal()[rows]
    for width in (1e-2, 1e-5, 1e-11):
        monkeypatch.setattr(module, "WIDTH", width)
        factor = cholesky(K.astype(np.float32), shift)
        factor.diag_inverse(overwrite=True)
        low, high = module._entries(factor, lambda V: G @ V, rows, 1e-2)
        assert (low <= exact * (1 + 1e-12)).all() and (exact <= high * (1 + 1e-12)).all()
        assert (high - low <= width * low).all()


def test_where_float32_has_too_few_digits_the_answer_is_none():
    K, Y, _, G, shift = problem(1e-7, length_scale=3.0)
    factor = cholesky(K.astype(np.float32), shift, max_jitter=1.0)
    assert loo_quantile(factor, lambda V: G @ V, Y, 810, floor=1e-7) is None


def test_too_many_rows_in_doubt(monkeypatch):
    K, Y, _, G, shift = problem(0.1)
    dual = np.linalg.solve(G, Y)
    monkeypatch.setattr(module, "SHARE", 0.0)
    monkeypatch.setattr(module, "FEWEST", 0)
    assert quantile(K, G, shift, dual, 810) is None


def test_a_row_of_leverage_one_is_infinite():
    """Where an intercept takes the whole diagonal entry, nothing is known of the row without itself."""
    G, dual = np.eye(3), np.array([[1.0], [2.0], [3.0]])
    factor = cholesky(np.zeros((3, 3), np.float32), 1.0)
    taken = np.array([0.0, 0.0, 1.0])
    assert loo_quantile(factor, lambda V: G @ V, dual, 3, floor=1.0, taken=taken)[0] == np.inf
