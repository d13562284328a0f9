"""k.on(columns), arrays by number and frames by name, and k.map(phi)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from mercer import Gaussian, Linear, Polynomial, Spectrum
from mercer.errors import InputError

X, Z = np.random.default_rng(0).normal(size=(6, 4)), np.random.default_rng(1).normal(size=(5, 4))
TABLE = {"age": [30.0, 40.0, 55.0], "name": ["anna", "hanna", "bob"], "visits": [1, 2, 3]}


def test_columns_of_arrays() -> None:
    assert np.allclose(Gaussian().on(2, 0)(X), Gaussian()(X[:, [2, 0]]), atol=1e-15)
    assert np.allclose(Linear().on(-1)(X), np.outer(X[:, 3], X[:, 3]))
    assert np.allclose(Linear().on(1, 1)(X), 2 * np.outer(X[:, 1], X[:, 1]))
    assert np.allclose(Linear().on(np.int64(1))(X), np.outer(X[:, 1], X[:, 1]))


@pytest.mark.parametrize("make", [sp.csr_array, sp.csc_array, sp.coo_array])
def test_columns_of_sparse_arrays(make: Any) -> None:
    assert np.allclose(Gaussian().on(2, 0)(make(X)), Gaussian()(X[:, [2, 0]]), atol=1e-15)


def test_columns_of_columns() -> None:
    assert np.allclose(Linear().on(1).on(2, 0)(X), np.outer(X[:, 0], X[:, 0]))


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_columns_of_frames_by_name(make: Any) -> None:
    frame = make(TABLE)
    kernel = Gaussian(10.0).on("age", "visits") * Spectrum(2).on("name")
    numbers = np.array([TABLE["age"], TABLE["visits"]]).T
    assert np.allclose(kernel(frame), Gaussian(10.0)(numbers) * Spectrum(2)(TABLE["name"]))
    assert np.allclose(kernel(frame, frame[:2]), kernel(frame)[:, :2])
    assert np.allclose(Linear().on(0)(frame), Linear().on("age")(frame))


def test_numbered_names_of_a_frame_win_over_places() -> None:
    frame = pd.DataFrame({1: [1.0, 2.0], 0: [5.0, 7.0]})
    assert Linear().on(0)(frame).tolist() == [[25, 35], [35, 49]]


def test_a_list_of_mixed_rows() -> None:
    rows = [["anna", 1.0], ["bob", 2.0]]
    assert np.allclose((Spectrum(1).on(0) * Linear().on(1))(rows), [[8.0, 0.0], [0.0, 20.0]])


@pytest.mark.parametrize(
    ("kernel", "data", "words"),
    [
        (Linear().on("age"), X, "not a data frame, so it has no column 'age'"),
        (Linear().on(4), X, r"columns 0 … 3; there is no column 4"),
        (Linear().on(-5), X, "no column -5"),
        (Linear().on("zip"), pd.DataFrame(TABLE), "no column 'zip'; it has 'age', 'name', 'visits'"),
        (Linear().on("zip"), pl.DataFrame(TABLE), "no column 'zip'"),
        (Linear().on(7), pd.DataFrame(TABLE), "no column 7"),
        (Linear().on("name"), pd.DataFrame(TABLE), "column 'name' holds str 'anna', not numbers"),
        (Spectrum().on("name", "age"), pd.DataFrame(TABLE), "2 columns; a kernel on strings takes one"),
        (Spectrum().on("age"), pd.DataFrame(TABLE), "30.0"),
        (Linear().on(0), [[1.0, 2.0], [3.0]], "ragged"),
        (Linear().on(0), ["ab", "cd"], r"columns can be chosen from an \(n, d\) table only"),
    ],
)
def test_columns_that_are_not_there(kernel: Any, data: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        kernel(data)


@pytest.mark.parametrize("columns", [(), (1.0,), (True,), (None,)])
def test_what_is_no_column(columns: Any) -> None:
    with pytest.raises(InputError, match="on: "):
        Linear().on(*columns)


def test_length_scales_per_column_count_the_chosen_ones() -> None:
    assert np.allclose(Gaussian((1.0, 2.0)).on(3, 1)(X), Gaussian((1.0, 2.0))(X[:, [3, 1]]))
    with pytest.raises(InputError, match=r"2 entries, but X\[3\] has 1 column"):
        Gaussian((1.0, 2.0)).on(3)(X)


def test_a_name_with_quotes_survives_the_text() -> None:
    from mercer import parse

    kernel = Linear().on('the "one"', "it's", "line\nbreak", "größe")
    assert parse(repr(kernel)) == kernel


def test_map_comes_before_the_kernel() -> None:
    assert np.array_equal(Linear().map(np.tanh)(X, Z), np.tanh(X) @ np.tanh(Z).T)
    lengths = Linear().map(lambda texts: [[float(len(t))] for t in texts])
    assert lengths(["a", "abc"]).tolist() == [[1, 3], [3, 9]]


def test_a_map_is_computed_once_per_collection() -> None:
    calls = []

    def phi(A: np.ndarray) -> np.ndarray:
        calls.append(len(A))
        return A

    (Gaussian().map(phi) + Linear().map(phi) * Polynomial().map(phi))(X, Z)
    assert calls == [6, 5]
