"""Pages of the site in a real browser, on a phone and on a laptop: no error, no request that leaves, nothing cut off."""

from __future__ import annotations

from typing import Any

import pytest
from tests.site.pages import SITE, read_site

pytestmark = pytest.mark.browser

PAGES = [
    "index",
    "start",
    "guide",
    "parameters",
    "million-rows",
    "kernel-table",
    "strings",
    "evidence",
    "lectures/README",
    "lectures/01-ridge",
    "lectures/coverage",
    "gallery/index",
    "gallery/one_kernel",
    "gallery/names_by_language",
    "api",
    "api/mercer.SVC",
    "api/mercer.KernelRidge",
    "api/mercer.geometry",
    "api/mercer.Kernel",
    "contributors",
]

#: Milliseconds: a busy machine may take long, and only a page that never comes is an error.
PATIENCE = 180_000

#: Elements of the article that stick out of the window. Inside of a block that scrolls by itself anything may be wide; the
#: article as a whole must not be such a block.
WIDE = """
() => [...document.querySelectorAll('article *')].filter(e => e.getClientRects().length)
  .filter(e => { for (let p = e.parentElement; p.tagName !== 'ARTICLE'; p = p.parentElement) {
      if (['auto', 'scroll', 'hidden'].includes(getComputedStyle(p).overflowX)) return false; } return true; })
  .filter(e => e.getBoundingClientRect().right > innerWidth + 1)
  .map(e => [e.tagName, e.className, e.textContent.slice(0, 40)])
"""


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("width", [400, 1400])
def test_a_page_is_whole(browser: Any, name: str, width: int) -> None:
    assert SITE / f"{name}.html" in read_site()
    context = browser.new_context(viewport={"width": width, "height": 900})
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.on("requestfailed", lambda request: said.append(f"failed: {request.url}"))
    page.goto((SITE / f"{name}.html").as_uri(), wait_until="networkidle")
    assert said == []
    assert [url for url in asked if not url.startswith((SITE.as_uri(), "data:", "blob:"))] == []
    assert page.evaluate(WIDE) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    broken = "[...document.images].filter(i => !i.complete || !i.naturalWidth).map(i => i.src)"
    page.evaluate("[...document.images].forEach(i => i.loading = 'eager')")
    page.wait_for_load_state("networkidle")
    assert page.evaluate(broken) == []
    formulas = page.evaluate("document.querySelectorAll('.math').length")
    if formulas:
        page.wait_for_selector("mjx-container")
        assert page.evaluate("document.querySelectorAll('mjx-container').length") >= formulas
        assert page.evaluate("document.querySelectorAll('mjx-merror').length") == 0
    context.close()


def test_formulas_are_there(browser: Any) -> None:
    """The check above would pass on a page without a single formula."""
    page = browser.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto((SITE / "parameters.html").as_uri())
    page.wait_for_selector("mjx-container")
    assert page.evaluate("document.querySelectorAll('mjx-container').length") >= 3
    page.close()


def test_search_finds_a_word(browser: Any) -> None:
    page = browser.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto((SITE / "search.html").as_uri() + "?q=Novikoff")
    page.wait_for_selector("ul.search li a")
    assert page.evaluate("document.querySelectorAll('ul.search li').length") >= 2
    page.close()


#: What people type, and the beginning of the address that should be the first result.
SOUGHT = {
    "gamma": "glossary.html#term-gamma",
    "precomputed": "api/mercer.Precomputed.html",
    "intervals": "glossary.html#term-intervals",
    "Tanimoto": "glossary.html#term-Tanimoto",
    "hyperparameter": "glossary.html#term-hyperparameter",
    "multiclass": "glossary.html#term-multiclass",
    "rbf": "glossary.html#term-rbf",
    "length_scale": "parameters.html#length-scale",
    "KernelRidge": "api/mercer.KernelRidge.html",
    "mmd_test": "api/mercer.mmd_test.html",
}


@pytest.mark.parametrize("words", SOUGHT)
def test_search_leads_to_the_right_page_first(browser: Any, words: str) -> None:
    page = browser.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto((SITE / "search.html").as_uri() + f"?q={words}")
    page.wait_for_selector("ul.search li a")
    page.wait_for_function("document.querySelector('#search-results > h2').textContent !== 'Searching'")
    first = page.evaluate("document.querySelector('ul.search li a').getAttribute('href')")
    page.close()
    assert first.startswith(SOUGHT[words]), first


@pytest.mark.parametrize("width", [400, 1280])
def test_no_line_of_code_is_wider_than_its_box(browser: Any, width: int) -> None:
    chapters = sorted(path for path in [*SITE.glob("*.html"), *SITE.glob("lectures/*.html")])
    blocks = "[...document.querySelectorAll('article div.highlight pre')]"
    wide = f"{blocks}.filter(e => e.scrollWidth > e.clientWidth + 1).length"
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.set_default_timeout(PATIENCE)
    found = {}
    for path in chapters:
        page.goto(path.as_uri(), wait_until="domcontentloaded")
        found[path.stem] = page.evaluate(wide)
        links = page.evaluate("document.querySelectorAll('.prev-next-area').length")
        assert links <= 1, f"{path.stem} has {links} pairs of links to the previous and the next page"
    page.close()
    assert {name: count for name, count in found.items() if count} == {}
