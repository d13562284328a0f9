"""A small problem of support vector machines on a matrix that is held, solved in one call.

`solve_at_once` is the way of problems of at most a thousand rows, where asking takes longer than solving. Its loops are
compiled (`_compiled_whole`). Loading the compiler takes as long as thousands of their steps in NumPy, so that a process
begins with the NumPy form, which rounds the same way, bit for bit, and goes over to the compiled one, in the midst of a
problem if need be, when it has spent a part of that time (`numeric/compiling.rented`).
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from mercer.arrays import Array
from mercer.numeric.compiling import rented, spend

#: As in `_compiled_smo` and `_compiled_whole`, which are loaded late.
TAU, BIG = 1e-12, 1e30
ROUNDS, EAGER, STEP, FACE, RIDGE = 20, 8, 40.0, 256, 1e-9
#: How a call may end: within the finer tolerance, within the tolerance, neither, with values that are no numbers, and at
#: once, because the arrays are no problem, or one with an infinite bound.
DONE, COARSE, HARD, UNDEFINED, NO_PROBLEM = range(5)
#: Steps in NumPy before the clock is looked at.
GLANCE = 256


@dataclass(frozen=True)
class Answer:
    """How a call ended, and what it found."""

    ended: int
    steps: int
    gap: float
    levels: tuple[float, float]  # the common f of the free variables of the first and of the last group
    objective: float
    value: Array  # (q,)
    gradient: Array  # (q,)


def solve_at_once(
    K: Array, signs: Array, linear: Array, upper: Array, start: Array, rows: Array, groups: int, tol: float, fine: float,
    steps: int,
) -> Answer:  # (n, n), (q,) …  # fmt: skip
    """Solve min a'Qa/2 + linear'a, Q_ij = s_i s_j K[rows_i, rows_j], from `start` to `tol`, and on to `fine`."""
    value, gradient = np.empty((2, len(signs)))
    problem = (K, signs, linear, upper, start, rows, groups, tol, fine, steps, value, gradient)
    if rented():
        from mercer.linalg.box_qp._compiled_small import solve_problem

        ended, made, gap, first, second, objective = solve_problem(*problem)
    else:
        ended, made, gap, first, second, objective = plain_problem(*problem)
    return Answer(ended, made, gap, (first, second), objective, value, gradient)


def plain_problem(
    K: Array, signs: Array, linear: Array, upper: Array, start: Array, rows: Array, groups: int, tol: float, fine: float,
    steps: int, value: Array, gradient: Array,
) -> tuple[int, int, float, float, float, float]:  # fmt: skip
    """`_compiled_whole.solve_problem`, operation by operation."""
    n, slack = len(K), 1e-9 * (1.0 + float(np.abs(start).max()))
    right = (np.abs(signs) == 1.0) & (upper >= 0.0) & np.isfinite(upper) & np.isfinite(linear)
    if not (right & (start >= -slack) & (start <= upper + slack)).all() or rows.min() < 0 or rows.max() >= n:
        return NO_PROBLEM, 0, 0.0, 0.0, 0.0, 0.0
    if len(rows) not in (n, 2 * n) or (rows != np.arange(len(rows)) % n).any():
        K = K[np.ix_(rows, rows)]
    low, high = np.where(signs > 0, 0.0, 0.0 - upper), np.where(signs > 0, upper, 0.0)
    b, c, group = np.clip(signs * start, low, high), -signs * linear, np.where(signs > 0, 0, groups - 1)
    f, limits = c.copy(), np.empty((2, groups))
    ended, made, gap = solve_plain(K, f, b, low, high, group, groups, tol, fine, steps, limits)
    value[:] = signs * b + 0.0
    gradient[:] = linear + signs * (c - f)
    free = (b > low) & (b < high)
    first, second = (_level(f[free & (group == g)], limits[:, g]) for g in (0, groups - 1))
    return ended, made, gap, first, second, 0.5 * _total(value * (gradient + linear))


def _level(free: Array, limits: Array) -> float:  # (k,), (2,)
    known = free if len(free) else limits[np.isfinite(limits)]
    return _total(known) / max(len(known), 1)


def solve_plain(
    K: Array, f: Array, b: Array, low: Array, high: Array, group: Array, groups: int, tol: float, fine: float, steps: int,
    limits: Array,
) -> tuple[int, int, float]:  # fmt: skip
    """`_compiled_whole.solve_whole`, operation by operation: f = c on entry, and c - K b at the end."""
    box = _Box(K, f, b, low, high, group, groups, limits)
    with np.errstate(all="ignore"):
        for t in np.flatnonzero(b):
            box.follow(int(t), b[t])
        made, gap = 0, box.gap()
        if gap >= tol:
            made = box.descend(0.5 * tol, steps)
            gap = box.gap()
        if not np.isfinite(f.sum()):
            return UNDEFINED, made, gap
        if gap >= tol:
            return HARD, made, gap
        for _ in range(ROUNDS):
            if gap < fine:
                break
            before, was = b.copy(), f.copy()
            free = int(np.count_nonzero((b > low) & (b < high)))
            made += box.descend(0.5 * fine, EAGER + int(free**3 / (STEP * len(f))))
            new = box.gap()
            if new >= fine and box.face():
                new = box.gap()
            box.pay()
            if not new < tol:  # away from what was reached
                b[:], f[:] = before, was
                gap = box.gap()
                break
            gap = new
    return DONE if gap < fine else COARSE, made, gap


class _Box:
    """The state of a problem, changed in place."""

    def __init__(
        self, K: Array, f: Array, b: Array, low: Array, high: Array, group: Array, groups: int, limits: Array
    ) -> None:
        self.K, self.f, self.b, self.low, self.high, self.groups, self.limits = K, f, b, low, high, groups, limits
        self.n, self.group, self.own = len(K), group, group == np.arange(groups)[:, None]
        self.diag = np.diagonal(K).copy()
        self.sides = f.reshape(-1, self.n)  # one row, or one for each side of a regression
        self.since = time.perf_counter()

    def pay(self) -> None:
        """Note the time since the last note."""
        now = time.perf_counter()
        spend(now - self.since)
        self.since = now

    def follow(self, t: int, step: float) -> None:
        """f after weight was added to variable t."""
        self.sides -= step * self.K[t % self.n]

    def gap(self) -> float:
        """The violation that is left."""
        self.limits[0] = np.where(self.own & (self.b < self.high), self.f, -np.inf).max(axis=1)
        self.limits[1] = np.where(self.own & (self.b > self.low), self.f, np.inf).min(axis=1)
        return max(0.0, float((self.limits[0] - self.limits[1]).max()))

    def descend(self, tol: float, most: int) -> int:
        """Steps on pairs; the compiled loop takes over when NumPy has had its time."""
        made = 0
        while made < most and not rented():
            part = min(GLANCE, most - made)
            steps, gap = self.pairs(tol, part)
            made += steps
            self.pay()
            if steps < part or gap < tol:
                return made
        if made < most:
            from mercer.linalg.box_qp._compiled_smo import descend

            box = (self.K, self.diag, self.f, self.b, self.low, self.high, self.group, self.groups)
            made += int(descend(*box, tol, most - made)[0])
        return made

    def pairs(self, tol: float, most: int) -> tuple[int, float]:
        """`_compiled_smo.descend`."""
        K, diag, f, b, low, high, n = self.K, self.diag, self.f, self.b, self.low, self.high, self.n
        rise = np.where(self.own & (b < high), 0.0, -BIG)
        fall = np.where(self.own & (b > low), 0.0, BIG)
        wide = np.tile(diag, len(f) // n)
        gap = 0.0
        for count in range(most + 1):
            i, g = _first(f, rise, fall)
            top, gap, j = float(f[i] + rise[g, i]), 0.0, -1
            row = K[i % n]
            if top > -0.5 * BIG:  # a variable may rise
                apart = np.maximum(top - (f + fall[g]), 0.0)
                gap = float(apart.max())
                if gap > 0:
                    doubled = 2.0 * (row if len(f) == n else np.tile(row, 2))
                    gain = apart * apart / np.maximum((diag[i % n] + wide) - doubled, TAU)
                    j = int(gain.argmax())
                    j = j if gain[j] > 0 else -1
            if j < 0 or gap < tol or count == most:
                return count, gap
            curvature = float(diag[i % n]) + float(diag[j % n]) - 2.0 * float(K[i % n, j % n])
            up, down = float(high[i] - b[i]), float(b[j] - low[j])
            step = min((top - float(f[j])) / max(curvature, TAU), up, down)
            b[i] = high[i] if step >= up else min(b[i] + step, high[i])
            b[j] = low[j] if step >= down else max(b[j] - step, low[j])
            for t in (i, j):
                rise[g, t] = 0.0 if b[t] < high[t] else -BIG
                fall[g, t] = 0.0 if b[t] > low[t] else BIG
            self.sides -= step * (row - K[j % n])
        return most, gap

    def face(self) -> bool:
        """`_compiled_whole._face`."""
        f, b, low, high, n = self.f, self.b, self.low, self.high, self.n
        free = np.flatnonzero((b > low) & (b < high))
        k, groups = len(free), self.groups
        if not groups < k <= FACE:
            return False
        A = self.K[np.ix_(free % n, free % n)]
        A[np.arange(k), np.arange(k)] += RIDGE * self.diag.max()
        if not _factored(A):
            return False
        own = self.own[:, free]
        way, sides = f[free], own.astype(np.float64)
        for x in (way, *sides):
            _solved(A, x)
        a, w = np.eye(2), np.zeros(2)
        for g in range(groups):
            w[g] = _total(way[own[g]])
            for h in range(groups):
                a[g, h] = _total(sides[h][own[g]])
        scale = a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0]
        levels = (a[1, 1] * w[0] - a[0, 1] * w[1]) / scale, (a[0, 0] * w[1] - a[1, 0] * w[0]) / scale
        for g in range(groups):
            way -= levels[g] * sides[g]
        for mine in own:
            if mine.any():
                way[mine] -= _total(way[mine]) / np.count_nonzero(mine)
        length = 1.0
        for step, room in zip(way, np.where(way > 0, high[free], low[free]) - b[free], strict=True):
            if abs(step) * length > abs(room):
                length = room / step
        if not (_total(way * f[free]) > 0.0 and length > 0.0):  # NaN neither
            return False
        for i, step in zip(free, way, strict=True):
            change = min(max(b[i] + length * step, low[i]), high[i]) - b[i]
            b[i] += change
            self.follow(int(i), change)
        return True


def _first(f: Array, rise: Array, fall: Array) -> tuple[int, int]:  # (q,), (groups, q), (groups, q)
    """The variable with the largest f that may rise, in the group with the wider gap."""
    at = [int((f + up).argmax()) for up in rise]
    if len(at) == 1:
        return at[0], 0
    wide = [float(f[i] + up[i]) - float((f + down).min()) for i, up, down in zip(at, rise, fall, strict=True)]
    g = int(wide[1] > wide[0])
    return at[g], g


def _total(values: Array) -> float:
    """The sum, one after the other."""
    return float(np.add.accumulate(values)[-1]) if len(values) else 0.0


def _factored(A: Array) -> bool:  # (k, k)
    for j in range(len(A)):
        if not A[j, j] > 0.0:
            return False
        A[j, j] = np.sqrt(A[j, j])
        A[j + 1 :, j] /= A[j, j]
        A[j + 1 :, j + 1 :] -= np.multiply.outer(A[j + 1 :, j], A[j + 1 :, j])
    return True


def _solved(L: Array, x: Array) -> None:  # (k, k), (k,)
    k = len(L)
    for j in range(k):
        x[j] /= L[j, j]
        x[j + 1 :] -= L[j + 1 :, j] * x[j]
    for j in range(k - 1, -1, -1):
        x[j] /= L[j, j]
        x[:j] -= L[j, :j] * x[j]
