"""The mean function of a Gaussian process and the units of y: both taken off before the fit and put back after it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Floats
from mercer.errors import InputError
from mercer.inputs import Rows, count
from mercer.registry import record

#: Directions of H'G^-1 H below this share of its largest eigenvalue are not determined by the data.
_CUTOFF = 1e-12


@record()
@dataclass(frozen=True)
class MeanProfile:
    """The mean function at its best."""

    _stored: ClassVar[dict[str, str]] = {"beta": "float (q, t)", "covariance": "float (q, q)"}

    beta: Floats  # (q, t)
    energy: float  # sum over targets of e'G^-1 e
    covariance: Floats  # (q, q) (H'G^-1 H)^-1: of beta, given the data, under a flat prior


def profile(Q: Floats, n_targets: int) -> MeanProfile:  # (t + q, t + q)
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
    inverse: Floats = roots @ roots.T
    beta: Floats = inverse @ Q[t:, :t]
    return MeanProfile(beta, max(0.0, total - float(np.sum(Q[t:, :t] * beta))), inverse)


def log_evidence(energy: float, logdet: float, n: int, n_targets: int) -> float:
    """``-1/2 (e'G^-1 e + t log det G + n t log 2 pi)``: the log density of t targets that share G.

    >>> round(log_evidence(1.0, 0.0, 1, 1), 6)  # the standard normal density at 1
    -1.418939
    """
    return -0.5 * (energy + n_targets * logdet + n * n_targets * math.log(2.0 * math.pi))


KINDS = ("zero", "constant", "linear")


@record()
@dataclass(frozen=True)
class MeanFunction:
    """m(x) = h(x)' beta with h = () for "zero", (1) for "constant", (1, z) for "linear", z the standardized columns of x."""

    _stored: ClassVar[dict[str, str]] = {
        "kind": "text",
        "location": "float (k,)",
        "spread": "real (k,)",
    }

    kind: str
    location: Floats  # (d,) for "linear", else empty
    spread: Floats  # (d,) standard deviations of the columns that vary, infinity for those that do not

    def __post_init__(self) -> None:
        if self.kind not in KINDS or bool(len(self.location)) != (self.kind == "linear"):
            raise InputError(f"a mean function of kind {self.kind!r} has a location of {len(self.location)} columns.")

    @classmethod
    def of(cls, kind: str, X: Any) -> MeanFunction:
        """The mean function of a kind, with what it needs from the training rows."""
        if kind not in KINDS:
            raise InputError(f'mean must be "zero", "constant" or "linear"; got {kind!r}.')
        if kind != "linear":
            return cls(kind, np.empty(0), np.empty(0))
        V = _dense_vectors(X)
        return cls.linear(len(V), V.mean(axis=0), V.std(axis=0), np.abs(V).max(axis=0))

    @classmethod
    def linear(cls, n: int, mean: Floats, sd: Floats, most: Floats) -> MeanFunction:  # (d,), (d,), (d,)
        """The linear one for n rows with these means, standard deviations and largest sizes of their columns."""
        varies = sd > 1e-12 * most
        if n <= 1 + int(varies.sum()):
            raise InputError(
                f'mean="linear" has {1 + int(varies.sum())} coefficients for {n} rows; give more rows, '
                'or mean="constant" with a Linear() term in the kernel.'
            )
        return cls("linear", mean, np.where(varies, sd, np.inf))

    @property
    def size(self) -> int:
        """q, the number of coefficients."""
        return {"zero": 0, "constant": 1}.get(self.kind, 1 + len(self.location))

    def columns(self, X: Any) -> Floats:  # -> (n, q)
        """h(x) for every row."""
        if self.kind == "linear":
            V = _dense_vectors(X)
            return np.column_stack([np.ones(len(V)), (V - self.location) / self.spread])
        return np.ones((count(X), self.size))

    def coefficients(self, beta: Floats) -> tuple[Floats, Floats | None]:  # (q, t) -> (t,), (d, t) or None
        """Intercept and slopes with respect to x itself."""
        if self.kind == "zero":
            return np.zeros(beta.shape[1]), None
        if self.kind == "constant":
            return beta[0], None
        slopes = beta[1:] / self.spread[:, None]
        return beta[0] - self.location @ slopes, slopes


@record()
@dataclass(frozen=True)
class TargetUnits:
    """y = center + scale * (what is modeled), per target."""

    _stored: ClassVar[dict[str, str]] = {
        "center": "float (t,)",
        "scale": "float (t,)",
    }

    center: Floats  # (t,)
    scale: Floats  # (t,)

    @classmethod
    def of(cls, Y: Floats, kind: str, normalize: bool) -> TargetUnits:  # (n, t)
        """Centered unless the mean is zero and y is to be left alone; scaled only where targets have to be made alike.

        One target needs no scale: an overall scale of kernel and noise does the same, and they stay in the units of y.
        """
        with np.errstate(over="ignore"):  # overflow is refused later, where y is squared
            return cls.of_moments(Y.mean(axis=0), Y.std(axis=0), kind, normalize)

    @classmethod
    def of_moments(cls, mean: Floats, sd: Floats, kind: str, normalize: bool) -> TargetUnits:  # (t,), (t,)
        """The same from means and standard deviations."""
        t = len(mean)
        center = mean if normalize or kind != "zero" else np.zeros(t)
        scale = np.where(sd > 0, sd, 1.0) if normalize and t > 1 else np.ones(t)
        return cls(center, scale)

    def inside(self, Y: Floats) -> Floats:  # (n, t) -> (n, t)
        """The targets as modeled."""
        return (Y - self.center) / self.scale

    def outside(self, F: Floats) -> Floats:  # (m, t) -> (m, t)
        """Predictions in the units of y."""
        return F * self.scale + self.center


def _dense_vectors(X: Any) -> Floats:
    V = Rows(X).vectors()
    if sp.issparse(V):
        raise InputError('mean="linear" takes dense rows; X is sparse. Use mean="constant" and a kernel with Linear().')
    return np.asarray(V, dtype=np.float64)
