"""Kernel logistic regression in the span of landmarks, from sums over rows in memory or in chunks.

The features are Phi = K_xs L^-T with k(S, S) = L L'. Latent values are Phi V = K_xs (L^-T V) and slopes are
Phi'G = L^-1 (K_xs'G), so that a step needs kernel values and no features of all rows. Only a sample has features: its second
derivatives precondition the steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as la

from mercer.arrays import Array, Floats, Indices
from mercer.estimators.logistic.fitting import ClassRows, LogisticFit
from mercer.grams.chunks.rows import ChunkedRows
from mercer.grams.dual_function import DualFunction
from mercer.grams.low_rank import LandmarkFeatures, draw_rows, landmark_features
from mercer.inputs import Rows
from mercer.inputs.chunks import Chunk
from mercer.inputs.labels import class_weights, classes_of, encode
from mercer.kernels.base import Kernel
from mercer.linalg import logistic
from mercer.linalg.logistic import FeatureSums, HeldFeatures, LinearLogistic, feature_objectives, fit_features, one_hot
from mercer.numeric.tiles import row_blocks

#: The sample has this many rows per landmark, and at least FEWEST. Up to twice as many rows are all in the sample.
ROWS_PER_LANDMARK, FEWEST = 8, 4000

#: Rows of a chunk whose kernel values are in memory at a time.
BLOCK_ROWS = 8192


def sample_size(n: int, m: int) -> int:
    """Return how many of n rows are the sample for m landmarks."""
    size = max(ROWS_PER_LANDMARK * m, FEWEST)
    return n if n <= 2 * size else size


def fit_landmarks(
    kernel: Kernel, X: Any, labels: ClassRows, C: float, count: int, rng: np.random.Generator, *,
    intercept: bool, tol: float, max_iter: int,
) -> LogisticFit:  # fmt: skip
    """Fit to rows in memory; the function is an expansion on the landmarks."""
    used = labels.used
    kept = Rows(X).take(used).data if len(used) < len(labels.codes) else X
    features, _ = landmark_features(kernel, kept, count, rng)
    Y, w = one_hot(labels.codes[used], len(labels.classes)), labels.weights[used]
    size = sample_size(len(used), features.n_components)
    if size == len(used):
        sample = HeldFeatures(features(kept), Y, w)
        rows: FeatureSums = sample
    else:
        drawn = np.sort(rng.choice(len(used), size, replace=False))
        sample = HeldFeatures(features(Rows(kept).take(drawn).data), Y[drawn], w[drawn] * (w.sum() / w[drawn].sum()))
        rows = HeldColumns(features, np.asarray(kernel(kept, features.landmarks), dtype=np.float64), Y, w)
    found = fit_features(rows, sample, C, intercept=intercept, tol=tol, max_iter=max_iter)
    return _as_expansion(kernel, features, labels.classes, rows, found, C, intercept)


def _as_expansion(
    kernel: Kernel, features: LandmarkFeatures, classes: Array, rows: FeatureSums, found: LinearLogistic, C: float,
    intercept: bool,
) -> LogisticFit:  # fmt: skip
    primal, below = feature_objectives(rows, found, C, intercept)
    function = DualFunction(kernel, features.landmarks, features.expansion(found.V), found.intercept)
    return LogisticFit(function, classes, primal, below, found.converged, found.n_iter, found.message)


def _raw(features: LandmarkFeatures, V: Floats) -> Floats:  # (m + 1, t) -> (m + 1, t)
    """Return coefficients of kernel values instead of features."""
    return np.vstack([features.expansion(V[:-1]), V[-1:]])


def _whitened(features: LandmarkFeatures, slopes: Floats) -> Floats:  # (m + 1, t) -> (m + 1, t)
    """Return slopes in coefficients of features, from those of kernel values."""
    own = la.solve_triangular(features.triangle, slopes[:-1], lower=True, check_finite=False)
    return np.vstack([own, slopes[-1:]])


@dataclass(frozen=True)
class HeldColumns:
    """Rows by their kernel values with the landmarks, in memory."""

    features: LandmarkFeatures
    K: Floats  # (n, m)
    Y: Floats  # (n, C)
    weights: Floats  # (n,)

    def row_sums(self, V: Floats) -> tuple[Floats, Floats]:
        """Return loss and slopes."""
        loss, slopes = logistic.row_sums(self.K, self.Y, self.weights, _raw(self.features, V))
        return loss, _whitened(self.features, slopes)

    def bound_sums(self, V: Floats) -> tuple[Floats, Floats, Floats]:
        """Return sums for the dual value."""
        values, slopes, H = logistic.bound_sums(self.K, self.Y, self.weights, _raw(self.features, V))
        return values, _whitened(self.features, slopes), H


@dataclass(frozen=True)
class ChunkClasses:
    """The classes of chunks and the factor of each in the weights of its rows."""

    what: str
    classes: Array  # (C,)
    factors: Floats  # (C,)

    @classmethod
    def of(cls, what: str, rows: ChunkedRows, class_weight: Any) -> ChunkClasses:
        """Find the classes and their weights in one pass."""
        found = [pair for pair in rows.map(_class_totals) if pair is not None]
        labels = np.concatenate([names for names, _ in found])
        totals = np.concatenate([sums for _, sums in found])
        classes = classes_of(what, labels, totals)
        codes = np.where(totals > 0, encode(what, np.where(totals > 0, labels, classes[0]), classes), -1)
        return cls(what, classes, class_weights(what, class_weight, classes, codes, totals))

    def read(self, chunk: Chunk) -> tuple[Indices, Floats, Floats]:
        """Return the rows of positive weight, with their classes (n, C) and weights (n,)."""
        w = np.ones(len(chunk)) if chunk.weights is None else chunk.weights
        used = np.flatnonzero(w > 0)
        codes = encode(self.what, chunk.y[used], self.classes)
        return used, one_hot(codes, len(self.classes)), w[used] * self.factors[codes]


def _class_totals(chunk: Chunk) -> tuple[Array, Floats]:
    labels, places = np.unique(chunk.y, return_inverse=True)
    return labels, np.bincount(places, chunk.weights, minlength=len(labels)).astype(np.float64)


def fit_chunks(
    kernel: Kernel, rows: ChunkedRows, labels: ChunkClasses, C: float, count: int, rng: np.random.Generator, *,
    intercept: bool, tol: float, max_iter: int,
) -> LogisticFit:  # fmt: skip
    """Fit to rows in chunks: one pass per step, with the landmarks and the sample in memory."""
    features, _ = landmark_features(kernel, rows, count, rng)
    size = sample_size(rows.n, features.n_components)
    drawn = rows.take(draw_rows(rows, size, rng))
    used, Y, w = labels.read(drawn)
    sample = HeldFeatures(features(Rows(drawn.X).take(used).data), Y, w * (rows.n / size))
    chunks = ChunkColumns(rows, labels, features)
    found = fit_features(chunks, sample, C, intercept=intercept, tol=tol, max_iter=max_iter)
    return _as_expansion(kernel, features, labels.classes, chunks, found, C, intercept)


@dataclass(frozen=True)
class ChunkColumns:
    """Rows in chunks; their kernel values with the landmarks are computed in every pass."""

    rows: ChunkedRows
    labels: ChunkClasses
    features: LandmarkFeatures

    def row_sums(self, V: Floats) -> tuple[Floats, Floats]:
        """Return loss and slopes after one pass."""
        loss, slopes = self.rows.sum(chunk_slopes, self.labels, self.features, _raw(self.features, V))
        return loss, _whitened(self.features, slopes)

    def bound_sums(self, V: Floats) -> tuple[Floats, Floats, Floats]:
        """Return sums for the dual value after one pass."""
        values, slopes, H = self.rows.sum(chunk_bounds, self.labels, self.features, _raw(self.features, V))
        return values, _whitened(self.features, slopes), H


def chunk_slopes(chunk: Chunk, labels: ChunkClasses, features: LandmarkFeatures, V: Floats) -> tuple[Floats, ...]:
    """Return loss and slopes of one chunk."""
    return _chunk_sums(logistic.row_sums, chunk, labels, features, V)


def chunk_bounds(chunk: Chunk, labels: ChunkClasses, features: LandmarkFeatures, V: Floats) -> tuple[Floats, ...]:
    """Return sums for the dual value of one chunk."""
    return _chunk_sums(logistic.bound_sums, chunk, labels, features, V)


def _chunk_sums(sums: Any, chunk: Chunk, labels: ChunkClasses, features: LandmarkFeatures, V: Floats) -> tuple[Floats, ...]:
    used, Y, w = labels.read(chunk)
    X, total = Rows(chunk.X), None
    for rows in row_blocks(len(used), BLOCK_ROWS) or [slice(0, 0)]:
        K = np.zeros((0, len(V) - 1))
        if rows.stop:
            K = np.asarray(features.kernel(X.take(used[rows]).data, features.landmarks), dtype=np.float64)
        found = sums(K, Y[rows], w[rows], V)
        total = found if total is None else tuple(a + b for a, b in zip(total, found, strict=True))
    assert total is not None
    return total
