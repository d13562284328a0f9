"""The cross-validated surface of support vector machines: every kernel setting times every C.

One Gram matrix in float32 per kernel setting serves all folds, all pairs of classes and all C; along C each fit starts
from the one before; folds run side by side. Where the matrix does not fit the budget, rows are made on demand.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Array, Indices
from mercer.errors import InputError
from mercer.estimators.svm.model import SolverSettings
from mercer.estimators.svm.one_vs_one import ClassPair, class_pairs, winners
from mercer.grams import GramOperator, gram
from mercer.grams.row_cache import FINE, KernelRows
from mercer.inputs import Rows
from mercer.kernels.base import Kernel
from mercer.linalg.box_qp.held import solve_held
from mercer.linalg.box_qp.problems import BoxProblem, BoxSolution, SupportFunction, Tick, support_function
from mercer.linalg.box_qp.solver import solve_box
from mercer.numeric.memory import budget_bytes
from mercer.numeric.threads import cpu_count, run
from mercer.selection.scoring import LabelScoring
from mercer.selection.surface import FEWEST, PenaltyAxis, Splits, Surface, statistics


def solve_path(
    gram: Any, rows: Array, signs: Array, box: Array, Cs: Array, settings: SolverSettings, tick: Tick | None = None
) -> list[SupportFunction]:  # rows, signs, box (q,), Cs (L,) ascending
    """The functions at all C, smallest first; the dual variables of one, stretched, are the start of the next.

    Row i has the box 0 <= a_i <= C box_i.
    """
    found: list[SupportFunction] = []
    linear = np.full(len(rows), -1.0)
    solution: BoxSolution | None = None
    before = 0.0
    for C in Cs:
        if solution is not None and np.all(solution.value < before * box):
            # no variable touches its bound, so a larger box has the same solution
            found.append(replace(found[-1], n_iter=0))
            continue
        start, gradient = np.zeros(len(rows)), linear
        if solution is not None:
            factor = stretch(solution, C / before)
            start, gradient = factor * solution.value, factor * (solution.gradient - linear) + linear
        problem = BoxProblem(signs=signs, linear=linear, upper=C * box, start=np.minimum(start, C * box), rows=rows)
        limits: dict[str, Any] = {"tol": settings.tol, "max_iter": settings.max_iter, "tick": tick}
        solution = (
            solve_held(problem, gram, gradient=gradient, **limits) if gram.whole else solve_box(problem, gram, **limits)
        )
        before = float(C)
        found.append(support_function(problem, solution, rows))
    return found


def stretch(solution: BoxSolution, most: float) -> float:
    """The factor t in [1, most] for which t a has the least dual objective t^2 a'Qa / 2 - t sum(a).

    Where the box held the solution back this is the ratio of the two C; where the margin did, it is 1 and nothing moves.
    """
    total = float(solution.value.sum())
    squared = float(solution.value @ solution.gradient) + total  # a'Qa, since the gradient is Qa - 1
    if squared <= 0.0:
        return most if total > 0.0 else 1.0
    return float(np.clip(total / squared, 1.0, most))


Step = Callable[[int, int], None]

#: Gram matrices held at once, if they fit: the folds of this many settings keep every core busy to the end.
TOGETHER = 4

#: Each squaring of a Gram matrix doubles its relative error; after this many it is made anew.
SQUARINGS = 2

#: Rows of the Gram that are turned into float64 at a time for a product. Row: svm-grid-covtype.
ROWS_AT_A_TIME = 256


@dataclass(frozen=True)
class Part:
    """The rows of a training part that count, with their classes and the weight w_i in the box C w_i of each."""

    rows: Array  # (t,) row numbers
    codes: Array  # (t,)
    box: Array  # (t,) > 0


@dataclass(frozen=True)
class Labeled:
    """What a surface is computed on."""

    rows: Rows  # encoded once for all kernel settings
    codes: Array  # (n,) class numbers; -1 for rows of weight 0
    classes: Array  # (k,) labels
    box: Callable[[Array], Array]  # rows of a training part -> weight of each in C
    splits: Splits  # (train, test) rows

    @property
    def counted(self) -> NDArray[np.bool_]:  # (n,)
        """False for rows of weight 0."""
        return self.codes >= 0

    def take(self, rows: Indices) -> Labeled:
        """Some of the rows, with the same splits as far as they hold these rows."""
        place = np.full(len(self.codes), -1)
        place[rows] = np.arange(len(rows))
        splits = tuple((place[train][place[train] >= 0], place[test][place[test] >= 0]) for train, test in self.splits)
        return Labeled(self.rows.take(rows), self.codes[rows], self.classes, lambda train: self.box(rows[train]), splits)

    def part(self, number: int) -> Part:
        """The training part of a split."""
        train = self.splits[number][0]
        box = self.box(train)
        part = Part(train[box > 0], self.codes[train][box > 0], box[box > 0])
        if len(np.unique(part.codes)) < 2:
            raise InputError(
                f"split {number} of the cross-validation trains on one class only; give fewer folds, or a splitter that "
                "keeps the classes together, such as StratifiedKFold."
            )
        return part


def matrix_bytes(n: int, tol: float) -> int:
    """Bytes of one Gram matrix; float64 for a fine tolerance."""
    return (8 if tol < FINE else 4) * n * n


def held_together(n: int, settings: int, tol: float, budget: int) -> int:
    """How many Gram matrices are held at once; 0 if not even one fits beside the blocks that two threads cut out of it."""
    room = budget // matrix_bytes(n, tol) - 1
    return int(max(0, min(settings, TOGETHER, room)))


def surface(
    params: Sequence[dict[str, Any]],
    kernels: Sequence[Kernel],
    data: Labeled,
    axis: PenaltyAxis,
    scoring: LabelScoring,
    settings: SolverSettings,
    step: Step,
) -> Surface:
    """Compute the whole surface; `step(done, total)` is called from the calling thread."""
    ascending = np.argsort(axis.values, kind="stable")
    budget = budget_bytes(settings.memory, len(kernels) * matrix_bytes(len(data.codes), settings.tol))
    parts = [data.part(number) for number in range(len(data.splits))]
    work = _Work(data, parts, axis.values[ascending], scoring, settings)
    found = np.empty((len(kernels), len(axis.values), len(parts), 4))  # score, support vectors, iterations, converged
    together = held_together(len(data.codes), len(kernels), settings.tol, budget)
    if together == 0:
        dtype = np.float64 if settings.tol < FINE else np.float32
        for row, kernel in enumerate(kernels):
            store = KernelRows.cached(kernel, data.rows.branch(), bytes=budget, dtype=dtype)
            for number in range(len(parts)):
                found[row][ascending, number] = work.on_demand(kernel, store, number)
                step(row * len(parts) + number + 1, len(kernels) * len(parts))
    else:
        order = _widest_first(params)
        total = len(order) * len(parts)
        matrices = _Matrices(data.rows, together, settings.tol)
        for first in range(0, len(order), together):
            group = order[first : first + together]
            held = [
                matrices.make(place, kernels[row], _halfway(params, kernels, order, first + place))
                for place, row in enumerate(group)
            ]
            results = work.side_by_side(held, partial(_later, step, first * len(parts), total))
            for place, row in enumerate(group):
                found[row][ascending] = results[place]
    score, support, iterations, converged = np.moveaxis(found, 3, 0)
    columns = {FEWEST: support.mean(axis=2), "iterations": iterations.sum(axis=2).astype(np.int64)}
    columns["converged"] = converged.min(axis=2) > 0  # whether every fit reached the tolerance
    fields: dict[str, Any] = {**statistics(score), "split_scores": score, "columns": columns}
    route = "rows" if together == 0 else "gram"
    return Surface(tuple(params), tuple(kernels), axis, route=route, scoring=scoring.name, **fields)


def _later(step: Step, first: int, total: int, done: int, _: int) -> None:
    """Tell progress of a group as progress of all; `first` splits are behind it."""
    step(first + done, total)


def _widest_first(params: Sequence[dict[str, Any]]) -> list[int]:
    """Settings in an order in which a Gram may be the square of the one before: falling in their only parameter."""
    names = set().union(*params)
    if len(names) != 1:
        return list(range(len(params)))
    name = names.pop()
    values = [setting[name] for setting in params]
    if not all(isinstance(value, int | float) for value in values):
        return list(range(len(params)))
    return sorted(range(len(params)), key=lambda row: -values[row])


def _halfway(params: Sequence[dict[str, Any]], kernels: Sequence[Kernel], order: list[int], position: int) -> Kernel | None:
    """The kernel between one setting and the one before it, at the geometric mean of their only parameter."""
    if position == 0 or len(params[order[position]]) != 1:
        return None
    [(name, value)] = params[order[position]].items()
    before = params[order[position - 1]].get(name)
    if not isinstance(value, float) or not isinstance(before, float) or not (value > 0 and before > 0):
        return None
    return kernels[order[position]].set_params(**{name: (value * before) ** 0.5})


class _Matrices:
    """Gram matrices in a few buffers; where a kernel is the square of the one before, so is its matrix.

    Values are computed as exactly as the data allow and rounded when they are stored: a large C multiplies every error.
    """

    def __init__(self, rows: Rows, together: int, tol: float) -> None:
        self.rows, n = rows, len(rows)
        self.first = True
        self.buffers = [np.empty((n, n), np.float64 if tol < FINE else np.float32) for _ in range(together)]
        self.last: tuple[Kernel, Array] | None = None
        self.squared = 0

    def make(self, place: int, kernel: Kernel, halfway: Kernel | None = None) -> KernelRows:
        """The Gram matrix of a kernel, in the buffer of that number; `halfway` may be its root and the last one's square."""
        out, steps = self.buffers[place], 0
        if self.last is not None:
            steps = 1 if kernel.is_square_of(self.last[0]) else 0
            if halfway is not None and kernel.is_square_of(halfway) and halfway.is_square_of(self.last[0]):
                steps = 2
        if self.last is not None and 0 < steps <= SQUARINGS - self.squared:
            np.multiply(self.last[1], self.last[1], out=out)
            if steps == 2:
                np.multiply(out, out, out=out)
            self.squared += steps
        else:
            # all kernels share what the first has made of the rows; what a later one needs beyond it goes with that one
            gram(kernel, self.rows if self.first else self.rows.branch(), out=out)
            self.squared, self.first = 0, False
        self.last = (kernel, out)
        return _for_one_thread(out)


class _InterruptedError(Exception):
    """Raised in a worker when the calling thread was interrupted."""


@dataclass(frozen=True)
class _Work:
    """The fits of one split at all C, on a Gram matrix or on rows made on demand."""

    data: Labeled
    parts: list[Part]
    Cs: Array  # (L,) ascending
    scoring: LabelScoring
    settings: SolverSettings

    def side_by_side(self, held: list[KernelRows], step: Step) -> Array:  # -> (settings, L, splits, 4)
        """All splits of all matrices on all cores, the calling thread among them."""
        results = np.empty((len(held), len(self.Cs), len(self.parts), 4))
        tasks = [(place, number) for place in range(len(held)) for number in range(len(self.parts))]
        interrupted = threading.Event()

        def tick(*_: Any) -> None:
            if interrupted.is_set():
                raise _InterruptedError

        def work(task: tuple[int, int], worker: int) -> None:
            place, number = task
            try:
                results[place, :, number] = self._split(held[place], number, partial(_product, held[place].store), tick)
            except BaseException:
                interrupted.set()  # a fit may take long: those on other threads end at their next working set
                raise

        try:
            run(tasks, work, min(cpu_count(), len(tasks)), len(tasks), step)
        finally:
            interrupted.set()
        return results

    def on_demand(self, kernel: Kernel, store: KernelRows, number: int) -> Array:  # -> (L, 4)
        """One split of a kernel whose Gram matrix does not fit: rows are made, kept while they fit, and serve all splits."""

        def product(test: Array, V: Array) -> Array:
            used = np.flatnonzero(V.any(axis=1))
            return np.asarray(GramOperator(kernel, self.data.rows.take(test), self.data.rows.take(used)) @ V[used])

        return self._split(store, number, product, None)

    def _split(
        self, store: KernelRows, number: int, product: Callable[[Array, Array], Array], tick: Any
    ) -> Array:  # -> (L, 4)
        part, test, k = self.parts[number], self.data.splits[number][1], len(self.data.classes)
        pairs = class_pairs(part.codes, k)
        paths = [self._path(store, part, pair, tick) for pair in pairs]
        decisions = np.empty((len(self.Cs), len(test), len(pairs)))
        for p, path in enumerate(paths):
            if path:
                decisions[:, :, p] = _decisions(path, len(self.data.codes), partial(product, test))
            else:  # a class that the part does not have loses against those that it has
                decisions[:, :, p] = 1.0 if (part.codes == pairs[p].first).any() else -1.0
        labels = self.data.classes[self.data.codes[test]]
        found = np.empty((len(self.Cs), 4))
        for column, values in enumerate(decisions):
            functions = [path[column] for path in paths if path]
            found[column] = (
                self.scoring.score(labels, self.data.classes[winners(values, k)], values[:, 0]),
                len(np.unique(np.concatenate([function.rows[function.coef != 0] for function in functions]))),
                sum(function.n_iter for function in functions),
                all(function.converged for function in functions),
            )
        return found

    def _path(self, store: KernelRows, part: Part, pair: ClassPair, tick: Any) -> list[SupportFunction]:
        """The functions of one pair at all C; none where a class is missing."""
        rows, box = part.rows[pair.index], part.box[pair.index]
        if not pair.has_both(box):
            return []
        if store.whole and 2 * len(rows) < store.n:  # a small pair of classes in one piece
            own = _own_part(store, rows)
            path = solve_path(own, np.arange(len(rows)), pair.signs, box, self.Cs, self.settings, tick)
            return [replace(function, rows=rows) for function in path]
        return solve_path(store, rows, pair.signs, box, self.Cs, self.settings, tick)


def _decisions(path: list[SupportFunction], n: int, product: Callable[[Array], Array]) -> Array:  # -> (L, f)
    """Decision values of held-out rows at all C, by one product with their Gram rows."""
    V = np.zeros((n, len(path)))
    for column, function in enumerate(path):
        np.add.at(V[:, column], function.rows, function.coef)  # splits may draw a row twice
    return (product(V) + [function.intercept for function in path]).T


def _own_part(whole: KernelRows, rows: Array) -> KernelRows:  # (t,)
    """The matrix of some rows in memory of its own, for one thread."""
    from mercer.numeric._compiled_rows import crossings

    K = np.empty((len(rows), len(rows)), whole.store.dtype)
    crossings(whole.store, rows, rows, K, 0, len(rows))
    return _for_one_thread(K)


def _for_one_thread(K: Array) -> KernelRows:  # (m, m)
    """A matrix for fits that run side by side, each on its own thread."""
    rows = KernelRows.of(K)
    rows.threads = 1
    return rows


def _product(K: Array, test: Array, V: Array) -> Array:  # (n, n), (f,), (n, L) -> (f, L)
    """K[test] @ V in float64: with large C the terms are large and of both signs."""
    used = np.flatnonzero(V.any(axis=1))
    V = V[used]
    parts = [K[np.ix_(test[i : i + ROWS_AT_A_TIME], used)] for i in range(0, len(test), ROWS_AT_A_TIME)]
    return np.concatenate([part.astype(np.float64) @ V for part in parts])
