"""Loops of the drift monitor: sums of features over dyadic windows, and simulated runs that set its threshold."""

from __future__ import annotations

import numpy as np

from mercer.arrays import Floats, Ints
from mercer.numeric._compiled_notice import njit


@njit()
def standardized(total: Floats, size: int, mean: Floats, n: int, scale: float, freedom: float) -> float:
    """Return how far the mean of a window is from the reference mean, as a nearly normal number.

    T = ||total / size - mean||^2 / (1 / size + 1 / n) has nearly the distribution scale / freedom times chi^2 of `freedom`;
    the cube root of Wilson and Hilferty makes it nearly normal.
    """
    squares = 0.0
    for c in range(total.shape[0]):
        difference = total[c] / size - mean[c]
        squares += difference * difference
    share = 2.0 / (9.0 * freedom)
    return float((np.cbrt(squares / (1.0 / size + 1.0 / n) / scale) - (1.0 - share)) / np.sqrt(share))


@njit()
def enter(
    row: Floats, state: Floats, counts: Ints, base: int, mean: Floats, n: int, scale: float, freedom: float
) -> tuple[float, int]:
    """Add a row of features, (r,); return the largest standardized distance of the windows that end with it, and its size.

    state (1 + 3 L, r): the sum of the block that is being filled, then the sums of the last three blocks of each level; a
    block of level l has base * 2^l rows. counts (1 + L,): rows in the first, blocks completed at each level. Windows are
    the last two and the last three blocks of a level.
    """
    best, window = -np.inf, 0
    width = row.shape[0]
    for c in range(width):
        state[0, c] += row[c]
    counts[0] += 1
    if counts[0] < base:
        return best, window
    counts[0] = 0
    levels = counts.shape[0] - 1
    carried = state[0].copy()
    state[0, :] = 0.0
    for level in range(levels):
        here = 1 + 3 * level
        for c in range(width):  # the oldest of the three blocks goes
            state[here, c] = state[here + 1, c]
            state[here + 1, c] = state[here + 2, c]
            state[here + 2, c] = carried[c]
        counts[1 + level] += 1
        size = base << level
        total = carried.copy()
        for blocks in range(2, 4):
            if counts[1 + level] < blocks:
                break
            for c in range(width):
                total[c] += state[here + 3 - blocks, c]
            distance = standardized(total, blocks * size, mean, n, scale, freedom)
            if distance > best:
                best, window = distance, blocks * size
        if counts[1 + level] % 2 == 1:
            break
        for c in range(width):
            carried[c] = state[here + 1, c] + state[here + 2, c]
    return best, window


@njit()
def follow(
    Z: Floats, state: Floats, counts: Ints, base: int, mean: Floats, n: int, scale: float, freedom: float, threshold: float
) -> tuple[int, float, int]:
    """Enter rows until the threshold is exceeded; return how many were entered, the largest distance, and its window."""
    best, window = -np.inf, 0
    for i in range(Z.shape[0]):
        distance, size = enter(Z[i], state, counts, base, mean, n, scale, freedom)
        if distance > best:
            best, window = distance, size
        if best > threshold:
            return i + 1, best, window
    return Z.shape[0], best, window


@njit()
def _draw(seed: np.uint64, n: int) -> tuple[np.uint64, int]:
    """Return the next state of a generator (splitmix64), and a number from 0 to n - 1."""
    seed = seed + np.uint64(0x9E3779B97F4A7C15)
    bits = seed
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    bits = bits ^ (bits >> np.uint64(31))
    return seed, int((bits >> np.uint64(33)) * np.uint64(n) >> np.uint64(31))


@njit()
def simulated_run(
    Z: Floats, mean: Floats, seed: np.uint64, base: int, levels: int, scale: float, freedom: float, cap: float, most: int,
    times: Ints, values: Floats,
) -> int:  # fmt: skip
    """Simulate a stream of rows of Z against a reference mean; record when the largest distance grew, and to what.

    The run ends when the distance exceeds `cap`, or after `most` rows. Returns the number of records.
    """
    n, width = Z.shape
    state, counts = np.zeros((1 + 3 * levels, width)), np.zeros(1 + levels, np.int64)
    best, found = -np.inf, 0
    for row in range(1, most + 1):
        seed, i = _draw(seed, n)
        value, _ = enter(Z[i], state, counts, base, mean, n, scale, freedom)
        if value > best:
            best = value
            times[found], values[found] = row, value
            found += 1
            if best > cap or found == times.shape[0]:
                break
    return found
