"""Functions that are written down to be checked, not used: negative signs, values with noise, and terms under a name.

`mercer.parse` rejects differences and negative multiples, because no closure rule covers them. `read_claim` reads them as
sums and products of kernels with signs, so that the search can look for a counter-example. `Disturbed` and `Named` serve
the check of a counter-example and the text of a proof.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.errors import InputError, describe
from mercer.kernels.algebra import Power, Product, Scaled, Sum, Wrapper, child
from mercer.kernels.base import POWER, PRODUCT, SUM, Arithmetic, Kernel
from mercer.kernels.evaluation import Pair
from mercer.kernels.fields import real
from mercer.kernels.latex import latex
from mercer.kernels.parsing import MAX_LENGTH, Kernels, read
from mercer.kernels.vectors import Constant, Linear, Polynomial
from mercer.numeric.encodings import Encoding


def read_claim(text: str) -> Kernel:
    """Return the function that a text describes, also if the closure rules do not cover it; for certificates only.

    >>> from mercer.validity import certify
    >>> certify(read_claim("-1.0 * Linear()")).status, certify(read_claim("Polynomial(2, offset=-1.0)")).status
    ('invalid', 'invalid')
    """
    if not isinstance(text, str) or len(text) > MAX_LENGTH:
        raise InputError(f"a claim is the text of a function of two objects; got {describe(text)}.")
    return read(text, Claims())


@dataclass(frozen=True, repr=False)
class Negative(Wrapper):
    """a k(x, z) with a < 0, which no rule makes a kernel."""

    factor: float = real(keyword=False)
    inner: Kernel = child()
    _precedence = PRODUCT

    def _block(self, pair: Pair) -> Array:
        values = self.inner._block(pair)
        values *= self.factor
        return values

    def _diag(self, encoding: Encoding) -> Array:
        return self.factor * self.inner._diag(encoding)

    def _value(self, x: Any, z: Any, m: Arithmetic) -> Any:
        return m.number(self.factor) * self.inner._value(x, z, m)

    def _text(self) -> str:
        return f"{self.factor!r} * {self.inner._bracketed(POWER)}"


@dataclass(frozen=True, repr=False)
class Subtraction(Kernel):
    """k1(x, z) - k2(x, z)."""

    left: Kernel
    right: Kernel
    _precedence = SUM

    @property
    def children(self) -> tuple[Kernel, ...]:
        return (self.left, self.right)

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        return self.left.symmetric and self.right.symmetric

    def with_children(self, children: tuple[Kernel, ...]) -> Kernel:
        return Subtraction(*children)

    def _encode(self, rows: Any) -> Encoding:
        return self.left._encode(rows), self.right._encode(rows)

    def _block(self, pair: Pair) -> Array:
        return np.asarray(self.left._block(pair.part(0)) - self.right._block(pair.part(1)))

    def _diag(self, encoding: Encoding) -> Array:
        return self.left._diag(encoding[0]) - self.right._diag(encoding[1])

    def _value(self, x: Any, z: Any, m: Arithmetic) -> Any:
        return self.left._value(x, z, m) - self.right._value(x, z, m)

    def _text(self) -> str:
        return f"{self.left._bracketed(SUM)} - {self.right._bracketed(PRODUCT)}"


@dataclass(frozen=True, repr=False, eq=False)
class Disturbed(Wrapper):
    """k(x, z) plus noise of the size of its rounding error."""

    inner: Kernel
    noise: Callable[[Array], Array]

    def _block(self, pair: Pair) -> Array:
        return self.noise(self.inner._block(pair))

    def _diag(self, encoding: Encoding) -> Array:
        return self.noise(self.inner._diag(encoding))


@dataclass(frozen=True, repr=False, eq=False)
class Named(Wrapper):
    """A kernel that is printed under a name and otherwise is what it was."""

    inner: Kernel
    name: str

    @property
    def children(self) -> tuple[Kernel, ...]:
        return ()

    def _block(self, pair: Pair) -> Array:
        return self.inner._block(pair)

    def _diag(self, encoding: Encoding) -> Array:
        return self.inner._diag(encoding)

    def _text(self) -> str:
        return self.name


@latex.register
def _(kernel: Negative) -> str:
    return rf"{kernel.factor:g} \, {_bracketed(kernel.inner, POWER)}"


@latex.register
def _(kernel: Subtraction) -> str:
    return rf"{_bracketed(kernel.left, SUM)} - {_bracketed(kernel.right, PRODUCT)}"


def _bracketed(kernel: Kernel, at_least: int) -> str:
    text = latex(kernel)
    return text if kernel._precedence >= at_least else rf"\left({text}\right)"


def multiple(factor: float, kernel: Kernel) -> Kernel:
    """factor times a function, for a factor of either sign."""
    return Scaled(factor, inner=kernel) if factor >= 0 else Negative(float(factor), inner=kernel)


def _term(value: Any) -> Kernel:
    if isinstance(value, Kernel):
        return value
    return Constant(value) if value >= 0 else Negative(-1.0, inner=Constant(-value))


class Claims(Kernels):
    """The language of kernels, with negative signs allowed."""

    def add(self, terms: list[Any]) -> Any:
        return Sum(tuple(_term(term) for term in terms))

    def multiply(self, factors: list[Any]) -> Any:
        number, kernels = 1.0, []
        for factor in factors:
            if isinstance(factor, Kernel):
                kernels.append(factor)
            else:
                number *= factor
        kernel = kernels[0] if len(kernels) == 1 else Product(tuple(kernels))
        return kernel if len(kernels) == len(factors) else multiple(number, kernel)

    def subtract(self, left: Any, right: Any) -> Any:
        numbers = not isinstance(left, Kernel) and not isinstance(right, Kernel)
        return left - right if numbers else Subtraction(_term(left), _term(right))

    def divide(self, left: Any, right: Any) -> Any:
        if isinstance(left, Kernel) and not isinstance(right, Kernel) and right < 0:
            return multiple(1.0 / right, left)
        return super().divide(left, right)

    def negate(self, kernel: Kernel) -> Any:
        return Negative(-1.0, inner=kernel)

    def construct(self, kind: type[Kernel], arguments: list[Any], keywords: dict[str, Any]) -> Kernel:
        number = arguments[0] if kind is Constant and arguments else keywords.get("value")
        if kind is Constant and isinstance(number, (int, float)) and number < 0:
            return Negative(-1.0, inner=super().construct(kind, [-number], {}))
        offset = keywords.get("offset")
        if kind is Polynomial and isinstance(offset, (int, float)) and offset < 0:
            degree = super().construct(kind, arguments, {**keywords, "offset": 0.0}).get_params()["degree"]
            return Power(degree, inner=Subtraction(Linear(), Constant(-offset)))
        return super().construct(kind, arguments, keywords)

    def method(self, owner: Any, verb: str, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        given = arguments[0] if arguments else keywords.get("coefficients")
        numbers = isinstance(given, tuple) and all(isinstance(c, (int, float)) for c in given)
        if verb == "polynomial" and numbers and given and min(given) < 0:
            used = [(p, float(c)) for p, c in enumerate(given) if c != 0]
            terms = [multiple(c, owner if p == 1 else Power(p, inner=owner)) for p, c in used]
            return terms[0] if len(terms) == 1 else Sum(tuple(terms))
        return super().method(owner, verb, arguments, keywords)
