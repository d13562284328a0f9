"""The cross-validated surface: every kernel setting times every alpha, in closed form.

One decomposition per kernel setting serves all alphas; held-out residuals come from it without refits, for leave-one-out
and for folds. One buffer holds each Gram matrix in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.estimators.ridge.problem import RidgeData
from mercer.grams import gram
from mercer.kernels.base import Kernel
from mercer.linalg.ridge.dual import cholesky_held_out
from mercer.linalg.ridge.eigen import EigenFit, EigenPath
from mercer.linalg.ridge.tridiagonal import TridiagonalPath
from mercer.numeric.encodings import dense
from mercer.numeric.tiles import row_blocks
from mercer.selection.scoring import Scores, Scoring
from mercer.selection.surface import PenaltyAxis, Surface, over_targets

Step = Callable[[int, int], None]

#: Up to this many alphas a Cholesky factor each is cheaper than one eigendecomposition. Row: ridge-surface-n2000.
FEW_ALPHAS = 5

#: From this many rows on leave-one-out takes the tridiagonal form; below it, loading its compiled loop would cost more.
#: Row: loo-path-n2000.
MANY_ROWS = 1000

#: Targets are taken in portions of at most this many numbers (rows x alphas x targets). Row: ridge-many-targets.
NUMBERS_AT_A_TIME = 2**24

#: Leave-one-out residuals of the whole surface are kept up to this many numbers, so that the chosen ones are at hand.
#: Row: ridge-many-targets.
KEPT = 2**25


def route_for(alphas: Array, n: int, n_features: int | None, leave_one_out: bool) -> str:
    """The way to all alphas of one kernel setting: explicit features, a factor per alpha, or one decomposition."""
    if n_features is not None and n_features < n:
        return "primal"
    if len(alphas) <= FEW_ALPHAS:
        return "cholesky"
    return "tridiagonal" if leave_one_out and n >= MANY_ROWS and alphas.min() > 0 else "eigh"


def route_bytes(route: str, n: int, n_features: int | None) -> int:
    """Peak memory of a route: one Gram matrix, and the workspace of LAPACK."""
    if route == "primal":
        return 8 * 4 * n * int(n_features or 1)
    return 8 * n * n * {"cholesky": 1, "tridiagonal": 2, "eigh": 3}[route]


def surface(
    params: Sequence[dict[str, Any]],
    kernels: Sequence[Kernel],
    data: RidgeData,
    axis: PenaltyAxis,
    scoring: Scoring,
    route: str,
    step: Step,
) -> Surface:
    """Compute the whole surface; `step(done, total)` is called after each kernel setting."""
    n, alphas = len(data.Y), axis.values
    if data.splits is not None and route == "tridiagonal":  # planned for leave-one-out, and groups came with the rows
        route = "eigh"
    buffer = None if route == "primal" else np.empty((n, n))
    keep = data.splits is None and len(kernels) * len(alphas) * data.Y.size <= KEPT
    found: list[Scores] = []
    kept: list[Array | None] = []
    for index, kernel in enumerate(kernels):
        # all settings share what the first has made of the rows; what a later one needs beyond it goes with that one
        here = data if index == 0 else replace(data, rows=data.rows.branch())
        if buffer is not None:
            # after the Cholesky route the Gram is whole again, and squaring it is cheaper than a new exponential
            if index > 0 and _kept_whole(route, data) and kernel.is_square_of(kernels[index - 1]):
                np.multiply(buffer, buffer, out=buffer)
            else:
                gram(kernel, here.rows, out=buffer)
        scores, loo = _settings(kernel, buffer, here, alphas, scoring, route, keep)
        found.append(scores)
        kept.append(loo)
        step(index + 1, len(kernels))
    loo = np.stack([part for part in kept if part is not None]) if keep else None
    return assemble(params, kernels, axis, found, route, scoring.name, loo)


def assemble(
    params: Sequence[dict[str, Any]],
    kernels: Sequence[Kernel],
    axis: PenaltyAxis,
    found: Sequence[Scores],
    route: str,
    scoring: str,
    loo: Array | None = None,
) -> Surface:
    """The surface from the scores of every kernel setting."""
    splits = [over_targets(scores.splits).T for scores in found if scores.splits is not None]  # (m, L, *t) -> (L, m)
    deviations = [scores.deviation.reshape(len(axis.values), -1).mean(axis=1) for scores in found]
    return Surface(
        tuple(params), tuple(kernels), axis, np.stack([scores.mean for scores in found]),
        np.stack([scores.error for scores in found]), route, scoring,
        np.stack([part.std(axis=1) for part in splits] if splits else deviations),
        np.stack(splits) if splits else None, loo,
    )  # fmt: skip


def _kept_whole(route: str, data: RidgeData) -> bool:
    """Whether the Gram is in its buffer again after a setting; rows of weight zero are packed out of it for good."""
    return route == "cholesky" and data.closed_form and (data.weights is None or bool(data.weights.min() > 0))


def _settings(
    kernel: Kernel, K: Array | None, data: RidgeData, alphas: Array, scoring: Scoring, route: str, keep: bool
) -> tuple[Scores, Array | None]:
    """Scores and (if kept) leave-one-out residuals of one kernel at all alphas."""
    if not data.closed_form:
        assert K is not None
        return _refits(K, data, alphas, scoring), None
    folds = None if data.splits is None else [test for _, test in data.splits]
    if route == "cholesky" and K is not None:
        held = cholesky_held_out(
            K, data.Y, alphas, folds=folds, weights=data.weights, fit_intercept=data.fit_intercept, overwrite=True
        ).residuals
        return _score(held, data, folds, scoring), held[0] if keep else None
    path = _path(kernel, K, data, route)
    columns = data.Y.reshape(len(data.Y), -1)
    size = max(1, NUMBERS_AT_A_TIME // (len(columns) * len(alphas)))
    if scoring.joint:  # a score that compares targets with each other needs them all at once
        size = columns.shape[1]
    parts = row_blocks(columns.shape[1], size)
    results = [_path_portion(path, columns[:, part], data, folds, alphas, scoring, keep) for part in parts]
    loo = np.concatenate([r[1] for r in results if r[1] is not None], axis=2) if keep else None
    if data.Y.ndim == 1:
        loo = None if loo is None else loo[:, :, 0]
    return _join([r[0] for r in results], single=data.Y.ndim == 1), loo


def _join(parts: list[Scores], single: bool) -> Scores:
    """Scores of portions of the targets as those of all; of a `single` target without the axis of targets."""

    def joined(values: list[Array], targets: int) -> Array:  # the axis of targets, which joint scores do not have
        if values[0].ndim == targets:
            return values[0]
        return values[0][..., 0] if single else np.concatenate(values, axis=targets)

    splits = [part.splits for part in parts if part.splits is not None]
    return Scores(
        joined([part.mean for part in parts], 1), joined([part.error for part in parts], 1),
        joined([part.deviation for part in parts], 1), joined(splits, 2) if splits else None,
    )  # fmt: skip


def _path(kernel: Kernel, K: Array | None, data: RidgeData, route: str) -> EigenPath | TridiagonalPath:
    if K is None:
        Z = kernel.feature_map(data.rows)
        Z = dense(Z)
        return EigenPath.from_features(Z, weights=data.weights, fit_intercept=data.fit_intercept)
    kind = TridiagonalPath if route == "tridiagonal" else EigenPath
    return kind.from_gram(K, weights=data.weights, fit_intercept=data.fit_intercept, overwrite=True)


def _path_portion(
    path: EigenPath | TridiagonalPath,
    Y: Array,
    data: RidgeData,
    folds: Sequence[Array] | None,
    alphas: Array,
    scoring: Scoring,
    keep: bool,
) -> tuple[Scores, Array | None]:
    if isinstance(path, TridiagonalPath):
        held = [path.leave_one_out(alphas, Y)]
    else:
        fit = EigenFit(path, Y)
        held = [fit.leave_one_out(alphas)] if folds is None else fit.held_out(alphas, folds)
    return _score(held, replace(data, Y=Y), folds, scoring), held[0] if keep else None


def _score(held: list[Array], data: RidgeData, folds: Sequence[Array] | None, scoring: Scoring) -> Scores:
    rows = [np.arange(len(data.Y))] if folds is None else list(folds)
    weights = np.ones(len(data.Y)) if data.weights is None else data.weights
    return scoring.evaluate(data.Y, held, rows, weights, leave_one_out=folds is None)


def _refits(K: Array, data: RidgeData, alphas: Array, scoring: Scoring) -> Scores:
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
