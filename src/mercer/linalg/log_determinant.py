"""log det A and the diagonal of A^-1 by random signs, for a matrix that is known only by its products.

With P the diagonal of A and B = P^-1/2 A P^-1/2, log det A = sum log P + tr log B, and tr log B is the mean of u' log(B) u
over vectors of signs. Conjugate gradients for A x = P^1/2 u with preconditioner P are Lanczos for B from u: their numbers
make a small tridiagonal matrix whose eigenvalues and first components are a quadrature of u' log(B) u (Ubaru, Chen and Saad
2017), and their answer x, times P^-1/2 u, has the diagonal of A^-1 as its mean. Where A is its diagonal both are exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg as la

from mercer.arrays import Array
from mercer.errors import NumericalError
from mercer.linalg.conjugate_gradient import Operator

#: A vector is done when u'B^-1 u, which every step makes larger, has gained less than a share `tol` in this many steps.
DELAY, ROUNDING = 4, 1e-12


@dataclass(frozen=True)
class Traces:
    """What random vectors say of a matrix."""

    logdet: float
    inverse_diagonal: Array  # (n,)
    n_iter: int
    converged: bool


def random_traces(
    A: Operator, diagonal: Array, shift: float, signs: Array, *, tol: float = 1e-4, max_iter: int = 500
) -> Traces:  # (n, n), (n,), (n, s)
    """log det (A + shift) and diag (A + shift)^-1 from random vectors whose entries have the square 1 on average.

    >>> A = np.diag([1.0, 3.0])
    >>> found = random_traces(A, A.diagonal(), 1.0, np.array([[1.0], [-1.0]]))
    >>> bool(np.isclose(found.logdet, np.log(8.0))), found.inverse_diagonal.round(6).tolist()
    (True, [0.5, 0.25])
    """
    P = diagonal + shift
    if not (P > 0).all():
        raise NumericalError(f"the diagonal of A + shift has an entry of {P.min():.3g}; it must be positive.")
    root = np.sqrt(P)[:, None]
    R = root * signs
    X, Z = np.zeros_like(R), R / P[:, None]
    D, rz = Z.copy(), np.einsum("ij,ij->j", R, Z)
    start, alphas, betas = rz.copy(), [], []
    going, reached, before = np.ones(signs.shape[1], bool), np.zeros(signs.shape[1]), []
    for _ in range(max_iter):
        AD = np.asarray(A @ D) + shift * D
        alpha = np.where(going, rz / np.einsum("ij,ij->j", D, AD), 0.0)
        X += alpha * D
        R -= alpha * AD
        Z = R / P[:, None]
        fresh = np.einsum("ij,ij->j", R, Z)
        beta = np.where(going, fresh / rz, 0.0)
        alphas.append(np.where(going, alpha, np.nan))
        betas.append(beta)
        reached += alpha * rz
        before.append(reached.copy())
        still = reached - before[-DELAY] > tol * reached if len(before) >= DELAY else True
        going &= still & (fresh > ROUNDING**2 * start)
        if not going.any():
            break
        D, rz = Z + beta * D, np.where(going, fresh, rz)
    runs = zip(start, np.array(alphas).T, np.array(betas).T, strict=True)
    rest = float(np.mean([size * _quadrature(a, b) for size, a, b in runs]))
    logs = float(np.sum(np.mean(signs**2, axis=1) * np.log(P)))
    return Traces(logs + rest, np.mean(X * signs / root, axis=1), len(alphas), not going.any())


def _quadrature(alphas: Array, betas: Array) -> float:  # (k,), (k,)
    """e_1' log(T) e_1 for the tridiagonal matrix T of a run of conjugate gradients; NaN marks its end."""
    k = int(np.isfinite(alphas).sum())
    a, b = alphas[:k], betas[: max(0, k - 1)]
    main = 1.0 / a
    main[1:] += b / a[:-1]
    beside = np.sqrt(np.maximum(b, 0.0)) / a[:-1]
    try:
        values, vectors = la.eigh_tridiagonal(main, beside)
    except la.LinAlgError:  # stemr is the fast one, and that of SciPy 1.13 fails at times; QR steps do not
        values, vectors = la.eigh_tridiagonal(main, beside, lapack_driver="stev")
    return float(vectors[0] ** 2 @ np.log(np.maximum(values, np.finfo(np.float64).tiny)))
