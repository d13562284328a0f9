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
        rows = rows[np.sort(np.random.default_rng(SEED).choice(len(rows), SAMPLE, replace=False))]
    sample, unit = in_units(dense(X[rows]))
    distances = unit * pdist(sample, "euclidean" if metric == "euclidean" else "cityblock")
    apart = distances > 0
    if not apart.any():
        warnings.warn('length_scale="median": all rows are equal, so 1.0 is taken.', stacklevel=2)
        return 1.0
    if weights is None:
        return float(np.median(distances[apart]))
    i, j = np.triu_indices(len(rows), 1)
    return weighted_median(distances[apart], (weights[rows[i]] * weights[rows[j]])[apart])


def in_units(sample: NDArray[Any]) -> tuple[NDArray[np.float64], float]:  # (n, d) -> (n, d), number
    """The rows in units of their largest value, and that unit: squares of 1e-200 or 1e200 leave the range of floats."""
    sample = sample.astype(np.float64)
    unit = float(np.abs(sample).max(initial=0.0))
    # a power of two, so that ordinary data keep their digits
    unit = 2.0 ** np.floor(np.log2(unit)) if unit > 0 else 1.0
    return (sample, 1.0) if 2.0**-100 < unit < 2.0**100 else (sample / unit, float(unit))


def weighted_median(values: NDArray[Any], weights: NDArray[Any]) -> float:
    """The median of values that occur `weights` times each."""
    order = np.argsort(values)
    below = np.cumsum(weights[order])
    low, high = np.searchsorted(below, below[-1] / 2, side="left"), np.searchsorted(below, below[-1] / 2, side="right")
    return float((values[order[low]] + values[order[min(high, len(order) - 1)]]) / 2)
