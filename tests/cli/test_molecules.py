"""Molecules in the shell: how columns are found, what is said of bad cells, and fit, predict and suggest."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from mercer.cli.app import app

pytest.importorskip("rdkit")

SMILES = [
    f"{'C' * length}{group}"
    for length in range(1, 9)
    for group in ("O", "N", "(=O)O", "c1ccccc1", "C#N", "F", "S", "OC", "(C)C")
]


def _write(path: Path, smiles: list[str]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["smiles", "y"])
        writer.writerows([[text, text.count("C") - 2.0 * text.count("O") + 0.01 * i] for i, text in enumerate(smiles)])
    return path


def _run(*words: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, [str(word) for word in words])
    return result.exit_code, result.output


def test_the_column_list_and_the_report_say_molecules(tmp_path: Path) -> None:
    path = _write(tmp_path / "a.csv", [*SMILES, "C1CC"])
    code, text = _run("fit", path)
    assert code == 0 and "smiles  molecules" in text and "1 unreadable" in text
    code, text = _run("fit", path, "--target", "y", "--out", tmp_path / "m")
    assert code != 0 and "(row 73: 'C1CC' is no valid SMILES)" in text and "--skip-bad" in text
    code, text = _run("fit", path, "--target", "y", "--out", tmp_path / "m", "--skip-bad")
    assert code == 0, text
    assert "is read as molecules (SMILES); --text smiles reads it as text" in text
    assert "left out by --skip-bad: 1 cell of 'smiles'" in text and "substructures" in text
    page = (tmp_path / "m" / "report.html").read_text()
    assert "molecule" in page and "Which parts decide?" in page and page.count("mercer-explanation") == 4
    code, text = _run("explain", tmp_path / "m", path, "--row", 3, "--html", tmp_path / "row.html")
    assert code == 0 and f"  {SMILES[2]}" in text and "atom 0 (C)" in text and "descriptors" in text
    assert "<svg" in (tmp_path / "row.html").read_text()
    code, text = _run("explain", tmp_path / "m", path, "--row", 3, "--json")
    facts = json.loads(text)
    assert sum(facts["contributions"]) + facts["intercept"] + facts["descriptors"] == pytest.approx(facts["prediction"])
    code, text = _run("explain", tmp_path / "m")
    assert code == 0 and "training rows" in text and "weight" in text
    code, text = _run("explain", tmp_path / "m", path)
    assert code != 0 and "DATA --row N, or neither" in text
    new = tmp_path / "new.csv"
    new.write_text("smiles\nCCCO\nC1CC\nCCCCCCCCCCCC\nCCO\nOCCO\n")
    code, text = _run("suggest", tmp_path / "m", new, "--n", 2)
    assert code == 0, text
    assert "1 candidate with cells that the model has no rule for is left out" in text
    cells = [line.split(",") for line in text[text.index("row,smiles") :].splitlines()[:3]]
    assert cells[0] == ["row", "smiles", "prediction", "lower", "upper"]
    assert cells[1][:2] == ["3", "CCCCCCCCCCCC"] and cells[2][:2] == ["5", "OCCO"]  # the others were measured or are bad
    for words, said in ((("--n", 3), "only 2 of 4"), (("--n", 0), "--n must be"), (("--goal", "up"), "--goal must be")):
        code, text = _run("suggest", tmp_path / "m", new, *words)
        assert code != 0 and said in text
    new.write_text("smiles\nCCCO\nC1CC\n")
    code, text = _run("predict", tmp_path / "m", new)
    assert code != 0 and "the first is row 2 ('smiles')" in text
    code, text = _run("predict", tmp_path / "m", new, "--skip-bad")
    lines = text.strip().splitlines()
    assert code == 0 and lines[-3] == "prediction" and abs(float(lines[-2]) - 1.0) < 1.5 and lines[-1] == '""'


def test_text_and_molecule_decide(tmp_path: Path) -> None:
    path = _write(tmp_path / "a.csv", SMILES)
    code, text = _run("fit", path, "--target", "y", "--out", tmp_path / "m", "--text", "smiles", "--json")
    assert code == 0 and "substructures of" not in text and "is read as molecules" not in text
    code, text = _run("fit", path, "--target", "y", "--out", tmp_path / "m", "--molecule", "smile")
    assert code != 0 and "there is no column 'smile'" in text
