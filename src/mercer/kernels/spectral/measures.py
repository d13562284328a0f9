"""Spectral measures of single kernels: mass, sampler, density if there is one, second moments."""

from __future__ import annotations

import abc
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import special

from mercer.arrays import Floats
from mercer.errors import CapabilityError

#: Quantiles are computed strictly inside (0, 1): at the ends a normal law is infinite.
EDGE = 2.0**-54

#: Frequencies stay finite: a law without moments has draws whose cosine could not be computed.
LARGEST_FREQUENCY = 1e100


class Measure(abc.ABC):
    """Abstract: a finite measure on R^d, symmetric about 0, with k(x, z) = integral of cos(w'(x - z)).

    Frequencies are in radians per unit. A sampler is a function of uniform numbers, so that the same measure serves
    independent draws and low-discrepancy points.
    """

    width: int
    mass: float

    @property
    @abc.abstractmethod
    def n_uniforms(self) -> int:
        """How many uniform numbers make one frequency."""

    @abc.abstractmethod
    def sample(self, uniforms: Floats) -> Floats:  # (m, n_uniforms) -> (m, d)
        """Return frequencies distributed as the measure divided by its mass."""

    @abc.abstractmethod
    def covariance(self) -> Floats:  # -> (d, d)
        """Return E[w w'] under the measure divided by its mass; inf where it does not exist."""

    def density(self, frequencies: Any) -> Floats:  # (m, d) -> (m,)
        """Return the density per (radian per unit)^d; it integrates to the mass. CapabilityError if there is none."""
        raise CapabilityError(f"{self} has no density: {self._why_no_density()}")

    def _why_no_density(self) -> str:
        return "it lives on single frequencies or on a subspace."

    @property
    def has_density(self) -> bool:
        """Whether there is a density."""
        return False

    def parts(self) -> tuple[Measure, ...]:
        """The measures that this one adds up; itself where it is no mixture."""
        return (self,)

    def radius(self) -> tuple[int, Floats] | None:
        """(further uniforms, scales) of w = scales * r * direction with a uniform direction; None where r does not exist."""
        return None

    def radii(self, uniforms: Floats) -> Floats:  # (m, 1 + further) -> (m,)
        """Return the lengths r of `radius` from uniform numbers."""
        raise CapabilityError(f"{self} is not isotropic.")

    @property
    def second_moment(self) -> float:
        """E ||w||^2, minus the trace of the Hessian of k at 0 divided by k(0); inf for kernels with a kink at 0."""
        return float(np.trace(self.covariance()))

    @property
    def columns(self) -> frozenset[int]:
        """The columns of x on which the measure depends: the others have frequency 0."""
        return frozenset(range(self.width))


def as_frequencies(frequencies: Any, width: int) -> Floats:  # -> (m, d)
    """Frequencies as an (m, d) array; (m,) is read as one column."""
    w = np.asarray(frequencies, dtype=np.float64)
    return w.reshape(-1, width)


def inside(uniforms: Floats) -> Floats:
    """Uniform numbers strictly between 0 and 1."""
    return np.clip(uniforms, EDGE, 1.0 - 2 * EDGE)


class Isotropic(Measure):
    """Abstract: w = s z / length_scale with z standard normal and a random factor s > 0, independent of z.

    The factor is constant for the Gaussian, 1 / sqrt(gamma) for Matern, sqrt(gamma) for the rational quadratic kernel.
    """

    scales: tuple[float, ...]  # 1 / length_scale of every column
    _mixed: bool = True  # whether s is random

    def _spread(self, uniforms: Floats) -> Floats:  # (m,) -> (m,)
        """s from one uniform number."""
        raise NotImplementedError  # pragma: no cover - abstract

    def _variance(self) -> float:
        """E s^2, which may be inf."""
        raise NotImplementedError  # pragma: no cover - abstract

    def _log_profile(self, r2: Floats) -> Floats:
        """The logarithm of the density of s z as a function of its squared length."""
        raise NotImplementedError  # pragma: no cover - abstract

    @property
    def width(self) -> int:  # type: ignore[override]
        return len(self.scales)

    @property
    def n_uniforms(self) -> int:
        return self.width + self._mixed

    def sample(self, uniforms: Floats) -> Floats:
        u = inside(uniforms)
        normal = special.ndtri(u[:, : self.width])
        if self._mixed:
            normal *= self._spread(u[:, -1])[:, None]
        return np.clip(normal * np.array(self.scales), -LARGEST_FREQUENCY, LARGEST_FREQUENCY)

    def covariance(self) -> Floats:
        with np.errstate(invalid="ignore"):
            return np.diag(np.square(self.scales)) * self._variance() if np.isfinite(self._variance()) else _infinite(self)

    @property
    def has_density(self) -> bool:
        return True

    def density(self, frequencies: Any) -> Floats:
        w = as_frequencies(frequencies, self.width) / np.array(self.scales)
        log = self._log_profile(np.einsum("ij,ij->i", w, w)) - np.log(self.scales).sum()
        return self.mass * np.exp(log)

    def radius(self) -> tuple[int, Floats]:
        return int(self._mixed), np.array(self.scales)

    def radii(self, uniforms: Floats) -> Floats:
        u = inside(uniforms)
        chi = np.sqrt(2.0 * special.gammaincinv(self.width / 2.0, u[:, 0]))
        return np.minimum(chi * self._spread(u[:, 1]) if self._mixed else chi, LARGEST_FREQUENCY)


def _infinite(measure: Measure) -> Floats:
    return np.diag(np.full(measure.width, np.inf))


@dataclass(frozen=True)
class GaussianLaw(Isotropic):
    """A normal law with standard deviation 1 / length_scale: of the Gaussian kernel."""

    scales: tuple[float, ...]
    mass: float = 1.0
    _mixed = False

    def _variance(self) -> float:
        return 1.0

    def _log_profile(self, r2: Floats) -> Floats:
        return -0.5 * r2 - 0.5 * self.width * np.log(2.0 * np.pi)


@dataclass(frozen=True)
class StudentLaw(Isotropic):
    """A multivariate t law of 2 nu degrees of freedom: of the Matern kernels; nu = 1/2 is Cauchy, of the exponential."""

    scales: tuple[float, ...]
    nu: float
    mass: float = 1.0

    def _spread(self, uniforms: Floats) -> Floats:
        with np.errstate(divide="ignore", over="ignore"):
            return np.minimum(np.sqrt(self.nu / special.gammaincinv(self.nu, uniforms)), LARGEST_FREQUENCY)

    def _variance(self) -> float:
        return self.nu / (self.nu - 1.0) if self.nu > 1 else np.inf

    def _log_profile(self, r2: Floats) -> Floats:
        d, nu = self.width, self.nu
        constant = special.gammaln(nu + d / 2.0) - special.gammaln(nu) - 0.5 * d * np.log(2.0 * np.pi * nu)
        return constant - (nu + d / 2.0) * np.log1p(r2 / (2.0 * nu))


@dataclass(frozen=True)
class GammaLaw(Isotropic):
    """Normal laws whose variance has a Gamma(shape) law of mean 1: of the rational quadratic kernel."""

    scales: tuple[float, ...]
    shape: float
    mass: float = 1.0

    def _spread(self, uniforms: Floats) -> Floats:
        return np.sqrt(special.gammaincinv(self.shape, uniforms) / self.shape)

    def _variance(self) -> float:
        return 1.0

    def _log_profile(self, r2: Floats) -> Floats:
        # the integral of t^(a-1-d/2) exp(-a t - r2/(2t)) over t > 0 is 2 (r2/(2a))^(order/2) K_order(sqrt(2 a r2))
        a, d = self.shape, self.width
        order, tiny = a - d / 2.0, np.maximum(r2, 1e-300)
        constant = a * np.log(a) - special.gammaln(a) - 0.5 * d * np.log(2.0 * np.pi) + np.log(2.0)
        argument = np.sqrt(2.0 * a * tiny)
        with np.errstate(divide="ignore", over="ignore"):
            bessel = np.log(special.kve(order, argument)) - argument
        near = np.isinf(bessel)  # K overflows next to 0, where it is Gamma(order) (2 / x)^order / 2
        bessel[near] = special.gammaln(abs(order)) - np.log(2.0) + abs(order) * np.log(2.0 / argument[near])
        return constant + 0.5 * order * np.log(tiny / (2.0 * a)) + bessel


@dataclass(frozen=True)
class CauchyLaw(Measure):
    """Independent Cauchy laws of width 1 / length_scale, one per column: of the Laplacian (l1) kernel."""

    scales: tuple[float, ...]
    mass: float = 1.0

    @property
    def width(self) -> int:  # type: ignore[override]
        return len(self.scales)

    @property
    def n_uniforms(self) -> int:
        return self.width

    def sample(self, uniforms: Floats) -> Floats:
        return np.tan(np.pi * (inside(uniforms) - 0.5)) * np.array(self.scales)

    def covariance(self) -> Floats:
        return _infinite(self)

    @property
    def has_density(self) -> bool:
        return True

    def density(self, frequencies: Any) -> Floats:
        w = as_frequencies(frequencies, self.width) / np.array(self.scales)
        return self.mass * np.prod(1.0 / (np.pi * np.array(self.scales) * (1.0 + w * w)), axis=1)


@dataclass(frozen=True)
class CircleLaw(Measure):
    """Whole multiples of 2 pi / period with probabilities exp(-a) I_j(a), a = 1 / length_scale^2: of the periodic kernel."""

    rates: tuple[float, ...]  # a, one per column
    period: float
    mass: float = 1.0

    @property
    def width(self) -> int:  # type: ignore[override]
        return len(self.rates)

    @property
    def n_uniforms(self) -> int:
        return self.width

    def sample(self, uniforms: Floats) -> Floats:
        u = inside(uniforms)
        turns = np.column_stack([_whole_turns(rate, u[:, k]) for k, rate in enumerate(self.rates)])
        return turns * (2.0 * np.pi / self.period)

    def covariance(self) -> Floats:
        return np.diag(np.array(self.rates)) * (2.0 * np.pi / self.period) ** 2

    def _why_no_density(self) -> str:
        return "it lives on whole multiples of 2 pi / period."


#: From here on the law on whole numbers is a rounded normal law of variance a, to an error of about 1/a.
ROUNDED = 1e8


def _whole_turns(rate: float, uniforms: Floats) -> Floats:  # (m,) -> (m,)
    """Quantiles of the law p_j = exp(-a) I_|j|(a) on the whole numbers."""
    if rate > ROUNDED:
        return np.round(np.sqrt(rate) * special.ndtri(uniforms))
    last = int(40 + 10 * np.sqrt(rate))
    j = np.arange(-last, last + 1)
    cumulative = np.cumsum(special.ive(np.abs(j), rate))
    return j[np.minimum(np.searchsorted(cumulative, uniforms * cumulative[-1], side="left"), len(j) - 1)].astype(np.float64)


@dataclass(frozen=True)
class Atoms(Measure):
    """Finitely many frequencies +-w_j with weights: of a constant (one atom at 0) and of given frequencies."""

    frequencies: Floats = field()  # (m, d)
    weights: Floats = field()  # (m,)

    @classmethod
    def at_zero(cls, width: int, mass: float) -> Atoms:
        """The measure of a constant."""
        return cls(np.zeros((1, width)), np.array([mass]))

    @property
    def width(self) -> int:  # type: ignore[override]
        return int(self.frequencies.shape[1])

    @property
    def mass(self) -> float:  # type: ignore[override]
        return float(self.weights.sum())

    @property
    def n_uniforms(self) -> int:
        return 1

    def sample(self, uniforms: Floats) -> Floats:
        if self.mass == 0:
            return np.zeros((len(uniforms), self.width))
        cumulative = np.cumsum(self.weights)
        # the last atom of positive weight, should rounding leave the sum below 1
        chosen = np.searchsorted(cumulative, uniforms[:, 0] * cumulative[-1], side="right")
        return self.frequencies[np.minimum(chosen, np.flatnonzero(self.weights)[-1])]

    def covariance(self) -> Floats:
        if self.mass == 0:
            return np.zeros((self.width, self.width))
        return (self.frequencies.T * self.weights) @ self.frequencies / self.mass

    @property
    def columns(self) -> frozenset[int]:
        return frozenset(np.flatnonzero(self.frequencies.any(axis=0)).tolist())


@dataclass(frozen=True)
class StableLaw(Measure):
    """w = s^(1/p) v / length_scale, v of independent symmetric p-stable numbers, s positive (q/p)-stable (1 where q = p).

    E cos(v't) = exp(-sum_k |t_k|^p) and E exp(-s u) = exp(-u^(q/p)), so that E cos(w't) = exp(-(sum_k |t_k|^p)^(q/p)).
    """

    scales: tuple[float, ...]
    norm: float
    power: float
    mass: float = 1.0

    @property
    def width(self) -> int:  # type: ignore[override]
        return len(self.scales)

    @property
    def n_uniforms(self) -> int:
        return 2 * self.width + 2 * (self.power < self.norm)

    def sample(self, uniforms: Floats) -> Floats:
        u = inside(uniforms)
        d = self.width
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            w = symmetric_stable(u[:, :d], u[:, d : 2 * d], self.norm)
            if self.power < self.norm:
                w *= positive_stable(u[:, -2], u[:, -1], self.power / self.norm)[:, None] ** (1.0 / self.norm)
        return np.clip(
            np.nan_to_num(w * np.array(self.scales), posinf=LARGEST_FREQUENCY, neginf=-LARGEST_FREQUENCY),
            -LARGEST_FREQUENCY,
            LARGEST_FREQUENCY,
        )

    def covariance(self) -> Floats:
        if self.power == 2.0:
            return np.diag(2.0 * np.square(self.scales))
        return np.diag(np.full(self.width, np.inf))

    def _why_no_density(self) -> str:
        return "stable laws have no closed form."


def symmetric_stable(angle: Floats, height: Floats, index: float) -> Floats:
    """Numbers with E cos(v t) = exp(-|t|^index) from two uniform ones (Chambers, Mallows and Stuck)."""
    V, W = np.pi * (angle - 0.5), -np.log(height)
    if index == 1.0:
        return np.tan(V)
    ratio = np.cos((1.0 - index) * V) / W
    return np.asarray(np.sin(index * V) / np.cos(V) ** (1.0 / index) * ratio ** ((1.0 - index) / index))


def positive_stable(angle: Floats, height: Floats, index: float) -> Floats:
    """Positive numbers with E exp(-s u) = exp(-u^index), 0 < index < 1, from two uniform ones (Kanter)."""
    theta, W = np.pi * angle, -np.log(height)
    lead = np.sin(index * theta) / np.sin(theta) ** (1.0 / index)
    return np.asarray(lead * (np.sin((1.0 - index) * theta) / W) ** ((1.0 - index) / index))
