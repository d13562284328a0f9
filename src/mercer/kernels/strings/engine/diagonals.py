"""Windows compared along the diagonals: a sum over pairs of windows of a function of how many places agree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Floats, Ints
from mercer.kernels.strings.engine.letters import Letters
from mercer.numeric.compiling import worth
from mercer.numeric.threads import cpu_count, run

#: Two codes of a byte are needed for what is no letter, and counts of agreements are bytes too.
MOST_LETTERS, MOST_PLACES = 254, 254

#: Nanoseconds that compiled loops save per window and way to choose among its places: from 2^17 on they are worth loading.
#: Row: gapped-*.
PER_WINDOW = 64

#: A pair of windows takes some 0.3 ns, and a window with one mask some 100 ns by sets of bits if these have an array of all
#: codes, else ten times as much. With this many windows per mask the two ways are equal.
BALANCE, WITHOUT_CODES = 350, 3500


@dataclass(frozen=True)
class Diagonals:
    """Strings as bytes; windows of `width` letters with m >= least agreements count gains[0] + … + gains[m - least]."""

    codes: NDArray[np.uint8]  # (N,)
    starts: Ints  # (n + 1,)
    width: int
    least: int
    gains: Floats  # (width - least + 1,)

    @classmethod
    def pay(cls, letters: Letters, width: int, masks: int, codes_fit: bool) -> bool:
        """Whether this is the faster way for this many masks; letters and windows must fit into bytes."""
        if len(letters.alphabet) > MOST_LETTERS or width > MOST_PLACES:
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
        from mercer.kernels.strings.engine._compiled_diagonals import agreements

        out = np.zeros((len(chunk), len(others)))
        agreements(self.codes, self.starts, chunk, others, self.width, self.least, self.gains, out)
        return out

    def own(self, rows: Ints) -> Floats:  # (r,) -> (r,)
        """The sum of every string with itself."""
        from mercer.kernels.strings.engine._compiled_diagonals import own

        out = np.zeros(len(rows))
        parts = [slice(i, min(i + 64, len(rows))) for i in range(0, len(rows), 64)]

        def work(part: slice, worker: int) -> None:
            own(self.codes, self.starts, rows[part], self.width, self.least, self.gains, out[part])

        run(parts, work, min(cpu_count(), len(parts)))
        return out
