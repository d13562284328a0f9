import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.linalg.ridge import naive

from mercer.errors import InputError, NumericalError
from mercer.linalg.cholesky import cholesky, solve_refined


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("alpha", [0.3, "vector"])
def test_factor_against_numpy(order, alpha):
    rng = np.random.default_rng(0)
    K = np.array(naive.gram(rng, 30)[0], order=order)
    before = K.copy()
    shift = rng.uniform(0.1, 2, size=30) if alpha == "vector" else alpha
    G = K + np.diag(np.broadcast_to(shift, 30))
    B = rng.normal(size=(30, 4))
    factor = cholesky(K, shift)
    assert np.array_equal(K, before)
    assert factor.jitter == 0.0
    assert np.allclose(factor.solve(B), np.linalg.solve(G, B), rtol=1e-10)
    assert np.allclose(factor.solve(B[:, 0]), np.linalg.solve(G, B[:, 0]), rtol=1e-10)
    assert np.allclose(factor.multiply(B), G @ B, rtol=1e-12)
    assert np.isclose(factor.logdet, np.linalg.slogdet(G)[1], rtol=1e-12)
    assert np.allclose(factor.diag_inverse(), np.linalg.inv(G).diagonal(), rtol=1e-10)
    true = np.linalg.cond(G, 1)
    assert true / 10 <= factor.condition <= true * 1.01
    inverse = factor.inverse()
    pick = np.array([7, 2, 25])
    assert np.allclose(inverse.block(pick), np.linalg.inv(G)[np.ix_(pick, pick)], rtol=1e-10)
    assert np.allclose(inverse.diag(), np.linalg.inv(G).diagonal(), rtol=1e-10)
    assert np.allclose(inverse.multiply(B), np.linalg.solve(G, B), rtol=1e-10)
    assert np.allclose(inverse.dense(), np.linalg.inv(G), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [1, 30, 700])
def test_the_triangle_inverted_in_place_answers_like_the_factor(n, dtype):
    rng = np.random.default_rng(n)
    K = np.array(naive.gram(rng, n)[0], dtype=dtype)
    before = K.copy()
    B, close = rng.normal(size=(n, 3)), 1e-10 if dtype == np.float64 else 1e-3
    plain, factor = cholesky(K, 0.3), cholesky(K, 0.3, overwrite=True)
    G = before + 0.3 * np.eye(n)
    for _ in range(2):  # the second time the triangle is inverted already
        assert np.allclose(factor.diag_inverse(overwrite=True), np.linalg.inv(G).diagonal(), rtol=close)
        assert np.allclose(factor.solve(B), plain.solve(B), rtol=close, atol=close)
        assert np.allclose(factor.solve(B[:, 0]), plain.solve(B[:, 0]), rtol=close, atol=close)
        assert np.allclose(factor.multiply(B), plain.multiply(B), rtol=1e-12)
        assert np.isclose(factor.logdet, plain.logdet, rtol=close, atol=close)
    for name in ("matrix", "condition"):
        with pytest.raises(InputError, match="turned into its inverse by diag_inverse"):
            getattr(factor, name)
    assert np.allclose(cholesky(before, 0.3).inverse().dense(), factor.inverse().dense(), rtol=close, atol=close)
    again = cholesky(before.copy(), 0.3)
    again.diag_inverse(overwrite=True)
    assert np.array_equal(again.restore(), before)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_everything_happens_in_the_memory_of_the_gram(order, dtype):
    rng = np.random.default_rng(1)
    n = 700
    K = np.array(naive.gram(rng, n)[0], order=order, dtype=dtype)
    before = K.copy()
    cholesky(K[:8, :8], 1.0).solve(np.ones(8))  # whatever is allocated once is allocated here
    tracemalloc.start()
    factor = cholesky(K, 0.5, overwrite=True)
    x = factor.solve(np.ones(n))
    factor.diag_inverse(overwrite=True)
    inverse = factor.inverse()
    given_back = inverse.restore()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.shares_memory(given_back, K)
    assert np.array_equal(K, before)
    # Tiles and vectors, but no second n x n array (the largest tile is 512 x 512, with its transpose and sum).
    assert peak < 4 * 512 * 512 * K.itemsize + 40 * n * 8
    assert np.allclose(before @ x + 0.5 * x, 1.0, atol=1e-3 if dtype == np.float32 else 1e-10)


def test_the_large_factor_allocates_a_small_share_of_the_gram():
    n = 2000
    K = np.exp(-np.abs(np.subtract.outer(np.arange(n), np.arange(n))) / 50.0)
    tracemalloc.start()
    factor = cholesky(K, 0.1, overwrite=True)
    factor.solve(np.ones(n))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.shares_memory(factor.matrix, K)
    assert peak < 0.02 * K.nbytes


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_jitter_is_minimal_relative_and_representable(dtype):
    eps = np.finfo(dtype).eps
    for scale in (1.0, 1e-6, 1e6):
        X = np.linspace(0, 1, 60)
        K = (scale * np.exp(-(np.subtract.outer(X, X) ** 2))).astype(dtype)  # numerically of rank ten or so
        before = K.copy()
        factor = cholesky(K, 0.0, overwrite=True)
        assert eps * scale * 0.9 <= factor.jitter <= 100 * 60 * eps * scale
        assert dtype(scale) + dtype(factor.jitter) > dtype(scale)
        # The next smaller one does not work: that is what minimal means.
        smaller = np.array(before)
        np.fill_diagonal(smaller, smaller.diagonal() + factor.jitter / 10)
        if factor.jitter > 1.5 * eps * scale:
            with pytest.raises(NumericalError):
                cholesky(smaller, 0.0, max_jitter=0.0)
        assert np.array_equal(factor.restore(), before)


def test_no_jitter_where_none_is_needed():
    K, _ = naive.gram(np.random.default_rng(2), 50)
    assert cholesky(K, 1e-3).jitter == 0.0


@given(st.integers(1, 12), st.floats(0.01, 10), st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_solving_undoes_multiplying(n, alpha, seed):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, 3))
    x = rng.normal(size=(n, 2))
    factor = cholesky(Z @ Z.T, alpha)
    assert np.allclose(factor.solve(factor.multiply(x)), x, atol=1e-9)
    assert np.allclose(factor.restore(), Z @ Z.T, rtol=0, atol=0)


def test_an_indefinite_matrix_is_an_error_that_says_what_to_do():
    K = np.array([[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(NumericalError, match=r"not positive definite.*pivot of row 1 is -3.*jitter.*Raise alpha"):
        cholesky(K, 0.0)
    assert cholesky(K, 1.5).jitter == 0.0  # 1 - 2 + 1.5 > 0
    with pytest.raises(NumericalError, match="mean diagonal 0"):
        cholesky(np.zeros((2, 2)))


def test_bad_input_is_named():
    with pytest.raises(InputError, match=r"K\[0, 1\] is nan"):
        cholesky(np.array([[1.0, np.nan], [np.nan, 1.0]]))
    with pytest.raises(InputError, match="one per row"):
        cholesky(np.eye(3), np.ones(2))
    with pytest.raises(InputError, match="finite and >= 0; got -1"):
        cholesky(np.eye(3), -1.0)
    with pytest.raises(InputError, match="must have 3 rows"):
        cholesky(np.eye(3)).solve(np.ones(2))


def test_a_consumed_factor_refuses():
    factor = cholesky(np.eye(3), 1.0)
    inverse = factor.inverse()
    with pytest.raises(InputError, match="consumed by inverse"):
        factor.solve(np.ones(3))
    assert "consumed" in repr(factor) and factor.shape == (3, 3)
    inverse.dense()
    with pytest.raises(InputError, match="consumed by dense"):
        inverse.diag()


def test_refinement_brings_float32_to_float64():
    rng = np.random.default_rng(3)
    K, _ = naive.gram(rng, 300, length_scale=2.0)
    G = K + 1e-2 * np.eye(300)  # condition about 1e4
    B = rng.normal(size=(300, 3)) * np.array([1.0, 1e-30, 1e20])
    factor = cholesky(K.astype(np.float32), 1e-2)
    exact = np.linalg.solve(G, B)
    plain = factor.solve(B / np.abs(B).max(axis=0)) * np.abs(B).max(axis=0)
    refined = solve_refined(factor, lambda X: G @ X, B)
    assert refined.converged and refined.residual <= 1e-12 and refined.n_iter < 15
    assert np.allclose(refined.value / exact, 1.0, atol=1e-7)
    assert np.linalg.norm(plain - exact) > 1e3 * np.linalg.norm(refined.value - exact)


def test_refinement_says_when_the_condition_does_not_allow_it():
    K, _ = naive.gram(np.random.default_rng(4), 200, d=1, length_scale=3.0)
    G = K + 1e-12 * np.eye(200)
    factor = cholesky(K.astype(np.float32), 0.0)
    assert factor.jitter > 0
    refined = solve_refined(factor, lambda X: G @ X, np.random.default_rng(5).normal(size=200))
    assert not refined.converged
    assert "too ill-conditioned for a float32 factor" in refined.message
    assert np.isfinite(refined.value).all()


def test_the_inverse_comes_in_tiles_on_and_above_the_diagonal(rng: np.random.Generator) -> None:
    K, _ = naive.gram(rng, 30)
    inverse = cholesky(K, 0.5).inverse()
    wanted = np.linalg.inv(K + 0.5 * np.eye(30))
    for rows, cols in ((slice(0, 10), slice(0, 10)), (slice(0, 10), slice(10, 30)), (slice(10, 30), slice(10, 30))):
        np.testing.assert_allclose(inverse.tile(rows, cols), wanted[rows, cols], atol=1e-12)
