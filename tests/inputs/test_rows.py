"""Rows: one collection, checked once, with views that are remembered."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from mercer.errors import InputError
from mercer.inputs import Rows, append, as_rows, count, take

X = np.arange(12.0).reshape(4, 3)


@pytest.mark.parametrize(
    "data",
    [X, X.tolist(), sp.csr_array(X), sp.coo_array(X), pd.DataFrame(X), pl.DataFrame(X), ["a"] * 4, pd.Series(["a"] * 4)],
)
def test_length_of_every_container(data: Any) -> None:
    assert len(Rows(data)) == 4


def test_views_are_made_once() -> None:
    rows = Rows(X)
    assert rows.vectors() is rows.vectors()
    assert rows.columns((0, 1)) is rows.columns((0, 1))
    assert rows.columns((0, 1)) is not rows.columns((1, 0))
    assert rows.mapped(np.sin) is rows.mapped(np.sin)
    assert rows.mapped(np.sin) is not rows.mapped(np.cos)


def test_rows_pass_through_with_their_memory() -> None:
    rows = Rows(X)
    assert as_rows(rows) is rows
    assert as_rows(X, "Z").name == "Z"


def test_names_say_where_a_view_came_from() -> None:
    def shrink(A: Any) -> Any:
        return A / 2

    assert Rows(X).columns((0, 2)).name == "X[0, 2]"
    assert Rows(X, "Z").mapped(shrink).name == "shrink(Z)"
    assert "12 in all" in Rows(np.ones((2, 12))).columns(tuple(range(12))).name


@pytest.mark.parametrize(
    "data", [X, sp.csr_array(X), sp.coo_array(X), pd.DataFrame(X, index=list("dcba")), pl.DataFrame(X), X.tolist()]
)
@pytest.mark.parametrize("rows", [slice(1, 3), np.array([1, 2])])
def test_taking_rows_keeps_the_container(data: Any, rows: Any) -> None:
    part = Rows(data).take(rows)
    taken = part.vectors()
    assert np.array_equal(taken.toarray() if sp.issparse(taken) else taken, X[1:3])
    assert isinstance(part.data, type(data)) or sp.issparse(data)


def test_values_of_a_function() -> None:
    rows = Rows(X)
    assert rows.values(lambda A: A[:, 0]).tolist() == [0, 3, 6, 9]
    with pytest.raises(InputError, match=r"returned shape \(4, 3\)"):
        rows.values(lambda A: A)
    with pytest.raises(InputError, match="finite"):
        rows.values(lambda A: np.array([1.0, 2.0, np.inf, 3.0]))


def test_a_map_may_change_the_kind() -> None:
    words = Rows([["a", "b"], ["c"]]).mapped(lambda rows: [" ".join(row) for row in rows])
    assert words.strings() == ["a b", "c"]
    with pytest.raises(InputError, match="not a collection"):
        Rows(X).mapped(lambda A: 3.0)


def test_strings_become_plain_and_tokens_tuples() -> None:
    assert Rows(np.array(["a", "b"])).strings() == ["a", "b"]
    assert type(Rows(np.array(["a"])).strings()[0]) is str
    assert Rows([["a", 1], ("b",)]).strings() == [("a", 1), ("b",)]


def test_a_branch_knows_what_the_rows_know_and_keeps_its_own_to_itself() -> None:
    rows = Rows([[1.0], [2.0]])
    vectors = rows.vectors()
    branch = rows.branch()
    assert branch.vectors() is vectors
    branch.remember("own", lambda: 1)
    assert rows.remember("own", lambda: 2) == 2


@pytest.mark.parametrize("rows", [slice(1, 3), slice(-1, 0, -2), [2, 0], np.array([2, -4])], ids=str)
@pytest.mark.parametrize(
    "make",
    [np.asarray, np.ndarray.tolist, sp.csr_array, sp.coo_array, pd.DataFrame, pl.DataFrame],
)
def test_rows_are_counted_taken_and_appended_in_their_container(make: Any, rows: Any) -> None:
    def plain(X: Any) -> Any:
        return X.toarray().tolist() if sp.issparse(X) else np.asarray(X).tolist()

    A = np.arange(8.0).reshape(4, 2)
    X = make(A)
    assert count(X) == 4
    assert plain(take(X, rows)) == A[rows].tolist()
    both = append(X, take(X, rows))
    assert isinstance(both, sp.csr_array if sp.issparse(X) else type(X))
    assert count(both) == 6
    assert plain(both) == [*A.tolist(), *A[rows].tolist()]
    taken = Rows(X).take(rows)
    assert taken.origin == taken.take(slice(0, 1)).origin == 4
    assert taken.take(slice(1, 2)).places == np.arange(4)[rows][1:2]
    assert np.arange(4)[rows].tolist() == np.asarray(taken.places).tolist()
