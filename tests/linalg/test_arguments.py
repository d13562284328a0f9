import numpy as np
import pytest

from mercer.errors import InputError
from mercer.linalg.solution import fold_rows, penalties, row_weights, square, targets


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: square(np.ones((2, 3))), r"non-empty square matrix; got shape \(2, 3\)"),
        (lambda: square(np.ones((0, 0))), "non-empty square"),
        (lambda: square(np.array([["a"]])), "real numbers"),
        (lambda: square(np.array([[1.0, np.nan], [np.nan, 1.0]])), r"K\[0, 1\] is nan"),
        (lambda: square(np.array([[1.0, 0.0], [0.0, -np.inf]])), r"K\[1, 1\] is -inf"),
        (lambda: targets(np.ones(3), 2), r"one row per row .* got shape \(3,\)"),
        (lambda: targets(np.array(["a", "b"]), 2), "real numbers"),
        (lambda: targets(np.array([1.0, np.nan]), 2), "NaN or infinite in row 1"),
        (lambda: penalties(-1.0), "finite and >= 0; got -1"),
        (lambda: penalties([1.0, np.nan]), "got nan"),
        (lambda: penalties([]), "non-empty"),
        (lambda: row_weights(np.ones(3), 2), r"shape \(2,\)"),
        (lambda: row_weights(np.array([1.0, -2.0]), 2), "weight 1 is -2"),
        (lambda: row_weights(np.zeros(2), 2), "all weights are zero"),
        (lambda: fold_rows([], 2), "no folds"),
        (lambda: fold_rows([[]], 2), "fold 0 must be a non-empty"),
        (lambda: fold_rows([[0], [2]], 2), "fold 1 names row 2; there are 2 rows"),
        (lambda: fold_rows([[-1]], 2), "names row -1"),
        (lambda: fold_rows([[1, 1]], 2), "names a row twice"),
        (lambda: fold_rows([[0.5]], 2), "row numbers"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_nothing_is_copied_that_is_right_already():
    K, Y = np.eye(3), np.ones((3, 2))
    assert square(K) is K
    assert np.shares_memory(targets(Y, 3), Y)
    assert square(np.eye(3, dtype=int)).dtype == np.float64


def test_a_sum_that_overflows_is_not_an_infinite_entry():
    assert square(np.full((2, 2), 3e38, dtype=np.float32)).shape == (2, 2)
