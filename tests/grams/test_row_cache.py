"""Rows of a Gram matrix: held, cached, given; the same values in every form, within the bytes that were allowed."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import Exponential, Function, Gaussian, Linear, Polynomial, Precomputed, Spectrum
from mercer.errors import InputError, MemoryBudgetError
from mercer.grams.row_cache import KernelRows

KERNELS = [Gaussian(length_scale=1.3), Linear(), Polynomial(degree=2) + 0.5 * Exponential(length_scale=2.0)]


def forms(kernel, X, dtype):
    yield KernelRows.held(kernel, X, dtype=dtype)
    yield KernelRows.cached(kernel, X, dtype=dtype)
    yield KernelRows.cached(kernel, X, dtype=dtype, bytes=np.dtype(dtype).itemsize * len(X) * 20)
    yield KernelRows.of(kernel(X), dtype=dtype)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_form_has_the_values_of_the_kernel(rng, kernel, dtype):
    X = rng.normal(size=(90, 4))
    K = kernel(X)
    close = {"rtol": 1e-5, "atol": 1e-5} if dtype == np.float32 else {"rtol": 1e-12, "atol": 1e-12}
    for rows in forms(kernel, X, dtype):
        assert rows.n == 90
        np.testing.assert_allclose(rows.diag(), np.diagonal(K), **close)
        assert rows.diag().dtype == np.float64
        for index in (np.array([5]), rng.choice(90, 15, replace=False), np.array([88, 3, 3, 7])):
            assert rows.rows(index).dtype == dtype
            np.testing.assert_allclose(rows.rows(index), K[index], **close)
            np.testing.assert_allclose(rows.rows(index, np.array([4, 2, 80])), K[np.ix_(index, [4, 2, 80])], **close)
            store, slots = rows.fetch(index)
            np.testing.assert_allclose(store[slots], K[index], **close)
        index, coef = rng.choice(90, 60, replace=False), rng.normal(size=60)
        np.testing.assert_allclose(rows.product(index, coef), coef @ K[index], rtol=1e-4, atol=1e-3)
        for pick in (rng.permutation(90)[:30], np.arange(10, 50)):
            part = rows.part(pick)
            np.testing.assert_allclose(part.rows(np.arange(len(pick))), K[np.ix_(pick, pick)], **close)
        out = np.empty((20, 30), dtype)
        np.testing.assert_allclose(rows.block(slice(5, 25), slice(10, 40), out), K[5:25, 10:40], **close)
        a, b = rng.permutation(90)[:20], rng.permutation(90)[:30]
        np.testing.assert_allclose(rows.block(a, b, out), K[np.ix_(a, b)], **close)


def test_a_full_store_makes_room_and_forgets_nothing_it_needs(rng):
    X = rng.normal(size=(200, 3))
    kernel = Gaussian(length_scale=1.0)
    K = kernel(X)
    rows = KernelRows.cached(kernel, X, bytes=4 * 200 * 30)
    assert rows.capacity == 30 and rows.store.nbytes <= 4 * 200 * 30
    for _ in range(60):
        index = rng.choice(200, int(rng.integers(1, 31)), replace=False)
        store, slots = rows.fetch(index)
        assert len(np.unique(slots)) == len(index)
        np.testing.assert_allclose(store[slots], K[index], atol=1e-6)
    made = rows.made
    rows.fetch(index)
    assert rows.made == made  # still there


def test_the_rows_used_last_are_the_ones_kept(rng):
    rows = KernelRows.cached(Gaussian(length_scale=1.0), rng.normal(size=(50, 2)), bytes=4 * 50 * 10)
    rows.fetch(np.arange(5))
    rows.fetch(np.arange(5, 10))
    rows.fetch(np.arange(5))
    rows.fetch(np.arange(20, 25))  # takes the room of 5 … 9
    made = rows.made
    rows.fetch(np.arange(5))
    assert rows.made == made
    rows.fetch(np.arange(5, 10))
    assert rows.made == made + 5


def test_offsets_that_float32_cannot_carry_are_noticed(rng):
    X = rng.normal(size=(80, 3)) + 1e6
    kernel = Gaussian(length_scale=1.0)
    for rows in (KernelRows.held(kernel, X), KernelRows.cached(kernel, X)):
        np.testing.assert_allclose(rows.rows(np.arange(80)), kernel(X), atol=1e-5)


def test_huge_values_stay_in_float64(rng):
    X = rng.normal(size=(40, 3)) * 1e25
    np.testing.assert_allclose(KernelRows.held(Linear() * 1e-50, X).rows(np.arange(40)), Linear()(X) * 1e-50, rtol=1e-5)


def test_sparse_strings_and_functions(rng):
    X = rng.random((60, 8)) * (rng.random((60, 8)) < 0.3)
    kernel = Gaussian(length_scale=1.0)
    rows = KernelRows.cached(kernel, sp.csr_array(X))
    np.testing.assert_allclose(rows.rows(np.arange(60)), kernel(X), atol=1e-6)
    words = ["abab", "baba", "cabac", "abc"]
    rows = KernelRows.cached(Spectrum(p=2), words)
    np.testing.assert_allclose(rows.rows(np.arange(4)), Spectrum(p=2)(words))
    part = rows.part(np.array([2, 0]))
    np.testing.assert_allclose(part.rows(np.arange(2)), Spectrum(p=2)(words)[np.ix_([2, 0], [2, 0])])
    own = Function(lambda A, B: A @ B.T)
    np.testing.assert_allclose(KernelRows.choose(own, X).rows(np.arange(60)), X @ X.T, atol=1e-5)


def test_the_choice(rng):
    X = rng.normal(size=(100, 2))
    kernel = Gaussian(length_scale=1.0)
    assert KernelRows.choose(kernel, X).whole and KernelRows.choose(kernel, X).dtype == np.float32
    assert KernelRows.choose(kernel, X, tol=1e-6).dtype == np.float64
    assert not KernelRows.choose(kernel, X, memory=4 * 100 * 50).whole
    wide = rng.normal(size=(5000, 2))
    assert not KernelRows.choose(kernel, wide).whole
    given = KernelRows.choose(Precomputed(), kernel(X))
    assert given.whole
    np.testing.assert_allclose(given.rows(np.arange(5)), kernel(X)[:5], atol=1e-6)


def test_a_given_matrix_is_not_copied(rng):
    K = np.eye(30)
    assert KernelRows.of(K).store is K
    with pytest.raises(InputError, match="square"):
        KernelRows.of(np.ones((3, 4)))


def test_budgets_that_are_too_small(rng):
    X = rng.normal(size=(100, 2))
    kernel = Gaussian(length_scale=1.0)
    with pytest.raises(MemoryBudgetError, match="does not hold two rows"):
        KernelRows.cached(kernel, X, bytes=4 * 100)
    with pytest.raises(MemoryBudgetError, match="budget"):
        KernelRows.held(kernel, X, memory=4 * 100)
    rows = KernelRows.cached(kernel, X, bytes=4 * 100 * 5)
    with pytest.raises(MemoryBudgetError, match="holds 5"):
        rows.fetch(np.arange(6))
