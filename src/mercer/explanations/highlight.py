"""Letters with marks for what they add: plain text (no terminal codes) and HTML (everything escaped)."""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from mercer.arrays import Floats

if TYPE_CHECKING:
    from mercer.explanations.result import Substring

#: Shares of the largest part from which a letter gets a mark, and a strong one.
WEAK, STRONG = 0.25, 0.6
LEGEND = "# and + speak for it, = and - against it"
#: Columns of marked text.
WIDTH = 60
#: Blue speaks for, vermillion against: two colors that all eyes tell apart.
FOR, AGAINST = "0,114,178", "213,94,0"


def marked(text: str | tuple[Hashable, ...], parts: Floats) -> list[str]:
    """Lines of text, each with a line of marks below it; the number of its first letter stands before each."""
    cells = [shown(letter) for letter in text] if isinstance(text, str) else [_word(token) for token in text]
    marks, lines = _marks(parts), []
    digits = len(str(max(len(cells), 1)))
    for start, stop in _broken(cells, 0 if isinstance(text, str) else 1):
        gap = "" if isinstance(text, str) else " "
        above = gap.join(cells[start:stop])
        below = gap.join(marks[i] * _columns(cells[i]) for i in range(start, stop)).rstrip()
        lines.append(f"{start + 1:>{digits}} {above}")
        if below:
            lines.append(f"{'':>{digits}} {below}")
    return lines


def table(substrings: Sequence[Substring]) -> list[str]:
    """One line per substring: its name, what it adds, how often it occurs."""
    names = ["".join(shown(letter) for letter in visible(one.name)) for one in substrings]
    width = max((_columns(name) for name in names), default=0)
    numbers = [signed(one.contribution) for one in substrings]
    wide = max((len(number) for number in numbers), default=0)
    return [
        f"{name}{' ' * (width - _columns(name))}  {number:>{wide}} ({one.count} time{'s' if one.count != 1 else ''})"
        for name, number, one in zip(names, numbers, substrings, strict=True)
    ]


def colored(head: str, text: str | tuple[Hashable, ...], parts: Floats, substrings: Sequence[Substring]) -> str:
    """A fragment of HTML: every letter on its color, its number on hovering, and the table of substrings below."""
    largest = float(np.abs(parts).max(initial=0.0)) or 1.0
    gap = "" if isinstance(text, str) else " "
    letters = gap.join(_span(str(piece), part, largest) for piece, part in zip(text, parts.tolist(), strict=True))
    rows = "".join(_row(one) for one in substrings)
    return (
        f"<div class='mercer-explanation'><p>{html.escape(head)}</p>"
        f"<p style='font-family:monospace;white-space:pre-wrap;overflow-wrap:anywhere'>{letters}</p>"
        "<table><thead><tr><th style='text-align:left'>substring</th><th>adds</th><th>weight</th><th>times</th></tr></thead>"
        f"<tbody>{rows}</tbody></table></div>"
    )


def _row(one: Substring) -> str:
    numbers = (signed(one.contribution), signed(one.weight), str(one.count))
    cells = "".join(f"<td style='text-align:right'>{number}</td>" for number in numbers)
    return f"<tr><td><code>{html.escape(visible(one.name))}</code></td>{cells}</tr>"


def _span(piece: str, part: float, largest: float) -> str:
    strength = abs(part) / largest
    if strength < 0.02:
        return html.escape(piece)
    color = FOR if part > 0 else AGAINST
    return f"<span style='background:rgba({color},{strength:.2f})' title='{signed(part)}'>{html.escape(piece)}</span>"


def _marks(parts: Floats) -> list[str]:
    largest = float(np.abs(parts).max(initial=0.0)) or 1.0
    return [_mark(part / largest) for part in parts.tolist()]


def _mark(share: float) -> str:
    if abs(share) < WEAK:
        return " "
    if share > 0:
        return "#" if share >= STRONG else "+"
    return "=" if share <= -STRONG else "-"


def signed(value: float) -> str:
    """A number with its sign, as short as it can be read."""
    return f"{value:+.3f}" if abs(value) >= 5e-4 else ("0.000" if abs(value) < 1e-12 else f"{value:+.1e}")


def shown(letter: str) -> str:
    """A letter as it can stand in a line: what has no shape of its own is given one."""
    if unicodedata.combining(letter):
        return f"\u25cc{letter}"
    return letter if letter.isprintable() else "\u00b7"


def visible(name: str) -> str:
    """A name whose spaces at both ends can be seen."""
    inner = name.strip(" ")
    if not inner:
        return "\u2423" * len(name)
    before = len(name) - len(name.lstrip(" "))
    return "\u2423" * before + inner + "\u2423" * (len(name) - before - len(inner))


def _word(token: Hashable) -> str:
    return "".join(shown(letter) for letter in str(token)) or "\u00b7"


def _columns(cell: str) -> int:
    """How many columns of a terminal a text takes."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in cell)
    return len(cell) + wide - sum(bool(unicodedata.combining(letter)) for letter in cell)


def _broken(cells: list[str], gap: int) -> list[tuple[int, int]]:
    """Where to break lines: (start, stop) of cells that fit the width together."""
    lines, start, used = [], 0, 0
    for i, cell in enumerate(cells):
        needed = _columns(cell) + (gap if i > start else 0)
        if i > start and used + needed > WIDTH:
            lines.append((start, i))
            start, used, needed = i, 0, _columns(cell)
        used += needed
    return [*lines, (start, len(cells))] if cells else lines
