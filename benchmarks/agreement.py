"""Differences between the results of two contestants, as one number; 0 means equal."""

from __future__ import annotations

from typing import Any

import numpy as np

#: Rows compared at a time; comparing two large matrices must not need a third.
CHUNK = 512


def absolute(ours: Any, theirs: Any) -> float:
    """max |ours - theirs|; nan where either has one, inf for different shapes."""
    a, b = np.asarray(ours), np.asarray(theirs)
    if a.shape != b.shape:
        return float("inf")
    a, b = np.atleast_1d(a), np.atleast_1d(b)
    parts = [_largest(a[i : i + CHUNK], b[i : i + CHUNK]) for i in range(0, len(a), CHUNK)]
    return float(np.max(parts)) if parts else 0.0


def relative(ours: Any, theirs: Any) -> float:
    """max |ours - theirs| / max |theirs|."""
    largest = float(np.max(np.abs(np.asarray(theirs, dtype=np.float64)), initial=0.0))
    difference = absolute(ours, theirs)
    return difference / largest if largest > 0 else difference


def _largest(a: Any, b: Any) -> float:
    # float64 for both: a difference of two float32 numbers would hide half of the digits it is about
    return float(np.max(np.abs(a.astype(np.float64) - b.astype(np.float64)), initial=0.0))
