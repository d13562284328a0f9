"""Write chapters and problem sheets as notebooks.

A chapter is Markdown with examples (lines that begin with >>>). Its notebook has the same text and one code cell for each block
of examples, without the expected output. Pictures are stored inside the notebook.

A problem sheet is a Python file of cells in the percent format:

    # %% [markdown]            text; every heading of level two begins an exercise
    # %%                       code that all readers run
    # %% answer                what the student replaces
    # %% [markdown] solution   a proof
    # %% solution              code that replaces the answer
    # %% check                 assertions that a right answer passes

Two notebooks are made from it: one with the answers left open, one with the solutions.
"""

from __future__ import annotations

import base64
import doctest
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parents[1]
SHEETS = DOCS / "lectures" / "sheets"
FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PICTURE = re.compile(r"!\[([^\]]*)\]\(([^)\s]+)\)")
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)\s]+)\)")
COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)


@dataclass(frozen=True)
class Cell:
    """One cell of a problem sheet: its kind ("text" or "code"), its role ("", "answer", "solution", "check") and its text."""

    kind: str
    role: str
    text: str


def read_sheet(path: Path) -> list[Cell]:
    """Return the cells of a problem sheet. Raise ValueError if a marker is not one of the known ones."""
    cells = []
    for part in re.split(r"^# %%", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        marker, _, body = part.partition("\n")
        words = marker.split()
        kind = "text" if words[:1] == ["[markdown]"] else "code"
        role = " ".join(words[1:] if kind == "text" else words)
        if role not in {"", "answer", "solution", "check"}:
            raise ValueError(f"{path.name}: '# %%{marker}' is not a known marker of a cell.")
        lines = body.strip("\n").splitlines()
        text = "\n".join(re.sub(r"^# ?", "", line) for line in lines) if kind == "text" else "\n".join(lines).strip()
        cells.append(Cell(kind, role, text))
    return cells


def exercises(cells: list[Cell]) -> list[list[Cell]]:
    """Return the cells of each exercise; the cells before the first heading of level two belong to none."""
    found: list[list[Cell]] = []
    for cell in cells:
        if cell.kind == "text" and cell.text.startswith("## "):
            found.append([])
        if found:
            found[-1].append(cell)
    return found


def sheet_notebook(cells: list[Cell], solved: bool) -> dict[str, Any]:
    """Return a problem sheet as a notebook, with open answers or with the solutions in their place."""
    left_out = "answer" if solved else "solution"
    return _notebook([_cell(cell.kind, cell.text) for cell in cells if cell.role != left_out])


def chapter_notebook(path: Path) -> dict[str, Any]:
    """Return a chapter as a notebook."""
    text, cells, place = COMMENT.sub("", path.read_text(encoding="utf-8")), [], 0
    for fence in FENCE.finditer(text):
        cells.append(_text_cell(text[place : fence.start()], path))
        cells.append(_block(fence.group(1).strip(), fence.group(2)))
        place = fence.end()
    cells.append(_text_cell(text[place:], path))
    return _notebook([cell for cell in cells if cell is not None])


def _block(header: str, body: str) -> dict[str, Any] | None:
    """Return the cell of a fenced block: examples and figures are code, other directives are left out.

    A figure that a module of the build draws is left out too, because readers do not have that module.
    """
    examples = doctest.DocTestParser().get_examples(body + "\n") if ">>> " in body else []
    if examples:
        cell = _cell("code", "".join(example.source for example in examples).strip())
        if any(example.exc_msg for example in examples):
            cell["metadata"]["tags"] = ["raises-exception"]
        return cell
    if header.startswith("{chapter-figure}") and "__import__" not in header:
        return _cell("code", header.removeprefix("{chapter-figure}").strip() + ";")
    return None if header.startswith("{") else _cell("text", f"```{header}\n{body}```")


def _text_cell(text: str, path: Path) -> dict[str, Any] | None:
    """Return a text cell: links within the repository become plain text, pictures become attachments."""
    attached: dict[str, Any] = {}

    def attach(found: re.Match[str]) -> str:
        picture = (path.parent / found.group(2)).resolve()
        if picture.suffix != ".png" or not picture.exists():
            return f"*{found.group(1)}*"
        attached[picture.name] = {"image/png": base64.b64encode(picture.read_bytes()).decode()}
        return f"![{found.group(1)}](attachment:{picture.name})"

    text = PICTURE.sub(attach, text)
    text = LINK.sub(lambda found: found.group() if "://" in found.group(2) else found.group(1), text).strip()
    if not text:
        return None
    cell = _cell("text", text)
    return {**cell, "attachments": attached} if attached else cell


def _cell(kind: str, text: str) -> dict[str, Any]:
    if kind == "text":
        return {"cell_type": "markdown", "metadata": {}, "source": text.splitlines(keepends=True)}
    return {
        "cell_type": "code", "metadata": {}, "source": text.splitlines(keepends=True), "execution_count": None, "outputs": [],
    }  # fmt: skip


def _notebook(cells: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the notebook in format 4.5; cells are numbered, so that the same text gives the same file."""
    numbered = [{"id": f"cell-{i}", **cell} for i, cell in enumerate(cells)]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    about = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": numbered, "metadata": about, "nbformat": 4, "nbformat_minor": 5}


def all_notebooks() -> dict[str, dict[str, Any]]:
    """Return every notebook of the site by its path below the folder `notebooks`."""
    pages = [path for path in sorted(DOCS.glob("*.md")) if path.stem != "index"]
    chapters = [path for path in pages if ">>> " in path.read_text(encoding="utf-8")]
    lectures = sorted((DOCS / "lectures").glob("[0-9]*.md"))
    found = {f"{path.stem}.ipynb": chapter_notebook(path) for path in chapters}
    found |= {f"lectures/{path.stem}.ipynb": chapter_notebook(path) for path in lectures}
    for path in sorted(SHEETS.glob("*.py")):
        cells = read_sheet(path)
        found[f"sheets/{path.stem}.ipynb"] = sheet_notebook(cells, solved=False)
        found[f"solutions/{path.stem}.ipynb"] = sheet_notebook(cells, solved=True)
    return found


def write(folder: Path) -> None:
    """Write every notebook below `folder`/notebooks."""
    for name, notebook in all_notebooks().items():
        path = folder / "notebooks" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
