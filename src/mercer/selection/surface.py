"""The cross-validated surface: every kernel setting times every alpha, in closed form.

One decomposition per kernel setting serves all alphas; held-out residuals come from it without refits, for leave-one-out
and for folds. One buffer holds each Gram matrix in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.errors import InputError
from mercer.gram import gram
from mercer.kernels.base import Kernel
from mercer.selection.scoring import Scoring
from mercer.solvers.crossval import cholesky_held_out
from mercer.solvers.eigen import EigenPath
from mercer.solvers.eigen_fit import EigenFit
from mercer.solvers.tridiagonal import TridiagonalPath

Array = NDArray[Any]
Step = Callable[[int, int], None]

#: Up to this many alphas a Cholesky factor each is cheaper than one eigendecomposition.
FEW_ALPHAS = 5

#: From this many rows on leave-one-out takes the tridiagonal form; below it, loading its compiled loop would cost more.
MANY_ROWS = 1000

#: Targets are taken in portions of at most this many numbers (rows x alphas x targets).
PORTION = 2**24

#: Leave-one-out residuals of the whole surface are kept up to this many numbers, so that the chosen ones are at hand.
KEPT = 2**25


@dataclass(frozen=True)
class Data:
    """What a surface is computed on."""

    X: Any
    Y: Array  # (n, *t)
    weights: Array | None
    fit_intercept: bool
    splits: tuple[tuple[Array, Array], ...] | None  # (train, test) rows; None is leave-one-out

    @property
    def closed_form(self) -> bool:
        """Whether every training part is all that is not in its test part, so that no refit is needed."""
        n = len(self.Y)
        return self.splits is None or all(
            len(train) + len(test) == n and len(np.union1d(train, test)) == n for train, test in self.splits
        )


@dataclass(frozen=True)
class Surface:
    """Scores of every kernel setting (rows) at every alpha (columns); greater is better."""

    params: tuple[dict[str, Any], ...]
    kernels: tuple[Kernel, ...]
    alphas: Array  # (L,)
    scores: Array  # (S, L), or (S, L, t)
    standard_errors: Array  # like scores
    loo: Array | None  # (S, L, n, *t) leave-one-out residuals, where they were computed and are few enough
    route: str
    scoring: str
    how: str

    @property
    def axis(self) -> tuple[str, Array]:
        """What the columns stand for, for pictures: a name and (L,) values."""
        return "alpha", self.alphas

    @property
    def mean_scores(self) -> Array:  # (S, L)
        """Scores averaged over targets."""
        return self.scores if self.scores.ndim == 2 else self.scores.mean(axis=2)


def route_for(alphas: Array, n: int, n_features: int | None, leave_one_out: bool) -> str:
    """The way to all alphas of one kernel setting: explicit features, a factor per alpha, or one decomposition."""
    if n_features is not None and n_features < n:
        return "primal"
    if len(alphas) <= FEW_ALPHAS:
        return "cholesky"
    return "tridiagonal" if leave_one_out and n >= MANY_ROWS and alphas.min() > 0 else "eigh"


def route_bytes(route: str, n: int, n_features: int | None) -> int:
    """Peak memory of a route: one Gram matrix, and what LAPACK needs beside it."""
    if route == "primal":
        return 8 * 3 * n * int(n_features or 1)
    return 8 * n * n * {"cholesky": 1, "tridiagonal": 2, "eigh": 3}[route]


def surface(
    params: Sequence[dict[str, Any]],
    kernels: Sequence[Kernel],
    data: Data,
    alphas: Array,
    scoring: Scoring,
    route: str,
    step: Step,
) -> Surface:
    """Compute the whole surface; `step(done, total)` is called after each kernel setting."""
    n = len(data.Y)
    buffer = None if route == "primal" else np.empty((n, n))
    keep = data.splits is None and len(kernels) * len(alphas) * data.Y.size <= KEPT
    scores, errors, kept = [], [], []
    previous: Kernel | None = None
    for index, kernel in enumerate(kernels):
        if buffer is not None:
            # after the Cholesky route the Gram is whole again, and squaring it is cheaper than a new exponential
            if previous is not None and _kept_whole(route, data) and kernel._squares(previous):
                np.multiply(buffer, buffer, out=buffer)
            else:
                gram(kernel, data.X, out=buffer)
        score, error, loo = _settings(kernel, buffer, data, alphas, scoring, route, keep)
        scores.append(score)
        errors.append(error)
        kept.append(loo)
        previous = kernel
        step(index + 1, len(kernels))
    stacked = np.stack([part for part in kept if part is not None]) if keep else None
    return Surface(
        tuple(params), tuple(kernels), alphas, np.stack(scores), np.stack(errors), stacked, route, scoring.name, ""
    )


def _kept_whole(route: str, data: Data) -> bool:
    """Whether the Gram is in its buffer again after a setting; rows of weight zero are packed out of it for good."""
    return route == "cholesky" and data.closed_form and (data.weights is None or bool(data.weights.min() > 0))


def _settings(
    kernel: Kernel, K: Array | None, data: Data, alphas: Array, scoring: Scoring, route: str, keep: bool
) -> tuple[Array, Array, Array | None]:
    """Scores, standard errors and (if kept) leave-one-out residuals of one kernel at all alphas."""
    if not data.closed_form:
        assert K is not None
        return *_refits(K, data, alphas, scoring), None
    folds = None if data.splits is None else [test for _, test in data.splits]
    if route == "cholesky" and K is not None:
        held = cholesky_held_out(
            K, data.Y, alphas, folds=folds, weights=data.weights, fit_intercept=data.fit_intercept, overwrite=True
        ).residuals
        return *_score(held, data, folds, scoring), held[0] if keep else None
    path = _path(kernel, K, data, route)
    columns = data.Y.reshape(len(data.Y), -1)
    size = max(1, PORTION // (len(columns) * len(alphas)))
    if scoring.joint:  # a score that compares targets with each other needs them all at once
        size = columns.shape[1]
    parts = [slice(j, j + size) for j in range(0, columns.shape[1], size)]
    results = [_path_portion(path, columns[:, part], data, folds, alphas, scoring, keep) for part in parts]
    loo = np.concatenate([r[2] for r in results if r[2] is not None], axis=2) if keep else None
    axis = min(1, results[0][0].ndim - 1)
    score, error = (np.concatenate([r[i] for r in results], axis=axis) for i in (0, 1))
    if data.Y.ndim == 1:
        score, error = score.reshape(len(alphas)), error.reshape(len(alphas))
        loo = None if loo is None else loo[:, :, 0]
    return score, error, loo


def _path(kernel: Kernel, K: Array | None, data: Data, route: str) -> EigenPath | TridiagonalPath:
    if K is None:
        Z = kernel.feature_map(data.X)
        Z = np.asarray(Z.toarray() if hasattr(Z, "toarray") else Z)
        return EigenPath.from_features(Z, weights=data.weights, fit_intercept=data.fit_intercept)
    kind = TridiagonalPath if route == "tridiagonal" else EigenPath
    return kind.from_gram(K, weights=data.weights, fit_intercept=data.fit_intercept, overwrite=True)


def _path_portion(
    path: EigenPath | TridiagonalPath,
    Y: Array,
    data: Data,
    folds: Sequence[Array] | None,
    alphas: Array,
    scoring: Scoring,
    keep: bool,
) -> tuple[Array, Array, Array | None]:
    if isinstance(path, TridiagonalPath):
        held = [path.leave_one_out(alphas, Y)]
    else:
        fit = EigenFit(path, Y)
        held = [fit.leave_one_out(alphas)] if folds is None else fit.held_out(alphas, folds)
    portion = Data(data.X, Y, data.weights, data.fit_intercept, data.splits)
    return *_score(held, portion, folds, scoring), held[0] if keep else None


def _score(held: list[Array], data: Data, folds: Sequence[Array] | None, scoring: Scoring) -> tuple[Array, Array]:
    rows = [np.arange(len(data.Y))] if folds is None else list(folds)
    weights = np.ones(len(data.Y)) if data.weights is None else data.weights
    return scoring.evaluate(data.Y, held, rows, weights, leave_one_out=folds is None)


def _refits(K: Array, data: Data, alphas: Array, scoring: Scoring) -> tuple[Array, Array]:
    """Splits whose training part is not the complement of the test part are refitted, all alphas at once."""
    assert data.splits is not None
    held = []
    for train, test in data.splits:
        weights = None if data.weights is None else data.weights[train]
        block = K[np.ix_(train, train)]
        path = EigenPath.from_gram(block, weights=weights, fit_intercept=data.fit_intercept, overwrite=True)
        fit = EigenFit(path, data.Y[train])
        cross = K[np.ix_(test, train)]
        solutions = [fit.solve(alpha) for alpha in alphas]
        held.append(np.stack([data.Y[test] - cross @ s.value - s.intercept for s in solutions]))
    return _score(held, data, [test for _, test in data.splits], scoring)


def choose(surface: Surface, rule: str) -> tuple[int, int]:
    """The chosen (kernel, alpha) indices: the best, or the most regularized one within a standard error of it."""
    scores = surface.mean_scores
    if not np.isfinite(scores).any():
        raise InputError(
            "no point of the surface has a finite score: every held-out residual is undefined (leverage 1). "
            "Give alphas > 0."
        )
    # accuracies tie: among equals the largest alpha is the smoothest function
    tied = np.argwhere(scores == np.nanmax(scores))
    best = tuple(tied[np.argmax(surface.alphas[tied[:, 1]])].tolist())
    if rule == "best":
        return best[0], best[1]
    error = surface.standard_errors if surface.scores.ndim == 2 else surface.standard_errors.mean(axis=2)
    near = scores >= scores[best] - np.nan_to_num(error[best])
    candidates = np.argwhere(near)
    # the largest alpha first, then the better score: more penalty is the simpler model
    order = sorted(candidates.tolist(), key=lambda c: (-surface.alphas[c[1]], -scores[c[0], c[1]]))
    return order[0][0], order[0][1]


def choose_per_target(surface: Surface, row: int) -> Array:
    """The best alpha index of every target, for one kernel setting."""
    return np.asarray(np.nanargmax(surface.scores[row], axis=0))


def default_alphas(diagonal: Array) -> Array:
    """Half decades over ten orders of magnitude, in units of the mean of k(x, x)."""
    scale = float(np.mean(diagonal))
    return (scale if scale > 0 else 1.0) * np.logspace(-8, 2, 21)


def length_scale_steps(center: float, first: int = -4, last: int = 5) -> list[float]:
    """Length scales round a center in steps of sqrt(2), each Gaussian Gram the square of the one before.

    >>> [round(s, 3) for s in length_scale_steps(1.0, -1, 2)]
    [2.0, 1.414, 1.0, 0.707]
    """
    return [center * 2.0 ** (j / 2) for j in range(last, first - 1, -1)]
