"""The Fourier solver, for stationary kernels in one to three columns: after two transforms the search uses no rows.

k(x - z) = sum_j s_j e^(2 pi i h j'(x - z)) on a grid (`grams/fourier_grid`). With Phi_ij = sqrt(s_j) e^(2 pi i h j'x_i) and
A = Phi* R^-1 Phi, R the ratios of the noise variances,

    T' G^-1 T = (T'R^-1 T - b*beta) / noise,        (A + noise I) beta = b = Phi* R^-1 T,
    log det G = (n - M) log noise + log det R + log det (A + noise I),

and A depends on the rows only through a Toeplitz matrix, which is the same for every kernel on the grid. The derivatives:

    d (y'G^-1 y) / d log s_j = -|beta_j|^2,        d log det G / d log s_j = 1 - noise ((A + noise I)^-1)_jj.

With few frequencies the matrix is factored. With many, log det and the diagonal are estimated with random signs
(`linalg/log_determinant`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Array
from mercer.errors import CapabilityError, InputError
from mercer.estimators.gp.problem import EngineSettings, GPProblem
from mercer.grams.fourier_grid import (
    FourierGrid,
    GridFactor,
    ToeplitzSystem,
    grid_for,
    grid_traces,
    has_grid,
    reach_of,
    same_frequencies,
)
from mercer.inputs import Rows
from mercer.kernels.base import Kernel
from mercer.linalg.conjugate_gradient import conjugate_gradient
from mercer.linalg.evidence import Evidence, log_evidence, profile
from mercer.registry import record

#: Random vectors for log det, and for the variances of the posterior; standard deviations then have an error of 9 %.
PROBES, SAMPLES = 16, 64

#: Features of at most this many new rows are in memory at a time.
ROWS = 2048

#: Relative residuals of the linear systems in the search and in the posterior.
ROUGH, FINE = 1e-4, 1e-7

#: The grid of a search is fine enough for length scales that differ by this factor.
MARGIN = 1.6

#: A grid is replaced if it misses more than this share of k(0), and more than twice the share it missed at first.
MISSED = 1e-4


@dataclass(frozen=True)
class GridFacts:
    """Two transforms of the rows, which are the same for all kernels on the grid."""

    grid: FourierGrid
    system: ToeplitzSystem
    moments: Array  # (c, M) sum_i T_i / ratio_i e^(-2 pi i h j'x_i)
    squares: Array  # (c, c) T'R^-1 T
    log_ratios: float  # log det R
    n: int

    @classmethod
    def of(cls, grid: FourierGrid, problem: GPProblem) -> GridFacts:
        """Compute the transforms in one pass over the rows."""
        X, T = vectors_of(problem.X), problem.columns
        weights = np.ones(problem.n) if problem.ratios is None else 1.0 / problem.ratios
        moments = grid.adjoint(X, (weights[:, None] * T).T).reshape(T.shape[1], -1)
        system = ToeplitzSystem(grid.adjoint(X, weights[None], doubled=True)[0], grid)
        return cls(grid, system, moments, T.T @ (weights[:, None] * T), -float(np.log(weights).sum()), problem.n)

    def with_kernel(self, kernel: Kernel) -> GridFacts:
        """Return the same rows and frequencies with the weights of another kernel."""
        grid = same_frequencies(kernel, self.grid)
        return replace(self, grid=grid, system=self.system.with_grid(grid))


@dataclass(frozen=True)
class GridSolution:
    """Solution of the systems with A + noise I for all columns, and numbers for the gradient."""

    beta: Array  # (c, M)
    quadratic: Array  # (c, c) T'G^-1 T
    logdet: float
    kept: Array  # (M,) 1 - noise ((A + noise I)^-1)_jj


def solve(facts: GridFacts, noise: float, tol: float) -> GridSolution:
    """Return solutions, log det and the diagonal of the inverse at one setting."""
    grid, M = facts.grid, len(facts.grid.weights)
    b = grid.weights * facts.moments  # (c, M)
    factor = GridFactor.of(facts.system, noise)
    if factor is not None:
        beta, (logdet, diagonal) = factor.solve(b), factor.traces()
    else:
        beta = grid.unpack(conjugate_gradient(facts.system, grid.pack(b), shift=noise, tol=tol, max_iter=2000).value)
        logdet, diagonal = grid_traces(facts.system, noise, PROBES, 1e-6)
    kept = np.clip(1.0 - noise * diagonal, 0.0, 1.0)
    quadratic = (facts.squares - (b.conj() @ beta.T).real) / noise
    whole = (facts.n - M) * float(np.log(noise)) + facts.log_ratios + logdet
    return GridSolution(beta, (quadratic + quadratic.T) / 2.0, whole, kept)


class FourierEngine:
    """Marginal likelihood on a grid of frequencies, which is replaced if it is too coarse for a kernel."""

    # the exact climb on a part of the rows ends near the solution
    rounds, part_rows, tol_per_row, max_steps = 1, 2000, 1e-4, 12

    def __init__(self, settings: EngineSettings | None = None) -> None:
        self._facts: GridFacts | None = None
        self._missed = 0.0

    def prepare(self, problem: GPProblem, kernel: Kernel, noise: float) -> None:
        """Choose a grid for kernels near this one."""
        X = vectors_of(problem.X)
        low, high = X.min(axis=0), X.max(axis=0)
        names = np.array(["length_scale" in name for name in kernel.theta_names])
        near = [kernel.with_theta(kernel.theta + step * names) for step in (np.log(MARGIN), -np.log(MARGIN))]
        grid = grid_for([kernel, *near], low, high)[0]
        self._facts = GridFacts.of(grid, problem)
        self._missed = max(MISSED, 2.0 * grid.missed / _top(kernel, X))

    def evidence(self, problem: GPProblem, kernel: Kernel, noise: float, gradient: bool) -> Evidence:
        """Return the log marginal likelihood and its gradient; the cost does not depend on the number of rows."""
        facts = self._serving(problem, kernel, noise)
        found = solve(facts, noise, ROUGH)
        t = problem.n_targets
        fitted = profile(found.quadratic, t)
        value = log_evidence(fitted.energy, found.logdet, problem.n, t)
        if not gradient:
            return Evidence(value)
        combine = np.vstack([np.eye(t), -fitted.beta])
        beta = combine.T @ found.beta  # (t, M)
        sizes = np.sum(np.abs(beta) ** 2, axis=0)
        slopes = log_slopes(kernel, facts.grid)  # (p, M)
        theta = 0.5 * slopes @ (sizes - t * found.kept)
        noise_slope = 0.5 * (fitted.energy - float(sizes.sum()) - t * (problem.n - float(found.kept.sum())))
        return Evidence(value, theta, noise_slope)

    def posterior(self, problem: GPProblem, kernel: Kernel, noise: float) -> FourierPosterior:
        """The process conditioned on the columns, on a grid for this kernel."""
        X = vectors_of(problem.X)
        check_noise(noise)
        facts = GridFacts.of(grid_for([kernel], X.min(axis=0), X.max(axis=0))[0], problem)
        found = solve(facts, noise, FINE)
        coefficients = (facts.grid.weights * found.beta).T
        posterior = FourierPosterior(
            kernel, problem.X, problem.variances(noise), facts.grid, coefficients, found.quadratic, found.logdet, 0.0
        )
        posterior.__dict__["system"] = facts.system  # otherwise the property would compute it again
        return posterior

    def _serving(self, problem: GPProblem, kernel: Kernel, noise: float) -> GridFacts:
        check_noise(noise)
        if self._facts is None:
            self.prepare(problem, kernel, noise)
        for _ in range(2):
            assert self._facts is not None
            facts, X = self._facts.with_kernel(kernel), vectors_of(problem.X)
            room = 1.0 / facts.grid.spacing - np.ptp(X, axis=0)
            far = reach_of(kernel, X.shape[1], 10.0 * MISSED)
            if facts.grid.missed <= self._missed * _top(kernel, X) and bool((far <= room * 1.001).all()):
                break
            self.prepare(problem, kernel, noise)
        return facts


def log_slopes(kernel: Kernel, grid: FourierGrid) -> Array:  # -> (p, M)
    """Return d log s_j / d theta by central differences of the spectral density, 0 where the density is 0."""
    step, out = 1e-4, np.empty((len(kernel.theta), len(grid.weights)))
    for p in range(len(out)):
        move = step * np.eye(len(out))[p]
        up, down = (same_frequencies(kernel.with_theta(kernel.theta + sign * move), grid).weights for sign in (1.0, -1.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            out[p] = np.log(up / down) / step  # weights are square roots of s
    return np.nan_to_num(out, nan=0.0, posinf=0.0, neginf=0.0)


@record()
@dataclass(frozen=True)
class FourierPosterior:
    """A zero-mean process conditioned on the columns T by frequencies: E f(x) is one transform.

    var f(x) = noise phi(x)*(A + noise I)^-1 phi(x), plus the part of k(x, x) that the grid misses. With few frequencies
    it is computed from a factor, with many from functions drawn from the posterior.
    """

    _stored: ClassVar[dict[str, str]] = {
        "kernel": "kernel",
        "X": "rows n",
        "variances": "float (1,) >= 0 | float (n,) >= 0",
        "grid": "a FourierGrid",
        "grid.weights": "float (m,)",
        "coefficients": "complex (m, c)",
        "quadratic": "float (c, c)",
    }

    kernel: Kernel
    X: Any
    variances: Array  # (1,) or (n,) the noise
    grid: FourierGrid
    coefficients: Array  # (M, t + q)
    quadratic: Array  # (t + q, t + q) T'G^-1 T
    logdet: float
    jitter: float

    @cached_property
    def system(self) -> ToeplitzSystem:
        """A for noise variances divided by `_noise`; model files do not hold it."""
        ratios = self.variances / self._noise
        weights = np.broadcast_to(1.0 / ratios, (len(self.X),))
        return ToeplitzSystem(self.grid.adjoint(vectors_of(self.X), weights[None], doubled=True)[0], self.grid)

    @property
    def _noise(self) -> float:
        return float(self.variances[0]) if len(self.variances) == 1 else 1.0

    @cached_property
    def _factor(self) -> GridFactor | None:
        return GridFactor.of(self.system, self._noise)

    @cached_property
    def _drawn(self) -> Array:  # (SAMPLES, M)
        """Draws of the weights from the posterior covariance noise (A + noise I)^-1."""
        rng, out = np.random.default_rng(0), np.empty((SAMPLES, len(self.grid.weights)), np.complex128)
        X, noise = vectors_of(self.X), self._noise
        roots = 1.0 / np.sqrt(np.broadcast_to(self.variances / noise, (len(X),)))
        for start in range(0, SAMPLES, 8):
            rows = slice(start, min(start + 8, SAMPLES))
            count = rows.stop - rows.start
            seen = self.grid.adjoint(X, roots * rng.standard_normal((count, len(X)))).reshape(count, -1)
            own = rng.standard_normal((count, *self.grid.shape))
            mirrored = np.flip(own, tuple(range(1, own.ndim)))
            own = ((own + mirrored) / 2.0 + 1j * (own - mirrored) / 2.0).reshape(count, -1)
            right = self.grid.pack(self.grid.weights * seen + np.sqrt(noise) * own)
            solved = conjugate_gradient(self.system, right, shift=noise, tol=ROUGH, max_iter=2000).value
            out[rows] = self.grid.weights * np.sqrt(noise) * self.grid.unpack(solved)
        return out

    def mean(self, X: Any) -> Array:  # -> (r, t + q)
        """One transform."""
        return self.grid.values(vectors_of(X), self.coefficients.T)

    def variance(self, X: Any) -> Array:  # -> (r,)
        """From the factor, or the mean square of drawn functions."""
        V = vectors_of(X)
        if self._factor is None:
            return np.mean(self.grid.values(V, self._drawn) ** 2, axis=1) + self.grid.missed
        out = np.empty(len(V))
        for start in range(0, len(V), ROWS):
            part = slice(start, start + ROWS)
            out[part] = self._noise * self._factor.squares(self.grid.features(V[part]).conj())
        return out + self.grid.missed

    def moments(self, X: Any) -> tuple[Array, Array]:  # -> (r, t + q), (r,)
        """Mean and variance together."""
        return self.mean(X), self.variance(X)

    def covariance(self, X: Any) -> Array:  # -> (r, r)
        """One system per new row."""
        Phi = self.grid.features(vectors_of(X))  # (r, M)
        if self._factor is not None:
            solved = self._factor.solve(Phi.conj())
        else:
            right = self.grid.pack(Phi.conj())
            solved = self.grid.unpack(conjugate_gradient(self.system, right, shift=self._noise, tol=ROUGH).value)
        C = self._noise * (Phi @ solved.T).real
        return (C + C.T) / 2.0 + self.grid.missed * np.eye(len(Phi))


def vectors_of(X: Any) -> Array:  # -> (n, d)
    """Return the rows as dense vectors, or raise an error."""
    data = X.data if isinstance(X, Rows) else X
    if sp.issparse(data) or np.ndim(data) != 2:
        raise CapabilityError('solver="fourier" takes dense rows of one to three numbers; use "inducing" for others.')
    return np.asarray(data, dtype=np.float64)


def check_kernel(kernel: Kernel, X: Any) -> None:
    """Raise an error if the kernel has no grid on these rows."""
    width = vectors_of(X).shape[1]
    if not has_grid(kernel, width):
        raise CapabilityError(
            f'solver="fourier" takes kernels with a spectral density in one to three columns, as Gaussian and Matern have; '
            f'{kernel} on {width} {"column" if width == 1 else "columns"} has none. Use "inducing" or "vecchia".'
        )


def check_noise(noise: float) -> None:
    """Raise an error if the noise is 0, because the systems divide by it."""
    if not noise > 0:
        raise InputError(f'solver="fourier" needs noise > 0: its systems divide by it; got {noise!r}. Use solver="exact".')


def _top(kernel: Kernel, X: Array) -> float:
    return float(kernel.diag(X[:1])[0])
