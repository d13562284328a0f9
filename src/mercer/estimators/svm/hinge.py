"""Support vector classification beyond the memory for kernel rows: the hinge loss on features of landmarks.

For a pair of classes the function lies in the span of landmarks of both, f(x) = <w, z(x)> + b with z(x) = L^-1 k(S, x), so
that it is a sum over landmarks as every other machine is one over support vectors. min 1/2 ||w||^2 + sum_i C_i max(0, t_i),
t_i = 1 - y_i f(x_i), is solved in w and b by Newton's method on a hinge that is rounded between t = -h and h,

    loss_h(t) = 0, (t + h)^2 / (4 h) or t,        a_i = C_i loss_h'(t_i),

for smaller and smaller h (Chapelle 2007): the curvature comes from the rows in the rounded part alone, and the a_i are
multipliers of the dual problem, so the duality gap bounds the distance of w from the optimum on
these features.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg as la

from mercer.arrays import Array
from mercer.errors import CapabilityError
from mercer.estimators.progress import Meter
from mercer.estimators.svm.model import KEPT, SolverSettings, least_bytes
from mercer.estimators.svm.one_vs_one import ClassPair, Margin, class_pairs
from mercer.grams.low_rank import LandmarkFeatures, from_landmarks, landmark_features, rows_drawn
from mercer.inputs import Rows
from mercer.kernels.base import Kernel
from mercer.linalg.box_qp.problems import SupportFunction
from mercer.linalg.cholesky import definite_factor
from mercer.numeric.memory import within
from mercer.numeric.tiles import row_blocks
from mercer.planning import LOADING, READ_RATE, Route, Shape, entry_rate, gemm_rate

#: Landmarks of a pair of classes where n_components is not given.
COMPONENTS = 2000

#: Numbers of one block of features.
BLOCK = 1 << 23

#: The rounding of the hinge: the first at which all rows count, and by how much it shrinks.
WIDEST, SHRINK = 1.5, 0.3

#: Newton steps where max_iter sets no limit; a stage ends when a step promises less than a share of the objective, the last
#: one when it promises less than another.
STEPS, PROMISE, LAST = 300, 1e-5, 1e-9

#: Rows for each landmark in the part of the rows from which a large problem starts.
START = 20

SEED = 0

#: The name of the route.
HINGE = "nystroem"

SOLVERS = ("auto", "exact", HINGE)


def hinge_route(shape: Shape, asked: int | None, memory: Any) -> Route:
    """What the hinge loss on landmarks takes."""
    k, n = max(2, shape.n_targets), shape.n
    own = min(n, -(-2 * n // k))  # rows of a pair of classes
    m = min(own, COMPONENTS if asked is None else int(asked))
    drawn = rows_drawn(-(-n // k), -(-m // 2))
    block = 8 * 3 * min(own, max(64, BLOCK // m)) * m
    held = _held(own, m, memory)
    needed = 8 * (3 * m * m + 12 * n) + max(block + held, 8 * 2 * drawn * (m // 2))
    rate, pairs = gemm_rate(), k * (k - 1) / 2
    passes = 150.0 if held else 40.0
    entries = own * m * (2.0 * shape.width / rate + 1.0 / entry_rate() / 2.0)
    reading = 16.0 * own * m / READ_RATE if held else 4.0 * own * m / rate
    seconds = LOADING + pairs * (own * m * m / rate + (1.0 if held else passes) * entries + passes * reading)
    reason = f"the hinge loss on {m} landmarks of each pair of classes, not the dual problem on all rows"
    return Route(HINGE, int(needed), seconds, reason, exact=False)


def or_on_landmarks(exact: Route, shape: Shape, hinge: Route) -> tuple[Route, ...]:
    """Return the exact route with the least memory that it can use, and the route on landmarks."""
    reason = f"kernel rows when the solver asks for them, at least one in {KEPT} kept"
    return replace(exact, bytes=least_bytes(shape.n), reason=reason), hinge


def _held(n: int, m: int, memory: Any) -> int:
    """Bytes of the features of all rows in float32 if half of the budget holds them; otherwise 0: they are recomputed."""
    return 4 * n * m if within(8 * n * m, memory) else 0


@dataclass
class HingeSolver:
    """Rows of a training set, on whose landmarks pairs of classes are solved."""

    kernel: Kernel
    X: Any
    settings: SolverSettings
    n_components: int | None = None
    meter: Meter | None = None

    def __post_init__(self) -> None:
        if self.kernel.given:
            raise CapabilityError('SVC: a precomputed kernel is a matrix already; use solver="exact".')
        limit = self.settings.time_limit
        self.deadline = math.inf if limit is None else time.monotonic() + limit

    def diag(self) -> Array:  # -> (n,)
        """k(x, x) of every row."""
        return np.asarray(self.kernel.diag(self.X), dtype=np.float64)

    def fit_pairs(
        self, margin: Margin, codes: Array, classes: int, weights: Array
    ) -> list[SupportFunction | None]:  # (n,), (n,)
        """Fit one function per pair of classes, None if a class has no row of positive weight."""
        return self.pairs(codes, margin.upper(weights))

    def pairs(self, codes: Array, upper: Array) -> list[SupportFunction | None]:  # (n,), (n,)
        """The functions of all pairs of classes; None where a class has no row with a positive bound."""
        rows, classes = Rows(self.X), int(codes.max()) + 1
        chosen = [self._landmarks(rows, np.flatnonzero((codes == c) & (upper > 0))) for c in range(classes)]
        found: list[SupportFunction | None] = []
        both = class_pairs(codes, classes)
        for number, pair in enumerate(both):
            if self.meter is not None:
                self.meter(number, len(both))
            own, index = upper[pair.index], np.concatenate([chosen[pair.first], chosen[pair.second]])
            found.append(self._pair(rows, pair, own, index) if pair.has_both(own) else None)
        return found

    def _landmarks(self, rows: Rows, own: Array) -> Array:  # (c,) -> (m,)
        """Landmarks of one class: numbers of training rows."""
        count = -(-(self.n_components or COMPONENTS) // 2)
        if len(own) <= count:
            return own
        found, _ = landmark_features(self.kernel, rows.take(own).data, count, np.random.default_rng(SEED))
        return own[found.index]

    def _pair(self, rows: Rows, pair: ClassPair, upper: Array, index: Array) -> SupportFunction:
        features = from_landmarks(self.kernel, rows.take(index), index)
        table = Features.of(features, rows.take(pair.index), self.settings.memory)
        state = _start(table, pair.signs, upper)
        problem = _Problem(table, pair.signs, upper)
        state = _climb(problem, state, self.settings, self.deadline)
        coef = np.zeros(len(rows))
        coef[features.index] = features.expansion(state.w[:, None])[:, 0]
        dual, gap = problem.objectives(state)
        message = f"hinge loss on {table.m} landmarks, rounded at {state.h:.1e}"
        return SupportFunction(
            pair.index, coef[pair.index], state.b, float(np.linalg.norm(state.w)), dual, gap, state.converged, state.steps,
            message if state.converged else f"{message}, at its limit of steps or of time", state.f,
        )  # fmt: skip


@dataclass(frozen=True)
class Features:
    """z(x) of all rows, some at a time: held in float32, or made again from kernel values at every pass.

    In the second case blocks are k(x, S) themselves and L is divided out of sums, which saves m^2 operations per row.
    """

    features: LandmarkFeatures
    rows: Rows
    held: Array | None  # (n, m) float32

    @classmethod
    def of(cls, features: LandmarkFeatures, rows: Rows, memory: Any) -> Features:
        """The features of rows, held where half of the memory budget is enough."""
        n, m = len(rows), features.n_components
        if not _held(n, m, memory):
            return cls(features, rows, None)
        Z, step = np.empty((n, m), np.float32), max(64, BLOCK // m)
        for part in row_blocks(n, step):
            R = _values(features, rows.take(part).data)
            Z[part] = la.solve_triangular(features.triangle, R.T, lower=True, overwrite_b=True, check_finite=False).T
        return cls(features, rows, Z)

    @property
    def m(self) -> int:
        """The number of features."""
        return self.features.n_components

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Blocks of features, or of kernel values."""
        step = max(64, BLOCK // self.m)
        for start in range(0, len(self.rows), step):
            part = slice(start, min(start + step, len(self.rows)))
            yield part, self.held[part] if self.held is not None else _values(self.features, self.rows.take(part).data)

    def on_blocks(self, W: Array) -> Array:  # (m, r) -> (m, r)
        """Weights of features as weights of what blocks hold."""
        return W if self.held is not None else self.features.expansion(W)

    def of_blocks(self, sums: Array) -> Array:  # (m, r) -> (m, r)
        """Sums over rows of what blocks hold as sums of features."""
        if self.held is not None:
            return sums
        return np.asarray(la.solve_triangular(self.features.triangle, sums, lower=True, check_finite=False))

    def take(self, rows: Array) -> Features:
        """The same features of some rows."""
        return Features(self.features, self.rows.take(rows), None if self.held is None else self.held[rows])


def _values(features: LandmarkFeatures, X: Any) -> Array:  # -> (b, m)
    X = X.astype(np.float64) if getattr(X, "dtype", None) == np.float32 else X
    return np.asarray(features.kernel(X, features.landmarks), dtype=np.float64)


@dataclass
class _Iterate:
    """Weights, intercept and width of the smoothing of one Newton iteration; f are the values at all rows."""

    w: Array  # (m,)
    b: float
    f: Array  # (n,)
    h: float
    steps: int = 0
    converged: bool = False


class _Problem:
    def __init__(self, table: Features, signs: Array, upper: Array) -> None:
        self.table, self.y, self.C = table, signs, upper

    def multipliers(self, f: Array, h: float) -> Array:  # (n,) -> (n,)
        return self.C * np.clip((1.0 - self.y * f + h) / (2.0 * h), 0.0, 1.0)

    def loss(self, f: Array, h: float) -> float:
        t = 1.0 - self.y * f
        inner = np.clip(t + h, 0.0, 2.0 * h)
        return float(self.C @ (inner**2 / (4.0 * h) + np.maximum(t - h, 0.0)))

    def derivatives(self, state: _Iterate) -> tuple[Array, Array]:  # -> (m + 1,), (m + 1, m + 1)
        """Gradient and curvature in (w, b), from one pass."""
        m = self.table.m
        a = self.y * self.multipliers(state.f, state.h)
        bent = (np.abs(1.0 - self.y * state.f) < state.h) & (self.C > 0)
        weight = np.where(bent, self.C / (2.0 * state.h), 0.0)
        pull, gram, sums = np.zeros(m), np.zeros((m, m)), np.zeros(m)
        for rows, R in self.table.blocks():
            pull += R.T @ a[rows].astype(R.dtype)
            inside = np.flatnonzero(bent[rows])
            own, c = self.table.of_blocks(R[inside].T), weight[rows][inside]  # few rows: L is divided out of each
            sums += own @ c.astype(R.dtype)
            own = own * np.sqrt(c).astype(R.dtype)
            gram += own @ own.T
        H = np.empty((m + 1, m + 1))
        H[:m, :m], H[:m, m], H[m, :m] = gram, sums, sums
        H[m, m] = weight.sum() + 1e-6 * self.C.sum()  # where no row is in the rounded part, b has no curvature
        H[np.arange(m), np.arange(m)] += 1.0
        return np.append(state.w - self.table.of_blocks(pull[:, None])[:, 0], -a.sum()), H

    def values(self, w: Array) -> Array:  # (m,) -> (n,)
        """<w, z(x)> of every row."""
        c = self.table.on_blocks(w[:, None])[:, 0]
        found = np.empty(len(self.y))
        for rows, R in self.table.blocks():
            found[rows] = R @ c.astype(R.dtype)
        return found

    def objectives(self, state: _Iterate) -> tuple[float, float]:
        """The dual objective, and primal minus dual, of the problem on these features."""
        a = self.multipliers(state.f, state.h)
        pull = np.zeros(self.table.m)
        for rows, R in self.table.blocks():
            pull += R.T @ (self.y * a)[rows].astype(R.dtype)
        u = self.table.of_blocks(pull[:, None])[:, 0]
        primal = 0.5 * float(state.w @ state.w) + float(self.C @ np.maximum(1.0 - self.y * state.f, 0.0))
        dual = float(a.sum()) - 0.5 * float(u @ u)
        return dual, max(primal - dual, 0.0) + abs(state.b * float(self.y @ a))


def _start(table: Features, signs: Array, upper: Array) -> _Iterate:
    """Zero, or for many rows the function of some of them at a price of errors that makes up for the others."""
    n = len(signs)
    used = np.flatnonzero(upper > 0)
    size = max(START * table.m, 5000)
    if len(used) < 3 * size:
        return _Iterate(np.zeros(table.m), 0.0, np.zeros(n), WIDEST)
    part = np.sort(np.random.default_rng(SEED).choice(used, size, replace=False))
    own = _Problem(table.take(part), signs[part], upper[part] * (float(upper.sum()) / float(upper[part].sum())))
    near = _climb(own, _Iterate(np.zeros(table.m), 0.0, np.zeros(size), WIDEST), SolverSettings(tol=0.05), math.inf)
    whole = _Problem(table, signs, upper)
    return _Iterate(near.w, near.b, whole.values(near.w) + near.b, 0.3, near.steps)


def _climb(problem: _Problem, state: _Iterate, settings: SolverSettings, deadline: float) -> _Iterate:
    """Newton steps at smaller and smaller rounding, down to the tolerance."""
    limit = STEPS if settings.max_iter < 0 else settings.max_iter
    first = state.steps
    while True:
        at_rest = False
        while state.steps - first < limit and time.monotonic() < deadline:
            gradient, H = problem.derivatives(state)
            step = -la.cho_solve((definite_factor(H), True), gradient)
            promise = -float(gradient @ step)
            here = 0.5 * float(state.w @ state.w) + problem.loss(state.f, state.h)
            if promise <= (LAST if state.h <= settings.tol else PROMISE) * here:
                at_rest = True
                break
            along = problem.values(step[:-1]) + step[-1]
            size = _along(problem, state, step, along, here, promise)
            state.w, state.b, state.f = state.w + size * step[:-1], state.b + size * float(step[-1]), state.f + size * along
            state.steps += 1
        state.converged = at_rest and state.h <= settings.tol
        if not at_rest or state.h <= settings.tol:
            return state
        state.h = max(SHRINK * state.h, settings.tol)


def _along(problem: _Problem, state: _Iterate, step: Array, along: Array, here: float, promise: float) -> float:
    """A length along the step at which the objective falls enough; values at rows are known, so that trials cost O(n)."""
    size, w, d = 1.0, state.w, step[:-1]
    for _ in range(40):
        there = 0.5 * float((w + size * d) @ (w + size * d)) + problem.loss(state.f + size * along, state.h)
        if there <= here - 0.1 * size * promise:
            break
        size *= 0.5
    return size
