"""Gapped substrings and mismatches: against the definitions, on every kind of strings and by both routes."""

from __future__ import annotations

from functools import partial
from math import comb
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kernels.strings.cases import EXAMPLES, agrees, named, route, same_columns, strings

from mercer import GappedSpectrum, KernelRidge, Mismatch, Spectrum
from mercer.errors import InputError
from mercer.kernels.strings.letters import Letters
from mercer.kernels.strings.windows import Diagonals
from mercer.numeric.sparse_products import KeyedRows
from mercer.testing import check_kernel, naive

KINDS = ["dna", "unicode", "two", "tokens"]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=EXAMPLES)
@given(data=st.data(), p=st.integers(1, 3), gaps=st.integers(0, 2))
def test_gapped_spectrum(kind: str, compiled: bool, data: st.DataObject, p: int, gaps: int) -> None:
    X, Z = data.draw(strings(kind)), data.draw(strings(kind))
    agrees(GappedSpectrum(p, gaps=gaps), partial(naive.gapped_spectrum, p=p, gaps=gaps), X, Z, compiled)
    named(GappedSpectrum(p, gaps=gaps), X, compiled)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=EXAMPLES)
@given(data=st.data(), p=st.integers(1, 3), gaps=st.integers(0, 4))
def test_gapped_spectrum_along_the_diagonals(kind: str, data: st.DataObject, p: int, gaps: int) -> None:
    """The way for many masks: the same values for every kind of strings, however short."""
    X, Z = data.draw(strings(kind, 40)), data.draw(strings(kind, 40))
    agrees(GappedSpectrum(p, gaps=gaps), partial(naive.gapped_spectrum, p=p, gaps=gaps), X, Z, True, diagonals=True)


@pytest.mark.parametrize(("p", "gaps", "letters"), [(4, 10, 20), (6, 3, 4), (7, 2, 23), (2, 40, 250), (1, 0, 2)])
def test_the_diagonals_give_what_the_masks_give(p: int, gaps: int, letters: int) -> None:
    """Long strings: more rows than a byte counts, more letters than go along together, and windows of many places."""
    rng = np.random.default_rng(p)
    words = [
        "".join(map(chr, 65 + rng.integers(0, letters, size))) for size in (300, 4100, 0, 1, p + gaps, 600, 257, 33, 512)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mercer.kernels.strings.windows.BALANCE", 0)
        patch.setattr("mercer.kernels.strings.windows.WITHOUT_CODES", 0)
        masks = GappedSpectrum(p, gaps=gaps)._direct(Letters.of(words))
    way = Diagonals.of(Letters.of(words), p + gaps, np.array([float(comb(m, p)) for m in range(p + gaps + 1)]))
    every = np.arange(len(words))
    values = way.between(every, every)
    assert np.array_equal(values, values.T)
    assert np.array_equal(way.own(every), values.diagonal())
    for i, j in [(0, 0), (0, 1), (5, 1), (6, 7), (4, 5), (8, 6), (2, 1), (3, 0)]:
        A, B = (np.array([ord(letter) for letter in words[row]]) for row in (i, j))
        expected = 0
        if min(len(A), len(B)) >= p + gaps:
            left, right = (np.lib.stride_tricks.sliding_window_view(codes, p + gaps) for codes in (A, B))
            for window in left:
                matches = np.bincount((window == right).sum(axis=1), minlength=p + gaps + 1)
                expected += sum(comb(m, p) * int(times) for m, times in enumerate(matches))
        assert values[i, j] == expected, (i, j)
    assert isinstance(masks, KeyedRows) == (letters not in (23, 2))  # 23^7 codes are too many, and 2 columns too few
    if isinstance(masks, KeyedRows):
        assert np.array_equal(masks.between(every, every), values)
        assert np.array_equal(masks.own(every), values.diagonal())


def test_which_way_is_taken() -> None:
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("ACDEFGHIKLMNPQRSTVWY"), 200)) for _ in range(100)]
    assert isinstance(GappedSpectrum(4, gaps=8)._direct(Letters.of(words)), Diagonals)
    assert isinstance(GappedSpectrum(4, gaps=2)._direct(Letters.of(words)), KeyedRows)
    assert isinstance(GappedSpectrum(7, gaps=2)._direct(Letters.of(words)), Diagonals)  # 20^7 codes fit in no array
    assert GappedSpectrum(2, gaps=1)._direct(Letters.of(words[:2])) is None  # nothing is worth a compiler here
    bases = ["".join(rng.choice(list("ACGT"), 200)) for _ in range(100)]
    assert isinstance(GappedSpectrum(6, gaps=4, reverse_complement=True)._direct(Letters.of(bases)), KeyedRows)


@pytest.mark.parametrize("compiled", [False, True])
@settings(max_examples=EXAMPLES)
@given(X=strings("dna"), Z=strings("dna"), p=st.integers(1, 3), gaps=st.integers(0, 2))
def test_gapped_spectrum_on_both_strands(compiled: bool, X: list[str], Z: list[str], p: int, gaps: int) -> None:
    kernel = GappedSpectrum(p, gaps=gaps, reverse_complement=True)
    twin = partial(naive.gapped_spectrum, p=p, gaps=gaps, reverse_complement=True)
    agrees(kernel, twin, X, Z, compiled)
    named(kernel, X, compiled)
    turned = ["".join(naive.other_strand(z)) for z in Z]
    assert np.array_equal(kernel(X, turned), kernel(X, Z))


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=EXAMPLES)
@given(data=st.data(), p=st.integers(1, 3), mismatches=st.integers(0, 2))
def test_mismatch(kind: str, compiled: bool, data: st.DataObject, p: int, mismatches: int) -> None:
    """One letter of every kind is outside the alphabet: its windows are left out."""
    alphabet: Any = {"dna": "ACT", "unicode": "a\u0301🜁x", "two": "abc", "tokens": ("to", "be", 1)}[kind]
    X, Z = data.draw(strings(kind, 6)), data.draw(strings(kind, 6))
    kernel = Mismatch(p, mismatches=mismatches, alphabet=alphabet)
    agrees(kernel, partial(naive.mismatch, p=p, mismatches=mismatches, alphabet=alphabet), X, Z, compiled)
    named(kernel, X, compiled)


@settings(max_examples=EXAMPLES)
@given(X=strings("dna", 6), Z=strings("dna", 6), p=st.integers(1, 3), mismatches=st.integers(0, 1))
def test_mismatch_on_both_strands(X: list[str], Z: list[str], p: int, mismatches: int) -> None:
    kernel = Mismatch(p, mismatches=mismatches, alphabet="ACGT", reverse_complement=True)
    twin = partial(naive.mismatch, p=p, mismatches=mismatches, alphabet="ACGT", reverse_complement=True)
    agrees(kernel, twin, X, Z, False)
    named(kernel, X, False)


def test_limits() -> None:
    texts = ["abcab", "cab", "", "bbbb", "abcab"]
    assert np.array_equal(GappedSpectrum(3, gaps=0)(texts), Spectrum(3)(texts))
    assert np.array_equal(Mismatch(3, mismatches=0, alphabet="abc")(texts), Spectrum(3)(texts))
    # with all letters wrong every word is near every window
    windows = np.maximum(np.array([len(t) for t in texts]) - 1, 0)
    assert np.array_equal(Mismatch(2, mismatches=2, alphabet="abc")(texts), 9.0 * np.outer(windows, windows))
    assert (GappedSpectrum(3, gaps=1)(["abc", "ab", ""]) == 0).all()


def test_values_are_sums_over_pairs_of_windows() -> None:
    rng = np.random.default_rng(0)
    X = ["".join(rng.choice(list("ACGTN"), size=30)) for _ in range(5)]
    windows = [[x[i : i + 7] for i in range(24)] for x in X]
    agree = [[[sum(a == b for a, b in zip(u, v, strict=True)) for u in us for v in vs] for vs in windows] for us in windows]
    expected = [[sum(comb(c, 4) for c in cs) for cs in row] for row in agree]
    for compiled in (False, True):
        with route(compiled):
            assert GappedSpectrum(4, gaps=3)(X).tolist() == expected


@pytest.mark.parametrize("few", [0, 2, 10**6])
@pytest.mark.parametrize("strands", [False, True])
def test_lists_and_sets_of_bits_count_alike(few: int, strands: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """More strings than one word of bits, repeats within a string, and sums of more than eight digits."""
    rng = np.random.default_rng(1)
    X = ["".join(rng.choice(list("ACGT"), p=[0.7, 0.1, 0.1, 0.1], size=size)) for size in rng.integers(0, 120, size=300)]
    X[7] = "A" * 900
    kernel = GappedSpectrum(2, gaps=2, reverse_complement=strands)
    with route(False):
        expected = kernel(X, X[:40])
    monkeypatch.setattr("mercer.numeric.sparse_products.FEW", few)
    with route(True):
        assert np.array_equal(kernel(X, X[:40]), expected)
        assert np.array_equal(kernel(X)[:, :40], expected)


def test_sums_beyond_32_bits() -> None:
    """Long runs of one letter: every pair of windows agrees at every mask."""
    texts = ["A" * 30_000, "A" * 20_001, "C"]
    with route(True):
        K = GappedSpectrum(3, gaps=1)(texts)
    assert K.tolist() == [[4 * 29997**2, 4 * 29997 * 19998, 0], [4 * 29997 * 19998, 4 * 19998**2, 0], [0, 0, 0]]


def test_many_codes_take_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["the cat sat", "on the mat", "a cat on a mat"]
    expected = GappedSpectrum(3, gaps=2)(texts)
    monkeypatch.setattr("mercer.kernels.strings.windows.MOST_CODES", 10)
    with route(True):
        assert np.array_equal(GappedSpectrum(3, gaps=2)(texts), expected)


def test_the_alphabet_of_a_mismatch_kernel() -> None:
    dna, protein = ["ACGT", "GATTACA"], ["MKV", "ACD"]
    assert np.array_equal(Mismatch(2)(dna), Mismatch(2, alphabet="ACGT")(dna))
    assert np.array_equal(Mismatch(2)([s.lower() for s in dna]), Mismatch(2)(dna))
    amino = "ACDEFGHIKLMNPQRSTVWY"
    assert np.array_equal(Mismatch(2)(dna, protein), Mismatch(2, alphabet=amino)(dna, protein))
    assert Mismatch(2).resolve(protein) == Mismatch(2, alphabet=amino)
    assert (Mismatch(2) + 1.0).resolve(dna) == Mismatch(2, alphabet="ACGT") + 1.0
    assert KernelRidge(Mismatch(2)).fit(protein, [0.0, 1.0]).kernel_ == Mismatch(2, alphabet=amino)
    read = ["ACGTNACGTACG", "GATTACARGATTACA"]  # N and R are amino acids too, but nine tenths of the letters are bases
    assert Mismatch(2).resolve(read) == Mismatch(2, alphabet="ACGT")
    assert np.array_equal(Mismatch(2)(read)[0, 1], Mismatch(2, alphabet="ACGT")(["ACGT#ACGTACG"], ["GATTACA#GATTACA"])[0, 0])
    unsure = ["MKVXLLDEFGHIKMKVLLDEFGHIK", "ACDBEFGHIKLMNPQRSTVWZ*"]
    assert Mismatch(2).resolve(unsure) == Mismatch(2, alphabet=amino)
    with pytest.raises(InputError, match=r"neither DNA nor proteins \('1'\).*give it: alphabet="):
        Mismatch(2)(["AC1"])
    with pytest.raises(InputError, match="neither DNA nor proteins \\('g', 't'\\)"):
        Mismatch(2)(["ACgt"])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: GappedSpectrum(0), "p must be a whole number >= 1"),
        (lambda: GappedSpectrum(2, gaps=-1), "gaps must be a whole number >= 0"),
        (lambda: Mismatch(2, mismatches=-1), "mismatches must be a whole number >= 0"),
        (lambda: Mismatch(2, alphabet="aa"), "alphabet must be a str or a sequence of different letters"),
        (lambda: Mismatch(2, alphabet=""), "alphabet must be"),
        (lambda: Mismatch(40, alphabet="ACGT"), r"more than 2 \*\* 62"),
        (lambda: Mismatch(2, alphabet="ACG", reverse_complement=True), "complement of 'C'|complement of 'A'"),
        (lambda: GappedSpectrum(2, reverse_complement=True)(["ACU"]), "there is 'U' among the strings"),
    ],
)
def test_what_is_refused(make: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        make()


@pytest.mark.parametrize(
    "kernel", [GappedSpectrum(2, gaps=2), Mismatch(2, alphabet="abc"), GappedSpectrum(3) + 0.5 * Mismatch(3, alphabet="ab")]
)
def test_laws_and_columns(kernel: Any) -> None:
    texts = ["abcabc", "abc", "", "a", "ccccc", "abcabc", "cab", "bbacb"]
    check_kernel(kernel, texts)
    check_kernel(kernel.normalized(), texts)
    same_columns(kernel, texts, [*texts[:3], "xyz"])
    assert kernel.certificate().status == "valid"
