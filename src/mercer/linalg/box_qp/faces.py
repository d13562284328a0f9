"""Faces of the box: the variables strictly inside their bounds, moved all at once.

Sequential minimal optimization moves two variables at a time. Where many are free and the box is wide it zigzags between
them for millions of steps, and one linear system of the size of the free set takes it to the minimum on the face:

    maximize f'd - d'Kd / 2   with  low <= b + d <= high,  E'd = 0   (E: which variables keep their sum together)

`descend_face` takes a Newton step, cut to the box, as long as it lowers the objective most. `best_on_face` goes on to the
bounds that are met, by block pivoting (Portugal, Judice and Vicente 1994): variables that would leave the box are held at
their bound, those whose multiplier has the wrong sign are let go, all at once, until there are none. One factorization
serves all rounds: holding variables R adds the columns of K^-1 at R and a small system.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from mercer.arrays import Array
from mercer.errors import NumericalError
from mercer.linalg.cholesky import Factor, cholesky

#: Free variables beyond which a Newton step costs more than the steps it saves. Row: svm-grid-covtype.
MOST = 1500
#: Lengths of the step that are tried, longest first.
LENGTHS = (1.0, 0.5, 0.25, 0.1, 0.03)
#: What is added to the diagonal, relative to k(x, x): rounding of a float32 matrix takes as much from it. For a Newton step
#: relative to the largest, for pivoting, which needs a matrix that is surely positive, to the mean.
RIDGE, PIVOTING_RIDGE = 1e-7, 1e-6
#: Rounds of pivoting, and how many in a row may fail to reduce the number of variables on the wrong side.
ROUNDS, PATIENCE = 25, 4
#: At most this share of the variables is held: beyond, pairs should find the face first. Row: svm-grid-covtype.
HELD = 0.4


def descend_face(K: Array, f: Array, b: Array, low: Array, high: Array, group: Array, groups: int) -> bool:  # (q, q), (q,) …
    """Move the free entries of b in place towards the minimum on their face; f follows. False if that led nowhere."""
    free = np.flatnonzero((b > low) & (b < high))
    if not groups < len(free) <= MOST:
        return False
    among, start, r = K[np.ix_(free, free)].astype(np.float64), b[free], f[free]
    E = (group[free, None] == np.arange(groups)).astype(np.float64)
    E = E[:, E.any(axis=0)]
    factor = _factor(among, RIDGE * max(float(np.abs(np.diagonal(among)).max()), 1e-300))
    if factor is None:
        return False
    solved = factor.solve(np.column_stack([r, E]))
    way, _ = _direction(solved, E, np.empty((len(free), 0)), np.empty(0, dtype=np.int64), np.empty(0))
    way -= E @ ((E.T @ way) / E.sum(axis=0))  # rounding must not move the sums
    if not np.isfinite(way).all():
        return False

    def cut(target: Array) -> Array:
        for own in E.T > 0:
            target[own] = balanced(target[own], float(start[own].sum()), low[free][own], high[free][own])
        return target - start

    change = _best(among, r, (cut(start + length * way) for length in LENGTHS))
    if change is None:
        return False
    b[free] = np.clip(start + change, low[free], high[free])
    f -= (b[free] - start) @ K[free].astype(np.float64)
    return True


def best_on_face(K: Array, f: Array, b: Array, low: Array, high: Array) -> Array | None:  # (m, m) float64, (m,) -> (m,)
    """The change of b that is best on the face, or the best that was found before; None if there is none.

    >>> K, f, b = np.eye(3), np.array([3.0, 0.0, -3.0]), np.full(3, 0.5)
    >>> np.round(best_on_face(K, f, b, np.zeros(3), np.ones(3)), 4).tolist()
    [0.5, 0.0, -0.5]
    """
    factor = _factor(K, PIVOTING_RIDGE * float(np.abs(np.diagonal(K)).mean()))
    if factor is None:
        return None
    d, side, solved = _pivot(factor, f, b, low, high)
    if not np.isfinite(d).all():
        return None
    total = float(b.sum())
    if solved:  # exactly at their bound, not off by a rounding error
        targets = [np.where(side < 0, low, np.where(side > 0, high, b + d))]
    else:
        targets = [b + t * d for t in LENGTHS[:4]]
    return _best(K, f, (balanced(target, total, low, high) - b for target in targets))


def _factor(K: Array, ridge: float) -> Factor | None:  # (m, m)
    """The Cholesky factor of K + ridge I; an indefinite kernel has none."""
    try:
        return cholesky(K.copy(), ridge, overwrite=True)
    except NumericalError:
        return None


def _best(K: Array, f: Array, changes: Iterable[Array]) -> Array | None:  # (m, m), (m,) -> (m,)
    """The change with the largest gain f'd - d'Kd / 2, if one is positive; they come longest first."""
    best, found = 0.0, None
    for change in changes:
        gain = float(f @ change - 0.5 * change @ (K @ change))
        if gain > best:
            best, found = gain, change
        elif found is not None:
            break
    return found


def _pivot(factor: Factor, f: Array, b: Array, low: Array, high: Array) -> tuple[Array, Array, bool]:  # (m,) -> (m,), (m,)
    """The direction after pivoting, which variables are held at which bound, and whether it is the minimum."""
    m = len(f)
    E = np.ones((m, 1))
    plain = factor.solve(np.column_stack([f, E]))
    side = np.zeros(m, dtype=np.int64)  # -1 held at low, +1 held at high
    columns, place = np.empty((m, 0)), np.full(m, -1)  # K^-1 at those ever held, and where each stands
    least, failures = m + 1, 0
    slack = 1e-9 * (1.0 + np.abs(b))
    for _ in range(ROUNDS):
        held = np.flatnonzero(side)
        new = held[place[held] < 0]
        if len(new):
            unit = np.zeros((m, len(new)))
            unit[new, np.arange(len(new))] = 1.0
            place[new] = columns.shape[1] + np.arange(len(new))
            columns = np.concatenate([columns, factor.solve(unit)], axis=1)
        d, multipliers = _direction(plain, E, columns[:, place[held]], held, np.where(side < 0, low - b, high - b)[held])
        moved = b + d
        below, above = (side == 0) & (moved < low - slack), (side == 0) & (moved > high + slack)
        wrong = held[np.where(side[held] < 0, -multipliers, multipliers) > 1e-9]
        violations = int(below.sum() + above.sum()) + len(wrong)
        if violations == 0:
            return d, side, True
        failures = 0 if violations < least else failures + 1
        least = min(least, violations)
        side[below], side[above], side[wrong] = -1, 1, 0
        if failures > PATIENCE or np.count_nonzero(side) > HELD * m:
            break
    return d, side, False


def _direction(plain: Array, E: Array, Z: Array, held: Array, target: Array) -> tuple[Array, Array]:
    # (m, 1 + g), (m, g), (m, r), (r,), (r,) -> (m,), (r,)
    """d = K^-1 (f + E_R m - E level) with d_R = target and E'd = 0, and m: f after the step is E level - m at R.

    `plain` is K^-1 [f, E], `Z` the columns of K^-1 at R.
    """
    r, zf, zE = len(held), plain[:, 0], plain[:, 1:]
    system = np.block([[Z[held], zE[held]], [zE[held].T, E.T @ zE]])
    right = np.concatenate([target - zf[held], -(E.T @ zf)])
    try:
        found = np.linalg.solve(system, right)
    except np.linalg.LinAlgError:
        return np.full(len(zf), np.nan), np.zeros(r)
    return zf + Z @ found[:r] + zE @ found[r:], found[:r]


def balanced(b: Array, total: float, low: Array, high: Array) -> Array:  # (m,) -> (m,)
    """b cut to the box, with all inside it shifted by one number so that the sum is kept.

    >>> balanced(np.array([2.0, 0.2, 0.3]), 1.5, np.zeros(3), np.ones(3)).tolist()
    [1.0, 0.2, 0.3]
    """
    b = np.clip(b, low, high)
    for _ in range(50):
        missing = total - b.sum()
        may = (b > low) & (b < high)
        if not may.any():
            may = b < high if missing > 0 else b > low
        if abs(missing) <= 1e-13 * np.abs(b).sum() or not may.any():
            break
        b = np.clip(np.where(may, b + missing / may.sum(), b), low, high)
    return b
