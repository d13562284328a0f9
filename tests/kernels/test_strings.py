"""The spectrum kernel: against counting by hand, on every container of strings and on tokens."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer import Spectrum
from mercer.errors import InputError
from mercer.testing import naive

TEXTS = ["abab", "ba", "", "äß√", "abcabc"]


@given(st.text("ab", max_size=12), st.text("ab", max_size=12), st.integers(1, 4), st.booleans())
def test_values_are_those_of_counting(s: str, t: str, p: int, presence: bool) -> None:
    assert Spectrum(p, presence=presence)([s], [t])[0, 0] == naive.spectrum(s, t, p, presence)


@pytest.mark.parametrize(
    "make",
    [
        tuple,
        pd.Series,
        pl.Series,
        np.array,
        lambda t: np.array(t, dtype=object),
        lambda t: np.array(t)[:, None],
        lambda t: pd.DataFrame({"text": t}),
        lambda t: pl.DataFrame({"text": t}),
        lambda t: pd.Series(t, index=range(5, 10)),
    ],
)
def test_every_container_of_strings(make: Any) -> None:
    assert np.array_equal(Spectrum(2)(make(TEXTS)), Spectrum(2)(TEXTS))
    assert np.array_equal(Spectrum(2)(TEXTS, make(TEXTS)), Spectrum(2)(TEXTS))


def test_tokens() -> None:
    words = [["to", "be", "or"], ("to", "be"), ["or"]]
    assert Spectrum(2)(words).tolist() == [[2, 1, 0], [1, 1, 0], [0, 0, 0]]
    assert Spectrum(1)([[1, 2, 2], np.array([2])]).tolist() == [[5, 2], [2, 1]]


def test_shorter_than_p_is_zero() -> None:
    assert (Spectrum(5)(["a", "abc", ""]) == 0).all()
    assert Spectrum(5).feature_map(["a", "b"]).shape == (2, 0)
    assert Spectrum(2)(["a", "b"], ["abc"]).tolist() == [[0], [0]]


def test_features_are_the_counts() -> None:
    phi = Spectrum(2).feature_map(["abab", "ba"]).toarray()
    assert sorted(map(tuple, phi.T.tolist())) == sorted([(2.0, 0.0), (1.0, 1.0)])
    assert Counter(Spectrum(2, presence=True).feature_map(["abab", "ba"]).toarray().ravel().tolist()) == {1.0: 3, 0.0: 1}


def test_one_letter_of_unicode_is_one_letter() -> None:
    assert Spectrum(1)(["🜁🜂"]).tolist() == [[2]]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("abc", "str 'abc', not a collection"),
        (b"abc", "bytes b'abc', not a collection"),
        ([b"a", b"b"], r"X\[0\] is bytes; decode it first"),
        (["a", b"b"], r"X\[1\] is bytes; decode it first"),
        ([1, 2], r"X\[0\] is int 1"),
        (["a", None], r"X\[1\] is NoneType None; a kernel on strings needs a string like the others"),
        (["a", float("nan")], r"X\[1\] is float nan"),
        (pd.Series(["a", None]), r"X\[1\]"),
        (["ab", ["a", "b"]], r"X\[1\] is list .* other rows are plain strings; give one kind"),
        ([["a"], "b"], r"X\[1\] is str 'b'"),
        ([[["a"], "b"]], r"X\[0\] holds list \['a'\]; a token is a word or a number"),
        (np.ones((2, 3)), r"array of shape \(2, 3\); a kernel on strings takes a list of strings"),
        (pd.DataFrame({"a": ["x"], "b": ["y"]}), "table of 2 columns"),
        (None, "NoneType None, not a collection"),
        ([], "empty"),
    ],
)
def test_what_is_no_collection_of_strings(data: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        Spectrum(1)(data)


@pytest.mark.parametrize(("name", "value"), [("p", 0), ("p", 1.5), ("p", True), ("presence", 1), ("presence", "yes")])
def test_parameters_that_are_refused(name: str, value: Any) -> None:
    with pytest.raises(InputError, match=f"Spectrum: {name} must be"):
        Spectrum(**{name: value})
