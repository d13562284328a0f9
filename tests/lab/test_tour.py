"""One page of the tour per lecture chapter, each with a picture, a side view, and a link in its chapter."""

from __future__ import annotations

from pathlib import Path

import pytest

from mercer.lab.pictures import picture
from mercer.lab.tour import PAGES, page_state
from mercer.lab.views import view

CHAPTERS = Path(__file__).resolve().parents[2] / "docs" / "lectures"


def test_one_page_per_chapter() -> None:
    chapters = sorted(path.name for path in CHAPTERS.glob("[0-9][0-9]-*.md"))
    pages = [page.chapter for page in PAGES.values()]
    assert pages[: len(chapters)] == chapters
    assert set(pages[len(chapters) :]) == {"../structure.md"}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_shows_something_and_its_chapter_links_to_it(name: str) -> None:
    page = PAGES[name]
    assert page.text and page.task
    assert picture(page_state(name)).facts
    view(page_state(name))
    assert f"mercer lab --tour {name}" in (CHAPTERS / page.chapter).read_text(encoding="utf-8")
