"""Exact arithmetic on fractions, for formulas that add, multiply and divide only: then c'Kc < 0 is plain truth."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from mercer.validity.intervals import UndecidedError

#: A fraction with more digits than this is given up: powers of powers double them at every level.
MAX_BITS = 20_000


class IrrationalError(UndecidedError):
    """A formula uses a function whose values are not fractions."""


@dataclass(frozen=True, slots=True)
class Rational:
    """A fraction of bounded length.

    >>> third = Rational(Fraction(1, 3))
    >>> (third + third + third).value
    Fraction(1, 1)
    """

    value: Fraction

    def __post_init__(self) -> None:
        if self.value.numerator.bit_length() + self.value.denominator.bit_length() > MAX_BITS:
            raise UndecidedError(f"a fraction grew beyond {MAX_BITS} bits.")

    def __add__(self, other: Rational) -> Rational:
        return Rational(self.value + other.value)

    def __sub__(self, other: Rational) -> Rational:
        return Rational(self.value - other.value)

    def __neg__(self) -> Rational:
        return Rational(-self.value)

    def __mul__(self, other: Rational) -> Rational:
        return Rational(self.value * other.value)

    def __truediv__(self, other: Rational) -> Rational:
        if other.value == 0:
            raise UndecidedError("division by 0.")
        return Rational(self.value / other.value)


class RationalArithmetic:
    """The operations of a scalar formula, on fractions; functions that lead out of them raise `IrrationalError`."""

    def __init__(self, limit: int = 30_000) -> None:
        self._left = limit

    def number(self, value: float) -> Rational:
        """A float as the fraction that it is."""
        self._left -= 1
        if self._left < 0:
            raise UndecidedError("the formula has too many terms to be computed exactly.")
        return Rational(Fraction(value))

    def pi(self) -> Rational:
        """Not a fraction."""
        raise IrrationalError("pi is irrational.")

    def exp(self, x: Rational) -> Rational:
        """A fraction for x = 0 only."""
        return self._at(x, 0, 1, "exp")

    def sqrt(self, x: Rational) -> Rational:
        """The square root of a square."""
        if x.value < 0:
            raise UndecidedError(f"the square root of {x.value} < 0.")
        top, bottom = math.isqrt(x.value.numerator), math.isqrt(x.value.denominator)
        if (top * top, bottom * bottom) != (x.value.numerator, x.value.denominator):
            raise IrrationalError(f"the square root of {x.value} is irrational.")
        return Rational(Fraction(top, bottom))

    def tanh(self, x: Rational) -> Rational:
        """A fraction for x = 0 only."""
        return self._at(x, 0, 0, "tanh")

    def sin(self, x: Rational) -> Rational:
        """A fraction for x = 0 only."""
        return self._at(x, 0, 0, "sin")

    def log(self, x: Rational) -> Rational:
        """A fraction for x = 1 only."""
        return self._at(x, 1, 0, "log")

    def absolute(self, x: Rational) -> Rational:
        """|x|."""
        return Rational(abs(x.value))

    def _at(self, x: Rational, point: int, value: int, name: str) -> Rational:
        if x.value != point:
            raise IrrationalError(f"{name}({x.value}) is irrational.")
        return Rational(Fraction(value))
