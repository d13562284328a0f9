"""Stationary kernels: profiles of a distance. A node states the profile and its slope; the rest is given once here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Array, Floats
from mercer.errors import InputError, shown
from mercer.inputs import Rows
from mercer.kernels.base import Kernel
from mercer.kernels.derivation import Arithmetic, Derivation
from mercer.kernels.evaluation import Pair, refuse_unresolved
from mercer.kernels.features import TaylorFeatures, taylor_features
from mercer.kernels.fields import MEDIAN, length_scale, positive
from mercer.kernels.spectral.laws import CauchyLaw, GammaLaw, GaussianLaw, StudentLaw
from mercer.kernels.vectors import Bilinear, Linear
from mercer.numeric.encodings import Encoding, dense
from mercer.numeric.frozen import FrozenArray
from mercer.numeric.points import Points, few, median_distance, weighted_sums

Exp = Callable[..., Array]

#: All spectral measures here have full support, which is what telling all distributions on R^d apart takes.
FACTS = frozenset({"stationary", "characteristic", "characteristic on R^d", "universal"})
BOCHNER = "a continuous function of x - z is a kernel on R^d exactly when it is the Fourier transform of a measure >= 0"


class Stationary(Kernel):
    """Abstract: k(x, z) = g(s) with s = sum_k (x_k - z_k)^2 / length_scale_k^2.

    One length scale serves all columns and shares distances with other terms; a sequence gives each column its own (ARD).
    """

    length_scale: float | tuple[float, ...] | str
    _unit: ClassVar[bool] = True
    _steady: ClassVar[bool] = False  # the slope is a function of the value alone, so that gradients per column need no s
    _rough: ClassVar[bool] = False  # g depends on sqrt(s) near 0, so that small errors of s are large errors of g

    def _profile(self, d2: Array, factor: float, exp: Exp) -> Array:
        """g(factor * d2) in a new array; d2 is shared and must not be written. exp(x, a, out) is e^(a x) for a x <= 0."""
        raise NotImplementedError  # pragma: no cover - abstract

    def _slope(self, s: Any, K: Array) -> Array:
        """dg/ds, given s and K = g(s); finite at s = 0. A steady kernel may get None for s."""
        raise NotImplementedError  # pragma: no cover - abstract

    def _scales(self) -> Floats | None:
        return np.array(self.length_scale) if isinstance(self.length_scale, tuple) else None

    def _factor(self) -> float:
        return float(self.length_scale) ** -2 if isinstance(self.length_scale, float) else 1.0

    def _width(self) -> int | None:
        return len(self.length_scale) if isinstance(self.length_scale, tuple) else None

    def _inverse_scales(self, width: int) -> tuple[float, ...]:
        """1 / length_scale of every column: the scales of the spectral measure."""
        scales = self._scales()
        return (float(self._factor() ** 0.5),) * width if scales is None else tuple((1.0 / scales).tolist())

    def _encode(self, rows: Rows) -> Encoding:
        X = rows.vectors()
        if self._width() not in (None, X.shape[1]):
            raise InputError(
                f"{type(self).__name__}: length_scale has {self._width()} entries, but {rows.name} has {X.shape[1]} columns."
            )
        key = self.length_scale if self._width() else None
        return rows.remember(("points", key), lambda: Points(X, self._scales()))

    def _distances(self, pair: Pair) -> Array:
        """Squared distances; those of near duplicates are refined where their rounding would show in the profile."""
        if few(pair.A, pair.B):
            return pair.squared_distances(refine=False)  # by differences: there is nothing to refine
        eps = float(np.finfo(pair.A.dtype).eps)
        loss = 4 * eps * self._factor() * (pair.A.reach + pair.B.reach)
        return pair.squared_distances(refine=self._rough or loss > 100 * eps)

    def _block(self, pair: Pair) -> Array:
        return self._profile(self._distances(pair), self._factor(), pair.exp)

    def _diag(self, encoding: Encoding) -> Array:
        return np.ones(len(encoding), encoding.dtype)

    def _pullback(self, pair: Pair, W: Array) -> Floats:
        K, each = pair.block(self), self._width() is not None
        d2 = None if each and self._steady else self._distances(pair)
        s = None if d2 is None else d2 * self._factor()
        S = self._slope(s, K) * W  # d<W, K>/ds, and ds/dlog(l) = -2 (x - z)^2 / l^2
        shape = self._shape_pullback(s, W)
        if not each:
            return np.concatenate([[-2.0 * self._factor() * np.vdot(S, d2)], shape])
        a, b = dense(pair.A.array[pair.rows]), dense(pair.B.array[pair.cols])
        near = _take_near(S, d2, a, b) if self._rough and d2 is not None else 0.0
        squares = near + S.sum(axis=1) @ a**2 + S.sum(axis=0) @ b**2 - 2.0 * np.einsum("ik,ik->k", S @ b, a)
        return np.concatenate([-2.0 * squares, shape])

    def _shape_pullback(self, s: Any, W: Array) -> Floats:
        """The gradient in further parameters of the profile, which stand behind length_scale."""
        return np.empty(0)

    def _facts(self) -> frozenset[str]:
        return FACTS

    def _by_differences(self) -> bool:
        return True

    def _resolve(self, rows: Rows) -> Kernel:
        if self.length_scale != MEDIAN:
            return self
        return self.set_params(length_scale=self._median(rows))

    def _median(self, rows: Rows) -> float:
        return median_distance(rows.vectors(), "euclidean", rows.weights)

    def _squared(self, x: Any, z: Any, m: Arithmetic) -> Any:
        scales = self._scales()
        total = m.number(0.0)
        for i, (a, b) in enumerate(zip(x, z, strict=True)):
            step = (a - b) / m.number(float(self.length_scale if scales is None else scales[i]))  # type: ignore[arg-type]
            total = total + step * step
        return total


@dataclass(frozen=True, repr=False)
class Gaussian(Stationary):
    """exp(-||x - z||^2 / (2 length_scale^2)); a sequence of length scales gives each column its own (ARD).

    Other ways to write it: `from_gamma(g)` exp(-g d^2), `from_width(c)` exp(-d^2/c^2), `from_variance(s)` exp(-d^2/(2s)),
    `from_denominator(s)` exp(-d^2/s).

    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0]])
    >>> bool(np.isclose(Gaussian(length_scale=2.0)(X)[0, 1], np.exp(-1 / 8)))
    True
    >>> Gaussian.from_gamma(0.5)
    Gaussian(length_scale=1.0)
    """

    length_scale: float | tuple[float, ...] | str = length_scale(keyword=False)
    _steady = True

    @classmethod
    def from_gamma(cls, gamma: float) -> Gaussian:
        """exp(-gamma ||x - z||^2), scikit-learn's form: length_scale = 1 / sqrt(2 gamma)."""
        return cls((2.0 * _positive("from_gamma", gamma)) ** -0.5)

    @classmethod
    def from_width(cls, width: float) -> Gaussian:
        """exp(-||x - z||^2 / width^2): length_scale = width / sqrt(2)."""
        return cls(_positive("from_width", width) / 2.0**0.5)

    @classmethod
    def from_variance(cls, variance: float) -> Gaussian:
        """exp(-||x - z||^2 / (2 variance)): length_scale = sqrt(variance)."""
        return cls(_positive("from_variance", variance) ** 0.5)

    @classmethod
    def from_denominator(cls, denominator: float) -> Gaussian:
        """exp(-||x - z||^2 / denominator): length_scale = sqrt(denominator / 2)."""
        return cls((_positive("from_denominator", denominator) / 2.0) ** 0.5)

    def taylor_features(self, X: Any, degree: int) -> TaylorFeatures:
        """Return the features of the Taylor series cut after `degree`, and a bound on the error of k on these data."""
        refuse_unresolved(self)
        return taylor_features(self._factor(), self._scales(), X, degree)

    def _why_no_features(self) -> str:
        return f"{super()._why_no_features()}, or k.taylor_features(X, degree) with a bound on what is left out"

    def _profile(self, d2: Array, factor: float, exp: Exp) -> Array:
        return exp(d2, -0.5 * factor)

    def _slope(self, s: Array, K: Array) -> Array:
        return -0.5 * K

    def _spectral(self, width: int) -> GaussianLaw:
        return GaussianLaw(self._inverse_scales(width))

    def _squares(self, other: Kernel) -> bool:
        if not isinstance(other, Gaussian) or isinstance(other.length_scale, str) or isinstance(self.length_scale, str):
            return False
        own, wide = np.atleast_1d(self.length_scale), np.atleast_1d(other.length_scale)
        return own.shape == wide.shape and bool(np.allclose(own * 2.0**0.5, wide, rtol=1e-12, atol=0.0))

    def _derivation(self) -> Derivation:
        inner: Kernel
        if isinstance(self.length_scale, tuple):
            inner = Bilinear(FrozenArray(np.diag(np.array(self.length_scale) ** -2.0)))
        elif isinstance(self.length_scale, str):
            inner = Linear()
        else:
            inner = self._factor() * Linear()
        because = "exp(-||x - z||^2 / 2) = exp(<x, z>) / sqrt(exp(<x, x>) exp(<z, z>)), with x and z divided by length_scale"
        return Derivation("normalized exponential of an inner product", because, (inner.exp().normalized(),))

    def _value(self, x: Any, z: Any, m: Arithmetic) -> Any:
        return m.exp(m.number(-0.5) * self._squared(x, z, m))


def _positive(name: str, value: float) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = np.nan
    if not (np.isfinite(number) and number > 0):
        raise InputError(f"Gaussian.{name} takes a finite number > 0; got {shown(value)}.")
    return number


@dataclass(frozen=True, repr=False)
class Exponential(Stationary):
    """exp(-||x - z||_2 / length_scale), the Matern kernel with nu = 1/2.

    The distance is Euclidean (l2). Some lectures call this one Laplace; `Laplacian` here is the l1 form of scikit-learn.

    >>> import numpy as np
    >>> X = np.array([[0.0, 0.0], [3.0, 4.0]])
    >>> bool(np.isclose(Exponential(length_scale=10.0)(X)[0, 1], np.exp(-0.5)))
    True
    """

    length_scale: float | tuple[float, ...] | str = length_scale(keyword=False)
    _rough = True

    def _profile(self, d2: Array, factor: float, exp: Exp) -> Array:
        distance = np.sqrt(d2)
        return exp(distance, -(factor**0.5), distance)

    def _slope(self, s: Array, K: Array) -> Array:
        return -0.5 * K * _inverse(np.sqrt(s))

    def _spectral(self, width: int) -> StudentLaw:
        return StudentLaw(self._inverse_scales(width), 0.5)

    def _derivation(self) -> Derivation:
        return Derivation("Bochner", f"{BOCHNER}; here it is a multivariate Cauchy density, on every R^d")

    def _value(self, x: Any, z: Any, m: Arithmetic) -> Any:
        return m.exp(m.number(-1.0) * m.sqrt(self._squared(x, z, m)))


def _take_near(S: Array, d2: Array, a: Array, b: Array) -> Floats:
    """Return sum_ij S_ij (a_i - b_j)^2 per column over near pairs, by differences, and set their S_ij to 0.

    S grows like 1 / distance there, and would multiply the rounding of the expanded square.
    """
    total = np.zeros(a.shape[1])
    i, j = np.nonzero(d2 < 1e-4 * d2.max())
    step = max(1, 2**18 // a.shape[1])  # in portions, so that a tile full of duplicates stays small
    for start in range(0, len(i), step):
        rows, cols = i[start : start + step], j[start : start + step]
        total += S[rows, cols] @ (a[rows] - b[cols]) ** 2
    S[i, j] = 0.0
    return total


def _inverse(values: Array) -> Array:
    """1 / values, and 0 where values is 0: there the factor (x - z)^2 beside it vanishes faster."""
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)


@dataclass(frozen=True, repr=False)
class Laplacian(Stationary):
    """exp(-||x - z||_1 / length_scale): a product of one-dimensional exponentials, scikit-learn's laplacian kernel.

    The distance is the sum of absolute differences (l1); `Exponential` is the l2 form. With a sequence,
    exp(-sum_k |x_k - z_k| / length_scale_k).

    >>> import numpy as np
    >>> X = np.array([[0.0, 0.0], [3.0, 4.0]])
    >>> bool(np.isclose(Laplacian(length_scale=14.0)(X)[0, 1], np.exp(-0.5)))
    True
    """

    length_scale: float | tuple[float, ...] | str = length_scale(keyword=False)

    _dense = True

    def _encode(self, rows: Rows) -> Encoding:
        if sp.issparse(rows.vectors()):
            raise InputError(f"Laplacian takes dense arrays; {rows.name} is sparse. Use {rows.name}.toarray().")
        return super()._encode(rows)

    def _block(self, pair: Pair) -> Array:
        return pair.exp(pair.manhattan_distances(), -(self._factor() ** 0.5))

    def _pullback(self, pair: Pair, W: Array) -> Floats:
        S = pair.block(self) * W
        if self._width() is None:
            return np.array([self._factor() ** 0.5 * np.vdot(S, pair.manhattan_distances())])
        a, b = pair.A.array[pair.rows], pair.B.array[pair.cols]
        return weighted_sums(a, b, S, 1.0)

    def _median(self, rows: Rows) -> float:
        return median_distance(rows.vectors(), "manhattan", rows.weights)

    def _spectral(self, width: int) -> CauchyLaw:
        return CauchyLaw(self._inverse_scales(width))

    def _derivation(self) -> Derivation:
        return Derivation("Bochner", f"{BOCHNER}; here it is a product of Cauchy densities, one per column, on every R^d")

    def _value(self, x: Any, z: Any, m: Arithmetic) -> Any:
        scales = self._scales()
        total = m.number(0.0)
        for i, (a, b) in enumerate(zip(x, z, strict=True)):
            scale = float(self.length_scale if scales is None else scales[i])  # type: ignore[arg-type]
            total = total + m.absolute(a - b) / m.number(scale)
        return m.exp(m.number(-1.0) * total)


@dataclass(frozen=True, repr=False)
class RationalQuadratic(Stationary):
    """(1 + ||x - z||^2 / (2 shape length_scale^2))^(-shape): a mixture of Gaussians of many widths.

    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0]])
    >>> bool(np.isclose(RationalQuadratic(length_scale=1.0, shape=0.5)(X)[0, 1], 2**-0.5))
    True
    """

    length_scale: float | tuple[float, ...] | str = length_scale(keyword=False)
    shape: float = positive(1.0)

    def _profile(self, d2: Array, factor: float, exp: Exp) -> Array:
        # log1p and exp keep the digits of values near 1, and the result is never 0 ** negative
        values = np.log1p(d2 * d2.dtype.type(factor / (2.0 * self.shape)))
        return exp(values, -self.shape, values)

    def _slope(self, s: Array, K: Array) -> Array:
        return -0.5 * K / (1.0 + s / (2.0 * self.shape))

    def _shape_pullback(self, s: Array, W: Array) -> Floats:
        u = s / (2.0 * self.shape)
        slope = np.exp(-self.shape * np.log1p(u)) * (u / (1.0 + u) - np.log1p(u))
        return np.array([self.shape * np.vdot(W, slope)])

    def _spectral(self, width: int) -> GammaLaw:
        return GammaLaw(self._inverse_scales(width), self.shape)

    def _derivation(self) -> Derivation:
        because = f"Gaussians mixed over a Gamma({self.shape!r}) law of 1 / length_scale^2: a limit of sums of kernels"
        return Derivation("mixture of kernels", because, (Gaussian(self.length_scale),))

    def _value(self, x: Any, z: Any, m: Arithmetic) -> Any:
        base = m.number(1.0) + self._squared(x, z, m) / m.number(2.0 * self.shape)
        return m.exp(m.number(-self.shape) * m.log(base))
