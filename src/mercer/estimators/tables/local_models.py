"""Local models: ridges in the cells of trees, which add what a function in the span of landmarks misses.

With many rows a few thousand landmarks give a smooth function. What is left is fitted exactly in cells of about a thousand
similar rows, which costs little. Which column the cells follow is chosen by leave-one-out errors in some of them, and the
kernel is learned inside some of them. The next tree, whose cells may follow another column, is fitted to the leave-one-out
residuals of the first, because those of the fit itself are too small.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.errors import InputError, NumericalError
from mercer.estimators.tables import ridge
from mercer.estimators.tables.candidates import Candidate, LearnedKernel
from mercer.estimators.tables.search import some
from mercer.grams.dual_function import DualFunction
from mercer.inputs import Rows
from mercer.kernels.base import Kernel
from mercer.numeric.threads import cpu_count, one_thread, run
from mercer.registry import record

#: Rows of a cell at most when it is cut; trees at most, and rows of all trees together; smallest gain of a tree.
SIZE, TREES, FITTED, GAIN = 2000, 3, 600_000, 0.002

#: Cells that compare columns, and their rows; cells in which a kernel is learned; columns that are compared.
COMPARED, CELL_ROWS, LEARNED, COLUMNS = 8, 800, 4, 12

#: A cut leaves at least this share of the rows of a cell on each side; rows that measure the spread of a cell.
SMALLER, MEASURED = 0.15, 4000

#: Cuts are at a random quantile between these, so that trees differ.
QUANTILES = (0.4, 0.6)


@record()
@dataclass(frozen=True)
class Tree:
    """A tree of cuts with a ridge in every cell. A row goes to the second child if its number is above the cut."""

    _stored: ClassVar[dict[str, str]] = {
        "columns": "int (k,) >= 0",
        "cuts": "float (k,)",
        "children": "int (k, 2)",
        "rows": "int (p,) >= 0",
        "starts": "int (_,) >= 0",
        "dual": "float (p, t)",
        "intercepts": "float (_, t)",
        "alpha": "float",
    }

    kernel: Kernel
    alpha: float
    columns: Indices  # (k,)
    cuts: Floats  # (k,)
    children: Indices  # (k, 2) later nodes, or -1 - c for cell c
    rows: Indices  # (p,) places of the rows of all cells, one cell after the other
    starts: Indices  # (cells + 1,)
    dual: Floats  # (p, t)
    intercepts: Floats  # (cells, t)

    def _check_loaded(self) -> None:
        k, cells = len(self.cuts), len(self.intercepts)
        later = self.children > np.arange(k)[:, None]
        cell = (self.children < 0) & (self.children >= -cells)
        if not (np.all(cell | (later & (self.children < k))) and len(self.starts) == cells + 1 and cells > 0):
            raise InputError("the cells of a local model do not fit each other; the file is damaged or was changed.")
        if self.starts[0] != 0 or self.starts[-1] != len(self.rows) or np.any(np.diff(self.starts) < 0):
            raise InputError("the rows of the cells do not fit each other; the file is damaged or was changed.")

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return len(self.intercepts)

    def cells_of(self, X: Floats) -> Indices:  # (n, d) -> (n,)
        """Return the cell of every row."""
        return cells_of(self.columns, self.cuts, self.children, X)

    def predict(self, known: Floats, X: Floats) -> Floats:  # (n, d), (m, d) -> (m, t)
        """Return the function of its cell at every new row."""
        own = self.cells_of(X)
        order = np.argsort(own, kind="stable")
        bounds = np.searchsorted(own[order], np.arange(self.n_cells + 1))
        out = np.zeros((len(X), self.dual.shape[1]))

        def work(cell: int, worker: int) -> None:
            new, part = order[bounds[cell] : bounds[cell + 1]], slice(self.starts[cell], self.starts[cell + 1])
            if len(new):
                function = DualFunction(self.kernel, known[self.rows[part]], self.dual[part], self.intercepts[cell])
                with one_thread():
                    out[new] = function.predict(X[new])

        run(range(self.n_cells), work, cpu_count())
        return out


@record()
@dataclass(frozen=True)
class LocalModel:
    """The sum over trees of ridges in cells, in the units that a member learns its targets in."""

    _stored: ClassVar[dict[str, str]] = {"X": "float (n, d)", "trees": "each _: a Tree"}

    X: Floats  # (n, d)
    trees: tuple[Tree, ...]

    def _check_loaded(self) -> None:
        for tree in self.trees:
            if len(tree.rows) and tree.rows.max() >= len(self.X):
                raise InputError("a local model names rows that it does not have; the file is damaged or was changed.")
            if len(tree.columns) and tree.columns.max() >= self.X.shape[1]:
                raise InputError("a local model names columns that it does not have; the file is damaged or was changed.")
        if len({tree.dual.shape[1] for tree in self.trees}) != 1:
            raise InputError("the trees of a local model do not fit each other; the file is damaged or was changed.")

    def predict(self, rows: Rows) -> Floats:  # -> (m, t)
        """Return the function at new rows."""
        X = np.asarray(rows.data, dtype=np.float64)
        return np.asarray(sum(tree.predict(self.X, X) for tree in self.trees))

    def refitted(self, Z: Rows, R: Floats, weights: Floats | None) -> LocalModel:  # (n, d), (n, t), (n,)
        """Return the model with the same cuts, kernels and penalties for other rows."""
        trees = []
        for old in self.trees:
            tree, held_out = fit_tree((old.columns, old.cuts, old.children), old.kernel, old.alpha, Z, R, NOBODY, weights)
            trees.append(tree)
            R = R - held_out
        return LocalModel(np.asarray(Z.data, dtype=np.float64), tuple(trees))


#: Columns, places and children of the cuts of a tree.
Cuts = tuple[Indices, Floats, Indices]

NOBODY = np.empty(0, dtype=np.intp)


def cells_of(columns: Indices, cuts: Floats, children: Indices, X: Floats) -> Indices:  # (k,), (k,), (k, 2), (n, d) -> (n,)
    """Return the cell of every row, from 0; nodes are numbered before their children."""
    if len(cuts) == 0:
        return np.zeros(len(X), dtype=np.intp)
    node = np.zeros(len(X), dtype=np.intp)
    inside = np.arange(len(X))
    while len(inside):
        at = node[inside]
        above = X[inside, columns[at]] > cuts[at]
        node[inside] = children[at, above.astype(np.intp)]
        inside = inside[node[inside] >= 0]
    return -1 - node


def grow(X: Floats, weights: Floats, size: int, rng: np.random.Generator) -> Cuts:  # (n, d), (d,)
    """Return cuts near the median of the column with the largest weighted spread, until cells have at most `size` rows."""
    columns: list[int] = []
    cuts: list[float] = []
    children: list[list[int]] = []
    cells = 0
    waiting: list[tuple[Indices, int, int]] = [(np.arange(len(X)), -1, 0)]  # rows, the node above, and which child of it
    while waiting:
        rows, above, side = waiting.pop()
        found = _cut(X, rows, weights, rng) if len(rows) > size else None
        if above >= 0:
            children[above][side] = -1 - cells if found is None else len(cuts)
        if found is None:
            cells += 1
            continue
        column, cut = found
        beyond = X[rows, column] > cut
        columns.append(column)
        cuts.append(cut)
        children.append([0, 0])
        node = len(cuts) - 1
        waiting += [(rows[beyond], node, 1), (rows[~beyond], node, 0)]
    return (
        np.array(columns, dtype=np.intp),
        np.array(cuts, dtype=np.float64),
        np.array(children, dtype=np.intp).reshape(-1, 2),
    )


def _cut(X: Floats, rows: Indices, weights: Floats, rng: np.random.Generator) -> tuple[int, float] | None:
    """Return the column and the place of a cut; None if no column can be cut into two parts of some size."""
    sample = rows if len(rows) <= MEASURED else rows[rng.choice(len(rows), MEASURED, replace=False)]
    spreads = weights * X[sample].std(axis=0)
    for column in np.argsort(-spreads, kind="stable").tolist():
        if not spreads[column] > 0.0:
            return None
        values = np.sort(X[sample, column])
        low, high = (int(share * len(values)) for share in (SMALLER, 1.0 - SMALLER))
        place = int(rng.uniform(*QUANTILES) * len(values))
        # the nearest step between two different values
        steps = low + np.flatnonzero(np.diff(values[low : high + 1]) > 0.0)
        if len(steps):
            at = int(steps[np.argmin(np.abs(steps - place))])
            return column, 0.5 * float(values[at] + values[at + 1])
    return None


def fit_tree(
    cuts: Cuts, kernel: Kernel, alpha: float, Z: Rows, R: Floats, groups: Indices, weights: Floats | None
) -> tuple[Tree, Floats]:  # (n, d), (n, t), (m,), (n,) -> tree, (n, t)
    """Return ridges in the cells of a tree, and their values at every row, which is left out of its cell.

    Each of the last m rows is left out with those of its group. A cell that no cut divides uses 2 SIZE of its rows at most;
    it adds nothing at the others, and neither does a cell without a solution.
    """
    X = np.asarray(Z.data, dtype=np.float64)
    n, first = len(X), len(X) - len(groups)
    own = cells_of(*cuts, X)
    n_cells = -int(cuts[2].min()) if len(cuts[1]) else 1
    order = np.argsort(own, kind="stable")  # ascending inside a cell: those of the groups come last
    bounds = np.searchsorted(own[order], np.arange(n_cells + 1))
    parts = [_thinned(order[bounds[c] : bounds[c + 1]], first) for c in range(n_cells)]
    starts = np.append(0, np.cumsum([len(part) for part in parts])).astype(np.intp)
    dual, intercepts = np.zeros((starts[-1], R.shape[1])), np.zeros((n_cells, R.shape[1]))
    held_out = np.zeros(R.shape)
    together = np.concatenate([np.arange(first), n + groups])

    def work(cell: int, worker: int) -> None:
        rows = parts[cell]
        if int(np.sum(rows < first)) < ridge_rows(int(np.sum(rows >= first))):
            return
        try:
            with one_thread():
                function, residuals = ridge.fit_and_leave_out(
                    kernel, Z.take(rows), R[rows], alpha, together[rows], weights=some(weights, rows)
                )
        except NumericalError:
            return
        dual[starts[cell] : starts[cell + 1]], intercepts[cell] = function.dual, function.intercept
        held_out[rows] = np.where(residuals < ridge.UNDETERMINED, R[rows] - residuals, 0.0)

    run(range(n_cells), work, cpu_count())
    return Tree(kernel, alpha, *cuts, np.concatenate(parts), starts, dual, intercepts), held_out


def ridge_rows(left_out: int) -> int:
    """Return how many rows a cell needs beside those that are left out."""
    return 4 + left_out


def _thinned(rows: Indices, first: int) -> Indices:
    """Return the rows of a cell, evenly thinned out if there are very many, with all those from `first` on."""
    kept, last = rows[rows < first], rows[rows >= first]
    if len(kept) > 2 * SIZE:
        kept = kept[np.linspace(0, len(kept) - 1, 2 * SIZE).astype(np.intp)]
    return np.concatenate([kept, last])


class LocalSearch:
    """Chooses the columns that cells follow, and the kernel inside them, for residuals of a member."""

    def __init__(self, Z: Rows, R: Floats, weights: Floats | None, rng: np.random.Generator) -> None:
        self.Z, self.R, self.weights, self.rng = Z, R, weights, rng
        self.X = np.asarray(Z.data, dtype=np.float64)
        spread = self.X.std(axis=0)
        self.unit = np.where(spread > 0.0, 1.0 / np.where(spread > 0.0, spread, 1.0), 0.0)
        self.centers = rng.choice(len(self.X), COMPARED, replace=False)

    def cell(self, center: int, weights: Floats) -> Indices:
        """Return the rows nearest to a row, by the largest weighted difference; ties in random order."""
        used = np.flatnonzero(weights > 0.0)
        distance = np.zeros(len(self.X))
        for column in used:
            np.maximum(distance, weights[column] * np.abs(self.X[:, column] - self.X[center, column]), out=distance)
        rows = np.argpartition(distance, CELL_ROWS)[: CELL_ROWS + 1]
        inside = np.flatnonzero(distance < distance[rows].max())
        edge = np.flatnonzero(distance == distance[rows].max())
        rest = self.rng.choice(edge, max(0, CELL_ROWS - len(inside)), replace=False)
        return self.rng.permutation(np.concatenate([inside, rest]))

    def error(self, cells: Sequence[Indices], kernel: Kernel, alpha: float) -> float:
        """Return the mean squared leave-one-out residual divided by that of the residuals as they are, a mean over cells.

        The mean is geometric: in a sum, the few cells with the largest residuals would decide.
        """
        ratios = np.ones(len(cells))

        def work(place: int, worker: int) -> None:
            rows = cells[place]
            with one_thread():
                found = ridge.solve(np.asarray(kernel(self.Z.take(rows)), dtype=np.float64), self.R[rows], alpha,
                                    some(self.weights, rows))  # fmt: skip
            before = ridge.mean_square(self.R[rows], some(self.weights, rows))
            if found is not None and before > 0.0:
                ratios[place] = max(found.error / before, 1e-12)

        run(range(len(cells)), work, cpu_count())
        return float(np.exp(np.mean(np.log(ratios))))

    def run(self, candidate: Candidate, state: LearnedKernel, relevance: Floats) -> tuple[Floats, Kernel, float]:
        """Return weights of the columns, the kernel and the penalty of cells; `relevance` (d,) is that of a metric.

        Cells follow one column, or all of them by their relevance.
        """
        d = len(self.unit)
        metric = self.unit * relevance / max(float(relevance.max(initial=0.0)), 1e-300)
        alone = [self.unit * (np.arange(d) == j) for j in np.argsort(-relevance, kind="stable")[:COLUMNS]]
        kernel, alpha = self.kept(state, metric)
        best = (np.inf, metric)
        for weights in [metric, *alone]:
            cells = [self.cell(center, weights) for center in self.centers]
            found = min(self.error(cells, kernel, alpha), self.error(cells, kernel, 10.0 * alpha))
            best = min(best, (found, weights), key=lambda pair: pair[0])
        return best[1], *self.kernel(candidate, state, best[1])

    def kept(self, state: LearnedKernel, weights: Floats) -> tuple[Kernel, float]:
        """Return the kernel of a member with the penalty for its residuals in cells."""
        found = []
        for center in self.centers[:LEARNED]:
            rows = self.cell(center, weights)
            K = np.asarray(state.kernel(self.Z.take(rows)), dtype=np.float64)
            found.append(ridge.penalty(K, self.R[rows], state.alpha, some(self.weights, rows)))
        return state.kernel, float(np.exp(np.mean(np.log(found))))

    def kernel(self, candidate: Candidate, state: LearnedKernel, weights: Floats) -> tuple[Kernel, float]:
        """Return the kernel of the member, or one learned in some cells if it is better in the others."""
        own = self.kept(state, weights)
        if candidate.method != "likelihood":
            return own
        cells = [self.cell(center, weights) for center in self.rng.choice(len(self.X), LEARNED, replace=False)]
        states: list[LearnedKernel | None] = [None] * LEARNED

        def work(place: int, worker: int) -> None:
            rows = cells[place]
            with one_thread():
                states[place] = candidate.learn(self.Z.take(rows), self.R[rows], some(self.weights, rows))[0]

        run(range(LEARNED), work, cpu_count())
        learned = candidate.settled([one for one in states if one is not None])
        judges = [self.cell(center, weights) for center in self.centers]
        new = (learned.kernel, learned.alpha)
        return min(own, new, key=lambda pair: self.error(judges, *pair))


def fit_local(
    candidate: Candidate, state: LearnedKernel, Z: Rows, R: Floats, groups: Indices, weights: Floats | None, seed: int
) -> tuple[LocalModel, Floats]:  # (n, d), (n, t), (m,), (n,) -> model, (m, t)
    """Return local models of residuals, and their values at the last m rows, each left out with the rows of its group.

    Columns of cuts, kernels and the number of trees do not depend on the residuals of these rows.
    """
    rng = np.random.default_rng(seed)
    n, first = len(R), len(R) - len(groups)
    known, start = slice(0, first), R
    trees: list[Tree] = []
    for _ in range(min(TREES, max(1, FITTED // n))):
        search = LocalSearch(Z.take(known), R[known], some(weights, known), rng)
        followed, kernel, alpha = search.run(candidate, state, relevance_of(state.kernel, search.X.shape[1]))
        tree, held_out = fit_tree(grow(search.X, followed, SIZE, rng), kernel, alpha, Z, R, groups, weights)
        before, after = (ridge.mean_square(part[known], some(weights, known)) for part in (R, R - held_out))
        if trees and after > (1.0 - GAIN) * before:
            break
        trees.append(tree)
        R = R - held_out
    return LocalModel(np.asarray(Z.data, dtype=np.float64), tuple(trees)), (start - R)[first:]


def relevance_of(kernel: Kernel, d: int) -> Floats:  # -> (d,)
    """Return how fast a kernel changes along each column: inverse length scales, or the diagonal of its metric."""
    parameters = kernel.get_params(deep=False)
    metric = parameters.get("S")
    if metric is not None:
        S = np.asarray(metric, dtype=np.float64)
        return np.abs(S) if S.ndim == 1 else np.sqrt((S**2).sum(axis=0))
    scale = parameters.get("length_scale")
    scales = np.broadcast_to(np.asarray(scale, dtype=np.float64), (d,)) if scale is not None else np.ones(d)
    return np.asarray(1.0 / scales)
