"""The README's line for the shell does what the README says, on the table that comes with the package."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.site.pages import ROOT

pytestmark = pytest.mark.site


def test_the_line_for_the_shell_writes_a_model_and_a_report(tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    lines = re.findall(r"^mercer fit .*$", readme, re.MULTILINE)
    assert len(lines) == 1
    table = Path(shlex.split(lines[0])[2])  # as a reader in the clone types it
    (tmp_path / table).parent.mkdir(parents=True)
    shutil.copy(ROOT / table, tmp_path / table)
    source = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "mercer.cli", *shlex.split(lines[0])[1:]]
    environment = {**os.environ, "PYTHONPATH": source}
    result = subprocess.run(command, capture_output=True, encoding="utf-8", cwd=tmp_path, env=environment, check=False)
    assert result.returncode == 0, result.stderr[-2000:]
    for rival in ("the mean", "linear ridge", "gradient boosting"):
        assert rival in result.stdout
    assert (tmp_path / "penguins-mercer" / "report.html").exists()
    assert (tmp_path / "penguins-mercer" / "model.mercer").exists()


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < 200
