"""The table of Gaussian processes: its protocol and arithmetic; the rows of the race, small."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import gp_quality as quality
from benchmarks.gp_published import PUBLISHED, sgpr_error
from benchmarks.machine import Constants
from benchmarks.outcome import run_row
from benchmarks.rows import gp


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Two small sets in the format of the real ones, one with published folds."""
    rng = np.random.default_rng(0)
    for name, n in (("energy", 80), ("kin8nm", 60)):
        X = rng.uniform(-2, 2, (n, 2)).astype(np.float32)
        y = (10 * np.sin(X[:, 0]) + rng.normal(size=n)).astype(np.float32)
        folds = {"test_fold": (np.arange(n) % 10).astype(np.uint8)} if name == "energy" else {}
        np.savez(tmp_path / f"reg_{name}.npz", X=X, y=y, **folds)
    return tmp_path


def test_a_second_start_goes_on(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def start(folds: int) -> int:
        return quality.main(["--sets", "energy,kin8nm", "--folds", str(folds), "--data", str(data), "--out", str(data)])

    assert start(1) == 0
    first = json.loads((data / "gp_quality.json").read_text(encoding="utf-8"))
    capsys.readouterr()
    start(2)
    told = capsys.readouterr().out
    assert "energy fold 0:" not in told
    assert "energy fold 1:" in told
    assert "kin8nm fold 1:" not in told, "one fold is all that this set gets"
    second = json.loads((data / "gp_quality.json").read_text(encoding="utf-8"))
    assert second["sets"]["energy"]["folds"]["0"] == first["sets"]["energy"]["folds"]["0"]
    record = second["sets"]["energy"]["folds"]["0"]
    assert record["route"] == "exact"
    assert 0.05 < record["rmse"] < 0.5
    assert "| energy | 80 x 2 | 2 published | 72 |" in (data / "gp_quality.md").read_text(encoding="utf-8")


def test_density_and_coverage_are_those_of_the_predictions(data: Path) -> None:
    X, y, marks = quality.load("energy", data)  # type: ignore[attr-defined]
    train, test = quality.split(len(y), marks, 0, 1000)  # type: ignore[attr-defined]
    found = quality.measure(X, y, train, test)
    again = quality.measure(X, 3.0 * y, train, test)
    assert np.isclose(found["nlpd"], again["nlpd"], atol=1e-3), "in units of the target's spread"
    assert np.isclose(found["rmse"], again["rmse"], rtol=1e-3)
    assert found["tested"] == 8


def test_a_missed_error_is_said_and_fails() -> None:
    fold = {"rmse": 0.9, "nlpd": 1.0, "inside": 80, "tested": 100, "trained": 9, "seconds": 1.0}
    folds = {"0": {**fold, "route": "vecchia", "kernel": "Matern"}}
    results = {"sets": {"kin40k": {"rows": 10, "columns": 2, "splits": "published", "folds": folds}}}
    assert quality.broken(results) == ["kin40k"]
    page = quality.markdown(results)
    assert "80.0% MISS" in page
    assert "- kin40k: measured before" in page
    folds["0"] |= {"half": 0.8, "scale": 1.0, "kurtosis": 40.0, "noise": 0.1}
    assert "too small for the few" in quality.markdown(results)
    folds["0"]["inside"] = 99
    assert "too large for most" in quality.markdown(results)
    folds["0"]["noise"] = 1e-8
    assert "the target has no noise" in quality.markdown(results)
    folds["0"] |= {"inside": 80, "noise": 0.1}
    folds["0"] |= {"half": 0.4, "scale": 1.5, "kurtosis": 3.1}
    assert "larger than the model expects" in quality.markdown(results)
    folds["0"] |= {"half": 0.7, "scale": 0.6, "kurtosis": 3.1}
    assert "too wide throughout" in quality.markdown(results)
    assert "SGPR 0.286, 0.16 (G)" in page


def test_published_errors_are_relative() -> None:
    assert sgpr_error("kin40k") == 0.273
    assert sgpr_error("protein") == 0.656
    assert sgpr_error("yacht") is None
    assert all(0 < p.rmse < 1 for group in PUBLISHED.values() for p in group)
    assert set(PUBLISHED) <= set(quality.SETS)
    assert len(PUBLISHED) >= 8


@pytest.mark.slow
def test_rows_agree_when_small(constants: Constants) -> None:
    def small() -> tuple[np.ndarray, np.ndarray]:
        return gp.synthetic(120, 5)

    for row in (
        gp.one_evaluation("small", "small", small, 120, 5),
        gp.whole_fit("small-fit", "small", small, 120, 5),
    ):
        record = run_row(dataclasses.replace(row, memory=False, repeats=1), constants)
        for peer in record["peers"]:
            if "agreement" in peer:
                assert peer["agrees"], peer
