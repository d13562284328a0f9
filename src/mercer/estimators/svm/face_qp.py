"""The minimum on a face of the box: all free variables at once, with the bounds they meet on the way.

    maximize f'd - d'Kd / 2   with  low <= b + d <= high,  sum d = 0

by block pivoting (Portugal, Judice and Vicente 1994): those that would leave the box are held at their bound, those held
there against their will are let go, all at once, until nobody complains. One factorization serves all rounds: holding
variables R adds the columns of K^-1 at R and a small system, [Z_RR z_R; z_R' 1'z][m; -level] with Z = K^-1, z = K^-1 1.
"""

from __future__ import annotations

import numpy as np

from mercer.errors import NumericalError
from mercer.linalg.cholesky import Factor, cholesky
from mercer.linalg.solution import Array

#: The ridge under the matrix, relative to the mean of k(x, x): a float32 matrix is not positive beyond it.
RIDGE = 1e-6
#: Rounds of pivoting, and how many in a row may fail to reduce the number of complaints.
ROUNDS, PATIENCE = 25, 4
#: At most this share of the variables is held: beyond, pairs should find the face first.
HELD = 0.4


def best_on_face(K: Array, f: Array, b: Array, low: Array, high: Array) -> Array | None:  # (m, m) float64, (m,) -> (m,)
    """The change of b that is best on the face, or the best that was found on the way there; None if there is none.

    >>> K, f, b = np.eye(3), np.array([3.0, 0.0, -3.0]), np.full(3, 0.5)
    >>> np.round(best_on_face(K, f, b, np.zeros(3), np.ones(3)), 4).tolist()
    [0.5, 0.0, -0.5]
    """
    try:
        factor = cholesky(K.copy(), RIDGE * float(np.abs(np.diagonal(K)).mean()), overwrite=True)
    except NumericalError:  # an indefinite kernel has no such minimum
        return None
    d, side, solved = _pivot(factor, f, b, low, high)
    if not np.isfinite(d).all():
        return None
    best, change = 0.0, None
    for t in (1.0,) if solved else (1.0, 0.5, 0.25, 0.1):
        target = b + t * d
        if solved:  # exactly at their bound, not a rounding beside it
            target = np.where(side < 0, low, np.where(side > 0, high, target))
        moved = balanced(target, float(b.sum()), low, high) - b
        gain = float(f @ moved - 0.5 * moved @ (K @ moved))
        if gain > best:
            best, change = gain, moved
        elif change is not None:
            break
    return change


def _pivot(factor: Factor, f: Array, b: Array, low: Array, high: Array) -> tuple[Array, Array, bool]:  # (m,) -> (m,), (m,)
    """The direction after pivoting, who is held at which bound, and whether it is the minimum."""
    m = len(f)
    plain = factor.solve(np.column_stack([f, np.ones(m)]))
    zf, z = plain[:, 0], plain[:, 1]
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
        d, multipliers = _direction(zf, z, columns[:, place[held]], held, np.where(side < 0, low - b, high - b)[held])
        moved = b + d
        below, above = (side == 0) & (moved < low - slack), (side == 0) & (moved > high + slack)
        wrong = held[np.where(side[held] < 0, -multipliers, multipliers) > 1e-9]
        complaints = int(below.sum() + above.sum()) + len(wrong)
        if complaints == 0:
            return d, side, True
        failures = 0 if complaints < least else failures + 1
        least = min(least, complaints)
        side[below], side[above], side[wrong] = -1, 1, 0
        if failures > PATIENCE or np.count_nonzero(side) > HELD * m:
            break
    return d, side, False


def _direction(zf: Array, z: Array, Z: Array, held: Array, target: Array) -> tuple[Array, Array]:  # (m,), (m, r), (r,)
    """d = K^-1 (f + E_R m - level 1) with d_R = target and sum d = 0, and m: f after the step is level - m at R."""
    r = len(held)
    system = np.empty((r + 1, r + 1))
    system[:r, :r], system[:r, r], system[r, :r], system[r, r] = Z[held], z[held], z[held], z.sum()
    right = np.append(target - zf[held], -zf.sum())
    try:
        found = np.linalg.solve(system, right)
    except np.linalg.LinAlgError:
        return np.full(len(z), np.nan), np.zeros(r)
    return zf + Z @ found[:r] + found[r] * z, found[:r]


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
