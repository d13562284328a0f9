"""Compiled loops over points: distances that are no matrix product, and exp(factor x) for factor x <= 0.

exp(v) = 2^k p(r) with k = round(v / log 2), r = v - k log 2 and the Taylor polynomial p on |r| <= log(2)/2, cut where it
drops below rounding. NumPy's own float64 exp is vectorized with AVX-512 only; elsewhere this one is several times faster.
Arguments are held at the smallest normal number: what should underflow to 0 comes out below 1e-307 (1e-37 in float32).
"""

from __future__ import annotations

import numpy as np

from mercer.arrays import Array
from mercer.numeric._compiled_notice import njit


@njit()
def manhattan(a: Array, bt: Array, out: Array) -> None:  # (n, d), (d, m) -> (n, m)
    """out[i, j] = sum_k |a[i, k] - bt[k, j]|, four columns at a time: each pass over a row costs a load and a store."""
    d, m = bt.shape
    whole = d - d % 4
    for i in range(a.shape[0]):
        row = out[i]
        row[:] = 0.0
        for k in range(0, whole, 4):
            x0, x1, x2, x3 = a[i, k], a[i, k + 1], a[i, k + 2], a[i, k + 3]
            b0, b1, b2, b3 = bt[k], bt[k + 1], bt[k + 2], bt[k + 3]
            for j in range(m):
                row[j] += (abs(x0 - b0[j]) + abs(x1 - b1[j])) + (abs(x2 - b2[j]) + abs(x3 - b3[j]))
        for k in range(whole, d):
            x = a[i, k]
            b = bt[k]
            for j in range(m):
                row[j] += abs(x - b[j])


@njit()
def recompute_below(
    values: Array, limits: Array, others: Array, a: Array, b: Array
) -> None:  # (n, m), (n,), (m,), (n, d), (m, d)
    """Replace values[i, j] < limits[i] + others[j] by ||a_i - b_j||^2 from differences, in place."""
    for i in range(values.shape[0]):
        row = values[i]
        limit = limits[i]
        count = 0
        for j in range(row.size):  # counting vectorizes, branching does not: most rows have nothing to mend
            count += row[j] < limit + others[j]
        if count == 0:
            continue
        for j in range(row.size):
            if row[j] < limit + others[j]:
                total = 0.0
                for k in range(a.shape[1]):
                    difference = a[i, k] - b[j, k]
                    total += difference * difference
                row[j] = total


@njit()
def power_sums(a: Array, bt: Array, norm: float, out: Array) -> None:  # (n, d), (d, m) -> (n, m)
    """out[i, j] = sum_k |a[i, k] - bt[k, j]|^norm."""
    d, m = bt.shape
    for i in range(a.shape[0]):
        row = out[i]
        row[:] = 0.0
        for k in range(d):
            x, b = a[i, k], bt[k]
            for j in range(m):
                row[j] += abs(x - b[j]) ** norm


@njit()
def absolute_slopes(a: Array, b: Array, W: Array, out: Array) -> None:
    # (n, d), (m, d), (n, m) -> (n, d)
    """out[i, k] += sum_j W[i, j] sign(a[i, k] - b[j, k])."""
    for i in range(a.shape[0]):
        row, total = a[i], out[i]
        for j in range(b.shape[0]):
            weight = W[i, j]
            other = b[j]
            for k in range(row.size):
                total[k] += weight * ((row[k] > other[k]) - (row[k] < other[k]))


@njit()
def power_slopes(a: Array, b: Array, W: Array, norm: float, out: Array) -> None:
    # (n, d), (m, d), (n, m) -> (n, d)
    """out[i, k] += sum_j W[i, j] |a[i, k] - b[j, k]|^(norm - 1) sign(a[i, k] - b[j, k]); equal entries add nothing."""
    for i in range(a.shape[0]):
        for j in range(b.shape[0]):
            for k in range(a.shape[1]):
                step = a[i, k] - b[j, k]
                if step > 0.0:
                    out[i, k] += W[i, j] * step ** (norm - 1.0)
                elif step < 0.0:
                    out[i, k] -= W[i, j] * (-step) ** (norm - 1.0)


@njit()
def absolute_sums(a: Array, b: Array, W: Array, out: Array) -> None:
    # (n, d), (m, d), (n, m) -> (d,)
    """out[k] += sum_ij W[i, j] |a[i, k] - b[j, k]|."""
    for i in range(a.shape[0]):
        row = a[i]
        for j in range(b.shape[0]):
            weight = W[i, j]
            other = b[j]
            for k in range(row.size):
                out[k] += weight * abs(row[k] - other[k])


_CHUNK = 512  # values between the two loops: they stay in the L1 cache


@njit(fastmath={"contract"}, error_model="numpy")
def exp_float64(x: Array, factor: float, out: Array) -> None:  # (n,), () -> (n,)
    """out = exp(factor x) in float64, within two units in the last place."""
    powers = np.empty(_CHUNK, np.float64)
    bits = powers.view(np.int64)
    for start in range(0, x.size, _CHUNK):
        count = min(_CHUNK, x.size - start)
        part = x[start : start + count]
        result = out[start : start + count]
        raw = result.view(np.int64)
        for i in range(count):
            v = max(part[i] * factor, -708.0)
            # adding 1.5 * 2^52 rounds to a whole number and leaves it in the low bits
            t = v * 1.4426950408889634 + 6755399441055744.0
            powers[i] = t
            k = t - 6755399441055744.0
            r = (v - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10  # log 2 in two parts
            p = 1.6059043836821613e-10
            p = p * r + 2.08767569878681e-09
            p = p * r + 2.505210838544172e-08
            p = p * r + 2.755731922398589e-07
            p = p * r + 2.7557319223985893e-06
            p = p * r + 2.48015873015873e-05
            p = p * r + 0.0001984126984126984
            p = p * r + 0.001388888888888889
            p = p * r + 0.008333333333333333
            p = p * r + 0.041666666666666664
            p = p * r + 0.16666666666666666
            p = p * r + 0.5
            p = p * r + 1.0
            result[i] = p * r + 1.0
        for i in range(count):
            raw[i] += bits[i] << 52  # times 2^k


@njit(fastmath={"contract"}, error_model="numpy")
def exp_float32(x: Array, factor: np.float32, out: Array) -> None:  # (n,), () -> (n,)
    """out = exp(factor x) in float32, within two units in the last place."""
    powers = np.empty(_CHUNK, np.float32)
    bits = powers.view(np.int32)
    for start in range(0, x.size, _CHUNK):
        count = min(_CHUNK, x.size - start)
        part = x[start : start + count]
        result = out[start : start + count]
        raw = result.view(np.int32)
        for i in range(count):
            v = max(part[i] * factor, np.float32(-87.0))
            t = v * np.float32(1.4426950408889634) + np.float32(12582912.0)
            powers[i] = t
            k = t - np.float32(12582912.0)
            r = (v - k * np.float32(0.693359375)) - k * np.float32(-2.12194440e-4)
            p = np.float32(0.0001984126984126984)
            p = p * r + np.float32(0.001388888888888889)
            p = p * r + np.float32(0.008333333333333333)
            p = p * r + np.float32(0.041666666666666664)
            p = p * r + np.float32(0.16666666666666666)
            p = p * r + np.float32(0.5)
            p = p * r + np.float32(1.0)
            result[i] = p * r + np.float32(1.0)
        for i in range(count):
            raw[i] += bits[i] << np.int32(23)
