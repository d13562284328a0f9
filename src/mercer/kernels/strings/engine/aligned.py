"""Aligned strings: runs of equal letters at the same places."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from mercer.arrays import Floats
from mercer.kernels.strings.engine.letters import Letters
from mercer.kernels.strings.engine.subsequences import padded
from mercer.kernels.strings.engine.substrings import Keys, Table, scaled, side_by_side, spelled, table
from mercer.numeric.compiling import worth

#: Nanoseconds that a compiled loop saves per comparison of letters: from 2^23 on it is worth loading.
#: Row: strkernels-weighted-degree-*.
PER_STEP = 1


def match_block(A: Letters, rows: slice, B: Letters, cols: slice, weights: Floats) -> Floats:  # (degree,) -> (n, m)
    """The sum over places of the weights of all substrings that end there and are equal in both strings.

    After a run of r equal letters these are substrings of 1 … min(r, degree) letters: one number per length of the run.
    """
    left, right = padded(A.take(rows), -1), padded(B.take(cols), -2)
    width = min(left.shape[1], right.shape[1])
    gain = np.concatenate([[0.0], np.cumsum(weights)])
    out = np.zeros((len(left), len(right)))
    if worth(left.shape[0] * right.shape[0] * width, PER_STEP):
        from mercer.kernels.strings.engine._compiled_aligned import matches

        matches(left, np.ascontiguousarray(right.T), gain, out)
        return out
    run = np.zeros(out.shape, dtype=np.int64)
    for i in range(width):
        run = np.minimum(run + 1, len(weights)) * (left[:, i, None] == right[None, :, i])
        out += gain[run]
    return out


def match_diag(letters: Letters, weights: Floats) -> Floats:  # -> (n,)
    """k(x, x): every substring of up to `degree` letters agrees with itself."""
    degrees = np.arange(1, len(weights) + 1)
    return np.asarray(np.maximum(letters.lengths[:, None] - degrees + 1, 0) @ weights)


def placed_table(letters: Letters, weights: Floats) -> Table:
    """Indicators of (place, substring), times the root of the weight of its length."""
    return side_by_side([scaled(_placed(letters, d), float(weights[d - 1]) ** 0.5) for d in range(1, len(weights) + 1)])


def _placed(letters: Letters, width: int) -> Table:
    row, place = letters.windows(width)
    offset = place - letters.starts[row]
    columns = [offset, *[letters.codes[place + q] for q in range(width)]]
    code, bound = spelled(columns, max(len(letters.alphabet), int(offset.max(initial=0)) + 1))

    def name(at: int) -> Hashable:
        string = int(np.searchsorted(letters.starts, at, side="right")) - 1
        return int(at - letters.starts[string]), letters.written(letters.codes[at : at + width])

    first = np.searchsorted(row, np.arange(len(letters) + 1))
    return table(Keys(code, bound, first, lambda k: place[k]), name)
