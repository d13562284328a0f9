"""Kinds of columns: dates written as text, and dicts as tables."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mercer import TableRegressor
from mercer.errors import InputError
from mercer.inputs.frames import CATEGORY, DATE, NUMBER, TEXT, like, read_columns


def kinds(frame: Any) -> dict[str, str]:
    return {column.name: column.kind for column in read_columns(frame)}


def days(count: int) -> list[str]:
    return pd.date_range("2024-01-01", periods=count).strftime("%Y-%m-%d").tolist()


def test_texts_in_iso_form_are_dates() -> None:
    frame = pd.DataFrame({
        "day": [*days(29), None],
        "time": ["2024-01-01 10:30"] * 15 + ["2024-01-02T10:30:15.250"] * 15,
        "zone": ["2024-01-01T00:30+01:00", "2024-01-01T00:30Z"] * 15,
        "wrong": [*days(29), "2024-02-30"],
        "other": [*days(29), "soon"],
        "short": ["2024-01"] * 15 + ["2024-02"] * 15,
        "german": ["01.02.2024"] * 15 + ["02.03.2024"] * 15,  # day and month are not guessed
    })  # fmt: skip
    found = kinds(frame)
    assert [found[name] for name in ("day", "time", "zone")] == [DATE, DATE, DATE]
    assert [found[name] for name in ("wrong", "other", "short", "german")] == [TEXT, TEXT, CATEGORY, CATEGORY]
    day, _, zone = read_columns(frame)[:3]
    assert day.cells[0] == datetime.date(2024, 1, 1) and day.cells[-1] is None and day.holes[-1]
    assert zone.cells[:2] == [datetime.datetime(2023, 12, 31, 23, 30), datetime.datetime(2024, 1, 1, 0, 30)]


def test_a_model_that_read_texts_still_reads_them() -> None:
    training = read_columns(pd.DataFrame({"day": [*days(29), "soon"]}))
    now = like(read_columns(pd.DataFrame({"day": ["2024-01-03"]})), training)
    assert now[0].kind == TEXT and now[0].cells == ["2024-01-03"]


def test_dicts_are_tables() -> None:
    columns = {"size": [1.0, 2.5], "color": ["red", "blue"], "tags": [["a", "b"], ["c"]]}
    assert kinds(columns) == {"size": NUMBER, "color": CATEGORY, "tags": TEXT}
    rows = [{"size": 1, "color": "red"}, {"color": "blue", "weight": np.float64(3.0)}]
    size, color, weight = read_columns(rows)
    assert (size.kind, color.kind, weight.kind) == (NUMBER, CATEGORY, NUMBER)
    assert size.holes.tolist() == [False, True] and weight.holes.tolist() == [True, False]
    assert kinds({"size": 1.0, "color": "red"}) == {"size": NUMBER, "color": CATEGORY}
    with pytest.raises(InputError, match=r"different lengths \('a' has 2, 'b' has 1\). Give one cell per row."):
        read_columns({"a": [1, 2], "b": [1]})
    with pytest.raises(InputError, match="X has no columns"):
        read_columns({})


def test_a_table_model_takes_date_texts_and_dicts() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"day": days(80), "kind": rng.choice(["a", "b"], 80), "x": rng.normal(size=80)})
    y = frame["x"] + (frame["kind"] == "a") + 0.05 * np.arange(80)
    model = TableRegressor(time=0.3, random_state=0).fit(frame.to_dict("records"), y)
    assert {column.name: column.kind for column in model.result_.columns}["day"] == DATE
    row = {"x": 0.5, "kind": "a", "day": "2024-02-01"}  # in any order
    predicted = model.predict(row)
    assert predicted.shape == (1,)
    np.testing.assert_allclose(model.predict([row, row]), predicted.repeat(2))
    np.testing.assert_allclose(model.predict({name: [cell] for name, cell in row.items()}), predicted)
    np.testing.assert_allclose(model.predict(pd.DataFrame([row])), predicted)


def test_a_time_limit_and_unseen_categories_are_reported() -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"kind": rng.choice(["a", "b", "c"], 900), "x": rng.normal(size=900)})
    y = frame["x"] * (frame["kind"] == "a")
    model = TableRegressor(time=0.05, random_state=0).fit(frame, y)
    assert any("time limit" in note for note in model.result_.notes)
    new = pd.DataFrame({"kind": ["a", "q", "r", "q", None], "x": np.zeros(5)})
    assert "'kind' has 3 cells with a category that training did not have, such as 'q', 'r'" in model.notes(new)
    assert model.notes(frame[:5]) == []
    assert not any("time limit" in note for note in TableRegressor(random_state=0).fit(frame[:60], y[:60]).result_.notes)
