"""The rows on strings, small: contestants agree, the planted set can be learned; and the table of string quality."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import string_quality as quality
from benchmarks.row import Row
from benchmarks.rows import strings
from benchmarks.string_published import SCOP

SMALL = [
    strings.spectrum("splice", n=80),
    strings.spectrum("tfbs_ep300", n=40),
    strings.strkernels(n=15),
    strings.strkernel(n=15),
    strings.subsequence(n=15),
    strings.weighted_degree(n=15),
]


@pytest.mark.parametrize("row", SMALL, ids=[row.name for row in SMALL])
def test_contestants_agree(row: Row, shared_data: Path) -> None:
    data = row.data()
    ours = row.mercer(data)
    for peer in row.peers:
        if not all(importlib.util.find_spec(module.split(".")[0]) for module in peer.modules):
            pytest.skip(f"{peer.name} is not installed")
        assert row.agreement is not None and row.tolerance is not None
        assert row.agreement(ours, peer.run(data)) <= row.tolerance


def test_gapped_values_are_checked_by_definition(shared_data: Path) -> None:
    row = strings.gapped(8, n=30)
    data = row.data()
    assert row.quality is not None
    K = row.mercer(data)
    assert row.quality(data, K)["values that differ"] == 0.0
    assert row.quality(data, K + 1.0)["values that differ"] == 30.0


def test_many_strings_can_be_learned() -> None:
    row = strings.many(n=3000)
    data = row.data()
    assert len(data[0]) == 3000 and {len(string) for string in data[0]} == {100}
    assert row.quality is not None
    assert row.quality(data, row.mercer(data))["accuracy %"] > 60.0


# -- quality ------------------------------------------------------------------------------------------------------------


def start(folder: Path, *arguments: str) -> int:
    return quality.main(["--rows", "60", "--out", str(folder), *arguments])


def test_a_second_start_goes_on(tmp_path: Path, shared_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    start(tmp_path, "--tasks", "splice")
    first = json.loads((tmp_path / "string_quality.json").read_text(encoding="utf-8"))
    assert set(first["tasks"]) == {"splice"}
    assert first["tasks"]["splice"]["accuracy"] > 0.5
    start(tmp_path, "--tasks", "splice, scop 1.34")
    second = json.loads((tmp_path / "string_quality.json").read_text(encoding="utf-8"))
    assert second["tasks"]["splice"] == first["tasks"]["splice"]
    assert 0.0 <= second["tasks"]["scop 1.34"]["AUC"] <= 1.0
    capsys.readouterr()
    assert start(tmp_path, "--show") in (0, 1)
    assert "| scop 1.34 |" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="--rows 60"):
        quality.main(["--out", str(tmp_path), "--show"])


def test_promises_decide_the_exit_code(tmp_path: Path) -> None:
    good = {"errors": 6, "tested": 106, "chosen": {"p=3, C=1": 106}, "seconds": 1.0}
    for errors, code in ((6, 0), (7, 1)):
        quality.save({"rows": None, "tasks": {"promoters": good | {"errors": errors}}}, tmp_path)
        assert quality.main(["--out", str(tmp_path), "--show"]) == code
    page = (tmp_path / "string_quality.md").read_text(encoding="utf-8")
    assert "errors <= 6 | FAIL" in page and "p=3, C=1 (106)" in page


def test_choosing_takes_the_best_inside() -> None:
    rng = np.random.default_rng(0)
    labels = np.arange(40) % 2
    useful, useless = (x[:, None] * x + np.eye(40) for x in (2.0 * labels - 1.0, rng.normal(size=40)))
    train = np.arange(30)
    splits = [(np.arange(20), np.arange(20, 30)), (np.arange(10, 30), np.arange(10))]
    chosen = quality.choose({"useless": useless, "useful": useful}, (1.0, 10.0), labels, train, splits, quality.accuracy)
    assert chosen == ("useful", 1.0)
    assert (quality.predict(useful, labels, train, np.arange(30, 40), 1.0) == labels[30:]).all()


def test_published_settings_are_complete() -> None:
    assert set(SCOP) == {name.split()[1] for name in quality.TASKS if name.startswith("scop")}
    assert all(0 <= setting.m < setting.g for setting in SCOP.values())
