"""Rows in the order of time that depend on their neighbors: how far that reaches, and tests that take it into account.

Permuting single rows destroys their order, and p-values of series are then too small. Blocks of neighboring rows are
exchangeable if they are long compared with the reach of the dependence: two-sample tests relabel blocks, and tests of
independence permute blocks, or shift one series against the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Array, Floats, Ints
from mercer.errors import InputError, describe
from mercer.inputs import Rows
from mercer.kernels.base import Kernel
from mercer.kernels.evaluation import Evaluation
from mercer.twosample.feature_blocks import BlockLayout
from mercer.twosample.scaled_grams import widened

#: Rows of a window in which correlations are measured, and the largest number of windows.
WINDOW, MOST_WINDOWS = 200, 20

#: Rows of a block, in units of the correlation time: with less, blocks that follow each other still depend.
BLOCK_TIMES = 10

#: Blocks of each sample, at least; "auto" leaves at least MANY_BLOCKS.
FEWEST_BLOCKS, MANY_BLOCKS = 5, 8

#: Dependence is reported from this correlation of neighbors on, if it exceeds its standard error by this factor.
SMALLEST_CORRELATION, STANDARD_ERRORS = 0.1, 4.0

#: Name of the usual resampling.
PERMUTED = "permutations"

#: Kernel values of a block that are held at once.
VALUES_AT_A_TIME = 2**22


@dataclass(frozen=True)
class SerialDependence:
    """Correlation of rows with later rows in feature space."""

    correlation: float  # of neighbors
    significant: bool
    time: float  # 1 + 2 (sum of correlations at larger and larger lags); 1 for independent rows


def even_windows(n: int, most: int = MOST_WINDOWS) -> list[slice]:
    """Return windows of equal length spread over n rows."""
    window = min(n, WINDOW)
    starts = np.unique(np.linspace(0, n - window, num=min(most, max(1, n // window))).astype(int))
    return [slice(start, start + window) for start in starts.tolist()]


def serial_dependence(gram: Callable[[slice], Floats], windows: list[slice]) -> SerialDependence:
    """Measure dependence from the Gram matrices of windows of ordered rows.

    The correlation at lag l is the mean of centered kernel values of rows l apart over the mean of the diagonal. Rows are
    centered within windows, because a change of the distribution makes rows on the same side alike too.
    """
    sizes = np.array([part.stop - part.start for part in windows])
    longest = int(sizes.max())
    total, squares, unit = np.zeros(longest), 0.0, 0.0
    for part, size in zip(windows, sizes.tolist(), strict=True):
        K = np.asarray(gram(part), dtype=np.float64)
        unit = unit or float(np.abs(K).max()) or 1.0  # squares of very large values would overflow
        K = K / unit
        means = K.mean(axis=0)
        K = K - means - means[:, None] + K.mean()
        for lag in range(size):
            total[lag] += np.trace(K, lag)
        squares += float(np.square(np.diagonal(K, 1)).sum())
    pairs = np.maximum(sizes[:, None] - np.arange(longest), 0)
    lags, taken = pairs.sum(axis=0), (pairs / sizes[:, None]).sum(axis=0)  # centering takes 1 / size from each pair
    correlation = total / lags / (total[0] / lags[0] if total[0] > 0 else 1.0) + taken / lags
    below = np.flatnonzero(correlation[1:] < 2.0 / math.sqrt(float(sizes.sum())))
    reach = int(below[0]) if len(below) else longest - 1  # lags before the first that is within noise
    first = float(correlation[1]) if longest > 1 else 0.0
    certain = longest > 1 and total[1] > STANDARD_ERRORS * math.sqrt(squares)
    time = 1.0 + 2.0 * float(correlation[1 : reach + 1].sum())
    return SerialDependence(first, certain and first > SMALLEST_CORRELATION, max(1.0, time))


def dependence_of_rows(kernel: Kernel, rows: Rows) -> SerialDependence:
    """Measure the dependence of ordered rows with a kernel."""
    if kernel.given or len(rows) < 20:
        return SerialDependence(0.0, False, 1.0)
    rows = widened(rows)

    def gram(part: slice) -> Floats:
        pair = Evaluation(kernel, rows.take(np.arange(part.start, part.stop)))
        return np.array(pair.block(slice(0, pair.shape[0]), slice(0, pair.shape[1])), dtype=np.float64)

    return serial_dependence(gram, even_windows(len(rows), 5))


def check_blocks(owner: str, blocks: Any, words: tuple[str, ...]) -> None:
    """Raise if `blocks` is neither None, a whole number >= 1, nor one of some words."""
    whole = isinstance(blocks, (int, np.integer)) and not isinstance(blocks, bool) and blocks >= 1
    if not (blocks is None or whole or (isinstance(blocks, str) and blocks in words)):
        named = " or ".join(repr(word) for word in words)
        raise InputError(f"{owner}: blocks must be a whole number >= 1, {named}, or None; got {describe(blocks)}.")


def block_size(blocks: int | str, found: tuple[SerialDependence, ...], fewest: int) -> tuple[int, tuple[str, ...]]:
    """Return the rows of a block, and warnings if it is short compared with the dependence."""
    wanted = math.ceil(BLOCK_TIMES * max(one.time for one in found)) if any(one.significant for one in found) else 1
    size = min(wanted, max(1, fewest // MANY_BLOCKS)) if blocks == "auto" else int(blocks)
    if size >= 0.5 * wanted:
        return size, ()
    what = (
        f"Blocks of {size} row{'s' * (size != 1)} are short compared with the dependence of the rows, which asks for about"
    )
    return size, (f"{what} {wanted}: the p-value may be too small.",)


def serial_warning(names: str, found: SerialDependence) -> str:
    """Return the warning that rows depend on their neighbors."""
    return (
        f"Neighboring rows of {names} are alike (correlation {found.correlation:.2f} in feature space). If rows are in the "
        "order of time, the p-value is too small: give blocks='auto'. If they were sorted, ignore this."
    )


def block_permutation(rng: Any, n: int, size: int) -> Ints:  # -> (n,)
    """Return a random order of n rows in which blocks of neighboring rows stay together; cuts begin at a random row."""
    if size == 1:
        return np.asarray(rng.permutation(n), dtype=np.int64)
    first = int(rng.permutation(size)[0])
    cuts = np.split(np.arange(n), np.arange(first, n, size)[1 if first == 0 else 0 :])
    return np.concatenate([cuts[i] for i in rng.permutation(len(cuts))]).astype(np.int64)


def time_shifts(rng: np.random.Generator, n: int, guard: int, count: int, time: float = 1.0) -> Ints:  # -> (B, n)
    """Return orders that shift all rows by the same number of places, around the end, by at least `guard` places.

    Values of neighboring shifts are alike, about `time` of them. The largest of them come in groups, therefore the
    unshifted rows count as a group too: they are repeated as often as shifts are chosen from `time` places.
    """
    guard = max(1, min(guard, n // 4))
    places = np.arange(guard, n - guard + 1)
    chosen = rng.permutation(places)[:count]
    own = np.zeros(max(0, round(time * len(chosen) / len(places)) - 1), dtype=np.int64)
    return (np.arange(n)[None, :] + np.concatenate([own, chosen])[:, None]) % n


@dataclass(frozen=True)
class RowOrders:
    """How rows of Y are brought out of their pairs: the order of number b = 1, 2, …, count; 0 is the identity."""

    name: str
    count: int
    n: int
    order: Callable[[int], Ints]
    warnings: tuple[str, ...] = ()

    def all(self) -> Ints:  # -> (1 + count, n)
        """Return the identity, then all orders."""
        return np.stack([np.arange(self.n), *[self.order(b) for b in range(1, self.count + 1)]])


def choose_orders(
    blocks: int | str | None, pair: tuple[Kernel, Kernel], X: Rows, Y: Rows, count: int, seed: int
) -> RowOrders:
    """Choose permutations of rows, permutations of blocks or shifts for a test of independence."""
    n = len(X)
    found = dependence_of_rows(pair[0], X), dependence_of_rows(pair[1], Y)
    both = all(one.significant for one in found)  # if one of the two is independent, permutations of rows are valid
    if blocks is None or (blocks == "auto" and not both):
        texts = [serial_warning("X and of Y", min(found, key=lambda one: one.time))] if both and blocks is None else []
        return RowOrders(PERMUTED, count, n, lambda b: np.random.default_rng([seed, b]).permutation(n), tuple(texts))
    if isinstance(blocks, str):
        guard, _ = block_size("auto", found, n)
        orders = time_shifts(np.random.default_rng(seed), n, guard, count, min(one.time for one in found))
        return RowOrders("time shifts", len(orders), n, lambda b: orders[b - 1])
    if n < FEWEST_BLOCKS * blocks:
        raise InputError(
            f"hsic_test: {n} rows make fewer than {FEWEST_BLOCKS} blocks of {blocks}; give shorter blocks or more rows."
        )
    size, warnings = block_size(blocks, found, n) if both else (int(blocks), ())
    name = f"permutations of blocks of {size} rows"
    return RowOrders(name, count, n, lambda b: block_permutation(np.random.default_rng([seed, b]), n, size), warnings)


def contiguous(m: int, n: int, size: int) -> BlockLayout:
    """Return blocks of neighboring rows; rows at the end of a sample that fill no block are left out."""
    first, second = m // size, n // size
    if min(first, second) < FEWEST_BLOCKS:
        raise InputError(
            f"mmd_test: blocks of {size} rows leave {first} blocks of X and {second} of Y; at least {FEWEST_BLOCKS} of each "
            "are needed. Give shorter blocks or more rows."
        )
    left = np.arange(first * size).reshape(first, size)
    right = m + np.arange(second * size).reshape(second, size)
    return BlockLayout(np.concatenate([left, right]), first, second)


def block_gram(kernel: Kernel, rows: Rows, layout: BlockLayout) -> Array:  # -> (blocks, blocks)
    """Return the means of kernel values between the rows of blocks."""
    used, size, count = rows.take(layout.index.ravel()), layout.size, len(layout.index)
    values = Evaluation(kernel, used)
    step = max(1, VALUES_AT_A_TIME // (size * size * count))
    out = np.empty((count, count))
    for start in range(0, count, step):
        some = slice(start, min(start + step, count))
        K = values.block(slice(some.start * size, some.stop * size), slice(0, count * size))
        means = np.asarray(K, dtype=np.float64).reshape(some.stop - some.start, size, count, size)
        out[some] = means.mean(axis=(1, 3))
    return 0.5 * (out + out.T)
