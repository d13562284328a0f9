import numpy as np
import pytest
import scipy.optimize
from tests.linalg.ridge import naive

from mercer.errors import InputError
from mercer.estimators.ridge.robust import huber, huber_loss, huber_weights
from mercer.linalg.ridge.dual import solve_dual


def ridge_problem(seed=0, outliers=5):
    rng = np.random.default_rng(seed)
    X = np.sort(rng.uniform(-3, 3, size=60))
    K = np.exp(-(np.subtract.outer(X, X) ** 2) / 2)
    truth = np.sin(X)
    y = truth + 0.05 * rng.normal(size=60)
    y[rng.choice(60, outliers, replace=False)] += 8.0

    def fit(w, alpha=0.5):
        solved = solve_dual(K, y, alpha, weights=w, fit_intercept=True)
        return solved.residuals, alpha * float(solved.norm_squared)

    return K, y, truth, fit


def test_the_objective_never_rises_and_outliers_are_resisted():
    _, y, truth, fit = ridge_problem()
    result = huber(fit, 60)
    assert result.converged and result.n_iter > len(result.objective) > 2
    assert 0.04 < result.delta < 0.3  # 1.345 times a noise of 0.05, some of the outliers' pull left
    assert (np.diff(result.objective) <= 1e-10 * result.objective[0]).all()
    plain = y - fit(np.ones(60))[0]
    robust = y - result.residuals
    assert np.mean((robust - truth) ** 2) < 0.1 * np.mean((plain - truth) ** 2)
    assert result.value.min() < 0.05 and np.median(result.value) == 1.0


def test_the_minimum_is_that_of_a_general_optimizer():
    K, y, _, fit = ridge_problem()
    result = huber(fit, 60, delta=0.3, tol=1e-13, max_iter=2000)
    L = np.linalg.cholesky(K + 1e-9 * np.eye(60))

    def objective(v):
        r = y - L @ v[:-1] - v[-1]
        slope = np.clip(r, -0.3, 0.3)
        value = huber_loss(r, 0.3).sum() + 0.5 * v[:-1] @ v[:-1]
        return value, np.r_[-2 * L.T @ slope + v[:-1], -2 * slope.sum()]

    best = scipy.optimize.minimize(objective, np.zeros(61), jac=True, method="L-BFGS-B", options={"maxiter": 5000})
    assert np.isclose(result.objective[-1], best.fun, rtol=1e-5)


def test_a_large_delta_is_least_squares():
    _, _, _, fit = ridge_problem()
    result = huber(fit, 60, delta=1e6)
    assert np.allclose(result.residuals, fit(np.ones(60))[0]) and result.n_iter == 2


def test_base_weights_multiply():
    _, _, _, fit = ridge_problem()
    base = np.ones(60)
    base[:10] = 0.0
    result = huber(fit, 60, weights=base, delta=0.2)
    assert (result.value[:10] == 0).all() and (np.diff(result.objective) <= 1e-10 * result.objective[0]).all()


def test_loss_and_weights_agree():
    r = np.linspace(-4, 4, 401)
    slope = np.gradient(huber_loss(r, 1.3), r)
    assert np.allclose(slope[1:-1], (2 * r * huber_weights(r, 1.3))[1:-1], atol=0.02)
    # The weighted square touches the loss at r0 and lies above it elsewhere, which is why the objective falls.
    for r0 in (0.5, 2.0, -3.5):
        w = float(huber_weights(np.array([r0]), 1.3)[0])
        above = w * r**2 - huber_loss(r, 1.3)
        at = w * r0**2 - float(huber_loss(np.array([r0]), 1.3)[0])
        assert (above >= at - 1e-12).all()


def test_an_exact_fit_stops_at_once():
    result = huber(lambda w: (np.zeros(3), 0.0), 3)
    assert result.delta == 0 and result.converged and result.n_iter == 1
    mostly = huber(lambda w: (np.array([0.0, 0.0, 3.0]), 0.0), 3)
    assert mostly.delta > 0


def test_not_settling_and_stopping_are_results():
    _, _, _, fit = ridge_problem()
    short = huber(fit, 60, max_iter=2)
    assert not short.converged and "not settled after 2 fits" in short.message and short.n_iter == 2
    stopped = huber(fit, 60, delta=0.1, callback=lambda step, value: step == 2)
    assert not stopped.converged and "callback" in stopped.message


def test_bad_fits_are_named():
    with pytest.raises(InputError, match=r"shape \(3,\); got \(2,\)"):
        huber(lambda w: (np.zeros(2), 0.0), 3)
    with pytest.raises(InputError, match="NaN or infinite"):
        huber(lambda w: (np.full(3, np.nan), 0.0), 3)
    with pytest.raises(InputError, match="delta"):
        huber(lambda w: (np.zeros(3), 0.0), 3, delta=-1.0)


def test_the_twin_of_the_weighted_fit():
    K, y, _, fit = ridge_problem()
    w = np.linspace(0.1, 1, 60)
    dual, b = naive.ridge(K, y, 0.5, w, True)
    residuals, penalty = fit(w)
    assert np.allclose(residuals, y - K @ dual - b, atol=1e-9) and np.isclose(penalty, 0.5 * dual @ K @ dual)
