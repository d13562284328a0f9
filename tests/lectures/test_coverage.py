"""Every slide is carried somewhere: the anchors, names and files of docs/lectures/coverage.md exist, and so do all links."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

import mercer

LECTURES = Path(__file__).resolve().parents[2] / "docs" / "lectures"
PAGES = sorted(LECTURES.glob("*.md"))
ITEM = re.compile(r"^\| ([A-E]\d+) \|.*\| (.*) \|$", re.MULTILINE)
ITEMS = dict(ITEM.findall((LECTURES / "coverage.md").read_text(encoding="utf-8")))


def slug(heading: str) -> str:
    """The anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def anchors(page: Path) -> set[str]:
    return {slug(heading) for heading in re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)}


def links(page: Path) -> list[str]:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    return [link for link in re.findall(r"\]\(([^)]+)\)", text) if "://" not in link]


def resolve(dotted: str) -> object:
    """The object of a public name such as mercer.geometry.norm or mercer.report.ridge.FitDisplay."""
    parts = dotted.split(".")
    found: object = mercer
    for depth, part in enumerate(parts[1:], start=2):
        try:
            found = getattr(found, part)
        except AttributeError:
            found = importlib.import_module(".".join(parts[:depth]))
    return found


def test_there_are_at_least_two_hundred_items_of_five_lectures() -> None:
    assert len(ITEMS) >= 200
    assert {item[0] for item in ITEMS} == set("ABCDE")


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{page.name}: {link}"
        if anchor:
            assert anchor in anchors(target), f"{page.name}: {link}, which has {sorted(anchors(target))}"


def test_every_item_names_a_place_and_every_name_exists() -> None:
    for item, where in ITEMS.items():
        assert "](" in where, item
        for name in re.findall(r"`([\w.]+)`", where):
            assert resolve(name) is not None, (item, name)


def test_every_chapter_has_a_picture_and_something_to_try() -> None:
    for page in PAGES:
        if page.name[0].isdigit():
            text = page.read_text(encoding="utf-8")
            assert "![" in text and "**Try this.**" in text and ">>>" in text, page.name
