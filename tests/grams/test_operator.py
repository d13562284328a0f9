"""GramOperator against the matrix it stands for."""

import numpy as np
import pytest
from scipy.sparse.linalg import cg, eigsh

from mercer import Function, Gaussian, GramOperator, Graph, Laplacian, Linear, Precomputed, Spectrum, VertexHistogram
from mercer.errors import InputError
from mercer.testing import random_kernel


@pytest.mark.parametrize("seed", range(20))
def test_products_rows_blocks_and_diagonal_equal_the_matrix(seed: int) -> None:
    rng = np.random.default_rng(seed)
    kernel, _ = random_kernel(rng, width=4)
    X, Z = rng.normal(size=(300, 4)), rng.normal(size=(270, 4))
    K, square = kernel(X, Z), kernel(X)
    operator, own = GramOperator(kernel, X, Z), GramOperator(kernel, X)
    scale = np.abs(K).max() + np.abs(square).max()
    V, u = rng.normal(size=(270, 3)), rng.normal(size=300)
    for got, wanted in (
        (operator @ V, K @ V),
        (operator.T @ u, K.T @ u),
        (own @ u, square @ u),
        (operator.rows([5, -1, 299, 5]), K[[5, -1, 299, 5]]),
        (operator.block(slice(10, 290), slice(1, 260)), K[10:290, 1:260]),
        (own.diag(), np.diagonal(square)),
    ):
        np.testing.assert_allclose(got, wanted, atol=1e-11 * 300 * scale)


def test_strings_graphs_functions_and_matrices() -> None:
    strings = ["abab", "ba", "", "xyx"]
    graphs = [Graph(3, [(0, 1)], node_labels="CCO"), Graph(1, node_labels="O")]
    X = np.arange(8.0).reshape(4, 2)
    for kernel, data in (
        (Spectrum(2), strings),
        (VertexHistogram(), graphs),
        (Function(lambda A, B: A @ B.T), X),
        (Precomputed(), X @ X.T),
    ):
        K = kernel(data)
        operator = GramOperator(kernel, data)
        np.testing.assert_allclose(operator @ np.eye(len(K)), K)
        np.testing.assert_allclose(operator.rows(np.arange(len(K))), K)


def test_scipy_solvers_take_it(rng: np.random.Generator) -> None:
    X = rng.normal(size=(400, 3))
    kernel = Gaussian(0.5)
    operator, K = GramOperator(kernel, X), kernel(X)
    largest = eigsh(operator, k=1, return_eigenvectors=False)[0]
    np.testing.assert_allclose(largest, np.linalg.eigvalsh(K)[-1])
    y = rng.normal(size=400)
    solution, info = cg(operator, operator @ y, rtol=1e-6, maxiter=5000)
    assert info == 0
    assert np.linalg.norm(K @ (solution - y)) <= 2e-6 * np.linalg.norm(K @ y)


def test_float32_data_are_summed_in_float64(rng: np.random.Generator) -> None:
    X = rng.normal(size=(2000, 3)).astype(np.float32)
    v = np.ones(2000)
    exact = Gaussian(1.0)(X.astype(np.float64)).sum(axis=1)
    got = GramOperator(Gaussian(1.0), X) @ v
    assert got.dtype == np.float64
    # each value is right to eps32; a float32 sum of 2000 of them would lose ten times as much
    np.testing.assert_allclose(got, exact, rtol=5 * np.finfo(np.float32).eps)


def test_errors_name_the_rule(rng: np.random.Generator) -> None:
    X = rng.normal(size=(5, 2))
    operator = GramOperator(Laplacian(1.0), X, X[:3].copy())
    with pytest.raises(InputError, match="no diagonal"):
        operator.diag()
    with pytest.raises(InputError, match=r"0 … 4"):
        operator.rows([7])
    with pytest.raises(InputError, match="row numbers"):
        operator.rows([0.5])
    with pytest.raises(InputError, match="NaN"):
        operator @ np.array([1.0, np.nan, 0.0])
    assert operator.rows(np.array([], dtype=int)).shape == (0, 3)
    assert GramOperator(Linear(), X).block(slice(2, 2), slice(None)).shape == (0, 5)
