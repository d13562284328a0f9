"""Working sets: which variables to move next, the moves, and what they do to all others."""

from __future__ import annotations

from typing import Any, final

import numpy as np

from mercer.errors import InputError, NumericalError
from mercer.estimators.svm.faces import descend_face
from mercer.estimators.svm.state import Signed, Watch
from mercer.linalg.solution import Array
from mercer.numeric.threads import run

#: Problems of at most this many variables are one working set.
DIRECT = 2048
#: Variables of a working set: usually; where many are free; and how many of them are new.
SIZE, LARGEST, FRESH = 512, 2048, 192
#: An inner run stops at this fraction of the violation it began with.
INNER = 0.1
#: Steps per variable after which a set is called hard, and a Newton step tried; and how often in one set.
PATIENCE, NEWTON = 20, 4
#: Steps per variable on a whole problem before it is cut into sets.
FIRST = 3
#: Working sets without a smaller gap after which rounding is to blame.
STALLED = 1000


@final
class Blocks:
    """The moves: sets of variables, one after the other, until the gap is closed."""

    def __init__(self, state: Signed, gram: Any, watch: Watch) -> None:
        self.state, self.gram, self.watch = state, gram, watch
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
        from mercer.estimators.svm._compiled_smo import descend

        state = self.state
        index = chosen if state.rows is None else state.rows[chosen]
        store, slots, K = self.block(index)
        diag = np.ascontiguousarray(np.diagonal(K))  # as rounded in K, or steps would not fit the sums they move
        fs, b = f[chosen], state.b[chosen]
        low, high, group = state.low[chosen], state.high[chosen], state.group[chosen]
        whole = len(chosen) == self.n
        goal = 0.5 * self.watch.tol if whole else max(INNER * self.gap, 0.5 * self.watch.tol)
        steps, rounds, patience = 0, NEWTON, PATIENCE * len(chosen)
        if whole and self.n > SIZE:  # if that many steps do not do, smaller sets will: their steps are cheaper
            rounds, patience, self.size = 1, FIRST * self.n, min(LARGEST, self.n - 1)
        for _ in range(rounds):
            most = min(patience, self.watch.left - steps)
            made, gap = descend(K, diag, fs, b, low, high, group, state.groups, goal, most)
            steps += int(made)
            if gap < goal or steps >= self.watch.left or rounds == 1:
                break
            if not descend_face(K, fs, b, low, high, group, state.groups):
                break
        self.watch.steps += steps
        moved = np.flatnonzero(b != state.b[chosen])
        change = b[moved] - state.b[chosen[moved]]
        state.b[chosen] = b
        self.old = chosen
        self.gram.add(state.sums, store, slots[moved], change)

    def block(self, index: Array) -> tuple[Array, Array, Array]:  # (q,) -> (S, n), (q,), (q, q)
        """The rows of a set and the block where they cross."""
        from mercer.gram._compiled_rows import crossings

        store, slots = self.gram.fetch(index)
        if len(index) == len(store) == store.shape[1] and (index == np.arange(len(index))).all():
            return store, slots, store
        q = len(index)
        K = np.empty((q, q), store.dtype)
        step = max(64, -(-q // (2 * self.threads)))

        def work(begin: int, worker: int) -> None:
            crossings(store, slots, index, K, begin, min(begin + step, q))

        run(range(0, q, step), work, self.threads if q >= 256 else 1)
        return store, slots, K

    def choose(self, f: Array, top: Array, bottom: Array) -> Array:  # (n,), (groups,), (groups,) -> (q,)
        """The worst violators of each group, and as many of the last set as fit, free ones first."""
        if self.size >= self.n:
            return np.arange(self.n)
        from mercer.estimators.svm._compiled_smo import violators

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
