"""A perceptron with at most B support vectors.

"removal": when the set is full, the oldest vector leaves with its coefficients, and the new one takes its place.
"projection": when the set is full it stays as it is, and an update goes to the projection of y phi(x) on its span,
alpha += y K_SS^+ k_S(x): from then on this is the exact perceptron of the kernel k_S(x)' K_SS^+ k_S(z).
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import pinvh

from mercer.arrays import Array
from mercer.errors import InputError
from mercer.estimators.perceptron.forms import BLOCK_ROWS, Recorder, Source
from mercer.estimators.perceptron.passes import Mistakes

POLICIES = ("projection", "removal")


class Budgeted:
    """Slots for B support vectors, with coefficients `alpha` and, for the average, `beta` = sum of y (t - 1)."""

    def __init__(self, source: Source, Y: Array, budget: int, policy: str) -> None:  # (C, n)
        self.source, self.Y, self.budget, self.policy = source, Y, budget, policy
        self.alpha, self.beta = np.zeros((2, len(Y), budget))
        self.held, self.slot_of = np.full(budget, -1, np.int64), np.full(Y.shape[1], -1, np.int64)
        self.state = np.zeros(3, np.int64)  # slots in use, oldest slot, vectors that had to leave
        self.inverse: Array | None = None  # K_SS^+, once the set is full for good
        self.left = False  # whether the set had to give way: from then on Novikoff's theorem says nothing

    def start(self, alpha: Array, beta: Array) -> None:  # (S, C), (S, C)
        """Begin with the first S rows in the slots, oldest first, as an earlier batch left them."""
        size = len(alpha)
        if size > self.budget:
            raise InputError(
                f"KernelPerceptron: {size} support vectors are held already, more than budget={self.budget}; set a budget "
                "before the first batch."
            )
        self.held[:size] = self.slot_of[:size] = np.arange(size)
        self.alpha[:, :size], self.beta[:, :size] = alpha.T, beta.T
        self.state[0] = size

    def epoch(self, order: Array, active: Array, clock: Array, last: bool) -> Mistakes:
        """Block after block."""
        found, start = [], 0
        while start < len(order):
            rows = order[start : start + BLOCK_ROWS]
            mistakes, seen = self._block(rows, active, clock + start)
            found.append(mistakes)
            start += seen
        return Mistakes.joined(found)

    def _block(self, rows: Array, active: Array, clock: Array) -> tuple[Mistakes, int]:
        from mercer.estimators.perceptron._compiled_passes import projection_pass, removal_pass

        record, used = Recorder(BLOCK_ROWS * len(self.Y)), int(self.state[0])
        Y = np.ascontiguousarray(self.Y[:, rows])
        V = np.zeros((len(rows), self.budget))
        if used:
            V[:, :used] = self.source.submatrix(rows, self.held[:used])
        if self.policy == "projection" and used == self.budget:
            if self.inverse is None:
                held = self.held.copy()
                self.inverse = pinvh(np.asarray(self.source.submatrix(held, held), dtype=np.float64))
            mistakes = record.take(
                projection_pass(
                    V @ self.inverse, V, self.alpha, self.beta, Y, rows, active, clock, self.source.zero, *record.arrays
                )
            )
            self.left |= bool((self.slot_of[mistakes.rows] < 0).any())
            return mistakes, len(rows)
        K = self.source.submatrix(rows, rows)
        whole = self.policy == "removal"
        count, seen = removal_pass(
            K, V, self.alpha, self.beta, self.slot_of, self.held, self.state, whole,
            Y, rows, active, clock, self.source.zero, *record.arrays,
        )  # fmt: skip
        self.left |= bool(self.state[2])
        return record.take(count), seen

    def support(self) -> tuple[Array, Array, Array]:  # (S,), (S, C), (S, C)
        """The rows held, oldest first, with their alpha and beta."""
        used, oldest = int(self.state[0]), int(self.state[1])
        slots = np.roll(np.arange(used), -oldest)
        return self.held[slots], self.alpha[:, slots].T, self.beta[:, slots].T

    def scores(self) -> Array | None:
        """Not kept."""
        return None
