"""Lengths, distances, means and projections in feature space.

A point of feature space is written w = sum_i a_i phi(x_i) by its coefficients a. Every function takes a Gram matrix K of
the points, or a kernel and a collection (k, X); only inner products are used, so the features may be infinitely many.

    norm         ||w||                   sqrt(a'Ka)
    distance     ||v - w||               sqrt((a - b)'K(a - b))
    distances    ||phi(x) - phi(z)||     sqrt(k(x, x) + k(z, z) - 2 k(x, z))
    inner        <v, w>                  a'Kb, and <f, g> of two fitted functions
    mean_norm    ||mean of phi(x_i)||    sqrt(1'K1) / m
    spread       mean ||phi(x_i) - mean||^2 = tr(K)/m - 1'K1/m^2
    normalize    k(x, z) / sqrt(k(x, x) k(z, z))
    center       <phi(x) - mean, phi(z) - mean>
    projection   <phi(z), w> / ||w||
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mercer.arrays import Array, Floats
from mercer.errors import InputError, describe
from mercer.geometry.functions import inner_of_functions
from mercer.grams import GramOperator, gram
from mercer.grams.differences import warn_of_cancellation, without_offset
from mercer.grams.dual_function import HasDualFunction
from mercer.kernels.base import Kernel
from mercer.kernels.parsing import as_kernel

#: Squared lengths above -ROUNDING n max|K| sum|a|^2 are zero up to rounding; below it, the matrix is not psd.
ROUNDING = 100 * float(np.finfo(np.float64).eps)


class _Points:
    """m points of feature space: a Gram matrix, or a kernel with a collection whose Gram matrix is never stored."""

    def __init__(self, source: Any, X: Any = None) -> None:
        if isinstance(source, (Kernel, str)):
            if X is None:
                raise InputError("geometry: a kernel needs the collection beside it: f(k, X, …).")
            self.K: Any = GramOperator(source, X)
            _check_symmetric(self.K)
            self.diagonal = np.asarray(self.K.diag(), dtype=np.float64)
        else:
            self.K = _as_gram(source)
            self.diagonal = np.diagonal(self.K).astype(np.float64)
        self.m = int(self.K.shape[0])
        self.scale = float(np.abs(self.diagonal).max())

    def coefficients(self, a: ArrayLike | None, name: str) -> Floats:
        if a is None:
            raise InputError(f"geometry: the coefficients {name} are missing; w = sum_i {name}_i phi(x_i) needs them.")
        vector = np.asarray(a, dtype=np.float64)
        if vector.shape != (self.m,) or not np.isfinite(vector).all():
            raise InputError(f"geometry: {name} must be {self.m} finite coefficients, one per point; got {describe(a)}.")
        return vector

    def squared_norm(self, a: Floats, what: str) -> float:
        value = float(a @ (self.K @ a))
        if value < -ROUNDING * self.m * self.scale * float(a @ a):
            raise InputError(
                f"{what} is {value:.3g} < 0: the Gram matrix is not positive semi-definite, so lengths do not exist. "
                "mercer.check_gram(K) shows why, mercer.repair(K) gives the nearest matrix that is."
            )
        return max(value, 0.0)


def norm(K: Any, *arguments: Any) -> float:
    """Return ||w|| = sqrt(a'Ka) for w = sum_i a_i phi(x_i): norm(K, a) or norm(k, X, a).

    >>> import numpy as np
    >>> from mercer import Linear, geometry
    >>> X, a = np.array([[3.0, 0.0], [0.0, 4.0]]), [1.0, 1.0]
    >>> geometry.norm(Linear(), X, a), geometry.norm(X @ X.T, a)
    (5.0, 5.0)
    """
    points, (a,) = _read(K, arguments, ("a",))
    return points.squared_norm(points.coefficients(a, "a"), "||w||^2") ** 0.5


def distance(K: Any, *arguments: Any) -> float:
    """Return ||v - w|| for v = sum_i a_i phi(x_i), w = sum_i b_i phi(x_i): distance(K, a, b) or distance(k, X, a, b).

    >>> import numpy as np
    >>> from mercer import geometry
    >>> geometry.distance(np.diag([9.0, 16.0]), [1.0, 0.0], [0.0, 1.0])
    5.0
    """
    points, (a, b) = _read(K, arguments, ("a", "b"))
    difference = points.coefficients(a, "a") - points.coefficients(b, "b")
    if isinstance(points.K, GramOperator) and abs(difference.sum()) <= ROUNDING * np.abs(difference).sum():
        kernel = points.K.kernel  # v - w is a sum of differences of points, which does not change if the data are shifted
        points = _Points(kernel, *without_offset(kernel, arguments[0]))
    return points.squared_norm(difference, "||v - w||^2") ** 0.5


def inner(K: Any, *arguments: Any) -> float:
    """Return <v, w> = a'Kb for v = sum_i a_i phi(x_i), w = sum_i b_i phi(x_i): inner(K, a, b) or inner(k, X, a, b).

    inner(f, g) of two fitted models of one kernel is the inner product of the functions that they have learned, without
    their intercepts: sum_ij a_i b_j k(x_i, z_j).

    >>> import numpy as np
    >>> from mercer import KernelRidge, Linear, geometry
    >>> X, a, b = np.array([[3.0, 0.0], [0.0, 4.0]]), [1.0, 1.0], [1.0, -1.0]
    >>> geometry.inner(Linear(), X, a, b), geometry.inner(X @ X.T, a, b)
    (-7.0, -7.0)
    >>> f, g = KernelRidge(Linear()).fit(X, [1.0, 2.0]), KernelRidge(Linear()).fit(X, [0.0, 1.0])
    >>> bool(np.isclose(geometry.inner(f, f), f.rkhs_norm_**2))
    True
    """
    if isinstance(K, HasDualFunction):
        return inner_of_functions(K, *arguments)
    points, (a, b) = _read(K, arguments, ("a", "b"))
    return float(points.coefficients(a, "a") @ (points.K @ points.coefficients(b, "b")))


def distances(K: Any, X: Any = None, Z: Any = None) -> Floats:
    """Return ||phi(x_i) - phi(z_j)|| for all pairs: distances(K) or distances(k, X, Z=None).

    >>> import numpy as np
    >>> from mercer import Linear, geometry
    >>> geometry.distances(Linear(), np.array([[0.0], [3.0]]), np.array([[1.0]])).tolist()
    [[1.0], [2.0]]
    """
    eps, what = float(np.finfo(np.float64).eps), "this matrix"
    if isinstance(K, (Kernel, str)):
        kernel = as_kernel(K)
        what = repr(kernel)
        X, Z = without_offset(kernel, X, None if Z is X else Z)
        operator = _Points(kernel, X)
        left = operator.diagonal
        right = left if Z is None else np.asarray(kernel.diag(Z), dtype=np.float64)
        cross = gram(kernel, X, Z)
        eps, cross = float(np.finfo(cross.dtype).eps), cross.astype(np.float64)
    else:
        if X is not None:
            raise InputError("geometry.distances: with a Gram matrix, give the matrix alone; with data, give (k, X, Z).")
        cross = _as_gram(K).astype(np.float64)
        left = right = np.diagonal(cross).copy()
    sizes = left[:, None] + right[None, :]
    limit = -ROUNDING * np.abs(sizes).max()
    squared = sizes - 2.0 * cross
    if squared.min() < limit:
        i, j = np.unravel_index(int(squared.argmin()), squared.shape)
        raise InputError(
            f"the kernel distance of the pair ({i}, {j}) is imaginary: k(x, x) + k(z, z) - 2 k(x, z) = {squared[i, j]:.3g} "
            "< 0, so this is not a kernel. mercer.repair(K) gives the nearest Gram matrix that has distances."
        )
    np.maximum(squared, 0.0, out=squared)
    apart = ~np.eye(len(squared), dtype=bool) if right is left else np.ones(squared.shape, dtype=bool)
    warn_of_cancellation("geometry.distances", squared[apart], np.abs(sizes[apart]), eps, what, X)
    if right is left:
        np.fill_diagonal(squared, 0.0)
    return np.sqrt(squared, out=squared)


def mean_norm(K: Any, X: Any = None) -> float:
    """Return ||phi_S||, the length of the mean feature vector: sqrt(1'K1) / m.

    >>> import numpy as np
    >>> from mercer import Linear, geometry
    >>> geometry.mean_norm(Linear(), np.array([[3.0, 0.0], [3.0, 8.0]]))
    5.0
    """
    points = _Points(K, X)
    return points.squared_norm(np.full(points.m, 1.0 / points.m), "||phi_S||^2") ** 0.5


def spread(K: Any, X: Any = None) -> float:
    """Return the mean squared distance to the mean, tr(K)/m - 1'K1/m^2.

    >>> import numpy as np
    >>> from mercer import Linear, geometry
    >>> X = np.array([[1.0], [2.0], [6.0]])
    >>> bool(np.isclose(geometry.spread(Linear(), X), X.var()))
    True
    """
    if isinstance(K, (Kernel, str)):
        K = as_kernel(K)
        (X,) = without_offset(K, X)
    points = _Points(K, X)
    mean = points.squared_norm(np.full(points.m, 1.0 / points.m), "||phi_S||^2")
    return max(float(points.diagonal.mean()) - mean, 0.0)


def normalize(K: Any, X: Any = None) -> Floats:
    """Return the Gram matrix of phi(x) / ||phi(x)||; rows with k(x, x) = 0 become 0.

    >>> import numpy as np
    >>> from mercer import geometry
    >>> geometry.normalize(np.array([[4.0, 2.0], [2.0, 4.0]])).tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """
    if isinstance(K, (Kernel, str)):
        return np.asarray(gram(as_kernel(K).normalized(), X), dtype=np.float64)
    G = _as_gram(K).astype(np.float64)
    diagonal = np.diagonal(G).copy()
    if diagonal.min() < 0:
        row = int(diagonal.argmin())
        raise InputError(f"geometry.normalize: K[{row}, {row}] = {diagonal[row]:.3g} < 0, so this is not a Gram matrix.")
    inverse = np.divide(1.0, np.sqrt(diagonal), out=np.zeros_like(diagonal), where=diagonal > 0)
    G *= inverse[:, None]
    G *= inverse[None, :]
    np.fill_diagonal(G, (diagonal > 0).astype(np.float64))
    return G


def center(K: Any, X: Any = None, Z: Any = None) -> Floats:
    """Return inner products of phi - mean, with the mean of the training points.

    center(K) centers a Gram matrix: K - 1k' - k1' + mean, k the row means. center(K, K_new) centers rows of new points
    against the training points with the *training* means. center(k, X) and center(k, X, Z) do both from data (rows are
    Z, columns X). Among all origins the mean gives the smallest trace: tr(center(K)) = m spread(K) = min_a sum_i
    ||phi(x_i) - a||^2.

    >>> import numpy as np
    >>> from mercer import Linear, geometry
    >>> X = np.array([[1.0, 2.0], [3.0, 4.0], [8.0, 0.0]])
    >>> D = X - X.mean(axis=0)
    >>> bool(np.allclose(geometry.center(Linear(), X), D @ D.T))
    True
    """
    if isinstance(K, (Kernel, str)):
        train = gram(K, X).astype(np.float64)
        new = train if Z is None or Z is X else gram(K, Z, X).astype(np.float64)
    else:
        train = _as_gram(K).astype(np.float64)
        new = train if X is None else np.asarray(X, dtype=np.float64)
    if new.ndim != 2 or new.shape[1] != len(train):
        raise InputError(
            f"geometry.center: new rows have shape {new.shape}; each needs a kernel value against all {len(train)} "
            "training points."
        )
    means = train.mean(axis=0)
    centered = new - new.mean(axis=1, keepdims=True)
    centered -= means
    centered += means.mean()
    return centered


def projection(K: Any, *arguments: Any) -> Floats:
    """Return <phi(z_j), w> / ||w||, the coordinate along w = sum_i a_i phi(x_i), of the points or of new ones.

    projection(K, a) and projection(k, X, a) project the points themselves; projection(K, a, K_new) and
    projection(k, X, a, Z) project new ones, K_new holding their kernel values against the points.

    >>> import numpy as np
    >>> from mercer import Linear, geometry
    >>> X = np.array([[3.0, 4.0], [1.0, 0.0]])
    >>> geometry.projection(Linear(), X, [0.0, 2.0]).tolist()
    [3.0, 1.0]
    """
    points, (a, new) = _read(K, arguments, ("a", "new"), required=1)
    vector = points.coefficients(a, "a")
    length = points.squared_norm(vector, "||w||^2") ** 0.5
    if length == 0:
        raise InputError("geometry.projection: w has length 0, so there is no direction to project on.")
    if new is None:
        rows: Any = points.K
    elif isinstance(points.K, GramOperator):
        rows = GramOperator(points.K.kernel, new, arguments[0])
    else:
        rows = np.asarray(new, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != points.m:
            raise InputError(f"geometry.projection: new rows must have shape (n, {points.m}); got {rows.shape}.")
    return np.asarray(rows @ vector, dtype=np.float64) / length


def _read(
    source: Any, arguments: tuple[Any, ...], names: tuple[str, ...], required: int | None = None
) -> tuple[_Points, list[Any]]:
    """Return the points of (K, …) or (k, X, …), and the arguments after them."""
    given = list(arguments)
    if isinstance(source, (Kernel, str)):
        points = _Points(source, given.pop(0) if given else None)
    else:
        points = _Points(source)
    least = len(names) if required is None else required
    if not least <= len(given) <= len(names):
        raise InputError(
            f"geometry: {', '.join(names[:least])} must follow the Gram matrix, or the kernel and its data; "
            f"got {len(given)} arguments there."
        )
    return points, given + [None] * (len(names) - len(given))


def _check_symmetric(K: GramOperator) -> None:
    """Raise if the kernel is not symmetric on these data; k(x, z) and k(z, x) are compared on up to 256 rows."""
    if K.symmetric:
        return
    rows = slice(0, min(K.shape[0], 256))
    block = K.block(rows, rows)
    asymmetry = float(np.abs(block - block.T).max())
    if K.shape[0] != K.shape[1] or not asymmetry <= 1e-6 * float(np.abs(block).max()):
        raise InputError(
            f"geometry: {K.kernel} is not symmetric, so not a kernel: k(x, z) and k(z, x) differ by up to {asymmetry:.3g}."
        )


def _as_gram(K: Any) -> Array:
    G = np.asarray(K)
    if G.dtype.kind not in "fiub" or G.ndim != 2 or G.shape[0] != G.shape[1] or G.size == 0:
        raise InputError(f"geometry: a Gram matrix is square and real; got {describe(K)} of shape {G.shape}.")
    if not np.isfinite(G).all():
        raise InputError("geometry: the Gram matrix has NaN or infinite entries.")
    if G.dtype.kind != "f":
        G = G.astype(np.float64)
    asymmetry = float(np.abs(G - G.T).max())
    if asymmetry > 1e-6 * float(np.abs(G).max()):
        raise InputError(f"geometry: a Gram matrix is symmetric; entries of K and K' differ by up to {asymmetry:.3g}.")
    return G
