"""Local alignments: against enumeration of all alignments, by both routes; long strings, scores, refusals."""

from __future__ import annotations

import itertools
import math
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kernels.strings.cases import route, strings

from mercer import KernelRidge, LocalAlignment, parse
from mercer.errors import InputError
from mercer.kernels.strings.local_alignment import AMINO_ACIDS, blosum62
from mercer.testing import check_kernel, naive


def letter(a: Any, b: Any) -> float:
    return 5.0 if a == b else -4.0


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("kind", ["dna", "tokens"])
@settings(max_examples=10)
@given(data=st.data(), beta=st.sampled_from([0.05, 0.2, 1.0]))
def test_values_are_sums_over_all_alignments(kind: str, compiled: bool, data: st.DataObject, beta: float) -> None:
    X = data.draw(strings(kind, longest=5))
    kernel = LocalAlignment(beta, gap_open=2.0, gap_extend=0.5)
    twin = partial(naive.local_alignment, beta=beta, score=letter, gap_open=2.0, gap_extend=0.5)
    with route(compiled):
        found = kernel(X)
    np.testing.assert_allclose(found, [[twin(x, z) for z in X] for x in X], rtol=1e-12, atol=1e-300)


def by_enumeration(s: str, t: str, beta: float, score: Any, gap_open: float, gap_extend: float) -> float:
    """The sum over all alignments, written out."""
    terms = [1.0]
    for size in range(1, min(len(s), len(t)) + 1):
        for left, right in itertools.product(*(itertools.combinations(range(len(x)), size) for x in (s, t))):
            gaps = [b - a - 1 for places in (left, right) for a, b in itertools.pairwise(places)]
            aligned = sum(score(s[i], t[j]) for i, j in zip(left, right, strict=True))
            lost = sum(gap_open + (gap - 1) * gap_extend for gap in gaps if gap)
            terms.append(math.exp(beta * (aligned - lost)))
    return math.fsum(terms)


def test_the_twin_equals_the_sum_over_all_alignments() -> None:
    chosen: dict[str, Any] = {"beta": 0.4, "score": letter, "gap_open": 2.0, "gap_extend": 0.5}
    for s, t in (("ACGTA", "AGTCA"), ("AAAA", "AA"), ("", "ACG"), ("C", "C")):
        own = [by_enumeration(x, x, **chosen) for x in (s, t)]
        expected = by_enumeration(s, t, **chosen) / math.sqrt(own[0] * own[1])
        assert math.isclose(naive.local_alignment(s, t, **chosen), expected, rel_tol=1e-12)


def test_laws() -> None:
    texts = ["ACGTAC", "ACG", "", "A", "CCCCC", "ACGTAC"]
    for kernel in (LocalAlignment(0.3), LocalAlignment(0.3, scores="blosum62")):
        check_kernel(kernel, texts)
        assert parse(repr(kernel)) == kernel and kernel.certificate().status == "valid"
        assert "convolution" in str(kernel.certificate())
        assert kernel.diag(texts).tolist() == np.diag(kernel(texts)).tolist() == [1.0] * 6


def test_long_strings_do_not_overflow() -> None:
    rng = np.random.default_rng(0)
    long = ["".join(rng.choice(list(AMINO_ACIDS), 1500)) for _ in range(2)]
    long.append(long[0][:700] + long[1][700:])
    kernel = LocalAlignment(0.3, scores="blosum62")
    both = []
    for compiled in (False, True):
        with route(compiled):
            both.append(kernel(long if compiled else [text[:120] for text in long]))
    assert np.isfinite(both[1]).all() and np.linalg.eigvalsh(both[1])[0] > -1e-12
    with route(True):
        np.testing.assert_allclose(kernel([text[:120] for text in long]), both[0], rtol=1e-10)


def test_scores_of_amino_acids() -> None:
    B = blosum62()
    assert B[AMINO_ACIDS.index("W"), AMINO_ACIDS.index("W")] == 11 and B[AMINO_ACIDS.index("I"), AMINO_ACIDS.index("V")] == 3
    centered = np.eye(20) - 0.05
    assert np.linalg.eigvalsh(centered @ B @ centered)[0] > -1e-12  # so that exp(beta B) is a kernel for every beta
    for beta in (0.001, 0.1, 3.0):
        assert np.linalg.eigvalsh(np.exp(beta * B))[0] > 0
    k = LocalAlignment(0.3, scores="blosum62")
    assert k(["WIV"], ["WVI"])[0, 0] > k(["WIV"], ["WDG"])[0, 0]
    assert k(["mkv"], ["MKV"])[0, 0] == pytest.approx(1.0) and k(["XX"], ["XX"])[0, 0] == 1.0
    assert k(["XX"], ["MK"])[0, 0] == pytest.approx(k([""], ["MK"])[0, 0])
    model = KernelRidge(k, alpha=0.1).fit(["MKVL", "MKIL", "GGPG"], [1.0, 1.0, -1.0])
    assert model.predict(["MKVI"])[0] > model.predict(["PGGG"])[0]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: LocalAlignment(0.0), "beta must be a finite number > 0"),
        (lambda: LocalAlignment(1.0, match=0.0, mismatch=1.0), "match must be at least mismatch"),
        (lambda: LocalAlignment(1.0, gap_open=-1.0), "gap_open must be"),
        (lambda: LocalAlignment(1.0, scores="pam"), "scores must be"),
    ],
)
def test_refusals(make: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        make()
