"""Slow, obvious twins of every kernel: the formula on two objects, in Python floats.

They are written from the formulas in the docstrings and share no line with the fast code, so that a test which compares
the two can fail. Each leaf is a function of two objects; each closure rule takes twins and returns a twin.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from mercer.inputs import Graph

Twin = Callable[[Any, Any], float]
Vector = Sequence[float]
Scale = float | Sequence[float]

# -- kernels on vectors ------------------------------------------------------------------------------------------------


def linear(x: Vector, z: Vector) -> float:
    """<x, z>."""
    return math.fsum(a * b for a, b in zip(x, z, strict=True))


def bilinear(x: Vector, z: Vector, B: Sequence[Vector]) -> float:
    """x'Bz."""
    return math.fsum(a * B[i][j] * b for i, a in enumerate(x) for j, b in enumerate(z))


def polynomial(x: Vector, z: Vector, degree: int = 2, offset: float = 1.0) -> float:
    """(<x, z> + offset)^degree."""
    return math.prod([linear(x, z) + offset] * degree)


def tanh(x: Vector, z: Vector, scale: float = 1.0, offset: float = 0.0) -> float:
    """tanh(scale <x, z> + offset)."""
    return math.tanh(scale * linear(x, z) + offset)


def constant(x: Any, z: Any, value: float = 1.0) -> float:
    """The number itself."""
    return value


def gaussian(x: Vector, z: Vector, length_scale: Scale = 1.0) -> float:
    """exp(-sum_k (x_k - z_k)^2 / (2 l_k^2))."""
    return math.exp(-(_radius(x, z, length_scale) ** 2) / 2.0)


def exponential(x: Vector, z: Vector, length_scale: Scale = 1.0) -> float:
    """exp(-sqrt(sum_k (x_k - z_k)^2 / l_k^2))."""
    return math.exp(-_radius(x, z, length_scale))


def laplacian(x: Vector, z: Vector, length_scale: Scale = 1.0) -> float:
    """exp(-sum_k |x_k - z_k| / l_k)."""
    return math.exp(-math.fsum(abs(step) for step in _steps(x, z, length_scale)))


def rational_quadratic(x: Vector, z: Vector, length_scale: Scale = 1.0, shape: float = 1.0) -> float:
    """(1 + r^2 / (2 shape))^-shape with r^2 = sum_k (x_k - z_k)^2 / l_k^2."""
    return float((1.0 + _radius(x, z, length_scale) ** 2 / (2.0 * shape)) ** -shape)


def periodic(x: Vector, z: Vector, length_scale: Scale = 1.0, period: float = 1.0) -> float:
    """exp(-2 sum_k sin^2(pi (x_k - z_k) / period) / l_k^2)."""
    widths = _widths(length_scale, len(x))
    turns = [math.sin(math.pi * (a - b) / period) / w for a, b, w in zip(x, z, widths, strict=True)]
    return math.exp(-2.0 * math.fsum(turn * turn for turn in turns))


def matern(x: Vector, z: Vector, nu: float = 1.5, length_scale: Scale = 1.0) -> float:
    """2^(1-nu) / Gamma(nu) t^nu K_nu(t) with t = sqrt(2 nu) r, K_nu by its integral over cosh."""
    t = math.sqrt(2.0 * nu) * _radius(x, z, length_scale)
    if t == 0.0:
        return 1.0
    if float(nu + 0.5).is_integer():
        return _half_integer_matern(int(nu - 0.5), t)
    return 2.0 ** (1.0 - nu) / math.gamma(nu) * t**nu * _bessel_k(nu, t)


def _half_integer_matern(p: int, t: float) -> float:
    terms = [
        math.factorial(p + i) / (math.factorial(i) * math.factorial(p - i)) * (2.0 * t) ** (p - i) for i in range(p + 1)
    ]
    return math.exp(-t) * math.factorial(p) / math.factorial(2 * p) * math.fsum(terms)


def _bessel_k(nu: float, t: float) -> float:
    """K_nu(t), the integral of exp(-t cosh u) cosh(nu u) over u > 0.

    The trapezoidal rule converges faster than any power of its step here: 1/16 is enough for all digits.
    """
    step, terms, u = 1.0 / 16.0, [0.5 * math.exp(-t)], 0.0
    while True:
        u += step
        decay = t * math.cosh(u)
        terms.append(0.5 * (math.exp(nu * u - decay) + math.exp(-nu * u - decay)))
        if decay > nu * u + 745.0:  # exp(-745) is the smallest number above 0
            return step * math.fsum(terms)


def _widths(length_scale: Scale, d: int) -> Sequence[float]:
    return [length_scale] * d if isinstance(length_scale, (int, float)) else length_scale


def _steps(x: Vector, z: Vector, length_scale: Scale) -> list[float]:
    return [(a - b) / w for a, b, w in zip(x, z, _widths(length_scale, len(x)), strict=True)]


def _radius(x: Vector, z: Vector, length_scale: Scale) -> float:
    return math.sqrt(math.fsum(step * step for step in _steps(x, z, length_scale)))


# -- kernels on strings and graphs -------------------------------------------------------------------------------------


def spectrum(s: Sequence[Hashable], t: Sequence[Hashable], p: int = 3, presence: bool = False) -> float:
    """The number of pairs of equal substrings of length p; with presence, of distinct common ones."""
    left = [tuple(s[i : i + p]) for i in range(len(s) - p + 1)]
    right = [tuple(t[i : i + p]) for i in range(len(t) - p + 1)]
    if presence:
        return float(len(set(left) & set(right)))
    return float(sum(u == v for u in left for v in right))


def vertex_histogram(g: Graph, h: Graph) -> float:
    """The number of pairs of nodes, one in g and one in h, with equal labels."""
    left = Counter(g.node_labels or [None] * g.n_nodes)
    right = Counter(h.node_labels or [None] * h.n_nodes)
    return float(sum(count * right[label] for label, count in left.items()))


# -- closure rules -----------------------------------------------------------------------------------------------------


def added(*twins: Twin) -> Twin:
    """k1 + k2 + …"""
    return lambda x, z: math.fsum(twin(x, z) for twin in twins)


def multiplied(*twins: Twin) -> Twin:
    """k1 k2 …"""
    return lambda x, z: math.prod(twin(x, z) for twin in twins)


def scaled(factor: float, twin: Twin) -> Twin:
    """a k."""
    return lambda x, z: factor * twin(x, z)


def powered(power: int, twin: Twin) -> Twin:
    """k^p."""
    return lambda x, z: math.prod([twin(x, z)] * power)


def polynomial_of(coefficients: Sequence[float], twin: Twin) -> Twin:
    """c0 + c1 k + c2 k^2 + …"""
    return lambda x, z: math.fsum(c * twin(x, z) ** i for i, c in enumerate(coefficients))


def exponential_of(twin: Twin) -> Twin:
    """exp(k)."""
    return lambda x, z: math.exp(twin(x, z))


def mapped(phi: Callable[[Any], Any], twin: Twin) -> Twin:
    """k(phi(x), phi(z)), phi being a function of one object."""
    return lambda x, z: twin(phi(x), phi(z))


def weighted(f: Callable[[Any], float], twin: Twin) -> Twin:
    """f(x) k(x, z) f(z), f being a function of one object."""
    return lambda x, z: f(x) * twin(x, z) * f(z)


def normalized(twin: Twin) -> Twin:
    """k(x, z) / sqrt(k(x, x) k(z, z)), and 0 where k(x, x) = 0."""

    def value(x: Any, z: Any) -> float:
        a, b = twin(x, x), twin(z, z)
        return twin(x, z) / (math.sqrt(a) * math.sqrt(b)) if a > 0.0 and b > 0.0 else 0.0

    return value


def centered(sample: Sequence[Any], twin: Twin) -> Twin:
    """k(x, z) - mean_i k(x, s_i) - mean_j k(s_j, z) + mean_ij k(s_i, s_j)."""
    size = len(sample)
    grand = math.fsum(twin(s, t) for s in sample for t in sample) / size**2

    def value(x: Any, z: Any) -> float:
        left = math.fsum(twin(x, s) for s in sample) / size
        right = math.fsum(twin(s, z) for s in sample) / size
        return math.fsum([twin(x, z), -left, -right, grand])

    return value


def on(columns: Sequence[int], twin: Twin) -> Twin:
    """k on some columns of the rows."""
    return lambda x, z: twin([x[c] for c in columns], [z[c] for c in columns])
