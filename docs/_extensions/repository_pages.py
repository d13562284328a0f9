"""Pages of the repository outside docs/, such as CONTRIBUTING.md, become pages of the site; links to them follow.

Chapters link to files as GitHub has them: ../examples/NAME.py is the gallery's page of that example, ../CONTRIBUTING.md and
../benchmarks/… are copies under repository/, made at every build.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parents[1]
ROOT = DOCS.parent
COPIES = "repository"
PAGES = ["CONTRIBUTING.md", "CHANGELOG.md", "benchmarks/README.md", *(f"benchmarks/quality/{name}_quality.md" for name in (
    "gp", "graph", "string", "pca"))]  # fmt: skip
#: A block of code whose last line is empty, as doctest wants it.
BLOCK = re.compile(r"^(```\w+\n.*?)\n\n```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#\s]+)(#[^)\s]*)?\)")


def copied(page: str) -> str:
    """The name under which a page of the repository stands in docs/."""
    return f"{COPIES}/{page.replace('/', '-').removesuffix('.md').lower()}.md"


def place(target: Path) -> Path | None:
    """Where the site has a file of the repository; None where it has not."""
    path = target.relative_to(ROOT).as_posix() if target.is_relative_to(ROOT) else ""
    if path in PAGES:
        return DOCS / copied(path)
    if path.startswith("examples/"):
        return DOCS / "gallery" / f"{target.stem}.rst"
    return target if target.is_relative_to(DOCS) else None


def moved(text: str, source: Path, page: Path) -> str:
    """The Markdown of a page, with links that hold on the site; `source` is the file that the links were written for."""

    def follow(found: re.Match[str]) -> str:
        target, anchor = found.group(1), found.group(2) or ""
        if "://" in target or target.startswith("mailto:"):
            return found.group()
        there = place((source.parent / target).resolve())
        if there is None:
            return "]"
        return f"]({os.path.relpath(there, page.parent)}{anchor})"

    return LINK.sub(follow, text)


def copy(app: Any) -> None:
    """Make the copies; one that is as before is left alone, so that nothing is built again."""
    (DOCS / COPIES).mkdir(exist_ok=True)
    for page in PAGES:
        path, text = DOCS / copied(page), (ROOT / page).read_text(encoding="utf-8")
        text = moved(text, ROOT / page, path)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def read(app: Any, name: str, content: list[str]) -> None:
    """Follow the links of a chapter when it is read, and close its blocks of code."""
    path = Path(app.env.doc2path(name))
    if path.suffix == ".md" and not name.startswith(f"{COPIES}/"):
        content[0] = BLOCK.sub(r"\1\n```", moved(content[0], path, path))


def setup(app: Any) -> dict[str, bool]:
    """Tell Sphinx."""
    app.connect("config-inited", lambda app, config: copy(app))
    app.connect("source-read", read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
