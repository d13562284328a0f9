"""Kernels on strings: all substrings, whatever their length."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Array, Floats
from mercer.kernels.derivation import Derivation
from mercer.kernels.features import FeatureMap, Occurrence
from mercer.kernels.fields import positive, whole_or_none
from mercer.kernels.strings.engine.letters import Letters
from mercer.kernels.strings.engine.substrings import Table
from mercer.kernels.strings.engine.suffixes import substring_table
from mercer.kernels.strings.spectrum import SubstringKernel, whole_item


@dataclass(frozen=True, repr=False)
class AllSubstrings(SubstringKernel):
    """All common substrings, each weighed by its length.

    k(x, z) = sum over all substrings u of decay^|u| (count of u in x) (count of u in z), from the suffix array of the
    strings: time and memory do not grow with the lengths that are counted. An empty string has no substring: its values
    are 0.

    Parameters
    ----------
    decay : float > 0, default 0.5
        What each further letter multiplies the weight by; 1 counts all lengths alike.
    longest : int, optional
        Leave out substrings of more letters.

    >>> AllSubstrings(decay=1.0)(["abab", "ba"]).tolist()
    [[16.0, 5.0], [5.0, 3.0]]
    >>> from mercer import Spectrum
    >>> texts = ["abab", "ba", "bbb"]
    >>> bool(np.allclose(AllSubstrings(0.5, longest=2)(texts), (0.5 * Spectrum(1) + 0.25 * Spectrum(2))(texts)))
    True
    """

    decay: float = positive(0.5, keyword=False, free=False)
    longest: int | None = whole_or_none(None, at_least=1)

    def _weight(self, lengths: Array) -> Floats:
        """decay + decay^2 + … + decay^length."""
        counted = np.asarray(lengths if self.longest is None else np.minimum(lengths, self.longest))
        sums = np.concatenate([[0.0], np.cumsum(self.decay ** np.arange(1.0, counted.max(initial=0) + 1))])
        return np.asarray(sums[counted])

    def _feature_map(self, *terms: FeatureMap) -> FeatureMap:
        # columns are classes of substrings that occur at the same places, in this collection
        return dataclasses.replace(super()._feature_map(), stay=False)

    def _table(self, letters: Letters) -> Table:
        return substring_table(letters, self._weight)

    def _occurrences(self, item: Any) -> Iterator[Occurrence]:
        item = whole_item(item)
        for i in range(len(item)):
            for j in range(i + 1, min(len(item), i + (self.longest or len(item))) + 1):
                yield Occurrence(item[i:j], tuple(range(i, j)), self.decay ** ((j - i) / 2.0))

    def _derivation(self) -> Derivation:
        because = f"<phi(x), phi(z)> with phi_u(x) = {self.decay!r}^(|u|/2) times the count of u, for every substring u"
        return Derivation("explicit features", because)
