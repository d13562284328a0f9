"""The centered Gram matrix of weighted rows: S (I - 1 p') K (I - p 1') S with p = w / sum(w) and S = diag(sqrt(w)).

Its eigenvalues are those of the centered Gram matrix of a sample in which row i stands w_i times.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.numeric.tiles import SIDE


@dataclass(frozen=True)
class Means:
    """<phi(x_i), mean> of every row, and ||mean||^2, for the weighted mean of the rows in feature space."""

    rows: Array  # (n,)
    grand: float

    @classmethod
    def of(cls, K: Any, shares: Array) -> Means:  # K (n, n) or an operator, shares (n,) with sum 1
        """The means of a Gram matrix under weights that sum to one."""
        rows = np.asarray(K @ shares.astype(getattr(K, "dtype", np.float64)), dtype=np.float64)
        return cls(rows, float(shares @ rows))

    def trace(self, diagonal: Array, weights: Array) -> float:  # (n,), (n,)
        """The trace of the centered Gram matrix: the total variance times the sum of the weights."""
        return max(0.0, float(weights @ (diagonal - 2.0 * self.rows + self.grand)))


class CenteredGram:
    """The centered Gram matrix as an operator: the product with K, and a correction of rank two around it."""

    def __init__(self, K: Any, weights: Array) -> None:  # K (n, n), weights (n,)
        self.K = K
        self.shares = weights / weights.sum()
        self.root = np.sqrt(weights)[:, None]
        self.plain = bool((weights == 1.0).all())
        self.shape = (len(weights), len(weights))

    def __matmul__(self, V: Array) -> Array:  # (n, b) -> (n, b)
        X = V if self.plain else V * self.root
        X = X - self.shares[:, None] * X.sum(axis=0)
        W = np.asarray(self.K @ X.astype(self.K.dtype, copy=False), dtype=np.float64)
        W -= self.shares @ W
        return W if self.plain else W * self.root


def center_in_place(K: Array, weights: Array, means: Means) -> Array:  # (n, n), (n,)
    """Turn a Gram matrix into the centered one, in its own memory."""
    root = np.sqrt(weights)
    rows = (means.rows - 0.5 * means.grand).astype(K.dtype)
    plain = bool((weights == 1.0).all())
    for start in range(0, len(K), SIDE):
        part = slice(start, start + SIDE)
        K[part] -= rows[part, None]
        K[part] -= rows[None, :]
        if not plain:
            K[part] *= root[part, None].astype(K.dtype)
            K[part] *= root[None, :].astype(K.dtype)
    return K
