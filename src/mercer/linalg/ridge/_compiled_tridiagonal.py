"""The diagonal of Q (T + alpha I)^-1 Q' for many alphas in one pass over Q."""

from __future__ import annotations

from mercer.arrays import Array
from mercer.numeric._compiled_notice import njit


@njit()
def inverse_diagonal(Q: Array, lower: Array, pivots: Array, out: Array) -> None:
    """out[a, i] = sum_k v_k^2 / pivots[a, k] with L_a v = row i of Q, L_a unit lower bidiagonal with entries lower[a].

    Q (b, n) is a block of rows, Fortran-ordered, so that a column of the block is contiguous; lower (L, n - 1), pivots
    (L, n), out (L, b). All alphas are done while a column of Q is at hand: Q is read once.
    """
    count, n = pivots.shape
    rows = Q.shape[0]
    v = Q[:, 0].copy().repeat(count).reshape(rows, count).T.copy()
    for a in range(count):
        inverse = 1.0 / pivots[a, 0]
        for i in range(rows):
            out[a, i] = v[a, i] * v[a, i] * inverse
    for k in range(1, n):
        column = Q[:, k]
        for a in range(count):
            factor = lower[a, k - 1]
            inverse = 1.0 / pivots[a, k]
            state = v[a]
            total = out[a]
            for i in range(rows):
                x = column[i] - factor * state[i]
                state[i] = x
                total[i] += x * x * inverse
