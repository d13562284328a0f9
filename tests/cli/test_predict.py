"""`mercer predict`: columns by name, intervals, and files that are not what they should be."""

from __future__ import annotations

import csv
import io
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import mercer
from mercer.cli.app import app
from mercer.persist import load, save


def invoke(*arguments: Any) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of numbers, one of classes, and tables to predict."""
    made = tmp_path_factory.mktemp("predict")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)) * [1.0, 100.0]
    y = np.sin(X[:, 0]) + X[:, 1] / 100
    pairs = enumerate(zip(X.tolist(), y.tolist(), strict=True))
    rows = [f"r{i},{a},{b},{c},{'hi' if c > 0 else 'lo'}" for i, ((a, b), c) in pairs]
    (made / "data.csv").write_text("\n".join(["id,a,b,y,label", *rows]) + "\n")
    (made / "new.csv").write_text("b,id,a,other\n50.0,r1,0.5,x\n-20.0,=r2,-1.0,y\n")
    (made / "holes.csv").write_text("a,b\n0.5,50.0\n,1.0\n-1.0,-20.0\n")
    for target, other in (("y", "label"), ("label", "y")):
        result = invoke(
            "fit",
            made / "data.csv",
            "--target",
            target,
            "--drop",
            other,
            "--out",
            made / target,
            "--quiet",
            "--id",
            "id",
            "--kernel",
            "Gaussian(1.0)",
        )
        assert result.exit_code == 0, result.stderr
    return made


def read(text: str) -> tuple[list[str], list[list[str]]]:
    header, *rows = csv.reader(io.StringIO(text))
    return header, rows


def test_columns_are_matched_by_name(folder: Path) -> None:
    result = invoke("predict", folder / "y" / "model.mercer", folder / "new.csv", "--interval", 0.9)
    assert result.exit_code == 0, result.stderr
    header, rows = read(result.stdout)
    assert header == ["id", "prediction", "lower", "upper"]
    assert [row[0] for row in rows] == ["r1", "'=r2"]  # passed through, and harmless in a spreadsheet
    model = load(folder / "y" / "model.mercer")
    new = pl.DataFrame({"a": [0.5, -1.0], "b": [50.0, -20.0]})
    np.testing.assert_allclose([float(row[1]) for row in rows], model.predict(new), rtol=1e-9)
    np.testing.assert_allclose(
        [[float(cell) for cell in row[2:]] for row in rows], model.predict_interval(new, 0.9), rtol=1e-9
    )
    assert result.stderr == "Note: columns that the model does not use are ignored: 'other'\n"


def test_classes_come_out_as_they_went_in(folder: Path) -> None:
    result = invoke("predict", folder / "label", folder / "new.csv")  # the folder will do
    assert read(result.stdout) == (["id", "prediction"], [["r1", "hi"], ["'=r2", "lo"]])
    header, rows = read(invoke("predict", folder / "label", folder / "new.csv", "--probabilities").stdout)
    assert header == ["id", "prediction", "probability of hi", "probability of lo"]
    for row in rows:
        assert float(row[2]) + float(row[3]) == pytest.approx(1.0) and (row[1] == "hi") == (float(row[2]) > 0.5)
    result = invoke("predict", folder / "y", folder / "new.csv", "--probabilities")
    assert result.exit_code == 64 and "predicts numbers" in result.stderr
    result = invoke("predict", folder / "label", folder / "new.csv", "--interval", 0.9)
    assert result.exit_code == 64 and "predicts classes" in result.stderr


def test_a_file_is_written_whole(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "p.csv"
    result = invoke("predict", folder / "y", folder / "new.csv", "--out", out)
    assert result.exit_code == 0 and result.stdout == "" and f"2 predictions of y written to {out}" in result.stderr
    header, rows = read(out.read_text())
    assert header == ["id", "prediction"] and len(rows) == 2

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    assert invoke("predict", folder / "y", folder / "data.csv", "--out", out).exit_code == 130
    assert os.listdir(tmp_path) == ["p.csv"] and len(read(out.read_text())[1]) == 2


def test_missing_values(folder: Path) -> None:
    result = invoke("predict", folder / "y", folder / "holes.csv")
    assert result.exit_code == 0 and all(all(row) for row in read(result.stdout)[1])
    assert "'a' has 1 missing cell, and had none in training: filled with a typical value." in result.stderr
    _, rows = read(invoke("predict", folder / "y", folder / "holes.csv", "--skip-missing", "--interval", 0.5).stdout)
    assert rows[1] == ["", "", ""] and all(rows[0]) and all(rows[2])


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        ("a\n1\n", [], "the model needs 1 column that the table does not have: 'b'."),
        ("x:y\n1:2\n", [], "is its delimiter a comma"),
        ("a,B\n1,2\n", [], "Is 'B' meant by 'b'? Rename it."),
        ("a,b\n1,x\n", [], "column 'b' changed its type: numbers in training, categories now"),
        ("a,b\n1,2\n", ["--out", "p.xlsx"], "predictions are written as .csv or .parquet"),
        ("", [], "the file is empty"),
        ("a,b\n1,2\n", ["--interval", "90"], "--interval must be a fraction"),
        ("a,b\n1,2\n", ["--out", "none/p.csv"], "there is no folder"),
        ("a,b\n1,2\n", ["--out", "."], "this is a folder"),
    ],
)
def test_bad_tables_are_one_line(data: str, options: list[str], message: str, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text(data)
    result = invoke("predict", folder / "y", tmp_path / "d.csv", *options)
    assert result.exit_code == 64 and result.stdout == ""
    assert message in result.stderr and result.stderr.splitlines()[-1].startswith("Error: ")
    assert os.listdir(tmp_path) == ["d.csv"]


def test_bad_models_are_one_line(folder: Path, tmp_path: Path) -> None:
    good = (folder / "y" / "model.mercer").read_bytes()
    (tmp_path / "cut").write_bytes(good[:-100])
    (tmp_path / "pickle").write_bytes(pickle.dumps([1]))
    save(mercer.KernelRidge().fit([[1.0], [2.0]], [1.0, 2.0]), tmp_path / "python")
    for name, message in {
        "cut": "damaged or cut short",
        "pickle": "not a mercer model file",
        "python": "not written by mercer fit",
        "none": "there is no such file",
    }.items():
        result = invoke("predict", tmp_path / name, folder / "new.csv")
        assert result.exit_code == 64 and result.stdout == "" and result.stderr.count("\n") == 1
        assert message in result.stderr


def test_labels_that_are_formulas_are_marked_as_text() -> None:
    from mercer.cli.columns_file import as_csv

    labels = np.array(["=1+1", "@x", "+cmd|' /C calc'!A0", "-1.5", "a", "-x", "\t=2"])
    lines = as_csv({}, {"prediction": labels}, np.ones(len(labels), dtype=bool)).splitlines()
    assert lines[1:] == ["'=1+1", "'@x", "'+cmd|' /C calc'!A0", "-1.5", "a", "'-x", "'\t=2"]


def test_predictions_replaced_are_said_to_be(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "p.csv"
    first = invoke("predict", folder / "y", folder / "data.csv", "--out", out)
    second = invoke("predict", folder / "y", folder / "data.csv", "--out", out)
    assert "is replaced" not in first.stderr and f"{out} is replaced" in second.stderr


def test_predictions_go_to_parquet_too(folder: Path, tmp_path: Path) -> None:
    import pyarrow.parquet

    out = tmp_path / "p.parquet"
    result = invoke("predict", folder / "y", folder / "holes.csv", "--out", out, "--skip-missing")
    assert result.exit_code == 0 and "the id 'id' is not in this table" in result.stderr
    table = pyarrow.parquet.read_table(out)
    assert table.column_names == ["prediction"] and table["prediction"].null_count == 1 and table.num_rows == 3


def test_models_of_the_first_version_predict(tmp_path: Path) -> None:
    """`mercer fit` of 0.1.0 wrote a scaler and a ridge on numbers, with names in the notes."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X = np.random.default_rng(0).normal(size=(30, 2)) * [1.0, 100.0]
    pipeline = make_pipeline(StandardScaler(), mercer.KernelRidgeCV()).fit(X, X[:, 0])
    save(pipeline, tmp_path / "m", notes={"columns": ["a", "b"], "target": "y", "task": "regression"})
    (tmp_path / "new.csv").write_text("b,a\n50.0,0.5\n,1\n")
    result = invoke("predict", tmp_path / "m", tmp_path / "new.csv", "--interval", 0.8, "--skip-missing")
    header, rows = read(result.stdout)
    assert header == ["prediction", "lower", "upper"] and rows[1] == ["", "", ""]
    np.testing.assert_allclose(float(rows[0][0]), pipeline.predict([[0.5, 50.0]])[0], rtol=1e-9)
    (tmp_path / "text.csv").write_text("b,a\nx,0.5\n")
    result = invoke("predict", tmp_path / "m", tmp_path / "text.csv")
    assert result.exit_code == 64 and "'b' does not hold numbers" in result.stderr


def test_sets_of_classes(folder):
    header, rows = read(invoke("predict", folder / "label", folder / "new.csv", "--set", "0.8").stdout)
    assert header[-1] == "set"
    labels = {row[header.index("prediction")] for row in rows}
    assert {label for row in rows for label in row[-1].split("|") if label} >= labels
    result = invoke("predict", folder / "label", folder / "new.csv", "--set", "1.5")
    assert result.exit_code != 0 and "--set must be a fraction" in result.stderr
    result = invoke("predict", folder / "y", folder / "new.csv", "--set", "0.8")
    assert result.exit_code != 0 and "predicts numbers" in result.stderr
