"""The problems of support vector machines on arrays, without an estimator around them."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import Gaussian, KernelQuantileRegressor
from mercer.grams.row_cache import KernelRows, value_tolerance
from mercer.linalg.box_qp.solver import solve_quantile


@pytest.mark.parametrize("n", [60, 1500])
def test_quantiles_on_a_gram_matrix_are_those_of_the_estimator(n):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    y, kernel = np.sin(X[:, 0]) + 0.3 * rng.normal(size=n), Gaussian(1.0)
    model = KernelQuantileRegressor(kernel, quantile=0.8, C=2.0).fit(X, y)
    rows = KernelRows.choose(kernel, X, tol=value_tolerance(n, 1e-3), most=True)
    found = solve_quantile(rows, y, np.full(n, 2.0), 0.8)
    assert np.array_equal(found.coef[model.support_], model.dual_coef_[0]) and found.intercept == model.intercept_[0]
    assert not found.coef[np.setdiff1d(np.arange(n), model.support_)].any()
    assert np.mean(y < found.outputs - 1e-2) <= 0.8 <= np.mean(y <= found.outputs + 1e-2)
