"""Exact quantile regression in a feature space, and its solution path when one more row is added.

The problem is that of KernelQuantileRegressor: minimize sum_i rho(s_i - g(x_i)) + ||f||^2 / (2 C) over g = f + b, with
rho(r) = max(tau r, (tau - 1) r). With G = C K the solution is g(x_i) = sum_j G_ij eta_j + b, where sum_j eta_j = 0 and

    eta_i = tau if s_i > g(x_i),   eta_i = tau - 1 if s_i < g(x_i),   and between if s_i = g(x_i).

If the multiplier of a further row moves from 0 to t, the multipliers of the interpolated rows (s_i = g(x_i)) and b are
linear in t until a multiplier reaches a bound or another row is interpolated: a path with finitely many breaks. At t =
tau the value g(x) of the further row is the largest score s that it can have with s <= g_s(x), where g_s is the fit on
all rows and (x, s): for every larger score the multiplier is tau as well, and g does not change.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from mercer.arrays import Array, Floats
from mercer.errors import NumericalError

#: Added to the diagonal of G, relative to its mean: rows that are equal get different scores at no visible cost.
NUGGET = 1e-9

#: Rows after which sums are computed anew during a fit.
REFRESH = 64

#: Multipliers that differ by less are equal: sums of bounds are, whenever the rank of a quantile is a whole number.
SAME = 1e-11

#: Breaks of one path, as a multiple of the rows, after which it is given up.
MOST_BREAKS = 20


@dataclass
class QuantilePath:
    """The solution for some rows of a problem, to which rows can be added.

    >>> path = QuantilePath.fit(np.zeros((9, 9)), np.arange(9.0), 0.5)
    >>> path.offset, path.cutoff(np.zeros(9), 0.0, 0.5)  # the median, and the bound of the score of a tenth row
    (4.0, 4.0)
    """

    G: Floats  # (n, n) kernel values times C
    scores: Floats  # (n,)
    tau: float
    eta: Floats  # (n,) multipliers; 0 for rows that are not in the problem yet
    rest: Floats  # (n,) score - g
    side: Array  # (n,) +1 and -1: at the upper and lower bound; 0: interpolated; 2: not in the problem yet
    offset: float = 0.0
    breaks: int = field(default=0, repr=False)

    @classmethod
    def fit(cls, G: Array, scores: Array, tau: float) -> QuantilePath:  # (n, n), (n,)
        """Return the solution on all rows, found by adding them one by one."""
        n = len(scores)
        G = np.array(G, dtype=np.float64)
        nugget = NUGGET * max(float(np.mean(np.diagonal(G))), 1e-300)
        G[np.diag_indices(n)] += nugget
        path = cls(G, apart(scores), float(tau), np.zeros(n), np.zeros(n), np.full(n, 2, dtype=np.int8))
        path.side[0], path.offset = 0, float(path.scores[0])
        for j in range(1, n):
            path.add(j)
            if j % REFRESH == 0:
                path.refresh()
        path.refresh()
        return path

    def value(self, column: Floats) -> float:  # (n,)
        """Return g at a point with these kernel values times C."""
        return float(column @ self.eta) + self.offset

    def add(self, j: int) -> None:
        """Add row j to the problem: move its multiplier until the row is interpolated or the multiplier is at a bound."""
        column, corner = self.G[:, j], float(self.G[j, j])
        gap = float(self.scores[j]) - self.value(column)
        target = self.tau if gap > 0 else self.tau - 1.0
        t, left = self._move(column, corner, target, abs(gap))
        self.eta[j] = t
        self.rest[j] = math.copysign(left, gap) if left > 0 else 0.0
        self.side[j] = 0 if left <= 0 else (1 if gap > 0 else -1)

    def cutoff(self, column: Floats, corner: float, target: float) -> float:  # (n,)
        """Return g at a further point when its multiplier is `target`; infinite if no row can make up for it."""
        moved = replace(self, eta=self.eta.copy(), rest=self.rest.copy(), side=self.side.copy())  # threads share self
        t = moved._move(column, corner, target, math.inf)[0] if target else target
        return moved.value(column) + corner * t if t == target else math.copysign(math.inf, target)

    def refresh(self) -> None:
        """Solve for the interpolated rows again, to remove the rounding of many steps."""
        inside, at = np.flatnonzero(self.side == 0), np.flatnonzero((self.side == 1) | (self.side == -1))
        self.eta[at] = np.where(self.side[at] > 0, self.tau, self.tau - 1.0)
        rows = np.concatenate([inside, at])
        if len(inside):
            right = np.append(self.scores[inside] - self.G[np.ix_(inside, at)] @ self.eta[at], -self.eta[at].sum())
            found = self._solved(inside, right)
            self.eta[inside], self.offset = found[:-1], float(found[-1])
        self.rest[rows] = self.scores[rows] - self.G[np.ix_(rows, rows)] @ self.eta[rows] - self.offset
        self.rest[inside] = 0.0

    def _solved(self, inside: Array, right: Floats) -> Floats:  # (e,), (e + 1,) -> (e + 1,)
        """Return the solution of [G 1; 1' 0] x = right on the interpolated rows."""
        e = len(inside)
        system = np.ones((e + 1, e + 1))
        system[:e, :e], system[e, e] = self.G[np.ix_(inside, inside)], 0.0
        return np.asarray(np.linalg.solve(system, right))

    def _move(self, column: Floats, corner: float, target: float, gap: float) -> tuple[float, float]:
        """Move the multiplier of a further point from 0 to `target` or until its distance from g is used up.

        Return the multiplier that was reached and what is left of the distance `gap`.
        """
        t, sign, just_left = 0.0, math.copysign(1.0, target), -1
        for _ in range(MOST_BREAKS * len(self.eta) + 100):
            inside = np.flatnonzero(self.side == 0)
            if len(inside) == 0:  # only the offset can move, towards the rows that can take over
                step = self._shift(sign, gap)
                if step is None:
                    return t, gap
                gap -= step
                if gap <= 0:
                    return t, 0.0
                just_left = -1
                continue
            change = self._solved(inside, -np.append(column[inside], 1.0) * sign)
            drift = -(change[:-1] @ self.G[inside] + column * sign + change[-1])
            closing = sign * float(column[inside] @ change[:-1] + corner * sign + change[-1])
            length, row, leaves = self._first_break(inside, change[:-1], drift, just_left)
            ends = [(target - t) * sign, gap / closing if closing > 0 else math.inf]
            length = min(length, *ends)
            self.eta[inside] += length * change[:-1]
            self.offset += length * float(change[-1])
            known = self.side != 2
            self.rest[known] += length * drift[known]
            self.rest[inside] = 0.0
            t, gap = t + sign * length, gap - length * closing if math.isfinite(gap) else gap
            if abs(target - t) <= SAME:
                return target, max(gap, 0.0)
            if length == ends[1]:
                return t, 0.0
            just_left = self._change(row, leaves)
        raise NumericalError("the path of the quantile regression did not end; scale the scores, or use a larger penalty.")

    def _first_break(self, inside: Array, change: Floats, drift: Floats, just_left: int) -> tuple[float, int, int]:
        """Return the length to the first break, its row, and the bound (+1, -1) that it reaches or 0 if it enters."""
        eta = self.eta[inside]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            up = np.where(change > 0, (self.tau - eta) / change, np.inf)
            down = np.where(change < 0, (self.tau - 1.0 - eta) / change, np.inf)
            enters = np.where(
                ((self.side == 1) & (drift < 0)) | ((self.side == -1) & (drift > 0)), -self.rest / drift, np.inf
            )
        if just_left >= 0:
            enters[just_left] = np.inf
        candidates = [(up, 1), (down, -1), (enters, 0)]
        lengths = [float(values.min()) for values, _ in candidates]
        which = int(np.argmin(lengths))
        place = int(candidates[which][0].argmin())
        return max(lengths[which], 0.0), int(inside[place]) if which < 2 else place, candidates[which][1]

    def _change(self, row: int, bound: int) -> int:
        """Let a row reach a bound, or be interpolated (0); return the row if it left the interpolated ones, else -1."""
        self.breaks += 1
        self.side[row], self.rest[row] = bound, 0.0
        if bound:
            self.eta[row] = self.tau if bound > 0 else self.tau - 1.0
        return row if bound else -1

    def _shift(self, sign: float, most: float) -> float | None:
        """Move the offset to the nearest row on its way, at most by `most`; None if there is no end to it."""
        ahead = np.flatnonzero(self.side == int(sign))
        row = int(ahead[np.argmin(np.abs(self.rest[ahead]))]) if len(ahead) else -1
        step = abs(float(self.rest[row])) if len(ahead) else math.inf
        if math.isinf(step) and math.isinf(most):
            return None
        known = self.side != 2
        moved = min(step, most)
        self.offset += sign * moved
        self.rest[known] -= sign * moved
        if step <= most:
            self._change(row, 0)
        return moved


def apart(scores: Array) -> Floats:  # (n,) -> (n,)
    """Return the scores with equal ones moved apart by some units of rounding of the largest, so that breaks do not tie.

    >>> moved = apart(np.ones(3))
    >>> len(set(moved.tolist())), bool(np.abs(moved - 1.0).max() < 1e-9)
    (3, True)
    """
    values = np.array(scores, dtype=np.float64)
    if len(np.unique(values)) == len(values):
        return values
    size = max(float(np.abs(values).max()), 1e-300)
    return np.asarray(values + 1e-10 * size * np.random.default_rng(0).random(len(values)))
