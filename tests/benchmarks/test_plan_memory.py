"""What plans promise against measured peaks, each case in a process of its own; `make show-plan` prints the numbers."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from benchmarks import plan_memory
from benchmarks.peak import in_fresh_process

needs_proc = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")


def check(name: str) -> None:
    found: dict[str, Any] = in_fresh_process("benchmarks.plan_memory", ["--one", name], timeout=900.0)
    assert "error" not in found, found
    assert plan_memory.judge(found["plan"], found["peak"]), found


@needs_proc
def test_one_plan_is_what_the_fit_takes() -> None:
    check("SVC 20 MB")


@needs_proc
@pytest.mark.slow
@pytest.mark.parametrize("name", plan_memory.CASES)
def test_plans_are_what_fits_take(name: str) -> None:
    check(name)


def test_the_promise() -> None:
    mega = 10**6
    assert plan_memory.judge(100 * mega, 115 * mega) and plan_memory.judge(100 * mega, 77 * mega)
    assert not plan_memory.judge(100 * mega, 160 * mega)
    assert not plan_memory.judge(100 * mega, 70 * mega)
