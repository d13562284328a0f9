"""Kernels on aligned strings: what stands at the same place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Array, Floats
from mercer.kernels.derivation import Derivation
from mercer.kernels.evaluation import Pair
from mercer.kernels.features import Occurrence
from mercer.kernels.fields import whole
from mercer.kernels.strings.engine.aligned import match_block, match_diag, placed_table
from mercer.kernels.strings.engine.letters import Letters
from mercer.kernels.strings.engine.substrings import Table
from mercer.kernels.strings.spectrum import SubstringKernel, whole_item
from mercer.numeric.encodings import Encoding


@dataclass(frozen=True, repr=False)
class WeightedDegree(SubstringKernel):
    """The weighted degree kernel: common substrings at the same place (Rätsch and Sonnenburg 2004).

    k(x, z) = sum_{d=1}^{degree} b_d #{i : x_i … x_(i+d-1) = z_i … z_(i+d-1)}
    with b_d = 2 (degree - d + 1) / (degree (degree + 1)), for strings that are aligned from their first letter, such as
    DNA around a site. Where one string ends, nothing is equal any more; an empty string has values 0. Every letter
    counts, an N of DNA like any other.

    Parameters
    ----------
    degree : int, default 3
        The longest substrings that count.

    >>> WeightedDegree(1)(["acgt", "aggt"]).tolist()
    [[4.0, 3.0], [3.0, 4.0]]
    >>> WeightedDegree(2)(["acgt", "aggt"]).round(3).tolist()  # 2/3 per letter, 1/3 per pair of letters
    [[3.667, 2.333], [2.333, 3.667]]
    """

    degree: int = whole(3, at_least=1, keyword=False)

    @property
    def _weights(self) -> Floats:
        degrees = np.arange(1, self.degree + 1)
        return 2.0 * (self.degree - degrees + 1) / (self.degree * (self.degree + 1))

    def _block(self, pair: Pair) -> Array:
        return match_block(pair.A.letters, pair.rows, pair.B.letters, pair.cols, self._weights)

    def _diag(self, encoding: Encoding) -> Array:
        return np.asarray(match_diag(encoding.letters, self._weights))

    def _table(self, letters: Letters) -> Table:
        return placed_table(letters, self._weights)

    def _occurrences(self, item: Any) -> Iterator[Occurrence]:
        item = whole_item(item)
        for d, weight in enumerate(self._weights.tolist(), 1):
            for i in range(len(item) - d + 1):
                yield Occurrence((i, item[i : i + d]), tuple(range(i, i + d)), weight**0.5)

    def _derivation(self) -> Derivation:
        because = f"<phi(x), phi(z)> with phi(x) weighted indicators of (place, substring of at most {self.degree} letters)"
        return Derivation("explicit features", because)
