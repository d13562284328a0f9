"""The door for vectors: every container of numbers comes out as one array, everything else as a sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

import mercer
from mercer import Gaussian, Linear
from mercer.errors import InputError
from mercer.inputs import as_vectors

X = np.array([[1.0, 2.0], [3.0, -4.0], [0.0, 0.5]])

SAME = {
    "array": X,
    "fortran": np.asfortranarray(X),
    "strided": np.repeat(X, 2, axis=1)[:, ::2],
    "reversed": X[::-1][::-1],
    "list": X.tolist(),
    "tuples": tuple(map(tuple, X)),
    "list of arrays": list(X),
    "objects": X.astype(object),
    "longdouble": X.astype(np.longdouble),
    "masked without a mask": np.ma.masked_array(X),
    "pandas": pd.DataFrame(X, columns=["a", "b"]),
    "pandas with another index": pd.DataFrame(X, index=[7, 7, 1]),
    "pandas nullable": pd.DataFrame(X).convert_dtypes(),
    "pandas objects": pd.DataFrame(X, dtype=object),
    "polars": pl.DataFrame(X),
}
SPARSE = {
    "csr": sp.csr_array(X),
    "csr matrix": sp.csr_matrix(X),
    "csc": sp.csc_array(X),
    "coo": sp.coo_array(X),
    "lil": sp.lil_array(X),
    "dok": sp.dok_array(X),
    "bsr": sp.bsr_array(X),
}


@pytest.mark.parametrize("name", SAME)
def test_dense_containers(name: str) -> None:
    found = as_vectors(SAME[name], "X")
    assert isinstance(found, np.ndarray)
    assert found.dtype == np.float64
    assert found.flags.c_contiguous
    assert np.array_equal(found, X)
    assert np.array_equal(Gaussian()(SAME[name]), Gaussian()(X))


@pytest.mark.parametrize("name", SPARSE)
def test_sparse_containers(name: str) -> None:
    found = as_vectors(SPARSE[name], "X")
    assert isinstance(found, sp.csr_array)
    assert np.array_equal(found.toarray(), X)
    assert np.allclose(Gaussian()(SPARSE[name]), Gaussian()(X), rtol=0, atol=1e-15)


@pytest.mark.parametrize(
    ("dtype", "kept"),
    [(np.float16, np.float32), (np.float32, np.float32), (np.int8, np.float64), (np.int64, np.float64), (bool, np.float64)],
)
def test_float32_stays_and_the_rest_is_float64(dtype: Any, kept: Any) -> None:
    assert as_vectors(np.ones((2, 2), dtype), "X").dtype == kept
    if dtype != np.float16:  # scipy has no sparse arrays of half precision
        assert as_vectors(sp.csr_array(np.ones((2, 2), dtype)), "X").dtype == kept


def test_big_endian_data_become_native() -> None:
    found = as_vectors(X.astype(">f4"), "X")
    assert found.dtype == np.float32
    assert found.dtype.isnative


def test_repeated_entries_of_coo_add_up_and_the_caller_keeps_them() -> None:
    data = sp.csr_array((np.array([1.0, 1.0]), np.array([0, 0]), np.array([0, 2])), shape=(1, 2))
    assert Linear()(data).tolist() == [[4.0]]
    assert data.nnz == 2


def test_frames_of_mixed_numbers() -> None:
    table = {"a": [1, 2], "b": [True, False], "c": [0.5, 1.5]}
    expected = [[1.0, 1.0, 0.5], [2.0, 0.0, 1.5]]
    assert as_vectors(pd.DataFrame(table), "X").tolist() == expected
    assert as_vectors(pl.DataFrame(table), "X").tolist() == expected


def test_frames_of_float32_stay() -> None:
    assert as_vectors(pd.DataFrame(X.astype(np.float32)), "X").dtype == np.float32
    assert as_vectors(pl.DataFrame(X.astype(np.float32)), "X").dtype == np.float32


def test_two_columns_of_one_name() -> None:
    assert np.array_equal(as_vectors(pd.DataFrame(X, columns=["a", "a"]), "X"), X)


def test_huge_but_finite_values_pass_the_check() -> None:
    """Their sum overflows, which must not be taken for an infinite entry."""
    assert as_vectors(np.full((4, 4), 1e308), "X").max() == 1e308


REFUSED: dict[str, tuple[Any, str]] = {
    "nan": ([[1.0, np.nan]], "X has NaN at row 0, column 1; every value must be finite"),
    "inf": ([[1.0], [-np.inf]], "X has an infinite value at row 1, column 0"),
    "sparse nan": (sp.csr_array([[0.0, 1.0], [0.0, np.nan]]), "NaN at row 1, column 1"),
    "sparse inf": (sp.coo_array([[0.0, np.inf]]), "infinite value at row 0, column 1"),
    "float32 nan": (np.array([[np.nan]], dtype=np.float32), "NaN at row 0"),
    "None": ([[1.0, None]], "NaN at row 0, column 1"),
    "masked": (np.ma.masked_array(X, X > 2), "masked values"),
    "no rows": (np.empty((0, 3)), "X is empty"),
    "no columns": (np.empty((3, 0)), "3 rows but no columns"),
    "sparse without columns": (sp.csr_array((3, 0)), "3 rows but no columns"),
    "empty list": ([], "X is empty"),
    "list of empty rows": ([[], []], "2 rows but no columns"),
    "ragged": ([[1.0, 2.0], [3.0]], "X is ragged: its rows have different lengths"),
    "text among objects": (np.array([[1, "a"]], dtype=object), "X holds str 'a' at row 0, column 1, not a number"),
    "container among objects": (np.array([[1, {}]], dtype=object), "X holds dict"),
    "text": (["a", "b"], "string kernel such as Spectrum"),
    "text that looks like numbers": ([["1.5", "2"]], "text that looks like numbers; convert it first"),
    "bytes": ([[b"a"]], "not a number"),
    "complex": (X * 1j, "X is complex"),
    "sparse complex": (sp.csr_array(X * 1j), "X is complex"),
    "complex objects": (np.array([[1j]], dtype=object), "X"),
    "dates": (np.array([["2020-01-01"]], dtype="M8[D]"), "dtype datetime64"),
    "one dimension": (np.ones(3), r"one-dimensional with shape \(3,\).*reshape\(-1, 1\).*reshape\(1, -1\)"),
    "a list of numbers": ([1.0, 2.0], "one-dimensional"),
    "a series of numbers": (pd.Series([1.0, 2.0]), "one-dimensional"),
    "three dimensions": (np.ones((2, 2, 2)), r"3 dimensions and shape \(2, 2, 2\)"),
    "no dimension": (np.array(3.0), "not a collection"),
    "number": (3.0, "float 3.0, not a collection"),
    "nothing": (None, "NoneType None, not a collection"),
    "string": ("abc", "str 'abc', not a collection"),
    "dict": ({"a": [1.0]}, "dict .*, not a collection"),
    "set": ({1.0, 2.0}, "set .*, not a collection"),
    "generator": ((x for x in X), "generator .*, not a collection"),
    "frame with text": (pd.DataFrame({"a": [1.0], "b": ["x"]}), "column 'b' holds str 'x', not numbers"),
    "polars with text": (pl.DataFrame({"a": [1.0], "b": ["x"]}), "column 'b' holds str 'x', not numbers"),
    "frame with numbers as text": (pd.DataFrame({"a": ["1.5"]}), "column 'a' holds str '1.5'"),
    "frame with categories": (pd.DataFrame({"a": pd.Categorical(["u"])}), "column 'a' holds str 'u'"),
    "frame with dates": (pd.DataFrame({"a": pd.to_datetime(["2020-01-01"])}), "column 'a' holds"),
    "frame with nanoseconds": (pd.DataFrame({"a": pd.to_datetime(["2020-01-01"]).as_unit("ns")}), "column 'a' holds"),
    "frame with a gap": (pd.DataFrame({"a": [1.0, np.nan]}), "NaN at row 1, column 0"),
    "nullable frame with a gap": (pd.DataFrame({"a": pd.array([1, None], dtype="Int64")}), "row 1|NA"),
    "polars with a gap": (pl.DataFrame({"a": [1.0, None]}), "NaN at row 1, column 0"),
    "frame without rows": (pd.DataFrame({"a": []}), "empty"),
    "frame without columns": (pd.DataFrame(index=[0, 1]), "2 rows but no columns"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_and_how(name: str) -> None:
    data, words = REFUSED[name]
    with pytest.raises(InputError, match=words) as caught:
        Gaussian()(data)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("name", [n for n in REFUSED if n not in ("nothing", "generator")])
def test_the_second_collection_is_called_z(name: str) -> None:
    data, _ = REFUSED[name]
    with pytest.raises(InputError, match=r"^Z"):
        Gaussian()(np.ones((1, 1)), data)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("make", [np.ascontiguousarray, np.asfortranarray, lambda A: A[::-1], sp.csr_array, sp.csc_array])
def test_the_callers_data_are_never_written(make: Any, dtype: Any) -> None:
    data = make(X.astype(dtype))
    target = data.data if sp.issparse(data) else data
    target.flags.writeable = False
    before = data.copy()
    Gaussian()(data)
    Gaussian((1.0, 2.0)).normalized()(data, X)
    (Linear() + 1.0).diag(data)
    difference = abs(before - data)
    assert difference.max() == 0


LARGE = 2**53 + 1


@pytest.mark.parametrize(
    "data",
    [
        np.array([[0, 1], [2, LARGE]]),
        np.array([[0, 1], [2, LARGE]], dtype=np.uint64),
        -np.array([[0, 1], [2, LARGE]]),
        [[0, 1], [2, LARGE]],
        pd.DataFrame({"a": [0.5, 1.5], "b": [1, LARGE]}),
        sp.csr_array(np.array([[0, 1], [2, LARGE]])),
    ],
    ids=["int64", "uint64", "negative", "list", "frame", "sparse"],
)
def test_integers_that_float64_would_change_are_refused(data: Any) -> None:
    with pytest.raises(InputError, match=r"integer -?9007199254740993 .* rounds to -?9007199254740992.*Subtract an offset"):
        Gaussian()(data)


@pytest.mark.parametrize("make", [lambda: mercer.KernelRidge(Gaussian(1.0)), mercer.KernelRidge, mercer.SVC])
@pytest.mark.parametrize(
    "rows",
    [
        np.array([[2**53 + 1], [1], [2]]),
        [[2**53 + 1], [1], [2]],
        sp.csr_array(np.array([[2**53 + 1], [1], [2]])),
        pd.DataFrame({"a": np.array([2**63 + 1, 1, 2], dtype=np.uint64)}),
        np.array([[2**53 + 1], [1], [2]], dtype=object),
    ],
)
def test_estimators_refuse_integers_that_float64_would_change(make: Callable[[], Any], rows: Any) -> None:
    with pytest.raises(InputError, match=r"integer \d+ at row 0.* which float64 rounds to"):
        make().fit(rows, [0, 1, 1])
    fitted = make().fit([[0.0], [1.0], [2.0]], [0, 1, 1])
    with pytest.raises(InputError, match="integers must be exact"):
        fitted.predict([[2**64 + 1]])


@pytest.mark.parametrize("read", [lambda X: Gaussian(1.0)(X), lambda X: mercer.SVC().fit(X, [0, 1])])
def test_integers_too_large_for_a_float_are_refused(read: Callable[[Any], Any]) -> None:
    with pytest.raises(InputError, match=r"integer 1000.* at row 0, column 0, which is too large for float64"):
        read([[10**400], [1]])


def test_large_integers_that_float64_holds_are_read() -> None:
    assert Linear()(np.array([[2**60]]))[0, 0] == 2.0**120
    assert Gaussian()(np.array([[2**60], [2**60 + 1]]) - 2**60)[0, 1] == np.exp(-0.5)
