"""Intervals hold the true value: against fractions, and against decimals of sixty digits."""

from __future__ import annotations

import math
from decimal import Decimal, getcontext, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mercer
from mercer.errors import InputError, NumericalError
from mercer.validity.arithmetic import Interval, IntervalArithmetic, IrrationalError, RationalArithmetic, UndecidedError

FLOATS = st.floats(min_value=-1e100, max_value=1e100, allow_nan=False)
PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798")


class DecimalArithmetic:
    """The same formulas with sixty digits: the twin of the intervals."""

    def number(self, value: float) -> Decimal:
        return Decimal(value)

    def pi(self) -> Decimal:
        return +PI

    def exp(self, x: Decimal) -> Decimal:
        return x.exp()

    def sqrt(self, x: Decimal) -> Decimal:
        return x.sqrt()

    def log(self, x: Decimal) -> Decimal:
        return x.ln()

    def absolute(self, x: Decimal) -> Decimal:
        return abs(x)

    def power(self, x: Decimal, exponent: float) -> Decimal:
        return (Decimal(exponent) * x.ln()).exp() if x else x

    def tanh(self, x: Decimal) -> Decimal:
        e = (-2 * abs(x)).exp()
        value = (1 - e) / (1 + e) if abs(x) > Decimal("1e-15") else abs(x) - abs(x) ** 3 / 3
        return value.copy_sign(x)

    def sin(self, x: Decimal) -> Decimal:
        with localcontext() as context:
            context.prec = 90  # the reduction of a large angle costs digits
            x = x - 2 * PI * (x / (2 * PI)).to_integral_value()
            total = term = x
            for k in range(1, 60):
                term = -term * x * x / ((2 * k) * (2 * k + 1))
                total += term
        return +total


@pytest.fixture(autouse=True)
def _sixty_digits() -> Any:
    before, getcontext().prec = getcontext().prec, 60
    yield
    getcontext().prec = before


@settings(max_examples=400, deadline=None)
@given(FLOATS, FLOATS, FLOATS)
def test_the_four_operations_enclose_the_fraction(a: float, b: float, c: float) -> None:
    x, y, z = (Interval.of(v) for v in (a, b, c))
    p, q, r = (Fraction(v) for v in (a, b, c))
    assert (x + y - z).contains(p + q - r)
    assert (x * y + z).contains(p * q + r)
    wide = Interval(min(a, b), max(a, b))
    assert (wide * z).contains(p * r) and (wide * z).contains(q * r)
    assert (wide * wide).contains(p * p) and (wide * wide).lo >= 0
    if c != 0 and abs(p / r) < 10**300:
        assert (x / z).contains(p / r)


@settings(max_examples=300, deadline=None)
@given(st.floats(min_value=-600, max_value=600), st.floats(min_value=0, max_value=3))
def test_functions_enclose_every_value_between_the_ends(lo: float, width: float) -> None:
    m, exact = IntervalArithmetic(), DecimalArithmetic()
    x = Interval(lo, lo + width)
    for t in np.linspace(x.lo, x.hi, 7).clip(x.lo, x.hi):
        point = Decimal(float(t))
        assert m.exp(x).contains(exact.exp(point))
        assert m.tanh(x).contains(exact.tanh(point))
        assert m.sin(x).contains(exact.sin(point))
        assert m.absolute(x).contains(abs(Fraction(float(t))))
        if x.lo > 0:
            assert m.sqrt(x).contains(point.sqrt()) and m.log(x).contains(point.ln())
            assert all(m.power(x, q).contains(exact.power(point, q)) for q in (0.3, 0.7, 1.4))


@pytest.mark.parametrize("k", [*range(-6, 7), 1000, -1001, 10**6])
def test_the_sine_reaches_its_crests_and_troughs(k: int) -> None:
    m, top = IntervalArithmetic(), math.pi / 2 + k * math.pi
    around = m.sin(Interval(top - 0.1, top + 0.1))
    assert (around.hi == 1.0) if k % 2 == 0 else (around.lo == -1.0)
    assert (around.lo > 0.99) if k % 2 == 0 else (around.hi < -0.99)
    assert m.sin(Interval(top - 4, top + 4)) == Interval(-1.0, 1.0)


def test_sine_far_out_is_enclosed() -> None:
    m, exact = IntervalArithmetic(), DecimalArithmetic()
    for x in (1e5, -3e8, 1e12, 2.0**60, 1e22):
        assert m.sin(Interval.of(x)).contains(exact.sin(Decimal(x)))


def test_pi_lies_strictly_inside_one_unit() -> None:
    pi = IntervalArithmetic().pi()
    assert pi.lo < PI < pi.hi == math.nextafter(pi.lo, 4.0)


def _random_formula(rng: np.random.Generator) -> mercer.kernels.base.Kernel:
    leaves = [
        mercer.Linear(),
        mercer.Polynomial(3, offset=0.7),
        mercer.Gaussian(float(rng.uniform(0.3, 3))),
        mercer.Exponential(float(rng.uniform(0.3, 3))),
        mercer.Laplacian(float(rng.uniform(0.3, 3))),
        mercer.Matern(float(rng.choice([0.5, 1.5, 2.5, 3.5])), length_scale=1.3),
        mercer.RationalQuadratic(1.1, shape=float(rng.uniform(0.2, 4))),
        mercer.Periodic(0.9, period=float(rng.uniform(0.5, 4))),
        mercer.Tanh(float(rng.normal()), offset=float(rng.normal())),
        mercer.Bilinear(rng.normal(size=(2, 2))),
        mercer.Constant(float(rng.uniform(0, 2))),
        mercer.Polynomial(2).normalized(),
        mercer.Linear().on(1),
    ]
    k = leaves[rng.integers(len(leaves))]
    for _ in range(rng.integers(0, 4)):
        other = leaves[rng.integers(len(leaves))]
        choice = rng.integers(6)
        if choice == 0:
            k = k + other
        elif choice == 1:
            k = k * other
        elif choice == 2:
            k = float(rng.uniform(0, 3)) * k
        elif choice == 3:
            k = k.polynomial((0.5, 1.0, 0.25))
        elif choice == 4:
            k = (0.1 * k).exp()
        else:
            k = k ** int(rng.integers(0, 4))
    return k


def test_formulas_of_random_kernels_are_enclosed_and_the_enclosure_is_tight() -> None:
    rng = np.random.default_rng(5)
    exact, widths = DecimalArithmetic(), []
    for _ in range(400):
        k = _random_formula(rng)
        x, z = rng.normal(size=(2, 2)) * rng.choice([0.1, 1.0, 2.0])
        m = IntervalArithmetic()
        enclosure = k._value([m.number(v) for v in x], [m.number(v) for v in z], m)
        truth = k._value([Decimal(float(v)) for v in x], [Decimal(float(v)) for v in z], exact)
        assert enclosure.contains(truth), (k, x, z)
        widths.append((enclosure.hi - enclosure.lo) / max(1.0, abs(float(truth))))
        try:
            computed = float(k([x], [z])[0, 0])
        except InputError:  # k(x, x) overflows where k(x, z) does not
            continue
        assert math.isclose(float(truth), computed, rel_tol=1e-9, abs_tol=1e-9), k
    assert np.median(widths) < 1e-14


def test_what_leaves_the_floats_is_given_up_and_never_guessed() -> None:
    m = IntervalArithmetic()
    huge = Interval.of(1e300)
    for attempt in (
        lambda: huge * huge,
        lambda: m.exp(Interval.of(1000.0)),
        lambda: huge / Interval(-1.0, 1.0),
        lambda: m.log(Interval(-1.0, 1.0)),
        lambda: m.sqrt(Interval(-2.0, -1.0)),
        lambda: [IntervalArithmetic(limit=3).number(1.0) for _ in range(4)] and IntervalArithmetic(limit=0).number(1.0),
    ):
        with pytest.raises(UndecidedError):
            attempt()
    assert issubclass(UndecidedError, NumericalError)


def test_rationals_are_exact_and_say_when_they_cannot_be() -> None:
    m = RationalArithmetic()
    tenth = m.number(0.1)
    assert tenth.value == Fraction(0.1) != Fraction(1, 10)
    assert m.sqrt(m.number(2.25)).value == Fraction(3, 2)
    assert m.exp(m.number(0.0)).value == m.log(m.number(1.0)).value + 1 == 1
    for function in (m.exp, m.tanh, m.sin, m.log, m.sqrt):
        with pytest.raises(IrrationalError):
            function(m.number(2.0))
    with pytest.raises(UndecidedError):
        tenth / m.number(0.0)
    with pytest.raises(UndecidedError, match="bits"):
        number = m.number(0.3)
        for _ in range(20):
            number = number * number
