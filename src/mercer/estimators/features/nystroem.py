"""Nystroem features: a kernel on any objects as an inner product of its values on some landmarks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import scipy.linalg as la
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from mercer.arrays import Array, Floats
from mercer.errors import InputError, check_choice, check_whole
from mercer.estimators.base import DEFAULT_KERNEL, KernelEstimator, TrainingSet, check_is_fitted
from mercer.estimators.features.seeds import generator
from mercer.estimators.progress import Meter
from mercer.estimators.summary import Summary
from mercer.grams import GramOperator
from mercer.grams.chunks.rows import ChunkedRows, pool
from mercer.grams.low_rank import LandmarkFeatures, from_landmarks, landmark_features, rows_drawn
from mercer.grams.thinning import rows_held, thin
from mercer.inputs import Rows, columns_of, is_frame, like
from mercer.kernels.base import Kernel
from mercer.planning import Route, Shape, entry_rate, gemm_rate
from mercer.registry import estimator

RULES = ("rpcholesky", "uniform", "kmeans", "thinned")

#: "thinned" chooses among this many rows per landmark, and among at least FEWEST.
PER_LANDMARK, FEWEST = 50, 20_000


@estimator
class Nystroem(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator):
    """Map x to f(x) with f(x)'f(z) = k(x, S) k(S, S)^-1 k(S, z) for m landmarks S: any kernel, on any input.

    f(x)'f(z) = k(x, z) wherever x or z is a landmark, and k(x, x) - ||f(x)||^2 >= 0 is what the landmarks miss of x.

    Parameters
    ----------
    kernel : Kernel or str, default Gaussian(length_scale="median")
        Strings, graphs and tables too.
    n_components : int, default 100
        The number of landmarks, at most; no more than there are rows, and fewer where they are enough.
    landmarks : "rpcholesky", "uniform", "kmeans", "thinned" or a collection
        "rpcholesky" draws each landmark with probability proportional to what the others miss (randomly pivoted
        Cholesky, in blocks). "kmeans" takes centers of the rows, which must be vectors. "thinned" takes rows whose mean in
        feature space is nearly that of all (`mercer.thin`). A collection is taken as it is.
    random_state : int, RandomState or None

    Attributes
    ----------
    components_ : the landmarks
    component_indices_ : (m,) their rows in the training data; None for "kmeans" and given landmarks
    normalization_ : (m, m) array with f(x) = normalization_ k(S, x)
    missed_ : float, the share of the trace of k(X, X) that the features miss; measured on the rows the landmarks come from

    >>> import numpy as np, mercer
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> F = mercer.Nystroem(mercer.Gaussian(2.0), n_components=60, random_state=0).fit_transform(X)
    >>> bool(np.abs(F @ F.T - mercer.Gaussian(2.0)(X)).max() < 1e-4)
    True
    """

    _keeps_rows = False
    _stored: ClassVar[dict[str, str]] = {
        "components_": "rows m d",
        "component_indices_": "None | int (m,) >= 0",
        "_triangle": "absent | triangle (m, m)",
        "_read_normalization": "absent | float (r, m)",
        "_index": "int (m,) >= 0",
        "missed_": "absent | real",
    }

    def __init__(
        self,
        kernel: Any = DEFAULT_KERNEL,
        *,
        n_components: int = 100,
        landmarks: Any = "rpcholesky",
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.landmarks = landmarks
        self.random_state = random_state

    _takes_chunks = True

    def fit(self, X: Any, y: Any = None) -> Nystroem:
        """Choose the landmarks."""
        fitted: Nystroem = self._fit(X)
        return fitted

    def _check_parameters(self) -> None:
        check_whole("Nystroem", "n_components", self.n_components, 1)
        if isinstance(self.landmarks, str):
            check_choice("Nystroem", "landmarks", self.landmarks, RULES)

    def _solve(self, data: TrainingSet, route: Route, meter: Meter) -> tuple[LandmarkFeatures, float]:
        rng = generator(self.random_state)
        if isinstance(self.landmarks, str):
            return _chosen(data.kernel, data.X, int(self.n_components), self.landmarks, rng)
        found = from_landmarks(data.kernel, _given(self.landmarks, data.X), None)
        return found, _missed(data.kernel, found, data.X, rng)

    def _store(self, data: TrainingSet, solution: tuple[LandmarkFeatures, float]) -> None:
        found, self.missed_ = solution
        self.components_, self._triangle, self._index = found.landmarks, found.triangle, found.index
        self.component_indices_ = found.index if isinstance(self.landmarks, str) and self.landmarks != "kmeans" else None

    def with_coefficients(
        self, kernel: Kernel, landmarks: Any, normalization: Array, index: Any, columns: int, names: Any
    ) -> Nystroem:
        """Set the fitted attributes from the landmarks that scikit-learn chose, and return self."""
        self._begin_read_in(kernel, columns, names)
        self.components_, self.component_indices_ = landmarks, None if index is None else np.asarray(index, dtype=np.int64)
        self._index = np.arange(len(normalization)) if index is None else np.asarray(index, dtype=np.int64)
        self._read_normalization, self.missed_ = np.asarray(normalization, dtype=np.float64), float("nan")
        return self

    def _check_loaded(self) -> None:
        if ("_triangle" in self.__dict__) == ("_read_normalization" in self.__dict__):
            raise InputError("Nystroem needs one normalization; the file is damaged or was changed.")

    def transform(self, X: Any) -> Array:
        """Return f(x) for every row, (n, number of landmarks)."""
        check_is_fitted(self)
        new = self._read(X, reset=False)
        if self._read_in:
            return like(np.asarray(GramOperator(self.kernel_, new, self.components_) @ self.normalization_.T), new)
        return like(self._map()(new), new)

    @property
    def normalization_(self) -> Floats:
        """(m, m) array with f(x) = normalization_ k(S, x): the inverse of the Cholesky factor of k(S, S)."""
        check_is_fitted(self)
        if self._read_in:
            return self._read_normalization
        return np.asarray(la.solve_triangular(self._triangle, np.eye(len(self._triangle)), lower=True))

    def _map(self) -> LandmarkFeatures:
        return LandmarkFeatures(self.kernel_, self.components_, self._index, self._triangle)

    @property
    def _n_features_out(self) -> int:
        return len(self._index)

    def _routes(self, shape: Shape) -> tuple[Route, ...]:
        m = min(int(self.n_components), shape.n)
        drawn = rows_drawn(shape.n, m)
        seconds = drawn * m * (2.0 * m / gemm_rate() + 1.0 / entry_rate())
        held = 8 * m * (drawn + 3 * m)
        if isinstance(self.landmarks, str) and self.landmarks == "thinned":
            held += 12 * rows_held(_candidates(shape.n, m), m) ** 2  # the Gram matrix, and a copy in float32
        return (Route("nystroem", held, seconds, f"{m} landmarks", exact=False),)

    def _chunk_routes(self, shape: Shape, rows: ChunkedRows) -> tuple[Route, ...]:
        rule = self.landmarks if isinstance(self.landmarks, str) else "given"
        if rule == "kmeans":
            raise InputError(
                "Nystroem: landmarks='kmeans' needs all rows at once; on chunks use 'rpcholesky', 'thinned' or 'uniform'."
            )
        # uniform landmarks are drawn in one pass, and what they miss is measured on rows of a second one
        looks = 0 if rows.once else 3 if rule == "thinned" else 2 if rule == "uniform" else 1
        (route,) = self._routes(shape)
        return (replace(route, passes=rows.passes_before(self._given_kernel()) + looks),)

    def _summary(self) -> Summary:
        lines = (
            ("kernel", repr(self.kernel_)),
            ("landmarks", f"{len(self._triangle)}, {self.landmarks if isinstance(self.landmarks, str) else 'given'}"),
            ("missed", f"{100 * self.missed_:.3g} % of the trace"),
        )
        return Summary(repr(self), lines, {"n_components": len(self._triangle), "missed": self.missed_})


def _given(landmarks: Any, X: Any) -> Rows:
    given = Rows(landmarks, "landmarks")
    width = columns_of(X)
    if width is not None and width != (own := given.vectors().shape[1]):
        raise InputError(f"Nystroem: landmarks have {own} columns, but X has {width}.")
    return given


def _chosen(kernel: Kernel, X: Any, count: int, rule: str, rng: np.random.Generator) -> tuple[LandmarkFeatures, float]:
    """Landmarks by a rule, and what they miss."""
    if rule == "rpcholesky":
        return landmark_features(kernel, X, count, rng)
    n, take = pool(X)
    if rule == "uniform":
        index = np.sort(rng.choice(n, size=min(count, n), replace=False))
        found = from_landmarks(kernel, Rows(take(index)), index)
    elif rule == "thinned":
        drawn = np.sort(rng.choice(n, size=_candidates(n, count), replace=False))
        index = drawn[thin(take(drawn), min(count, n), kernel, random_state=int(rng.integers(2**31 - 1)))]
        found = from_landmarks(kernel, Rows(take(index)), index)
    else:
        found = from_landmarks(kernel, _centers(Rows(X), min(count, n), rng), None)
    return found, _missed(kernel, found, X, rng)


def _candidates(n: int, count: int) -> int:
    """Return among how many of n rows "thinned" chooses."""
    return min(n, max(PER_LANDMARK * count, FEWEST))


def _missed(kernel: Kernel, found: LandmarkFeatures, X: Any, rng: np.random.Generator, most: int = 2000) -> float:
    """The share of the trace that the features miss, on some random rows."""
    n, take = pool(X)
    part = take(np.arange(n) if n <= most else np.sort(rng.choice(n, size=most, replace=False)))
    diagonal = np.asarray(kernel.diag(part), dtype=np.float64)
    left = diagonal - np.einsum("ij,ij->i", *[found(part)] * 2)
    return float(np.maximum(left, 0.0).sum() / diagonal.sum()) if diagonal.sum() > 0 else 0.0


def _centers(rows: Rows, count: int, rng: np.random.Generator) -> Rows:
    from sklearn.cluster import MiniBatchKMeans

    X = rows.data
    if columns_of(X) is None or is_frame(X):
        raise InputError("Nystroem: landmarks='kmeans' needs rows of numbers; use 'rpcholesky' for other objects.")
    seed = int(rng.integers(2**31 - 1))
    model = MiniBatchKMeans(count, random_state=seed, n_init=1, batch_size=max(1024, 3 * count)).fit(X)
    return Rows(model.cluster_centers_, "landmarks")
