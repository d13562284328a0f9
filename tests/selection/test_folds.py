"""Assignment of rows to folds."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.errors import InputError
from mercer.selection.folds import (
    class_folds,
    group_folds,
    random_folds,
    row_digests,
    row_groups,
    time_folds,
    uniform_by_number,
)


def test_equal_rows_have_one_number() -> None:
    X = np.array([[1.0, 0.0], [2.0, 3.0], [1.0, -0.0]])
    numbers = row_groups(X)
    assert numbers[0] == numbers[2] != numbers[1]
    assert row_groups(np.array([["a", None], ["b", 1], ["a", None]], dtype=object)).tolist() == [0, 1, 0]
    digests = row_digests(X)
    assert digests is not None and digests[0] == digests[2] != digests[1]
    sparse = row_digests(sp.csr_array(np.abs(X)))
    assert sparse is not None and sparse[0] == sparse[2] != sparse[1]
    assert row_digests([object()]) is None


def test_groups_share_a_fold_and_folds_are_even() -> None:
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(40), rng.integers(1, 4, 40))
    folds = group_folds(groups, 5, np.random.default_rng(1))
    assert all(len(set(folds[groups == g])) == 1 for g in range(40))
    assert np.ptp(np.bincount(folds)) <= 4
    labels = np.repeat([0, 1], [90, 10])
    folds = group_folds(np.arange(100), 5, np.random.default_rng(1), labels)
    assert np.bincount(folds[labels == 1]).tolist() == [2] * 5


def test_classes_are_spread_and_copies_stay_together() -> None:
    X = np.random.default_rng(0).normal(size=(30, 2))
    X = np.vstack([X, X[:10]])
    codes = np.r_[np.repeat([0, 1, -1], [14, 14, 2]), np.repeat([0], 10)]
    folds = class_folds(codes, 4, 0, X)
    assert (folds[:10] == folds[30:]).all()
    assert (folds[codes < 0] == -1).all()
    assert np.ptp(np.bincount(folds[:14])) <= 1
    order = np.random.default_rng(1).permutation(40)
    assert (class_folds(codes[order], 4, 0, X[order]) == folds[order]).all()


def test_random_folds_are_even() -> None:
    assert np.bincount(random_folds(23, 5, np.random.default_rng(0))).tolist() == [5, 5, 5, 4, 4]


def test_blocks_of_time_are_predicted_from_the_past() -> None:
    times = np.random.default_rng(0).permutation(np.repeat(np.arange(50.0), 2))
    found = time_folds(times, 4, gap=3.0)
    assert len(found) == 4
    assert sorted(np.concatenate([test for _, test in found]).tolist()) == np.flatnonzero(times >= 10).tolist()
    for train, test in found:
        assert times[train].max() < times[test].min() - 3.0
        assert set(times[test]).isdisjoint(times[np.setdiff1d(np.arange(100), test)])


def test_blocks_of_time_that_cannot_be() -> None:
    with pytest.raises(InputError, match="distinct times"):
        time_folds(np.zeros(10), 2)
    with pytest.raises(InputError, match="smaller gap"):
        time_folds(np.arange(10.0), 2, gap=100.0)


def test_numbers_of_rows_do_not_depend_on_where_they_start() -> None:
    whole = uniform_by_number(3, 0, 1000)
    assert (uniform_by_number(3, 400, 100) == whole[400:500]).all()
    assert whole.min() >= 0.0 and whole.max() < 1.0 and abs(whole.mean() - 0.5) < 0.03
    assert (uniform_by_number(4, 0, 1000) != whole).all()
