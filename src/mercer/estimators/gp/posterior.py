"""What the ways to a Gaussian process share: the problem, the evidence of a setting, the posterior, the engine.

The observation model is y = m(x) + f(x) + e with f ~ GP(0, k), e ~ N(0, noise) and m(x) = h(x)' beta. Every engine works
on one zero-mean process and the columns T = [targets | H]; the columns H of the mean function are treated as further
targets. What the mean function needs then follows from T' G^-1 T and from predictions of the columns H, whatever G is
(K + noise, or an approximation of it), so that no engine has to know it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from mercer.estimators.gp.marginal_likelihood import Evidence as Evidence
from mercer.kernels.base import Kernel
from mercer.registry import record

Array = NDArray[np.float64]


@record()
@dataclass(frozen=True)
class GPProblem:
    """Rows, the columns of T, and how the noise is spread over the rows."""

    _stored: ClassVar[dict[str, str]] = {
        "columns": "float (n, c)",
        "X": "rows n",
        "n_targets": "int > 0",
        "ratios": "None | float (n,)",
    }

    X: Any  # a collection of n rows; float64 where they are vectors
    columns: Array  # (n, t + q): targets in their working units, then the columns of the mean function
    n_targets: int  # t
    ratios: Array | None = None  # (n,) the noise variance of row i is noise * ratios[i]; None is one for all

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.columns)

    def variances(self, noise: float) -> Array:  # -> (1,) or (n,)
        """The noise variances of the rows; one number where all are equal."""
        return np.array([noise]) if self.ratios is None else noise * self.ratios


class Posterior(Protocol):
    """A zero-mean process conditioned on the columns T. G is the covariance of the observations."""

    @property
    def kernel(self) -> Kernel:
        """The kernel, with numbers."""

    @property
    def quadratic(self) -> Array:  # (t + q, t + q)
        """T' G^-1 T."""

    @property
    def logdet(self) -> float:
        """log det G, plus the penalty of a bound where there is one."""

    @property
    def jitter(self) -> float:
        """What was added to a diagonal beyond the noise; 0 almost always."""

    def mean(self, X: Any) -> Array:  # -> (m, t + q)
        """E f(x) for every column of T."""

    def variance(self, X: Any) -> Array:  # -> (m,)
        """var f(x) of the latent f, without noise; the same for every column."""

    def moments(self, X: Any) -> tuple[Array, Array]:  # -> (m, t + q), (m,)
        """`mean` and `variance` at once, where one costs little beside the other."""

    def covariance(self, X: Any) -> Array:  # -> (m, m)
        """cov(f(x), f(x')), without noise."""


class Engine(Protocol):
    """One way to evaluate a process: exact, inducing points, neighbors. Made once per fit; it may keep what it chose."""

    rounds: int  # how often `prepare` and the ascent alternate on the whole data; 1 for engines that choose nothing
    part_rows: int  # an exact climb on this many rows comes before the engine's own; 0 for none
    tol_per_row: float  # a step that gains less per row is not worth its price
    max_steps: int  # at most this many steps per round; 0 for no limit

    def prepare(self, problem: GPProblem, kernel: Kernel, noise: float) -> None:
        """Choose what depends on a rough kernel (inducing points, neighbors) before an ascent starts from it."""

    def evidence(self, problem: GPProblem, kernel: Kernel, noise: float, gradient: bool) -> Evidence:
        """The log marginal likelihood of the targets at this setting; a NumericalError where G cannot be factored."""

    def posterior(self, problem: GPProblem, kernel: Kernel, noise: float) -> Posterior:
        """The process conditioned on T."""


@dataclass(frozen=True)
class EngineSettings:
    """What the estimator's parameters say to an engine."""

    n_inducing: int | None = None
    n_neighbors: int | None = None
    seed: int = 0
    memory: int = 8 * 2**30  # bytes
