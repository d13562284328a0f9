"""Random relabelings of a pooled sample, as rows of +1 (first sample) and -1 (second sample).

Both groups act on the labels only, so under the null hypothesis the observed labeling is one more draw from the same
law, and (1 + #{>=}) / (1 + B) is a valid p-value for every sample size.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def permutations(rng: np.random.Generator, m: int, n: int, count: int) -> NDArray[np.int8]:  # -> (count, m + n)
    """Rows with exactly m entries +1, uniform over all such rows."""
    from mercer.twosample._compiled_permutations import choose

    few = min(m, n)  # it is enough to draw the smaller sample
    signs = np.full((count, m + n), -1 if m <= n else 1, np.int8)
    choose(rng.random((count, few)), signs, 1 if m <= n else -1)
    return signs


def swaps(rng: np.random.Generator, n: int, count: int) -> NDArray[np.int8]:  # -> (count, n)
    """Rows of independent fair signs: -1 swaps x_i and y_i, +1 leaves them."""
    bits = np.unpackbits(rng.integers(0, 256, (count, -(-n // 8)), dtype=np.uint8), axis=1)[:, :n]
    signs = bits.view(np.int8)
    signs *= 2
    signs -= 1
    return np.ascontiguousarray(signs)
