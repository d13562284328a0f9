"""What string kernels are built from: letters, codes, suffixes, masks."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.kernels.strings import all_substrings
from mercer.kernels.strings.letters import Letters
from mercer.kernels.strings.substrings import spelled
from mercer.kernels.strings.windows import mismatch_masks


@given(
    st.lists(st.text("abé🜁", max_size=6), min_size=1, max_size=5),
    st.lists(st.text("bz", max_size=4), min_size=1, max_size=3),
)
def test_letters_can_be_read_back(X: list[str], Z: list[str]) -> None:
    left, right = Letters.of(X).align(Letters.of(Z))
    assert left.alphabet is right.alphabet
    both = left.joined(right)
    assert [both.written(both.codes[a:b]) for a, b in zip(both.starts, both.starts[1:], strict=False)] == X + Z
    order = np.arange(len(both))[::-1]
    assert both.take(order).lengths.tolist() == both.lengths[::-1].tolist()
    assert np.array_equal(both.take(slice(1, 3)).codes, both.codes[both.starts[1] : both.starts[min(3, len(both))]])


def test_codes_are_equal_exactly_where_the_letters_are() -> None:
    rng = np.random.default_rng(0)
    for base in (2, 7, 1000):
        columns = [rng.integers(0, min(base, 3), size=200) for _ in range(90)]  # base^90 does not fit
        columns[:80] = [columns[0]] * 80
        code, bound = spelled(columns, base)
        rows = list(zip(*[c.tolist() for c in columns], strict=True))
        assert code.max() < bound < 2**63
        assert [[a == b for a in code] for b in code] == [[a == b for a in rows] for b in rows]
        assert np.array_equal(np.argsort(code, kind="stable"), sorted(range(200), key=lambda i: rows[i]))


@settings(max_examples=50)
@given(st.lists(st.text("ab", max_size=8), min_size=1, max_size=4))
def test_suffixes_are_sorted_and_their_common_letters_counted(X: list[str]) -> None:
    letters = Letters.of(X)
    end = np.repeat(letters.starts[1:], letters.lengths)
    order, shared = all_substrings.suffix_array(letters.codes.astype(np.int64), end)
    flat = "".join(X)
    found = [flat[i : end[i]] for i in order]
    assert found == sorted(found)
    for a, b, common in zip(found, found[1:], shared[1:], strict=False):
        assert a[:common] == b[:common]
        assert common == min(len(a), len(b)) or a[common] != b[common]


def test_the_compiled_tree_is_the_same() -> None:
    from mercer.kernels.strings._compiled_strings import compiled_branches

    branches = all_substrings.branches
    shared = np.array([0, 2, 1, 3, 3, 0, 0, 5, 4, 4, 1])
    for one, other in zip(branches(shared), compiled_branches(branches)(shared), strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize(
    ("p", "mismatches", "alphabet"), [(3, 1, "abc"), (2, 1, "ab"), (4, 1, "ab"), (3, 2, "abcd"), (2, 3, "ab")]
)
def test_masks_count_the_words_near_two_windows(p: int, mismatches: int, alphabet: str) -> None:
    masks = mismatch_masks(p, mismatches, len(alphabet))

    def near(u: tuple[str, ...], v: tuple[str, ...]) -> bool:
        return sum(a != b for a, b in zip(u, v, strict=True)) <= mismatches

    words = list(product(alphabet, repeat=p))
    for u, v in combinations(words[:20], 2):
        agree = sum(w for m, w in zip(masks.masks, masks.weights, strict=True) if all(u[q] == v[q] for q in m))
        assert agree == sum(near(u, w) and near(v, w) for w in words)
