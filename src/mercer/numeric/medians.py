"""The median heuristic: a typical distance between rows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from mercer.numeric.encodings import dense

#: At most this many rows are compared, chosen with a fixed seed, so that the same data give the same number.
SAMPLE, SEED = 1000, 0


def median_distance(X: Any, metric: str) -> float:  # (n, d) -> number
    """Return the median "euclidean" or "manhattan" distance between rows, zeros left out; 1.0 if none is left."""
    from scipy.spatial.distance import pdist

    rows = np.arange(X.shape[0])
    if len(rows) > SAMPLE:
        rows = np.sort(np.random.default_rng(SEED).choice(len(rows), SAMPLE, replace=False))
    sample = dense(X[rows]).astype(np.float64)
    distances = pdist(sample, "euclidean" if metric == "euclidean" else "cityblock")
    distances = distances[distances > 0]
    if len(distances) == 0:
        warnings.warn('length_scale="median": all rows are equal, so 1.0 is taken.', stacklevel=2)
        return 1.0
    return float(np.median(distances))
