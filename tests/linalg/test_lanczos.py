"""Block Lanczos against LAPACK: values, vectors, residuals, repeated and missing eigenvalues, operators."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mercer.errors import InputError
from mercer.linalg.lanczos import _cholesky_qr, largest_eigenpairs


def decaying(n: int, rate: float, seed: int = 0) -> np.ndarray:
    """A psd matrix with eigenvalues rate^0, rate^1, …"""
    Q = np.linalg.qr(np.random.default_rng(seed).normal(size=(n, n)))[0]
    return (Q * rate ** np.arange(n)) @ Q.T


@pytest.mark.parametrize("q", [1, 7, 40])
def test_values_vectors_and_residuals_are_those_of_lapack(q: int) -> None:
    A = decaying(400, 0.97)
    found = largest_eigenpairs(A, q)
    values, vectors = np.linalg.eigh(A)
    assert found.converged and found.residual <= 1e-10
    np.testing.assert_allclose(found.values, values[::-1][:q], rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(q), atol=1e-12)
    true = np.linalg.norm(A @ found.vectors - found.vectors * found.values, axis=0)
    assert true.max() <= 2e-10 * found.values[0]
    expected = vectors[:, ::-1][:, :q]
    np.testing.assert_allclose(found.vectors @ found.vectors.T, expected @ expected.T, atol=1e-8)


def test_restarts_change_nothing() -> None:
    A = decaying(600, 0.995, seed=1)  # so slow a decay that the basis fills up several times
    found = largest_eigenpairs(A, 20)
    assert found.n_restarts > 0 and found.converged
    np.testing.assert_allclose(found.values, np.linalg.eigvalsh(A)[::-1][:20], atol=1e-11)


def test_repeated_eigenvalues_are_all_found() -> None:
    Q = np.linalg.qr(np.random.default_rng(2).normal(size=(300, 300)))[0]
    values = np.concatenate([np.full(25, 5.0), np.linspace(0.0, 1.0, 275)])  # more copies than a block is wide
    found = largest_eigenpairs((Q * values) @ Q.T, 30)
    np.testing.assert_allclose(found.values[:25], 5.0, atol=1e-10)
    np.testing.assert_allclose(found.values[25:], np.linspace(1.0, 0.0, 275)[:5], atol=1e-9)


def test_a_matrix_of_low_rank_and_the_zero_matrix() -> None:
    Z = np.random.default_rng(3).normal(size=(500, 3))
    found = largest_eigenpairs(Z @ Z.T, 6)
    np.testing.assert_allclose(found.values[:3], np.linalg.eigvalsh(Z.T @ Z)[::-1], rtol=1e-10)
    np.testing.assert_allclose(found.values[3:], 0.0, atol=1e-9)
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(6), atol=1e-10)
    nothing = largest_eigenpairs(np.zeros((400, 400)), 4)
    assert nothing.converged and np.abs(nothing.values).max() == 0.0


def test_the_lowest_value_shows_an_indefinite_matrix() -> None:
    Q = np.linalg.qr(np.random.default_rng(4).normal(size=(400, 400)))[0]
    values = np.concatenate([[10.0, 9.0], np.linspace(-3.0, 1.0, 398)])
    found = largest_eigenpairs((Q * values) @ Q.T, 2)
    assert found.lowest < -2.5
    np.testing.assert_allclose(found.values, [10.0, 9.0], atol=1e-8)


def test_only_products_are_asked_for() -> None:
    A = decaying(300, 0.9)

    class Product:
        shape = A.shape
        count = 0

        def __matmul__(self, V: Any) -> Any:
            Product.count += V.shape[1]
            return A @ V

    found = largest_eigenpairs(Product(), 5)
    assert found.n_products == Product.count < 300
    np.testing.assert_allclose(found.values, 0.9 ** np.arange(5), atol=1e-10)


def test_a_small_operator_goes_to_lapack_whole() -> None:
    A = decaying(30, 0.5)
    np.testing.assert_allclose(largest_eigenpairs(A, 30).values, np.linalg.eigvalsh(A)[::-1], atol=1e-14)


def test_the_limit_of_products_is_said() -> None:
    found = largest_eigenpairs(decaying(600, 0.999), 20, max_products=64)
    assert not found.converged and found.residual > 1e-10


def test_the_number_of_pairs_is_checked() -> None:
    with pytest.raises(InputError, match="1 … 4"):
        largest_eigenpairs(np.eye(4), 5)
    with pytest.raises(InputError, match="got 0"):
        largest_eigenpairs(np.eye(4), 0)


@pytest.mark.parametrize("smallest", [1.0, 1e-3, 2e-5])
def test_cholesky_qr_is_a_qr_to_rounding(smallest: float) -> None:
    rng = np.random.default_rng(3)
    U, _, V = np.linalg.svd(rng.standard_normal((200, 6)), full_matrices=False)
    W = U * np.geomspace(1.0, smallest, 6) @ V
    split = _cholesky_qr(W)
    assert split is not None
    Q, R = split
    np.testing.assert_allclose(Q.T @ Q, np.eye(6), atol=1e-14)
    np.testing.assert_allclose(Q @ R, W, atol=1e-14)


@pytest.mark.parametrize("columns", [[0, 1, 1], [0, 1, 3], [3, 3, 3]])
def test_cholesky_qr_leaves_dependent_columns_to_pivoting(columns: list[int]) -> None:
    W = np.column_stack([np.random.default_rng(0).standard_normal((50, 3)), np.zeros(50)])[:, columns]
    assert _cholesky_qr(W) is None
