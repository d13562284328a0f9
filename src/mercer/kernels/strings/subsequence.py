"""Kernels on strings: subsequences with gaps, weighted by their span.

The recurrence of Lodhi et al., for many pairs of strings at once:

    K'_0 = 1,   K'_l(s a, t) = decay K'_l(s, t) + K''_l(s a, t),
    K''_l(s a, t b) = decay K''_l(s a, t) + [a = b] decay^2 K'_(l-1)(s, t),
    K_p(s a, t) = K_p(s, t) + sum over j with t_j = a of decay^2 K'_(p-1)(s, t_1 … t_(j-1)).

All terms are >= 0, so nothing cancels. The letters of s are taken one after the other; K'_l is kept for all prefixes of t.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.arrays import Array, Codes, Floats
from mercer.inputs import Rows
from mercer.kernels.base import Derivation, Kernel
from mercer.kernels.evaluation import Pair
from mercer.kernels.fields import positive, whole
from mercer.kernels.strings.letters import Letters, letters_of
from mercer.numeric.compiling import worth
from mercer.numeric.encodings import Encoding

#: Nanoseconds that compiled loops save per step of the recurrence: from 2^22 on they are worth loading.
#: Row: strkernels-subsequence-*.
PER_STEP = 2

#: Nanoseconds of a step of the NumPy twin, however few pairs there are.
PER_PLACE = 4096


@dataclass(frozen=True, repr=False)
class Subsequence(Kernel):
    """Gap-weighted subsequences of length p (Lodhi et al. 2002).

    phi_u(x) = sum over all ways to find the letters of u in x, in order but not necessarily side by side, of decay^span,
    the span being the number of letters of x from the first to the last. k(x, z) takes p |x| |z| steps. A string shorter
    than p has no subsequence of p letters: its values are 0. Values become small quickly; `.normalized()` undoes that.

    Parameters
    ----------
    p : int
        The number of letters of the subsequences.
    decay : float > 0, default 0.5
        What every letter of the span multiplies the weight by; 1 counts subsequences without regard to gaps.

    >>> k = Subsequence(2, decay=0.5)
    >>> k(["cat", "car"]).tolist()  # c-a in both: decay^4; c-t, a-t are only in one
    [[0.140625, 0.0625], [0.0625, 0.140625]]
    """

    p: int = whole(at_least=1, at_most=1000, keyword=False)
    decay: float = positive(0.5, free=False)
    domain = "strings"

    def _encode(self, rows: Rows) -> Encoding:
        return letters_of(rows)

    def _block(self, pair: Pair) -> Array:
        return subsequence_block(pair.A, pair.rows, pair.B, pair.cols, self.p, self.decay)

    def _diag(self, encoding: Encoding) -> Array:
        return np.asarray(subsequence_diag(encoding, self.p, self.decay))

    def _derivation(self) -> Derivation:
        because = f"<phi(x), phi(z)> with phi_u(x) the sum of {self.decay!r}^span over the places of u, |u| = {self.p}"
        return Derivation("explicit features", because)


def subsequence_block(A: Letters, rows: slice, B: Letters, cols: slice, p: int, decay: float) -> Floats:  # -> (n, m)
    """Return the values of one tile."""
    left, right = A.take(rows), B.take(cols)
    if _worth_compiling(left, right, p):
        return _compiled(left, right, p, decay)
    n, m = len(left), len(right)
    first, second = np.repeat(np.arange(n), m), np.tile(np.arange(m), n)
    return recurrence(left.padded(-1)[first], right.padded(-2)[second], p, decay).reshape(n, m)


def subsequence_diag(letters: Letters, p: int, decay: float) -> Floats:  # -> (n,)
    """k(x, x)."""
    if _worth_compiling(letters, letters, p):
        from mercer.kernels.strings._compiled_strings import subsequence_diagonal

        out = np.empty(len(letters))
        subsequence_diagonal(letters.codes, letters.starts, p, decay, out)
        return out
    return recurrence(letters.padded(-1), letters.padded(-2), p, decay)


def _worth_compiling(left: Letters, right: Letters, p: int) -> bool:
    """Whether the pairs are many, or a pair is long: the NumPy twin has a step for every pair of places."""
    longest = p * int(np.diff(left.starts).max(initial=0)) * int(np.diff(right.starts).max(initial=0))
    return worth(p * left.codes.size * right.codes.size, PER_STEP) or worth(longest, PER_PLACE)


def _compiled(left: Letters, right: Letters, p: int, decay: float) -> Floats:
    from mercer.kernels.strings._compiled_strings import subsequence_pairs

    out = np.empty((len(left), len(right)))
    subsequence_pairs(left.codes, left.starts, right.codes, right.starts, p, decay, out)
    return out


def recurrence(S: Codes, T: Codes, p: int, decay: float) -> Floats:
    """Return K_p of every row of S with the same row of T."""  # (P, L), (P, M) -> (P,)
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
