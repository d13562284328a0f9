"""The widgets of the page, created once; `page` handles their events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from bokeh.layouts import column, row
from bokeh.models import (
    Button,
    CustomJS,
    CustomJSTickFormatter,
    Div,
    InlineStyleSheet,
    PreText,
    RadioButtonGroup,
    Select,
    Slider,
    TextAreaInput,
    TextInput,
)

from mercer.lab.kernels import BLOCKS, VERBS
from mercer.lab.samples import RECIPES
from mercer.lab.state import ALGORITHMS, MAX_CLASSES, MAX_KERNEL, MAX_LETTERS, VIEWS
from mercer.lab.styles import BUTTONS, CODE, FORMULA, INNER
from mercer.lab.tour import PAGES

#: Scripts of the browser: state to address, text to clipboard, powers of ten beside a slider.
_ADDRESS = "window.history.replaceState(null, '', window.location.pathname + cb_obj.text)"
_CLIPBOARD = "if (cb_obj.text) { navigator.clipboard.writeText(cb_obj.text).catch(() => {}) }"

_POWER = "return String(Number(Math.pow(10, tick).toPrecision(3)))"

OWN_DATA = "drawn by hand"
_WIDE: dict[str, Any] = {"sizing_mode": "stretch_width"}

#: Names of classes on the buttons that choose what a click draws.
CLASSES = [f"class {label}" for label in range(MAX_CLASSES)]


def said(text: str = "", **settings: Any) -> Div:
    """Return a block of text in which formulas are not rendered, because it may contain typed text."""
    return Div(
        text=text, disable_math=True, stylesheets=[InlineStyleSheet(css=INNER)], sizing_mode="stretch_width", **settings
    )


@dataclass(frozen=True)
class Turn:
    """A slider to make: its name, place and range."""

    key: str
    label: str
    value: float
    scale: str
    least: float
    most: float


class Sliders:
    """A column of sliders for a list of numbers; logarithmic if the scale of a number is."""

    def __init__(self, turned: Callable[[str, float], None], quiet: Callable[[], bool]) -> None:
        self.column = column(**_WIDE)
        self._turned, self._quiet = turned, quiet  # True while the program sets them, to ignore events
        self._shown: list[Turn] = []
        self._sliders: list[Slider] = []

    def show(self, turns: list[Turn]) -> None:
        """Create the sliders of a list, or move existing ones."""
        if [_frame(turn) for turn in turns] != [_frame(turn) for turn in self._shown]:
            self._sliders = [self._make(turn) for turn in turns]
            self.column.children = list(self._sliders)
        for slider, turn in zip(self._sliders, turns, strict=True):
            place = float(np.log10(turn.value)) if turn.scale == "log" else turn.value
            if abs(place - slider.value) > 0.51 * slider.step:
                slider.value = float(np.clip(place, slider.start, slider.end))
        self._shown = turns

    def _make(self, turn: Turn) -> Slider:
        ends = np.log10([turn.least, turn.most]) if turn.scale == "log" else np.array([turn.least, turn.most])
        step = {"log": 0.02, "whole": 1.0}.get(turn.scale, float(ends[1] - ends[0]) / 100)
        place = float(np.log10(turn.value)) if turn.scale == "log" else turn.value
        start, end = float(ends[0]), max(float(ends[1]), float(ends[0]) + step)
        shown = CustomJSTickFormatter(code=_POWER) if turn.scale == "log" else "0[.]00"
        slider = Slider(start=start, end=end, step=step, value=place, format=shown, title=turn.label, **_WIDE)

        def moved(attribute: str, old: Any, new: float) -> None:
            if not self._quiet():
                value = 10.0**new if turn.scale == "log" else new
                digits = float(f"{np.clip(value, turn.least, turn.most):.3g}")
                self._turned(turn.key, digits if turn.scale != "whole" else float(round(value)))

        slider.on_change("value", moved)
        return slider


def _frame(turn: Turn) -> tuple[Any, ...]:
    return (turn.key, turn.label, turn.scale, turn.least, turn.most)


def _select(title: str, options: list[tuple[str, str]], **settings: Any) -> Select:
    return Select(title=title, options=options, value=options[0][0], **{**_WIDE, **settings})


@dataclass
class Controls:
    """Every widget by name."""

    tour: Select = field(
        default_factory=lambda: _select("", [("", "Free play"), *_tour_titles()], width=330, sizing_mode="fixed")
    )
    back: Button = field(default_factory=lambda: Button(label="‹ back", width=80))
    forth: Button = field(default_factory=lambda: Button(label="next ›", width=80))
    lesson: Div = field(default_factory=said)

    data: Select = field(default_factory=lambda: _select("Data", [("", OWN_DATA), *_data_titles()]))
    size: Slider = field(
        default_factory=lambda: Slider(start=4, end=300, step=2, value=60, title="points", **_WIDE),
    )
    redraw: Button = field(default_factory=lambda: Button(label="Draw again", **_WIDE))
    clear: Button = field(default_factory=lambda: Button(label="Clear", **_WIDE))
    label: RadioButtonGroup = field(
        default_factory=lambda: RadioButtonGroup(
            labels=CLASSES, active=0, stylesheets=[InlineStyleSheet(css=BUTTONS)], **_WIDE
        )
    )
    hand: RadioButtonGroup = field(
        default_factory=lambda: RadioButtonGroup(labels=["Draw and drag", "Delete"], active=0, **_WIDE)
    )
    hint: Div = field(default_factory=said)
    words: TextAreaInput = field(
        default_factory=lambda: TextAreaInput(title="Words, one per line, the class in front", rows=9, **_WIDE)
    )
    query: TextInput = field(default_factory=lambda: TextInput(title="A new word", max_length=MAX_LETTERS, **_WIDE))

    algorithm: Select = field(
        default_factory=lambda: _select("Algorithm", [(name, one.title) for name, one in ALGORITHMS.items()])
    )
    step: Button = field(default_factory=lambda: Button(label="Step", button_type="primary", **_WIDE))
    ten: Button = field(default_factory=lambda: Button(label="10 steps", **_WIDE))
    finish: Button = field(default_factory=lambda: Button(label="To the end", **_WIDE))
    restart: Button = field(default_factory=lambda: Button(label="Restart", **_WIDE))
    best: Button = field(default_factory=lambda: Button(label="Best parameters", button_type="primary", **_WIDE))

    kernel: TextInput = field(
        default_factory=lambda: TextInput(title="Kernel, as text", max_length=MAX_KERNEL, name="kernel text", **_WIDE)
    )
    problem: Div = field(default_factory=lambda: said(visible=False, name="kernel problem"))
    block: Select = field(default_factory=lambda: _select("Build with a block", [(name, name) for name in BLOCKS]))
    verbs: dict[str, Button] = field(
        default_factory=lambda: {
            verb: Button(label=label, name=f"verb {verb}", width=24 + 8 * len(label)) for verb, label in VERBS.items()
        }
    )
    formula: Div = field(
        default_factory=lambda: Div(text="$$k(x, z)$$", stylesheets=[InlineStyleSheet(css=FORMULA)], **_WIDE)
    )
    proof: Div = field(default_factory=said)
    break_it: Button = field(default_factory=lambda: Button(label="Break it", button_type="warning", width=100))

    facts: Div = field(default_factory=said)
    view: RadioButtonGroup = field(default_factory=lambda: RadioButtonGroup(labels=list(VIEWS.values()), active=0, **_WIDE))
    view_words: Div = field(default_factory=said)

    link: Button = field(default_factory=lambda: Button(label="Copy the link", width=140))
    python: Button = field(default_factory=lambda: Button(label="Copy as Python", button_type="primary", width=160))
    copied: Div = field(default_factory=lambda: said(visible=False))
    code: PreText = field(
        default_factory=lambda: PreText(text="", visible=False, stylesheets=[InlineStyleSheet(css=CODE)], **_WIDE)
    )
    address: Div = field(
        default_factory=lambda: Div(text="", visible=False, disable_math=True, render_as_text=True, name="address")
    )
    clipboard: PreText = field(default_factory=lambda: PreText(text="", visible=False))

    def __post_init__(self) -> None:
        self.address.js_on_change("text", CustomJS(code=_ADDRESS))
        self.clipboard.js_on_change("text", CustomJS(code=_CLIPBOARD))

    def roots(self, picture: Any, view: Any, algorithm_sliders: Any, kernel_sliders: Any) -> dict[str, Any]:
        """The parts of the page by their names in the template."""
        verbs = row(*self.verbs.values(), styles={"flex-wrap": "wrap", "gap": "4px"}, **_WIDE)
        return {
            "tools": row(self.tour, self.back, self.forth, styles={"flex-wrap": "wrap", "gap": "4px"}, **_WIDE),
            "tour": column(self.lesson, **_WIDE),
            "data": column(
                self.data, self.size, row(self.redraw, self.clear, **_WIDE), self.label, self.hand, self.hint,
                self.words, self.query, **_WIDE,
            ),
            "algorithm": column(
                self.algorithm, algorithm_sliders, row(self.step, self.ten, **_WIDE),
                row(self.finish, self.restart, **_WIDE), self.best, **_WIDE,
            ),
            "picture": column(picture, self.facts, **_WIDE),
            "kernel": column(self.kernel, self.problem, kernel_sliders, self.block, verbs, **_WIDE),
            "proof": column(self.formula, self.proof, self.break_it, **_WIDE),
            "view": column(self.view, view, self.view_words, **_WIDE),
            "code": column(
                row(self.python, self.link, styles={"flex-wrap": "wrap"}, **_WIDE), self.copied, self.code, **_WIDE
            ),
            "address": column(self.address, self.clipboard),
        }  # fmt: skip


def _tour_titles() -> list[tuple[str, str]]:
    return [(page.name, f"{number}. {page.title}") for number, page in enumerate(PAGES.values(), 1)]


def _data_titles() -> list[tuple[str, str]]:
    return [(name, recipe.title) for name, recipe in RECIPES.items()]
