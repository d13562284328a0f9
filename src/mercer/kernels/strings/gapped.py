"""Kernels on strings: substrings with free places, and substrings up to some wrong letters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from mercer.errors import InputError
from mercer.inputs import Rows
from mercer.kernels.base import Derivation, Kernel
from mercer.kernels.counting.table import FeatureTable, side_by_side
from mercer.kernels.features import Occurrence
from mercer.kernels.fields import alphabet, flag, whole
from mercer.kernels.strings.letters import Letters, letters_of
from mercer.kernels.strings.spectrum import SubstringKernel, canonical, whole_item
from mercer.kernels.strings.substrings import COMPLEMENT, complements, masked_table, mirrored, pattern
from mercer.kernels.strings.windows import (
    MOST_CODES,
    Diagonals,
    Masks,
    masked_windows,
    mismatch_masks,
    mismatch_table,
    neighbors,
)
from mercer.numeric.sparse_products import KeyedRows

#: Alphabets that `Mismatch` takes by itself, each with the codes of uncertain, rare or missing letters (IUPAC).
BASES, AMINO_ACIDS = ("ACGT", "RYSWKMBDHVN-"), ("ACDEFGHIKLMNPQRSTVWY", "XBZJUO*-")
ALPHABETS = (BASES, ("acgt", BASES[1].lower()), AMINO_ACIDS, (AMINO_ACIDS[0].lower(), AMINO_ACIDS[1].lower()))

#: Share of letters that must belong to an alphabet itself if codes occur: N is a code of DNA and an amino acid.
PLAIN = 0.9


@dataclass(frozen=True, repr=False)
class GappedSpectrum(SubstringKernel):
    """Gapped substrings: windows of p + gaps letters of which any p must agree.

    k(x, z) = sum over pairs of windows (v in x, w in z) of (agreements of v and w choose p), that is, the inner product
    of counts over all (p + gaps choose p) ways to keep p places of a window (Ghandi et al. 2014; Blakely et al. 2020).
    A string shorter than p + gaps has no window: its values are 0. Every letter counts, an N of DNA like any other.

    Parameters
    ----------
    p : int
        How many letters have to agree.
    gaps : int, default 1
        How many letters of a window are free.
    reverse_complement : bool, default False
        For DNA whose strand is unknown: a gapped substring and its reverse complement are one feature.

    >>> GappedSpectrum(2, gaps=1)(["abc", "abd", "xbd"]).tolist()
    [[3.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 3.0]]
    >>> GappedSpectrum(2).feature_names(["abc"])
    ['ab·', 'a·c', '·bc']
    """

    p: int = whole(at_least=1, keyword=False)
    gaps: int = whole(1, at_least=0)
    reverse_complement: bool = flag(False)

    def _masks(self) -> list[tuple[int, ...]]:
        """The ways to keep p places; with both strands, one of a mask and its mirror image."""
        masks = list(combinations(range(self.p + self.gaps), self.p))
        return [m for m in masks if m <= mirrored(m, self.p + self.gaps)] if self.reverse_complement else masks

    def _table(self, letters: Letters) -> FeatureTable:
        letters, opposite = complements(letters) if self.reverse_complement else (letters, None)
        return side_by_side([masked_table(letters, mask, self.p + self.gaps, opposite) for mask in self._masks()])

    def _direct(self, letters: Letters) -> KeyedRows | Diagonals | None:
        width, ways = self.p + self.gaps, comb(self.p + self.gaps, self.p)
        codes_fit = len(letters.alphabet) ** self.p <= MOST_CODES
        if not self.reverse_complement and Diagonals.pay(letters, width, ways, codes_fit):
            return Diagonals.of(letters, width, np.array([float(comb(m, self.p)) for m in range(width + 1)]))
        masks = tuple(self._masks())
        letters, opposite = complements(letters) if self.reverse_complement else (letters, None)
        return masked_windows(letters, Masks(self.p + self.gaps, masks, (1.0,) * len(masks)), opposite)

    def _occurrences(self, item: Any) -> Iterator[Occurrence]:
        item, width = whole_item(item), self.p + self.gaps
        for i in range(len(item) - width + 1):
            for mask in combinations(range(width), self.p):
                kept = [item[i + q] for q in mask]
                places = tuple(i + q for q in mask)
                if self.reverse_complement:
                    mask, kept = _first_strand(mask, kept, width)
                written = "".join(kept) if isinstance(item, str) else tuple(kept)
                yield Occurrence(pattern(written, mask, width), places, 1.0)

    def _derivation(self) -> Derivation:
        strands = ", each merged with its reverse complement" if self.reverse_complement else ""
        because = f"<phi(x), phi(z)> with phi(x) the counts of {self.p} kept letters in windows of {self.p + self.gaps}"
        return Derivation("explicit features", because + strands)


def _first_strand(mask: tuple[int, ...], kept: list[Any], width: int) -> tuple[tuple[int, ...], list[Any]]:
    other = mirrored(mask, width), [COMPLEMENT[letter] for letter in reversed(kept)]
    return min((mask, kept), other)


@dataclass(frozen=True, repr=False)
class Mismatch(SubstringKernel):
    """The mismatch kernel: phi_u(x) counts the windows of x that differ from u in at most `mismatches` letters.

    u runs over all words of length p of the alphabet, so the values depend on its size (Leslie et al. 2004). A string
    shorter than p has no window: its values are 0. A window with a letter outside the alphabet is left out. This is the
    rule for codes of uncertain letters too: X, B, Z, J, U, O of proteins, N, R, Y, … of DNA, gaps and stops.

    Parameters
    ----------
    p : int
        The length of the words.
    mismatches : int, default 1
        How many letters may differ.
    alphabet : str or sequence of tokens, optional
        If not given, the first of the four bases and the 20 amino acids (upper or lower case) that has all letters of
        the collection, or all but IUPAC codes and at least 90 % of the letters; estimators take it from the training data.
        Other strings need it written out.
    reverse_complement : bool, default False
        For DNA whose strand is unknown: a word and its reverse complement are one feature.

    >>> Mismatch(2, mismatches=1, alphabet="ab")(["ab", "bb", "ba"]).tolist()
    [[3.0, 2.0, 2.0], [2.0, 3.0, 2.0], [2.0, 2.0, 3.0]]
    """

    p: int = whole(at_least=1, keyword=False)
    mismatches: int = whole(1, at_least=0)
    alphabet: str | tuple[Any, ...] | None = alphabet(None)
    reverse_complement: bool = flag(False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.alphabet is not None and len(self.alphabet) ** self.p >= 2**62:
            raise InputError(f"Mismatch: {len(self.alphabet)} ** {self.p} words are more than 2 ** 62; take a smaller p.")
        if self.reverse_complement and self.alphabet is not None:
            missing = [c for c in self.alphabet if COMPLEMENT.get(c) not in self.alphabet]
            if missing:
                raise InputError(
                    f"Mismatch: reverse_complement=True needs the complement of {missing[0]!r} in the alphabet."
                )

    def _table(self, letters: Letters) -> FeatureTable:
        chosen = self.alphabet if self.alphabet is not None else self._alphabet_of(letters)
        return mismatch_table(letters, chosen, self.p, self.mismatches, self.reverse_complement)

    def _alphabet_of(self, letters: Letters) -> str:
        counts = np.bincount(letters.codes, minlength=len(letters.alphabet))
        occurs = {letter: int(count) for letter, count in zip(letters.alphabet, counts, strict=True) if count}
        for known, codes in ALPHABETS:
            plain = sum(occurs.get(letter, 0) for letter in known)
            if occurs.keys() <= set(known) or (occurs.keys() <= set(known + codes) and plain >= PLAIN * len(letters.codes)):
                return known
        odd = sorted(map(repr, occurs.keys() - set(AMINO_ACIDS[0] + AMINO_ACIDS[1])))
        raise InputError(
            f"Mismatch: the strings are neither DNA nor proteins ({', '.join(odd[:5])}), and values "
            "depend on the alphabet; give it: alphabet='ACGT' (windows with other letters are left out)."
        )

    def _direct(self, letters: Letters) -> KeyedRows | None:
        if self.reverse_complement or len(letters.alphabet) == 0:
            return None
        chosen = self.alphabet if self.alphabet is not None else self._alphabet_of(letters)
        known = np.array([letter in chosen for letter in letters.alphabet])
        return masked_windows(letters, mismatch_masks(self.p, self.mismatches, len(chosen)), known=known)

    @property
    def adapts(self) -> bool:
        return self.alphabet is None

    def _resolve(self, rows: Rows) -> Kernel:
        if self.alphabet is not None:
            return self
        return self.set_params(alphabet=self._alphabet_of(letters_of(rows)))

    def _occurrences(self, item: Any) -> Iterator[Occurrence]:
        item = whole_item(item)
        letters = Letters.of([item])
        chosen = self.alphabet if self.alphabet is not None else self._alphabet_of(letters)
        for i in range(len(item) - self.p + 1):
            window = item[i : i + self.p]
            if all(letter in chosen for letter in window):
                near = neighbors(window, chosen, self.mismatches)
                for u, times in Counter(map(canonical, near) if self.reverse_complement else near).items():
                    yield Occurrence(u, tuple(range(i, i + self.p)), float(times))

    def _derivation(self) -> Derivation:
        because = f"<phi(x), phi(z)> with phi_u(x) the number of windows within {self.mismatches} letters of u"
        return Derivation("explicit features", because)
