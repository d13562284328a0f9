"""The examples on strings run as a reader runs them, small, and find what they promise."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def run(name: str, *arguments: str, folder: Path) -> str:
    command = [sys.executable, str(EXAMPLES / f"{name}.py"), *arguments]
    result = subprocess.run(command, capture_output=True, encoding="utf-8", cwd=folder, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_promoters(tmp_path: Path, shared_data: Path) -> None:
    told = run("promoters", "--tested", "10", "--out", "pages", folder=tmp_path)
    assert int(told.split()[0]) <= 2
    assert "class 'promoter': decision" in told
    assert (tmp_path / "pages" / "promoters.html").read_text(encoding="utf-8").count("<section>") == 2


def test_splice_junctions(tmp_path: Path, shared_data: Path) -> None:
    told = run("splice_junctions", "--rows", "500", folder=tmp_path)
    assert float(told.split("accuracy ")[1].split("%")[0]) > 80.0
    assert "class 'EI'" in told and "class 'IE'" in told


def test_names_by_language(tmp_path: Path, shared_data: Path) -> None:
    told = run("names_by_language", "--rows", "1500", folder=tmp_path)
    right, largest = (float(part.split()[-1]) for part in told.split("\n")[1].split("%")[:2])
    assert right > largest + 5.0
    assert "Papadopoulos: 'Greek'" in told


def test_sms_spam(tmp_path: Path, shared_data: Path) -> None:
    told = run("sms_spam", "--rows", "800", folder=tmp_path)
    assert float(told.split("F1 ")[1].split(",")[0]) > 0.8
    assert "class 'spam': decision" in told


def test_a_protein_family(tmp_path: Path, shared_data: Path) -> None:
    told = run("protein_family", "--rows", "300", folder=tmp_path)
    assert float(told.split("ROC curve ")[1].split()[0]) > 0.8


def test_missing_data_is_said_and_made_up_strings_stand_in(tmp_path: Path) -> None:
    command = [sys.executable, str(EXAMPLES / "sms_spam.py"), "--data", str(tmp_path)]
    result = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert result.returncode == 0 and "are made up, in the same form" in result.stdout
