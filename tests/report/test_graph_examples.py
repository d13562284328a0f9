"""The example on molecules runs as a reader runs it, small, and draws its pictures."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.mark.slow
def test_molecules(tmp_path: Path, shared_data: Path) -> None:
    command = [sys.executable, str(EXAMPLES / "molecules.py"), "--folds", "2", "--out", str(tmp_path)]
    result = subprocess.run(command, capture_output=True, encoding="utf-8", cwd=tmp_path, check=False)
    assert result.returncode == 0, result.stderr
    assert float(result.stdout.split("accuracy ")[1].split("%")[0]) > 75.0
    assert "class 'mutagenic': decision" in result.stdout
    assert {path.name for path in tmp_path.glob("*.png")} == {"mutagenic.png", "atlas3.png", "atlas4.png", "atlas5.png"}


def test_missing_data_is_said_and_shipped_molecules_stand_in(tmp_path: Path) -> None:
    command = [sys.executable, str(EXAMPLES / "molecules.py"), "--data", str(tmp_path), "--folds", "2"]
    result = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert result.returncode == 0 and "molecules of ESOL stand in" in result.stdout
