"""One place puts rows below rows, whatever they are; the two-sample test stands on it."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from mercer import frame_kernel, mmd_test
from mercer.inputs import append, count
from mercer.inputs.tables import Table
from mercer.kernels.column_terms import column_terms


def mixed(n: int, shift: float, rng: np.random.Generator) -> dict[str, np.ndarray]:
    days = np.datetime64("2024-01-01") + rng.integers(0, 400, n)
    return {
        "age": rng.normal(shift, 1.0, n),
        "city": rng.choice(["Rome", "Oslo"], n).astype(object),
        "day": days.astype("datetime64[us]"),
        "note": np.array([f"word{i} {rng.integers(10**6)}" for i in range(n)], dtype=object),
    }


@pytest.mark.parametrize("make", [Table, pd.DataFrame, pl.DataFrame])
def test_a_mixed_table_of_any_kind_is_tested(make: type, rng: np.random.Generator) -> None:
    A, B = make(mixed(60, 0.0, rng)), make(mixed(50, 1.5, rng))
    both = append(A, B)
    assert count(both) == 110 and list(both.columns) == ["age", "city", "day", "note"]
    found = mmd_test(A, B, frame_kernel(both), n_permutations=199, random_state=0)
    assert found.pvalue <= 0.01
    assert found.explain(199).reasons[0].name == "age"
    shares = found.columns()
    assert shares.names[int(np.argmax(shares.shares))] == "age"


def test_a_column_of_two_types_keeps_its_cells() -> None:
    left, right = Table({"x": np.array([1.0, 2.0])}), Table({"x": np.array(["a", "b"], dtype=object)})
    assert append(left, right)["x"].to_numpy().tolist() == [1.0, 2.0, "a", "b"]


def test_arrays_sparse_rows_and_lists() -> None:
    np.testing.assert_array_equal(append(np.ones((1, 2)), np.zeros((1, 2))), [[1, 1], [0, 0]])
    assert append(sp.csr_array(np.eye(2)), sp.csr_array(np.eye(2))).shape == (4, 2)
    assert append(["a"], ["b"]) == ["a", "b"]


def test_columns_of_dates_and_text_are_compared_by_what_they_hold(rng: np.random.Generator) -> None:
    first, second = mixed(80, 0.0, rng), mixed(80, 0.0, rng)
    second["day"] = second["day"] + np.timedelta64(300, "D")
    second["note"] = np.array([f"late {value}" for value in second["note"]], dtype=object)
    second["day"][:3] = np.datetime64("NaT")
    A, B = Table(first), Table(second)
    reasons = {r.name: r.pvalue for r in mmd_test(A, B, frame_kernel(append(A, B)), n_permutations=99).explain(199).reasons}
    assert reasons["day"] <= 0.01 and reasons["note"] <= 0.01 and reasons["age"] > 0.01


def test_a_sum_inside_one_column_is_one_factor() -> None:
    """A product of many categories would else be a sum of 2^columns products."""
    from mercer import Categorical

    kernel = (1.0 * Categorical() + 1.0).on(0)
    for place in range(1, 14):
        kernel = kernel * (1.0 * Categorical() + 1.0).on(place)
    assert len(column_terms(kernel, range(14))) == 1


def test_a_table_of_dates_as_objects(rng: np.random.Generator) -> None:
    days = np.array([datetime.date(2024, 1, 1) + datetime.timedelta(days=int(i)) for i in range(30)], dtype=object)
    found = append(Table({"day": days}), Table({"day": days}))
    assert found.shape == (60, 1)
