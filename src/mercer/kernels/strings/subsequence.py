"""Kernels on strings: subsequences with gaps, weighed by how far they stretch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.arrays import Array
from mercer.inputs import Rows
from mercer.kernels.base import Kernel
from mercer.kernels.derivation import Derivation
from mercer.kernels.evaluation import Pair
from mercer.kernels.fields import positive, whole
from mercer.kernels.strings.engine.subsequences import subsequence_block, subsequence_diag
from mercer.kernels.strings.spectrum import letters_of
from mercer.numeric.encodings import Encoding


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

    p: int = whole(at_least=1, keyword=False)
    decay: float = positive(0.5, free=False)
    _domain = "strings"

    def _encode(self, rows: Rows) -> Encoding:
        return letters_of(rows)

    def _block(self, pair: Pair) -> Array:
        return subsequence_block(pair.A, pair.rows, pair.B, pair.cols, self.p, self.decay)

    def _diag(self, encoding: Encoding) -> Array:
        return np.asarray(subsequence_diag(encoding, self.p, self.decay))

    def _derivation(self) -> Derivation:
        because = f"<phi(x), phi(z)> with phi_u(x) the sum of {self.decay!r}^span over the places of u, |u| = {self.p}"
        return Derivation("explicit features", because)
