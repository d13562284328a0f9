"""Likelihoods p(y | f) of one latent number per row, as small values: log density, derivatives, mean and variance of y.

Every method works elementwise on arrays. `curvature` is the metric W that Newton's method and Laplace's approximation use,
with its derivative in f. It is -d^2 log p / df^2 where that is never negative, and the Fisher information otherwise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from scipy.special import betainc, erfcx, expit, gammaln, log_expit, log_ndtr, ndtr, pdtr, stdtr

from mercer.arrays import Array, Floats

_HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)

#: Nodes of the quadrature over a normal latent value.
NODES = 32


class Likelihood(Protocol):
    """p(y | f) for one latent number f per row."""

    integer: ClassVar[bool]  # y takes whole numbers only

    def log_density(self, y: Array, f: Floats) -> Floats:
        """Return log p(y | f)."""

    def derivatives(self, y: Array, f: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the first three derivatives of log p(y | f) in f."""

    def curvature(self, y: Array, f: Floats) -> tuple[Floats, Floats]:
        """Return W >= 0 and dW / df."""

    def moments(self, f: Floats) -> tuple[Floats, Floats]:
        """Return mean and variance of y given f."""

    def cdf(self, y: Floats, f: Floats) -> Floats:
        """Return P(Y <= y | f)."""


class LogConcave:
    """Abstract: a likelihood whose second derivative in f is never positive."""

    integer: ClassVar[bool] = False

    def derivatives(self, y: Array, f: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the first three derivatives of log p(y | f) in f."""
        raise NotImplementedError  # pragma: no cover - abstract

    def curvature(self, y: Array, f: Floats) -> tuple[Floats, Floats]:
        """Return W = -d^2 log p / df^2 and dW / df."""
        _, second, third = self.derivatives(y, f)
        return np.maximum(-second, 0.0), -third


@dataclass(frozen=True)
class Logit(LogConcave):
    """P(y = 1) = 1 / (1 + exp(-f)), y in {0, 1}.

    >>> Logit().log_density(np.array([1.0]), np.array([0.0])).round(6).tolist()
    [-0.693147]
    """

    integer: ClassVar[bool] = True

    def log_density(self, y: Array, f: Floats) -> Floats:
        """Return log p(y | f)."""
        return np.asarray(log_expit(np.where(y > 0, f, -f)))

    def derivatives(self, y: Array, f: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the first three derivatives of log p(y | f) in f."""
        sign = np.where(y > 0, 1.0, -1.0)
        p, q = expit(f), expit(-f)
        return sign * expit(-sign * f), -p * q, -p * q * (q - p)

    def moments(self, f: Floats) -> tuple[Floats, Floats]:
        """Return mean and variance of y given f."""
        p = expit(f)
        return p, p * expit(-f)

    def cdf(self, y: Floats, f: Floats) -> Floats:
        """Return P(Y <= y | f)."""
        return np.where(y < 0, 0.0, np.where(y < 1, expit(-f), 1.0))


@dataclass(frozen=True)
class Probit(LogConcave):
    """P(y = 1) = Phi(f), y in {0, 1}.

    >>> Probit().moments(np.array([0.0]))[0].tolist()
    [0.5]
    """

    integer: ClassVar[bool] = True

    def log_density(self, y: Array, f: Floats) -> Floats:
        """Return log p(y | f)."""
        return np.asarray(log_ndtr(np.where(y > 0, f, -f)))

    def derivatives(self, y: Array, f: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the first three derivatives of log p(y | f) in f."""
        sign = np.where(y > 0, 1.0, -1.0)
        z = sign * f
        r = np.exp(-0.5 * z * z - _HALF_LOG_2PI - log_ndtr(z))  # phi / Phi
        second = -r * (z + r)
        return sign * r, second, sign * (-second * (z + 2.0 * r) - r)

    def moments(self, f: Floats) -> tuple[Floats, Floats]:
        """Return mean and variance of y given f."""
        p = ndtr(f)
        return p, p * ndtr(-f)

    def cdf(self, y: Floats, f: Floats) -> Floats:
        """Return P(Y <= y | f)."""
        return np.where(y < 0, 0.0, np.where(y < 1, ndtr(-f), 1.0))


@dataclass(frozen=True)
class Poisson(LogConcave):
    """Counts with mean exp(f); an exposure e enters as f + log e.

    >>> Poisson().moments(np.array([0.0]))[0].tolist()
    [1.0]
    """

    integer: ClassVar[bool] = True

    def log_density(self, y: Array, f: Floats) -> Floats:
        """Return log p(y | f)."""
        return y * f - np.exp(f) - gammaln(y + 1.0)

    def derivatives(self, y: Array, f: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the first three derivatives of log p(y | f) in f."""
        mean = np.exp(f)
        return y - mean, -mean, -mean

    def moments(self, f: Floats) -> tuple[Floats, Floats]:
        """Return mean and variance of y given f."""
        mean = np.exp(f)
        return mean, mean

    def cdf(self, y: Floats, f: Floats) -> Floats:
        """Return P(Y <= y | f)."""
        return np.where(y < 0, 0.0, pdtr(np.floor(np.maximum(y, 0.0)), np.exp(f)))


@dataclass(frozen=True)
class NegativeBinomial(LogConcave):
    """Counts with mean m = exp(f) and variance m + m^2 / shape.

    >>> NegativeBinomial(2.0).moments(np.array([0.0]))[1].tolist()
    [1.5]
    """

    integer: ClassVar[bool] = True
    shape: float = 1.0

    def log_density(self, y: Array, f: Floats) -> Floats:
        """Return log p(y | f)."""
        r = self.shape
        away = f - math.log(r)  # log(r + e^f) = log r + log(1 + e^away)
        counts = gammaln(y + r) - gammaln(r) - gammaln(y + 1.0)
        return counts + y * log_expit(away) + r * log_expit(-away)

    def derivatives(self, y: Array, f: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the first three derivatives of log p(y | f) in f."""
        away = f - math.log(self.shape)
        p, q = expit(away), expit(-away)
        second = -(y + self.shape) * p * q
        return y * q - self.shape * p, second, second * (q - p)

    def moments(self, f: Floats) -> tuple[Floats, Floats]:
        """Return mean and variance of y given f."""
        mean = np.exp(f)
        return mean, mean + mean**2 / self.shape

    def cdf(self, y: Floats, f: Floats) -> Floats:
        """Return P(Y <= y | f)."""
        k = np.floor(np.maximum(y, 0.0))
        return np.where(y < 0, 0.0, betainc(self.shape, k + 1.0, expit(math.log(self.shape) - f)))


@dataclass(frozen=True)
class StudentT:
    """y = f + scale * t with `df` degrees of freedom: noise with outliers. Not log-concave; W is the Fisher information.

    >>> StudentT(4.0, 1.0).moments(np.array([3.0]))[0].tolist()
    [3.0]
    """

    integer: ClassVar[bool] = False
    df: float = 4.0
    scale: float = 1.0

    def log_density(self, y: Array, f: Floats) -> Floats:
        """Return log p(y | f)."""
        v, z = self.df, (y - f) / self.scale
        constant = gammaln(0.5 * (v + 1.0)) - gammaln(0.5 * v) - 0.5 * math.log(v * math.pi) - math.log(self.scale)
        return constant - 0.5 * (v + 1.0) * np.log1p(z * z / v)

    def derivatives(self, y: Array, f: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the first three derivatives of log p(y | f) in f."""
        z, a, b = y - f, self.df * self.scale**2, self.df + 1.0
        whole = a + z * z
        return b * z / whole, b * (z * z - a) / whole**2, -2.0 * b * z * (3.0 * a - z * z) / whole**3

    def curvature(self, y: Array, f: Floats) -> tuple[Floats, Floats]:
        """Return the Fisher information, which does not depend on f."""
        W = (self.df + 1.0) / ((self.df + 3.0) * self.scale**2)
        return np.full(f.shape, W), np.zeros(f.shape)

    def moments(self, f: Floats) -> tuple[Floats, Floats]:
        """Return mean and variance of y given f; the variance is infinite for df <= 2."""
        return f, np.full(f.shape, self.scale**2 * self.df / (self.df - 2.0) if self.df > 2 else math.inf)

    def cdf(self, y: Floats, f: Floats) -> Floats:
        """Return P(Y <= y | f)."""
        return np.asarray(stdtr(self.df, (y - f) / self.scale))


@dataclass(frozen=True)
class Censored(LogConcave):
    """y = f + scale * normal, known as bounds (n, 2): equal bounds are an observation, infinite ones are open.

    >>> Censored(1.0).log_density(np.array([[0.0, np.inf]]), np.array([0.0])).round(6).tolist()
    [-0.693147]
    """

    scale: float = 1.0

    def log_density(self, y: Array, f: Floats) -> Floats:
        """Return log p(y | f)."""
        low, high = (y[:, 0] - f) / self.scale, (y[:, 1] - f) / self.scale
        exact = y[:, 0] == y[:, 1]
        inside = -0.5 * np.where(exact, low, 0.0) ** 2 - _HALF_LOG_2PI - math.log(self.scale)
        return np.where(exact, inside, _log_interval(np.where(exact, -1.0, low), np.where(exact, 1.0, high)))

    def derivatives(self, y: Array, f: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the first three derivatives of log p(y | f) in f."""
        low, high = (y[:, 0] - f) / self.scale, (y[:, 1] - f) / self.scale
        exact = y[:, 0] == y[:, 1]
        found = _interval_derivatives(np.where(exact, -1.0, low), np.where(exact, 1.0, high))
        plain = np.where(exact, low, 0.0), -np.ones(f.shape), np.zeros(f.shape)
        first, second, third = (
            np.where(exact, a, b) / self.scale**k for k, (a, b) in enumerate(zip(plain, found, strict=True), 1)
        )
        return first, second, third

    def moments(self, f: Floats) -> tuple[Floats, Floats]:
        """Return mean and variance of the uncensored y given f."""
        return f, np.full(f.shape, self.scale**2)

    def cdf(self, y: Floats, f: Floats) -> Floats:
        """Return P(Y <= y | f) of the uncensored y."""
        return np.asarray(ndtr((y - f) / self.scale))


@dataclass(frozen=True)
class Ordinal(LogConcave):
    """Levels 0 … K - 1 with P(y <= k) = Phi(cuts_k - f); the cuts are 0, gaps_1, gaps_1 + gaps_2, ….

    >>> Ordinal((1.0,)).log_density(np.array([0.0]), np.array([0.0])).round(6).tolist()
    [-0.693147]
    """

    integer: ClassVar[bool] = True
    gaps: tuple[float, ...] = ()

    @property
    def cuts(self) -> Floats:  # (K + 1,)
        """The ends of the levels on the latent scale, with -inf and inf."""
        return np.concatenate([[-np.inf, 0.0], np.cumsum(self.gaps), [np.inf]])

    def log_density(self, y: Array, f: Floats) -> Floats:
        """Return log p(y | f)."""
        k, cuts = np.asarray(y, dtype=np.intp), self.cuts
        return _log_interval(cuts[k] - f, cuts[k + 1] - f)

    def derivatives(self, y: Array, f: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the first three derivatives of log p(y | f) in f."""
        k, cuts = np.asarray(y, dtype=np.intp), self.cuts
        return _interval_derivatives(cuts[k] - f, cuts[k + 1] - f)

    def probabilities(self, f: Floats) -> Floats:  # (*s) -> (*s, K)
        """Return the probability of every level given f."""
        return np.diff(ndtr(self.cuts - f[..., None]), axis=-1)

    def moments(self, f: Floats) -> tuple[Floats, Floats]:
        """Return mean and variance of the number of the level given f."""
        P = self.probabilities(f)
        levels = np.arange(P.shape[-1])
        mean = P @ levels
        return mean, P @ levels**2 - mean**2

    def cdf(self, y: Floats, f: Floats) -> Floats:
        """Return P(Y <= y | f)."""
        cuts = self.cuts
        place = np.clip(np.floor(y).astype(np.intp) + 1, 0, len(cuts) - 1)
        return np.asarray(ndtr(cuts[place] - f))


#: An interval narrower than this, in units of the distance over which the density changes, is a point.
_NARROW = 1e-5


def _as_points(low: Floats, high: Floats) -> tuple[Array, Floats]:
    """Return a mask of narrow intervals, and their centers (0 elsewhere)."""
    with np.errstate(invalid="ignore"):
        center = 0.5 * (low + high)
        narrow = (high - low) * (1.0 + np.abs(center)) < _NARROW
    return narrow, np.where(narrow, center, 0.0)


def _log_interval(low: Floats, high: Floats) -> Floats:
    """Return log(Phi(high) - Phi(low)), in the tail where both are accurate."""
    narrow, center = _as_points(low, high)
    flip = low > 0
    a, b = np.where(flip, -high, low), np.where(flip, -low, high)
    top, bottom = log_ndtr(b), log_ndtr(a)
    with np.errstate(divide="ignore", invalid="ignore"):
        wide = top + np.log(-np.expm1(bottom - top))
        point = -0.5 * center**2 - _HALF_LOG_2PI + np.log(np.where(narrow, high - low, 1.0))
    return np.where(narrow, point, wide)


def _interval_derivatives(low: Floats, high: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the derivatives in f of log(Phi(high - f) - Phi(low - f)) at f = 0."""
    narrow, center = _as_points(low, high)
    u, v = (np.where(np.isfinite(edge) & ~narrow, edge, 0.0) for edge in (high, low))
    pu, pv = _edge_ratios(low, high, narrow)
    first = pv - pu
    second, third = v * pv - u * pu, (1.0 - u * u) * pu - (1.0 - v * v) * pv
    wide = first, second - first**2, third - 3.0 * first * second + 2.0 * first**3
    points = center, -np.ones(center.shape), np.zeros(center.shape)  # of the density at the center
    a, b, c = (np.where(narrow, point, own) for point, own in zip(points, wide, strict=True))
    return a, b, c


def _edge_ratios(low: Floats, high: Floats, narrow: Array) -> tuple[Floats, Floats]:
    """Return phi(high) / p and phi(low) / p with p = Phi(high) - Phi(low), 0 for infinite edges and narrow intervals."""
    tail = ((low > 0) | (high < 0)) & ~narrow
    low, high = np.where(narrow, -1.0, low), np.where(narrow, 1.0, high)
    # beside 0 the probability is not small; in a tail it is that beyond the near edge times 1 - exp(...)
    log_p = np.where(tail, 0.0, _log_interval(np.where(tail, -1.0, low), np.where(tail, 1.0, high)))
    near, far = np.abs(np.where(low > 0, low, high)), np.abs(np.where(low > 0, high, low))
    near, far = np.where(tail, near, 1.0), np.where(tail, far, 2.0)
    share = -np.expm1(log_ndtr(-far) - log_ndtr(-near))
    inner = math.sqrt(2.0 / math.pi) / erfcx(near / math.sqrt(2.0)) / share
    outer = np.exp(np.where(np.isfinite(far), -0.5 * (far - near) * (far + near), -np.inf)) * inner
    found = []
    for edge, in_tail in ((high, np.where(low > 0, outer, inner)), (low, np.where(low > 0, inner, outer))):
        z = np.where(np.isfinite(edge) & ~tail, edge, np.inf)
        found.append(np.where(narrow, 0.0, np.where(tail, in_tail, np.exp(-0.5 * z * z - _HALF_LOG_2PI - log_p))))
    return found[0], found[1]


def quadrature() -> tuple[Floats, Floats]:  # -> (q,), (q,)
    """Return nodes and weights of the Gauss-Hermite rule for a standard normal.

    >>> x, w = quadrature()
    >>> round(float(w @ x**2), 12)
    1.0
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    return nodes, weights / weights.sum()


def predictive_moments(
    likelihood: Likelihood, mean: Floats, variance: Floats, offset: Floats | float = 0.0
) -> tuple[Floats, Floats]:  # (m,), (m,) -> (m,), (m,)
    """Return mean and variance of y for a normal latent value, by quadrature.

    >>> m, v = predictive_moments(Poisson(), np.array([0.0]), np.array([0.5]))
    >>> bool(np.isclose(m[0], np.exp(0.25)))
    True
    """
    nodes, weights = quadrature()
    f = mean[:, None] + np.sqrt(variance)[:, None] * nodes + np.reshape(offset, (-1, 1))
    inner, spread = likelihood.moments(f)
    center = inner @ weights
    return center, spread @ weights + np.maximum((inner - center[:, None]) ** 2 @ weights, 0.0)


def predictive_cdf(
    likelihood: Likelihood, y: Floats, mean: Floats, variance: Floats, offset: Floats | float = 0.0
) -> Floats:  # (m,), (m,), (m,) -> (m,)
    """Return P(Y <= y) for a normal latent value, by quadrature."""
    nodes, weights = quadrature()
    f = mean[:, None] + np.sqrt(variance)[:, None] * nodes + np.reshape(offset, (-1, 1))
    return np.asarray(likelihood.cdf(np.broadcast_to(y[:, None], f.shape), f) @ weights)


def predictive_quantile(
    likelihood: Likelihood, level: float, mean: Floats, variance: Floats, offset: Floats | float = 0.0
) -> Floats:  # (m,), (m,) -> (m,)
    """Return the smallest y with P(Y <= y) >= level, by bisection; a whole number for counts and levels.

    >>> predictive_quantile(Poisson(), 0.5, np.array([np.log(10.0)]), np.array([0.0])).tolist()
    [10.0]
    """
    center, spread = predictive_moments(likelihood, mean, variance, offset)
    unit = np.sqrt(np.where(np.isfinite(spread), spread, variance + 1.0)) + 1e-300
    low, high = center - unit, center + unit
    for _ in range(60):  # widen until the level lies between
        below, above = (predictive_cdf(likelihood, y, mean, variance, offset) for y in (low, high))
        out_low, out_high = below >= level, above < level
        if not (out_low.any() or out_high.any()):
            break
        if likelihood.integer:
            out_low &= low >= 0.0
            if not (out_low.any() or out_high.any()):
                break
        width = high - low
        low, high = np.where(out_low, low - width, low), np.where(out_high, high + width, high)
    for _ in range(80):
        middle = 0.5 * (low + high)
        enough = predictive_cdf(likelihood, middle, mean, variance, offset) >= level
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    if not likelihood.integer:
        return high
    # the jump lies at a whole number within rounding of `high`
    return np.maximum(np.round(high), 0.0)


def log_softmax(F: Floats) -> Floats:  # (n, C) -> (n, C)
    """Return log of the class probabilities exp(F_c) / sum exp(F).

    >>> np.exp(log_softmax(np.zeros((1, 4)))).tolist()
    [[0.25, 0.25, 0.25, 0.25]]
    """
    top = F.max(axis=-1, keepdims=True)
    away = F - top
    return np.asarray(away - np.log(np.exp(away).sum(axis=-1, keepdims=True)))
