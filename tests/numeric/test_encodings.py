"""Encodings: slicing and making two collections comparable."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.errors import InputError
from mercer.numeric.encodings import Counts, Dots, Values, align, dtype_of, gather, inner, length, squared_norms

X = np.random.default_rng(0).normal(size=(6, 3))


def test_counts_get_a_common_vocabulary() -> None:
    left = Counts.of([{"a": 1.0, "b": 2.0}, {}])
    right = Counts.of([{"c": 5.0, "b": 3.0}])
    one, other = left.align(right)
    assert one.inner(other).tolist() == [[6.0], [0.0]]
    assert left.inner(left).tolist() == [[5.0, 0.0], [0.0, 0.0]]
    assert left.norms().tolist() == [5.0, 0.0]


def test_counts_of_nothing() -> None:
    none = Counts.of([{}, {}])
    assert none.inner(none).tolist() == [[0, 0], [0, 0]]
    one, other = none.align(Counts.of([{"a": 1.0}]))
    assert one.inner(other).tolist() == [[0], [0]]


def test_alignment_is_shared_by_terms_that_share_an_encoding() -> None:
    left, right = Dots(X), Dots(X[:2].astype(np.float32))
    (a, (b, c)), (d, (e, f)) = align((left, (left, left)), (right, (right, right)))
    assert a is b is c
    assert d is e is f
    assert d.array.dtype == np.float64


def test_the_same_encoding_stays_the_same() -> None:
    both = (Dots(X), Values(np.ones(6)))
    assert align(both, both) == (both, both)


def test_different_widths_are_refused() -> None:
    with pytest.raises(InputError, match="Z has 2 columns but X has 3"):
        Dots(X).align(Dots(X[:, :2]))


def test_dtype_is_single_where_every_number_is() -> None:
    single = Dots(X.astype(np.float32))
    assert dtype_of((single, Values(np.ones(6)))) == np.float32
    assert dtype_of((single, Dots(X))) == np.float64
    assert dtype_of(Values(np.ones(6))) == np.float64
    assert dtype_of((single, Counts.of([{}]))) == np.float64


def test_length_and_rows() -> None:
    encoding = (Dots(X), (Values(np.arange(6.0)),))
    assert length(encoding) == 6
    part = gather(encoding, slice(2, 4))
    assert np.array_equal(part[0].array, X[2:4])
    assert part[1][0].array.tolist() == [2, 3]


@pytest.mark.parametrize("width", [3, 5000])
def test_inner_products_of_mixed_kinds(width: int) -> None:
    A = sp.random_array((5, width), density=0.2, random_state=np.random.default_rng(0), format="csr")
    B = sp.random_array((4, width), density=0.2, random_state=np.random.default_rng(1), format="csr")
    expected = A.toarray() @ B.toarray().T
    for left in (A, A.toarray()):
        for right in (B, B.toarray()):
            assert np.allclose(inner(left, right), expected, rtol=0, atol=1e-13)


def test_norms_of_single_precision_are_summed_in_double() -> None:
    row = np.full((1, 100_000), 0.1, dtype=np.float32)
    expected = 100_000 * float(np.float32(0.1)) ** 2
    assert squared_norms(row)[0] == pytest.approx(expected, rel=1e-12)
    assert squared_norms(sp.csr_array(row))[0] == pytest.approx(expected, rel=1e-6)
    assert squared_norms(row).dtype == np.float64
