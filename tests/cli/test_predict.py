"""`mercer predict`: columns by name, intervals, and files that are not what they should be."""

from __future__ import annotations

import csv
import io
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
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
    rows = [f"{a},{b},{c},{'hi' if c > 0 else 'lo'}" for (a, b), c in zip(X.tolist(), y.tolist(), strict=True)]
    (made / "data.csv").write_text("\n".join(["a,b,y,label", *rows]) + "\n")
    (made / "new.csv").write_text("b,id,a\n50.0,r1,0.5\n-20.0,r2,-1.0\n")
    (made / "holes.csv").write_text("a,b\n0.5,50.0\n,1.0\n-1.0,-20.0\n")
    for target, other in (("y", "label"), ("label", "y")):
        result = invoke("fit", made / "data.csv", "--target", target, "--drop", other, "--out", made / target, "--quiet")
        assert result.exit_code == 0, result.stderr
    return made


def read(text: str) -> tuple[list[str], list[list[str]]]:
    header, *rows = csv.reader(io.StringIO(text))
    return header, rows


def test_columns_are_matched_by_name(folder: Path) -> None:
    result = invoke("predict", folder / "y" / "model.mercer", folder / "new.csv", "--interval", 0.9)
    assert result.exit_code == 0, result.stderr
    header, rows = read(result.stdout)
    assert header == ["prediction", "lower", "upper"]
    pipeline = load(folder / "y" / "model.mercer")
    scaled = (np.array([[0.5, 50.0], [-1.0, -20.0]]) - pipeline[0].mean_) / pipeline[0].scale_
    np.testing.assert_allclose([float(row[0]) for row in rows], pipeline[-1].predict(scaled), rtol=1e-9)
    np.testing.assert_allclose(
        [[float(cell) for cell in row[1:]] for row in rows], pipeline[-1].predict_interval(scaled, 0.9), rtol=1e-9
    )
    assert result.stderr == "Note: columns that the model does not use are ignored: 'id'\n"


def test_classes_come_out_as_they_went_in(folder: Path) -> None:
    result = invoke("predict", folder / "label", folder / "new.csv")  # the folder will do
    assert read(result.stdout) == (["prediction"], [["hi"], ["lo"]])
    result = invoke("predict", folder / "label", folder / "new.csv", "--interval", 0.9)
    assert result.exit_code == 64 and "predicts classes" in result.stderr


def test_a_file_is_written_whole(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "p.csv"
    result = invoke("predict", folder / "y", folder / "new.csv", "--out", out)
    assert result.exit_code == 0 and result.stdout == "" and f"2 predictions of y written to {out}" in result.stderr
    header, rows = read(out.read_text())
    assert header == ["prediction"] and len(rows) == 2

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    assert invoke("predict", folder / "y", folder / "data.csv", "--out", out).exit_code == 130
    assert os.listdir(tmp_path) == ["p.csv"] and len(read(out.read_text())[1]) == 2


def test_missing_values(folder: Path) -> None:
    result = invoke("predict", folder / "y", folder / "holes.csv")
    assert result.exit_code == 64 and "1 of 3 rows have missing or infinite values, the first is row 2" in result.stderr
    _, rows = read(invoke("predict", folder / "y", folder / "holes.csv", "--skip-missing", "--interval", 0.5).stdout)
    assert rows[1] == ["", "", ""] and all(rows[0]) and all(rows[2])


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        ("a\n1\n", [], "the model needs 1 column that the file does not have: 'b'"),
        ("x:y\n1:2\n", [], "is its delimiter a comma"),
        ("a,b\n1,x\n", [], "1 column does not hold numbers: 'b'"),
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
    assert message in result.stderr and result.stderr.count("\n") == 1
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
    from mercer.cli.predict import _as_csv

    labels = np.array(["=1+1", "@x", "+cmd|' /C calc'!A0", "-1.5", "a", "-x", "\t=2"])
    lines = _as_csv(np.ones(len(labels), dtype=bool), {"prediction": labels}).splitlines()
    assert lines[1:] == ["'=1+1", "'@x", "'+cmd|' /C calc'!A0", "-1.5", "a", "'-x", "'\t=2"]


def test_predictions_replaced_are_said_to_be(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "p.csv"
    first = invoke("predict", folder / "y", folder / "data.csv", "--out", out)
    second = invoke("predict", folder / "y", folder / "data.csv", "--out", out)
    assert "(replaced)" not in first.stderr and "(replaced)" in second.stderr
