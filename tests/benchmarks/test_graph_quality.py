"""The quality table of graph kernels: protocol, verdicts, page; small."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks import grakel_once, graph_quality


def test_a_repeat_and_its_line() -> None:
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 30)
    Z = rng.standard_normal((60, 3)) + 3.0 * labels[:, None]
    found = graph_quality.one_repeat(dict.fromkeys(graph_quality.LEVELS, Z @ Z.T), labels, 0)
    assert len(found["folds"]) == len(found["chosen"]) == 10 and np.mean(found["folds"]) > 0.9
    assert found["chosen"][0].startswith("h=0")  # of equals the fewest iterations
    record = {"repeats": [found, found], "seconds": 1.0}
    assert graph_quality.summary(record)[0] == pytest.approx(100.0 * np.mean(found["folds"]))
    assert "2 of 3" in graph_quality.line("MUTAG", "WL", record)


@pytest.mark.parametrize(
    ("folds", "told"),
    [([0.9] * 10, "PASS: better"), ([0.865] * 10, "PASS: within one deviation of repeats"), ([0.5] * 10, "FAIL"),
     ([1.0, 0.65] * 5, "PASS: within one deviation of folds")],
)  # fmt: skip
def test_verdicts(folds: list[float], told: str) -> None:
    record = {"repeats": [{"folds": folds}], "seconds": 0.0}
    assert graph_quality.verdict("MUTAG", "WL", record) == told
    assert graph_quality.verdict("MUTAG", "WLOA", record) == "reported"


def test_the_page(tmp_path: Path) -> None:
    results = {"sets": {"MUTAG WL": {"repeats": [{"folds": [0.9] * 10}], "seconds": 0.0}}, "molecules": {}}
    graph_quality.save(results, tmp_path)
    page = (tmp_path / "graph_quality.md").read_text(encoding="utf-8")
    assert "| MUTAG | WL | 90.0" in page and "Not run: MUTAG WLOA, PTC_MR WL" in page
    assert graph_quality.main(["--show", "--out", str(tmp_path)]) == 0


def test_a_kept_reading_is_not_measured_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "kept.json"
    path.write_text('{"SP DD": {"seconds": 7.5, "stopped": true}, "GR 3 DD": {"seconds": 2.0, "stopped": false}}')
    monkeypatch.setattr(grakel_once, "KEPT", path)
    assert grakel_once.limited("DD", "SP").seconds == 7.5
    assert grakel_once.note("DD", "SP") == " (GraKeL: stopped after 7.5 s)"
    assert grakel_once.note("DD", "GR 3") == " (GraKeL: CPU time of a run of its own)"
    assert grakel_once.note("MUTAG", "SP") == ""


@pytest.mark.slow
def test_a_peer_is_stopped_and_said_to_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared_data: Path) -> None:
    pytest.importorskip("grakel")
    monkeypatch.setattr(grakel_once, "KEPT", tmp_path / "kept.json")
    assert grakel_once.limited("PTC_MR", "GR 4 500", limit=1.0).seconds == 1.0
    assert grakel_once.kept() == {"GR 4 500 PTC_MR": {"seconds": 1.0, "stopped": True}}
