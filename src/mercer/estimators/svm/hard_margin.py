"""The hard margin of support vector classification, C = inf: no row on the wrong side or inside the margin.

It is solved as the nearest points of two convex hulls: bounded whatever the data, so that the
solver always ends. With p and q the nearest points of the hulls of the two classes, w = 2 (p - q) / ||p - q||^2 and the
margin is half their distance (Bennett and Bredensteiner, 2000). The dual of the hard margin itself has no bound where the
hulls meet; the nearest points then tell it by their distance, 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from mercer.arrays import Array
from mercer.errors import InputError
from mercer.estimators.svm.solver import Solver
from mercer.linalg.box_qp.problems import BoxProblem, SupportFunction, squared_norm

#: How often the tolerance is made finer: it has to be a part of the squared distance, which is known at the end only.
ROUNDS = 12


@dataclass(frozen=True)
class HardMargin:
    """min 1/2 ||w||^2 with y_i f(x_i) >= 1; refused where no function separates the classes."""

    what: str  # the name of the estimator, for the error
    bounded: ClassVar[bool] = False

    def upper(self, weights: Array) -> Array:
        """Infinite, except for rows of weight 0."""
        return np.where(weights > 0, np.inf, 0.0)

    def for_fold(self) -> HardMargin:
        """The same."""
        return self

    def fit(self, solver: Solver, signs: Array, rows: Array, weights: Array) -> SupportFunction:
        """Find the nearest points of the two convex hulls, more exactly until their distance is known to the tolerance."""
        rounding, radius2 = float(np.finfo(solver.rows.dtype).eps), float(solver.rows.diag()[rows].max())
        known = weights > 0
        plus, minus = (signs > 0) & known, (signs < 0) & known
        start = np.zeros(len(signs))
        start[np.argmax(plus)] = start[np.argmax(minus)] = 1.0
        problem = BoxProblem(signs, np.zeros(len(signs)), known.astype(np.float64), start, rows, True)
        floor, fine, steps = 20.0 * rounding * radius2, 0.05 * radius2, 0
        for _ in range(ROUNDS):
            solution = solver(problem, fine)
            steps += solution.n_iter
            g, distance2 = solution.gradient, squared_norm(problem, solution)
            # > 0 proves that a hyperplane separates the classes: the first lies beyond the second along p - q
            apart = float(g[plus].min() + g[minus].min())
            if distance2 <= floor:
                raise InputError(_no_margin(self.what))
            wanted = 0.5 * solver.settings.tol * distance2
            if not solution.converged or (apart > 0 and fine <= wanted * 1.01):
                break
            problem, fine = replace(problem, start=solution.value), min(wanted, 0.1 * fine)
        if not apart > 0:
            raise InputError(_no_margin(self.what))
        scale, middle = 2.0 / distance2, 0.5 * float(g[plus].min() - g[minus].min())
        dual, primal = 2.0 / distance2, 2.0 * distance2 / apart**2
        return SupportFunction(
            rows, signs * solution.value * scale, -middle * scale, math.sqrt(distance2) * scale,
            dual, max(primal - dual, 0.0), solution.converged, steps, solution.message, scale * (signs * g - middle),
        )  # fmt: skip


def _no_margin(what: str) -> str:
    return (
        f"{what}: C = inf asks for a margin without errors, and there is none: the classes are not separable in the feature "
        "space of this kernel (the convex hulls of the classes meet, within the rounding of kernel values). Give a finite "
        "C, or a richer kernel."
    )
