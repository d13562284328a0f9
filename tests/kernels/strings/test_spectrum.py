"""The spectrum kernel: against counting by hand, on every container of strings and on tokens, by both routes."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kernels.strings.cases import EXAMPLES, agrees, named, route, same_columns, strings

from mercer import GappedSpectrum, KernelRidge, KernelRidgeClassifier, Spectrum
from mercer.errors import InputError
from mercer.inputs import Rows
from mercer.kernels.base import Kernel
from mercer.testing import check_kernel, naive

TEXTS = ["abab", "ba", "", "äß√", "abcabc"]


@given(st.text("ab", max_size=12), st.text("ab", max_size=12), st.integers(1, 4), st.booleans())
def test_values_are_those_of_counting(s: str, t: str, p: int, presence: bool) -> None:
    assert Spectrum(p, presence=presence)([s], [t])[0, 0] == naive.spectrum(s, t, p, presence)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("kind", ["dna", "unicode", "two", "tokens"])
@settings(max_examples=EXAMPLES)
@given(data=st.data(), p=st.integers(1, 4), presence=st.booleans())
def test_spectrum(kind: str, compiled: bool, data: st.DataObject, p: int, presence: bool) -> None:
    X, Z = data.draw(strings(kind, 12)), data.draw(strings(kind, 12))
    agrees(Spectrum(p, presence=presence), partial(naive.spectrum, p=p, presence=presence), X, Z, compiled)
    named(Spectrum(p, presence=presence), X, compiled)


@settings(max_examples=EXAMPLES)
@given(X=st.lists(st.text(max_size=8), min_size=1, max_size=5), Z=st.lists(st.text(max_size=8), min_size=1, max_size=5))
def test_any_text(X: list[str], Z: list[str]) -> None:
    agrees(Spectrum(2), partial(naive.spectrum, p=2), X, Z, False)
    agrees(Spectrum(2), partial(naive.spectrum, p=2), X, Z, True)


@settings(max_examples=EXAMPLES)
@given(X=strings("two", 12), Z=strings("two", 12), p=st.integers(1, 4))
def test_presence_is_the_number_of_common_substrings(X: list[str], Z: list[str], p: int) -> None:
    """The lecture's kernel: how many different substrings of length p two strings have in common."""

    def substrings(x: str) -> set[str]:
        return {x[i : i + p] for i in range(len(x) - p + 1)}

    expected = [[len(substrings(x) & substrings(z)) for z in Z] for x in X]
    assert Spectrum(p, presence=True)(X, Z).tolist() == expected


@pytest.mark.parametrize("compiled", [False, True])
@settings(max_examples=EXAMPLES)
@given(X=strings("two"), Z=strings("two"), data=st.data(), p=st.integers(1, 4), presence=st.booleans())
def test_blended(compiled: bool, X: list[str], Z: list[str], data: st.DataObject, p: int, presence: bool) -> None:
    shortest = data.draw(st.integers(1, p))
    weights = tuple(data.draw(st.sampled_from([0.0, 0.25, 1.0, 3.0])) for _ in range(shortest, p + 1))
    kernel = Spectrum(p, shortest=shortest, weights=weights, presence=presence)
    agrees(kernel, partial(naive.blended, p=p, shortest=shortest, weights=weights, presence=presence), X, Z, compiled)
    ones = partial(naive.blended, p=p, shortest=shortest, weights=[1.0] * len(weights), presence=presence)
    agrees(Spectrum(p, shortest=shortest, presence=presence), ones, X, Z, compiled)


@pytest.mark.parametrize("compiled", [False, True])
@settings(max_examples=EXAMPLES)
@given(X=strings("dna"), Z=strings("dna"), p=st.integers(1, 4), presence=st.booleans())
def test_both_strands(compiled: bool, X: list[str], Z: list[str], p: int, presence: bool) -> None:
    kernel = Spectrum(p, presence=presence, reverse_complement=True)
    agrees(kernel, partial(naive.strands, p=p, presence=presence), X, Z, compiled)
    named(kernel, X, compiled)
    turned = ["".join(naive.other_strand(z)) for z in Z]
    assert np.array_equal(kernel(X, turned), kernel(X, Z))


@pytest.mark.parametrize("p", [30, 70, 200])
@pytest.mark.parametrize("compiled", [False, True])
def test_long_substrings_have_exact_codes(p: int, compiled: bool) -> None:
    """No code of 64 bits could hold them, and hashes could collide: they are ranked on the way."""
    rng = np.random.default_rng(0)
    base = "".join(rng.choice(list("ACGT"), size=400))
    changed = base[:250] + ("A" if base[250] != "A" else "C") + base[251:]
    agrees(Spectrum(p), partial(naive.spectrum, p=p), [base, changed, base[50:], "A" * 300], [changed], compiled)


def test_many_strings_by_both_routes() -> None:
    """Common columns, sets of bits and lists at once, in several strips, and rows on demand."""
    rng = np.random.default_rng(3)
    X = ["".join(rng.choice(list("abcdefgh"), p=[0.5] + [0.5 / 7] * 7, size=size)) for size in rng.integers(0, 60, size=900)]
    for kernel in (Spectrum(2), Spectrum(3, presence=True), Spectrum(3, shortest=1, weights=(0.1, 0.2, 0.7))):
        with route(False):
            expected = kernel(X)
        with route(True):
            assert np.allclose(kernel(X), expected, rtol=1e-14, atol=0)
            assert np.allclose(kernel(X, X[100:130]), expected[:, 100:130], rtol=1e-14, atol=0)
    with route(True):
        assert np.array_equal(Spectrum(2)(X), np.rint(Spectrum(2)(X)))


def test_counts_too_large_for_single_precision_stay_exact() -> None:
    texts = ["a" * 5000 + "b" * 5001, "b" * 4999, "a" * 7001]
    for compiled in (False, True):
        with route(compiled):
            assert Spectrum(1)(texts).tolist() == [
                [5000**2 + 5001**2, 5001 * 4999, 5000 * 7001], [5001 * 4999, 4999**2, 0], [5000 * 7001, 0, 7001**2]
            ]  # fmt: skip


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
    assert Spectrum(1)(["e\u0301", "\u00e9"]).tolist() == [[2, 0], [0, 1]]  # as written: nothing is normalized
    assert Spectrum(1)(["\ud800x"], ["\ud800"]).tolist() == [[1]]  # half of a surrogate pair


def test_names_and_columns_of_features() -> None:
    kernel = Spectrum(2)
    assert kernel.feature_names(["abab", "ba", "🜁a"]) == ["ab", "ba", "🜁a"]
    assert kernel.feature_names([["to", "be", "or"]]) == [("to", "be"), ("be", "or")]
    assert (2.0 * kernel + Spectrum(1)).normalized().feature_names(["ab"]) == ["ab", "a", "b"]
    assert kernel.feature_map(["abab", "xy"], like=["ba", "bb"]).toarray().tolist() == [[1, 0], [0, 0]]
    for one in (kernel, Spectrum(3, shortest=1, weights=(1.0, 0.5, 0.2)), (kernel + 0.5 * GappedSpectrum(2)).normalized()):
        same_columns(one, ["abab", "xay", "", "bbab"], ["ba", "bbb", "abab"])


def test_strings_and_tokens_do_not_mix() -> None:
    with pytest.raises(InputError, match="one holds plain strings, the other lists of tokens"):
        Spectrum(1)(["ab"], [["a", "b"]])


@pytest.mark.parametrize("kernel", [KernelRidge(Spectrum(2), alpha=0.5), KernelRidgeClassifier(Spectrum(2), alpha=0.5)])
def test_many_strings_are_fitted_through_their_features(kernel: Any) -> None:
    rng = np.random.default_rng(0)
    X = ["".join(rng.choice(list("abc"), size=20)) for _ in range(1100)]
    y = np.array([x.count("ab") for x in X])
    y = y > 4 if isinstance(kernel, KernelRidgeClassifier) else y + 0.1 * rng.normal(size=len(X))
    weights = rng.uniform(0.5, 2.0, size=len(X))
    primal = kernel.fit(X, y, sample_weight=weights)
    assert (primal.route_.solver, primal.coef_.shape[0]) == ("primal", 9)
    dual = type(kernel)(Spectrum(2), alpha=0.5, solver="cholesky").fit(X, y, sample_weight=weights)
    new = ["abcabc", "", "xyz", *X[:5]]
    ask = "predict" if isinstance(kernel, KernelRidge) else "decision_function"
    assert np.allclose(getattr(primal, ask)(new), getattr(dual, ask)(new), atol=1e-8)
    assert np.allclose(primal.loo_residuals_, dual.loo_residuals_, atol=1e-8)
    assert np.allclose(primal.dual_coef_, dual.dual_coef_, atol=1e-8)


@pytest.mark.parametrize("kernel", [Spectrum(3, shortest=1, weights=(0.5, 0.0, 2.0)), Spectrum(2, shortest=1)])
def test_laws(kernel: Kernel) -> None:
    texts = ["abcabc", "abc", "", "a", "ccccc", "abcabc", "äöü√", "cab"]
    check_kernel(kernel, texts)
    check_kernel(Spectrum(2, reverse_complement=True), ["ACGT", "acgt", "", "GGCCA", "NNRAC"])
    assert "valid" in str(kernel.certificate().status)


def test_terms_of_a_sum_share_their_letters() -> None:
    rows = Rows(["abab", "ba"])
    one, two = (Spectrum(2)._encode(rows), Spectrum(3)._encode(rows))
    assert one.items is two.items
    assert Spectrum(2)._encode(rows) is one


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
        ([["a", b"b"]], r"X\[0\] holds bytes b'b'; a token is a word or a number"),
        ([["a", None]], r"X\[0\] holds NoneType None; a token is a word or a number"),
        ([["a", float("nan")]], r"X\[0\] holds float nan; a token is a word or a number"),
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


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("p", 0), ("p", 1.5), ("p", True), ("presence", 1), ("presence", "yes"), ("shortest", 0), ("shortest", 4),
        ("weights", (1.0, 2.0)), ("weights", (-1.0,)), ("weights", "1"), ("reverse_complement", None),
    ],
)  # fmt: skip
def test_parameters_that_are_refused(name: str, value: Any) -> None:
    with pytest.raises(InputError, match=f"Spectrum: {name} (must be|has 2 entries)"):
        Spectrum(**{name: value})


@pytest.mark.parametrize("letter", ["U", "-", "x", "é"])
def test_reverse_complement_reads_dna_only(letter: str) -> None:
    with pytest.raises(InputError, match=f"reads DNA.*there is '{letter}' among the strings"):
        Spectrum(2, reverse_complement=True)(["ACGT" + letter])
