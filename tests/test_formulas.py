"""Pages that teach have no formula in plain text, and no line of code wider than 79 characters."""

from __future__ import annotations

import doctest
import importlib.util
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]


def script() -> Any:
    spec = importlib.util.spec_from_file_location("plain_formulas", ROOT / "scripts" / "plain_formulas.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


plain_formulas = script()


@pytest.mark.parametrize("page", plain_formulas.pages(), ids=lambda path: path.name)
def test_no_formula_is_plain_text(page: Path) -> None:
    assert plain_formulas.plain_formulas(page) == []


@pytest.mark.parametrize(
    "text",
    [
        "the norm ||f|| of f",
        "f = sum_i a_i k(x_i, x)",
        "w = (X'X + alpha I)^-1 X'y",
        "divided by sqrt(n)",
        "(x - m) / (s + 1)",
    ],
)
def test_plain_formulas_are_found(text: str, tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(text, encoding="utf-8")
    assert len(plain_formulas.plain_formulas(tmp_path / "page.md")) == 1
    (tmp_path / "page.md").write_text(f"`{text}` and\n\n```text\n{text}\n```\n", encoding="utf-8")
    assert plain_formulas.plain_formulas(tmp_path / "page.md") == []


@pytest.mark.parametrize("page", plain_formulas.pages(), ids=lambda path: path.name)
def test_lines_of_code_fit(page: Path) -> None:
    examples = doctest.DocTestParser().get_examples(page.read_text(encoding="utf-8"))
    wide = [line for example in examples for line in example.source.splitlines() if len(line) + 4 > 79]
    assert wide == []


@pytest.mark.parametrize("page", plain_formulas.pages(), ids=lambda path: path.name)
def test_examples_print_what_readers_want_to_see(page: Path) -> None:
    examples = doctest.DocTestParser().get_examples(page.read_text(encoding="utf-8"))
    assert [one.source for one in examples if one.source.startswith(("bool(", "(\n    bool("))] == []
