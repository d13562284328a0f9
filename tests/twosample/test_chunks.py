"""Two-sample tests on chunks: the p-value of the same rows in memory, of the dense formula, and at its level."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.twosample import naive

import mercer
from mercer.errors import CapabilityError, InputError, MemoryBudgetError
from mercer.grams.chunks import journal, tasks
from mercer.twosample.quadratic_forms import Permutations, Swaps

RNG = np.random.default_rng(5)
X, Y = RNG.normal(size=(120, 3)), RNG.normal(size=(120, 3)) * 1.15
SHORT = Y[:83]
WORDS = ["".join(RNG.choice(list("acgt"), 8)) for _ in range(40)]
OTHERS = ["".join(RNG.choice(list("acgg"), 8)) for _ in range(27)]
GAUSSIAN = mercer.Gaussian("median")


def cut(sample: Any, rows: int = 31) -> Any:
    return mercer.chunks(sample, rows=rows)


#: Sums of relabelings are made of kernel values <= 1 in float32, each rounded by at most half a unit. The statistic weighs
#: them by 1, 1 and -2, so one way of summing is off by at most 2 units, and two ways differ by at most 4.
ROUNDING = 4.0 * float(np.finfo(np.float32).eps)


@pytest.mark.parametrize("other", [Y, SHORT], ids=["swaps", "permutations"])
@pytest.mark.parametrize(
    "options",
    [
        {"kernel": GAUSSIAN},
        {"kernel": mercer.Polynomial(2), "biased": True},
        {"kernel": mercer.Linear(), "resampling": "permutations"},
        {"kernel": [GAUSSIAN, mercer.Laplacian(1.0)], "aggregation": "softmax"},
        {"kernel": None},
        {"kernel": None, "method": "features", "n_features": 16},
        {"kernel": mercer.Polynomial(2), "method": "features"},
        {"kernel": mercer.Gaussian(1.0), "method": "features", "n_features": 20},
    ],
    ids=["median", "biased", "linear", "softmax", "collection", "waves", "explicit", "landmarks"],
)
def test_the_test_of_chunks_is_that_of_the_rows(options: dict[str, Any], other: Any) -> None:
    whole = mercer.mmd_test(X, other, n_permutations=199, random_state=3, **options)
    found = mercer.mmd_test(cut(X), cut(other), n_permutations=199, random_state=3, **options)
    assert found.pvalue == whole.pvalue and found.kernels == whole.kernels
    assert found.statistic == pytest.approx(whole.statistic, rel=1e-5, abs=1e-12)
    if options["kernel"] is None:  # minus logarithms of ranks / 200: two relabelings equal in float32 may exchange ranks
        ranks = [200.0 * np.exp(-one.null_distribution) for one in (found, whole)]
        np.testing.assert_allclose(*ranks, rtol=0.0, atol=1.0 + 1e-6)
    else:
        np.testing.assert_allclose(found.null_distribution, whole.null_distribution, rtol=1e-4, atol=1e-6)
    for one, two in zip(found.details, whole.details, strict=True):
        assert one.unbiased == pytest.approx(two.unbiased, abs=ROUNDING)
        assert one.biased == pytest.approx(two.biased, abs=ROUNDING)
    assert found.power.achieved == pytest.approx(whole.power.achieved, abs=1e-4)
    assert "chunks" in found.method and found.monte_carlo.resampling == whole.monte_carlo.resampling


@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize(("labels", "other"), [(Swaps(120, 120), Y), (Permutations(120, 83), SHORT)], ids=["swaps", "all"])
def test_against_the_dense_formula(labels: Any, other: Any, biased: bool) -> None:
    kernel = mercer.Laplacian(1.5)
    rng = np.random.default_rng(11)
    rng.integers(2**63)  # the seed that is kept for explanations
    masks = naive.relabelings(labels.draw(rng, 99), 120, len(other))
    statistic, pvalue, null = naive.pvalue(kernel(np.vstack([X, other])), masks, 120, biased)
    found = mercer.mmd_test(cut(X, 50), cut(other, 17), kernel, 99, 11, biased=biased)
    assert found.pvalue == pvalue
    assert found.statistic == pytest.approx(statistic, abs=1e-13)
    np.testing.assert_allclose(found.null_distribution, null, atol=ROUNDING)


@pytest.mark.parametrize("kernel", [None, mercer.Spectrum(2)], ids=["collection", "one"])
def test_strings_come_in_chunks(kernel: Any) -> None:
    whole = mercer.mmd_test(WORDS, OTHERS, kernel, 99, 0)
    found = mercer.mmd_test(cut(WORDS, 9), cut(OTHERS, 10), kernel, 99, 0)
    assert (found.pvalue, found.statistic) == pytest.approx((whole.pvalue, whole.statistic))


def test_one_sample_in_memory_and_parts_of_other_sizes() -> None:
    whole = mercer.mmd_test(X, SHORT, GAUSSIAN, 99, 0)

    def parts() -> Any:
        return iter([X[:50], X[50:50], X[50:51], X[51:]])

    for given in (
        (cut(X), SHORT),
        (X, cut(SHORT, 20)),
        (mercer.chunks(parts), SHORT),
        (iter([X[:20], X[20:]]), cut(SHORT, 40)),  # what is read once is kept
    ):
        found = mercer.mmd_test(*given, GAUSSIAN, 99, 0)
        assert found.pvalue == whole.pvalue and found.statistic == pytest.approx(whole.statistic, abs=1e-14)


def test_close_statistics_are_told_apart_in_float64() -> None:
    coins = np.random.default_rng(0).integers(0, 2, (60, 2)).astype(float)  # many relabelings tie
    for other in (coins[:30], coins[:22]):
        whole = mercer.mmd_test(coins[30:], other, mercer.Gaussian(1.0), 199, 1)
        assert mercer.mmd_test(cut(coins[30:], 7), cut(other, 9), mercer.Gaussian(1.0), 199, 1).pvalue == whole.pvalue


def test_early_stopping_goes_through_the_pairs_in_portions() -> None:
    options: dict[str, Any] = {"n_permutations": 199, "random_state": 3, "early_stopping": True}
    for kernel in (GAUSSIAN, [GAUSSIAN, mercer.Linear()]):
        whole = mercer.mmd_test(X, X[::-1] + 0.01, kernel, **options)
        found = mercer.mmd_test(cut(X), cut(X[::-1] + 0.01), kernel, **options)
        assert (found.pvalue, found.monte_carlo.drawn) == (whole.pvalue, whole.monte_carlo.drawn)


def test_no_pvalue_is_smaller_than_one_in_one_and_all() -> None:
    found = mercer.mmd_test(cut(X), cut(Y + 3.0), mercer.Gaussian(1.0), 99, 0)
    assert found.pvalue == 1 / 100


def level(draws: int) -> float:
    hits = 0
    for seed in range(draws):
        rng = np.random.default_rng([seed, 77])
        left, right = rng.gamma(2.0, size=(14, 2)), rng.gamma(2.0, size=(25, 2))
        found = mercer.mmd_test(cut(left, 9), cut(right, 13), mercer.Gaussian(1.5), 199, rng)
        hits += found.pvalue <= 0.05
    return hits / draws


def test_level() -> None:
    assert level(100) <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / 100)


@pytest.mark.slow
def test_level_over_2000_draws() -> None:
    assert 0.035 <= level(2000) <= 0.065


def test_the_witness_is_there_and_what_looks_at_rows_is_not() -> None:
    whole, found = mercer.mmd_test(X, SHORT, GAUSSIAN, 19, 0), mercer.mmd_test(cut(X), cut(SHORT), GAUSSIAN, 19, 0)
    np.testing.assert_allclose(found.witness(X[:5]), whole.witness(X[:5]), atol=1e-14)
    assert found.confidence_interval().low == pytest.approx(whole.confidence_interval().low, abs=1e-6)
    assert "chunks" in str(found)
    for name in ("columns", "explain", "prototypes"):
        with pytest.raises(CapabilityError, match=rf"{name}\(\) needs the rows .* Draw a few thousand rows"):
            getattr(found, name)()


def test_a_test_that_was_stopped_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, seen, inner = tmp_path / "kept", 0, tasks.RunningSums.add
    monkeypatch.setattr(journal, "PATIENCE", 0.0)

    def add(self: Any, *given: Any) -> None:
        nonlocal seen
        if seen == 10:
            raise KeyboardInterrupt
        seen += 1
        inner(self, *given)

    def run(seed: Any = 0) -> Any:
        return mercer.mmd_test(mercer.chunks(X, rows=31, checkpoint=kept), cut(SHORT), GAUSSIAN, 99, seed)

    with monkeypatch.context() as patch:
        patch.setattr(tasks.RunningSums, "add", add)
        with pytest.raises(KeyboardInterrupt):
            run()
    assert (kept / "under-way.npz").exists()
    with pytest.raises(InputError, match="this checkpoint is of another fit"):
        run(1)
    with pytest.raises(InputError, match="checkpoint= needs an integer random_state="):
        run(None)
    whole = mercer.mmd_test(cut(X), cut(SHORT), GAUSSIAN, 99, 0)
    np.testing.assert_array_equal(run().null_distribution, whole.null_distribution)
    assert not kept.exists()


def test_what_cannot_be_is_said() -> None:
    spoiled = SHORT.copy()
    spoiled[40, 2] = np.nan
    for given, words in (
        ((cut(X), cut(spoiled, 20)), r"chunk 2 \(rows 40 … 59\) of Y has NaN at row 0, column 2"),
        ((cut(X), cut(SHORT[:, :2])), r"of Y has 2 columns, the first has 3"),
        ((cut(X), cut(OTHERS)), r"chunk 0 \(rows 0 … 26\) of Y holds str"),
        ((cut(X), X[:1]), "Y has 1 row;"),
        ((cut(X), lambda: iter([X[:0]])), "Y has 0 rows;"),
        ((mercer.chunks(X, None, np.ones(len(X)), rows=40), SHORT), "does not take weights"),
    ):
        with pytest.raises(InputError, match=words):
            mercer.mmd_test(*given, GAUSSIAN, 19, 0)
    with pytest.raises(CapabilityError, match="hsic_test permutes the rows of Y"):
        mercer.hsic_test(cut(X), Y)
    with pytest.raises(CapabilityError, match="Precomputed\\(\\) does not accept chunks"):
        mercer.mmd_test(cut(X), cut(Y), mercer.Precomputed(), 19, 0)
    with pytest.raises(MemoryBudgetError, match="relabelings of 203 rows needs"):
        mercer.mmd_test(cut(X), cut(SHORT), GAUSSIAN, 10**8, 0, method="exact")
    with pytest.raises(InputError, match="swaps exchange"):
        mercer.mmd_test(cut(X), cut(SHORT), GAUSSIAN, 19, 0, resampling="swaps")
