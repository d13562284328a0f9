"""Recursive feature machines: fit, take the average outer product of the gradients as the metric, fit again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.estimators.tables import ridge
from mercer.kernels.base import Kernel
from mercer.numeric.points import median_distance

#: Length scales that are tried, as multiples of the median distance: all of them at the start, then neighbors.
MULTIPLES = (0.5, 1.0, 2.0, 4.0, 16.0)

#: Rows on which length scales are compared.
COMPARED = 300


@dataclass(frozen=True)
class Step:
    """The state after some rounds: the root S of the metric M = S'S, the kernel with it, and the fit on the rows given."""

    S: Floats  # (d,) or (d, d)
    kernel: Kernel
    fit: ridge.Ridge
    multiple: float  # of the median distance

    @property
    def metric(self) -> Floats:
        """M, (d,) for a diagonal metric and (d, d) for a full one."""
        return np.asarray(self.S**2 if self.S.ndim == 1 else self.S @ self.S)


def steps(kernel: Kernel, X: Floats, Y: Floats, full: bool, n_steps: int) -> Iterator[Step]:  # (n, d), (n, t)
    """Yield the start, M = I, and n_steps further states; length scale and alpha by leave-one-out given each metric."""
    d = X.shape[1]
    S: Floats = np.eye(d) if full else np.ones(d)
    multiple, alpha = None, None
    for step in range(n_steps + 1):
        scaled, multiple = with_length_scale(kernel, apply(X, S), Y, multiple)
        whole = scaled.linear(S)
        found = ridge.choose(np.asarray(whole(X), dtype=np.float64), Y, alpha)
        alpha = found.alpha
        yield Step(S, whole, found, multiple)
        if step < n_steps:
            S = root(outer_product(whole, X, found.dual, full))


def apply(X: Floats, S: Floats) -> Floats:
    """Rows in the metric's own coordinates."""
    return X * S if S.ndim == 1 else X @ S.T


def outer_product(kernel: Kernel, X: Floats, dual: Floats, full: bool) -> Floats:  # (n, t) -> (d, d) or (d,)
    """The average of grad f(x) grad f(x)' over rows and targets, self terms left out, scaled to max |M| = 1."""
    M: Any = 0.0
    for column in dual.T:
        slopes = kernel.input_slopes(X, X, np.ascontiguousarray(column))
        M = M + (slopes.T @ slopes if full else (slopes**2).sum(axis=0))
    largest = float(np.abs(M).max())
    if not np.isfinite(largest) or largest == 0.0:  # a constant target has no slope: every direction is as good
        return np.eye(X.shape[1]) if full else np.ones(X.shape[1])
    return np.asarray(M / largest)


def root(M: Floats) -> Floats:
    """The symmetric root; eigenvalues that rounding made negative count as 0."""
    if M.ndim == 1:
        return np.sqrt(M)
    values, vectors = np.linalg.eigh(M)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)


def with_length_scale(kernel: Kernel, U: Floats, Y: Floats, multiple: float | None) -> tuple[Kernel, float]:
    """The kernel with the length scale of the smallest leave-one-out error on some rows, and its multiple of the median."""
    picks = np.random.default_rng(0).permutation(len(U))[:COMPARED]
    unit = median_distance(U, "euclidean") or 1.0
    tried = MULTIPLES if multiple is None else (multiple / 2.0, multiple, multiple * 2.0)
    part, targets = U[picks], Y[picks]
    if len(part) < 4 or float(np.ptp(targets)) == 0.0:
        return kernel.set_params(length_scale=unit), 1.0
    errors = []
    for factor in tried:
        candidate = kernel.set_params(length_scale=factor * unit)
        errors.append(ridge.error_of_scales(np.asarray(candidate(part), dtype=np.float64), targets)[0])
    best = float(tried[int(np.argmin(errors))])
    return kernel.set_params(length_scale=best * unit), best
