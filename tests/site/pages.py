"""The built site: its pages, with their links, anchors, pictures and texts."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "build" / "site"


@dataclass
class Page:
    """One file of the site, as far as links go."""

    path: Path
    links: list[str] = field(default_factory=list)  # <a href>
    parts: list[str] = field(default_factory=list)  # what the page loads: pictures, scripts, styles
    shown: list[str] = field(default_factory=list)  # pictures of the article
    anchors: set[str] = field(default_factory=set)
    text: str = ""

    def targets(self) -> list[tuple[str, Path, str]]:
        """Every internal link: as written, the file it leads to, and the anchor."""
        found = []
        for link in [*self.links, *self.parts]:
            address = urlsplit(link)
            if address.scheme or address.netloc:
                continue
            target = (self.path.parent / unquote(address.path)).resolve() if address.path else self.path
            found.append((link, target / "index.html" if target.is_dir() else target, unquote(address.fragment)))
        return found


class Reader(HTMLParser):
    """Fills a page from its HTML."""

    def __init__(self, page: Page) -> None:
        super().__init__()
        self.page = page
        self.article = 0
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if "id" in given:
            self.page.anchors.add(given["id"])
        if tag == "article":
            self.article += 1
        if tag == "a" and given.get("href"):
            self.page.links.append(given["href"])
        if tag == "img" and self.article:
            self.page.shown.append(given["src"])
        if tag in ("img", "script") and given.get("src"):
            self.page.parts.append(given["src"])
        if tag == "link" and given.get("rel") in ("stylesheet", "icon", "preload"):
            self.page.parts.append(given["href"])

    def handle_endtag(self, tag: str) -> None:
        if tag == "article":
            self.article -= 1

    def handle_data(self, data: str) -> None:
        if self.article:
            self.words.append(data)


@cache
def read_site() -> dict[Path, Page]:
    """All pages of the site, by file."""
    if not (SITE / "index.html").exists():
        pytest.fail("the site is not built: make docs")
    pages = {}
    for path in sorted(SITE.rglob("*.html")):
        if "_static" in path.parts:
            continue
        page = pages[path] = Page(path)
        reader = Reader(page)
        reader.feed(path.read_text(encoding="utf-8"))
        page.text = " ".join("".join(reader.words).split())
    return pages
