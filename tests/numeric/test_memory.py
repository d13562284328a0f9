"""Memory: refused before it is touched, with the bytes in the message."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

from mercer import Gaussian
from mercer.errors import InputError, MemoryBudgetError, MercerError
from mercer.numeric import memory
from mercer.numeric.memory import allocate, available_bytes, check_fits, format_bytes, parse_bytes


def test_what_fits_is_allocated() -> None:
    assert allocate((3, 4), np.float32, "a matrix", "").shape == (3, 4)


def test_over_the_budget() -> None:
    with pytest.raises(MemoryBudgetError, match=r"matrix of shape \(1000, 1000\) needs 7.6 MiB, over .* 1.0 MiB. Do"):
        allocate((1000, 1000), np.float64, "the matrix", "Do less.", budget=2**20)
    check_fits(2**20, "it", "", budget=2**20)  # exactly the budget fits


def test_over_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_bytes", lambda: 10**6)
    with pytest.raises(MemoryBudgetError, match=r"needs 30.5 MiB, but only 976.6 KiB of memory is free. .*GramOperator"):
        Gaussian()(np.ones((2000, 2)))


def test_nothing_is_touched_before_the_refusal() -> None:
    """A matrix of 10 million rows would be 728 TiB: the answer comes at once and with a few kilobytes."""
    X = np.zeros((10_000_000, 1), dtype=np.float32)
    tracemalloc.start()
    try:
        with pytest.raises(MemoryBudgetError, match=r"\(10000000, 10000000\) needs .* GiB"):
            allocate((len(X), len(X)), np.float64, "the Gram matrix", "")
        assert tracemalloc.get_traced_memory()[1] < 10**6
    finally:
        tracemalloc.stop()


def test_the_error_is_a_memory_error_and_mercers() -> None:
    assert issubclass(MemoryBudgetError, MemoryError)
    assert issubclass(MemoryBudgetError, MercerError)


def test_free_memory_is_known_here() -> None:
    free = available_bytes()
    assert free is None or 2**20 < free < 2**50


@pytest.mark.parametrize(
    ("value", "count"),
    [(None, memory.DEFAULT_BUDGET), (1000, 1000), (2.5e6, 2_500_000), ("4 GB", 4 * 10**9), ("512MiB", 512 * 2**20),
     ("1.5 gib", 3 * 2**29), ("100", 100), ("7 B", 7), (" 2 KB ", 2000)],
)  # fmt: skip
def test_budgets_as_people_write_them(value: Any, count: int) -> None:
    assert parse_bytes(value) == count


@pytest.mark.parametrize("value", [0, -1, float("nan"), True, "", "GB", "four GB", "1 XB", "-1 GB", "nan"])
def test_budgets_that_are_refused(value: Any) -> None:
    with pytest.raises(InputError, match="memory"):
        parse_bytes(value)


def test_bytes_for_people() -> None:
    assert [format_bytes(n) for n in (0, 1023, 2048, 3 * 2**20, 5 * 2**30, 2**45)] == [
        "0 B", "1023 B", "2.0 KiB", "3.0 MiB", "5.00 GiB", "32768.00 GiB",
    ]  # fmt: skip
