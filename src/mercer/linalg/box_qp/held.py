"""The box problem of support vector machines on a matrix that is held, from a start that is nearly right.

Along a path of C, with one Gram matrix for all fits, kernel values cost nothing and the start knows most of what is free
and what is at a bound. So the working set is all free variables and the worst violators beside them, in one block. Pairs of
variables (`_compiled_loops`) find the face of the box; once it has nearly settled, one factorization of its matrix
finds the minimum on it and the bounds that are met there (`faces`). Where C is large that ends what would take pairs
hundreds of thousands of small steps. Stops by LIBSVM's rule.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.linalg.box_qp.faces import best_on_face
from mercer.linalg.box_qp.solver import BoxProblem, BoxSolution, finished
from mercer.linalg.box_qp.working_set import Signed, Watch

#: Problems of at most this many variables are one set. Row: svm-grid-covtype.
ONE_SET = 600
#: Variables at a bound that join the free ones: at least VIOLATORS, and at least this share of their number.
#: Row: svm-grid-covtype.
VIOLATORS, SHARE = 128, 0.1
#: A set is kept while it is at most ROOM times as large as what would be chosen. Row: svm-grid-covtype.
ROOM = 1.25
#: Steps on pairs per variable of the set, and least steps, before the gap of all variables is looked at again.
PATIENCE, LEAST_STEPS = 20, 10_000
#: Pairs of a set are done with at this share of the gap of all.
INNER = 0.1
#: The face is solved when at most this share of the set changed between free and bound since the last look.
#: Row: svm-grid-covtype.
SETTLED = 0.5
#: It costs as much as OVERHEAD steps on pairs, and WORTH more for each free variable squared. Row: svm-grid-covtype.
OVERHEAD, WORTH = 5000, 0.01


def solve_held(
    problem: BoxProblem,
    gram: Any,
    *,
    tol: float = 1e-3,
    max_iter: int = -1,
    gradient: Array | None = None,
    tick: Callable[[int, int], None] | None = None,
) -> BoxSolution:
    """Solve one problem on a whole `KernelRows`; `gradient` (n,) of the start saves its product with the matrix.

    >>> from mercer.grams.row_cache import KernelRows
    >>> K = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> problem = BoxProblem(np.array([1.0, -1.0]), -np.ones(2), np.full(2, 10.0), np.zeros(2))
    >>> solve_held(problem, KernelRows.of(K)).value.tolist()
    [1.0, 1.0]
    """
    state = Signed.of(problem, gram.n)
    state.start(gram, gradient)
    watch = Watch(tol, max_iter, None, tick, len(state.b), unbounded=False)
    moves, gap, since, settled = _Moves(state, gram), state.gap(), 0, False
    while gap >= tol and watch.look(gap):
        if settled and since > OVERHEAD + WORTH * np.count_nonzero(state.free()) ** 2:
            moves.face()
            since = 0
        made, settled = moves.pairs(tol, gap, watch.left)
        watch.steps, since = watch.steps + made, since + made
        new = state.gap()
        if made == 0 and new >= gap:
            watch.stalled(gap)
            break
        gap = new
    if gap < tol:
        watch.done(gap)
    return finished(problem, state, watch)


class _Moves:
    """Steps on pairs of a working set, and on the face."""

    def __init__(self, state: Signed, gram: Any) -> None:
        self.state, self.gram = state, gram
        self.index = np.arange(gram.n) if state.rows is None else state.rows
        self.diagonal = np.asarray(gram.diag(), dtype=np.float64)[self.index]
        self.kept: tuple[Array, Array] | None = None  # the last set and its block

    def _move(self, chosen: Array, new: Array) -> None:  # (m,), (m,)
        """Give some variables new weights, and bring the sums of all rows up to date."""
        change = new - self.state.b[chosen]
        moved = np.flatnonzero(change)
        self.state.b[chosen] = new
        self.gram.add(self.state.sums, self.gram.store, self.index[chosen[moved]], change[moved])

    def _choose(self, f: Array) -> Array:  # (n,) -> (q,)
        """All free variables, and the worst violators of both kinds among those at a bound."""
        state = self.state
        if len(state.b) <= ONE_SET:
            return np.arange(len(state.b))
        free = state.free()
        share = max(VIOLATORS, int(SHARE * free.sum()))
        chosen = free.copy()
        for candidates, order in (((state.b < state.high) & ~free, -f), ((state.b > state.low) & ~free, f)):
            where = np.flatnonzero(candidates)
            if len(where) > share:
                where = where[np.argpartition(order[where], share)[:share]]
            chosen[where] = True
        return np.flatnonzero(chosen)

    def _block(self, chosen: Array) -> tuple[Array, Array]:  # (q,) -> (q,), (q, q)
        """A set and its block: the last ones, if that set holds all that was chosen and not much else."""
        kept = self.kept
        if kept is not None and len(kept[0]) <= ROOM * len(chosen) and np.isin(chosen, kept[0], assume_unique=True).all():
            return kept
        rows = self.index[chosen]
        whole = len(chosen) == self.gram.n and np.array_equal(rows, np.arange(self.gram.n))
        self.kept = (chosen, self.gram.store if whole else self._crossings(rows))
        return self.kept

    def _crossings(self, rows: Array) -> Array:  # (q,) -> (q, q)
        from mercer.numeric._compiled_rows import crossings

        K = np.empty((len(rows), len(rows)), self.gram.store.dtype)
        crossings(self.gram.store, rows, rows, K, 0, len(rows))
        return K

    def pairs(self, tol: float, gap: float, most: int) -> tuple[int, bool]:
        """Steps on pairs of one set; returns their number and whether hardly a variable came to a bound or left one."""
        from mercer.linalg.box_qp._compiled_loops import descend

        state, gradient = self.state, self.state.gradient()
        chosen, K = self._block(self._choose(gradient))
        f, b, low, high = gradient[chosen], state.b[chosen], state.low[chosen], state.high[chosen]
        goal = 0.5 * tol if len(chosen) == len(state.b) else max(INNER * gap, 0.5 * tol)
        steps, _ = descend(
            K, self.diagonal[chosen].astype(K.dtype), f, b, low, high, state.group[chosen], state.groups, goal,
            min(most, max(LEAST_STEPS, PATIENCE * len(chosen))),
        )  # fmt: skip
        before = state.b[chosen]
        changed = ((before > low) != (b > low)) | ((before < high) != (b < high))
        self._move(chosen, b)
        return int(steps), bool(changed.sum() <= SETTLED * len(chosen))

    def face(self) -> None:
        """The minimum over the free variables and the bounds they meet."""
        state, free = self.state, np.flatnonzero(self.state.free())
        if len(free) < 3:
            return
        K = self._crossings(self.index[free]).astype(np.float64)
        b, low, high = state.b[free], state.low[free], state.high[free]
        change = best_on_face(K, state.gradient()[free], b, low, high)
        if change is not None:
            self._move(free, np.clip(b + change, low, high))
