"""`solve_box`: the dual problem of support vector machines, a quadratic problem over a box with one or two equalities.

Classification, regression, one-class and the nu forms differ in `signs`, `linear`, `upper` and `start` alone
(`problems`). Small problems are solved in one call on their whole matrix (`steps`), large ones in working sets
(`working_sets`), and problems whose start is nearly right on a whole matrix by `held.solve_held`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.linalg.box_qp import steps
from mercer.linalg.box_qp.descent import SignedWeights, Watch
from mercer.linalg.box_qp.problems import (
    BoxProblem,
    BoxSolution,
    KernelMatrix,
    SupportFunction,
    Tick,
    converged_message,
    in_units,
    offset_and_scale,
    quantile_regression,
    regression_function,
    unit_of,
)
from mercer.linalg.box_qp.steps import COARSE, DONE, HARD
from mercer.linalg.box_qp.working_sets import WorkingSets
from mercer.numeric.compiling import rented

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


def solve_box(
    problem: BoxProblem,
    gram: KernelMatrix,
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
    gram : KernelMatrix
        `mercer.grams.row_cache.KernelRows`, or anything with its methods.
    tol : float
        Largest violation of the optimality conditions left. Below 1e-4 the rows should be float64.
    max_iter : int
        Most steps on pairs of variables, -1 for no limit except one that ends a solver without progress.
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
    problem.check(gram.n)
    if early is not None and early.ended in (COARSE, HARD):
        problem = replace(problem, start=early.value)
    state = SignedWeights(problem, gram.n)
    watch = Watch(tol, max_iter, time_limit, tick, len(state.b), bool(np.isinf(problem.upper).any()))
    watch.steps = 0 if early is None else early.steps
    if not state.b.any() and not problem.split and max_iter < 0:
        state.b[:] = _from_sample(problem, state, gram, watch)
    state.start(gram)
    blocks = WorkingSets(state, gram, watch)
    if watch.steps and len(state.b) > steps.SIZE:
        blocks.cut()
    blocks.run()
    if further is not None and watch.converged:
        _go_on(blocks, state, watch, *further)
    return state.solution(problem, watch)


def _at_once(problem: BoxProblem, gram: KernelMatrix, tol: float, fine: float, tick: Tick | None) -> SmallSolution | None:
    """Solve a small problem on a whole matrix in one call; None for any other."""
    if not gram.whole or gram.store.dtype != np.float64:
        return None
    given = (problem.signs, problem.linear, problem.upper, problem.start)
    signs, linear, upper, start = (np.asarray(a, np.float64) for a in given)
    rows = np.arange(gram.n) if problem.rows is None else np.asarray(problem.rows, np.int64)
    m = len(rows)
    if not 0 < m <= steps.DIRECT or any(a.shape != (m,) for a in (signs, linear, upper, start)):
        return None
    if tick is not None:
        tick(0, 100)
    return solve_at_once(gram.store, signs, linear, upper, start, rows, 1 + problem.split, tol, fine, steps.first_steps(m))


@dataclass(frozen=True)
class SmallSolution:
    """How a call ended, and what it found."""

    ended: int
    steps: int
    gap: float
    levels: tuple[float, float]  # the common f of the free variables of the first and of the last group
    objective: float
    value: Array  # (q,)
    gradient: Array  # (q,)


def solve_at_once(
    K: Array, signs: Array, linear: Array, upper: Array, start: Array, rows: Array, groups: int, tol: float, fine: float,
    max_steps: int,
) -> SmallSolution:  # (n, n), (q,) …  # fmt: skip
    """Solve min a'Qa/2 + linear'a, Q_ij = s_i s_j K[rows_i, rows_j], from `start` to `tol`, and on to `fine`."""
    value, gradient = np.empty((2, len(signs)))
    problem = (K, signs, linear, upper, start, rows, groups, tol, fine, max_steps, value, gradient)
    if rented():
        from mercer.linalg.box_qp import _compiled_loops

        ended, made, gap, first, second, objective = _compiled_loops.solve_problem(*problem, None)
    else:
        with np.errstate(all="ignore"):
            ended, made, gap, first, second, objective = steps.solve_problem(*problem, _compiled_descend)
    return SmallSolution(ended, made, gap, (first, second), objective, value, gradient)


def _compiled_descend(*arguments: Any) -> tuple[int, float]:
    """`steps.descend`, compiled."""
    from mercer.linalg.box_qp import _compiled_loops

    made, gap = _compiled_loops.descend(*arguments)
    return made, gap


def _read(problem: BoxProblem, found: SmallSolution, tol: float) -> BoxSolution:
    offset, scale = offset_and_scale(problem, *found.levels)
    message = converged_message(found.gap, tol, found.steps)
    return BoxSolution(found.value, found.gradient, offset, scale, found.objective, found.gap, True, found.steps, message)


def _go_on(blocks: WorkingSets, state: SignedWeights, watch: Watch, tol: float, most: int) -> None:
    """Take more steps from the point where the tolerance was reached; undo them if they lead away from it."""
    b, sums = state.b.copy(), state.sums.copy()
    more = Watch(tol, most, None, None, len(b), watch.unbounded)
    blocks.sharpen(more)
    watch.steps += more.steps
    if state.gap() > watch.tol:
        state.b[:], state.sums[:] = b, sums


def _from_sample(problem: BoxProblem, state: SignedWeights, gram: KernelMatrix, watch: Watch) -> Array:  # -> (n,)
    """Signed weights from a quarter of the rows if that is cheaper than starting at zero: a sixteenth of the kernel values.

    What remains to be done is mostly at the border of the classes, so fewer rows are made in vain. The problem of the
    quarter starts from a quarter of its own.
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


def solve_regression(
    problem: BoxProblem, y: Array, weights: Array, solve: Callable[[BoxProblem], BoxSolution]
) -> SupportFunction:  # (n,), (n,)
    """Solve a regression on all n rows in units of the spread of its targets; rows of weight 0 only get outputs."""
    found = in_units(problem, unit_of(y[weights > 0]), solve)
    return regression_function(problem, found, np.arange(len(weights)))


def solve_quantile(
    gram: KernelMatrix,
    y: Array,
    upper: Array,
    quantile: float,
    *,
    tol: float = 1e-3,
    max_iter: int = -1,
    time_limit: float | None = None,
    tick: Tick | None = None,
) -> SupportFunction:  # (n,), (n,)
    """Solve kernel quantile regression, min 1/2 ||w||^2 + sum_i upper_i rho(y_i - f(x_i)), on a Gram matrix.

    Here rho(r) = max(quantile r, (quantile - 1) r). The result holds the coefficients `coef` (n,) and the `intercept`.
    Values of `gram` should be float64 for few rows or a fine tolerance (`mercer.grams.row_cache.value_tolerance`).

    >>> from mercer.grams.row_cache import KernelRows
    >>> found = solve_quantile(KernelRows.of(np.eye(3)), np.array([1.0, 2.0, 9.0]), np.ones(3), 0.5)
    >>> np.round(found.outputs, 6).tolist()
    [1.5, 2.0, 2.5]
    """
    further = refinement(gram.n, tol, limited=max_iter >= 0 or time_limit is not None)
    limits: dict[str, Any] = {"max_iter": max_iter, "time_limit": time_limit, "tick": tick, "further": further}
    problem = quantile_regression(y, upper, quantile)
    return solve_regression(problem, y, upper, lambda scaled: solve_box(scaled, gram, tol=tol, **limits))
