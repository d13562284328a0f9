"""The counts that the source keeps: few questions by name, few private attributes of others, one class per name."""

from __future__ import annotations

import ast

import pytest

from benchmarks import house


@pytest.fixture(scope="module")
def found() -> house.House:
    return house.count(lines_too=False)


def test_attributes_are_rarely_looked_up_by_name(found: house.House) -> None:
    assert len(found.asked) < 60, "\n".join(found.asked)


def test_private_attributes_are_rarely_used_from_outside(found: house.House) -> None:
    assert len(found.foreign) < 40, "\n".join(found.foreign)


def test_every_class_name_stands_once(found: house.House) -> None:
    assert found.doubled == {}


def test_lines_are_counted_without_docstrings_comments_and_blank_lines() -> None:
    text = '"""What it is."""\n\n# Why.\ndef one(a):\n    """Return a."""\n    return (\n        a\n    )\n'
    assert house.code_lines(text) == 4


def test_questions_and_foreign_attributes_are_found() -> None:
    tree = ast.parse("getattr(a, 'b')\nself._own\nsuper()._above\nother._hidden\nother.__class__")
    assert (house.questions(tree), house.foreign(tree)) == ([1], [4])
