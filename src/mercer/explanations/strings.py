"""Explanations of predictions on strings: contributions of letters and substrings, as text and HTML."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.errors import InputError, plural
from mercer.kernels.base import Kernel
from mercer.kernels.features import Occurrence, Summand
from mercer.markup.html import text as escaped
from mercer.markup.svg import contribution_color
from mercer.numeric.encodings import align

Text = str | tuple[Hashable, ...]

#: From a term on the training rows, on the explained object, coefficients (n,) and features to the weights of the features.
Weigh = Callable[[Summand, Summand, Floats, list[Hashable]], Floats]

#: Training rows whose features are counted at a time.
CHUNK = 128


@dataclass(frozen=True)
class Contributions:
    """The sum over terms <w_t, phi_t(x)>, split by position (letter or node) and by feature."""

    text: Any  # str, tuple of tokens, Graph or Molecule; None: a term that is not about parts of the object
    contributions: Floats  # (length,) of letters, nodes or atoms
    base: float  # constants
    features: tuple[tuple[str, float, float, int], ...]  # name, contribution, weight, how often it occurs
    whole: float = 0.0  # of properties of the object as a whole, such as descriptors of a molecule

    @property
    def total(self) -> float:
        """Sum of all contributions."""
        return float(self.contributions.sum()) + self.base + self.whole

    @property
    def size(self) -> float:
        """Sum of the absolute contributions of features, as the scale of rounding errors."""
        return float(sum(abs(part) for _, part, _, _ in self.features)) + abs(self.base) + abs(self.whole)

    def times(self, factor: float) -> Contributions:
        """Return all contributions and weights times a number."""
        features = tuple((name, factor * part, factor * weight, count) for name, part, weight, count in self.features)
        return replace(
            self, contributions=factor * self.contributions, base=factor * self.base, features=features,
            whole=factor * self.whole,
        )  # fmt: skip

    def plus(self, other: Contributions, kernel: Kernel) -> Contributions:
        """Return the sum of two terms, which must be about the same object."""
        both = self.text is not None and other.text is not None
        if both and (type(self.text) is not type(other.text) or self.text != other.text):
            raise InputError(
                f"explain: {kernel} is about another object than the terms before it; explain one object at a time."
            )
        first, second = (self, other) if self.text is not None else (other, self)
        contributions = first.contributions if second.text is None else first.contributions + second.contributions
        return Contributions(
            first.text, contributions, self.base + other.base, self.features + other.features, self.whole + other.whole
        )

    def substrings(self) -> tuple[Substring, ...]:
        """Return the features by size of contribution, largest first; equal names in several terms are added up."""
        merged: dict[str, Substring] = {}
        for name, contribution, weight, count in self.features:
            old = merged.get(name)
            merged[name] = Substring(
                name,
                contribution + (old.contribution if old else 0.0),
                weight + (old.weight if old else 0.0),
                max(count, old.count if old else 0),
            )
        return tuple(sorted(merged.values(), key=lambda one: (-abs(one.contribution), one.name)))


def term_letters(known: Summand, here: Summand, coefficients: Floats, weigh: Weigh | None = None) -> Contributions:
    """Return the contributions to one term of the kernel.

    `known` is the term on the training rows, `here` on the explained string, `coefficients` (n,) belong to the rows.
    """
    kernel, factor = known.kernel, float(here.factor[0])
    text = here.rows.strings()[0]
    occurrences = list(kernel.occurrences(text) or ())
    if not occurrences:  # too short to contain a feature
        return Contributions(text, np.zeros(len(text)), 0.0, ())
    number: dict[Hashable, int] = {}
    which = np.array([number.setdefault(one.feature, len(number)) for one in occurrences])
    weights = (weigh or feature_weights)(known, here, coefficients, list(number))
    parts = factor * np.array([one.weight for one in occurrences]) * weights[which]
    contributions = np.zeros(len(text))
    for one, part in zip(occurrences, parts.tolist(), strict=True):
        contributions[list(one.positions)] += part / len(one.positions)
    totals, counts = np.bincount(which, parts), np.bincount(which)
    names = [feature_text(occurrences[i], text) for i in np.unique(which, return_index=True)[1]]
    features = tuple(zip(names, totals.tolist(), weights.tolist(), counts.tolist(), strict=True))
    return Contributions(text, contributions, 0.0, features)


def term_constant(known: Summand, here: Summand, coefficients: Floats) -> Contributions:
    """Return the value of a term whose features belong to the whole object, such as a constant."""
    here_is = {one.feature: one.weight for one in known.kernel.occurrences(None) or ()}
    base = float(here.factor[0] * sum(w * w for w in here_is.values()) * (coefficients @ known.factor))
    return Contributions(None, np.zeros(0), base, ())


def feature_weights(known: Summand, here: Summand, coefficients: Floats, wanted: list[Hashable]) -> Floats:
    """Return w_f = sum_i a_i g(x_i) phi_f(x_i) for the wanted features, those of the explained string `here`."""
    a = coefficients * known.factor
    encoding = here.kernel.encode(here.rows)
    column = {name: i for i, name in enumerate(encoding.names)}
    if not all(feature in column for feature in wanted):  # a column can stand for several features
        return weights_by_occurrence(known, a, wanted)
    weights = np.zeros(len(column))
    for start in range(0, len(known.rows), CHUNK):
        rows = slice(start, min(start + CHUNK, len(known.rows)))
        # the explained string comes first, therefore its features have the same columns in every chunk
        mine, others = align(encoding, known.kernel.encode(known.rows.take(rows)))
        columns = np.unique(mine.matrix.indices)
        weights += others.matrix[:, columns].T @ a[rows]
    return np.array([weights[column[feature]] for feature in wanted])


def weights_by_occurrence(known: Summand, a: Floats, wanted: list[Hashable]) -> Floats:
    """Return the same weights from the features of every training row: slower, for any kernel that names its features."""
    number = {feature: i for i, feature in enumerate(wanted)}
    weights = np.zeros(len(wanted))
    for factor, string in zip(a.tolist(), known.rows.strings(), strict=True):
        for one in known.kernel.occurrences(string) or ():
            at = number.get(one.feature)
            if at is not None:
                weights[at] += factor * one.weight
    return weights


def feature_text(one: Occurrence, text: Text) -> str:
    """Return the printed name of a feature: tokens separated by spaces, with @ and the position (from 1) if it has one."""
    feature: Any = one.feature
    if isinstance(feature, str):
        return feature
    placed = len(one.positions) and isinstance(feature, tuple) and len(feature) == 2 and isinstance(feature[0], int)
    if placed and feature[1] == text[one.positions[0] : one.positions[-1] + 1]:
        return f"{_written(feature[1])}@{feature[0] + 1}"
    return _written(feature)


def _written(feature: Any) -> str:
    if isinstance(feature, tuple):
        return " ".join("·" if token is None else str(token) for token in feature)
    return str(feature)


#: Substrings printed by default.
SHOWN = 10


@dataclass(frozen=True)
class Substring:
    """A feature of the explained string: its contribution, its weight in the model, and its number of occurrences."""

    name: str
    contribution: float
    weight: float
    count: int


@dataclass(frozen=True, eq=False)
class StringExplanation:
    """One decision as a sum: intercept + contributions.sum() == value.

    Attributes
    ----------
    text : the string, or the tuple of tokens
    contributions : (length,) array, the contribution of each letter
    value : the decision value; positive values support `label`
    intercept : the intercept of the model plus the constant terms of its kernel
    substrings : tuple of Substring, by size of contribution
    label : what was explained, such as "class 'spam'"
    """

    text: str | tuple[Hashable, ...] | None
    contributions: Floats
    value: float
    intercept: float
    substrings: tuple[Substring, ...]
    label: str

    def top(self, n: int = SHOWN) -> tuple[Substring, ...]:
        """Return the n substrings with the largest contributions of either sign."""
        return self.substrings[:n]

    def __str__(self) -> str:
        return "\n".join([self._head(), *self._marked(), *self._rows(), f"  {LEGEND}"])

    def _repr_html_(self) -> str:
        return self.html()

    def html(self) -> str:
        """Return HTML: letters colored by their contribution, and a table of substrings."""
        return colored(self._head(), self.text or "", self.contributions, self.top())

    def _head(self) -> str:
        letters = float(self.contributions.sum())
        unit = "letters" if isinstance(self.text, str) else "tokens"
        return (
            f"{self.label}: decision {self.value:.3g} = {self.intercept:.3g} (intercept) {'-' if letters < 0 else '+'} "
            f"{abs(letters):.3g} ({len(self.contributions)} {unit})"
        )

    def _marked(self) -> list[str]:
        return [f"  {line}" for line in marked(self.text or "", self.contributions)]

    def _rows(self) -> list[str]:
        return [f"  {line}" for line in table(self.top())]


#: Shares of the largest contribution from which a letter gets a weak mark, and a strong one.
WEAK, STRONG = 0.25, 0.6
LEGEND = "# and + mark positive, = and - negative contributions"
#: Width of marked text, in columns.
WIDTH = 60


def marked(text: str | tuple[Hashable, ...], parts: Floats) -> list[str]:
    """Return lines of text, each with the number of its first letter before it and a line of marks below it."""
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
    """Return one line per substring: its name, its contribution, and its number of occurrences."""
    names = ["".join(shown(letter) for letter in visible(one.name)) for one in substrings]
    width = max((_columns(name) for name in names), default=0)
    numbers = [signed(one.contribution) for one in substrings]
    wide = max((len(number) for number in numbers), default=0)
    return [
        f"{name}{' ' * (width - _columns(name))}  {number:>{wide}} ({plural(one.count, 'time')})"
        for name, number, one in zip(names, numbers, substrings, strict=True)
    ]


def colored(head: str, text: str | tuple[Hashable, ...], parts: Floats, substrings: Sequence[Substring]) -> str:
    """Return an HTML fragment: every letter on its color, its contribution as a tooltip, and a table of substrings."""
    largest = float(np.abs(parts).max(initial=0.0)) or 1.0
    gap = "" if isinstance(text, str) else " "
    letters = gap.join(_span(str(piece), part, largest) for piece, part in zip(text, parts.tolist(), strict=True))
    middle = f"<p style='font-family:monospace;white-space:pre-wrap;overflow-wrap:anywhere'>{letters}</p>"
    rows = [(visible(one.name), one.contribution, one.weight, one.count) for one in substrings]
    return explanation_fragment(head, middle, "substring", rows)


def explanation_fragment(head: str, middle: str, what: str, rows: Iterable[tuple[str, float, float, int]]) -> str:
    """Return the HTML of an explanation: a line of text, a picture or colored text, and a table of features."""
    body = "".join(
        f"<tr><td><code>{escaped(name)}</code></td>"
        + "".join(f"<td style='text-align:right'>{cell}</td>" for cell in (signed(contribution), signed(weight), count))
        + "</tr>"
        for name, contribution, weight, count in rows
    )
    header = f"<th style='text-align:left'>{what}</th><th>contribution</th><th>weight</th><th>times</th>"
    table = f"<table><thead><tr>{header}</tr></thead><tbody>{body}</tbody></table>"
    return f"<div class='mercer-explanation'><p>{escaped(head)}</p>{middle}{table}</div>"


def _span(piece: str, part: float, largest: float) -> str:
    if abs(part) / largest < 0.02:
        return escape(piece)
    return f"<span style='background:{contribution_color(part, largest)}' title='{signed(part)}'>{escape(piece)}</span>"


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
    """Return a number with its sign and three decimals, or in scientific notation if it is small."""
    return f"{value:+.3f}" if abs(value) >= 5e-4 else ("0.000" if abs(value) < 1e-12 else f"{value:+.1e}")


def shown(letter: str) -> str:
    """Return a printable letter: combining marks on a dotted circle, other invisible characters as a dot."""
    if unicodedata.combining(letter):
        return f"\u25cc{letter}"
    return letter if letter.isprintable() else "\u00b7"


def visible(name: str) -> str:
    """Return a name with visible spaces at both ends."""
    inner = name.strip(" ")
    if not inner:
        return "\u2423" * len(name)
    before = len(name) - len(name.lstrip(" "))
    return "\u2423" * before + inner + "\u2423" * (len(name) - before - len(inner))


def _word(token: Hashable) -> str:
    return "".join(shown(letter) for letter in str(token)) or "\u00b7"


def _columns(cell: str) -> int:
    """Return the width of a text in columns of a terminal."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in cell)
    return len(cell) + wide - sum(bool(unicodedata.combining(letter)) for letter in cell)


def _broken(cells: list[str], gap: int) -> list[tuple[int, int]]:
    """Return the lines as (start, stop) ranges of cells that fit into the width."""
    lines, start, used = [], 0, 0
    for i, cell in enumerate(cells):
        needed = _columns(cell) + (gap if i > start else 0)
        if i > start and used + needed > WIDTH:
            lines.append((start, i))
            start, used, needed = i, 0, _columns(cell)
        used += needed
    return [*lines, (start, len(cells))] if cells else lines
