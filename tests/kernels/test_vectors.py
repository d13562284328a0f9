"""Kernels of the inner product: values against scikit-learn, and their explicit feature maps column by column."""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import pairwise

from mercer import Bilinear, Constant, Linear, Polynomial, Tanh
from mercer.errors import CapabilityError, InputError, MemoryBudgetError
from mercer.kernels.base import Kernel

X = np.random.default_rng(0).normal(size=(300, 4))
Z = np.random.default_rng(1).normal(size=(40, 4))


@pytest.mark.parametrize(
    ("kernel", "peer"),
    [
        (Linear(), pairwise.linear_kernel),
        (Polynomial(3, offset=0.5), lambda A, B=None: pairwise.polynomial_kernel(A, B, degree=3, gamma=1.0, coef0=0.5)),
        (Tanh(0.3, offset=0.1), lambda A, B=None: pairwise.sigmoid_kernel(A, B, gamma=0.3, coef0=0.1)),
        (Linear().normalized(), pairwise.cosine_similarity),
    ],
    ids=["linear", "polynomial", "sigmoid", "cosine"],
)
def test_values_are_those_of_scikit_learn(kernel: Kernel, peer: Any) -> None:
    # relative, since powers of <x, z> are large; eps times a few operations and the degree
    np.testing.assert_allclose(kernel(X), peer(X), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(kernel(X, Z), peer(X, Z), rtol=1e-12, atol=1e-12)


def reproduces(kernel: Kernel, features: Any, data: Any) -> bool:
    return bool(np.allclose((features @ features.T), kernel(data), rtol=1e-12, atol=1e-12))


def test_features_of_the_square_are_vec_xx() -> None:
    phi = Polynomial(2, offset=0.0).feature_map(Z, combined=False)
    assert np.array_equal(phi, np.array([np.outer(x, x).ravel() for x in Z]))


@pytest.mark.parametrize("c", [0.5, 1.0, 3.0])
def test_features_of_the_square_with_an_offset(c: float) -> None:
    """[vec(xx'), sqrt(2c) x, c]: d^2 + d + 1 columns, in this order."""
    phi = Polynomial(2, offset=c).feature_map(Z, combined=False)
    outer = np.array([np.outer(x, x).ravel() for x in Z])
    assert phi.shape[1] == 4 * 4 + 4 + 1
    np.testing.assert_allclose(phi, np.hstack([outer, np.sqrt(2 * c) * Z, np.full((len(Z), 1), c)]), rtol=1e-15)


@pytest.mark.parametrize("d", [1, 2, 4])
@pytest.mark.parametrize("p", [1, 2, 3, 5])
@pytest.mark.parametrize("c", [0.0, 0.7])
def test_combined_monomials(d: int, p: int, c: float) -> None:
    kernel = Polynomial(p, offset=c)
    phi = kernel.feature_map(Z[:, :d])
    columns = comb(d + p, p) if c > 0 else comb(d + p - 1, p)
    assert phi.shape == (len(Z), columns)
    assert kernel.n_features(Z[:, :d]) == columns
    assert reproduces(kernel, phi, Z[:, :d])


def test_linear_features_are_the_rows() -> None:
    assert np.array_equal(Linear().feature_map(Z), Z)
    assert Linear().n_features(Z) == 4


@pytest.mark.parametrize("rank", [1, 2, 4])
def test_bilinear_with_any_psd_matrix(rank: int) -> None:
    root = np.random.default_rng(rank).integers(-4, 5, size=(4, rank)) / 4.0  # so that root @ root.T is not rounded
    kernel = Bilinear(root @ root.T)
    assert reproduces(kernel, kernel.feature_map(Z), Z)
    np.testing.assert_allclose(kernel(X, Z), X @ root @ root.T @ Z.T, atol=1e-13 * 100)
    np.testing.assert_allclose(kernel.diag(Z), np.diagonal(kernel(Z)), rtol=1e-12)


def test_bilinear_that_is_no_kernel_has_values_but_no_features() -> None:
    indefinite, lopsided = Bilinear([[1.0, 2.0], [2.0, 1.0]]), Bilinear([[1.0, 2.0], [0.0, 1.0]])
    A = np.array([[1.0, -1.0], [0.5, 2.0]])
    assert indefinite(A)[0, 0] == -2.0
    assert np.allclose(lopsided(A), A @ lopsided.B.array @ A.T)
    assert not np.allclose(lopsided(A), lopsided(A).T)
    for kernel in (indefinite, lopsided):
        with pytest.raises(CapabilityError, match="no finite feature map"):
            kernel.feature_map(A)


def test_bilinear_does_not_clip_what_is_not_positive_semi_definite() -> None:
    root = np.random.default_rng(0).normal(size=(4, 2))
    rounded = Bilinear(root @ root.T)  # of rank 2 up to rounding: some eigenvalue is below 0
    assert rounded.certificate().status == "invalid"
    with pytest.raises(CapabilityError, match="add a small multiple of the identity"):
        rounded.feature_map(Z)
    mended = Bilinear(root @ root.T + 1e-13 * np.eye(4))
    assert mended.certificate().status == "valid" and reproduces(mended, mended.feature_map(Z), Z)


def test_bilinear_features_keep_the_digits_of_small_coordinates() -> None:
    kernel = Bilinear(np.diag([1e300, 1e-300, 0.0]))
    features = kernel.feature_map(np.diag([1e-150, 1e150, 1.0]))
    np.testing.assert_allclose(features @ features.T, np.diag([1.0, 1.0, 0.0]), rtol=1e-12)
    assert features.shape == (3, kernel.n_features(np.eye(3)))


def test_bilinear_keeps_a_private_copy() -> None:
    B = np.eye(2)
    kernel = Bilinear(B)
    B[0, 0] = 5.0
    assert kernel == Bilinear(np.eye(2))
    with pytest.raises(ValueError, match="read-only"):
        kernel.B.array[0, 0] = 1.0


@pytest.mark.parametrize(
    ("B", "words"),
    [
        ([[1.0, 2.0]], "square matrix; got shape"),
        (np.zeros((0, 0)), "square matrix; got shape"),
        ([1.0], "square matrix; got shape"),
        ([[np.nan]], "finite"),
        ([[1.0], [1.0, 2.0]], "square matrix of numbers"),
        ("B", "square matrix of numbers"),
        (np.eye(2) * 1j, "square matrix of numbers"),
    ],
)
def test_matrices_that_are_refused(B: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        Bilinear(B)


def test_the_matrix_must_fit_the_data() -> None:
    with pytest.raises(InputError, match="B is for 2 columns, but X has 4"):
        Bilinear(np.eye(2))(X)


@pytest.mark.parametrize("offset", [-1.0, -1e-12, np.float64(-2.0)])
def test_a_negative_offset_is_refused_with_the_example(offset: float) -> None:
    with pytest.raises(InputError, match=r"\{0, 1\} has the eigenvalue -0.62"):
        Polynomial(2, offset=offset)
    assert np.linalg.eigvalsh((np.outer([0, 1], [0, 1]) - 1.0) ** 2)[0] == pytest.approx(-0.618, abs=1e-3)


@pytest.mark.parametrize("degree", [0, -1, 1.5, "2", True])
def test_the_degree_is_a_whole_number(degree: Any) -> None:
    with pytest.raises(InputError, match="degree must be a whole number >= 1"):
        Polynomial(degree)


@pytest.mark.parametrize("kernel", [Linear(), Bilinear(np.eye(4)), Polynomial(3), Polynomial(2, offset=0.0)], ids=str)
def test_sparse_data_have_the_same_values_and_features(kernel: Kernel) -> None:
    S = sp.random_array((30, 4), density=0.5, random_state=np.random.default_rng(0), format="csr")
    np.testing.assert_allclose(kernel(S), kernel(S.toarray()), atol=1e-14)
    np.testing.assert_allclose(kernel(S, Z), kernel(S.toarray(), Z), atol=1e-13)
    phi = kernel.feature_map(S)
    dense = phi.toarray() if sp.issparse(phi) else phi
    np.testing.assert_allclose(dense, kernel.feature_map(S.toarray()), atol=1e-14)


def test_wide_sparse_data_are_multiplied_as_sparse() -> None:
    S = sp.random_array((20, 10_000), density=0.01, random_state=np.random.default_rng(0), format="csr")
    np.testing.assert_allclose(Linear()(S), S.toarray() @ S.toarray().T, atol=1e-14)
    np.testing.assert_allclose(Polynomial(2)(S, S.toarray()), Polynomial(2)(S.toarray()), atol=1e-13)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(4), Linear() ** 3, Linear() * Linear()], ids=str)
def test_values_that_overflow_are_refused(kernel: Kernel) -> None:
    with pytest.raises(InputError, match=r"overflows float64 for row 1 of X; scale the columns"):
        kernel(np.array([[1.0], [1e200]]))
    with pytest.raises(InputError, match="overflows float64 for row 0 of Z"):
        kernel(np.array([[1.0]]), np.array([[1e200]]))
    with pytest.raises(InputError, match="overflows float32"):
        kernel(np.array([[1e30]], dtype=np.float32))
    with pytest.raises(InputError, match="overflows"):
        kernel.diag(np.array([[1e200]]))


def test_a_normalized_kernel_does_not_hide_an_overflow() -> None:
    with pytest.raises(InputError, match="overflows"):
        Polynomial(3).normalized()(np.full((2, 2), 1e110))


def test_constant_takes_anything() -> None:
    assert Constant(2.0)(["a", "b"]).tolist() == [[2, 2], [2, 2]]
    assert Constant(2.0)(X[:2], X[:1]).tolist() == [[2], [2]]
    assert Constant(4.0).feature_map([None, 1]).tolist() == [[2], [2]]
    with pytest.raises(InputError, match="value must be a finite number >= 0"):
        Constant(-1.0)


def test_a_map_too_large_for_the_machine_is_refused_before_it_is_made() -> None:
    with pytest.raises(MemoryBudgetError, match=r"feature map of shape \(1000, .*GiB"):
        Polynomial(8).feature_map(np.ones((1000, 100)))


def test_tanh_has_no_features() -> None:
    with pytest.raises(CapabilityError, match="Tanh"):
        Tanh().feature_map(X)
    assert Tanh().n_features(X) is None
