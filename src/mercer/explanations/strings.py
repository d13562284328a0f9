"""The letters of a string and what each adds to a linear function of its substrings."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.errors import InputError
from mercer.explanations.result import Substring
from mercer.inputs import Graph
from mercer.kernels.base import Kernel
from mercer.kernels.features import Occurrence, Summand
from mercer.numeric.encodings import align

Text = str | tuple[Hashable, ...]

#: Training rows whose features are counted at a time.
CHUNK = 128


@dataclass(frozen=True)
class Letters:
    """The parts of sum_t <w_t, phi_t(x)>: of every letter, of every feature, and what belongs to no letter."""

    text: Text | Graph | None  # None: a term that does not look at letters; a graph has nodes for letters
    contributions: Floats  # (length,)
    base: float
    features: tuple[tuple[str, float, float, int], ...]  # name, contribution, weight, how often it occurs

    @property
    def total(self) -> float:
        """The sum of all parts."""
        return float(self.contributions.sum()) + self.base

    @property
    def size(self) -> float:
        """The sum of their absolute values, for judging rounding."""
        return float(sum(abs(part) for _, part, _, _ in self.features)) + abs(self.base)

    def plus(self, other: Letters, kernel: Kernel) -> Letters:
        """Both terms together; they have to look at the same string."""
        if None not in (self.text, other.text) and self.text != other.text:
            raise InputError(f"explain: {kernel} looks at another object than the terms before it; explain one at a time.")
        first, second = (self, other) if self.text is not None else (other, self)
        contributions = first.contributions if second.text is None else first.contributions + second.contributions
        return Letters(first.text, contributions, self.base + other.base, self.features + other.features)

    def substrings(self) -> tuple[Substring, ...]:
        """The features by what they add, largest first; features of the same name in several terms are one."""
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


def term_letters(known: Summand, here: Summand, coefficients: Floats) -> Letters:
    """One term: `known` on the training rows, `here` on the one string; coefficients (n,) of the rows."""
    kernel, factor = known.kernel, float(here.factor[0])
    if kernel._domain != "strings":
        base = _without_letters(known, here, coefficients)
        return Letters(None, np.zeros(0), base, ())
    text = here.rows.strings()[0]
    occurrences = list(kernel._occurrences(text) or ())
    if not occurrences:  # too short to hold a feature
        return Letters(text, np.zeros(len(text)), 0.0, ())
    number: dict[Hashable, int] = {}
    which = np.array([number.setdefault(one.feature, len(number)) for one in occurrences])
    weights = feature_weights(known, here, coefficients, list(number))
    parts = factor * np.array([one.weight for one in occurrences]) * weights[which]
    contributions = np.zeros(len(text))
    for one, part in zip(occurrences, parts.tolist(), strict=True):
        contributions[list(one.positions)] += part / len(one.positions)
    totals, counts = np.bincount(which, parts), np.bincount(which)
    names = [feature_text(occurrences[i], text) for i in np.unique(which, return_index=True)[1]]
    features = tuple(zip(names, totals.tolist(), weights.tolist(), counts.tolist(), strict=True))
    return Letters(text, contributions, 0.0, features)


def _without_letters(known: Summand, here: Summand, coefficients: Floats) -> float:
    """A term whose features belong to the object as a whole, such as a constant."""
    here_is = {one.feature: one.weight for one in known.kernel._occurrences(None) or ()}
    return float(here.factor[0] * sum(w * w for w in here_is.values()) * (coefficients @ known.factor))


def feature_weights(known: Summand, here: Summand, coefficients: Floats, wanted: list[Hashable]) -> Floats:
    """w_f = sum_i a_i g(x_i) phi_f(x_i) for the wanted features, those of the one string `here`."""
    a = coefficients * known.factor
    encoding = here.kernel._encode(here.rows)
    column = {name: i for i, name in enumerate(getattr(encoding, "names", ()))}
    if not all(feature in column for feature in wanted):  # its columns stand for several features at once
        return weights_by_occurrence(known, a, wanted)
    weights = np.zeros(len(column))
    for start in range(0, len(known.rows), CHUNK):
        rows = slice(start, min(start + CHUNK, len(known.rows)))
        # the features of the one string come in the same order whatever it is compared with, as it comes first
        mine, others = align(encoding, known.kernel._encode(known.rows.take(rows)))
        columns = np.unique(mine.matrix.indices)
        weights += others.matrix[:, columns].T @ a[rows]
    return np.array([weights[column[feature]] for feature in wanted])


def weights_by_occurrence(known: Summand, a: Floats, wanted: list[Hashable]) -> Floats:
    """The same from the places of features in every training row: slow, and for any kernel that names its features."""
    number = {feature: i for i, feature in enumerate(wanted)}
    weights = np.zeros(len(wanted))
    for factor, string in zip(a.tolist(), known.rows.strings(), strict=True):
        for one in known.kernel._occurrences(string) or ():
            at = number.get(one.feature)
            if at is not None:
                weights[at] += factor * one.weight
    return weights


def feature_text(one: Occurrence, text: Text) -> str:
    """The name of a feature for people: tokens have spaces between them, a feature of a place says which, from 1."""
    feature: Any = one.feature
    if isinstance(feature, str):
        return feature
    if len(one.positions) and feature == (one.positions[0], text[one.positions[0] : one.positions[-1] + 1]):
        return f"{_written(feature[1])}@{feature[0] + 1}"
    return _written(feature)


def _written(feature: Any) -> str:
    if isinstance(feature, tuple):
        return " ".join("·" if token is None else str(token) for token in feature)
    return str(feature)
