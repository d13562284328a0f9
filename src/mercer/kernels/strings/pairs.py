"""Comparison of windows of strings pair by pair: for wide windows, or many ways to choose places."""

from __future__ import annotations

from dataclasses import dataclass
from math import lgamma, log
from typing import Any

import numpy as np

from mercer.arrays import Codes, Floats, Ints
from mercer.errors import InputError
from mercer.kernels.strings.letters import Letters
from mercer.numeric.compiling import worth
from mercer.numeric.threads import cpu_count, run
from mercer.numeric.tiles import row_blocks

#: An entry of a table takes some 100 ns, a pair of windows some 2 ns: with this many windows per feature of a window the
#: two ways are equal. Compiled loops pay from 2^17 entries on.
BALANCE, PER_ENTRY = 50, 64

#: The most features of one window, and of a collection, that are listed one by one.
MOST_WAYS, MOST_ENTRIES = 10**6, 2**31

#: Logarithm of the largest number of ways that a float can hold.
MOST_LOG_WAYS = log(1e300)


@dataclass(frozen=True)
class PairedWindows:
    """Strings as numbers; a pair of windows of `width` letters that agree at m places counts values[m]."""

    codes: Codes  # (N,), negative for letters whose windows are left out
    starts: Ints  # (n + 1,)
    width: int
    values: Floats  # (width + 1,)

    #: Rows per tile. Nothing is computed once per tile, and small tiles react sooner to Ctrl-C.
    strip = 32

    @classmethod
    def pay(cls, letters: Letters, width: int, ways: int, codes_fit: bool = True) -> bool:
        """Return whether comparing pairs takes fewer operations than listing this many features of every window."""
        return worth(letters.codes.size * ways, PER_ENTRY) and ways * BALANCE >= letters.codes.size

    def between(self, chunk: Ints, others: Ints) -> Floats:  # (r,), (m,) -> (r, m)
        """The sums of the strings of a chunk with the others."""
        from mercer.kernels.strings._compiled_pairs import paired_windows

        out = np.zeros((len(chunk), len(others)))
        paired_windows(self.codes, self.starts, chunk, others, self.width, self.values, out)
        return out

    def own(self, rows: Ints) -> Floats:  # (r,) -> (r,)
        """The sum of every string with itself."""
        from mercer.kernels.strings._compiled_pairs import own_pairs

        out = np.zeros(len(rows))
        parts = row_blocks(len(rows), 64)

        def work(part: slice, worker: int) -> None:
            own_pairs(self.codes, self.starts, rows[part], self.width, self.values, out[part])

        run(parts, work, min(cpu_count(), len(parts)))
        return out


def log_choices(n: int, k: int) -> float:
    """Return log(n choose k) without computing a number that may have millions of digits."""
    return lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0)


def check_listed(kernel: Any, ways: int, windows: int) -> None:
    """Raise if the features of a kernel are too many to list."""
    if ways > MOST_WAYS or ways * windows > MOST_ENTRIES:
        raise InputError(
            f"{kernel} has {ways:.3g} features for every window, and there are up to {windows} windows: too many to list. "
            "Values k(X, Z) need no list unless reverse_complement=True; otherwise choose smaller parameters."
        )
