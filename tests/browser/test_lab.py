"""The lab in a real browser: points are dragged, kernels typed, steps taken, links followed; nothing leaves the loopback."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import pytest

from mercer.lab.address import from_query, to_query
from mercer.lab.samples import arrays
from mercer.lab.state import LabState, NamedData
from mercer.lab.tour import PAGES

pytestmark = pytest.mark.browser
pytest.importorskip("bokeh", reason="the lab needs bokeh: pip install -e '.[lab]'")

#: Milliseconds until something must have happened; other programs may keep the machine busy.
PATIENCE = 120_000

#: Where a figure lies on the screen, and where its axes are.
FRAME = """name => {
  const model = Bokeh.documents[0].get_model_by_name(name), view = Bokeh.index.find_one(model)
  const box = view.el.getBoundingClientRect(), frame = view.frame.bbox
  return {left: box.left + frame.left, top: box.top + frame.top, width: frame.width, height: frame.height,
          x: [model.x_range.start, model.x_range.end], y: [model.y_range.start, model.y_range.end]}
}"""
COLUMN = "([name, column]) => Array.from(Bokeh.documents[0].get_model_by_name(name).data[column])"
PIXELS = """() => { let sum = 0
  for (const v of Bokeh.documents[0].get_model_by_name('surface').data.image[0]) sum = (sum * 31 + v) % 1e9
  return sum }"""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A lab at some free port; its address."""
    command = [sys.executable, "-m", "mercer.cli", "lab", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        found = re.search(r"http://127\.0\.0\.1:\d+/", process.stdout.readline())
        assert found is not None
        yield found.group()
        process.terminate()
        try:
            _, said = process.communicate(timeout=120)
        finally:
            process.kill()  # the end of `with` waits for the process
    assert "Traceback" not in said, said


@dataclass
class Lab:
    """A page of the lab in a browser, with what went wrong in it."""

    page: Any
    address: str
    complaints: list[str]
    requests: list[str]

    def open(self, state: LabState | str) -> None:
        """Go to a state, and wait until it is drawn."""
        query = to_query(state) if isinstance(state, LabState) else state
        self.page.goto(f"{self.address}?{query}")
        self.page.wait_for_function(
            "() => window.Bokeh && Bokeh.documents.length && Bokeh.documents[0].is_idle", timeout=PATIENCE
        )
        self.page.get_by_role("button", name="Copy as Python").wait_for(timeout=PATIENCE)

    def at(self, figure: str, x: float, y: float) -> tuple[float, float]:
        """A place of a figure on the screen."""
        f = self.page.evaluate(FRAME, figure)
        across, up = (x - f["x"][0]) / (f["x"][1] - f["x"][0]), (y - f["y"][0]) / (f["y"][1] - f["y"][0])
        return f["left"] + across * f["width"], f["top"] + (1.0 - up) * f["height"]

    def drag(self, figure: str, start: tuple[float, float], end: tuple[float, float]) -> None:
        """Press, move in steps, let go."""
        mouse = self.page.mouse
        mouse.move(*self.at(figure, *start))
        mouse.down()
        for share in (0.3, 0.6, 1.0):
            mouse.move(*self.at(figure, *(a + share * (b - a) for a, b in zip(start, end, strict=True))), steps=3)
        mouse.up()

    def state(self) -> LabState:
        """The state that stands in the address."""
        return from_query(urlsplit(self.page.url).query)

    def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds."""
        for _ in range(PATIENCE // 50):
            if holds():
                return
            self.page.wait_for_timeout(50)
        raise AssertionError("it did not happen")

    def text(self, words: str) -> Any:
        """Wait for words on the page."""
        found = self.page.get_by_text(words).first
        found.wait_for(timeout=PATIENCE)
        return found


@pytest.fixture(scope="module")
def window(browser: Any) -> Iterator[Any]:
    """One window, whose pages share what they have loaded."""
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    yield context
    context.close()


@pytest.fixture
def lab(window: Any, address: str) -> Iterator[Lab]:
    page = window.new_page()
    page.set_default_timeout(PATIENCE)
    complaints: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.on("websocket", lambda one: requests.append(one.url))
    yield Lab(page, address, complaints, requests)
    page.close()
    assert complaints == []
    foreign = [
        url for url in requests if urlsplit(url).hostname != "127.0.0.1" and urlsplit(url).scheme not in ("data", "blob")
    ]
    assert foreign == []


def test_dragging_a_point_changes_the_surface(lab: Lab) -> None:
    state = LabState(data=NamedData("moons", 30), kernel="Gaussian(length_scale=0.8)", algorithm="svm")
    lab.open(state)
    before = lab.page.evaluate(PIXELS)
    (x, y), *_ = arrays(state.data)[0]
    lab.drag("picture figure", (x, y), (2.5, 2.5))
    lab.until(lambda: abs(lab.page.evaluate(COLUMN, ["points", "x"])[0] - 2.5) < 0.05)
    lab.until(lambda: lab.page.evaluate(PIXELS) != before)
    lab.until(lambda: "points=" in lab.page.url)
    moved = arrays(lab.state().data)[0]
    assert abs(moved[0] - 2.5).max() < 0.05 and (moved[1:] == arrays(state.data)[0][1:]).all()


def test_points_are_drawn_and_deleted(lab: Lab) -> None:
    lab.open(LabState(data=NamedData("moons", 10)))
    lab.page.get_by_role("button", name="class 2").click()
    lab.page.mouse.click(*lab.at("picture figure", 2.5, -2.5))
    lab.until(lambda: len(lab.page.evaluate(COLUMN, ["points", "x"])) == 11)
    lab.page.get_by_role("button", name="Delete").click()
    lab.page.mouse.click(*lab.at("picture figure", 2.5, -2.5))
    lab.until(lambda: len(lab.page.evaluate(COLUMN, ["points", "x"])) == 10)


def test_an_invalid_kernel_is_refuted(lab: Lab) -> None:
    lab.open(LabState(data=NamedData("moons", 20), algorithm="mean"))
    lab.text("is a kernel. Proof:")
    box = lab.page.get_by_label("Kernel, as text")
    box.fill("Gaussian(length_scale=1.0) - Linear()")
    box.press("Enter")
    lab.text("is not a kernel. One point is enough")
    lab.page.get_by_role("button", name="Break it").click()
    lab.text("Broken.")
    lab.until(lambda: len(lab.page.evaluate(COLUMN, ["points", "x"])) == 21)
    box.fill("<img src=x onerror=\"document.title='harm'\">")
    box.press("Enter")
    lab.text("cannot read this")
    assert lab.page.title() == "mercer lab"


def test_blocks_and_sliders(lab: Lab) -> None:
    lab.open(LabState(kernel="Linear()", data=NamedData("circles", 30)))
    lab.page.get_by_role("button", name="exp", exact=True).click()
    lab.until(lambda: "exp()" in lab.page.get_by_label("Kernel, as text").input_value())
    lab.page.get_by_role("button", name="normalized", exact=True).click()
    lab.until(lambda: lab.page.get_by_label("Kernel, as text").input_value() == "Linear().exp().normalized()")
    box = lab.page.get_by_label("Kernel, as text")
    box.fill("Gaussian(length_scale=1.0)")
    box.press("Enter")
    lab.text("Gaussian length_scale")
    before = lab.page.evaluate(PIXELS)
    handle = lab.page.locator(".noUi-handle").last  # the kernel stands below the algorithm
    handle.focus()
    for _ in range(5):
        handle.press("ArrowLeft")
    lab.until(lambda: lab.page.evaluate(PIXELS) != before)
    lab.until(lambda: box.input_value() not in ("Gaussian(length_scale=1.0)", ""))


def test_the_perceptron_is_stepped_until_it_separates(lab: Lab) -> None:
    lab.open("tour=perceptron")
    lab.text("0 corrections so far")
    step = lab.page.get_by_role("button", name="Step", exact=True)
    for count in range(1, 100):
        step.click()
        shown = re.compile(rf"^({count} corrections so far|separated after {count} corrections)$")
        lab.text(shown)
        if lab.page.get_by_text("separated after").count():
            break
    assert 1 < count < 99
    found = lab.page.get_by_text(re.compile(r"corrections in all, at most .* by Novikoff"))
    found.wait_for(timeout=PATIENCE)


def test_the_chosen_point_of_the_surface_is_dragged(lab: Lab) -> None:
    lab.open("tour=cross-validation")
    lab.until(lambda: lab.page.evaluate(COLUMN, ["chosen", "x"]) != [])
    x, y = (lab.page.evaluate(COLUMN, ["chosen", name])[0] for name in ("x", "y"))
    lab.drag("view figure", (x, y), (-1.0, 0.0))
    lab.until(lambda: abs(lab.state().parameters["alpha"] - 0.1) < 0.02)
    assert lab.state().kernel.startswith(("Gaussian(length_scale=1.", "Gaussian(length_scale=0.9"))


def test_a_link_with_a_state_is_followed(lab: Lab) -> None:
    state = LabState(
        data=NamedData("gap", 20),
        kernel="Matern(nu=1.5, length_scale=0.9)",
        algorithm="gp",
        parameters={"noise": 0.02},
        view="loo",
    )
    lab.open(state)
    assert lab.page.get_by_label("Kernel, as text").input_value() == state.kernel
    lab.until(lambda: lab.state() == state)
    lab.page.get_by_role("button", name="Copy as Python").click()
    lab.text("mercer.GaussianProcessRegressor")
    lab.page.get_by_role("button", name="next").click()
    lab.until(lambda: lab.state() == PAGES["ridge"].state)
    lab.page.locator("header select").select_option(label="14. Gaussian processes")
    lab.until(lambda: lab.state() == PAGES["gp"].state)


def test_a_hostile_link_is_a_sentence(lab: Lab) -> None:
    lab.open("algorithm=%3Cimg%20src%3Dx%20onerror%3D%22document.title%3D'harm'%22%3E")
    lab.text("This address could not be read")
    lab.page.wait_for_timeout(200)
    assert lab.page.title() == "mercer lab"


@pytest.mark.parametrize("name", PAGES)
def test_every_page_of_the_tour_loads(lab: Lab, name: str) -> None:
    lab.open(f"tour={name}")
    lab.page.get_by_role("heading", name=PAGES[name].title, exact=True).wait_for(timeout=PATIENCE)
    lab.text("Try:")
    lab.until(lambda: len(lab.page.evaluate(COLUMN, ["points", "x"])) > 2)
    assert lab.page.locator(".error:visible").count() == 0
    wide = lab.page.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth")
    assert wide


@pytest.mark.parametrize("width", [400, 1280])
def test_it_fits_the_screen(lab: Lab, width: int) -> None:
    lab.page.set_viewport_size({"width": width, "height": 800})
    lab.open("tour=gp")
    lab.text("valid")
    assert lab.page.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth")
    frame = lab.page.evaluate(FRAME, "picture figure")
    assert frame["width"] > 0.25 * width and 0.8 < frame["width"] / frame["height"] < 1.2


def test_a_page_from_elsewhere_gets_no_socket(browser: Any, address: str) -> None:
    page = browser.new_page()
    page.route("http://elsewhere.example/", lambda route: route.fulfill(body="<p>elsewhere</p>", content_type="text/html"))
    page.goto("http://elsewhere.example/")
    opened = page.evaluate(
        """address => new Promise(done => {
          const socket = new WebSocket(address.replace('http', 'ws') + 'ws', ['bokeh', 'token'])
          socket.onopen = () => done('open'); socket.onerror = () => done('refused')
        })""",
        address,
    )
    page.close()
    assert opened == "refused"
