"""Passes of the perceptron: one example after the other, which no matrix product expresses.

Every pass writes the mistakes it makes, in order, into `rows`, `labels`, `times` and `scores`, and returns their number.
Y holds -1 and +1 for C problems at once; a problem that is not `active` makes no mistakes. Time counts presentations.
A score is wrong if y score <= zero, where `zero` is what rounding leaves of a score that is 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Array, Floats, Ints
from mercer.numeric._compiled_notice import njit


@njit()
def block_pass(
    K: Array, f: Floats, Y: Floats, active: NDArray[np.bool_], clock: Ints, zero: float,
    rows: Ints, labels: Ints, times: Ints, scores: Floats,
) -> int:  # (b, b), (C, b), (C, b), (C,), (C,)  # fmt: skip
    """The examples of one block, whose scores before the block are f; an update moves the scores behind it."""
    count = 0
    for a in range(K.shape[0]):
        for c in range(f.shape[0]):
            if active[c] and Y[c, a] * f[c, a] <= zero:
                rows[count], labels[count], times[count], scores[count] = a, c, clock[c] + a + 1, f[c, a]
                count += 1
                y = Y[c, a]
                for j in range(a + 1, K.shape[0]):
                    f[c, j] += y * K[a, j]
    return count


@njit()
def gram_pass(
    K: Array, F: Floats, Y: Floats, order: Ints, active: NDArray[np.bool_], clock: Ints, zero: float,
    rows: Ints, labels: Ints, times: Ints, scores: Floats,
) -> int:  # (n, n), (C, n), (C, n), (b,)  # fmt: skip
    """Examples in the given order with the whole Gram matrix at hand; F are the scores of all rows, kept up to date."""
    count = 0
    for a in range(order.shape[0]):
        i = order[a]
        for c in range(F.shape[0]):
            if active[c] and Y[c, i] * F[c, i] <= zero:
                rows[count], labels[count], times[count], scores[count] = i, c, clock[c] + a + 1, F[c, i]
                count += 1
                y = Y[c, i]
                for j in range(K.shape[0]):
                    F[c, j] += y * K[i, j]
    return count


@njit()
def primal_pass(
    Z: Array, W: Floats, Y: Floats, order: Ints, active: NDArray[np.bool_], clock: Ints, zero: float,
    rows: Ints, labels: Ints, times: Ints, scores: Floats,
) -> int:  # (n, D), (C, D), (C, n), (b,)  # fmt: skip
    """Examples in the given order with explicit features: w += y phi(x)."""
    count = 0
    for a in range(order.shape[0]):
        i = order[a]
        for c in range(W.shape[0]):
            if not active[c]:
                continue
            score = 0.0
            for k in range(Z.shape[1]):
                score += W[c, k] * Z[i, k]
            if Y[c, i] * score <= zero:
                rows[count], labels[count], times[count], scores[count] = i, c, clock[c] + a + 1, score
                count += 1
                for k in range(Z.shape[1]):
                    W[c, k] += Y[c, i] * Z[i, k]
    return count


@njit()
def push(F: Floats, values: Array, slots: Ints, delta: Floats, start: int, stop: int) -> None:
    """F[:, start:stop] += delta @ values[slots, start:stop], skipping zeros."""  # (C, n), (S, n), (m,), (C, m)
    for r in range(slots.shape[0]):
        row = values[slots[r]]
        for c in range(F.shape[0]):
            y = delta[c, r]
            if y != 0.0:
                target = F[c]
                for j in range(start, stop):
                    target[j] += y * row[j]


@njit()
def removal_pass(
    K: Array, V: Floats, alpha: Floats, beta: Floats, slot_of: Ints, held: Ints, state: Ints, whole: bool,
    Y: Floats, order: Ints, active: NDArray[np.bool_], clock: Ints, zero: float,
    rows: Ints, labels: Ints, times: Ints, scores: Floats,
) -> tuple[int, int]:  # (b, b), (b, B), (C, B), (C, B), (n,), (B,), (3,)  # fmt: skip
    """A block with at most B support vectors: V[a, s] = k(x_a, vector in slot s); the oldest makes room for a new one.

    `state` is (slots in use, oldest slot, vectors that left). With whole=False the pass ends where room would have to be
    made. Returns the number of mistakes and of examples seen.
    """
    count, limit = 0, alpha.shape[1]
    for a in range(order.shape[0]):
        i, slot = order[a], -1
        for c in range(alpha.shape[0]):
            if not active[c]:
                continue
            score = 0.0
            for s in range(state[0]):
                score += alpha[c, s] * V[a, s]
            if Y[c, a] * score > zero:
                continue
            if slot < 0:
                slot = slot_of[i]
            if slot < 0:
                if state[0] < limit:
                    slot = state[0]
                    state[0] += 1
                elif not whole:
                    return count, a
                else:
                    slot = state[1]
                    state[1] = (slot + 1) % limit
                    slot_of[held[slot]] = -1
                    state[2] += 1
                held[slot], slot_of[i] = i, slot
                alpha[:, slot] = 0.0
                beta[:, slot] = 0.0
                V[:, slot] = K[:, a]
            rows[count], labels[count], times[count], scores[count] = i, c, clock[c] + a + 1, score
            count += 1
            alpha[c, slot] += Y[c, a]
            beta[c, slot] += Y[c, a] * (clock[c] + a)
    return count, order.shape[0]


@njit()
def projection_pass(
    P: Floats, V: Floats, alpha: Floats, beta: Floats,
    Y: Floats, order: Ints, active: NDArray[np.bool_], clock: Ints, zero: float,
    rows: Ints, labels: Ints, times: Ints, scores: Floats,
) -> int:  # (b, B), (b, B), (C, B), (C, B)  # fmt: skip
    """A block with a full set: an update goes to the projection of phi(x_a) on the span, whose coordinates are P[a]."""
    count = 0
    for a in range(order.shape[0]):
        for c in range(alpha.shape[0]):
            if not active[c]:
                continue
            score = 0.0
            for s in range(V.shape[1]):
                score += alpha[c, s] * V[a, s]
            if Y[c, a] * score <= zero:
                rows[count], labels[count], times[count], scores[count] = order[a], c, clock[c] + a + 1, score
                count += 1
                for s in range(V.shape[1]):
                    alpha[c, s] += Y[c, a] * P[a, s]
                    beta[c, s] += Y[c, a] * P[a, s] * (clock[c] + a)
    return count


@njit()
def votes(values: Array, columns: Ints, signs: Floats, survived: Ints, out: Floats) -> None:
    """out[i] = sum_t survived[t] sgn(sum_{s <= t} signs[s] values[i, columns[s]]), with sgn(0) = -1."""
    for i in range(values.shape[0]):
        score, total = 0.0, 0.0
        for t in range(columns.shape[0]):
            score += signs[t] * values[i, columns[t]]
            total += survived[t] if score > 0.0 else -survived[t]
        out[i] = total
