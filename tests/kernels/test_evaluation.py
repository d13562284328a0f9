"""A kernel on two collections: shape, dtype, symmetry, and the errors that come before any tile."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import Function, Gaussian, Linear
from mercer.errors import InputError
from mercer.inputs import Rows
from mercer.kernels.evaluation import Evaluation

X = np.random.default_rng(0).normal(size=(10, 3))


def test_shape_dtype_and_symmetry() -> None:
    whole = Evaluation(Gaussian(), X)
    assert (whole.shape, whole.dtype, whole.symmetric) == ((10, 10), np.float64, True)  # type: ignore[comparison-overlap]
    cross = Evaluation(Gaussian(), X.astype(np.float32), X[:4].astype(np.float32))
    assert (cross.shape, cross.dtype, cross.symmetric) == ((10, 4), np.float32, False)  # type: ignore[comparison-overlap]
    assert Evaluation(Gaussian(), X.astype(np.float32), X).dtype == np.float64
    assert not Evaluation(Function(lambda A, B: A @ B.T), X).symmetric


def test_blocks_and_diag() -> None:
    values = Evaluation(Gaussian(), X)
    assert np.allclose(values.block(slice(2, 5), slice(0, 4)), Gaussian()(X)[2:5, :4])
    assert (values.diag() == 1.0).all()


def test_rows_may_be_given_and_keep_their_memory() -> None:
    rows = Rows(X)
    assert np.array_equal(Gaussian()(rows), Gaussian()(X))
    assert np.array_equal(Gaussian()(rows, rows), Gaussian()(X))
    assert np.array_equal(Linear()(rows, X[:2]), X @ X[:2].T)


def test_errors_name_the_collection() -> None:
    with pytest.raises(InputError, match=r"^Z has NaN"):
        Gaussian()(X, np.full((1, 3), np.nan))
    with pytest.raises(InputError, match="Z has 2 columns but X has 3"):
        Gaussian()(X, X[:, :2])
    with pytest.raises(InputError, match="Z has 2 columns but X has 3"):
        Linear()(X, X[:, :2])
