"""Forms of the weight vector of a perceptron: explicit, counts per row, a list of mistakes, a budget. Exact ones agree.

`Primal` holds w in the coordinates of explicit features. `Gram` and `Blocked` are the dual with counts: the scores of all
rows are kept, and an update at row i adds y_i k(x_i, .) to them. `Gram` has the whole matrix; `Blocked` computes a block of
incoming rows among themselves, runs through it one by one, and then adds the updates of the block to all rows with one
product. `Online` keeps only the list of mistakes and evaluates the kernel against it.

`Budgeted` has at most B support vectors. With the policy "removal" the oldest vector leaves a full set with its coefficients
and the new one takes its place. With "projection" a full set stays, and an update goes to the projection of y phi(x) on its
span, alpha += y K_SS^+ k_S(x): from then on this is the exact perceptron of the kernel k_S(x)' K_SS^+ k_S(z).
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from scipy.linalg import pinvh

from mercer.arrays import Array
from mercer.errors import InputError
from mercer.estimators.perceptron.epochs import Mistakes
from mercer.numeric.threads import cpu_count, run
from mercer.numeric.tiles import row_blocks

#: Incoming rows taken at a time: their values among themselves are made whether they are needed or not.
#: Row: perceptron-*.
BLOCK_ROWS = 512
#: Kernel rows are kept after they were computed more often than this: touching new memory costs more than computing a few.
#: Row: perceptron-*.
PATIENCE = 8
#: Columns of an update that one thread does at a time: the scores stay in its first cache. Row: perceptron-*.
STRIP = 2048


class Source(Protocol):
    """Kernel values of one collection with itself."""

    zero: float  # what rounding may leave of a score that is 0

    def submatrix(self, rows: Array, cols: Array | slice, out: Array | None = None) -> Array:
        """Values at the crossings of rows and columns."""
        ...


class Recorder:
    """Arrays for a compiled pass to write mistakes into."""

    def __init__(self, capacity: int) -> None:
        self.arrays: tuple[Any, ...] = (*np.empty((3, max(1, capacity)), np.int64), np.empty(max(1, capacity)))

    def take(self, count: int) -> Mistakes:
        """The first `count` mistakes, as a list of their own."""
        return Mistakes(*[array[:count].copy() for array in self.arrays])


class Primal:
    """w by its coordinates."""

    def __init__(self, Z: Array, Y: Array, zero: float = 0.0) -> None:  # (n, D), (C, n)
        self.Z, self.Y, self.W, self.zero = Z, Y, np.zeros((len(Y), Z.shape[1])), zero

    def epoch(self, order: Array, active: Array, clock: Array, last: bool) -> Mistakes:
        """One pass in compiled code."""
        from mercer.estimators.perceptron._compiled_passes import primal_pass

        record = Recorder(len(order) * len(self.Y))
        return record.take(primal_pass(self.Z, self.W, self.Y, order, active, clock, self.zero, *record.arrays))

    def scores(self) -> Array:
        """W Z'."""
        return np.asarray(self.W @ self.Z.T)


class Gram:
    """The dual with counts on a Gram matrix that is at hand."""

    def __init__(self, K: Array, Y: Array, zero: float = 0.0) -> None:  # (n, n), (C, n)
        self.K, self.Y, self.F, self.zero = K, Y, np.zeros(Y.shape), zero

    def epoch(self, order: Array, active: Array, clock: Array, last: bool) -> Mistakes:
        """One pass in compiled code."""
        from mercer.estimators.perceptron._compiled_passes import gram_pass

        record = Recorder(len(order) * len(self.Y))
        return record.take(gram_pass(self.K, self.F, self.Y, order, active, clock, self.zero, *record.arrays))

    def scores(self) -> Array:
        """The scores it keeps."""
        return self.F


class Blocked:
    """The dual with counts, kernel rows made when a mistake asks for them and kept while there is room."""

    def __init__(self, source: Source, Y: Array, room: int, F: Array | None = None) -> None:  # (C, n), bytes
        self.source, self.Y, self.zero = source, Y, source.zero
        self.F = np.zeros(Y.shape) if F is None else F
        n = Y.shape[1]
        self.capacity = min(n, room // (8 * n))
        self.kept: Array | None = None  # (capacity, n), touched only as far as it is filled
        self.slots, self.used = np.full(n, -1, np.int64), 0  # where the row of an example is kept
        self.asked = np.zeros(n, np.int64)  # how often the row of an example was made
        self.fresh = np.empty(0)  # the rows of one block, in memory that is used over and over
        self.complete = True  # whether F is right for all rows

    def epoch(self, order: Array, active: Array, clock: Array, last: bool) -> Mistakes:
        """Block after block: the kernel among incoming rows, the examples one by one, then one push of all updates."""
        from mercer.estimators.perceptron._compiled_passes import block_pass

        record, found = Recorder(BLOCK_ROWS * len(self.Y)), []
        streaming = last and bool((np.diff(order) == 1).all())  # only rows after this block will be used
        for start in range(0, len(order), BLOCK_ROWS):
            rows = order[start : start + BLOCK_ROWS]
            f, Y = self.F[:, rows], np.ascontiguousarray(self.Y[:, rows])
            K = self.source.submatrix(rows, rows)
            mistakes = record.take(block_pass(K, f, Y, active, clock + start, self.zero, *record.arrays))
            if len(mistakes.rows):
                mistakes = mistakes.renamed(rows[mistakes.rows])
                found.append(mistakes)
                first = int(rows[-1]) + 1 if streaming else 0
                self.complete &= first == 0
                self._push(mistakes, first, keep=not last)
        return Mistakes.joined(found)

    def _push(self, mistakes: Mistakes, first: int, keep: bool) -> None:
        """Add the updates of a block to the scores of all rows from `first` on."""
        rows, place = np.unique(mistakes.rows, return_inverse=True)
        delta = np.zeros((len(self.Y), len(rows)))
        np.add.at(delta, (mistakes.problems, place), self.Y[mistakes.problems, mistakes.rows])
        known = self.slots[rows] >= 0
        if known.any() and self.kept is not None:
            self._add(self.kept[:, first:], self.slots[rows[known]], delta[:, known], first)
        if not known.all() and first < self.Y.shape[1]:
            new = rows[~known]
            values = self._make(new, first)
            self._add(values, np.arange(len(new)), delta[:, ~known], first)
            if keep:  # most rows are wrong once or twice, those that are wrong more often go on being so
                again = np.flatnonzero(self.asked[new] >= PATIENCE)
                self._keep(new[again], values, again)
                self.asked[new] += 1

    def _make(self, rows: Array, first: int) -> Array:
        shape = (len(rows), self.Y.shape[1] - first)
        if len(self.fresh) < shape[0] * shape[1]:
            self.fresh = np.empty(BLOCK_ROWS * shape[1])
        return self.source.submatrix(rows, slice(first, None), self.fresh[: shape[0] * shape[1]].reshape(shape))

    def _add(self, values: Array, slots: Array, delta: Array, first: int) -> None:
        from mercer.estimators.perceptron._compiled_passes import push

        F, n = self.F[:, first:], self.F.shape[1] - first
        slots, delta = np.asarray(slots, np.int64), np.ascontiguousarray(delta)
        strips = range(0, n, STRIP)
        threads = min(cpu_count(), len(strips)) if len(slots) * n > 2**18 else 1
        run(strips, lambda j, worker: push(F, values, slots, delta, j, min(j + STRIP, n)), threads)

    def _keep(self, rows: Array, values: Array, where: Array) -> None:
        few = min(len(rows), self.capacity - self.used)
        if few <= 0:
            return
        if self.kept is None:
            self.kept = np.empty((self.capacity, self.Y.shape[1]))
        self.kept[self.used : self.used + few] = values[where[:few]]
        self.slots[rows[:few]] = np.arange(self.used, self.used + few)
        self.used += few

    def scores(self) -> Array | None:
        """The scores it keeps, if they are right for all rows."""
        return self.F if self.complete else None


class Online:
    """The list of mistakes, evaluated anew for every block of incoming rows."""

    def __init__(self, source: Source, Y: Array) -> None:  # (C, n)
        self.source, self.Y, self.zero = source, Y, source.zero
        self.list = Mistakes.none()

    def epoch(self, order: Array, active: Array, clock: Array, last: bool) -> Mistakes:
        """f(x) = sum over the list of y_i k(x_i, x)."""
        from mercer.estimators.perceptron._compiled_passes import block_pass

        record, found = Recorder(BLOCK_ROWS * len(self.Y)), []
        for start in range(0, len(order), BLOCK_ROWS):
            rows = order[start : start + BLOCK_ROWS]
            f, Y = self._evaluate(rows), np.ascontiguousarray(self.Y[:, rows])
            K = self.source.submatrix(rows, rows)
            mistakes = record.take(block_pass(K, f, Y, active, clock + start, self.zero, *record.arrays))
            found.append(mistakes.renamed(rows[mistakes.rows]))
            self.list = Mistakes.joined([self.list, found[-1]])
        return Mistakes.joined(found)

    def _evaluate(self, rows: Array) -> Array:  # (b,) -> (C, b)
        f = np.zeros((len(self.Y), len(rows)))
        for start in range(0, len(self.list.rows), 8 * BLOCK_ROWS):
            part = slice(start, start + 8 * BLOCK_ROWS)
            made, problems = self.list.rows[part], self.list.problems[part]
            values = self.source.submatrix(rows, made) * self.Y[problems, made]
            for c in np.unique(problems):
                f[c] += values[:, problems == c].sum(axis=1, dtype=np.float64)
        return f

    def scores(self) -> Array:
        """The list evaluated at all rows, a block at a time."""
        n = self.Y.shape[1]
        blocks = [np.arange(rows.start, rows.stop) for rows in row_blocks(n, BLOCK_ROWS)]
        return np.hstack([self._evaluate(rows) for rows in blocks])


POLICIES = ("projection", "removal")


class Budgeted:
    """Slots for B support vectors, with coefficients `alpha` and, for the average, `beta` = sum of y (t - 1)."""

    def __init__(self, source: Source, Y: Array, budget: int, policy: str) -> None:  # (C, n)
        self.source, self.Y, self.budget, self.policy = source, Y, budget, policy
        self.alpha, self.beta = np.zeros((2, len(Y), budget))
        self.held, self.slot_of = np.full(budget, -1, np.int64), np.full(Y.shape[1], -1, np.int64)
        self.state = np.zeros(3, np.int64)  # slots in use, oldest slot, vectors that had to leave
        self.inverse: Array | None = None  # K_SS^+, once the set is full for good
        self.left = False  # whether a vector has left: Novikoff's theorem does not hold from then on

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
