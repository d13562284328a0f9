"""The closure rules that are functions of the value: powers, polynomials, exponentials."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np

from mercer.arrays import Array, Floats
from mercer.errors import ClosureError, InputError, shown
from mercer.kernels.algebra import STATIONARY, Wrapper, child
from mercer.kernels.base import ATOM, POWER, Kernel
from mercer.kernels.derivation import Arithmetic, Derivation
from mercer.kernels.evaluation import Pair
from mercer.kernels.features import FeatureMap, power, power_count, stack, times
from mercer.kernels.fields import whole
from mercer.kernels.operators import node
from mercer.kernels.spectral import composition
from mercer.kernels.spectral.measure import Measure
from mercer.numeric.encodings import Encoding


class Pointwise(Wrapper):
    """Abstract: g(k(x, z)) for a function g of the value, given with its derivative."""

    def _apply(self, values: Array) -> Array:
        """g, in place."""
        raise NotImplementedError  # pragma: no cover - abstract

    def _slope(self, values: Array) -> Array:
        """g', in a new array."""
        raise NotImplementedError  # pragma: no cover - abstract

    def _block(self, pair: Pair) -> Array:
        return self._apply(self.inner._block(pair))

    def _diag(self, encoding: Encoding) -> Array:
        return self._apply(self.inner._diag(encoding))

    def _pullback(self, pair: Pair, W: Array) -> Floats:
        return self.inner._pullback(pair, W * self._slope(pair.block(self.inner)))

    def _diag_pullback(self, encoding: Encoding, w: Array) -> Floats:
        return self.inner._diag_pullback(encoding, w * self._slope(self.inner._diag(encoding)))


@node
@dataclass(frozen=True, repr=False)
class Power(Pointwise):
    """k(x, z)^p for a whole p >= 0."""

    power: int = whole(at_least=0, keyword=False)
    inner: Kernel = child()
    _precedence = POWER

    def _apply(self, values: Array) -> Array:
        return np.power(values, self.power, out=values)

    def _slope(self, values: Array) -> Array:
        return np.zeros_like(values) if self.power == 0 else self.power * values ** (self.power - 1)

    def _feature_map(self, *terms: FeatureMap) -> FeatureMap:
        [inner] = terms
        return FeatureMap(
            lambda encoding, combined: power(inner.matrix(encoding, combined), self.power, combined),
            lambda encoding: power_count(inner.count(encoding), self.power),
        )

    def _spectral(self, width: int) -> Measure:
        return composition.power(self.inner._spectral(width), self.power)

    def _derivation(self) -> Derivation:
        if self.power == 0:
            return Derivation("constant", "k ** 0 is the constant 1, and c'11'c = (sum c)^2 >= 0")
        why = f"k ** {self.power} is k times itself, a product of kernels"
        if self.power == 2:  # the sum of squares, written out as a proof that needs no theorem on products
            why += "; with the features of k, c'Kc = sum_lm (sum_i c_i phi_l(x_i) phi_m(x_i))^2 >= 0"
        return Derivation("power", why, (self.inner,))

    def _facts(self) -> frozenset[str]:
        facts = self.inner._facts()  # asked once: twice at every level would be 2^depth times
        return facts if STATIONARY in facts and self.power > 0 else frozenset()

    def _moments(self) -> int | None:
        order = self.inner._moments()
        return None if order is None else order * self.power

    def _value(self, x: Any, z: Any, m: Arithmetic) -> Any:
        base = self.inner._value(x, z, m)
        return reduce(lambda a, b: a * b, [base] * self.power, m.number(1.0))

    def _text(self) -> str:
        return f"{self.inner._bracketed(ATOM)} ** {self.power}"


@node
@dataclass(frozen=True, repr=False)
class PolynomialOf(Pointwise):
    """c0 + c1 k(x, z) + c2 k(x, z)^2 + … with coefficients >= 0."""

    coefficients: tuple[float, ...] = field()
    inner: Kernel = child()

    def __post_init__(self) -> None:
        given = shown(self.coefficients)
        try:
            if isinstance(self.coefficients, str):
                raise TypeError
            values = tuple(float(c) for c in self.coefficients)
        except (TypeError, ValueError, OverflowError):
            raise InputError(f"polynomial: coefficients must be numbers (c0, c1, …); got {given}.") from None
        if not values or not np.isfinite(values).all():
            raise InputError(f"polynomial: give at least one finite coefficient (c0, c1, …); got {given}.")
        if min(values) < 0:
            raise ClosureError(
                f"polynomial: coefficient c{int(np.argmin(values))} = {min(values)} is negative; a polynomial of a kernel "
                "is implied to be one by the closure rules only if all coefficients are >= 0."
            )
        object.__setattr__(self, "coefficients", values)

    def _apply(self, values: Array) -> Array:
        return np.polynomial.polynomial.polyval(values, self.coefficients).astype(values.dtype, copy=False)

    def _slope(self, values: Array) -> Array:
        return np.asarray(np.polynomial.polynomial.polyval(values, np.polynomial.polynomial.polyder(self.coefficients)))

    def _feature_map(self, *terms: FeatureMap) -> FeatureMap:
        [inner] = terms
        used = [(p, c) for p, c in enumerate(self.coefficients) if c > 0] or [(0, 0.0)]

        def matrix(encoding: Encoding, combined: bool) -> Any:
            base = inner.matrix(encoding, combined)
            return stack([times(power(base, p, combined), c**0.5) for p, c in used])

        return FeatureMap(matrix, lambda encoding: sum(power_count(inner.count(encoding), p) for p, _ in used))

    def _spectral(self, width: int) -> Measure:
        return composition.polynomial(self.inner._spectral(width), self.coefficients)

    def _derivation(self) -> Derivation:
        because = "products, multiples >= 0 and sums of kernels are kernels, and so is the constant c0 >= 0"
        return Derivation("polynomial with coefficients >= 0", because, (self.inner,))

    def _facts(self) -> frozenset[str]:
        linear = len(self.coefficients) > 1 and self.coefficients[1] > 0
        return self.inner._facts() if linear else self.inner._facts() & {STATIONARY}

    def _moments(self) -> int | None:
        order = self.inner._moments()
        highest = max((p for p, c in enumerate(self.coefficients) if c > 0), default=0)
        return None if order is None else order * highest

    def _value(self, x: Any, z: Any, m: Arithmetic) -> Any:
        base, total = self.inner._value(x, z, m), m.number(0.0)
        for c in reversed(self.coefficients):
            total = total * base + m.number(c)
        return total

    def _text(self) -> str:
        return f"{self.inner._bracketed(ATOM)}.polynomial({self.coefficients!r})"


@node
@dataclass(frozen=True, repr=False)
class Exp(Pointwise):
    """exp(k(x, z)): 1 + k + k^2/2 + …, a limit of polynomials with coefficients >= 0."""

    inner: Kernel = field(metadata={"child": True})

    def _apply(self, values: Array) -> Array:
        with np.errstate(over="ignore"):
            np.exp(values, out=values)
        if not np.isfinite(values).all():
            raise InputError(f"{self}: exp overflows on these data; scale the inner kernel down, e.g. (0.01 * k).exp().")
        return values

    def _slope(self, values: Array) -> Array:
        return np.exp(values)

    def _map_or_lack(self) -> Kernel:
        return self  # whatever the terms have

    def _spectral(self, width: int) -> Measure:
        return composition.exponential(self.inner._spectral(width))

    def _derivation(self) -> Derivation:
        because = "exp(k) is the limit of 1 + k + k^2/2 + … + k^n/n!, and limits of psd matrices are psd"
        return Derivation("exponential", because, (self.inner,))

    def _facts(self) -> frozenset[str]:
        return self.inner._facts()

    def _value(self, x: Any, z: Any, m: Arithmetic) -> Any:
        return m.exp(self.inner._value(x, z, m))

    def _text(self) -> str:
        return f"{self.inner._bracketed(ATOM)}.exp()"
