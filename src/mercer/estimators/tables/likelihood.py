"""Length scales by marginal likelihood: one per column, moved along the gradient that the kernel pulls back."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as la
from scipy.optimize import minimize

from mercer.arrays import Floats
from mercer.kernels.base import Kernel

#: A parameter may move from its start by these logarithms; a weak prior of this standard deviation holds it there.
BOUNDS, PRIOR = (-4.0, 7.0), 3.0
SMALLEST_ALPHA, LARGEST_ALPHA = 1e-5, 1e1


class Problem:
    """-log p(y) of a Gaussian process with kernel s k and noise s alpha, the scale s and the mean taken out.

    l(theta, alpha) = n/2 log(r'G^-1 r / n) + log det(G)/2 with G = K + alpha I, and a weak normal prior on theta around its
    start. Several targets share theta and alpha, each with a scale of its own.
    """

    def __init__(self, kernel: Kernel, X: Any, Y: Floats) -> None:
        self.kernel, self.X = kernel, X
        self.Y = Y - Y.mean(axis=0)
        self.start = kernel.theta

    def __call__(self, point: Floats) -> tuple[float, Floats]:  # (p + 1,) -> value, (p + 1,)
        theta, alpha = point[:-1], float(np.exp(point[-1]))
        kernel = self.kernel.with_theta(theta)
        K = np.asarray(kernel(self.X), dtype=np.float64)
        n, t = self.Y.shape
        G = np.array(K, order="F")
        G.flat[:: n + 1] += alpha
        factor, info = la.lapack.dpotrf(G, lower=1, overwrite_a=1, clean=0)
        if info:
            return 1e10, np.zeros(len(point))
        determinant = float(np.log(np.diagonal(factor)).sum())
        inverse, _ = la.lapack.dpotri(factor, lower=1, overwrite_c=1)
        inverse = np.tril(inverse)
        inverse += np.tril(inverse, -1).T
        V = inverse @ self.Y
        squares = np.maximum(np.einsum("ij,ij->j", self.Y, V), 1e-300)
        value = 0.5 * n * float(np.log(squares / n).sum()) + t * determinant
        P = 0.5 * t * inverse - (V * (0.5 * n / squares)) @ V.T
        slope = kernel.pullback(self.X, weights=lambda r, c: P[r, c], values=lambda r, c: K[r, c])
        away = (theta - self.start) / PRIOR
        return value + 0.5 * float(away @ away), np.append(slope + away / PRIOR, alpha * float(np.trace(P)))


def learn(kernel: Kernel, X: Any, Y: Floats, *, max_iter: int, fixed: tuple[str, ...] = ("period",)) -> tuple[Kernel, float]:
    """The kernel at the largest marginal likelihood found within max_iter steps, and its alpha; `fixed` names stay."""
    start = kernel.theta
    names = kernel.theta_names
    lower, upper = start + BOUNDS[0], start + BOUNDS[1]
    for i, name in enumerate(names):
        if name.rpartition("__")[2].split("[")[0] in fixed:
            lower[i] = upper[i] = start[i]
    bounds = [*zip(lower, upper, strict=True), (np.log(SMALLEST_ALPHA), np.log(LARGEST_ALPHA))]
    options = {"maxiter": max_iter, "maxfun": max_iter + max_iter // 3}
    first = np.append(start, np.log(0.05))
    found = minimize(Problem(kernel, X, Y), first, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    point = found.x if np.isfinite(found.fun) and found.fun < 1e10 else first
    return kernel.with_theta(point[:-1]), float(np.exp(point[-1]))
