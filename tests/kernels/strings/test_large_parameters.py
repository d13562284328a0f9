"""String kernels with wide windows, many mismatches or long periods end soon; huge parameters are refused by name."""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np
import pytest

import mercer
from mercer import AllSubstrings, GappedSpectrum, Graph, Mismatch, Spectrum, Subsequence, WeightedDegree
from mercer.errors import InputError
from mercer.kernels.strings.all_substrings import STEPS

RNG = np.random.default_rng(0)


def texts(length: int, count: int, letters: str = "AB") -> list[str]:
    return ["".join(RNG.choice(list(letters), length)) for _ in range(count)]


def over_pairs(x: str, z: str, width: int, value: Any) -> float:
    """The sum of value(agreements) over all pairs of windows."""
    windows = [[s[i : i + width] for i in range(len(s) - width + 1)] for s in (x, z)]
    return float(sum(value(sum(a == b for a, b in zip(v, w, strict=True))) for v in windows[0] for w in windows[1]))


def test_gapped_substrings_of_windows_wider_than_bytes() -> None:
    strings = [*texts(280, 3), "AB"]
    kernel = GappedSpectrum(2, gaps=262)  # 34,716 ways to keep two places
    values = kernel(strings)
    expected = over_pairs(strings[0], strings[1], 264, lambda m: comb(m, 2))
    assert values[0, 1] == values[1, 0] == expected  # whole numbers below 2^53
    assert values[0, 0] == kernel.diag(strings)[0] == over_pairs(strings[0], strings[0], 264, lambda m: comb(m, 2))
    assert values[3].tolist() == [0.0] * 4
    np.testing.assert_array_equal(kernel(strings[:1], strings[1:]), values[:1, 1:])


def test_many_mismatches_are_counted_by_pairs() -> None:
    """Words near both of two windows, by enumeration; windows with a letter outside of the alphabet are left out."""
    p, mismatches, strings = 9, 4, [*texts(40, 3), "ABABABABABXABABABABABA"]
    words = np.array(np.meshgrid(*[[0, 1]] * p)).reshape(p, -1).T  # all 512
    kernel = Mismatch(p, mismatches=mismatches, alphabet="AB")
    counts = np.zeros((len(strings), len(words)))
    for row, string in enumerate(strings):
        for i in range(len(string) - p + 1):
            window = string[i : i + p]
            if "X" not in window:
                counts[row] += ((words != np.array(["AB".index(c) for c in window])).sum(axis=1)) <= mismatches
    np.testing.assert_array_equal(kernel(strings), counts @ counts.T)
    large = Mismatch(14, mismatches=7)  # ten million words are near every window
    dna = texts(300, 4, "ACGT")
    assert np.linalg.eigvalsh(large(dna)).min() > 0
    np.testing.assert_array_equal(np.diag(large(dna)), large.diag(dna))


@pytest.mark.parametrize("decay", [1.0, 0.5])
def test_all_substrings_of_periodic_strings(decay: float) -> None:
    strings = ["a" * 300, "ab" * 100, "b" + "a" * 150, "abcab" * 20]
    assert min(len(string) for string in strings) > STEPS

    def value(x: str, z: str) -> float:
        total = 0.0
        for length in range(1, min(len(x), len(z)) + 1):
            ours = [x[i : i + length] for i in range(len(x) - length + 1)]
            theirs = [z[i : i + length] for i in range(len(z) - length + 1)]
            total += decay**length * sum(ours.count(u) * theirs.count(u) for u in set(ours))
        return total

    expected = [[value(x, z) for z in strings] for x in strings]
    np.testing.assert_allclose(AllSubstrings(decay)(strings), expected, rtol=1e-12)


def test_a_long_string_of_one_letter() -> None:
    n = 20_000
    expected = float(sum((n - length + 1) ** 2 for length in range(1, n + 1)))
    np.testing.assert_allclose(AllSubstrings(1.0)(["a" * n]), [[expected]], rtol=1e-12)


@pytest.mark.parametrize(
    "kernel",
    [
        Spectrum(2_000_000_000), GappedSpectrum(2, gaps=2_000_000_000), Mismatch(10**9, alphabet="A"),
        GappedSpectrum(2, gaps=2_000_000_000, reverse_complement=True), Subsequence(1000),
    ],
)  # fmt: skip
def test_windows_longer_than_all_strings(kernel: mercer.Kernel) -> None:
    assert kernel(["ACGTACGT", "AAAA"]).tolist() == [[0.0, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Subsequence(10**9), r"p must be a whole number >= 1 and <= 1000; got 1000000000"),
        (lambda: WeightedDegree(3, shift=10**6), "shift must be a whole number >= 0 and <= 100"),
        (lambda: WeightedDegree(10**9), "degree must be a whole number >= 1 and <= 10000"),
        (lambda: mercer.WeisfeilerLehman(10**9), "iterations must be a whole number >= 0 and <= 1000"),
        (lambda: mercer.WLOptimalAssignment(10**9), "iterations must be a whole number >= 0 and <= 1000"),
        (lambda: mercer.RandomWalk(steps=10**9), "steps must be a whole number >= 0 and <= 10000"),
        (lambda: mercer.CircularSubstructures(10**9), "radius must be a whole number >= 0 and <= 100"),
        (lambda: Spectrum(10**9, shortest=1), "p - shortest must be less than 10000"),
        (lambda: GappedSpectrum(1000, gaps=1000), "more than 1e300 ways to keep 1000 of 2000 letters"),
        (lambda: GappedSpectrum(3, gaps=300).feature_map(["ACGT" * 100]), "too many to list"),
        (lambda: GappedSpectrum(3, gaps=300, reverse_complement=True)(["ACGT" * 100]), "too many to list"),
        (lambda: Mismatch(14, mismatches=7).feature_map(["ACGT" * 100]), r"has 1.03e\+07 features for every window"),
        (lambda: Mismatch(40)(["ACGT" * 100]), r"4 \*\* 40 words are more than 2 \*\* 62"),
    ],
)
def test_parameters_that_would_not_end_are_refused(make: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


def test_every_refinement_of_a_small_graph() -> None:
    rings = [Graph(4, [(0, 1), (1, 2), (2, 3), (3, 0)], node_labels=[0, 0, 0, 0])] * 2
    assert mercer.WeisfeilerLehman(1000)(rings).tolist() == [[16.0 * 1001] * 2] * 2
