"""Notebooks of the site: valid files, chapters that run, sheets whose checks pass with the solutions and fail otherwise."""

from __future__ import annotations

import importlib.util
import json
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from mercer.kernels.parsing import KERNELS
from tests.site.pages import ROOT, SITE

pytestmark = pytest.mark.site

FOLDER = SITE / "notebooks"


def load(name: str) -> Any:
    """Import a module of docs/_extensions, which is not a package."""
    path = ROOT / "docs" / "_extensions" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"docs_{name}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up by name
    spec.loader.exec_module(module)
    return module


notebooks = load("notebooks")
NAMES = sorted(notebooks.all_notebooks())
SHEETS = sorted(path.stem for path in notebooks.SHEETS.glob("*.py"))


def run(cells: list[dict[str, Any]]) -> list[Exception | None]:
    """Run code cells in one module and return the exception of each, or None."""
    module = types.ModuleType("page_of_a_notebook")
    found: list[Exception | None] = []
    with pytest.MonkeyPatch.context() as patch:  # classes of a chapter must be importable to be pickled
        patch.setitem(sys.modules, module.__name__, module)
        patch.setattr("mercer.kernels.parsing.KERNELS", dict(KERNELS))  # a chapter may teach `parse` new names
        for cell in cells:
            try:
                exec(compile("".join(cell["source"]), cell["id"], "exec"), vars(module))
                found.append(None)
            except Exception as error:
                found.append(error)
    return found


def code(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


@pytest.mark.parametrize("name", NAMES)
def test_the_site_has_a_valid_notebook(name: str) -> None:
    import nbformat

    nbformat.validate(nbformat.reads((FOLDER / name).read_text(encoding="utf-8"), as_version=4))


@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith(("sheets/", "solutions/"))])
def test_a_chapter_runs_as_a_notebook(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import matplotlib

    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    cells = code(json.loads((FOLDER / name).read_text(encoding="utf-8")))
    expected = ["raises-exception" in cell["metadata"].get("tags", []) for cell in cells]
    assert [error for error, wanted in zip(run(cells), expected, strict=True) if error and not wanted] == []


def test_every_lecture_has_a_sheet_with_three_exercises() -> None:
    lectures = sorted(path.stem for path in (ROOT / "docs" / "lectures").glob("[0-9]*.md"))
    assert lectures == SHEETS
    for name in SHEETS:
        parts = notebooks.exercises(notebooks.read_sheet(notebooks.SHEETS / f"{name}.py"))
        kinds = [cells[0].text.partition("(")[2].partition(")")[0] for cells in parts]
        assert kinds == ["easy", "hands-on", "proof"], name
        for cells in parts:
            roles = [cell.role for cell in cells if cell.kind == "code"]
            assert roles == ["answer", "solution", "check"], (name, cells[0].text)


@pytest.mark.parametrize("name", SHEETS)
def test_solutions_pass_the_checks_and_empty_answers_fail_them(name: str) -> None:
    cells = notebooks.read_sheet(notebooks.SHEETS / f"{name}.py")
    solved = code(notebooks.sheet_notebook(cells, solved=True))
    assert [error for error in run(solved) if error] == []
    open_answers = [cell for cell in cells if cell.kind == "code" and cell.role != "solution"]
    errors = run(code(notebooks.sheet_notebook(cells, solved=False)))
    for cell, error in zip(open_answers, errors, strict=True):
        assert (error is not None) == (cell.role == "check"), cell.text


def test_an_unknown_marker_is_refused(tmp_path: Path) -> None:
    (tmp_path / "sheet.py").write_text("# %% anwser\nx = ...\n")
    with pytest.raises(ValueError, match="'# %% anwser' is not a known marker of a cell"):
        notebooks.read_sheet(tmp_path / "sheet.py")
