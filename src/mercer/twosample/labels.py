"""Two ways to relabel a pooled sample, and what a quadratic form in the labels says about MMD^2.

With K0 the Gram matrix without its diagonal, v in {0, 1}^N the rows that count as the first sample, and s = 2v - 1,

    MMD^2_u = v'K0 v / (m (m-1)) + (1-v)'K0 (1-v) / (n (n-1)) - 2 v'K0 (1-v) / (m n)

needs one quadratic form s'K0 s per relabeling; the rest are row sums of K0. Adding a constant to all entries changes
nothing, so a constant near their mean is taken off first: what is left is small, and float32 is enough for it.

For m = n, swapping x_i and y_i for random i is a group of relabelings too. There, with H_ij = k(x_i, x_j) + k(y_i, y_j)
- k(x_i, y_j) - k(y_i, x_j) for i != j and signs e in {-1, 1}^n, MMD^2_u is a constant plus b e'He, b > 0: the matrix is
n x n instead of 2n x 2n.
"""

from __future__ import annotations

import abc
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Floats


def permutations(rng: np.random.Generator, m: int, n: int, count: int) -> NDArray[np.int8]:  # -> (count, m + n)
    """Rows with exactly m entries +1, uniform over all such rows."""
    from mercer.twosample._compiled_permutations import draw_subsets

    few = min(m, n)  # it is enough to draw the smaller sample
    signs = np.full((count, m + n), -1 if m <= n else 1, np.int8)
    draw_subsets(rng.random((count, few)), signs, 1 if m <= n else -1)
    return signs


def swaps(rng: np.random.Generator, n: int, count: int) -> NDArray[np.int8]:  # -> (count, n)
    """Rows of independent fair signs: -1 swaps x_i and y_i, +1 leaves them."""
    bits = np.unpackbits(rng.integers(0, 256, (count, -(-n // 8)), dtype=np.uint8), axis=1)[:, :n]
    signs = bits.view(np.int8)
    signs *= 2
    signs -= 1
    return np.ascontiguousarray(signs)


@dataclass(frozen=True)
class Moments:
    """What one pass over the Gram matrices of q kernels leaves behind, besides the quadratic forms."""

    sums: Floats  # (q, N, 2): K0 v and K0 1 for the observed labels
    squares: Floats  # (q,): sum over i != j of K_ij^2
    paired: Floats  # (q,): sum_i k(x_i, y_i), where samples are paired
    diag: Floats  # (q, N): k(x, x)
    shift: Floats  # (q,): the constant taken off before forms were made
    peak: Floats  # (q,): the largest |entry| of the matrices the forms were made of


@dataclass(frozen=True)
class Block:
    """One block of the pooled Gram matrix inside a tile; `twice` adds its transpose as well."""

    rows: slice
    cols: slice
    sign: float
    twice: bool = False
    paired: bool = False  # its diagonal holds k(x_i, y_i)


class Labels(abc.ABC):
    """Abstract: a group of relabelings of m + n rows and its quadratic form."""

    def __init__(self, m: int, n: int) -> None:
        self.m, self.n = m, n
        self.observed = np.repeat([1.0, 0.0], [m, n])  # v of the labels as they came

    size: int  # of the matrix in the form
    words: str  # what is drawn, in words

    @abc.abstractmethod
    def draw(self, rng: np.random.Generator, count: int) -> NDArray[np.int8]:
        """Random relabelings, one per row."""

    @abc.abstractmethod
    def identity(self) -> NDArray[np.int8]:
        """The observed labels, as one row."""

    @abc.abstractmethod
    def blocks(self, rows: slice, cols: slice) -> Iterator[Block]:
        """The blocks of the pooled Gram matrix whose signed sum is this tile of the form's matrix."""

    @abc.abstractmethod
    def statistics(
        self, forms: Floats, signs: NDArray[np.int8], moments: Moments, biased: bool
    ) -> Floats:  # (q, B), (B, size) -> (q, B)
        """MMD^2 of every kernel under every relabeling."""

    @abc.abstractmethod
    def over_rows(self, signs: NDArray[np.int8]) -> NDArray[np.int8]:  # (B, size) -> (B, m + n)
        """The sign of every pooled row under every relabeling."""

    @abc.abstractmethod
    def slope(self) -> float:
        """d MMD^2 / d form."""

    shifted: bool  # whether a constant is taken off the entries

    def estimate(self, moments: Moments, biased: bool) -> Floats:  # -> (q,)
        """MMD^2 of every kernel for the observed labels, in float64 throughout."""
        first = slice(0, self.m)
        within, across = moments.sums[:, first, 0].sum(axis=1), moments.sums[:, first, 1].sum(axis=1)
        total, diag = moments.sums[:, :, 1].sum(axis=1), moments.diag
        return self._three_terms(within, across, total, diag[:, first].sum(axis=1), diag.sum(axis=1), biased)

    def _three_terms(self, within: Any, across: Any, total: Any, diag: Any, trace: Any, biased: bool) -> Any:
        """From v'K0 v, v'K0 1, 1'K0 1, v'd and 1'd."""
        m, n = self.m, self.n
        other, between = total - 2.0 * across + within, across - within
        if biased:
            return (within + diag) / m**2 + (other + trace - diag) / n**2 - 2.0 * between / (m * n)
        return within / (m * (m - 1)) + other / (n * (n - 1)) - 2.0 * between / (m * n)


class Permuted(Labels):
    """All ways to choose m of the m + n rows."""

    shifted, words = True, "permutations"

    def __init__(self, m: int, n: int) -> None:
        super().__init__(m, n)
        self.size = m + n

    def draw(self, rng: np.random.Generator, count: int) -> NDArray[np.int8]:
        return permutations(rng, self.m, self.n, count)

    def identity(self) -> NDArray[np.int8]:
        return np.repeat(np.array([1, -1], np.int8), [self.m, self.n])[None, :]

    def blocks(self, rows: slice, cols: slice) -> Iterator[Block]:
        yield Block(rows, cols, 1.0)

    def over_rows(self, signs: NDArray[np.int8]) -> NDArray[np.int8]:
        return signs

    def slope(self) -> float:
        m, n = self.m, self.n
        return 0.25 * (1.0 / (m * (m - 1)) + 1.0 / (n * (n - 1)) + 2.0 / (m * n))

    def statistics(self, forms: Floats, signs: NDArray[np.int8], moments: Moments, biased: bool) -> Floats:
        size, shift = self.size, moments.shift
        row_sums = moments.sums[:, :, 1] - shift[:, None] * (size - 1)  # (q, N), of K0 - shift
        total = row_sums.sum(axis=1)[:, None]
        signed = self._signed(row_sums, signs)
        within, across = 0.25 * (forms + 2.0 * signed + total), 0.5 * (signed + total)
        if not biased:
            return self._three_terms(within, across, total, 0.0, 0.0, False)
        diag = moments.diag - shift[:, None]
        trace = diag.sum(axis=1)[:, None]
        return self._three_terms(within, across, total, 0.5 * (self._signed(diag, signs) + trace), trace, True)

    @staticmethod
    def _signed(values: Floats, signs: NDArray[np.int8]) -> Floats:  # (q, N), (B, N) -> (q, B)
        out = np.empty((len(values), len(signs)))
        for start in range(0, len(signs), 256):  # small pieces: signs become float64 for this product
            part = slice(start, start + 256)
            out[:, part] = values @ signs[part].T.astype(np.float64)
        return out


class Swapped(Labels):
    """All ways to swap x_i and y_i; both samples have n rows."""

    shifted, words = False, "swaps"  # a constant cancels inside H

    def __init__(self, m: int, n: int) -> None:
        super().__init__(m, n)
        self.size = n

    def draw(self, rng: np.random.Generator, count: int) -> NDArray[np.int8]:
        return swaps(rng, self.n, count)

    def identity(self) -> NDArray[np.int8]:
        return np.ones((1, self.n), np.int8)

    def blocks(self, rows: slice, cols: slice) -> Iterator[Block]:
        below, right = (slice(part.start + self.n, part.stop + self.n) for part in (rows, cols))
        yield Block(rows, cols, 1.0)
        yield Block(below, right, 1.0)
        if rows == cols:
            yield Block(rows, right, -1.0, twice=True, paired=True)
        else:
            yield Block(rows, right, -1.0)
            yield Block(below, cols, -1.0)

    def over_rows(self, signs: NDArray[np.int8]) -> NDArray[np.int8]:
        return np.hstack([signs, -signs])

    def slope(self) -> float:
        return 0.5 * (1.0 / (self.n * (self.n - 1)) + 1.0 / self.n**2)

    def statistics(self, forms: Floats, signs: NDArray[np.int8], moments: Moments, biased: bool) -> Floats:
        first = slice(0, self.n)
        within, across = moments.sums[:, first, 0].sum(axis=1), moments.sums[:, first, 1].sum(axis=1)
        other = moments.sums[:, :, 1].sum(axis=1) - 2.0 * across + within
        here = within + other - 2.0 * (across - within) + 2.0 * moments.paired  # 1'H1: nothing is swapped
        slope = 1.0 / self.n**2 if biased else self.slope()
        return self.estimate(moments, biased)[:, None] + slope * (forms - here[:, None])
