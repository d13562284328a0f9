"""What is quick in the small gives the same answers: the short way through the door, one row, two classes."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import mercer
from mercer import SVC, SVR, Gaussian, KernelRidge, OneClassSVM
from mercer.inputs.labels import read_labels
from mercer.inputs.vectors import is_plain

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 5))
Y = X[:, 0] + X[:, 1] * X[:, 2]
K = Gaussian(2.0)


@pytest.mark.parametrize(
    "other",
    [X.tolist(), X.astype(object), X.astype(int), X[:, 0], X[:0], X + 1j, np.ma.array(X), np.where(X > 2, np.nan, X)],
)
def test_only_finite_float_tables_take_the_short_way(other):
    assert is_plain(X) and is_plain(X.astype(np.float32)) and is_plain(np.asfortranarray(X))
    assert not is_plain(other)


def test_large_numbers_take_the_long_way_and_are_accepted():
    huge = np.full((3, 2), 1e308)
    assert not is_plain(huge)  # the sum is infinite, the numbers are not
    model = KernelRidge(K).fit(X, Y)
    assert model._read(np.full((1, 5), 1e308), reset=False).shape == (1, 5)


def test_the_door_refuses_what_it_refused():
    model = KernelRidge(K).fit(X, Y)
    with pytest.raises(ValueError, match="4 features, but KernelRidge is expecting 5"):
        model.predict(X[:, :4])
    with pytest.raises(ValueError, match="has NaN at row"):
        model.predict(np.full((1, 5), np.nan))
    with pytest.raises(NotFittedError):
        KernelRidge(K).predict(X)
    named = KernelRidge(K).fit(pd.DataFrame(X, columns=list("abcde")), Y)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        np.testing.assert_allclose(named.predict(X), model.predict(X))
    named.fit(X, Y)
    assert not hasattr(named, "feature_names_in_")


@pytest.mark.parametrize(
    "model",
    [
        SVC(K), mercer.NuSVC(K, nu=0.2), SVR(K), OneClassSVM(K, nu=0.2), KernelRidge(K), mercer.KernelKNeighborsRegressor(K),
        mercer.GaussianProcessRegressor(K, noise=0.1, optimizer=None), mercer.KernelKNeighborsClassifier(K),
        SVC(mercer.Laplacian(2.0)), SVC(mercer.Matern(1.5, length_scale=(1.0, 2.0, 1.0, 2.0, 3.0))),
        KernelRidge(mercer.Periodic(2.0) + mercer.Linear()),
    ],
    ids=repr,
)  # fmt: skip
def test_one_row_at_a_time_is_what_all_rows_are(model):
    y = Y if hasattr(model, "score") and "Regress" in type(model).__mro__[1].__name__ else (Y > 0).astype(int)
    fitted = model.fit(X, y)
    new = RNG.normal(size=(9, 5))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        alone = np.concatenate([fitted.predict(row[None, :]) for row in new])
    np.testing.assert_allclose(alone, fitted.predict(new), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("n", [40, 300, 700])
def test_two_classes_in_any_order_have_one_solution(n):
    rows = RNG.normal(size=(n, 4))
    y = np.where(rows[:, 0] + 0.5 * RNG.normal(size=n) > 0, "b", "a")
    order = np.argsort(y, kind="stable")
    mixed, sorted_ = SVC(K, tol=1e-6).fit(rows, y), SVC(K, tol=1e-6).fit(rows[order], y[order])
    new = RNG.normal(size=(50, 4))
    np.testing.assert_allclose(mixed.decision_function(new), sorted_.decision_function(new), atol=2e-5)
    assert mixed.dual_objective_ == pytest.approx(sorted_.dual_objective_, rel=1e-8)


def test_labels_that_can_be_nothing_else_are_taken_as_they_are():
    for y in (np.array([3, 1, 3]), np.array(["b", "a", "b"]), np.array([True, False, True])):
        assert read_labels("SVC", y, 3) is y
    assert read_labels("SVC", np.array([1.0, 2.0, 1.0]), 3).tolist() == [1.0, 2.0, 1.0]
    with pytest.raises(ValueError, match="Unknown label type"):
        read_labels("SVC", np.array([0.5, 1.5, 2.5]), 3)


def test_a_fixed_process_does_not_ask_the_data_for_widths(monkeypatch):
    from mercer.estimators.gp import problem

    y = Y[:30]
    plain = mercer.GaussianProcessRegressor(K, noise=0.1, optimizer=None).fit(X[:30], y)
    monkeypatch.setattr(problem, "_typical", None)  # not called
    again = mercer.GaussianProcessRegressor(K, noise=0.1, optimizer=None).fit(X[:30], y)
    assert again.log_marginal_likelihood_value_ == plain.log_marginal_likelihood_value_
