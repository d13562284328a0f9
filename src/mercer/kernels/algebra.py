"""Closure rules: sums, products and multiples of kernels, and powers, polynomials and exponentials of one."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from functools import reduce
from math import prod
from numbers import Real
from typing import Any

import numpy as np

from mercer.arrays import Array, Floats
from mercer.errors import ClosureError, InputError, shown
from mercer.inputs import Rows
from mercer.kernels.base import ATOM, POWER, PRODUCT, SUM, Arithmetic, Derivation, Kernel
from mercer.kernels.evaluation import Pair
from mercer.kernels.features import FeatureMap, Summand, kronecker, power, power_count, stack, times
from mercer.kernels.fields import n_own, nonnegative, whole
from mercer.kernels.operators import node
from mercer.kernels.spectral import composition
from mercer.kernels.spectral.composition import convolve, mix, multiple
from mercer.kernels.spectral.measures import Measure
from mercer.kernels.vectors import Constant
from mercer.numeric.encodings import Encoding, dtype_of

STATIONARY, CHARACTERISTIC, UNIVERSAL = "stationary", "characteristic", "universal"
EVERYWHERE = "characteristic on R^d"


def child() -> Any:
    """The field of a wrapper that holds its kernel."""
    return field(kw_only=True, metadata={"child": True})


@node
def constant(value: float) -> Constant:
    """The number in `k + 2.0`, a kernel if it is >= 0."""
    if value < 0:
        raise ClosureError(f"adding {shown(value)} is not implied by the closure rules: a constant must be >= 0.")
    return Constant(value)


def refuse_given(children: tuple[Kernel, ...], verb: str) -> None:
    """Matrices of values combine only with scalars and their kind: other kernels would read them as vectors."""
    varying = [kernel for kernel in children if not all(isinstance(leaf, Constant) for leaf in _leaves(kernel))]
    kinds = {any(leaf.given for leaf in _leaves(kernel)) for kernel in varying}
    if len(kinds) == 2:
        raise InputError(f"Precomputed() can be {verb} with scalars and other Precomputed() kernels only.")


def _leaves(kernel: Kernel) -> list[Kernel]:
    return [node for node in kernel.walk() if not node.children]


class Combination(Kernel):
    """Abstract: two or more kernels on the same objects."""

    terms: tuple[Kernel, ...]

    def __post_init__(self) -> None:
        flat: list[Kernel] = []
        for term in self.terms:
            if not isinstance(term, Kernel):
                raise InputError(f"{type(self).__name__} takes kernels; got {term!r}.")
            # by exact type: a product inside a sum must stay what it is
            flat += term.children if type(term) is type(self) else (term,)
        if len(flat) < 2:
            raise InputError(f"{type(self).__name__} takes at least two kernels; got {len(flat)}.")
        object.__setattr__(self, "terms", tuple(flat))
        refuse_given(self.terms, "combined")

    @property
    def children(self) -> tuple[Kernel, ...]:
        return self.terms

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        return all(term.symmetric for term in self.terms)

    def with_children(self, children: tuple[Kernel, ...]) -> Kernel:
        return dataclasses.replace(self, terms=children)  # type: ignore[type-var]

    def _encode(self, rows: Rows) -> Encoding:
        return tuple(term._encode(rows) for term in self.terms)

    def _blocks(self, pair: Pair) -> list[Array]:
        return [pair.part(i).block(term) for i, term in enumerate(self.terms)]


@node
@dataclass(frozen=True, repr=False)
class Sum(Combination):
    """k1(x, z) + k2(x, z) + …: the feature maps side by side."""

    terms: tuple[Kernel, ...] = field(metadata={"child": True})
    _precedence = SUM

    def _block(self, pair: Pair) -> Array:
        first, *others = self.terms
        total = first._block(pair.part(0)).astype(dtype_of(pair.A), copy=False)
        for i, term in enumerate(others, 1):
            total += term._block(pair.part(i))
        return total

    def _diag(self, encoding: Encoding) -> Array:
        return np.sum([term._diag(part) for term, part in zip(self.terms, encoding, strict=True)], axis=0)

    def _pullback(self, pair: Pair, W: Array) -> Floats:
        return np.concatenate([term._pullback(pair.part(i), W) for i, term in enumerate(self.terms)])

    def _diag_pullback(self, encoding: Encoding, w: Array) -> Floats:
        return np.concatenate([term._diag_pullback(part, w) for term, part in zip(self.terms, encoding, strict=True)])

    def _feature_map(self, *terms: FeatureMap) -> FeatureMap:
        return FeatureMap(
            lambda encoding, combined: stack([t.matrix(e, combined) for t, e in zip(terms, encoding, strict=True)]),
            lambda encoding: sum(t.count(e) for t, e in zip(terms, encoding, strict=True)),
            lambda encoding: [name for t, e in zip(terms, encoding, strict=True) for name in t.names(e)],
        )

    def _summands(self, rows: Rows) -> list[Summand]:
        return [summand for term in self.terms for summand in term._summands(rows)]

    def amplified(self, factor: float) -> Kernel | None:
        terms = [term.amplified(factor) for term in self.terms]
        known = tuple(term for term in terms if term is not None)
        return self.with_children(known) if len(known) == len(terms) else None

    def _spectral(self, width: int) -> Measure:
        return mix([term._spectral(width) for term in self.terms])

    def _derivation(self) -> Derivation:
        return Derivation("sum", "c'(K1 + K2)c = c'K1c + c'K2c, a sum of numbers >= 0", self.terms)

    def facts(self) -> frozenset[str]:
        facts = [term.facts() for term in self.terms]
        every, some = frozenset.intersection(*facts), frozenset.union(*facts)
        known = (every & {STATIONARY}) | (some & {CHARACTERISTIC, UNIVERSAL})
        # where a term is not bounded, means of features exist for some distributions only
        return known | (some & {EVERYWHERE}) if STATIONARY in every else known

    def by_differences(self) -> bool:
        return all(term.by_differences() for term in self.terms)

    def moment_order(self) -> int | None:
        orders = [term.moment_order() for term in self.terms]
        return None if None in orders else max(order for order in orders if order is not None)

    def _value(self, x: Any, z: Any, m: Arithmetic) -> Any:
        return reduce(lambda a, b: a + b, [term._value(x, z, m) for term in self.terms])

    def _text(self) -> str:
        return " + ".join(term._bracketed(PRODUCT) for term in self.terms)


def added_terms(kernel: Kernel) -> tuple[Kernel, ...]:
    """Return the terms of a sum, with sums inside it and multiples of sums written out; one term for other kernels.

    >>> from mercer import Gaussian, Linear
    >>> [str(term) for term in added_terms(2.0 * (Gaussian(1.0) + Linear()))]
    ['2.0 * Gaussian(length_scale=1.0)', '2.0 * Linear()']
    """
    if isinstance(kernel, Sum):
        return tuple(part for term in kernel.terms for part in added_terms(term))
    if isinstance(kernel, Scaled):
        inner = added_terms(kernel.inner)
        return (kernel,) if len(inner) == 1 else tuple(Scaled(kernel.scale, inner=part) for part in inner)
    return (kernel,)


def unscaled(kernel: Kernel) -> tuple[float, Kernel]:
    """Return the overall factor of a kernel, and the kernel without it.

    >>> from mercer import Linear
    >>> unscaled(2.0 * Linear())
    (2.0, Linear())
    """
    if not isinstance(kernel, Scaled):
        return 1.0, kernel
    factor, inner = unscaled(kernel.inner)
    return kernel.scale * factor, inner


@node
@dataclass(frozen=True, repr=False)
class Product(Combination):
    """k1(x, z) k2(x, z) …: all products of a feature of one and a feature of the other."""

    terms: tuple[Kernel, ...] = field(metadata={"child": True})
    _precedence = PRODUCT

    def _beyond_unit(self) -> Kernel | None:
        return next((lacking for term in self.terms if (lacking := term._beyond_unit()) is not None), None)

    def _block(self, pair: Pair) -> Array:
        first, *others = self.terms
        total = first._block(pair.part(0)).astype(dtype_of(pair.A), copy=False)
        for i, term in enumerate(others, 1):
            total *= term._block(pair.part(i))
        return total

    def _diag(self, encoding: Encoding) -> Array:
        return np.prod([term._diag(part) for term, part in zip(self.terms, encoding, strict=True)], axis=0)

    def _pullback(self, pair: Pair, W: Array) -> Floats:
        blocks = self._blocks(pair)
        gradients = []
        for i, term in enumerate(self.terms):
            others = [block for j, block in enumerate(blocks) if j != i]
            gradients.append(term._pullback(pair.part(i), reduce(np.multiply, others, W)))
        return np.concatenate(gradients)

    def _diag_pullback(self, encoding: Encoding, w: Array) -> Floats:
        diags = [term._diag(part) for term, part in zip(self.terms, encoding, strict=True)]
        gradients = []
        for i, term in enumerate(self.terms):
            others = [d for j, d in enumerate(diags) if j != i]
            gradients.append(term._diag_pullback(encoding[i], reduce(np.multiply, others, w)))
        return np.concatenate(gradients)

    def _feature_map(self, *terms: FeatureMap) -> FeatureMap:
        return FeatureMap(
            lambda encoding, combined: reduce(
                kronecker, [t.matrix(e, combined) for t, e in zip(terms, encoding, strict=True)]
            ),
            lambda encoding: prod(t.count(e) for t, e in zip(terms, encoding, strict=True)),
        )

    def amplified(self, factor: float) -> Kernel | None:
        for i, term in enumerate(self.terms):
            louder = term.amplified(factor)
            if louder is not None:
                return self.with_children((*self.terms[:i], louder, *self.terms[i + 1 :]))
        return None

    def _spectral(self, width: int) -> Measure:
        return convolve([term._spectral(width) for term in self.terms])

    def _derivation(self) -> Derivation:
        because = "the elementwise product of psd matrices is psd (Schur): it is the covariance of products of features"
        return Derivation("product", because, self.terms)

    def facts(self) -> frozenset[str]:
        every = frozenset.intersection(*[term.facts() for term in self.terms])
        # spectra of stationary kernels are convolved, so full support stays full; for others nothing is claimed
        return every if STATIONARY in every else frozenset()

    def moment_order(self) -> int | None:
        orders = [term.moment_order() for term in self.terms]
        return None if None in orders else sum(order for order in orders if order is not None)

    def _value(self, x: Any, z: Any, m: Arithmetic) -> Any:
        return reduce(lambda a, b: a * b, [term._value(x, z, m) for term in self.terms])

    def _text(self) -> str:
        first, *others = self.terms
        return " * ".join([first._bracketed(PRODUCT), *[term._bracketed(POWER) for term in others]])


class Wrapper(Kernel):
    """Abstract: one kernel inside another, on the same encoding unless the node overrides it."""

    inner: Kernel

    @property
    def children(self) -> tuple[Kernel, ...]:
        return (self.inner,)

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        return self.inner.symmetric

    def with_children(self, children: tuple[Kernel, ...]) -> Kernel:
        return dataclasses.replace(self, inner=children[0])  # type: ignore[type-var]

    def _encode(self, rows: Rows) -> Encoding:
        return self.inner._encode(rows)


@node
@dataclass(frozen=True, repr=False)
class Scaled(Wrapper):
    """a k(x, z) with a >= 0: the feature map times sqrt(a)."""

    scale: float = nonnegative(keyword=False)
    inner: Kernel = child()
    _precedence = PRODUCT

    def __post_init__(self) -> None:
        if isinstance(self.scale, Real) and self.scale < 0:
            raise ClosureError(
                f"{shown(self.scale)} * ({self.inner}): a negative multiple of a kernel is not implied by the closure rules "
                "(a * k needs a >= 0), since a k(x, x) <= 0."
            )
        super().__post_init__()

    def _beyond_unit(self) -> Kernel | None:
        return self.inner._beyond_unit() if self.scale <= 1.0 else self

    def _block(self, pair: Pair) -> Array:
        values = self.inner._block(pair)
        values *= self.scale
        return values

    def _diag(self, encoding: Encoding) -> Array:
        return self.scale * self.inner._diag(encoding)

    def _pullback(self, pair: Pair, W: Array) -> Floats:
        if pair.knows(self) and self.scale > 0:
            pair.know(self.inner, pair.block(self) / self.scale)
        scaled = W * self.scale
        own = [np.vdot(scaled, pair.block(self.inner))] if n_own(self) else []
        return np.concatenate([own, self.inner._pullback(pair, scaled)])

    def _diag_pullback(self, encoding: Encoding, w: Array) -> Floats:
        below = self.inner._diag_pullback(encoding, w * self.scale)
        own = [self.scale * np.vdot(w, self.inner._diag(encoding))] if n_own(self) else []
        return np.concatenate([own, below])

    def amplified(self, factor: float) -> Kernel | None:
        return dataclasses.replace(self, scale=self.scale * factor) if self.scale > 0 else None

    def _feature_map(self, *terms: FeatureMap) -> FeatureMap:
        [inner] = terms
        return dataclasses.replace(inner, matrix=lambda e, combined: times(inner.matrix(e, combined), self.scale**0.5))

    def _summands(self, rows: Rows) -> list[Summand]:
        return [summand.times(self.scale**0.5) for summand in self.inner._summands(rows)]

    def _spectral(self, width: int) -> Measure:
        return multiple(self.inner._spectral(width), self.scale)

    def _derivation(self) -> Derivation:
        if self.scale == 0:
            return Derivation("constant", "0 times any function is the constant 0, and c'0c = 0")
        return Derivation("scaling", f"{self.scale!r} >= 0, and c'(aK)c = a c'Kc >= 0 for a >= 0", (self.inner,))

    def facts(self) -> frozenset[str]:
        return self.inner.facts() if self.scale > 0 else frozenset({STATIONARY})

    def by_differences(self) -> bool:
        return self.inner.by_differences()

    def moment_order(self) -> int | None:
        return self.inner.moment_order() if self.scale > 0 else 0

    def _value(self, x: Any, z: Any, m: Arithmetic) -> Any:
        return m.number(self.scale) * self.inner._value(x, z, m)

    def _text(self) -> str:
        return f"{self.scale!r} * {self.inner._bracketed(POWER)}"


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

    def _beyond_unit(self) -> Kernel | None:
        return self.inner._beyond_unit()

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

    def facts(self) -> frozenset[str]:
        facts = self.inner.facts()  # once: twice at every level would be 2^depth calls
        return facts if STATIONARY in facts and self.power > 0 else frozenset()

    def moment_order(self) -> int | None:
        order = self.inner.moment_order()
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

    def facts(self) -> frozenset[str]:
        linear = len(self.coefficients) > 1 and self.coefficients[1] > 0
        return self.inner.facts() if linear else self.inner.facts() & {STATIONARY}

    def moment_order(self) -> int | None:
        order = self.inner.moment_order()
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
        return self  # also if the terms have a map

    def _spectral(self, width: int) -> Measure:
        return composition.exponential(self.inner._spectral(width))

    def _derivation(self) -> Derivation:
        because = "exp(k) is the limit of 1 + k + k^2/2 + … + k^n/n!, and limits of psd matrices are psd"
        return Derivation("exponential", because, (self.inner,))

    def facts(self) -> frozenset[str]:
        return self.inner.facts()

    def _value(self, x: Any, z: Any, m: Arithmetic) -> Any:
        return m.exp(self.inner._value(x, z, m))

    def _text(self) -> str:
        return f"{self.inner._bracketed(ATOM)}.exp()"
