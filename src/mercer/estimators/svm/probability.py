"""Probabilities that agree with the prediction, from decision values of rows that were held out.

Two classes: p = 1 / (1 + exp(-a f)) with one slope a > 0 on each side of the boundary, so that p = 1/2 exactly at f = 0.
Platt (1999) moves that point, and then p and the prediction can disagree. The slopes are most likely on held-out decision
values, with Platt's targets (N + 1)/(N + 2) against overconfidence. More classes: the pairs' probabilities are coupled
(Wu, Lin and Weng, 2004), and where the class that wins the votes is not the largest of the result, that result is moved
to the nearest one in which it is.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from mercer.arrays import Array
from mercer.errors import InputError
from mercer.estimators.svm.one_vs_one import pairs

#: A slope is searched between these multiples of 1 / (mean |f|).
LEAST, MOST = 1e-4, 1e4

#: New rows whose pairs are coupled at a time: k^2 numbers for each.
NEW_ROWS = 2048


def slopes(decisions: Array, positive: Array, weights: Array) -> Array:  # (n,), (n,) bool, (n,) -> (2,)
    """The slopes for f < 0 and for f > 0; NaN decisions (no function without that row) are left out.

    >>> f = np.array([-2.0, -1.0, 1.0, 2.0])
    >>> bool((slopes(f, f > 0, np.ones(4)) > 0).all())
    True
    """
    known = np.isfinite(decisions) & (weights > 0)
    f, y, w = decisions[known], positive[known], weights[known]
    if len(f) == 0:
        return np.full(2, np.nan)
    ups, downs = float(w[y].sum()), float(w[~y].sum())
    targets = np.where(y, (ups + 1.0) / (ups + 2.0), 1.0 / (downs + 2.0))
    both = _slope(f, targets, w)
    return np.array([_slope(f[side], targets[side], w[side]) if w[side].sum() >= 5 else both for side in (f < 0, f > 0)])


def _slope(f: Array, targets: Array, w: Array) -> float:
    """The a > 0 at which sum_i w_i f_i (t_i - 1/(1 + exp(-a f_i))) = 0; the likelihood is concave, so bisection finds it."""
    scale = float(np.average(np.abs(f), weights=w))
    if not scale > 0:
        return 1.0
    low, high = np.log(LEAST / scale), np.log(MOST / scale)
    for _ in range(60):
        middle = 0.5 * (low + high)
        rising = float((w * f) @ (targets - expit(np.exp(middle) * f))) > 0
        low, high = (middle, high) if rising else (low, middle)
    return float(np.exp(0.5 * (low + high)))


def pair_slopes(decisions: Array, codes: Array, weights: Array, classes: int) -> Array:  # (n, P), (n,) -> (P, 2)
    """The slopes of every pair, from held-out rows of its two classes; a pair without such rows takes the median pair's."""
    out = np.full((decisions.shape[1], 2), np.nan)
    for p, (i, j) in enumerate(pairs(classes)):
        own = (codes == i) | (codes == j)
        out[p] = slopes(decisions[own, p], codes[own] == i, weights[own])
    if np.isnan(out).all():
        raise InputError(
            "predict_proba needs held-out decision values, and every class has a single row: there is nothing to hold out. "
            "Give more rows, or use decision_function."
        )
    return np.where(np.isnan(out), np.nanmedian(out, axis=0), out)


def sigmoid(decisions: Array, slope: Array) -> Array:  # (m, P), (P, 2) -> (m, P)
    """1 / (1 + exp(-a f)) with the slope of the side that f lies on."""
    return expit(decisions * np.where(decisions < 0, slope[:, 0], slope[:, 1]))


def coupled(r: Array, classes: int) -> Array:  # (m, P) -> (m, k)
    """Class probabilities from pair probabilities: min_p sum_ij (r_ji p_i - r_ij p_j)^2 with sum p = 1.

    >>> coupled(np.array([[0.5, 0.5, 0.5]]), 3).round(12).tolist()
    [[0.333333333333, 0.333333333333, 0.333333333333]]
    """
    out = np.empty((len(r), classes))
    for start in range(0, len(r), NEW_ROWS):
        out[start : start + NEW_ROWS] = _couple(r[start : start + NEW_ROWS], classes)
    return out


def _couple(r: Array, classes: int) -> Array:
    # away from 0 and 1, so that the system has one solution
    r = np.clip(r, 1e-9, 1.0 - 1e-9)
    full = np.zeros((len(r), classes, classes))
    for p, (i, j) in enumerate(pairs(classes)):
        full[:, i, j], full[:, j, i] = r[:, p], 1.0 - r[:, p]
    system = np.zeros((len(r), classes + 1, classes + 1))
    system[:, :classes, :classes] = -full * full.transpose(0, 2, 1)
    number = np.arange(classes)
    system[:, number, number] = (full**2).sum(axis=1)
    system[:, :classes, classes] = system[:, classes, :classes] = 1.0
    right = np.zeros((classes + 1, 1))
    right[classes] = 1.0
    p = np.maximum(np.linalg.solve(system, right)[:, :classes, 0], 0.0)
    return p / p.sum(axis=1, keepdims=True)


def agreeing(p: Array, winner: Array) -> Array:  # (m, k), (m,) -> (m, k)
    """The nearest probabilities in which the winner's is the largest, ties to it: those above it are pooled with it.

    >>> agreeing(np.array([[0.5, 0.3, 0.2]]), np.array([1])).round(6).tolist()
    [[0.4, 0.4, 0.2]]
    >>> int(agreeing(np.array([[0.5, 0.3, 0.2]]), np.array([1])).argmax())
    1
    """
    p, rows = p.copy(), np.arange(len(p))
    for row in np.flatnonzero(p.argmax(axis=1) != winner):
        c, order = winner[row], np.argsort(-p[row])
        above = [j for j in order if j != c]
        pool, total = 1, p[row, c]
        for j in above:
            if p[row, j] <= total / pool:
                break
            pool, total = pool + 1, total + p[row, j]
        p[row, above[: pool - 1]] = p[row, c] = total / pool
    # strictly the largest, if only by the last digit: argmax takes the first of equals
    others = p.copy()
    others[rows, winner] = -1.0
    p[rows, winner] = np.maximum(p[rows, winner], np.nextafter(others.max(axis=1), 2.0))
    return p
