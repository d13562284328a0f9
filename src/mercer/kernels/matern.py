"""The Matern family: smoothness nu between the exponential (1/2) and the Gaussian (infinity)."""

from __future__ import annotations

from dataclasses import dataclass
from math import gamma
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.kernels.base import Kernel
from mercer.kernels.derivation import Arithmetic, Derivation
from mercer.kernels.fields import length_scale, positive
from mercer.kernels.spectral.laws import StudentLaw
from mercer.kernels.stationary import BOCHNER, Exp, Stationary
from mercer.numeric.points import exp_plain

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
