"""Terms add up to the kernel, and features by their places are the features of the map."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pandas
import pytest

from mercer import (
    AllSubstrings,
    Constant,
    GappedSpectrum,
    Gaussian,
    Kernel,
    Mismatch,
    Spectrum,
    Subsequence,
    WeightedDegree,
)
from mercer.inputs import Rows

STRINGS = ["GATTACA", "TACAT", "", "GATTA", "CCCC", "ACGTTGCA"]
OTHERS = ["TTACA", "CC", "GATTACCA"]


def capitals(X: list[str]) -> list[str]:
    return [x.lower() for x in X]


def sizes(X: list[str]) -> list[float]:
    return [float(len(x)) for x in X]


@pytest.mark.parametrize(
    ("kernel", "terms"),
    [
        (Spectrum(2), 1),
        (2.0 * Spectrum(2) + 3.0 * Constant(1.0), 2),
        ((Spectrum(1) + 0.5 * Subsequence(2)).normalized() + Spectrum(2).map(capitals), 3),
        (2.0 * (Spectrum(1).weighted(sizes) + WeightedDegree(2)).normalized(), 2),
        (Spectrum(1) * Spectrum(2) + (0.5 * Spectrum(2)).exp(), 2),
    ],
    ids=str,
)
def test_terms_add_up(kernel: Kernel, terms: int) -> None:
    left, right = kernel._summands(Rows(STRINGS)), kernel._summands(Rows(OTHERS))
    assert len(left) == terms
    total = sum(np.outer(a.factor, b.factor) * a.kernel(a.rows, b.rows) for a, b in zip(left, right, strict=True))
    assert np.allclose(total, kernel(STRINGS, OTHERS), rtol=1e-12)


def test_terms_on_columns() -> None:
    frame = pandas.DataFrame({"s": STRINGS, "v": np.arange(6.0)})
    kernel = Spectrum(2).on("s") + 2.0 * Gaussian(1.0).on("v")
    total = sum(np.outer(t.factor, t.factor) * t.kernel(t.rows) for t in kernel._summands(Rows(frame)))
    assert np.allclose(total, kernel(frame))


@pytest.mark.parametrize(
    "kernel",
    [
        Spectrum(2),
        Spectrum(2, presence=True),
        Spectrum(3, shortest=1, weights=(1.0, 2.0, 3.0), reverse_complement=True),
        GappedSpectrum(2, gaps=2),
        GappedSpectrum(2, gaps=1, reverse_complement=True),
        Mismatch(2, alphabet="ACGT"),
        Mismatch(3, mismatches=2, alphabet="ACGT", reverse_complement=True),
        WeightedDegree(3),
    ],
    ids=str,
)
def test_occurrences_are_the_features(kernel: Kernel) -> None:
    Z, names = kernel.feature_map(STRINGS).toarray(), kernel.feature_names(STRINGS)
    for row, string in enumerate(STRINGS):
        found: dict[object, float] = defaultdict(float)
        for one in kernel._occurrences(string) or ():
            assert all(0 <= i < len(string) for i in one.positions)
            found[one.feature] += one.weight
        assert found == pytest.approx({name: Z[row, j] for j, name in enumerate(names) if Z[row, j]})


def test_all_substrings_by_their_places() -> None:
    """Its columns stand for several substrings at once; the occurrences name each."""
    kernel = AllSubstrings(0.5)
    features = []
    for string in STRINGS:
        found: dict[object, float] = defaultdict(float)
        for one in kernel._occurrences(string) or ():
            found[one.feature] += one.weight
        features.append(found)
    K = [[sum(value * b.get(name, 0.0) for name, value in a.items()) for b in features] for a in features]
    assert np.allclose(K, kernel(STRINGS))


def test_features_without_places() -> None:
    [constant] = Constant(4.0)._occurrences("any") or ()
    assert constant.positions == () and constant.weight == 2.0
    assert Gaussian(1.0)._occurrences("any") is None
