"""Gaussian processes through m inducing rows: the collapsed variational bound, its gradient and its posterior.

With Q = K_fu K_uu^-1 K_uf and noise D = diag(d), Titsias (2009) bounds the log marginal likelihood from below by

    F = log N(y | 0, Q + D) - 1/2 sum_i (k_ii - q_ii) / d_i,

in O(n m^2). Rows pass by in blocks: each is whitened, V = L^-1 K_uf with K_uu = L L', and added to B = I + V D^-1 V'.
Whitening before the product keeps digits that K_uf K_fu would lose. Kernels stay outside: blocks come from a function, and
the gradient goes back as weight matrices on K_uu, K_fu and diag(K).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg as la
import scipy.linalg.blas as blas

from mercer.linalg.cholesky import cholesky
from mercer.linalg.solution import Array

#: Rows of K_fu made, whitened and multiplied at a time.
ROWS = 2048

#: Always added to the diagonal of K_uu, relative to its mean: far below what the bound can notice, and enough for rows that
#: were chosen well to stay apart while the optimizer moves the length scales.
NUGGET = 1e-12

Cross = Callable[[slice], Array]  # rows -> (r, m) of K_fu
PullCross = Callable[[slice, Array], Array]  # rows, weights (r, m) -> (p,)


def row_blocks(n: int, size: int = ROWS) -> list[slice]:
    """The slices of at most ``size`` rows that cover n."""
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


@dataclass(frozen=True)
class Collapsed:
    """The bound at one setting of the parameters, and what posterior and gradient need of it."""

    L: Array  # (m, m) K_uu = L L'
    LB: Array  # (m, m) B = LB LB'
    beta: Array  # (m, c) B^-1 V D^-1 T for the columns T
    quadratic: Array  # (c, c) T' (Q + D)^-1 T
    logdet: float  # log det(Q + D)
    trace: float  # sum_i (k_ii - q_ii) / d_i
    noise: Array  # (1,) or (n,)
    jitter: float
    V: Array | None  # (n, m) whitened rows, if they were kept

    @property
    def weights(self) -> Array:  # -> (m, c)
        """w with posterior mean K_*u w."""
        return la.solve_triangular(self.L, self.beta, lower=True, trans="T", check_finite=False)


def collapsed(  # Kuu (m, m), diag (n,), columns (n, c), noise (1,) or (n,)
    cross: Cross, Kuu: Array, diag: Array, columns: Array, noise: Array, *, keep: bool = False
) -> Collapsed:
    """One pass over the rows: what makes up the bound; ``keep`` holds the whitened rows for the gradient.

    For t targets Y the bound is -1/2 (tr quadratic + t (logdet + trace) + n t log 2 pi).

    >>> X = np.linspace(0, 1, 5)
    >>> K, y = np.exp(-np.subtract.outer(X, X) ** 2), X[:, None] ** 2
    >>> whole = collapsed(lambda rows: K[rows], K, np.ones(5), y, np.array([0.1]))  # every row is an inducing one
    >>> G = K + 0.1 * np.eye(5)
    >>> bool(np.isclose(whole.logdet + whole.trace, np.linalg.slogdet(G)[1], atol=1e-8))
    True
    """
    n, c = columns.shape
    m = Kuu.shape[0]
    d = np.asarray(noise, dtype=np.float64)
    factor = cholesky(Kuu, NUGGET * float(np.mean(np.diagonal(Kuu))))
    L = np.tril(factor.matrix)
    V = np.empty((n, m)) if keep else None
    S, b, explained = np.zeros((m, m), order="F"), np.zeros((m, c)), 0.0
    for rows in row_blocks(n):
        here = _rows_of(d, rows)
        v = blas.dtrsm(1.0, L, np.array(cross(rows).T, dtype=np.float64, order="F"), lower=1, overwrite_b=1)  # (m, r)
        if V is not None:
            V[rows] = v.T
        b += v @ (columns[rows] / here[:, None])
        v /= np.sqrt(here)
        S = blas.dsyrk(1.0, v, beta=1.0, c=S, lower=1, overwrite_c=1)
        explained += float(np.vdot(v, v))
    S[np.diag_indices(m)] += 1.0
    LB = la.cholesky(S, lower=True, check_finite=False)
    whitened = la.solve_triangular(LB, b, lower=True, check_finite=False)
    beta = la.solve_triangular(LB, whitened, lower=True, trans="T", check_finite=False)
    quadratic = columns.T @ (columns / d[:, None]) - whitened.T @ whitened
    logdet = 2.0 * float(np.log(LB.diagonal()).sum()) + float(np.sum(np.log(np.broadcast_to(d, (n,)))))
    trace = float(np.sum(diag / d)) - explained
    return Collapsed(L, LB, beta, quadratic, logdet, trace, d, factor.jitter, V)


def latent_variance(L: Array, LB: Array, cross: Array, diag: Array) -> Array:  # (m, m), (m, m), (r, m), (r,) -> (r,)
    """k_** - |L^-1 k|^2 + |LB^-1 L^-1 k|^2 for new rows, never negative."""
    v = la.solve_triangular(L, cross.T, lower=True, check_finite=False)
    s = la.solve_triangular(LB, v, lower=True, check_finite=False)
    return np.maximum(diag - np.einsum("ij,ij->j", v, v) + np.einsum("ij,ij->j", s, s), 0.0)


def latent_covariance(L: Array, LB: Array, cross: Array, prior: Array) -> Array:  # (m, m), (m, m), (r, m), (r, r)
    """The same for pairs of new rows."""
    v = la.solve_triangular(L, cross.T, lower=True, check_finite=False)
    s = la.solve_triangular(LB, v, lower=True, check_finite=False)
    return prior - v.T @ v + s.T @ s


def bound_gradient(  # diag (n,), columns (n, c), combine (c, t)
    state: Collapsed,
    cross: Cross,
    columns: Array,
    combine: Array,
    pull_cross: PullCross,
    pull_uu: Callable[[Array], Array],
    pull_diag: Callable[[Array], Array],
) -> tuple[Array, float]:  # -> (p,), number
    """The gradient of the bound of the t targets E = columns @ combine: in theta, and in the logarithm of the noise.

    A second pass over the rows sends weights back through the kernel. With alpha = D^-1 (E - V' beta),

        dF/dK_uf = L^-T (beta alpha' + t (I - B^-1) V D^-1),    dF/dk_ii = -t / (2 d_i),
        dF/dK_uu = -1/2 L^-T (beta beta' + t (B - 2 I + B^-1)) L^-1,
        dF/dlog(noise) = 1/2 (sum_i d_i alpha_i^2 - t (n - tr Q (Q + D)^-1) + t sum_i (k_ii - q_ii) / d_i).
    """
    n, t = len(columns), combine.shape[1]
    m, d, beta = state.L.shape[0], state.noise, state.beta @ combine
    eye = np.eye(m)
    inverse = la.cho_solve((state.LB, True), eye, check_finite=False)  # B^-1
    left = la.solve_triangular(state.L, eye - inverse, lower=True, trans="T", check_finite=False)  # L^-T (I - B^-1)
    back = state.weights @ combine  # (m, t) L^-T beta
    whole = state.LB @ state.LB.T - 2.0 * eye + inverse
    half = la.solve_triangular(state.L, -0.5 * (beta @ beta.T + t * whole), lower=True, trans="T", check_finite=False)
    W_uu = la.solve_triangular(state.L, half.T, lower=True, trans="T", check_finite=False)
    theta = pull_uu(W_uu) + pull_diag(np.broadcast_to(-0.5 * t / d, (n,)))
    fitted = 0.0
    for rows in row_blocks(n):
        here = np.broadcast_to(_rows_of(d, rows), (rows.stop - rows.start,))[:, None]
        v = state.V[rows].T if state.V is not None else la.solve_triangular(state.L, cross(rows).T, lower=True)  # (m, r)
        alpha = (columns[rows] @ combine - v.T @ beta) / here  # (r, t)
        theta = theta + pull_cross(rows, t * (v.T / here) @ left.T + alpha @ back.T)
        fitted += float(np.sum(here * alpha**2))
    effective = m - float(np.trace(inverse))  # tr Q (Q + D)^-1
    return theta, 0.5 * (fitted - t * (n - effective) + t * state.trace)


def _rows_of(d: Array, rows: slice) -> Array:  # (1,) or (n,) -> (1,) or (r,)
    return d[rows] if d.size > 1 else d
