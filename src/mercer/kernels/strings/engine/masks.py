"""Windows compared at some of their places: the number of pairs of windows that agree there, for all masks at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Array, Floats, Ints
from mercer.kernels.strings.engine.letters import Letters
from mercer.kernels.strings.engine.substrings import mirrored
from mercer.numeric.compiling import worth
from mercer.numeric.threads import cpu_count, run

Marks = NDArray[np.uint32]

#: Nanoseconds that compiled loops save per window and mask: from 2^17 on they are worth loading. Row: gapped-*.
PER_WINDOW = 64

#: Up to this many columns a table is as fast, since it is a dense product, and can be used for more. Row: gapped-*.
TABLE_COLUMNS = 2**13

#: Codes of windows are looked up in tables of at most this many entries, one for each part of a window. Row: gapped-*.
PART = 4096

#: The largest number of codes that an array may stand for.
MOST_CODES = 2**24

#: In a chunk of strings, a key that at most this many windows have is a list, the others are sets of bits. Row: gapped-*.
FEW = 4


@dataclass(frozen=True)
class Masks:
    """Windows of `width` letters and masks of places, each mask with a weight."""

    width: int
    masks: tuple[tuple[int, ...], ...]
    weights: tuple[float, ...]


@dataclass(frozen=True)
class Windows:
    """All windows of a collection, prepared for the loops: codes of their parts, and tables from those to codes of masks."""

    parts: Marks  # (q, M) the letters of each part of a window as one number
    back: Marks  # (q, M) the same of the reverse complement, or (q, 0)
    first: Ints  # (n + 1,)
    groups: tuple[tuple[float, Marks, Ints, int], ...]  # weight, (masks, q, S) tables, (masks,) strands, number of codes

    @property
    def longest(self) -> int:
        """The largest number of windows of a string."""
        return int(np.diff(self.first).max(initial=0))

    def between(self, chunk: Ints, others: Ints) -> Floats:  # (r,), (m,) -> (r, m)
        """The weighted number of pairs of windows, and of masks at which they agree."""
        from mercer.kernels.strings.engine._compiled_bitsets import LEVELS, shared_windows

        out = np.zeros((len(chunk), len(others)))
        for weight, tables, strands, bound in self.groups:
            most = LEVELS * self.longest * len(tables) * (2 if self.back.shape[1] else 1)
            shared_windows(
                self.parts, self.back, tables, strands, self.first, bound, chunk, others, FEW,
                max(8, most.bit_length()), out, weight,
            )  # fmt: skip
        return out

    def own(self, rows: Ints) -> Floats:  # (r,) -> (r,)
        """The same of every string with itself."""
        from mercer.kernels.strings.engine._compiled_bitsets import own_windows

        out = np.zeros(len(rows))

        def work(part: slice, worker: int) -> None:
            for weight, tables, strands, bound in self.groups:
                own_windows(self.parts, self.back, tables, strands, self.first, bound, rows[part], weight, out[part])

        parts = [slice(i, min(i + 256, len(rows))) for i in range(0, len(rows), 256)]
        run(parts, work, min(cpu_count(), len(parts)))
        return out


def prepared(
    letters: Letters,
    masks: Masks,
    opposite: NDArray[np.int32] | None = None,
    known: NDArray[np.bool_] | None = None,
) -> Windows | None:
    """The windows of a collection; None where a table is better: few letters, few columns, or too many codes for an array.

    `known` says of every letter of the alphabet whether windows with it count.
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
    return Windows(parts, back, first, tuple(groups))


def _cuts(base: int, width: int) -> list[tuple[int, int]]:
    """Parts of a window, each with at most PART codes."""
    size = 1
    while size < width and base ** (size + 1) <= PART:
        size += 1
    return [(start, min(start + size, width)) for start in range(0, width, size)]


def _part(codes: NDArray[np.int32], place: Ints, size: int, base: int, step: int = 1) -> Marks:
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


def of_counts(indptr: Ints, indices: NDArray[np.int32], counts: Array, width: int) -> Windows:
    """Rows of whole numbers as if every count were that many windows."""
    times = counts.astype(np.int64)
    first = np.concatenate([[0], np.cumsum(times)])[indptr]
    keys = np.repeat(indices, times).astype(np.uint32)[None]
    table = np.empty((1, 1, 0), dtype=np.uint32)
    group = (1.0, table, np.zeros(1, dtype=np.int64), max(width, 1))
    return Windows(keys, np.empty((1, 0), dtype=np.uint32), first, (group,))
