"""Products of sparse rows against dense ones."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.numeric.sparse_products import SparseRows, columns_gram


@pytest.mark.parametrize("kind", ["counts", "large counts", "weights", "presence", "empty"])
def test_products_of_sparse_rows(kind: str) -> None:
    """Common columns go through a dense product, small counts through sets of bits, the rest along lists."""
    rng = np.random.default_rng(0)
    shares = np.r_[np.full(12, 0.6), np.full(150, 0.03), np.full(100, 0.005)]
    values = (rng.random((350, len(shares))) < shares) * rng.integers(
        1, 9 if kind == "counts" else 2, size=(350, len(shares))
    )
    values = values * {"large counts": 5000.0, "weights": 0.3, "empty": 0.0}.get(kind, 1.0)
    matrix = sp.csr_array(values)
    rows = SparseRows(matrix)
    picked = np.array([0, 5, 349, 17])
    expected = values[picked] @ values[20:300].T
    exact = kind != "weights"
    order = rng.permutation(280)
    for right, place in ((slice(20, 300), np.arange(280)), (20 + order, order), (np.array([40, 40]), np.array([20, 20]))):
        found = rows.between(picked, right)
        assert np.array_equal(found, expected[:, place]) if exact else np.allclose(found, expected[:, place], rtol=1e-14)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mercer.numeric.compiling.LOADING", 0)
        assert np.allclose(columns_gram(matrix), values.T @ values, rtol=1e-13)
    assert np.allclose(columns_gram(matrix), values.T @ values, rtol=1e-13)
