"""Counts of words up to some wrong letters: every window adds one to each word near it."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from itertools import combinations, product
from math import comb
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Ints
from mercer.kernels.strings.engine.letters import Letters
from mercer.kernels.strings.engine.masks import Masks
from mercer.kernels.strings.engine.substrings import COMPLEMENT, Table


def neighbors(window: Any, alphabet: Sequence[Hashable], mismatches: int) -> list[Any]:
    """All words that differ from a window in at most this many letters."""
    found = []
    for count in range(min(mismatches, len(window)) + 1):
        for places in combinations(range(len(window)), count):
            for letters in product(*[[c for c in alphabet if c != window[q]] for q in places]):
                word = list(window)
                for q, letter in zip(places, letters, strict=True):
                    word[q] = letter
                found.append("".join(word) if isinstance(window, str) else tuple(word))
    return found


def mismatch_masks(p: int, mismatches: int, letters: int) -> Masks:
    """Weights of masks such that the weighted number of masks at which two windows agree is the number of words near both.

    Windows that differ in d letters agree at (p - d choose j) masks of j places. The weights of j = p - D … p, with
    D = min(2 mismatches, p) the largest distance with a word near both, solve a triangular system: inclusion and exclusion.
    """
    furthest = min(2 * mismatches, p)
    weights: dict[int, int] = {}
    for d in range(furthest, -1, -1):
        weights[p - d] = _near_both(p, mismatches, letters, d) - sum(w * comb(p - d, j) for j, w in weights.items())
    pairs = [(mask, float(w)) for j, w in weights.items() if w for mask in combinations(range(p), j)]
    return Masks(p, tuple(mask for mask, _ in pairs), tuple(w for _, w in pairs))


def _near_both(p: int, mismatches: int, letters: int, d: int) -> int:
    """How many words are near both of two windows that differ in d letters."""
    total = 0
    for first in range(d + 1):  # places, of the d, with the letter of the one window
        for second in range(d - first + 1):  # … with the letter of the other; the rest have a third letter
            ways = comb(d, first) * comb(d - first, second) * (letters - 2) ** (d - first - second)
            for changed in range(min(p - d, mismatches) + 1):  # of the places where both agree
                if d - min(first, second) + changed <= mismatches:
                    total += ways * comb(p - d, changed) * (letters - 1) ** changed
    return total


def mismatch_table(
    letters: Letters, alphabet: Sequence[Hashable], p: int, mismatches: int, reverse_complement: bool
) -> Table:
    """The counts of Mismatch; columns are the words near some window."""
    number = {letter: i for i, letter in enumerate(alphabet)}
    a = len(alphabet)
    codes = np.array([number.get(letter, -1) for letter in letters.alphabet], dtype=np.int64)[letters.codes]
    row, place = letters.windows(p)
    digits = np.stack([codes[place + q] for q in range(p)])  # (p, M)
    inside = (digits >= 0).all(axis=0)
    row, digits = row[inside], digits[:, inside]
    powers = a ** np.arange(p - 1, -1, -1, dtype=np.int64)
    windows, first, which = np.unique(powers @ digits, return_index=True, return_inverse=True)
    counts = sp.csr_array((np.ones(len(row)), (row, which)), shape=(len(letters), len(windows)))
    near = np.stack(list(_near(windows, digits[:, first], powers, a, min(mismatches, p))))  # (neighbors, W)
    if reverse_complement:
        opposite = np.array([number[COMPLEMENT[letter]] for letter in alphabet], dtype=np.int64)  # type: ignore[index]
        near = np.minimum(near, _turned(near, powers, a, opposite))
    words, columns = np.unique(near, return_inverse=True)
    places = np.tile(np.arange(len(windows)), len(near))
    spread = sp.csr_array((np.ones(near.size), (places, columns.ravel())), shape=(len(windows), len(words)))
    matrix = sp.csr_array(counts @ spread)
    matrix.sort_indices()
    written = Letters(codes[:0].astype(np.int32), letters.starts, alphabet, letters.text)
    return Table(matrix, lambda: [written.written(word // powers % a) for word in words])


def _near(windows: Ints, digits: Ints, powers: Ints, a: int, mismatches: int) -> Iterator[Ints]:
    """The codes of all words near each window: one array per way to change letters, (W,) each."""
    for count in range(mismatches + 1):
        for places in combinations(range(len(powers)), count):
            for shifts in product(range(1, a), repeat=count):
                changed = windows.copy()
                for q, shift in zip(places, shifts, strict=True):
                    changed += ((digits[q] + shift) % a - digits[q]) * powers[q]
                yield changed


def _turned(words: Ints, powers: Ints, a: int, opposite: Ints) -> Ints:
    """The codes of the reverse complements of words."""
    result = np.zeros_like(words)
    for q in range(len(powers)):
        result += opposite[words // powers[q] % a] * powers[len(powers) - 1 - q]
    return result
