"""The inducing-row solver: O(n m^2) per setting, a lower bound of the marginal likelihood, m x m arrays in the model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.linalg as la
import scipy.linalg.blas as blas

from mercer.arrays import Array
from mercer.errors import InputError
from mercer.estimators.gp.problem import EngineSettings, GPProblem
from mercer.grams import GramOperator
from mercer.inputs import count, take
from mercer.kernels.base import Kernel
from mercer.linalg.cholesky import cholesky, definite_factor
from mercer.linalg.evidence import Evidence, log_evidence, profile
from mercer.linalg.pivoted_cholesky import pivoted_cholesky
from mercer.numeric.tiles import row_blocks
from mercer.registry import record

#: Rows of K_fu made, whitened and multiplied at a time.
BLOCK_ROWS = 2048

#: Added to the diagonal of K_uu, relative to its mean. It does not change the bound noticeably, and keeps K_uu invertible
#: while the search moves the length scales away from those for which the rows were chosen.
NUGGET = 1e-12

Cross = Callable[[slice], Array]  # rows -> (r, m) of K_fu
PullCross = Callable[[slice, Array], Array]  # rows, weights (r, m) -> (p,)


@dataclass(frozen=True)
class Collapsed:
    """The bound at one setting of the parameters, with the arrays that the posterior and the gradient use."""

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
    """Return the parts of the bound after one pass over the rows; ``keep`` stores the whitened rows for the gradient.

    For t targets Y the bound is -1/2 (tr quadratic + t (logdet + trace) + n t log 2 pi).

    >>> X = np.linspace(0, 1, 5)
    >>> K, y = np.exp(-np.subtract.outer(X, X) ** 2), X[:, None] ** 2
    >>> whole = collapsed(lambda rows: K[rows], K, np.ones(5), y, np.array([0.1]))  # every row is an inducing one
    >>> G = K + 0.1 * np.eye(5)
    >>> bool(np.isclose(whole.logdet + whole.trace, np.linalg.slogdet(G)[1], atol=1e-8))
    True
    """
    n, d = len(columns), np.asarray(noise, dtype=np.float64)
    L, jitter = whitener(Kuu)
    V = np.empty((n, len(L))) if keep else None
    sums = bound_sums(cross, L, diag, columns, d, V)
    return closed(sums, L, jitter, d, float(np.sum(np.log(np.broadcast_to(d, (n,))))), V)


def whitener(Kuu: Array) -> tuple[Array, float]:  # (m, m) -> (m, m), number
    """Return L with K_uu = L L' and the jitter that was added."""
    factor = cholesky(Kuu, NUGGET * float(np.mean(np.diagonal(Kuu))))
    return np.tril(factor.matrix), factor.jitter


def bound_sums(  # L (m, m), diag (n,), columns (n, c), d (1,) or (n,), V (n, m)
    cross: Cross, L: Array, diag: Array, columns: Array, d: Array, V: Array | None = None
) -> tuple[Array, Array, Array, Array]:
    """Return the sums over some rows that make up the bound, with v = L^-1 K_uf.

    They are v D^-1 v' (m, m), of which the lower triangle is set; v D^-1 T (m, c); T'D^-1 T (c, c); and the sums of
    q_ii / d_i and of k_ii / d_i. Whitened rows are written to ``V`` if it is given.
    """
    m, c = len(L), columns.shape[1]
    S, b, explained = np.zeros((m, m), order="F"), np.zeros((m, c)), 0.0
    for rows in row_blocks(len(columns), BLOCK_ROWS):
        here = _rows_of(d, rows)
        v = blas.dtrsm(1.0, L, np.array(cross(rows).T, dtype=np.float64, order="F"), lower=1, overwrite_b=1)  # (m, r)
        if V is not None:
            V[rows] = v.T
        b += v @ (columns[rows] / here[:, None])
        v /= np.sqrt(here)
        S = blas.dsyrk(1.0, v, beta=1.0, c=S, lower=1, overwrite_c=1)
        explained += float(np.vdot(v, v))
    return S, b, columns.T @ (columns / d[:, None]), np.array([explained, float(np.sum(diag / d))])


def closed(  # L (m, m), d (1,) or (n,)
    sums: tuple[Array, ...], L: Array, jitter: float, d: Array, logdet_noise: float, V: Array | None = None
) -> Collapsed:
    """Return the bound from the sums over all rows, which are overwritten."""
    S, b, squares, (explained, prior) = sums
    S[np.diag_indices(len(L))] += 1.0
    LB = definite_factor(S)
    whitened = la.solve_triangular(LB, b, lower=True, check_finite=False)
    beta = la.solve_triangular(LB, whitened, lower=True, trans="T", check_finite=False)
    quadratic = squares - whitened.T @ whitened
    logdet = 2.0 * float(np.log(LB.diagonal()).sum()) + logdet_noise
    return Collapsed(L, LB, beta, quadratic, logdet, float(prior - explained), d, jitter, V)


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

    A second pass over the rows pulls weights back through the kernel. With alpha = D^-1 (E - V' beta),

        dF/dK_uf = L^-T (beta alpha' + t (I - B^-1) V D^-1),    dF/dk_ii = -t / (2 d_i),
        dF/dK_uu = -1/2 L^-T (beta beta' + t (B - 2 I + B^-1)) L^-1,
        dF/dlog(noise) = 1/2 (sum_i d_i alpha_i^2 - t (n - tr Q (Q + D)^-1) + t sum_i (k_ii - q_ii) / d_i).
    """
    n, t, d = len(columns), combine.shape[1], state.noise
    back, W_uu = send_back(state, combine)
    theta = pull_uu(W_uu) + pull_diag(np.broadcast_to(-0.5 * t / d, (n,)))
    theta, fitted = cross_gradient(back, cross, columns @ combine, d, pull_cross, theta, state.V)
    return theta, noise_slope(back, fitted, n, t, state.trace)


@dataclass(frozen=True)
class SentBack:
    """Arrays of the bound that the second pass uses."""

    L: Array  # (m, m)
    beta: Array  # (m, t)
    left: Array  # (m, m) L^-T (I - B^-1)
    back: Array  # (m, t) L^-T beta
    effective: float  # tr Q (Q + D)^-1


def send_back(state: Collapsed, combine: Array) -> tuple[SentBack, Array]:  # (c, t) -> …, (m, m)
    """Return the arrays for the second pass, and the weights dF/dK_uu."""
    beta, t, eye = state.beta @ combine, combine.shape[1], np.eye(len(state.L))
    inverse = la.cho_solve((state.LB, True), eye, check_finite=False)  # B^-1
    left = la.solve_triangular(state.L, eye - inverse, lower=True, trans="T", check_finite=False)
    whole = state.LB @ state.LB.T - 2.0 * eye + inverse
    half = la.solve_triangular(state.L, -0.5 * (beta @ beta.T + t * whole), lower=True, trans="T", check_finite=False)
    W_uu = la.solve_triangular(state.L, half.T, lower=True, trans="T", check_finite=False)
    effective = len(eye) - float(np.trace(inverse))
    return SentBack(state.L, beta, left, state.weights @ combine, effective), W_uu


def cross_gradient(  # targets (n, t), d (1,) or (n,), theta (p,), V (n, m)
    state: SentBack, cross: Cross, targets: Array, d: Array, pull: PullCross, theta: Array, V: Array | None = None
) -> tuple[Array, float]:
    """Return theta plus the contribution of some rows through K_fu, and their sum of d_i alpha_i^2."""
    fitted, t = 0.0, targets.shape[1]
    for rows in row_blocks(len(targets), BLOCK_ROWS):
        here = np.broadcast_to(_rows_of(d, rows), (rows.stop - rows.start,))[:, None]
        v = V[rows].T if V is not None else la.solve_triangular(state.L, cross(rows).T, lower=True)  # (m, r)
        alpha = (targets[rows] - v.T @ state.beta) / here  # (r, t)
        theta = theta + pull(rows, t * (v.T / here) @ state.left.T + alpha @ state.back.T)
        fitted += float(np.sum(here * alpha**2))
    return theta, fitted


def noise_slope(state: SentBack, fitted: float, n: int, t: int, trace: float) -> float:
    """Return the derivative with respect to the logarithm of the noise."""
    return 0.5 * (fitted - t * (n - state.effective) + t * trace)


def _rows_of(d: Array, rows: slice) -> Array:  # (1,) or (n,) -> (1,) or (r,)
    return d[rows] if d.size > 1 else d


#: Default number of inducing rows.
INDUCING = 1024

#: Inducing rows are chosen from at most this many rows, which are drawn by seed.
CANDIDATES = 16_384

#: Whitened rows are kept between value and gradient if they take at most this share of the budget.
KEEP = 0.5


class InducingEngine:
    """Titsias' collapsed bound with inducing rows by randomly pivoted Cholesky, chosen again between ascents."""

    # the exact climb on a part of the rows ends near the solution; the bound mostly adjusts the noise
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
        theta, slope = bound_gradient(
            state,
            lambda rows: K.block(rows, slice(None)),
            problem.columns,
            np.vstack([np.eye(t), -fitted.beta]),
            lambda rows, W: K.pullback(rows.start, W),
            lambda W: kernel.pullback(Z, weights=W),
            K.diag_pullback,
        )
        return Evidence(value, theta, slope, state.jitter)

    def posterior(self, problem: GPProblem, kernel: Kernel, noise: float) -> InducingPosterior:
        """The process conditioned on the columns, through inducing rows chosen for this kernel."""
        self._chosen = None
        Z = self._inducing(problem, kernel, noise)
        state = _collapse(GramOperator(kernel, problem.X, Z), Z, problem, noise, keep=False)
        return InducingPosterior(
            kernel, Z, state.L, state.LB, state.weights, state.quadratic, state.logdet + state.trace, state.jitter
        )

    def _inducing(self, problem: GPProblem, kernel: Kernel, noise: float) -> Any:
        check_noise(noise)
        if self._chosen is None:
            self.prepare(problem, kernel, noise)
        return self._chosen


def check_noise(noise: float) -> None:
    """Raise an error if the noise is 0, because the bound divides by it."""
    if not noise > 0:
        raise InputError(f'solver="inducing" needs noise > 0: its bound divides by it; got {noise!r}. Use solver="exact".')


def candidates_of(n: int, m: int, seed: int) -> tuple[Array, np.random.Generator]:
    """Return the ascending numbers of candidate rows, and the generator that chooses m inducing rows from them."""
    if m < 1:
        raise InputError(f"n_inducing must be at least 1; got {m!r}.")
    rng = np.random.default_rng(seed)
    return np.sort(rng.permutation(n)[:CANDIDATES]), rng


def choose_rows(kernel: Kernel, X: Any, m: int, seed: int) -> Any:
    """Choose at most m rows of X by randomly pivoted Cholesky, from at most CANDIDATES of them.

    The row of largest remaining variance (the greedy rule) lies at the edge of the data. Drawing in proportion to the
    remaining variance puts inducing rows where the data are dense, and the bound is higher.
    """
    candidates, rng = candidates_of(count(X), m, seed)
    return chosen_of(kernel, X if len(candidates) == count(X) else take(X, candidates), m, rng)


def chosen_of(kernel: Kernel, rows: Any, m: int, rng: np.random.Generator) -> Any:
    """Choose at most m of the candidates."""
    K = GramOperator(kernel, rows)
    found = pivoted_cholesky(lambda chosen: K.submatrix(chosen, slice(None)).T, K.diag(), m, rule="random", rng=rng)
    # a kernel that is zero on every row has no pivots; one row is then enough
    return take(rows, found.index if len(found.index) else np.arange(1))


def _collapse(K: GramOperator, Z: Any, problem: GPProblem, noise: float, keep: bool) -> Collapsed:
    return collapsed(
        lambda rows: K.block(rows, slice(None)),
        np.asarray(K.kernel(Z), dtype=np.float64),
        K.row_diag(),
        problem.columns,
        problem.variances(noise),
        keep=keep,
    )


@record()
@dataclass(frozen=True)
class InducingPosterior:
    """A zero-mean process that depends on the data only through its values at the inducing rows Z."""

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
        for rows in row_blocks(len(prior), BLOCK_ROWS):
            out[rows] = latent_variance(self.L, self.LB, K.block(rows, slice(None)), prior[rows])
        return out

    def moments(self, X: Any) -> tuple[Array, Array]:  # -> (r, t + q), (r,)
        """Mean and variance together."""
        return self.mean(X), self.variance(X)

    def covariance(self, X: Any) -> Array:  # -> (r, r)
        """The latent covariance between new rows."""
        prior = np.asarray(self.kernel(X), dtype=np.float64)
        return latent_covariance(self.L, self.LB, self.kernel(X, self.Z), prior)
