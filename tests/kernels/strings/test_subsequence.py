"""Gap-weighted subsequences: against all choices of places, by both routes."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kernels.strings.cases import EXAMPLES, agrees, route, strings

from mercer import Spectrum, Subsequence
from mercer.errors import CapabilityError, InputError
from mercer.testing import check_kernel, naive


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("kind", ["dna", "unicode", "two", "tokens"])
@settings(max_examples=EXAMPLES)
@given(data=st.data(), p=st.integers(1, 4), decay=st.sampled_from([0.25, 0.5, 0.9, 1.0, 1.5]))
def test_values(kind: str, compiled: bool, data: st.DataObject, p: int, decay: float) -> None:
    X, Z = data.draw(strings(kind, 7)), data.draw(strings(kind, 7))
    agrees(Subsequence(p, decay=decay), partial(naive.subsequence, p=p, decay=decay), X, Z, compiled)


def test_the_example_of_the_paper() -> None:
    """k(cat, car) = decay^4 and k(cat, cat) = 2 decay^4 + decay^6 for p = 2 (Lodhi et al. 2002, section 3)."""
    for decay in (0.3, 0.5, 0.8):
        K = Subsequence(2, decay=decay)(["cat", "car", "bat", "bar"])
        assert np.allclose(K[0], [2 * decay**4 + decay**6, decay**4, decay**4, 0.0], rtol=1e-14)


def test_limits() -> None:
    texts = ["abcab", "cab", "", "bbbb"]
    assert np.allclose(Subsequence(1, decay=0.5)(texts), 0.25 * Spectrum(1)(texts))
    # a small decay leaves the subsequences without gaps
    assert np.allclose(Subsequence(3, decay=1e-4)(texts) / 1e-4**6, Spectrum(3)(texts), atol=1e-3)
    assert (Subsequence(5)(["abcd", ""]) == 0).all()


def test_more_strings_than_lanes_and_different_lengths() -> None:
    rng = np.random.default_rng(0)
    X = ["".join(rng.choice(list("abc"), size=size)) for size in rng.integers(0, 40, size=37)]
    with route(False):
        expected = Subsequence(3, decay=0.7)(X, X[:5])
    with route(True):
        assert np.allclose(Subsequence(3, decay=0.7)(X, X[:5]), expected, rtol=1e-13)
        assert np.allclose(Subsequence(3, decay=0.7)(X[:5], X), expected.T, rtol=1e-13)


def test_laws() -> None:
    texts = ["abcabc", "abc", "", "a", "ccccc", "abcabc", "cab"]
    check_kernel(Subsequence(2, decay=0.6), texts, twin=partial(naive.subsequence, p=2, decay=0.6))
    check_kernel(Subsequence(3).normalized(), texts)
    assert Subsequence(2).certificate().status == "valid"


@pytest.mark.parametrize(("name", "value"), [("p", 0), ("decay", 0.0), ("decay", -0.5), ("decay", "x")])
def test_parameters_that_are_refused(name: str, value: Any) -> None:
    with pytest.raises(InputError, match=f"Subsequence: {name} must be"):
        Subsequence(**{"p": 2, name: value})


def test_there_are_no_explicit_features() -> None:
    with pytest.raises(CapabilityError, match=r"Subsequence.*has no finite feature map.*Nystroem"):
        Subsequence(2).feature_map(["ab"])
    with pytest.raises(CapabilityError, match="no finite feature map"):
        Subsequence(2).feature_names(["ab"])
