"""What docs/is-it-a-kernel.md shows is what comes out."""

from __future__ import annotations

import doctest
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_every_output_on_the_page_is_real() -> None:
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
    page = ROOT / "docs" / "is-it-a-kernel.md"
    outcome = doctest.testfile(str(page), module_relative=False, optionflags=flags, encoding="utf-8")
    assert outcome.attempted > 25
    assert outcome.failed == 0


def test_the_demo_proves_refutes_and_refuses(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["is_it_a_kernel.py"])
    runpy.run_path(str(ROOT / "examples" / "is_it_a_kernel.py"), run_name="__main__")
    text = capsys.readouterr().out
    assert text.count("is a kernel. Proof:") == 5
    assert text.count("is not a kernel.") == 6
    assert text.count("not implied by the closure rules") + text.count("implied to be one by the closure rules") >= 3
    assert "is unproven" in text and "Traceback" not in text
