"""What the tests of string kernels share: random strings of several kinds, and both routes to every value."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from mercer.kernels.base import Kernel
from mercer.testing import naive

#: Few letters make many coincidences; the second has a letter of two code points and letters beyond 16 bits.
ALPHABETS = {"dna": "ACGT", "unicode": "ae\u0301🜁ß", "two": "ab"}
TOKENS = ["to", "be", "or", 1, 2]

#: Draws per test: each compares up to 50 pairs of strings, so that every kernel sees thousands of them.
EXAMPLES = 25


def strings(kind: str, longest: int = 9) -> st.SearchStrategy[list[Any]]:
    """A few strings, or lists of tokens; empty ones and duplicates among them."""
    one: st.SearchStrategy[Any] = st.text(ALPHABETS[kind], max_size=longest) if kind != "tokens" else st.lists(
        st.sampled_from(TOKENS), max_size=longest
    )  # fmt: skip
    return st.lists(one, min_size=1, max_size=5)


@contextmanager
def route(compiled: bool, diagonals: bool = False) -> Iterator[None]:
    """Small data take the compiled loops too, or large data take NumPy; of the compiled ways for many masks, one."""
    windows, threshold = "mercer.kernels.strings.windows", 0 if compiled else 2**62
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mercer.numeric.compiling.LOADING", threshold)
        patch.setattr(f"{windows}.TABLE_COLUMNS", threshold)
        for name in ("BALANCE", "WITHOUT_CODES"):
            patch.setattr(f"{windows}.{name}", 2**40 if diagonals else -1)
        yield


def agrees(kernel: Kernel, twin: naive.Twin, X: list[Any], Z: list[Any], compiled: bool, diagonals: bool = False) -> None:
    """k(X, Z), k(X) and the diagonal are the naive values."""
    with route(compiled, diagonals):
        cross, gram, diag = kernel(X, Z), kernel(X), kernel.diag(X)
    expected = np.array([[twin(x, z) for z in Z] for x in X])
    own = np.array([[twin(x, z) for z in X] for x in X])
    scale = max(own.max(), expected.max(), 1.0)
    assert np.abs(cross - expected).max() <= 1e-12 * scale
    assert np.abs(gram - own).max() <= 1e-12 * scale
    assert np.abs(diag - own.diagonal()).max() <= 1e-12 * scale
    if np.array_equal(own, np.rint(own)) and np.array_equal(expected, np.rint(expected)) and not _rooted(kernel):
        assert np.array_equal(cross, expected)  # counts are exact
        assert np.array_equal(gram, own)


def _rooted(kernel: Kernel) -> bool:
    return "weights" in str(kernel) or type(kernel).__name__ in ("AllSubstrings", "WeightedDegree")


def named(kernel: Kernel, X: list[Any], compiled: bool) -> None:
    """Features have different names, and are the sums of the occurrences that the kernel sees in each string."""
    with route(compiled):
        names, phi = kernel.feature_names(X), kernel.feature_map(X).toarray()
    assert len(set(names)) == len(names) == phi.shape[1] == kernel.n_features(X)
    column = {name: i for i, name in enumerate(names)}
    expected = np.zeros_like(phi)
    for i, x in enumerate(X):
        for one in kernel._occurrences(x) or ():
            expected[i, column[one.feature]] += one.weight
            assert all(0 <= q < len(x) for q in one.positions)
    assert np.allclose(phi, expected, rtol=0, atol=1e-12)


def same_columns(kernel: Kernel, X: list[Any], Z: list[Any]) -> None:
    """Features of X in the columns of Z give the same inner products with Z."""
    left, right = kernel.feature_map(X, like=Z).toarray(), kernel.feature_map(Z).toarray()
    assert left.shape[1] == right.shape[1]
    assert np.allclose(left @ right.T, kernel(X, Z), rtol=0, atol=1e-9)
    assert np.allclose(kernel.feature_map(Z, like=Z).toarray(), right)
