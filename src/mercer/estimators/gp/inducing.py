"""The route through inducing rows: O(n m^2) per setting, a lower bound of the evidence, m x m arrays in the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.errors import InputError
from mercer.estimators.gp.inducing_bound import (
    Collapsed,
    bound_gradient,
    collapsed,
    latent_covariance,
    latent_variance,
    row_blocks,
)
from mercer.estimators.gp.mean_function import log_evidence, profile
from mercer.estimators.gp.posterior import EngineSettings, Evidence, GPProblem
from mercer.gram import GramOperator
from mercer.inputs import count, take
from mercer.kernels.base import Kernel
from mercer.linalg.pivoted_cholesky import pivoted_cholesky
from mercer.numeric import tiles
from mercer.registry import record

Array = NDArray[np.float64]

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
