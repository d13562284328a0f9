"""Steps on pairs and faces of small box problems, in one source that runs in NumPy or compiled.

Loading the compiler takes as long as thousands of steps in NumPy, so a process begins without it and changes over, in the
midst of a problem if need be, once it has spent a part of that time (`numeric/compiling.rented`). `descend`, `solve_face`
and `solve_problem` are written once. They call operations on vectors (`highest`, `move`, `partner`, …) that are NumPy here
and loops in `_compiled_loops`. Both must round alike, bit for bit: no operation may be reordered or fused, and sums are made
one by one.

The steps are those of sequential minimal optimization: maximize sum_t c_t b_t - b'Kb/2 with low <= b <= high and the sum of
b kept. With f = c - Kb a step moves weight d from j to i, and f falls by d (K_i - K_j). The first index has the largest f
among the variables that may rise, the second promises the largest gain (f_i - f_j)^2 / (K_ii + K_jj - 2 K_ij) (Fan, Chen
and Lin 2005). Curvature below `TAU` counts as TAU: equal points, and kernels that are not positive semi-definite, end at a
bound. Regression has two variables per row; their matrix is K side by side with itself and never made: with K (n, n) and 2n
variables, variable t stands for row t % n.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from mercer.arrays import Array
from mercer.numeric.compiling import rented, spend

#: The signature of `descend`.
Descend = Callable[..., tuple[int, float]]

#: Problems of at most this many variables are solved at once, or are one working set. Row: svc-fit-*.
DIRECT = 2048
#: Usual number of variables of a working set: smaller problems take more steps before another way is tried.
SIZE = 512
#: Steps per variable on a whole problem: of at most SIZE variables before a Newton step, of more before it is cut into sets.
PATIENCE, FIRST = 20, 3
TAU = 1e-12
BIG = 1e30  # takes a variable out of a maximum, and is still a float32
#: Turns of steps on pairs and on faces after the tolerance is reached, and steps of a turn before the face is solved, at
#: least EAGER. A face of k variables among q costs as much as k^3 / (STEP q) steps. `make bench-small` measures it.
ROUNDS, EAGER, STEP = 20, 8, 40.0
#: Most free variables of a face: beyond, LAPACK is faster.
FACE = 256
#: What is added to the diagonal of a face, relative to the largest k(x, x).
RIDGE = 1e-9
#: How a call ends: within the finer tolerance; within the tolerance; within neither; with values that are not finite; at
#: once, because the arrays are not a problem with finite bounds.
DONE, COARSE, HARD, UNDEFINED, NO_PROBLEM = range(5)
#: Steps in NumPy between two looks at the clock.
GLANCE = 256


def first_steps(n: int) -> int:
    """Steps on pairs of a whole problem of n variables before another way is tried."""
    return (PATIENCE if n <= SIZE else FIRST) * n


# -- written once: run as it is, or compiled -----------------------------------------------------------------------------


def descend(
    K: Array, diag: Array, f: Array, b: Array, low: Array, high: Array, group: Array, groups: int, tol: float, max_steps: int
) -> tuple[int, float]:  # (n, n), (n,), (q,) … with q = n or 2n
    """Take steps in place on f and b until the largest f_i - f_j of a group is below tol; return steps made and that gap.

    `group` numbers the sets whose sum is kept, each by itself: one set, or the two signs of the nu forms.
    """
    q, n = f.size, diag.size
    rise, fall = np.full((groups, q), -BIG), np.full((groups, q), BIG)
    open_sides(b, low, high, group, rise, fall)
    i = j = 0
    step, gap = 0.0, 0.0
    for count in range(max_steps + 1):
        top, first = -2.0 * BIG, 0
        for side in range(0, q, n):
            here, place = move(f[side : side + n], K[i % n], K[j % n], step, rise[0, side : side + n])
            if here > top:
                top, first = here, side + place
        i, g = first, 0
        if groups == 2:
            other, second = highest(f, rise[1])
            if other - lowest(f, fall[1]) > top - lowest(f, fall[0]):
                i, g, top = second, 1, other
        gap, best, j = 0.0, 0.0, -1
        if top > -0.5 * BIG:  # a variable may rise
            for side in range(0, q, n):
                wide, gain, place = partner(K[i % n], diag, f[side : side + n], fall[g, side : side + n], top, diag[i % n])
                gap = max(gap, wide)
                if gain > best:
                    best, j = gain, side + place
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


def solve_face(
    K: Array, diag: Array, f: Array, b: Array, low: Array, high: Array, group: Array, groups: int
) -> bool:  # (n, n), (n,), (q,) …
    """Move to the minimum over the free variables, or as far towards it as the box allows; False if that is no gain."""
    n = diag.size
    free = np.flatnonzero((b > low) & (b < high))
    k = free.size
    if not groups < k <= FACE:
        return False
    own = group[free]
    A = crossing(K, free % n)
    ridge = RIDGE * diag.max()
    for t in range(k):
        A[t, t] += ridge
    if not factor(A):
        return False
    way = f[free]
    substitute(A, way)
    sides = np.zeros((groups, k))
    for g in range(groups):
        sides[g, own == g] = 1.0
        substitute(A, sides[g])
    # way - sum_g level_g sides_g keeps the sum of every group: one or two equations
    a, w = np.zeros((2, 2)), np.zeros(2)
    a[0, 0] = a[1, 1] = 1.0
    for g in range(groups):
        w[g] = total(way, own, g)
        for h in range(groups):
            a[g, h] = total(sides[h], own, g)
    scale = a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0]
    levels = (a[1, 1] * w[0] - a[0, 1] * w[1]) / scale, (a[0, 0] * w[1] - a[1, 0] * w[0]) / scale
    for g in range(groups):
        way -= levels[g] * sides[g]
    for g in range(groups):  # rounding must not move the sums
        count = total(np.ones(k), own, g)
        if count > 0:
            way[own == g] -= total(way, own, g) / count
    length, gain = 1.0, 0.0
    for t in range(k):
        room = high[free[t]] - b[free[t]] if way[t] > 0 else low[free[t]] - b[free[t]]
        if abs(way[t]) * length > abs(room):
            length = room / way[t]
        gain += way[t] * f[free[t]]
    if not (gain > 0.0 and length > 0.0):  # also if they are NaN
        return False
    for t in range(k):
        i = free[t]
        step = min(max(b[i] + length * way[t], low[i]), high[i]) - b[i]
        b[i] += step
        add_weight(f, K[i % n], step)
    return True


def violation(f: Array, b: Array, low: Array, high: Array, group: Array, limits: Array) -> float:  # (q,) …, (2, groups)
    """Return the gap that is left; `limits` gets its two sides, see `survey`."""
    survey(f, b, low, high, group, limits[0], limits[1])
    gap = 0.0
    for g in range(limits.shape[1]):
        gap = max(gap, limits[0, g] - limits[1, g])
    return gap


def solve_whole(
    K: Array, f: Array, b: Array, low: Array, high: Array, group: Array, groups: int, tol: float, fine: float, steps: int,
    limits: Array, takeover: Descend | None,
) -> tuple[int, int, float]:  # (n, n), (q,) … with q = n or 2n, (2, groups)  # fmt: skip
    """Solve from b, with f = c on entry and c - K b at the end; return how it ended, the steps made and the gap."""
    q, diag = f.size, np.diag(K).copy()
    for t in np.flatnonzero(b):
        add_weight(f, K[t % diag.size], b[t])
    made, gap = 0, violation(f, b, low, high, group, limits)
    if gap >= tol:
        made, _ = descend_in_time(K, diag, f, b, low, high, group, groups, 0.5 * tol, steps, takeover)
        gap = violation(f, b, low, high, group, limits)
    if not np.isfinite(f.sum()):
        return UNDEFINED, made, gap
    if gap >= tol:
        return HARD, made, gap
    for _ in range(ROUNDS):
        if gap < fine:
            break
        free = np.count_nonzero((b > low) & (b < high))
        most = EAGER + int(free**3 / (STEP * q))
        before, was = b.copy(), f.copy()
        more, _ = descend_in_time(K, diag, f, b, low, high, group, groups, 0.5 * fine, most, takeover)
        made += more
        new = violation(f, b, low, high, group, limits)
        if new >= fine and solve_face(K, diag, f, b, low, high, group, groups):
            new = violation(f, b, low, high, group, limits)
        if not new < tol:  # the turn led away from what was reached
            b[:], f[:] = before, was
            gap = violation(f, b, low, high, group, limits)
            break
        gap = new
    return DONE if gap < fine else COARSE, made, gap


def is_problem(signs: Array, linear: Array, upper: Array, start: Array, rows: Array, n: int) -> bool:  # all (q,)
    """Whether these are signs, finite numbers, a box of finite size, a point in it, and numbers of n rows."""
    slack = 1e-9 * (1.0 + np.abs(start).max())
    right = (np.abs(signs) == 1.0) & (upper >= 0.0) & np.isfinite(upper) & np.isfinite(linear)
    inside = (start >= -slack) & (start <= upper + slack)
    return bool((right & inside).all() and np.isfinite(slack) and rows.min() >= 0 and rows.max() < n)


def level(f: Array, b: Array, low: Array, high: Array, group: Array, g: int, limits: Array) -> float:
    """The common f of the free variables of a group; between the bounds on it if none is free."""
    free = np.where((b > low) & (b < high), group, -1)
    count = np.count_nonzero(free == g)
    if count > 0:
        return total(f, free, g) / count
    known = limits[:, g][np.isfinite(limits[:, g])]
    return known.sum() / max(known.size, 1)


def solve_problem(
    K: Array, signs: Array, linear: Array, upper: Array, start: Array, rows: Array, groups: int, tol: float, fine: float,
    steps: int, value: Array, gradient: Array, takeover: Descend | None,
) -> tuple[int, int, float, float, float, float]:  # (n, n), (q,) …  # fmt: skip
    """Solve a problem as it is stated; return how it ended, steps, gap, two levels and the objective.

    `value` and `gradient` get the weights and the gradient there; `rows` are numbers of rows of K. In NumPy, `takeover` is
    the compiled `descend`, to be used when it is worth loading.
    """
    q, n = signs.size, len(K)
    if not is_problem(signs, linear, upper, start, rows, n):
        return NO_PROBLEM, 0, 0.0, 0.0, 0.0, 0.0
    if (q != n and q != 2 * n) or (rows != np.arange(q) % n).any():  # not all rows in order, once or twice
        K = crossing(K, rows)
    low, high = np.where(signs > 0, 0.0, 0.0 - upper), np.where(signs > 0, upper, 0.0)
    b, c = np.minimum(np.maximum(signs * start, low), high), -signs * linear
    group = np.where(signs > 0, 0, groups - 1)
    f, limits = c.copy(), np.empty((2, groups))
    ended, made, gap = solve_whole(K, f, b, low, high, group, groups, tol, fine, steps, limits, takeover)
    value[:] = signs * b + 0.0  # no -0.0
    gradient[:] = linear + signs * (c - f)
    objective = 0.5 * total(value * (gradient + linear), np.zeros(q, np.int64), 0)
    first = level(f, b, low, high, group, 0, limits)
    second = level(f, b, low, high, group, groups - 1, limits)
    return ended, made, gap, first, second, objective


# -- operations on vectors: NumPy here, loops in `_compiled_loops` -------------------------------------------------------


def descend_in_time(
    K: Array, diag: Array, f: Array, b: Array, low: Array, high: Array, group: Array, groups: int, tol: float,
    max_steps: int, takeover: Descend | None,
) -> tuple[int, float]:  # fmt: skip
    """`descend` in NumPy while `rented()` is False, then `takeover`, its compiled form."""
    box, made = (K, diag, f, b, low, high, group, groups), 0
    while takeover is None or not rented():
        since, part = time.perf_counter(), min(GLANCE, max_steps - made)
        steps, gap = descend(*box, tol, part)
        made += steps
        spend(time.perf_counter() - since)
        if steps < part or gap < tol or made == max_steps:
            return made, gap
    more, gap = takeover(*box, tol, max_steps - made)
    return made + more, gap


def open_sides(b: Array, low: Array, high: Array, group: Array, rise: Array, fall: Array) -> None:  # (q,) …, (groups, q)
    """Set rise to 0 where a variable of a group may rise, and fall where it may fall."""
    own = group == np.arange(len(rise))[:, None]
    rise[own & (b < high)] = 0.0
    fall[own & (b > low)] = 0.0


def highest(f: Array, rise: Array) -> tuple[float, int]:  # (q,), (q,)
    """The largest f + rise with its place."""
    raised = f + rise
    place = int(raised.argmax())
    return raised[place], place


def lowest(f: Array, fall: Array) -> float:  # (q,), (q,)
    """The smallest f + fall."""
    return (f + fall).min()


def move(f: Array, Ki: Array, Kj: Array, step: float, rise: Array) -> tuple[float, int]:  # all (n,)
    """f -= step (K_i - K_j), and the largest f + rise with its place."""
    f -= step * (Ki - Kj)
    return highest(f, rise)


def partner(row: Array, diag: Array, f: Array, fall: Array, top: float, own: float) -> tuple[float, float, int]:  # all (n,)
    """The largest top - f of a variable that may fall, the largest gain of one, and its place, -1 if there is none."""
    apart = np.maximum(top - (f + fall), 0.0)
    gain = apart * apart / np.maximum((own + diag) - 2.0 * row, TAU)
    place = int(gain.argmax())
    return apart.max(), gain[place], place if gain[place] > 0 else -1


def survey(f: Array, b: Array, low: Array, high: Array, group: Array, top: Array, bottom: Array) -> None:  # (q,), (groups,)
    """The largest f of a variable that may rise and the smallest of one that may fall, in each group."""
    own = group == np.arange(len(top))[:, None]
    top[:] = np.where(own & (b < high), f, -np.inf).max(axis=1)
    bottom[:] = np.where(own & (b > low), f, np.inf).min(axis=1)


def crossing(K: Array, rows: Array) -> Array:  # (n, n), (q,) -> (q, q)
    """K at the given rows and columns."""
    return K[np.ix_(rows, rows)]


def factor(A: Array) -> bool:  # (k, k)
    """Write the Cholesky factor into the lower half of A, column by column; False if there is none."""
    since = time.perf_counter()
    for j in range(len(A)):
        if not A[j, j] > 0.0:
            return False
        A[j, j] = np.sqrt(A[j, j])
        A[j + 1 :, j] /= A[j, j]
        A[j + 1 :, j + 1 :] -= np.multiply.outer(A[j + 1 :, j], A[j + 1 :, j])
    spend(time.perf_counter() - since)
    return True


def substitute(L: Array, x: Array) -> None:  # (k, k), (k,)
    """Replace x by the solution of L L' z = x."""
    k = len(L)
    for j in range(k):
        x[j] /= L[j, j]
        x[j + 1 :] -= L[j + 1 :, j] * x[j]
    for j in range(k - 1, -1, -1):
        x[j] /= L[j, j]
        x[:j] -= L[j, :j] * x[j]


def total(values: Array, group: Array, g: int) -> float:  # (k,), (k,)
    """The sum of the values of one group, one after the other."""
    own = values[group == g]
    return np.add.accumulate(own)[-1] if own.size else 0.0


def add_weight(f: Array, row: Array, step: float) -> None:  # (q,), (n,)
    """Bring f up to date after weight was added to the variable of that row."""
    f.reshape(-1, row.size)[:] -= step * row
