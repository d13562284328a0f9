"""A Newton step on a face of the box: the variables strictly inside their bounds, all at once.

Sequential minimal optimization moves two variables at a time. Where many are free and the box is wide it zigzags between
them for millions of steps, and one linear system of the size of the free set takes it to the minimum on the face. The step
is cut to the box, and as long as it lowers the objective most.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from mercer.linalg.solution import Array

#: Free variables beyond which a system costs more than the steps it saves.
MOST = 1500
#: Lengths of the step that are tried, longest first.
LENGTHS = (1.0, 0.5, 0.25, 0.1, 0.03)
#: What is added to the diagonal, relative to its largest entry: rounding of a float32 matrix takes as much from it.
RIDGE = 1e-7


def descend_face(K: Array, f: Array, b: Array, low: Array, high: Array, group: Array, groups: int) -> bool:  # (q, q), (q,) …
    """Move the free entries of b in place towards the minimum on their face; f follows. False if that led nowhere."""
    free = np.flatnonzero((b > low) & (b < high))
    if not groups < len(free) <= MOST:
        return False
    among = K[np.ix_(free, free)].astype(np.float64)
    way = _direction(among, f[free], group[free], groups)
    if way is None or not np.isfinite(way).all():
        return False
    best, change = 0.0, None
    for length in LENGTHS:
        moved = b[free] + length * way
        for g in range(groups):
            own = group[free] == g
            moved[own] = _in_box(moved[own], float(b[free][own].sum()), low[free][own], high[free][own])
        moved -= b[free]
        gain = float(f[free] @ moved - 0.5 * moved @ among @ moved)
        if gain > best:
            best, change = gain, moved
        elif change is not None:
            break
    if change is None:
        return False
    before = b[free].copy()
    b[free] = np.clip(before + change, low[free], high[free])
    f -= (b[free] - before) @ K[free].astype(np.float64)
    return True


def _in_box(b: Array, total: float, low: Array, high: Array) -> Array:  # (m,) -> (m,)
    """b cut to its bounds, what may still move shifted by one number until the sum is the wanted one.

    >>> _in_box(np.array([2.0, 0.2, 0.3]), 1.5, np.zeros(3), np.ones(3)).tolist()
    [1.0, 0.2, 0.3]
    """
    b = np.clip(b, low, high)
    for _ in range(60):
        missing = total - float(b.sum())
        may = b < high if missing > 0 else b > low
        if abs(missing) <= 1e-15 * float(np.abs(b).sum()) or not may.any():
            break
        b = np.clip(np.where(may, b + missing / may.sum(), b), low, high)
    return b


def _direction(A: Array, r: Array, group: Array, groups: int) -> Array | None:  # (m, m), (m,), (m,) -> (m,)
    """The Newton direction that keeps the sum of every group; a small ridge stands in for what rounding took from A."""
    m = len(A)
    E = (group[:, None] == np.arange(groups)).astype(np.float64)
    E = E[:, E.any(axis=0)]
    scale = max(float(np.abs(np.diagonal(A)).max()), 1e-300)
    ridged = A.copy()
    ridged.flat[:: m + 1] += RIDGE * scale
    try:
        factor = cho_factor(ridged, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return None
    solved = cho_solve(factor, np.column_stack([r, E]), check_finite=False)
    way = solved[:, 0] - solved[:, 1:] @ np.linalg.solve(E.T @ solved[:, 1:], E.T @ solved[:, 0])
    return np.asarray(way - E @ ((E.T @ way) / E.sum(axis=0)))  # rounding must not move the sums
