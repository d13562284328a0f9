"""The closure rules that combine kernel values: sums, products, scalings, powers, polynomials, exponentials."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.errors import ClosureError, InputError
from mercer.inputs import Rows
from mercer.kernels.base import POWER, PRODUCT, SUM, Kernel
from mercer.kernels.derivation import Arithmetic, Derivation
from mercer.kernels.fields import nonnegative, whole
from mercer.kernels.pair import Pair
from mercer.kernels.parameters import n_own
from mercer.kernels.vectors import Constant
from mercer.numeric import features
from mercer.numeric.encodings import Encoding, dtype_of

STATIONARY, CHARACTERISTIC, UNIVERSAL = "stationary", "characteristic", "universal"


def child() -> Any:
    """The field of a wrapper that holds its kernel."""
    return field(kw_only=True, metadata={"child": True})


def constant(value: float) -> Constant:
    """The number in `k + 2.0`, a kernel if it is >= 0."""
    if value < 0:
        raise ClosureError(f"adding {value!r} is not implied by the closure rules: a constant is a kernel only if it is >= 0.")
    return Constant(float(value))


def refuse_precomputed(children: tuple[Kernel, ...], verb: str) -> None:
    """Precomputed matrices combine only with scalars and their kind: other kernels would read them as vectors."""
    kinds = {any(node._domain == "precomputed" for node in kernel._walk()) for kernel in children}
    if len(kinds) == 2:
        raise InputError(f"Precomputed() can be {verb} with scalars and other Precomputed() kernels only.")


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
        refuse_precomputed(self.terms, "combined")

    @property
    def children(self) -> tuple[Kernel, ...]:
        return self.terms

    @property
    def _symmetric(self) -> bool:  # type: ignore[override]
        return all(term._symmetric for term in self.terms)

    def _with_children(self, children: tuple[Kernel, ...]) -> Kernel:
        return dataclasses.replace(self, terms=children)  # type: ignore[type-var]

    def _encode(self, rows: Rows) -> Encoding:
        return tuple(term._encode(rows) for term in self.terms)

    def _blocks(self, pair: Pair) -> list[NDArray[Any]]:
        return [term._block(pair.part(i)) for i, term in enumerate(self.terms)]

    def _lacks_features(self) -> Kernel | None:
        return next((lack for term in self.terms if (lack := term._lacks_features()) is not None), None)


@dataclass(frozen=True, repr=False)
class Sum(Combination):
    """k1(x, z) + k2(x, z) + …: the feature maps side by side."""

    terms: tuple[Kernel, ...] = field(metadata={"child": True})
    _precedence = SUM

    def _block(self, pair: Pair) -> NDArray[Any]:
        first, *others = self.terms
        total = first._block(pair.part(0)).astype(dtype_of(pair.A), copy=False)
        for i, term in enumerate(others, 1):
            total += term._block(pair.part(i))
        return total

    def _diag(self, encoding: Encoding) -> NDArray[Any]:
        return np.sum([term._diag(part) for term, part in zip(self.terms, encoding, strict=True)], axis=0)

    def _pullback(self, pair: Pair, W: NDArray[Any]) -> NDArray[np.float64]:
        return np.concatenate([term._pullback(pair.part(i), W) for i, term in enumerate(self.terms)])

    def _diag_pullback(self, encoding: Encoding, w: NDArray[Any]) -> NDArray[np.float64]:
        return np.concatenate([term._diag_pullback(part, w) for term, part in zip(self.terms, encoding, strict=True)])

    def _features(self, encoding: Encoding, combined: bool) -> Any:
        return features.stack([t._features(part, combined) for t, part in zip(self.terms, encoding, strict=True)])

    def _n_features(self, encoding: Encoding) -> int:
        return sum(term._n_features(part) for term, part in zip(self.terms, encoding, strict=True))

    def _derivation(self) -> Derivation:
        return Derivation("sum", "c'(K1 + K2)c = c'K1c + c'K2c, a sum of numbers >= 0", self.terms)

    def _facts(self) -> frozenset[str]:
        every = frozenset.intersection(*[term._facts() for term in self.terms])
        some = frozenset.union(*[term._facts() for term in self.terms])
        return (every & {STATIONARY}) | (some & {CHARACTERISTIC, UNIVERSAL})

    def _value(self, x: Any, z: Any, m: Arithmetic) -> Any:
        return reduce(lambda a, b: a + b, [term._value(x, z, m) for term in self.terms])

    def _text(self) -> str:
        return " + ".join(term._bracketed(PRODUCT) for term in self.terms)


@dataclass(frozen=True, repr=False)
class Product(Combination):
    """k1(x, z) k2(x, z) …: all products of a feature of one and a feature of the other."""

    terms: tuple[Kernel, ...] = field(metadata={"child": True})
    _precedence = PRODUCT

    def _block(self, pair: Pair) -> NDArray[Any]:
        first, *others = self.terms
        total = first._block(pair.part(0)).astype(dtype_of(pair.A), copy=False)
        for i, term in enumerate(others, 1):
            total *= term._block(pair.part(i))
        return total

    def _diag(self, encoding: Encoding) -> NDArray[Any]:
        return np.prod([term._diag(part) for term, part in zip(self.terms, encoding, strict=True)], axis=0)

    def _pullback(self, pair: Pair, W: NDArray[Any]) -> NDArray[np.float64]:
        blocks = self._blocks(pair)
        gradients = []
        for i, term in enumerate(self.terms):
            others = [block for j, block in enumerate(blocks) if j != i]
            gradients.append(term._pullback(pair.part(i), reduce(np.multiply, others, W)))
        return np.concatenate(gradients)

    def _diag_pullback(self, encoding: Encoding, w: NDArray[Any]) -> NDArray[np.float64]:
        diags = [term._diag(part) for term, part in zip(self.terms, encoding, strict=True)]
        gradients = []
        for i, term in enumerate(self.terms):
            others = [d for j, d in enumerate(diags) if j != i]
            gradients.append(term._diag_pullback(encoding[i], reduce(np.multiply, others, w)))
        return np.concatenate(gradients)

    def _features(self, encoding: Encoding, combined: bool) -> Any:
        maps = [term._features(part, combined) for term, part in zip(self.terms, encoding, strict=True)]
        return reduce(features.kronecker, maps)

    def _n_features(self, encoding: Encoding) -> int:
        counts = [term._n_features(part) for term, part in zip(self.terms, encoding, strict=True)]
        return reduce(lambda a, b: a * b, counts)

    def _derivation(self) -> Derivation:
        because = "the elementwise product of psd matrices is psd (Schur): it is the covariance of products of features"
        return Derivation("product", because, self.terms)

    def _facts(self) -> frozenset[str]:
        every = frozenset.intersection(*[term._facts() for term in self.terms])
        # spectra of stationary kernels are convolved, so full support stays full; for others nothing is claimed
        return every if STATIONARY in every else frozenset()

    def _value(self, x: Any, z: Any, m: Arithmetic) -> Any:
        return reduce(lambda a, b: a * b, [term._value(x, z, m) for term in self.terms])

    def _text(self) -> str:
        first, *others = self.terms
        return " * ".join([first._bracketed(PRODUCT), *[term._bracketed(POWER) for term in others]])


class Wrapper(Kernel):
    """Abstract: one kernel inside another, on the same encoding unless the node says otherwise."""

    inner: Kernel

    @property
    def children(self) -> tuple[Kernel, ...]:
        return (self.inner,)

    @property
    def _symmetric(self) -> bool:  # type: ignore[override]
        return self.inner._symmetric

    def _with_children(self, children: tuple[Kernel, ...]) -> Kernel:
        return dataclasses.replace(self, inner=children[0])  # type: ignore[type-var]

    def _encode(self, rows: Rows) -> Encoding:
        return self.inner._encode(rows)

    def _lacks_features(self) -> Kernel | None:
        return self.inner._lacks_features()

    def _n_features(self, encoding: Encoding) -> int:
        return self.inner._n_features(encoding)


class Pointwise(Wrapper):
    """Abstract: g(k(x, z)) for a function g of the value, given with its derivative."""

    def _apply(self, values: NDArray[Any]) -> NDArray[Any]:
        """g, in place."""
        raise NotImplementedError  # pragma: no cover - abstract

    def _slope(self, values: NDArray[Any]) -> NDArray[Any]:
        """g', in a new array."""
        raise NotImplementedError  # pragma: no cover - abstract

    def _own(self, weighted: Any) -> NDArray[np.float64]:
        return np.empty(0)

    def _block(self, pair: Pair) -> NDArray[Any]:
        return self._apply(self.inner._block(pair))

    def _diag(self, encoding: Encoding) -> NDArray[Any]:
        return self._apply(self.inner._diag(encoding))

    def _pullback(self, pair: Pair, W: NDArray[Any]) -> NDArray[np.float64]:
        return self.inner._pullback(pair, W * self._slope(self.inner._block(pair)))

    def _diag_pullback(self, encoding: Encoding, w: NDArray[Any]) -> NDArray[np.float64]:
        return self.inner._diag_pullback(encoding, w * self._slope(self.inner._diag(encoding)))


@dataclass(frozen=True, repr=False)
class Scaled(Wrapper):
    """a k(x, z) with a >= 0: the feature map times sqrt(a)."""

    scale: float = nonnegative(keyword=False)
    inner: Kernel = child()
    _precedence = PRODUCT

    def __post_init__(self) -> None:
        if np.isfinite(self.scale) and self.scale < 0:
            raise ClosureError(
                f"{self.scale!r} * ({self.inner}): a negative multiple of a kernel is not implied by the closure rules "
                "(a * k needs a >= 0), since a k(x, x) <= 0."
            )
        super().__post_init__()

    def _block(self, pair: Pair) -> NDArray[Any]:
        values = self.inner._block(pair)
        values *= self.scale
        return values

    def _diag(self, encoding: Encoding) -> NDArray[Any]:
        return self.scale * self.inner._diag(encoding)

    def _pullback(self, pair: Pair, W: NDArray[Any]) -> NDArray[np.float64]:
        below = self.inner._pullback(pair, W * self.scale)
        own = [self.scale * np.vdot(W, self.inner._block(pair))] if n_own(self) else []
        return np.concatenate([own, below])

    def _diag_pullback(self, encoding: Encoding, w: NDArray[Any]) -> NDArray[np.float64]:
        below = self.inner._diag_pullback(encoding, w * self.scale)
        own = [self.scale * np.vdot(w, self.inner._diag(encoding))] if n_own(self) else []
        return np.concatenate([own, below])

    def _features(self, encoding: Encoding, combined: bool) -> Any:
        return features.times(self.inner._features(encoding, combined), self.scale**0.5)

    def _derivation(self) -> Derivation:
        return Derivation("scaling", f"{self.scale!r} >= 0, and c'(aK)c = a c'Kc >= 0 for a >= 0", (self.inner,))

    def _facts(self) -> frozenset[str]:
        return self.inner._facts() if self.scale > 0 else frozenset({STATIONARY})

    def _value(self, x: Any, z: Any, m: Arithmetic) -> Any:
        return m.number(self.scale) * self.inner._value(x, z, m)

    def _text(self) -> str:
        return f"{self.scale!r} * {self.inner._bracketed(POWER)}"


@dataclass(frozen=True, repr=False)
class Power(Pointwise):
    """k(x, z)^p for a whole p >= 0."""

    power: int = whole(at_least=0, keyword=False)
    inner: Kernel = child()
    _precedence = POWER

    def _apply(self, values: NDArray[Any]) -> NDArray[Any]:
        return np.power(values, self.power, out=values)

    def _slope(self, values: NDArray[Any]) -> NDArray[Any]:
        return np.zeros_like(values) if self.power == 0 else self.power * values ** (self.power - 1)

    def _features(self, encoding: Encoding, combined: bool) -> Any:
        return features.power(self.inner._features(encoding, combined), self.power, combined)

    def _n_features(self, encoding: Encoding) -> int:
        return features.power_count(self.inner._n_features(encoding), self.power)

    def _derivation(self) -> Derivation:
        if self.power == 0:
            return Derivation("constant", "k ** 0 is the constant 1, and c'11'c = (sum c)^2 >= 0")
        return Derivation("power", f"k ** {self.power} is k times itself, a product of kernels", (self.inner,))

    def _facts(self) -> frozenset[str]:
        return self.inner._facts() if STATIONARY in self.inner._facts() and self.power > 0 else frozenset()

    def _value(self, x: Any, z: Any, m: Arithmetic) -> Any:
        base = self.inner._value(x, z, m)
        return reduce(lambda a, b: a * b, [base] * self.power, m.number(1.0))

    def _text(self) -> str:
        return f"{self.inner._bracketed(POWER + 1)} ** {self.power}"


@dataclass(frozen=True, repr=False)
class PolynomialOf(Pointwise):
    """c0 + c1 k(x, z) + c2 k(x, z)^2 + … with coefficients >= 0."""

    coefficients: tuple[float, ...] = field()
    inner: Kernel = child()

    def __post_init__(self) -> None:
        try:
            values = tuple(float(c) for c in self.coefficients)
        except (TypeError, ValueError):
            raise InputError(f"polynomial: coefficients must be numbers (c0, c1, …); got {self.coefficients!r}.") from None
        if not values or not np.isfinite(values).all():
            raise InputError(f"polynomial: give at least one finite coefficient (c0, c1, …); got {self.coefficients!r}.")
        if min(values) < 0:
            raise ClosureError(
                f"polynomial: coefficient c{int(np.argmin(values))} = {min(values)} is negative; a polynomial of a kernel "
                "is implied to be one by the closure rules only if all coefficients are >= 0."
            )
        object.__setattr__(self, "coefficients", values)

    def _apply(self, values: NDArray[Any]) -> NDArray[Any]:
        return np.polynomial.polynomial.polyval(values, self.coefficients).astype(values.dtype, copy=False)

    def _slope(self, values: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(np.polynomial.polynomial.polyval(values, np.polynomial.polynomial.polyder(self.coefficients)))

    def _features(self, encoding: Encoding, combined: bool) -> Any:
        base = self.inner._features(encoding, combined)
        used = [(p, c) for p, c in enumerate(self.coefficients) if c > 0] or [(0, 0.0)]
        return features.stack([features.times(features.power(base, p, combined), c**0.5) for p, c in used])

    def _n_features(self, encoding: Encoding) -> int:
        base = self.inner._n_features(encoding)
        return sum(features.power_count(base, p) for p, c in enumerate(self.coefficients) if c > 0) or 1

    def _derivation(self) -> Derivation:
        because = "products, multiples >= 0 and sums of kernels are kernels, and so is the constant c0 >= 0"
        return Derivation("polynomial with coefficients >= 0", because, (self.inner,))

    def _facts(self) -> frozenset[str]:
        linear = len(self.coefficients) > 1 and self.coefficients[1] > 0
        return self.inner._facts() if linear else self.inner._facts() & {STATIONARY}

    def _value(self, x: Any, z: Any, m: Arithmetic) -> Any:
        base, total = self.inner._value(x, z, m), m.number(0.0)
        for c in reversed(self.coefficients):
            total = total * base + m.number(c)
        return total

    def _text(self) -> str:
        return f"{self.inner._bracketed(POWER + 1)}.polynomial({self.coefficients!r})"


@dataclass(frozen=True, repr=False)
class Exp(Pointwise):
    """exp(k(x, z)): 1 + k + k^2/2 + …, a limit of polynomials with coefficients >= 0."""

    inner: Kernel = field(metadata={"child": True})

    def _apply(self, values: NDArray[Any]) -> NDArray[Any]:
        with np.errstate(over="ignore"):
            np.exp(values, out=values)
        if not np.isfinite(values).all():
            raise InputError(f"{self}: exp overflows on these data; scale the inner kernel down, e.g. (0.01 * k).exp().")
        return values

    def _slope(self, values: NDArray[Any]) -> NDArray[Any]:
        return np.exp(values)

    def _lacks_features(self) -> Kernel | None:
        return self

    def _derivation(self) -> Derivation:
        because = "exp(k) is the limit of 1 + k + k^2/2 + … + k^n/n!, and limits of psd matrices are psd"
        return Derivation("exponential", because, (self.inner,))

    def _facts(self) -> frozenset[str]:
        return self.inner._facts()

    def _value(self, x: Any, z: Any, m: Arithmetic) -> Any:
        return m.exp(self.inner._value(x, z, m))

    def _text(self) -> str:
        return f"{self.inner._bracketed(POWER + 1)}.exp()"
