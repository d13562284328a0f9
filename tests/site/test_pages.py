"""The site as built: every link and anchor leads somewhere, every example has a picture, what people look for is near."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from mercer.registry import public_names
from tests.site.pages import ROOT, SITE, Page

pytestmark = pytest.mark.site

EXAMPLES = sorted(path.stem for path in (ROOT / "examples").glob("*.py") if "__main__" in path.read_text(encoding="utf-8"))
SOURCES = [path for path in (ROOT / "docs").rglob("*.md") if "gallery" not in path.parts]

#: What a reader who knows scikit-learn looks for, and what the page must hold that answers.
WANTED = {
    "fit a string kernel SVM": r"mercer\.SVC\(Spectrum\(.*\.fit\(texts, labels\)",
    "what alpha means": r"alpha.{0,8} The weight of the penalty in ridge regression",
    "plan a fit of a million rows": r"1_000_000.*mercer\.plan\(",
    "add a kernel": r"class Intersection\(mercer\.Kernel\)",
}


def test_no_internal_link_is_broken(site: dict[Path, Page]) -> None:
    broken = []
    for page in site.values():
        for link, target, anchor in page.targets():
            there = site.get(target)
            if not target.exists():
                broken.append(f"{page.path.relative_to(SITE)}: {link}")
            elif anchor and there is not None and anchor not in there.anchors:
                broken.append(f"{page.path.relative_to(SITE)}: {link} (no such anchor)")
    assert broken == []


def test_nothing_is_loaded_from_elsewhere(site: dict[Path, Page]) -> None:
    away = [f"{page.path.name}: {part}" for page in site.values() for part in page.parts if urlsplit(part).netloc]
    assert away == []


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_has_its_picture(site: dict[Path, Page], name: str) -> None:
    page = site[SITE / "gallery" / f"{name}.html"]
    pictures = [Path(shown).name for shown in page.shown]
    assert any(picture.startswith(f"sphx_glr_{name}_") for picture in pictures), pictures
    for shown in page.shown:
        assert (page.path.parent / shown).stat().st_size > 1000
    assert "Traceback" not in page.text


def test_the_gallery_shows_every_example(site: dict[Path, Page]) -> None:
    index = site[SITE / "gallery" / "index.html"]
    shown = {match.group(1) for path in index.shown if (match := re.search(r"sphx_glr_(.+)_thumb\.png", path))}
    assert shown == set(EXAMPLES)


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.relative_to(ROOT / "docs").as_posix())
def test_a_chapter_is_a_page_with_its_pictures(site: dict[Path, Page], source: Path) -> None:
    page = site[SITE / source.relative_to(ROOT / "docs").with_suffix(".html")]
    text = source.read_text(encoding="utf-8")
    drawn = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text)
    made = re.findall(r"^```\{chapter-figure\} ", text, flags=re.MULTILINE)  # from the examples of the chapter, by the build
    assert len(page.shown) == len(drawn) + len(made)


def test_every_public_name_has_a_page(site: dict[Path, Page]) -> None:
    missing = [name for name in public_names() if SITE / "api" / f"mercer.{name}.html" not in site]
    assert missing == []
    for name, home in public_names().items():
        assert name in site[SITE / "api" / f"mercer.{name}.html"].text
        if home != "mercer":
            assert f"mercer.{name}" in site[SITE / "api" / f"mercer.{name}.html"].anchors


def test_the_order_of_the_site(site: dict[Path, Page]) -> None:
    """Start here, user guide, lectures, gallery, API, contributors; and the lectures in their order."""
    links = [link for link in site[SITE / "index.html"].links if not link.startswith("#")]
    parts = ["start.html", "guide.html", "lectures/README.html", "gallery/index.html", "api.html", "contributors.html"]
    assert [link for link in dict.fromkeys(links) if link in parts] == parts
    lectures = [link for link in site[SITE / "lectures" / "README.html"].links if re.fullmatch(r"\d\d-[a-z-]+\.html", link)]
    assert list(dict.fromkeys(lectures)) == sorted(set(lectures)) and len(set(lectures)) == 18


@pytest.mark.parametrize("wish", WANTED)
def test_two_clicks_are_enough(site: dict[Path, Page], wish: str) -> None:
    start = SITE / "index.html"
    reached = {start}
    for _ in range(2):
        reached |= {target for path in list(reached) for _, target, _ in site[path].targets() if target in site}
    found = [path for path in reached if re.search(WANTED[wish], site[path].text)]
    assert found, f"no page within two clicks shows how to {wish}"
