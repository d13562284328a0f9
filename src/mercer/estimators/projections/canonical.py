"""Canonical functions of views: singular vectors of products of whitened coordinates, by two factorizations.

For the centered Gram matrix K of n rows of a view and its penalty c let T T' = K (K + c I)^-1. The functions f of the view
have the values sqrt(n) T s at the rows, with |s|^2 = var f + c/n ||f||^2. The functions of two views with the largest
covariance belong to singular vectors of T_1' T_2, those of more views to eigenvectors of all these blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import scipy.linalg as la

from mercer.arrays import Floats
from mercer.grams.coordinates import ROUNDING, Coordinates
from mercer.grams.operator import gram
from mercer.inputs import Rows
from mercer.kernels.base import Kernel
from mercer.linalg.generalized import block_eigenpairs, singular_pairs

#: Penalties from this share of the variance on are solved with one Cholesky factor; its rounding is eps over the share.
SOLVED = 1e-6

#: A smaller covariance is rounding; the functions are 0 there.
LEAST = 1e-8


@dataclass(frozen=True)
class CanonicalView:
    """Whitened coordinates T of the rows, and what turns weights s and targets into coefficients of functions.

    The targets of a view are y = sum_u T_u s_u / rho over the other views u; its function is the ridge regression on y.
    """

    T: Floats  # (n, r)
    anchors: Any  # a rows
    function: Callable[[Floats, Floats], tuple[Floats, Floats]]  # (r, q), (n, q) -> (a, q), (q,)


def along_axes(found: Coordinates, alpha: float) -> CanonicalView:
    """Return a view from coordinates along principal axes; exact for every penalty, given as a share of the variance."""
    scale = whitening(found, alpha)
    return CanonicalView(found.Z * scale, found.anchors, lambda S, Y: found.projection(scale[:, None] * S))


def whitening(found: Coordinates, alpha: float) -> Floats:  # -> (r,)
    """Return the factors that make coordinates along principal axes those of a view."""
    return np.asarray(1.0 / np.sqrt(found.values + alpha * found.total))


def by_cholesky(kernel: Kernel, rows: Rows, alpha: float) -> CanonicalView:
    """Return a view from a Cholesky factor with pivots of the centered Gram matrix, for alpha >= SOLVED.

    With K = G G' and G'G + c I = M M' it is T = G M^-T. The coefficients of the ridge regression on y are (y - f) / c.
    """
    K = np.asarray(gram(kernel, rows), dtype=np.float64)
    means, largest = K.mean(axis=0), float(np.abs(np.diagonal(K)).max())
    K = K - means[:, None] - (means - means.mean())
    penalty = alpha * float(np.trace(K))
    G = pivoted_factor(K, ROUNDING * len(K) * largest)
    M = G.T @ G
    M[np.diag_indices_from(M)] += penalty
    M = la.cholesky(M, lower=True, overwrite_a=True, check_finite=False)
    T = np.asarray(la.solve_triangular(M, G.T, lower=True, overwrite_b=True, check_finite=False)).T

    def function(S: Floats, Y: Floats) -> tuple[Floats, Floats]:
        dual = (Y - T @ S) / penalty
        dual -= dual.mean(axis=0)  # the coefficients of a difference to the mean add up to zero
        return dual, -(means @ dual)

    return CanonicalView(T, rows.data, function)


def pivoted_factor(K: Floats, least: float) -> Floats:  # (n, n) -> (n, r)
    """Return G with G G' = K up to pivots that are smaller than some number; K is overwritten."""
    if not np.diagonal(K).max() > least:
        return np.empty((len(K), 0))
    factor, pivots, rank, _ = la.lapack.dpstrf(K.T, lower=1, tol=least, overwrite_a=1)
    G = np.empty((len(K), rank))
    G[pivots - 1] = np.tril(factor[:, :rank])
    return G


def canonical_vectors(views: Sequence[Floats], count: int) -> tuple[list[Floats], Floats]:  # (n, r_v) each -> (r_v, q), (q,)
    """Return vectors of the whitened coordinates of every view, and their covariances, falling.

    The score of largest absolute value of the first view is positive in every component.
    """
    q = min(count, *(T.shape[1] for T in views))
    if len(views) == 2:
        left, values, right = singular_pairs(views[0], views[1], q)
        found = [left, right]
    else:
        values, found = block_eigenpairs(views, q)
    scores = views[0] @ found[0]
    signs = np.where(scores[np.abs(scores).argmax(axis=0), np.arange(q)] < 0, -1.0, 1.0)
    return [S * signs for S in found], values


def functions(
    views: Sequence[CanonicalView], vectors: Sequence[Floats], values: Floats
) -> list[tuple[Floats, Floats]]:  # -> (a, q), (q,) each
    """Return dual coefficients and intercepts of the functions of every view, with sum_v var f_v + penalty ||f_v||^2 = 1.

    For two views every one of them has the sum 1.
    """
    root = np.sqrt(len(views[0].T))
    scores = [root * (view.T @ S) for view, S in zip(views, vectors, strict=True)]
    total = np.sum(scores, axis=0)
    kept = np.abs(values) > LEAST
    shares = np.divide(1.0, values, out=np.zeros_like(values), where=kept)
    return [
        view.function(root * S * kept, (total - own) * shares) for view, S, own in zip(views, vectors, scores, strict=True)
    ]


def mean_correlations(scores: Sequence[Floats]) -> Floats:  # (n, q) each -> (q,)
    """Return the correlation of every component, the mean over pairs of views; 0 where a view is constant."""
    centered = [part - part.mean(axis=0) for part in scores]
    lengths = [np.sqrt(np.einsum("nq,nq->q", part, part)) for part in centered]
    found = []
    for u, v in combinations(range(len(scores)), 2):
        scale = lengths[u] * lengths[v]
        inner = np.einsum("nq,nq->q", centered[u], centered[v])
        found.append(np.divide(inner, scale, out=np.zeros_like(inner), where=scale > 0))
    return np.asarray(np.mean(found, axis=0))
