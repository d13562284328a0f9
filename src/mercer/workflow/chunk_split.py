"""Rows that come in chunks, told apart by a hash of their number: which are fitted, which calibrate, which judge.

A permutation of all rows would have to be held somewhere. A hash of the seed and the number of a row in its file says the
same wherever it is asked, on any worker and for any chunks, and nothing is sent or kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Floats, Indices
from mercer.errors import InputError
from mercer.selection.folds import uniform_by_number

HELD_OUT, CALIBRATING, FITTED = 0, 1, 2

#: Rows that judge and rows that calibrate, at most: more of them would say nothing new, and they are brought together.
MOST_HELD_OUT, MOST_CALIBRATING = 50_000, 1500

#: The part of the rows that calibrates where they are few.
CALIBRATES = 0.1

#: Rows of the fit that are brought together for the report and the rivals: at most this many, of at most this many bytes.
MOST_SAMPLED, SAMPLED_BYTES = 100_000, 2**28

#: Fewer rows are no work for a cluster, and chance might leave one of the parts without any.
FEWEST = 100


@dataclass(frozen=True)
class Draw:
    """What every row is for: the share of rows that judge, that calibrate, and that are brought together as a sample."""

    seed: int
    held_out: float
    calibrating: float
    sampled: float

    def uniform(self, first: int, count: int) -> Floats:  # -> (count,)
        """Return numbers in [0, 1) for the rows first, first + 1, …"""
        return uniform_by_number(self.seed, first, count)

    def roles(self, first: int, count: int) -> Indices:  # -> (count,)
        """What the rows first, first + 1, … are for."""
        return np.searchsorted([self.held_out, self.held_out + self.calibrating], self.uniform(first, count), side="right")

    def in_sample(self, first: int, count: int) -> NDArray[np.bool_]:  # -> (count,)
        """Which of these rows are brought together, if they are fitted."""
        return np.asarray(self.uniform(first, count) >= 1.0 - self.sampled)


def draw_for(n: int, width: int, holdout: float, seed: int) -> Draw:
    """The shares for n rows with this number of columns."""
    if n < FEWEST:
        raise InputError(f"{n} rows are no work for a cluster, which takes at least {FEWEST}; leave --scheduler out.")
    held_out = min(holdout, MOST_HELD_OUT / n)
    calibrating = min(CALIBRATES * (1.0 - held_out), MOST_CALIBRATING / n)
    if (1.0 - held_out - calibrating) * n < max(FEWEST // 10, n // 10):
        raise InputError(f"--holdout {holdout:g} leaves too few rows to learn from; hold out less.")
    return Draw(seed, held_out, calibrating, min(1.0, min(MOST_SAMPLED, SAMPLED_BYTES // (8 * width)) / n))


class Roll:
    """Who is who among the rows of all parts, by their numbers in the file; rows that were left out are nobody."""

    def __init__(self, draw: Draw, lengths: Sequence[int], left_out: Sequence[NDArray[np.uint8] | None]) -> None:
        self._draw, self._lengths, self._left_out = draw, lengths, left_out  # bits of the rows left out, None for none
        self.starts = np.cumsum([0, *lengths])[:-1].tolist()

    def rows(self, role: int | None, sampled: bool = False) -> Indices:
        """The numbers of the rows that are for something, or of all that are for anything; of the sample only."""
        return np.concatenate([self._rows_of(part, role, sampled) for part in range(len(self._lengths))])

    def lengths(self, role: int | None) -> tuple[int, ...]:
        """How many such rows each part has."""
        return tuple(len(self._rows_of(part, role, False)) for part in range(len(self._lengths)))

    def numbers(self, role: int | None, index: Indices) -> Indices:  # (m,) -> (m,)
        """The numbers in the file of such rows, given by their places among them."""
        ends = np.cumsum(self.lengths(role))
        parts = np.searchsorted(ends, index, side="right")
        found = np.empty(len(index), dtype=np.intp)
        for part in np.unique(parts).tolist():
            mine = parts == part
            rows = self._rows_of(part, role, False)
            found[mine] = rows[index[mine] - (ends[part] - len(rows))]
        return found

    def _rows_of(self, part: int, role: int | None, sampled: bool) -> Indices:
        first, count, out = self.starts[part], self._lengths[part], self._left_out[part]
        wanted = np.ones(count, dtype=bool) if role is None else self._draw.roles(first, count) == role
        if out is not None:
            wanted &= ~np.unpackbits(out, count=count).astype(bool)
        if sampled:
            wanted &= self._draw.in_sample(first, count)
        return np.flatnonzero(wanted) + first
