"""A Gram matrix of low rank from some of its rows: landmarks, K ~ F F', and the same features for new rows.

With landmarks S and k(S, S) = L L' the features are f(x) = L^-1 k(S, x), the coordinates of the projection of phi(x) on
the span of phi(S). So <f(x), f(z)> = k(x, z) whenever one of the two is a landmark, and k(x, x) - ||f(x)||^2 >= 0 is the
residual of x. Landmarks are drawn by randomly pivoted Cholesky: the next one with probability proportional to its residual.
F F' is then nearly the best matrix of its rank (Chen, Epperly, Tropp and Webber 2022).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.linalg as la

from mercer.arrays import Array, Floats, Indices
from mercer.errors import CapabilityError, InputError, check_whole
from mercer.grams.chunks.rows import ChunkedRows
from mercer.grams.operator import GramOperator
from mercer.inputs import Rows, as_rows, widened
from mercer.kernels.base import Kernel
from mercer.kernels.parsing import as_kernel
from mercer.linalg.pivoted_cholesky import pivoted_cholesky
from mercer.numeric.memory import check_fits, parse_bytes
from mercer.numeric.threads import Progress
from mercer.registry import record

#: Bytes of kernel values held at a time while features of new rows are made.
BYTES_AT_A_TIME = 64 * 2**20

#: Landmarks are drawn from this many rows per landmark, and from at least FEWEST_ROWS. The factor of all rows need not be
#: held, and the choice costs little compared with one pass over the rows. Benchmark: flights-nystroem.
ROWS_PER_LANDMARK, FEWEST_ROWS = 5, 5000

#: Pivots of k(S, S) below this share of its largest entry are rounding: given landmarks may repeat each other.
REPEATED = 1e-12

REMEDY = "Take fewer landmarks, or raise memory=."


@record()
@dataclass(frozen=True)
class LandmarkFeatures:
    """f(x) = L^-1 k(S, x) for landmarks S with k(S, S) = L L': a finite feature map of any kernel on any input.

    Parameters
    ----------
    kernel : Kernel, without "median"
    landmarks : collection of m objects; for kernel values (Precomputed) their places among the training rows
    index : (m,) positions of the landmarks in the collection they were drawn from
    triangle : (m, m) L, lower triangular
    """

    _stored: ClassVar[dict[str, str]] = {
        "kernel": "kernel",
        "landmarks": "rows m",
        "index": "int (m,) >= 0",
        "triangle": "triangle (m, m)",
    }

    kernel: Kernel
    landmarks: Any
    index: Indices
    triangle: Floats

    @property
    def n_components(self) -> int:
        """The number of landmarks, which is that of features."""
        return len(self.index)

    def __call__(self, X: Any) -> Floats:
        """Return the features of new rows, (n, m)."""
        new = Rows(X)
        step = max(1, BYTES_AT_A_TIME // (8 * self.n_components))
        out = np.empty((len(new), self.n_components))
        for start in range(0, len(new), step):
            part = slice(start, min(start + step, len(new)))
            K = np.asarray(self._values(new.take(part).data), dtype=np.float64)
            out[part] = la.solve_triangular(self.triangle, K.T, lower=True, overwrite_b=True, check_finite=False).T
        return out

    def expansion(self, coordinates: Array) -> Floats:  # (m, r) -> (m, r)
        """Coefficients c of vectors w given by their features: w = sum_j c_j phi(s_j), so that <w, phi(x)> = k(x, S) c."""
        return np.asarray(la.solve_triangular(self.triangle, coordinates, lower=True, trans="T", check_finite=False))

    def _values(self, X: Any) -> Array:  # -> (n, m)
        return self.kernel(X, self.landmarks)


@dataclass(frozen=True)
class LowRank:
    """K ~ F F' with F = f(X): the factor, its residual, and the feature map.

    `factor` is (n, m); `residual` is diag(K - F F'), >= 0; `missed` is the share of the trace of K that is not in F F'.
    """

    features: LandmarkFeatures
    factor: Floats
    residual: Floats
    missed: float

    @property
    def index(self) -> Indices:
        """The row numbers of the landmarks, in the order in which they were drawn."""
        return self.features.index


def low_rank(
    kernel: Any,
    X: Any,
    n_landmarks: int,
    *,
    rng: np.random.Generator | None = None,
    memory: int | float | str | None = None,
    progress: Progress | None = None,
) -> LowRank:
    """Draw landmarks from X and return K ~ F F' with the feature map; any kernel, any collection.

    Fewer landmarks are returned if the Gram matrix has a smaller rank: all residuals are then below 1e-10 times the largest
    k(x, x). Cost: n m kernel values and n m^2 operations; memory: that of F.

    Parameters
    ----------
    kernel : Kernel or str
    X : collection
    n_landmarks : int
        At most this many; no more than there are rows.
    rng : numpy Generator, optional
        By default the draws are the same in every call.
    memory : bytes or text such as "4 GB", optional
        Budget for the factor.

    >>> import numpy as np
    >>> from mercer import Polynomial
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> found = low_rank(Polynomial(2), X, 20)  # the kernel has 6 features, so its Gram matrix has rank 6
    >>> found.factor.shape, bool(np.allclose(found.factor @ found.factor.T, Polynomial(2)(X)))
    ((50, 6), True)
    >>> bool(np.allclose(found.features(X[:3]), found.factor[:3]))
    True
    """
    kernel, rows = as_kernel(kernel), as_rows(X)
    n, m = len(rows), min(check_whole("low_rank", "n_landmarks", n_landmarks, 1), len(rows))
    check_fits(8 * n * m, f"the factor of shape ({n}, {m})", REMEDY, parse_bytes(memory))
    K = GramOperator(kernel, rows)
    diagonal = np.asarray(K.diag(), dtype=np.float64)
    if diagonal.min() < 0:
        row = int(diagonal.argmin())
        raise InputError(f"{kernel}: k(x, x) = {diagonal[row]:.3g} < 0 for row {row}, so it is not a kernel.")
    reached = 0

    def columns(chosen: Array) -> Array:
        nonlocal reached
        reached = min(m, reached + len(chosen))
        if progress is not None:
            progress(reached, m)
        return K.rows(chosen).T

    pivots = pivoted_cholesky(columns, diagonal, m, rule="random", rng=rng)
    if len(pivots.index) == 0:  # k(x, x) = 0 for every row: one landmark with the feature 0
        pivots = type(pivots)(np.zeros(1, np.intp), pivots.residual, np.zeros((n, 1)))
    triangle = np.tril(pivots.factor[pivots.index])
    triangle[np.diag_indices_from(triangle)] += triangle.diagonal() == 0.0  # 0 / 1 = 0 in that one case
    features = LandmarkFeatures(kernel, kernel.keep(rows, pivots.index), pivots.index, triangle)
    trace = float(diagonal.sum())
    return LowRank(features, pivots.factor, pivots.residual, float(pivots.residual.sum()) / trace if trace > 0 else 0.0)


def rows_drawn(n: int, count: int) -> int:
    """Return how many of n rows are candidates for landmarks."""
    return min(n, max(ROWS_PER_LANDMARK * count, FEWEST_ROWS))


def landmark_features(kernel: Kernel, X: Any, count: int, rng: np.random.Generator) -> tuple[LandmarkFeatures, float]:
    """Return features of landmarks drawn by randomly pivoted Cholesky, and the share of the trace that they miss."""
    if isinstance(X, ChunkedRows):
        return _from_chunks(kernel, X, count, rng)
    rows = Rows(X)
    n = len(rows)
    if n <= rows_drawn(n, count):
        found = low_rank(kernel, X if kernel.given else widened(X), count, rng=rng, memory=float("inf"))
        return found.features, found.missed
    drawn = np.sort(rng.choice(n, size=rows_drawn(n, count), replace=False))
    part = rows.take(drawn)
    found = low_rank(kernel, part if kernel.given else widened(part.data), count, rng=rng, memory=float("inf"))
    own = found.features
    return LandmarkFeatures(own.kernel, own.landmarks, drawn[own.index], own.triangle), found.missed


def _from_chunks(kernel: Kernel, rows: ChunkedRows, count: int, rng: np.random.Generator) -> tuple[LandmarkFeatures, float]:
    """Return the same landmarks for rows in chunks; only the candidates are held in memory."""
    drawn = draw_rows(rows, rows_drawn(rows.n, count), rng)
    found = low_rank(kernel, rows.take(drawn).X, count, rng=rng, memory=float("inf"))
    own = found.features
    return LandmarkFeatures(own.kernel, own.landmarks, drawn[own.index], own.triangle), found.missed


def draw_rows(rows: ChunkedRows, size: int, rng: np.random.Generator) -> Indices:
    """Return the numbers of some random rows, ascending; all rows if there are no more."""
    return np.arange(rows.n) if rows.n <= size else np.sort(rng.choice(rows.n, size=size, replace=False))


def from_landmarks(kernel: Kernel, rows: Rows, index: Indices | None) -> LandmarkFeatures:
    """Return the feature map of given landmarks, without those in the span of earlier ones."""
    if kernel.given:
        raise CapabilityError("Nystroem: a precomputed kernel has no other rows than its own; use landmarks='rpcholesky'.")
    K = np.asarray(kernel(widened(rows.data)), dtype=np.float64)
    scale = float(K.diagonal().max(initial=0.0))
    factor, pivots, rank, _ = la.lapack.dpstrf(K, lower=1, tol=REPEATED * scale * len(K) if scale > 0 else -1.0)
    kept = pivots[: max(1, rank)] - 1
    triangle = np.tril(factor[: len(kept), : len(kept)])
    if scale == 0:
        triangle = np.ones((1, 1))
    own = np.arange(len(rows)) if index is None else index
    return LandmarkFeatures(kernel, rows.take(kept).data, own[kept], triangle)
