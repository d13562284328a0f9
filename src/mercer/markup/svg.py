"""SVG text: single elements, and pictures with two axes.

A picture of a report is 360 units wide and its letters are a little more than 12 units high, which is their size in pixels
on a phone. Its colors are CSS classes, because the style of the page has a light and a dark variant.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.markup.html import Html, human, shortened, text

WIDTH, HEIGHT = 360, 260

#: Mean width of a letter at a font size of 12 units.
LETTER = 6.8

#: Blue for positive, vermillion for negative contributions, as red, green, blue: distinct with every kind of color vision.
POSITIVE, NEGATIVE = "0,114,178", "213,94,0"


def element(tag: str, content: str = "", /, **attributes: object) -> Html:
    """Return one element; `content` is markup, attribute values are escaped.

    Floats are written with one decimal and attributes that are None are left out. `kind` becomes the attribute class, and
    underscores become hyphens.

    >>> element("line", x1=1.25, x2=3, stroke_width=None, kind="grid")
    '<line x1="1.2" x2="3" class="grid"/>'
    """
    written = ""
    for name, value in attributes.items():
        if value is not None:
            number = f"{value:.1f}" if isinstance(value, float) else text(value)
            written += f' {"class" if name == "kind" else name.replace("_", "-")}="{number}"'
    return Html(f"<{tag}{written}>{content}</{tag}>" if content else f"<{tag}{written}/>")


def contribution_color(part: float, largest: float) -> str:
    """Return a CSS color: blue for a positive part, vermillion for a negative one, as opaque as its share of the largest."""
    return f"rgba({POSITIVE if part > 0 else NEGATIVE},{abs(part) / largest:.2f})"


def standalone(parts: Iterable[str], width: float, height: float) -> Html:
    """Return an SVG document that can also be saved as a file of its own."""
    size = {"width": f"{width:.0f}", "height": f"{height:.0f}", "viewBox": f"0 0 {width:.0f} {height:.0f}"}
    namespace = {"xmlns": "http://www.w3.org/2000/svg"}
    return element("svg", "".join(parts) or "\n", **namespace, **size, font_family="sans-serif", font_size=11)


def embedded(parts: Iterable[str], height: float, title: str) -> Html:
    """Return an SVG for a page of the usual width; screen readers read the title."""
    return element("svg", "".join(parts), viewBox=f"0 0 {WIDTH} {height:.0f}", role="img", aria_label=title)


@dataclass(frozen=True)
class Axis:
    """A range of values mapped to a range of positions, linearly or by logarithms."""

    low: float
    high: float
    start: float
    stop: float
    log: bool = False

    def __call__(self, values: Any) -> Floats:
        """Return the positions of values; values outside of the range are drawn at its ends."""
        given = np.asarray(values, dtype=np.float64)
        places = np.log10(np.maximum(given, 1e-300)) if self.log else given
        low, high = (math.log10(self.low), math.log10(self.high)) if self.log else (self.low, self.high)
        share = (places - low) / (high - low)
        return self.start + np.clip(np.nan_to_num(share), 0.0, 1.0) * (self.stop - self.start)

    def ticks(self, count: int = 5) -> list[float]:
        """Return round values within the range."""
        if self.log:
            low, high = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
            found = [10.0**power for power in range(low, high + 1, max(1, math.ceil((high - low + 1) / count)))]
            return found if len(found) > 1 else [self.low, self.high]
        step = nice_step((self.high - self.low) / max(1, count))
        first = math.ceil(self.low / step - 1e-9)
        return [i * step for i in range(first, math.floor(self.high / step + 1e-9) + 1)]


def nice_step(rough: float) -> float:
    """Return the next larger of 1, 2, 5 times a power of ten.

    >>> nice_step(0.3), nice_step(7.0)
    (0.5, 10.0)
    """
    power = 10.0 ** math.floor(math.log10(rough)) if rough > 0 and math.isfinite(rough) else 1.0
    return next(factor * power for factor in (1.0, 2.0, 5.0, 10.0) if factor * power >= rough * (1 - 1e-9))


def limits(*values: Any, log: bool = False, margin: float = 0.04) -> tuple[float, float]:
    """Return the range of all finite values, slightly widened and never empty."""
    joined = np.concatenate([np.ravel(np.asarray(part, dtype=np.float64)) for part in values])
    here = joined[np.isfinite(joined) & ((joined > 0) | (not log))]
    if len(here) == 0:
        return (0.1, 1.0) if log else (0.0, 1.0)
    low, high = float(here.min()), float(here.max())
    if log:
        return (low / 1.3, high * 1.3)
    if high - low <= 1e-12 * max(abs(low), abs(high), 1e-300):
        reach = 0.5 * abs(low) or 0.5
        return low - reach, high + reach
    return low - margin * (high - low), high + margin * (high - low)


class Picture:
    """A frame with two axes, to which marks are added in turn."""

    def __init__(
        self,
        x: tuple[float, float],
        y: tuple[float, float],
        *,
        x_name: str = "",
        y_name: str = "",
        title: str = "",
        x_log: bool = False,
        y_log: bool = False,
        height: int = HEIGHT,
        left: float | None = None,
        x_ticks: Sequence[tuple[float, str]] | None = None,
        y_ticks: Sequence[tuple[float, str]] | None = None,
    ) -> None:
        self.height, self.title = height, title
        self.parts: list[str] = []
        top, bottom = 12 + (18 if y_name else 0), height - (46 if x_name else 28)
        self.y = Axis(*y, bottom, top, y_log)
        marks = list(y_ticks) if y_ticks is not None else [(tick, human(tick)) for tick in self.y.ticks()]
        width = max((len(label) for _, label in marks), default=0) * LETTER
        self.x = Axis(*x, max(34.0, width + 12) if left is None else left, WIDTH - 14, x_log)
        self._frame(marks, x_ticks, x_name, y_name)

    def _frame(
        self, y_marks: Sequence[tuple[float, str]], x_ticks: Sequence[tuple[float, str]] | None, x_name: str, y_name: str
    ) -> None:
        x, y = self.x, self.y
        for value, label in y_marks:
            place = float(y(value))
            self._segment("grid", x.start, place, x.stop, place)
            self.label(x.start - 6, place + 4, label, "end", "soft")
        marks = list(x_ticks) if x_ticks is not None else _apart(x, [(tick, human(tick)) for tick in x.ticks()])
        for value, label in marks:
            place = float(x(value))
            self._segment("axis", place, y.start, place, y.start + 4)
            self.label(min(place, WIDTH - 2 - len(label) * LETTER / 2), y.start + 17, label, "middle", "soft")
        self._segment("axis", x.start, y.start, x.stop, y.start)
        if x_name:
            self.label((x.start + x.stop) / 2, self.height - 8, shortened(x_name, 44), "middle")
        if y_name:
            self.label(4, 14, shortened(y_name, 52), "start")

    # -- marks -------------------------------------------------------------------------------------------------------

    def label(self, x: float, y: float, words: str, anchor: str = "start", kind: str | None = None) -> None:
        """Write words at a position of the picture, in its own units."""
        self.parts.append(element("text", text(words), x=float(x), y=float(y), text_anchor=anchor, kind=kind))

    def points(self, x: Any, y: Any, color: str = "a", radius: float = 2.4, kind: str = "dot") -> None:
        """Draw a dot for every pair, all as one path to keep the file small."""
        dots = "".join(
            f"M{px - radius:.1f} {py:.1f}a{radius} {radius} 0 1 0 {2 * radius} 0a{radius} {radius} 0 1 0 {-2 * radius} 0"
            for px, py in zip(self.x(x).tolist(), self.y(y).tolist(), strict=True)
        )
        self.parts.append(element("path", kind=f"{kind} f{color}", d=dots))

    def line(self, x: Any, y: Any, color: str = "a", kind: str = "stroke") -> None:
        """Draw a line through points."""
        self.parts.append(element("polyline", kind=f"{kind} s{color}", points=self._corners(x, y)))

    def rule(self, x: tuple[float, float], y: tuple[float, float]) -> None:
        """Draw a dashed line from one point to another."""
        (x0, x1), (y0, y1) = self.x(x).tolist(), self.y(y).tolist()
        self._segment("rule", x0, y0, x1, y1)

    def band(self, x: Any, low: Any, high: Any, color: str = "a") -> None:
        """Fill the area between two lines."""
        border = np.append(x, x[::-1]), np.append(high, low[::-1])
        self.parts.append(element("polygon", kind=f"band f{color}", points=self._corners(*border)))

    def bars(self, low: Any, high: Any, value: Any, color: str = "a", kind: str = "") -> None:
        """Draw vertical bars from the lower edge of the frame."""
        left, right, top = self.x(low).tolist(), self.x(high).tolist(), self.y(value).tolist()
        for a, b, y in zip(left, right, top, strict=True):
            self.box(a, y, max(0.5, b - a - 0.6), max(0.0, self.y.start - y), f"f{color} {kind}".strip())

    def whiskers(self, x: Any, low: Any, high: Any, color: str = "a") -> None:
        """Draw a vertical line for every interval."""
        for px, a, b in zip(self.x(x).tolist(), self.y(low).tolist(), self.y(high).tolist(), strict=True):
            self._segment(f"thin s{color}", px, a, px, b)

    def box(self, x: float, y: float, width: float, height: float, kind: str, shade: float | None = None) -> None:
        """Draw a rectangle at a position of the picture, in its own units."""
        opacity = None if shade is None else f"{shade:.2f}"
        place = {"x": float(x), "y": float(y), "width": float(width), "height": float(height)}
        self.parts.append(element("rect", kind=kind, **place, fill_opacity=opacity))

    def legend(self, entries: Sequence[tuple[str, str]]) -> None:
        """Write names of colors in one line at the top right."""
        place = WIDTH - 14.0
        for name, color in reversed(entries):
            place -= len(name) * LETTER
            self.label(place, 26, name, "start")
            place -= 14
            self.box(place, 17, 9, 9, f"f{color}")
            place -= 10

    def svg(self) -> Html:
        """Return the picture as text."""
        return embedded(self.parts, self.height, self.title)

    def _segment(self, kind: str, x1: float, y1: float, x2: float, y2: float) -> None:
        self.parts.append(element("line", kind=kind, x1=float(x1), y1=float(y1), x2=float(x2), y2=float(y2)))

    def _corners(self, x: Any, y: Any) -> str:
        return " ".join(f"{px:.1f},{py:.1f}" for px, py in zip(self.x(x).tolist(), self.y(y).tolist(), strict=True))


def horizontal_bars(
    names: Sequence[str], values: Any, labels: Sequence[str], title: str, colors: Sequence[str] | None = None
) -> Html:
    """Return bars from left to right with their names above them, which leaves room for long names."""
    numbers = np.asarray(values, dtype=np.float64)
    largest = float(np.abs(numbers).max(initial=0.0)) or 1.0
    signed = bool((numbers < 0).any())
    room = WIDTH - 24 - LETTER * max((len(label) for label in labels), default=0)
    zero = 8 + (room / 2 if signed else 0.0)
    reach = room / 2 if signed else room
    parts: list[str] = []
    for i, (name, number, label) in enumerate(zip(names, numbers.tolist(), labels, strict=True)):
        top = 6 + 36 * i
        length = reach * abs(number) / largest
        color = colors[i] if colors is not None else ("b" if number < 0 else "a")
        left = float(zero - length if number < 0 else zero)
        parts.append(element("text", text(shortened(name, 48)) + element("title", text(name, 300)), x=8, y=top + 11))
        parts.append(element("rect", kind=f"f{color}", x=left, y=top + 16, width=max(length, 1.0), height=12, rx=2))
        parts.append(element("text", text(label), kind="soft", x=float(8 + room + 8), y=top + 26))
    return embedded(parts, 12 + 36 * len(numbers), title)


def _apart(axis: Axis, marks: list[tuple[float, str]]) -> list[tuple[float, str]]:
    """Leave out labels at equal steps if they would touch."""
    room = abs(axis.stop - axis.start) / max(1, len(marks))
    widest = max((len(label) for _, label in marks), default=0) * LETTER + 10
    return marks[:: max(1, math.ceil(widest / room))] if marks else marks
