"""The dual problem of support vector machines: a quadratic program over a box with one or two equalities.

    minimize  a'Qa / 2 + linear'a   with  Q_ij = s_i s_j K[r_i, r_j],  s'a = s'start,  0 <= a <= upper

Classification, regression, one-class and the nu forms differ in `signs`, `linear`, `upper` and `start` alone. Inside, the
signed weights b = s a are what moves: then f = -s (Qa + linear) = c - Kb with c = -s linear does not see the signs any more,
and a step takes weight from one variable to another (see `linalg/box_qp/_compiled_loops`).

Small problems are solved at once on their whole matrix (`small`). Large ones in working sets: the worst violators and
the free variables of the last set, their rows of the Gram made together, sequential minimal optimization on the block, and
one sum of rows for all others (Joachims 1999; Wen et al. 2018). These sums run in float64 over all rows, so that they need
not be rebuilt at the end. Both stop when the largest f of a variable that may rise exceeds the
smallest f of one that may fall by less than `tol`, LIBSVM's rule.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from mercer.arrays import Array
from mercer.linalg.box_qp import working_set
from mercer.linalg.box_qp.small import COARSE, DONE, HARD, SmallSolution, solve_at_once
from mercer.linalg.box_qp.working_set import Blocks, Signed, Watch, check_problem

Tick = Callable[[int, int], None]

#: From this many rows on, rows on demand start from the weights of a sample. Row: svc-fit-*.
SAMPLED = 8192
#: How well a sample is solved: its weights are moved anyway.
LOOSE = 1e-2

#: Up to SHARP_UP_TO rows a problem without limits is solved further, to the tolerance SHARP or for FURTHER steps.
SHARP_UP_TO, SHARP, FURTHER = 512, 1e-10, 20_000


def refinement(n: int, tol: float, limited: bool = False) -> tuple[float, int] | None:
    """Return the finer tolerance, and the steps towards it, of a problem on n rows: `further` of `solve_box`.

    It costs milliseconds, and a weight then counts exactly as that many copies of its row do.
    """
    return (SHARP, FURTHER) if n <= SHARP_UP_TO and tol > SHARP and not limited else None


class Gram(Protocol):
    """What the solver asks of a Gram matrix: its size, diagonal, rows, and sums of rows (`mercer.grams.row_cache`)."""

    n: int

    @property
    def whole(self) -> bool:
        """True where all rows are there already."""
        ...

    def part(self, index: Array) -> Gram:
        """The matrix of some of the objects."""
        ...

    def diag(self) -> Array:
        """k(x_i, x_i), (n,) float64."""
        ...

    def rows(self, index: Array, columns: Array | None = None) -> Array:
        """Rows, whole or at some columns, (q, m)."""
        ...

    def fetch(self, index: Array) -> tuple[Array, Array]:
        """An array of rows and where in it the wanted ones stand."""
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

    `upper` may be infinite (hard margin), or 0 for a variable that is to stay 0: its gradient is reported all the same, so
    held-out rows of a fold get their decision values s (gradient - linear) - offset for nothing. With `split` the sums over
    s = +1 and over s = -1 are kept each by itself (the nu forms).
    """

    signs: Array  # (n,) +1 or -1
    linear: Array  # (n,)
    upper: Array  # (n,) >= 0
    start: Array  # (n,) feasible
    rows: Array | None = None  # (n,) row of the Gram behind each variable; None: i
    split: bool = False


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


def solve_box(
    problem: BoxProblem,
    gram: Gram,
    *,
    tol: float = 1e-3,
    max_iter: int = -1,
    time_limit: float | None = None,
    tick: Tick | None = None,
    further: tuple[float, int] | None = None,
) -> BoxSolution:
    """Solve one problem.

    Parameters
    ----------
    problem : BoxProblem
    gram : Gram
        `mercer.grams.row_cache.KernelRows`, or anything with its methods.
    tol : float
        Largest violation of the optimality conditions left. Below 1e-4 the rows should be float64.
    max_iter : int
        Most steps on pairs of variables, -1 for no limit but one that ends what would never end.
    time_limit : float, optional
        Seconds.
    tick : function (done, total), optional
        Called now and then from the calling thread; done of total by the logarithm of the gap. Raise in it to stop.
    further : (tolerance, steps), optional
        Once `tol` is reached, go on towards a finer tolerance for at most this many steps.

    >>> from mercer.grams.row_cache import KernelRows
    >>> K = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> problem = BoxProblem(np.array([1.0, -1.0]), -np.ones(2), np.full(2, 10.0), np.zeros(2))
    >>> solve_box(problem, KernelRows.of(K)).value.tolist()
    [1.0, 1.0]
    """
    early = None
    if max_iter < 0 and time_limit is None and tol > 0:
        early = _at_once(problem, gram, tol, tol if further is None else further[0], tick)
    if early is not None and early.ended == DONE:
        return _read(problem, early, tol)
    check_problem(problem, gram.n)
    if early is not None and early.ended in (COARSE, HARD):
        problem = replace(problem, start=early.value)
    state = Signed.of(problem, gram.n)
    watch = Watch(tol, max_iter, time_limit, tick, len(state.b), bool(np.isinf(problem.upper).any()))
    watch.steps = 0 if early is None else early.steps
    if not state.b.any() and not problem.split and max_iter < 0:
        state.b[:] = _from_sample(problem, state, gram, watch)
    state.start(gram)
    blocks = Blocks(state, gram, watch)
    if watch.steps and len(state.b) > working_set.SIZE:
        blocks.cut()
    blocks.run()
    if further is not None and watch.converged:
        _go_on(blocks, state, watch, *further)
    return finished(problem, state, watch)


def _at_once(problem: BoxProblem, gram: Gram, tol: float, fine: float, tick: Tick | None) -> SmallSolution | None:
    """A small problem on a matrix that is there, in one call; None for any other."""
    store = getattr(gram, "store", None) if gram.whole else None
    if store is None or store.dtype != np.float64:
        return None
    given = (problem.signs, problem.linear, problem.upper, problem.start)
    signs, linear, upper, start = (np.asarray(a, np.float64) for a in given)
    rows = np.arange(gram.n) if problem.rows is None else np.asarray(problem.rows, np.int64)
    m = len(rows)
    if not 0 < m <= working_set.DIRECT or any(a.shape != (m,) for a in (signs, linear, upper, start)):
        return None
    if tick is not None:
        tick(0, 100)
    return solve_at_once(store, signs, linear, upper, start, rows, 1 + problem.split, tol, fine, working_set.first_steps(m))


def _read(problem: BoxProblem, found: SmallSolution, tol: float) -> BoxSolution:
    first, last = found.levels
    offset, scale = (-(first + last) / 2, (last - first) / 2) if problem.split else (-first, 1.0)
    message = f"converged: gap {found.gap:.2g} below tol={tol:g} in {found.steps} steps"
    return BoxSolution(found.value, found.gradient, offset, scale, found.objective, found.gap, True, found.steps, message)


def _go_on(blocks: Blocks, state: Signed, watch: Watch, tol: float, steps: int) -> None:
    """More steps from where the tolerance was reached; taken back if they lead away from it."""
    b, sums = state.b.copy(), state.sums.copy()
    more = Watch(tol, steps, None, None, len(b), watch.unbounded)
    blocks.sharpen(more)
    watch.steps += more.steps
    if state.gap() > watch.tol:
        state.b[:], state.sums[:] = b, sums


def _from_sample(problem: BoxProblem, state: Signed, gram: Gram, watch: Watch) -> Array:  # -> (n,) signed weights
    """Weights from a quarter of the rows, where that is cheaper than starting at zero: a sixteenth of the kernel values.

    What they leave to be done is mostly at the border of the classes, so that fewer rows are made for nothing. The problem
    of the quarter starts from a quarter of its own.
    """
    b = np.zeros(len(state.b))
    if gram.whole or gram.n < SAMPLED:
        return b
    drawn = np.sort(np.random.default_rng(0).permutation(gram.n)[: gram.n // 4])
    if state.rows is None:
        chosen, rows = drawn, None
    else:
        place = np.full(gram.n, -1)
        place[drawn] = np.arange(len(drawn))
        chosen = np.flatnonzero(place[state.rows] >= 0)
        rows = place[state.rows[chosen]]
    signs, linear, upper = (np.asarray(a, dtype=np.float64)[chosen] for a in (problem.signs, problem.linear, problem.upper))
    part = BoxProblem(signs, linear, upper, np.zeros(len(chosen)), rows)
    found = solve_box(
        part, gram.part(drawn), tol=max(watch.tol, LOOSE), time_limit=watch.seconds_left(), tick=watch.tick_only
    )
    watch.steps += found.n_iter
    b[chosen] = signs * found.value
    return b


def finished(problem: BoxProblem, state: Signed, watch: Watch) -> BoxSolution:
    """The solution of a state whose sums are exact."""
    signs, linear = state.signs, np.asarray(problem.linear, dtype=np.float64)
    value = signs * state.b + 0.0  # no -0.0
    gradient = signs * state.row_sums() + linear
    f, top, bottom = state.survey()
    free = state.free()
    levels = [_level(f[free & (state.group == g)], top[g], bottom[g]) for g in range(state.groups)]
    if problem.split:
        offset, scale = -(levels[0] + levels[1]) / 2, (levels[1] - levels[0]) / 2
    else:
        offset, scale = -levels[0], 1.0
    objective = 0.5 * float(value @ (gradient + linear))
    gap = max(0.0, float((top - bottom).max()))
    return BoxSolution(value, gradient, offset, scale, objective, gap, watch.converged, watch.steps, watch.message)


def _level(free: Array, top: float, bottom: float) -> float:
    """The common f of the free variables; between the bounds on it where none is free."""
    if free.size:
        return float(free.mean())
    known = [float(bound) for bound in (top, bottom) if np.isfinite(bound)]
    return sum(known) / len(known) if known else 0.0


def warm_start(value: Array, signs: Array, upper: Array, factor: float = 1.0) -> Array:  # (n,), (n,), (n,) -> (n,)
    """Weights of another problem made a start of this one: scaled, cut to the box, the heavier sign scaled down.

    For classification, where the two signs weigh the same. Along C, `factor` is the ratio of the two values.

    >>> warm_start(np.array([1.0, 1.0, 0.0]), np.array([1.0, -1.0, 1.0]), np.full(3, 0.5)).tolist()
    [0.5, 0.5, 0.0]
    """
    a = np.clip(np.asarray(value, dtype=np.float64) * factor, 0.0, upper)
    plus, minus = float(a[signs > 0].sum()), float(a[signs < 0].sum())
    if min(plus, minus) <= 0:
        return np.zeros(len(a))
    a[signs > 0] *= min(1.0, minus / plus)
    a[signs < 0] *= min(1.0, plus / minus)
    return a
