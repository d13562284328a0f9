import numpy as np
import pytest

from mercer.linalg import cholesky as triangle


@pytest.fixture(params=[1, 5, 513, 1100])
def half(request):
    """A symmetric matrix, and a Fortran-ordered array that holds only its strict upper triangle."""
    n = request.param
    rng = np.random.default_rng(n)
    S = rng.normal(size=(n, n))
    S = S + S.T
    A = np.asfortranarray(np.triu(S, 1) + np.tril(rng.normal(size=(n, n))))
    return S, A


def test_mirrors(half):
    S, A = half
    B = A.copy(order="F")
    triangle.mirror_upper(B, S.diagonal())
    assert np.array_equal(B, S)
    B = np.tril(S) + np.triu(A, 1)
    triangle.mirror_lower(B)
    assert np.array_equal(B, S)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_products_and_norm_from_one_triangle(half, dtype):
    S, A = half
    A = A.astype(dtype)
    S = (np.triu(A, 1) + np.triu(A, 1).T).astype(np.float64) + np.diag(S.diagonal())
    X = np.random.default_rng(0).normal(size=(len(S), 3))
    assert np.allclose(triangle.symmetric_product(A, S.diagonal(), X), S @ X, rtol=0, atol=1e-10)
    assert np.isclose(triangle.symmetric_norm1(A, S.diagonal()), np.abs(S).sum(axis=0).max(), rtol=1e-6)


def test_column_norms(half):
    _, A = half
    assert np.allclose(triangle.column_norms(A), (np.tril(A) ** 2).sum(axis=0), rtol=1e-13)
    assert np.allclose(triangle.column_norms(A.astype(np.float32)), (np.tril(A) ** 2).sum(axis=0), rtol=1e-5)


def test_column_norms_of_the_inverse(half):
    _, A = half
    L = np.tril(A) / np.sqrt(len(A)) + 3 * np.eye(len(A))
    kept = L + np.triu(A, 1)
    before = kept.copy()
    norms = triangle.inverse_column_norms(np.asfortranarray(kept))
    assert np.allclose(norms, (np.linalg.inv(L) ** 2).sum(axis=0), rtol=1e-10)
    assert np.array_equal(kept, before)
