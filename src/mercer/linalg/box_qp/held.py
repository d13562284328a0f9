"""Box problems on a whole matrix, from a start that is nearly right.

Along a path of C, with one Gram matrix for all fits, kernel values cost nothing, and at the start most free variables and
most variables at a bound are already right. The working set is all free variables and the worst violators beside them, in
one block. Pairs of variables find the face of the box; once it has nearly settled, one factorization of its matrix finds
the minimum on it and the bounds that are met there (`faces`). For a large C that replaces hundreds of thousands of small
steps on pairs.
"""

from __future__ import annotations

from typing import final

import numpy as np

from mercer.arrays import Array
from mercer.linalg.box_qp.descent import Descent, SignedWeights, Watch
from mercer.linalg.box_qp.faces import best_on_face
from mercer.linalg.box_qp.problems import BoxProblem, BoxSolution, KernelMatrix, Tick

#: Problems of at most this many variables are one set. Row: svm-grid-covtype.
ONE_SET = 600
#: Variables at a bound that join the free ones: at least VIOLATORS, and at least this share of their number.
#: Row: svm-grid-covtype.
VIOLATORS, SHARE = 128, 0.1
#: A set is kept while it is at most ROOM times as large as what would be chosen. Row: svm-grid-covtype.
ROOM = 1.25
#: Steps on pairs per variable of the set, and least steps, before the gap of all variables is measured again.
PATIENCE, LEAST_STEPS = 20, 10_000
#: Steps on pairs of a set stop at this share of the gap of all variables.
INNER = 0.1
#: The face is solved when at most this share of the set changed between free and bound in the last turn.
#: Row: svm-grid-covtype.
SETTLED = 0.5
#: It costs as much as OVERHEAD steps on pairs, and WORTH more for each free variable squared. Row: svm-grid-covtype.
OVERHEAD, WORTH = 5000, 0.01


def solve_held(
    problem: BoxProblem,
    gram: KernelMatrix,
    *,
    tol: float = 1e-3,
    max_iter: int = -1,
    gradient: Array | None = None,
    tick: Tick | None = None,
) -> BoxSolution:
    """Solve one problem on a whole matrix; `gradient` (n,) of the start saves its product with the matrix.

    >>> from mercer.grams.row_cache import KernelRows
    >>> K = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> problem = BoxProblem(np.array([1.0, -1.0]), -np.ones(2), np.full(2, 10.0), np.zeros(2))
    >>> solve_held(problem, KernelRows.of(K)).value.tolist()
    [1.0, 1.0]
    """
    state = SignedWeights(problem, gram.n)
    state.start(gram, gradient)
    watch = Watch(tol, max_iter, None, tick, len(state.b), unbounded=False)
    HeldMatrix(state, gram, watch).run()
    return state.solution(problem, watch)


@final
class HeldMatrix(Descent):
    """Steps on pairs of a working set, and on the face of the box."""

    def __init__(self, state: SignedWeights, gram: KernelMatrix, watch: Watch) -> None:
        super().__init__(state, gram, watch)
        self.index = np.arange(gram.n) if state.rows is None else state.rows
        self.diagonal = np.asarray(gram.diag(), dtype=np.float64)[self.index]
        self.kept: tuple[Array, Array] | None = None  # the last set and its block
        self.since, self.settled = 0, False  # steps since the last face; whether the face has nearly settled

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

    def turn(self, f: Array, top: Array, bottom: Array) -> None:  # (n,), (groups,), (groups,)
        """Take steps on pairs of one set, after a step on the face if it has nearly settled."""
        if self.settled and self.since > OVERHEAD + WORTH * np.count_nonzero(self.state.free()) ** 2:
            self.face()
            f, self.since = self.state.gradient(), 0
        made = self.pairs(f)
        self.watch.steps += made
        self.since += made

    def pairs(self, gradient: Array) -> int:  # (n,)
        """Take steps on pairs of one set; note whether hardly a variable came to a bound or left one."""
        from mercer.linalg.box_qp._compiled_loops import descend

        state, tol = self.state, self.watch.tol
        chosen, K = self._block(self._choose(gradient))
        f, b, low, high = gradient[chosen], state.b[chosen], state.low[chosen], state.high[chosen]
        goal = 0.5 * tol if len(chosen) == len(state.b) else max(INNER * self.gap, 0.5 * tol)
        steps, _ = descend(
            K, self.diagonal[chosen].astype(K.dtype), f, b, low, high, state.group[chosen], state.groups, goal,
            min(self.watch.left, max(LEAST_STEPS, PATIENCE * len(chosen))),
        )  # fmt: skip
        before = state.b[chosen]
        changed = ((before > low) != (b > low)) | ((before < high) != (b < high))
        self._move(chosen, b)
        self.settled = bool(changed.sum() <= SETTLED * len(chosen))
        return int(steps)

    def face(self) -> None:
        """Move to the minimum over the free variables and the bounds they meet."""
        state, free = self.state, np.flatnonzero(self.state.free())
        if len(free) < 3:
            return
        K = self._crossings(self.index[free]).astype(np.float64)
        b, low, high = state.b[free], state.low[free], state.high[free]
        change = best_on_face(K, state.gradient()[free], b, low, high)
        if change is not None:
            self._move(free, np.clip(b + change, low, high))
