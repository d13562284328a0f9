"""The spectral embedding of a Gram matrix, and of new rows: eigenvectors of the random walk with steps k(x, z) / d(x).

The walk never stays at a row: with k(x_i, x_i) left out of K and of the degrees d(x) = sum_j k(x, x_j), P = D^-1 K has
eigenvectors e = D^-1/2 u for those u of D^-1/2 K D^-1/2. Otherwise a row with little similarity to others would be a cluster
by itself. Every row, new or not, has the coordinates e(x) = (1 / value) sum_j k(x, x_j) e_j / d(x), all rows in both sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.linalg as la

from mercer.arrays import Floats
from mercer.errors import InputError
from mercer.grams import GramOperator
from mercer.kernels.base import Kernel
from mercer.registry import record


@record()
@dataclass(frozen=True)
class SpectralEmbedding:
    """Coordinates e(x) = k(x, X) coef / d(x) of rows, with d(x) = k(x, X) weights, and the centers of clusters there."""

    _stored: ClassVar[dict[str, str]] = {"coef": "float (n, q)", "weights": "float (n,) >= 0", "centers": "float (q, k)"}

    coef: Floats  # (n, q)
    weights: Floats  # (n,)
    centers: Floats  # (q, k)

    def __call__(self, kernel: Kernel, X: Any, known: Any) -> Floats:  # -> (m, q)
        """Return the coordinates of new rows; a row with no similarity to any training row is at the origin."""
        return walked(np.asarray(GramOperator(kernel, X, known) @ np.column_stack([self.coef, self.weights])))


def walked(products: Floats) -> Floats:  # (m, q+1) -> (m, q)
    """Return the first columns divided by the last, the degrees; 0 where a degree is 0."""
    degrees = products[:, -1:]
    return np.divide(products[:, :-1], degrees, out=np.zeros_like(products[:, :-1]), where=degrees > 0)


def spectral_embedding(K: Floats, weights: Floats, count: int) -> tuple[Floats, Floats]:  # (n, n), (n,)
    """Return the coefficients of an embedding along the first eigenvectors, and the coordinates of the rows, (n, q) each."""
    wrong = K.min(axis=1) < 0.0
    if wrong.any():
        raise InputError(
            "KernelKMeans: spectral=True takes kernel values as similarities >= 0; row "
            f"{int(np.argmax(wrong))} has negative ones. Use a Gaussian or another kernel with positive values, or "
            "spectral=False."
        )
    n, own = len(K), np.diagonal(K)
    staying = np.maximum(weights - 1.0, 0.0) * own  # similarity of a row to its other copies
    degrees = K @ weights - weights * own + staying
    root = np.sqrt(np.divide(weights, degrees, out=np.zeros(n), where=degrees > 0))
    if not root.any():
        raise InputError("KernelKMeans: spectral=True found no two rows that are similar; use another kernel.")
    steps = K * root[:, None] * root
    steps[np.diag_indices(n)] = np.divide(staying, degrees, out=np.zeros(n), where=degrees > 0)
    values, vectors = la.eigh(steps, subset_by_index=(n - min(count, n), n - 1), overwrite_a=True, check_finite=False)
    kept = values > n * np.finfo(np.float64).eps * values[-1]
    values, vectors = values[kept][::-1], vectors[:, kept][:, ::-1]
    vectors = vectors * np.where(vectors[np.abs(vectors).argmax(axis=0), np.arange(len(values))] < 0, -1.0, 1.0)
    coef = root[:, None] * vectors / values  # weights times e = D^-1/2 W^-1/2 u, over the eigenvalue
    return coef, walked(np.column_stack([K @ coef, K @ weights]))
