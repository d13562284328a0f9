"""Measures made of measures: sums of kernels mix them, products convolve them, linear maps of x move them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.kernels.spectral.measures import Atoms, CauchyLaw, GaussianLaw, Measure, as_frequencies


def multiple(measure: Measure, factor: float) -> Measure:
    """The measure of factor * k."""
    if factor == 0:
        return Atoms.at_zero(measure.width, 0.0)
    if isinstance(measure, Atoms):
        return Atoms(measure.frequencies, measure.weights * factor)
    if isinstance(measure, Mixture):
        return Mixture(tuple(multiple(part, factor) for part in measure.terms))
    if isinstance(measure, Convolution):
        return Convolution((multiple(measure.factors[0], factor), *measure.factors[1:]))
    if isinstance(measure, LinearImage):
        return LinearImage(multiple(measure.inner, factor), measure.matrix)
    return dataclasses.replace(measure, mass=measure.mass * factor)  # type: ignore[type-var]


def mix(measures: Sequence[Measure]) -> Measure:
    """The measure of k1 + k2 + …: parts without mass are left out, those at frequency 0 become one."""
    parts = [part for measure in measures for part in measure.parts() if part.mass > 0]
    zero = [part for part in parts if not part.columns]
    rest = [part for part in parts if part.columns]
    if zero or not rest:
        rest.insert(0, Atoms.at_zero(measures[0].width, sum(part.mass for part in zero)))
    return rest[0] if len(rest) == 1 else Mixture(tuple(rest))


def convolve(measures: Sequence[Measure]) -> Measure:
    """The measure of k1 k2 …: normal laws become one normal law, Cauchy laws one Cauchy law, constants factors."""
    mass = float(np.prod([measure.mass for measure in measures]))
    width = measures[0].width
    rest = [multiple(m, 1.0 / m.mass) for m in measures if m.mass > 0 and m.columns]
    if mass == 0 or not rest:
        return Atoms.at_zero(width, mass)
    kept = [m for m in rest if not isinstance(m, (GaussianLaw, CauchyLaw))]
    normal = [m.scales for m in rest if isinstance(m, GaussianLaw)]
    cauchy = [m.scales for m in rest if isinstance(m, CauchyLaw)]
    if normal:
        kept.append(GaussianLaw(tuple(np.sqrt(np.sum(np.square(normal), axis=0)).tolist())))
    if cauchy:
        kept.append(CauchyLaw(tuple(np.sum(cauchy, axis=0).tolist())))
    return multiple(kept[0] if len(kept) == 1 else Convolution(tuple(kept)), mass)


def power(measure: Measure, exponent: int) -> Measure:
    """The measure of k^p."""
    return convolve([measure] * exponent) if exponent else Atoms.at_zero(measure.width, 1.0)


def polynomial(measure: Measure, coefficients: Sequence[float]) -> Measure:
    """The measure of c0 + c1 k + c2 k^2 + …"""
    return mix([multiple(power(measure, p), c) for p, c in enumerate(coefficients)])


def exponential(measure: Measure) -> Measure:
    """The measure of exp(k): its series, cut where what is left is below rounding of exp(k(0))."""
    coefficients, total, term, p = [1.0], 1.0, 1.0, 0
    while term * measure.mass**p > 1e-17 * total or p < measure.mass:
        p += 1
        term /= p
        coefficients.append(term)
        total += term * measure.mass**p
    return polynomial(measure, coefficients)


@dataclass(frozen=True)
class Mixture(Measure):
    """A sum of measures."""

    terms: tuple[Measure, ...]

    @property
    def width(self) -> int:  # type: ignore[override]
        return self.terms[0].width

    @property
    def mass(self) -> float:  # type: ignore[override]
        return float(sum(term.mass for term in self.terms))

    @property
    def n_uniforms(self) -> int:
        return 1 + max(term.n_uniforms for term in self.terms)

    @property
    def columns(self) -> frozenset[int]:
        return frozenset.union(*[term.columns for term in self.terms])

    def parts(self) -> tuple[Measure, ...]:
        return self.terms

    def sample(self, uniforms: Floats) -> Floats:
        cumulative = np.cumsum([term.mass for term in self.terms]) / self.mass
        chosen = np.minimum(np.searchsorted(cumulative, uniforms[:, 0], side="right"), len(self.terms) - 1)
        out = np.empty((len(uniforms), self.width))
        for number, term in enumerate(self.terms):
            rows = chosen == number
            out[rows] = term.sample(uniforms[rows, 1 : 1 + term.n_uniforms])
        return out

    def covariance(self) -> Floats:
        return np.sum([term.mass * term.covariance() for term in self.terms], axis=0) / self.mass

    @property
    def has_density(self) -> bool:
        return all(term.has_density for term in self.terms)

    def density(self, frequencies: Any) -> Floats:
        return np.sum([term.density(frequencies) for term in self.terms], axis=0)


@dataclass(frozen=True)
class Convolution(Measure):
    """The law of a sum of independent frequencies, one of each factor."""

    factors: tuple[Measure, ...]

    @property
    def width(self) -> int:  # type: ignore[override]
        return self.factors[0].width

    @property
    def mass(self) -> float:  # type: ignore[override]
        return float(np.prod([factor.mass for factor in self.factors]))

    @property
    def n_uniforms(self) -> int:
        return sum(factor.n_uniforms for factor in self.factors)

    @property
    def columns(self) -> frozenset[int]:
        return frozenset.union(*[factor.columns for factor in self.factors])

    def sample(self, uniforms: Floats) -> Floats:
        total, start = np.zeros((len(uniforms), self.width)), 0
        for factor in self.factors:
            total += factor.sample(uniforms[:, start : start + factor.n_uniforms])
            start += factor.n_uniforms
        return total

    def covariance(self) -> Floats:
        return np.sum([factor.covariance() for factor in self.factors], axis=0)

    def _apart(self) -> bool:
        """Whether the factors depend on disjoint columns that together are all columns."""
        apart = sum(len(factor.columns) for factor in self.factors) == self.width == len(self.columns)
        return apart and all(isinstance(factor, LinearImage) and factor.has_own_density for factor in self.factors)

    def _moved(self) -> tuple[Measure, Atoms] | None:
        """(a measure with a density, single frequencies) where these are the two factors."""
        if len(self.factors) != 2:
            return None
        for one, other in (self.factors, self.factors[::-1]):
            if isinstance(other, Atoms) and one.has_density:
                return one, other
        return None

    @property
    def has_density(self) -> bool:
        return self._apart() or self._moved() is not None

    def density(self, frequencies: Any) -> Floats:
        w, moved = as_frequencies(frequencies, self.width), self._moved()
        if moved is not None:
            law, atoms = moved
            copies = [law.density(w - f) + law.density(w + f) for f in atoms.frequencies]
            return np.asarray(0.5 * (atoms.weights @ np.array(copies)))
        if not self._apart():
            return super().density(frequencies)
        factors = [factor.own_density(w) for factor in self.factors if isinstance(factor, LinearImage)]
        return np.asarray(np.prod(factors, axis=0))

    def _why_no_density(self) -> str:
        return "a product of these kernels has a convolution of densities, without a formula."


@dataclass(frozen=True)
class LinearImage(Measure):
    """The measure of k(S x, S z): frequencies S'v of frequencies v of k."""

    inner: Measure
    matrix: Floats  # S, (r, d)

    @classmethod
    def of_columns(cls, inner: Measure, columns: Sequence[int], width: int) -> LinearImage:
        """The measure of a kernel on some columns of x."""
        S = np.zeros((len(columns), width))
        S[np.arange(len(columns)), list(columns)] = 1.0
        return cls(inner, S)

    @property
    def width(self) -> int:  # type: ignore[override]
        return int(self.matrix.shape[1])

    @property
    def mass(self) -> float:  # type: ignore[override]
        return self.inner.mass

    @property
    def n_uniforms(self) -> int:
        return self.inner.n_uniforms

    @property
    def columns(self) -> frozenset[int]:
        seen = self.matrix[sorted(self.inner.columns)].any(axis=0)
        return frozenset(np.flatnonzero(seen).tolist())

    def parts(self) -> tuple[Measure, ...]:
        inner = self.inner.parts()
        return (self,) if len(inner) == 1 else tuple(LinearImage(part, self.matrix) for part in inner)

    def sample(self, uniforms: Floats) -> Floats:
        return self.inner.sample(uniforms) @ self.matrix

    def covariance(self) -> Floats:
        inner = self.inner.covariance()
        if np.isfinite(inner).all():
            return self.matrix.T @ inner @ self.matrix
        return np.diag(np.where(self.matrix.any(axis=0), np.inf, 0.0))

    @property
    def has_density(self) -> bool:
        r, d = self.matrix.shape
        return r == d and self.inner.has_density and bool(np.linalg.matrix_rank(self.matrix) == d)

    def density(self, frequencies: Any) -> Floats:
        if not self.has_density:
            return super().density(frequencies)
        w = as_frequencies(frequencies, self.width)
        v = np.linalg.solve(self.matrix.T, w.T).T
        return self.inner.density(v) / abs(np.linalg.det(self.matrix))

    @property
    def has_own_density(self) -> bool:
        """Whether there is a density in the columns on which the measure depends, as for columns of a table."""
        own = self.matrix[:, sorted(self.columns)]
        return LinearImage(self.inner, own).has_density

    def own_density(self, frequencies: Floats) -> Floats:  # (m, d) -> (m,)
        """The density in those columns alone."""
        own = sorted(self.columns)
        return LinearImage(self.inner, self.matrix[:, own]).density(frequencies[:, own])
