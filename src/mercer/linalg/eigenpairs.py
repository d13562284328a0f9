"""All eigenvalues and eigenvectors of a symmetric matrix, in its place."""

from __future__ import annotations

import scipy.linalg as la

from mercer.arrays import Array


def eigenpairs(A: Array) -> tuple[Array, Array]:  # (n, n) -> (n,) rising, (n, n)
    """By divide and conquer; A is overwritten.

    >>> import numpy as np
    >>> values, vectors = eigenpairs(np.array([[2.0, 0.0], [0.0, 1.0]]))
    >>> values.tolist(), np.abs(vectors).tolist()
    ([1.0, 2.0], [[0.0, 1.0], [1.0, 0.0]])
    """
    driver = "evd" if len(A) > 1 else "ev"  # SciPy 1.13 asks for more workspace of one row than it gives itself
    values, vectors = la.eigh(A, overwrite_a=True, check_finite=False, driver=driver)
    return values, vectors
