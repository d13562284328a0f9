"""Gap-weighted subsequences: the recurrence of Lodhi et al., for many pairs of strings at once.

    K'_0 = 1,   K'_l(s a, t) = decay K'_l(s, t) + K''_l(s a, t),
    K''_l(s a, t b) = decay K''_l(s a, t) + [a = b] decay^2 K'_(l-1)(s, t),
    K_p(s a, t) = K_p(s, t) + sum over j with t_j = a of decay^2 K'_(p-1)(s, t_1 … t_(j-1)).

All terms are >= 0, so nothing cancels. One letter of s is taken after the other; what is kept is K'_l for all prefixes
of t.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Floats
from mercer.kernels.strings.engine.letters import PER_LETTER, Letters
from mercer.numeric.compiling import worth

#: Nanoseconds that compiled loops save per step of the recurrence: from 2^22 on they are worth loading.
#: Row: strkernels-subsequence-*.
PER_STEP = 2


def subsequence_block(A: Letters, rows: slice, B: Letters, cols: slice, p: int, decay: float) -> Floats:  # -> (n, m)
    """The values of one tile."""
    left, right = A.take(rows), B.take(cols)
    if worth(p * left.codes.size * right.codes.size, PER_STEP):
        return _compiled(left, right, p, decay)
    n, m = len(left), len(right)
    first, second = np.repeat(np.arange(n), m), np.tile(np.arange(m), n)
    return recurrence(padded(left, -1)[first], padded(right, -2)[second], p, decay).reshape(n, m)


def subsequence_diag(letters: Letters, p: int, decay: float) -> Floats:  # -> (n,)
    """k(x, x)."""
    if worth(letters.codes.size, PER_LETTER):
        from mercer.kernels.strings.engine._compiled_subsequences import diagonal

        out = np.empty(len(letters))
        diagonal(letters.codes, letters.starts, p, decay, out)
        return out
    return recurrence(padded(letters, -1), padded(letters, -2), p, decay)


def _compiled(left: Letters, right: Letters, p: int, decay: float) -> Floats:
    from mercer.kernels.strings.engine._compiled_subsequences import block

    out = np.empty((len(left), len(right)))
    block(left.codes, left.starts, right.codes, right.starts, p, decay, out)
    return out


def padded(letters: Letters, filler: int) -> NDArray[np.int32]:  # -> (n, L)
    """The strings as rows of one array, the shorter ones filled up with a letter that nothing equals."""
    lengths = letters.lengths
    out = np.full((len(letters), int(lengths.max(initial=0))), filler, dtype=np.int32)
    out[np.arange(out.shape[1]) < lengths[:, None]] = letters.codes
    return out


def recurrence(S: NDArray[np.int32], T: NDArray[np.int32], p: int, decay: float) -> Floats:
    """K_p of every row of S with the same row of T."""  # (P, L), (P, M) -> (P,)
    pairs, width = T.shape
    prefix = np.zeros((p, width + 1, pairs))  # K'_l for the first j letters of t
    prefix[0] = 1.0
    values = np.zeros(pairs)
    square = decay * decay
    for i in range(S.shape[1]):
        equal = (S[:, i, None] == T).T * square  # (M, P)
        values += np.einsum("jk,jk->k", equal, prefix[p - 1, :-1])
        for level in range(p - 1, 0, -1):
            run = np.zeros(pairs)
            for j in range(width):
                run = decay * run + equal[j] * prefix[level - 1, j]
                prefix[level, j + 1] = decay * prefix[level, j + 1] + run
    return values
