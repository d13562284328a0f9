"""Series from files and tables."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mercer import interpolated, read_ts, series_of
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
