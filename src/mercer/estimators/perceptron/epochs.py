"""Epochs of the perceptron over examples, for one or several two-class problems at once, and the mistakes made in them.

w <- w + y_i phi(x_i) whenever y_i <w, phi(x_i)> <= 0. A form of w (see `weight_forms`) makes one epoch. A run keeps the list
of mistakes, from which everything else follows:

    counts times labels    alpha_i = sum of y_i over the mistakes at i
    averaged weights       sum of y_i (T - t + 1) / T, t the presentation at which the mistake was made, T their number
    ||w_t||^2              grows by 2 y_i <w_{t-1}, phi(x_i)> + k(x_i, x_i) at every update
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

import numpy as np

from mercer.arrays import Array
from mercer.registry import record


@record()
@dataclass(frozen=True)
class Mistakes:
    """Mistakes in the order made: the row, the problem it happened in, the presentation (from 1), the score before."""

    _stored: ClassVar[dict[str, str]] = {
        "rows": "int (T,) >= 0",
        "problems": "int (T,) >= 0",
        "times": "int (T,) >= 0",
        "scores": "real (T,)",
    }

    rows: Array  # (T,)
    problems: Array  # (T,)
    times: Array  # (T,)
    scores: Array  # (T,)

    @classmethod
    def none(cls) -> Mistakes:
        """An empty list."""
        return cls(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))

    @classmethod
    def joined(cls, parts: list[Mistakes]) -> Mistakes:
        """One list after the other."""
        if not parts:
            return cls.none()
        fields = zip(*[(p.rows, p.problems, p.times, p.scores) for p in parts], strict=True)
        return cls(*[np.concatenate(part) for part in fields])

    def of(self, problem: int) -> Mistakes:
        """Those of one problem."""
        own = self.problems == problem
        return Mistakes(self.rows[own], self.problems[own], self.times[own], self.scores[own])

    def renamed(self, rows: Array) -> Mistakes:
        """The same mistakes with other row numbers."""
        return Mistakes(rows, self.problems, self.times, self.scores)

    def sums(self, Y: Array) -> tuple[Array, Array]:  # (C, n) -> (n, C), (n, C)
        """sum of y and sum of y (t - 1) per row and problem; with T presentations the average is the first - second / T."""
        signs = Y[self.problems, self.rows]
        first, second = np.zeros(Y.T.shape), np.zeros(Y.T.shape)
        np.add.at(first, (self.rows, self.problems), signs)
        np.add.at(second, (self.rows, self.problems), signs * (self.times - 1))
        return first, second

    def squared_norms(self, Y: Array, diagonal: Array, start: float = 0.0) -> Array:
        """||w_t||^2 after every update of one problem, (T,)."""
        signs = Y[self.problems, self.rows]
        return np.asarray(start + np.cumsum(2.0 * signs * self.scores + diagonal[self.rows]))


class Form(Protocol):
    """A way to hold w and to make an epoch."""

    def epoch(self, order: Array, active: Array, clock: Array, last: bool) -> Mistakes:
        """Present the rows of `order` once. `last` is True if no epoch follows."""
        ...

    def scores(self) -> Array | None:
        """<w, phi(x_i)> of all rows, (C, n), where the form has them."""
        ...


@dataclass
class Run:
    """What happened: the mistakes, epochs and presentations per problem, and which problems had an epoch without one."""

    mistakes: Mistakes
    epochs: Array  # (C,)
    presented: Array  # (C,)
    converged: Array  # (C,)
    stopped: Array = field(default_factory=lambda: np.empty(0, bool))  # (C,) by the watcher


def run(
    form: Form,
    problems: int,
    orders: Callable[[int], Array],
    max_iter: int,
    watch: Callable[[int, Array, Mistakes, Array], Array] | None = None,
    presented: Array | None = None,
) -> Run:
    """Make epochs until every problem had one without mistakes, at most max_iter.

    orders(epoch) gives the rows to present. watch(epochs made, active problems, mistakes of the epoch, presentations) may
    stop problems. `presented` are the presentations made before, in a stream.
    """
    active, stopped = np.ones(problems, bool), np.zeros(problems, bool)
    epochs, converged = np.zeros(problems, np.int64), np.zeros(problems, bool)
    clock = np.zeros(problems, np.int64) if presented is None else presented.astype(np.int64)
    found: list[Mistakes] = []
    for epoch in range(max_iter):
        order = np.ascontiguousarray(orders(epoch), dtype=np.int64)
        mistakes = form.epoch(order, active, clock, epoch + 1 == max_iter)
        found.append(mistakes)
        clock[active] += len(order)
        epochs[active] += 1
        clean = active & (np.bincount(mistakes.problems, minlength=problems) == 0)
        converged |= clean
        active &= ~clean
        if watch is not None and active.any():
            caught = active & watch(epoch + 1, active, mistakes, clock)
            stopped |= caught
            active &= ~caught
        if not active.any():
            break
    return Run(Mistakes.joined(found), epochs, clock, converged, stopped)
