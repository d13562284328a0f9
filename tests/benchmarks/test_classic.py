"""The rows on perceptrons, neighbors and novelty, small: contestants agree, and the loop in NumPy is the algorithm."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.rows import classic


@pytest.mark.parametrize("name", ["a9a", "ijcnn1"])
def test_both_make_the_same_mistakes(name: str, shared_data: Path) -> None:
    row = classic.perceptron(name, epochs=3, n=900)
    data = row.data()
    ours = row.mercer(data)
    assert len(ours) and all(classic.mistakes_that_differ(ours, peer.run(data)) == 0.0 for peer in row.peers)


def test_neighbors_agree(shared_data: Path) -> None:
    row = classic.neighbors(n=300)
    data = row.data()
    assert all(np.mean(row.mercer(data) != peer.run(data)) <= row.tolerance for peer in row.peers)


def test_qualities_are_numbers(shared_data: Path) -> None:
    for row in (classic.averaged(n=500, epochs=2), classic.novelty(most=200)):
        data = row.data()
        for one in row.contestants:
            assert all(0.0 <= value <= 100.0 for value in row.quality(data, one.run(data)).values())
