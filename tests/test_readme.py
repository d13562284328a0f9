"""The examples of README and docs: Python blocks run as doctests, `$ mercer …` lines as commands."""

from __future__ import annotations

import doctest
import re
import shlex
import subprocess
import sys
import types
from pathlib import Path

import pytest

from mercer.kernels.parsing import KERNELS

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
NAMES = [page.name for page in PAGES]
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def blocks(page: Path, language: str) -> list[str]:
    """The fenced code blocks of a page that are marked with a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def commands(page: Path) -> list[tuple[str, str]]:
    """The `$ mercer …` lines of a page, each with the output shown below it."""
    found = []
    for block in blocks(page, "console"):
        for shown in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = shown.partition("\n")
            if command.startswith("mercer "):
                found.append((command, output))
    return found


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_python_examples(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    examples = "\n".join(blocks(page, "python"))
    # each page is a module, because what it defines must be importable to be pickled
    module = types.ModuleType(f"page_{page.stem}")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr("mercer.kernels.parsing.KERNELS", dict(KERNELS))  # a page may teach `parse` new names
    test = doctest.DocTestParser().get_doctest(examples, {}, page.name, str(page), 0)
    test.globs = vars(module)
    result = doctest.DocTestRunner(optionflags=FLAGS).run(test, clear_globs=False)
    assert result.failed == 0, f"{result.failed} of {result.attempted} examples of {page.name} print something else"


SHOWN = [(page.name, command, output) for page in PAGES for command, output in commands(page)]


@pytest.mark.parametrize(("page", "command", "output"), SHOWN, ids=[f"{page}: {command}" for page, command, _ in SHOWN])
def test_commands_print_what_is_shown(page: str, command: str, output: str) -> None:
    arguments = shlex.split(command)[1:]
    result = subprocess.run(
        [sys.executable, "-m", "mercer.cli", *arguments], capture_output=True, encoding="utf-8", cwd=ROOT, check=False
    )
    assert (result.stdout + result.stderr).strip() == output.strip()


def test_the_readme_shows_python_and_the_shell() -> None:
    assert blocks(PAGES[0], "python")
    assert any(page == "README.md" for page, _, _ in SHOWN)


def test_python_examples_are_not_hidden_from_the_tests() -> None:
    """A block with a prompt but another language would never run."""
    for page in PAGES:
        prompts = page.read_text(encoding="utf-8").count("\n>>> ")
        assert prompts == sum(("\n" + block).count("\n>>> ") for block in blocks(page, "python")), page.name


#: Pages that the site makes when it is built; tests/site follows every link of what is built.
MADE = ("gallery/", "api/")


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_links_to_files_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
        if "://" not in target and not target.startswith(MADE):
            assert (page.parent / target).exists(), f"{page.name} links to {target}, which is not there"
