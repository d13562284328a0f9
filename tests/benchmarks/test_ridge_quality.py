"""The quality table: its protocol, its arithmetic, and that a second start goes on where the first ended."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import ridge_quality as quality
from benchmarks.ridge_published import PUBLISHED


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


def start(data: Path, folds: int) -> int:
    return quality.main(["--sets", "energy,kin8nm", "--folds", str(folds), "--data", str(data), "--out", str(data)])


def test_a_second_start_goes_on(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    start(data, 1)
    first = json.loads((data / "ridge_quality.json").read_text(encoding="utf-8"))
    capsys.readouterr()
    start(data, 2)
    told = capsys.readouterr().out
    second = json.loads((data / "ridge_quality.json").read_text(encoding="utf-8"))
    assert "energy fold 0:" not in told and "energy fold 1:" in told and "kin8nm fold 1:" in told
    assert second["sets"]["energy"]["folds"]["0"] == first["sets"]["energy"]["folds"]["0"]
    assert second["sets"]["energy"]["splits"] == "published" and second["sets"]["kin8nm"]["splits"] == "random"
    assert "| energy | 80 x 2 | published |" in (data / "ridge_quality.md").read_text(encoding="utf-8")


def test_another_cut_is_refused(data: Path) -> None:
    start(data, 1)
    with pytest.raises(SystemExit, match="was made with --rows 4000"):
        quality.main(["--rows", "50", "--out", str(data), "--show"])


def test_training_rows_are_cut_and_apart_from_the_test_rows() -> None:
    folds = np.arange(100) % 10
    train, test = quality.split(100, folds, 3, 40)
    assert len(train) == 40 and (folds[test] == 3).all() and len(test) == 10 and not np.intersect1d(train, test).size
    again, _ = quality.split(100, folds, 3, 40)
    assert (train == again).all()
    train, test = quality.split(100, None, 0, 1000)
    assert len(train) == 90 and len(test) == 10 and not np.intersect1d(train, test).size


def test_standardizing_uses_the_training_rows_and_spares_constant_columns() -> None:
    train = np.array([[1.0, 5.0], [3.0, 5.0]])
    scaled, new = quality.standardized(train, np.array([[5.0, 6.0]]))
    assert scaled.tolist() == [[-1.0, 0.0], [1.0, 0.0]] and new.tolist() == [[3.0, 1.0]]


def test_a_promise_is_kept_or_broken_on_all_ten_folds_only() -> None:
    def entry(inside: int, folds: int, rows: int = 5000) -> quality.Record:
        fold = {"rmse": 0.5, "inside": inside, "tested": 100, "trained": 4000, "seconds": 1.0}
        return {"rows": rows, "columns": 3, "splits": "random", "folds": {str(i): fold for i in range(folds)}}

    assert quality.pooled(entry(90, 10))["verdict"] == "PASS"
    assert quality.pooled(entry(87, 10))["verdict"] == "FAIL"
    assert quality.pooled(entry(93, 10))["verdict"] == "FAIL"
    assert quality.pooled(entry(90, 3))["verdict"] == "3 of 10 folds"
    assert quality.pooled(entry(50, 10, rows=300))["verdict"] == "reported"
    assert quality.broken({"sets": {"a": entry(87, 10), "b": entry(90, 10)}}) == ["a"]


def test_published_errors_are_relative() -> None:
    assert len(PUBLISHED) >= 8 and set(PUBLISHED) <= set(quality.SETS)
    assert all(0 < p.error < 1 and p.protocol for group in PUBLISHED.values() for p in group)


def test_every_real_set_is_in_the_list(shared_data: Path) -> None:
    assert {path.stem[4:] for path in shared_data.glob("reg_*.npz")} == set(quality.SETS)
    X, y, folds = quality.load("srtm_n43e006", shared_data)
    assert X.shape == (1201 * 1201, 2) and y.shape == (1201 * 1201,) and folds is None


def test_large_sets_keep_the_parameters_of_their_first_fold(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quality, "PROMISED_ROWS", 70)  # energy has 80 rows here, kin8nm 60
    start(data, 3)
    sets = json.loads((data / "ridge_quality.json").read_text(encoding="utf-8"))["sets"]
    chosen = [
        {(fold["alpha"], fold["length_scale"]) for fold in sets[name]["folds"].values()} for name in ("energy", "kin8nm")
    ]
    assert len(chosen[0]) == 1 and len(chosen[1]) > 1
