"""Places of words beside their points, where they cover no other word."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mercer.arrays import Array
from mercer.lab.state import BOX

#: Pixels of the figure of a page at full width: per unit, of a small and a capital letter, of a line, and around a point.
UNIT, SMALL, CAPITAL, LINE, POINT = 85.0, 7.2, 9.2, 15.0, 9.0

#: Pixels from a point to its word, nearest first; a line leads to words that are farther than the second.
DISTANCES = (11.0, 17.0, 26.0, 38.0, 52.0, 68.0, 86.0, 106.0, 130.0)
NEAR = DISTANCES[1]
_ANGLES = np.deg2rad([0, 180, 90, 270, 45, 315, 135, 225, 22, 338, 158, 202, 67, 293, 113, 247])


def width(label: str) -> float:
    """Return the width of a word in pixels."""
    return sum(CAPITAL if letter.isupper() else SMALL for letter in label)


def boxes(corners: Array, labels: Sequence[str]) -> Array:  # corners (n, 2) -> (n, 4): left, right, bottom, top
    """Return the boxes of words in pixels, from the middles of their left edges."""
    x, y = corners.T
    return np.column_stack([x, x + [width(label) for label in labels], y - LINE / 2, y + LINE / 2])


def overlaps(box: Array, others: Array) -> Array:  # (..., 4), (m, 4) -> (..., m)
    """Return the areas that boxes share."""
    left, right, bottom, top = (box[..., i, None] for i in range(4))
    across = np.minimum(right, others[:, 1]) - np.maximum(left, others[:, 0])
    upward = np.minimum(top, others[:, 3]) - np.maximum(bottom, others[:, 2])
    return np.maximum(across, 0.0) * np.maximum(upward, 0.0)


def label_corners(places: Array, labels: Sequence[str]) -> Array:  # (n, 2) units -> (n, 2) pixels
    """Return the middle of the left edge of each word, in pixels from the origin.

    Words are set one by one at the nearest of some places around their point that covers no earlier word and no point, or
    at the one that covers least.
    """
    points = UNIT * np.asarray(places, dtype=np.float64).reshape(-1, 2)
    dots = np.column_stack([points[:, :1] - POINT, points[:, :1] + POINT, points[:, 1:] - POINT, points[:, 1:] + POINT])
    around = np.column_stack([np.cos(_ANGLES), np.sin(_ANGLES)])
    set_down, corners = np.empty((0, 4)), np.empty_like(points)
    edge = UNIT * BOX
    for i, (point, label) in enumerate(zip(points, labels, strict=True)):
        back = np.array(
            [width(label) / 2 * (around[:, 0] - 1), np.zeros(len(around))]
        ).T  # the word grows away from its point
        candidates = np.concatenate([point + distance * around + back for distance in DISTANCES])
        found = boxes(candidates, [label] * len(candidates))
        covered = 10.0 * overlaps(found, set_down).sum(axis=1) + overlaps(found, dots).sum(axis=1)
        outside = (found[:, 0] < -edge) | (found[:, 1] > edge) | (found[:, 2] < -edge) | (found[:, 3] > edge)
        best = int(np.argmin(covered + 1e6 * outside))  # the first of the equal ones is the nearest
        corners[i], set_down = candidates[best], np.vstack([set_down, found[best]])
    return corners
