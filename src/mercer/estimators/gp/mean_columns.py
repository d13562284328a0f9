"""The mean function of a Gaussian process by generalized least squares, from T'G^-1 T alone.

T = [Y | H] holds the targets and the columns of the mean function h(x)'beta. The best coefficients are
beta = (H'G^-1 H)^-1 H'G^-1 Y, and e'G^-1 e of the rest e = Y - H beta is what enters the likelihood.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mercer.linalg.solution import Array
from mercer.registry import record

#: Directions of H'G^-1 H below this share of its largest eigenvalue are not determined by the data.
_CUTOFF = 1e-12


@record()
@dataclass(frozen=True)
class MeanProfile:
    """The mean function at its best."""

    beta: Array  # (q, t)
    energy: float  # sum over targets of e'G^-1 e
    covariance: Array  # (q, q) (H'G^-1 H)^-1: of beta, given the data, under a flat prior


def profile(Q: Array, n_targets: int) -> MeanProfile:  # (t + q, t + q)
    """The best coefficients and what is left, from ``Q = T'G^-1 T``.

    >>> T = np.array([[1.0, 1.0], [3.0, 1.0]])  # one target, a constant mean, G = I: the mean is the average
    >>> p = profile(T.T @ T, 1)
    >>> round(float(p.beta[0, 0]), 12), round(p.energy, 12)
    (2.0, 2.0)
    """
    t = n_targets
    total = float(np.trace(Q[:t, :t]))
    if Q.shape[0] == t:
        return MeanProfile(np.zeros((0, t)), total, np.zeros((0, 0)))
    A = Q[t:, t:]
    sizes = np.sqrt(np.maximum(A.diagonal(), np.finfo(np.float64).tiny))
    values, vectors = np.linalg.eigh(A / np.outer(sizes, sizes))
    keep = values > _CUTOFF * values[-1]
    roots = vectors[:, keep] / np.sqrt(values[keep]) / sizes[:, None]
    inverse: Array = roots @ roots.T
    beta: Array = inverse @ Q[t:, :t]
    return MeanProfile(beta, max(0.0, total - float(np.sum(Q[t:, :t] * beta))), inverse)


def log_evidence(energy: float, logdet: float, n: int, n_targets: int) -> float:
    """``-1/2 (e'G^-1 e + t log det G + n t log 2 pi)``: the log density of t targets that share G.

    >>> round(log_evidence(1.0, 0.0, 1, 1), 6)  # the standard normal density at 1
    -1.418939
    """
    return -0.5 * (energy + n_targets * logdet + n * n_targets * math.log(2.0 * math.pi))
