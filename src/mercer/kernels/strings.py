"""Kernels on strings: inner products of counts of substrings."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from mercer.inputs import Rows
from mercer.kernels.counts import CountKernel
from mercer.kernels.derivation import Derivation
from mercer.kernels.fields import flag, whole
from mercer.numeric.encodings import Counts, Encoding


@dataclass(frozen=True, repr=False)
class Spectrum(CountKernel):
    """The p-spectrum kernel: sum over all substrings u of length p of (count of u in x) (count of u in z).

    presence=True counts each substring once: the number of distinct common substrings of length p. Strings of any
    Unicode letters, or lists of tokens. A string shorter than p has no substring of length p: its values are 0.

    >>> Spectrum(p=2)(["abab", "ba"]).tolist()
    [[5.0, 1.0], [1.0, 1.0]]
    >>> Spectrum(p=2, presence=True)(["abab", "ba"]).tolist()
    [[2.0, 1.0], [1.0, 1.0]]
    """

    p: int = whole(3, at_least=1, keyword=False)
    presence: bool = flag(False)
    _domain = "strings"

    def _encode(self, rows: Rows) -> Encoding:
        key = ("spectrum", self.p, self.presence)
        return rows.remember(key, lambda: Counts.of([self._count(s) for s in rows.strings()]))

    def _count(self, s: Any) -> dict[Any, float]:
        found = Counter(s[i : i + self.p] for i in range(len(s) - self.p + 1))
        return dict.fromkeys(found, 1.0) if self.presence else dict(found)

    def _derivation(self) -> Derivation:
        what = "indicators" if self.presence else "counts"
        return Derivation("explicit features", f"<phi(x), phi(z)> with phi(x) the {what} of substrings of length {self.p}")
