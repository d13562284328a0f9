"""Shapley values of columns in MMD^2: the definition over all subsets, and the column that differs."""

from __future__ import annotations

import numpy as np
import pytest
from tests.explanations.test_columns import over_subsets

import mercer
from mercer import Gaussian, Kernel, Laplacian, Linear
from mercer.errors import CapabilityError

RNG = np.random.default_rng(8)
X, Y = RNG.normal(size=(30, 4)), RNG.normal(size=(25, 4)) * [1.0, 1.0, 2.0, 1.0] + [0.0, 1.0, 0.0, 0.0]


def unbiased(K: np.ndarray, m: int) -> float:
    n = len(K) - m
    XX, YY, XY = K[:m, :m], K[m:, m:], K[:m, m:]
    return float((XX.sum() - XX.trace()) / (m * (m - 1)) + (YY.sum() - YY.trace()) / (n * (n - 1)) - 2.0 * XY.mean())


@pytest.mark.parametrize("kernel", [Gaussian(1.5), Laplacian(2.0), Gaussian((1.0, 2.0, 3.0, 4.0))], ids=str)
def test_shares_are_those_of_the_definition(kernel: Kernel) -> None:
    found = mercer.mmd_test(X, Y, kernel, n_permutations=19, random_state=0)
    pooled = np.vstack([X, Y])
    scales = np.broadcast_to(kernel.length_scale, 4)  # type: ignore[attr-defined]

    def game(S: set[int]) -> float:
        K = np.ones((55, 55))
        for j in S:
            K = K * type(kernel)(float(scales[j]))(pooled[:, [j]])
        return unbiased(K, 30)

    shares = found.columns()
    assert np.allclose(shares.shares, over_subsets(game, 4), rtol=0, atol=1e-12)
    assert np.isclose(shares.mmd2, found.mmd2)
    assert int(np.argmax(shares.shares)) == 1  # the column with another mean
    assert "by columns" in str(shares)


def test_terms_that_do_not_have_one_on_the_diagonal() -> None:
    found = mercer.mmd_test(X, Y, Linear() + 0.5 * Gaussian(1.0), n_permutations=19, random_state=0)
    assert np.isclose(found.columns().shares.sum(), found.mmd2)


def test_names_of_a_table() -> None:
    pandas = pytest.importorskip("pandas")
    frames = [pandas.DataFrame(data, columns=list("abcd")) for data in (X, Y)]
    shares = mercer.mmd_test(*frames, n_permutations=19, random_state=0).columns()
    assert shares.names == ("a", "b", "c", "d")
    assert np.isclose(shares.shares.sum(), shares.mmd2)


def test_many_rows_are_drawn() -> None:
    many, few = RNG.normal(size=(1500, 2)), RNG.normal(size=(40, 2))
    assert mercer.mmd_test(many, few, Gaussian(1.0), n_permutations=19).columns().rows == (1000, 40)


def test_refusals() -> None:
    with pytest.raises(CapabilityError, match="needs tables"):
        mercer.mmd_test(["ab", "ba", "aa"], ["bb", "ab"], mercer.Spectrum(1), n_permutations=19).columns()
    with pytest.raises(CapabilityError, match="not a product over columns"):
        mercer.mmd_test(X, Y, mercer.Exponential(1.0), n_permutations=19).columns()
