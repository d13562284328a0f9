"""The command that installs an extra, by how mercer was installed."""

from __future__ import annotations

import importlib.metadata
import json
import re
from pathlib import Path
from typing import Any

import pytest

from mercer import errors
from mercer.errors import install_command

ROOT = Path(__file__).resolve().parents[1]


def test_in_a_source_tree_the_command_names_the_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "src" / "mercer").mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text("")
    monkeypatch.setattr(errors, "_PACKAGE", f"{tmp_path}/src/mercer/")
    assert install_command("cli") == f'pip install -e "{tmp_path}[cli]"'


@pytest.mark.parametrize(
    ("origin", "wanted"),
    [
        ({"url": "file://{folder}", "dir_info": {}}, '"{folder}[cli]"'),
        ({"url": "file://{folder}/moved%20away", "dir_info": {}}, '".[cli]"'),
        ({"url": "https://a.org/m.git", "vcs_info": {"vcs": "git"}}, '"mercer[cli] @ git+https://a.org/m.git"'),
        ({"url": "https://a.org/m.whl", "archive_info": {}}, '"mercer[cli] @ https://a.org/m.whl"'),
        (None, '"mercer[cli]"'),
    ],
)
def test_an_installed_package_is_named_by_its_origin(
    origin: Any, wanted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Installed:
        def read_text(self, name: str) -> str | None:
            assert name == "direct_url.json"
            return None if origin is None else json.dumps(origin).replace("{folder}", str(tmp_path))

    monkeypatch.setattr(errors, "_PACKAGE", f"{tmp_path}/site-packages/mercer/")
    monkeypatch.setattr(importlib.metadata, "distribution", lambda name: Installed())
    assert install_command("cli") == "pip install " + wanted.replace("{folder}", str(tmp_path))


def test_no_text_recommends_a_package_by_a_name_that_may_be_another() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "examples").glob("*.py")]
    for path in [*(ROOT / "src").rglob("*.py"), *pages]:
        if path.name != "errors.py":
            found = re.search(r"pip install [\"']?mercer\b.*", path.read_text(encoding="utf-8"))
            assert found is None, f"{path.relative_to(ROOT)}: {found}"
