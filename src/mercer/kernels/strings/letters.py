"""Letters: strings as whole numbers, end to end, with the place where each begins.

A letter is a code point of a `str`, or any token of a list. Codes follow the order of the alphabet, so that the order of
codes is the order of substrings, for every alphabet that has these letters.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Codes, Ints
from mercer.errors import InputError
from mercer.inputs import Rows
from mercer.numeric.encodings import Encoded, Index

#: Nanoseconds that compiled loops save per letter: they pay from 2^15 letters on. Row: spectrum-*.
PER_LETTER = 256


class Letters(Encoded):
    """n strings as codes 0 … a - 1 of an alphabet of a letters."""

    __slots__ = ("alphabet", "codes", "starts", "text")

    def __init__(self, codes: Codes, starts: Ints, alphabet: Sequence[Hashable], text: bool) -> None:
        self.codes = codes  # (N,)
        self.starts = starts  # (n + 1,)
        self.alphabet = alphabet
        self.text = text  # whether substrings are written as str, or as tuples of tokens

    @classmethod
    def of(cls, strings: Sequence[str] | Sequence[tuple[Hashable, ...]]) -> Letters:
        """Number the letters of strings, or of tuples of tokens."""
        starts = np.zeros(len(strings) + 1, dtype=np.int64)
        np.cumsum(np.fromiter(map(len, strings), dtype=np.int64, count=len(strings)), out=starts[1:])
        if isinstance(strings[0], str):
            points, codes = _numbered("".join(strings))  # type: ignore[arg-type]
            return cls(codes, starts, [chr(point) for point in points], True)
        number: dict[Hashable, int] = {}
        listed = [number.setdefault(token, len(number)) for string in strings for token in string]
        return cls(np.array(listed, dtype=np.int32), starts, list(number), False)

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> Ints:
        """The number of letters of each string."""
        return np.diff(self.starts)

    def capped(self, width: int) -> int:
        """Return a width of windows, at most the smallest width that no string has; wider windows do not exist."""
        return min(width, int(self.lengths.max(initial=0)) + 1)

    def take(self, rows: Index) -> Letters:
        if isinstance(rows, slice) and rows.step in (None, 1):
            first, last, _ = rows.indices(len(self))
            starts = self.starts[first : max(first, last) + 1]
            return Letters(self.codes[starts[0] : starts[-1]], starts - starts[0], self.alphabet, self.text)
        chosen = np.arange(len(self))[rows]
        starts = np.concatenate([[0], np.cumsum(self.lengths[chosen])])
        where = np.repeat(self.starts[chosen] - starts[:-1], np.diff(starts)) + np.arange(starts[-1])
        return Letters(self.codes[where], starts, self.alphabet, self.text)

    def align(self, other: Letters) -> tuple[Letters, Letters]:
        """Return both collections in a common alphabet."""
        if self.alphabet is other.alphabet:
            return self, other
        if self.text != other.text:
            raise InputError("X and Z must be of one kind: one holds plain strings, the other lists of tokens.")
        union: Sequence[Hashable] = list(dict.fromkeys([*self.alphabet, *other.alphabet]))
        if self.text:
            union = sorted(union)  # type: ignore[type-var]
        return self.over(union), other.over(union)

    def over(self, alphabet: Sequence[Hashable]) -> Letters:
        """Return the same strings in a larger alphabet."""
        number = {letter: i for i, letter in enumerate(alphabet)}
        renumbered = np.array([number[letter] for letter in self.alphabet], dtype=np.int32)
        codes = renumbered[self.codes] if len(renumbered) else self.codes
        return Letters(codes, self.starts, alphabet, self.text)

    def joined(self, other: Letters) -> Letters:
        """Return these strings followed by the others."""
        left, right = self.align(other)
        starts = np.concatenate([left.starts, right.starts[1:] + left.starts[-1]])
        return Letters(np.concatenate([left.codes, right.codes]), starts, left.alphabet, left.text)

    def windows(self, width: int) -> tuple[Ints, Ints]:  # -> (M,) row, (M,) place of the first letter in `codes`
        """Return every substring of `width` letters: its string, and where it begins."""
        counts = np.maximum(self.lengths - width + 1, 0)
        row = np.repeat(np.arange(len(self)), counts)
        first = np.concatenate([[0], np.cumsum(counts)])
        return row, np.arange(first[-1]) + np.repeat(self.starts[:-1] - first[:-1], counts)

    def padded(self, filler: int) -> Codes:  # -> (n, L)
        """Return the strings as rows of one array; shorter ones are padded with `filler`."""
        out = np.full((len(self), int(self.lengths.max(initial=0))), filler, dtype=np.int32)
        out[np.arange(out.shape[1]) < self.lengths[:, None]] = self.codes
        return out

    def written(self, codes: Sequence[int] | NDArray[np.integer]) -> Hashable:
        """Return a sequence of codes as a str, or as a tuple of tokens."""
        letters = [self.alphabet[code] for code in codes]
        return "".join(letters) if self.text else tuple(letters)  # type: ignore[arg-type]


def letters_of(rows: Rows) -> Letters:
    """Return the strings of a collection as numbers, computed once for all terms of a kernel."""
    return rows.remember("letters", lambda: Letters.of(rows.strings()))


def _numbered(text: str) -> tuple[list[int], Codes]:
    """Return the code points that occur, ascending, and the text as positions in that list."""
    if text.isascii():
        raw: NDArray[np.integer] = np.frombuffer(text.encode("ascii"), dtype=np.uint8)
        size = 128
    else:  # a lone half of a surrogate pair is a letter too
        raw = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
        size = int(raw.max()) + 1
    if 8 * len(raw) < size:  # a table of all code points would cost more than sorting
        points, codes = np.unique(raw, return_inverse=True)
        return points.tolist(), codes.astype(np.int32)
    occurs = np.zeros(size, dtype=bool)
    occurs[raw] = True
    number = (np.cumsum(occurs) - 1).astype(np.int32)
    return np.flatnonzero(occurs).tolist(), number[raw]
