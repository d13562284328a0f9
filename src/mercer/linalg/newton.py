"""Newton's method for a latent function under a likelihood, and Laplace's approximation around its mode, on arrays.

The mode maximizes  psi = sum_i w_i log p(y_i | f_i + o_i) - 1/2 a'K a,  f = K a + c.  With W the curvature of the likelihood
and B = I + W^1/2 K W^1/2, M = W^1/2 B^-1 W^1/2 = (K + W^-1)^-1, a Newton step is (Rasmussen & Williams, algorithm 3.1)

    a = u - c v,   u = (I - M K)(W f + g),   v = M 1,   c = 1'u / 1'v   (c = 0 without intercept).

Laplace's log marginal likelihood is psi - 1/2 log det B. Its derivative is <N, dK> with (algorithm 5.1, written with M)

    N = 1/2 (a a' - M + q a' + a q'),   q = s - M K s,   s_i = -1/2 S_ii dW_i/df_i,   S_ii = (1 - (B^-1)_ii) / W_i;

an intercept replaces q by q - v 1'q / 1'v. For C classes with softmax probabilities P the curvature of a row is
w (diag(p) - p p'), and one factorization per class is enough (algorithms 3.3 and 3.4):

    M_cd = E_c [c = d] - E_c T^-1 E_d,   E_c = (K + D_c^-1)^-1,   D_c = w P_c,   T = sum_c E_c,
    log det(I + K W) = sum_c log det B_c + log det T - sum_i log w_i.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from mercer.arrays import Array, Floats
from mercer.linalg.cholesky import Factor, Inverse, cholesky
from mercer.linalg.evidence import Evidence, Tile
from mercer.linalg.likelihoods import Likelihood, log_softmax

#: A step is halved at most this often before the solver gives up.
HALVINGS = 40

#: The smallest curvature relative to the largest; smaller ones would divide by zero.
LEAST = 1e-14


@dataclass(frozen=True)
class Mode:
    """The most probable latent function given the data, and the factor for its uncertainty."""

    f: Floats  # (n,) without the offset
    dual: Floats  # (n,) a with f = K a + intercept
    intercept: float
    value: float  # psi
    W: Floats  # (n,)
    slope: Floats  # (n,) dW / df
    factor: Factor  # of B
    converged: bool
    n_iter: int
    message: str
    with_intercept: bool

    @property
    def evidence(self) -> float:
        """Laplace's log marginal likelihood."""
        return self.value - 0.5 * self.factor.logdet

    def M(self, X: Array) -> Floats:  # noqa: N802 - a matrix; (n,) or (n, t) -> same
        """Return (K + W^-1)^-1 X."""
        root = np.sqrt(self.W)
        if X.ndim == 2:
            root = root[:, None]
        return root * self.factor.solve(root * X)


def find_mode(  # K (n, n), y (n,) or (n, 2), weights (n,), offset (n,)
    K: Floats,
    likelihood: Likelihood,
    y: Array,
    *,
    weights: Floats | None = None,
    offset: Floats | float = 0.0,
    intercept: bool = False,
    start: tuple[Floats, float] | None = None,
    tol: float = 1e-10,
    max_iter: int = 100,
) -> Mode:
    """Return the mode of the latent function by Newton's method with step halving.

    `start` is (dual, intercept) of a problem nearby. It ends when a step promises to gain at most ``tol`` (1 + |psi|).

    >>> from mercer.linalg.likelihoods import Logit
    >>> mode = find_mode(np.eye(2), Logit(), np.array([1.0, 0.0]))
    >>> mode.converged, bool(np.isclose(mode.f[0], 1.0 / (1.0 + np.exp(mode.f[0]))))  # f = g at the mode, if K = I
    (True, True)
    """
    n = len(K)
    w = np.ones(n) if weights is None else weights

    def psi(f: Floats, a: Floats, c: float) -> float:
        with np.errstate(over="ignore", invalid="ignore"):
            return float(w @ likelihood.log_density(y, f + offset)) - 0.5 * float(a @ (f - c))

    a, c = (np.zeros(n), 0.0) if start is None else start
    f = K @ a + c
    value = psi(f, a, c)
    if start is not None:  # another problem's mode may be worse than zero
        plain = psi(np.zeros(n), np.zeros(n), 0.0)
        if not value >= plain:
            a, c, f, value = np.zeros(n), 0.0, np.zeros(n), plain
    converged, message, factor, W_old = False, f"stopped after {max_iter} steps", None, np.empty(0)
    for n_iter in range(max_iter + 1):
        gradient = w * likelihood.derivatives(y, f + offset)[0]
        W, slope = (w * part for part in likelihood.curvature(y, f + offset))
        W = np.maximum(W, LEAST * max(float(W.max()), 1e-300))
        if factor is None or not np.array_equal(W, W_old):
            root = np.sqrt(W)
            factor, W_old = cholesky(root[:, None] * K * root, 1.0, overwrite=True), W
        if converged or n_iter == max_iter:
            break
        b = W * f + gradient
        u = b - root * factor.solve(root * (K @ b))
        to_c = 0.0
        if intercept:
            v = root * factor.solve(root)
            to_c = float(u.sum() / v.sum())
            u = u - to_c * v
        step, to_f, share = u - a, K @ u + to_c, 1.0
        promise = 0.5 * float(gradient @ (to_f - f) - a @ (to_f - f - to_c + c))
        done = abs(promise) <= tol * (1.0 + abs(value))
        for _ in range(HALVINGS):
            trial = a + share * step, c + share * (to_c - c), f + share * (to_f - f)
            reached = psi(trial[2], trial[0], trial[1])
            if reached >= value or (done and reached >= value - 1e-12 * (1.0 + abs(value))):
                break
            share *= 0.5
        else:
            converged, message = True, "no shorter step gains anything"
            size = float(np.abs(gradient - a).max())
            if size > 1e-4 * (1.0 + float(np.abs(gradient).max())):
                converged, message = False, f"no shorter step gains anything, and the slope is {size:.1e}"
            break
        (a, c, f), value = trial, reached
        if done:
            converged, message = True, f"a step promised to gain less than {tol:g}"
    assert factor is not None  # the loop runs at least once
    return Mode(f, a, c, value, W, slope, factor, converged, n_iter, message, intercept)


def laplace_evidence(  # K (n, n)
    mode: Mode,
    K: Floats,
    pullback: Callable[[Tile, Tile], Array],
    extra: Callable[[], list[tuple[Floats, Floats, Floats]]] | None = None,
) -> Evidence:
    """Return Laplace's log marginal likelihood with its gradient; it consumes the factor of the mode.

    `extra` returns, for every parameter of the likelihood, the derivatives in this parameter of log p (n,), of its
    slope g (n,) and of W (n,) at fixed f; the gradient in these parameters is `noise_gradient`.
    """
    value, a, root = mode.evidence, mode.dual, np.sqrt(mode.W)
    v = mode.M(np.ones(len(a))) if mode.with_intercept else None

    jitter = mode.factor.jitter
    inverse: Inverse = mode.factor.inverse()
    variance = (1.0 - inverse.diag()) / mode.W  # S_ii
    s = -0.5 * variance * mode.slope

    def times_m(x: Floats) -> Floats:
        return root * inverse.multiply((root * x)[:, None])[:, 0]

    q = s - times_m(K @ s)
    shift = 0.0  # derivative of s'f in the intercept
    if v is not None:
        shift = float(q.sum() / v.sum())
        q = q - v * shift
    left = 0.5 * a + q

    def tile(rows: slice, cols: slice) -> Array:
        N = inverse.tile(rows, cols) * (-0.5 * root[rows, None] * root[cols])
        N += left[rows, None] * (0.5 * a[cols]) + (0.5 * a[rows])[:, None] * left[cols]
        return N

    def values(rows: slice, cols: slice) -> Array:
        return np.ascontiguousarray(K[rows, cols])

    further = np.zeros(0)
    if extra is not None:
        # df/dp = (I - K M)(K dg + 1 dc) with 1'(dg - W df) = 0; W enters log det B through S
        found = [float(log_p.sum() - 0.5 * variance @ dW + (K @ dg) @ q + shift * dg.sum()) for log_p, dg, dW in extra()]
        further = np.array(found)
    return Evidence(value, pullback(tile, values), further, jitter)


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


def find_softmax_mode(  # K (n, n), Y (n, C) one-hot, weights (n,) > 0
    K: Floats,
    Y: Floats,
    *,
    weights: Floats | None = None,
    intercept: bool = False,
    start: tuple[Floats, Floats] | None = None,
    tol: float = 1e-10,
    max_iter: int = 100,
) -> SoftmaxMode:
    """Return the mode of C latent functions under softmax, by Newton's method with step halving.

    >>> mode = find_softmax_mode(np.eye(3), np.eye(3))
    >>> mode.converged, bool(np.allclose(mode.F, np.eye(3) - np.exp(log_softmax(mode.F))))  # F = g at the mode, if K = I
    (True, True)
    """
    n, C = Y.shape
    w = np.ones(n) if weights is None else weights

    def psi(F: Floats, A: Floats, c: Floats) -> float:
        return float(w @ np.sum(Y * log_softmax(F), axis=1)) - 0.5 * float(np.sum(A * (F - c)))

    A, c = (np.zeros((n, C)), np.zeros(C)) if start is None else start
    F = K @ A + c
    value = psi(F, A, c)
    if start is not None and not value >= psi(np.zeros((n, C)), np.zeros((n, C)), np.zeros(C)):
        A, c, F = np.zeros((n, C)), np.zeros(C), np.zeros((n, C))
        value = psi(F, A, c)
    converged, message = False, f"stopped after {max_iter} steps"
    for n_iter in range(max_iter + 1):
        P = np.exp(log_softmax(F))
        D = np.maximum(w[:, None] * P, LEAST * w[:, None])
        blocks, logdet, total = class_blocks(K, D)
        if converged or n_iter == max_iter:
            break
        G = w[:, None] * (Y - P)
        WF = w[:, None] * (P * F - P * np.sum(P * F, axis=1, keepdims=True))
        b = WF + G
        U = b - _times_m(blocks, total, K @ b)
        to_c = np.zeros(C)
        if intercept:
            ones = [np.eye(C)[k] * np.ones((n, 1)) for k in range(C)]
            columns = [_times_m(blocks, total, one) for one in ones]
            matrix = np.array([V.sum(axis=0) for V in columns]).T
            to_c = np.linalg.lstsq(matrix, U.sum(axis=0), rcond=1e-12)[0]
            to_c -= to_c.mean()
            U = U - sum(to_c[k] * columns[k] for k in range(C))
        to_F, share = K @ U + to_c, 1.0
        promise = 0.5 * float(np.sum(G * (to_F - F)) - np.sum(A * (to_F - F - to_c + c)))
        done = abs(promise) <= tol * (1.0 + abs(value))
        for _ in range(HALVINGS):
            trial = A + share * (U - A), c + share * (to_c - c), F + share * (to_F - F)
            reached = psi(trial[2], trial[0], trial[1])
            if reached >= value or (done and reached >= value - 1e-12 * (1.0 + abs(value))):
                break
            share *= 0.5
        else:
            size = float(np.abs(G - A).max())
            converged = size <= 1e-4
            message = "no shorter step gains anything" + ("" if converged else f", and the slope is {size:.1e}")
            break
        (A, c, F), value = trial, reached
        if done:
            converged, message = True, f"a step promised to gain less than {tol:g}"
    return SoftmaxMode(F, A, c, value, D, blocks, logdet, total, w, converged, n_iter, message)


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

    return Evidence(mode.evidence, pullback(tile, values), 0.0, mode.total.jitter)


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


def held_out_latent(mode: Mode) -> Floats:  # -> (n,)
    """Return approximate leave-one-out values f_-i = f_i - S_i g_i / (1 - W_i S_i), S the posterior variance.

    They are exact for a Gaussian likelihood. The quadratic approximation around the mode is refitted without row i.
    """
    root = np.sqrt(mode.W)
    kept = mode.W * mode.factor.diag_inverse()  # diagonal of M
    if mode.with_intercept:
        v = root * mode.factor.solve(root)
        kept = kept - v**2 / v.sum()
    kept = np.maximum(kept, 1e-12 * mode.W)
    return mode.f + mode.dual / mode.W - mode.dual / kept


def held_out_softmax(mode: SoftmaxMode, K: Floats, intercept: bool) -> Floats:  # -> (n, C)
    """Return approximate leave-one-out values F_-i = F_i - S_i (I - W_i S_i)^-1 g_i, S_i the (C, C) posterior covariance."""
    n, C = mode.F.shape
    S = _row_covariances(mode, K)
    if intercept:
        units = [mode.M(np.eye(C)[c] * np.ones((n, 1))) for c in range(C)]
        A = np.linalg.pinv(np.array([V.sum(axis=0) for V in units]), rcond=1e-12)
        R = np.stack([np.eye(C)[c] - K @ units[c] for c in range(C)], axis=2)  # (n, C, C): columns are intercepts
        S = S + R @ A @ R.transpose(0, 2, 1)
    P = np.exp(log_softmax(mode.F))
    W = mode.weights[:, None, None] * (P[:, :, None] * np.eye(C) - P[:, :, None] * P[:, None, :])
    return mode.F - (S @ np.linalg.solve(np.eye(C) - W @ S, mode.dual[:, :, None]))[:, :, 0]
