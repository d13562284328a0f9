"""KernelQuantileRegressor: shares below and above, the dual against a slow solver, crossing, bad parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog, minimize
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import SVR, Gaussian, KernelQuantileRegressor
from mercer.errors import InputError
from mercer.estimators.svm.quantile import non_crossing


def noisy(n: int = 150, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 6.0, (n, 1))
    return X, np.sin(X[:, 0]) + (0.1 + 0.2 * X[:, 0]) * rng.standard_normal(n)


@pytest.mark.parametrize("tau", [0.05, 0.3, 0.5, 0.9])
def test_shares_of_rows_below_and_above(tau: float) -> None:
    X, y = noisy()
    model = KernelQuantileRegressor(Gaussian(1.5), quantile=tau, C=5.0, tol=1e-6).fit(X, y)
    residuals = y - model.predict(X)
    assert np.mean(residuals < -1e-4) <= tau + 1e-9
    assert np.mean(residuals > 1e-4) <= 1.0 - tau + 1e-9
    coef = model.dual_coef_.ravel()
    assert coef.min() >= 5.0 * (tau - 1.0) - 1e-9
    assert coef.max() <= 5.0 * tau + 1e-9
    assert abs(coef.sum()) < 1e-8


def test_the_dual_is_that_of_a_slow_solver() -> None:
    X, y = noisy(25)
    K, tau, C = Gaussian(1.5)(X), 0.3, 2.0
    slow = minimize(
        lambda b: 0.5 * b @ K @ b - y @ b,
        np.zeros(25),
        jac=lambda b: K @ b - y,
        bounds=[(C * (tau - 1.0), C * tau)] * 25,
        constraints={"type": "eq", "fun": np.sum, "jac": lambda b: np.ones(25)},
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    model = KernelQuantileRegressor(Gaussian(1.5), quantile=tau, C=C, tol=1e-8).fit(X, y)
    assert np.isclose(model.dual_objective_, -slow.fun, rtol=1e-6)


def test_the_median_is_support_vector_regression_without_a_tube() -> None:
    X, y = noisy(60)
    median = KernelQuantileRegressor(Gaussian(1.5), quantile=0.5, C=2.0, tol=1e-8).fit(X, y)
    tube = SVR(Gaussian(1.5), C=1.0, epsilon=0.0, tol=1e-8).fit(X, y)
    assert np.allclose(median.predict(X), tube.predict(X), atol=1e-4)


def test_a_constant_kernel_gives_the_quantile_of_the_targets() -> None:
    X, y = noisy(101)
    model = KernelQuantileRegressor("Constant(1.0)", quantile=0.25, C=1.0).fit(X, y)
    best = linprog(
        np.r_[np.full(101, 0.25), np.full(101, 0.75), 0.0],
        A_eq=np.hstack([np.eye(101), -np.eye(101), np.ones((101, 1))]),
        b_eq=y,
        bounds=[(0, None)] * 202 + [(None, None)],
    )
    loss = np.mean(np.maximum(0.25 * (y - model.predict(X)), -0.75 * (y - model.predict(X))))
    assert np.isclose(loss, best.fun / 101, rtol=1e-3)


def test_quantiles_do_not_cross_on_request() -> None:
    X, y = noisy(60, seed=3)
    models = [KernelQuantileRegressor(Gaussian(0.3), quantile=t, C=50.0).fit(X, y) for t in (0.9, 0.1, 0.5)]
    grid = np.linspace(-1.0, 7.0, 200)[:, None]
    assert (np.diff(non_crossing(models, grid), axis=1) >= 0).all()


@pytest.mark.parametrize(
    ("parameters", "words"), [({"quantile": 1.0}, "quantile"), ({"C": np.inf}, "C must"), ({"C": -1.0}, "C must")]
)
def test_bad_parameters_are_named(parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        KernelQuantileRegressor(**parameters).fit(*noisy(20))


@parametrize_with_checks([KernelQuantileRegressor()])
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)
