"""Slow twins of the box solver: one pair after the other in plain NumPy, and a general solver for quadratic programs."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

TAU = 1e-12


def matrix(problem, K):
    """Q with Q_ij = s_i s_j K[r_i, r_j]."""
    rows = np.arange(len(problem.signs)) if problem.rows is None else problem.rows
    return np.outer(problem.signs, problem.signs) * K[np.ix_(rows, rows)]


def naive_smo(problem, K, tol=1e-3, max_iter=10**6):
    """Pairs by the second-order rule, in the weights a themselves, every formula as in the paper of Fan, Chen and Lin."""
    Q, s, C = matrix(problem, K), problem.signs, problem.upper
    a = problem.start.astype(float).copy()
    for _ in range(max_iter):
        G = Q @ a + problem.linear
        best = None
        for sign in (1.0, -1.0) if problem.split else (None,):
            member = np.ones(len(a), bool) if sign is None else s == sign
            up = member & (((s > 0) & (a < C)) | ((s < 0) & (a > 0)))
            low = member & (((s > 0) & (a > 0)) | ((s < 0) & (a < C)))
            if up.any() and low.any():
                i = np.flatnonzero(up)[np.argmax(-(s * G)[up])]
                gap = -(s * G)[i] + (s * G)[low].max()
                if best is None or gap > best[0]:
                    best = gap, i, low
        if best is None or best[0] < tol:
            return a
        _, i, low = best
        b = -(s * G)[i] + s * G
        curve = np.maximum(Q[i, i] + np.diag(Q) - 2 * s[i] * s * Q[i], TAU)
        gain = np.where(low & (b > 0), b * b / curve, -1.0)
        j = int(np.argmax(gain))
        step = b[j] / curve[j]
        step = min(step, C[i] - a[i] if s[i] > 0 else a[i], a[j] if s[j] > 0 else C[j] - a[j])
        a[i] += s[i] * step
        a[j] -= s[j] * step
        a = np.clip(a, 0.0, C)
    return a


def general_qp(problem, K):
    """The same problem handed to a solver that knows nothing of support vectors; returns the objective."""
    Q, s = matrix(problem, K), problem.signs
    sides = [s > 0, s < 0] if problem.split else [np.ones(len(s), bool)]
    equalities = [
        {
            "type": "eq",
            "fun": lambda a, m=m: (s * m) @ a - (s * m) @ problem.start,
            "jac": lambda a, m=m: s * m,
        }
        for m in sides
        if m.any()
    ]
    found = minimize(
        lambda a: 0.5 * a @ Q @ a + problem.linear @ a,
        problem.start,
        jac=lambda a: Q @ a + problem.linear,
        bounds=[(0.0, None if np.isinf(u) else u) for u in problem.upper],
        constraints=equalities,
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 2000},
    )
    return float(found.fun)


def conditions(problem, K, solution):
    """The violation of the optimality conditions, from the definition: m - M over each set whose sum is kept."""
    a, s = solution.value, problem.signs
    G = matrix(problem, K) @ a + problem.linear
    worst = 0.0
    for member in [s > 0, s < 0] if problem.split else [np.ones(len(s), bool)]:
        up = member & (((s > 0) & (a < problem.upper)) | ((s < 0) & (a > 0)))
        low = member & (((s > 0) & (a > 0)) | ((s < 0) & (a < problem.upper)))
        if up.any() and low.any():
            worst = max(worst, (-s * G)[up].max() - (-s * G)[low].min())
    return worst
