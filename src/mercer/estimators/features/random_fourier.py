"""Random Fourier features: a stationary kernel as an inner product of cosines and sines of random frequencies."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from mercer.arrays import Array, Floats
from mercer.errors import CapabilityError, InputError, check_choice, check_number, check_whole
from mercer.estimators.base import DEFAULT_KERNEL, KernelEstimator, TrainingSet, check_is_fitted
from mercer.estimators.features.certificate import FeatureCertificate, certify
from mercer.estimators.features.seeds import generator
from mercer.estimators.progress import Meter
from mercer.estimators.summary import Summary
from mercer.grams.chunks.rows import ChunkedRows
from mercer.inputs import columns_of
from mercer.inputs.chunks import Chunk
from mercer.kernels.spectral.fourier_map import KINDS, FourierMap, FrequencyDraw, draw, frequencies_for
from mercer.planning import Route, Shape, entry_rate, gemm_rate
from mercer.registry import estimator

FORMS = ("pairs", "phases")


@estimator
class RandomFourierFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator):
    """Map x to z(x) with z(x)'z(z) near k(x, z), for kernels that have a spectral measure (Bochner).

    z(x) = sqrt(k(0)/m) [cos(w'x), sin(w'x)] with m = n_components / 2 frequencies w from the measure, or with
    form="phases" sqrt(2 k(0)/n_components) cos(w'x + b), b uniform on [0, 2 pi]. Frequencies are in radians per unit.

    Parameters
    ----------
    kernel : Kernel or str, default Gaussian(length_scale="median")
        A function of x - z: sums, products, multiples, ARD and column choices of stationary kernels.
    n_components : int, default 100
        The number of columns of z(x), as in scikit-learn.
    draws : "auto", "plain", "sobol", "orthogonal" or "structured"
        "auto" takes scrambled Sobol points up to 12 columns, and above them orthogonal blocks with stratified lengths where
        the kernel is isotropic up to scales. "plain" are the independent draws of the lectures, to which the probability
        bounds apply. "structured" frequencies have one length: biased at every d, and the certificate prints the bias.
    form : "pairs" or "phases"
    eps : float, optional
        Choose n_components so that all pairs of training rows have an error of at most eps, with probability 99.9 %
        (Hoeffding). The draws are then plain.
    random_state : int, RandomState or None

    Attributes
    ----------
    random_weights_ : (d, m) array
        The frequencies. `weights_` (m,) are their weights, which add up to k(x, x).
    random_offset_ : (m,) array, or (0,) for pairs
        The phases b; an odd n_components has one, for its last column.
    center_ : (d,) array
        The mean of the training rows, subtracted first: z(x)'z(z) does not depend on it, and phases keep their digits.
    draws_ : str
        How the frequencies were drawn.

    >>> import numpy as np, mercer
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> features = mercer.RandomFourierFeatures(mercer.Gaussian(2.0), n_components=4096, random_state=0)
    >>> Z = features.fit_transform(X)
    >>> Z.shape, bool(np.abs(Z @ Z.T - mercer.Gaussian(2.0)(X)).max() < 0.01)
    ((50, 4096), True)
    """

    _keeps_rows = False
    _stored: ClassVar[dict[str, str]] = {
        "random_weights_": "float (d, h)",
        "weights_": "float (h,)",
        "random_offset_": "float (0,) | float (1,) | float (h,)",
        "center_": "float (d,)",
        "n_components_": "int > 0",
        "draws_": "absent | text",
    }

    def __init__(
        self,
        kernel: Any = DEFAULT_KERNEL,
        *,
        n_components: int = 100,
        draws: str = "auto",
        form: str = "pairs",
        eps: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.draws = draws
        self.form = form
        self.eps = eps
        self.random_state = random_state

    _takes_chunks = True

    def fit(self, X: Any, y: Any = None) -> RandomFourierFeatures:
        """Draw the frequencies; the rows of X decide a "median" length scale and the center."""
        fitted: RandomFourierFeatures = self._fit(X)
        return fitted

    def _choose_route(self, data: TrainingSet) -> Route:
        if columns_of(data.X) is None:
            raise CapabilityError(f"RandomFourierFeatures takes vectors, but {self.kernel} compares others; use Nystroem.")
        route = self._route(data.n, data.X.shape[1], self._columns(data))
        return route if not data.chunked else replace(route, passes=data.X.passes_before(self._given_kernel()) + 1)

    def _columns(self, data: TrainingSet) -> int:
        """The columns of z(x): the given number, or as many as `eps` requires."""
        if self.eps is None:
            return int(self.n_components)
        if data.chunked and data.X.once:
            raise InputError("RandomFourierFeatures: eps= needs the number of rows, which an iterator does not tell.")
        phases, mass = self.form == "phases", data.kernel.spectral(data.X.shape[1]).mass
        m = frequencies_for(float(self.eps), data.n, max(mass, 1e-300), phases=phases)
        return m if phases else 2 * m

    def _solve(self, data: TrainingSet, route: Route, meter: Meter) -> tuple[int, FrequencyDraw, Floats]:
        phases, columns, rng = self.form == "phases", self._columns(data), generator(self.random_state)
        m = columns if phases else (columns + 1) // 2
        drawn = draw(data.kernel.spectral(data.X.shape[1]), m, "plain" if self.eps is not None else self.draws, rng)
        return columns, drawn, rng.uniform(0.0, 2.0 * np.pi, m if phases else columns % 2)

    def _store(self, data: TrainingSet, solution: tuple[int, FrequencyDraw, Floats]) -> None:
        self.n_components_, drawn, self.random_offset_ = solution
        self.random_weights_, self.weights_, self.draws_ = drawn.frequencies.T, drawn.weights, drawn.kind
        self.center_ = mean_of_chunks(data.X) if data.chunked else mean_of_rows(data.X)

    def transform(self, X: Any) -> Array:
        """Return z(x) for every row, (n, n_components), in the dtype of X."""
        check_is_fitted(self)
        return self._map()(self._read(X, reset=False))

    def certificate(self, X: Any, *, n_pairs: int = 10_000, random_state: Any = 0) -> FeatureCertificate:
        """Return what is known of |z(x)'z(z) - k(x, z)| on the rows of X: proven bounds, and the error of random pairs."""
        check_is_fitted(self)
        X = self._read(X, reset=False)
        measure = self.kernel_.spectral(X.shape[1])
        return certify(self.kernel_, self._map(), measure, self.draws_, X, n_pairs, generator(random_state))

    def _map(self) -> FourierMap:
        return FourierMap(self.random_weights_.T, self.weights_, self.center_, self.random_offset_)

    def _check_parameters(self) -> None:
        what = "RandomFourierFeatures"
        check_whole(what, "n_components", self.n_components, 1)
        check_choice(what, "form", self.form, FORMS)
        check_choice(what, "draws", self.draws, KINDS)
        if self.eps is not None:
            check_number(what, "eps", self.eps, "a finite number > 0", lambda v: 0 < v < np.inf)
        if self.eps is not None and self.draws not in ("auto", "plain"):
            raise InputError(
                f"RandomFourierFeatures: eps= is proven for independent draws only; got draws={self.draws!r}. "
                'Leave draws="auto", or measure: fit without eps and ask certificate(X).'
            )

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components_)

    def _routes(self, shape: Shape) -> tuple[Route, ...]:
        return (self._route(shape.n, shape.width, int(self.n_components)),)

    def _chunk_routes(self, shape: Shape, rows: ChunkedRows) -> tuple[Route, ...]:
        route = self._route(shape.n, shape.width, int(self.n_components))
        return (replace(route, passes=rows.passes_before(self._given_kernel()) + 1),)

    def _route(self, n: int, width: int, columns: int) -> Route:
        seconds = n * columns * (2.0 * width / gemm_rate() + 1.0 / entry_rate())
        m = columns if self.form == "phases" else (columns + 1) // 2  # frequencies
        return Route("fourier", 8 * m * (width + 2), seconds, f"{columns} columns of cosines and sines", exact=False)

    def _summary(self) -> Summary:
        lines = (
            ("kernel", repr(self.kernel_)),
            ("components", f"{self.n_components_}, {self.form}"),
            ("draws", self.draws_),
            ("k(x, x)", f"{float(self.weights_.sum()):.6g}"),
        )
        return Summary(repr(self), lines, {"n_components": self.n_components_, "draws": self.draws_})


def mean_of_rows(X: Any) -> Floats:  # (n, d) -> (d,)
    """The mean of rows in memory; zero for sparse ones, so that zeros stay zeros."""
    return np.zeros(X.shape[1]) if sp.issparse(X) else np.asarray(X.mean(axis=0, dtype=np.float64))


def mean_of_chunks(rows: ChunkedRows) -> Floats:  # -> (d,)
    """The mean of rows in chunks."""
    total, n = rows.sum(_column_sums)
    return np.asarray(total / n)


def _column_sums(chunk: Chunk) -> tuple[Floats, Floats]:
    n = np.array(float(len(chunk)))
    return (np.zeros(chunk.X.shape[1]) if sp.issparse(chunk.X) else chunk.X.sum(axis=0), n)
