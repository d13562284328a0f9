"""The rows of large fits, small: every contestant runs, and the numbers beside the time are numbers."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.row import Row
from benchmarks.rows import large

MAKERS = {
    "flights": lambda: large.regression("flights", "reg_flights", 40, 1.5, 1.0, 1500),
    "flights-fourier": lambda: large.regression("flights", "reg_flights", 40, 1.5, 1.0, 1500, fourier=True),
    "covtype": lambda: large.classification("covtype", "cls_covtype", 40, 3.0, 1.0, 1500),
}


@pytest.mark.usefixtures("shared_data")
@pytest.mark.parametrize("name", list(MAKERS))
def test_a_small_race(name: str) -> None:
    row: Row = MAKERS[name]()
    data = row.data()
    for contestant in row.contestants[:2]:
        assert row.quality is not None
        assert all(np.isfinite(value) and value >= 0 for value in row.quality(data, contestant.run(data)).values())
