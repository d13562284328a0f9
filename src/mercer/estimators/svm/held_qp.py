"""The box problem of support vector machines on a matrix that is held, from a start that is nearly right.

Along a path of C, with one Gram matrix for all fits, kernel values cost nothing and the start knows most of what is free
and what is at a bound. So the working set is all free variables and the worst violators beside them, in one block. Pairs of
variables (`_compiled_smo`) find the face of the box; once it has nearly settled, one factorization of its matrix
finds the minimum on it and the bounds that are met there (`face_qp`). Where C is large that ends what would take pairs
hundreds of thousands of small steps. Stops by LIBSVM's rule.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.estimators.svm.box_qp import BoxProblem, BoxSolution
from mercer.estimators.svm.face_qp import best_on_face
from mercer.linalg.solution import Array

#: Problems of at most so many variables are one set.
SMALL = 600
#: Variables at a bound that join the free ones: at least so many, and at least this share of their number.
VIOLATORS, SHARE = 128, 0.1
#: A set is kept while it is at most so many times as large as what would be chosen.
ROOM = 1.25
#: Steps on pairs per variable of the set, and least steps, before the gap of all variables is looked at again.
PATIENCE, LEAST_STEPS = 20, 10_000
#: Pairs of a set are done with at this share of the gap of all.
INNER = 0.1
#: The face is solved when at most this share of the set changed between free and bound since the last look.
SETTLED = 0.5
#: It costs as much as about this many steps on pairs, and so many more for each free variable squared.
OVERHEAD, WORTH = 5000, 0.01
#: Steps that are always allowed before a fit that will not end is ended.
LEAST = 10**7


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

    >>> from mercer.gram.row_cache import KernelRows
    >>> K = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> problem = BoxProblem(np.array([1.0, -1.0]), -np.ones(2), np.full(2, 10.0), np.zeros(2))
    >>> solve_held(problem, KernelRows.of(K)).value.tolist()
    [1.0, 1.0]
    """
    state = _State(problem, gram, gradient)
    most = max_iter if max_iter >= 0 else max(LEAST, 100 * len(state.b))
    steps, since, settled = 0, 0, False
    gap = state.gap()
    while gap >= tol and steps < most:
        if tick is not None:
            tick(steps, most)
        if settled and since > OVERHEAD + WORTH * state.free().size ** 2:
            state.face()
            since = 0
        made, settled = state.pairs(tol, gap, most - steps)
        steps, since = steps + made, since + made
        new = state.gap()
        if made == 0 and new >= gap:  # rounding leaves no more
            break
        gap = new
    converged = gap < tol
    word = "converged" if converged else "stopped"
    message = f"{word}: gap {gap:.2g} {'below' if converged else 'above'} tol={tol:g} after {steps} steps"
    return state.solution(gap, converged, steps, message)


class _State:
    """Signed weights b between low and high, and f = c - Kb, by variable."""

    def __init__(self, problem: BoxProblem, gram: Any, gradient: Array | None) -> None:
        self.problem, self.gram = problem, gram
        s = self.signs = np.asarray(problem.signs, dtype=np.float64)
        upper = np.asarray(problem.upper, dtype=np.float64)
        self.index = np.arange(gram.n) if problem.rows is None else np.asarray(problem.rows)
        self.low, self.high = np.where(s > 0, 0.0, -upper), np.where(s > 0, upper, 0.0)
        self.c = -s * problem.linear
        self.b = np.clip(s * problem.start, self.low, self.high)
        if gradient is not None:
            self.f = -s * gradient
        else:
            self.f = self.c.copy()
            self._add(np.arange(len(s)), self.b)
        self.diagonal = np.asarray(gram.diag(), dtype=np.float64)[self.index]
        self._kept: tuple[Array, Array] | None = None  # the last set and its block

    def _add(self, chosen: Array, change: Array) -> None:  # (m,), (m,)
        """f after a change of some weights."""
        moved = change != 0
        if moved.any():
            self.f -= self.gram.product(self.index[chosen[moved]], change[moved])[self.index]

    def _ends(self) -> tuple[Array, Array]:
        return self.b < self.high, self.b > self.low

    def free(self) -> Array:  # -> (m,)
        """The variables between their bounds."""
        rises, falls = self._ends()
        return np.flatnonzero(rises & falls)

    def gap(self) -> float:
        """The largest f of a variable that may rise minus the smallest of one that may fall."""
        rises, falls = self._ends()
        return max(0.0, float(self.f[rises].max(initial=-np.inf) - self.f[falls].min(initial=np.inf)))

    def _choose(self) -> Array:  # -> (q,)
        """All free variables, and the worst violators of both kinds among those at a bound."""
        if len(self.b) <= SMALL:
            return np.arange(len(self.b))
        rises, falls = self._ends()
        free = rises & falls
        share = max(VIOLATORS, int(SHARE * free.sum()))
        chosen = free.copy()
        for candidates, order in ((rises & ~free, -self.f), (falls & ~free, self.f)):
            where = np.flatnonzero(candidates)
            if len(where) > share:
                where = where[np.argpartition(order[where], share)[:share]]
            chosen[where] = True
        return np.flatnonzero(chosen)

    def _block(self, chosen: Array) -> tuple[Array, Array]:  # (q,) -> (q,), (q, q)
        """A set and its block: the last ones, if that set holds all that was chosen and not much else."""
        kept = self._kept
        if kept is not None and len(kept[0]) <= ROOM * len(chosen) and np.isin(chosen, kept[0], assume_unique=True).all():
            return kept
        rows = self.index[chosen]
        whole = len(chosen) == self.gram.n and np.array_equal(rows, np.arange(self.gram.n))
        self._kept = (chosen, self.gram.store if whole else self._crossings(rows))
        return self._kept

    def _crossings(self, rows: Array) -> Array:  # (q,) -> (q, q)
        from mercer.gram._compiled_rows import crossings

        K = np.empty((len(rows), len(rows)), self.gram.store.dtype)
        crossings(self.gram.store, rows, rows, K, 0, len(rows))
        return K

    def pairs(self, tol: float, gap: float, most: int) -> tuple[int, bool]:
        """Steps on pairs of one set; returns their number and whether hardly a variable came to a bound or left one."""
        from mercer.estimators.svm._compiled_smo import descend

        chosen, K = self._block(self._choose())
        f, b, low, high = self.f[chosen], self.b[chosen], self.low[chosen], self.high[chosen]
        group = np.zeros(len(chosen), dtype=np.int64)
        goal = 0.5 * tol if len(chosen) == len(self.b) else max(INNER * gap, 0.5 * tol)
        steps, _ = descend(
            K, self.diagonal[chosen].astype(K.dtype), f, b, low, high, group, 1, goal,
            min(most, max(LEAST_STEPS, PATIENCE * len(chosen))),
        )  # fmt: skip
        before = self.b[chosen]
        changed = ((before > low) != (b > low)) | ((before < high) != (b < high))
        self.b[chosen] = b
        self._add(chosen, b - before)
        return int(steps), bool(changed.sum() <= SETTLED * len(chosen))

    def face(self) -> None:
        """The minimum over the free variables and the bounds they meet."""
        free = self.free()
        if len(free) < 3:
            return
        K = self._crossings(self.index[free]).astype(np.float64)
        b = self.b[free]
        change = best_on_face(K, self.f[free], b, self.low[free], self.high[free])
        if change is not None:
            self.b[free] = np.clip(b + change, self.low[free], self.high[free])
            self._add(free, self.b[free] - b)

    def solution(self, gap: float, converged: bool, steps: int, message: str) -> BoxSolution:
        """In the terms of the problem."""
        rises, falls = self._ends()
        free = rises & falls
        if free.any():
            level = float(self.f[free].mean())
        else:
            ends = self.f[rises].max(initial=-np.inf), self.f[falls].min(initial=np.inf)
            finite = [end for end in ends if np.isfinite(end)]
            level = float(np.mean(finite)) if finite else 0.0
        value, gradient = self.signs * self.b + 0.0, -self.signs * self.f
        objective = 0.5 * float(value @ (gradient + self.problem.linear))
        return BoxSolution(value, gradient, -level, 1.0, objective, gap, converged, steps, message)
