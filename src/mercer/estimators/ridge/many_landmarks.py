"""Ridge on many landmarks: conjugate gradients on the normal equations, preconditioned by the landmarks themselves.

With R = k(X, S), k(S, S) = L L' and total weight n the normal equations are (R'WR + alpha L L') c = R'Wy. The m landmarks
stand for all rows, R'WR ~ (n / m) k(S, S)^2, which makes

    L (B'B) L',        B'B = (n / m) L'L + alpha I,

a matrix like theirs; dividing it out leaves a system that takes a few tens of steps whatever m is (Rudi, Carratino and
Rosasco 2017). A step is one pass over k(X, S), which is held where it fits the budget. No m x m sum over the rows is made:
m^2 n operations would take longer than the steps from some thousands of landmarks on.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.linalg as la

from mercer.arrays import Array
from mercer.estimators.progress import Meter
from mercer.estimators.ridge.problem import Diagnosis, RidgeFit, RidgeProblem, by_mean_leverage
from mercer.grams.low_rank import LandmarkFeatures
from mercer.inputs import Rows, widened
from mercer.linalg.cholesky import definite_factor
from mercer.linalg.conjugate_gradient import Progress, conjugate_gradient
from mercer.linalg.solution import Solution
from mercer.numeric.memory import within
from mercer.planning import LOADING, READ_RATE, Route, Shape, entry_rate, gemm_rate

NAME = "nystroem-cg"

#: From this many landmarks on the steps are cheaper than the sums of the direct route.
FEWEST = 5000

#: Numbers of one block of kernel values.
BLOCK = 1 << 23

#: Residuals below this change no prediction that landmarks can make.
TOLERANCE = 1e-7

#: Steps at most, and random vectors for the trace of the hat matrix.
STEPS, PROBES = 200, 8


def many_route(shape: Shape, m: int, memory: Any) -> Route:
    """What many landmarks take."""
    n, t, rate = float(shape.n), shape.n_targets, gemm_rate()
    rows = min(shape.n, max(64, BLOCK // m))
    held = _held(shape.n, m, memory)
    needed = 8 * (3 * m * m + 2 * rows * m) + held + 8 * 6 * shape.n * t
    entries = n * m * (2.0 * shape.width / rate + 1.0 / entry_rate() / 2.0)
    steps = 25.0
    reading = 16.0 * n * m / READ_RATE + 8.0 * (n * m + m * m) * t / rate  # there and back, bound by memory
    seconds = LOADING + 3.0 * float(m) ** 3 / rate + (1.0 if held else steps) * entries + steps * reading
    reason = f"{m} landmarks, {'held kernel values' if held else 'a pass over the rows'} for each of some tens of steps"
    return Route(NAME, int(needed), seconds, reason, exact=False)


def _held(n: int, m: int, memory: Any) -> int:
    """Bytes of all kernel values where most of the budget holds them; float32 will not do: L^-1 multiplies its rounding."""
    return 8 * n * m if within(8 * n * m * 4 // 3, memory) else 0


class ManyLandmarks:
    """The preconditioned system of one problem; calling `solve` again costs the steps alone."""

    def __init__(self, problem: RidgeProblem, features: LandmarkFeatures | None, memory: Any) -> None:
        self.problem, self.weights = problem, problem.weights
        self.features = _landmarks(problem) if features is None else features
        self.L, m = self.features.triangle, self.features.n_components
        self.alpha, self.shape = float(problem.alpha), (m, m)
        self.total = float(problem.n if self.weights is None else self.weights.sum())
        inner = (self.total / m) * (self.L.T @ self.L)
        inner[np.diag_indices_from(inner)] += self.alpha
        self.B = definite_factor(inner, lower=False)
        self._values = np.empty((problem.n, m)) if _held(problem.n, m, memory) else None
        if self._values is not None:
            for rows, R in self._made():
                self._values[rows] = R

    def __matmul__(self, V: Array) -> Array:  # (m, r) -> (m, r)
        U = self.inward(V)
        c, g = self.features.expansion(U), np.zeros(V.shape)
        for rows, R in self.blocks():
            f = R @ c
            if self.weights is not None:
                f *= self.weights[rows, None]
            g += R.T @ f
        return self.outward(g, self.alpha * U)

    def inward(self, V: Array) -> Array:  # (m, r) -> (m, r)
        """B^-1 V."""
        return np.asarray(la.solve_triangular(self.B, V, check_finite=False))

    def outward(self, g: Array, extra: Array | float = 0.0) -> Array:  # (m, r) -> (m, r)
        """B^-T (L^-1 g + extra)."""
        whitened = la.solve_triangular(self.L, g, lower=True, check_finite=False) + extra
        return np.asarray(la.solve_triangular(self.B, whitened, trans="T", check_finite=False))

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """k(X, S), some rows at a time."""
        if self._values is None:
            yield from self._made()
            return
        step = max(64, BLOCK // self.shape[0])
        for start in range(0, len(self._values), step):
            rows = slice(start, min(start + step, len(self._values)))
            yield rows, self._values[rows]

    def _made(self) -> Iterator[tuple[slice, Array]]:
        rows, step = Rows(self.problem.X), max(64, BLOCK // self.shape[0])
        for start in range(0, len(rows), step):
            part = slice(start, min(start + step, len(rows)))
            yield part, _values_of(self.features, rows.take(part).data)

    def solve(self, Y: Array, watch: Any) -> tuple[Array, Array, Solution]:  # (n, t) -> (m, t), (t,)
        """Weights of the features L^-1 k(S, x), and intercepts."""
        w = np.ones(len(Y)) if self.weights is None else self.weights
        columns = np.column_stack([Y, np.ones(len(Y))]) if self.problem.fit_intercept else Y
        moment = np.zeros((self.shape[0], columns.shape[1]))
        for rows, R in self.blocks():
            moment += R.T @ (w[rows, None] * columns[rows])
        limit = self.problem.max_iter or STEPS
        tol = max(self.problem.tol, TOLERANCE)
        found = conjugate_gradient(self, self.outward(moment), tol=tol, max_iter=limit, callback=watch)
        value = self.inward(found.value)  # L'c
        if not self.problem.fit_intercept:
            return value, np.zeros(Y.shape[1]), found
        ones = value[:, -1]
        own = la.solve_triangular(self.L, moment[:, -1], lower=True, check_finite=False)  # Z'w
        intercept = (w @ Y - own @ value[:, :-1]) / (self.total - own @ ones)
        return value[:, :-1] - np.outer(ones, intercept), intercept, found

    def effective_dof(self) -> float:
        """tr (R'WR + alpha LL')^-1 R'WR = m - alpha tr L'(…)^-1 L by random signs, plus 1 with an intercept."""
        signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(self.shape[0], PROBES))
        right = la.solve_triangular(self.B, signs, trans="T", check_finite=False)
        solved = conjugate_gradient(self, right, tol=1e-3, max_iter=STEPS).value
        lost = self.alpha * float(np.einsum("ij,ij->", right, solved)) / PROBES
        return self.shape[0] - lost + float(self.problem.fit_intercept)


def _landmarks(problem: RidgeProblem) -> LandmarkFeatures:
    """Uniform landmarks: choosing many by what the others miss would take a factor of several times their square."""
    m = min(problem.n, problem.n_components or FEWEST)
    index = np.sort(np.random.default_rng(0).choice(problem.n, m, replace=False))
    rows = Rows(problem.X).take(index)
    K = np.asarray(problem.kernel(widened(rows.data)), dtype=np.float64)
    # the rounding of k(S, S), and of what multiplies it: equal landmarks are no obstacle then
    K[np.diag_indices_from(K)] += 10.0 * m * np.finfo(np.float64).eps * max(float(K.diagonal().max()), 1e-300)
    return LandmarkFeatures(problem.kernel, rows.data, index, definite_factor(K))


def _values_of(features: LandmarkFeatures, X: Any) -> Array:  # -> (b, m)
    return np.asarray(features.kernel(widened(X), features.landmarks), dtype=np.float64)


def fit_many(problem: RidgeProblem, meter: Meter) -> RidgeFit:
    """Solve for every alpha in turn; the landmarks stay."""
    Y = problem.Y.reshape(problem.n, -1)
    value, intercept, residuals = None, np.empty(Y.shape[1]), Y.copy()
    features: LandmarkFeatures | None = problem.features
    solutions = []

    def watch(state: Progress) -> None:
        meter(state.n_iter, state.max_iter)

    for part in _of_each_alpha(problem):
        mine = np.flatnonzero(np.broadcast_to(problem.alpha == part.alpha, Y.shape[1:]))
        system = ManyLandmarks(part, features, problem.memory)
        features = system.features
        w, b, found = system.solve(Y[:, mine], watch)
        value = np.empty((len(w), Y.shape[1])) if value is None else value
        value[:, mine], intercept[mine] = w, b
        c = features.expansion(w)
        for rows, R in system.blocks():
            residuals[rows.start : rows.stop, mine] -= R @ c + b
        solutions.append(found)
    assert value is not None
    dual, shape = problem.counted[:, None] * residuals / problem.alpha, problem.Y.shape
    return RidgeFit(
        dual.reshape(shape), intercept.reshape(shape[1:]), residuals.reshape(shape),
        np.sum(value**2, axis=0).reshape(shape[1:]), 0.0, all(s.converged for s in solutions),
        max(s.n_iter for s in solutions), solutions[-1].message, weights=value.reshape(-1, *shape[1:]), features=features,
    )  # fmt: skip


def diagnose_many(problem: RidgeProblem, residuals: Array) -> Diagnosis:
    """Leave-one-out residuals with the mean leverage for every row: single ones would need a system per row."""
    Y = problem.Y.reshape(problem.n, -1)
    dof = np.empty(Y.shape[1])
    for part in _of_each_alpha(problem):
        mine = np.broadcast_to(problem.alpha == part.alpha, Y.shape[1:])
        dof[mine] = ManyLandmarks(part, problem.features, problem.memory).effective_dof()
    return by_mean_leverage(problem, residuals, dof)


def _of_each_alpha(problem: RidgeProblem) -> Iterator[RidgeProblem]:
    for alpha in np.unique(problem.alpha):
        yield dataclasses.replace(problem, alpha=np.asarray(alpha))
