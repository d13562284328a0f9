"""Support vector machines of one training part at all values of C: every fit starts from the one before."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.estimators.svm.box_qp import BoxProblem, BoxSolution, Tick, solve_box
from mercer.estimators.svm.held_qp import solve_held
from mercer.estimators.svm.problems import SupportFunction, support_function
from mercer.estimators.svm.solver import SolverSettings

Array = NDArray[Any]


def solve_path(
    gram: Any, rows: Array, signs: Array, box: Array, Cs: Array, settings: SolverSettings, tick: Tick | None = None
) -> list[SupportFunction]:  # rows, signs, box (q,), Cs (L,) ascending
    """The functions at all C, smallest first; the dual variables of one, stretched, are the start of the next.

    Row i has the box 0 <= a_i <= C box_i.
    """
    found: list[SupportFunction] = []
    linear = np.full(len(rows), -1.0)
    solution: BoxSolution | None = None
    before = 0.0
    for C in Cs:
        if solution is not None and np.all(solution.value < before * box):
            # no variable touches its bound, so a larger box has the same solution
            found.append(replace(found[-1], n_iter=0))
            continue
        start, gradient = np.zeros(len(rows)), linear
        if solution is not None:
            factor = stretch(solution, C / before)
            start, gradient = factor * solution.value, factor * (solution.gradient - linear) + linear
        problem = BoxProblem(signs=signs, linear=linear, upper=C * box, start=np.minimum(start, C * box), rows=rows)
        limits: dict[str, Any] = {"tol": settings.tol, "max_iter": settings.max_iter, "tick": tick}
        solution = (
            solve_held(problem, gram, gradient=gradient, **limits) if gram.whole else solve_box(problem, gram, **limits)
        )
        before = float(C)
        found.append(support_function(problem, solution, rows))
    return found


def stretch(solution: BoxSolution, most: float) -> float:
    """The factor t in [1, most] for which t a has the least dual objective t^2 a'Qa / 2 - t sum(a).

    Where the box held the solution back this is the ratio of the two C; where the margin did, it is 1 and nothing moves.
    """
    total = float(solution.value.sum())
    squared = float(solution.value @ solution.gradient) + total  # a'Qa, since the gradient is Qa - 1
    if squared <= 0.0:
        return most if total > 0.0 else 1.0
    return float(np.clip(total / squared, 1.0, most))
