"""Classes as regression on indicators, and scores back to probabilities."""

from __future__ import annotations

import numpy as np

from mercer.arrays import Floats

#: Scores are cut off below and raised to a power before they are divided by their sum; both are chosen by log-loss.
FLOORS = (0.001, 0.01, 0.03)
POWERS = (1.0, 1.5, 2.0, 3.0, 4.0)


def probabilities(F: Floats, floor: float, power: float) -> Floats:  # (n, c) -> (n, c)
    """max(f_c, floor)^power divided by its sum over the classes."""
    P = np.maximum(F, floor) ** power
    return np.asarray(P / P.sum(axis=1, keepdims=True))


def calibrated(F: Floats, Y: Floats) -> tuple[float, float]:  # (n, c), (n, c) -> floor, power
    """The floor and power of the smallest log-loss on held-out scores F with indicators Y."""
    best = (np.inf, FLOORS[1], POWERS[1])
    for floor in FLOORS:
        for power in POWERS:
            loss = float(-np.log(np.sum(probabilities(F, floor, power) * Y, axis=1)).mean())
            best = min(best, (loss, floor, power))
    return best[1], best[2]
