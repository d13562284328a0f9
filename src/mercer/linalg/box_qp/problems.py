"""Quadratic problems over a box with one or two equalities: the duals of support vector machines, and their functions.

    minimize  a'Qa / 2 + linear'a   with  Q_ij = s_i s_j K[r_i, r_j],  s'a = s'start,  0 <= a <= upper

In the nu forms the sums over each sign are fixed. With the multiplier rho of s'a (and r of the sums), the reduced gradient
is g = Qa + linear - s rho (- r), and for every such pair

    gap = sum_i max(g_i, 0) a_i + max(-g_i, 0) (upper_i - a_i)

is the primal minus the dual objective: a bound on the distance of a from the optimum, however a was found.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from mercer.arrays import Array
from mercer.errors import InputError

Tick = Callable[[int, int], None]


class KernelMatrix(Protocol):
    """Size, diagonal, rows and sums of rows of a Gram matrix, as `mercer.grams.row_cache.KernelRows` has them."""

    n: int
    threads: int

    @property
    def capacity(self) -> int:
        """Number of rows that can be in the store at once."""
        ...

    @property
    def whole(self) -> bool:
        """Whether all rows are in the store already."""
        ...

    @property
    def store(self) -> Array:  # (capacity, n)
        """The array of rows; of a whole matrix, the matrix."""
        ...

    def part(self, index: Array) -> KernelMatrix:
        """The matrix of some of the objects."""
        ...

    def diag(self) -> Array:
        """k(x_i, x_i), (n,) float64."""
        ...

    def fetch(self, index: Array) -> tuple[Array, Array]:
        """An array of rows, and the places of the given rows in it."""
        ...

    def product(self, index: Array, coef: Array) -> Array:
        """sum_k coef_k K[index_k], (n,) float64."""
        ...

    def add(self, total: Array, store: Array, slots: Array, coef: Array) -> None:
        """total += coef @ store[slots]."""
        ...


@dataclass(frozen=True)
class BoxProblem:
    """min a'Qa/2 + linear'a with Q_ij = s_i s_j K[r_i, r_j], s'a = s'start and 0 <= a <= upper.

    `upper` may be infinite (hard margin), or 0 for a variable that stays 0. The gradient of such a variable is computed all
    the same, so rows held out of a fold get their decision values s (gradient - linear) - offset at no extra cost. With
    `split` the sums over s = +1 and over s = -1 are kept separately (the nu forms).
    """

    signs: Array  # (n,) +1 or -1
    linear: Array  # (n,)
    upper: Array  # (n,) >= 0
    start: Array  # (n,) feasible
    rows: Array | None = None  # (n,) row of the Gram behind each variable; None: i
    split: bool = False

    def check(self, n: int) -> None:
        """Raise if the arrays are not a box problem on a Gram matrix of n rows."""
        signs = _vector(self.signs, None, "signs")
        m = len(signs)
        linear, upper = _vector(self.linear, m, "linear"), _vector(self.upper, m, "upper")
        start, rows = _vector(self.start, m, "start"), None if self.rows is None else np.asarray(self.rows)
        if not (np.abs(signs) == 1).all():
            raise InputError("BoxProblem: signs must be +1 or -1.")
        if not (upper >= 0).all():  # also if it is NaN
            raise InputError("BoxProblem: upper must be >= 0, or infinite.")
        if not np.isfinite(linear).all() or not np.isfinite(start).all():
            raise InputError("BoxProblem: linear and start must be finite.")
        slack = 1e-9 * (1.0 + float(np.abs(start).max()))
        if (start < -slack).any() or (start > upper + slack).any():
            raise InputError("BoxProblem: start must lie in the box 0 <= a <= upper.")
        if rows is None and m != n:
            raise InputError(f"BoxProblem: {m} variables on a Gram of {n} rows need `rows`, the row behind each of them.")
        if rows is not None and (rows.shape != (m,) or rows.min(initial=0) < 0 or rows.max(initial=0) >= n):
            raise InputError(f"BoxProblem: rows must hold {m} row numbers in 0 … {n - 1}.")


def _vector(value: Any, m: int | None, name: str) -> Array:
    array = np.asarray(value, dtype=np.float64)
    if array.ndim != 1 or array.size == 0 or (m is not None and len(array) != m):
        length = "at least one number" if m is None else f"{m} numbers"
        raise InputError(f"BoxProblem: {name} must be a vector of {length}; got shape {array.shape}.")
    return array


@dataclass(frozen=True)
class BoxSolution:
    """The weights and how they were reached; decision(x) = sum_i s_i value_i k(x_i, x) - offset.

    `gap` is the violation left (LIBSVM's m - M); in the nu forms decisions are divided by `scale`.
    """

    value: Array  # (n,)
    gradient: Array  # (n,) Q value + linear, float64
    offset: float
    scale: float
    objective: float
    gap: float
    converged: bool
    n_iter: int
    message: str


def offset_and_scale(problem: BoxProblem, first: float, last: float) -> tuple[float, float]:
    """Return the offset and the scale that follow from the common f of the free variables of the first and last group."""
    return (-(first + last) / 2, (last - first) / 2) if problem.split else (-first, 1.0)


def converged_message(gap: float, tol: float, steps: int) -> str:
    """The message of a problem solved to its tolerance."""
    return f"converged: gap {gap:.2g} below tol={tol:g} in {steps} steps"


@dataclass(frozen=True)
class SupportFunction:
    """One fitted function f(x) = sum_i coef_i k(x_rows_i, x) + intercept on some rows of the training set."""

    rows: Array  # (v,) numbers of the training rows it saw
    coef: Array  # (v,)
    intercept: float
    norm: float  # ||w||
    dual: float  # the dual objective, to be maximized
    gap: float  # primal minus dual
    converged: bool
    n_iter: int
    message: str
    outputs: Array  # (v,) f at its own rows
    scale: float = 1.0  # what the nu forms were divided by; epsilon of a nu regression


def classification(signs: Array, upper: Array, rows: Array | None = None) -> BoxProblem:  # (v,), (v,)
    """max sum a - 1/2 ||w||^2 with w = sum_i a_i s_i phi(x_i), s'a = 0, 0 <= a_i <= upper_i = C weight_i."""
    n = len(signs)
    return BoxProblem(signs, np.full(n, -1.0), upper, np.zeros(n), rows)


def nu_classification(signs: Array, weights: Array, nu: float, rows: Array | None = None) -> BoxProblem:
    """min 1/2 ||w||^2 with sum a = nu sum weights, the same sum for both signs, 0 <= a_i <= weight_i."""
    half = nu * float(weights.sum()) / 2.0
    start = np.zeros(len(signs))
    if nu > largest_nu(signs, weights) * (1.0 + 1e-12):
        raise InputError(
            f"NuSVC: nu={nu:g}: the specified nu is infeasible, since it asks for more support vectors than the smaller of "
            f"two classes has; with these data nu must be at most {largest_nu(signs, weights):.6g}."
        )
    for side in (signs > 0, signs < 0):
        start[side] = spread(half, weights[side])
    return BoxProblem(signs, np.zeros(len(signs)), weights, start, rows, True)


def largest_nu(signs: Array, weights: Array) -> float:
    """Twice the share of the smaller class: beyond it the sums of nu_classification cannot be reached."""
    return float(2.0 * min(weights[signs > 0].sum(), weights[signs < 0].sum()) / weights.sum())


def regression(y: Array, upper: Array, epsilon: float, rows: Array | None = None) -> BoxProblem:  # (v,), (v,)
    """max y'b - epsilon sum |b_i| - 1/2 ||w||^2 with b = a - a', w = sum_i b_i phi(x_i), sum b = 0, |b_i| <= upper_i."""
    n = len(y)
    linear = np.concatenate([epsilon - y, epsilon + y])
    return BoxProblem(_two_sides(n), linear, np.tile(upper, 2), np.zeros(2 * n), np.tile(_numbers(rows, n), 2))


def quantile_regression(y: Array, upper: Array, quantile: float, rows: Array | None = None) -> BoxProblem:  # (v,), (v,)
    """max y'b - 1/2 ||w||^2 with sum b = 0 and upper_i (quantile - 1) <= b_i <= upper_i quantile: the pinball loss."""
    sides = np.concatenate([quantile * upper, (1.0 - quantile) * upper])
    return replace(regression(y, upper, 0.0, rows), upper=sides)


def nu_regression(y: Array, upper: Array, nu: float, rows: Array | None = None) -> BoxProblem:  # (v,), (v,)
    """max y'b - 1/2 ||w||^2 with sum |b_i| = nu sum upper at most, sum b = 0, |b_i| <= upper_i."""
    n = len(y)
    start = np.tile(spread(nu * float(upper.sum()) / 2.0, upper), 2)
    rows = np.tile(_numbers(rows, n), 2)
    return BoxProblem(_two_sides(n), np.concatenate([-y, y]), np.tile(upper, 2), start, rows, True)


def unit_of(y: Array) -> float:  # (v,)
    """The power of two below the spread of the targets, where that is small: what tolerances are measured in."""
    spread_of_y = float(np.ptp(y)) if len(y) else 0.0
    return 2.0 ** math.floor(math.log2(spread_of_y)) if 0 < spread_of_y < 1 else 1.0


def in_units(problem: BoxProblem, unit: float, solve: Callable[[BoxProblem], BoxSolution]) -> BoxSolution:
    """The solution of a regression whose targets are measured in `unit`, brought back to their own size.

    Targets, tube and C divided by u give the same function divided by u. A tolerance of 1e-3 is then one of the targets.
    """
    if unit == 1.0:
        return solve(problem)
    scaled = replace(problem, linear=problem.linear / unit, upper=problem.upper / unit, start=problem.start / unit)
    found = solve(scaled)
    return replace(
        found, value=found.value * unit, gradient=found.gradient * unit, offset=found.offset * unit,
        scale=found.scale * unit, objective=found.objective * unit**2, gap=found.gap * unit,
    )  # fmt: skip


def one_class(weights: Array, nu: float, rows: Array | None = None) -> BoxProblem:  # (v,)
    """min 1/2 ||w||^2 with w = sum_i a_i phi(x_i), sum a = nu sum weights, 0 <= a_i <= weight_i."""
    n = len(weights)
    return BoxProblem(np.ones(n), np.zeros(n), weights, spread(nu * float(weights.sum()), weights), rows)


def spread(total: float, upper: Array) -> Array:  # (v,) -> (v,)
    """Numbers 0 <= a_i <= upper_i that add up to total: the first ones as large as they may be.

    >>> spread(2.5, np.ones(4)).tolist()
    [1.0, 1.0, 0.5, 0.0]
    """
    return np.diff(np.minimum(np.cumsum(upper), total), prepend=0.0)


def duality_gap(problem: BoxProblem, solution: BoxSolution) -> float:
    """Primal minus dual objective at a solution; infinite where a box is."""
    a, g = solution.value, solution.gradient - problem.signs * solution.offset
    if problem.split:
        g = g - solution.scale
    below, above = np.maximum(g, 0.0), np.maximum(-g, 0.0)
    room = problem.upper - a
    return float(below @ a + above[above > 0] @ room[above > 0])


def squared_norm(problem: BoxProblem, solution: BoxSolution) -> float:
    """||w||^2 = a'Qa, from the gradient."""
    return max(float(solution.value @ (solution.gradient - problem.linear)), 0.0)


def support_function(problem: BoxProblem, solution: BoxSolution, rows: Array) -> SupportFunction:
    """The function of a classification or of a single class, nu forms divided by their margin."""
    norm2, gap = squared_norm(problem, solution), duality_gap(problem, solution)
    r = solution.scale if problem.split else 1.0
    coef = problem.signs * solution.value / r
    outputs = (problem.signs * (solution.gradient - problem.linear) - solution.offset) / r
    return SupportFunction(
        rows, coef, -solution.offset / r, math.sqrt(norm2) / r, -solution.objective / r**2, gap / r**2,
        solution.converged, solution.n_iter, solution.message, outputs, r,
    )  # fmt: skip


def regression_function(problem: BoxProblem, solution: BoxSolution, rows: Array) -> SupportFunction:
    """The function of a regression: the two sides of every row in one coefficient."""
    n, a = len(rows), solution.value
    coef = a[:n] - a[n:]
    outputs = (solution.gradient - problem.linear)[:n] - solution.offset
    norm = math.sqrt(max(float(coef @ (outputs + solution.offset)), 0.0))
    return SupportFunction(
        rows, coef, -solution.offset, norm, -solution.objective, duality_gap(problem, solution),
        solution.converged, solution.n_iter, solution.message, outputs, -solution.scale if problem.split else 1.0,
    )  # fmt: skip


def _two_sides(n: int) -> Array:
    return np.repeat([1.0, -1.0], n)


def _numbers(rows: Array | None, n: int) -> Array:
    return np.arange(n) if rows is None else rows
