"""Slow twins for support vector machines: objectives from coefficients, and a QP solver of another kind."""

from __future__ import annotations

import numpy as np
from scipy.optimize import LinearConstraint, minimize


def regression_dual(coef: np.ndarray, K: np.ndarray, y: np.ndarray, epsilon: float) -> float:
    """y'b - epsilon sum |b| - 1/2 b'Kb."""
    return float(y @ coef - epsilon * np.abs(coef).sum() - 0.5 * coef @ K @ coef)


def solve_qp(Q: np.ndarray, p: np.ndarray, upper: np.ndarray, A: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, float]:
    """min 1/2 a'Qa + p'a with A a = b and 0 <= a <= upper, by an interior-point method that shares nothing with ours."""
    scale = 1.0 / float(np.diagonal(Q).mean())  # a = scale u, so that the curvature is about 1
    upper, b = upper / scale, b / scale
    start = np.full(len(p), float(np.minimum(upper, 1.0).min()) / 2)
    H = scale * Q
    found = minimize(
        lambda u: 0.5 * u @ H @ u + p @ u,
        start,
        jac=lambda u: H @ u + p,
        hess=lambda u: H,
        method="trust-constr",
        bounds=list(zip(np.zeros(len(p)), upper, strict=True)),
        constraints=[LinearConstraint(A, b, b)],
        options={"gtol": 1e-12, "xtol": 1e-14, "barrier_tol": 1e-13, "maxiter": 3000},
    )
    return scale * found.x, scale * float(found.fun)
