"""A whole small problem of support vector machines in one call: steps on pairs to the tolerance, then faces of the box.

Between Python and a small problem most of the time goes into asking. Here everything that happens to the variables is one
function. Once the tolerance is reached steps on pairs and on faces take turns until rounding ends it.

`small` takes the same steps in NumPy and must give the same bits: nothing here may be put in another order or
fused, and sums are made one by one.
"""

from __future__ import annotations

import numba
import numpy as np

import mercer.numeric._compiled_notice  # noqa: F401
from mercer.arrays import Floats, Ints
from mercer.linalg.box_qp._compiled_smo import descend, survey

#: Steps on pairs and on faces after the tolerance is reached: rounds, and steps of a round before the face is solved, at
#: least EAGER. A face of k variables among q costs as much as k^3 / (STEP q) steps. `make bench-small` measures it.
ROUNDS, EAGER, STEP = 20, 8, 40.0
#: Free variables of a face at most: beyond, LAPACK is the better way.
FACE = 256
#: What is added to the diagonal of a face, relative to the largest k(x, x).
RIDGE = 1e-9


@numba.njit(cache=True, nogil=True)
def _gap(f: Floats, b: Floats, low: Floats, high: Floats, group: Ints, groups: int, limits: Floats) -> float:
    """The violation that is left; `limits` (2, groups) gets its two sides, see `survey`."""
    survey(f, b, low, high, group, limits[0], limits[1])
    gap = 0.0
    for g in range(groups):
        gap = max(gap, limits[0, g] - limits[1, g])
    return gap


@numba.njit(cache=True, nogil=True)
def _factored(A: Floats) -> bool:  # (k, k)
    """The Cholesky factor in the lower half of A, column by column; False if there is none."""
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


@numba.njit(cache=True, nogil=True)
def _solved(L: Floats, x: Floats) -> None:  # (k, k), (k,)
    """x becomes the solution of L L' x."""
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


@numba.njit(cache=True, nogil=True)
def _total(values: Floats, where: Ints, g: int) -> float:  # (k,), (k,)
    """The sum of the values of one group, one after the other."""
    total = 0.0
    for t in range(values.size):
        if where[t] == g:
            total += values[t]
    return total


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _face(
    K: Floats, diag: Floats, f: Floats, b: Floats, low: Floats, high: Floats, group: Ints, groups: int
) -> bool:  # (n, n), (n,), (q,) …
    """The minimum over the free variables, or as far on the way to it as the box allows; False if that leads nowhere."""
    n = diag.size
    free = np.flatnonzero((b > low) & (b < high))
    k = free.size
    if not groups < k <= FACE:
        return False
    own = group[free]
    A = np.empty((k, k))
    ridge = RIDGE * diag.max()
    for i in range(k):
        row = K[free[i] % n]
        for t in range(k):
            A[i, t] = row[free[t] % n]
        A[i, i] += ridge
    if not _factored(A):
        return False
    way = f[free]
    _solved(A, way)
    sides = np.zeros((groups, k))
    for g in range(groups):
        for t in range(k):
            if own[t] == g:
                sides[g, t] = 1.0
        _solved(A, sides[g])
    # way - sum_g level_g sides_g keeps the sum of every group: one or two equations
    a, w = np.zeros((2, 2)), np.zeros(2)
    a[0, 0] = a[1, 1] = 1.0
    for g in range(groups):
        w[g] = _total(way, own, g)
        for h in range(groups):
            a[g, h] = _total(sides[h], own, g)
    scale = a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0]
    levels = (a[1, 1] * w[0] - a[0, 1] * w[1]) / scale, (a[0, 0] * w[1] - a[1, 0] * w[0]) / scale
    for g in range(groups):
        way -= levels[g] * sides[g]
    for g in range(groups):  # rounding must not move the sums
        count = _total(np.ones(k), own, g)
        if count > 0:
            rest = _total(way, own, g) / count
            for t in range(k):
                if own[t] == g:
                    way[t] -= rest
    length, gain = 1.0, 0.0
    for t in range(k):
        room = high[free[t]] - b[free[t]] if way[t] > 0 else low[free[t]] - b[free[t]]
        if abs(way[t]) * length > abs(room):
            length = room / way[t]
        gain += way[t] * f[free[t]]
    if not (gain > 0.0 and length > 0.0):  # NaN neither
        return False
    for t in range(k):
        i = free[t]
        step = min(max(b[i] + length * way[t], low[i]), high[i]) - b[i]
        b[i] += step
        row = K[i % n]
        for side in range(0, f.size, n):
            part = f[side : side + n]
            for s in range(n):
                part[s] -= step * row[s]
    return True


@numba.njit(cache=True, nogil=True, error_model="numpy")
def solve_whole(
    K: Floats, f: Floats, b: Floats, low: Floats, high: Floats, group: Ints, groups: int, tol: float, fine: float,
    steps: int, limits: Floats,
) -> tuple[int, int, float]:  # (n, n), (q,) … with q = n or 2n, (2, groups)  # fmt: skip
    """Solve from b, with f = c on entry and c - K b at the end; returns how it ended, the steps made and the gap.

    How: 0 finer than `fine`, 1 than `tol`, 2 neither in that many steps, 3 with values that are no numbers. `limits` gets
    the largest f of a variable that may rise and the smallest of one that may fall, by group.
    """
    q, n = f.size, len(K)
    diag = np.empty(n)
    for t in range(n):
        diag[t] = K[t, t]
    for t in range(q):
        if b[t] != 0.0:
            row, own = K[t % n], b[t]
            for side in range(0, q, n):
                part = f[side : side + n]
                for s in range(n):
                    part[s] -= own * row[s]
    made, gap = 0, _gap(f, b, low, high, group, groups, limits)
    if gap >= tol:
        made, _ = descend(K, diag, f, b, low, high, group, groups, 0.5 * tol, steps)
        gap = _gap(f, b, low, high, group, groups, limits)
    if not np.isfinite(f.sum()):
        return 3, made, gap
    if gap >= tol:
        return 2, made, gap
    ended = 1
    for _ in range(ROUNDS):
        if gap < fine:
            break
        free = 0
        for t in range(q):
            if low[t] < b[t] < high[t]:
                free += 1
        most = EAGER + int(free**3 / (STEP * q))
        before, was = b.copy(), f.copy()
        more, _ = descend(K, diag, f, b, low, high, group, groups, 0.5 * fine, most)
        made += more
        new = _gap(f, b, low, high, group, groups, limits)
        if new >= fine and _face(K, diag, f, b, low, high, group, groups):
            new = _gap(f, b, low, high, group, groups, limits)
        if not new < tol:  # away from what was reached
            b[:], f[:] = before, was
            gap = _gap(f, b, low, high, group, groups, limits)
            break
        gap = new
    if gap < fine:
        ended = 0
    return ended, made, gap


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _is_problem(signs: Floats, linear: Floats, upper: Floats, start: Floats) -> bool:  # all (q,)
    """Whether these are signs, finite numbers, a box without infinite sides, and a point in it."""
    size = 0.0
    for t in range(start.size):
        size = max(size, abs(start[t]))
    slack = 1e-9 * (1.0 + size)
    for t in range(signs.size):
        if not (abs(signs[t]) == 1.0 and 0.0 <= upper[t] < np.inf and np.isfinite(linear[t])):
            return False
        if not -slack <= start[t] <= upper[t] + slack:
            return False
    return np.isfinite(size)


@numba.njit(cache=True, nogil=True)
def _as_they_stand(rows: Ints, n: int) -> bool:  # (q,)
    """Whether the variables are all rows in order, once or twice."""
    if rows.size != n and rows.size != 2 * n:
        return False
    return bool((rows == np.arange(rows.size) % n).all())


@numba.njit(cache=True, nogil=True)
def _level(f: Floats, b: Floats, low: Floats, high: Floats, group: Ints, g: int, limits: Floats) -> float:
    """The common f of the free variables; between the bounds on it where none is free."""
    total, count = 0.0, 0
    for t in range(f.size):
        if group[t] == g and low[t] < b[t] < high[t]:
            total += f[t]
            count += 1
    if count == 0:
        for bound in (limits[0, g], limits[1, g]):
            if np.isfinite(bound):
                total += bound
                count += 1
    return total / max(count, 1)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def solve_problem(
    K: Floats, signs: Floats, linear: Floats, upper: Floats, start: Floats, rows: Ints, groups: int, tol: float, fine: float,
    steps: int, value: Floats, gradient: Floats,
) -> tuple[int, int, float, float, float, float]:  # (n, n), (q,) …  # fmt: skip
    """A problem as it is put, and its answer: how it ended (as `solve_whole`, 4: none), steps, gap, two levels, objective.

    `value` and `gradient` get the weights and the gradient there; `rows` are numbers of rows of K.
    """
    q, n = signs.size, len(K)
    if not _is_problem(signs, linear, upper, start) or rows.min() < 0 or rows.max() >= n:
        return 4, 0, 0.0, 0.0, 0.0, 0.0
    if not _as_they_stand(rows, n):
        part = np.empty((q, q))
        for i in range(q):
            row = K[rows[i]]
            for t in range(q):
                part[i, t] = row[rows[t]]
        K = part
    low, high, b, c, group = np.zeros(q), np.zeros(q), np.empty(q), np.empty(q), np.zeros(q, np.int64)
    for t in range(q):
        if signs[t] > 0:
            high[t] = upper[t]
        else:
            low[t] = 0.0 - upper[t]
            group[t] = groups - 1
        b[t] = min(max(signs[t] * start[t], low[t]), high[t])
        c[t] = -signs[t] * linear[t]
    f, limits = c.copy(), np.empty((2, groups))
    ended, made, gap = solve_whole(K, f, b, low, high, group, groups, tol, fine, steps, limits)
    objective = 0.0
    for t in range(q):
        value[t] = signs[t] * b[t] + 0.0  # no -0.0
        gradient[t] = linear[t] + signs[t] * (c[t] - f[t])
        objective += value[t] * (gradient[t] + linear[t])
    first = _level(f, b, low, high, group, 0, limits)
    second = _level(f, b, low, high, group, groups - 1, limits)
    return ended, made, gap, first, second, 0.5 * objective
