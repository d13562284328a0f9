"""Regularized logistic regression on explicit features, and the dual value that bounds every logistic objective, on arrays.

The objective is  sum_i w_i loss(y_i, f_i) + |V|^2 / (2 C),  f = Phi V + b, with the logistic loss for two classes (V one
column) and softmax for more. Its dual at the slopes a_i = w_i (y_i - p_i), which must sum to zero if b is free, is
-C/2 a'Phi Phi'a + sum_i w_i H(p_i) with the entropy H.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy.linalg as la
import scipy.linalg.blas as blas
from scipy.special import entr

from mercer.arrays import Array, Floats
from mercer.linalg.lbfgs import Ascended, ascend_preconditioned
from mercer.linalg.likelihoods import log_softmax
from mercer.numeric.tiles import row_blocks

#: Rows whose probabilities and scaled features are in memory at a time.
BLOCK_ROWS = 4096

#: Steps of L-BFGS that cost about as much as one Newton step, for the limit of steps.
LBFGS_STEPS = 10

#: The step of L-BFGS promises less than the function still gains; its tolerance is this share of that of a Newton step.
PROMISED = 0.1

#: Every function has second derivatives of its own in the preconditioner if all of them hold no more numbers than this.
BLOCK_NUMBERS = 25_000_000

#: Tolerance of the fit to a sample, from which the fit to all rows starts.
PART_TOL = 1e-3

#: A step is halved at most this often.
HALVINGS = 40


@dataclass(frozen=True)
class LinearLogistic:
    """Coefficients of the features, intercepts and how the solver ended."""

    V: Floats  # (m, t), t = 1 for two classes
    intercept: Floats  # (t,)
    converged: bool
    n_iter: int
    message: str

    @property
    def whole(self) -> Floats:  # (m + 1, t)
        """The coefficients with the intercepts as the last row."""
        return np.vstack([self.V, self.intercept[None]])


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


def row_sums(  # Phi (n, m), Y (n, C), weights (n,), V (m + 1, t) with the intercepts last
    Phi: Floats, Y: Floats, weights: Floats, V: Floats
) -> tuple[Floats, Floats]:
    """Return sums over rows: the loss (1,) and the slopes of minus the loss (m + 1, t).

    >>> row_sums(np.ones((2, 1)), np.eye(2)[[1, 1]], np.ones(2), np.zeros((2, 1)))[1].tolist()  # 1 - p of two rows
    [[1.0], [1.0]]
    """
    loss, slopes = np.zeros(1), np.zeros(V.shape)
    for rows in row_blocks(len(Phi), BLOCK_ROWS):
        F = Phi[rows] @ V[:-1] + V[-1]
        loss += loss_of(F, Y[rows], weights[rows])
        G = slopes_of(F, Y[rows], weights[rows])[0]
        slopes[:-1] += Phi[rows].T @ G
        slopes[-1] += G.sum(axis=0)
    return loss, slopes


def bound_sums(  # Phi (n, m), Y (n, C), weights (n,), V (m + 1, t)
    Phi: Floats, Y: Floats, weights: Floats, V: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return sums over rows for the dual value: loss and entropy (2,), slopes (m + 1, t), curvature in the intercepts."""
    values, slopes, H = np.zeros(2), np.zeros(V.shape), np.zeros((V.shape[1], V.shape[1]))
    for rows in row_blocks(len(Phi), BLOCK_ROWS):
        w = weights[rows]
        F = Phi[rows] @ V[:-1] + V[-1]
        G, P = slopes_of(F, Y[rows], w)
        Q = P[:, 1:] if V.shape[1] == 1 else P
        H += np.diag(w @ Q) - (w[:, None] * Q).T @ Q
        values += loss_of(F, Y[rows], w), float(w @ entr(P).sum(axis=1))
        slopes += np.vstack([Phi[rows].T @ G, G.sum(axis=0)])
    return values, slopes, H


class FeatureSums(Protocol):
    """Rows as features, in memory or in chunks, by their sums; see the functions of the same names."""

    def row_sums(self, V: Floats) -> tuple[Floats, Floats]:
        """Return loss and slopes."""

    def bound_sums(self, V: Floats) -> tuple[Floats, Floats, Floats]:
        """Return sums for the dual value."""


@dataclass(frozen=True)
class HeldFeatures:
    """Features in memory."""

    Phi: Floats  # (n, m)
    Y: Floats  # (n, C)
    weights: Floats  # (n,)

    def row_sums(self, V: Floats) -> tuple[Floats, Floats]:
        """Return loss and slopes."""
        return row_sums(self.Phi, self.Y, self.weights, V)

    def bound_sums(self, V: Floats) -> tuple[Floats, Floats, Floats]:
        """Return sums for the dual value."""
        return bound_sums(self.Phi, self.Y, self.weights, V)

    def curvature(self, V: Floats | None) -> list[Floats]:  # -> t of (m + 1, m + 1)
        """Return minus the second derivatives in every function by itself; at equal latent values if V is None.

        For two classes this is the whole Hessian of the loss. For more, the curvature of a row is moved halfway to the mean
        of the rows: a sample is fitted too closely, and steps with its own small curvatures would be too long.
        """
        t = 1 if self.Y.shape[1] == 2 else self.Y.shape[1]
        share = np.average(self.Y, axis=0, weights=self.weights)
        if V is None:
            level = float(share @ (1.0 - share)) / (2.0 if t == 1 else t)
            return [self._moments(level * self.weights)] * t
        P = np.exp(log_softmax(both_columns(self.Phi @ V[:-1] + V[-1])))[:, -t:]
        D = P * (1.0 - P)
        if t > 1:
            D = 0.5 * (D + D.mean(axis=0))
        return [self._moments(self.weights * d) for d in D.T]

    def _moments(self, W: Floats) -> Floats:  # (n,) -> (m + 1, m + 1)
        """Return sum_i W_i (phi_i, 1) (phi_i, 1)'."""
        m = self.Phi.shape[1]
        H = np.zeros((m + 1, m + 1), order="F")
        for rows in row_blocks(len(W), BLOCK_ROWS):
            scaled, root = np.empty((rows.stop - rows.start, m + 1)), np.sqrt(W[rows])
            np.multiply(self.Phi[rows], root[:, None], out=scaled[:, :-1])
            scaled[:, -1] = root
            H = blas.dsyrk(1.0, scaled.T, beta=1.0, c=H, lower=1, overwrite_c=1)
        return np.asarray(H + np.tril(H, -1).T)


def fit_features(
    rows: FeatureSums, sample: HeldFeatures, C: float, *, intercept: bool, tol: float, max_iter: int
) -> LinearLogistic:
    """Minimize the objective over `rows`, of which only sums are needed; `sample` are these rows or weighted ones of them.

    Two classes in memory are solved by Newton's method. Otherwise the sample is solved first, and L-BFGS over all rows is
    preconditioned with its second derivatives.

    >>> rows = HeldFeatures(np.array([[1.0], [-1.0]]), np.eye(2)[[1, 0]], np.ones(2))
    >>> fit = fit_features(rows, rows, 1.0, intercept=True, tol=1e-12, max_iter=50)
    >>> bool(np.isclose(fit.V[0, 0], 2.0 / (1.0 + np.exp(fit.V[0, 0]))))  # V / C = Phi'(y - p)
    True
    """
    t, m = 1 if sample.Y.shape[1] == 2 else sample.Y.shape[1], sample.Phi.shape[1]
    goal, own = _Objective(rows, C, m, intercept), _Objective(sample, C, m, intercept)
    zero = np.zeros((m + 1, t))
    if t == 1:
        found = _newton(own, sample, zero, tol if rows is sample else PART_TOL, max_iter)
        if rows is sample:
            return found
        start = found.whole
    else:
        first = goal.inverses(sample.curvature(None))
        start = _ascent(own, first, zero, max(tol, PART_TOL), LBFGS_STEPS * max_iter).x
    blocks = sample.curvature(start if t * m * m <= BLOCK_NUMBERS else None)
    end = _ascent(goal, goal.inverses(blocks), start, PROMISED * tol, LBFGS_STEPS * max_iter)
    b = end.x[-1] - (end.x[-1].mean() if t > 1 else 0.0)
    return LinearLogistic(end.x[:-1], b, end.converged, max(1, end.n_iter), end.message)


class _Objective:
    """Minus the objective, to be maximized over V (m + 1, t)."""

    def __init__(self, rows: FeatureSums, C: float, m: int, intercept: bool) -> None:
        self.rows, self.intercept = rows, intercept
        self.ridge = np.append(np.full(m, 1.0 / C), 0.0)[:, None]

    def __call__(self, V: Floats) -> tuple[float, Floats]:
        loss, slopes = self.rows.row_sums(V)
        slopes = slopes - self.ridge * V
        slopes[-1] *= self.intercept
        return -float(loss[0]) - 0.5 * float(np.sum(self.ridge * V**2)), slopes

    def whole(self, H: Floats) -> Floats:
        """Add the penalty to second derivatives of the loss; without intercept its step is 0."""
        H = H + np.diag(self.ridge[:, 0])
        H[-1, -1] *= 1.0 + 1e-12
        if not self.intercept:
            H[-1], H[:, -1], H[-1, -1] = 0.0, 0.0, 1.0
        return np.asarray(H)

    def inverses(self, blocks: list[Floats]) -> list[Floats]:
        """Return the inverses of the blocks with the penalty; equal blocks share one."""
        known: dict[int, Floats] = {}
        for H in blocks:
            if id(H) not in known:
                known[id(H)] = np.asarray(la.inv(self.whole(H), check_finite=False))
        return [known[id(H)] for H in blocks]


def _ascent(objective: _Objective, inverses: list[Floats], V: Floats, tol: float, max_iter: int) -> Ascended:
    def precondition(q: Floats) -> tuple[Floats, Floats]:
        d = np.column_stack([inverse @ q[:, c] for c, inverse in enumerate(inverses)])
        return d, d

    return ascend_preconditioned(lambda V, _: objective(V), precondition, V, V, tol=tol, max_iter=max_iter)


def _newton(objective: _Objective, rows: HeldFeatures, V: Floats, tol: float, max_iter: int) -> LinearLogistic:
    """Maximize for two classes by Newton's method with step halving."""
    value, slopes = objective(V)
    for n_iter in range(1, max_iter + 1):
        step = np.asarray(la.solve(objective.whole(rows.curvature(V)[0]), slopes, assume_a="pos", check_finite=False))
        done = 0.5 * float(np.sum(slopes * step)) <= tol * (1.0 + abs(value))
        least = value - 1e-12 * (1.0 + abs(value)) * done
        for _ in range(HALVINGS):
            reached, there = objective(V + step)
            if reached >= least:
                break
            step = 0.5 * step
        else:
            return LinearLogistic(V[:-1], V[-1], True, n_iter, "no shorter step gains anything")
        V, value, slopes = V + step, reached, there
        if done:
            return LinearLogistic(V[:-1], V[-1], True, n_iter, f"a step promised to gain less than {tol:g}")
    return LinearLogistic(V[:-1], V[-1], False, max_iter, f"stopped after {max_iter} steps")


def feature_objectives(rows: FeatureSums, found: LinearLogistic, C: float, intercept: bool) -> tuple[float, float]:
    """Return the primal objective and a dual value; a step in the intercepts makes the slopes sum to zero."""
    V = found.whole
    (loss, entropy), slopes, H = rows.bound_sums(V)
    primal = float(loss) + 0.5 * float(np.sum(found.V**2)) / C
    if intercept:
        V[-1] += np.linalg.lstsq(H, slopes[-1], rcond=1e-13)[0]
        (_, entropy), slopes, _ = rows.bound_sums(V)
    return primal, float(entropy) - 0.5 * C * float(np.sum(slopes[:-1] ** 2))


def held_out_last(rows: HeldFeatures, found: LinearLogistic, C: float, groups: Array) -> Floats:  # (k,) -> (k,)
    """Return f at the last k rows, each left out with the rows of its group: one Newton step from the fit of two classes.

    With v = Phi H^-1 Phi' on the rows of a group, the slopes g = w (y - p) and W = w p (1 - p), leaving them out lowers f by
    (I - v W)^-1 v g.

    >>> rows = HeldFeatures(np.array([[1.0], [-1.0], [0.5]]), np.eye(2)[[1, 0, 0]], np.ones(3))
    >>> fit = fit_features(rows, rows, 1.0, intercept=True, tol=1e-12, max_iter=50)
    >>> f = held_out_last(rows, fit, 1.0, np.array([0]))
    >>> bool(f[0] > 0.5 * fit.V[0, 0] + fit.intercept[0])  # without this row of the first class
    True
    """
    first, m = len(rows.Phi) - len(groups), rows.Phi.shape[1]
    last, w, y = rows.Phi[first:], rows.weights[first:], rows.Y[first:, 1]
    f = (last @ found.V + found.intercept)[:, 0]
    P = np.exp(log_softmax(both_columns(f[:, None])))
    W, g = w * P[:, 0] * P[:, 1], w * (y - P[:, 1])
    H = rows.curvature(found.whole)[0]
    H[np.diag_indices(m + 1)] += np.append(np.full(m, 1.0 / C), 1e-12 * float(rows.weights.sum()))
    padded = np.column_stack([last, np.ones(len(last))])
    half = la.solve_triangular(la.cholesky(H, lower=True, check_finite=False), padded.T, lower=True)
    diagonal = np.einsum("ij,ij->j", half, half)
    out = f - diagonal * g / np.maximum(1.0 - W * diagonal, 1e-3)
    order = np.argsort(groups, kind="stable")
    for own in np.split(order, np.flatnonzero(np.diff(groups[order])) + 1):
        if len(own) > 1:
            v = half[:, own].T @ half[:, own]
            out[own] = f[own] - np.linalg.solve(np.eye(len(own)) * (1.0 + 1e-9) - v * W[own], v @ g[own])
    return np.asarray(out)


def one_hot(codes: Array, n_classes: int) -> Floats:  # (n,) -> (n, C)
    """Return the indicator of the class of every row.

    >>> one_hot(np.array([1, 0]), 2).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    Y = np.zeros((len(codes), n_classes))
    Y[np.arange(len(codes)), codes] = 1.0
    return Y
