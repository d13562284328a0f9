"""What a whole model on strings, graphs or molecules has learned: weights of features, and contributions by place."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.errors import InputError, plural
from mercer.explanations.objects import ObjectParts
from mercer.explanations.strings import shown, signed, visible, weights_by_occurrence
from mercer.kernels.features import Summand
from mercer.markup.html import text
from mercer.markup.svg import element, standalone

#: Training rows whose contributions are averaged, and the seed that draws them.
SAMPLED, SEED = 200, 0

#: Features printed by default.
SHOWN = 15

#: Places of a profile that are drawn, and the height of the picture.
DRAWN, HEIGHT = 120, 150


@dataclass(frozen=True)
class Motif:
    """A feature of a model: its weight, the spread of its contributions over rows, and the share of rows that have it."""

    name: str
    weight: float
    spread: float
    share: float


@dataclass(frozen=True, eq=False)
class ModelExplanation:
    """The features on which the decisions of a model depend most.

    Attributes
    ----------
    motifs : tuple of Motif, by the standard deviation of their contributions over the rows
    profile : (places, letters) array for strings: the mean contribution of a letter at a place over the rows, 0 where a
        string has another letter; the sum over all is the mean decision minus the intercept. Empty for other objects
    letters : the letters or tokens of the columns of `profile`
    intercept : the intercept of the model plus the constant terms of its kernel, as a mean over the rows
    rows : number of training rows over which means and spreads are taken
    label : what was explained, such as "class 'acceptor'"
    """

    motifs: tuple[Motif, ...]
    profile: Floats
    letters: tuple[Hashable, ...]
    intercept: float
    rows: int
    label: str

    def top(self, n: int = SHOWN) -> tuple[Motif, ...]:
        """Return the n features with the largest spread of contributions."""
        return self.motifs[:n]

    def places(self) -> Floats:  # (places,)
        """Return the mean absolute contribution of each place."""
        return np.abs(self.profile).sum(axis=1)

    def __str__(self) -> str:
        return "\n".join([self._head(), *self._table(), *self._strongest()])

    def _repr_html_(self) -> str:
        return self.html()

    def html(self) -> str:
        """Return HTML: the picture of the profile, if there is one, and a table of features."""
        body = "".join(
            f"<tr><td><code>{text(visible(one.name))}</code></td>"
            + "".join(f"<td style='text-align:right'>{cell}</td>" for cell in _cells(one))
            + "</tr>"
            for one in self.top()
        )
        header = "<th style='text-align:left'>feature</th><th>weight</th><th>spread</th><th>rows</th>"
        table = f"<table><thead><tr>{header}</tr></thead><tbody>{body}</tbody></table>"
        return f"<div class='mercer-explanation'><p>{text(self._head())}</p>{self.svg()}{table}</div>"

    def svg(self, width: int = 720) -> str:
        """Return the profile as letters: height is the mean contribution, above the line positive, below it negative."""
        return logo(self.profile, self.letters, width) if self.profile.size else ""

    def _head(self) -> str:
        return f"{self.label}: {plural(len(self.motifs), 'feature')} in {plural(self.rows, 'training row')}"

    def _table(self) -> list[str]:
        names = ["".join(shown(letter) for letter in visible(one.name)) for one in self.top()]
        width = max((len(name) for name in [*names, "feature"]), default=0)
        lines = [f"  {'feature':<{width}}  {'weight':>9}  {'spread':>9}  rows"]
        for name, one in zip(names, self.top(), strict=True):
            weight, spread, share = _cells(one)
            lines.append(f"  {name:<{width}}  {weight:>9}  {spread:>9}  {share}")
        return lines

    def _strongest(self) -> list[str]:
        if not self.profile.size:
            return []
        size = self.places()
        order = np.sort(np.argsort(-size, kind="stable")[:5])
        return ["  places with the largest contributions: " + ", ".join(f"{i + 1} ({size[i]:.3g})" for i in order.tolist())]


def _cells(one: Motif) -> tuple[str, str, str]:
    return signed(one.weight), signed(one.spread).lstrip("+"), f"{100 * one.share:.0f} %"


class KnownFeatures:
    """Weights of features from the table of all training rows, which is made once for many explained objects."""

    def __init__(self) -> None:
        self._kept: dict[int, tuple[Summand, dict[Hashable, int], Any]] = {}

    def __call__(self, known: Summand, here: Summand, coefficients: Floats, wanted: list[Hashable]) -> Floats:
        """Return w_f = sum_i a_i g(x_i) phi_f(x_i); features of no training row have weight 0."""
        own = known.kernel.features
        assert own is not None  # a kernel whose features have places has features
        named = set(own.names(known.kernel.encode(here.rows)))
        if not named.issuperset(wanted):  # a column can stand for several features
            return weights_by_occurrence(known, coefficients * known.factor, wanted)
        _, column, by_feature = self._table(known)
        places = np.array([column.get(feature, -1) for feature in wanted])
        weights = np.zeros(len(wanted))
        weights[places >= 0] = by_feature[places[places >= 0]] @ (coefficients * known.factor)
        return weights

    def _table(self, known: Summand) -> tuple[Summand, dict[Hashable, int], Any]:
        key = hash((known.kernel, id(known.rows)))
        if key not in self._kept:
            features = known.kernel.features
            assert features is not None
            encoding = known.kernel.encode(known.rows)
            names = {name: i for i, name in enumerate(features.names(encoding))}
            self._kept[key] = known, names, features.matrix(encoding, True).T.tocsr()
        return self._kept[key]


def sampled(n: int) -> Any:
    """Return the numbers of the training rows over which contributions are averaged."""
    if n <= SAMPLED:
        return np.arange(n)
    return np.sort(np.random.default_rng(SEED).choice(n, size=SAMPLED, replace=False))


def summary(parts: Callable[[int], tuple[ObjectParts, float]], rows: Sequence[int], label: str) -> ModelExplanation:
    """Return the explanation of a model; `parts(i)` are the parts of its decision at training row i, and the intercept."""
    if not len(rows):
        raise InputError("explain: the model has no training rows with a coefficient; there are no features to list.")
    sums: dict[str, list[float]] = {}
    texts, contributions, base = [], [], 0.0
    for row in rows:
        found, intercept = parts(row)
        base += intercept + found.letters.base
        texts.append(found.letters.text)
        contributions.append(found.letters.contributions)
        for one in found.letters.substrings():
            entry = sums.setdefault(one.name, [0.0, 0.0, 0.0, 0.0])
            for place, value in enumerate((1.0, one.weight, one.contribution, one.contribution**2)):
                entry[place] += value
    n = len(rows)
    motifs = [
        Motif(name, weight / count, max(squares / n - (total / n) ** 2, 0.0) ** 0.5, count / n)
        for name, (count, weight, total, squares) in sums.items()
    ]
    motifs.sort(key=lambda one: (-one.spread, one.name))
    strings = all(isinstance(one, (str, tuple)) for one in texts)
    profile, letters = _profile(texts, contributions) if strings else (np.zeros((0, 0)), ())
    return ModelExplanation(tuple(motifs), profile, letters, base / n, n, label)


def _profile(texts: list[Any], contributions: list[Floats]) -> tuple[Floats, tuple[Hashable, ...]]:
    letters = sorted({letter for one in texts for letter in one}, key=str)
    number = {letter: i for i, letter in enumerate(letters)}
    profile = np.zeros((max(map(len, texts), default=0), len(letters)))
    for one, parts in zip(texts, contributions, strict=True):
        columns = [number[letter] for letter in one]
        profile[np.arange(len(one)), columns] += parts / len(texts)  # a place has one letter
    return profile, tuple(letters)


def logo(profile: Floats, letters: tuple[Hashable, ...], width: int) -> str:
    """Return stacked letters per place; beyond DRAWN places, bars of neighboring places together."""
    if len(profile) > DRAWN:
        parts = np.array_split(profile.sum(axis=1), DRAWN)
        profile, letters = np.array([[part.sum()] for part in parts]), ("",)
    up, down = np.maximum(profile, 0.0).sum(axis=1), np.maximum(-profile, 0.0).sum(axis=1)
    scale = (HEIGHT - 30) / (float(up.max(initial=0.0) + down.max(initial=0.0)) or 1.0)
    zero, step = 8 + float(up.max(initial=0.0)) * scale, (width - 16) / len(profile)
    drawn: list[str] = [element("line", x1=8, x2=width - 8, y1=zero, y2=zero, stroke="#777")]
    for place, heights in enumerate(profile * scale):
        for sign in (1.0, -1.0):
            edge = zero
            for column in np.argsort(np.abs(heights), kind="stable").tolist():
                size = sign * float(heights[column])
                if size > 0.5:
                    top = edge - size if sign > 0 else edge
                    drawn.append(_glyph(str(letters[column]), 8 + place * step, top, step, size, sign))
                    edge = top if sign > 0 else edge + size
    every = max(1, -(-len(profile) // 12))
    for place in range(0, len(profile), every):
        label = {"x": 8 + (place + 0.5) * step, "y": float(HEIGHT - 4), "text_anchor": "middle", "font_size": 9}
        drawn.append(element("text", str(place + 1), **label))
    return standalone(drawn, width, HEIGHT)


def _glyph(letter: str, x: float, y: float, width: float, height: float, sign: float) -> str:
    """Return a letter stretched to a box, or a bar if the box is narrow or there is no letter."""
    color = "rgb(0,114,178)" if sign > 0 else "rgb(213,94,0)"
    if not letter.strip() or width < 4 or len(letter) > 1:
        tip = element("title", text(letter)) if letter else ""
        return element("rect", tip, x=x, y=y, width=max(width - 1, 0.5), height=height, fill=color)
    place = f"translate({x + width / 2:.1f} {y + height:.1f}) scale({width / 8:.3f} {height / 8.2:.3f})"
    return element("text", text(letter), transform=place, text_anchor="middle", fill=color, font_weight="bold")
