"""Working sets: which variables to move next, the moves, and what they do to all others."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any, final

import numpy as np

from mercer.arrays import Array
from mercer.errors import InputError, NumericalError
from mercer.linalg.box_qp.faces import descend_face
from mercer.numeric.threads import run


@final
class Signed:
    """Weights b = s a between their bounds, c = -s linear, and K b on all rows of the Gram."""

    def __init__(
        self, signs: Array, b: Array, c: Array, low: Array, high: Array, split: bool, rows: Array | None, n: int
    ) -> None:
        self.signs, self.b, self.c, self.low, self.high = signs, b, c, low, high
        self.group = (signs < 0).astype(np.int64) if split else np.zeros(len(b), dtype=np.int64)
        self.groups, self.rows = 1 + split, rows
        self.sums = np.zeros(n)  # (n,) K b, by rows of the Gram

    @classmethod
    def of(cls, problem: Any, n: int) -> Signed:
        """The signed form of a problem on a Gram matrix of n rows."""
        signs, upper = np.asarray(problem.signs, dtype=np.float64), np.asarray(problem.upper, dtype=np.float64)
        rows = None if problem.rows is None else np.asarray(problem.rows, dtype=np.int64)
        if rows is not None and len(rows) == n and (rows == np.arange(n)).all():
            rows = None  # all of them, as they stand
        low, high = np.where(signs > 0, 0.0, -upper) + 0.0, np.where(signs > 0, upper, 0.0)
        b = np.clip(signs * problem.start, low, high)
        return cls(signs, b, -signs * problem.linear, low, high, bool(problem.split), rows, n)

    def by_row(self, chosen: Array) -> tuple[Array, Array]:  # (m,) variables -> rows of the Gram and their weights
        """The weights of some variables as weights of rows; two variables of one row are added."""
        if self.rows is None:
            return chosen, self.b[chosen]
        total = np.bincount(self.rows[chosen], self.b[chosen], minlength=len(self.sums))
        where = np.flatnonzero(total)
        return where, total[where]

    def row_sums(self) -> Array:
        """K b by variable."""
        return self.sums if self.rows is None else self.sums[self.rows]

    def gradient(self) -> Array:
        """f = c - K b by variable."""
        return self.c - self.row_sums()

    def free(self) -> Array:  # -> (m,) bool
        """The variables strictly between their bounds."""
        return (self.b < self.high) & (self.b > self.low)

    def start(self, gram: Any, gradient: Array | None = None) -> None:
        """Make the sums of the weights; `gradient` (m,) of the problem saves the product with the matrix.

        With it only the sums of rows that stand behind a variable are known, which is all that a held matrix needs.
        """
        if gradient is not None:
            self.sums[slice(None) if self.rows is None else self.rows] = self.signs * gradient + self.c
            return
        moved = np.flatnonzero(self.b)
        if moved.size:
            self.sums += gram.product(*self.by_row(moved))

    def survey(self) -> tuple[Array, Array, Array]:  # (n,), (groups,), (groups,)
        """f, its maximum over variables that may rise and its minimum over those that may fall, by group."""
        from mercer.linalg.box_qp._compiled_loops import survey

        f, top, bottom = self.gradient(), np.empty(self.groups), np.empty(self.groups)
        survey(f, self.b, self.low, self.high, self.group, top, bottom)
        return f, top, bottom

    def gap(self) -> float:
        """LIBSVM's violation: the largest f of a variable that may rise minus the smallest of one that may fall."""
        _, top, bottom = self.survey()
        return max(0.0, float((top - bottom).max()))


@final
class Watch:
    """How far the work has come, and when it has to end."""

    def __init__(
        self,
        tol: float,
        max_iter: int,
        time_limit: float | None,
        tick: Callable[[int, int], None] | None,
        n: int,
        unbounded: bool,
    ) -> None:
        if not tol > 0:
            raise InputError(f"solve_box: tol must be > 0; got {tol!r}.")
        if time_limit is not None and not time_limit > 0:
            raise InputError(f"solve_box: time_limit must be a number of seconds > 0; got {time_limit!r}.")
        self.tol, self.tick, self.unbounded = tol, tick, unbounded
        self.asked = max_iter >= 0
        self.most = max_iter if self.asked else max(10**7, 100 * n)
        self.deadline = None if time_limit is None else time.monotonic() + time_limit
        self.time_limit = time_limit
        self.steps, self.converged, self.message = 0, False, ""
        self.first = 0.0

    @property
    def left(self) -> int:
        """Steps that may still be made."""
        return max(0, self.most - self.steps)

    def seconds_left(self) -> float | None:
        """Until the time limit, if there is one."""
        return None if self.deadline is None else max(1e-9, self.deadline - time.monotonic())

    def tick_only(self, done: int, total: int) -> None:
        """A sign of life from a problem that is a part of this one: no progress to speak of, but Ctrl-C gets through."""
        if self.tick is not None:
            self.tick(0, 100)

    def look(self, gap: float) -> bool:
        """True if the work may go on; reports progress."""
        self.first = max(self.first, gap)
        if self.tick is not None and gap > 0:
            span = math.log(max(self.first / self.tol, 1.0 + 1e-9))
            self.tick(int(min(100.0, max(0.0, 100 * math.log(self.first / max(gap, self.tol)) / span))), 100)
        if self.left == 0:
            limit = f"max_iter={self.most}" if self.asked else f"{self.most} steps"
            self.message = f"stopped at {limit} with a gap of {gap:.2g}, above tol={self.tol:g}"
            return False
        if self.deadline is not None and time.monotonic() > self.deadline:
            self.message = f"stopped at time_limit={self.time_limit:g} s with a gap of {gap:.2g}, above tol={self.tol:g}"
            return False
        return True

    def stalled(self, gap: float) -> None:
        """No step makes the gap smaller."""
        self.message = f"no further progress: gap {gap:.2g} is what rounding leaves, above tol={self.tol:g}"

    def done(self, gap: float) -> None:
        """The gap is below tol."""
        self.converged, self.message = True, f"converged: gap {gap:.2g} below tol={self.tol:g} in {self.steps} steps"


def check_problem(problem: Any, n: int) -> None:
    """Refuse arrays that are no box problem on a Gram matrix of n rows."""
    signs = _vector(problem.signs, None, "signs")
    m = len(signs)
    linear, upper = _vector(problem.linear, m, "linear"), _vector(problem.upper, m, "upper")
    start, rows = _vector(problem.start, m, "start"), None if problem.rows is None else np.asarray(problem.rows)
    if not (np.abs(signs) == 1).all():
        raise InputError("BoxProblem: signs must be +1 or -1.")
    if not (upper >= 0).all():  # NaN neither
        raise InputError("BoxProblem: upper must be >= 0, or infinite.")
    if not np.isfinite(linear).all() or not np.isfinite(start).all():
        raise InputError("BoxProblem: linear and start must be finite.")
    slack = 1e-9 * (1.0 + float(np.abs(start).max()))
    if (start < -slack).any() or (start > upper + slack).any():
        raise InputError("BoxProblem: start must lie in the box 0 <= a <= upper.")
    if rows is None and m != n:
        raise InputError(f"BoxProblem: {m} variables on a Gram of {n} rows need `rows`, the row behind each of them.")
    if rows is not None and (rows.shape != (m,) or rows.min(initial=0) < 0 or rows.max(initial=0) >= n):
        raise InputError(f"BoxProblem: rows must hold {m} row numbers in 0 … {n - 1}.")


def _vector(value: Any, m: int | None, name: str) -> Array:
    array = np.asarray(value, dtype=np.float64)
    if array.ndim != 1 or array.size == 0 or (m is not None and len(array) != m):
        raise InputError(
            f"BoxProblem: {name} must be a vector of {'some' if m is None else m} numbers; got shape {array.shape}."
        )
    return array


#: Problems of at most this many variables are one working set. Row: svc-fit-*.
DIRECT = 2048
#: Variables of a working set: usually; where many are free; and how many of them are new.
SIZE, LARGEST, FRESH = 512, 2048, 192
#: An inner run stops at this fraction of the violation it began with.
INNER = 0.1
#: Steps per variable after which a set is called hard, and a Newton step tried; and how often in one set.
PATIENCE, NEWTON = 20, 4
#: Where the free variables are known already: Newton steps, and steps on pairs before each of them.
POLISH = 20, 1024
#: Steps per variable on a whole problem before it is cut into sets.
FIRST = 3
#: Working sets without a smaller gap after which rounding is to blame.
STALLED = 1000


def first_steps(n: int) -> int:
    """Steps on pairs of a whole problem before another way is tried."""
    return (PATIENCE if n <= SIZE else FIRST) * n


@final
class Blocks:
    """The moves: sets of variables, one after the other, until the gap is closed."""

    def __init__(self, state: Signed, gram: Any, watch: Watch) -> None:
        self.state, self.gram, self.watch = state, gram, watch
        self.near = False  # the free variables are known, near enough
        self.n = len(state.b)
        self.diagonal = np.asarray(gram.diag(), dtype=np.float64)
        self.size = self.n if self.n <= DIRECT else LARGEST
        capacity = getattr(gram, "capacity", None)
        if capacity is not None and capacity < gram.n:
            self.size = min(self.size, max(2, capacity // 2))
        self.old = np.empty(0, dtype=np.int64)
        self.rising, self.falling = np.empty((2, self.n), dtype=np.int64)
        self.threads = getattr(gram, "threads", 1)
        self.gap = np.inf
        self._block: tuple[Array, Array, Array] | None = None  # of all variables: made once

    def cut(self) -> None:
        """Smaller sets: the whole has had its steps."""
        self.size = min(LARGEST, self.n - 1)

    def sharpen(self, watch: Watch) -> None:
        """Go on to a finer tolerance from where this has ended."""
        self.watch, self.near = watch, True
        self.size = self.n if self._block is not None else self.size
        self.run()

    def run(self) -> None:
        """Until converged, or told to stop."""
        best, stalled, before = np.inf, 0, -1
        while True:
            f, top, bottom = self.state.survey()
            gap = self.gap = max(0.0, float((top - bottom).max()))
            self.refuse_undefined()
            if gap < self.watch.tol:
                self.watch.done(gap)
                return
            stalled = 0 if gap < best else stalled + 1
            best = min(best, gap)
            if self.watch.steps == before or stalled > STALLED:
                self.watch.stalled(gap)
                return
            if not self.watch.look(gap):
                return
            before = self.watch.steps
            self.turn(f, self.choose(f, top, bottom))
            self.refuse_unbounded()

    def turn(self, f: Array, chosen: Array) -> None:  # (n,), (q,)
        """One working set: solved on its block, and the sums of all rows brought up to date."""
        state = self.state
        index = chosen if state.rows is None else state.rows[chosen]
        store, slots, K = self.block(index)
        if self._block is not None and len(chosen) == self.n and not self.watch.unbounded:
            self.descend(K, f, state.b, state.low, state.high, state.group)
            state.sums[slice(None) if state.rows is None else state.rows] = state.c - f
            self.old = chosen
            return
        b = state.b[chosen]
        self.descend(K, f[chosen], b, state.low[chosen], state.high[chosen], state.group[chosen])
        moved = np.flatnonzero(b != state.b[chosen])
        change = b[moved] - state.b[chosen[moved]]
        state.b[chosen] = b
        self.old = chosen
        self.gram.add(state.sums, store, slots[moved], change)

    def descend(self, K: Array, f: Array, b: Array, low: Array, high: Array, group: Array) -> None:  # (q, q), (q,) …
        """Steps on pairs and on faces, in place on f and b."""
        from mercer.linalg.box_qp._compiled_loops import descend

        diag = np.ascontiguousarray(np.diagonal(K))  # as rounded in K, or steps would not fit the sums they move
        whole, groups = len(b) == self.n, self.state.groups
        goal = 0.5 * self.watch.tol if whole else max(INNER * self.gap, 0.5 * self.watch.tol)
        steps, rounds, patience = 0, NEWTON, PATIENCE * len(b)
        if whole and self.n > SIZE:  # if that many steps do not do, smaller sets will: their steps are cheaper
            rounds, patience = 1, first_steps(self.n)
            self.cut()
        elif self.near:
            rounds, patience = POLISH
        for _ in range(rounds):
            most = min(patience, self.watch.left - steps)
            made, gap = descend(K, diag, f, b, low, high, group, groups, goal, most)
            steps += int(made)
            if gap < goal or steps >= self.watch.left or rounds == 1:
                break
            if not descend_face(K, f, b, low, high, group, groups):
                break
        self.watch.steps += steps

    def block(self, index: Array) -> tuple[Array, Array, Array]:  # (q,) -> (S, n), (q,), (q, q)
        """The rows of a set and the block where they cross."""
        from mercer.numeric._compiled_rows import crossings

        everything = len(index) == self.n and self.gram.whole
        if everything and self._block is not None:
            return self._block
        store, slots = self.gram.fetch(index)
        if everything and self.state.rows is None and store.shape == (self.n, self.n):
            self._block = store, slots, store
            return self._block
        q = len(index)
        K = np.empty((q, q), store.dtype)
        step = max(64, -(-q // (2 * self.threads)))

        def work(begin: int, worker: int) -> None:
            crossings(store, slots, index, K, begin, min(begin + step, q))

        run(range(0, q, step), work, self.threads if q >= 256 else 1, short=True)
        if everything:
            self._block = store, slots, K
        return store, slots, K

    def choose(self, f: Array, top: Array, bottom: Array) -> Array:  # (n,), (groups,), (groups,) -> (q,)
        """The worst violators of each group, and as many of the last set as fit, free ones first."""
        if self.size >= self.n:
            return np.arange(self.n)
        from mercer.linalg.box_qp._compiled_loops import violators

        state, mark = self.state, np.zeros(self.n, dtype=bool)
        fresh = min(FRESH, self.size // 2) if len(self.old) else min(2 * FRESH, self.size)
        share = max(1, fresh // (2 * state.groups))
        for g in range(state.groups):
            limits = (state.b, state.low, state.high, state.group, g, top[g], bottom[g])
            up, down = violators(f, *limits, self.rising, self.falling)
            mark[_largest(f, self.rising[:up], share)] = True
            mark[_largest(-f, self.falling[:down], share)] = True
        kept = self.old[~mark[self.old]]
        free = (state.b[kept] < state.high[kept]) & (state.b[kept] > state.low[kept])
        least = min(SIZE, self.size)
        room = int(np.clip(1.25 * free.sum() + mark.sum(), least, self.size)) - int(mark.sum())
        mark[np.concatenate([kept[free], kept[~free]])[:room]] = True
        return np.flatnonzero(mark)

    def refuse_undefined(self) -> None:
        """NaN or infinite kernel values show in the sums; comparisons with them would end anywhere."""
        with np.errstate(invalid="ignore"):
            finite = np.isfinite(self.state.sums.sum())
        if not finite:
            raise NumericalError(
                "the kernel values are not all finite numbers (in float32, where tol is 1e-4 or more). Scale the columns, "
                "or look for NaN in what the kernel returns."
            )

    def refuse_unbounded(self) -> None:
        """With an infinite bound: the weights of two hulls that touch prove that no plane separates the data."""
        if not self.watch.unbounded:
            return
        state = self.state
        total = float(np.abs(state.b).sum())
        squared = float(state.b @ state.row_sums())
        # factor by factor: the weights may have grown so far that their square is no number any more
        if total > 0 and squared <= 1e-12 * float(self.diagonal.max()) * (total / 2) * (total / 2):
            raise InputError(
                "C = inf asks for a hard margin, but the classes are not separable with this kernel: a weighted mean of one "
                f"class equals one of the other (distance {2 * max(squared, 0.0) ** 0.5 / total:.1e}). Choose a finite C."
            )


def _largest(f: Array, where: Array, count: int) -> Array:  # (n,), (m,) -> (<= count,)
    """Those of the given places where f is largest."""
    if len(where) <= count:
        return where
    return where[np.argpartition(f[where], len(where) - count)[len(where) - count :]]
