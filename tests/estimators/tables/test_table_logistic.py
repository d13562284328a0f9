"""Refits of classes by the logistic loss, shared length scales of the levels of a category, and calibration."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import expit

import mercer
from mercer import Gaussian, TableClassifier
from mercer.estimators.tables import fitting, logistic
from mercer.estimators.tables.class_scoring import log_loss
from mercer.estimators.tables.fitting import Member
from mercer.estimators.tables.learned_metrics import LikelihoodObjective, by_likelihood
from mercer.estimators.tables.targets import FLOORS, LOGISTIC, POWERS, calibrated, probabilities, reluctance, transform_of
from mercer.inputs import Rows
from mercer.kernels.stationary import Laplacian


def two_classes(n: int = 90, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    return X, (rng.random(n) < expit(3.0 * np.sin(2.0 * X[:, 0]))).astype(int)


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_are_left_out_by_a_newton_step(weighted: bool) -> None:
    """A slow twin fits again without each group."""
    X, codes = two_classes()
    Y, groups = np.eye(2)[codes], np.array([0, 1, 2, 3, 4, 4, 5, 5])
    w = np.random.default_rng(1).integers(1, 4, 90).astype(float) if weighted else None
    whole, F = logistic.LogisticFeatures(Gaussian(1.0), Rows(X), 90, 0).fit(Y, 4.0, groups, w)
    assert np.allclose(F[:, 0], -F[:, 1])
    changes, errors = [], []
    for group in range(6):
        own = 82 + np.flatnonzero(groups == group)
        rest = np.setdiff1d(np.arange(90), own)
        features = logistic.LogisticFeatures(Gaussian(1.0), Rows(X[rest]), 90, 0)
        twin = features.fit(Y[rest], 4.0, groups[:0], None if w is None else w[rest])[0]
        known = twin.predict(X[own])[:, 1]
        errors += list(np.abs(F[own - 82, 1] - known))
        changes += list(np.abs(whole.predict(X[own])[:, 1] - known))
    assert np.mean(errors) < 0.1 * np.mean(changes)


def test_many_classes_are_fitted_one_against_the_rest() -> None:
    X, codes = two_classes()
    Y = np.eye(3)[codes + (X[:, 1] > 1.0)]
    model, F = logistic.LogisticFeatures(Gaussian(1.0), Rows(X), 90, 0).fit(Y, 4.0, np.arange(5), None)
    alone = logistic.LogisticFeatures(Gaussian(1.0), Rows(X), 90, 0).fit(
        np.column_stack([1.0 - Y[:, 2], Y[:, 2]]), 4.0, np.arange(5), None
    )
    assert np.allclose(F[:, 2], alone[1][:, 1]) and np.allclose(model.predict(X)[:, 2], alone[0].predict(X)[:, 1])
    P = transform_of(LOGISTIC, Y).backward(F)
    assert np.allclose(P.sum(axis=1), 1.0) and np.allclose(P, expit(F) / expit(F).sum(axis=1, keepdims=True))


def test_the_work_bounds_the_landmarks() -> None:
    assert logistic.landmarks_for(300, 2, 400) == 300
    assert logistic.landmarks_for(2000, 2, 400) == 400
    assert logistic.landmarks_for(2000, 26, 400, logistic.SEARCH_WORK) < 400


def only_refits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the mean be the first refit alone."""

    def last(predictions: list[Any], *more: Any) -> np.ndarray:
        return np.eye(len(predictions))[-1]

    monkeypatch.setattr(fitting, "average", last)


def test_a_refit_is_saved_explained_and_fitted_to_other_rows(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    only_refits(monkeypatch)
    X, codes = two_classes()
    model = TableClassifier(random_state=0).fit(X, codes)
    member: Member = model.members_[0]
    assert member.transform.link and "logistic" in str(model.result_)
    mercer.save(model, tmp_path / "m.mercer")
    assert np.array_equal(mercer.load(tmp_path / "m.mercer").predict_proba(X), model.predict_proba(X))
    found = mercer.explain(model, X[:1], target=1)
    score = model.scores(model.new_inputs(X[:1]))[0, 1]
    assert np.isclose(found.base + found.contributions.sum(), score, atol=1e-8)
    again = model.refitted(mercer.inputs.frames.read_columns(X[:80]), codes[:80])
    assert again is not None and len(again.members_[0].model.dual) <= 80


def test_candidates_are_compared_after_their_own_calibration() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, 200)
    Y, F = np.eye(2)[codes], np.clip(0.5 + 0.15 * rng.standard_normal((200, 2)) + 0.2 * (np.eye(2)[codes] - 0.5), 0.0, 1.0)
    pairs = [(floor, power) for floor in FLOORS for power in POWERS]
    losses = [-np.log(np.sum(probabilities(F, *pair) * Y, axis=1)).mean() for pair in pairs]
    best = int(np.argmin([loss + reluctance(*pair) / 200 for loss, pair in zip(losses, pairs, strict=True)]))
    assert calibrated(F, Y) == calibrated(F, Y, np.full(200, 7.0)) == pairs[best]
    assert np.isclose(log_loss(F, Y).mean(), losses[best], rtol=1e-12)


def test_few_rows_give_a_floor_and_a_power_near_the_typical_ones() -> None:
    Y = np.eye(2)[[0, 1] * 6]
    sure = np.where(Y > 0.5, 0.9, 0.1)  # all rows are right: the likelihood alone asks for the largest power
    powers = [calibrated(np.tile(sure, (times, 1)), np.tile(Y, (times, 1)))[1] for times in (1, 10, 1000)]
    assert powers == sorted(powers) and powers[0] < 2.0 and powers[-1] == POWERS[-1]


def test_levels_of_a_category_share_a_length_scale() -> None:
    rng = np.random.default_rng(0)
    levels = np.eye(4)[rng.integers(0, 4, 60)]
    X, tied = np.column_stack([rng.standard_normal(60), levels]), np.array([0, 1, 1, 1, 1])
    y = np.sin(X[:, 0]) + levels @ np.array([0.0, 1.0, 2.0, 0.5]) + 0.1 * rng.standard_normal(60)
    kernel = Laplacian((2.0,) * 5)
    objective = LikelihoodObjective(kernel, X, y[:, None], None, tied)
    point = np.array([0.3, 0.9, -2.0])
    slope = objective(point)[1]
    for i in range(3):
        step = 1e-5 * np.eye(3)[i]
        assert np.isclose((objective(point + step)[0] - objective(point - step)[0]) / 2e-5, slope[i], rtol=1e-4)
    found = by_likelihood(kernel, X, y[:, None], max_iter=10, tied=tied)[0].theta
    assert len(set(found[1:].tolist())) == 1 and found[0] != found[1]
