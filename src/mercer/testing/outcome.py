"""What a law returns: an error held against a bound, or the reason why it does not apply."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Check:
    """The law holds if error <= bound."""

    error: float
    bound: float
    note: str = ""


@dataclass(frozen=True)
class Skip:
    """The law does not apply."""

    reason: str


def distance(left: NDArray[Any], right: NDArray[Any]) -> float:
    """The largest difference of two arrays; infinite if they differ in shape or in where they are not finite."""
    if left.shape != right.shape:
        return np.inf
    with np.errstate(invalid="ignore"):
        difference = np.abs(left - right, dtype=np.float64)
    return float(np.where(np.isnan(difference), np.inf, difference).max(initial=0.0))
