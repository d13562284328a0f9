"""Feature matrices, dense and sparse: the inner products they must have."""

from __future__ import annotations

from itertools import product
from math import comb
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import AllSubstrings, Constant, Gaussian, Kernel, Linear, Polynomial, Spectrum
from mercer.errors import MemoryBudgetError
from mercer.kernels import features

A = np.random.default_rng(0).normal(size=(6, 3)) * (np.random.default_rng(1).random((6, 3)) < 0.6)
B = np.random.default_rng(2).normal(size=(6, 2))


def dense(block: Any) -> Any:
    return block.toarray() if sp.issparse(block) else block


@pytest.mark.parametrize(("left", "right"), list(product([np.asarray, sp.csr_array], repeat=2)))
def test_stack_and_kronecker(left: Any, right: Any) -> None:
    assert np.array_equal(dense(features.stack([left(A), right(B)])), np.hstack([A, B]))
    expected = np.array([np.kron(a, b) for a, b in zip(A, B, strict=True)])
    found = features.kronecker(left(A), right(B))
    assert np.allclose(dense(found), expected, rtol=0, atol=1e-15)
    assert found.shape == (6, 6)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_times(make: Any) -> None:
    weights = np.arange(6.0)
    assert np.allclose(dense(features.times(make(A), weights)), A * weights[:, None])
    assert np.allclose(dense(features.times(make(A), 2.0)), 2.0 * A)


@pytest.mark.parametrize("p", [1, 2, 3, 4])
def test_powers_have_the_inner_products_of_powers(p: int) -> None:
    expected = (A @ A.T) ** p
    for make in (np.asarray, sp.csr_array):
        ordered, merged = dense(features.tensor_power(make(A), p)), dense(features.symmetric_power(make(A), p))
        assert ordered.shape[1] == 3**p
        assert merged.shape[1] == features.power_count(3, p) == comb(2 + p, p)
        assert np.allclose(ordered @ ordered.T, expected, rtol=1e-12, atol=1e-12)
        assert np.allclose(merged @ merged.T, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("p", [2, 3, 4])
@pytest.mark.parametrize("a", [1, 2, 5])
def test_sparse_monomials_stand_in_the_same_columns(p: int, a: int) -> None:
    block = np.random.default_rng(a).normal(size=(4, a)) * (np.random.default_rng(p).random((4, a)) < 0.7)
    found = features.symmetric_power(sp.csr_array(block), p)
    assert np.allclose(found.toarray(), features.symmetric_power(block, p), rtol=1e-14, atol=1e-15)


def test_power_zero_and_one() -> None:
    assert (features.power(A, 0, True) == 1).all()
    assert features.power(A, 1, True) is A


def test_single_precision_stays() -> None:
    small = A.astype(np.float32)
    assert features.symmetric_power(small, 3).dtype == np.float32
    assert features.symmetric_power(sp.csr_array(small), 3).dtype == np.float32
    assert features.tensor_power(small, 2).dtype == np.float32


def test_maps_that_do_not_fit_are_refused() -> None:
    wide = np.ones((1000, 3000))
    for make in (features.symmetric_power, features.tensor_power):
        with pytest.raises(MemoryBudgetError, match="feature map of shape"):
            make(wide, 3)


WORDS = ["abab", "ba", "bbb"]


@pytest.mark.parametrize(
    ("kernel", "shared", "stay"),
    [
        (2.0 * Linear() + Polynomial(2), True, True),
        (Spectrum(2), False, True),
        ((0.5 * Spectrum(2).normalized() * Constant(2.0)) ** 2, False, True),
        (Spectrum(1) + AllSubstrings(), False, False),
        (Spectrum(1).map(list).centered(WORDS).polynomial((1.0, 2.0)), False, False),
        (Linear().on(0).centered(A).weighted(len), True, False),
    ],
)
def test_a_map_stays_and_is_shared_where_those_of_all_terms_are(kernel: Kernel, shared: bool, stay: bool) -> None:
    assert kernel.features is not None
    assert (kernel.features.shared, kernel.features.stay) == (shared, stay)


def test_no_map_where_one_term_has_none() -> None:
    assert (Linear() + 2.0 * Gaussian(1.0).on(0)).features is None
    assert Linear().exp().features is None
    assert Gaussian(1.0).n_features(A) is None


def test_names_go_with_the_columns() -> None:
    k = Spectrum(1) + 0.5 * Spectrum(2).normalized()
    assert k.feature_names(WORDS) == Spectrum(1).feature_names(WORDS) + Spectrum(2).feature_names(WORDS)
    assert Spectrum(1).centered(["abc"]).feature_names(WORDS) == ["a", "b", "c"]
    assert (Spectrum(1) ** 2).feature_names(WORDS) == [0, 1, 2]
    assert (Linear() + Spectrum(1).map(lambda X: ["a"] * len(X))).feature_names(A) == ["x0", "x1", "x2", "a"]


def test_nothing_occurs() -> None:
    k = Spectrum(5) ** 0 + Spectrum(5) ** 2
    assert k.n_features(WORDS) == k.feature_map(WORDS).shape[1] == 1
