"""The document without a browser: what is typed is shown and never obeyed, and every event leads to a state."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

pytest.importorskip("bokeh", reason="the lab needs bokeh")

from bokeh.document import Document
from bokeh.models import Div

from mercer.lab.address import from_query, to_query
from mercer.lab.drawing import colored
from mercer.lab.page import LabPage, build, escaped, opened
from mercer.lab.pictures import Scene
from mercer.lab.state import DrawnPoints, LabState, NamedData
from mercer.lab.tour import PAGES

EVIL = "<img src=x onerror=alert(1)>$$\\href{javascript:alert(1)}{x}$$"


def page(state: LabState | None = None, message: str = "") -> LabPage:
    return LabPage(Document(), state or LabState(), message)


def shown(one: LabPage) -> list[str]:
    """All that is put into the page as markup."""
    return [str(model.text) for model in one.doc.select({"type": Div})]


@pytest.mark.parametrize("name", PAGES)
def test_every_page_can_be_built(name: str) -> None:
    one = page(PAGES[name].state)
    assert escaped(PAGES[name].title) in one.controls.lesson.text
    for part in (one.controls.facts, one.controls.view_words, one.controls.lesson):
        assert part.text and 'class="error"' not in part.text
    assert one.controls.address.text == "?" + to_query(PAGES[name].state)
    assert {root.name for root in one.doc.roots} >= {"tools", "data", "picture", "proof", "view"}


def test_all_styles_are_local() -> None:
    from mercer.lab import styles

    text = "".join(str(value) for value in vars(styles).values())
    assert "http" not in text and "@import" not in text and "url(" not in text


def test_what_is_typed_is_escaped() -> None:
    one = page(LabState(kernel=EVIL), message=EVIL)
    one._typed(EVIL)
    one.controls.query.value = "x"
    for text in shown(one):
        assert "<img" not in text
        assert "javascript:" not in text or "&lt;img" in text
    math = [model for model in one.doc.select({"type": Div}) if not model.disable_math]
    assert [model is one.controls.formula for model in math] == [True]
    assert "javascript" not in one.controls.formula.text
    assert one.controls.problem.visible


def test_typing_a_kernel() -> None:
    one = page()
    one._typed("Tanh(scale=1.0, offset=-1.0)")
    one._show_kernel()
    assert "invalid" in one.controls.proof.text and "is not a kernel" in one.controls.proof.text
    one._typed("Gaussian(")
    assert "the text ends here" in one.controls.problem.text
    assert one.state.kernel == "Tanh(scale=1.0, offset=-1.0)"  # the last that could be read
    assert "badge" not in one.controls.proof.text  # no verdict beside a text that it does not belong to
    one._typed("Gaussian(length_scale=0.3)")
    one._show_kernel()
    assert not one.controls.problem.visible and ">valid<" in one.controls.proof.text


def test_breaking_puts_the_points_into_the_picture() -> None:
    one = page(PAGES["kernel"].state)
    before = one.state.data
    one._break_it()
    assert isinstance(one.state.data, DrawnPoints) and isinstance(before, DrawnPoints)
    assert one.state.data.points[: len(before.points)] == before.points  # the others stay, so there are two classes
    one._show_beside()
    one._show_picture()
    assert 'class="error"' not in one.controls.facts.text
    one._show_kernel()
    assert "Broken" in one.controls.proof.text and "negative eigenvalue" in one.controls.view_words.text
    one._typed("Linear()")
    one._show_kernel()
    assert "Broken" not in one.controls.proof.text


def test_breaking_twice_adds_nothing_and_keeps_the_limit() -> None:
    one = page(LabState(kernel="Tanh(scale=1.0, offset=-1.0)", data=NamedData("moons", 500), algorithm="mean"))
    one._break_it()
    once = one.state.data
    one._break_it()
    assert isinstance(once, DrawnPoints) and one.state.data == once and len(once.points) == 500


def test_an_address_that_cannot_be_read_shows_the_first_page_as_it_is() -> None:
    request = SimpleNamespace(arguments={"tour": [b"nonsense"]})
    made: list[LabState] = []
    doc = SimpleNamespace(session_context=SimpleNamespace(request=request))
    with patch("mercer.lab.page.LabPage", lambda doc, state, message: made.append(state)):
        build(doc)
    assert made == [PAGES["ridge"].state]


def test_widgets_lead_to_states() -> None:
    one = page()
    c = one.controls
    c.data.value = "circles"
    assert one.state.data == NamedData("circles", 60)
    c.algorithm.value = "ridge"
    assert one.state.algorithm == "ridge" and one.state.data == NamedData("sine", 40)
    c.view.active = 2
    assert one.state.view == "loo"
    c.tour.value = "perceptron"
    assert one.state == PAGES["perceptron"].state
    one._step(3)
    assert one.state.parameters["steps"] == 3
    c.data.value = "names"
    assert c.words.visible and one.state.kernel.startswith("Spectrum")
    c.words.value = "no class"
    assert "a class and a word" in c.facts.text
    c.words.value = "0 anna\n0 hanna\n1 kurt"
    c.query.value = "joanna"
    assert one.state.query == "joanna" and "joanna" in c.facts.text


def test_sliders_turn_and_follow() -> None:
    one = page(LabState(kernel="Gaussian(length_scale=1.0)"))
    [slider] = one.kernel_sliders.column.children
    slider.value = float(np.log10(0.5))
    one._run_waiting()
    assert from_query(to_query(one.state)).kernel == "Gaussian(length_scale=0.5)"
    one._typed("Gaussian(length_scale=2.0) + Linear()")
    one._show_kernel()
    [slider] = one.kernel_sliders.column.children
    assert slider.value == pytest.approx(np.log10(2.0))
    [C] = one.algorithm_sliders.column.children
    C.value = 3.0
    one._run_waiting()
    assert one.state.parameters["C"] == 1000.0


def test_a_picture_is_made_once_per_event(monkeypatch: pytest.MonkeyPatch) -> None:
    one = page(LabState(kernel="Gaussian(length_scale=1.0)"))
    made: list[LabState] = []
    show = one._show_picture
    monkeypatch.setattr(one, "_show_picture", lambda: (made.append(one.state), show()))
    one.kernel_sliders.column.children[0].value = 0.5  # the text of the kernel follows, and is no event of its own
    one._run_waiting()
    one._show_kernel()
    one.controls.tour.value = "gp"  # and so do data, algorithm, sliders
    assert not one._waiting and [state.tour for state in made] == ["", "gp"]


def test_a_bug_does_not_take_the_page_away(monkeypatch: pytest.MonkeyPatch) -> None:
    from mercer.lab import page as module

    one = page()

    def fails(state: LabState) -> Scene:
        raise ZeroDivisionError("<b>")

    monkeypatch.setattr(module, "picture", fails)
    one.change(one.state)
    assert "a bug in mercer, please report it: ZeroDivisionError: &lt;b&gt;" in one.controls.facts.text


def test_points_by_hand() -> None:
    one = page(LabState(data=DrawnPoints(((0.0, 0.0, 0), (1.0, 1.0, 1)))))
    one._tap(2.0, 2.0)
    assert len(one.state.data.points) == 3
    one._grab(2.0, 2.0)
    one._drag(2.5, 0.0)
    one._drag(2.5, 2.5)
    one._run_waiting()
    one._release()
    assert one.state.data.points[2] == (2.5, 2.5, 0)
    one._delete(2.5, 2.5)
    assert len(one.state.data.points) == 2
    one.controls.hand.active = 1
    one._tap(1.0, 1.0)
    one._tap(0.0, 0.0)
    assert one.state.data == DrawnPoints(()) and "two classes" in one.controls.facts.text


def test_the_chosen_point_is_dragged() -> None:
    one = page(PAGES["cross-validation"].state)
    one._drag_choice(-1.0, 0.0)
    one._run_waiting()
    assert one.state.kernel == "Gaussian(length_scale=1.0)" and one.state.parameters["alpha"] == pytest.approx(0.1)


def test_copying() -> None:
    one = page()
    one._copy(to_query(one.state), "The link")
    assert from_query(one.controls.clipboard.text.partition("?")[2]) == one.state
    from mercer.lab.python_code import python_code

    one._copy(python_code(one.state), "", shown=True)
    assert "mercer.SVC" in one.controls.code.text and one.controls.code.visible


def test_colors_of_a_surface() -> None:
    flat = Scene(np.empty((0, 2)), np.empty(0, int), surface=np.array([[-1.0, 0.0], [0.5, 1.0]]))
    pixels: Any = colored(flat)
    rgb = pixels.view(np.uint8).reshape(2, 2, 4)
    assert rgb[0, 1].tolist() == [255, 255, 255, 255]
    assert rgb[0, 0, 2] > rgb[0, 0, 0] and rgb[1, 1, 0] > rgb[1, 1, 2]  # blue below, red above
    assert rgb[1, 0, 2] > rgb[1, 1, 2]  # paler nearer to zero


def test_an_address_is_opened() -> None:
    assert opened([]) == PAGES["ridge"].state
    assert opened([("bokeh-session-id", b"x"), ("tour", b"gp")]) == PAGES["gp"].state
    assert opened([("kernel", b"Gaussian(1.0) + Linear()")]).kernel == "Gaussian(1.0) + Linear()"
