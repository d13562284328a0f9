"""The dynamic program over segments of ordered rows, fed with the rows of the Gram matrix one after the other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Floats, Ints
from mercer.numeric._compiled_notice import njit

Flags = NDArray[np.bool_]

#: Costs that differ by less than this share of the cumulated k(x, x) are equal up to rounding.
ROUNDING = 1e-9


@njit()
def extend(
    K: Floats, row: int, sums: Floats, diagonal: Floats, inverse: Floats, costs: Floats, before: Ints, kept: Flags,
    least: int, penalty: float,
) -> None:  # fmt: skip
    """Take the best segmentations through the rows row … row + b - 1; K (row + b, b), their kernel values, is overwritten.

    costs (D, n + 1): the least cost of the first e rows in d segments; before (D, n + 1): where the last of them begins.
    With a penalty there is one layer, for any number of segments. sums (n,): sum of k over the pairs of rows s … e - 1, for
    every s; diagonal (n + 1,): cumulated k(x, x); inverse (n + 1,): 1 / length. kept (D, n) is false if no further segment
    of a best segmentation begins at s: cutting it at row t costs less, for every later end, because parts of a segment
    never cost more than the whole (Killick et al. 2012).
    """
    b, layers = K.shape[1], costs.shape[0]
    shift = 0 if layers == 1 else 1
    ends = costs[:, row : row + b + 1]  # the first column is known
    closing = np.zeros((layers, row), np.bool_)
    if least <= b + 1:  # otherwise a segment from `row` could be too short for the ends of the next rows
        for s in range(row):
            part = diagonal[row] - diagonal[s] - sums[s] * inverse[row - s]
            for d in range(shift, layers):
                closing[d, s] = costs[d - shift, s] + part > ends[d - shift, 0] + ROUNDING * diagonal[row]
    add_segments(K, row, sums)
    best, place = np.full((layers, b), np.inf), np.zeros((layers, b), np.int64)
    cost, last = np.empty(b), row + 1 - least  # the last beginning that suits all ends
    for s in range(last + 1):
        used = False
        for d in range(shift, layers):
            if kept[d, s] and costs[d - shift, s] < np.inf:
                if not used:
                    ends_at, lengths = slice(row + 1, row + 1 + b), slice(row + 1 - s, row + 1 - s + b)
                    subtract(diagonal[ends_at], K[s], inverse[lengths], diagonal[s], cost)
                    used = True
                improve(costs[d - shift, s] + penalty, cost, s, best[d], place[d])
    for r in range(b):
        end = row + 1 + r
        for s in range(max(0, last + 1), end - least + 1):
            part = diagonal[end] - diagonal[s] - K[s, r] * inverse[end - s]
            for d in range(shift, layers):
                total = costs[d - shift, s] + penalty + part
                if total < best[d, r]:
                    best[d, r], place[d, r] = total, s
        for d in range(shift, layers):
            costs[d, end], before[d, end] = best[d, r], place[d, r]
    for d in range(shift, layers):
        for s in range(row):
            kept[d, s] = kept[d, s] and not closing[d, s]


@njit()
def add_segments(K: Floats, row: int, sums: Floats) -> None:
    """Replace k(s, row + r) by the sum of k over the pairs of rows s … row + r; sums (n,), of s … row - 1 before."""
    b = K.shape[1]
    tail = np.zeros(b)  # of pairs of the row row + r with s and later rows
    for s in range(row + b - 1, row - 1, -1):
        total = 0.0
        for r in range(s - row, b):
            tail[r] += K[s, r] if s == row + r else 2.0 * K[s, r]
            total += tail[r]
            K[s, r] = total
        sums[s] = total
    s = row - 1
    while s >= 3:  # four running sums at a time, because each step of one waits for the step before
        for k in range(4):
            add_twice(K[s - k], tail)
        accumulate(K[s], K[s - 1], K[s - 2], K[s - 3], sums[s - 3 : s + 1])
        s -= 4
    while s >= 0:
        add_twice(K[s], tail)
        total = sums[s]
        for r in range(b):
            total += K[s, r]
            K[s, r] = total
        sums[s] = total
        s -= 1


@njit()
def add_twice(values: Floats, tail: Floats) -> None:
    """Add 2 values to the tail, and write the tail over the values."""
    for r in range(tail.shape[0]):
        tail[r] += 2.0 * values[r]
        values[r] = tail[r]


@njit()
def accumulate(u: Floats, v: Floats, w: Floats, x: Floats, sums: Floats) -> None:
    """Write running sums over four rows, which begin at sums[3], …, sums[0]; sums become the last ones."""
    x0, w0, v0, u0 = sums[0], sums[1], sums[2], sums[3]
    for r in range(u.shape[0]):
        u0 += u[r]
        v0 += v[r]
        w0 += w[r]
        x0 += x[r]
        u[r], v[r], w[r], x[r] = u0, v0, w0, x0
    sums[0], sums[1], sums[2], sums[3] = x0, w0, v0, u0


@njit()
def subtract(diagonal: Floats, pairs: Floats, inverse: Floats, first: float, out: Floats) -> None:
    """Write the costs of the segments from one row to some ends."""
    for r in range(out.shape[0]):
        out[r] = diagonal[r] - first - pairs[r] * inverse[r]


@njit()
def improve(before: float, cost: Floats, s: int, best: Floats, place: Ints) -> None:
    """Take the beginning s where the cost before it plus that of the segment is smaller than the best one so far."""
    for r in range(cost.shape[0]):
        total = before + cost[r]
        less = total < best[r]
        best[r] = total if less else best[r]
        place[r] = s if less else place[r]


@njit()
def best_split(K: Floats, order: Ints, least: int) -> float:
    """Return the largest gain of cutting the rows, taken in some order, into two segments of at least `least` rows."""
    n = order.shape[0]
    corner, rest = 0.0, 0.0  # sums of k over the pairs of the first s rows, and of the others
    cross = np.zeros(n)
    for i in range(n):
        for j in range(n):
            cross[i] += K[order[i], order[j]]
        rest += cross[i]
    whole, best = rest / n, -np.inf
    for s in range(1, n):
        row = order[s - 1]
        inside = 0.0
        for j in range(s - 1):
            inside += K[row, order[j]]
        own = K[row, row]
        corner += 2.0 * inside + own
        rest -= 2.0 * (cross[s - 1] - inside - own) + own
        if least <= s <= n - least:
            best = max(best, corner / s + rest / (n - s) - whole)
    return best


@njit(fastmath={"reassoc", "contract"})  # sums over columns in any order
def best_feature_split(Z: Floats, order: Ints, least: int) -> float:
    """The same from features, (n, r): in time proportional to n r."""
    n, r = Z.shape
    total, first = np.zeros(r), np.zeros(r)
    for i in range(n):
        total += Z[i]
    whole, best = np.dot(total, total) / n, -np.inf
    for s in range(1, n):
        first += Z[order[s - 1]]
        if least <= s <= n - least:
            left, right = 0.0, 0.0
            for c in range(r):
                left += first[c] * first[c]
                right += (total[c] - first[c]) ** 2
            best = max(best, left / s + right / (n - s) - whole)
    return best


@njit()
def autoregressive(innovations: Floats, factors: Floats, picks: Ints, out: Floats) -> None:
    """Write a series z_t = factors * z_{t - 1} + e_t, (n, r); e_t are the picked rows of `innovations`, (m, r).

    There are more picks than rows to write: the steps before the first row are left out.
    """
    n, r = out.shape
    before = picks.shape[0] - n
    state = np.zeros(r)
    for t in range(picks.shape[0]):
        for c in range(r):
            state[c] = factors[c] * state[c] + innovations[picks[t], c]
            if t >= before:
                out[t - before, c] = state[c]
