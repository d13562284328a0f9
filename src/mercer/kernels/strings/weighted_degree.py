"""Kernels on aligned strings: equal substrings at the same place."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cholesky_banded

from mercer.arrays import Array, Floats
from mercer.kernels.base import Derivation
from mercer.kernels.counting.table import FeatureTable, Keys, counted, scaled, side_by_side
from mercer.kernels.evaluation import Pair
from mercer.kernels.features import Occurrence
from mercer.kernels.fields import whole
from mercer.kernels.strings.letters import Letters
from mercer.kernels.strings.spectrum import SubstringKernel, whole_item
from mercer.kernels.strings.substrings import spelled
from mercer.numeric.compiling import worth
from mercer.numeric.encodings import Encoding

#: Nanoseconds that a compiled loop saves per comparison of letters: from 2^23 on it is worth loading.
#: Row: strkernels-weighted-degree-*.
PER_STEP = 1


@dataclass(frozen=True, repr=False)
class WeightedDegree(SubstringKernel):
    """The weighted degree kernel: common substrings at the same place (Rätsch and Sonnenburg 2004).

    k(x, z) = sum_{d=1}^{degree} b_d #{i : x_i … x_(i+d-1) = z_i … z_(i+d-1)}
    with b_d = 2 (degree - d + 1) / (degree (degree + 1)), for strings that are aligned from their first letter, such as
    DNA around a site. Where one string ends, nothing is equal any more; an empty string has values 0. Every letter
    counts, an N of DNA like any other.

    With shift > 0 substrings that are up to `shift` places apart count as well (Rätsch, Sonnenburg and Schölkopf 2005):
    k(x, z) = sum_d b_d sum_{|i - j| <= shift} c_|i-j| [x_i … x_(i+d-1) = z_j … z_(j+d-1)] with c_0 = 1 and
    c_s = 1 / (2 (s + 1)). The trigonometric sum c_0 + 2 sum_s c_s cos(s t) is at least 1/2 (Rogosinski and Szegö 1928),
    so that c is the autocorrelation of numbers h_0 … h_shift (Fejér and Riesz), which gives the features.

    Parameters
    ----------
    degree : int, default 3
        The longest substrings that count.
    shift : int, default 0
        The largest distance between the places of equal substrings.

    >>> WeightedDegree(1)(["acgt", "aggt"]).tolist()
    [[4.0, 3.0], [3.0, 4.0]]
    >>> WeightedDegree(1, shift=1)(["ca"], ["ac"]).round(3).tolist()  # each letter one place away: 2 times 1/4
    [[0.5]]
    >>> WeightedDegree(2)(["acgt", "aggt"]).round(3).tolist()  # 2/3 per letter, 1/3 per pair of letters
    [[3.667, 2.333], [2.333, 3.667]]
    """

    degree: int = whole(3, at_least=1, at_most=10_000, keyword=False)
    shift: int = whole(0, at_least=0, at_most=100)
    _quiet = ("shift",)

    @property
    def _weights(self) -> Floats:
        degrees = np.arange(1, self.degree + 1)
        return 2.0 * (self.degree - degrees + 1) / (self.degree * (self.degree + 1))

    def _block(self, pair: Pair) -> Array:
        if self.shift:
            return super()._block(pair)
        return match_block(pair.A.items, pair.rows, pair.B.items, pair.cols, self._weights)

    def _diag(self, encoding: Encoding) -> Array:
        if self.shift:
            return super()._diag(encoding)
        return np.asarray(match_diag(encoding.items, self._weights))

    def _table(self, letters: Letters) -> FeatureTable:
        return placed_table(letters, self._weights) if self.shift == 0 else self._shifted_table(letters)

    def _shifted_table(self, letters: Letters) -> FeatureTable:
        h = shift_factors(self.shift)
        roots = np.sqrt(self._weights)
        return side_by_side([_placed(letters, d, float(root) * h) for d, root in enumerate(roots, 1)])

    def _occurrences(self, item: Any) -> Iterator[Occurrence]:
        item = whole_item(item)
        for d, weight in enumerate(self._weights.tolist(), 1):
            for i in range(len(item) - d + 1):
                for t, factor in enumerate(shift_factors(self.shift).tolist()):
                    yield Occurrence((i + t, item[i : i + d]), tuple(range(i, i + d)), weight**0.5 * factor)

    def _derivation(self) -> Derivation:
        because = f"<phi(x), phi(z)> with phi(x) weighted indicators of (place, substring of at most {self.degree} letters)"
        if self.shift:
            because += (
                f", each spread over {self.shift + 1} places by numbers h with sum_t h_t h_(t+s) = c_s; they exist because "
                "1 + sum_s cos(s t) / (s + 1) >= 1/2"
            )
        return Derivation("explicit features", because)


def match_block(A: Letters, rows: slice, B: Letters, cols: slice, weights: Floats) -> Floats:  # (degree,) -> (n, m)
    """The sum over places of the weights of all substrings that end there and are equal in both strings.

    After a run of r equal letters these are substrings of 1 … min(r, degree) letters: one number per length of the run.
    """
    left, right = A.take(rows).padded(-1), B.take(cols).padded(-2)
    width = min(left.shape[1], right.shape[1])
    gain = np.concatenate([[0.0], np.cumsum(weights)])
    out = np.zeros((len(left), len(right)))
    if worth(left.shape[0] * right.shape[0] * width, PER_STEP):
        from mercer.kernels.strings._compiled_strings import matches

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


def placed_table(letters: Letters, weights: Floats) -> FeatureTable:
    """Indicators of (place, substring), times the root of the weight of its length."""
    return side_by_side([scaled(_placed(letters, d), float(weights[d - 1]) ** 0.5) for d in range(1, len(weights) + 1)])


@cache
def shift_factors(shift: int) -> Floats:  # -> (shift + 1,)
    """Return h with sum_t h_t h_(t+s) = c_s, c_0 = 1, c_s = 1 / (2 (s + 1)) for s = 1 … shift.

    The last row of the Cholesky factor of a long banded Toeplitz matrix converges to h, at a geometric rate because the
    symbol is at least 1/2.
    """
    c = np.append(1.0, 0.5 / np.arange(2.0, shift + 2.0))
    factor = cholesky_banded(np.repeat(c[:, None], 100 * (shift + 1), axis=1), lower=True)
    last = factor.shape[1] - 1
    return np.array([factor[s, last - s] for s in range(shift + 1)])


def _placed(letters: Letters, width: int, factors: Floats | None = None) -> FeatureTable:  # (shift + 1,)
    """Indicators of (place, substring); with factors, of every place up to `shift` later, times the factor of that place."""
    row, place = letters.windows(width)
    later = np.arange(1 if factors is None else len(factors))
    offset = np.add.outer(place - letters.starts[row], later).ravel()  # (M (shift + 1),)
    row, place = np.repeat(row, len(later)), np.repeat(place, len(later))
    columns = [offset, *[letters.codes[place + q] for q in range(width)]]
    code, bound = spelled(columns, max(len(letters.alphabet), int(offset.max(initial=0)) + 1))

    def name(key: int) -> Hashable:
        return int(offset[key]), letters.written(letters.codes[place[key] : place[key] + width])

    if factors is None:
        first = np.searchsorted(row, np.arange(len(letters) + 1))
        return counted(Keys(code, bound, first, lambda k: k), name)
    distinct, some, column = np.unique(code, return_index=True, return_inverse=True)
    values = np.tile(factors, len(row) // len(later))
    matrix = sp.csr_array((values, (row, column)), shape=(len(letters), len(distinct)))
    matrix.sum_duplicates()
    return FeatureTable(matrix, lambda: [name(key) for key in some.tolist()])
