"""BFGS in a box for smooth functions of some dozens of parameters that are expensive to evaluate.

BFGS with the whole matrix of curvatures: p is small beside the price of a value, and the matrix can be handed on, from a
climb on a part of the data to the one on all. Bounds are kept by projection: a parameter at a bound whose gradient points
outward does not move. A step to where the function is undefined, or lower, is shortened.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from mercer.arrays import Array
from mercer.errors import NumericalError

Objective = Callable[[Array], tuple[float, Array]]  # (p,) -> value, gradient (p,); NumericalError where undefined

#: No parameter moves further in one step; for logarithms a factor of seven.
_LONGEST = 2.0

#: A step is taken if it gains this share of what its slope promises; else it is shortened, so often at most.
_ENOUGH, _SHORTER = 1e-4, 25

#: How small slopes must be at the end, in units of tol. Along a long flat ridge the curvature learned before is too large
#: and promises too little.
_FLAT = 30.0

#: A slope, in units of tol, at which stopping because of a small gain does not prove a maximum.
_STEEP = 1000.0

#: Powell's damping: curvature along a step is used if it is at least this share of the present one.
_DAMPED = 0.2


@dataclass(frozen=True)
class Ascent:
    """Where a climb ended."""

    vector: Array  # (p,)
    value: float
    first: float  # the value at the start
    converged: bool
    n_iter: int
    n_evaluations: int
    message: str
    curvature: Array  # (p, p) minus the matrix of second derivatives, as learned on the way


def ascend(  # start, low, high (p,), curvature (p, p)
    objective: Objective,
    start: Array,
    low: Array,
    high: Array,
    *,
    tol: float = 1e-3,
    max_iter: int = 200,
    curvature: Array | None = None,
) -> Ascent:
    """Maximize ``objective`` between ``low`` and ``high``.

    It ends when a step gains less than ``tol``, the next one promises less than ``tol`` too, and no single slope is above
    30 ``tol``. ``curvature`` is a first idea of minus the second derivatives, positive definite.

    >>> top = ascend(lambda v: (-float(v @ v), -2 * v), np.array([3.0, 1.0]), np.full(2, -5.0), np.full(2, 5.0))
    >>> bool(np.allclose(top.vector, 0.0, atol=1e-2)), top.converged
    (True, True)
    """
    climb = _Climb(objective, np.clip(start, low, high), low, high, curvature)
    message, converged, gain = "", False, np.inf
    for n_iter in range(max_iter + 1):
        step, promise = climb.newton()
        if promise < tol and climb.slope() < _FLAT * tol and (gain < tol or promise < 1e-3 * tol):
            converged, message = True, f"the next step promises less than {tol:g}"
            break
        if n_iter == max_iter:
            message = f"stopped after {max_iter} steps, before a step gained less than {tol:g}"
            break
        moved = climb.move(step)
        if moved is None:  # at the accuracy of the function itself, or its gradient is not to be trusted
            converged = climb.slope() < _STEEP * tol
            message = f"no shorter step gains anything; the slope is {climb.slope():.2g}"
            break
        gain = moved
    return Ascent(climb.x, climb.value, climb.first, converged, n_iter, climb.count, message, climb.B)


class _Climb:
    """The present point, its value and gradient, and the curvature B."""

    def __init__(self, objective: Objective, x: Array, low: Array, high: Array, B: Array | None) -> None:
        self.objective, self.x, self.low, self.high, self.count = objective, x, low, high, 0
        self.value, self.gradient = self.evaluate(x)  # undefined at the start: the error is the caller's
        self.first = self.value
        self.learned = B is not None
        size = float(np.linalg.norm(self.gradient))
        self.B: Array = (size if size > 0 else 1.0) * np.eye(len(x)) if B is None else B  # the first step has length one

    def evaluate(self, x: Array) -> tuple[float, Array]:
        self.count += 1
        value, gradient = self.objective(x)
        if not np.isfinite(value) or not np.isfinite(gradient).all():
            raise NumericalError(f"the objective is {value} at {np.round(x, 3).tolist()}.")
        return value, gradient

    def free(self) -> Array:  # (p,) bool
        """The parameters that may follow their slope."""
        g, x = self.gradient, self.x
        return ~(((x <= self.low) & (g < 0)) | ((x >= self.high) & (g > 0)))

    def slope(self) -> float:
        """The steepest slope of a free parameter."""
        return float(np.abs(self.gradient[self.free()]).max(initial=0.0))

    def newton(self) -> tuple[Array, float]:
        """The step to the top of the quadratic model over the free parameters, and what it promises."""
        g, x, free = self.gradient, self.x, self.free()
        step = np.zeros_like(g)
        if free.any():
            try:
                step[free] = cho_solve(cho_factor(self.B[np.ix_(free, free)]), g[free])
            except LinAlgError:  # rounding took the last bit of definiteness: start learning again
                self.B = np.diag(np.maximum(self.B.diagonal(), 1e-8))
                step[free] = g[free] / self.B.diagonal()[free]
        longest = float(np.abs(step).max(initial=0.0))
        step *= min(1.0, _LONGEST / longest) if longest > 0 else 1.0
        return step, 0.5 * float(g @ (np.clip(x + step, self.low, self.high) - x))

    def move(self, step: Array) -> float | None:
        """Go along the step as far as it gains; what it gained, or None if nothing could be gained."""
        share = 1.0
        for _ in range(_SHORTER):
            target = np.clip(self.x + share * step, self.low, self.high)
            way = target - self.x
            slope = float(self.gradient @ way)
            if not way.any() or slope <= 0:
                return None
            try:
                value, gradient = self.evaluate(target)
            except NumericalError:
                share *= 0.25
                continue
            if value >= self.value + _ENOUGH * slope:
                gain = value - self.value
                self.learn(way, self.gradient - gradient)
                self.x, self.value, self.gradient = target, value, gradient
                return gain
            if slope > float(gradient @ way):  # beyond the maximum along the line, so the curvature is known
                self.learn(way, self.gradient - gradient)
            bend = value - self.value - slope  # < 0; the top of the parabola through both values and the slope
            share *= float(np.clip(-0.5 * slope / bend, 0.1, 0.5))
        return None

    def learn(self, s: Array, y: Array) -> None:
        """The BFGS update with Powell's damping, so that B stays positive definite."""
        if not self.learned:  # the first pair sets the size of B
            ratio = float(y @ y) / float(s @ y) if s @ y > 0 else 0.0
            self.B = (ratio if ratio > 0 else float(self.B[0, 0])) * np.eye(len(s))
            self.learned = True
        Bs = self.B @ s
        sBs, sy = float(s @ Bs), float(s @ y)
        if sy < _DAMPED * sBs:
            y = y + ((1.0 - _DAMPED) * sBs / (sBs - sy) - 1.0) * (y - Bs)
            sy = float(s @ y)
        self.B = self.B + np.outer(y, y) / sy - np.outer(Bs, Bs) / sBs
