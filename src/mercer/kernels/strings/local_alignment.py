"""Kernels on strings: all local alignments, as a convolution of kernels on letters and gaps.

With w_ab = exp(beta s(a, b)), o = exp(-beta gap_open) and e = exp(-beta gap_extend), sums over alignments that end at the
letters i of x and j of z, with both letters aligned (M), or with a gap after the last aligned letter of one string:

    M_ij = w (1 + M_(i-1)(j-1) + X_(i-1)(j-1) + Y_(i-1)(j-1)),
    X_ij = o M_(i-1)j + e X_(i-1)j,   Y_ij = o (M_i(j-1) + X_i(j-1)) + e Y_i(j-1),

and the sum over all local alignments is 1 + sum_ij M_ij (Saigo, Vert, Ueda and Akutsu 2004). All terms are >= 0.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from mercer.arrays import Array, Floats
from mercer.errors import InputError
from mercer.inputs import Rows
from mercer.kernels.base import Derivation, Kernel
from mercer.kernels.evaluation import Pair
from mercer.kernels.fields import nonnegative, one_of, positive, real
from mercer.kernels.strings.letters import Letters, letters_of
from mercer.numeric.compiling import worth
from mercer.numeric.encodings import Encoding, Values

#: Nanoseconds that a compiled loop saves per pair of letters.
PER_STEP = 20

#: Sums above this size are divided by it, and the divisions are counted.
LARGE = 1e200

AMINO_ACIDS = "ARNDCQEGHILKMFPSTWYV"

#: BLOSUM62 (Henikoff and Henikoff 1992), below the diagonal and on it.
BLOSUM62 = """
4
-1 5
-2 0 6
-2 -2 1 6
0 -3 -3 -3 9
-1 1 0 0 -3 5
-1 0 0 2 -4 2 5
0 -2 0 -1 -3 -2 -2 6
-2 0 1 -1 -3 0 0 -2 8
-1 -3 -3 -3 -1 -3 -3 -4 -3 4
-1 -2 -3 -4 -1 -2 -3 -4 -3 2 4
-1 2 0 -1 -3 1 1 -2 -1 -3 -2 5
-1 -1 -2 -3 -1 0 -2 -3 -2 1 2 -1 5
-2 -3 -3 -3 -2 -3 -3 -3 -1 0 0 -3 0 6
-1 -2 -2 -1 -3 -1 -1 -2 -2 -3 -3 -1 -2 -4 7
1 -1 1 0 -1 0 0 0 -1 -2 -2 0 -1 -2 -1 4
0 -1 0 -1 -1 -1 -1 -2 -2 -1 -1 -1 -1 -2 -1 1 5
-3 -3 -4 -4 -2 -2 -3 -2 -2 -3 -2 -3 -1 1 -4 -3 -2 11
-2 -2 -2 -3 -2 -1 -2 -3 2 -1 -1 -2 -1 3 -3 -2 -2 2 7
0 -3 -3 -3 -1 -2 -2 -3 -3 3 1 -2 1 -1 -2 -2 0 -3 -1 4
"""


@dataclass(frozen=True, repr=False)
class LocalAlignment(Kernel):
    """All local alignments of two strings, each weighted by the exponential of its score (Saigo et al. 2004).

    k(x, z) = L(x, z) / sqrt(L(x, x) L(z, z)) with L the sum over all local alignments, the empty one included, of
    exp(beta s), where s adds up the scores of aligned letters and subtracts gap_open + (length - 1) gap_extend for every
    gap. It is a kernel because exp(beta scores) is positive semi-definite for both kinds of scores and every beta > 0. The
    largest score alone, the similarity of Smith and Waterman, is not a kernel: `Function(score).repaired(X)` makes one.

    Sums are kept with exponents of their own: no length overflows. Long strings are similar to themselves only if beta is
    large, because every alignment of a string with itself counts; take a smaller beta.

    Parameters
    ----------
    beta : float > 0, default 0.2
        Weight of scores.
    scores : "equal" or "blosum62"
        `match` and `mismatch` for equal and different letters, or BLOSUM62 for proteins; there lower case counts as upper
        case, and letters other than the 20 amino acids align with nothing, themselves included.
    match, mismatch : float, default 5.0 and -4.0
        Scores of scores="equal"; match must be the larger one.
    gap_open, gap_extend : float >= 0, default 11.0 and 1.0
        Costs of the first and of every further letter of a gap.

    >>> LocalAlignment(0.2)(["ACGTACGT", "ACGTTACGT", "CCCC"]).round(3).tolist()
    [[1.0, 0.25, 0.046], [0.25, 1.0, 0.029], [0.046, 0.029, 1.0]]
    """

    beta: float = positive(0.2, keyword=False, free=False)
    scores: str = one_of(("equal", "blosum62"), "equal")
    match: float = real(5.0)
    mismatch: float = real(-4.0)
    gap_open: float = nonnegative(11.0, free=False)
    gap_extend: float = nonnegative(1.0, free=False)
    domain = "strings"
    _quiet = ("scores", "match", "mismatch", "gap_open", "gap_extend")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.scores == "equal" and self.match < self.mismatch:
            raise InputError(
                f"LocalAlignment: match must be at least mismatch, else it is not a kernel; got {self.match} and "
                f"{self.mismatch}."
            )

    def _encode(self, rows: Rows) -> Encoding:
        letters = letters_of(rows)
        return letters, Values(rows.remember(("own alignments", self), lambda: self._own(letters)))

    def _block(self, pair: Pair) -> Array:
        letters, own = pair.part(0), pair.part(1)
        logs = self._logs(letters.A.take(pair.rows), letters.B.take(pair.cols))
        return np.exp(logs - 0.5 * np.add.outer(own.left.array, own.right.array))

    def _diag(self, encoding: Encoding) -> Array:
        return np.ones(len(encoding[1].array))

    def _own(self, letters: Letters) -> Floats:
        return np.array([self._logs(one, one)[0, 0] for one in (letters.take(slice(i, i + 1)) for i in range(len(letters)))])

    def _logs(self, left: Letters, right: Letters) -> Floats:  # -> (n, m)
        """log L of every pair."""
        weights = self._weights(left.alphabet)
        gaps = float(np.exp(-self.beta * self.gap_open)), float(np.exp(-self.beta * self.gap_extend))
        if worth(left.codes.size * right.codes.size, PER_STEP):
            from mercer.kernels.strings._compiled_alignment import alignment_pairs

            out = np.empty((len(left), len(right)))
            alignment_pairs(left.codes, left.starts, right.codes, right.starts, weights, *gaps, LARGE, out)
            return out
        return _alignments(left, right, weights, *gaps)

    def _weights(self, alphabet: Sequence[Hashable]) -> Floats:  # -> (a, a)
        """exp(beta s) of the letters of an alphabet."""
        if self.scores == "equal":
            different = np.full((len(alphabet), len(alphabet)), np.exp(self.beta * self.mismatch))
            np.fill_diagonal(different, np.exp(self.beta * self.match))
            return different
        number = {letter: i for i, letter in enumerate(AMINO_ACIDS)}
        places = np.array([number.get(str(letter).upper(), -1) for letter in alphabet], dtype=np.intp)
        known = np.exp(self.beta * blosum62())[np.ix_(places, places)]
        return np.asarray(np.where(np.minimum.outer(places, places) >= 0, known, 0.0))

    def _derivation(self) -> Derivation:
        because = (
            "a convolution of kernels: sum over n of 1 * A * (G * A)^(n-1) * 1 with A(a, b) = exp(beta s(a, b)) on letters, "
            "which is one because the scores are positive semi-definite on coefficients that sum to 0 (Schoenberg), and "
            "G(u, v) = exp(-beta cost(u)) exp(-beta cost(v)) on gaps; then divided by sqrt(L(x, x) L(z, z))"
        )
        return Derivation("convolution", because)


def blosum62() -> Floats:  # -> (20, 20)
    """Return the scores of BLOSUM62 in the order of AMINO_ACIDS."""
    full = np.zeros((20, 20))
    for i, line in enumerate(BLOSUM62.split("\n")[1:-1]):
        full[i, : i + 1] = full[: i + 1, i] = [float(word) for word in line.split()]
    return full


def _alignments(left: Letters, right: Letters, weights: Floats, opened: float, extended: float) -> Floats:  # -> (n, m)
    """log L by the recurrence, for all strings of `right` at once."""
    codes, lengths = right.padded(-1).T, right.lengths  # (width, m)
    width, m = codes.shape
    out = np.zeros((len(left), m))
    inside = np.arange(width)[:, None] < lengths
    for i in range(len(left)):
        M, X, Y = (np.zeros((width + 1, m)) for _ in range(3))
        total, one, scale = np.ones(m), np.ones(m), np.zeros(m)
        for letter in left.codes[left.starts[i] : left.starts[i + 1]]:
            before = one + M[:-1] + X[:-1] + Y[:-1]
            X = opened * M + extended * X
            M = np.zeros((width + 1, m))
            M[1:] = np.where(inside, weights[letter][codes], 0.0) * before
            Y = np.zeros((width + 1, m))
            for j in range(width):
                Y[j + 1] = opened * (M[j] + X[j]) + extended * Y[j]
            total += M.sum(axis=0)
            large = total > LARGE
            for part in (M, X, Y, total, one):
                part[..., large] /= LARGE
            scale += large
        out[i] = np.log(total) + scale * np.log(LARGE)
    return out
