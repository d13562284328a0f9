"""What a spectral measure answers: its mass, a sampler, a density where it has one, its second moments."""

from __future__ import annotations

import abc
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.errors import CapabilityError

#: Quantiles are asked for strictly inside (0, 1): at the ends a normal law is infinite.
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
        """Return the density per (radian per unit)^d; it integrates to the mass. CapabilityError where there is none."""
        raise CapabilityError(f"{self} has no density: {self._why_no_density()}")

    def _why_no_density(self) -> str:
        return "it lives on single frequencies or on a subspace."

    @property
    def has_density(self) -> bool:
        """Whether `density` can be asked."""
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
        """The columns of x that the measure looks at: the others have frequency 0."""
        return frozenset(range(self.width))


def as_frequencies(frequencies: Any, width: int) -> Floats:  # -> (m, d)
    """Frequencies as an (m, d) array; (m,) is read as one column."""
    w = np.asarray(frequencies, dtype=np.float64)
    return w.reshape(-1, width)


def inside(uniforms: Floats) -> Floats:
    """Uniform numbers strictly between 0 and 1."""
    return np.clip(uniforms, EDGE, 1.0 - 2 * EDGE)
