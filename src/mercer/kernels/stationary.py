"""Stationary kernels: Gaussian, exponential, Laplacian, rational quadratic, Matern and power exponential."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from math import gamma
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Array, Floats
from mercer.errors import InputError, shown
from mercer.inputs import Rows
from mercer.kernels.base import Arithmetic, Derivation, Kernel
from mercer.kernels.evaluation import Pair, refuse_unresolved
from mercer.kernels.features import TaylorFeatures, taylor_features
from mercer.kernels.fields import MEDIAN, length_scale, positive
from mercer.kernels.spectral.measures import CauchyLaw, GammaLaw, GaussianLaw, StableLaw, StudentLaw
from mercer.kernels.vectors import Bilinear, Linear
from mercer.numeric.encodings import Encoding, dense
from mercer.numeric.frozen import FrozenArray
from mercer.numeric.points import Points, exp_plain, few, median_distance, power_slopes, weighted_sums
from mercer.numeric.tiles import row_blocks

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

    def _beyond_unit(self) -> None:
        """A profile decreases from 1 and is positive."""

    def _scales(self) -> Floats | None:
        return np.array(self.length_scale) if isinstance(self.length_scale, tuple) else None

    def _factor(self) -> float:
        return float(self.length_scale) ** -2 if isinstance(self.length_scale, float) else 1.0

    def width(self) -> int | None:
        return len(self.length_scale) if isinstance(self.length_scale, tuple) else None

    def _inverse_scales(self, width: int) -> tuple[float, ...]:
        """1 / length_scale of every column: the scales of the spectral measure."""
        scales = self._scales()
        return (float(self._factor() ** 0.5),) * width if scales is None else tuple((1.0 / scales).tolist())

    def _encode(self, rows: Rows) -> Encoding:
        X = rows.vectors()
        if self.width() not in (None, X.shape[1]):
            raise InputError(
                f"{type(self).__name__}: length_scale has {self.width()} entries, but {rows.name} has {X.shape[1]} columns."
            )
        key = self.length_scale if self.width() else None
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
        K, each = pair.block(self), self.width() is not None
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
        """The gradient in further parameters of the profile, which follow length_scale in theta."""
        return np.empty(0)

    def facts(self) -> frozenset[str]:
        return FACTS

    def by_differences(self) -> bool:
        return True

    @property
    def unresolved(self) -> bool:
        return self.length_scale == MEDIAN

    def _resolve(self, rows: Rows) -> Kernel:
        return self.set_params(length_scale=self._median(rows)) if self.unresolved else self

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

    def is_square_of(self, other: Kernel) -> bool:
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
            inner = float(f"{self._factor():.15g}") * Linear()  # 100 for a length scale of 0.1, not 99.99999999999999
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
    for part in row_blocks(len(i), step):
        rows, cols = i[part], j[part]
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
        if self.width() is None:
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
        ratio = factor / (2.0 * self.shape)
        if ratio <= math.sqrt(np.finfo(d2.dtype).max):
            values = np.log1p(d2 * d2.dtype.type(ratio))
        else:  # the ratio, or its products, may be infinite; its logarithm is not
            with np.errstate(divide="ignore"):
                logarithms = np.log(d2) + (math.log(factor) - math.log(2.0 * self.shape))
            values = np.logaddexp(0.0, logarithms).astype(d2.dtype, copy=False)
        return exp(values, -self.shape, values)

    def _slope(self, s: Array, K: Array) -> Array:
        with np.errstate(over="ignore"):
            return np.asarray(-0.5 * K / (1.0 + s / (2.0 * self.shape)))

    def _shape_pullback(self, s: Array, W: Array) -> Floats:
        with np.errstate(over="ignore"):
            u = np.minimum(s / (2.0 * self.shape), np.finfo(np.float64).max)
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


#: Half-integer nu whose profile is a polynomial times exp(-t), t = sqrt(2 nu) r: coefficients of 1, t, t^2, … as fractions
_FRACTIONS = {0.5: ((1, 1),), 1.5: ((1, 1), (1, 1)), 2.5: ((1, 1), (1, 1), (1, 3)), 3.5: ((1, 1), (1, 1), (2, 5), (1, 15))}
_POLYNOMIALS = {nu: [a / b for a, b in coefficients] for nu, coefficients in _FRACTIONS.items()}


#: From here on the expansion for large nu has all its digits, and the Bessel function begins to overflow.
LARGE = 50.0


@dataclass(frozen=True, repr=False)
class Matern(Stationary):
    """2^(1-nu) / Gamma(nu) t^nu K_nu(t) with t = sqrt(2 nu) ||x - z|| / length_scale, for any nu > 0.

    nu = 1/2 is Exponential, 3/2 is (1 + t) exp(-t), 5/2 is (1 + t + t^2/3) exp(-t). nu is not a free parameter.

    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0]])
    >>> t = 3**0.5
    >>> bool(np.isclose(Matern(nu=1.5)(X)[0, 1], (1 + t) * np.exp(-t)))
    True
    """

    nu: float = positive(1.5, keyword=False, free=False)
    length_scale: float | tuple[float, ...] | str = length_scale()

    @property
    def _rough(self) -> bool:  # type: ignore[override]
        return self.nu < 1.5

    def _profile(self, d2: Array, factor: float, exp: Exp) -> Array:
        t = np.sqrt(d2)
        t *= (2.0 * self.nu * factor) ** 0.5
        return _matern(self.nu, t, exp)

    def _slope(self, s: Array, K: Array) -> Array:
        # d/dt [t^nu K_nu(t)] = -t^nu K_(nu-1)(t), and dt/ds = nu / t
        t = np.sqrt(2.0 * self.nu * s)
        if self.nu == 0.5:
            return -0.5 * K / np.where(t > 0, t, np.inf)
        if self.nu > 1:
            return -0.5 * self.nu / (self.nu - 1.0) * _matern(self.nu - 1.0, t)
        from scipy.special import kv

        safe = np.where(t > 0, t, 1.0)
        slope = -self.nu * 2.0 ** (1.0 - self.nu) / gamma(self.nu) * safe ** (self.nu - 1.0) * kv(1.0 - self.nu, safe)
        return np.where(t > 0, slope, 0.0)

    def _spectral(self, width: int) -> StudentLaw:
        return StudentLaw(self._inverse_scales(width), self.nu)

    def _derivation(self) -> Derivation:
        because = f"{BOCHNER}; here it is a multivariate t density of {2 * self.nu:g} degrees of freedom, on every R^d"
        return Derivation("Bochner", because)

    def _value(self, x: Any, z: Any, m: Arithmetic) -> Any:
        if self.nu not in _FRACTIONS:
            return Kernel._value(self, x, z, m)
        t = m.sqrt(m.number(2.0 * self.nu) * self._squared(x, z, m))
        total = m.number(0.0)
        for a, b in reversed(_FRACTIONS[self.nu]):
            total = total * t + m.number(a) / m.number(b)
        return total * m.exp(m.number(-1.0) * t)


def _matern_of_large_order(nu: float, t: Array) -> Array:
    """The profile where Gamma(nu) and K_nu(t) overflow: Debye's uniform expansion, divided by its value at 0.

    K_nu(nu z) ~ exp(-nu eta) / sqrt(s) sum_k (-1)^k U_k(1/s) / nu^k with s = sqrt(1 + z^2); see DLMF 10.41.4.
    """
    z2 = (t.astype(np.float64) / nu) ** 2
    s = np.sqrt(1.0 + z2)
    excess = z2 / (1.0 + s)  # s - 1, with all its digits
    series = sum((U * (-1.0 / nu) ** k for k, U in enumerate(_debye_polynomials())), np.polynomial.Polynomial([0.0]))
    values = np.exp(-nu * (excess - np.log1p(0.5 * excess))) / np.sqrt(s) * series(1.0 / s) / series(1.0)
    return np.asarray(values.astype(t.dtype))


def _debye_polynomials(count: int = 8) -> list[np.polynomial.Polynomial]:
    """U_0 … of DLMF 10.41.9: U_(k+1) = p^2 (1 - p^2) U_k' / 2 + the integral of (1 - 5 p^2) U_k / 8."""
    p2 = np.polynomial.Polynomial([0.0, 0.0, 1.0])
    found = [np.polynomial.Polynomial([1.0])]
    while len(found) < count:
        found.append(p2 * (1 - p2) * found[-1].deriv() / 2 + ((1 - 5 * p2) * found[-1]).integ() / 8)
    return found


def _matern(nu: float, t: Array, exp: Exp = exp_plain) -> Array:
    """The profile as a function of t = sqrt(2 nu) r; t may be overwritten."""
    if nu in _POLYNOMIALS:
        values = np.polynomial.polynomial.polyval(t, _POLYNOMIALS[nu]).astype(t.dtype, copy=False)
        values *= exp(t, -1.0, t)
        return np.asarray(values)
    if nu >= LARGE:
        return _matern_of_large_order(nu, t)
    from scipy.special import gammaln, kve

    r = np.where(t > 0, t, 1.0).astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # in logarithms, since Gamma(nu) and K_nu overflow
        # K_nu is not computed beyond 1e9; there e^r K_nu(r) = sqrt(pi / (2 r)) to the last digit
        bessel = np.where(r < 1e9, np.log(kve(nu, r)), 0.5 * np.log(0.5 * np.pi / r))
        values = np.exp((1.0 - nu) * np.log(2.0) - gammaln(nu) + nu * np.log(r) + bessel - r)
        series = 1.0 - r * r / (4.0 * (nu - 1.0))  # where even K_nu overflows: r is tiny beside nu > 1
    values = np.where(np.isfinite(values), values, series)
    return np.asarray(np.where(t > 0, np.minimum(values, 1.0), 1.0).astype(t.dtype))


@dataclass(frozen=True, repr=False)
class PowerExponential(Stationary):
    """exp(-(||x - z||_p / length_scale)^q) with norm p and power q, 0 < power <= norm <= 2.

    norm = power = 1 is Laplacian, norm = 2 and power = 1 is Exponential, norm = power = 2 is a Gaussian whose length
    scale is sqrt(2) times larger. With a sequence of length scales, ||.||_p is that of the columns divided by theirs.

    >>> import numpy as np
    >>> X = np.array([[0.0, 0.0], [3.0, 4.0]])
    >>> bool(np.isclose(PowerExponential(2.0, power=1.0, length_scale=10.0)(X)[0, 1], np.exp(-0.5)))
    True
    >>> bool(np.isclose(PowerExponential(1.0, power=0.5, length_scale=7.0)(X)[0, 1], np.exp(-1.0)))
    True
    """

    norm: float = positive(2.0, keyword=False, free=False)
    power: float = positive(1.0, free=False)
    length_scale: float | tuple[float, ...] | str = length_scale()

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.power <= self.norm <= 2.0:
            raise InputError(
                f"PowerExponential needs 0 < power <= norm <= 2; got norm={self.norm!r}, power={self.power!r}. Outside "
                "these bounds it is not a kernel in every dimension."
            )

    @property
    def _rough(self) -> bool:  # type: ignore[override]
        return self.power < 2.0

    @property
    def _dense(self) -> bool:  # type: ignore[override]
        return self.norm != 2.0

    def _encode(self, rows: Rows) -> Encoding:
        if self.norm != 2.0 and sp.issparse(rows.vectors()):
            raise InputError(f"PowerExponential with norm < 2 takes dense arrays; {rows.name} is sparse.")
        return super()._encode(rows)

    def _sums(self, pair: Pair) -> Array:
        """sum_k |x_k - z_k|^p / l_k^p, in a shared array unless one length scale serves all columns."""
        if self.norm == 2.0:
            sums = self._distances(pair)
        else:
            sums = pair.manhattan_distances() if self.norm == 1.0 else pair.power_sums(self.norm)
        return sums if self._factor() == 1.0 else sums * sums.dtype.type(self._factor() ** (self.norm / 2.0))

    def _block(self, pair: Pair) -> Array:
        sums = self._sums(pair)
        if self.power == self.norm:
            return pair.exp(sums, -1.0)
        exponent = np.sqrt(sums) if self.norm == 2.0 * self.power else sums ** sums.dtype.type(self.power / self.norm)
        return pair.exp(exponent, -1.0, exponent)

    def _weights(self, pair: Pair, K: Array) -> Array:
        """power K s^(power/norm - 1), and 0 where s = 0: what every derivative has as a factor."""
        sums = self._sums(pair)
        if self.power == self.norm:
            return self.power * K
        near = sums > 0
        slope = np.zeros_like(sums)
        np.power(sums, self.power / self.norm - 1.0, out=slope, where=near)
        return self.power * K * slope

    def _pullback(self, pair: Pair, W: Array) -> Floats:
        S = self._weights(pair, pair.block(self)) * W  # dK / dlog(l_k) = S (|x_k - z_k| / l_k)^p
        if self.width() is None:
            return np.array([np.vdot(S, self._sums(pair))])
        a, b = pair.A.array[pair.rows], pair.B.array[pair.cols]
        return weighted_sums(a, b, S, self.norm)

    def _input_slopes(self, pair: Pair, coef: Array) -> Floats:  # (m,) -> (n, d)
        weights = -self._weights(pair, pair.block(self)) * coef
        scale = self._scales()
        a, b = pair.A.array[pair.rows], pair.B.array[pair.cols]
        if scale is None:  # encoded rows are divided by several length scales, not by one
            scale = np.array(self._factor() ** -0.5)
            a, b = a / scale, b / scale
        return power_slopes(a, b, weights, self.norm) / scale

    def _median(self, rows: Rows) -> float:
        return median_distance(rows.vectors(), "manhattan" if self.norm < 1.5 else "euclidean", rows.weights)

    def _spectral(self, width: int) -> StableLaw:
        return StableLaw(self._inverse_scales(width), self.norm, self.power)

    def _derivation(self) -> Derivation:
        because = (
            f"|t|^p is negative definite for 0 < p = {self.norm!r} <= 2, so is the sum over columns, so is its power "
            f"q/p = {self.power / self.norm:.3g} <= 1 (a Bernstein function), and exp(-psi) of such a psi is a kernel"
        )
        return Derivation("Schoenberg", because)

    def _value(self, x: Any, z: Any, m: Arithmetic) -> Any:
        scales = self._scales()
        total = m.number(0.0)
        for i, (a, b) in enumerate(zip(x, z, strict=True)):
            step = m.absolute(a - b) / m.number(float(self.length_scale if scales is None else scales[i]))  # type: ignore[arg-type]
            total = total + _raised(step, self.norm, m)
        return m.exp(m.number(-1.0) * _raised(total, self.power / self.norm, m))


def _raised(x: Any, exponent: float, m: Arithmetic) -> Any:
    """x^exponent, by operations that stay exact where there are some."""
    if exponent == 1.0:
        return x
    if exponent == 2.0:
        return x * x
    return m.sqrt(x) if exponent == 0.5 else m.power(x, exponent)
