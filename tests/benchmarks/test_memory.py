"""Peak memory in fresh processes. Bytes can be counted on a busy machine, unlike seconds."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from benchmarks import memory, peak
from benchmarks.row import Row

Make = Callable[..., Row]
MB = 10**6
needs_proc = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")

ROWS_SOURCE = """
import numpy as np
from benchmarks.row import Peer, Row

def hungry(X):
    np.ones(100_000_000 // 8)  # made and dropped: only a peak shows it
    return X

ROWS = [
    Row(
        name="hungry",
        title="makes 100 MB beside 200 MB of inputs",
        data=lambda: np.ones(200_000_000 // 8),
        mercer=hungry,
        peers=(Peer(name="modest", run=lambda X: X), Peer(name="broken", run=lambda X: X[None, :, "no"])),
    )
]
"""


@needs_proc
def test_the_peak_is_beyond_the_inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny: Make) -> None:
    (tmp_path / "rows_for_this_test.py").write_text(ROWS_SOURCE, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    row = tiny(name="hungry", module="rows_for_this_test")
    used, reason = peak.of(row, "mercer")
    assert reason is None
    assert used is not None
    assert 95 * MB < used < 130 * MB
    modest, _ = peak.of(row, "modest")
    assert modest is not None
    assert modest < 20 * MB
    nothing, reason = peak.of(row, "broken")
    assert nothing is None
    assert reason is not None
    assert "IndexError" in reason


def test_a_process_that_hangs_is_given_up() -> None:
    assert peak.in_fresh_process("timeit", ["-n", "1", "-r", "1", "while True: pass"], timeout=0.2) == {
        "error": "no answer after 0.2 s"
    }


@needs_proc
def test_the_meter_forgets_what_was_before() -> None:
    np.ones(150 * MB // 8)  # a peak that the meter must not see, where the system can set it back
    meter = peak.Meter()
    meter.start()
    small = np.ones(40 * MB // 8)
    found = meter.beyond()
    assert found is not None
    assert found <= 60 * MB
    del small


def test_a_system_that_tells_nothing_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peak, "_status", lambda field: None)
    monkeypatch.setattr(peak, "_maxrss", lambda: None)
    meter = peak.Meter()
    meter.start()
    assert meter.beyond() is None
    assert memory.judge_product({"n": 1, "peak": None, "largest_error": 0.0})[0] is False


def test_both_promises_when_small() -> None:
    found = memory.gram(n=500)
    assert (found["dtype"], found["result"]) == ("float32", 500 * 500 * 4)
    assert found["largest_error"] <= memory.GRAM_ERROR
    assert memory.product(n=700)["largest_error"] <= memory.PRODUCT_ERROR


@pytest.mark.parametrize(
    ("change", "kept"),
    [({}, True), ({"peak": 1120}, False), ({"largest_error": 1e-3}, False), ({"dtype": "float64"}, False)],
)
def test_the_promise_on_the_matrix(change: dict[str, object], kept: bool) -> None:
    found = {"n": 10, "dtype": "float32", "result": 1000, "peak": 1090, "largest_error": 1e-7} | change
    assert memory.judge_gram(found)[0] is kept


@pytest.mark.parametrize(
    ("change", "kept"),
    [({}, True), ({"peak": 601e6}, False), ({"largest_error": 1e-9}, False), ({"error": "it broke"}, False)],
)
def test_the_promise_on_the_product(change: dict[str, object], kept: bool) -> None:
    found = {"n": 10, "peak": 100e6, "largest_error": 1e-12} | change
    assert memory.judge_product(found)[0] is kept


def test_a_broken_promise_is_the_exit_code(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(peak, "in_fresh_process", lambda module, arguments: {"error": "it broke"})
    assert memory.main([]) == 1
    assert "FAIL  K @ v without K: it broke" in capsys.readouterr().out
