"""From data and a kernel to a run of the perceptron, by any of its forms.

On data that cannot be separated the mistakes never end, while the averaged weights stop improving after some epochs. Their
errors on the training rows are counted after every epoch, and a problem ends if no epoch of the last `PATIENCE` has lowered
them by more than `TOL`, as in scikit-learn's perceptron. Averaged weights without an error show that the data can be
separated: then the run goes on to its end, which exists by Novikoff's bound.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Array
from mercer.errors import InputError, check_choice
from mercer.estimators.perceptron.epochs import Form, Mistakes, Run
from mercer.estimators.perceptron.min_norm import Nearest, min_norm
from mercer.estimators.perceptron.weight_forms import BLOCK_ROWS, Blocked, Budgeted, Gram, Online, Primal
from mercer.grams import GramOperator, gram
from mercer.grams.products import feature_blocks
from mercer.inputs import take
from mercer.kernels.base import Kernel
from mercer.numeric.encodings import dense
from mercer.numeric.memory import budget_bytes
from mercer.planning import Route, Shape, entry_rate, gemm_rate

SOLVERS = ("auto", "primal", "gram", "blocked", "online")
#: Up to this many rows the whole Gram matrix is made at once: every epoch after that costs next to nothing.
#: Row: perceptron-*.
WHOLE_MATRIX_ROWS = 4096
#: Epochs after which a run that still errs is searched for a proof that it must; then after twice as many, and so on.
FIRST_SEARCH = 10
#: A score below this times R^2 is 0: the sums of kernel values behind it have different orders in different forms.
ZERO = 1e-10
#: Steps of the first search; each next one takes twice as many.
SEARCH_STEPS = 200


#: Up to this many rows a run that is about to stop is searched for a proof: seconds for the next thousand.
SEARCHED = 1000


class KernelValues:
    """Kernel values of a collection with itself, plus 1 where there is an intercept."""

    def __init__(self, kernel: Kernel, X: Any, shift: float) -> None:
        self.K, self.shift = GramOperator(kernel, X), shift
        self.diagonal = np.asarray(kernel.diag(X), dtype=np.float64) + shift
        some = np.arange(min(len(self.diagonal), BLOCK_ROWS))
        values = self.submatrix(some, some)
        # sums of whole numbers are exact; others may be off by rounding, and then a score that is 0 must still be a mistake
        whole = bool((values == np.rint(values)).all()) and float(np.abs(self.diagonal).max()) < 2.0**40
        self.zero = 0.0 if whole else ZERO * float(np.abs(self.diagonal).max())

    def submatrix(self, rows: Array, cols: Array | slice, out: Array | None = None) -> Array:
        """Values at the crossings of rows and columns."""
        values = self.K.submatrix(rows, cols, out)
        if self.shift:
            values += self.shift
        return values


@dataclass
class PerceptronFit:
    """A finished run with its coefficients, (n, C): alpha = counts times labels, beta = sum of y (t - 1)."""

    run: Run
    alpha: Array
    beta: Array
    support: Array  # (S,) the rows that carry weight, oldest first where a budget cares
    diagonal: Array  # (n,)
    scores: Array | None  # (C, n) of the last weights, if known
    exact: bool = True  # False once a budget has changed the algorithm
    proofs: dict[int, Nearest] = field(default_factory=dict)  # problem -> why it is not separable


@dataclass(frozen=True)
class Epochs:
    """What a fit has found: the classes, the signs of the two-class problems, kernel values, and the finished run."""

    classes: Array  # (c,)
    Y: Array  # (C, n)
    values: KernelValues
    fitted: PerceptronFit


def perceptron_routes(shape: Shape, solver: str, budget: int | None, classes: int, memory: Any = None) -> tuple[Route, ...]:
    """The ways to run a perceptron on data of this shape, best first."""
    check_choice("KernelPerceptron", "solver", solver, SOLVERS)
    n, rate, entries = float(shape.n), gemm_rate(), entry_rate()
    value, problems = 2.0 * shape.width / rate + 0.5 / entries, 1 if classes == 2 else classes
    small = int(8 * n * (3 * problems + shape.width)) + 8 * BLOCK_ROWS**2
    if budget is not None:
        reason, held = f"at most {budget} support vectors", small + 24 * budget**2 + 16 * BLOCK_ROWS * budget
        return (Route("budget", held, n * budget * value, reason, exact=False),)
    square = shape.n**2 * shape.itemsize
    made = int(16 * n * BLOCK_ROWS)  # the rows of a block, and what they are made from; rows that are wrong often are kept
    kept = min(8 * shape.n**2, _room(shape.n, memory))
    listed = 16 * BLOCK_ROWS * min(shape.n * problems, 8 * BLOCK_ROWS)
    offered = {
        "gram": Route("gram", small + square, n * n * value / 2, "the Gram matrix, counts per row"),
        "blocked": Route("blocked", small + made + kept, n * n * value / 4, "kernel rows made for mistakes, and kept"),
        "online": Route("online", small + listed, n * n * value / 4, "the list of mistakes"),
    }
    if shape.n_features is not None:
        D = shape.n_features
        reason = f"{D} explicit features against {shape.n} rows"
        offered["primal"] = Route("primal", int(8 * n * D * 2), 8 * n * D / rate, reason)
    if solver == "primal" and "primal" not in offered:
        raise InputError('solver="primal" needs a kernel with a finite feature map on vectors, such as Linear().')
    if solver != "auto":
        return (offered[solver],)
    order = ["primal"] if "primal" in offered and (shape.n_features or 0) < shape.n else []
    order += ["gram"] if shape.n <= WHOLE_MATRIX_ROWS else []
    return tuple(offered[name] for name in [*order, "blocked"])


def _room(n: int, memory: Any) -> int:
    """Bytes for rows that are kept: half the budget, less what the rows of a block take."""
    return max(0, budget_bytes(memory, 8 * n**2) // 2 - 16 * n * BLOCK_ROWS)


def make_form(solver: str, kernel: Kernel, X: Any, Y: Array, values: KernelValues, memory: Any) -> Form:
    """The form that goes by that name, ready to run."""
    if solver == "primal":
        Z = np.vstack([dense(block) for _, block in feature_blocks(kernel, X)])
        # the features of a kernel with whole values need not be whole: sqrt(2) x_1 x_2
        zero = values.zero if (np.rint(Z) == Z).all() else ZERO * float(np.abs(values.diagonal).max())
        return Primal(np.ascontiguousarray(np.column_stack([Z, np.ones(len(Z))]) if values.shift else Z), Y, zero)
    if solver == "gram":
        K = gram(kernel, X, memory=float("inf"))
        if values.shift:
            K += values.shift
        return Gram(K, Y, values.zero)
    if solver == "online":
        return Online(values, Y)
    return Blocked(values, Y, _room(Y.shape[1], memory))


def finish(form: Form, run: Run, Y: Array, values: KernelValues, proofs: dict[int, Nearest]) -> PerceptronFit:
    """The coefficients of a run."""
    if isinstance(form, Budgeted):
        rows, a, b = form.support()
        alpha, beta = np.zeros(Y.T.shape), np.zeros(Y.T.shape)
        alpha[rows], beta[rows] = a, b
        return PerceptronFit(run, alpha, beta, rows, values.diagonal, None, not form.left, proofs)
    alpha, beta = run.mistakes.sums(Y)
    support = np.flatnonzero(alpha.any(axis=1))  # all updates at a row have one sign, so they never cancel
    return PerceptronFit(run, alpha, beta, support, values.diagonal, form.scores(), True, proofs)


def nearest_to_origin(values: KernelValues, y: Array, max_iter: int) -> Nearest:  # (n,) of -1, +1
    """The hard margin of one problem, or the proof that there is none."""

    def column(i: int) -> Array:
        return np.asarray(y[i] * y * values.submatrix(np.array([i]), slice(None))[0], dtype=np.float64)

    return min_norm(column, values.diagonal, max_iter)


def contradiction(X: Any, y: Array) -> tuple[int, int] | None:
    """Two equal rows with different labels, the shortest proof of all; None if there is none, or no cheap way to see."""
    if isinstance(X, list):
        try:
            groups: dict[Any, int] = {}
            names = np.array([groups.setdefault(tuple(x) if isinstance(x, list) else x, len(groups)) for x in X])
        except TypeError:
            return None
    elif isinstance(X, np.ndarray) and not sp.issparse(X) and X.ndim == 2:
        names = np.unique(X, axis=0, return_inverse=True)[1].ravel()
    else:
        return None
    low, high = np.full(names.max() + 1, 2.0), np.full(names.max() + 1, -2.0)
    np.minimum.at(low, names, y)
    np.maximum.at(high, names, y)
    mixed = np.flatnonzero(low < high)
    if not len(mixed):
        return None
    rows = np.flatnonzero(names == mixed[0])
    return int(rows[y[rows] < 0][0]), int(rows[y[rows] > 0][0])


class Watcher:
    """Looks for the proof that a problem is not separable, now and then, and keeps what it finds."""

    def __init__(self, X: Any, Y: Array, values: KernelValues) -> None:
        self.X, self.Y, self.values = X, Y, values
        self.proofs: dict[int, Nearest] = {}
        self.settled: set[int] = set()  # known to be separable: patience is all it takes

    def __call__(self, epochs: int, active: Array) -> Array:
        """Which of the active problems are proved to be not separable."""
        part, rest = divmod(epochs, FIRST_SEARCH)
        caught = np.zeros(len(active), bool)
        if rest or part & (part - 1):
            return caught
        for c in np.flatnonzero(active):
            self._look(int(c), SEARCH_STEPS * part, part == 1)
            caught[c] = int(c) in self.proofs
        return caught

    def settle(self, stopped: Array) -> Array:  # (C,) -> (C,)
        """Of problems that are about to be stopped, those that one look does not find to be separable."""
        for c in np.flatnonzero(stopped) if len(self.Y[0]) <= SEARCHED else ():
            self._look(int(c), SEARCH_STEPS, True)
        return np.array([stopped[c] and c not in self.settled for c in range(len(stopped))], dtype=bool)

    def _look(self, c: int, steps: int, first: bool) -> None:
        if c in self.settled or c in self.proofs:
            return
        proof = self._search(c, steps, first)
        if proof.separable:
            self.settled.add(c)
        elif proof.separable is False:
            self.proofs[c] = proof

    def _search(self, c: int, steps: int, first: bool) -> Nearest:
        y = self.Y[c]
        pair = contradiction(self.X, y) if first else None
        if pair is None:
            return nearest_to_origin(self.values, y, steps)
        a, both = np.zeros(len(y)), np.array(pair)
        a[both] = 0.5
        K = np.asarray(self.values.submatrix(both, both), dtype=np.float64)
        norm = float(np.sqrt(max(0.25 * (y[both] @ K @ y[both]), 0.0)))
        return Nearest(a, norm, 0.0, True, 0, f"rows {pair[0]} and {pair[1]} are equal and have different labels")


#: The least share of rows by which errors must fall to count, and the epochs in a row that may fail to do so.
TOL, PATIENCE = 1e-3, 5
#: Rows on which errors are counted where the Gram matrix is not at hand; fewer rows are taken all.
SAMPLE = 2000


class Averages:
    """The errors of the averaged weights, epoch after epoch."""

    def __init__(self, form: Form, values: KernelValues, X: Any, Y: Array) -> None:  # (C, n)
        self.form, self.shift, n = form, values.shift, Y.shape[1]
        self.K: Any
        if isinstance(form, Gram):  # has the shift in it
            self.K, self.Y, self.shift = form.K, Y, 0.0
        else:
            rows = np.sort(np.random.default_rng(0).permutation(n)[:SAMPLE])
            self.K, self.Y = GramOperator(values.K.kernel, take(X, rows), X), Y[:, rows]
        self.all_rows = self.Y.shape[1] == n
        self.signs, self.alpha, self.beta = Y, np.zeros(Y.T.shape), np.zeros(Y.T.shape)
        self.best, self.since = np.full(len(Y), np.inf), np.zeros(len(Y), np.int64)

    def __call__(self, active: Array, mistakes: Mistakes, presented: Array) -> Array:  # (C,) -> (C,)
        """After an epoch: which of the active problems have stopped to improve."""
        errors = self.errors(mistakes, presented)
        better = errors < self.best - TOL
        self.best = np.where(better, errors, self.best)
        self.since = np.where(better, 0, self.since + 1)
        separated = self.all_rows & (errors == 0.0)
        return active & (self.since >= PATIENCE) & ~separated

    def errors(self, mistakes: Mistakes, presented: Array) -> Array:  # -> (C,)
        """The share of rows that the averaged weights put on the wrong side or on the boundary."""
        coef = self._coefficients(mistakes, presented)
        scores = np.asarray(self.K @ coef) + self.shift * coef.sum(axis=0)
        return np.mean(self.Y.T * scores <= 0.0, axis=0)

    def _coefficients(self, mistakes: Mistakes, presented: Array) -> Array:  # -> (n, C)
        first, second = mistakes.sums(self.signs)
        self.alpha += first
        self.beta += second
        alpha, beta = self.alpha, self.beta
        if isinstance(self.form, Budgeted):  # which changes weights of earlier epochs
            rows, a, b = self.form.support()
            alpha, beta = np.zeros(alpha.shape), np.zeros(beta.shape)
            alpha[rows], beta[rows] = a, b
        return np.asarray(alpha - beta / np.maximum(presented, 1))
