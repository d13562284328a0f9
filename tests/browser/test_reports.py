"""A report as a reader sees it: in a real browser, on a phone and on a laptop, without a single request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.browser

KINDS = ("regression", "classification", "comparison")
PICTURES = {"regression": 9, "classification": 8, "comparison": 3}

#: Text whose computed size is below 12 px, with SVG text as it is shown after scaling.
SMALL = """
() => [...document.querySelectorAll('body *')].filter(e => [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()))
  .filter(e => !e.closest('title') && e.getClientRects().length)
  .map(e => { const svg = e.closest('svg');
    const scale = svg ? svg.getBoundingClientRect().width / svg.viewBox.baseVal.width : 1;
    return [parseFloat(getComputedStyle(e).fontSize) * scale, e.textContent.slice(0, 40)]; })
  .filter(([size]) => size < 12)
"""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_report_is_whole_and_readable(
    reports: dict[str, Path], browser: Any, kind: str, width: int, scheme: str, tmp_path: Path
) -> None:
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    address = reports[kind].as_uri()
    page.goto(address)
    assert said == []
    assert asked == [address]  # the file itself and nothing else
    assert page.title() != "harm" and "<script>" in page.inner_text("body")
    assert page.evaluate("document.querySelectorAll('script, img, iframe, object, video').length") == 0
    shown = page.evaluate("[...document.querySelectorAll('svg')].map(s => s.getBoundingClientRect().height)")
    assert len(shown) >= PICTURES[kind] and min(shown) > 20
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate(SMALL) == []
    outside = page.evaluate(
        "[...document.querySelectorAll('svg text')].filter(t => { const a = t.getBoundingClientRect(), "
        "b = t.closest('svg').getBoundingClientRect(); return a.right > b.right + 2 || a.left < b.left - 2; })"
        ".map(t => t.textContent)"
    )
    assert outside == []
    page.screenshot(path=str(tmp_path / "page.png"), full_page=True)
    context.close()


@pytest.mark.parametrize("kind", KINDS)
def test_a_report_prints(reports: dict[str, Path], browser: Any, kind: str) -> None:
    page = browser.new_page()
    page.goto(reports[kind].as_uri())
    content = page.pdf(format="A4")
    assert content.startswith(b"%PDF") and len(content) > 10_000
    page.close()
