"""Pairs of windows that agree at some of their places: gapped substrings, and words up to some mismatches.

`masked_windows` counts the pairs of windows that agree at the places of a mask, for all masks at once, in sets of bits.
`Diagonals` counts the places at which two windows agree, along the diagonals of the table of letter pairs, which is faster
if there are many masks. Neither makes a table of counts.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import comb
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.arrays import Codes, Floats, Ints
from mercer.kernels.counting.table import FeatureTable
from mercer.kernels.strings.letters import Letters
from mercer.kernels.strings.substrings import COMPLEMENT, mirrored
from mercer.numeric.compiling import worth
from mercer.numeric.sparse_products import KeyedRows, Marks
from mercer.numeric.threads import cpu_count, run
from mercer.numeric.tiles import row_blocks

#: Nanoseconds that compiled loops save per window and mask: they pay from 2^17 on. Row: gapped-*.
PER_WINDOW = 64

#: Up to this many columns a table is as fast, since it is a dense product, and can be used for more. Row: gapped-*.
TABLE_COLUMNS = 2**13

#: Codes of windows are looked up in tables of at most this many entries, one for each part of a window. Row: gapped-*.
PART = 4096

#: The largest number of codes that an array may stand for.
MOST_CODES = 2**24

#: Letters are bytes of which two codes are reserved, and counts of agreements are bytes as well.
MOST_LETTERS, MOST_PLACES = 254, 254

#: A pair of windows takes some 0.3 ns, and a window with one mask some 100 ns by sets of bits if these have an array of all
#: codes, else ten times as much. With this many windows per mask the two ways are equal.
BALANCE, WITHOUT_CODES = 350, 3500


@dataclass(frozen=True)
class Masks:
    """Windows of `width` letters and masks of places, each mask with a weight."""

    width: int
    masks: tuple[tuple[int, ...], ...]
    weights: tuple[float, ...]


def masked_windows(
    letters: Letters,
    masks: Masks,
    opposite: Codes | None = None,
    known: NDArray[np.bool_] | None = None,
) -> KeyedRows | None:
    """The windows of a collection; None if a table is better: few letters, few columns, or too many codes for an array.

    `known` is True for the letters of the alphabet whose windows count.
    """
    base = len(letters.alphabet)
    columns = sum(base ** len(mask) for mask in masks.masks)
    small = not worth(letters.codes.size * len(masks.masks), PER_WINDOW) or columns <= TABLE_COLUMNS
    if small or base == 0 or any(base ** len(mask) > MOST_CODES for mask in masks.masks):
        return None
    cuts = _cuts(base, masks.width)
    row, place = letters.windows(masks.width)
    if known is not None:
        strange = np.concatenate([[0], np.cumsum(~known[letters.codes])])
        inside = strange[place + masks.width] == strange[place]
        row, place = row[inside], place[inside]
    first = np.searchsorted(row, np.arange(len(letters) + 1))
    parts = np.stack([_part(letters.codes, place + start, stop - start, base) for start, stop in cuts])
    back = np.empty((len(cuts), 0), dtype=np.uint32)
    if opposite is not None:
        turned = opposite[letters.codes]
        last = place + masks.width - 1
        back = np.stack([_part(turned, last - start, stop - start, base, -1) for start, stop in cuts])
    groups = []
    for weight in sorted(set(masks.weights)):
        chosen = [mask for mask, own in zip(masks.masks, masks.weights, strict=True) if own == weight]
        tables = np.stack([_tables(mask, cuts, base) for mask in chosen])
        strands = [0 if opposite is None else 1 if mirrored(m, masks.width) == m else 2 for m in chosen]
        groups.append((weight, tables, np.array(strands, dtype=np.int64), max(base ** len(m) for m in chosen)))
    return KeyedRows(parts, back, first, tuple(groups))


def _cuts(base: int, width: int) -> list[tuple[int, int]]:
    """Parts of a window, each with at most PART codes."""
    size = 1
    while size < width and base ** (size + 1) <= PART:
        size += 1
    return [(part.start, part.stop) for part in row_blocks(width, size)]


def _part(codes: Codes, place: Ints, size: int, base: int, step: int = 1) -> Marks:
    total = np.zeros(len(place), dtype=np.uint32)
    for q in range(size):
        total *= base
        total += codes[place + step * q].astype(np.uint32)
    return total


def _tables(mask: tuple[int, ...], cuts: list[tuple[int, int]], base: int) -> Marks:  # -> (q, S)
    """For each part of a window, what its letters at the places of the mask add to the code."""
    largest = max(base ** (stop - start) for start, stop in cuts)
    out = np.zeros((len(cuts), largest), dtype=np.uint32)
    number = np.arange(largest)
    for q, (start, stop) in enumerate(cuts):
        for rank, place in enumerate(mask):
            if start <= place < stop:
                out[q] += (number // base ** (stop - 1 - place) % base * base ** (len(mask) - 1 - rank)).astype(np.uint32)
    return out


def neighbors(window: Any, alphabet: Sequence[Hashable], mismatches: int) -> list[Any]:
    """Return all words that differ from a window in at most this many letters."""
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


def mask_count(p: int, mismatches: int) -> int:
    """Return the largest number of masks that `mismatch_masks` returns."""
    return sum(comb(p, j) for j in range(p - min(2 * mismatches, p), p + 1))


def mismatch_values(p: int, mismatches: int, letters: int) -> Floats:  # -> (p + 1,)
    """Return the number of words near both of two windows that agree in 0 … p letters."""
    furthest = min(2 * mismatches, p)
    near = [_near_both(p, mismatches, letters, p - m) if p - m <= furthest else 0 for m in range(p + 1)]
    return np.array(near, dtype=np.float64)


def _near_both(p: int, mismatches: int, letters: int, d: int) -> int:
    """Return the number of words near both of two windows that differ in d letters."""
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
) -> FeatureTable:
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
    return FeatureTable(matrix, lambda: [written.written(word // powers % a) for word in words])


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


@dataclass(frozen=True)
class Diagonals:
    """Strings as bytes; windows of `width` letters with m >= least agreements count gains[0] + … + gains[m - least]."""

    codes: NDArray[np.uint8]  # (N,)
    starts: Ints  # (n + 1,)
    width: int
    least: int
    gains: Floats  # (width - least + 1,)

    #: Rows per tile. Nothing is computed once per tile, and small tiles react sooner to Ctrl-C.
    strip = 32

    @classmethod
    def fit(cls, letters: Letters, width: int) -> bool:
        """Whether letters and windows fit into bytes."""
        return len(letters.alphabet) <= MOST_LETTERS and width <= MOST_PLACES

    @classmethod
    def pay(cls, letters: Letters, width: int, masks: int, codes_fit: bool) -> bool:
        """Return whether diagonals are faster than this many masks; letters and windows must fit into bytes."""
        if not cls.fit(letters, width):
            return False
        windows = letters.codes.size
        return worth(windows * masks, PER_WINDOW) and masks * (BALANCE if codes_fit else WITHOUT_CODES) >= windows

    @classmethod
    def of(cls, letters: Letters, width: int, values: Floats) -> Diagonals:
        """The strings, and values[m] for a pair of windows with m agreements; values[0] = 0."""
        least = int(np.flatnonzero(values)[0])
        gains = np.diff(values[least:], prepend=0.0)
        return cls(letters.codes.astype(np.uint8), letters.starts, width, least, gains)

    def between(self, chunk: Ints, others: Ints) -> Floats:  # (r,), (m,) -> (r, m)
        """The sums of the strings of a chunk with the others."""
        from mercer.kernels.strings._compiled_windows import agreements

        out = np.zeros((len(chunk), len(others)))
        agreements(self.codes, self.starts, chunk, others, self.width, self.least, self.gains, out)
        return out

    def own(self, rows: Ints) -> Floats:  # (r,) -> (r,)
        """The sum of every string with itself."""
        from mercer.kernels.strings._compiled_windows import own

        out = np.zeros(len(rows))
        parts = row_blocks(len(rows), 64)

        def work(part: slice, worker: int) -> None:
            own(self.codes, self.starts, rows[part], self.width, self.least, self.gains, out[part])

        run(parts, work, min(cpu_count(), len(parts)))
        return out
