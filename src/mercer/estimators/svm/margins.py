"""The three margins of support vector classification: soft with a price C, soft with a share nu, and hard.

The hard margin, C = inf, is solved as the nearest points of two convex hulls: bounded whatever the data, so that the
solver always ends. With p and q the nearest points of the hulls of the two classes, w = 2 (p - q) / ||p - q||^2 and the
margin is half their distance (Bennett and Bredensteiner, 2000). The dual of the hard margin itself has no bound where the
hulls meet; the nearest points then tell it by their distance, 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from mercer.errors import InputError
from mercer.estimators.svm.box_qp import BoxProblem
from mercer.estimators.svm.hinge import HingeSolver
from mercer.estimators.svm.one_vs_one import class_pairs, two_classes
from mercer.estimators.svm.problems import (
    SupportFunction,
    classification,
    largest_nu,
    nu_classification,
    squared_norm,
    support_function,
)
from mercer.estimators.svm.solver import Solver

Array = NDArray[Any]

#: How often the tolerance is made finer: it has to be a part of the squared distance, which is known at the end only.
ROUNDS = 12


class Margin(Protocol):
    """What a support vector classifier asks for; its function for two classes."""

    bounded: ClassVar[bool]  # pairs of classes have an upper bound per row, and are solved side by side

    def upper(self, weights: Array) -> Array:  # (n,) -> (n,)
        """The upper bounds of the multipliers, before nu forms are scaled."""
        ...

    def fit(self, solver: Solver, signs: Array, rows: Array, weights: Array) -> SupportFunction:  # all (v,)
        """Fit two classes: rows of the training set with signs and weights, some of which may be 0."""
        ...

    def for_fold(self) -> Margin:
        """The same, asked of a part of the rows."""
        ...


def fit_pairs(
    solver: Solver | HingeSolver, margin: Margin, codes: Array, classes: int, weights: Array
) -> list[SupportFunction | None]:  # (n,), (n,)
    """One function per pair of classes, None where a class has no row of positive weight.

    Codes are 0 … classes - 1, and -1 for rows that are left out. Rows of weight 0 have no say, but get decision values.
    """
    if isinstance(solver, HingeSolver) or (classes > 2 and margin.bounded):
        return solver.pairs(codes, margin.upper(weights))
    found: list[SupportFunction | None] = []
    pairs = [two_classes(codes)] if classes == 2 else class_pairs(codes, classes)
    for number, pair in enumerate(pairs):
        solver.begin(number, len(pairs))
        own = weights[pair.index]
        found.append(margin.fit(solver, pair.signs, pair.index, own) if pair.has_both(own) else None)
    return found


@dataclass(frozen=True)
class SoftMargin:
    """min 1/2 ||w||^2 + C sum_i weight_i max(0, 1 - y_i f(x_i)) for a finite C."""

    C: float
    bounded: ClassVar[bool] = True

    def upper(self, weights: Array) -> Array:
        """C times the weights."""
        return self.C * weights

    def fit(self, solver: Solver, signs: Array, rows: Array, weights: Array) -> SupportFunction:
        """Solve one box problem."""
        problem = classification(signs, self.C * weights, rows)
        return support_function(problem, solver(problem), rows)

    def for_fold(self) -> SoftMargin:
        """C holds for any rows."""
        return self


@dataclass(frozen=True)
class NuMargin:
    """min 1/2 ||w||^2 - nu r + 1/n sum_i max(0, r - y_i f(x_i)), divided by r."""

    nu: float
    capped: bool = False  # a fold of a feasible set may miss feasibility by a row: then the largest nu it allows is taken
    bounded: ClassVar[bool] = False

    def upper(self, weights: Array) -> Array:
        """The weights."""
        return weights

    def fit(self, solver: Solver, signs: Array, rows: Array, weights: Array) -> SupportFunction:
        """Solve one box problem with the sums of both signs fixed."""
        nu = min(self.nu, largest_nu(signs, weights)) if self.capped else self.nu
        problem = nu_classification(signs, weights, nu, rows)
        return support_function(problem, solver(problem), rows)

    def for_fold(self) -> NuMargin:
        """Capped at what the rows of the fold allow."""
        return replace(self, capped=True)


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
