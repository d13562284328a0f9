"""The Taylor features of the Gaussian and the bound on their error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer import Gaussian
from mercer.errors import CapabilityError, InputError

X = np.random.default_rng(0).normal(size=(20, 3))
ROUNDING = 1e-13  # the bound is sharp on the diagonal, where hundreds of features are summed


@given(degree=st.integers(0, 9), scale=st.floats(0.3, 4.0), seed=st.integers(0, 1000))
def test_the_bound_holds(degree: int, scale: float, seed: int) -> None:
    data = np.random.default_rng(seed).normal(size=(8, 2))
    kernel = Gaussian(scale)
    taylor = kernel.taylor_features(data, degree)
    assert np.abs(taylor.values @ taylor.values.T - kernel(data)).max() <= taylor.error + ROUNDING


def test_the_bound_is_not_idle() -> None:
    """It falls with the degree as the error does, and stays within a factor of it where one point dominates."""
    data = np.array([[2.0, 0.0], [0.0, 0.0]])
    for degree in (2, 6, 12):
        taylor = Gaussian().taylor_features(data, degree)
        error = np.abs(taylor.values @ taylor.values.T - Gaussian()(data)).max()
        assert 0.99 * taylor.error <= error <= taylor.error + ROUNDING
    assert Gaussian().taylor_features(X[:, :1], 60).error < 1e-12


def test_length_scales_per_column() -> None:
    kernel = Gaussian((0.8, 2.0, 3.0))
    taylor = kernel.taylor_features(X, 14)
    assert np.abs(taylor.values @ taylor.values.T - kernel(X)).max() <= taylor.error + ROUNDING


def test_the_columns_are_all_monomials_up_to_the_degree() -> None:
    assert Gaussian().taylor_features(X, 4).values.shape == (20, 35)


@pytest.mark.parametrize("degree", [-1, 1.5, True, "3"])
def test_degrees_that_are_refused(degree: Any) -> None:
    with pytest.raises(InputError, match="degree must be a whole number >= 0"):
        Gaussian().taylor_features(X, degree)


def test_the_median_must_be_a_number_first() -> None:
    with pytest.raises(InputError, match="resolve"):
        Gaussian("median").taylor_features(X, 2)


def test_the_error_of_the_feature_map_points_here():
    with pytest.raises(CapabilityError, match=r"k\.taylor_features\(X, degree\)"):
        Gaussian(1.0).feature_map(np.ones((2, 2)))
