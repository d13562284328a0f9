"""The exact solver of a Gaussian process: one n x n array that holds Gram matrix, factor and inverse in turn."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from mercer.arrays import Floats
from mercer.estimators.gp.problem import EngineSettings, GPProblem
from mercer.grams import GramOperator, gram
from mercer.inputs import Rows, as_rows, count
from mercer.kernels.algebra import unscaled
from mercer.kernels.base import Kernel
from mercer.kernels.evaluation import Evaluation, symmetric_pullback
from mercer.linalg.cholesky import Factor, cholesky, mirror_upper
from mercer.linalg.evidence import Evidence, log_marginal_likelihood, remaining_variance
from mercer.numeric import tiles
from mercer.numeric.compiling import worth
from mercer.numeric.memory import allocate
from mercer.numeric.threads import one_thread
from mercer.registry import record

#: Kernel columns of at most this many new points are in memory at a time. Row: gp-fit-*.
NEW_ROWS = 512

#: Nanoseconds per entry of the Gram matrix that compiled loops save over all evaluations of a search. They are worth
#: loading from 700 rows on. Row: gp-fit-*.
PER_ENTRY = 17.15

#: Up to this many rows one thread is as fast as two. Row: gp-fit-energy.
ALONE_ROWS = 600
REMEDY = 'Use solver="inducing" or "vecchia", or fit on fewer rows.'


class ExactEngine:
    """Evaluations that share one buffer and one encoded collection; the posterior takes over the buffer."""

    rounds, part_rows, tol_per_row, max_steps = 1, 0, 0.0, 0

    def __init__(self, settings: EngineSettings | None = None, of: int = 0) -> None:
        self._rows: Rows | None = None
        self._buffer: Floats | None = None
        self._of = of  # rows of the whole, if this engine evaluates a part of them
        self._last: tuple[float, Kernel, Floats] | None = None  # scale and kernel of the buffer, and its diagonal

    def prepare(self, problem: GPProblem, kernel: Kernel, noise: float) -> None:
        """Do nothing: this engine makes no choices."""

    def evidence(self, problem: GPProblem, kernel: Kernel, noise: float, gradient: bool) -> Evidence:
        """Return the log marginal likelihood in n^3/3 flops, or n^3 with the gradient."""
        found = self._evaluation(problem, kernel)
        size, variances = len(kernel.theta), problem.variances(noise)
        pullback = (lambda W, values: symmetric_pullback(found, W, values, size)) if gradient else None
        with one_thread() if problem.n <= ALONE_ROWS else nullcontext():
            return log_marginal_likelihood(
                self._gram(found), variances, problem.columns, problem.n_targets, pullback=pullback, overwrite=True
            )

    def posterior(self, problem: GPProblem, kernel: Kernel, noise: float) -> ExactPosterior:
        """Return the process conditioned on the columns; it then owns the n x n array."""
        K = self._gram(self._evaluation(problem, kernel))
        self._buffer = self._last = None
        return condition(problem, kernel, noise, cholesky(K, problem.variances(noise), overwrite=True))

    def _evaluation(self, problem: GPProblem, kernel: Kernel) -> Evaluation:
        if self._rows is None or (self._rows is not problem.X and self._rows.data is not problem.X):
            rows = self._rows = as_rows(problem.X)  # all kernels share what the first one encoded
            self._buffer = self._last = None
        else:
            rows = self._rows.branch()
        return Evaluation(kernel, rows, compiled=worth(max(problem.n, self._of) ** 2, PER_ENTRY))

    def _gram(self, found: Evaluation) -> Floats:
        """Return the Gram matrix in the buffer; if only the scale changed, from the triangle that a factor leaves alone."""
        scale, kernel = unscaled(found.kernel)
        if self._buffer is not None and self._last is not None and self._last[1] == kernel and self._last[0] > 0:
            before, _, diagonal = self._last
            mirror_upper(self._buffer.T, diagonal)
            self._buffer *= scale / before
        else:
            if self._buffer is None:
                self._buffer = allocate(found.shape, np.float64, "the Gram matrix", REMEDY)
            tiles.fill(found.block, self._buffer, found.symmetric, strip=found.strip)
        self._last = scale, kernel, self._buffer.diagonal().copy()
        return self._buffer


def condition(problem: GPProblem, kernel: Kernel, noise: float, factor: Factor) -> ExactPosterior:
    """Return the posterior from a factor of G."""
    T = problem.columns
    solved = np.ascontiguousarray(factor.solve(T))  # in the order in which predictions read it
    posterior = ExactPosterior(
        kernel, problem.X, problem.variances(noise), solved, T.T @ solved, factor.logdet, factor.jitter
    )
    posterior.__dict__["factor"] = factor  # otherwise the property would compute it again
    return posterior


@record()
@dataclass(frozen=True)
class ExactPosterior:
    """A zero-mean process conditioned on the columns T, from the factor of G = K + noise.

    The factor (n x n) is kept because every variance uses it; means use `solved` only. A model file does not hold the
    factor; it is computed again when a variance is first requested.
    """

    _stored: ClassVar[dict[str, str]] = {
        "kernel": "kernel",
        "X": "rows n",
        "variances": "float (1,) >= 0 | float (n,) >= 0",
        "solved": "float (n, c)",
        "quadratic": "float (c, c)",
    }

    kernel: Kernel
    X: Any
    variances: Floats  # (1,) or (n,) the noise
    solved: Floats  # (n, t + q) G^-1 T
    quadratic: Floats  # (t + q, t + q) T'G^-1 T
    logdet: float
    jitter: float

    @cached_property
    def factor(self) -> Factor:
        """G = L L'."""
        n = count(self.X)
        K = gram(self.kernel, self.X, out=allocate((n, n), np.float64, "the Gram matrix", REMEDY))
        return cholesky(K, self.variances, overwrite=True)

    @property
    def bytes(self) -> int:
        """Bytes of the factor."""
        return 8 * count(self.X) ** 2

    def mean(self, X: Any) -> Floats:  # -> (m, t + q)
        """k(X, X_fit) G^-1 T."""
        return GramOperator(self.kernel, X, self.X).times(self.solved)

    def variance(self, X: Any) -> Floats:  # -> (m,)
        """k(x, x) - k_x' G^-1 k_x."""
        prior = np.asarray(self.kernel.diag(X), dtype=np.float64)
        K = GramOperator(self.kernel, X, self.X)
        out = np.empty(len(prior))
        for start in range(0, len(prior), NEW_ROWS):
            rows = slice(start, min(start + NEW_ROWS, len(prior)))
            out[rows] = remaining_variance(self.factor, _columns(K, rows), prior[rows])
        return out

    def moments(self, X: Any) -> tuple[Floats, Floats]:  # -> (m, t + q), (m,)
        """Mean and variance together."""
        return self.mean(X), self.variance(X)

    def covariance(self, X: Any) -> Floats:  # -> (m, m)
        """k(X, X) - k(X, X_fit) G^-1 k(X_fit, X)."""
        K = GramOperator(self.kernel, X, self.X)
        V = self.factor.whiten(_columns(K, slice(0, K.shape[0])))
        left = np.asarray(self.kernel(X), dtype=np.float64)
        left -= V.T @ V
        return left


def _columns(K: GramOperator, rows: slice) -> Floats:  # -> (n, b) Fortran-ordered
    """Return kernel columns of some new points in Fortran order, as the transpose of rows in C order."""
    return np.asarray(K.block(rows, slice(0, K.shape[1])), dtype=np.float64).T
