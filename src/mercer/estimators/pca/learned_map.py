"""The learned way back: kernel ridge regression from coordinates to rows (Bakir, Weston and Schoelkopf 2004).

The kernel of the map is a Gaussian on the coordinates with their median distance. (scikit-learn uses the kernel of the
input space, whose length scale says nothing about coordinates.) Beyond some thousand rows the map is fitted on landmarks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.linalg as la

from mercer.arrays import Array
from mercer.grams.low_rank import LandmarkFeatures, low_rank
from mercer.kernels.stationary import Gaussian
from mercer.registry import record

#: Landmarks of the map: with at most this many rows it is exact.
LANDMARKS = 2000


@record()
@dataclass(frozen=True)
class LearnedMap:
    """x ~ mean + f(z)' W for coordinates z."""

    _stored: ClassVar[dict[str, str]] = {
        "features": "a LandmarkFeatures",
        "features.index": "int (m,)",
        "weights": "float (m, d)",
        "mean": "float (d,)",
    }

    features: LandmarkFeatures
    weights: Array  # (m, d)
    mean: Array  # (d,)
    n_components: int

    @classmethod
    def fit(cls, Z: Array, X: Array, alpha: float) -> LearnedMap:  # (n, q), (n, d)
        """Minimize sum_i ||x_i - mean - f(z_i)' W||^2 + alpha ||W||^2."""
        Z = np.ascontiguousarray(Z, dtype=np.float64)
        found = low_rank(Gaussian("median").resolve(Z), Z, LANDMARKS)
        mean = X.mean(axis=0)
        F = found.factor
        A = F.T @ F
        A[np.diag_indices_from(A)] += max(alpha, 1e-12 * float(A.diagonal().max()))
        W = la.solve(A, F.T @ (X - mean), assume_a="pos", check_finite=False)
        return cls(found.features, np.asarray(W), mean, Z.shape[1])

    def __call__(self, Z: Array) -> Array:  # (b, q) -> (b, d)
        """The rows that coordinates come from, as far as the map knows."""
        return np.asarray(self.features(np.ascontiguousarray(Z, dtype=np.float64)) @ self.weights + self.mean)
