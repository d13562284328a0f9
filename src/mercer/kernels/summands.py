"""A kernel as a sum of terms, and the features of an object by their places: what explanations of a prediction ask for."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from mercer.inputs import Rows
    from mercer.kernels.base import Kernel


class Summand(NamedTuple):
    """One term of k(x, z) = sum_t g_t(x) k_t(x, z) g_t(z), on one collection."""

    kernel: Kernel  # k_t
    rows: Rows  # what k_t looks at: the collection, some of its columns, or its image under a map
    factor: NDArray[np.float64]  # (n,) g_t

    def times(self, factor: NDArray[np.float64] | float) -> Summand:
        """The same term with g_t multiplied."""
        return self._replace(factor=self.factor * factor)


class Occurrence(NamedTuple):
    """A feature in an object: phi_f(x) is the sum of the weights of the occurrences of f in x."""

    feature: Hashable  # as feature names call it
    positions: tuple[int, ...]  # of the letters that make it; none for a feature of the object as a whole
    weight: float
