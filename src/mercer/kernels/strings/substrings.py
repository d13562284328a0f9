"""Substrings as exact whole numbers, and tables of how often each occurs.

No hashing: two windows have the same code exactly if they hold the same letters. A code is the number that the letters
spell in base a. If it would not fit 62 bits, the codes so far are replaced by their ranks, which keeps the order.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from mercer.arrays import Array, Codes, Ints
from mercer.errors import InputError
from mercer.kernels.counting.table import FeatureTable, Keys, counted
from mercer.kernels.strings.letters import PER_LETTER, Letters
from mercer.numeric.compiling import worth

#: The largest number of codes that are written as numbers.
LIMIT = 2**62

#: The free places of a gapped substring.
FREE = "·"

_BASES = "ACGTRYSWKMBDHVN"
_COMPLEMENTS = "TGCAYRSWMKVHDBN"
COMPLEMENT = dict(zip(_BASES + _BASES.lower(), _COMPLEMENTS + _COMPLEMENTS.lower(), strict=True))


def spelled(columns: Sequence[Array], base: int) -> tuple[Ints, int]:  # p arrays (M,) -> (M,), bound
    """One number per row of letters, equal exactly where the letters are, in the order of the letters."""
    code, bound = columns[0].astype(np.int64), max(base, 1)
    for column in columns[1:]:
        if bound > LIMIT // max(base, 1):
            distinct, code = np.unique(code, return_inverse=True)
            bound = max(len(distinct), 1)
        code = code * base + column
        bound *= max(base, 1)
    return code, bound


def complements(letters: Letters) -> tuple[Letters, Codes]:
    """The strings over an alphabet that holds the complement of each letter, and the code of every complement."""
    wrong = [letter for letter in letters.alphabet if letter not in COMPLEMENT]
    if wrong:
        raise InputError(
            f"reverse_complement=True reads DNA: letters {_BASES} in upper or lower case; there is {wrong[0]!r} among the "
            "strings. Write RNA with T for U, and take out gaps."
        )
    closed = sorted({*letters.alphabet, *[COMPLEMENT[letter] for letter in letters.alphabet]})  # type: ignore[type-var, index]
    number = {letter: i for i, letter in enumerate(closed)}
    return letters.over(closed), np.array([number[COMPLEMENT[letter]] for letter in closed], dtype=np.int32)  # type: ignore[index]


def keys(letters: Letters, mask: tuple[int, ...], width: int, opposite: Codes | None = None) -> Keys:
    """The letters at the places `mask` of every window of `width` letters.

    With `opposite` (the codes of complements), what the other strand holds counts as well: a gapped substring and its
    reverse complement have one code, and each occurrence of either is listed once.
    """
    base = len(letters.alphabet)
    if opposite is None and worth(letters.codes.size, PER_LETTER) and base ** len(mask) < LIMIT:
        return _spelled_compiled(letters, mask, width)
    row, place = letters.windows(width)
    forward = [letters.codes[place + q] for q in mask]
    if opposite is None:
        return _keys(row, *spelled(forward, base), place, len(letters))
    backward = [opposite[letters.codes[place + width - 1 - q]] for q in mask]
    both, bound = spelled([np.concatenate(pair) for pair in zip(forward, backward, strict=True)], base)
    size = len(place)
    if mirrored(mask, width) == mask:
        turned = both[size:] < both[:size]
        code = np.minimum(both[:size], both[size:])
        return _keys(row, code, bound, np.where(turned, -1 - place, place), len(letters))
    order = np.argsort(np.concatenate([row, row]), kind="stable")
    return _keys(np.repeat(row, 2), both[order], bound, np.concatenate([place, -1 - place])[order], len(letters))


def _keys(row: Ints, code: Ints, bound: int, place: Ints, n: int) -> Keys:
    return Keys(code, bound, np.searchsorted(row, np.arange(n + 1)), lambda k: place[k])


def _spelled_compiled(letters: Letters, mask: tuple[int, ...], width: int) -> Keys:
    from mercer.kernels.strings._compiled_strings import spell

    base, starts = len(letters.alphabet), letters.starts
    first = np.concatenate([[0], np.cumsum(np.maximum(letters.lengths - width + 1, 0))])
    code = np.empty(first[-1], dtype=np.int64)
    spell(letters.codes, starts, np.array(mask, dtype=np.int64), width, base, first, code)

    def place(k: Ints) -> Ints:
        string = np.searchsorted(first, k, side="right") - 1
        return np.asarray(starts[string] + k - first[string])

    return Keys(code, base ** len(mask), first, place)


def mirrored(mask: tuple[int, ...], width: int) -> tuple[int, ...]:
    """The places of a mask seen from the other end of the window."""
    return tuple(width - 1 - q for q in reversed(mask))


def masked_table(letters: Letters, mask: tuple[int, ...], width: int, opposite: Codes | None = None) -> FeatureTable:
    """Counts of what windows hold at the places of a mask."""

    def name(place: int) -> Hashable:
        if place >= 0:
            return pattern(letters.written([letters.codes[place + q] for q in mask]), mask, width)
        assert opposite is not None
        return pattern(letters.written([opposite[letters.codes[-1 - place + width - 1 - q]] for q in mask]), mask, width)

    return counted(keys(letters, mask, width, opposite), name)


def pattern(kept: Any, mask: tuple[int, ...], width: int) -> Hashable:
    """Letters with the free places of the window: "A··T"; a tuple with None where that sign is itself a letter."""
    if len(mask) == width:
        return kept
    free = FREE if isinstance(kept, str) and FREE not in kept else None
    spread: list[Any] = [free] * width
    for letter, q in zip(kept, mask, strict=True):
        spread[q] = letter
    return "".join(spread) if free else tuple(spread)
