"""Pictures go to memory, and are closed after every test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def closed_figures() -> Iterator[None]:
    matplotlib = pytest.importorskip("matplotlib", reason='matplotlib is not installed: pip install ".[plots]"')
    matplotlib.use("Agg")
    yield
    import matplotlib.pyplot as plt

    plt.close("all")
