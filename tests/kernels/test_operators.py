"""The language: what each operator makes, and the refusals with the closure rule named."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from mercer import Constant, Gaussian, Linear
from mercer.errors import ClosureError, InputError
from mercer.kernels.algebra import Power, Scaled, Sum

k, g = Linear(), Gaussian(2.0)


@pytest.mark.parametrize("two", [2, 2.0, np.float64(2), np.float32(2), np.int64(2), Fraction(2)])
def test_numbers_of_any_kind(two: Any) -> None:
    assert two * k == k * two == Scaled(2.0, inner=k)
    assert two + k == Sum((Constant(2.0), k))
    assert k + two == Sum((k, Constant(2.0)))
    assert k / two == Scaled(0.5, inner=k)
    assert isinstance((two * k).scale, float)


@pytest.mark.parametrize("two", [2, 2.0, np.int32(2), np.float64(2)])
def test_whole_powers(two: Any) -> None:
    assert k**two == Power(2, inner=k)
    assert isinstance((k**two).power, int)


REFUSED: dict[str, Callable[[], Any]] = {
    "k - k": lambda: k - k,
    "k - 1": lambda: k - 1,
    "1 - k": lambda: 1 - k,
    "np.float64(1) - k": lambda: np.float64(1) - k,
    "-k": lambda: -k,
    "-2 * k": lambda: -2 * k,
    "k * -2.0": lambda: k * -2.0,
    "k ** 0.5": lambda: k**0.5,
    "k ** -1": lambda: k**-1,
    "k ** k": lambda: k**k,
    "k ** inf": lambda: k ** float("inf"),
    "k ** nan": lambda: k ** float("nan"),
    "k + (-1)": lambda: k + (-1),
    "-0.5 + k": lambda: -0.5 + k,
    "k / k": lambda: k / k,
    "k / 0": lambda: k / 0,
    "k / -2": lambda: k / -2,
    "coefficient": lambda: k.polynomial([1.0, -2.0]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_rule_covers_is_refused_there_and_then(name: str) -> None:
    with pytest.raises(ClosureError, match="closure rules") as caught:
        REFUSED[name]()
    # it says that the rules do not reach so far, never that the function is no kernel: Gaussian ** 0.5 is one
    assert "not a kernel" not in str(caught.value)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("wrong", ["a", None, [1.0], True, 1j])
def test_other_operands_are_type_errors(wrong: Any) -> None:
    for operation in (lambda: k + wrong, lambda: wrong + k, lambda: k * wrong, lambda: wrong * k):
        with pytest.raises(TypeError):
            operation()


@pytest.mark.parametrize("number", [float("nan"), float("inf"), 10**400])
def test_numbers_that_are_not_finite(number: Any) -> None:
    for operation in (lambda: number * k, lambda: k + number, lambda: k * number):
        with pytest.raises(InputError, match="finite number >= 0"):
            operation()


def test_an_array_does_not_swallow_a_kernel() -> None:
    with pytest.raises(TypeError):
        np.ones(2) * k


def test_columns_come_one_by_one() -> None:
    with pytest.raises(InputError, match=r"one by one, k.on\(\*\('a', 'b'\)\)"):
        k.on(("a", "b"))


def test_verbs_of_functions_want_functions() -> None:
    with pytest.raises(InputError, match="map takes a function"):
        k.map(3)
    with pytest.raises(InputError, match="weighted takes a function"):
        k.weighted("f")
