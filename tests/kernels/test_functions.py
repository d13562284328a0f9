"""Function and Precomputed: values from outside."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from mercer import Function, Gaussian, Linear, Precomputed
from mercer.errors import InputError

X = np.random.default_rng(0).normal(size=(600, 2))


def inner(A: Any, B: Any) -> Any:
    return np.asarray(A) @ np.asarray(B).T


def test_a_function_sees_slices_and_fills_the_matrix() -> None:
    shapes = []

    def f(A: Any, B: Any) -> Any:
        shapes.append((len(A), len(B)))
        return A @ B.T

    assert np.allclose(Function(f)(X), X @ X.T, rtol=0, atol=1e-14)
    assert sum(n * m for n, m in shapes) == 600 * 600


@pytest.mark.parametrize(
    "make", [np.asarray, lambda A: A.tolist(), pd.DataFrame, pl.DataFrame, lambda A: tuple(map(tuple, A))]
)
def test_a_function_gets_the_container_that_came_in(make: Any) -> None:
    data = make(X[:5])
    kinds = set()

    def f(A: Any, B: Any) -> Any:
        kinds.add(type(A))
        return inner(A, B)

    assert np.allclose(Function(f)(data), X[:5] @ X[:5].T)
    assert np.allclose(Function(f).diag(data), (X[:5] ** 2).sum(axis=1))
    assert kinds == {type(data)}


@pytest.mark.parametrize("make", [sp.csr_array, sp.csc_array, sp.coo_array])
def test_a_function_of_sparse_rows(make: Any) -> None:
    assert np.allclose(Function(lambda A, B: (A @ B.T).toarray())(make(X[:5])), X[:5] @ X[:5].T)


def test_a_function_of_anything() -> None:
    kernel = Function(lambda A, B: [[float(a == b) for b in B] for a in A])
    assert kernel(["x", "y", "x"]).tolist() == [[1, 0, 1], [0, 1, 0], [1, 0, 1]]


def test_no_symmetry_is_assumed() -> None:
    K = Function(lambda A, B: A @ B.T + A[:, :1])(X)
    assert not np.allclose(K, K.T)


@pytest.mark.parametrize(
    ("f", "words"),
    [
        (lambda A, B: 1.0, r"returned shape \(\) for \d+ and \d+ objects"),
        (lambda A, B: np.ones((len(B) + 1, len(A))), "it must return"),
        (lambda A, B: np.full((len(A), len(B)), np.nan), "NaN or infinite"),
    ],
)
def test_functions_that_return_the_wrong_thing(f: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        Function(f)(X)


def test_what_is_no_function() -> None:
    with pytest.raises(InputError, match="takes a function"):
        Function(3)  # type: ignore[arg-type]


def test_equality_by_identity_and_text_by_name() -> None:
    assert Function(inner) == Function(inner)
    assert Function(inner) != Function(lambda A, B: inner(A, B))
    assert repr(Function(inner)) == "Function(inner)"


def test_an_error_of_the_function_comes_out_as_it_is() -> None:
    def broken(A: Any, B: Any) -> Any:
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        Function(broken)(X)


def test_precomputed_is_the_matrix() -> None:
    K = Gaussian()(X[:10])
    assert np.array_equal(Precomputed()(K), K)
    assert np.array_equal(Precomputed().diag(K), np.ones(10))
    rows = Gaussian()(X[10:13], X[:10])
    assert np.array_equal((2.0 * Precomputed())(rows, K), 2.0 * rows)


def test_precomputed_refuses_what_is_no_matrix_of_values() -> None:
    with pytest.raises(InputError, match="3 columns for 2 training objects"):
        Precomputed()(np.ones((2, 3)))
    with pytest.raises(InputError, match="needs a square matrix"):
        Precomputed().diag(np.ones((2, 3)))
    with pytest.raises(InputError, match="dense matrix"):
        Precomputed()(sp.eye_array(2))
    with pytest.raises(InputError, match="Precomputed"):
        Precomputed() * Linear()
