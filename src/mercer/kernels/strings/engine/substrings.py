"""Counts of substrings: which substring a window holds, as exact whole numbers, and tables of how often each occurs.

No hashing: two windows have the same code exactly if they hold the same letters. A code is the number that the letters
spell in base a; where that would not fit 62 bits, the codes so far are replaced by their ranks, which keeps the order.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.arrays import Array, Ints
from mercer.errors import InputError
from mercer.kernels.strings.engine.letters import PER_LETTER, Letters
from mercer.numeric.compiling import worth

#: The largest number of codes that are written as numbers.
LIMIT = 2**62

#: Codes below this number are counted in an array of that size, larger ones are ranked first. Row: spectrum-*.
DIRECT = 2**22

#: The free places of a gapped substring.
FREE = "·"

_BASES = "ACGTRYSWKMBDHVN"
_COMPLEMENTS = "TGCAYRSWMKVHDBN"
COMPLEMENT = dict(zip(_BASES + _BASES.lower(), _COMPLEMENTS + _COMPLEMENTS.lower(), strict=True))


@dataclass(frozen=True)
class Table:
    """phi(x) for every string, one column per feature that occurs; `names()` says which."""

    matrix: sp.csr_array  # (n, D)
    names: Callable[[], list[Hashable]]


@dataclass(frozen=True)
class Keys:
    """Occurrences of features, string by string: the code of each, and where it can be read."""

    code: Ints  # (M,) < bound
    bound: int
    first: Ints  # (n + 1,) where the keys of each string begin
    place: Callable[[Ints], Ints]  # from numbers of keys to the first letter of the window, or -1 - that if read backwards


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


def complements(letters: Letters) -> tuple[Letters, NDArray[np.int32]]:
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


def keys(letters: Letters, mask: tuple[int, ...], width: int, opposite: NDArray[np.int32] | None = None) -> Keys:
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
    from mercer.kernels.strings.engine._compiled_counting import spell

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


def table(found: Keys, name: Callable[[int], Hashable]) -> Table:
    """Count the keys; `name(place)` reads the feature at a place."""
    if worth(len(found.code), PER_LETTER):
        return _counted(found, name)
    n = len(found.first) - 1
    distinct, some, column = np.unique(found.code, return_index=True, return_inverse=True)
    width = max(len(distinct), 1)
    row = np.repeat(np.arange(n), np.diff(found.first))
    pairs, counts = np.unique(row * width + column, return_counts=True)
    indptr = np.searchsorted(pairs, np.arange(n + 1) * width)
    matrix = sp.csr_array((counts.astype(np.float64), pairs % width, indptr), shape=(n, len(distinct)))
    return Table(matrix, lambda: [name(place) for place in found.place(some).tolist()])


def _counted(found: Keys, name: Callable[[int], Hashable]) -> Table:
    """The same by compiled loops: count, then sort by going to columns and back."""
    from mercer.kernels.strings.engine._compiled_counting import count, numbered, transposed

    code: Array = found.code
    bound, n = found.bound, len(found.first) - 1
    if bound > DIRECT:
        ids = np.empty(len(code), dtype=np.int32)
        distinct = numbered(code, ids)
        rank = np.empty(len(distinct), dtype=np.int32)
        rank[np.argsort(distinct)] = np.arange(len(distinct), dtype=np.int32)
        code, bound = rank[ids], len(distinct)
    pointer, rows, values = transposed(*count(code, found.first, bound), bound)
    kept = np.flatnonzero(np.diff(pointer))
    indptr, indices, data = transposed(np.append(pointer[kept], pointer[-1]), rows, values, n)
    matrix = sp.csr_array((data, indices, indptr), shape=(n, len(kept)))

    def names() -> list[Hashable]:
        some = np.zeros(bound, dtype=np.int64)
        some[code] = np.arange(len(code))  # one of the keys with each code
        return [name(place) for place in found.place(some[kept]).tolist()]

    return Table(matrix, names)


def side_by_side(tables: Sequence[Table]) -> Table:
    """Tables of different features as one."""
    if len(tables) == 1:
        return tables[0]
    matrix = sp.csr_array(sp.hstack([part.matrix for part in tables], format="csr"))
    return Table(matrix, lambda: [name for part in tables for name in part.names()])


def scaled(part: Table, factor: float) -> Table:
    """Every feature times a number."""
    if factor == 1.0:
        return part
    matrix = part.matrix
    return Table(sp.csr_array((matrix.data * factor, matrix.indices, matrix.indptr), shape=matrix.shape), part.names)


def present(part: Table) -> Table:
    """1 for every feature that occurs."""
    matrix = part.matrix
    return Table(sp.csr_array((np.ones(matrix.nnz), matrix.indices, matrix.indptr), shape=matrix.shape), part.names)


def masked_table(letters: Letters, mask: tuple[int, ...], width: int, opposite: NDArray[np.int32] | None = None) -> Table:
    """Counts of what windows hold at the places of a mask."""

    def name(place: int) -> Hashable:
        if place >= 0:
            return pattern(letters.written([letters.codes[place + q] for q in mask]), mask, width)
        assert opposite is not None
        return pattern(letters.written([opposite[letters.codes[-1 - place + width - 1 - q]] for q in mask]), mask, width)

    return table(keys(letters, mask, width, opposite), name)


def pattern(kept: Any, mask: tuple[int, ...], width: int) -> Hashable:
    """Letters with the free places of the window: "A··T"; a tuple with None where that sign is itself a letter."""
    if len(mask) == width:
        return kept
    free = FREE if isinstance(kept, str) and FREE not in kept else None
    spread: list[Any] = [free] * width
    for letter, q in zip(kept, mask, strict=True):
        spread[q] = letter
    return "".join(spread) if free else tuple(spread)
