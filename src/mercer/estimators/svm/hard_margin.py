"""The hard margin, C = inf, as the nearest points of two convex hulls: bounded whatever the data, so that it always ends.

With p and q the nearest points of the hulls of the two classes, w = 2 (p - q) / ||p - q||^2 and the margin is half their
distance (Bennett and Bredensteiner, 2000). The dual of the hard margin itself has no bound where the hulls meet; the
nearest points then tell it by their distance, 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.errors import InputError
from mercer.estimators.svm.box_qp import BoxProblem, BoxSolution
from mercer.estimators.svm.problems import Machine, squared_norm

Array = NDArray[Any]

#: How often the tolerance is made finer: it has to be a part of the squared distance, which is known at the end only.
ROUNDS = 12


def hard_margin(
    solve: Callable[[BoxProblem, float], BoxSolution],
    signs: Array,  # (v,)
    rows: Array,  # (v,)
    known: Array,  # (v,) bool: False for rows that have no say
    limits: tuple[float, float, float],
    what: str,
) -> Machine:
    """The machine of largest margin. `solve(problem, tol)` solves a box problem.

    `limits` are the tolerance, the largest k(x, x) and the precision of kernel values.
    """
    tol, radius2, precision = limits
    plus, minus = (signs > 0) & known, (signs < 0) & known
    start = np.zeros(len(signs))
    start[np.argmax(plus)] = start[np.argmax(minus)] = 1.0
    problem = BoxProblem(signs, np.zeros(len(signs)), known.astype(np.float64), start, rows, True)
    floor, fine, steps = 20.0 * precision * radius2, 0.05 * radius2, 0
    for _ in range(ROUNDS):
        solution = solve(problem, fine)
        steps += solution.n_iter
        g, distance2 = solution.gradient, squared_norm(problem, solution)
        # > 0 proves that a hyperplane separates the classes: the first lies beyond the second along p - q
        apart = float(g[plus].min() + g[minus].min())
        if distance2 <= floor:
            raise InputError(_no_margin(what))
        wanted = 0.5 * tol * distance2
        if not solution.converged or (apart > 0 and fine <= wanted * 1.01):
            break
        problem, fine = replace(problem, start=solution.value), min(wanted, 0.1 * fine)
    if not apart > 0:
        raise InputError(_no_margin(what))
    scale, middle = 2.0 / distance2, 0.5 * float(g[plus].min() - g[minus].min())
    dual, primal = 2.0 / distance2, 2.0 * distance2 / apart**2
    return Machine(
        rows, signs * solution.value * scale, -middle * scale, math.sqrt(distance2) * scale, dual, max(primal - dual, 0.0),
        solution.converged, steps, solution.message, scale * (signs * g - middle),
    )  # fmt: skip


def _no_margin(what: str) -> str:
    return (
        f"{what}: C = inf asks for a margin without errors, and there is none: the classes are not separable in the feature "
        "space of this kernel (the convex hulls of the classes meet, within the rounding of kernel values). Give a finite "
        "C, or a richer kernel."
    )
