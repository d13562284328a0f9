"""Change points: against every segmentation written out, on simulated changes, and on rows without a change."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer import Gaussian, Linear, Spectrum, change_points
from mercer.changes import confirmation, segmentation
from mercer.changes.segmentation import (
    OrderedFeatures,
    OrderedGram,
    best_segmentations,
    grid_segmentations,
    penalized_places,
)
from mercer.errors import InputError

RNG = np.random.default_rng(0)
SHORT = np.concatenate([RNG.normal(size=(6, 2)), RNG.normal(size=(5, 2)) + 1.5, RNG.normal(size=(4, 2)) - 1.0])
STEPS = np.concatenate([RNG.normal(size=80), RNG.normal(size=60) + 2.0, 3.0 * RNG.normal(size=70)])


def cost(K: np.ndarray, places: Sequence[int]) -> float:
    """The sum over segments of sum k(x_i, x_i) - mean over the segment, by its definition."""
    total = 0.0
    for low, high in itertools.pairwise([0, *places, len(K)]):
        part = K[low:high, low:high]
        total += float(np.trace(part) - part.sum() / (high - low))
    return total


def twins(K: np.ndarray, changes: int, least: int) -> dict[tuple[int, ...], float]:
    """The cost of every segmentation."""
    found = {}
    for places in itertools.combinations(range(1, len(K)), changes):
        if min(b - a for a, b in itertools.pairwise([0, *places, len(K)])) >= least:
            found[places] = cost(K, places)
    return found


@pytest.mark.parametrize("kernel", [Linear(), Gaussian(1.3), Linear() + Gaussian(0.5)], ids=repr)
@pytest.mark.parametrize("least", [1, 2, 3])
def test_segmentations_are_the_best_of_all(kernel: Any, least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segmentation, "ROWS", 4)
    K = kernel(SHORT)
    found = best_segmentations(OrderedGram(kernel, SHORT), 3, least)
    for changes in range(4):
        every = twins(K, changes, least)
        assert found.costs[changes] == pytest.approx(min(every.values()), rel=1e-10, abs=1e-10)
        assert every[tuple(found.places[changes].tolist())] == pytest.approx(min(every.values()), rel=1e-10, abs=1e-10)
    for penalty in (0.0, 0.3, 2.0, 50.0):
        places, value = penalized_places(OrderedGram(kernel, SHORT), penalty, least)
        best = min(
            (c + penalty * d, d) for d in range(len(SHORT) // least) for c in twins(K, d, least).values()
        ) if least > 1 else None  # fmt: skip
        assert value == pytest.approx(cost(K, tuple(places.tolist())), rel=1e-9, abs=1e-9)
        if best is not None:
            assert value + penalty * len(places) == pytest.approx(best[0], rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("least", [1, 2, 40])
def test_beginnings_are_left_out_only_if_they_cannot_be_best(least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Most beginnings are closed after a change; with segments longer than a block of rows none is."""
    monkeypatch.setattr(segmentation, "ROWS", 16)
    rng = np.random.default_rng(least)
    X = np.repeat([0.0, 3.0, -1.0, 5.0], [70, 50, 90, 60])[:, None] + rng.normal(size=(270, 2))
    K = Gaussian(1.5)(X)
    sums = np.zeros((271, 271))
    sums[1:, 1:] = K.cumsum(axis=0).cumsum(axis=1)
    costs = np.full((7, 271), np.inf)
    costs[0, 0] = 0.0
    for end in range(1, 271):
        starts = np.arange(0, max(0, end - least + 1))
        pairs = sums[end, end] - sums[starts, end] - sums[end, starts] + sums[starts, starts]
        own = np.trace(K[:end, :end]) - np.diag(K).cumsum()[starts - 1] * (starts > 0) - pairs / (end - starts)
        for d in range(1, 7):
            costs[d, end] = np.min(costs[d - 1, starts] + own, initial=np.inf)
    found = best_segmentations(OrderedGram(Gaussian(1.5), X), 5, least)
    np.testing.assert_allclose(found.costs, costs[1:, -1], rtol=1e-10)
    for changes in np.flatnonzero(np.isfinite(found.costs)):
        assert cost(K, found.places[changes].tolist()) == pytest.approx(found.costs[changes], rel=1e-10)


def test_segments_that_do_not_fit_have_no_cost() -> None:
    found = best_segmentations(OrderedGram(Linear(), SHORT), 4, 4)
    assert np.isfinite(found.costs).tolist() == [True, True, True, False, False]


def test_features_give_the_segmentations_of_their_kernel() -> None:
    exact = best_segmentations(OrderedGram(Linear(), SHORT), 3, 2)
    features = OrderedFeatures(SHORT, Linear().diag(SHORT))
    fine = grid_segmentations(features, 3, 2, 1)
    assert np.allclose(fine.costs, exact.costs, rtol=1e-10)
    assert [p.tolist() for p in fine.places] == [p.tolist() for p in exact.places]
    rows = STEPS[:, None]
    exact, coarse = (
        best_segmentations(OrderedGram(Linear(), rows), 1, 2),
        grid_segmentations(OrderedFeatures(rows, Linear().diag(rows)), 1, 2, 7),
    )
    assert (coarse.costs >= exact.costs - 1e-9).all() and coarse.places[1].tolist() == exact.places[1].tolist()


def test_permutations_search_the_best_place_again() -> None:
    from mercer.changes._compiled_segments import best_feature_split, best_split

    K = Linear()(SHORT)
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(len(SHORT)).astype(np.int64)
        permuted = K[np.ix_(order, order)]
        gain = cost(permuted, ()) - min(twins(permuted, 1, 2).values())
        assert best_split(K, order, 2) == pytest.approx(gain, rel=1e-9)
        assert best_feature_split(np.ascontiguousarray(SHORT), order, 2) == pytest.approx(gain, rel=1e-9)


def test_changes_of_mean_and_spread_are_found() -> None:
    found = change_points(STEPS)
    assert len(found.places) == 2 and np.abs(found.places - [80, 140]).max() <= 6 and (found.pvalues <= 0.05).all()
    assert [s.stop - s.start for s in found.segments] == np.bincount(found.labels).tolist()
    assert "2 changes in 210 rows" in str(found) and "p = " in str(found)
    assert change_points(STEPS, n_changes=2).places.tolist() == found.places.tolist()
    assert change_points(STEPS, n_changes=0).places.tolist() == []
    assert len(change_points(STEPS, penalty=1e6).places) == 0


def test_units_of_columns_do_not_matter() -> None:
    table = np.column_stack([STEPS, RNG.normal(size=210)])
    assert change_points(table).places.tolist() == change_points(table * [1e-6, 1e9]).places.tolist()


def test_many_rows_go_through_features(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib

    module = importlib.import_module("mercer.changes.change_points")
    exact = change_points(STEPS)
    monkeypatch.setattr(module, "EXACT", 100)
    monkeypatch.setattr(module, "GRID", 50)
    monkeypatch.setattr(confirmation, "PERMUTED", 20)
    monkeypatch.setattr(segmentation, "FEATURES", 40)
    found = change_points(STEPS)
    assert exact.exact and not found.exact
    assert len(found.places) == 2 and np.abs(found.places - exact.places).max() <= 3
    monkeypatch.setattr(module, "EXACT", 10_000)
    assert np.abs(change_points(STEPS).places - exact.places).max() == 0


def test_strings_change_too() -> None:
    rng = np.random.default_rng(3)
    words = ["".join(rng.choice(list("ab" if i < 20 else "bc"), 12)) for i in range(40)]
    assert change_points(words, "Spectrum(2).normalized()").places.tolist() == [20]
    assert change_points(words, Spectrum(2), n_changes=1).places.tolist() == [20]
    with pytest.raises(InputError, match="name a kernel for rows that are not vectors"):
        change_points(words)


def test_rows_without_a_change_rarely_have_one() -> None:
    """At level .05 about one series in twenty has a change; 60 series have at most 9 (a chance of 3 in 1,000 for more)."""
    rng = np.random.default_rng(4)
    found = sum(len(change_points(rng.normal(size=80), n_permutations=99, random_state=i).places) > 0 for i in range(60))
    assert found <= 9


def test_dependent_rows_are_permuted_in_blocks() -> None:
    rng = np.random.default_rng(5)
    lengths, wrong = [], 0
    for seed in range(25):
        found = change_points(autoregression(rng, 300, 0.8), n_permutations=99, random_state=seed)
        lengths.append(found.block)
        wrong += len(found.places) > 0
    assert np.median(lengths) > 4 and wrong <= 7
    assert change_points(rng.normal(size=200)).block == 1


def test_a_trend_is_no_change_and_steps_are() -> None:
    rng = np.random.default_rng(6)
    trend = np.linspace(0.0, 10.0, 200) + 0.3 * rng.normal(size=200)
    assert len(change_points(trend).places) == 0
    assert len(change_points(trend, n_changes=1).places) == 1  # a number that is given is kept
    steps = np.repeat([0.0, 3.0, -1.0, 2.0, 0.0, 4.0], 30) + 0.4 * rng.normal(size=180)
    found = change_points(steps)  # many changes do not look like dependence of neighbors
    assert found.places.tolist() == [30, 60, 90, 120, 150] and found.block == 1


def test_a_step_between_dependent_rows_is_found() -> None:
    rng = np.random.default_rng(8)
    noise = autoregression(rng, 400, 0.6)
    assert len(change_points(noise).places) == 0
    found = change_points(noise + np.repeat([0.0, 8.0], 200))
    assert found.places.tolist() == [200] and found.block > 1


def autoregression(rng: np.random.Generator, n: int, factor: float) -> np.ndarray:
    """A series with x_t = factor x_{t - 1} + noise."""
    x = np.zeros(n)
    for i in range(1, n):
        x[i] = factor * x[i - 1] + rng.normal()
    return x


def test_simulated_series_are_those_written_out() -> None:
    from mercer.changes._compiled_segments import autoregressive

    rng = np.random.default_rng(9)
    innovations, factors, picks = rng.normal(size=(7, 2)), np.array([0.5, 0.9]), rng.integers(0, 7, 12)
    out = np.empty((9, 2))
    autoregressive(innovations, factors, picks, out)
    state, expected = np.zeros(2), []
    for pick in picks:
        state = factors * state + innovations[pick]
        expected.append(state)
    assert np.allclose(out, np.array(expected)[3:], rtol=1e-13)


def test_dependence_is_measured_within_segments() -> None:
    labels = np.array([0, 0, 0, 1, 1, 1])
    Z = np.array([0.0, 1.0, 2.0, 10.0, 12.0, 14.0])[:, None]
    assert confirmation.squared_differences(Z, labels, 1) == pytest.approx([2.5])
    assert confirmation.squared_differences(Z, labels, 2) == pytest.approx([10.0])
    assert confirmation.within(Z, np.array([3])).ravel() == pytest.approx([-1.0, 0.0, 1.0, -2.0, 0.0, 2.0])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"n_changes": 1, "penalty": 1.0}, "not both"),
        ({"n_changes": -1}, "n_changes must be a whole number from 0 to 104"),
        ({"n_changes": 200}, "n_changes must be"),
        ({"penalty": -1.0}, "penalty must be a finite number >= 0"),
        ({"min_size": 0}, "min_size must be"),
        ({"min_size": 150}, "cannot be cut into segments"),
        ({"alpha": 1.5}, "alpha must be"),
        ({"n_permutations": 0}, "n_permutations must be"),
        ({"blocks": "some"}, "blocks must be"),
        ({"max_changes": -1}, "max_changes must be"),
        ({"X": [1.0, np.nan, 2.0, 3.0]}, "NaN"),
        ({"X": [[1.0], [2.0, 3.0]]}, "name a kernel for rows that are not vectors"),
    ],
)
def test_bad_input(change: dict[str, Any], words: str) -> None:
    given: dict[str, Any] = {"X": STEPS} | change
    with pytest.raises(InputError, match=words):
        change_points(**given)


def test_the_function_is_public() -> None:
    assert mercer.change_points is change_points


def test_offsets_do_not_cost_digits():
    rng = np.random.default_rng(5)
    x = np.round(np.concatenate([rng.normal(size=40), rng.normal(3.0, 1.0, size=40)]) * 2.0**15) / 2.0**15
    for kernel in (Linear(), None):
        near, far = (change_points(x + offset, kernel, n_changes=1) for offset in (0.0, 2.0**32))
        assert far.places.tolist() == near.places.tolist()
        np.testing.assert_allclose(far.costs, near.costs, rtol=1e-9)


def test_seeds_of_every_kind():
    x = np.concatenate([np.zeros(20), np.ones(20)])
    assert change_points(x, random_state=np.random.default_rng(0)).places.tolist() == [20]
    with pytest.raises(InputError, match="random_state must be an int, a Generator or None; got str 'a'"):
        change_points(x, random_state="a")


def test_tables_with_categories_and_holes():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"speed": rng.normal(size=60), "mode": ["slow"] * 30 + ["fast"] * 30})
    frame.loc[5, "speed"] = np.nan
    found = change_points(frame)
    assert found.places.tolist() == [30] and "Categorical" in str(found.kernel)
