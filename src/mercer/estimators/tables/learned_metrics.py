"""Metrics learned from rows: recursive feature machines, and length scales by marginal likelihood.

A recursive feature machine fits, takes the average outer product of the gradients as the metric, and fits again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import optimize

from mercer.arrays import Floats, Indices
from mercer.errors import NumericalError
from mercer.estimators.tables import ridge
from mercer.inputs import Rows, as_rows
from mercer.kernels.base import Kernel
from mercer.linalg.evidence import log_marginal_likelihood
from mercer.numeric.points import median_distance

#: Length scales that are tried, as multiples of the median distance: all of them at the start, then neighbors.
MULTIPLES = (0.5, 1.0, 2.0, 4.0, 16.0)

#: Rows on which length scales are compared.
COMPARED = 300

#: Bounds of a log parameter relative to its start, and the standard deviation of a weak normal prior around the start.
BOUNDS, PRIOR = (-4.0, 7.0), 3.0
SMALLEST_ALPHA, LARGEST_ALPHA = 1e-5, 1e1

#: Value of the objective where K + alpha I is not positive definite.
FAILED = 1e10


@dataclass(frozen=True)
class MetricStep:
    """One round: the root S of the metric M = S'S, the kernel with it, and the fit on the given rows."""

    S: Floats  # (d,) or (d, d)
    kernel: Kernel
    fit: ridge.LeaveOneOutFit
    multiple: float  # length scale divided by the median distance

    @property
    def metric(self) -> Floats:
        """M, (d,) for a diagonal metric and (d, d) for a full one."""
        return np.asarray(self.S**2 if self.S.ndim == 1 else self.S @ self.S)


def metric_steps(
    kernel: Kernel, X: Any, Y: Floats, full: bool, n_steps: int, weights: Floats | None = None
) -> Iterator[MetricStep]:  # (n, d), (n, t), (n,)
    """Yield the start, M = I, and n_steps further rounds; length scale and alpha by leave-one-out given each metric."""
    rows = as_rows(X)
    d = rows.vectors().shape[1]
    S: Floats = np.eye(d) if full else np.ones(d)
    multiple, alpha = None, None
    for step in range(n_steps + 1):
        moved = Rows.computed(apply(rows.vectors(), S))
        scaled, multiple = with_length_scale(kernel, moved, Y, multiple, weights)
        whole = scaled.linear(S)
        found = ridge.choose(np.asarray(whole(rows), dtype=np.float64), Y, alpha, weights)
        alpha = found.alpha
        yield MetricStep(S, whole, found, multiple)
        if step < n_steps:
            S = root(outer_product(whole, rows, found.dual, full, weights))


def apply(X: Any, S: Floats) -> Floats:
    """Return rows in the coordinates of the metric."""
    return np.asarray(X * S if S.ndim == 1 else X @ S.T)


def outer_product(
    kernel: Kernel, X: Any, dual: Floats, full: bool, weights: Floats | None = None
) -> Floats:  # (n, t), (n,) -> (d, d) or (d,)
    """Return the average of grad f(x) grad f(x)' over rows and targets, without self terms, scaled to max |M| = 1."""
    rows = as_rows(X)
    M: Any = 0.0
    for column in dual.T:
        slopes = kernel.input_slopes(rows, rows, np.ascontiguousarray(column))
        slopes = slopes if weights is None else slopes * np.sqrt(weights)[:, None]
        M = M + (slopes.T @ slopes if full else (slopes**2).sum(axis=0))
    largest = float(np.abs(M).max())
    if not np.isfinite(largest) or largest == 0.0:  # a constant target has no slope: all directions are equal
        d = rows.vectors().shape[1]
        return np.eye(d) if full else np.ones(d)
    return np.asarray(M / largest)


def root(M: Floats) -> Floats:
    """Return the symmetric root; eigenvalues that are negative by rounding count as 0."""
    if M.ndim == 1:
        return np.sqrt(M)
    values, vectors = np.linalg.eigh(M)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)


def with_length_scale(
    kernel: Kernel, X: Any, Y: Floats, multiple: float | None, weights: Floats | None = None
) -> tuple[Kernel, float]:  # (n, d), (n, t), number, (n,)
    """Return the kernel with the length scale of the smallest leave-one-out error on some rows, and its multiple."""
    rows = as_rows(X)
    picks = np.random.default_rng(0).permutation(len(rows))[:COMPARED]
    unit = median_distance(rows.vectors(), "euclidean") or 1.0
    tried = MULTIPLES if multiple is None else (multiple / 2.0, multiple, multiple * 2.0)
    part, targets, counted = rows.take(picks), Y[picks], None if weights is None else weights[picks]
    if len(part) < 4 or float(np.ptp(targets)) == 0.0:
        return kernel.set_params(length_scale=unit), 1.0
    errors = []
    for factor in tried:
        candidate = kernel.set_params(length_scale=factor * unit)
        errors.append(ridge.smallest_error(np.asarray(candidate(part), dtype=np.float64), targets, counted))
    best = float(tried[int(np.argmin(errors))])
    return kernel.set_params(length_scale=best * unit), best


class LikelihoodObjective:
    """Negative log marginal likelihood in (theta, log alpha), with a weak normal prior on theta around its start.

    The model is a Gaussian process with kernel s k and noise s alpha / weight. Several targets share the parameters; each
    has its best scale s and its mean subtracted.
    """

    def __init__(
        self, kernel: Kernel, X: Any, Y: Floats, weights: Floats | None = None, tied: Indices | None = None
    ) -> None:  # (n, d), (n, t), (n,), (p,) the number of the free parameter of every theta
        center = Y.mean(axis=0) if weights is None else np.average(Y, axis=0, weights=weights)
        self.kernel, self.rows, self.Y, self.start = kernel, as_rows(X), Y - center, kernel.theta
        self.tied = np.arange(len(self.start)) if tied is None else tied
        self.sizes = np.bincount(self.tied)  # (free,) entries of theta
        self.unit = np.ones(1) if weights is None else 1.0 / weights  # (1,) or (n,) noise for alpha = 1
        # subtracted, because the stopping rule of the optimizer is relative to the value
        self.constant = 0.5 * Y.size * (1.0 + math.log(2.0 * math.pi))
        kernel.diag(self.rows)  # checks the rows once: branches share what they know

    def __call__(self, point: Floats) -> tuple[float, Floats]:  # (p + 1,) -> value, (p + 1,)
        theta, alpha = point[:-1][self.tied], float(np.exp(point[-1]))
        kernel, rows = self.kernel.with_theta(theta), self.rows.branch()
        K = np.asarray(kernel(rows), dtype=np.float64)
        try:
            found = log_marginal_likelihood(
                K, alpha * self.unit, self.Y, self.Y.shape[1], best_scales=True, overwrite=True,
                pullback=lambda weights, values: kernel.pullback(rows, weights=weights, values=values),
            )  # fmt: skip
        except NumericalError:
            return FAILED, np.zeros(len(point))
        if found.jitter:
            return FAILED, np.zeros(len(point))
        assert found.kernel_gradient is not None and found.noise_gradient is not None
        away = (point[:-1] - self.shared(self.start)) / PRIOR
        slopes = np.bincount(self.tied, found.kernel_gradient)
        slope = np.append(away / PRIOR - slopes, -found.noise_gradient)
        return 0.5 * float(away @ away) - found.value - self.constant, slope

    def shared(self, theta: Floats) -> Floats:  # (p,) -> (free,)
        """Return the free parameters: means of the entries that share one."""
        return np.asarray(np.bincount(self.tied, theta) / self.sizes)


def by_likelihood(
    kernel: Kernel,
    X: Any,
    Y: Floats,
    *,
    max_iter: int,
    fixed: tuple[str, ...] = ("period",),
    weights: Floats | None = None,
    tied: Indices | None = None,
) -> tuple[Kernel, float]:  # (n, d), (n, t)
    """Return the kernel of the largest marginal likelihood found within max_iter steps, and its alpha.

    Parameters named in `fixed` keep their values.
    """
    objective = LikelihoodObjective(kernel, X, Y, weights, tied)
    start = objective.shared(kernel.theta)
    lower, upper = start + BOUNDS[0], start + BOUNDS[1]
    for i, name in enumerate(kernel.theta_names):
        if name.rpartition("__")[2].split("[")[0] in fixed:
            lower[objective.tied[i]] = upper[objective.tied[i]] = start[objective.tied[i]]
    bounds = [*zip(lower, upper, strict=True), (np.log(SMALLEST_ALPHA), np.log(LARGEST_ALPHA))]
    options = {"maxiter": max_iter, "maxfun": max_iter + max_iter // 3}
    first = np.append(start, np.log(0.05))
    best = optimize.minimize(objective, first, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    point = best.x if np.isfinite(best.fun) and best.fun < FAILED else first
    return kernel.with_theta(point[:-1][objective.tied]), float(np.exp(point[-1]))
