"""The drift monitor: its windows against sums written out, its run length, batches, columns, files and messages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas
import pytest

import mercer
from mercer import DriftMonitor, Gaussian
from mercer.changes.drift_monitor import MovedColumn
from mercer.changes.drift_reference import BASE, Runs
from mercer.errors import InputError

RNG = np.random.default_rng(0)
REFERENCE = RNG.normal(size=(600, 2))
MONITOR = DriftMonitor(run_length=300).fit(REFERENCE)
STREAM = np.concatenate([RNG.normal(size=(90, 2)), RNG.normal(size=(200, 2)) + np.array([0.0, 1.5])])


def distances(Z: Any, reference: Any) -> list[tuple[int, int, float]]:
    """(rows seen, window, standardized distance) of every window that is looked at, from its own rows."""
    found = []
    for seen in range(1, len(Z) + 1):
        for level in range(reference.levels):
            block = BASE * 2**level
            if seen % block == 0:
                for size in (2 * block, 3 * block):
                    if size <= seen:
                        mean = Z[seen - size : seen].mean(axis=0)
                        T = ((mean - reference.mean) ** 2).sum() / (1.0 / size + 1.0 / reference.n) / reference.scale
                        share = 2.0 / (9.0 * reference.freedom)
                        found.append((seen, size, (np.cbrt(T) - (1.0 - share)) / np.sqrt(share)))
    return found


def test_windows_are_those_written_out() -> None:
    reference = MONITOR._reference
    Z = reference(STREAM)
    expected = distances(Z, reference)
    seen, window, _ = next(one for one in expected if one[2] > reference.threshold)
    MONITOR.reset().update(STREAM)
    assert (MONITOR.alarm_row_, MONITOR.window_) == (seen, window) and seen > 90
    assert pytest.approx(max(d for s, _, d in expected if s <= seen), rel=1e-9) == MONITOR.distance_


@pytest.mark.parametrize("batch", [1, 7, 64, 290])
def test_batches_do_not_matter(batch: int) -> None:
    MONITOR.reset().update(STREAM)
    expected = (MONITOR.alarm_row_, MONITOR.window_, MONITOR.moved())
    MONITOR.reset()
    for start in range(0, len(STREAM), batch):
        alarm = MONITOR.update(STREAM[start : start + batch])
        assert alarm == (expected[0] is not None and start + batch >= expected[0])
    assert (MONITOR.alarm_row_, MONITOR.window_, MONITOR.moved()) == expected and MONITOR.rows_ == len(STREAM)


def test_columns_that_moved_are_named() -> None:
    MONITOR.reset().update(STREAM)
    [moved] = MONITOR.moved()
    assert isinstance(moved, MovedColumn) and moved.name == 1 and moved.pvalue <= 0.05 and moved.difference > 0.5
    assert MONITOR.reset().moved() == ()
    frame = pandas.DataFrame({"age": REFERENCE[:, 0], "city": np.where(REFERENCE[:, 1] > 0, "Rome", "Oslo")})
    mixed = DriftMonitor(run_length=200).fit(frame)
    later = frame.assign(city="Oslo")[:100]
    assert mixed.update(later) and [one.name for one in mixed.moved()] == ["city"]
    named = DriftMonitor(run_length=200).fit(frame[["age"]])
    assert named.update(frame[["age"]][:64] + 2.0) and named.moved()[0].name == "age"


def test_simulated_runs_have_the_wanted_mean() -> None:
    """The threshold is where the mean of the simulated runs crosses the run length, up to one record of one run."""
    reference = MONITOR._reference
    Z = reference(REFERENCE)
    means = np.tile(reference.mean, (50, 1))
    seeds = np.arange(50, dtype=np.uint64)
    runs = Runs(reference, Z, means, seeds, reference.threshold, 100_000, None)
    lengths = []
    for number in range(50):
        first = int((runs.values[number] > reference.threshold).argmax())
        lengths.append(runs.times[number, first])
    assert runs.mean(reference.threshold) == pytest.approx(np.mean(lengths))
    assert runs.mean(reference.threshold) > runs.mean(reference.threshold - 0.5)
    assert 100 < runs.mean(reference.threshold) < 1200  # 50 runs, exponential: far beyond four standard errors of 300


def test_run_length_with_new_references() -> None:
    """40 runs, nearly exponential: the mean of 100 has a standard error of 16; four of them are allowed."""
    lengths = []
    for seed in range(40):
        rng = np.random.default_rng([5, seed])
        monitor = DriftMonitor(Gaussian(1.5), run_length=100, random_state=seed).fit(rng.normal(size=(400, 2)))
        while not monitor.update(rng.normal(size=(100, 2))):
            pass
        lengths.append(monitor.alarm_row_)
    assert 36 < np.mean(lengths) < 165


def test_state_survives_a_file(tmp_path: Any) -> None:
    MONITOR.reset().update(STREAM[:100])
    mercer.save(MONITOR, tmp_path / "monitor")
    again = mercer.load(tmp_path / "monitor")
    assert again.update(STREAM[100:]) == MONITOR.update(STREAM[100:])
    assert (again.alarm_row_, again.window_, again.distance_) == (MONITOR.alarm_row_, MONITOR.window_, MONITOR.distance_)
    assert again.moved() == MONITOR.moved() and str(again) == str(MONITOR)


def test_other_rows_than_numbers() -> None:
    rng = np.random.default_rng(1)
    words = ["".join(rng.choice(list("ab"), 8)) for _ in range(300)]
    monitor = DriftMonitor(run_length=200).fit(words)
    assert monitor.update(["".join(rng.choice(list("bc"), 8)) for _ in range(40)]) and monitor.moved()
    waves = [rng.normal(size=(6, 1)) for _ in range(200)]
    monitor = DriftMonitor("GlobalAlignment(Gaussian(4.0))", run_length=50).fit(waves)
    assert monitor.update([rng.normal(size=(6, 1)) + 2.0 for _ in range(20)])


def test_a_constant_column_that_changes_is_an_alarm() -> None:
    table = np.column_stack([RNG.normal(size=300), np.full(300, 7.0)])
    monitor = DriftMonitor(run_length=100).fit(table)
    assert monitor.update(table[:40] + np.array([0.0, 0.01]))
    same = DriftMonitor(run_length=100).fit(np.full((300, 1), 3.0))
    assert not same.update(np.full((500, 1), 3.0)) and same.update(np.full((8, 1), 3.1))


def test_few_reference_rows_are_said() -> None:
    with pytest.warns(UserWarning, match="the reference has 50 rows; below 200"):
        DriftMonitor(run_length=50).fit(REFERENCE[:50])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: DriftMonitor(run_length=5).fit(REFERENCE), "run_length must be a whole number >= 20"),
        (lambda: DriftMonitor(run_length=10**7).fit(REFERENCE), "run_length is at most 1,000,000"),
        (lambda: DriftMonitor().fit(REFERENCE[:3]), "3 samples in the reference; give at least 4 rows"),
        (lambda: MONITOR.update(np.zeros((3, 5))), "5 features"),
        (lambda: MONITOR.update([[np.nan, 0.0]]), "NaN"),
        (lambda: MONITOR.moved(level=2.0), "level must lie strictly between 0 and 1"),
    ],
)
def test_bad_input(call: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        call()


def test_the_distance_stays_while_no_window_ends():
    monitor = DriftMonitor(run_length=200).fit(REFERENCE)
    monitor.update(REFERENCE[:7])
    assert monitor.distance_ == 0.0
    monitor.update(REFERENCE[7:8])
    first = monitor.distance_
    monitor.update(REFERENCE[8:9])
    assert monitor.distance_ == first != 0.0
