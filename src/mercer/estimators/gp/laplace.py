"""Gaussian processes with other likelihoods than Gaussian noise: Laplace's approximation around the mode of f.

`LatentProblem` and `LaplaceEngine` take the places of `GPProblem` and `ExactEngine` in the search of hyper-parameters. The
positive parameters of a likelihood (noise of "student" and "censored", shape of "negative-binomial", gaps of "ordinal")
are entries of the same vector as those of the kernel.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtr, ndtri

from mercer.arrays import Array, Floats, Indices
from mercer.errors import InputError
from mercer.estimators.components import Conditioned, TermComponents
from mercer.estimators.gp.exact import PER_ENTRY, REMEDY
from mercer.grams import GramOperator, gram
from mercer.grams.dual_function import DualFunction
from mercer.inputs import Rows, as_rows, count
from mercer.kernels.algebra import unscaled
from mercer.kernels.base import Kernel
from mercer.kernels.evaluation import Evaluation, symmetric_pullback
from mercer.linalg.cholesky import Factor, cholesky
from mercer.linalg.evidence import Evidence, remaining_variance
from mercer.linalg.likelihoods import Censored, Likelihood, Logit, NegativeBinomial, Ordinal, Poisson, StudentT, quadrature
from mercer.linalg.logistic import one_hot
from mercer.linalg.newton import Mode, find_mode, laplace_evidence
from mercer.linalg.softmax import SoftmaxMode, class_blocks, find_softmax_mode, softmax_evidence
from mercer.numeric import tiles
from mercer.numeric.compiling import worth
from mercer.numeric.memory import allocate
from mercer.numeric.threads import one_thread
from mercer.registry import record

#: Degrees of freedom of the Student-t noise.
DF = 4.0

#: Step of the differences in the logarithm of a parameter of the likelihood.
APART = 1e-5

#: Up to this many rows one thread is as fast as two: a Newton step is several short calls. `benchmarks.probabilities race`.
ALONE_ROWS = 2000

#: New points whose kernel columns are in memory at a time; the softmax keeps one block per class.
NEW_ROWS = 512

#: Fixed quasi-random draws of the latent values of a softmax, a power of two.
DRAWS = 2048


@dataclass(frozen=True)
class Family:
    """How a likelihood is made from its positive parameters."""

    make: Callable[[Floats], Likelihood]
    names: Callable[[int], tuple[str, ...]]  # number of levels -> names of the parameters
    intercept: bool = True  # a free constant latent mean


FAMILIES = {
    "classes": Family(lambda v: Logit(), lambda levels: (), intercept=False),
    "student": Family(lambda v: StudentT(DF, math.sqrt(v[0])), lambda levels: ("noise",)),
    "poisson": Family(lambda v: Poisson(), lambda levels: ()),
    "negative-binomial": Family(lambda v: NegativeBinomial(float(v[0])), lambda levels: ("shape",)),
    "ordinal": Family(lambda v: Ordinal(tuple(v.tolist())), lambda levels: tuple(f"gap[{i}]" for i in range(1, levels - 1))),
    "censored": Family(lambda v: Censored(math.sqrt(v[0])), lambda levels: ("noise",)),
}


@dataclass(frozen=True)
class LatentProblem:
    """Rows and targets of a latent process; y holds class numbers, counts, levels, numbers, or bounds (n, 2)."""

    X: Any
    y: Array
    kind: str
    levels: int = 0  # classes, or levels of an ordered target
    offset: Floats | None = None  # (n,) added to the latent value
    unit: float = 1.0  # a typical variance of the latent function
    intercept: bool = True
    center: float = 0.0  # a first constant latent mean
    ratios: None = None
    n_targets: int = 1

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.y)

    @property
    def at_hand(self) -> bool:
        """True: the rows are in memory and were checked."""
        return True

    @property
    def flat(self) -> NDArray[np.bool_]:
        """Mask of the targets that are constant."""
        return np.array([bool(np.all(self.y == self.y[:1]))])

    def sizes(self) -> tuple[float, bool, float]:
        """Typical variance of f, whether y varies, and its largest absolute value."""
        finite = np.abs(self.y[np.isfinite(self.y)])
        return self.unit, self.n > 1, float(finite.max(initial=0.0))

    def starting_rows(self, fit: bool) -> Any:
        """Return the rows for starting values: all rows."""
        return self.X

    def part(self, rows: Indices) -> LatentProblem:
        """Return the problem of some rows."""
        offset = None if self.offset is None else self.offset[rows]
        return LatentProblem(
            Rows(self.X).take(rows), self.y[rows], self.kind, self.levels, offset, self.unit, self.intercept, self.center
        )


class LaplaceEngine:
    """Evaluations that share one buffer; every mode is the start of the next."""

    rounds, part_rows, tol_per_row, max_steps = 1, 0, 0.0, 0

    def __init__(self, of: int = 0) -> None:
        self.spread: Floats | None = None  # posterior variances of the latent values of the rows, if they are known
        self._rows: Rows | None = None
        self._buffer: Floats | None = None
        self._start: Any = None
        self._of = of
        self._scaled: tuple[float, Kernel] | None = None  # scale and kernel of the buffer
        self._last: tuple[Kernel, Any, Mode | SoftmaxMode] | None = None  # the factors of this mode may be consumed

    def prepare(self, problem: LatentProblem, kernel: Kernel, noise: Any) -> None:
        """Do nothing: this engine makes no choices."""

    def mode(self, problem: LatentProblem, kernel: Kernel, values: Any) -> tuple[Mode | SoftmaxMode, Floats, Evaluation]:
        """Return the mode at a setting, the Gram matrix and its evaluation."""
        found = self._evaluation(problem, kernel)
        K = self._gram(found)
        mode: Mode | SoftmaxMode
        if problem.kind == "classes" and problem.levels > 2:
            Y = one_hot(np.asarray(problem.y, dtype=np.intp), problem.levels)
            mode = find_softmax_mode(K, Y, start=self._start)
        else:
            family = FAMILIES[problem.kind]
            likelihood = family.make(np.atleast_1d(values)[: len(family.names(problem.levels))])
            offset: Any = 0.0 if problem.offset is None else problem.offset
            if self._start is None and problem.intercept:
                self._start = np.full(problem.n, problem.center)
            mode = find_mode(
                K, likelihood, problem.y, offset=offset, intercept=problem.intercept, start=self._start, max_iter=200
            )
        if mode.converged:
            self._start = mode.f if isinstance(mode, Mode) else mode.F
        return mode, K, found

    def _gram(self, found: Evaluation) -> Floats:
        """Return the Gram matrix in the buffer, which is multiplied if only the scale changed."""
        scale, kernel = unscaled(found.kernel)
        if self._buffer is not None and self._scaled is not None and self._scaled[1] == kernel and self._scaled[0] > 0:
            self._buffer *= scale / self._scaled[0]
        else:
            if self._buffer is None:
                self._buffer = allocate(found.shape, np.float64, "the Gram matrix", REMEDY)
            tiles.fill(found.block, self._buffer, found.symmetric, strip=found.strip)
        self._scaled = scale, kernel
        return self._buffer

    def evidence(self, problem: LatentProblem, kernel: Kernel, noise: Any, gradient: bool) -> Evidence:
        """Return Laplace's log marginal likelihood, and its gradient with respect to all logarithms."""
        with one_thread() if problem.n <= ALONE_ROWS else nullcontext():
            mode, K, found = self.mode(problem, kernel, noise)
            self._last, self.spread = (kernel, noise, mode), None
            if not gradient:
                return Evidence(mode.evidence)
            size = len(kernel.theta)

            def pullback(W: Any, values: Any) -> Array:
                return symmetric_pullback(found, W, values, size)

            if isinstance(mode, SoftmaxMode):
                evidence = softmax_evidence(mode, K, pullback)
            else:
                evidence = laplace_evidence(mode, K, pullback, _parameter_slopes(problem, mode, np.atleast_1d(noise)))
            self.spread = evidence.spread
            return evidence

    def posterior(self, problem: LatentProblem, kernel: Kernel, noise: Any) -> tuple[Any, Mode | SoftmaxMode]:
        """Return the latent posterior and the mode."""
        if self._last is None or self._last[0] != kernel or not np.array_equal(self._last[1], noise, equal_nan=True):
            self.evidence(problem, kernel, noise, False)
        assert self._last is not None
        mode, self._buffer, self._scaled = self._last[2], None, None
        if isinstance(mode, SoftmaxMode):
            return SoftmaxPosterior(kernel, problem.X, mode.dual, mode.D), mode
        mean = DualFunction(kernel, problem.X, mode.dual[:, None], np.array([mode.intercept]))
        return LaplacePosterior(mean, mode.W, mode.with_intercept), mode

    def _evaluation(self, problem: LatentProblem, kernel: Kernel) -> Evaluation:
        if self._rows is None or (self._rows is not problem.X and self._rows.data is not problem.X):
            rows = self._rows = as_rows(problem.X)  # all kernels share what the first one encoded
            self._buffer = self._start = self._scaled = None
        else:
            rows = self._rows.branch()
        return Evaluation(kernel, rows, compiled=worth(max(problem.n, self._of) ** 2, PER_ENTRY))


def _parameter_slopes(problem: LatentProblem, mode: Mode, values: Floats) -> Any:
    """Return a function that returns, per parameter of the likelihood, derivatives of log p, its slope and W at fixed f."""
    names = FAMILIES[problem.kind].names(problem.levels)
    f = mode.f if problem.offset is None else mode.f + problem.offset

    def at(logs: Floats) -> tuple[Floats, Floats, Floats]:
        likelihood = FAMILIES[problem.kind].make(np.exp(logs))
        first = likelihood.derivatives(problem.y, f)[0]
        return likelihood.log_density(problem.y, f), first, likelihood.curvature(problem.y, f)[0]

    def slopes() -> list[tuple[Floats, Floats, Floats]]:
        found = []
        for move in APART * np.eye(len(names)):
            up, down = at(np.log(values) + move), at(np.log(values) - move)
            a, b, c = ((high - low) / (2.0 * APART) for high, low in zip(up, down, strict=True))
            found.append((a, b, c))
        return found

    return slopes


@record()
@dataclass(frozen=True)
class LaplacePosterior:
    """A latent process with the normal posterior around its mode, whose covariance is (K^-1 + W)^-1."""

    _stored: ClassVar[dict[str, str]] = {
        "function": "a DualFunction",
        "function.dual": "float (n, 1)",
        "W": "float (n,) > 0",
        "with_intercept": "flag",
    }

    function: DualFunction  # the mean of f, in a column
    W: Floats  # (n,)
    with_intercept: bool

    @property
    def kernel(self) -> Kernel:
        """The kernel with its parameters."""
        return self.function.kernel

    @property
    def X(self) -> Any:  # noqa: N802
        """The rows of the fit."""
        return self.function.X

    @property
    def dual(self) -> Floats:  # (n,)
        """The coefficients of the mean."""
        return self.function.dual[:, 0]

    @property
    def intercept(self) -> float:
        """The constant latent mean."""
        return float(self.function.intercept[0])

    @property
    def jitter(self) -> float:
        """0: the identity in B makes it positive definite."""
        return 0.0

    @cached_property
    def factor(self) -> Factor:
        """I + W^1/2 K W^1/2 = L L'; a model file does not hold it."""
        n, root = count(self.X), np.sqrt(self.W)
        K = gram(self.kernel, self.X, out=allocate((n, n), np.float64, "the Gram matrix", REMEDY))
        K *= root
        K *= root[:, None]
        return cholesky(K, 1.0, overwrite=True)

    def mean(self, X: Any) -> Floats:  # -> (m,)
        """E f(x), the constant latent mean included."""
        return self.function.predict(X)[:, 0]

    def latent(self, X: Any) -> tuple[Floats, Floats]:  # -> (m,), (m,)
        """Mean and variance of f(x); the variance includes that of a free constant latent mean."""
        K = GramOperator(self.kernel, X, self.X)
        prior = np.asarray(self.kernel.diag(X), dtype=np.float64)
        variance, root = np.empty(len(prior)), np.sqrt(self.W)
        v = root * self.factor.solve(root) if self.with_intercept else np.zeros(len(root))
        for start in range(0, len(prior), NEW_ROWS):
            rows = slice(start, min(start + NEW_ROWS, len(prior)))
            block = np.asarray(K.block(rows, slice(0, K.shape[1])), dtype=np.float64)
            rest = (1.0 - block @ v) ** 2 / v.sum() if self.with_intercept else 0.0
            variance[rows] = remaining_variance(self.factor, (block * root).T, prior[rows]) + rest
        return K.times(self.dual) + self.intercept, variance

    def components(self, X: Any) -> TermComponents:
        """Return the terms of the latent function and its constant mean."""
        root = np.sqrt(self.W)
        n, q = len(root), int(self.with_intercept)
        v = (root * self.factor.solve(root))[:, None][:, :q]
        covariance = np.full((q, q), 1.0 / v.sum()) if q else np.zeros((0, 0))
        known = Conditioned(
            self.kernel, self.X, lambda k: root[:, None] * self.factor.solve(np.asfortranarray(root[:, None] * k)),
            self.dual.reshape(n, 1), v, covariance, np.ones(1),
        )  # fmt: skip
        m = count(X)
        return known.parts(X, np.ones((m, q)), np.full((m, 1), self.intercept), single=True)


@record()
@dataclass(frozen=True)
class SoftmaxPosterior:
    """The latent processes of C classes with the normal posterior around their mode."""

    _stored: ClassVar[dict[str, str]] = {"kernel": "kernel", "X": "rows n", "dual": "float (n, c)", "D": "float (n, c) > 0"}

    kernel: Kernel
    X: Any
    dual: Floats  # (n, C)
    D: Floats  # (n, C)

    @property
    def jitter(self) -> float:
        """0: the identity in B_c makes it positive definite."""
        return 0.0

    @cached_property
    def _blocks(self) -> tuple[tuple[Floats, ...], Factor]:
        blocks, _, total = class_blocks(np.asarray(self.kernel(self.X), dtype=np.float64), self.D)
        return blocks, total

    def mean(self, X: Any) -> Floats:  # -> (m, C)
        """E f_c(x)."""
        return GramOperator(self.kernel, X, self.X).times(self.dual)

    def latent(self, X: Any) -> tuple[Floats, Floats]:  # -> (m, C), (m, C, C)
        """Means, and covariances between the classes, of f(x)."""
        K = GramOperator(self.kernel, X, self.X)
        prior = np.asarray(self.kernel.diag(X), dtype=np.float64)
        C, (blocks, total) = self.dual.shape[1], self._blocks
        covariance = np.zeros((len(prior), C, C))
        for start in range(0, len(prior), NEW_ROWS):
            rows = slice(start, min(start + NEW_ROWS, len(prior)))
            k = np.asarray(K.block(rows, slice(0, K.shape[1])), dtype=np.float64).T  # (n, b)
            Ek = [E @ k for E in blocks]
            white = [total.whiten(np.array(part, order="F")) for part in Ek]
            for c in range(C):
                covariance[rows, c, c] = prior[rows] - np.einsum("ij,ij->j", k, Ek[c])
                for d in range(C):
                    covariance[rows, c, d] += np.einsum("ij,ij->j", white[c], white[d])
        return K.times(self.dual), covariance


def expected_sigmoid(mean: Floats, variance: Floats) -> Floats:  # (m,), (m,) -> (m,)
    """Return E 1 / (1 + exp(-f)) for normal f, to about 1e-12.

    Narrow distributions use Gauss-Hermite nodes. Wide ones are written as E Phi((mean + e) / sd) over a logistic e, for
    which the trapezoid rule converges exponentially.

    >>> expected_sigmoid(np.array([0.0, 0.0]), np.array([0.1, 100.0])).round(12).tolist()
    [0.5, 0.5]
    """
    sd = np.sqrt(variance)
    nodes, weights = quadrature()
    narrow = expit(mean[:, None] + np.minimum(sd, 1.0)[:, None] * nodes) @ weights
    e = np.arange(-40.0, 40.25, 0.5)
    density = 0.5 * expit(e) * expit(-e)
    wide = ndtr((mean[:, None] + e) / np.maximum(sd, 1.0)[:, None]) @ density
    return np.where(sd < 1.0, narrow, wide)


def expected_softmax(mean: Floats, covariance: Floats) -> Floats:  # (m, C), (m, C, C) -> (m, C)
    """Return E softmax(f) for normal f by fixed quasi-random draws."""
    from scipy.stats import qmc

    C = mean.shape[1]
    Z = ndtri(np.clip(qmc.Sobol(C, seed=0).random(DRAWS), 1e-12, 1.0 - 1e-12))
    values, vectors = np.linalg.eigh(covariance)
    roots = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
    out = np.empty(mean.shape)
    for start in range(0, len(mean), 64):
        rows = slice(start, start + 64)
        F = mean[rows, None, :] + Z @ roots[rows].transpose(0, 2, 1)
        F = np.exp(F - F.max(axis=2, keepdims=True))
        out[rows] = (F / F.sum(axis=2, keepdims=True)).mean(axis=1)
    return out


def check_mode(what: str, mode: Mode | SoftmaxMode) -> list[str]:
    """Return a note if Newton's method did not converge at the fitted parameters."""
    return [] if mode.converged else [f"{what}: Newton's method did not converge: {mode.message}."]


def read_exposure(what: str, exposure: Any, n: int) -> Floats | None:
    """Return log exposure, (n,), or None if there is none."""
    if exposure is None:
        return None
    try:
        values = np.asarray(exposure, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.empty(0)
    if values.shape != (n,) or not np.isfinite(values).all() or (values <= 0).any():
        raise InputError(f"{what}: exposure must be ({n},) finite numbers > 0, one per row.")
    return np.log(values)
