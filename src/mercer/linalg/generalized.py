"""The largest eigenpairs of A w = value B w for a symmetric A and a diagonal B > 0, and of C D^-1 C' w = value B w."""

from __future__ import annotations

import numpy as np
import scipy.linalg as la
from scipy.sparse.linalg import LinearOperator, eigsh

from mercer.arrays import Array, Floats

#: Lanczos' method is used if there are at least this many rows for each pair that is asked for, and this many in all.
ROWS_PER_PAIR, ROWS = 50, 300


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


def cross_eigenpairs(
    C: Array, b: Array, d: Array, count: int
) -> tuple[Floats, Floats]:  # (r, s), (r,), (s,) -> (c,), (r, c)
    """Return the largest eigenpairs of C diag(d)^-1 C' w = value diag(b) w, with w' diag(b) w = 1.

    For few pairs of a large matrix by Lanczos' method to full precision, which needs products with C alone.
    """
    r = len(b)
    if r < max(ROWS, ROWS_PER_PAIR * count):
        return generalized_eigenpairs((C / d) @ C.T, b, count)
    scale = 1.0 / np.sqrt(b)
    whitened = C * scale[:, None] / np.sqrt(d)
    product = LinearOperator((r, r), matvec=lambda v: whitened @ (whitened.T @ v), dtype=np.float64)
    values, vectors = eigsh(product, k=count, v0=np.ones(r), tol=0.0)
    order = np.argsort(-values)
    return np.asarray(values[order]), np.asarray(vectors[:, order] * scale[:, None])
