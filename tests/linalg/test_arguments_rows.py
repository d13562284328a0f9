import numpy as np
import pytest
from tests.linalg.ridge import naive

from mercer.errors import InputError
from mercer.linalg.solution import lapack_view, split_rows


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("overwrite", [False, True])
def test_rows_of_weight_zero_are_taken_out(order, overwrite):
    rng = np.random.default_rng(0)
    K = np.array(naive.gram(rng, 7)[0], order=order)
    before = K.copy()
    w = np.array([0, 1, 2, 0, 0, 3, 1.0])
    rows = split_rows(K, w, overwrite=overwrite)
    a, z = [1, 2, 5, 6], [0, 3, 4]
    assert np.array_equal(rows.matrix, before[np.ix_(a, a)])
    assert np.array_equal(rows.outside, before[np.ix_(z, a)])
    assert rows.active.tolist() == a and rows.idle.tolist() == z and rows.n == 7
    assert rows.matrix.flags.f_contiguous
    assert np.shares_memory(rows.matrix, K) == overwrite
    assert overwrite or np.array_equal(K, before)


def test_overwriting_is_refused_where_it_cannot_be():
    K = np.eye(4)
    with pytest.raises(InputError, match="strided view"):
        lapack_view(K[::2, ::2], True)
    K.flags.writeable = False
    with pytest.raises(InputError, match="read-only"):
        lapack_view(K, True)
    assert lapack_view(K, False).flags.writeable
