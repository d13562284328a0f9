"""Regularized logistic regression on explicit features, and the dual value that bounds every logistic objective, on arrays.

The objective is  sum_i w_i loss(y_i, f_i) + |V|^2 / (2 C),  f = Phi V + b, with the logistic loss for two classes (V one
column) and softmax for more. Its dual at the slopes a_i = w_i (y_i - p_i), which must sum to zero if b is free, is
-C/2 a'Phi Phi'a + sum_i w_i H(p_i) with the entropy H.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg as la
from scipy.special import entr

from mercer.arrays import Array, Floats
from mercer.linalg.likelihoods import log_softmax

#: Conjugate gradient steps within one Newton step at most.
INNER = 50


@dataclass(frozen=True)
class LinearLogistic:
    """Coefficients of the features, intercepts and how the solver ended."""

    V: Floats  # (m, t), t = 1 for two classes
    intercept: Floats  # (t,)
    F: Floats  # (n, t)
    converged: bool
    n_iter: int
    message: str


def both_columns(F: Floats) -> Floats:  # (n, t) -> (n, C)
    """Return one column per class; one function f of two classes is (0, f).

    >>> both_columns(np.array([[2.0]])).tolist()
    [[0.0, 2.0]]
    """
    return np.column_stack([np.zeros(len(F)), F[:, 0]]) if F.shape[1] == 1 else F


def slopes_of(F: Floats, Y: Floats, weights: Floats) -> tuple[Floats, Floats]:  # (n, t), (n, C), (n,) -> (n, t), (n, C)
    """Return w (Y - P), of the second class alone if there are two, and the probabilities P."""
    P = np.exp(log_softmax(both_columns(F)))
    G = weights[:, None] * (Y - P)
    return (G[:, 1:] if F.shape[1] == 1 else G), P


def loss_of(F: Floats, Y: Floats, weights: Floats) -> float:  # (n, t), (n, C), (n,)
    """Return the weighted sum of the logistic losses."""
    return -float(weights @ np.sum(Y * log_softmax(both_columns(F)), axis=1))


def balanced_intercept(F: Floats, Y: Floats, weights: Floats) -> Floats:  # (n, t), (n, C), (n,) -> (t,)
    """Return the shift of all rows that makes the slopes sum to zero, by Newton's method."""
    t = F.shape[1]
    shift = np.zeros(t)
    for _ in range(50):
        G, P = slopes_of(F + shift, Y, weights)
        slope = G.sum(axis=0)
        Q = P[:, 1:] if t == 1 else P
        H = np.diag((weights[:, None] * Q).sum(axis=0)) - (weights[:, None] * Q).T @ Q
        step = np.linalg.lstsq(H, slope, rcond=1e-13)[0]
        shift = shift + np.clip(step, -5.0, 5.0)
        if np.abs(slope).max() <= 1e-13 * float(weights.sum()):
            break
    return shift - (shift.mean() if t > 1 else 0.0)


def objectives(  # F (n, t) with the intercept, Y (n, C), weights (n,)
    F: Floats, Y: Floats, weights: Floats, penalty: float, quadratic: Callable[[Floats], float], intercept: bool
) -> tuple[float, float]:
    """Return the primal objective and a dual value, which is never above the smallest primal one.

    ``penalty`` is |f|^2 / (2 C); ``quadratic(a)`` is C a'K a, summed over columns.
    """
    primal = loss_of(F, Y, weights) + penalty
    if intercept:
        F = F + balanced_intercept(F, Y, weights)
    G, P = slopes_of(F, Y, weights)
    return primal, float(weights @ entr(P).sum(axis=1)) - 0.5 * quadratic(G)


def fit_linear(  # Phi (n, m), Y (n, C), weights (n,)
    Phi: Floats, Y: Floats, weights: Floats, C: float, *, intercept: bool, tol: float, max_iter: int
) -> LinearLogistic:
    """Minimize the objective by Newton's method with step halving.

    Two classes: the (m, m) Hessian is factored. More: its system is solved by conjugate gradients, preconditioned with the
    Hessian of a quadratic loss.

    >>> Phi, Y = np.array([[1.0], [-1.0]]), np.eye(2)[[1, 0]]
    >>> fit = fit_linear(Phi, Y, np.ones(2), 1.0, intercept=True, tol=1e-12, max_iter=50)
    >>> bool(np.isclose(fit.V[0, 0], 2.0 / (1.0 + np.exp(fit.V[0, 0]))))  # V / C = Phi'(y - p)
    True
    """
    n, m = Phi.shape
    t = 1 if Y.shape[1] == 2 else Y.shape[1]
    V, b, F = np.zeros((m, t)), np.zeros(t), np.zeros((n, t))
    value = loss_of(F, Y, weights)
    solve = _direct if t == 1 else _Preconditioned(Phi, Y, weights, C, intercept)
    converged, message, n_iter = False, f"stopped after {max_iter} steps", 0
    while n_iter < max_iter and not converged:
        n_iter += 1
        G, P = slopes_of(F, Y, weights)
        gradient = np.vstack([Phi.T @ G - V / C, G.sum(axis=0) * intercept])
        step = solve(Phi, P, weights, C, intercept, gradient)
        dF, share = Phi @ step[:-1] + step[-1], 1.0
        while True:
            trial = V + share * step[:-1], b + share * step[-1], F + share * dF
            reached = loss_of(trial[2], Y, weights) + 0.5 * float(np.sum(trial[0] ** 2)) / C
            if reached <= value or share < 1e-10:
                break
            share *= 0.5
        if not reached <= value:
            message, converged = "no shorter step gains anything", True
            break
        gain, (V, b, F), value = value - reached, trial, reached
        if share == 1.0 and gain <= tol * (1.0 + abs(value)):
            converged, message = True, f"a step gained less than {tol:g}"
    return LinearLogistic(V, b, F, converged, n_iter, message)


def _direct(Phi: Floats, P: Floats, weights: Floats, C: float, intercept: bool, gradient: Floats) -> Floats:
    """Return the Newton step of two classes from the factored Hessian."""
    W = weights * P[:, 0] * P[:, 1]
    m = Phi.shape[1]
    H = np.empty((m + 1, m + 1))
    scaled = Phi * np.sqrt(W)[:, None]
    H[:m, :m] = scaled.T @ scaled
    H[np.arange(m), np.arange(m)] += 1.0 / C
    H[m, :m] = H[:m, m] = Phi.T @ W
    H[m, m] = W.sum() + 1e-12 * float(weights.sum())
    if not intercept:
        H[m], H[:, m], H[m, m] = 0.0, 0.0, 1.0
    return np.asarray(la.solve(H, gradient, assume_a="pos", check_finite=False))


class _Preconditioned:
    """Newton steps of many classes by conjugate gradients; the factor of the preconditioner is shared by all steps."""

    def __init__(self, Phi: Floats, Y: Floats, weights: Floats, C: float, intercept: bool) -> None:
        share = np.average(Y, axis=0, weights=weights)
        level = float(share @ (1.0 - share)) / len(share)  # the mean curvature of a class before the fit
        scaled = Phi * np.sqrt(level * weights)[:, None]
        H = scaled.T @ scaled
        H[np.diag_indices_from(H)] += 1.0 / C
        self.factor = la.cho_factor(H, overwrite_a=True, check_finite=False)
        self.level = level * float(weights.sum()) if intercept else 1.0

    def __call__(self, Phi: Floats, P: Floats, weights: Floats, C: float, intercept: bool, gradient: Floats) -> Floats:
        def product(S: Floats) -> Floats:
            D = Phi @ S[:-1] + S[-1]
            PD = weights[:, None] * (P * (D - np.sum(P * D, axis=1, keepdims=True)))
            return np.vstack([Phi.T @ PD + S[:-1] / C, PD.sum(axis=0) * intercept + 1e-12 * S[-1]])

        def precondition(R: Floats) -> Floats:
            return np.vstack([la.cho_solve(self.factor, R[:-1], check_finite=False), R[-1] / self.level * intercept])

        x, r = np.zeros_like(gradient), gradient.copy()
        z = precondition(r)
        p, rz = z, float(np.sum(r * z))
        first = rz
        for _ in range(INNER):
            if rz <= 1e-6 * first:
                break
            Hp = product(p)
            length = rz / float(np.sum(p * Hp))
            x, r = x + length * p, r - length * Hp
            z = precondition(r)
            p, rz = z + (float(np.sum(r * z)) / rz) * p, float(np.sum(r * z))
        return x


def one_hot(codes: Array, n_classes: int) -> Floats:  # (n,) -> (n, C)
    """Return the indicator of the class of every row.

    >>> one_hot(np.array([1, 0]), 2).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    Y = np.zeros((len(codes), n_classes))
    Y[np.arange(len(codes)), codes] = 1.0
    return Y
