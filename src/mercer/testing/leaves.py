"""Random leaves of every family, each with its naive twin."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from mercer.kernels.base import Kernel
from mercer.kernels.graphs import (
    EdgeHistogram,
    Graphlet,
    RandomWalk,
    ShortestPath,
    VertexHistogram,
    WeisfeilerLehman,
    WLOptimalAssignment,
)
from mercer.kernels.matern import Matern
from mercer.kernels.periodic import Periodic
from mercer.kernels.power_exponential import PowerExponential
from mercer.kernels.stationary import Exponential, Gaussian, Laplacian, RationalQuadratic
from mercer.kernels.strings.all_substrings import AllSubstrings
from mercer.kernels.strings.gapped import GappedSpectrum, Mismatch
from mercer.kernels.strings.spectrum import Spectrum
from mercer.kernels.strings.subsequence import Subsequence
from mercer.kernels.strings.weighted_degree import WeightedDegree
from mercer.kernels.vectors import Bilinear, Constant, Linear, Polynomial
from mercer.numeric.frozen import FrozenArray
from mercer.testing import naive, naive_graphs
from mercer.testing.naive import Twin


@dataclass(frozen=True)
class Grown:
    """A kernel and its twin, with what a grower has to know of them."""

    kernel: Kernel
    twin: Twin
    size: float  # about the largest value on random_rows
    cancels: bool = False  # holds differences of nearly equal numbers

    def become(self, kernel: Kernel, twin: Twin, size: float) -> Grown:
        """The same remarks on a kernel made from this one."""
        return replace(self, kernel=kernel, twin=twin, size=size)


def joined(kernel: Kernel, twin: Twin, parts: list[Grown], size: Callable[[Iterable[float]], float]) -> Grown:
    """The remarks on a sum or a product of several parts."""
    return Grown(kernel, twin, float(size([g.size for g in parts])), cancels=any(g.cancels for g in parts))


def leaf(rng: np.random.Generator, domain: str, width: int) -> Grown:
    """Return one leaf of a domain."""
    makers = LEAVES[domain]
    return makers[int(rng.integers(len(makers)))](rng, width)


def _number(rng: np.random.Generator, low: float, high: float) -> float:
    return round(float(rng.uniform(low, high)), 2)


def _scale(rng: np.random.Generator, width: int) -> Any:
    """One length scale, or one per column."""
    if rng.random() < 0.6:
        return _number(rng, 0.5, 3.0)
    return tuple(_number(rng, 0.5, 3.0) for _ in range(width))


def _linear(rng: np.random.Generator, width: int) -> Grown:
    return Grown(Linear(), naive.linear, 4.0 * width)


def _bilinear(rng: np.random.Generator, width: int) -> Grown:
    root = rng.standard_normal((width, width))
    B = np.round(root @ root.T / width + np.eye(width), 2)  # the identity keeps x'Bx away from cancellation
    return Grown(Bilinear(FrozenArray(B)), partial(naive.bilinear, B=B.tolist()), 16.0 * width)


def _polynomial(rng: np.random.Generator, width: int) -> Grown:
    degree, offset = int(rng.integers(1, 4)), float(rng.choice([0.0, 0.5, 1.0, 1.7]))
    kernel, twin = Polynomial(degree, offset=offset), partial(naive.polynomial, degree=degree, offset=offset)
    return Grown(kernel, twin, (4.0 * width + offset) ** degree)


def _gaussian(rng: np.random.Generator, width: int) -> Grown:
    scale = _scale(rng, width)
    return Grown(Gaussian(scale), partial(naive.gaussian, length_scale=scale), 1.0)


def _exponential(rng: np.random.Generator, width: int) -> Grown:
    scale = _scale(rng, width)
    return Grown(Exponential(scale), partial(naive.exponential, length_scale=scale), 1.0)


def _laplacian(rng: np.random.Generator, width: int) -> Grown:
    scale = _scale(rng, width)
    return Grown(Laplacian(scale), partial(naive.laplacian, length_scale=scale), 1.0)


def _matern(rng: np.random.Generator, width: int) -> Grown:
    scale, nu = _scale(rng, width), float(rng.choice([0.5, 0.7, 1.0, 1.5, 2.5, 3.5, 4.2]))
    return Grown(Matern(nu, length_scale=scale), partial(naive.matern, nu=nu, length_scale=scale), 1.0)


def _rational_quadratic(rng: np.random.Generator, width: int) -> Grown:
    scale, shape = _scale(rng, width), _number(rng, 0.5, 3.0)
    twin = partial(naive.rational_quadratic, length_scale=scale, shape=shape)
    return Grown(RationalQuadratic(scale, shape=shape), twin, 1.0)


def _power_exponential(rng: np.random.Generator, width: int) -> Grown:
    scale, norm = _scale(rng, width), float(rng.choice([1.0, 1.5, 2.0]))
    power = round(norm * float(rng.choice([0.8, 0.9, 1.0])), 2)  # smaller powers magnify rounding near 0
    twin = partial(naive.power_exponential, norm=norm, power=power, length_scale=scale)
    return Grown(PowerExponential(norm, power=power, length_scale=scale), twin, 1.0)


def _periodic(rng: np.random.Generator, width: int) -> Grown:
    scale, period = _scale(rng, width), _number(rng, 1.0, 4.0)
    twin = partial(naive.periodic, length_scale=scale, period=period)
    return Grown(Periodic(scale, period=period), twin, 1.0)


def _constant(rng: np.random.Generator, width: int) -> Grown:
    value = float(rng.choice([0.0, 0.5, 1.0, 2.25]))
    return Grown(Constant(value), partial(naive.constant, value=value), value)


def _spectrum(rng: np.random.Generator, width: int) -> Grown:
    p, presence = int(rng.integers(1, 4)), bool(rng.random() < 0.5)
    twin = partial(naive.spectrum, p=p, presence=presence)
    return Grown(Spectrum(p, presence=presence), twin, 11.0 if presence else 60.0)


def _blended(rng: np.random.Generator, width: int) -> Grown:
    weights = (_number(rng, 0.0, 1.0), _number(rng, 0.1, 1.0))
    twin = partial(naive.blended, p=2, shortest=1, weights=weights)
    return Grown(Spectrum(2, shortest=1, weights=weights), twin, 150.0)


def _gapped(rng: np.random.Generator, width: int) -> Grown:
    p, gaps = int(rng.integers(1, 4)), int(rng.integers(0, 3))
    return Grown(GappedSpectrum(p, gaps=gaps), partial(naive.gapped_spectrum, p=p, gaps=gaps), 300.0)


def _mismatch(rng: np.random.Generator, width: int) -> Grown:
    p, mismatches = int(rng.integers(1, 4)), int(rng.integers(0, 2))
    twin = partial(naive.mismatch, p=p, mismatches=mismatches, alphabet="abd")  # c is outside
    return Grown(Mismatch(p, mismatches=mismatches, alphabet="abd"), twin, 300.0)


def _subsequence(rng: np.random.Generator, width: int) -> Grown:
    p, decay = int(rng.integers(1, 4)), float(rng.choice([0.3, 0.5, 0.8]))
    return Grown(Subsequence(p, decay=decay), partial(naive.subsequence, p=p, decay=decay), 100.0)


def _all_substrings(rng: np.random.Generator, width: int) -> Grown:
    decay, longest = float(rng.choice([0.3, 0.5, 1.0])), (None, 2, 5)[int(rng.integers(3))]
    twin = partial(naive.all_substrings, decay=decay, longest=longest)
    return Grown(AllSubstrings(decay, longest=longest), twin, 300.0)


def _weighted_degree(rng: np.random.Generator, width: int) -> Grown:
    degree = int(rng.integers(1, 5))
    return Grown(WeightedDegree(degree), partial(naive.weighted_degree, degree=degree), 12.0)


def _vertex_histogram(rng: np.random.Generator, width: int) -> Grown:
    return Grown(VertexHistogram(), naive.vertex_histogram, 36.0)


def _edge_histogram(rng: np.random.Generator, width: int) -> Grown:
    return Grown(EdgeHistogram(), naive_graphs.edge_histogram, 60.0)


def _colors(rng: np.random.Generator, width: int) -> Grown:
    levels, assigned = int(rng.integers(0, 4)), bool(rng.random() < 0.4)
    kind, twin = WLOptimalAssignment, naive_graphs.wl_optimal_assignment
    if not assigned:
        kind, twin = WeisfeilerLehman, naive_graphs.weisfeiler_lehman  # type: ignore[assignment]
    return Grown(kind(levels), partial(twin, iterations=levels), 60.0)


def _shortest_path(rng: np.random.Generator, width: int) -> Grown:
    return Grown(ShortestPath(), naive_graphs.shortest_path, 200.0)


def _graphlet(rng: np.random.Generator, width: int) -> Grown:
    p, connected, presence = int(rng.integers(2, 5)), bool(rng.random() < 0.3), bool(rng.random() < 0.3)
    labeled = p < 4 and bool(rng.random() < 0.3)
    options: dict[str, Any] = {"connected": connected, "presence": presence, "labeled": labeled}
    return Grown(Graphlet(p, **options), partial(naive_graphs.graphlet, p=p, **options), 200.0)


def _random_walk(rng: np.random.Generator, width: int) -> Grown:
    decay, steps = float(rng.choice([0.1, 0.3])), int(rng.integers(0, 4))
    return Grown(RandomWalk(decay, steps=steps), partial(naive_graphs.random_walk, decay=decay, steps=steps), 60.0)


_FINITE = (_linear, _bilinear, _polynomial, _constant)
_SPARSE = (*_FINITE, _gaussian, _exponential, _matern, _rational_quadratic)
LEAVES: dict[str, tuple[Callable[[np.random.Generator, int], Grown], ...]] = {
    "vectors": (*_SPARSE, _laplacian, _power_exponential, _periodic),
    "finite": _FINITE,
    "sparse": _SPARSE,
    "strings": (
        *(_spectrum, _blended, _gapped, _mismatch, _subsequence, _all_substrings, _weighted_degree),
        *(_spectrum, _spectrum, _constant),
    ),
    "graphs": (
        *(_vertex_histogram, _edge_histogram, _colors, _shortest_path, _graphlet, _random_walk),
        *(_vertex_histogram, _colors, _constant),
    ),
}
