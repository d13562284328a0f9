"""Weights of rows and classes in table models: weights are copies; what candidates are compared by; decisions by cost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import mercer
from mercer import TableClassifier, TableQuantileRegressor, TableRegressor
from mercer.errors import InputError
from mercer.estimators.tables import ridge
from mercer.estimators.tables.class_scoring import auc_loss, decide
from mercer.estimators.tables.learned_metrics import LikelihoodObjective
from mercer.kernels.stationary import Gaussian

QUICK = 1e-6  # seconds: the first candidate alone
MODELS = [TableRegressor, TableClassifier, TableQuantileRegressor]


def rows(n: int = 60, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    return X, np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.3 * rng.standard_normal(n), rng.integers(1, 4, n)


def target(model: Any, y: np.ndarray) -> np.ndarray:
    return np.where(y > 0.2, "high", "low") if isinstance(model, TableClassifier) else y


def said(model: Any, X: np.ndarray) -> np.ndarray:
    return np.asarray(model.predict_proba(X) if isinstance(model, TableClassifier) else model.predict(X))


@pytest.mark.parametrize("make", MODELS)
def test_a_weight_is_a_number_of_copies(make: Any) -> None:
    X, y, w = rows()
    model, copies = make(time=QUICK), make(time=QUICK)
    model.fit(X, target(model, y), sample_weight=w)
    order = np.random.default_rng(1).permutation(w.sum())
    copies.fit(np.repeat(X, w, axis=0)[order], np.repeat(target(model, y), w)[order])
    assert np.array_equal(said(model, X), said(copies, X))
    assert copies.result_.copies == w.sum() - 60 and "adds to its weight" in str(copies.result_)
    places = copies.members_[0].model.numbers()
    assert np.array_equal(np.repeat(X, w, axis=0)[order][places], X[model.members_[0].model.numbers()])
    if make is TableRegressor:
        assert np.array_equal(model.predict_interval(X), copies.predict_interval(X))


@pytest.mark.parametrize("make", MODELS)
def test_equal_weights_change_nothing_and_weight_0_removes_a_row(make: Any) -> None:
    X, y, _ = rows()
    plain = make(time=QUICK)
    labels = target(plain, y)
    plain.fit(X, labels)
    assert np.array_equal(said(plain, X), said(make(time=QUICK).fit(X, labels, sample_weight=np.full(60, 3.0)), X))
    w = np.ones(60)
    w[7] = 0.0
    without = make(time=QUICK).fit(np.delete(X, 7, axis=0), np.delete(labels, 7))
    assert np.array_equal(said(without, X), said(make(time=QUICK).fit(X, labels, sample_weight=w), X))


def test_class_weights_are_weights() -> None:
    X, y, w = rows()
    labels = np.where(y > 0.8, "rare", "usual")
    by_class = TableClassifier(time=QUICK, class_weight={"rare": 3.0}).fit(X, labels)
    by_row = TableClassifier(time=QUICK).fit(X, labels, sample_weight=np.where(labels == "rare", 3.0, 1.0))
    assert np.array_equal(by_class.predict_proba(X), by_row.predict_proba(X))
    balanced = TableClassifier(time=QUICK, class_weight="balanced").fit(X, labels, sample_weight=w)
    copies = TableClassifier(time=QUICK, class_weight="balanced").fit(np.repeat(X, w, axis=0), np.repeat(labels, w))
    assert np.array_equal(balanced.predict_proba(X), copies.predict_proba(X))
    plain = TableClassifier(time=QUICK).fit(X, labels)
    new = rows(300, seed=1)[0]
    assert balanced.predict_proba(new)[:, 0].mean() > plain.predict_proba(new)[:, 0].mean() + 0.02


def test_repeated_measurements_are_kept() -> None:
    """Equal cells with different targets show the noise: they are not merged."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (120, 2)).astype(float)
    model = TableClassifier(time=QUICK).fit(X, rng.random(120) < 0.2 + 0.3 * X[:, 0])
    assert model.result_.copies == 0


def test_weights_in_a_ridge_are_copies() -> None:
    X, y, w = rows(20)
    again, kernel, Y = np.repeat(np.arange(20), w), Gaussian(1.5), y[:, None]
    few, residuals = ridge.fit_and_leave_out(kernel, X, Y, 0.3, np.arange(5), weights=w.astype(float))
    many, twins = ridge.fit_and_leave_out(kernel, X[again], Y[again], 0.3, np.repeat(np.arange(5), w[15:]))
    assert np.allclose(few.predict(X), many.predict(X), atol=1e-12)
    assert np.allclose(np.repeat(residuals, w[15:], axis=0), twins, atol=1e-10)
    landmarks = ridge.fit_and_leave_out(kernel, X, Y, 0.3, np.arange(5), 20, 0, w.astype(float))
    assert np.allclose(landmarks[0].predict(X), few.predict(X), atol=1e-9)
    assert np.allclose(landmarks[1], residuals, atol=1e-8)


def test_the_likelihood_of_weighted_rows_has_its_gradient() -> None:
    X, y, w = rows(25)
    objective = LikelihoodObjective(Gaussian(1.5), X, y[:, None], w / w.mean())
    point = np.array([0.2, -1.5])
    slope = objective(point)[1]
    for i in range(2):
        step = 1e-5 * np.eye(2)[i]
        assert np.isclose((objective(point + step)[0] - objective(point - step)[0]) / 2e-5, slope[i], rtol=1e-5)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_auc_is_the_mean_of_its_losses(n_classes: int) -> None:
    rng = np.random.default_rng(0)
    codes, w = rng.integers(0, n_classes, 80), rng.integers(1, 4, 80).astype(float)
    F = np.round(rng.random((80, n_classes)), 1) + 0.4 * np.eye(n_classes)[codes]
    F /= F.sum(axis=1, keepdims=True)
    Y = np.eye(n_classes)[codes]
    for weights in (None, w):
        loss = np.average(auc_loss(F, Y, weights), weights=weights)
        if n_classes == 2:
            known = roc_auc_score(codes, F[:, 1] - F[:, 0], sample_weight=weights)
        else:
            known = np.mean([roc_auc_score(codes == c, F[:, c], sample_weight=weights) for c in range(3)])
        assert np.isclose(1.0 - loss, known, atol=1e-12)


def test_scoring_by_auc_and_costs() -> None:
    X, y, _ = rows(120)
    labels = np.where(y > 0.8, "ill", "well")
    model = TableClassifier(time=QUICK, scoring="auc").fit(X, labels)
    assert "1 - AUC" in str(model.result_) and 0.0 < model.result_.error < 0.5
    assert model.threshold_ == 0.5
    costs = {("ill", "well"): 9.0, ("well", "ill"): 1.0}
    careful = TableClassifier(time=QUICK, scoring=costs).fit(X, labels)
    assert np.isclose(careful.threshold_, 0.9)  # of "well", the second class
    P = careful.predict_proba(X)
    assert np.array_equal(careful.predict(X), np.where(P[:, 1] > 0.9, "well", "ill"))
    assert (careful.predict(X) == "ill").sum() > (labels == "ill").sum()
    assert np.array_equal(decide(P, np.array([[0.0, 9.0], [1.0, 0.0]])), (P[:, 1] > 0.9).astype(int))


def test_absolute_errors_are_a_choice() -> None:
    X, y, _ = rows()
    model = TableRegressor(time=QUICK, scoring="mae").fit(X, y)
    assert "mean absolute error" in str(model.result_)
    plain = TableRegressor(time=QUICK).fit(X, y)
    assert np.array_equal(model.predict(X), plain.predict(X))  # one candidate: the same model


def test_quantiles_by_groups_and_order() -> None:
    X, y, _ = rows(80)
    model = TableQuantileRegressor(0.5, time=QUICK).fit(X, y, groups=np.arange(80) // 4)
    assert "whole groups" in model.result_.split
    dated = TableQuantileRegressor(0.5, time=QUICK, order=True).fit(X, y)
    assert "later rows" in dated.result_.split and np.isfinite(dated.predict(X)).all()


def test_a_model_with_costs_and_weights_is_saved(tmp_path: Any) -> None:
    X, y, w = rows()
    model = TableClassifier(time=QUICK, scoring=[[0, 5], [1, 0]]).fit(X, target(TableClassifier(), y), sample_weight=w)
    mercer.save(model, tmp_path / "m.mercer")
    assert np.array_equal(mercer.load(tmp_path / "m.mercer").predict(X), model.predict(X))
    regressor = TableRegressor(time=QUICK).fit(X, y, sample_weight=w)
    mercer.save(regressor, tmp_path / "r.mercer")
    assert np.array_equal(mercer.load(tmp_path / "r.mercer").predict_interval(X), regressor.predict_interval(X))


@pytest.mark.parametrize(
    ("model", "weights", "message"),
    [
        (TableRegressor(), [1.0, 2.0], "expected (60,)! Give one weight per row"),
        (TableRegressor(), [-1.0] * 60, "it is -1 at row 0"),
        (TableRegressor(), [0.0] * 60, "every sample_weight is zero"),
        (TableRegressor(), ["much"] * 60, "sample_weight must be numbers"),
        (TableRegressor(), [1.0] * 3 + [0.0] * 57, "at least 4 rows of positive sample_weight; 3 are left"),
        (TableRegressor(scoring="auc"), None, "scoring must be"),
        (TableRegressor(scoring="pinball"), None, "use TableQuantileRegressor"),
        (TableClassifier(scoring="f1"), None, "a matrix of costs (true, predicted); got 'f1'"),
        (TableClassifier(scoring=[[0.0, 1.0]]), None, "shape (1, 2) for 2 classes"),
        (TableClassifier(scoring=[[0.0, 1.0], [0.0, 1.0]]), None, "no wrong decision costs more"),
        (TableClassifier(scoring=[[0.0, np.inf], [1.0, 0.0]]), None, "finite"),
        (TableClassifier(scoring={("high", "up"): 1.0}), None, "pairs (true class, predicted class)"),
        (TableClassifier(scoring=None), None, "scoring is None; give"),
        (TableClassifier(class_weight={"up": 2.0}), None, "class_weight names 'up'"),
    ],
)
def test_odd_weights_and_scores_are_refused(model: Any, weights: Any, message: str) -> None:
    X, y, _ = rows()
    with pytest.raises(InputError) as error:
        model.fit(X, target(model, y), sample_weight=weights)
    assert message in str(error.value)
