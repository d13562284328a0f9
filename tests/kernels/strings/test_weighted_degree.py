"""The weighted degree kernel: against comparing place by place, by both routes."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kernels.strings.cases import EXAMPLES, agrees, named, same_columns, strings

from mercer import WeightedDegree, parse
from mercer.errors import InputError
from mercer.kernels.strings.weighted_degree import shift_factors
from mercer.testing import check_kernel, naive


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("kind", ["dna", "unicode", "two", "tokens"])
@settings(max_examples=EXAMPLES)
@given(data=st.data(), degree=st.integers(1, 5))
def test_values(kind: str, compiled: bool, data: st.DataObject, degree: int) -> None:
    X, Z = data.draw(strings(kind)), data.draw(strings(kind))
    agrees(WeightedDegree(degree), partial(naive.weighted_degree, degree=degree), X, Z, compiled)
    named(WeightedDegree(degree), X, compiled)


@pytest.mark.parametrize("kind", ["dna", "unicode", "tokens"])
@settings(max_examples=EXAMPLES)
@given(data=st.data(), degree=st.integers(1, 4), shift=st.integers(1, 6))
def test_shifted_values(kind: str, data: st.DataObject, degree: int, shift: int) -> None:
    X, Z = data.draw(strings(kind)), data.draw(strings(kind))
    kernel = WeightedDegree(degree, shift=shift)
    agrees(kernel, partial(naive.weighted_degree, degree=degree, shift=shift), X, Z, False)
    named(kernel, X, False)


@pytest.mark.parametrize("shift", [0, 1, 2, 7, 30, 100])
def test_factors_of_shifts_have_the_published_autocorrelation(shift: int) -> None:
    h = shift_factors(shift)
    c = np.correlate(h, h, "full")[shift:]
    np.testing.assert_allclose(c, np.append(1.0, 0.5 / np.arange(2.0, shift + 2.0)), atol=1e-14)


def test_a_shift_reaches_near_places_only() -> None:
    assert WeightedDegree(2, shift=1)(["abc"], ["xabc"])[0, 0] == pytest.approx(0.25 * (3 * 2 / 3 + 2 / 3), abs=1e-14)
    assert WeightedDegree(2, shift=1)(["abc"], ["xxabc"])[0, 0] == 0.0
    kernel = WeightedDegree(3, shift=2)
    assert "shift=2" in repr(kernel) and parse(repr(kernel)) == kernel
    assert repr(WeightedDegree(3)) == "WeightedDegree(degree=3)"
    assert "cos" in str(kernel.certificate()) and kernel.certificate().status == "valid"
    check_kernel(kernel, ["acgtac", "acg", "", "a", "ccccc", "acgtac"])


def test_degree_one_counts_equal_letters() -> None:
    assert WeightedDegree(1)(["acgt", "aggt", "xx"]).tolist() == [[4, 3, 0], [3, 4, 0], [0, 0, 2]]


def test_the_place_matters() -> None:
    assert WeightedDegree(3)(["abc"], ["xabc"])[0, 0] == 0.0


def test_laws_and_columns() -> None:
    texts = ["acgtac", "acg", "", "a", "ccccc", "acgtac", "cag"]
    check_kernel(WeightedDegree(3), texts, twin=partial(naive.weighted_degree, degree=3))
    same_columns(WeightedDegree(2), texts, texts[:3])
    assert np.allclose(WeightedDegree(3).normalized().diag(texts), [1, 1, 0, 1, 1, 1, 1])
    assert WeightedDegree().certificate().status == "valid"


@pytest.mark.parametrize("degree", [0, -1, 1.5, True])
def test_degrees_that_are_refused(degree: float) -> None:
    with pytest.raises(InputError, match="WeightedDegree: degree must be"):
        WeightedDegree(degree)
