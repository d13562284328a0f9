"""Words beside points do not cover each other."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.lab.handouts import handouts
from mercer.lab.labels import boxes, label_corners, overlaps
from mercer.lab.pictures import picture
from mercer.lab.state import BOX


@pytest.mark.parametrize("name", ["strings", "structured"])
def test_words_of_the_tour_do_not_overlap(name: str) -> None:
    for position, state in handouts()[name].states(name).items():
        scene = picture(state)
        found = boxes(label_corners(scene.places, scene.labels), scene.labels)
        shared = overlaps(found, found)
        np.fill_diagonal(shared, 0.0)
        assert not shared.any(), (position, [scene.labels[i] for i in np.flatnonzero(shared.any(axis=1))])


def test_one_word_stands_beside_its_point() -> None:
    [[x, y]] = label_corners(np.zeros((1, 2)), ["word"])
    assert 0 < x < 12 and y == 0.0
    [[x, _]] = label_corners(np.array([[BOX, 0.0]]), ["word"])
    assert x < 85 * BOX - 20  # to the left, within the picture
    assert label_corners(np.empty((0, 2)), []).shape == (0, 2)
