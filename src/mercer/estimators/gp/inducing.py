"""The route through inducing rows: O(n m^2) per setting, a lower bound of the evidence, m x m arrays in the model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.linalg as la
import scipy.linalg.blas as blas
from numpy.typing import NDArray

from mercer.errors import InputError
from mercer.estimators.gp.mean_function import log_evidence, profile
from mercer.estimators.gp.posterior import EngineSettings, Evidence, GPProblem
from mercer.gram import GramOperator
from mercer.inputs import count, take
from mercer.kernels.base import Kernel
from mercer.linalg.cholesky import cholesky, definite_factor
from mercer.linalg.pivoted_cholesky import pivoted_cholesky
from mercer.numeric import tiles
from mercer.registry import record

Array = NDArray[Any]

#: Rows of K_fu made, whitened and multiplied at a time.
BLOCK_ROWS = 2048

#: Always added to the diagonal of K_uu, relative to its mean: far below what the bound can notice, and enough for rows that
#: were chosen well to stay apart while the optimizer moves the length scales.
NUGGET = 1e-12

Cross = Callable[[slice], Array]  # rows -> (r, m) of K_fu
PullCross = Callable[[slice, Array], Array]  # rows, weights (r, m) -> (p,)


def row_blocks(n: int, size: int = BLOCK_ROWS) -> list[slice]:
    """The slices of at most ``size`` rows that cover n."""
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


@dataclass(frozen=True)
class Collapsed:
    """The bound at one setting of the parameters, and what posterior and gradient need of it."""

    L: Array  # (m, m) K_uu = L L'
    LB: Array  # (m, m) B = LB LB'
    beta: Array  # (m, c) B^-1 V D^-1 T for the columns T
    quadratic: Array  # (c, c) T' (Q + D)^-1 T
    logdet: float  # log det(Q + D)
    trace: float  # sum_i (k_ii - q_ii) / d_i
    noise: Array  # (1,) or (n,)
    jitter: float
    V: Array | None  # (n, m) whitened rows, if they were kept

    @property
    def weights(self) -> Array:  # -> (m, c)
        """w with posterior mean K_*u w."""
        return la.solve_triangular(self.L, self.beta, lower=True, trans="T", check_finite=False)


def collapsed(  # Kuu (m, m), diag (n,), columns (n, c), noise (1,) or (n,)
    cross: Cross, Kuu: Array, diag: Array, columns: Array, noise: Array, *, keep: bool = False
) -> Collapsed:
    """One pass over the rows: what makes up the bound; ``keep`` holds the whitened rows for the gradient.

    For t targets Y the bound is -1/2 (tr quadratic + t (logdet + trace) + n t log 2 pi).

    >>> X = np.linspace(0, 1, 5)
    >>> K, y = np.exp(-np.subtract.outer(X, X) ** 2), X[:, None] ** 2
    >>> whole = collapsed(lambda rows: K[rows], K, np.ones(5), y, np.array([0.1]))  # every row is an inducing one
    >>> G = K + 0.1 * np.eye(5)
    >>> bool(np.isclose(whole.logdet + whole.trace, np.linalg.slogdet(G)[1], atol=1e-8))
    True
    """
    n, c = columns.shape
    m = Kuu.shape[0]
    d = np.asarray(noise, dtype=np.float64)
    factor = cholesky(Kuu, NUGGET * float(np.mean(np.diagonal(Kuu))))
    L = np.tril(factor.matrix)
    V = np.empty((n, m)) if keep else None
    S, b, explained = np.zeros((m, m), order="F"), np.zeros((m, c)), 0.0
    for rows in row_blocks(n):
        here = _rows_of(d, rows)
        v = blas.dtrsm(1.0, L, np.array(cross(rows).T, dtype=np.float64, order="F"), lower=1, overwrite_b=1)  # (m, r)
        if V is not None:
            V[rows] = v.T
        b += v @ (columns[rows] / here[:, None])
        v /= np.sqrt(here)
        S = blas.dsyrk(1.0, v, beta=1.0, c=S, lower=1, overwrite_c=1)
        explained += float(np.vdot(v, v))
    S[np.diag_indices(m)] += 1.0
    LB = definite_factor(S)
    whitened = la.solve_triangular(LB, b, lower=True, check_finite=False)
    beta = la.solve_triangular(LB, whitened, lower=True, trans="T", check_finite=False)
    quadratic = columns.T @ (columns / d[:, None]) - whitened.T @ whitened
    logdet = 2.0 * float(np.log(LB.diagonal()).sum()) + float(np.sum(np.log(np.broadcast_to(d, (n,)))))
    trace = float(np.sum(diag / d)) - explained
    return Collapsed(L, LB, beta, quadratic, logdet, trace, d, factor.jitter, V)


def latent_variance(L: Array, LB: Array, cross: Array, diag: Array) -> Array:  # (m, m), (m, m), (r, m), (r,) -> (r,)
    """k_** - |L^-1 k|^2 + |LB^-1 L^-1 k|^2 for new rows, never negative."""
    v = la.solve_triangular(L, cross.T, lower=True, check_finite=False)
    s = la.solve_triangular(LB, v, lower=True, check_finite=False)
    return np.maximum(diag - np.einsum("ij,ij->j", v, v) + np.einsum("ij,ij->j", s, s), 0.0)


def latent_covariance(L: Array, LB: Array, cross: Array, prior: Array) -> Array:  # (m, m), (m, m), (r, m), (r, r)
    """The same for pairs of new rows."""
    v = la.solve_triangular(L, cross.T, lower=True, check_finite=False)
    s = la.solve_triangular(LB, v, lower=True, check_finite=False)
    return prior - v.T @ v + s.T @ s


def bound_gradient(  # diag (n,), columns (n, c), combine (c, t)
    state: Collapsed,
    cross: Cross,
    columns: Array,
    combine: Array,
    pull_cross: PullCross,
    pull_uu: Callable[[Array], Array],
    pull_diag: Callable[[Array], Array],
) -> tuple[Array, float]:  # -> (p,), number
    """The gradient of the bound of the t targets E = columns @ combine: in theta, and in the logarithm of the noise.

    A second pass over the rows sends weights back through the kernel. With alpha = D^-1 (E - V' beta),

        dF/dK_uf = L^-T (beta alpha' + t (I - B^-1) V D^-1),    dF/dk_ii = -t / (2 d_i),
        dF/dK_uu = -1/2 L^-T (beta beta' + t (B - 2 I + B^-1)) L^-1,
        dF/dlog(noise) = 1/2 (sum_i d_i alpha_i^2 - t (n - tr Q (Q + D)^-1) + t sum_i (k_ii - q_ii) / d_i).
    """
    n, t = len(columns), combine.shape[1]
    m, d, beta = state.L.shape[0], state.noise, state.beta @ combine
    eye = np.eye(m)
    inverse = la.cho_solve((state.LB, True), eye, check_finite=False)  # B^-1
    left = la.solve_triangular(state.L, eye - inverse, lower=True, trans="T", check_finite=False)  # L^-T (I - B^-1)
    back = state.weights @ combine  # (m, t) L^-T beta
    whole = state.LB @ state.LB.T - 2.0 * eye + inverse
    half = la.solve_triangular(state.L, -0.5 * (beta @ beta.T + t * whole), lower=True, trans="T", check_finite=False)
    W_uu = la.solve_triangular(state.L, half.T, lower=True, trans="T", check_finite=False)
    theta = pull_uu(W_uu) + pull_diag(np.broadcast_to(-0.5 * t / d, (n,)))
    fitted = 0.0
    for rows in row_blocks(n):
        here = np.broadcast_to(_rows_of(d, rows), (rows.stop - rows.start,))[:, None]
        v = state.V[rows].T if state.V is not None else la.solve_triangular(state.L, cross(rows).T, lower=True)  # (m, r)
        alpha = (columns[rows] @ combine - v.T @ beta) / here  # (r, t)
        theta = theta + pull_cross(rows, t * (v.T / here) @ left.T + alpha @ back.T)
        fitted += float(np.sum(here * alpha**2))
    effective = m - float(np.trace(inverse))  # tr Q (Q + D)^-1
    return theta, 0.5 * (fitted - t * (n - effective) + t * state.trace)


def _rows_of(d: Array, rows: slice) -> Array:  # (1,) or (n,) -> (1,) or (r,)
    return d[rows] if d.size > 1 else d


#: Inducing rows, if their number is not given.
INDUCING = 1024

#: Rows from which inducing ones are chosen, at most; more are drawn by seed.
CANDIDATES = 16_384

#: Whitened rows are kept between value and gradient while they take no more than this share of the budget.
KEEP = 0.5


class InducingEngine:
    """Titsias' collapsed bound with inducing rows by randomly pivoted Cholesky, chosen anew between ascents."""

    # parameters learned exactly on some rows are nearly right; the bound only has to trim them, and above all the noise
    rounds, part_rows, tol_per_row, max_steps = 2, 2000, 1e-4, 12

    def __init__(self, settings: EngineSettings | None = None) -> None:
        self._settings = EngineSettings() if settings is None else settings
        self._chosen: Any = None

    def prepare(self, problem: GPProblem, kernel: Kernel, noise: float) -> None:
        """Choose the inducing rows for this kernel."""
        m = INDUCING if self._settings.n_inducing is None else self._settings.n_inducing
        self._chosen = choose_rows(kernel, problem.X, m, self._settings.seed)

    def evidence(self, problem: GPProblem, kernel: Kernel, noise: float, gradient: bool) -> Evidence:
        """The bound of the log marginal likelihood, and its gradient in a second pass."""
        Z = self._inducing(problem, kernel, noise)
        K = GramOperator(kernel, problem.X, Z)
        keep = gradient and 8 * K.shape[0] * K.shape[1] <= KEEP * self._settings.memory
        state = _collapse(K, Z, problem, noise, keep)
        t = problem.n_targets
        fitted = profile(state.quadratic, t)
        value = log_evidence(fitted.energy, state.logdet + state.trace, problem.n, t)
        if not gradient:
            return Evidence(value, jitter=state.jitter)
        pair, size = K._values.pair, len(kernel.theta)

        def pull_cross(rows: slice, W: Array) -> Array:
            def term(r: slice, c: slice) -> Array:
                return kernel._pullback(pair.tile(slice(rows.start + r.start, rows.start + r.stop), c), W[r, c])

            return tiles.total(term, (W.shape[0], W.shape[1]), size)

        theta, slope = bound_gradient(
            state,
            lambda rows: K.block(rows, slice(None)),
            problem.columns,
            np.vstack([np.eye(t), -fitted.beta]),
            pull_cross,
            lambda W: kernel.pullback(Z, weights=W),
            lambda w: kernel._diag_pullback(pair.A, w),
        )
        return Evidence(value, theta, slope, state.jitter)

    def posterior(self, problem: GPProblem, kernel: Kernel, noise: float) -> InducingPosterior:
        """The process conditioned on the columns, through inducing rows chosen for this very kernel."""
        self._chosen = None
        Z = self._inducing(problem, kernel, noise)
        state = _collapse(GramOperator(kernel, problem.X, Z), Z, problem, noise, keep=False)
        return InducingPosterior(
            kernel, Z, state.L, state.LB, state.weights, state.quadratic, state.logdet + state.trace, state.jitter
        )

    def _inducing(self, problem: GPProblem, kernel: Kernel, noise: float) -> Any:
        if not noise > 0:
            raise InputError(
                f'solver="inducing" needs noise > 0: its bound divides by it; got {noise!r}. Use solver="exact".'
            )
        if self._chosen is None:
            self.prepare(problem, kernel, noise)
        return self._chosen


def choose_rows(kernel: Kernel, X: Any, m: int, seed: int) -> Any:
    """At most m rows of X by randomly pivoted Cholesky, drawn from at most CANDIDATES of them.

    The largest remaining variance (the greedy rule) goes to the rim of the data first; drawing in proportion to it puts
    inducing rows where the data are, which the bound rewards.
    """
    if m < 1:
        raise InputError(f"n_inducing must be at least 1; got {m!r}.")
    rng, n = np.random.default_rng(seed), count(X)
    candidates = np.sort(rng.permutation(n)[:CANDIDATES])
    rows = X if len(candidates) == n else take(X, candidates)
    K = GramOperator(kernel, rows)
    found = pivoted_cholesky(lambda chosen: K.submatrix(chosen, slice(None)).T, K.diag(), m, rule="random", rng=rng)
    # a kernel that vanishes on every row has no pivots; one row then stands for all of them
    index = candidates[found.index] if len(found.index) else candidates[:1]
    return take(X, index)


def _collapse(K: GramOperator, Z: Any, problem: GPProblem, noise: float, keep: bool) -> Collapsed:
    return collapsed(
        lambda rows: K.block(rows, slice(None)),
        np.asarray(K.kernel(Z), dtype=np.float64),
        np.asarray(K._values.diag(), dtype=np.float64),
        problem.columns,
        problem.variances(noise),
        keep=keep,
    )


@record()
@dataclass(frozen=True)
class InducingPosterior:
    """A zero-mean process that sees the data through its values at the inducing rows Z."""

    _stored: ClassVar[dict[str, str]] = {
        "kernel": "kernel",
        "Z": "rows m",
        "L": "triangle (m, m)",
        "LB": "triangle (m, m)",
        "weights": "float (m, c)",
        "quadratic": "float (c, c)",
    }

    kernel: Kernel
    Z: Any  # (m rows)
    L: Array  # (m, m) K_ZZ = L L'
    LB: Array  # (m, m) I + L^-1 K_ZX D^-1 K_XZ L^-T = LB LB'
    weights: Array  # (m, t + q)
    quadratic: Array  # (t + q, t + q)
    logdet: float
    jitter: float

    def mean(self, X: Any) -> Array:  # -> (r, t + q)
        """k(X, Z) weights."""
        return np.asarray(GramOperator(self.kernel, X, self.Z) @ self.weights)

    def variance(self, X: Any) -> Array:  # -> (r,)
        """k(x, x) - k_x' (K_ZZ^-1 - (K_ZZ + K_ZX D^-1 K_XZ)^-1) k_x."""
        K = GramOperator(self.kernel, X, self.Z)
        prior = np.asarray(self.kernel.diag(X), dtype=np.float64)
        out = np.empty(len(prior))
        for rows in row_blocks(len(prior)):
            out[rows] = latent_variance(self.L, self.LB, K.block(rows, slice(None)), prior[rows])
        return out

    def moments(self, X: Any) -> tuple[Array, Array]:  # -> (r, t + q), (r,)
        """Mean and variance together."""
        return self.mean(X), self.variance(X)

    def covariance(self, X: Any) -> Array:  # -> (r, r)
        """The latent covariance between new rows."""
        prior = np.asarray(self.kernel(X), dtype=np.float64)
        return latent_covariance(self.L, self.LB, self.kernel(X, self.Z), prior)
