"""Series from files and tables."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mercer import Gaussian, GlobalAlignment, interpolated, read_ts, series_of
from mercer.errors import InputError

TEXT = "# a comment\n@problemName toy\n@univariate false\n@classLabel true a b\n@data\n1,2,3:4,5,6:a\n7,?:9,10:b\n"


def test_files_in_the_ts_format(tmp_path: Path) -> None:
    path = tmp_path / "toy.ts"
    path.write_text(TEXT.replace("?", "8"))
    series, labels = read_ts(path)
    assert [one.tolist() for one in series] == [[[1, 4], [2, 5], [3, 6]], [[7, 9], [8, 10]]] and labels.tolist() == [
        "a",
        "b",
    ]
    (tmp_path / "toy.ts.gz").write_bytes(gzip.compress(path.read_bytes()))
    assert np.array_equal(read_ts(tmp_path / "toy.ts.gz")[0][0], series[0])
    path.write_text("@targetLabel true\n@data\n1,2:0.5\n")
    assert read_ts(path)[1].tolist() == [0.5]
    path.write_text("@data\n1,2\n3,4,5\n")
    assert [len(one) for one in read_ts(path)[0]] == [2, 3]


def test_holes_are_refused_or_filled(tmp_path: Path) -> None:
    path = tmp_path / "toy.ts"
    path.write_text(TEXT)
    with pytest.raises(InputError, match="nan at step 1, channel 0"):
        read_ts(path)
    assert read_ts(path, holes="interpolate")[0][1].tolist() == [[7.0, 9.0], [7.0, 10.0]]
    with pytest.raises(InputError, match="channel 0 has no known value"):
        interpolated([[np.nan, np.nan]])
    with pytest.raises(InputError, match="holes must be"):
        read_ts(path, holes="drop")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1,2,3\n", "no line '@data'"),
        ("@classLabel true a\n@data\n", "no series below"),
        ("@classLabel true a\n@data\n1,x:a\n", "line 3: could not convert"),
        ("@classLabel true a\n@data\n1,2:3:a\n", r"channels of lengths \[1, 2\]"),
        ("@timeStamps true\n@data\n(0,1):a\n", "time stamps are not read"),
        ("@targetLabel true\n@data\n1,2:high\n", "a target is not a number"),
    ],
)
def test_damaged_files_are_refused(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "bad.ts").write_text(text)
    with pytest.raises(InputError, match=words):
        read_ts(tmp_path / "bad.ts")


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        read_ts(tmp_path / "none.ts")
    with pytest.raises(InputError, match="this is a folder"):
        read_ts(tmp_path)


def test_long_tables() -> None:
    frame = pd.DataFrame({"who": ["b", "b", "a"], "t": [0.0, 1.5, 0.0], "u": [1.0, 2.0, 3.0], "v": [4.0, np.nan, 6.0]})
    series, names = series_of(frame, "who", "t", holes="interpolate")
    assert names.tolist() == ["b", "a"] and series[0].tolist() == [[1.0, 4.0], [2.0, 4.0]]
    assert series_of(frame, "who", "t", ["u"])[0][1].tolist() == [[3.0]]
    with pytest.raises(InputError, match="'b' is not sorted by time"):
        series_of(frame.iloc[[1, 0, 2]], "who", "t", ["u"])
    with pytest.raises(InputError, match="'b' repeats a time"):
        series_of(frame.iloc[[0, 0, 2]], "who", "t", ["u"])
    with pytest.raises(InputError, match="no column 'x'"):
        series_of(frame, "who", "x")
    with pytest.raises(InputError, match="no column is left"):
        series_of(frame[["who", "t"]], "who", "t")
    with pytest.raises(InputError, match="takes a data frame"):
        series_of([1, 2], "who", "t")


def test_long_tables_with_odd_columns_are_named() -> None:
    frame = pd.DataFrame({"who": ["b", "b", "a"], "t": [0.0, 1.5, 0.0], "u": [1.0, 2.0, 3.0], "w": ["x", "y", "z"]})
    assert series_of(frame, "who", "t", "u")[0][0].tolist() == [[1.0], [2.0]]
    with pytest.raises(InputError, match="column 'w' holds values that are not numbers"):
        series_of(frame, "who", "t")
    with pytest.raises(InputError, match="time= needs id="):
        series_of(frame, time="t", values="u")
    with pytest.raises(InputError, match="the table has no rows"):
        series_of(frame.iloc[:0], "who", "t", "u")
    with pytest.raises(InputError, match="two columns 'u'"):
        series_of(pd.concat([frame, frame[["u"]]], axis=1), "who", "t", "u")
    with pytest.raises(InputError, match="mixes types, or has holes"):
        series_of(frame.assign(who=["b", 1, None]), "who", "t", "u")
    with pytest.raises(InputError, match="'b' has a row without a time"):
        series_of(frame.assign(t=[0.0, np.nan, 0.0]), "who", "t", "u")
    with pytest.raises(InputError, match="column 'who' repeats values"):
        series_of(frame, "who", values="u")
    numbered = pd.DataFrame(np.array([[7, 0, 1.0], [8, 0, 2.0], [7, 1, 3.0]]))
    series, names = series_of(numbered, 0, 1)
    assert [one.ravel().tolist() for one in series] == [[1.0, 3.0], [2.0]] and names.tolist() == [7.0, 8.0]


def test_wide_tables() -> None:
    frame = pd.DataFrame({"who": ["b", "a"], "s0": [1.0, 4.0], "s1": [np.nan, 5.0], "s2": [3.0, np.nan]})
    with pytest.raises(InputError, match=r"series\[0\] has nan at step 1"):
        series_of(frame, "who")
    series, names = series_of(frame, "who", holes="interpolate")
    assert [one.ravel().tolist() for one in series] == [[1.0, 2.0, 3.0], [4.0, 5.0]] and names.tolist() == ["b", "a"]
    series, names = series_of(frame, values=["s0"])
    assert [one.shape for one in series] == [(1, 1), (1, 1)] and names.tolist() == [0, 1]
    with pytest.raises(InputError, match="series 'b' has no known value"):
        series_of(frame.assign(s0=np.nan, s2=np.nan), "who")
    with pytest.raises(InputError, match="is a table, not a list of series"):
        GlobalAlignment(Gaussian(1.0))(frame[["s0"]])


def test_what_cannot_be_filled_is_named() -> None:
    with pytest.raises(InputError, match=r"series\[1\] is .*; give an array"):
        interpolated([[1.0, 2.0], ["a", "b"]])
    with pytest.raises(InputError, match=r"has shape \(1, 2, 2\)"):
        interpolated([np.zeros((1, 2, 2))])
