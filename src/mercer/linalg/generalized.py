"""The largest eigenpairs of A w = value B w for a symmetric A and a diagonal B > 0."""

from __future__ import annotations

import numpy as np
import scipy.linalg as la

from mercer.arrays import Array, Floats


def generalized_eigenpairs(A: Array, b: Array, count: int) -> tuple[Floats, Floats]:  # (r, r), (r,) -> (c,), (r, c)
    """Return the `count` largest eigenvalues, falling, and their vectors with w' diag(b) w = 1.

    >>> import numpy as np
    >>> values, vectors = generalized_eigenpairs(np.array([[4.0, 0.0], [0.0, 1.0]]), np.array([2.0, 1.0]), 1)
    >>> values.round(6).tolist(), np.abs(vectors).round(6).tolist()
    ([2.0], [[0.707107], [0.0]])
    """
    scale = 1.0 / np.sqrt(b)
    r, c = len(b), min(count, len(b))
    whitened = np.asarray(A, dtype=np.float64) * scale[:, None] * scale
    values, vectors = la.eigh(whitened, subset_by_index=(r - c, r - 1), overwrite_a=True, check_finite=False)
    return np.asarray(values[::-1]), np.asarray(vectors[:, ::-1] * scale[:, None])
