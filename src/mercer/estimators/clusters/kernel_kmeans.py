"""`KernelKMeans`: clusters whose centers are means in feature space, with `predict` for new rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning

from mercer.arrays import Floats, Indices
from mercer.errors import InputError, check_whole, describe, warn
from mercer.estimators.base import DEFAULT_KERNEL, KernelEstimator, TrainingSet, check_is_fitted
from mercer.estimators.clusters.description import cluster_names, nearest_rows, silhouettes
from mercer.estimators.clusters.landmarks import VALUES, centers_at, first_centers, sampled_rows, settled
from mercer.estimators.clusters.lloyd import Partition, best_partition, center_distances, lloyd, prediction_strength
from mercer.estimators.clusters.spectral import SpectralEmbedding, spectral_embedding
from mercer.estimators.progress import Meter
from mercer.estimators.summary import Summary
from mercer.grams import GramOperator, gram
from mercer.grams.chunks.rows import ChunkedRows
from mercer.grams.low_rank import landmark_features, rows_drawn
from mercer.inputs import count, is_frame
from mercer.kernels.vectors import Linear
from mercer.numeric.memory import format_bytes
from mercer.planning import Route, Shape, entry_rate, gemm_rate
from mercer.registry import estimator

#: Landmarks of the route for many rows, and passes that its estimate of time counts with.
LANDMARKS, PASSES = 1000, 20

#: The largest number of clusters that "auto" tries, the strength it asks for, and how often rows are cut in halves.
MOST_CLUSTERS, STRENGTH, SPLITS = 10, 0.8, 5

#: Rows that "auto" looks at.
AUTO_ROWS = 1500


@dataclass(frozen=True)
class Clusters:
    """What a fit finds: the partition, the rows that centers are combinations of, and an embedding if it is spectral."""

    partition: Partition
    anchors: Any
    sizes: Floats  # (k,)
    embedding: SpectralEmbedding | None = None


@estimator
class KernelKMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, KernelEstimator):
    """Clusters around means in feature space: minimize the sum of squared distances ||phi(x) - center||^2.

    Distances come from kernel values alone, so that strings, graphs, molecules, series and tables are clustered too. With
    `spectral=True` it is spectral clustering, with a rule for new rows.

    Parameters
    ----------
    kernel : Kernel or str, default Gaussian(length_scale="median")
    n_clusters : int or "auto", default 8
        "auto" takes the largest number, 1 included, whose clusters of one random half of the rows are those of the other
        half with a prediction strength of at least 0.8.
    init : "k-means++" or (k,) row numbers
        Rows that are the first centers.
    n_init : int, default 10
        Random starts; the best is kept.
    max_iter : int, default 300
    tol : float, default 1e-6
        Stop when the inertia falls by less than this share.
    spectral : bool, default False
        Cluster coordinates along the first eigenvectors of the random walk with steps k(x, z) / sum_j k(x, x_j), as
        spectral clustering does. The kernel must have no negative values.
    memory : bytes or text such as "4 GB", optional
        If the Gram matrix does not fit, and for rows in chunks, centers are combinations of 1,000 landmarks.
    random_state : int or None

    Attributes
    ----------
    labels_ : (n,) cluster of every training row
    inertia_ : float, weighted sum of squared distances to the nearest center
    n_clusters_ : int
    n_iter_ : int
    sizes_ : (k,) rows of every cluster, by weight
    X_fit_ : training rows, or landmarks

    >>> import numpy as np
    >>> from mercer import KernelKMeans, Linear
    >>> X = np.array([[0.0, 0.1], [0.2, 0.0], [5.0, 5.1], [5.2, 5.0]])
    >>> model = KernelKMeans(Linear(), n_clusters=2, random_state=0).fit(X)
    >>> bool(model.labels_[0] == model.labels_[1] != model.labels_[2] == model.labels_[3])
    True
    """

    _stored: ClassVar[dict[str, str]] = {
        "X_fit_": "rows m d",
        "n_clusters_": "size k",
        "labels_": "int (_,) < k",
        "inertia_": "real",
        "n_iter_": "int",
        "_n_features_out": "size k",
        "sizes_": "float (k,)",
        "_members": "float (m, k)",
        "_center_norms": "float (k,)",
        "_embedding": "None | a SpectralEmbedding",
        "_embedding.coef": "absent | float (m, q)",
        "_embedding.weights": "absent | float (m,)",
        "_embedding.centers": "absent | float (q, k)",
    }

    _takes_chunks = True

    def __init__(
        self,
        kernel: Any = DEFAULT_KERNEL,
        n_clusters: int | str = 8,
        *,
        init: Any = "k-means++",
        n_init: int = 10,
        max_iter: int = 300,
        tol: float = 1e-6,
        spectral: bool = False,
        memory: int | float | str | None = None,
        random_state: int | None = 0,
        verbose: bool | None = None,
    ) -> None:
        self.kernel = kernel
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.spectral = spectral
        self.memory = memory
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KernelKMeans:
        """Find the clusters of X; y is ignored."""
        fitted: KernelKMeans = self._fit(X, None, sample_weight)
        return fitted

    def _check_parameters(self) -> None:
        if isinstance(self.n_clusters, str) and self.n_clusters != "auto":
            raise InputError(
                f'KernelKMeans: n_clusters must be a whole number >= 1 or "auto"; got {describe(self.n_clusters)}.'
            )
        if self.n_clusters != "auto":
            check_whole("KernelKMeans", "n_clusters", self.n_clusters, 1)
        check_whole("KernelKMeans", "n_init", self.n_init, 1)
        check_whole("KernelKMeans", "max_iter", self.max_iter, 1)
        if not (isinstance(self.tol, (int, float)) and 0.0 <= self.tol < 1.0):
            raise InputError(f"KernelKMeans: tol must be a number from 0 to 1; got {describe(self.tol)}.")

    def _solve(self, data: TrainingSet, route: Route, meter: Meter) -> Clusters:
        rng = np.random.default_rng(self.random_state)
        weights = data.counted
        if self.n_clusters != "auto" and int(self.n_clusters) > np.count_nonzero(weights):
            raise InputError(
                f"KernelKMeans: {self.n_clusters} clusters were asked for, but only {np.count_nonzero(weights)} rows have "
                "weight; choose fewer clusters."
            )
        if route.solver == "landmarks":
            return self._on_landmarks(data, rng, meter)
        K = np.asarray(gram(data.kernel, data.rows), dtype=np.float64)
        k = self._number(lambda: K if len(K) <= AUTO_ROWS else _part(K, rng), rng)
        if not self.spectral:
            found = self._from_gram(K, weights, k, rng)
            return Clusters(found, data.X, _sizes(found, weights, k))
        coef, axes = spectral_embedding(K, weights, k)
        found = self._from_gram(axes @ axes.T, weights, k, rng)
        embedding = SpectralEmbedding(coef, weights, axes.T @ found.members)
        return Clusters(found, data.X, _sizes(found, weights, k), embedding)

    def _on_landmarks(self, data: TrainingSet, rng: np.random.Generator, meter: Meter) -> Clusters:
        """Clusters whose centers are combinations of landmarks; rows pass by in blocks or chunks."""
        features, _ = landmark_features(data.kernel, data.X, min(LANDMARKS, data.n), rng)
        some = sampled_rows(data.X, data.weights, rng)
        if self.n_clusters == "auto" or isinstance(self.init, str):
            self._check_init()
            Z = features(some.X)
            k = self._number(lambda: _sample_gram(Z, rng), rng)
            start = first_centers(features, some, k, self.n_init, self.max_iter, self.tol, rng)
        else:
            seeds = self._seeds(int(self.n_clusters), data.n)
            start = centers_at(features, data.X, seeds)
        found, sizes = settled(features, data.X, data.weights, start, self.max_iter, self.tol, meter)
        return Clusters(found, features.landmarks, sizes)

    def _number(self, some: Callable[[], Floats], rng: np.random.Generator) -> int:
        """The number of clusters: as given, or by prediction strength on the Gram matrix of some rows."""
        if self.n_clusters != "auto":
            return int(self.n_clusters)
        K = some()
        n = len(K)
        splits = [np.array_split(rng.permutation(n), 2) for _ in range(SPLITS)]
        halves = [(np.sort(first), np.sort(second)) for first, second in splits]
        best = 1
        for k in range(2, min(MOST_CLUSTERS, n // 4) + 1):
            strength = prediction_strength(K, np.ones(n), k, halves, rng)
            if strength.mean() + strength.std(ddof=1) / np.sqrt(SPLITS) >= STRENGTH:
                best = k
        return best

    def _from_gram(self, K: Floats, weights: Floats, k: int, rng: np.random.Generator) -> Partition:
        if isinstance(self.init, str):
            self._check_init()
            return best_partition(K, weights, k, self.n_init, self.max_iter, self.tol, rng)
        return lloyd(K, weights, self._seeds(k, len(K)), self.max_iter, self.tol)

    def _check_init(self) -> None:
        if isinstance(self.init, str) and self.init != "k-means++":
            raise InputError(f"KernelKMeans: init must be 'k-means++' or row numbers; got {describe(self.init)}.")

    def _seeds(self, k: int, n: int) -> Indices:
        """The rows that were given as first centers."""
        seeds = np.asarray(self.init)
        if seeds.shape != (k,) or seeds.dtype.kind not in "iu" or seeds.min() < 0 or seeds.max() >= n:
            raise InputError(f"KernelKMeans: init must hold {k} row numbers from 0 to {n - 1}; got {describe(self.init)}.")
        return seeds.astype(np.intp)

    def _store(self, data: TrainingSet, solution: Clusters) -> None:
        partition, self.X_fit_, self._embedding = solution.partition, solution.anchors, solution.embedding
        if not partition.converged:
            warn(
                f"KernelKMeans: labels still changed after {partition.n_iter} iterations; raise max_iter or tol.",
                ConvergenceWarning,
            )
        self.labels_, self.inertia_, self.n_iter_ = partition.labels, partition.inertia, partition.n_iter
        self._members, self._center_norms = partition.members, partition.center_norms
        self.n_clusters_ = len(partition.center_norms)
        filled = len(np.unique(partition.labels))
        if filled < self.n_clusters_:
            warn(
                f"KernelKMeans: only {filled} of {self.n_clusters_} clusters have rows, because fewer rows differ for the "
                "kernel than clusters were asked for; choose fewer clusters.",
                ConvergenceWarning,
            )
        self.sizes_ = solution.sizes
        self._n_features_out = self.n_clusters_

    def transform(self, X: Any) -> Floats:
        """Return the distance of every row to every center in feature space, (n, k)."""
        return np.sqrt(self._squared(X))

    def predict(self, X: Any) -> Indices:
        """Return the cluster of the nearest center for every row."""
        check_is_fitted(self)
        if self.kernel_.given and self._embedding is None:  # k(x, x) is not known, and the same for all centers
            cross = np.asarray(GramOperator(self.kernel_, self._read(X, reset=False), self.X_fit_) @ self._members)
            return np.asarray((self._center_norms - 2.0 * cross).argmin(axis=1))
        return np.asarray(self._squared(X).argmin(axis=1))

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Indices:
        """Fit to X and return the cluster of every row."""
        return self.fit(X, sample_weight=sample_weight).labels_

    def score(self, X: Any, y: Any = None) -> float:
        """Return minus the sum of squared distances to the nearest centers."""
        return -float(self._squared(X).min(axis=1).sum())

    def silhouette_samples(self, X: Any) -> Floats:
        """Return the silhouette of every row among the rows X, (n,), by distances in feature space.

        (b - a) / max(a, b) for the mean distances a to the rows of its own cluster and b to those of the next one: near 1
        inside a cluster, near 0 between two, negative where another cluster is nearer.
        """
        labels = self.predict(X)
        if self._embedding is not None:
            E = self._embedding(self.kernel_, self._read(X, reset=False), self.X_fit_)
            return silhouettes(Linear(), E, labels, self.n_clusters_)
        return silhouettes(self.kernel_, self._read(X, reset=False), labels, self.n_clusters_)

    def nearest_rows(self, X: Any, n: int = 5) -> list[Indices]:
        """Return for every cluster the places of its n rows nearest to the center, the nearest first."""
        return nearest_rows(self._squared(X), check_whole("KernelKMeans", "n", n, 1))

    def cluster_names(self, X: Any, n: int = 3) -> list[str]:
        """Return a name for every cluster: up to n columns, or counted features of the kernel, that set it apart.

        A feature sets a cluster apart by the difference of its means inside and outside, in standard deviations.

        >>> import numpy as np
        >>> from mercer import KernelKMeans, Spectrum
        >>> words = ["abab", "baba", "abba", "cdcd", "dcdc", "cddc"]
        >>> model = KernelKMeans(Spectrum(1).normalized(), 2, random_state=0).fit(words)
        >>> sorted(model.cluster_names(words, 2))
        ['many a, many b', 'many c, many d']
        """
        check_whole("KernelKMeans", "n", n, 1)
        rows = X if is_frame(X) else self._read(X, reset=False)
        return cluster_names(self.kernel_, rows, self.predict(X), self.n_clusters_, n)

    def _squared(self, X: Any) -> Floats:  # -> (n, k)
        check_is_fitted(self)
        new = self._read(X, reset=False)
        if self._embedding is not None:
            E = self._embedding(self.kernel_, new, self.X_fit_)
            return center_distances(E @ self._embedding.centers, np.einsum("ij,ij->i", E, E), self._center_norms)
        cross = np.asarray(GramOperator(self.kernel_, new, self.X_fit_) @ self._members)
        return center_distances(cross, np.asarray(self.kernel_.diag(new), dtype=np.float64), self._center_norms)

    def _routes(self, shape: Shape) -> tuple[Route, ...]:
        n = shape.n
        whole = Route(
            "gram", (24 if self.spectral else 8) * n * n + 24 * n, n * n / entry_rate(), "the Gram matrix in memory"
        )
        return (whole,) if self.spectral else (whole, self._landmarks_route(shape, 0))

    def _chunk_routes(self, shape: Shape, rows: ChunkedRows) -> tuple[Route, ...]:
        if self.spectral:
            raise InputError("KernelKMeans: spectral=True needs the Gram matrix of all rows; fit it to some of the rows.")
        if rows.once:
            raise InputError("KernelKMeans goes through the rows many times; an iterator is read once. Give a function.")
        return (self._landmarks_route(shape, rows.passes_before(self._given_kernel()) + 3 + PASSES),)

    def _landmarks_route(self, shape: Shape, passes: int) -> Route:
        m, n = min(LANDMARKS, shape.n), shape.n
        drawn = rows_drawn(n, m)
        seconds = PASSES * n * m * (2.0 * shape.width / gemm_rate() + 1.0 / entry_rate())
        needed = 8 * drawn * (m + shape.width) + 24 * m * m + 32 * VALUES + 32 * n
        return Route("landmarks", needed, seconds, f"centers are combinations of {m} landmarks", False, passes)

    def _summary(self) -> Summary:
        lines = (
            ("kernel", str(self.kernel_)),
            ("rows", str(count(self.labels_))),
            ("clusters", f"{self.n_clusters_}, of {', '.join(f'{size:g}' for size in self.sizes_[:12])} rows"),
            ("inertia", f"{self.inertia_:.6g}"),
            ("route", f"{self.route_.solver}: {self.route_.reason}"),
            ("memory of the fit", format_bytes(self.route_.bytes)),
        )
        return Summary(repr(self), lines, {"inertia": self.inertia_, "n_clusters": self.n_clusters_})


def _sizes(found: Partition, weights: Floats, k: int) -> Floats:  # -> (k,)
    return np.bincount(found.labels, weights, minlength=k).astype(np.float64)


def _part(K: Floats, rng: np.random.Generator) -> Floats:
    chosen = np.sort(rng.choice(len(K), AUTO_ROWS, replace=False))
    return K[np.ix_(chosen, chosen)]


def _sample_gram(Z: Floats, rng: np.random.Generator) -> Floats:
    part = Z if len(Z) <= AUTO_ROWS else Z[np.sort(rng.choice(len(Z), AUTO_ROWS, replace=False))]
    return part @ part.T
