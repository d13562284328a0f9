"""The lab in a browser: milliseconds from an event to the new picture, at 200 points.

    python -m benchmarks.lab_speed

A point is dragged in Debian's chromium, driven by Playwright, one move at a time: the next one is made when the picture of
the last one is there. The clock runs in the page, from the move of the pointer to the second frame after the new numbers
of the picture have come, which includes drawing. The same for a slider of the kernel.
"""

from __future__ import annotations

import os
import re
import shutil
import statistics
import subprocess
import sys
from typing import Any

from benchmarks.machine import describe as machine
from mercer.lab.address import to_query
from mercer.lab.samples import arrays
from mercer.lab.state import LabState, NamedData

MOVES, POINTS, LIMIT = 60, 200, 100.0

STATES = {
    "ridge": (LabState(NamedData("sine", POINTS), "Gaussian(length_scale=0.6)", "ridge"), "fit"),
    "gp": (LabState(NamedData("sine", POINTS), "Gaussian(length_scale=0.6)", "gp"), "fit"),
    "svm": (LabState(NamedData("moons", POINTS), "Gaussian(length_scale=0.6)", "svm"), "surface"),
}

FRAME = """() => {
  const model = Bokeh.documents[0].get_model_by_name('picture figure'), view = Bokeh.index.find_one(model)
  const box = view.el.getBoundingClientRect(), frame = view.frame.bbox
  return [box.left + frame.left, box.top + frame.top, frame.width, frame.height]
}"""

#: From an event to the frame after the one in which the picture was painted.
CLOCK = """([source, kind]) => {
  window.times = []; let started = null, painting = false
  document.addEventListener(kind, event => {
    if (started === null && (kind !== 'pointermove' || event.buttons)) started = performance.now() }, true)
  Bokeh.documents[0].get_model_by_name(source).properties.data.change.connect(() => {
    if (started === null || painting) return
    painting = true
    requestAnimationFrame(() => requestAnimationFrame(() => {
      window.times.push(performance.now() - started); started = null; painting = false }))
  })
}"""


def open_page(browser: Any, address: str, state: LabState) -> Any:
    """A page that has drawn its state."""
    page = browser.new_page(viewport={"width": 1400, "height": 1000})
    page.goto(f"{address}?{to_query(state)}")
    page.wait_for_function("() => window.Bokeh && Bokeh.documents.length && Bokeh.documents[0].is_idle")
    page.wait_for_timeout(1500)
    return page


def wait(page: Any, count: int) -> None:
    """Wait until the clock has been stopped the given number of times."""
    page.wait_for_function("n => window.times.length >= n", arg=count, polling=20, timeout=30_000)


def drag(page: Any, state: LabState, source: str) -> list[float]:
    """Times of a drag, move by move."""
    left, top, width, height = page.evaluate(FRAME)
    x, y = arrays(state.data)[0][0]
    at_x, at_y = left + (x + 3) / 6 * width, top + (3 - y) / 6 * height
    page.mouse.move(at_x, at_y)
    page.mouse.down()
    page.mouse.move(at_x + 8, at_y)  # beyond the distance at which a press becomes a drag
    page.wait_for_timeout(800)
    page.evaluate(CLOCK, [source, "pointermove"])
    for move in range(MOVES):
        page.mouse.move(at_x + 10 + 2 * (move % 30), at_y + 3 * (move % 20))
        wait(page, move + 1)
        page.wait_for_timeout(60)  # a hand pauses; the side view has its turn
    page.mouse.up()
    return [float(t) for t in page.evaluate("window.times")]


def slide(page: Any, source: str) -> list[float]:
    """Times of steps of the kernel's slider."""
    handle = page.locator(".noUi-handle").last
    handle.focus()
    page.evaluate(CLOCK, [source, "keydown"])
    for move in range(MOVES):
        handle.press("ArrowRight" if move % 20 < 10 else "ArrowLeft")
        wait(page, move + 1)
        page.wait_for_timeout(60)
    return [float(t) for t in page.evaluate("window.times")]


def main() -> int:
    """Print the medians; 1 if one of a drag is above the limit."""
    from playwright.sync_api import sync_playwright

    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        print("no chromium is installed: nothing was measured", file=sys.stderr)
        return 2
    here = machine()
    print(f"{here['cpu']}, {here['threads']} threads, load {here['load']}, Python {here['python']}")
    print(f"{POINTS} points, {MOVES} events each, milliseconds from the event to the painted picture")
    command = [sys.executable, "-m", "mercer.cli", "lab", "--no-browser"]
    late = False
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process,
        sync_playwright() as driver,
        driver.chromium.launch(executable_path=path, args=["--no-sandbox"] if os.geteuid() == 0 else []) as browser,
    ):
        assert process.stdout is not None
        found = re.search(r"http://\S+/", process.stdout.readline())
        assert found is not None
        for name, (state, source) in STATES.items():
            for what in ("drag", "slider"):
                page = open_page(browser, found.group(), state)
                times = sorted(drag(page, state, source) if what == "drag" else slide(page, source))
                middle = statistics.median(times)
                late |= middle > LIMIT
                verdict, most = "PASS" if middle <= LIMIT else "NOT REACHED", times[int(0.9 * len(times))]
                shown = f"median {middle:5.1f}, 90 % {most:6.1f}, most {times[-1]:6.1f}"
                print(f"{name:6} {what:7} {shown}  {verdict}")
                page.close()
        process.terminate()
    return int(late)


if __name__ == "__main__":
    sys.exit(main())
