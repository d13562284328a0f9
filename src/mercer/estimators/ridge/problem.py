"""A ridge problem, and what every route to its solution returns."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer.arrays import Array
from mercer.grams.chunks.rows import ChunkedRows
from mercer.inputs import Rows
from mercer.kernels.base import Kernel
from mercer.linalg.solution import Solution
from mercer.numeric.encodings import has_many
from mercer.registry import record

#: From this many rows on explicit features that count are looked at: for fewer, the Gram matrix is cheap anyway.
COUNTED_ROWS = 1000


def counted_features(kernel: Kernel, X: Any, n: int) -> int | None:
    """How many features occur in the rows, for a kernel whose features count something and are not too many to make."""
    features = None if n < COUNTED_ROWS or kernel.unresolved else kernel.features
    if features is None or features.shared or not features.stay:
        return None
    encoding = kernel._encode(Rows(X))
    return None if has_many(encoding) else features.count(encoding)


@record()
@dataclass(frozen=True)
class Problem:
    """One ridge problem: minimize sum_i w_i (y_i - f(x_i))^2 + alpha ||f||^2."""

    _stored: ClassVar[dict[str, str]] = {
        "kernel": "kernel",
        "X": "None | rows n",
        "Y": "float (n, *t)",
        "alpha": "float () >= 0 | float (*t) >= 0",
        "weights": "None | float (n,) >= 0",
        "fit_intercept": "flag",
        "features": "None | a LandmarkFeatures, FourierMap, FourierGrid",
    }

    kernel: Kernel
    X: Any  # a collection, Rows that share what other kernels have made of it, or chunks; None in a model made of chunks
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
    operator: Any = None  # what multiplies by the kernel matrix, where the rows are also held in chunks

    @property
    def n(self) -> int:
        """The number of rows."""
        return self.X.n if isinstance(self.X, ChunkedRows) else len(self.Y)

    @property
    def counts(self) -> bool:
        """Whether explicit features are named by what occurs in the rows, so that they are made of all rows at once."""
        features = self.kernel.features
        return features is not None and not features.shared

    def with_weights(self, weights: Array) -> Problem:
        """The same problem with other weights."""
        return dataclasses.replace(self, weights=weights)


@record("Fitted")
@dataclass(frozen=True)
class RidgeFit:
    """What every route returns."""

    _stored: ClassVar[dict[str, str]] = {
        "dual": "None | float (n, *t)",
        "intercept": "float (*t)",
        "residuals": "None | float (n, *t)",
        "ones": "None | float (n,)",
        "weights": "None | float (_, *t) | complex (_, *t)",
        "features": "None | a LandmarkFeatures, FourierMap, FourierGrid",
    }

    dual: Array | None  # (n, *t); None where the weights of features say all, and this would take one more pass
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
class RidgeSolution:
    """A problem, its solution, and what the way there has found beside it."""

    problem: Problem
    fitted: RidgeFit
    loo: Array | None = None  # (n, *t) leave-one-out residuals, where a surface knows them
    robust: Any = None  # the weights of Huber's loss
    classes: Any = None  # (C,) the classes that were found in chunks


@record()
@dataclass(frozen=True)
class Diagnosis:
    """What is computed when asked for: leave-one-out residuals, leverages and their sum."""

    _stored: ClassVar[dict[str, str]] = {
        "loo": "real (n, *t)",
        "leverage": "real (n, *_)",
    }

    loo: Array  # (n, *t)
    leverage: Array  # (n,), or (n, t) with one alpha per target
    effective_dof: Any  # their sum, one number or one per target


def right_sides(problem: Problem) -> Array:  # -> (n, t), or (n, t + 1) with an intercept
    """The columns to solve G x = b for: the targets, and ones where an intercept is to be found."""
    Y = problem.Y.reshape(problem.n, -1)
    return np.column_stack([Y, np.ones(problem.n)]) if problem.fit_intercept else Y


def from_solution(problem: Problem, solution: Solution, shift: Array, message: str) -> RidgeFit:  # shift (n,)
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
