"""Every script of examples/ runs as on a fresh clone, without the folder of shared data."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted(path.stem for path in (ROOT / "examples").glob("*.py") if "__main__" in path.read_text(encoding="utf-8"))

#: Arguments that make a long one short; the claims of the long ones are asserted elsewhere.
SMALL = {"random_labels": ["--train", "400", "--test", "500"], "ridge_million_features": ["--train", "300", "--test", "200"]}


@pytest.mark.slow
@pytest.mark.parametrize("name", SCRIPTS)
def test_example_runs_on_a_fresh_clone(name: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "clone" / "examples")  # beside no folder called shared
    before = {path for path in tmp_path.rglob("*") if path.is_file()}
    script = tmp_path / "clone" / "examples" / f"{name}.py"
    source = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "MPLBACKEND": "Agg", "PYTHONPATH": source}
    command = [sys.executable, str(script), *SMALL.get(name, [])]
    result = subprocess.run(command, capture_output=True, encoding="utf-8", cwd=tmp_path, env=environment, check=False)
    assert result.returncode == 0, result.stdout[-2000:] + result.stderr[-4000:]
    assert result.stdout.strip()
    made = {path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".pyc"}
    made -= {path.relative_to(tmp_path) for path in before}
    assert not [path for path in made if path.parts[0] != "build"]  # which git ignores
