"""Random Fourier features: a stationary kernel as an inner product of cosines and sines of random frequencies."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from mercer.errors import CapabilityError, InputError
from mercer.estimators.base import DEFAULT_KERNEL, KernelEstimator, whole_or_nothing
from mercer.estimators.features.certificate import FeatureCertificate, certify
from mercer.estimators.features.seeds import generator
from mercer.estimators.summary import Summary
from mercer.kernels.spectral.bounds import frequencies_for
from mercer.kernels.spectral.draws import KINDS, draw
from mercer.kernels.spectral.fourier_map import FourierMap
from mercer.plan import Route, Shape, entry_rate, gemm_rate
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

    _stored: ClassVar[dict[str, str]] = {
        "random_weights_": "float (d, h)",
        "weights_": "float (h,)",
        "random_offset_": "float (0,) | float (1,) | float (h,)",
        "center_": "float (d,)",
        "n_components_": "int > 0",
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

    @whole_or_nothing
    def fit(self, X: Any, y: Any = None) -> RandomFourierFeatures:
        """Draw the frequencies; the rows of X decide a "median" length scale and the center."""
        self._check()
        X = self._read(X, reset=True)
        if not hasattr(X, "shape") or X.ndim != 2:
            raise CapabilityError(f"RandomFourierFeatures takes vectors, but {self.kernel} compares others; use Nystroem.")
        kernel = self._resolved(X)
        measure = kernel.spectral(X.shape[1])
        phases = self.form == "phases"
        columns, draws = int(self.n_components), self.draws
        if self.eps is not None:
            m = frequencies_for(float(self.eps), X.shape[0], max(measure.mass, 1e-300), phases=phases)
            columns, draws = (m if phases else 2 * m), "plain"
        m = columns if phases else (columns + 1) // 2
        rng = generator(self.random_state)
        drawn = draw(measure, m, draws, rng)
        singles = m if phases else columns % 2
        self.kernel_ = kernel
        self.random_weights_, self.weights_ = drawn.frequencies.T.copy(), drawn.weights
        self.random_offset_ = rng.uniform(0.0, 2.0 * np.pi, singles)
        self.center_ = np.zeros(X.shape[1]) if sp.issparse(X) else X.mean(axis=0, dtype=np.float64)
        self.draws_, self.n_components_ = drawn.kind, columns
        self.route_ = self._routes(self._shape(X))[0]
        return self

    def transform(self, X: Any) -> NDArray[Any]:
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

    def _check(self) -> None:
        count = self.n_components
        if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 1:
            raise InputError(f"RandomFourierFeatures: n_components must be a whole number >= 1; got {count!r}.")
        if self.form not in FORMS:
            raise InputError(f"RandomFourierFeatures: form must be one of {', '.join(FORMS)}; got {self.form!r}.")
        if self.draws not in KINDS:
            raise InputError(f"RandomFourierFeatures: draws must be one of {', '.join(KINDS)}; got {self.draws!r}.")
        if self.eps is not None and not (np.isreal(self.eps) and 0 < self.eps < np.inf):
            raise InputError(f"RandomFourierFeatures: eps must be a finite number > 0; got {self.eps!r}.")
        if self.eps is not None and self.draws not in ("auto", "plain"):
            raise InputError(
                f"RandomFourierFeatures: eps= is proven for independent draws only; got draws={self.draws!r}. "
                'Leave draws="auto", or measure: fit without eps and ask certificate(X).'
            )

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components_)

    def _routes(self, shape: Shape) -> tuple[Route, ...]:
        columns = getattr(self, "n_components_", self.n_components)
        seconds = shape.n * columns * (2.0 * shape.width / gemm_rate() + 1.0 / entry_rate())
        held = 8 * columns * (shape.width + 2)
        return (Route("fourier", held, seconds, f"{columns} columns of cosines and sines", exact=False),)

    def _summary(self) -> Summary:
        lines = (
            ("kernel", repr(self.kernel_)),
            ("components", f"{self.n_components_}, {self.form}"),
            ("draws", self.draws_),
            ("k(x, x)", f"{float(self.weights_.sum()):.6g}"),
        )
        return Summary(repr(self), lines, {"n_components": self.n_components_, "draws": self.draws_})
