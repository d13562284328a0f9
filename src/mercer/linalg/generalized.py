"""Largest eigenpairs: of A w = value B w for a diagonal B > 0, and of products of several tall matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
import scipy.linalg as la
from scipy.sparse.linalg import LinearOperator, eigsh

from mercer.arrays import Array, Floats

#: Lanczos' method is used if there are at least this many rows for each pair that is asked for, and this many in all.
ROWS_PER_PAIR, ROWS = 50, 300


def is_large(r: int, count: int) -> bool:
    """Return whether `count` pairs of a symmetric matrix of r rows are found by Lanczos' method."""
    return r >= max(ROWS, ROWS_PER_PAIR * count)


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


def singular_pairs(
    A: Array, B: Array, count: int
) -> tuple[Floats, Floats, Floats]:  # (n, r), (n, s) -> (r, c), (c,), (s, c)
    """Return the largest singular values of A' B, falling, and their left and right vectors of length 1.

    For few values of large matrices by Lanczos' method to full precision, which needs products with A and B alone. The right
    vector of a singular value 0 is 0.

    >>> import numpy as np
    >>> left, values, right = singular_pairs(np.eye(2), np.array([[3.0, 0.0], [0.0, 1.0]]), 1)
    >>> values.round(6).tolist(), (left[:, 0] * right[:, 0]).round(6).tolist()
    ([3.0], [1.0, 0.0])
    """
    r = A.shape[1]
    if is_large(r, count):
        left = _by_lanczos(r, lambda v: A.T @ (B @ (B.T @ (A @ v))), count)[1]
    else:
        C = A.T @ B
        left = generalized_eigenpairs(C @ C.T, np.ones(r), count)[1]
    right = B.T @ (A @ left)
    values = np.sqrt(np.einsum("sc,sc->c", right, right))
    return np.asarray(left), values, right / np.where(values > 0, values, 1.0)


def block_eigenpairs(
    parts: Sequence[Floats], count: int
) -> tuple[Floats, list[Floats]]:  # (n, r_v) each -> (c,), (r_v, c) each
    """Return the largest eigenpairs of the matrix of blocks A_u' A_v, with zeros for u = v, of several tall matrices.

    >>> import numpy as np
    >>> values, (first, *_) = block_eigenpairs([np.eye(2)[:, :1]] * 3, 1)
    >>> values.round(6).tolist(), np.abs(first).round(6).tolist()
    ([2.0], [[0.57735]])
    """
    edges = np.cumsum([0, *(A.shape[1] for A in parts)])
    places = [slice(edges[v], edges[v + 1]) for v in range(len(parts))]

    def product(s: Floats) -> Floats:
        own = [A @ s[place] for A, place in zip(parts, places, strict=True)]
        total = np.sum(own, axis=0)
        return np.concatenate([A.T @ (total - part) for A, part in zip(parts, own, strict=True)])

    if is_large(int(edges[-1]), count):
        values, stacked = _by_lanczos(int(edges[-1]), product, count)
    else:
        blocks = np.zeros((edges[-1], edges[-1]))
        for u, v in combinations(range(len(parts)), 2):
            blocks[places[u], places[v]] = parts[u].T @ parts[v]
            blocks[places[v], places[u]] = blocks[places[u], places[v]].T
        values, stacked = generalized_eigenpairs(blocks, np.ones(edges[-1]), count)
    return values, [stacked[place] for place in places]


def _by_lanczos(r: int, product: Callable[[Floats], Floats], count: int) -> tuple[Floats, Floats]:
    """Return the largest eigenvalues, falling, and their vectors, to full precision."""
    operator = LinearOperator((r, r), matvec=product, dtype=np.float64)
    values, vectors = eigsh(operator, k=count, which="LA", v0=np.ones(r), tol=0.0)
    order = np.argsort(-values)
    return np.asarray(values[order]), np.asarray(vectors[:, order])
