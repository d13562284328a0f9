"""The loop that all large box problems share: move some variables, bring the sums of all rows up to date, measure the gap.

The weights that move are signed, b = s a: then f = -s (Qa + linear) = c - Kb with c = -s linear does not contain the signs
any more, and a step takes weight from one variable to another. The loop stops when the largest f of a variable that may
rise exceeds the smallest f of one that may fall by less than `tol`, LIBSVM's rule. Sums run in float64 over all rows, so
they are not rebuilt at the end. Which variables move, and how, is up to `WorkingSets` and `HeldMatrix`.
"""

from __future__ import annotations

import math
import time
from typing import Any, final

import numpy as np

from mercer.arrays import Array
from mercer.errors import InputError, NumericalError
from mercer.linalg.box_qp.problems import BoxProblem, BoxSolution, KernelMatrix, Tick, converged_message, offset_and_scale

#: Turns without a smaller gap after which rounding is taken to be the cause.
STALLED = 1000


@final
class SignedWeights:
    """Weights b = s a between their bounds, c = -s linear, and K b on all rows of the Gram."""

    def __init__(self, problem: BoxProblem, n: int) -> None:
        signs, upper = np.asarray(problem.signs, dtype=np.float64), np.asarray(problem.upper, dtype=np.float64)
        rows = None if problem.rows is None else np.asarray(problem.rows, dtype=np.int64)
        if rows is not None and len(rows) == n and (rows == np.arange(n)).all():
            rows = None  # all of them in order
        self.rows, self.signs, self.c = rows, signs, -signs * problem.linear
        self.low, self.high = np.where(signs > 0, 0.0, -upper) + 0.0, np.where(signs > 0, upper, 0.0)
        self.b = np.clip(signs * problem.start, self.low, self.high)
        self.groups = 1 + bool(problem.split)
        self.group = (signs < 0).astype(np.int64) if problem.split else np.zeros(len(signs), dtype=np.int64)
        self.sums = np.zeros(n)  # (n,) K b, by rows of the Gram

    def by_row(self, chosen: Array) -> tuple[Array, Array]:  # (m,) variables -> rows of the Gram and their weights
        """The weights of some variables as weights of rows; two variables of one row are added."""
        if self.rows is None:
            return chosen, self.b[chosen]
        total = np.bincount(self.rows[chosen], self.b[chosen], minlength=len(self.sums))
        where = np.flatnonzero(total)
        return where, total[where]

    def row_sums(self) -> Array:
        """K b by variable."""
        return self.sums if self.rows is None else self.sums[self.rows]

    def gradient(self) -> Array:
        """f = c - K b by variable."""
        return self.c - self.row_sums()

    def free(self) -> Array:  # -> (m,) bool
        """The variables strictly between their bounds."""
        return (self.b < self.high) & (self.b > self.low)

    def start(self, gram: KernelMatrix, gradient: Array | None = None) -> None:
        """Compute the sums of the weights; `gradient` (m,) of the problem saves the product with the matrix.

        With it only the sums of rows behind a variable are known, which is enough on a whole matrix.
        """
        if gradient is not None:
            self.sums[slice(None) if self.rows is None else self.rows] = self.signs * gradient + self.c
            return
        moved = np.flatnonzero(self.b)
        if moved.size:
            self.sums += gram.product(*self.by_row(moved))

    def survey(self) -> tuple[Array, Array, Array]:  # (n,), (groups,), (groups,)
        """f, its maximum over variables that may rise and its minimum over those that may fall, by group."""
        from mercer.linalg.box_qp._compiled_loops import survey

        f, top, bottom = self.gradient(), np.empty(self.groups), np.empty(self.groups)
        survey(f, self.b, self.low, self.high, self.group, top, bottom)
        return f, top, bottom

    def gap(self) -> float:
        """LIBSVM's violation: the largest f of a variable that may rise minus the smallest of one that may fall."""
        _, top, bottom = self.survey()
        return max(0.0, float((top - bottom).max()))

    def solution(self, problem: BoxProblem, watch: Watch) -> BoxSolution:
        """The solution at these weights."""
        linear = np.asarray(problem.linear, dtype=np.float64)
        value = self.signs * self.b + 0.0  # no -0.0
        gradient = self.signs * self.row_sums() + linear
        f, top, bottom = self.survey()
        free = self.free()
        levels = [_level(f[free & (self.group == g)], top[g], bottom[g]) for g in range(self.groups)]
        offset, scale = offset_and_scale(problem, levels[0], levels[-1])
        objective = 0.5 * float(value @ (gradient + linear))
        gap = max(0.0, float((top - bottom).max()))
        return BoxSolution(value, gradient, offset, scale, objective, gap, watch.converged, watch.steps, watch.message)


def _level(free: Array, top: float, bottom: float) -> float:
    """The common f of the free variables; between the bounds on it if none is free."""
    if free.size:
        return float(free.mean())
    known = [float(bound) for bound in (top, bottom) if np.isfinite(bound)]
    return sum(known) / len(known) if known else 0.0


@final
class Watch:
    """Steps made, limits, progress, and the message about how the work ended."""

    def __init__(
        self, tol: float, max_iter: int, time_limit: float | None, tick: Tick | None, n: int, unbounded: bool
    ) -> None:
        if not tol > 0:
            raise InputError(f"solve_box: tol must be > 0; got {tol!r}.")
        if time_limit is not None and not time_limit > 0:
            raise InputError(f"solve_box: time_limit must be a number of seconds > 0; got {time_limit!r}.")
        self.tol, self.tick, self.unbounded = tol, tick, unbounded
        self.limited = max_iter >= 0
        self.most = max_iter if self.limited else max(10**7, 100 * n)
        self.deadline = None if time_limit is None else time.monotonic() + time_limit
        self.time_limit = time_limit
        self.steps, self.converged, self.message = 0, False, ""
        self.first = 0.0

    @property
    def left(self) -> int:
        """Steps that may still be made."""
        return max(0, self.most - self.steps)

    def seconds_left(self) -> float | None:
        """Seconds until the time limit, if there is one."""
        return None if self.deadline is None else max(1e-9, self.deadline - time.monotonic())

    def tick_only(self, done: int, total: int) -> None:
        """Call tick for a problem that is a part of this one: no progress to report, but an interrupt gets through."""
        if self.tick is not None:
            self.tick(0, 100)

    def look(self, gap: float) -> bool:
        """Report progress, and return whether the work may go on."""
        self.first = max(self.first, gap)
        if self.tick is not None and gap > 0:
            span = math.log(max(self.first / self.tol, 1.0 + 1e-9))
            self.tick(int(min(100.0, max(0.0, 100 * math.log(self.first / max(gap, self.tol)) / span))), 100)
        if self.left == 0:
            limit = f"max_iter={self.most}" if self.limited else f"{self.most} steps"
            self.message = f"stopped at {limit} with a gap of {gap:.2g}, above tol={self.tol:g}"
            return False
        if self.deadline is not None and time.monotonic() > self.deadline:
            self.message = f"stopped at time_limit={self.time_limit:g} s with a gap of {gap:.2g}, above tol={self.tol:g}"
            return False
        return True

    def stalled(self, gap: float) -> None:
        """Note that no step makes the gap smaller."""
        self.message = f"no further progress: gap {gap:.2g} is what rounding leaves, above tol={self.tol:g}"

    def done(self, gap: float) -> None:
        """Note that the gap is below tol."""
        self.converged, self.message = True, converged_message(gap, self.tol, self.steps)


class Descent:
    """Abstract: turns of moves until the gap is closed."""

    def __init__(self, state: SignedWeights, gram: Any, watch: Watch) -> None:
        self.state, self.gram, self.watch = state, gram, watch
        self.n = len(state.b)
        self.gap = np.inf

    def turn(self, f: Array, top: Array, bottom: Array) -> None:  # (n,), (groups,), (groups,)
        """Move some variables, given f and its limits (`SignedWeights.survey`)."""
        raise NotImplementedError  # pragma: no cover - abstract

    def run(self) -> None:
        """Take turns until the tolerance or a limit is reached."""
        best, stalled, before = np.inf, 0, -1
        while True:
            f, top, bottom = self.state.survey()
            last, gap = self.gap, max(0.0, float((top - bottom).max()))
            self.gap = gap
            self.refuse_undefined()
            if gap < self.watch.tol:
                self.watch.done(gap)
                return
            stalled = 0 if gap < best else stalled + 1
            best = min(best, gap)
            if (self.watch.steps == before and gap >= last) or stalled > STALLED:
                self.watch.stalled(gap)
                return
            if not self.watch.look(gap):
                return
            before = self.watch.steps
            self.turn(f, top, bottom)
            self.refuse_unbounded()

    def refuse_undefined(self) -> None:
        """Raise if kernel values are NaN or infinite: the sums show it, and comparisons with them have no meaning."""
        with np.errstate(invalid="ignore"):
            finite = np.isfinite(self.state.sums.sum())
        if not finite:
            raise NumericalError(
                "the kernel values are not all finite numbers (in float32, where tol is 1e-4 or more). Scale the columns, "
                "or look for NaN in what the kernel returns."
            )

    def refuse_unbounded(self) -> None:
        """With an infinite bound: raise if the weights prove that the hulls touch and no plane separates the data."""
        if not self.watch.unbounded:
            return
        state = self.state
        total = float(np.abs(state.b).sum())
        squared = float(state.b @ state.row_sums())
        largest = float(np.asarray(self.gram.diag()).max())
        # factor by factor: the square of very large weights may overflow
        if total > 0 and squared <= 1e-12 * largest * (total / 2) * (total / 2):
            raise InputError(
                "C = inf requires a hard margin, but the classes are not separable with this kernel: a weighted mean of one "
                f"class equals one of the other (distance {2 * max(squared, 0.0) ** 0.5 / total:.1e}). Choose a finite C."
            )
