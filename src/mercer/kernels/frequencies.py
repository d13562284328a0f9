"""Kernels with a given spectrum: chosen frequencies, mixtures of normal laws of frequencies, and periodic kernels."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from mercer.arrays import Array, Floats
from mercer.errors import ClosureError, InputError
from mercer.inputs import Rows
from mercer.kernels.base import Arithmetic, Derivation, Kernel
from mercer.kernels.evaluation import Pair
from mercer.kernels.features import FeatureMap
from mercer.kernels.fields import length_scale, positive, weights_free
from mercer.kernels.spectral.composition import Convolution, mix
from mercer.kernels.spectral.measures import Atoms, CircleLaw, GaussianLaw, Measure
from mercer.kernels.stationary import BOCHNER, Exp, Gaussian, Stationary
from mercer.numeric.encodings import Dots, Encoding
from mercer.numeric.frozen import FrozenArray
from mercer.numeric.points import Points

#: How far the mass of a density may be missed by its quadrature.
QUADRATURE = 1e-6


@dataclass(frozen=True, repr=False)
class Cosines(Kernel):
    """sum_j weights_j cos(<frequencies_j, x - z>) with weights >= 0: the kernel of finitely many frequencies.

    Frequencies are in radians per unit. The feature map is finite: sqrt(weight) cos and sqrt(weight) sin of each.

    >>> import numpy as np
    >>> X = np.array([[0.0], [np.pi]])
    >>> bool(np.isclose(Cosines([[1.0], [2.0]], weights=[3.0, 1.0])(X)[0, 1], -3.0 + 1.0))
    True
    """

    frequencies: FrozenArray = field()
    weights: FrozenArray = field(kw_only=True)

    def __post_init__(self) -> None:
        w = _matrix(self.frequencies, "Cosines", "frequencies")
        weights = _numbers(self.weights, "Cosines", "weights")
        if weights.array.shape != (len(w.array),):
            raise InputError(f"Cosines: {len(w.array)} frequencies need as many weights; got shape {weights.array.shape}.")
        if weights.array.min() < 0:
            row = int(np.argmin(weights.array))
            raise ClosureError(f"Cosines: weight {row} is {weights.array[row]:g}; {BOCHNER}, so no weight may be negative.")
        object.__setattr__(self, "frequencies", w)
        object.__setattr__(self, "weights", weights)

    def width(self) -> int:
        return int(self.frequencies.array.shape[1])

    def _encode(self, rows: Rows) -> Encoding:
        X = rows.vectors()
        if X.shape[1] != self.width():
            raise InputError(f"Cosines: frequencies have {self.width()} columns, but {rows.name} has {X.shape[1]}.")
        # in float64 for float32 rows too: a phase far from 0 has lost its digits in float32
        phase = np.asarray(X.astype(np.float64) @ self.frequencies.array.T)
        root = np.sqrt(self.weights.array)
        return Dots(np.hstack([np.cos(phase) * root, np.sin(phase) * root]).astype(X.dtype))

    def _block(self, pair: Pair) -> Array:
        return np.array(pair.inner())

    def _diag(self, encoding: Encoding) -> Array:
        return np.full(len(encoding), self.weights.array.sum(), encoding.array.dtype)

    def _feature_map(self, *terms: FeatureMap) -> FeatureMap:
        return FeatureMap(lambda encoding, combined: encoding.array, lambda encoding: 2 * len(self.weights.array))

    def _spectral(self, width: int) -> Atoms:
        return Atoms(self.frequencies.array, self.weights.array)

    def _derivation(self) -> Derivation:
        because = (
            "cos(a - b) = cos a cos b + sin a sin b, so it is the inner product of sqrt(weight) cos and sqrt(weight) sin"
        )
        return Derivation("Bochner", f"{BOCHNER}; here all weights are >= 0: {because}")

    def facts(self) -> frozenset[str]:
        return frozenset({"stationary"})

    def _value(self, x: Any, z: Any, m: Arithmetic) -> Any:
        total = m.number(0.0)
        for w, weight in zip(self.frequencies.array, self.weights.array, strict=True):
            total = total + m.number(float(weight)) * _cosine(w, x, z, m)
        return total


def _cosine(w: Array, x: Any, z: Any, m: Arithmetic) -> Any:
    """cos(<w, x - z>) = 1 - 2 sin(<w, x - z> / 2)^2."""
    half = m.number(0.0)
    for f, a, b in zip(w, x, z, strict=True):
        half = half + m.number(0.5 * float(f)) * (a - b)
    sine = m.sin(half)
    return m.number(1.0) - m.number(2.0) * sine * sine


@dataclass(frozen=True, repr=False)
class SpectralMixture(Kernel):
    """sum_q weights_q cos(<means_q, x - z>) exp(-sum_k (scales_qk (x_k - z_k))^2 / 2): a mixture of normal spectra.

    The spectral density is a mixture of normal laws with means +-means_q and standard deviations scales_q, in radians
    per unit (2 pi times the frequencies in cycles). With enough terms it comes near every stationary kernel.

    Parameters
    ----------
    weights : (q,) numbers >= 0
    means, scales : (q, d) numbers, or (q,) for one column; scales > 0

    >>> import numpy as np
    >>> from mercer import Gaussian
    >>> X = np.linspace(0.0, 1.0, 5).reshape(-1, 1)
    >>> bool(np.allclose(SpectralMixture([1.0], means=[0.0], scales=[2.0])(X), Gaussian(0.5)(X)))
    True
    """

    weights: tuple[float, ...] = weights_free()
    means: tuple[tuple[float, ...], ...] = field(kw_only=True)
    scales: tuple[tuple[float, ...], ...] = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        means, scales = (_matrix(getattr(self, name), "SpectralMixture", name).array for name in ("means", "scales"))
        if means.shape != scales.shape or len(means) != len(self.weights):
            raise InputError(
                f"SpectralMixture: {len(self.weights)} weights need means and scales of one row each; got shapes "
                f"{means.shape} and {scales.shape}."
            )
        if scales.min() <= 0:
            raise InputError(
                f"SpectralMixture: scales must be > 0; got {scales.min():g}. Use Cosines for single frequencies."
            )
        object.__setattr__(self, "means", tuple(map(tuple, means.tolist())))
        object.__setattr__(self, "scales", tuple(map(tuple, scales.tolist())))

    _dense = True

    def width(self) -> int:
        return len(self.means[0])

    def _encode(self, rows: Rows) -> Encoding:
        X = rows.vectors()
        if sp.issparse(X):
            raise InputError(f"SpectralMixture takes dense arrays; {rows.name} is sparse. Use {rows.name}.toarray().")
        if X.shape[1] != self.width():
            raise InputError(f"SpectralMixture: means have {self.width()} columns, but {rows.name} has {X.shape[1]}.")
        terms = []
        for mean, scale in zip(self.means, self.scales, strict=True):
            phase = X.astype(np.float64) @ np.array(mean)
            waves = np.column_stack([np.cos(phase), np.sin(phase)]).astype(X.dtype)
            terms.append((Points(X, 1.0 / np.array(scale)), Dots(waves)))
        return (*terms, Dots(X))

    def _terms(self, pair: Pair) -> list[Array]:
        """The terms without their weights."""
        found = []
        for q in range(len(self.weights)):
            part = pair.part(q)
            values = pair.exp(part.part(0).squared_distances(refine=True), -0.5)
            values *= part.part(1).inner()
            found.append(values)
        return found

    def _block(self, pair: Pair) -> Array:
        return np.asarray(sum(weight * term for weight, term in zip(self.weights, self._terms(pair), strict=True)))

    def _diag(self, encoding: Encoding) -> Array:
        X = encoding[-1].array
        return np.full(len(X), sum(self.weights), X.dtype)

    def _spectral(self, width: int) -> Measure:
        laws = []
        for weight, mean, scale in zip(self.weights, self.means, self.scales, strict=True):
            law = GaussianLaw(scale, weight)
            laws.append(Convolution((law, Atoms(np.array([mean]), np.ones(1)))) if any(mean) and weight else law)
        return mix(laws)

    def _derivation(self) -> Derivation:
        because = "a mixture of normal densities, half of each at +mean and half at -mean, with weights >= 0, on every R^d"
        return Derivation("Bochner", f"{BOCHNER}; here it is {because}")

    def facts(self) -> frozenset[str]:
        full = frozenset({"stationary", "characteristic", "universal"})
        return full if any(self.weights) else frozenset({"stationary"})

    def _pullback(self, pair: Pair, W: Array) -> Floats:
        terms = self._terms(pair)
        if not all(self.weights):  # a zero has no logarithm: such weights are not free parameters
            return np.empty(0)
        return np.array([weight * np.vdot(W, term) for weight, term in zip(self.weights, terms, strict=True)])

    def _diag_pullback(self, encoding: Encoding, w: Array) -> Floats:
        return np.array(self.weights) * w.sum() if all(self.weights) else np.empty(0)

    def _value(self, x: Any, z: Any, m: Arithmetic) -> Any:
        total = m.number(0.0)
        for weight, mean, scale in zip(self.weights, self.means, self.scales, strict=True):
            square = m.number(0.0)
            for s, a, b in zip(scale, x, z, strict=True):
                step = m.number(s) * (a - b)
                square = square + step * step
            bell = m.exp(m.number(-0.5) * square)
            total = total + m.number(weight) * bell * _cosine(np.array(mean), x, z, m)
        return total


def from_spectral(
    frequencies: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    *,
    sampler: Callable[[int, np.random.Generator], ArrayLike] | None = None,
    density: Callable[[Floats], ArrayLike] | None = None,
    n: int = 1024,
    random_state: int = 0,
) -> Kernel:
    """Return the kernel of a spectral measure, k(x, z) = sum_j weights_j cos(<frequencies_j, x - z>) (Bochner).

    Given frequencies (m, d) in radians per unit and weights (m,) (equal ones that add up to 1 if left out) it is exact.
    `sampler(n, rng)` returns n frequencies (n, d), drawn once with a seed; `density(w)` of one column, w >= 0, is
    integrated by Gauss-Legendre quadrature at n frequencies, which follows k while |x - z| < n / (the largest frequency).

    >>> import numpy as np, mercer
    >>> k = mercer.from_spectral(density=lambda w: np.exp(-(w**2) / 2) / np.sqrt(2 * np.pi))
    >>> X = np.linspace(0.0, 3.0, 4).reshape(-1, 1)
    >>> bool(np.allclose(k(X), mercer.Gaussian(1.0)(X), atol=1e-6))
    True
    """
    given = [
        name
        for name, value in (("frequencies", frequencies), ("sampler", sampler), ("density", density))
        if value is not None
    ]
    if len(given) != 1:
        raise InputError(
            f"from_spectral takes one of frequencies, sampler= and density=; got {' and '.join(given) or 'none'}."
        )
    if weights is not None and frequencies is None:
        raise InputError("from_spectral: weights belong to frequencies; a sampler or a density brings its own.")
    if density is not None:
        frequencies, weights = _quadrature(density, n)
    elif sampler is not None:
        frequencies = sampler(n, np.random.default_rng(random_state))
    w = _matrix(frequencies, "from_spectral", "frequencies")
    size = len(w.array)
    return Cosines(w, weights=np.full(size, 1.0 / size) if weights is None else weights)  # type: ignore[arg-type]


def _quadrature(density: Callable[[Floats], ArrayLike], n: int) -> tuple[Array, Array]:
    """Frequencies and weights for 2 times the integral of density(w) cos(w t) over w > 0."""
    from scipy.integrate import quad

    def value(w: Any) -> Floats:
        found = np.asarray(density(np.atleast_1d(np.asarray(w, dtype=np.float64))), dtype=np.float64)
        if found.shape != np.shape(np.atleast_1d(w)) or not np.isfinite(found).all():
            raise InputError("from_spectral: density(w) takes an array (m,) of w >= 0 and returns as many finite numbers.")
        if found.min() < 0:
            raise ClosureError(
                f"from_spectral: density({np.atleast_1d(w)[np.argmin(found)]:g}) = {found.min():g} < 0; {BOCHNER}."
            )
        return found

    def above(w: float) -> float:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a slow tail is found by the sum below
            return float(quad(lambda v: value(v)[0], w, np.inf, limit=400)[0])

    mass = above(0.0)
    if not np.isfinite(mass) or mass <= 0:
        raise InputError(f"from_spectral: the density integrates to {mass:g}; it must be finite and positive.")
    top = 1.0
    while above(top) > QUADRATURE * mass and top < 1e12:
        top *= 2.0
    nodes, weights = np.polynomial.legendre.leggauss(n)
    w = 0.5 * top * (nodes + 1.0)
    found = top * weights * value(w)
    if abs(found.sum() - 2.0 * mass) > 1e-3 * mass:
        raise InputError(
            f"from_spectral: {n} frequencies up to {top:g} do not resolve this density (mass {found.sum():g} instead of "
            f"{2 * mass:g}). Raise n=, or give frequencies and weights of your own."
        )
    kept = found > 0
    return w[kept, None], found[kept]


def _numbers(value: Any, owner: str, name: str) -> FrozenArray:
    try:
        frozen = value if isinstance(value, FrozenArray) else FrozenArray(value)
    except (TypeError, ValueError):
        raise InputError(f"{owner}: {name} must be numbers; got {value!r}.") from None
    if frozen.array.size == 0 or not np.isfinite(frozen.array).all():
        raise InputError(f"{owner}: {name} must hold at least one number, and finite ones; got shape {frozen.array.shape}.")
    return frozen


def _matrix(value: Any, owner: str, name: str) -> FrozenArray:  # -> (m, d)
    """A matrix with one row per frequency; (m,) is read as one column."""
    frozen = _numbers(value, owner, name)
    if frozen.array.ndim == 1:
        frozen = FrozenArray(frozen.array[:, None])
    if frozen.array.ndim != 2:
        raise InputError(f"{owner}: {name} must be (m, d), or (m,) for one column; got shape {frozen.array.shape}.")
    return frozen


@dataclass(frozen=True, repr=False)
class Periodic(Stationary):
    """exp(-2 sum_k sin^2(pi (x_k - z_k) / period) / length_scale_k^2): a product over the columns.

    Since 4 sin^2(pi t / period) is the squared distance on a circle, this is a Gaussian of (cos, sin) of every column.
    With the Euclidean distance inside the sine, as in scikit-learn's ExpSineSquared, it is not a kernel for d >= 2; for
    d = 1 the two agree.

    >>> import numpy as np
    >>> X = np.array([[0.1], [3.1]])
    >>> bool(np.isclose(Periodic(length_scale=0.7, period=3.0)(X)[0, 1], 1.0))
    True
    """

    length_scale: float | tuple[float, ...] | str = length_scale(keyword=False)
    period: float = positive(1.0)
    _rough = False
    _dense = True

    def _encode(self, rows: Rows) -> Encoding:
        X = rows.vectors()
        if sp.issparse(X):
            raise InputError(f"Periodic takes dense arrays; {rows.name} is sparse. Use {rows.name}.toarray().")
        if self.width() not in (None, X.shape[1]):
            raise InputError(f"Periodic: length_scale has {self.width()} entries, but {rows.name} has {X.shape[1]} columns.")
        key = ("circles", self.period, self.length_scale if self.width() else None)
        return rows.remember(key, lambda: self._circles(X))

    def _circles(self, X: Array) -> tuple[Points, Dots]:
        # np.remainder first: the sine of a huge angle has lost its digits, the remainder has not
        angle = np.remainder(X, self.period) * (2.0 * np.pi / self.period)
        scales = self._scales()
        circle = np.hstack([np.cos(angle), np.sin(angle)]).astype(X.dtype, copy=False)
        return Points(circle, None if scales is None else np.tile(scales, 2)), Dots(X)

    def _block(self, pair: Pair) -> Array:
        return super()._block(pair.part(0))

    def _diag(self, encoding: Encoding) -> Array:
        return super()._diag(encoding[0])

    def _profile(self, d2: Array, factor: float, exp: Exp) -> Array:
        return exp(d2, -0.5 * factor)

    def _pullback(self, pair: Pair, W: Array) -> Floats:
        S = pair.block(self) * W
        x, z = pair.A[1].array[pair.rows], pair.B[1].array[pair.cols]
        scales = self._scales()
        scale = np.full(x.shape[1], self.length_scale) if scales is None else scales
        own, period = np.zeros(x.shape[1]), 0.0
        for k in range(x.shape[1]):
            turn = np.pi * np.subtract.outer(x[:, k], z[:, k]) / self.period
            own[k] = 4.0 * np.vdot(S, np.sin(turn) ** 2) / scale[k] ** 2
            period += 2.0 * np.vdot(S, np.sin(2.0 * turn) * turn) / scale[k] ** 2
        return np.array([own.sum(), period]) if scales is None else np.append(own, period)

    def _spectral(self, width: int) -> CircleLaw:
        return CircleLaw(tuple(s * s for s in self._inverse_scales(width)), self.period)

    def facts(self) -> frozenset[str]:
        return frozenset({"stationary"})

    def _derivation(self) -> Derivation:
        because = (
            "a Gaussian of phi(x) = (cos(2 pi x_k / period), sin(2 pi x_k / period)) of every column k, "
            "since ||phi(x) - phi(z)||^2 = 4 sum_k sin^2(pi (x_k - z_k) / period); it holds on every R^d"
        )
        scale = self.length_scale
        return Derivation("k(phi(x), phi(z))", because, (Gaussian(scale * 2 if isinstance(scale, tuple) else scale),))

    def _value(self, x: Any, z: Any, m: Arithmetic) -> Any:
        scales = self._scales()
        total = m.number(0.0)
        for i, (a, b) in enumerate(zip(x, z, strict=True)):
            scale = m.number(float(self.length_scale if scales is None else scales[i]))  # type: ignore[arg-type]
            turn = m.sin(m.pi() * (a - b) / m.number(self.period)) / scale
            total = total + turn * turn
        return m.exp(m.number(-2.0) * total)
