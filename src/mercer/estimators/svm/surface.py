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

from mercer.errors import InputError
from mercer.estimators.svm.path import Machine, Part, Stop, solve_path
from mercer.gram import GramOperator, gram
from mercer.gram.row_cache import FINE, KernelRows
from mercer.inputs import Rows
from mercer.kernels.base import Kernel
from mercer.numeric.threads import cpu_count, run
from mercer.registry import record
from mercer.selection.label_scoring import LabelScoring

Array = NDArray[Any]
Step = Callable[[int, int], None]

#: Gram matrices held at once, if they fit: so many settings give enough folds to keep every core busy to the end.
TOGETHER = 4

#: Each squaring of a Gram matrix doubles its relative error; after so many it is made anew.
SQUARINGS = 2

#: Rows of the Gram that are turned into float64 at a time for a product.
PORTION = 256


@dataclass(frozen=True)
class Labeled:
    """What a surface is computed on."""

    X: Any
    codes: Array  # (n,) class numbers
    classes: Array  # (c,) labels
    box: Callable[[Array], Array]  # rows of a training part -> weight of each in C
    splits: tuple[tuple[Array, Array], ...]  # (train, test) rows

    def part(self, number: int) -> Part:
        """The training part of a split."""
        train = self.splits[number][0]
        part = Part(train, self.codes[train], self.box(train))
        if len(np.unique(part.codes[part.box > 0])) < 2:
            raise InputError(
                f"split {number} of the cross-validation trains on one class only; give fewer folds, or a splitter that "
                "keeps the classes together, such as StratifiedKFold."
            )
        return part


@record()
@dataclass(frozen=True)
class SVMSurface:
    """Scores of every kernel setting (rows) at every C (columns); greater is better."""

    params: tuple[dict[str, Any], ...]
    kernels: tuple[Kernel, ...]
    Cs: Array  # (L,)
    split_scores: Array  # (S, L, m) of each split
    support: Array  # (S, L) mean number of support vectors
    iterations: Array  # (S, L) in all splits together
    converged: Array  # (S, L) whether every fit reached the tolerance
    scoring: str
    how: str = ""

    @property
    def scores(self) -> Array:  # (S, L)
        """The mean over splits."""
        return np.asarray(self.split_scores.mean(axis=2))

    mean_scores = scores

    @property
    def axis(self) -> tuple[str, Array]:
        """What the columns stand for, for pictures: a name and (L,) values."""
        return "C", self.Cs

    @property
    def standard_errors(self) -> Array:  # (S, L)
        """Of the mean over splits; nan for a single one."""
        m = self.split_scores.shape[2]
        if m < 2:
            return np.full(self.split_scores.shape[:2], np.nan)
        return np.asarray(self.split_scores.std(axis=2, ddof=1) / m**0.5)


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
    Cs: Array,
    scoring: LabelScoring,
    *,
    stop: Stop,
    budget: int,
    step: Step,
) -> SVMSurface:
    """Compute the whole surface; `step(done, total)` is called from the calling thread."""
    ascending = np.argsort(Cs, kind="stable")
    parts = [data.part(number) for number in range(len(data.splits))]
    work = _Work(data, parts, Cs[ascending], scoring, stop)
    shape = (len(kernels), len(Cs), len(parts))
    found = np.empty((*shape, 4))  # score, support vectors, iterations, converged
    together = held_together(len(data.codes), len(kernels), stop.tol, budget)
    if together == 0:
        for row, kernel in enumerate(kernels):
            store = KernelRows.cached(kernel, data.X, bytes=budget, dtype=np.float64 if stop.tol < FINE else np.float32)
            for number in range(len(parts)):
                found[row][ascending, number] = work.on_demand(kernel, store, number)
                step(row * len(parts) + number + 1, len(kernels) * len(parts))
    else:
        order = _widest_first(params)
        total = len(order) * len(parts)
        matrices = _Matrices(data.X, len(data.codes), together, stop.tol)
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
    return SVMSurface(
        tuple(params), tuple(kernels), np.asarray(Cs), score, support.mean(axis=2),
        iterations.sum(axis=2).astype(np.int64), converged.min(axis=2) > 0, scoring.name,
    )  # fmt: skip


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

    def __init__(self, X: Any, n: int, together: int, tol: float) -> None:
        self.X = X
        self.buffers = [np.empty((n, n), np.float64 if tol < FINE else np.float32) for _ in range(together)]
        self.last: tuple[Kernel, Array] | None = None
        self.squared = 0

    def make(self, place: int, kernel: Kernel, halfway: Kernel | None = None) -> KernelRows:
        """The Gram matrix of a kernel, in the buffer of that number; `halfway` may be its root and the last one's square."""
        out, steps = self.buffers[place], 0
        if self.last is not None:
            steps = 1 if kernel._squares(self.last[0]) else 0
            if halfway is not None and kernel._squares(halfway) and halfway._squares(self.last[0]):
                steps = 2
        if self.last is not None and 0 < steps <= SQUARINGS - self.squared:
            np.multiply(self.last[1], self.last[1], out=out)
            if steps == 2:
                np.multiply(out, out, out=out)
            self.squared += steps
        else:
            gram(kernel, self.X, out=out)
            self.squared = 0
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
    stop: Stop

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
                interrupted.set()  # a fit may take long: those on other threads end at their next breath
                raise

        try:
            run(tasks, work, min(cpu_count(), len(tasks)), len(tasks), step)
        finally:
            interrupted.set()
        return results

    def on_demand(self, kernel: Kernel, store: KernelRows, number: int) -> Array:  # -> (L, 4)
        """One split of a kernel whose Gram matrix does not fit: rows are made, kept while they fit, and serve all splits."""
        rows = Rows(self.data.X)

        def product(test: Array, V: Array) -> Array:
            used = np.flatnonzero(V.any(axis=1))
            return np.asarray(GramOperator(kernel, rows.take(test).data, rows.take(used).data) @ V[used])

        return self._split(store, number, product, None)

    def _split(
        self, store: KernelRows, number: int, product: Callable[[Array, Array], Array], tick: Any
    ) -> Array:  # -> (L, 4)
        part, test = self.parts[number], self.data.splits[number][1]
        pairs, paths = [], []
        for first, second, rows, signs, box in part.pairs():
            pairs.append((first, second))
            if store.whole and 2 * len(rows) < store.n:  # a small pair of classes in one piece
                path = solve_path(_own_part(store, rows), np.arange(len(rows)), signs, box, self.Cs, self.stop, tick)
                paths.append([replace(machine, rows=rows) for machine in path])
            else:
                paths.append(solve_path(store, rows, signs, box, self.Cs, self.stop, tick))
        decisions = _decisions(paths, test, len(self.data.codes), product)  # (L, f, P)
        labels = self.data.classes[self.data.codes[test]]
        found = np.empty((len(self.Cs), 4))
        for column in range(len(self.Cs)):
            predicted = self.data.classes[vote(decisions[column], pairs, len(self.data.classes))]
            machines = [path[column] for path in paths]
            found[column] = (
                self.scoring.score(labels, predicted, decisions[column, :, 0]),
                len(np.unique(np.concatenate([machine.rows[machine.coef != 0] for machine in machines]))),
                sum(machine.n_iter for machine in machines),
                all(machine.converged for machine in machines),
            )
        return found


def _decisions(paths: list[list[Machine]], test: Array, n: int, product: Callable[[Array, Array], Array]) -> Array:
    """Decision values (L, f, P) of held-out rows for all C and all pairs, by products with their Gram rows."""
    L, P = len(paths[0]), len(paths)
    out = np.empty((L, len(test), P))
    for p, path in enumerate(paths):
        V = np.zeros((n, L))
        for column, machine in enumerate(path):
            V[machine.rows, column] = machine.coef
        out[:, :, p] = (product(test, V) - [machine.offset for machine in path]).T
    return out


def _own_part(whole: KernelRows, rows: Array) -> KernelRows:  # (t,)
    """The matrix of some rows in memory of its own, for one thread."""
    from mercer.gram._compiled_rows import crossings

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
    parts = [K[np.ix_(test[i : i + PORTION], used)] for i in range(0, len(test), PORTION)]
    return np.concatenate([part.astype(np.float64) @ V for part in parts])


def vote(decision: Array, pairs: Sequence[tuple[int, int]], n_classes: int) -> Array:  # (f, P) -> (f,)
    """The class with most of the pairs' votes; ties go to the first class.

    >>> vote(np.array([[1.0, 1.0, -1.0], [-1.0, 1.0, 1.0]]), [(0, 1), (0, 2), (1, 2)], 3).tolist()
    [1, 2]
    """
    votes = np.zeros((len(decision), n_classes), dtype=np.int64)
    for column, (first, second) in enumerate(pairs):
        won = decision[:, column] > 0
        votes[:, second] += won
        votes[:, first] += ~won
    return np.asarray(votes.argmax(axis=1))


def choose(surface: SVMSurface, rule: str = "best") -> tuple[int, int]:
    """The chosen (kernel, C) indices: the best score, or the smallest C within a standard error of it.

    Scores of few test rows tie: among equals the smallest C is taken, then the one with fewest support vectors.
    """
    scores = surface.scores
    if not np.isfinite(scores).any():
        raise InputError(f"no point of the surface has a finite {surface.scoring}; choose another scoring.")
    best = np.nanmax(scores)
    limit = best
    if rule == "one_standard_error":
        row, column = np.argwhere(scores == best)[0]
        limit = best - np.nan_to_num(surface.standard_errors[row, column])
    candidates = np.argwhere(scores >= limit).tolist()
    order = sorted(candidates, key=lambda c: (surface.Cs[c[1]], -scores[c[0], c[1]], surface.support[c[0], c[1]]))
    return order[0][0], order[0][1]
