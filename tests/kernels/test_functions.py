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
from mercer.inputs import Rows

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
        Function(3)


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


def test_parts_of_given_values_are_cut_along_both_axes() -> None:
    """Rows taken once or twice, on either side, give the values of the kernel that made the matrix."""
    X = np.random.default_rng(3).normal(size=(12, 2))
    kernel, given = Gaussian(1.0), 2.0 * Precomputed()
    K, new = kernel(X), kernel(X[:4] + 0.5, X)
    part = Rows(K).take(np.array([7, 2, 9, 4])).take(slice(1, 4))
    chosen = np.array([2, 9, 4])
    assert np.array_equal(given(part), 2.0 * K[np.ix_(chosen, chosen)])
    assert np.array_equal(given.diag(part), 2.0 * np.diagonal(K)[chosen])
    assert np.array_equal(given(K, part), 2.0 * K[:, chosen])
    assert np.array_equal(given(part, K), 2.0 * K[chosen])
    kept = given.keep(K, chosen)
    assert kept.tolist() == [2, 9, 4]
    assert given.keep(part, np.array([2])).tolist() == [4]
    assert np.array_equal(given(new, kept), 2.0 * new[:, chosen])
    assert given(new.astype(np.float32), kept).dtype == np.float32
    assert np.array_equal(kernel.keep(X, chosen), X[chosen])


def test_given_values_of_new_objects_have_no_places() -> None:
    K, new = np.eye(5), np.ones((3, 5))
    with pytest.raises(InputError, match="diagonal needs a square matrix"):
        Precomputed().diag(Rows(new).take(slice(0, 2)))
    with pytest.raises(InputError, match="5 columns for 2 training objects"):
        Precomputed()(K, Rows(new).take(slice(0, 2)))
    with pytest.raises(InputError, match="5 columns for 8 training objects"):
        Precomputed()(K, np.array([1, 7]))
    with pytest.raises(InputError, match="0 columns for 2 training objects"):
        Precomputed()(np.array([1, 3]))
    with pytest.raises(InputError, match="diagonal needs"):
        Precomputed().diag(np.array([1, 3]))


def test_which_kernels_are_given() -> None:
    assert (2.0 * Precomputed() + 1.0).given
    assert not (Gaussian(1.0) + 1.0).given
    Gaussian(1.0).refuse_stream("Model")
    with pytest.raises(InputError, match=r"Model\.partial_fit cannot take Precomputed"):
        (Precomputed() ** 2).refuse_stream("Model")
