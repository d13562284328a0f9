"""All substrings at once: against pairs of equal substrings, by both routes."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kernels.strings.cases import EXAMPLES, agrees, strings

from mercer import AllSubstrings, Spectrum
from mercer.errors import CapabilityError, InputError
from mercer.testing import check_kernel, naive


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("kind", ["dna", "unicode", "two", "tokens"])
@settings(max_examples=EXAMPLES)
@given(data=st.data(), decay=st.sampled_from([0.25, 0.5, 1.0, 1.2]), longest=st.sampled_from([None, 1, 3]))
def test_values(kind: str, compiled: bool, data: st.DataObject, decay: float, longest: int | None) -> None:
    X, Z = data.draw(strings(kind)), data.draw(strings(kind))
    twin = partial(naive.all_substrings, decay=decay, longest=longest)
    agrees(AllSubstrings(decay, longest=longest), twin, X, Z, compiled)


@settings(max_examples=EXAMPLES)
@given(X=strings("two", 12))
def test_features(X: list[str]) -> None:
    """Columns are named by the longest substring of their class, and every column belongs to a string that has it."""
    kernel = AllSubstrings(0.5)
    names, phi = kernel.feature_names(X), kernel.feature_map(X).toarray()
    assert len(set(names)) == len(names) == phi.shape[1] <= 2 * sum(map(len, X))
    for name, column in zip(names, phi.T, strict=True):
        assert [value > 0 for value in column] == [name in x for x in X]
        counts = [sum(x[i : i + len(name)] == name for i in range(len(x))) for x in X]
        assert np.allclose(column * max(counts), np.array(counts) * column.max())


def test_it_is_the_sum_of_all_spectra() -> None:
    texts = ["abracadabra", "cadabra", "", "bar", "abracadabra"]
    total = sum(0.7**p * Spectrum(p)(texts) for p in range(1, 12))
    assert np.allclose(AllSubstrings(0.7)(texts), total, rtol=1e-13)


def test_long_repeats() -> None:
    texts = ["a" * 300, "a" * 299 + "b", "ab" * 150]
    lengths = np.arange(1, 301)
    own = float((0.5**lengths * (301.0 - lengths) ** 2).sum())
    assert AllSubstrings(0.5)(texts)[0, 0] == pytest.approx(own, rel=1e-12)


def test_laws() -> None:
    texts = ["abcabc", "abc", "", "a", "ccccc", "abcabc", "cab"]
    check_kernel(AllSubstrings(0.6), texts, twin=partial(naive.all_substrings, decay=0.6))
    check_kernel(AllSubstrings(0.6).normalized(), texts)
    assert AllSubstrings().certificate().status == "valid"


def test_columns_of_another_collection_are_refused() -> None:
    with pytest.raises(CapabilityError, match="classes of substrings"):
        AllSubstrings().feature_map(["ax"], like=["abc", "abd"])  # here "a" and "ab" always occur together


@pytest.mark.parametrize(("decay", "longest"), [(0.0, None), (-1.0, None), (0.5, 0), (0.5, 1.5)])
def test_parameters_that_are_refused(decay: float, longest: int | None) -> None:
    with pytest.raises(InputError, match=r"AllSubstrings: (decay|longest) must be"):
        AllSubstrings(decay, longest=longest)
