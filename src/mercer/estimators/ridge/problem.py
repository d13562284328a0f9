"""A ridge problem, and the result that every route returns."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Array, Indices
from mercer.errors import InputError
from mercer.grams.chunks.rows import ChunkedRows
from mercer.inputs import Rows
from mercer.kernels.base import Kernel
from mercer.linalg.ridge.held_out import leave_one_out
from mercer.linalg.solution import Solution
from mercer.planning import Route
from mercer.registry import record
from mercer.selection.folds import row_digests
from mercer.selection.surface import Splits, Surface


def distinct_rows(X: Any, Y: Array, weights: Array | None) -> tuple[Indices, Array] | None:
    """The first of each set of rows that are equal in X and Y, and the sum of their weights; None if all rows differ.

    Leave-one-out of these rows leaves a row out together with its copies. Rows of weight 0 are dropped.
    """
    digests, targets = row_digests(X), row_digests(Y.reshape(len(Y), -1))
    if digests is None or targets is None:
        return None
    given = np.ones(len(Y)) if weights is None else weights
    known = np.flatnonzero(given > 0)
    both = np.char.add(digests, targets)[known]
    first, group = np.unique(both, return_index=True, return_inverse=True)[1:]
    if len(first) == len(known):
        return None
    order = np.argsort(first)  # in the order of the first rows
    return known[first[order]], np.bincount(group.ravel(), given[known])[order]


@record("Problem", left_out=("operator", "rows", "chunks"))
@dataclass(frozen=True)
class RidgeProblem:
    """Minimize sum_i w_i (y_i - f(x_i))^2 + alpha ||f||^2.

    The rows are in memory (`X`) or in `chunks`. A fitted model keeps X; it is None if the rows came in chunks.
    """

    _stored: ClassVar[dict[str, str]] = {
        "kernel": "kernel",
        "X": "None | rows n",
        "Y": "float (n, *t)",
        "alpha": "float () >= 0 | float (*t) >= 0",
        "weights": "None | float (n,) >= 0",
        "fit_intercept": "flag",
        "features": "None | a LandmarkFeatures, FourierMap, FourierGrid",
        "operator": "None | absent",
        "rows": "None | absent",
        "chunks": "None | absent",
    }

    kernel: Kernel
    X: Any  # a collection; None if the rows come in chunks
    Y: Array  # (n, *t); (0, *t) for chunks, which have their targets with them
    alpha: Array  # () or (t,)
    weights: Array | None  # (n,)
    fit_intercept: bool
    tol: float = 1e-8
    max_iter: int | None = None
    like: Any = None  # rows whose features are to be taken, where features are named by what occurs
    n_components: int | None = None  # landmarks or Fourier features of a route that takes them
    features: Any = None  # the feature map of such a route, once it is chosen
    memory: Any = None  # the budget within which kernel values may be held
    operator: Any = None  # multiplies by the kernel matrix, if the rows are held in chunks too; only during a fit
    rows: Rows | None = None  # X with what kernels have computed of it; only during a fit
    chunks: ChunkedRows | None = None  # the rows, if they come in chunks; only during a fit

    def _check_loaded(self) -> None:
        if not isinstance(self.alpha, (np.ndarray, np.generic)):  # a number would pass for one per target of no target axis
            raise InputError("Problem.alpha is not an array; the file is damaged or was changed.")

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.Y) if self.chunks is None else self.chunks.n

    @property
    def encoded(self) -> Any:
        """X in the form that shares what other kernels have computed of it, if there is one."""
        return self.X if self.rows is None else self.rows

    @property
    def first_rows(self) -> Any:
        """The rows of the first chunk, or all rows in memory."""
        return self.X if self.chunks is None else self.chunks.head.X

    @property
    def counts(self) -> bool:
        """Whether explicit features are named by what occurs in the rows, so that they are made of all rows at once."""
        features = self.kernel.features
        return features is not None and not features.shared

    @property
    def counted(self) -> Array:  # (n,)
        """The weights; ones if none were given."""
        return np.ones(self.n) if self.weights is None else self.weights

    def distinct(self) -> RidgeProblem:
        """The same problem with equal rows as one row of their weight, see `distinct_rows`."""
        found = None if self.X is None else distinct_rows(self.X, self.Y, self.weights)
        return self if found is None else self.part(*found)

    def part(self, rows: Indices, weights: Array) -> RidgeProblem:
        """The problem of some of the rows, with other weights."""
        return dataclasses.replace(self, X=Rows(self.X).take(rows).data, Y=self.Y[rows], weights=weights)

    def with_weights(self, weights: Array) -> RidgeProblem:
        """The same problem with other weights."""
        return dataclasses.replace(self, weights=weights)


@dataclass(frozen=True)
class RidgeData:
    """Rows, targets and weights of a ridge, with the splits that it is judged by."""

    rows: Any  # Rows, encoded once for all kernel settings, or rows in chunks
    Y: Array  # (n, *t); (0, *t) for chunks, which have their targets with them
    weights: Array | None
    fit_intercept: bool
    splits: Splits | None = None  # (train, test) rows; None is leave-one-out

    @property
    def X(self) -> Any:  # noqa: N802
        """The collection itself."""
        return self.rows if self.chunked else self.rows.data

    @property
    def chunked(self) -> bool:
        """Whether the rows come in chunks."""
        return isinstance(self.rows, ChunkedRows)

    @property
    def closed_form(self) -> bool:
        """Whether every training part is all that is not in its test part, so that no refit is needed."""
        n = len(self.Y)
        return self.splits is None or all(
            len(train) + len(test) == n and len(np.union1d(train, test)) == n for train, test in self.splits
        )

    @property
    def counted(self) -> NDArray[np.bool_]:  # (n,)
        """False for rows of weight 0."""
        n = self.rows.n if self.chunked else len(self.Y)
        return np.ones(n, bool) if self.weights is None else self.weights > 0

    @property
    def counted_weights(self) -> Array:  # (n,)
        """The weights; ones if none were given."""
        return np.ones(len(self.Y)) if self.weights is None else self.weights

    def take(self, rows: Indices) -> RidgeData:
        """Some of the rows, scored by leave-one-out; those of chunks are then in memory."""
        if self.chunked:
            some = self.rows.take(rows)
            return RidgeData(Rows(some.X), some.y, some.weights, self.fit_intercept, None)
        weights = None if self.weights is None else self.weights[rows]
        return RidgeData(self.rows.take(rows), self.Y[rows], weights, self.fit_intercept, None)

    def distinct(self) -> RidgeData:
        """The same data with equal rows as one row of their weight, if they are judged by leave-one-out."""
        found = None if self.chunked or self.splits is not None else distinct_rows(self.X, self.Y, self.weights)
        if found is None:
            return self
        rows, weights = found
        return RidgeData(self.rows.take(rows), self.Y[rows], weights, self.fit_intercept)

    def problem(self, kernel: Kernel, alpha: Array, **settings: Any) -> RidgeProblem:
        """The ridge problem of these data with one kernel and penalty."""
        X, rows, chunks = (None, None, self.rows) if self.chunked else (self.rows.data, self.rows, None)
        return RidgeProblem(
            kernel, X, self.Y, alpha, self.weights, self.fit_intercept, rows=rows, chunks=chunks, **settings
        )  # fmt: skip


@record("Fitted")
@dataclass(frozen=True)
class RidgeFit:
    """The result of every route."""

    _stored: ClassVar[dict[str, str]] = {
        "dual": "None | float (n, *t)",
        "intercept": "float (*t)",
        "residuals": "None | float (n, *t)",
        "ones": "None | float (n,)",
        "weights": "None | float (_, *t) | complex (_, *t)",
        "features": "None | a LandmarkFeatures, FourierMap, FourierGrid",
    }

    dual: Array | None  # (n, *t); None if the weights of features are enough, because it would take one more pass
    intercept: Array  # (*t)
    residuals: Array | None  # (n, *t) y - f on the training rows; None like dual
    norm_squared: Array  # (*t) ||f||^2
    jitter: float
    converged: bool
    n_iter: int
    message: str
    rank: int | None = None
    weights: Array | None = None  # (d, *t) primal weights of explicit features
    mixed: bool = False  # whether a float32 factor was refined in float64
    ones: Array | None = None  # (n,) G^-1 1, where a mixed fit has an intercept
    features: Any = None  # the feature map whose weights these are, where it stands for the kernel


@dataclass(frozen=True)
class Choice:
    """A cross-validated surface, the point chosen on it, and the route of the fit there."""

    surface: Surface
    index: tuple[int, int]
    route: Route


@dataclass(frozen=True)
class SolvedRidge:
    """A problem and its solution, with further results of the same computation."""

    problem: RidgeProblem
    fitted: RidgeFit
    loo: Array | None = None  # (n, *t) leave-one-out residuals, if a surface was computed
    robust: Any = None  # the weights of Huber's loss
    classes: Any = None  # (C,) the classes of a classifier
    choice: Choice | None = None  # if alpha and kernel were chosen by cross-validation


@record()
@dataclass(frozen=True)
class Diagnosis:
    """Leave-one-out residuals, leverages and their sum, computed at first use."""

    _stored: ClassVar[dict[str, str]] = {
        "loo": "real (n, *t)",
        "leverage": "real (n, *_)",
    }

    loo: Array  # (n, *t)
    leverage: Array  # (n,), or (n, t) with one alpha per target
    effective_dof: Any  # their sum, one number or one per target


def by_mean_leverage(problem: RidgeProblem, residuals: Array, dof: Array) -> Diagnosis:  # (n, *t), (t,)
    """Leave-one-out residuals with the mean leverage for every row; a row of weight w counts as w rows."""
    Y, weights = problem.Y.reshape(problem.n, -1), problem.counted
    share = weights[:, None] * dof / float(weights.sum())
    loo = leave_one_out(residuals.reshape(Y.shape), 1.0 - share).reshape(problem.Y.shape)
    return Diagnosis(loo, share, dof) if problem.alpha.ndim else Diagnosis(loo, share[:, 0], float(dof[0]))


def right_sides(problem: RidgeProblem) -> Array:  # -> (n, t), or (n, t + 1) with an intercept
    """The columns to solve G x = b for: the targets, and ones where an intercept is to be found."""
    Y = problem.Y.reshape(problem.n, -1)
    return np.column_stack([Y, np.ones(problem.n)]) if problem.fit_intercept else Y


def from_solution(problem: RidgeProblem, solution: Solution, shift: Array, message: str) -> RidgeFit:  # shift (n,)
    """The fitted facts from G^-1 of `right_sides` alone: residuals are shift times dual, and K dual = y - b - residuals."""
    Y, shape, dual = problem.Y.reshape(problem.n, -1), problem.Y.shape, solution.value
    intercept, ones = np.zeros(Y.shape[1]), None
    if problem.fit_intercept:
        ones, dual = dual[:, -1], dual[:, :-1]
        intercept = dual.sum(axis=0) / ones.sum()
        dual = dual - np.outer(ones, intercept)
    residuals = shift[:, None] * dual
    norms = np.sum(dual * (Y - residuals - intercept), axis=0)
    return RidgeFit(
        dual.reshape(shape), intercept.reshape(shape[1:]), residuals.reshape(shape), norms.reshape(shape[1:]),
        0.0, solution.converged, solution.n_iter, message, ones=ones,
    )  # fmt: skip
