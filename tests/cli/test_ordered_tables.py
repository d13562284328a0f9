"""`mercer changes`, `mercer watch` and `mercer compare --order`: answers, exit codes, files and messages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.signal import lfilter
from tests.cli.tables import invoke

import mercer

RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("ordered")
    n = 120
    days = pd.date_range("2024-01-01", periods=n).astype(str)
    frame = pd.DataFrame({"day": days, "load": RNG.normal(size=n), "heat": RNG.normal(size=n)})
    frame.loc[70:, "heat"] += 8.0
    frame.to_csv(place / "days.csv", index=False)
    frame.sample(frac=1.0, random_state=0).to_csv(place / "shuffled.csv", index=False)
    pd.concat([frame, frame[:1]]).to_csv(place / "twice.csv", index=False)
    frame.assign(day=frame["day"].where(frame.index != 4)).to_csv(place / "hole.csv", index=False)
    frame[["day"]].to_csv(place / "alone.csv", index=False)
    frame.assign(kind=np.where(frame.index < 70, "a", "b")).drop(columns="heat").to_csv(place / "mixed.csv", index=False)
    usual = pd.DataFrame({"x": RNG.normal(size=400), "z": RNG.normal(size=400)})
    usual.to_csv(place / "reference.csv", index=False)
    usual[:60].sample(frac=1.0, random_state=1).to_csv(place / "one.csv", index=False)
    (usual[60:160] + np.array([0.0, 1.5])).to_csv(place / "two.csv", index=False)
    usual[["x"]].to_csv(place / "narrow.csv", index=False)
    usual[:20].assign(x=[None, *usual["x"][1:20]]).to_csv(place / "holes.csv", index=False)
    for name in ("first", "second"):
        series = lfilter([1.0], [1.0, -0.95], RNG.normal(size=700))[100:]
        pd.DataFrame({"t": np.arange(600), "v": series}).to_csv(place / f"{name}.csv", index=False)
    return place


@pytest.mark.parametrize("name", ["days", "shuffled"])
def test_changes_in_the_order_of_a_column(folder: Path, name: str) -> None:
    found = invoke("changes", folder / f"{name}.csv", "--order", "day")
    assert found.exit_code == 1 and "1 change" in found.stdout and "from row 71 on, day 2024-03-11" in found.stdout
    assert "(heat)" in found.stdout
    assert ("rows were sorted by 'day'" in found.output) == (name == "shuffled")


def test_changes_as_json_picture_and_none(folder: Path) -> None:
    picture = folder / "changes.png"
    found = json.loads(invoke("changes", folder / "days.csv", "--order", "day", "--json", "--out", picture).stdout)
    assert found["rows"] == 120 and found["changes"][0]["row"] == 71 and found["changes"][0]["columns"] == ["heat"]
    assert picture.read_bytes().startswith(b"\x89PNG")
    none = invoke("changes", folder / "days.csv", "--order", "day", "--drop", "heat")
    assert none.exit_code == 0 and "no change" in none.stdout
    mixed = invoke("changes", folder / "mixed.csv", "--order", "day", "--json", "--out", folder / "mixed.svg")
    assert json.loads(mixed.stdout)["changes"][0]["row"] == 71 and (folder / "mixed.svg").is_file()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("twice", "the column 'day' repeats the value 2024-01-01"),
        ("hole", "the column 'day' has no value in row 5"),
        ("alone", "there is no column beside 'day'"),
        ("reference", "no column 'day'"),
    ],
)
def test_bad_orders(folder: Path, name: str, words: str) -> None:
    found = invoke("changes", folder / f"{name}.csv", "--order", "day")
    assert found.exit_code == 64 and words in " ".join(found.output.split())


def test_watch_names_the_columns_and_continues(folder: Path) -> None:
    usual = invoke(
        "watch", folder / "reference.csv", folder / "one.csv", "--run-length", 1000, "--save", folder / "m.mercer"
    )
    assert usual.exit_code == 0 and "no drift" in usual.stdout
    later = invoke("watch", folder / "m.mercer", folder / "two.csv", "--json")
    answer: Any = json.loads(later.stdout)
    assert later.exit_code == 1 and answer["drift"] and answer["columns"] == ["z"] and answer["rows"] == 160
    assert answer["alarm_row"] > 60
    at_once = invoke("watch", folder / "reference.csv", folder / "one.csv", folder / "two.csv", "--run-length", 1000)
    assert at_once.exit_code == 1 and f"alarm after row {answer['alarm_row']}" in at_once.stdout
    assert "columns that moved: z" in at_once.stdout


def test_watch_names_a_column_that_only_increases(folder: Path) -> None:
    words = "the column 'day' increases with every row"
    plain = invoke("watch", folder / "days.csv", folder / "days.csv", "--run-length", 100)
    assert words in " ".join(plain.output.split())
    ordered = invoke("watch", folder / "days.csv", folder / "days.csv", "--run-length", 100, "--order", "day")
    assert words not in " ".join(ordered.output.split())


def test_watch_refuses_other_files(folder: Path) -> None:
    mercer.save(mercer.KernelRidge().fit(RNG.normal(size=(9, 2)), np.arange(9.0)), folder / "ridge.mercer")
    for arguments, words in (
        (("ridge.mercer", "one.csv"), "holds a KernelRidge, not a monitor"),
        (("reference.csv", "narrow.csv"), "has no column 'z'"),
        (("reference.csv", "holes.csv"), "the column 'x' has a missing cell"),
    ):
        found = invoke("watch", *[folder / name for name in arguments], "--run-length", 100)
        assert found.exit_code == 64 and words in " ".join(found.output.split())


def test_compare_in_order_of_a_column(folder: Path) -> None:
    plain = invoke("compare", folder / "first.csv", folder / "second.csv", "--drop", "t")
    assert "Neighboring rows" in " ".join(plain.output.split()) and "--order" in plain.output
    ordered = invoke("compare", folder / "first.csv", folder / "second.csv", "--order", "t", "--json")
    notes = json.loads(ordered.stdout)["notes"]
    assert any("blocks of 75 neighboring rows" in text for text in notes)
    assert invoke("compare", folder / "first.csv", folder / "second.csv", "--order", "nothing").exit_code == 64
