"""Exact and interval arithmetic in which the formulas of kernels are evaluated, so that c'Kc < 0 is a proof.

Fractions serve formulas that add, multiply and divide only. Intervals serve the rest: every result encloses the true value,
so an upper bound below 0 is a proof. Sums, products and quotients are rounded outward by one unit in the last place, unless
they are known to be exact. Functions of the C library are correct to about one unit; they are widened by ULPS of them. A
value that leaves the range of floats raises `UndecidedError`: an interval is always two finite numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from mercer.errors import NumericalError

#: Units in the last place by which results of exp, log, sin, tanh are widened; the C libraries in use stay below 2.
ULPS = 4

#: Whole numbers up to here are floats, and so are their sums, differences and products if these stay below it.
WHOLE = 2.0**53


class UndecidedError(NumericalError):
    """A value cannot be enclosed: it overflows, divides by an interval that contains 0, or takes too many operations."""


def _down(value: float, steps: int = 1) -> float:
    for _ in range(steps):
        value = math.nextafter(value, -math.inf)
    return value


def _up(value: float, steps: int = 1) -> float:
    for _ in range(steps):
        value = math.nextafter(value, math.inf)
    return value


@dataclass(frozen=True, slots=True)
class Interval:
    """All numbers from lo to hi.

    >>> third = Interval.of(1.0) / Interval.of(3.0)
    >>> third.lo < third.hi and (third + third + third).contains(1)
    True
    """

    lo: float
    hi: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.lo) and math.isfinite(self.hi)):
            raise UndecidedError(f"an interval from {self.lo} to {self.hi} left the range of floats.")

    @classmethod
    def of(cls, value: float) -> Interval:
        """The interval that holds one float only."""
        return cls(value, value)

    def contains(self, value: object) -> bool:
        """True if lo <= value <= hi; value may be a Fraction or a Decimal, which compare exactly with floats."""
        return bool(self.lo <= value <= self.hi)  # type: ignore[operator]

    def __add__(self, other: Interval) -> Interval:
        return Interval(_sum(self.lo, other.lo, _down), _sum(self.hi, other.hi, _up))

    def __sub__(self, other: Interval) -> Interval:
        return Interval(_sum(self.lo, -other.hi, _down), _sum(self.hi, -other.lo, _up))

    def __neg__(self) -> Interval:
        return Interval(-self.hi, -self.lo)

    def __mul__(self, other: Interval) -> Interval:
        if other is self:  # one number times itself: without this, the square of [-1, 1] would reach down to -1
            return self._square()
        ends = [(a, b) for a in (self.lo, self.hi) for b in (other.lo, other.hi)]
        return Interval(min(_product(a, b, _down) for a, b in ends), max(_product(a, b, _up) for a, b in ends))

    def _square(self) -> Interval:
        small, large = sorted((abs(self.lo), abs(self.hi)))
        if self.lo < 0 < self.hi:
            small = 0.0
        return Interval(max(0.0, _product(small, small, _down)), _product(large, large, _up))

    def __truediv__(self, other: Interval) -> Interval:
        if other.lo <= 0.0 <= other.hi:
            raise UndecidedError(f"division by the interval from {other.lo} to {other.hi}, which holds 0.")
        ends = [(a, b) for a in (self.lo, self.hi) for b in (other.lo, other.hi)]
        return Interval(min(_quotient(a, b, _down) for a, b in ends), max(_quotient(a, b, _up) for a, b in ends))


def _sum(a: float, b: float, outward: Callable[[float], float]) -> float:
    total = a + b
    # Knuth's two-sum: the rounding error of a + b is itself a float, so "no error" can be seen
    part = total - a
    return total if (a - (total - part)) + (b - part) == 0.0 else outward(total)


def _product(a: float, b: float, outward: Callable[[float], float]) -> float:
    product = a * b
    if a == 0.0 or b == 0.0 or (a.is_integer() and b.is_integer() and abs(product) <= WHOLE):
        return product
    return outward(product)


def _quotient(a: float, b: float, outward: Callable[[float], float]) -> float:
    quotient = a / b
    exact = b.is_integer() and quotient.is_integer() and abs(a) <= WHOLE and quotient * b == a
    return quotient if a == 0.0 or exact else outward(quotient)


class IntervalArithmetic:
    """The operations of a scalar formula, on intervals; `limit` bounds the number of constants a formula may use."""

    def __init__(self, limit: int = 30_000) -> None:
        self._left = limit

    def number(self, value: float) -> Interval:
        """A float as the interval that holds it alone."""
        self._left -= 1
        if self._left < 0:
            raise UndecidedError("the formula has too many terms to be enclosed.")
        return Interval.of(float(value))

    def pi(self) -> Interval:
        """The float below pi and the one above it."""
        return Interval(math.pi, _up(math.pi))  # math.pi = 3.14159265358979311… is below pi = …323…

    def exp(self, x: Interval) -> Interval:
        """e to the x, by monotony."""
        return Interval(max(0.0, _down(_call(math.exp, x.lo), ULPS)), _up(_call(math.exp, x.hi), ULPS))

    def sqrt(self, x: Interval) -> Interval:
        """Return the square root; numbers below 0 are rounding, because x >= 0 is guaranteed."""
        if x.hi < 0.0:
            raise UndecidedError(f"the square root of a number below 0, between {x.lo} and {x.hi}.")
        return Interval(_root(max(0.0, x.lo), _down), _root(x.hi, _up))

    def tanh(self, x: Interval) -> Interval:
        """The hyperbolic tangent, by monotony, within [-1, 1]."""
        lo, hi = _down(math.tanh(x.lo), ULPS), _up(math.tanh(x.hi), ULPS)
        return Interval(0.0 if x.lo == 0.0 else max(-1.0, lo), 0.0 if x.hi == 0.0 else min(1.0, hi))

    def log(self, x: Interval) -> Interval:
        """The natural logarithm, by monotony."""
        if x.lo <= 0.0:
            raise UndecidedError(f"the logarithm of an interval from {x.lo} to {x.hi}.")
        lo, hi = _down(math.log(x.lo), ULPS), _up(math.log(x.hi), ULPS)
        return Interval(0.0 if x.lo == 1.0 else lo, 0.0 if x.hi == 1.0 else hi)

    def sin(self, x: Interval) -> Interval:
        """The sine: the values at the ends, and 1 or -1 where a crest or a trough may lie between them."""
        if x.lo == x.hi == 0.0:
            return x
        ends = (math.sin(x.lo), math.sin(x.hi))
        lo, hi = max(-1.0, _down(min(ends), ULPS)), min(1.0, _up(max(ends), ULPS))
        # x = pi/2 + k pi is a crest for even k and a trough for odd k; the bounds on k err outward, which only widens
        first = math.ceil(_down(_down(x.lo / math.pi, ULPS) - 0.5, ULPS))
        last = math.floor(_up(_up(x.hi / math.pi, ULPS) - 0.5, ULPS))
        turns = range(first, min(last, first + 1) + 1)
        return Interval(-1.0 if any(k % 2 for k in turns) else lo, 1.0 if any(k % 2 == 0 for k in turns) else hi)

    def absolute(self, x: Interval) -> Interval:
        """|x|."""
        if x.lo >= 0.0:
            return x
        return -x if x.hi <= 0.0 else Interval(0.0, max(-x.lo, x.hi))

    def power(self, x: Interval, exponent: float) -> Interval:
        """x^exponent, by monotony; what lies below 0 is rounding, since x >= 0 is promised."""
        if x.hi < 0.0:
            raise UndecidedError(f"a power of a number below 0, between {x.lo} and {x.hi}.")
        lo, hi = (_call(lambda value: math.pow(value, exponent), end) for end in (max(0.0, x.lo), x.hi))
        return Interval(max(0.0, _down(lo, ULPS)) if lo else 0.0, _up(hi, ULPS) if hi or x.hi else 0.0)


def _root(value: float, outward: Callable[[float], float]) -> float:
    root = math.sqrt(value)  # IEEE 754 rounds the square root correctly: it is at most half a unit off
    return root if root.is_integer() and root * root == value and value <= WHOLE else max(0.0, outward(root))


def _call(function: Callable[[float], float], value: float) -> float:
    try:
        return function(value)
    except OverflowError:
        raise UndecidedError(f"{function.__name__}({value}) left the range of floats.") from None


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
        """Return a float as a fraction."""
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

    def power(self, x: Rational, exponent: float) -> Rational:
        """A fraction for x = 0 and x = 1 only."""
        return self._at(x, 0, 0, "power") if x.value == 0 else self._at(x, 1, 1, "power")

    def _at(self, x: Rational, point: int, value: int, name: str) -> Rational:
        if x.value != point:
            raise IrrationalError(f"{name}({x.value}) is irrational.")
        return Rational(Fraction(value))
