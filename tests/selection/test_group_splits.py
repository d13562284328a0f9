"""Groups and time in the tuned estimators: groups are never split, and closed forms equal refits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import LeaveOneGroupOut, TimeSeriesSplit

import mercer
from mercer.errors import InputError
from mercer.selection.folds import group_folds, read_groups, time_blocks, time_places
from mercer.selection.surface import read_splits


def _data(n: int = 60) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    groups = np.array(list("abcdefgh"))[rng.integers(0, 8, n)]
    X = rng.normal(size=(n, 3))
    return X, np.sin(X[:, 0]) + rng.normal(size=8)[read_groups(groups, n)] + 0.1 * rng.normal(size=n), groups


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("alphas", [(0.1, 1.0), tuple(np.logspace(-3, 1, 9))])
@pytest.mark.parametrize("weighted", [True, False])
def test_leave_one_group_out_equals_refits(intercept: bool, alphas: tuple[float, ...], weighted: bool) -> None:
    X, y, groups = _data()
    w = np.random.default_rng(1).uniform(0.5, 2.0, len(y)) if weighted else None
    kernel = mercer.Gaussian(length_scale=2.0)
    model = mercer.KernelRidgeCV(kernel, alphas=alphas, length_scales=[2.0], fit_intercept=intercept)
    model.fit(X, y, w, groups=groups)
    scores = model.cv_results_["mean_test_score"]
    for alpha, score in zip(alphas, scores, strict=True):
        errors = []
        for label in np.unique(groups):
            out = groups == label
            one = mercer.KernelRidge(kernel, alpha=alpha, fit_intercept=intercept)
            one.fit(X[~out], y[~out], None if w is None else w[~out])
            errors.append(np.average((y[out] - one.predict(X[out])) ** 2, weights=None if w is None else w[out]))
        assert abs(-np.mean(errors) - score) < 1e-8 * (1 + abs(score))
    same = mercer.KernelRidgeCV(
        kernel, alphas=alphas, length_scales=[2.0], fit_intercept=intercept, cv=LeaveOneGroupOut()
    ).fit(X, y, w, groups=groups)
    np.testing.assert_allclose(same.cv_results_["mean_test_score"], scores, rtol=1e-12)


def test_a_long_table_with_groups_does_not_take_the_route_of_leave_one_out() -> None:
    rng = np.random.default_rng(0)
    groups, X = rng.integers(0, 30, 1100), rng.normal(size=(1100, 2))
    y = rng.normal(size=30)[groups] + X[:, 0]
    kernel = mercer.Gaussian(length_scale=2.0)
    alphas = np.logspace(-2, 1, 6)
    model = mercer.KernelRidgeCV(kernel, alphas=alphas, length_scales=[2.0]).fit(X, y, groups=groups)
    few = mercer.KernelRidgeCV(kernel, alphas=alphas[:2], length_scales=[2.0]).fit(X, y, groups=groups)  # by Cholesky
    np.testing.assert_allclose(model.cv_results_["mean_test_score"][:2], few.cv_results_["mean_test_score"], rtol=1e-8)


def test_a_number_of_folds_never_splits_a_group() -> None:
    X, y, groups = _data()
    labels = np.where(y > 0, "high", "low")
    for cv, target, classifier in ((3, y, False), (3, labels, True), (None, labels, True)):
        splits = read_splits(cv, X, target, groups, classifier)
        assert splits is not None
        assert all(not set(groups[train]) & set(groups[test]) for train, test in splits)
    assert read_splits(None, X, y, None) is None


def test_tuned_classifiers_take_groups_and_time() -> None:
    X, y, groups = _data()
    labels = np.where(y > 0, "high", "low")
    wide = [1.0, 4.0]
    machines = [
        mercer.SVCCV(length_scales=wide, Cs=[1.0], cv=3),
        mercer.KernelRidgeClassifier("Gaussian('median')", alpha="loo", length_scales=wide),
        mercer.KernelLogisticRegressionCV(length_scales=wide, Cs=[1.0]),
    ]
    for model in machines:
        grouped = model.fit(X, labels, groups=groups).cv_results_
        splits = [name for name in grouped if name.startswith("split")]
        assert len(splits) == (3 if isinstance(model, mercer.SVCCV) else 8)
    timed = mercer.SVCCV(length_scales=wide, Cs=[1.0], cv=TimeSeriesSplit(3, gap=2)).fit(X, labels)
    assert "split2_test_score" in timed.cv_results_
    ridge = mercer.KernelRidgeCV(length_scales=wide, alphas=[0.1], cv=TimeSeriesSplit(3, gap=2)).fit(X, y)
    one = mercer.KernelRidge(mercer.Gaussian(length_scale=1.0), alpha=0.1)
    train, test = list(TimeSeriesSplit(3, gap=2).split(X))[2]
    error = np.mean((y[test] - one.fit(X[train], y[train]).predict(X[test])) ** 2)
    assert abs(ridge.cv_results_["split2_test_score"][0] + error) < 1e-10


def test_groups_are_checked() -> None:
    X, y, groups = _data()
    with pytest.raises(InputError, match="groups has 3 labels for 60 rows of X; give the group of each row"):
        mercer.KernelRidgeCV().fit(X, y, groups=groups[:3])
    with pytest.raises(InputError, match="one group only, 'a'"):
        mercer.KernelRidgeCV().fit(X, y, groups=["a"] * 60)
    with pytest.raises(InputError, match="no label at row 1"):
        read_groups(["a", None, "b"], 3)
    with pytest.raises(InputError, match="no label at row 0"):
        read_groups([np.nan, 1.0], 2)


def test_groups_of_copies_are_dealt_by_class() -> None:
    rng = np.random.default_rng(0)
    labels = np.r_[np.zeros(400), np.ones(24)].astype(int)
    groups = np.r_[np.repeat(np.arange(100), 4), np.repeat(np.arange(100, 112), 2)]
    folds = group_folds(groups, 3, rng, labels)
    assert np.bincount(folds[labels == 1]).tolist() == [8, 8, 8]
    assert np.ptp(np.bincount(folds[labels == 0])) <= 4


def test_blocks_of_time_keep_equal_times_together() -> None:
    times = np.array([5, 1, 1, 2, 5, 3, 4, 4, 0, 6])
    places = time_places(times)
    assert places.tolist() == [np.sum(times < t) for t in times]
    blocks = time_blocks(places, 3, 0.4)
    assert all(len(set(blocks[times == t])) == 1 for t in times)
    assert blocks[times == 6].tolist() == [0] and set(blocks[times < 2]) == {-1}
    assert (np.diff(blocks[np.argsort(times)][np.sort(blocks != -1)]) <= 0).all()
    assert set(time_blocks(time_places(np.array([1, 1, 1, 2, 2])), 5, 0.5)) == {-1, 0}
