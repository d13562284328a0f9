"""Support vector machines of one training part at all values of C: every fit starts from the one before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.estimators.svm.box_qp import BoxProblem, BoxSolution, solve_box
from mercer.estimators.svm.held_qp import solve_held

Array = NDArray[Any]


@dataclass(frozen=True)
class Stop:
    """When a single fit ends: LIBSVM's tolerance, and a limit to its iterations (-1: none)."""

    tol: float = 1e-3
    max_iter: int = -1


@dataclass(frozen=True)
class Machine:
    """One two-class machine: decision = sum_i coef_i k(x_i, .) - offset, positive for the second class."""

    rows: Array  # (q,) the rows it was trained on
    coef: Array  # (q,)
    offset: float
    n_iter: int
    converged: bool


@dataclass(frozen=True)
class Part:
    """One training part: its rows with their classes 0 … c - 1, and the weight w_i in the box C w_i of each row."""

    rows: Array  # (t,) row numbers
    codes: Array  # (t,)
    box: Array  # (t,) > 0 where the row counts

    def pairs(self) -> Iterator[tuple[int, int, Array, Array, Array]]:
        """Every pair of classes that occurs: (first, second, rows, signs, box), one against one."""
        counts = self.box > 0
        present = np.unique(self.codes[counts])
        for first, second in combinations(present.tolist(), 2):
            chosen = counts & ((self.codes == first) | (self.codes == second))
            signs = np.where(self.codes[chosen] == second, 1.0, -1.0)
            yield first, second, self.rows[chosen], signs, self.box[chosen]


def solve_path(
    gram: Any, rows: Array, signs: Array, box: Array, Cs: Array, stop: Stop, tick: Callable[..., Any] | None = None
) -> list[Machine]:  # rows, signs, box (q,), Cs (L,) ascending
    """The machines at all C, smallest first; the dual variables of one, stretched, are the start of the next."""
    machines: list[Machine] = []
    linear = np.full(len(rows), -1.0)
    solution: BoxSolution | None = None
    before = 0.0
    for C in Cs:
        if solution is not None and np.all(solution.value < before * box):
            # no variable touches its bound, so a larger box has the same solution
            machines.append(replace(machines[-1], n_iter=0))
            continue
        start, gradient = np.zeros(len(rows)), linear
        if solution is not None:
            factor = stretch(solution, C / before)
            start, gradient = factor * solution.value, factor * (solution.gradient - linear) + linear
        problem = BoxProblem(signs=signs, linear=linear, upper=C * box, start=np.minimum(start, C * box), rows=rows)
        solution = _solve(problem, gram, gradient, stop, tick)
        before = float(C)
        machines.append(Machine(rows, signs * solution.value, float(solution.offset), solution.n_iter, solution.converged))
    return machines


def _solve(problem: BoxProblem, gram: Any, gradient: Array, stop: Stop, tick: Callable[..., Any] | None) -> BoxSolution:
    if gram.whole:
        return solve_held(problem, gram, tol=stop.tol, max_iter=stop.max_iter, gradient=gradient, tick=tick)
    return solve_box(problem, gram, tol=stop.tol, max_iter=stop.max_iter, tick=tick)


def stretch(solution: BoxSolution, most: float) -> float:
    """The factor t in [1, most] for which t a has the least dual objective t^2 a'Qa / 2 - t sum(a).

    Where the box held the solution back this is the ratio of the two C; where the margin did, it is 1 and nothing moves.
    """
    total = float(solution.value.sum())
    squared = float(solution.value @ solution.gradient) + total  # a'Qa, since the gradient is Qa - 1
    if squared <= 0.0:
        return most if total > 0.0 else 1.0
    return float(np.clip(total / squared, 1.0, most))
