"""Exported pages of the tour in a browser: sliders move, pictures change, nothing is loaded from elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mercer.lab.handouts import handouts
from mercer.lab.tour import PAGES

pytestmark = pytest.mark.browser
pytest.importorskip("bokeh", reason="the lab needs bokeh: pip install -e '.[lab]'")

#: Milliseconds until something must have happened; other programs may keep the machine busy.
PATIENCE = 120_000

#: A number that changes with every point, line and pixel of the figures.
DRAWN = """() => { let sum = 0
  const add = v => { if (typeof v === 'number') sum = (sum * 31 + (v || 0)) % 1e9
                     else if (v && typeof v !== 'string' && v.length) for (const one of v) add(one) }
  for (const name of ['picture figure', 'view figure'])
    for (const one of Bokeh.documents[0].get_model_by_name(name).renderers)
      for (const key of Object.keys(one.data_source.data).sort()) add(one.data_source.data[key])
  return sum }"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from mercer.lab.static_export import export_tour

    made = tmp_path_factory.mktemp("tour")
    export_tour(made)
    return made


@pytest.fixture
def opened(browser: Any, folder: Path) -> Any:
    """Open a page from its file; afterwards, nothing was complained about and every file came from the folder."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page, complaints, requests = context.new_page(), [], []
    page.set_default_timeout(PATIENCE)
    page.on("console", lambda message: complaints.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))

    def go(name: str) -> Any:
        page.goto((folder / f"{name}.html").as_uri())
        page.wait_for_function(
            "() => window.Bokeh && Bokeh.documents.length && Bokeh.documents[0].is_idle", timeout=PATIENCE
        )
        return page

    yield go
    context.close()
    assert complaints == []
    assert [url for url in requests if not url.startswith((folder.as_uri(), "data:", "blob:"))] == []


@pytest.mark.parametrize("name", PAGES)
def test_a_control_changes_the_picture(opened: Any, name: str) -> None:
    page = opened(name)
    page.get_by_role("heading", name=PAGES[name].title, exact=True).wait_for()
    assert page.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth")
    before = page.evaluate(DRAWN)
    handles = page.locator(".noUi-handle")
    if handles.count():
        handles.first.focus()
        handles.first.press("Home" if handouts()[name].start[0] else "End")
    else:
        page.locator(".bk-btn:not(.bk-active)").first.click()
    page.wait_for_function(f"before => ({DRAWN})() !== before", arg=before)


@pytest.mark.parametrize("name", ["gp", "closure", "structured", "cross-validation"])
def test_a_page_fits_a_phone(opened: Any, name: str) -> None:
    page = opened(name)
    page.set_viewport_size({"width": 400, "height": 800})
    page.wait_for_timeout(300)
    assert page.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth")
    wide = page.evaluate(
        "() => Bokeh.index.find_one(Bokeh.documents[0].get_model_by_name('picture figure')).el.getBoundingClientRect().width"
    )
    assert 300 < wide <= 400


def test_links_lead_through_the_pages(opened: Any) -> None:
    page = opened("kernel")
    page.get_by_role("link", name=PAGES["closure"].title).click()
    page.get_by_role("heading", name=PAGES["closure"].title, exact=True).wait_for()
    page.get_by_role("link", name="all pages").click()
    assert page.locator("li").count() == len(PAGES)
