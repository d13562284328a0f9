"""Block tests: block means and shifts against values written out, the check of dependence, and messages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.signal import lfilter

from mercer import Gaussian, chunks, hsic_test, mmd_test
from mercer.errors import CapabilityError, InputError
from mercer.inputs import Rows
from mercer.twosample.dependent_rows import block_gram, block_permutation, contiguous, dependence_of_rows, time_shifts
from mercer.twosample.hsic import centered

RNG = np.random.default_rng(0)


def series(n: int, coefficient: float = 0.9) -> Any:
    return lfilter([1.0], [1.0, -coefficient], RNG.normal(size=n + 100))[100:, None]


def test_block_grams_are_means_of_kernel_values() -> None:
    X = RNG.normal(size=(47, 2))
    layout = contiguous(24, 23, 4)
    assert (layout.m, layout.n) == (6, 5) and layout.index[6].tolist() == [24, 25, 26, 27]
    K = Gaussian(1.0)(X)
    expected = [[K[np.ix_(a, b)].mean() for b in layout.index] for a in layout.index]
    assert np.allclose(block_gram(Gaussian(1.0), Rows(X), layout), expected, rtol=1e-12)


def test_the_statistic_leaves_pairs_within_blocks_out() -> None:
    X, Y = series(60), series(80)
    found = mmd_test(X, Y, Gaussian(1.0), 99, 0, blocks=10)
    layout = contiguous(60, 80, 10)
    G = block_gram(Gaussian(1.0), Rows(np.concatenate([X, Y])), layout)
    np.fill_diagonal(G, 0.0)
    expected = G[:6, :6].sum() / 30 + G[6:, 6:].sum() / 56 - 2 * G[:6, 6:].mean()
    assert found.mmd2 == pytest.approx(expected, rel=1e-6) and found.block == 10
    assert "permutations of blocks" in str(found) and "6 + 8 blocks of 10 rows" in str(found)


def test_shifts_of_hsic_are_those_written_out() -> None:
    X, Y = series(40), series(40)
    found = hsic_test(X, Y, Gaussian(1.0), Gaussian(1.0), 999, 0, blocks="shifts")
    K, L = centered(Gaussian(1.0)(X)), centered(Gaussian(1.0)(Y))
    assert found.n_permutations < 40 and found.resampling == "time shifts"
    values = [(K * np.roll(L, (s, s), (0, 1))).sum() / (40 * 37) for s in range(40)]
    assert found.statistic == pytest.approx(values[0], rel=1e-6)
    assert all(np.abs(np.array(values) - one).min() < 1e-9 for one in found.null_distribution)
    assert found.pvalue == (1 + sum(found.null_distribution >= found.statistic - 1e-12)) / (1 + found.n_permutations)


@pytest.mark.parametrize("size", [1, 3, 7, 20])
def test_blocks_stay_together(size: int) -> None:
    for seed in range(5):
        order = block_permutation(np.random.default_rng(seed), 50, size)
        assert sorted(order.tolist()) == list(range(50))
        assert (np.diff(order) != 1).sum() <= -(-50 // size)
    shifts = time_shifts(np.random.default_rng(0), 30, 4, 100)
    assert len({tuple(row) for row in shifts.tolist()}) == len(shifts) == 23
    assert all(4 <= row[0] <= 26 and ((np.diff(row) == 1) | (np.diff(row) == -29)).all() for row in shifts)
    grouped = time_shifts(np.random.default_rng(0), 30, 4, 100, 5.0)  # the unshifted rows stand for five places
    assert (grouped[:4] == np.arange(30)).all() and (grouped[4:] == shifts).all()


def test_features_take_the_same_blocks() -> None:
    X, Y = series(300), series(300) + 2.0
    for options in ({"blocks": 20, "method": "features"}, {"blocks": 20}):
        found = mmd_test(X, Y, None, 199, 0, **options)
        assert "15 + 15 blocks of 20 rows" in found.method and found.pvalue < 0.1
    assert hsic_test(X, X + RNG.normal(size=X.shape), blocks=20, method="features", random_state=0).pvalue < 0.05


def test_dependence_is_measured_and_reported() -> None:
    X, Y = series(500), series(500)
    found = dependence_of_rows(Gaussian(5.0), Rows(X))
    assert found.significant and 0.7 < found.correlation < 1.0 and 8.0 < found.time < 40.0
    plain = mmd_test(X, Y, random_state=0, n_permutations=99)
    assert "Neighboring rows of X and Y are alike" in plain.warnings[0] and "warning" in str(plain)
    both = hsic_test(X, Y, random_state=0, n_permutations=99)
    assert "give blocks='auto'" in both.warnings[0] and both.warnings[0] in str(both)
    assert hsic_test(X, RNG.normal(size=(500, 1)), random_state=0, n_permutations=99).warnings == ()  # still a valid test
    short = mmd_test(X, Y, random_state=0, n_permutations=99, blocks=5)
    assert "Blocks of 5 rows are short compared with the dependence" in short.warnings[0]
    auto = mmd_test(X, Y, random_state=0, n_permutations=99, blocks="auto")
    assert (auto.block == 62 and auto.warnings == ()) or "short" in auto.warnings[0]
    assert hsic_test(X, Y, random_state=0, n_permutations=99, blocks="auto").resampling == "time shifts"


def test_independent_rows_are_rarely_reported() -> None:
    """Four standard errors: the chance of one false report among 200 is below 1 %."""
    reported = sum(dependence_of_rows(Gaussian(1.0), Rows(RNG.normal(size=(150, 2)))).significant for _ in range(200))
    assert reported <= 1
    Z = RNG.normal(size=(100, 2))
    assert mmd_test(Z[:50], Z[50:], random_state=0, n_permutations=99).warnings == ()
    assert mmd_test(Z[:50], Z[50:], random_state=0, n_permutations=99, blocks="auto").block == 1


def test_level_on_dependent_series() -> None:
    """80 draws: at most 12 rejections at level .05 by chance 1 - 3e-4; without blocks most are rejected."""
    rejected = {None: 0, "auto": 0}
    for seed in range(80):
        X, Y = series(400), series(400)
        for blocks in rejected:
            found = hsic_test(X, Y, Gaussian(3.0), Gaussian(3.0), 99, seed, blocks=blocks)
            rejected[blocks] += found.pvalue <= 0.05
    assert rejected["auto"] <= 12 and rejected[None] > 30


def test_columns_of_series_are_explained_by_blocks() -> None:
    X, Y = np.hstack([series(400), series(400)]), np.hstack([series(400), series(400) + 6.0])
    reasons = mmd_test(X, Y, random_state=0, n_permutations=99, blocks=40).explain(999).reasons
    assert reasons[0].name == 1 and reasons[0].pvalue < 0.05


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda X: mmd_test(X, X, blocks=0), InputError, "blocks must be a whole number >= 1, 'auto', or None"),
        (lambda X: mmd_test(X, X, blocks="shifts"), InputError, "blocks must be"),
        (lambda X: mmd_test(X, X, blocks=30), InputError, "leave 1 block of X and 1 of Y; at least 5"),
        (lambda X: hsic_test(X, X, blocks=30), InputError, "40 rows make fewer than 5 blocks of 30"),
        (lambda X: hsic_test(X, X, blocks="some"), InputError, "'auto' or 'shifts'"),
        (lambda X: mmd_test(chunks([X]), chunks([X]), blocks=5), CapabilityError, "needs rows in memory"),
    ],
)
def test_bad_input(call: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        call(RNG.normal(size=(40, 1)))
