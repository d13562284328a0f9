"""Files and tables: rows replaced by name, whole files, every number in its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import results, table

RUN: dict[str, Any] = {
    "date": "2024-02-29 12:00 UTC",
    "command": "python -m benchmarks",
    "machine": {"cpu": "a cpu", "threads": 2, "memory_bytes": 2**30, "system": "S", "python": "3", "blas": "b", "load": 0.1},
    "constants": {
        "gemm": {"float32": 2e11, "float64": 1e11},
        "exp": {"float32": 2e9, "float64": 1e9},
        "exp_by": {"float32": "numpy", "float64": "compiled"},
        "read": 3e10,
        "write": 2e10,
        "copy": 2.5e10,
        "touch": 1e10,
    },
    "versions": {"mercer": "0.1.0"},
}


def row(name: str, ratio: float = 4.0, verdict: str = "met") -> dict[str, Any]:
    """A record as run_row makes it."""
    ours = {"name": "mercer", "median": 0.01, "spread": 0.05, "times": [0.01], "of_limit": 0.4, "peak_bytes": 10_000_000}
    peer = {"name": "peer", "median": 0.01 * ratio, "spread": 0.1, "ratio": ratio, "agreement": 1e-9, "agrees": True}
    return {
        "name": name,
        "group": "g",
        "title": f"what {name} runs",
        "mercer": ours,
        "peers": [peer, {"name": "absent", "missing": "peer not installed"}],
        "claims": [{"text": "ratio >= 3", "peer": "peer", "value": ratio, "verdict": verdict}],
        "agreement": "absolute",
        "tolerance": None,
        "limit": {"seconds": 0.004, "bound_by": "exp", "terms": {}},
    }


def test_one_row_replaces_only_itself(tmp_path: Path) -> None:
    order = ["b", "a", "c"]
    found = results.load("g", tmp_path)
    for name in ("a", "b"):
        found = results.merge(found, row(name), "run1", RUN, order)
    found = results.merge(found, row("a", ratio=5.0), "run2", RUN, order)
    results.save(found, tmp_path)
    again = results.load("g", tmp_path)
    assert list(again["rows"]) == ["b", "a"], "in the order of the declarations"
    assert [again["rows"][name]["run"] for name in "ab"] == ["run2", "run1"]
    assert [again["rows"][name]["peers"][0]["ratio"] for name in "ab"] == [5.0, 4.0]
    assert list(again["runs"]) == ["run1", "run2"]
    final = results.merge(again, row("b"), "run2", RUN, order)
    assert list(final["runs"]) == ["run2"], "a run that no row refers to is dropped"


def test_rows_no_longer_declared_are_kept_last(tmp_path: Path) -> None:
    found = results.merge(results.load("g", tmp_path), row("old"), "run1", RUN, ["new"])
    assert list(results.merge(found, row("new"), "run1", RUN, ["new"])["rows"]) == ["new", "old"]


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "g.json"
    results.write_whole(path, "old")

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        results.write_whole(path, "new")
    assert path.read_text(encoding="utf-8") == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["g.json"], "nothing is left behind"


def test_another_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / "g.json").write_text(json.dumps({"format": 99}), encoding="utf-8")
    with pytest.raises(ValueError, match="format 99"):
        results.load("g", tmp_path)


def test_the_page_has_everything(tmp_path: Path) -> None:
    found = results.merge(results.load("g", tmp_path), row("lost", 1.5, "missed"), "run1", RUN, [])
    page = table.markdown(found)
    for text in (
        "`lost`",
        "10 ms ±5%",
        "15 ms ±10%",
        "1.50x",
        "ratio >= 3",
        "**MISSED** (1.5)",
        "1.0e-09",
        "peer not installed",
        "10 / -",
        "40% (exp)",
        "what lost runs",
        "2024-02-29",
        "`python -m benchmarks`",
        "mercer 0.1.0",
        "200 Gflop/s",
        "1.00 G/s (compiled)",
        "30.0 GB/s",
    ):
        assert text in page, text


def test_every_line_of_a_table_has_all_columns(tmp_path: Path) -> None:
    failed = {**row("c"), "mercer": {"name": "mercer", "error": "ValueError: a | b"}, "peers": [], "claims": []}
    lines = table.rows_table([row("a"), failed]).splitlines()
    assert {line.count("|") for line in lines} == {len(table.COLUMNS) + 1}
    assert "ValueError: a / b" in lines[-1]


@pytest.mark.parametrize(("value", "text"), [(12.34, "12.3 s"), (0.0123, "12.3 ms"), (1.5e-6, "1.5 µs"), (0.0, "0 µs")])
def test_seconds(value: float, text: str) -> None:
    assert table.seconds(value) == text
