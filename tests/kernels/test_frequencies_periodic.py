"""The periodic kernel: scikit-learn's for one column, a product over columns for more, and psd where that one is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.gaussian_process import kernels as gp

from mercer import Periodic
from mercer.errors import InputError


@pytest.mark.usefixtures("both_loops")
@pytest.mark.parametrize(("scale", "period"), [(1.3, 1.1), (0.5, 3.0), (4.0, 0.3)])
def test_one_column_is_scikit_learns(scale: float, period: float, hard_pairs: Callable[[int], Any]) -> None:
    X, Z = hard_pairs(1)
    kernel, peer = Periodic(scale, period=period), gp.ExpSineSquared(scale, period)
    assert np.abs(kernel(X) - peer(X)).max() < 1e-12
    assert np.abs(kernel(X, Z) - peer(X, Z)).max() < 1e-12


def test_several_columns_are_a_product() -> None:
    X = np.random.default_rng(0).normal(size=(30, 3))
    scales = (0.7, 1.5, 2.0)
    parts = [Periodic(scale, period=1.7)(X[:, [k]]) for k, scale in enumerate(scales)]
    assert np.abs(Periodic(scales, period=1.7)(X) - np.prod(parts, axis=0)).max() < 1e-14


def test_it_is_psd_where_the_euclidean_form_is_not() -> None:
    X = np.array([[0.0, 0.0], [0.5, 0.5], [0.5, -0.5], [1.0, 0.0], [0.25, 0.25], [0.8, 0.6]])
    assert np.linalg.eigvalsh(gp.ExpSineSquared(1.0, 1.0)(X))[0] < -1e-2
    assert np.linalg.eigvalsh(Periodic(1.0, period=1.0)(X))[0] > -1e-14


def test_a_shift_by_a_period_changes_nothing() -> None:
    X = np.random.default_rng(0).normal(size=(10, 2))
    kernel = Periodic(0.8, period=0.5)
    assert np.abs(kernel(X, X + 0.5) - kernel(X)).max() < 1e-14
    # 2^20 periods of 1/2: the remainder keeps the digits that the sine of a huge angle loses
    assert np.abs(kernel(X, X + 2.0**19) - kernel(X)).max() < 1e-8


def test_what_is_refused() -> None:
    with pytest.raises(InputError, match="Periodic takes dense arrays"):
        Periodic()(sp.eye_array(3))
    with pytest.raises(InputError, match="length_scale has 2 entries, but X has 1 column"):
        Periodic((1.0, 2.0))([[1.0]])
    with pytest.raises(InputError, match="period must be a finite number > 0"):
        Periodic(period=0.0)
