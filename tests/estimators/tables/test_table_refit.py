"""The choices of a table model on other rows, its result as a data frame and as HTML, and predictions for many rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mercer import TableClassifier, TableRegressor
from mercer.errors import InputError
from mercer.estimators.tables import ridge
from mercer.estimators.tables.fitting import FEW_PREDICTED as FEW
from mercer.estimators.tables.fitting import OF_NUMBERS
from mercer.estimators.tables.many_rows import predicted
from mercer.grams.dual_function import DualFunction
from mercer.inputs import Rows
from mercer.kernels.stationary import Matern

QUICK = 1e-6  # seconds: the first candidate alone


def rows(n: int = 60, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    return X, np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.3 * rng.standard_normal(n)


@pytest.fixture(scope="module")
def fitted() -> tuple[TableRegressor, np.ndarray, np.ndarray]:
    X, y = rows()
    return TableRegressor(time=QUICK).fit(X[:40], y[:40]), X, y


def test_a_refit_to_the_same_rows_is_the_same_model(fitted: Any) -> None:
    model, X, y = fitted
    np.testing.assert_array_equal(model.refit(X[:40], y[:40]).predict(X), model.predict(X))


def test_a_refit_to_more_rows_is_the_ridge_of_all_rows(fitted: Any) -> None:
    model, X, y = fitted
    before = model.predict(X)
    again = model.refit(X, y)
    expected = 0.0
    for member in model.members_:
        Z = model.new_inputs(X)[member.scaling].data
        K, Y = member.model.kernel(Z), member.transform.forward(y[:, None])
        n, alpha = len(K), member.model.alpha
        system = np.block([[K + alpha * np.eye(n), np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
        solution = np.linalg.solve(system, np.vstack([Y, np.zeros((1, 1))]))
        expected = expected + member.weight * member.transform.backward(K @ solution[:n] + solution[n])[:, 0]
    np.testing.assert_allclose(again.predict(X), expected, atol=1e-8)
    np.testing.assert_array_equal(model.predict(X), before)
    assert again.result_.rows == 60
    assert [m.model.kernel for m in again.members_] == [m.model.kernel for m in model.members_]


def test_weights_of_a_refit_are_copies(fitted: Any) -> None:
    model, X, y = fitted
    w = np.r_[np.full(10, 2.0), np.ones(30), np.zeros(20)]
    copied = np.r_[np.arange(10), np.arange(40)]
    weighted, copies = model.refit(X, y, w), model.refit(X[copied], y[copied])
    np.testing.assert_allclose(weighted.predict(X), copies.predict(X), atol=1e-8)
    assert (weighted.result_.rows, copies.result_.rows, copies.result_.copies) == (40, 50, 10)


def test_classes_are_refitted() -> None:
    X, y = rows()
    labels = np.where(y > 0.2, "high", "low")
    model = TableClassifier(time=QUICK).fit(X[:40], labels[:40])
    np.testing.assert_allclose(model.refit(X[:40], labels[:40]).predict_proba(X), model.predict_proba(X), atol=1e-9)
    with pytest.raises(InputError, match="refit: y holds the class 'new', which the model does not know"):
        model.refit(X, np.where(y > 0.2, "high", "new"))


def test_a_refit_checks_its_rows(fitted: Any) -> None:
    model, X, y = fitted
    with pytest.raises(InputError, match="refit needs at least 4 rows of positive sample_weight; X has 3 rows"):
        model.refit(X[:3], y[:3])
    with pytest.raises(InputError, match="y has 59 values for 60 rows"):
        model.refit(X, y[:59])
    small = model.refit(X, y)
    small.memory = 10
    with pytest.raises(InputError, match="the matrix of 60 rows does not fit into memory=10"):
        small.refit(X, y)


def test_the_result_is_a_frame_and_html(fitted: Any) -> None:
    result = fitted[0].result_
    frame = result.to_frame()
    assert list(frame["label"]) == [attempt.label for attempt in result.attempts]
    assert np.isclose(frame["weight"].sum(), 1.0)
    page = result._repr_html_()
    assert page.count("<tr>") == 1 + len(result.attempts)
    assert f"{result.error:.4g}" in page


def test_many_rows_are_predicted_with_an_error_that_is_allowed(fitted: Any) -> None:
    model = fitted[0]
    X = np.random.default_rng(1).standard_normal((FEW + 500, 3))
    error = model.predict(X)[:600] - model.predict(X[:600])
    assert np.sqrt(np.mean(error**2)) <= 2.0 * OF_NUMBERS * model.result_.error


def test_single_precision_is_not_used_where_its_error_is_not_allowed() -> None:
    rng = np.random.default_rng(0)
    Z, X = rng.standard_normal((30, 2)), rng.standard_normal((FEW + 10, 2))
    model = DualFunction(Matern(1.5, length_scale=2.0), Z, 1e6 * rng.standard_normal((30, 1)), np.zeros(1))
    exact = model.predict(X)
    np.testing.assert_array_equal(predicted(model, Rows(X), lambda F: F, 1e-9), exact)
    fast = predicted(model, Rows(X), lambda F: F, 1.0)
    assert fast.dtype == np.float64
    assert 0.0 < np.abs(fast - exact).max() < 10.0


def test_many_rows_are_fitted_with_landmarks_though_none_is_left_out() -> None:
    X, y = rows(5200)  # more than are candidates for landmarks: features are made block by block
    Z, Y, kernel = Rows(X), y[:, None], Matern(1.5, length_scale=2.0)
    found = ridge.fit(kernel, Z, Y, 0.5, 8)
    same = ridge.fit_and_leave_out(kernel, Z, Y, 0.5, np.arange(3), 8)[0]
    np.testing.assert_array_equal(found.dual, same.dual)
    # the ridge on the features of the landmarks, by one linear system
    S = X[found.numbers()]
    Phi = np.linalg.solve(np.linalg.cholesky(kernel(S)), kernel(S, X)).T
    centered = Phi - Phi.mean(axis=0)
    w = np.linalg.solve(centered.T @ centered + 0.5 * np.eye(8), centered.T @ (y - y.mean()))
    np.testing.assert_allclose(found.predict(X[:50])[:, 0], (Phi[:50] - Phi.mean(axis=0)) @ w + y.mean(), atol=1e-8)
