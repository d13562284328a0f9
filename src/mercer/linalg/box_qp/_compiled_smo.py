"""Sequential minimal optimization on a block of the Gram matrix.

The problem in signed form: maximize sum_t c_t b_t - b'Kb/2 with low <= b <= high and the sum of b kept. With f = c - Kb a
step moves weight d from j to i, so that f falls by d (K_i - K_j). The first index has the largest f among those that may
rise, the second promises the largest gain (f_i - f_j)^2 / (K_ii + K_jj - 2 K_ij) (Fan, Chen and Lin 2005). Curvature below
`TAU` counts as TAU: kernels that are not positive semi-definite, and equal points, end up on the box.

Regression has two variables for every row, and their matrix is K side by side with itself: with K (n, n) and 2n variables,
variable t stands for row t - n from n on, and the larger matrix is never made.

`small` takes the same steps in NumPy and must give the same bits: nothing here may be put in another order
or fused.

Loops over a block are written in two halves, a maximum per chunk and a search in the best chunk, because the compiler
turns a maximum into vector instructions but not the place where it stands.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.extending import intrinsic

import mercer.numeric._compiled_notice  # noqa: F401
from mercer.arrays import Array, Floats, Ints

TAU = 1e-12
BIG = 1e30  # takes a variable out of a maximum, and is still a float32
CHUNK = 64
_FAST = {"nnan", "nsz"}  # no ninf, since bounds may be infinite; no contract or reassoc, since NumPy must round alike


def _maximum(context: Any, a: Any, b: Any) -> Any:
    """max(a, b) of two floats of one type that are not NaN, in the form that the compiler can vectorize."""

    def lower(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        kind = values[0].type
        call = builder.module.declare_intrinsic("llvm.maxnum", [kind], ir.FunctionType(kind, [kind, kind]))
        return builder.call(call, values, fastmath=("nnan", "nsz"))

    return a(a, a), lower


_larger: Any = intrinsic(_maximum)


@numba.njit(cache=True, nogil=True, fastmath=_FAST)
def _highest(f: Floats, rise: Floats) -> tuple[float, int]:
    """The largest f + rise with its place."""
    best, at = -2.0 * BIG, 0
    for start in range(0, f.size, CHUNK):
        count = min(CHUNK, f.size - start)
        part, up = f[start : start + count], rise[start : start + count]
        top = -2.0 * BIG
        for t in range(count):
            top = _larger(top, part[t] + up[t])
        if top > best:
            best, at = top, start
    for t in range(at, min(at + CHUNK, f.size)):
        if f[t] + rise[t] >= best:
            return best, t
    return best, at


@numba.njit(cache=True, nogil=True, fastmath=_FAST)
def _move(f: Floats, Ki: Array, Kj: Array, step: float, rise: Floats) -> tuple[float, int]:
    """f -= step (K_i - K_j), and the largest f + rise with its place."""  # all (q,)
    for t in range(f.size):
        f[t] -= step * (np.float64(Ki[t]) - np.float64(Kj[t]))
    return _highest(f, rise)


@numba.njit(cache=True, nogil=True, fastmath=_FAST)
def _lowest(f: Floats, fall: Floats) -> float:
    """The smallest f + fall."""
    best = -2.0 * BIG
    for t in range(f.size):
        best = _larger(best, -(f[t] + fall[t]))
    return -best


@numba.njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")
def _partner(
    row: Array, diag: Array, f: Floats, fall: Floats, top: float, own: float
) -> tuple[float, float, int]:  # all (n,)
    """The largest f_i - f_j of any, the largest gain of a variable that may fall, and which one that is."""
    number = row.dtype.type
    zero, floor, two, mine = number(0.0), number(TAU), number(2.0), number(own)
    best, at, gap = zero, -1, zero
    for start in range(0, f.size, CHUNK):
        count = min(CHUNK, f.size - start)
        part, down = f[start : start + count], fall[start : start + count]
        r, d = row[start : start + count], diag[start : start + count]
        most, widest = zero, zero
        for t in range(count):
            b = _larger(number(top - (part[t] + down[t])), zero)
            most = _larger(most, b * b / _larger(mine + d[t] - two * r[t], floor))
            widest = _larger(widest, b)
        gap = _larger(gap, widest)
        if most > best:
            best, at = most, start
    if at < 0:
        return np.float64(gap), 0.0, -1
    place, most = at, zero
    for t in range(at, min(at + CHUNK, f.size)):
        b = max(number(top - (f[t] + fall[t])), zero)
        gain = b * b / max(mine + diag[t] - two * row[t], floor)
        if gain > most:
            most, place = gain, t
    return np.float64(gap), np.float64(most), place


@numba.njit(cache=True, nogil=True)
def _partner_of(
    K: Array, diag: Array, f: Floats, fall: Floats, top: float, i: int
) -> tuple[float, int]:  # (n, n), (n,), (q,), (q,)
    """The best partner of variable i on either side, and the largest f_i - f_j."""
    n = diag.size
    gap, best, j = 0.0, 0.0, -1
    for side in range(0, f.size, n):
        wide, gain, place = _partner(K[i % n], diag, f[side : side + n], fall[side : side + n], top, diag[i % n])
        gap = max(gap, wide)
        if gain > best:
            best, j = gain, side + place
    return gap, j


@numba.njit(cache=True, nogil=True, error_model="numpy")
def descend(
    K: Array, diag: Array, f: Floats, b: Floats, low: Floats, high: Floats, group: Ints, groups: int,
    tol: float, max_steps: int,
) -> tuple[int, float]:  # (n, n), (n,), (q,) … with q = n or 2n  # fmt: skip
    """Steps in place on f and b until the largest f_i - f_j of a group is below tol; returns steps made and that gap.

    `group` numbers the sets whose sum is kept, each by itself (one set, or the two signs of the nu forms).
    """
    q, n = f.size, diag.size
    rise, fall = np.full((groups, q), -BIG), np.full((groups, q), BIG)
    for t in range(q):
        if b[t] < high[t]:
            rise[group[t], t] = 0.0
        if b[t] > low[t]:
            fall[group[t], t] = 0.0
    i = j = 0
    step, gap = 0.0, 0.0
    for count in range(max_steps + 1):
        top, first = -2.0 * BIG, 0
        for side in range(0, q, n):
            here, place = _move(f[side : side + n], K[i % n], K[j % n], step, rise[0, side : side + n])
            if here > top:
                top, first = here, side + place
        i, g = first, 0
        if groups == 2:
            other, second = _highest(f, rise[1])
            if other - _lowest(f, fall[1]) > top - _lowest(f, fall[0]):
                i, g, top = second, 1, other
        gap, j = 0.0, -1
        if top > -0.5 * BIG:  # a variable may rise
            gap, j = _partner_of(K, diag, f, fall[g], top, i)
        if j < 0 or gap < tol or count == max_steps:
            return count, gap
        curvature = np.float64(diag[i % n]) + np.float64(diag[j % n]) - 2.0 * np.float64(K[i % n, j % n])
        step = (top - f[j]) / max(curvature, TAU)
        up, down = high[i] - b[i], b[j] - low[j]
        step = min(step, up, down)
        b[i] = high[i] if step >= up else min(b[i] + step, high[i])
        b[j] = low[j] if step >= down else max(b[j] - step, low[j])
        rise[g, i] = 0.0 if b[i] < high[i] else -BIG
        rise[g, j] = 0.0 if b[j] < high[j] else -BIG
        fall[g, i] = 0.0 if b[i] > low[i] else BIG
        fall[g, j] = 0.0 if b[j] > low[j] else BIG
    return max_steps, gap


@numba.njit(cache=True, nogil=True)
def survey(
    f: Floats, b: Floats, low: Floats, high: Floats, group: Ints, top: Floats, bottom: Floats
) -> None:  # (n,) …, (groups,), (groups,)
    """The largest f of a variable that may rise and the smallest of one that may fall, in each group."""
    top[:], bottom[:] = -np.inf, np.inf
    for t in range(f.size):
        g = group[t]
        if b[t] < high[t] and f[t] > top[g]:
            top[g] = f[t]
        if b[t] > low[t] and f[t] < bottom[g]:
            bottom[g] = f[t]


@numba.njit(cache=True, nogil=True)
def violators(
    f: Floats,
    b: Floats,
    low: Floats,
    high: Floats,
    group: Ints,
    g: int,
    top: float,
    bottom: float,
    rising: Ints,
    falling: Ints,
) -> tuple[int, int]:  # (n,) …
    """The variables of group g that may rise with f above `bottom`, or fall with f below `top`; returns how many of each."""
    up = down = 0
    for t in range(f.size):
        if group[t] == g:
            if f[t] > bottom and b[t] < high[t]:
                rising[up] = t
                up += 1
            if f[t] < top and b[t] > low[t]:
                falling[down] = t
                down += 1
    return up, down
