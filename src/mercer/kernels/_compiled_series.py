"""Recursions over the pairs of steps of two series: alignments, truncated signatures, and the Goursat equation.

Sums over alignments leave the range of float64. They are kept as v 2^(256 e) with 2^-128 <= v < 2^128, so that each step
costs a few multiplications instead of logarithms, and no digit is lost.
"""

from __future__ import annotations

import math

import numpy as np

from mercer.arrays import Floats, Ints
from mercer.numeric._compiled_notice import njit

UNIT, LOW, HIGH = 2.0**256, 2.0**-128, 2.0**128
LOG_UNIT = 256.0 * math.log(2.0)
NEVER = -(2**40)  # the exponent of zero
TOGETHER = 4  # series with which one series is aligned at once, at least
LOG_RANGE = 600.0  # logarithms of sums between -600 and 600 are in the range of float64


@njit()
def scaled(value: float, exponent: int) -> tuple[float, int]:
    """Return the same number with its first part in range."""
    if value == 0.0:
        return 0.0, NEVER
    while value >= HIGH:
        value /= UNIT
        exponent += 1
    while value < LOW:
        value *= UNIT
        exponent -= 1
    return value, exponent


@njit()
def added(a: float, ea: int, b: float, eb: int) -> tuple[float, int]:
    """Return the sum of two numbers; a part that is 2^-256 of the other or less is dropped."""
    if ea == eb:
        return a + b, ea
    if ea > eb:
        return (a + b / UNIT, ea) if ea - eb == 1 else (a, ea)
    return (b + a / UNIT, eb) if eb - ea == 1 else (b, eb)


@njit()
def local(value: float, i: int, j: int, band: int) -> float:
    """Return w k / (2 - w k), the weight of the step (i, j) of an alignment; w = 1 - |i - j| / band."""
    if band > 0:
        value *= max(0.0, 1.0 - abs(i - j) / band)
    return value / (2.0 - value)


@njit()
def advance(K: Floats, row: int, band: int, value: Floats, exponent: Ints) -> None:
    """Take the sums over alignments through the rows of K, (r, L), which are the steps row … row + r - 1 of x.

    `value` and `exponent` (L + 1,) hold the sums of the row before; place 0 is the border.
    """
    for i in range(K.shape[0]):
        before, before_e = value[0], exponent[0]  # of the row before, one step to the left
        value[0], exponent[0] = 0.0, NEVER
        for j in range(K.shape[1]):
            above, above_e = value[j + 1], exponent[j + 1]
            total, total_e = added(before, before_e, above, above_e)
            total, total_e = added(total, total_e, value[j], exponent[j])
            total, total_e = scaled(total, total_e)
            weight = local(K[i, j], row + i, j, band)
            if weight > 0.0 and total > 0.0:
                weight, weight_e = scaled(weight, 0)
                value[j + 1], exponent[j + 1] = scaled(total * weight, total_e + weight_e)
            else:
                value[j + 1], exponent[j + 1] = 0.0, NEVER
            before, before_e = above, above_e


@njit()
def log_alignments(K: Floats, first: Ints, band: int, out: Floats) -> None:
    """Write the logarithm of the sum over alignments of one series with several, whose steps are columns of K."""
    count, longest = out.shape[0], 0
    for c in range(count):
        longest = max(longest, first[c + 1] - first[c])
    if count >= TOGETHER and in_range(K, K.shape[0] + longest, band):
        together(K, first, band, longest, out)
        return
    value, exponent = np.empty(longest + 1), np.empty(longest + 1, np.int64)
    for c in range(count):
        length = first[c + 1] - first[c]
        start(value, exponent, length)
        advance(K[:, first[c] : first[c + 1]], 0, band, value, exponent)
        out[c] = logarithm(value[length], exponent[length])


@njit()
def in_range(K: Floats, steps: int, band: int) -> bool:
    """Return whether sums over alignments of at most this many steps stay in the range of float64.

    There are at most (1 + sqrt 2)^steps alignments, and each weighs at least the smallest weight to the power of steps.
    """
    if steps * math.log(1.0 + math.sqrt(2.0)) > LOG_RANGE:
        return False
    least = K.min() / max(1, band)
    return least > 0.0 and -steps * math.log(least / (2.0 - least)) < LOG_RANGE


@njit(error_model="numpy")
def together(K: Floats, first: Ints, band: int, longest: int, out: Floats) -> None:
    """Take several series through the recursion side by side, for sums within the range of float64.

    A step of the recursion waits for the one before; the same step of many series is one loop without that.
    """
    count = out.shape[0]
    weights = np.zeros((longest, count))  # of the pairs of one step of x with all steps; 0 after the end of a series
    old, new = np.zeros((longest + 1, count)), np.zeros((longest + 1, count))
    old[0] = 1.0
    for i in range(K.shape[0]):
        for c in range(count):
            for j in range(first[c + 1] - first[c]):
                weights[j, c] = local(K[i, first[c] + j], i, j, band)
        new[0] = 0.0
        for j in range(longest):
            add_and_weigh(old[j], old[j + 1], new[j], weights[j], new[j + 1])
        old, new = new, old
    for c in range(count):
        value = old[first[c + 1] - first[c], c]
        out[c] = math.log(value) if value > 0.0 else -math.inf


@njit()
def add_and_weigh(a: Floats, b: Floats, c: Floats, weight: Floats, out: Floats) -> None:
    """Write (a + b + c) weight."""
    for p in range(out.shape[0]):
        out[p] = (a[p] + b[p] + c[p]) * weight[p]


@njit()
def start(value: Floats, exponent: Ints, length: int) -> None:
    """Set the border of the recursion: one empty alignment."""
    value[: length + 1] = 0.0
    exponent[: length + 1] = NEVER
    value[0], exponent[0] = 1.0, 0


@njit()
def logarithm(value: float, exponent: int) -> float:
    """Return the natural logarithm of a number; -inf for 0."""
    return math.log(value) + exponent * LOG_UNIT if value > 0.0 else -math.inf


@njit()
def alignment_slopes(K: Floats, band: int, weight: float, out: Floats) -> None:
    """Add weight times the derivative of the logarithm of the sum over alignments in every entry of K, (n, m)."""
    n, m = K.shape
    value, exponent = np.zeros((n + 1, m + 1)), np.full((n + 1, m + 1), NEVER, np.int64)
    value[0, 0], exponent[0, 0] = 1.0, 0
    for i in range(n):
        for j in range(m):
            total, total_e = added(value[i, j], exponent[i, j], value[i, j + 1], exponent[i, j + 1])
            total, total_e = added(total, total_e, value[i + 1, j], exponent[i + 1, j])
            total, total_e = scaled(total, total_e)
            factor, factor_e = scaled(local(K[i, j], i, j, band), 0)
            value[i + 1, j + 1], exponent[i + 1, j + 1] = scaled(total * factor, total_e + factor_e)
    whole, whole_e = value[n, m], exponent[n, m]
    if whole == 0.0:
        return
    # sums over the ways to go on from a pair of steps: those of the row below, times their weights
    after, after_e = np.zeros(m + 1), np.full(m + 1, NEVER, np.int64)
    for i in range(n - 1, -1, -1):
        diagonal, diagonal_e = float(after[m]), int(after_e[m])
        right, right_e = 0.0, NEVER
        after[m], after_e[m] = 0.0, NEVER
        for j in range(m - 1, -1, -1):
            below, below_e = float(after[j]), int(after_e[j])
            if i == n - 1 and j == m - 1:
                total, total_e = 1.0, 0
            else:
                total, total_e = added(diagonal, diagonal_e, below, below_e)
                total, total_e = added(total, total_e, right, right_e)
                total, total_e = scaled(total, total_e)
            k = K[i, j]
            w = 1.0 if band <= 0 else max(0.0, 1.0 - abs(i - j) / band)
            if k > 0.0 and w > 0.0 and total > 0.0 and value[i + 1, j + 1] > 0.0:
                share = value[i + 1, j + 1] / whole * total
                share *= UNIT ** float(max(-4, min(4, exponent[i + 1, j + 1] - whole_e + total_e)))
                out[i, j] += weight * share * 2.0 / (k * (2.0 - w * k))
            factor, factor_e = scaled(local(k, i, j, band), 0)
            diagonal, diagonal_e = below, below_e
            right, right_e = scaled(total * factor, total_e + factor_e)
            after[j], after_e[j] = right, right_e


@njit()
def differences(K: Floats) -> Floats:  # (n, m) -> (n - 1, m - 1)
    """Return the inner products of the increments of two series."""
    out = np.empty((K.shape[0] - 1, K.shape[1] - 1))
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = (K[i + 1, j + 1] - K[i + 1, j]) - (K[i, j + 1] - K[i, j])
    return out


@njit()
def truncated(A: Floats, depth: int, kept: Floats) -> float:
    """Return 1 + the levels 1 … depth of the signature kernel of two piecewise linear paths with increments A, (n, m).

    Level l is the sum over i_1 <= … <= i_l and j_1 <= … <= j_l of the products of A, divided by the factorials of how often
    each index of either path occurs in a row. Part (l, r, s) of a pair of steps holds the terms that end with r times i and
    s times j; it is A_ij times a factor, which is written to `kept` (n, m, depth, depth, depth) unless that is empty.
    """
    n, m = A.shape
    columns, sums = np.zeros((depth, m)), np.zeros((depth, depth, m))  # over rows before: all parts; parts by s
    part, factor = np.zeros((depth, depth, depth)), np.zeros((depth, depth, depth))
    along = np.zeros((depth, depth))  # over columns before in this row: parts by r
    before = np.zeros(depth)  # over rows and columns before
    value = 1.0
    for i in range(n):
        along[:], before[:] = 0.0, 0.0
        for j in range(m):
            a = A[i, j]
            factor[0, 0, 0] = 1.0
            part[0, 0, 0] = a
            for level in range(1, depth):
                for r in range(level + 1):
                    for s in range(level + 1):
                        if r == 0 and s == 0:
                            f = before[level - 1]
                        elif s == 0:
                            f = along[level - 1, r - 1] / (r + 1)
                        elif r == 0:
                            f = sums[level - 1, s - 1, j] / (s + 1)
                        else:
                            f = part[level - 1, r - 1, s - 1] / ((r + 1) * (s + 1)) if r <= level and s <= level else 0.0
                        factor[level, r, s] = f
                        part[level, r, s] = a * f
            if kept.size:
                kept[i, j] = factor
            for level in range(depth):
                whole = 0.0
                for r in range(level + 1):
                    for s in range(level + 1):
                        p = part[level, r, s]
                        whole += p
                        along[level, r] += p
                        sums[level, s, j] += p
                before[level] += columns[level, j]
                columns[level, j] += whole
                value += whole
    return value


@njit()
def truncated_slopes(A: Floats, depth: int, weight: float, out: Floats) -> None:
    """Add weight times the derivative of `truncated` in every entry of A, by the same recursion backwards."""
    n, m = A.shape
    kept = np.zeros((n, m, depth, depth, depth))
    truncated(A, depth, kept)
    columns, sums = np.zeros((depth, m)), np.zeros((depth, depth, m))
    along, after, back = np.zeros((depth, depth)), np.zeros(depth), np.zeros((depth, depth, depth))
    for i in range(n - 1, -1, -1):
        along[:], after[:] = 0.0, 0.0
        for j in range(m - 1, -1, -1):
            a, slope = A[i, j], 0.0
            for level in range(depth - 1, -1, -1):
                for r in range(level + 1):
                    for s in range(level + 1):
                        b = 1.0
                        if level + 1 < depth:
                            b += after[level + 1]
                            b += along[level + 1, r] / (r + 2)
                            b += sums[level + 1, s, j] / (s + 2)
                            b += back[level + 1, r + 1, s + 1] / ((r + 2) * (s + 2))
                        slope += b * kept[i, j, level, r, s]
                        back[level, r, s] = a * b
            out[i, j] += weight * slope
            for level in range(1, depth):
                after[level] += columns[level, j]
                columns[level, j] += back[level, 0, 0]
                for r in range(1, level + 1):
                    along[level, r - 1] += back[level, r, 0]
                for s in range(1, level + 1):
                    sums[level, s - 1, j] += back[level, 0, s]


@njit()
def fine(A: Floats, refinement: int) -> int:
    """Return the number of parts of each step: 2^refinement, doubled until A / parts^2 is at most 1/32."""
    largest = 0.0
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            largest = max(largest, abs(A[i, j]))
    parts, most = 1 << refinement, 1 << (refinement + 6)
    while parts < most and 32.0 * largest > parts * parts:
        parts *= 2
    return parts


@njit()
def goursat(A: Floats, refinement: int) -> float:
    """Solve u_st = A u with u = 1 on the border, each step of either path cut into parts."""
    parts = fine(A, refinement)
    n, m = A.shape[0] * parts, A.shape[1] * parts
    row = np.ones(m + 1)
    for i in range(n):
        corner = row[0]
        for j in range(m):
            p = A[i // parts, j // parts] / (parts * parts)
            new = (row[j] + row[j + 1]) * (1.0 + 0.5 * p + p * p / 12.0) - corner * (1.0 - p * p / 12.0)
            corner = row[j + 1]
            row[j + 1] = new
    return row[m]


@njit()
def goursat_slopes(A: Floats, refinement: int, weight: float, out: Floats) -> None:
    """Add weight times the derivative of `goursat` in every entry of A."""
    parts = fine(A, refinement)
    n, m = A.shape[0] * parts, A.shape[1] * parts
    u = np.ones((n + 1, m + 1))
    for i in range(n):
        for j in range(m):
            p = A[i // parts, j // parts] / (parts * parts)
            u[i + 1, j + 1] = (u[i + 1, j] + u[i, j + 1]) * (1.0 + 0.5 * p + p * p / 12.0) - u[i, j] * (1.0 - p * p / 12.0)
    back = np.zeros((n + 1, m + 1))
    back[n, m] = weight
    for i in range(n - 1, -1, -1):
        for j in range(m - 1, -1, -1):
            p = A[i // parts, j // parts] / (parts * parts)
            b = back[i + 1, j + 1]
            slope = (u[i + 1, j] + u[i, j + 1]) * (0.5 + p / 6.0) + u[i, j] * p / 6.0
            out[i // parts, j // parts] += b * slope / (parts * parts)
            forward = b * (1.0 + 0.5 * p + p * p / 12.0)
            back[i + 1, j] += forward
            back[i, j + 1] += forward
            back[i, j] -= b * (1.0 - p * p / 12.0)


@njit()
def signatures(K: Floats, first: Ints, depth: int, refinement: int, out: Floats) -> None:
    """Write the signature kernel of one series with several, whose steps are columns of K; depth 0 is the whole one."""
    none = np.zeros((0, 0, 0, 0, 0))
    for c in range(out.shape[0]):
        A = differences(K[:, first[c] : first[c + 1]])
        out[c] = truncated(A, depth, none) if depth > 0 else goursat(A, refinement)


@njit()
def signature_slopes(K: Floats, depth: int, refinement: int, weight: float, out: Floats) -> None:
    """Add weight times the derivative of the signature kernel of two series in every entry of K, (n, m)."""
    A = differences(K)
    slopes = np.zeros(A.shape)
    if depth > 0:
        truncated_slopes(A, depth, weight, slopes)
    else:
        goursat_slopes(A, refinement, weight, slopes)
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            out[i + 1, j + 1] += slopes[i, j]
            out[i + 1, j] -= slopes[i, j]
            out[i, j + 1] -= slopes[i, j]
            out[i, j] += slopes[i, j]
