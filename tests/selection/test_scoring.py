"""Scores of held-out residuals, against the same numbers worked out by hand."""

import numpy as np
import pytest

from mercer.errors import InputError
from mercer.selection.scoring import ACCURACY, as_scoring

Y = np.array([1.0, 2.0, 4.0, 8.0])
HELD = [np.array([[1.0, -1.0], [0.0, 0.0]]), np.array([[2.0, 4.0], [1.0, 1.0]])]  # two folds, two alphas
FOLDS = [np.array([0, 1]), np.array([2, 3])]
ONES = np.ones(4)


def test_the_mean_over_folds_of_the_folds_means() -> None:
    mean, error, *_ = as_scoring(None).evaluate(Y, HELD, FOLDS, ONES, leave_one_out=False)
    np.testing.assert_allclose(mean, [-(1.0 + 10.0) / 2, -(0.0 + 1.0) / 2])
    np.testing.assert_allclose(error, [np.std([1, 10], ddof=1) / 2**0.5, np.std([0, 1], ddof=1) / 2**0.5])
    _, error, *_ = as_scoring(None).evaluate(Y, HELD[:1], FOLDS[:1], ONES, leave_one_out=False)
    assert np.isnan(error).all()  # one fold has no standard error


def test_leave_one_out_takes_rows_as_folds_and_weighs_them() -> None:
    held = [np.array([[1.0, -1.0, 2.0, 4.0]])]
    rows = [np.arange(4)]
    mean, error, *_ = as_scoring(None).evaluate(Y, held, rows, ONES, leave_one_out=True)
    np.testing.assert_allclose(mean, [-22 / 4])
    np.testing.assert_allclose(error, [np.std([1, 1, 4, 16], ddof=1) / 2])
    mean, *_ = as_scoring(None).evaluate(Y, held, rows, np.array([1.0, 1.0, 0.0, 0.0]), leave_one_out=True)
    np.testing.assert_allclose(mean, [-1.0])


def test_names_functions_and_roots() -> None:
    mean, *_ = as_scoring("neg_mean_absolute_error").evaluate(Y, HELD, FOLDS, ONES, leave_one_out=False)
    np.testing.assert_allclose(mean, [-2.0, -0.5])
    mean, *_ = as_scoring("neg_root_mean_squared_error").evaluate(Y, HELD, FOLDS, ONES, leave_one_out=False)
    np.testing.assert_allclose(mean, [-(5.5**0.5), -(0.5**0.5)])
    mean, *_ = as_scoring(lambda y, p: -np.max(np.abs(y - p))).evaluate(Y, HELD, FOLDS, ONES, leave_one_out=False)
    np.testing.assert_allclose(mean, [-2.5, -0.5])
    assert as_scoring(ACCURACY) is ACCURACY


def test_accuracy_of_coded_labels() -> None:
    coded = np.array([[1.0, -1.0, -1.0], [-1.0, 1.0, -1.0]])
    residuals = [np.zeros((1, 2, 3)), np.zeros((1, 2, 3))]
    residuals[1][0, 1] = [-3.0, 2.0, 0.0]  # decision (2, -1, -1): class 0 instead of 1
    for held, wanted in zip(residuals, (1.0, 0.5), strict=True):
        mean, *_ = ACCURACY.evaluate(coded, [held], [np.arange(2)], np.ones(2), leave_one_out=True)
        assert mean.tolist() == [wanted]


@pytest.mark.parametrize("scoring", ["best", 3])
def test_what_is_no_score(scoring: object) -> None:
    with pytest.raises(InputError, match="scoring"):
        as_scoring(scoring)
