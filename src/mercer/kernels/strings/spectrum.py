"""Kernels on strings: inner products of counts of substrings of given lengths."""

from __future__ import annotations

import abc
from collections import Counter
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any

from mercer.errors import InputError
from mercer.inputs import Rows
from mercer.kernels.base import Derivation
from mercer.kernels.counting.profile import CountingRecipe, CountKernel, DirectProducts, Profile
from mercer.kernels.counting.table import FeatureTable, present, scaled, side_by_side
from mercer.kernels.features import Occurrence
from mercer.kernels.fields import flag, one_or_more, whole, whole_or_none
from mercer.kernels.strings.letters import Letters, letters_of
from mercer.kernels.strings.substrings import COMPLEMENT, complements, masked_table
from mercer.numeric.encodings import Encoding

#: The most lengths of substrings that a blended spectrum counts.
MOST_LENGTHS = 10_000


class SubstringKernel(CountKernel):
    """Abstract: the inner product of explicit features of a string, which `_table` counts for many strings at once."""

    domain = "strings"
    _quiet = ("reverse_complement",)

    def _encode(self, rows: Rows) -> Encoding:
        return rows.remember(("profile", self), lambda: Profile(letters_of(rows), CountingRecipe(self._table, self._direct)))

    @abc.abstractmethod
    def _table(self, letters: Letters) -> FeatureTable:
        """phi(x) of every string."""

    def _direct(self, letters: Letters) -> DirectProducts | None:
        """Products without the table, for kernels with many more features than windows."""
        return None


def whole_item(item: Any) -> Any:
    """Return one object as a str or a tuple of tokens, whose parts can be keys."""
    return item if isinstance(item, str) else tuple(item)


def canonical(u: Any) -> Any:
    """Return a substring of DNA or its reverse complement, whichever comes first in the alphabet."""
    turned = [COMPLEMENT[letter] for letter in reversed(u)]
    return min(u, "".join(turned) if isinstance(u, str) else tuple(turned))


@dataclass(frozen=True, repr=False)
class Spectrum(SubstringKernel):
    """The p-spectrum kernel: sum over all substrings u of length p of (count of u in x) (count of u in z).

    Strings of any Unicode letters (a letter is a code point), or lists of tokens. Every letter counts, an N of DNA like
    any other. A string shorter than p has no substring of length p: its values are 0.

    Parameters
    ----------
    p : int, default 3
        The length of the substrings.
    presence : bool, default False
        Count each substring once per string: the number of distinct common substrings of length p.
    shortest : int, optional
        Take all lengths from `shortest` to p (the blended spectrum): the sum of the kernels of each length.
    weights : sequence of numbers >= 0, optional
        One weight for each length from `shortest` to p; 1 for all if not given.
    reverse_complement : bool, default False
        For DNA whose strand is unknown: a substring and its reverse complement are one feature.

    >>> Spectrum(p=2)(["abab", "ba"]).tolist()
    [[5.0, 1.0], [1.0, 1.0]]
    >>> Spectrum(p=2, presence=True)(["abab", "ba"]).tolist()
    [[2.0, 1.0], [1.0, 1.0]]
    >>> blended = Spectrum(p=2, shortest=1, weights=(0.5, 1.0))
    >>> bool(abs(blended(["abab", "ba"]) - (0.5 * Spectrum(1) + Spectrum(2))(["abab", "ba"])).max() < 1e-12)
    True
    """

    p: int = whole(3, at_least=1, keyword=False)
    presence: bool = flag(False)
    shortest: int | None = whole_or_none(None, at_least=1)
    weights: tuple[float, ...] | None = one_or_more(None)
    reverse_complement: bool = flag(False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.shortest is not None and self.shortest > self.p:
            raise InputError(f"Spectrum: shortest must be at most p = {self.p}; got {self.shortest}.")
        if len(self._lengths) > MOST_LENGTHS:
            raise InputError(f"Spectrum: p - shortest must be less than {MOST_LENGTHS}; got {self.p - self._lengths.start}.")
        if self.weights is not None and len(self.weights) != len(self._lengths):
            raise InputError(
                f"Spectrum: weights has {len(self.weights)} entries for the lengths {self._lengths.start} … {self.p}; "
                "give one per length."
            )

    @property
    def _lengths(self) -> range:
        return range(self.p if self.shortest is None else self.shortest, self.p + 1)

    def _roots(self) -> list[tuple[int, float]]:
        """Every length that counts, with the root of its weight."""
        weights = self.weights or (1.0,) * len(self._lengths)
        return [(length, weight**0.5) for length, weight in zip(self._lengths, weights, strict=True)]

    def _table(self, letters: Letters) -> FeatureTable:
        letters, opposite = complements(letters) if self.reverse_complement else (letters, None)
        parts = []
        for given, root in self._roots():
            length = letters.capped(given)
            part = masked_table(letters, tuple(range(length)), length, opposite)
            parts.append(scaled(present(part) if self.presence else part, root))
            if length < given:  # longer than all strings, as all further lengths are
                break
        return side_by_side(parts)

    def _occurrences(self, item: Any) -> Iterator[Occurrence]:
        item = whole_item(item)
        for length, root in self._roots():
            found: list[Hashable] = [item[i : i + length] for i in range(len(item) - length + 1)]
            if self.reverse_complement:
                found = [canonical(u) for u in found]
            count = Counter(found) if self.presence else {}
            for i, u in enumerate(found):
                yield Occurrence(u, tuple(range(i, i + length)), root / count.get(u, 1))

    def _derivation(self) -> Derivation:
        what = "indicators" if self.presence else "counts"
        lengths = f"{self._lengths.start} … {self.p}, weighted" if len(self._lengths) > 1 else f"{self.p}"
        strands = ", each merged with its reverse complement" if self.reverse_complement else ""
        because = f"<phi(x), phi(z)> with phi(x) the {what} of substrings of length {lengths}{strands}"
        return Derivation("explicit features", because)
