"""The dynamic program over segments of ordered rows, fed with the rows of the Gram matrix one after the other."""

from __future__ import annotations

import numpy as np

from mercer.arrays import Floats, Ints
from mercer.numeric._compiled_notice import njit


@njit()
def extend(K: Floats, row: int, sums: Floats, diagonal: Floats, costs: Floats, before: Ints, least: int) -> None:
    """Take the best segmentations through the rows row … row + b - 1; K (b, row + b) holds their kernel values.

    costs (n + 1, D + 1): the least cost of the first e rows in d + 1 segments; before (n + 1, D + 1): where the last of them
    begins. sums (n,): sum of k over the pairs of rows s … e - 1, for every s; diagonal (n + 1,): cumulated k(x, x).
    """
    most = costs.shape[1]
    for r in range(K.shape[0]):
        e = row + r  # the last row of the segments that end here
        tail = K[r, e]
        sums[e] = 0.0
        for s in range(e, -1, -1):
            if s < e:
                tail += 2.0 * K[r, s]
            sums[s] += tail
        end = e + 1
        for d in range(most):
            costs[end, d] = np.inf
        if end >= least:
            costs[end, 0] = diagonal[end] - sums[0] / end
        for s in range(least, end - least + 1):
            cost = diagonal[end] - diagonal[s] - sums[s] / (end - s)
            for d in range(1, most):
                total = costs[s, d - 1] + cost
                if total < costs[end, d]:
                    costs[end, d] = total
                    before[end, d] = s


@njit()
def extend_penalized(
    K: Floats, row: int, sums: Floats, diagonal: Floats, costs: Floats, before: Ints, least: int, penalty: float
) -> None:
    """The same for the least cost plus a penalty per change; costs and before are (n + 1,), costs[0] = -penalty."""
    for r in range(K.shape[0]):
        e = row + r
        tail = K[r, e]
        sums[e] = 0.0
        for s in range(e, -1, -1):
            if s < e:
                tail += 2.0 * K[r, s]
            sums[s] += tail
        end = e + 1
        costs[end] = np.inf
        for s in range(end - least + 1):
            total = costs[s] + diagonal[end] - diagonal[s] - sums[s] / (end - s) + penalty
            if total < costs[end]:
                costs[end] = total
                before[end] = s


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


@njit()
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
