"""Kernels on strings: substrings with free places, and substrings up to some wrong letters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import comb, log
from typing import Any

import numpy as np

from mercer.errors import InputError
from mercer.inputs import Rows
from mercer.kernels.base import Derivation, Kernel
from mercer.kernels.counting.table import FeatureTable, side_by_side
from mercer.kernels.features import Occurrence
from mercer.kernels.fields import alphabet, flag, whole
from mercer.kernels.strings.letters import Letters, letters_of
from mercer.kernels.strings.pairs import MOST_LOG_WAYS, PairedWindows, check_listed, log_choices
from mercer.kernels.strings.spectrum import SubstringKernel, canonical, whole_item
from mercer.kernels.strings.substrings import COMPLEMENT, complements, masked_table, mirrored, pattern
from mercer.kernels.strings.windows import (
    MOST_CODES,
    Diagonals,
    Masks,
    mask_count,
    masked_windows,
    mismatch_masks,
    mismatch_table,
    mismatch_values,
    neighbors,
)
from mercer.numeric.sparse_products import KeyedRows

#: Alphabets that `Mismatch` finds in the data, each with the codes of uncertain, rare or missing letters (IUPAC).
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

    def __post_init__(self) -> None:
        super().__post_init__()
        if log_choices(self.p + self.gaps, self.p) > MOST_LOG_WAYS:
            raise InputError(
                f"GappedSpectrum: there are more than 1e300 ways to keep {self.p} of {self.p + self.gaps} letters; take "
                "a smaller p or fewer gaps."
            )

    @property
    def _ways(self) -> int:
        """The number of ways to choose p places of a window."""
        return comb(self.p + self.gaps, self.p)

    def _masks(self) -> list[tuple[int, ...]]:
        """The masks that keep p places; with both strands, one of a mask and its mirror image."""
        masks = list(combinations(range(self.p + self.gaps), self.p))
        return [m for m in masks if m <= mirrored(m, self.p + self.gaps)] if self.reverse_complement else masks

    def _table(self, letters: Letters) -> FeatureTable:
        letters, opposite = complements(letters) if self.reverse_complement else (letters, None)
        if letters.capped(self.p + self.gaps) < self.p + self.gaps:  # no string has a window
            return masked_table(letters, (0,), letters.capped(self.p + self.gaps), opposite)
        check_listed(self, self._ways, letters.codes.size)
        return side_by_side([masked_table(letters, mask, self.p + self.gaps, opposite) for mask in self._masks()])

    def _direct(self, letters: Letters) -> KeyedRows | Diagonals | PairedWindows | None:
        width, ways = self.p + self.gaps, self._ways
        if letters.capped(width) < width:
            return None
        codes_fit = self.p * log(max(len(letters.alphabet), 1)) <= log(MOST_CODES)
        by_bytes = Diagonals.fit(letters, width)
        if not self.reverse_complement and (Diagonals if by_bytes else PairedWindows).pay(letters, width, ways, codes_fit):
            values = np.array([float(comb(m, self.p)) for m in range(width + 1)])
            if by_bytes:
                return Diagonals.of(letters, width, values)
            return PairedWindows(letters.codes, letters.starts, width, values)
        check_listed(self, ways, letters.codes.size)
        masks = tuple(self._masks())
        letters, opposite = complements(letters) if self.reverse_complement else (letters, None)
        return masked_windows(letters, Masks(self.p + self.gaps, masks, (1.0,) * len(masks)), opposite)

    def _occurrences(self, item: Any) -> Iterator[Occurrence]:
        item, width = whole_item(item), self.p + self.gaps
        check_listed(self, self._ways, len(item))
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
        if self.alphabet is not None:
            self._check_words(len(self.alphabet))
        if self.reverse_complement and self.alphabet is not None:
            missing = [c for c in self.alphabet if COMPLEMENT.get(c) not in self.alphabet]
            if missing:
                raise InputError(
                    f"Mismatch: reverse_complement=True needs the complement of {missing[0]!r} in the alphabet."
                )

    def _check_words(self, size: int) -> None:
        if self.p * log(size) >= log(2**62):
            raise InputError(f"Mismatch: {size} ** {self.p} words are more than 2 ** 62; take a smaller p.")

    def _near(self, p: int, size: int) -> int:
        """Return the number of words near a word of p letters over an alphabet of this many letters."""
        return sum(comb(p, count) * (size - 1) ** count for count in range(self._changes(p, size) + 1))

    def _changes(self, p: int, size: int) -> int:
        """How many letters of a word can differ from another word."""
        return min(self.mismatches, p) if size > 1 else 0

    def _chosen(self, letters: Letters) -> str | tuple[Any, ...]:
        chosen = self.alphabet if self.alphabet is not None else self._alphabet_of(letters)
        self._check_words(len(chosen))
        return chosen

    def _table(self, letters: Letters) -> FeatureTable:
        chosen, p = self._chosen(letters), letters.capped(self.p)
        check_listed(self, self._near(p, len(chosen)), letters.codes.size)
        return mismatch_table(letters, chosen, p, self._changes(p, len(chosen)), self.reverse_complement)

    def _alphabet_of(self, letters: Letters) -> str:
        counts = np.bincount(letters.codes, minlength=len(letters.alphabet))
        occurs = {letter: int(count) for letter, count in zip(letters.alphabet, counts, strict=True) if count}
        for known, codes in ALPHABETS:
            plain = sum(occurs.get(letter, 0) for letter in known)
            if occurs.keys() <= set(known) or (occurs.keys() <= set(known + codes) and plain >= PLAIN * len(letters.codes)):
                return known
        odd = sorted(map(repr, occurs.keys() - set(AMINO_ACIDS[0] + AMINO_ACIDS[1])))
        why = f"({', '.join(odd[:5])})" if odd else "(more than 10 % of the letters are codes such as N, X or B)"
        raise InputError(
            f"Mismatch: the strings are neither DNA nor proteins {why}, and values "
            "depend on the alphabet; give it: alphabet='ACGT' (windows with other letters are left out)."
        )

    def _direct(self, letters: Letters) -> KeyedRows | PairedWindows | None:
        if self.reverse_complement or len(letters.alphabet) == 0:
            return None
        chosen, p = self._chosen(letters), letters.capped(self.p)
        known = np.array([letter in chosen for letter in letters.alphabet])
        near, changes = self._near(p, len(chosen)), self._changes(p, len(chosen))
        masks = mask_count(p, changes)
        if PairedWindows.pay(letters, p, min(near, masks)):
            values = mismatch_values(p, changes, len(chosen))
            return PairedWindows(np.where(known[letters.codes], letters.codes, -1), letters.starts, p, values)
        return masked_windows(letters, mismatch_masks(p, changes, len(chosen)), known=known) if masks <= near else None

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
        check_listed(self, self._near(self.p, len(chosen)), len(item))
        for i in range(len(item) - self.p + 1):
            window = item[i : i + self.p]
            if all(letter in chosen for letter in window):
                near = neighbors(window, chosen, self.mismatches)
                for u, times in Counter(map(canonical, near) if self.reverse_complement else near).items():
                    yield Occurrence(u, tuple(range(i, i + self.p)), float(times))

    def _derivation(self) -> Derivation:
        because = f"<phi(x), phi(z)> with phi_u(x) the number of windows within {self.mismatches} letters of u"
        return Derivation("explicit features", because)
