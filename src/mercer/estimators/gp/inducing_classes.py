"""Gaussian process classification through inducing rows: O(n m^2) per Newton step, from sums over rows or chunks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray

from mercer.arrays import Array, Floats, Indices
from mercer.errors import InputError, NumericalError
from mercer.estimators.gp.chunked import AtSetting, ColumnAverages, as_numbers, rows_seen, table_sums
from mercer.estimators.gp.inducing import BLOCK_ROWS, candidates_of, chosen_of, whitener
from mercer.estimators.gp.laplace import LatentProblem
from mercer.estimators.gp.problem import EngineSettings, RowsSeen
from mercer.grams import GramOperator
from mercer.grams.chunks.rows import ChunkedRows
from mercer.inputs import take
from mercer.inputs.chunks import Chunk
from mercer.inputs.labels import classes_of, encode
from mercer.kernels.base import Kernel
from mercer.linalg import class_features
from mercer.linalg.class_features import BackwardTerms, FeatureBlock, FeatureMode, find_feature_mode
from mercer.linalg.evidence import Evidence
from mercer.numeric.tiles import row_blocks
from mercer.registry import record

#: Default number of inducing rows. With C > 2 classes it is about MOST_UNKNOWNS / C, and at least FEWEST.
INDUCING, MOST_UNKNOWNS, FEWEST = 512, 2048, 128

#: An exact climb on this many rows comes before that on all rows: for two classes, and for more.
PART_ROWS, PART_ROWS_OF_MANY = 2000, 800


def inducing_number(asked: int | None, n_classes: int, n: int) -> int:
    """Return the number of inducing rows.

    >>> inducing_number(None, 2, 10_000), inducing_number(None, 7, 10_000), inducing_number(50, 2, 20)
    (512, 292, 20)
    """
    many = INDUCING if n_classes <= 2 else min(INDUCING, max(FEWEST, MOST_UNKNOWNS // n_classes))
    return min(n, many if asked is None else asked)


def part_rows(n_classes: int) -> int:
    """Return the number of rows of the exact climb."""
    return PART_ROWS if n_classes <= 2 else PART_ROWS_OF_MANY


@dataclass(frozen=True)
class ChunkedClasses:
    """Rows in chunks with their class labels."""

    X: ChunkedRows
    classes: Array  # (C,) sorted
    columns: ColumnAverages | None  # of dense rows
    what: str
    unit: float
    n_targets: int = 1

    @classmethod
    def of(cls, what: str, rows: ChunkedRows, unit: float) -> ChunkedClasses:
        """Find the classes and the averages of the columns in one pass."""
        X = rows.head.X
        wide = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f"
        shift = X.mean(axis=0) if wide else None
        found = [part for part in rows.map(classes_and_sums, shift) if part is not None]
        classes = classes_of(what, np.concatenate([labels for labels, _ in found]))
        columns = None if shift is None else ColumnAverages.of([sums for _, sums in found], shift)
        return cls(rows, classes, columns, what, unit)

    @property
    def n(self) -> int:
        """The number of rows."""
        return self.X.n

    @property
    def levels(self) -> int:
        """The number of classes."""
        return len(self.classes)

    @property
    def at_hand(self) -> bool:
        """False: every pass reads the rows again."""
        return False

    @property
    def flat(self) -> NDArray[np.bool_]:
        """False: there are at least two classes."""
        return np.array([False])

    def sizes(self) -> tuple[float, bool, float]:
        """Typical variance of f, whether y varies, and the largest class number."""
        return self.unit, True, float(self.levels - 1)

    def starting_rows(self, fit: bool) -> RowsSeen:
        """Return the rows for starting values; nothing is read if nothing is fitted."""
        return rows_seen(self.X, self.columns, fit)

    def part(self, rows: Indices) -> LatentProblem:
        """Return the problem of some rows, in memory."""
        chunk = self.X.take(rows)
        codes = encode(self.what, chunk.y, self.classes)
        return LatentProblem(chunk.X, codes, "classes", self.levels, unit=self.unit, intercept=False)


def classes_and_sums(chunk: Chunk, shift: Array | None) -> tuple[Array, tuple[Array, ...]]:
    """Return the labels that occur in a chunk, and the sums of its columns for `ColumnAverages`."""
    return np.unique(chunk.y), () if shift is None else table_sums(chunk.X, shift)


@dataclass(frozen=True)
class Induced:
    """A kernel with its inducing rows."""

    kernel: Kernel
    Z: Any
    L: Floats  # (m, m) k(Z, Z) = L L'
    jitter: float

    @classmethod
    def of(cls, kernel: Kernel, Z: Any) -> Induced:
        """Factor the values among the inducing rows."""
        with as_numbers():
            return cls(kernel, Z, *whitener(np.asarray(kernel(Z), dtype=np.float64)))

    def features(self, values: Array) -> Floats:  # (r, m) of k(x, Z) -> (r, m)
        """Return L^-1 k(Z, x) of rows."""
        return np.asarray(la.solve_triangular(self.L, np.asarray(values, np.float64).T, lower=True, check_finite=False).T)

    def block(self, K: GramOperator, rows: slice, codes: Indices, prior: Floats) -> FeatureBlock:
        """Return the features of some rows of K = k(X, Z)."""
        Phi = self.features(K.block(rows, slice(None)))
        left = np.maximum(prior[rows] - np.einsum("ij,ij->i", Phi, Phi), 0.0)
        return FeatureBlock(Phi, left, codes[rows], np.ones(len(Phi)))

    def of_inducing(self, sums: Floats) -> Floats:  # (m, m) -> (p,)
        """Return the gradient through k(Z, Z) from the sum of slopes times features."""
        half = la.solve_triangular(self.L, -0.5 * sums, lower=True, trans="T", check_finite=False)
        whole = la.solve_triangular(self.L, half.T, lower=True, trans="T", check_finite=False)
        return self.kernel.pullback(self.Z, weights=0.5 * (whole + whole.T))


class RowsInMemory:
    """Features of all rows at one setting."""

    def __init__(self, induced: Induced, problem: LatentProblem) -> None:
        self.induced, self.codes = induced, np.asarray(problem.y, dtype=np.intp)
        self.K = GramOperator(induced.kernel, problem.X, induced.Z)
        prior = np.asarray(self.K.row_diag(), dtype=np.float64)
        self.places = row_blocks(problem.n, BLOCK_ROWS)
        self.blocks = [induced.block(self.K, rows, self.codes, prior) for rows in self.places]

    def sum(self, work: Callable[..., tuple[Array, ...]], *shared: Any) -> tuple[Array, ...]:
        """Return the sum of work over blocks of rows."""
        total: tuple[Array, ...] | None = None
        for block in self.blocks:
            part = work(block, *shared)
            total = part if total is None else tuple(a + b for a, b in zip(total, part, strict=True))
        assert total is not None
        return total

    def gradient(self, back: BackwardTerms) -> Floats:  # -> (p,)
        """Return the gradient of the value in theta."""
        theta, among = self.pulled(back)
        return np.asarray(theta + self.induced.of_inducing(among))

    def pulled(self, back: BackwardTerms) -> tuple[Floats, Floats]:
        """Return the gradient through these rows (p,), and the sum that `of_inducing` takes (m, m)."""
        theta, own, among = np.zeros(len(self.induced.kernel.theta)), [], np.zeros(self.induced.L.shape)
        for rows, block in zip(self.places, self.blocks, strict=True):
            slopes, diagonal = class_features.feature_slopes(block, back)
            weights = la.solve_triangular(self.induced.L, slopes.T, lower=True, trans="T", check_finite=False).T
            theta += self.K.pullback(rows.start, weights)
            among += slopes.T @ block.Phi
            own.append(diagonal)
        return theta + self.K.diag_pullback(np.concatenate(own)), among


class RowsInChunks:
    """Rows in chunks at one setting; kernel values are computed in every pass."""

    def __init__(self, induced: Induced, problem: ChunkedClasses) -> None:
        self.induced, self.problem = induced, problem

    def sum(self, work: Callable[..., tuple[Array, ...]], *shared: Any) -> tuple[Array, ...]:
        """Return the sum of work after one pass."""
        at = AtSetting(over_chunk, self.induced.kernel, 1.0)
        found: tuple[Array, ...] = self.problem.X.sum(
            at, work, self.induced, self.problem.what, self.problem.classes, shared
        )
        if not all(np.isfinite(part).all() for part in found):
            raise NumericalError(f"{self.induced.kernel}: sums over these rows overflow; scale the columns.")
        return found

    def gradient(self, back: BackwardTerms) -> Floats:  # -> (p,)
        """Return the gradient of the value in theta after one pass."""
        at = AtSetting(gradient_of_chunk, self.induced.kernel, 1.0)
        theta, among = self.problem.X.sum(at, self.induced, self.problem.what, self.problem.classes, back)
        return np.asarray(theta + self.induced.of_inducing(among))


def over_chunk(
    chunk: Chunk,
    work: Callable[..., tuple[Array, ...]],
    induced: Induced,
    what: str,
    classes: Array,
    shared: tuple[Any, ...],
) -> tuple[Array, ...]:
    """Return the sum of work over the rows of a chunk."""
    return RowsInMemory(induced, _problem_of(chunk, what, classes)).sum(work, *shared)


def gradient_of_chunk(
    chunk: Chunk, induced: Induced, what: str, classes: Array, back: BackwardTerms
) -> tuple[Floats, Floats]:
    """Return the contribution of a chunk to the gradient through its rows (p,), and to that through k(Z, Z) (m, m)."""
    return RowsInMemory(induced, _problem_of(chunk, what, classes)).pulled(back)


def _problem_of(chunk: Chunk, what: str, classes: Array) -> LatentProblem:
    return LatentProblem(chunk.X, encode(what, chunk.y, classes), "classes", len(classes), intercept=False)


class InducingClassEngine:
    """Laplace's approximation in the span of inducing rows by randomly pivoted Cholesky, chosen again between ascents."""

    rounds, tol_per_row, max_steps = 2, 1e-4, 12
    spread: Floats | None = None  # variances of the latent values of the rows are not known

    def __init__(self, settings: EngineSettings, n_classes: int) -> None:
        self.part_rows = part_rows(n_classes)
        self._settings = settings
        self._candidates: Any = None  # rows; drawn once
        self._chosen: Any = None
        self._start: Floats | None = None

    def prepare(self, problem: LatentProblem | ChunkedClasses, kernel: Kernel, noise: Any) -> None:
        """Choose the inducing rows for this kernel."""
        m = inducing_number(self._settings.n_inducing, problem.levels, problem.n)
        index, rng = candidates_of(problem.n, m, self._settings.seed)
        if self._candidates is None:
            self._candidates = problem.X.take(index).X if isinstance(problem, ChunkedClasses) else take(problem.X, index)
        self._chosen, self._start = chosen_of(kernel, self._candidates, m, rng), None

    def evidence(self, problem: LatentProblem | ChunkedClasses, kernel: Kernel, noise: Any, gradient: bool) -> Evidence:
        """Return the value and its gradient in theta; see `mercer.linalg.class_features`."""
        mode, induced, rows = self._mode(problem, kernel)
        if not np.isfinite(mode.evidence):
            raise NumericalError(f"{kernel}: the values of the kernel overflow on these rows; scale the columns.")
        if not gradient:
            return Evidence(mode.evidence, jitter=induced.jitter)
        return Evidence(mode.evidence, rows.gradient(class_features.backward(rows, mode)), np.zeros(0), induced.jitter)

    def posterior(
        self, problem: LatentProblem | ChunkedClasses, kernel: Kernel, noise: Any
    ) -> tuple[InducedClassPosterior, FeatureMode]:
        """Return the latent posterior, through inducing rows chosen for this kernel, and the mode."""
        self.prepare(problem, kernel, noise)
        mode, induced, _ = self._mode(problem, kernel)
        dual = la.solve_triangular(induced.L, mode.C, lower=True, trans="T", check_finite=False)
        dual = dual[:, 0] if problem.levels == 2 else dual
        return InducedClassPosterior(kernel, induced.Z, np.ascontiguousarray(dual), induced.L, mode.LA, induced.jitter), mode

    def _mode(
        self, problem: LatentProblem | ChunkedClasses, kernel: Kernel
    ) -> tuple[FeatureMode, Induced, RowsInMemory | RowsInChunks]:
        if self._chosen is None:
            self.prepare(problem, kernel, None)
        induced = Induced.of(kernel, self._chosen)
        rows: RowsInMemory | RowsInChunks
        if isinstance(problem, ChunkedClasses):
            rows = RowsInChunks(induced, problem)
        else:
            rows = RowsInMemory(induced, problem)
        functions = 1 if problem.levels == 2 else problem.levels
        mode = find_feature_mode(rows, (len(induced.L), functions), start=self._start)
        self._start = mode.C if mode.converged else None
        return mode, induced, rows


@record()
@dataclass(frozen=True)
class InducedClassPosterior:
    """Latent processes of classes that depend on the data only through their values at the inducing rows X."""

    _stored: ClassVar[dict[str, str]] = {
        "kernel": "kernel",
        "X": "rows m",
        "dual": "float (m, *_)",
        "L": "triangle (m, m)",
        "LA": "triangle (k, k)",
        "jitter": "real",
    }

    kernel: Kernel
    X: Any  # (m rows)
    dual: Floats  # (m,), or (m, C) for C > 2 classes
    L: Floats  # (m, m) k(X, X) = L L'
    LA: Floats  # (T m, T m) the second derivatives in the coefficients of T functions are LA LA'
    jitter: float

    def __post_init__(self) -> None:
        if self.LA.shape[:1] != (self.dual.size,):
            raise InputError(f"second derivatives of shape {self.LA.shape} do not belong to {self.dual.size} coefficients.")

    @cached_property
    def _inverse(self) -> Floats:  # (T, m, T, m); a model file does not hold it
        m = len(self.dual)
        return class_features.inverse_from(self.LA, m, self.dual.size // m)

    def mean(self, X: Any) -> Floats:  # -> (r,) or (r, C)
        """E f(x)."""
        return GramOperator(self.kernel, X, self.X).times(self.dual)

    def latent(self, X: Any) -> tuple[Floats, Floats]:  # -> (r,), (r,) or (r, C), (r, C, C)
        """Means of f(x), and variances, or covariances between the classes."""
        K, T = GramOperator(self.kernel, X, self.X), len(self._inverse)
        prior = np.asarray(self.kernel.diag(X), dtype=np.float64)
        covariance = np.empty((len(prior), T, T))
        for rows in row_blocks(len(prior), BLOCK_ROWS):
            values = np.asarray(K.block(rows, slice(None)), dtype=np.float64)
            Phi = la.solve_triangular(self.L, values.T, lower=True, check_finite=False).T
            left = np.maximum(prior[rows] - np.einsum("ij,ij->i", Phi, Phi), 0.0)
            covariance[rows] = class_features.row_covariances(Phi, self._inverse) + left[:, None, None] * np.eye(T)
        return K.times(self.dual), covariance[:, 0, 0].copy() if T == 1 else covariance
