"""Two classes at a time: pairs of classes, the margins to fit them with, their solution on one Gram matrix, and votes.

The block of kernel values between two classes is used by one pair only, the block of a class with itself by all pairs of
that class. The latter are computed once and the former when their pair is solved, in memory that the next pair reuses: the
whole matrix is never held, and each of its values is computed once. As many pairs are solved at a time as there are cores.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, final

import numpy as np

from mercer.arrays import Array
from mercer.errors import InputError
from mercer.grams.row_cache import KernelRows
from mercer.linalg.box_qp.problems import (
    BoxProblem,
    BoxSolution,
    SupportFunction,
    Tick,
    classification,
    duality_gap,
    largest_nu,
    nu_classification,
    squared_norm,
    support_function,
)
from mercer.linalg.box_qp.solver import solve_box
from mercer.numeric.threads import cpu_count, run

if TYPE_CHECKING:
    from mercer.estimators.svm.model import Solver

#: Up to this many rows the matrix of a pair is made whole; beyond, rows of it are made on demand. Row: svc-fit-letter.
WHOLE = 4096
#: Up to this many rows pairs are solved in less time than it takes to wake a thread. `make bench-small` measures it.
SHORT = 512
#: Bytes that the rows of larger pairs may take together, unless told otherwise. Row: svc-mnist60k.
BUDGET = 2 * 2**30


def pairs(classes: int) -> list[tuple[int, int]]:
    """The pairs of classes in the order of decision values and intercepts: (0, 1), (0, 2), …, (1, 2), ….

    >>> pairs(3)
    [(0, 1), (0, 2), (1, 2)]
    """
    return list(combinations(range(classes), 2))


@dataclass(frozen=True)
class ClassPair:
    """Two classes and the rows of both, those of the first class in front.

    The first class has the sign +1; of two classes in all, the second has, as in scikit-learn.
    """

    first: int
    second: int
    index: Array  # (m,)
    signs: Array  # (m,)

    def has_both(self, weights: Array) -> bool:  # (m,)
        """Whether both classes have a row of positive weight."""
        return bool((weights[self.signs > 0] > 0).any() and (weights[self.signs < 0] > 0).any())


def class_pairs(codes: Array, classes: int | None = None) -> list[ClassPair]:  # (n,) 0 … k - 1; -1: left out
    """All pairs of classes, in the order of `pairs`.

    >>> [pair.index.tolist() for pair in class_pairs(np.array([0, 1, 0, 2]))]
    [[0, 2, 1], [0, 2, 3], [1, 3]]
    """
    k = int(codes.max()) + 1 if classes is None else classes
    members = [np.flatnonzero(codes == c) for c in range(k)]
    sides = [-1.0, 1.0] if k == 2 else [1.0, -1.0]
    return [
        ClassPair(i, j, np.concatenate([members[i], members[j]]), np.repeat(sides, [len(members[i]), len(members[j])]))
        for i, j in pairs(k)
    ]


def two_classes(codes: Array) -> ClassPair:  # (n,) 0 or 1; -1: left out
    """The one pair of two classes, rows in the order they came: the Gram matrix serves as it is.

    >>> two_classes(np.array([1, 0, -1, 1])).index.tolist()
    [0, 1, 3]
    """
    index = np.flatnonzero(codes >= 0)
    return ClassPair(0, 1, index, np.where(codes[index] == 0, -1.0, 1.0))


def pair_values(sums: Array, intercepts: Array) -> Array:  # (m, k, k - 1), (P,) -> (m, P)
    """The decision values of all pairs (i, j), positive for class i."""
    flat = sums.reshape(len(sums), -1)
    first, second = _places(sums.shape[1])
    out = flat.take(first, axis=1)
    out += flat.take(second, axis=1)
    out += intercepts
    return out


@lru_cache(maxsize=64)
def _places(k: int) -> tuple[Array, Array]:  # (P,) each
    """Where the coefficients of both classes of a pair stand among k (k - 1)."""
    first = np.array([i * (k - 1) + j - 1 for i, j in pairs(k)])
    return first, np.array([j * (k - 1) + i for i, j in pairs(k)])


def pair_columns(coef: Array, counts: Array) -> Array:  # (S, k - 1), (k,) -> (S, P)
    """The coefficients of the support vectors in LIBSVM's order, which stand class after class, pair by pair.

    A row of class c has k - 1 of them: entry j - 1 for the pair with a later class j, entry i for one with an earlier i.
    """
    k = len(counts)
    owner, columns = np.repeat(np.arange(k), counts), np.zeros((len(coef), k * (k - 1) // 2))
    for p, (i, j) in enumerate(pairs(k)):
        columns[owner == i, p] = coef[owner == i, j - 1]
        columns[owner == j, p] = coef[owner == j, i]
    return columns


def winners(decisions: Array, classes: int, break_ties: bool = False) -> Array:  # (m, P) -> (m,)
    """The winning class numbers: by the sign for two classes, otherwise by votes, whose ties go to the first class."""
    if classes == 2:
        return (decisions[:, 0] > 0).astype(np.intp)
    return np.asarray((one_against_rest if break_ties else votes)(decisions, classes).argmax(axis=1))


def votes(decisions: Array, classes: int) -> Array:  # (m, P) -> (m, k)
    """How many of its pairs each class wins; a decision of 0 goes to the first class of its pair.

    >>> votes(np.array([[1.0, 1.0, -2.0]]), 3).tolist()
    [[2.0, 0.0, 1.0]]
    """
    first, second = sides(classes)
    # whole numbers, exact in float32
    return (decisions >= 0).astype(np.float32) @ (first - second) + second.sum(axis=0)


def one_against_rest(decisions: Array, classes: int) -> Array:  # (m, P) -> (m, k)
    """Votes, with ties broken by the sum of a class's decision values squeezed into (-1/3, 1/3): scikit-learn's values."""
    first, second = sides(classes)
    confidence = decisions @ (first - second).astype(np.float64)
    return votes(decisions, classes) + confidence / (3.0 * (np.abs(confidence) + 1.0))


@lru_cache(maxsize=64)
def sides(classes: int) -> tuple[Array, Array]:  # (P, k) each
    """Which class is the first, and which the second, of every pair."""
    first, second = np.zeros((2, classes * (classes - 1) // 2, classes), dtype=np.float32)
    for p, (i, j) in enumerate(pairs(classes)):
        first[p, i] = second[p, j] = 1.0
    first.flags.writeable = second.flags.writeable = False  # cached and shared
    return first, second


def solve_pairs(
    gram: KernelRows,
    labels: Array,
    upper: Array,
    *,
    tol: float = 1e-3,
    max_iter: int = -1,
    time_limit: float | None = None,
    tick: Tick | None = None,
    memory: int | None = None,
    further: tuple[float, int] | None = None,
) -> list[BoxSolution]:
    """Solve the classification problem of every pair of classes (see `class_pairs` for the order of pairs and variables).

    Parameters
    ----------
    gram : KernelRows of all n rows
    labels : (n,) whole numbers 0 … k - 1, and -1 for rows that are left out
    upper : (n,) C per row
    tol, max_iter : as in `solve_box`, for each pair
    time_limit : seconds for all pairs together
    tick : called as tick(pairs done, pairs) from the calling thread
    memory : bytes for the rows of pairs that are too large to be made whole
    further : as in `solve_box`, for each pair
    """
    labels = np.asarray(labels)
    found = class_pairs(labels)
    limits = (tol, max_iter, time_limit, further)
    work = _PairWork(gram, labels, np.asarray(upper, dtype=np.float64), found, limits, memory or BUDGET)
    order = sorted(range(len(found)), key=lambda p: -len(found[p].index))  # the largest first: no core waits long at the end
    threads = min(cpu_count(), len(found))
    if len(found) == 1:
        work.alone = tick  # the progress of the only problem is shown
    work.prepare()
    run(order, work.solve, threads, len(found), tick if len(found) > 1 else None, short=len(labels) <= SHORT)
    return [solution for solution in work.solutions if solution is not None]


@final
class _PairWork:
    """Data that the threads share while they solve the pairs."""

    def __init__(
        self,
        gram: KernelRows,
        labels: Array,
        upper: Array,
        pairs: list[ClassPair],
        limits: tuple[float, int, float | None, tuple[float, int] | None],
        memory: int,
    ) -> None:
        self.gram, self.upper, self.pairs = gram, upper, pairs
        self.tol, self.max_iter, time_limit, self.further = limits
        self.deadline = None if time_limit is None else time.monotonic() + time_limit
        self.threads = min(cpu_count(), len(pairs))
        self.bytes = max(1, memory // self.threads)
        self.solutions: list[BoxSolution | None] = [None] * len(pairs)
        self.own: dict[int, Array] = {}  # class -> its block with itself
        self.buffers: dict[int, Array] = {}  # worker -> memory for the matrix of a pair
        self.halt = threading.Event()
        self.alone: Tick | None = None
        self.sizes = np.bincount(labels[labels >= 0])
        order = np.argsort(labels, kind="stable")[int((labels < 0).sum()) :]
        ends = np.cumsum(self.sizes)
        self.members: list[Any] = [order[end - size : end] for end, size in zip(ends, self.sizes, strict=True)]
        self.sorted = gram
        small = any(len(pair.index) <= WHOLE for pair in pairs)
        if small and not gram.whole:  # rows of a class side by side: blocks are made from slices, not from gathered copies
            self.sorted = gram.part(order, bytes=None)
            self.members = [slice(int(end - size), int(end)) for end, size in zip(ends, self.sizes, strict=True)]

    def prepare(self) -> None:
        """The block of every class with itself, where it is used by more than one pair."""
        uses = np.zeros(len(self.sizes), dtype=int)
        for pair in self.pairs:
            uses[[pair.first, pair.second]] += len(pair.index) <= WHOLE

        def work(c: int, worker: int) -> None:
            out = np.empty((self.sizes[c], self.sizes[c]), self.gram.dtype)
            self.own[c] = self.sorted.block(self.members[c], self.members[c], out)

        shared = sorted(np.flatnonzero(uses > 1).tolist(), key=lambda c: -int(self.sizes[c]))
        run(shared, work, min(self.threads, max(1, len(shared))), short=self.gram.n <= SHORT)

    def solve(self, number: int, worker: int) -> None:
        """One pair."""
        pair = self.pairs[number]
        m = len(pair.index)
        problem = BoxProblem(pair.signs, -np.ones(m), self.upper[pair.index], np.zeros(m))
        left = None if self.deadline is None else max(1e-9, self.deadline - time.monotonic())
        try:
            self.solutions[number] = solve_box(
                problem, self.rows(pair, worker), tol=self.tol, max_iter=self.max_iter, time_limit=left, tick=self.tell,
                further=self.further,
            )  # fmt: skip
        except BaseException:
            self.halt.set()
            raise

    def rows(self, pair: ClassPair, worker: int) -> KernelRows:
        """The Gram matrix of a pair: whole, or rows of it on demand."""
        if len(pair.index) <= WHOLE:
            return self.gram.whole_of(self.matrix(pair, worker), self.gram.diag()[pair.index])
        return self.gram.part(pair.index, bytes=self.bytes, threads=None if len(self.pairs) == 1 else 1)

    def tell(self, done: int, total: int) -> None:
        """Called between two working sets: stop if another thread has failed or was interrupted."""
        if self.halt.is_set():
            raise _HaltedError
        if self.alone is not None:
            self.alone(done, total)

    def matrix(self, pair: ClassPair, worker: int) -> Array:
        """The matrix of a pair, in memory of this worker."""
        m, size = len(pair.index), int(self.sizes[pair.first])
        buffer = self.buffers.get(worker)
        if buffer is None or buffer.size < m * m:
            buffer = self.buffers[worker] = np.empty(m * m, self.gram.dtype)
        K = buffer[: m * m].reshape(m, m)
        for c, place in ((pair.first, slice(0, size)), (pair.second, slice(size, m))):
            if c in self.own:
                K[place, place] = self.own[c]
            else:
                self.sorted.block(self.members[c], self.members[c], K[place, place])
        self.sorted.block(self.members[pair.first], self.members[pair.second], K[:size, size:], K[size:, :size])
        return K


class _HaltedError(Exception):
    """Another thread has ended the work; its error is the one that is raised."""


class Margin(Protocol):
    """The objective of a support vector classifier, and its solution for two classes."""

    bounded: ClassVar[bool]  # pairs of classes have an upper bound per row, and are solved side by side

    def upper(self, weights: Array) -> Array:  # (n,) -> (n,)
        """The upper bounds of the multipliers, before nu forms are scaled."""
        ...

    def fit(self, solver: Solver, signs: Array, rows: Array, weights: Array) -> SupportFunction:  # all (v,)
        """Fit two classes: rows of the training set with signs and weights, some of which may be 0."""
        ...

    def for_fold(self) -> Margin:
        """The same objective for a part of the rows."""
        ...


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


#: A margin whose square is 0 in floats, and the multiple of ||w||^2 that the gap of a fit limited by the user may be.
TINY, LIMITED = 1e-150, 1e3

#: How often the tolerance is refined: it must be a part of the squared distance, which is known only at the end.
ROUNDS = 12


@dataclass(frozen=True)
class HardMargin:
    """min 1/2 ||w||^2 with y_i f(x_i) >= 1 (C = inf); raises if no function separates the classes.

    It is solved as the nearest points of two convex hulls, a problem that is bounded for all data, so the solver always
    ends. With p and q the nearest points of the hulls of the two classes, w = 2 (p - q) / ||p - q||^2 and the margin is half
    their distance (Bennett and Bredensteiner, 2000). Hulls that meet have distance 0.
    """

    what: str  # the name of the estimator, for the error
    bounded: ClassVar[bool] = False

    def upper(self, weights: Array) -> Array:
        """Infinite, except for rows of weight 0."""
        return np.where(weights > 0, np.inf, 0.0)

    def for_fold(self) -> HardMargin:
        """The same."""
        return self

    def fit(self, solver: Solver, signs: Array, rows: Array, weights: Array) -> SupportFunction:
        """Find the nearest points of the two convex hulls, each time more exactly until their distance is known to tol."""
        radius2, known = float(solver.rows.diag()[rows].max()), weights > 0
        plus, minus = (signs > 0) & known, (signs < 0) & known
        start = np.zeros(len(signs))
        start[np.argmax(plus)] = start[np.argmax(minus)] = 1.0
        problem = BoxProblem(signs, np.zeros(len(signs)), known.astype(np.float64), start, rows, True)
        floor, fine, steps = smallest_distance2(solver, rows), 0.05 * radius2, 0
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


def smallest_distance2(solver: Solver, rows: Array) -> float:
    """Squared distance of two weighted means in feature space below which it may be rounding of the kernel values."""
    return 20.0 * float(np.finfo(solver.rows.dtype).eps) * float(solver.rows.diag()[rows].max())


def _no_margin(what: str) -> str:
    return (
        f"{what}: C = inf allows no margin errors, but the classes are not separable in the feature space of this kernel "
        "(the convex hulls of the classes meet, within the rounding of kernel values). Give a finite C, or a richer kernel."
    )


def _known_margin(solver: Solver, problem: BoxProblem, rows: Array) -> SupportFunction | None:
    """Solve the problem of NuSVC more and more exactly until ||w|| is known not to be 0; None if it may be 0.

    w / half is the difference of two weighted means in feature space, and 1/2 ||w||^2 minus the gap is a lower bound of the
    optimum. If it stays below 0, or if ||w||^2 is within the rounding of kernel values, a function divided by the margin
    would be noise.
    """
    half = float(problem.start.sum()) / 2.0
    floor = smallest_distance2(solver, rows) * half**2
    # below the rounding of gradients no tolerance can be reached; a fit that the user has limited keeps a rough function
    fine, steps, rough = max(solver.settings.tol, floor / (20.0 * half)), 0, LIMITED if solver.limited else 0.5
    for _ in range(ROUNDS):
        solution = solver(problem, fine)
        steps += solution.n_iter
        norm2, gap = squared_norm(problem, solution), duality_gap(problem, solution)
        if not solution.converged or gap <= 0.5 * norm2 or norm2 <= floor:
            break
        problem, fine = replace(problem, start=solution.value), 0.1 * fine
    known = norm2 > floor and gap <= rough * norm2 and solution.scale > TINY
    return support_function(problem, replace(solution, n_iter=steps), rows) if known else None


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
        """Solve one box problem with the sums of both signs fixed; raise if its optimum is 0.

        In a fold with optimum 0 the largest feasible nu is used instead: the distance of the weighted means grows with nu.
        """
        largest = largest_nu(signs, weights)
        nu = min(self.nu, largest) if self.capped else self.nu
        found = _known_margin(solver, nu_classification(signs, weights, nu, rows), rows)
        if found is None and self.capped:
            found = _known_margin(solver, nu_classification(signs, weights, largest, rows), rows)
        if found is None:
            raise InputError(
                f"NuSVC: nu={nu:g} leaves no margin: the optimum is 0, because weighted means of the two classes coincide "
                f"within the rounding of kernel values. Choose a larger nu (at most {largest:.6g} here), another kernel, or "
                "SVC. If the margin is tiny but not 0, set tol=1e-5 or less, which stores kernel values in float64."
            )
        return found

    def for_fold(self) -> NuMargin:
        """Capped at what the rows of the fold allow."""
        return replace(self, capped=True)


def coefficients(
    found: Sequence[SupportFunction | None], codes: Array, classes: int
) -> tuple[Array, Array]:  # -> (k - 1, n), (P,)
    """All coefficients by training row, in LIBSVM's order (see `pair_columns`), and the intercepts."""
    table, intercepts = np.zeros((classes - 1, len(codes))), np.zeros(len(found))
    for p, ((i, j), function) in enumerate(zip(pairs(classes), found, strict=True)):
        if function is None:
            continue
        own = codes[function.rows] == i
        table[j - 1, function.rows[own]] = function.coef[own]
        table[i, function.rows[~own]] = function.coef[~own]
        intercepts[p] = function.intercept
    return table, intercepts
