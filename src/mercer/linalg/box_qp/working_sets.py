"""Box problems whose rows are made when they are needed, solved in working sets."""

from __future__ import annotations

from typing import final

import numpy as np

from mercer.arrays import Array
from mercer.linalg.box_qp import steps
from mercer.linalg.box_qp.descent import Descent, SignedWeights, Watch
from mercer.linalg.box_qp.faces import descend_face
from mercer.linalg.box_qp.problems import KernelMatrix
from mercer.numeric.threads import run

#: Most variables of a working set if many are free, and how many of a set are new.
LARGEST, FRESH = 2048, 192
#: An inner run stops at this fraction of the violation it began with.
INNER = 0.1
#: Newton steps tried in one set.
NEWTON = 4
#: If the free variables are nearly known: Newton steps, and steps on pairs before each of them.
POLISH = 20, 1024


@final
class WorkingSets(Descent):
    """Sets of variables, one after the other, each solved on its block of the matrix.

    A set holds the worst violators and the free variables of the last set (Joachims 1999; Wen et al. 2018). Its rows of
    the Gram are made together, and one sum of rows brings all others up to date.
    """

    def __init__(self, state: SignedWeights, gram: KernelMatrix, watch: Watch) -> None:
        super().__init__(state, gram, watch)
        self.near = False  # the free variables are nearly known
        self.size = self.n if self.n <= steps.DIRECT else LARGEST
        if gram.capacity < gram.n:
            self.size = min(self.size, max(2, gram.capacity // 2))
        self.old = np.empty(0, dtype=np.int64)
        self.rising, self.falling = np.empty((2, self.n), dtype=np.int64)
        self.whole_block: tuple[Array, Array, Array] | None = None  # of all variables: made once

    def cut(self) -> None:
        """Go on with smaller sets after the first steps on the whole."""
        self.size = min(LARGEST, self.n - 1)

    def sharpen(self, watch: Watch) -> None:
        """Go on to a finer tolerance from the weights reached."""
        self.watch, self.near = watch, True
        self.size = self.n if self.whole_block is not None else self.size
        self.run()

    def turn(self, f: Array, top: Array, bottom: Array) -> None:  # (n,), (groups,), (groups,)
        """Solve one working set on its block, and bring the sums of all rows up to date."""
        state, chosen = self.state, self.choose(f, top, bottom)
        index = chosen if state.rows is None else state.rows[chosen]
        store, slots, K = self.block(index)
        if self.whole_block is not None and len(chosen) == self.n and not self.watch.unbounded:
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
        """Take steps on pairs and on faces, in place on f and b."""
        from mercer.linalg.box_qp._compiled_loops import descend

        diag = np.ascontiguousarray(np.diagonal(K))  # as rounded in K, or steps would not fit the sums they move
        whole, groups = len(b) == self.n, self.state.groups
        goal = 0.5 * self.watch.tol if whole else max(INNER * self.gap, 0.5 * self.watch.tol)
        count, rounds, patience = 0, NEWTON, steps.PATIENCE * len(b)
        if whole and self.n > steps.SIZE:  # if these steps are not enough, smaller sets follow: their steps are cheaper
            rounds, patience = 1, steps.first_steps(self.n)
            self.cut()
        elif self.near:
            rounds, patience = POLISH
        for _ in range(rounds):
            most = min(patience, self.watch.left - count)
            made, gap = descend(K, diag, f, b, low, high, group, groups, goal, most)
            count += int(made)
            if gap < goal or count >= self.watch.left or rounds == 1:
                break
            if not descend_face(K, f, b, low, high, group, groups):
                break
        self.watch.steps += count

    def block(self, index: Array) -> tuple[Array, Array, Array]:  # (q,) -> (S, n), (q,), (q, q)
        """The rows of a set and the block where they cross."""
        from mercer.numeric._compiled_rows import crossings

        everything = len(index) == self.n and self.gram.whole
        if everything and self.whole_block is not None:
            return self.whole_block
        store, slots = self.gram.fetch(index)
        if everything and self.state.rows is None and store.shape == (self.n, self.n):
            self.whole_block = store, slots, store
            return self.whole_block
        q = len(index)
        K = np.empty((q, q), store.dtype)
        step = max(64, -(-q // (2 * self.gram.threads)))

        def work(begin: int, worker: int) -> None:
            crossings(store, slots, index, K, begin, min(begin + step, q))

        run(range(0, q, step), work, self.gram.threads if q >= 256 else 1, short=True)
        if everything:
            self.whole_block = store, slots, K
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
        least = min(steps.SIZE, self.size)
        room = int(np.clip(1.25 * free.sum() + mark.sum(), least, self.size)) - int(mark.sum())
        mark[np.concatenate([kept[free], kept[~free]])[:room]] = True
        return np.flatnonzero(mark)


def _largest(f: Array, where: Array, count: int) -> Array:  # (n,), (m,) -> (<= count,)
    """The given places at which f is largest."""
    if len(where) <= count:
        return where
    return where[np.argpartition(f[where], len(where) - count)[len(where) - count :]]
