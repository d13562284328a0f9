"""The steps of `steps` compiled, with loops in place of its operations on vectors.

`steps` must give the same bits in NumPy: nothing here may be reordered or fused. Loops over a block are written in two
halves, a maximum per chunk and a search in the best chunk, because the compiler turns a maximum into vector instructions
but not the search for its place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.extending import intrinsic, overload, register_jitable

from mercer.arrays import Array, Floats, Ints
from mercer.linalg.box_qp import steps
from mercer.linalg.box_qp.steps import BIG, TAU
from mercer.numeric._compiled_notice import njit

CHUNK = 64
_FAST = {"nnan", "nsz"}  # no ninf, since bounds may be infinite; no contract or reassoc, since NumPy must round alike
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


def _in_place_of(operation: Callable[..., Any], **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile the decorated loop where compiled code calls this operation of `steps`."""

    def register(loop: Callable[..., Any]) -> Any:
        both: Any = _OPTIONS | options
        overload(operation, jit_options=both, strict=False)(lambda *types: loop)
        return loop

    return register


def _maximum(context: Any, a: Any, b: Any) -> Any:
    """max(a, b) of two floats of one type that are not NaN, in the form that the compiler can vectorize."""

    def lower(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        kind = values[0].type
        call = builder.module.declare_intrinsic("llvm.maxnum", [kind], ir.FunctionType(kind, [kind, kind]))
        return builder.call(call, values, fastmath=("nnan", "nsz"))

    return a(a, a), lower


_larger: Any = intrinsic(_maximum)


@_in_place_of(steps.open_sides)
def _open_sides(b: Floats, low: Floats, high: Floats, group: Ints, rise: Floats, fall: Floats) -> None:
    for t in range(b.size):
        if b[t] < high[t]:
            rise[group[t], t] = 0.0
        if b[t] > low[t]:
            fall[group[t], t] = 0.0


@_in_place_of(steps.highest, fastmath=_FAST)
def _highest(f: Floats, rise: Floats) -> tuple[float, int]:
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


@_in_place_of(steps.move, fastmath=_FAST)
def _move(f: Floats, Ki: Array, Kj: Array, step: float, rise: Floats) -> tuple[float, int]:
    for t in range(f.size):
        f[t] -= step * (np.float64(Ki[t]) - np.float64(Kj[t]))
    return steps.highest(f, rise)


@_in_place_of(steps.lowest, fastmath=_FAST)
def _lowest(f: Floats, fall: Floats) -> float:
    best = -2.0 * BIG
    for t in range(f.size):
        best = _larger(best, -(f[t] + fall[t]))
    return -best


@_in_place_of(steps.partner, fastmath=_FAST)
def _partner(row: Array, diag: Array, f: Floats, fall: Floats, top: float, own: float) -> tuple[float, float, int]:
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


@_in_place_of(steps.survey)
def _survey(f: Floats, b: Floats, low: Floats, high: Floats, group: Ints, top: Floats, bottom: Floats) -> None:
    top[:], bottom[:] = -np.inf, np.inf
    for t in range(f.size):
        g = group[t]
        if b[t] < high[t] and f[t] > top[g]:
            top[g] = f[t]
        if b[t] > low[t] and f[t] < bottom[g]:
            bottom[g] = f[t]


@_in_place_of(steps.crossing)
def _crossing(K: Array, rows: Ints) -> Array:
    out = np.empty((rows.size, rows.size))
    for a in range(rows.size):
        row = K[rows[a]]
        for t in range(rows.size):
            out[a, t] = row[rows[t]]
    return out


@_in_place_of(steps.factor)
def _factor(A: Floats) -> bool:
    k = len(A)
    column = np.empty(k)
    for j in range(k):
        if not A[j, j] > 0.0:
            return False
        pivot = np.sqrt(A[j, j])
        A[j, j] = pivot
        for i in range(j + 1, k):
            column[i] = A[i, j] / pivot
            A[i, j] = column[i]
        for i in range(j + 1, k):
            own, row = column[i], A[i]
            for t in range(j + 1, i + 1):
                row[t] -= own * column[t]
    return True


@_in_place_of(steps.substitute)
def _substitute(L: Floats, x: Floats) -> None:
    k = len(L)
    for j in range(k):
        x[j] /= L[j, j]
        for i in range(j + 1, k):
            x[i] -= L[i, j] * x[j]
    for j in range(k - 1, -1, -1):
        x[j] /= L[j, j]
        row, own = L[j], x[j]
        for i in range(j):
            x[i] -= row[i] * own


@_in_place_of(steps.total)
def _total(values: Floats, group: Ints, g: int) -> float:
    total = 0.0
    for t in range(values.size):
        if group[t] == g:
            total += values[t]
    return total


@_in_place_of(steps.add_weight)
def _add_weight(f: Floats, row: Floats, step: float) -> None:
    for side in range(0, f.size, row.size):
        part = f[side : side + row.size]
        for s in range(row.size):
            part[s] -= step * row[s]


@_in_place_of(steps.descend_in_time)
def _descend_in_time(
    K: Array, diag: Array, f: Floats, b: Floats, low: Floats, high: Floats, group: Ints, groups: int, tol: float,
    max_steps: int, takeover: None,
) -> tuple[int, float]:  # fmt: skip
    return steps.descend(K, diag, f, b, low, high, group, groups, tol, max_steps)


for _shared in (steps.descend, steps.solve_face, steps.violation, steps.solve_whole, steps.is_problem, steps.level):
    register_jitable(**_OPTIONS)(_shared)

_compile = njit(**_OPTIONS)
descend = _compile(steps.descend)
solve_problem = _compile(steps.solve_problem)
survey = _compile(_survey)


@njit()
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
    """Number the variables of group g that may rise with f above `bottom`, or fall with f below `top`; return how many."""
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
