"""RFMRegressor and RFMClassifier: planted metrics, honest choice, intervals, the scikit-learn protocol, saving."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import PowerExponential, RFMClassifier, RFMRegressor
from mercer.errors import InputError
from mercer.estimators.tables import rfm


def planted(n: int, d: int = 8, seed: int = 0, noise: float = 0.05) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """y depends on two directions of d."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    directions = np.linalg.qr(rng.standard_normal((d, 2)))[0]
    U = X @ directions
    return X, np.sin(2 * U[:, 0]) + U[:, 1] ** 2 + noise * rng.standard_normal(n), directions


def test_a_planted_low_rank_metric_is_recovered() -> None:
    everything, target, directions = planted(1400)
    X, y, new, truth = everything[:400], target[:400], everything[400:], target[400:]
    model = RFMRegressor(metric="full", n_steps=4, random_state=0).fit(X, y)
    values, found = model.directions(2)
    overlap = np.linalg.svd(found @ directions)[1]  # cosines of the angles between the two planes
    assert overlap.min() > 0.97
    assert values[1] > 5 * np.sort(np.linalg.eigvalsh(model.metric_))[-3]
    start = RFMRegressor(metric="full", n_steps=0).fit(X, y)
    assert np.mean((model.predict(new) - truth) ** 2) < 0.5 * np.mean((start.predict(new) - truth) ** 2)


def test_the_choice_is_never_worse_than_the_start_by_the_honest_score() -> None:
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((90, 5))
        y = rng.standard_normal(90)  # nothing to learn: metrics only overfit
        model = RFMRegressor(n_steps=2, random_state=seed).fit(X, y)
        kind = "diagonal" if model.metric_.ndim == 1 else "full"
        assert model.scores_[kind][model.n_steps_] <= min(scores[0] for scores in model.scores_.values())


def test_leave_one_out_after_metric_learning_is_optimistic() -> None:
    """The reason for folds: on noise, leave-one-out errors fall with every round, held-out errors do not."""
    from mercer.estimators.tables.learned_metrics import metric_steps

    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((120, 20)), rng.standard_normal(120)
    y += X[:, 0]
    errors = [step.fit.error for step in metric_steps(PowerExponential(), X, y[:, None], True, 3)]
    model = RFMRegressor(metric="full", n_steps=3, random_state=0).fit(X, y)
    assert min(errors[1:]) < 0.9 * errors[0]
    assert min(model.scores_["full"][1:]) > 0.97 * model.scores_["full"][0]


def test_the_fitted_model_is_an_ordinary_kernel_model(tmp_path: Path) -> None:
    X, y, _ = planted(120, 4)
    model = RFMRegressor(n_steps=2, random_state=0).fit(X, y)
    assert model.kernel_.certificate().status == "valid"
    by_hand = model.kernel_(X[:5], model.X_fit_) @ model.dual_coef_ + model.intercept_
    assert np.allclose(by_hand, model.predict(X[:5]))
    assert np.isclose(model.feature_importances_.sum(), 1.0)
    mercer.save(model, tmp_path / "model.mercer")
    again = mercer.load(tmp_path / "model.mercer")
    assert np.array_equal(again.predict(X), model.predict(X))
    assert np.array_equal(again.predict_interval(X[:9]), model.predict_interval(X[:9]))
    assert "rounds" in str(model)


def test_cv_plus_intervals_cover() -> None:
    inside = []
    for seed in range(4):
        X, y, _ = planted(300, 4, seed=seed, noise=0.3)
        model = RFMRegressor(n_steps=1, metric="diagonal", random_state=0).fit(X[:150], y[:150])
        low, high = model.predict_interval(X[150:], 0.9).T
        inside.append((low <= y[150:]) & (y[150:] <= high))
    # 600 rows: the standard deviation of the mean is 1.2 %
    assert 0.86 < np.mean(inside) < 0.96


def test_several_targets_and_a_part_for_the_metric(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, _ = planted(200, 4)
    both = RFMRegressor(n_steps=1, random_state=0).fit(X, np.column_stack([y, 2.0 - y]))
    assert both.predict(X[:3]).shape == (3, 2)
    assert both.predict_interval(X[:3]).shape == (3, 2, 2)
    monkeypatch.setattr(rfm, "METRIC_ROWS", 100)
    part = RFMRegressor(n_steps=1, random_state=0).fit(X, y)
    assert len(part.dual_coef_) == 200
    monkeypatch.setattr(rfm, "EXACT_ROWS", 150)
    monkeypatch.setattr(rfm, "LANDMARKS", 60)
    few = RFMRegressor(n_steps=1, random_state=0).fit(X, y)
    assert len(few.dual_coef_) == 60
    assert few.route_.solver == "nystroem"


def test_probabilities_of_classes() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((240, 4))
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 2], [-0.5, 0.5])]
    model = RFMClassifier(n_steps=2, random_state=0).fit(X[:160], y[:160])
    P = model.predict_proba(X[160:])
    assert np.allclose(P.sum(axis=1), 1.0)
    assert np.array_equal(model.predict(X[160:]), model.classes_[P.argmax(axis=1)])
    assert np.mean(model.predict(X[160:]) == y[160:]) > 0.85
    assert int(np.argmax(model.feature_importances_)) == 2


@pytest.mark.parametrize(
    ("parameters", "words"),
    [({"metric": "round"}, "metric must be"), ({"n_steps": -1}, "n_steps must be"), ({"cv": 1}, "cv must be")],
)
def test_bad_parameters_are_named(parameters: dict[str, Any], words: str) -> None:
    X, y, _ = planted(30, 3)
    with pytest.raises(InputError, match=words):
        RFMRegressor(**parameters).fit(X, y)


def test_one_class_and_kernels_without_slopes_are_refused() -> None:
    X, y, _ = planted(30, 3)
    with pytest.raises(InputError, match="one class"):
        RFMClassifier().fit(X, np.ones(30))
    with pytest.raises(InputError, match="gradient in x"):
        RFMRegressor(mercer.Gaussian(1.0)).fit(X, y)


@parametrize_with_checks([RFMRegressor(n_steps=1)])
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([RFMClassifier(n_steps=1)])
def test_scikit_learn_checks_of_the_classifier(estimator: Any, check: Any) -> None:
    check(estimator)
