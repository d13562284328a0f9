"""A row whose contestants say how long they took, and a machine with round numbers: every result is known."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from benchmarks.machine import Constants
from benchmarks.row import Peer, Row, Timed


@pytest.fixture
def constants() -> Constants:
    """Rates that divide well."""
    return Constants(
        gemm={"float32": 200.0, "float64": 100.0},
        exp={"float32": 20.0, "float64": 10.0},
        exp_by={"float32": "numpy", "float64": "numpy"},
        read=50.0,
        write=25.0,
        copy=40.0,
        touch=5.0,
    )


@pytest.fixture
def tiny() -> Callable[..., Row]:
    """Make a row in which mercer takes 2 s by its own account, the peer 6 s, and results differ by 0.5."""
    row = Row(
        name="tiny",
        title="two clocks",
        data=lambda: np.arange(3.0),
        mercer=lambda X: Timed(2.0, X),
        peers=(Peer(name="slow", run=lambda X: Timed(6.0, X + 0.5)),),
        repeats=3,
        memory=False,
    )

    def make(**changes: Any) -> Row:
        return dataclasses.replace(row, **changes)

    return make
