"""Nearest neighbors by the kernel distance, on any kernel and any input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin

from mercer.arrays import Array, Floats
from mercer.errors import InputError, check_whole, describe
from mercer.estimators.base import DEFAULT_KERNEL, KernelEstimator, TrainingSet, check_is_fitted
from mercer.estimators.intervals import IntervalMixin
from mercer.estimators.local_intervals import local_intervals
from mercer.estimators.neighbors.search import look_at_digits, nearest
from mercer.estimators.prediction_sets import HeldOutClasses, SetMixin
from mercer.estimators.progress import Meter
from mercer.estimators.summary import Summary
from mercer.inputs.labels import read_labels
from mercer.planning import Route, Shape, entry_rate, gemm_rate
from mercer.registry import estimator

Weights = str | Callable[[Any], Any]


class KernelNeighbors(KernelEstimator):
    """Abstract: the training rows are the model, and a question is answered by the nearest of them."""

    _stored: ClassVar[dict[str, str]] = {
        "X_fit_": "rows n d",
        "n_samples_fit_": "size n",
    }

    def __init__(
        self,
        kernel: Any = DEFAULT_KERNEL,
        *,
        n_neighbors: int = 5,
        weights: Weights = "uniform",
        verbose: bool | None = None,
    ) -> None:
        self.kernel = kernel
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.verbose = verbose

    def kneighbors(self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True) -> Any:
        """Return distances and row numbers of the nearest training rows, (n, k) each, nearest first.

        The distance is ||phi(x) - phi(z)|| = sqrt(k(x, x) + k(z, z) - 2 k(x, z)); ties, rounding aside, go to the row
        that came first. Without X the questions are the training rows, and no row is its own neighbor.
        """
        check_is_fitted(self)
        k = self._check_k(self.n_neighbors if n_neighbors is None else n_neighbors, self.n_samples_fit_ - (X is None))
        new = None if X is None else self._read(X, reset=False)
        with Meter(f"{type(self).__name__} (neighbors)", self.verbose) as meter:
            distances, places = nearest(self.kernel_, self.X_fit_, new, k, meter)
        return (distances, places) if return_distance else places

    def _check_k(self, k: Any, at_most: int | None = None) -> int:
        check_whole(type(self).__name__, "n_neighbors", k, 1)
        if at_most is not None and k > at_most:
            raise InputError(
                f"{type(self).__name__}: Expected n_neighbors <= n_samples_fit, but n_neighbors = {k} and there are "
                f"{at_most} training rows to choose from; take fewer neighbors."
            )
        return int(k)

    def _solve(self, data: TrainingSet, route: Route, meter: Meter) -> None:
        """Nothing is solved at fit: the search is all there is. Whether it will have digits is seen now."""
        if not data.kernel.given:
            look_at_digits(data.kernel, data.X)

    def _store(self, data: TrainingSet, solution: None) -> None:
        self.n_samples_fit_, self._y = data.n, data.y

    def _check_parameters(self) -> None:
        self._check_k(self.n_neighbors)
        if self.weights not in ("uniform", "distance") and not callable(self.weights):
            raise InputError(
                f'{type(self).__name__}: weights must be "uniform", "distance" or a function of the distances; '
                f"got {describe(self.weights)}."
            )

    def _neighbors_and_weights(self, X: Any) -> tuple[Array, Floats]:
        distances, places = self.kneighbors(X)
        if self.weights == "uniform":
            return places, np.ones(distances.shape)
        if callable(self.weights):
            weights = np.asarray(self.weights(distances), dtype=np.float64)
            if weights.shape != distances.shape:
                raise InputError(f"weights returned shape {weights.shape} for distances of shape {distances.shape}.")
            silent = ~weights.any(axis=1)
            if silent.any():
                raise InputError(
                    f"weights: all neighbors of row {int(np.argmax(silent))} get weight zero, so that nothing can be said "
                    "of it; let the function give one of them a weight > 0, or raise n_neighbors."
                )
            return places, weights
        exact = distances == 0.0  # a training row that is the question itself decides alone
        with np.errstate(divide="ignore"):
            return places, np.where(exact.any(axis=1, keepdims=True), exact, 1.0 / distances)

    def _routes(self, shape: Shape) -> tuple[Route, ...]:
        seconds = shape.n * (2.0 * shape.width / gemm_rate() + 0.5 / entry_rate())
        reason = "the rows are remembered; seconds are those of a question, whose k nearest are kept while tiles pass"
        return (Route("tiles", 32 * shape.n, seconds, reason),)

    def _summary(self) -> Summary:
        lines = (
            ("kernel", str(self.kernel_)),
            ("neighbors", f"{self.n_neighbors} of {self.n_samples_fit_}, weights {self.weights}"),
            ("route", f"{self.route_.solver}: {self.route_.reason}"),
        )
        return Summary(repr(self), lines, {"n": self.n_samples_fit_})


@estimator
class KernelKNeighborsClassifier(ClassifierMixin, SetMixin, KernelNeighbors):
    """Take the majority among the k training rows nearest by ||phi(x) - phi(z)||^2 = k(x, x) + k(z, z) - 2 k(x, z).

    Parameters
    ----------
    kernel : Kernel or str, default Gaussian(length_scale="median")
    n_neighbors : int, default 5
    weights : "uniform", "distance" or a function of an (n, k) array of distances
        "distance" counts a neighbor 1/d; neighbors at distance 0 decide alone.
    verbose : bool or None

    Attributes
    ----------
    classes_, X_fit_, kernel_, n_samples_fit_, route_. Equal votes go to the first class, equal distances to the row that
    came first.

    >>> import numpy as np
    >>> from mercer import KernelKNeighborsClassifier, Spectrum
    >>> words, y = ["banana", "bandana", "cabana", "kiwi", "kiwano"], ["b", "b", "b", "k", "k"]
    >>> model = KernelKNeighborsClassifier(Spectrum(p=2), n_neighbors=1).fit(words, y)
    >>> model.predict(["ananas", "kiwis"]).tolist()
    ['b', 'k']
    """

    _stored: ClassVar[dict[str, str]] = {
        "classes_": "labels (C,)",
        "_y": "int (n,) < C",
    }

    def fit(self, X: Any, y: Any = None) -> KernelKNeighborsClassifier:
        """Remember the rows and their labels; one class only is fine, and is then the answer to everything."""
        return self._fit(X, y)

    def _read_y(self, y: Any, n: int) -> Array:
        return read_labels(type(self).__name__, y, n)

    def _store(self, data: TrainingSet, solution: None) -> None:
        super()._store(data, solution)
        self.classes_, self._y = np.unique(data.y, return_inverse=True)

    def predict_proba(self, X: Any) -> Floats:
        """Return the shares of the classes among the neighbors, (n, C)."""
        return self._shares(*self._neighbors_and_weights(X))

    def _held_out_classes(self) -> HeldOutClasses:
        return HeldOutClasses(self._shares(*self._neighbors_and_weights(None)), self._y, self.X_fit_)

    def _shares(self, places: Array, weights: Floats) -> Floats:  # (n, k), (n, k) -> (n, C)
        votes = np.zeros((len(places), len(self.classes_)))
        for neighbor in range(places.shape[1]):
            votes[np.arange(len(places)), self._y[places[:, neighbor]]] += weights[:, neighbor]
        total = votes.sum(axis=1, keepdims=True)
        return np.asarray(votes / total)

    def predict(self, X: Any) -> Array:
        """Return the class with the most votes; equal votes go to the first class."""
        shares = self.predict_proba(X)
        return self.classes_[shares.argmax(axis=1)]


@estimator
class KernelKNeighborsRegressor(RegressorMixin, IntervalMixin, KernelNeighbors):
    """Take the mean target of the k training rows nearest by ||phi(x) - phi(z)||^2 = k(x, x) + k(z, z) - 2 k(x, z).

    Parameters
    ----------
    kernel : Kernel or str, default Gaussian(length_scale="median")
    n_neighbors : int, default 5
    weights : "uniform", "distance" or a function of an (n, k) array of distances
    verbose : bool or None

    Attributes
    ----------
    X_fit_, kernel_, n_samples_fit_, route_; loo_residuals_ (each row predicted by its neighbors without itself).

    >>> import numpy as np
    >>> from mercer import KernelKNeighborsRegressor, Linear
    >>> model = KernelKNeighborsRegressor(Linear(), n_neighbors=2).fit([[0.0], [1.0], [5.0]], [0.0, 2.0, 9.0])
    >>> model.predict([[0.4], [4.0]]).tolist()
    [1.0, 5.5]
    """

    _stored: ClassVar[dict[str, str]] = {
        "_y": "float (n, *t)",
    }

    def fit(self, X: Any, y: Any = None) -> KernelKNeighborsRegressor:
        """Remember the rows and their targets, (n,) or (n, t)."""
        return self._fit(X, y)

    def _read_y(self, y: Any, n: int) -> Floats:
        return self._read_targets(y, n)

    def predict(self, X: Any) -> Floats:
        """Return the weighted mean of the neighbors' targets."""
        return self._means(*self._neighbors_and_weights(X))

    @property
    def loo_residuals_(self) -> Floats:
        """y_i minus the prediction of row i by its neighbors without itself."""
        return np.asarray(self._y - self._means(*self._neighbors_and_weights(None)))

    def _local_intervals(self, X: Any, centers: Floats, coverage: float, shift: Any) -> Floats:  # -> (m, 2, t)
        residuals = self.loo_residuals_.reshape(len(self._y), -1)
        return local_intervals(self, self.X_fit_, residuals, self._read(X, reset=False), centers, coverage, shift)

    def _influence(self, X: Any, size: int) -> Any:
        raise InputError(f'{type(self).__name__}: method must be "jackknife" or "local"; jackknife+ is for ridges.')

    def _means(self, places: Array, weights: Floats) -> Floats:  # (m, k), (m, k) -> (m, *t)
        shares = weights / weights.sum(axis=1, keepdims=True)
        return np.asarray(np.einsum("nk,nk...->n...", shares, self._y[places]))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags
