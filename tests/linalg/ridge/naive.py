"""The slow obvious twins: every formula of the solvers by solving, leaving out and solving again."""

from __future__ import annotations

import numpy as np


def gram(rng, n, d=3, length_scale=1.0):
    """A Gaussian Gram of random rows, and the rows."""
    X = rng.normal(size=(n, d))
    return np.exp(-((X[:, None] - X[None]) ** 2).sum(-1) / (2 * length_scale**2)), X


def ridge(K, Y, alpha, weights=None, intercept=False):
    """Dual and intercept from the bordered system [[K + alpha W^-1, 1], [1', 0]], rows of weight zero left out."""
    n = len(K)
    w = np.ones(n) if weights is None else np.asarray(weights, float)
    a = np.flatnonzero(w)
    Y2 = Y.reshape(n, -1)
    dual, b = np.zeros(Y2.shape), np.zeros(Y2.shape[1])
    if a.size:
        G = K[np.ix_(a, a)] + alpha * np.diag(1 / w[a])
        if intercept:
            border = np.block([[G, np.ones((a.size, 1))], [np.ones((1, a.size)), np.zeros((1, 1))]])
            both = np.linalg.solve(border, np.vstack([Y2[a], np.zeros((1, Y2.shape[1]))]))
            dual[a], b = both[:-1], both[-1]
        else:
            dual[a] = np.linalg.solve(G, Y2[a])
    return dual.reshape(Y.shape), b.reshape(Y.shape[1:])


def held_out(K, Y, alpha, folds, weights=None, intercept=False):
    """Refit without each fold, and predict it."""
    n = len(K)
    w = np.ones(n) if weights is None else np.asarray(weights, float)
    out = []
    for fold in folds:
        kept = w.copy()
        kept[fold] = 0
        dual, b = ridge(K, Y, alpha, kept, intercept)
        out.append(Y[fold] - K[fold] @ dual - b)
    return out


def smoother(K, alpha, weights=None, intercept=False):
    """The matrix H with f = H y, column by column."""
    n = len(K)
    dual, b = ridge(K, np.eye(n), alpha, weights, intercept)
    return K @ dual + b


def least_squares(Z, Y, weights=None, intercept=False):
    """Minimum-norm weights and intercept by the pseudo-inverse."""
    w = np.ones(len(Z)) if weights is None else np.asarray(weights, float)
    m = np.average(Z, axis=0, weights=w) if intercept else np.zeros(Z.shape[1])
    c = np.average(Y, axis=0, weights=w) if intercept else np.zeros(Y.shape[1:])
    root = np.sqrt(w)[:, None]
    v = np.linalg.pinv((Z - m) * root) @ ((Y - c).T * root[:, 0]).T
    return v, c - m @ v
