"""The mode of the latent functions of C classes under softmax, and Laplace's approximation around it, on arrays.

With probabilities P and weights w the curvature of a row is w (diag(p) - p p'), and one factorization per class is enough
for a Newton step (Rasmussen & Williams, algorithms 3.3 and 3.4):

    M_cd = E_c [c = d] - E_c T^-1 E_d,   E_c = (K + D_c^-1)^-1,   D_c = w P_c,   T = sum_c E_c,
    log det(I + K W) = sum_c log det B_c + log det T - sum_i log w_i.

Such a step costs C + 1 factorizations and C inverses. It is taken near the mode: L-BFGS gets there with products, since
one factor of K plus the mean curvature of all rows and classes is a good preconditioner.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from mercer.arrays import Array, Floats
from mercer.linalg.cholesky import Factor, cholesky
from mercer.linalg.evidence import Evidence, Tile
from mercer.linalg.lbfgs import ascend_preconditioned
from mercer.linalg.likelihoods import log_softmax
from mercer.linalg.newton import CORRECTIONS, LEAST, SAME, STILL, Place, climb
from mercer.numeric.tiles import row_blocks

#: L-BFGS ends at a promised gain below this, relative to the objective, or after this many steps.
NEAR, STEPS = 1e-6, 150

#: Up to this many rows a Newton step costs no more than some steps of L-BFGS, which then ends at the second tolerance.
FEW_ROWS, NEAR_OF_FEW = 500, 1e-3

#: A free intercept is a constant kernel of this many times the mean of k(x, x) during L-BFGS.
LIFT = 100.0


@dataclass(frozen=True)
class SoftmaxMode:
    """The most probable latent functions of C classes, and the factors for their uncertainty."""

    F: Floats  # (n, C)
    dual: Floats  # (n, C) A with F = K A + intercept
    intercept: Floats  # (C,)
    value: float  # psi
    D: Floats  # (n, C)
    blocks: tuple[Floats, ...]  # E_c (n, n) per class
    logdet: float  # sum_c log det B_c
    total: Factor  # of T
    weights: Floats  # (n,)
    converged: bool
    n_iter: int
    message: str

    @property
    def evidence(self) -> float:
        """Laplace's log marginal likelihood."""
        return self.value - 0.5 * (self.logdet + self.total.logdet - float(np.log(self.weights).sum()))

    def M(self, X: Array) -> Floats:  # noqa: N802 - a matrix; (n, C) -> (n, C)
        """Return M X with the blocks of the module docstring."""
        return _times_m(self.blocks, self.total, X)


def _times_m(blocks: Sequence[Floats], total: Factor, X: Floats) -> Floats:  # (n, C) -> (n, C)
    EX = np.column_stack([E @ X[:, c] for c, E in enumerate(blocks)])
    middle = total.solve(EX.sum(axis=1))
    return EX - np.column_stack([E @ middle for E in blocks])


def class_blocks(K: Floats, D: Floats) -> tuple[tuple[Floats, ...], float, Factor]:  # (n, n), (n, C)
    """Return E_c of every class, sum_c log det B_c, and the factor of T = sum_c E_c."""
    blocks, logdet, T = [], 0.0, np.zeros(K.shape, order="F")
    for root in np.sqrt(D).T:
        factor = cholesky(root[:, None] * K * root, 1.0, overwrite=True)
        logdet += factor.logdet
        E = factor.inverse().dense()
        E *= root[:, None]
        E *= root
        T += E
        blocks.append(E)
    return tuple(blocks), logdet, cholesky(T, 0.0, overwrite=True)


def find_softmax_mode(  # K (n, n), Y (n, C) one-hot, weights (n,) > 0, start (n, C)
    K: Floats,
    Y: Floats,
    *,
    weights: Floats | None = None,
    intercept: bool = False,
    start: Floats | None = None,
    tol: float = 1e-10,
    max_iter: int = 100,
) -> SoftmaxMode:
    """Return the mode of C latent functions under softmax, by L-BFGS and then Newton's method with step halving.

    `start` are latent values of a problem nearby.

    >>> mode = find_softmax_mode(np.eye(3), np.eye(3))
    >>> mode.converged, bool(np.allclose(mode.F, np.eye(3) - np.exp(log_softmax(mode.F))))  # F = g at the mode, if K = I
    (True, True)
    """
    w = np.ones(len(Y)) if weights is None else weights
    task = _Classes(K, Y, w, intercept)
    here, converged, n_iter, message = climb(task, np.zeros(Y.shape), task.approached(start), tol, max_iter)
    blocks, logdet, total = task.prepared(here.f)
    return SoftmaxMode(
        here.f, here.dual, here.constant, here.value, task.D, blocks, logdet, total, w, converged, n_iter, message
    )


class _Classes:
    """Newton steps of the latent functions of C classes."""

    rough = False

    def __init__(self, K: Floats, Y: Floats, w: Floats, intercept: bool) -> None:
        self.K, self.Y, self.w, self.intercept = K, Y, w, intercept
        self.D = np.empty(0)  # w P at which the blocks were computed
        self.blocks: tuple[tuple[Floats, ...], float, Factor] | None = None

    def place(self, f: Floats, dual: Floats, constant: Floats) -> Place:
        fit = float(self.w @ np.sum(self.Y * log_softmax(f), axis=1))
        return Place(f, dual, constant, fit - 0.5 * float(np.sum(dual * (f - constant))))

    def slope(self, f: Floats) -> Floats:
        return self.w[:, None] * (self.Y - np.exp(log_softmax(f)))

    def begin(self, f: Floats) -> Place:
        P = np.exp(log_softmax(f))
        Wf = self.w[:, None] * P * (f - np.sum(P * f, axis=1, keepdims=True))
        return self._moved(f, self._solved(f, Wf + self.slope(f)), np.zeros(self.Y.shape[1]))

    def step(self, here: Place) -> Place:
        change = self._solved(here.f, self.slope(here.f) - here.dual)
        return self._moved(here.f, here.dual + change, here.constant)

    def sharpen(self) -> bool:
        return False

    def prepared(self, f: Floats) -> tuple[tuple[Floats, ...], float, Factor]:
        """Return the blocks of `class_blocks` at the probabilities of f."""
        D = np.maximum(self.w[:, None] * np.exp(log_softmax(f)), LEAST * self.w[:, None])
        if self.blocks is None or float(np.abs(D / self.D - 1.0).sum()) > SAME:
            self.D, self.blocks = D, class_blocks(self.K, D)
        return self.blocks

    def approached(self, start: Floats | None) -> Floats:
        """Return latent values near the mode, found by L-BFGS."""
        share = np.average(self.Y, axis=0, weights=self.w)
        level = float(share @ (1.0 - share)) / len(share)  # the mean curvature of a class before the fit
        root = np.sqrt(level * self.w)
        lift = LIFT * float(self.K.diagonal().mean()) if self.intercept else 0.0
        factor = cholesky(root[:, None] * (self.K + lift) * root, 1.0, overwrite=True)

        def times(A: Floats) -> Floats:
            return self.K @ A + lift * A.sum(axis=0)

        def precondition(q: Floats) -> tuple[Floats, Floats]:
            d = q - root[:, None] * factor.solve(root[:, None] * times(q))
            return d, times(d)

        def evaluate(A: Floats, F: Floats) -> tuple[float, Floats]:
            return self.place(F, A, np.zeros(A.shape[1])).value, self.slope(F) - A

        F = np.zeros(self.Y.shape) if start is None else start - start.mean(axis=1, keepdims=True)
        A, F = precondition(root[:, None] ** 2 * F + self.slope(F))
        tol = NEAR if len(F) > FEW_ROWS else NEAR_OF_FEW
        return ascend_preconditioned(evaluate, precondition, A, F, tol=tol, max_iter=STEPS).Jx

    def _solved(self, f: Floats, x: Floats) -> Floats:
        """Return (I - M K) x at the curvature of f."""
        blocks, _, total = self.prepared(f)
        return x - _times_m(blocks, total, self.K @ x)

    def _moved(self, f: Floats, dual: Floats, constant: Floats) -> Place:
        n, C = self.Y.shape
        change = np.zeros(C)
        if self.intercept:
            blocks, _, total = self.prepared(f)
            columns = [_times_m(blocks, total, np.eye(C)[k] * np.ones((n, 1))) for k in range(C)]
            matrix = np.array([V.sum(axis=0) for V in columns]).T
            change = np.linalg.lstsq(matrix, dual.sum(axis=0), rcond=1e-12)[0]
            change -= change.mean()
            dual = dual - sum(change[k] * columns[k] for k in range(C))
        return self.place(self.K @ dual + (constant + change), dual, constant + change)


def softmax_evidence(  # K (n, n)
    mode: SoftmaxMode, K: Floats, pullback: Callable[[Tile, Tile], Array]
) -> Evidence:
    """Return Laplace's log marginal likelihood of a softmax mode (without intercept) with its exact gradient."""
    P, w = np.exp(log_softmax(mode.F)), mode.weights
    N = np.zeros(K.shape)
    blocks = _row_covariances(mode, K, N)
    # dW_ab / df_c = w (p_a (d_ac - p_c) d_ab - p_a p_b (d_ac + d_bc - 2 p_c)); s_c = -1/2 tr(blocks dW / df_c)
    diagonal = np.einsum("icc->ic", blocks)
    mixed = np.einsum("icd,id->ic", blocks, P)  # sum_d S_cd p_d
    whole = np.einsum("ic,ic->i", P, mixed)
    s = -0.5 * w[:, None] * P * (diagonal - np.einsum("ic,ic->i", P, diagonal)[:, None] - 2.0 * mixed + 2.0 * whole[:, None])
    Q = s - mode.M(K @ s)
    left = 0.5 * mode.dual + Q
    N += 0.5 * (left @ mode.dual.T + mode.dual @ left.T)

    def tile(rows: slice, cols: slice) -> Array:
        return N[rows, cols]

    def values(rows: slice, cols: slice) -> Array:
        return np.ascontiguousarray(K[rows, cols])

    return Evidence(mode.evidence, pullback(tile, values), 0.0, mode.total.jitter, blocks)


def _row_covariances(mode: SoftmaxMode, K: Floats, N: Floats | None = None) -> Floats:  # -> (n, C, C)
    """Return the posterior covariance of the C latent values of every row; -1/2 sum_c M_cc is added to ``N`` if given."""
    n, C = mode.F.shape
    through = []  # L_T^-1 E_c K
    found = np.zeros((n, C, C))
    for c, E in enumerate(mode.blocks):
        EK = -E / mode.D[:, c]  # E K = I - E D^-1
        EK[np.diag_indices(n)] += 1.0
        own = K.diagonal() - np.einsum("ij,ij->j", K, EK)  # of (K^-1 + D_c)^-1; the other form loses digits if D is small
        found[:, c, c] = np.where(mode.D[:, c] * K.diagonal() > 1.0, (1.0 - E.diagonal() / mode.D[:, c]) / mode.D[:, c], own)
        through.append(mode.total.whiten(EK.copy(order="F")))
        if N is not None:
            H = mode.total.whiten(E.copy(order="F"))
            N += 0.5 * (H.T @ H - E)
    for c in range(C):
        for d in range(C):
            found[:, c, d] += np.einsum("ij,ij->j", through[c], through[d])
    return found


def held_out_softmax(mode: SoftmaxMode, K: Floats, intercept: bool) -> Floats:  # (n, n) -> (n, C)
    """Return approximate leave-one-out values of the latent functions, corrected as in `held_out_latent`.

    The first is F_i - S_i h_i, h_i = (I - W_i S_i)^-1 g_i, S_i the (C, C) posterior covariance: the quadratic model without
    row i. In the corrections the slopes of the other rows are exact.
    """
    n, C = mode.F.shape
    S, times = _row_covariances(mode, K), _covariance_products(mode, K)
    if intercept:
        S, times = _with_intercepts(mode, K, S, times)
    P = np.exp(log_softmax(mode.F))
    W = mode.weights[:, None, None] * (P[:, :, None] * np.eye(C) - P[:, :, None] * P[:, None, :])
    blocks = row_blocks(n, max(1, n // C))  # latent values of all rows without each of these rows: n^2 numbers
    return np.concatenate([_held_out_rows(mode, P, S[rows], W[rows], rows, times) for rows in blocks])


Products = Callable[[Floats], Floats]  # (n, b, C) -> (n, b, C)


def _held_out_rows(
    mode: SoftmaxMode, P: Floats, S: Floats, W: Floats, rows: slice, times: Products
) -> Floats:  # P (n, C), S and W (b, C, C) -> (b, C)
    """Return the corrected values of b rows, each without itself."""
    n, C = P.shape
    w, own, unit = mode.weights[:, None, None], (np.arange(rows.start, rows.stop), np.arange(len(S))), np.eye(C)
    h = np.linalg.solve(unit - W @ S, mode.dual[rows, :, None])

    def alone(x: Array) -> Floats:  # (b, C, 1) -> (n, b, C): nonzero at the left-out row
        found = np.zeros((n, len(S), C))
        found[own] = x[:, :, 0]
        return found

    first = mode.F[rows] - (S @ h)[:, :, 0]
    found, moved = first, -times(alone(h))
    for number in range(CORRECTIONS):
        linear = P[:, None] * moved
        linear -= P[:, None] * linear.sum(axis=2, keepdims=True)
        errors = w * (P[:, None] - np.exp(log_softmax(mode.F[:, None] + moved)) + linear)
        errors[own] = 0.0
        ahead = times(errors)
        left = ahead[own][:, :, None]
        better = first + np.linalg.solve(unit - S @ W, left)[:, :, 0]
        change, found = float(np.abs(better - found).max()), better
        if change <= STILL or number == CORRECTIONS - 1:
            break
        moved = ahead - times(alone(h - np.linalg.solve(unit - W @ S, W @ left)))
    return found


def _covariance_products(mode: SoftmaxMode, K: Floats) -> Products:
    """Return products with the posterior covariance of all latent values, (K^-1 + W)^-1."""
    through = []
    for c, E in enumerate(mode.blocks):
        EK = -E / mode.D[:, c]  # E K = I - E D^-1
        EK[np.diag_indices(len(K))] += 1.0
        through.append(mode.total.whiten(np.asfortranarray(EK)))

    def times(X: Floats) -> Floats:
        middle = sum(V @ X[:, :, c] for c, V in enumerate(through))
        found = np.empty(X.shape)
        for c, (E, V) in enumerate(zip(mode.blocks, through, strict=True)):
            found[:, :, c] = K @ (E @ (X[:, :, c] / mode.D[:, c, None])) + V.T @ middle
        return found

    return times


def _with_intercepts(mode: SoftmaxMode, K: Floats, S: Floats, times: Products) -> tuple[Floats, Products]:
    """Return covariances of rows (n, C, C) and products that include the uncertainty of the intercepts."""
    n, C = mode.F.shape
    units = [mode.M(np.eye(C)[c] * np.ones((n, 1))) for c in range(C)]
    A = np.linalg.pinv(np.array([V.sum(axis=0) for V in units]), rcond=1e-12)
    R = np.stack([np.eye(C)[c] - K @ units[c] for c in range(C)], axis=2)  # (n, C, C): columns are intercepts

    def more(X: Floats) -> Floats:
        return times(X) + np.einsum("icd,bd->ibc", R, np.einsum("icd,ibc->bd", R, X) @ A.T)

    return S + R @ A @ R.transpose(0, 2, 1), more
