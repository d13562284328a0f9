"""Registered names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mercer
from mercer import Linear, parse
from mercer.errors import InputError, ParseError
from mercer.kernels.functions import name_of


def double(X: Any) -> Any:
    return 2.0 * X


def test_a_registered_function_survives_the_text() -> None:
    assert mercer.register("names_double", double) is double
    kernel = Linear().map(double).weighted(mercer.register("names_sum", lambda X: X.sum(axis=1)))
    assert repr(kernel) == "Linear().map(names_double).weighted(names_sum)"
    assert parse(repr(kernel)) == kernel
    mercer.register("names_double", double)  # again is no harm


def test_an_unregistered_function_prints_its_own_name_and_cannot_be_read() -> None:
    def triple(X: Any) -> Any:
        return 3.0 * X

    assert repr(Linear().map(triple)) == "Linear().map(triple)"
    assert name_of(np.tanh) == "tanh"
    with pytest.raises(ParseError, match=r"'triple' is not known.*mercer.register"):
        parse(repr(Linear().map(triple)))


@pytest.mark.parametrize(
    ("name", "function", "words"),
    [("not a name", double, "identifier"), (3, double, "identifier"), ("f", 3, "must name a function")],
)
def test_what_cannot_be_registered(name: Any, function: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        mercer.register(name, function)


def test_a_name_is_given_once() -> None:
    mercer.register("names_once", double)
    with pytest.raises(InputError, match="already names another"):
        mercer.register("names_once", lambda X: X)
