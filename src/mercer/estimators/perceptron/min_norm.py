"""The point of a convex hull nearest to the origin, by Wolfe's algorithm, from inner products alone.

For points y_i phi(x_i) the least norm of sum_i a_i y_i phi(x_i) over a >= 0, sum a = 1 equals the largest margin
min_i y_i <w, phi(x_i)> over ||w|| = 1. So one search gives the hard margin where the data are separable, with the w that
has it, and where they are not, the weights a that prove it: a combination whose norm is zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mercer.arrays import Array

#: A norm below this times R counts as zero: squared lengths carry the rounding of R^2.
ZERO = 1e-7


@dataclass(frozen=True)
class Nearest:
    """The weights a (n,), the norm reached, a lower bound on every norm in the hull, and how it ended."""

    weights: Array
    norm: float
    margin: float  # min_i <p, w> / ||w||: no point of the hull is nearer
    converged: bool
    n_iter: int
    message: str

    @property
    def separable(self) -> bool | None:
        """True with a margin, False with a certificate, None if the search ended before either."""
        if self.margin > 0:
            return True
        return False if self.converged else None


def min_norm(
    column: Callable[[int], Array], diagonal: Array, max_iter: int = 1000, tol: float = 1e-9, begin: int | None = None
) -> Nearest:
    """Minimize ||sum_i a_i p_i|| over the simplex; column(i) gives <p_j, p_i> for all j.

    >>> P = np.array([[1.0, 1.0], [1.0, -1.0], [3.0, 0.0]])
    >>> found = min_norm(lambda i: P @ P[i], (P * P).sum(axis=1))
    >>> round(found.norm, 9), found.weights.round(9).tolist()
    (1.0, [0.5, 0.5, 0.0])
    """
    scale = float(diagonal.max())
    first = int(diagonal.argmin()) if begin is None else begin
    corral, a, columns = [first], np.ones(1), [column(first)]
    best, message, converged, done = -np.inf, f"not settled in {max_iter} steps", False, 0
    for step in range(1, max_iter + 1):
        done = step
        Q = np.stack(columns, axis=1)  # (n, |corral|)
        towards = Q @ a
        squared = max(float(a @ towards[corral]), 0.0)
        j = int(towards.argmin())
        lowest = float(towards[j])
        if squared > 0:
            best = max(best, lowest / np.sqrt(squared))
        if squared <= (ZERO**2) * scale:
            message, converged = "the origin lies in the hull", True
            break
        if squared - lowest <= tol * squared or (j in corral):
            message, converged = "nearest point found", True
            break
        corral.append(j)
        columns.append(column(j))
        corral, columns, a = _settle(corral, columns, np.append(a, 0.0))
    weights = np.zeros(len(diagonal))
    np.add.at(weights, corral, a)
    norm = float(np.sqrt(max(float(a @ (np.stack(columns, axis=1) @ a)[corral]), 0.0)))
    margin = best if norm > ZERO * np.sqrt(scale) else 0.0  # below, a positive margin would be rounding
    return Nearest(weights, norm, max(margin, 0.0), converged, done, message)


def _settle(corral: list[int], columns: list[Array], a: Array) -> tuple[list[int], list[Array], Array]:
    """Wolfe's minor cycle: walk to the affine minimum of the corral, dropping points whose weight would turn negative."""
    while True:
        b = _affine_minimum(np.stack(columns, axis=1)[corral])
        if (b > 1e-12).all():
            return corral, columns, b
        falling = b <= 1e-12
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.where(falling, a / np.where(falling, a - b, 1.0), np.inf)
        step = float(min(1.0, ratios.min()))
        a = np.maximum((1.0 - step) * a + step * b, 0.0)
        a[int(ratios.argmin())] = 0.0  # at least one leaves, whatever the rounding
        keep = np.flatnonzero(a > 1e-14)
        corral, columns = [corral[i] for i in keep], [columns[i] for i in keep]
        a = a[keep] / a[keep].sum()
        if len(corral) == 1:
            return corral, columns, np.ones(1)


def _affine_minimum(Q: Array) -> Array:  # (c, c) -> (c,)
    """The b with sum b = 1 that minimizes b'Qb: (Q + s 11')^-1 1, scaled, by least squares where points repeat."""
    size = len(Q)
    shifted = Q + (float(np.trace(Q)) / size or 1.0)
    try:
        factor = np.linalg.cholesky(shifted)
        b = np.linalg.solve(factor.T, np.linalg.solve(factor, np.ones(size)))
    except np.linalg.LinAlgError:
        b = np.linalg.lstsq(shifted, np.ones(size), rcond=1e-13)[0]
    return np.asarray(b / b.sum())
