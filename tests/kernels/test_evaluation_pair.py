"""A pair of encodings seen through a tile: distances are remembered per tile and per encoding."""

from __future__ import annotations

import numpy as np

from mercer.kernels.evaluation import Pair
from mercer.numeric.encodings import Dots
from mercer.numeric.points import Points

X = np.random.default_rng(0).normal(size=(10, 5))


def test_whole_aligns_and_sees_all_rows() -> None:
    pair = Pair.whole(Dots(X), Dots(X[:3]))
    assert pair.shape == (10, 3)
    assert np.allclose(pair.inner(), X @ X[:3].T)


def test_a_tile_has_a_memory_of_its_own() -> None:
    pair = Pair.whole(Dots(X), Dots(X))
    first, second = pair.tile(slice(0, 4), slice(0, 4)), pair.tile(slice(4, 10), slice(0, 4))
    assert first.inner() is first.inner()
    assert np.allclose(second.inner(), X[4:] @ X[:4].T)


def test_parts_share_the_memory_of_the_tile() -> None:
    dots, points = Dots(X), Points(X)
    pair = Pair.whole((dots, points, dots), (dots, points, dots))
    assert pair.part(0).inner() is pair.part(2).inner()
    assert np.allclose(pair.part(1).squared_distances(False), ((X[:, None] - X) ** 2).sum(axis=2))


def test_refined_distances_serve_those_who_do_not_need_them() -> None:
    points = Points(X)
    pair = Pair.whole(points, points)
    rough = pair.squared_distances(refine=False)
    refined = pair.squared_distances(refine=True)
    assert refined is not rough
    assert pair.squared_distances(refine=False) is refined


def test_manhattan_distances() -> None:
    points = Points(X, np.array([1.0, 2.0, 0.5, 1.0, 1.0]))
    pair = Pair.whole(points, points)
    expected = (np.abs(X[:, None] - X) / np.array([1.0, 2.0, 0.5, 1.0, 1.0])).sum(axis=2)
    assert np.allclose(pair.manhattan_distances(), expected)
