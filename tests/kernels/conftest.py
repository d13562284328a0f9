"""Data that make distances hard: exact and near duplicates among the rows, and enough rows for several tiles."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

Pair = tuple[NDArray[np.float64], NDArray[np.float64]]


def near_duplicates(d: int, n: int = 600, m: int = 300) -> Pair:
    """X (n, d) and Z (m, d); some rows of both are copies of others, exactly, or moved by 1e-9 or 1e-6."""
    rng = np.random.default_rng(d)
    X, Z = rng.standard_normal((n, d)), rng.standard_normal((m, d))
    for step, rows in ((0.0, (1, 2, 300, 599)), (1e-9, (3, 4, 301, 598)), (1e-6, (5, 6, 302, 597))):
        for row in rows:
            X[row] = X[0] + step * rng.standard_normal(d)
        Z[rows[0]] = X[0] + step * rng.standard_normal(d)
    return X, Z


@pytest.fixture(scope="session")
def hard_pairs() -> Callable[[int], Pair]:
    """The function that makes X and Z for a number of columns."""
    return near_duplicates


@pytest.fixture(params=["numpy", "compiled"])
def both_loops(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small matrices are made in NumPy, large ones in compiled loops; a test that asks for this runs in both."""
    monkeypatch.setattr("mercer.numeric.compiling.LOADING", 0 if request.param == "compiled" else 2**62)
