"""Pictures as SVG text: axes with round ticks, and a few marks. Colors are classes, so that a page can turn dark.

A picture is 360 units wide and its letters are a little more than 12 units high: on a phone that is their size in pixels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.report.document.html import Html, text
from mercer.report.document.numbers import human

WIDTH, HEIGHT = 360, 260

#: Mean width of a letter of 12 units, to keep words apart.
LETTER = 6.8


@dataclass(frozen=True)
class Axis:
    """A range of values on a range of places, linear or by logarithms."""

    low: float
    high: float
    start: float
    stop: float
    log: bool = False

    def __call__(self, values: Any) -> Floats:
        """Where values lie; those outside are drawn on the border."""
        given = np.asarray(values, dtype=np.float64)
        places = np.log10(np.maximum(given, 1e-300)) if self.log else given
        low, high = (math.log10(self.low), math.log10(self.high)) if self.log else (self.low, self.high)
        share = (places - low) / (high - low)
        return self.start + np.clip(np.nan_to_num(share), 0.0, 1.0) * (self.stop - self.start)

    def ticks(self, count: int = 5) -> list[float]:
        """Round values within the range."""
        if self.log:
            low, high = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
            found = [10.0**power for power in range(low, high + 1, max(1, math.ceil((high - low + 1) / count)))]
            return found if len(found) > 1 else [self.low, self.high]
        step = nice_step((self.high - self.low) / max(1, count))
        first = math.ceil(self.low / step - 1e-9)
        return [i * step for i in range(first, math.floor(self.high / step + 1e-9) + 1)]


def nice_step(rough: float) -> float:
    """The next of 1, 2, 5 times a power of ten.

    >>> nice_step(0.3), nice_step(7.0)
    (0.5, 10.0)
    """
    power = 10.0 ** math.floor(math.log10(rough)) if rough > 0 and math.isfinite(rough) else 1.0
    return next(factor * power for factor in (1.0, 2.0, 5.0, 10.0) if factor * power >= rough * (1 - 1e-9))


def limits(*values: Any, log: bool = False, margin: float = 0.04) -> tuple[float, float]:
    """The range of all finite values, a little widened; never empty."""
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
            self.parts.append(f'<line class="grid" x1="{x.start:.1f}" x2="{x.stop:.1f}" y1="{place:.1f}" y2="{place:.1f}"/>')
            self.label(x.start - 6, place + 4, label, "end", "soft")
        marks = list(x_ticks) if x_ticks is not None else _apart(x, [(tick, human(tick)) for tick in x.ticks()])
        for value, label in marks:
            place = float(x(value))
            self.parts.append(
                f'<line class="axis" x1="{place:.1f}" x2="{place:.1f}" y1="{y.start:.1f}" y2="{y.start + 4:.1f}"/>'
            )
            self.label(_inside(place, label), y.start + 17, label, "middle", "soft")
        self.parts.append(f'<line class="axis" x1="{x.start:.1f}" x2="{x.stop:.1f}" y1="{y.start:.1f}" y2="{y.start:.1f}"/>')
        if x_name:
            self.label((x.start + x.stop) / 2, self.height - 8, _short(x_name, 44), "middle")
        if y_name:
            self.label(4, 14, _short(y_name, 52), "start")

    # -- marks -------------------------------------------------------------------------------------------------------

    def label(self, x: float, y: float, words: str, anchor: str = "start", kind: str = "") -> None:
        """Words at a place of the picture, in its own units."""
        css = f' class="{kind}"' if kind else ""
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{css}>{text(words)}</text>')

    def points(self, x: Any, y: Any, color: str = "a", radius: float = 2.4, kind: str = "dot") -> None:
        """A dot for every pair, as one path: thousands of them stay small."""
        dots = "".join(
            f"M{px - radius:.1f} {py:.1f}a{radius} {radius} 0 1 0 {2 * radius} 0a{radius} {radius} 0 1 0 {-2 * radius} 0"
            for px, py in zip(self.x(x).tolist(), self.y(y).tolist(), strict=True)
        )
        self.parts.append(f'<path class="{kind} f{color}" d="{dots}"/>')

    def line(self, x: Any, y: Any, color: str = "a", kind: str = "stroke") -> None:
        """A line through points."""
        places = " ".join(f"{px:.1f},{py:.1f}" for px, py in zip(self.x(x).tolist(), self.y(y).tolist(), strict=True))
        self.parts.append(f'<polyline class="{kind} s{color}" points="{places}"/>')

    def rule(self, x: tuple[float, float], y: tuple[float, float]) -> None:
        """A dashed line from one point to another."""
        (x0, x1), (y0, y1) = self.x(x).tolist(), self.y(y).tolist()
        self.parts.append(f'<line class="rule" x1="{x0:.1f}" y1="{y0:.1f}" x2="{x1:.1f}" y2="{y1:.1f}"/>')

    def band(self, x: Any, low: Any, high: Any, color: str = "a") -> None:
        """The area between two lines."""
        there = list(zip(self.x(x).tolist(), self.y(high).tolist(), strict=True))
        back = list(zip(self.x(x).tolist(), self.y(low).tolist(), strict=True))[::-1]
        places = " ".join(f"{px:.1f},{py:.1f}" for px, py in there + back)
        self.parts.append(f'<polygon class="band f{color}" points="{places}"/>')

    def bars(self, low: Any, high: Any, value: Any, color: str = "a", kind: str = "") -> None:
        """Upright bars from the lower edge of the frame."""
        left, right, top = self.x(low).tolist(), self.x(high).tolist(), self.y(value).tolist()
        for a, b, y in zip(left, right, top, strict=True):
            self.box(a, y, max(0.5, b - a - 0.6), max(0.0, self.y.start - y), f"f{color} {kind}".strip())

    def whiskers(self, x: Any, low: Any, high: Any, color: str = "a") -> None:
        """An upright line for every interval."""
        for px, a, b in zip(self.x(x).tolist(), self.y(low).tolist(), self.y(high).tolist(), strict=True):
            self.parts.append(f'<line class="thin s{color}" x1="{px:.1f}" x2="{px:.1f}" y1="{a:.1f}" y2="{b:.1f}"/>')

    def box(self, x: float, y: float, width: float, height: float, kind: str, shade: float | None = None) -> None:
        """A rectangle at a place of the picture, in its own units."""
        opacity = "" if shade is None else f' fill-opacity="{shade:.2f}"'
        self.parts.append(
            f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"{opacity}/>'
        )

    def legend(self, entries: Sequence[tuple[str, str]]) -> None:
        """Names of colors, in one line at the top right."""
        place = WIDTH - 14.0
        for name, color in reversed(entries):
            place -= len(name) * LETTER
            self.label(place, 26, name, "start")
            place -= 14
            self.box(place, 17, 9, 9, f"f{color}")
            place -= 10

    def svg(self) -> Html:
        """The picture as text."""
        return wrap(self.parts, self.height, self.title)


def wrap(parts: Sequence[str], height: float, title: str) -> Html:
    """Marks as one picture with a title for those who cannot see it."""
    return Html(f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{text(title)}">{"".join(parts)}</svg>')


def horizontal_bars(
    names: Sequence[str], values: Any, labels: Sequence[str], title: str, colors: Sequence[str] | None = None
) -> Html:
    """Bars from left to right with their names above them, so that long names have room."""
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
        left = zero - length if number < 0 else zero
        parts.append(f'<text x="8" y="{top + 11}">{text(_short(name, 48))}<title>{text(name, 300)}</title></text>')
        parts.append(
            f'<rect class="f{color}" x="{left:.1f}" y="{top + 16}" width="{max(length, 1.0):.1f}" height="12" rx="2"/>'
        )
        parts.append(f'<text class="soft" x="{8 + room + 8:.1f}" y="{top + 26}">{text(label)}</text>')
    return wrap(parts, 12 + 36 * len(numbers), title)


def _apart(axis: Axis, marks: list[tuple[float, str]]) -> list[tuple[float, str]]:
    """Every second label where they would touch."""
    room = abs(axis.stop - axis.start) / max(1, len(marks))
    widest = max((len(label) for _, label in marks), default=0) * LETTER + 10
    return marks[:: max(1, math.ceil(widest / room))] if marks else marks


def _inside(place: float, label: str) -> float:
    """A middle for a label such that it stays within the picture."""
    half = len(label) * LETTER / 2
    return min(place, WIDTH - 2 - half)


def _short(words: str, longest: int) -> str:
    return words if len(words) <= longest else f"{words[: longest - 1]}…"
