"""The median heuristic: a typical distance between rows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.numeric.encodings import dense

#: At most this many rows are compared, chosen with a fixed seed, so that the same data give the same number.
SAMPLE, SEED = 1000, 0


def median_distance(X: Any, metric: str, weights: NDArray[Any] | None = None) -> float:  # (n, d), (n,) -> number
    """Return the median "euclidean" or "manhattan" distance between rows, zeros left out; 1.0 if none is left."""
    from scipy.spatial.distance import pdist

    rows = np.arange(X.shape[0]) if weights is None else np.flatnonzero(weights)
    if len(rows) > SAMPLE:
        rows = np.sort(np.random.default_rng(SEED).choice(len(rows), SAMPLE, replace=False))
    sample = dense(X[rows]).astype(np.float64)
    distances = pdist(sample, "euclidean" if metric == "euclidean" else "cityblock")
    apart = distances > 0
    if not apart.any():
        warnings.warn('length_scale="median": all rows are equal, so 1.0 is taken.', stacklevel=2)
        return 1.0
    if weights is None:
        return float(np.median(distances[apart]))
    i, j = np.triu_indices(len(rows), 1)
    return _weighted_median(distances[apart], (weights[rows[i]] * weights[rows[j]])[apart])


def _weighted_median(values: NDArray[Any], weights: NDArray[Any]) -> float:
    """The median of values that occur `weights` times each."""
    order = np.argsort(values)
    below = np.cumsum(weights[order])
    low, high = np.searchsorted(below, below[-1] / 2, side="left"), np.searchsorted(below, below[-1] / 2, side="right")
    return float((values[order[low]] + values[order[min(high, len(order) - 1)]]) / 2)
