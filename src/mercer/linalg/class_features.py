"""Laplace's approximation for classes in the span of inducing rows, from sums over rows, on arrays.

The latent functions are F = Phi C with features phi(x) = L^-1 k(Z, x), k(Z, Z) = L L', and coefficients C ~ N(0, I), one
column for two classes (the logit of the second) and one per class for more. Newton's method finds C with the second
derivatives A = I + sum_i W_i (x) phi_i phi_i'. With r_i = k(x_i, x_i) - |phi_i|^2, the variance that the features leave out,

    value = sum_i log p(y_i | F_i) - 1/2 |C|^2 - 1/2 log det A - 1/2 sum_i tr(W_i) r_i.

The last term is the expected loss of log p under that variance, to second order; with all rows as inducing rows it is 0 and
the value is Laplace's log marginal likelihood. Its gradient is exact: with the posterior covariance S_i = phi_i'A^-1 phi_i +
r_i I of a row, s_i = -1/2 tr(S_i dW_i/dF_i), U = A^-1 sum_i phi_i s_i', a_i the slopes and q_i = s_i - W_i phi_i'U,

    dvalue/dphi_i = C q_i + (U + C) a_i - sum_cd (A^-1)_cd phi_i W_i,dc + tr(W_i) phi_i.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.linalg as la
import scipy.linalg.blas as blas
from scipy.special import expit

from mercer.arrays import Array, Floats, Indices
from mercer.linalg.cholesky import definite_factor
from mercer.linalg.likelihoods import log_softmax

#: A step is halved at most this often.
HALVINGS = 40


@dataclass(frozen=True)
class FeatureBlock:
    """Some rows: their features, the variance that these leave out, classes and weights."""

    Phi: Floats  # (r, m)
    left: Floats  # (r,) k(x, x) - |phi|^2
    codes: Indices  # (r,)
    weights: Floats  # (r,)


class BlockSums(Protocol):
    """Rows in memory or in chunks."""

    def sum(self, work: Callable[..., tuple[Array, ...]], *shared: Any) -> tuple[Array, ...]:
        """Return the sum of work(block, *shared) over all rows."""


@dataclass(frozen=True)
class ClassTerms:
    """Log-likelihood of rows with its derivatives in the T latent values."""

    density: Floats  # (r,)
    slopes: Floats  # (r, T)
    P: Floats  # (r, T) probabilities, of the second class if T is 1
    weights: Floats  # (r,)

    @classmethod
    def of(cls, F: Floats, codes: Indices, weights: Floats) -> ClassTerms:
        """Return the terms at latent values F (r, T)."""
        if F.shape[1] == 1:
            y = (codes > 0)[:, None]
            return cls(
                -weights * np.logaddexp(0.0, np.where(y, -F, F))[:, 0], weights[:, None] * (y - expit(F)), expit(F), weights
            )
        logs = log_softmax(F)
        P, chosen = np.exp(logs), np.arange(len(F))
        slopes = -weights[:, None] * P
        slopes[chosen, codes] += weights
        return cls(weights * logs[chosen, codes], slopes, P, weights)

    @property
    def W(self) -> Floats:  # -> (r, T, T)  # noqa: N802 - a matrix
        """Minus the second derivatives."""
        P, w = self.P, self.weights[:, None, None]
        if P.shape[1] == 1:
            return np.asarray(w * (P * (1.0 - P))[:, :, None])
        return np.asarray(w * (P[:, :, None] * np.eye(P.shape[1]) - P[:, :, None] * P[:, None, :]))

    def shift(self, S: Floats) -> Floats:  # (r, T, T) -> (r, T)
        """Return -1/2 tr(S dW / dF_c)."""
        P, w = self.P, self.weights[:, None]
        if P.shape[1] == 1:
            return np.asarray(-0.5 * w * S[:, 0] * P * (1.0 - P) * (1.0 - 2.0 * P))
        diagonal, mixed = np.einsum("icc->ic", S), np.einsum("icd,id->ic", S, P)
        own, whole = np.einsum("ic,ic->i", P, diagonal)[:, None], np.einsum("ic,ic->i", P, mixed)[:, None]
        return np.asarray(-0.5 * w * P * (diagonal - own - 2.0 * mixed + 2.0 * whole))

    def add_moments(self, H: Floats, Phi: Floats) -> Floats:  # (T m, T m), (r, m)
        """Return H + sum_i W_i (x) phi_i phi_i'; only the lower triangle is correct."""
        (r, m), T = Phi.shape, self.P.shape[1]
        if T == 1:
            root = np.sqrt(self.W[:, 0])
            return np.asarray(blas.dsyrk(1.0, (root * Phi).T, beta=1.0, c=H, lower=1, overwrite_c=1))
        roots = np.sqrt(self.weights[:, None] * self.P)
        for c in range(T):
            block = slice(c * m, (c + 1) * m)
            H[block, block] += blas.dsyrk(1.0, (roots[:, c, None] * Phi).T, lower=1)
        spread = (np.sqrt(self.weights)[:, None] * self.P)[:, :, None] * Phi[:, None, :]
        return np.asarray(blas.dsyrk(-1.0, spread.reshape(r, T * m).T, beta=1.0, c=H, lower=1, overwrite_c=1))


def mode_sums(block: FeatureBlock, C: Floats) -> tuple[Array, ...]:  # (m, T)
    """Return log-likelihood and penalty (2,), slopes in C (m, T), and sum_i W_i (x) phi_i phi_i' (T m, T m)."""
    terms = ClassTerms.of(block.Phi @ C, block.codes, block.weights)
    penalty = -0.5 * float(np.einsum("icc,i->", terms.W, block.left))
    values = np.array([float(terms.density.sum()), penalty])
    H = np.zeros((C.size, C.size), order="F")
    return values, block.Phi.T @ terms.slopes, terms.add_moments(H, block.Phi)


@dataclass(frozen=True)
class FeatureMode:
    """The most probable coefficients, and the factor for their uncertainty."""

    C: Floats  # (m, T)
    LA: Floats  # (T m, T m) A = LA LA', rows ordered by function
    evidence: float  # the value of the module docstring
    converged: bool
    n_iter: int
    message: str


def find_feature_mode(
    rows: BlockSums, shape: tuple[int, int], *, start: Floats | None = None, tol: float = 1e-10, max_iter: int = 100
) -> FeatureMode:
    """Return the mode by Newton's method with step halving; each step is one pass over the rows.

    >>> block = FeatureBlock(np.eye(2), np.zeros(2), np.array([1, 0]), np.ones(2))
    >>> class Both:
    ...     def sum(self, work, *shared):
    ...         return work(block, *shared)
    >>> mode = find_feature_mode(Both(), (2, 1))
    >>> mode.converged, bool(np.isclose(mode.C[0, 0], 1.0 / (1.0 + np.exp(mode.C[0, 0]))))  # f = y - p at the mode
    (True, True)
    """
    here = _place(rows, np.zeros(shape))
    if start is not None and start.shape == shape:
        other = _place(rows, start)
        here = other if other.value > here.value else here
    converged, n_iter, message = False, 0, f"stopped after {max_iter} steps"
    LA = _factor(here.H)
    while n_iter < max_iter and not converged:
        n_iter += 1
        ahead, size = here.slopes - here.C, 1.0 + abs(here.value)
        way = la.cho_solve((LA, True), ahead.T.ravel(), check_finite=False).reshape(shape[::-1]).T
        done = 0.5 * float(np.sum(way * ahead)) <= tol * size
        there = _shortened(rows, here, way, 1e-12 * size * done)
        if there is None:
            flat = float(np.abs(ahead).max()) <= 1e-4 * (1.0 + float(np.abs(here.slopes).max()))
            converged, message = done or flat, "no shorter step gains anything"
            break
        here, LA = there, _factor(there.H)
        if done:
            converged, message = True, f"a step promised to gain less than {tol:g}"
    value = here.value - float(np.log(LA.diagonal()).sum()) + here.penalty
    return FeatureMode(here.C, LA, value, converged, n_iter, message)


@dataclass(frozen=True)
class _Place:
    """Coefficients with the objective and its derivatives there."""

    C: Floats  # (m, T)
    value: float
    penalty: float
    slopes: Floats  # (m, T) of the log-likelihood
    H: Floats  # (T m, T m)


def _place(rows: BlockSums, C: Floats) -> _Place:
    (fit, penalty), slopes, H = rows.sum(mode_sums, C)
    return _Place(C, float(fit) - 0.5 * float(np.sum(C * C)), float(penalty), slopes, H)


def _shortened(rows: BlockSums, here: _Place, way: Floats, slack: float) -> _Place | None:
    """Return the end of the longest of the steps 1, 1/2, 1/4, … that loses at most `slack`, or None."""
    for _ in range(HALVINGS):
        there = _place(rows, here.C + way)
        if there.value >= here.value - slack:
            return there
        way = 0.5 * way
    return None


def _factor(H: Floats) -> Floats:  # lower triangle of H, overwritten
    H[np.diag_indices(len(H))] += 1.0
    return definite_factor(H)


@dataclass(frozen=True)
class BackwardTerms:
    """Arrays of a mode that the gradient uses."""

    C: Floats  # (m, T)
    inverse: Floats  # (T, m, T, m) of A
    U: Floats  # (m, T)


def shift_sums(block: FeatureBlock, C: Floats, inverse: Floats) -> tuple[Array, ...]:  # (m, T), (T, m, T, m)
    """Return sum_i phi_i s_i' (m, T)."""
    terms = ClassTerms.of(block.Phi @ C, block.codes, block.weights)
    S = row_covariances(block.Phi, inverse) + block.left[:, None, None] * np.eye(C.shape[1])
    return (block.Phi.T @ terms.shift(S),)


def row_covariances(Phi: Floats, inverse: Floats) -> Floats:  # (r, m), (T, m, T, m) -> (r, T, T)
    """Return phi_i'(A^-1)_cd phi_i of every row."""
    T = len(inverse)
    found = np.empty((len(Phi), T, T))
    for c in range(T):
        for d in range(c, T):
            found[:, c, d] = found[:, d, c] = np.einsum("ij,ij->i", Phi @ inverse[c, :, d], Phi)
    return found


def inverse_of(mode: FeatureMode) -> Floats:  # -> (T, m, T, m)
    """Return A^-1."""
    m, T = mode.C.shape
    return inverse_from(mode.LA, m, T)


def inverse_from(LA: Floats, m: int, T: int) -> Floats:  # (T m, T m) -> (T, m, T, m)
    """Return (LA LA')^-1 by functions and features."""
    return np.asarray(la.cho_solve((LA, True), np.eye(len(LA)), check_finite=False)).reshape(T, m, T, m)


def backward(rows: BlockSums, mode: FeatureMode) -> BackwardTerms:
    """Return the arrays of the gradient, after one pass."""
    inverse, (m, T) = inverse_of(mode), mode.C.shape
    (sums,) = rows.sum(shift_sums, mode.C, inverse)
    U = (inverse.reshape(T * m, T * m) @ sums.T.ravel()).reshape(T, m).T
    return BackwardTerms(mode.C, inverse, U)


def feature_slopes(block: FeatureBlock, back: BackwardTerms) -> tuple[Floats, Floats]:  # -> (r, m), (r,)
    """Return the derivatives of the value in the features of the rows at fixed k(x, x), and in k(x, x)."""
    Phi, terms = block.Phi, ClassTerms.of(block.Phi @ back.C, block.codes, block.weights)
    W = terms.W
    traces = np.einsum("icc->i", W)
    S, found = np.empty(W.shape), traces[:, None] * Phi
    for c in range(len(back.inverse)):
        for d in range(len(back.inverse)):
            product = Phi @ back.inverse[c, :, d]
            S[:, c, d] = np.einsum("ij,ij->i", product, Phi)
            found -= W[:, d, c, None] * product
    S += block.left[:, None, None] * np.eye(W.shape[1])
    q = terms.shift(S) - np.einsum("icd,id->ic", W, Phi @ back.U)
    found += q @ back.C.T + terms.slopes @ (back.U + back.C).T
    return found, -0.5 * traces
