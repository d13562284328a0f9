"""Random nested kernels, each built together with its naive twin, and random collections with awkward cases in them.

The twin is made in the same step as the expression and never from the finished tree. Otherwise a bug in how trees are built
(flattened wrongly, brackets lost) would be repeated by the twin and not be found. The functions for `.map` and `.weighted`
are at the top of this module, so that kernels made from them can be pickled.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Array
from mercer.errors import InputError
from mercer.inputs import Graph
from mercer.kernels.base import Kernel
from mercer.kernels.frequencies import Periodic
from mercer.kernels.graphs import (
    EdgeHistogram,
    Graphlet,
    RandomWalk,
    ShortestPath,
    VertexHistogram,
    WeisfeilerLehman,
    WLOptimalAssignment,
)
from mercer.kernels.stationary import Exponential, Gaussian, Laplacian, Matern, PowerExponential, RationalQuadratic
from mercer.kernels.strings.all_substrings import AllSubstrings
from mercer.kernels.strings.gapped import GappedSpectrum, Mismatch
from mercer.kernels.strings.local_alignment import LocalAlignment
from mercer.kernels.strings.spectrum import Spectrum
from mercer.kernels.strings.subsequence import Subsequence
from mercer.kernels.strings.weighted_degree import WeightedDegree
from mercer.kernels.vectors import Bilinear, Constant, Linear, Polynomial
from mercer.numeric.frozen import FrozenArray
from mercer.testing import naive
from mercer.testing.naive import Twin


@dataclass(frozen=True)
class Doubled:
    """A function of collections and its twin on one object."""

    collection: Callable[[Any], Any]
    single: Callable[[Any], Any]


# -- maps: a collection to a collection of the same kind and width -------------------------------------------------------


def halves(X: Any) -> Any:
    """x / 2, for arrays and CSR."""
    return X * 0.5


def sines(X: Any) -> Any:
    """The sine of every entry."""
    return np.sin(X)


def backwards(texts: Any) -> list[str]:
    """Every string from its end."""
    return [text[::-1] for text in texts]


def merged_labels(graphs: Any) -> list[Graph]:
    """Every graph with the label "b" written as "a"."""
    return [_merge(graph) for graph in graphs]


def _merge(graph: Graph) -> Graph:
    labels = ["a" if label == "b" else label for label in graph.node_labels or ()]
    return Graph(graph.n_nodes, graph.edges, labels)


# -- weights: a collection to one number per object ----------------------------------------------------------------------


def bump(X: Any) -> Array:
    """1 / (1 + ||x||^2), for arrays and CSR."""
    squares = X.multiply(X) if sp.issparse(X) else X * X
    return 1.0 / (1.0 + np.asarray(squares.sum(axis=1)).ravel())


def wave(X: Any) -> Array:
    """cos of the sum of the entries, for arrays and CSR: a weight that changes its sign."""
    return np.cos(np.asarray(X.sum(axis=1)).ravel())


def brevity(texts: Any) -> Array:
    """1 / (1 + length) of every string."""
    return np.array([1.0 / (1.0 + len(text)) for text in texts])


def sparseness(graphs: Any) -> Array:
    """1 - the number of edges: zero for a graph with one edge."""
    return np.array([1.0 - len(graph.edges) for graph in graphs])


def _sum_of_squares(x: Sequence[float]) -> float:
    return math.fsum(a * a for a in x)


HALVES = Doubled(halves, lambda x: [a * 0.5 for a in x])
SINES = Doubled(sines, lambda x: [math.sin(a) for a in x])
BACKWARDS = Doubled(backwards, lambda text: "".join(reversed(text)))
MERGED = Doubled(
    merged_labels,
    lambda graph: Graph(graph.n_nodes, graph.edges, "".join(graph.node_labels).replace("b", "a")),
)

BUMP = Doubled(bump, lambda x: 1.0 / (1.0 + _sum_of_squares(x)))
WAVE = Doubled(wave, lambda x: math.cos(math.fsum(x)))
BREVITY = Doubled(brevity, lambda text: 1.0 / (1.0 + len(text)))
SPARSENESS = Doubled(sparseness, lambda graph: 1.0 - len(graph.edges))

#: What each kind of object may be mapped and weighted with.
MAPS = {
    "vectors": (HALVES, SINES),
    "finite": (HALVES, SINES),
    "sparse": (HALVES,),
    "strings": (BACKWARDS,),
    "graphs": (MERGED,),
}
WEIGHTS = {
    "vectors": (BUMP, WAVE),
    "finite": (BUMP, WAVE),
    "sparse": (BUMP, WAVE),
    "strings": (BREVITY,),
    "graphs": (SPARSENESS,),
}


@dataclass(frozen=True)
class Grown:
    """A kernel, its twin, and the properties that decide how they may be combined."""

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


def _local_alignment(rng: np.random.Generator, width: int) -> Grown:
    beta, gap = float(rng.choice([0.05, 0.2])), float(rng.choice([1.0, 5.0]))
    twin = partial(naive.local_alignment, beta=beta, score=_equal_letters, gap_open=gap, gap_extend=1.0)
    return Grown(LocalAlignment(beta, gap_open=gap), twin, 1.0)


def _equal_letters(a: Any, b: Any) -> float:
    return 5.0 if a == b else -4.0


def _all_substrings(rng: np.random.Generator, width: int) -> Grown:
    decay, longest = float(rng.choice([0.3, 0.5, 1.0])), (None, 2, 5)[int(rng.integers(3))]
    twin = partial(naive.all_substrings, decay=decay, longest=longest)
    return Grown(AllSubstrings(decay, longest=longest), twin, 300.0)


def _weighted_degree(rng: np.random.Generator, width: int) -> Grown:
    degree, shift = int(rng.integers(1, 5)), int(rng.integers(0, 3))
    twin = partial(naive.weighted_degree, degree=degree, shift=shift)
    return Grown(WeightedDegree(degree, shift=shift), twin, 36.0)


def _vertex_histogram(rng: np.random.Generator, width: int) -> Grown:
    return Grown(VertexHistogram(), naive.vertex_histogram, 36.0)


def _edge_histogram(rng: np.random.Generator, width: int) -> Grown:
    return Grown(EdgeHistogram(), naive.edge_histogram, 60.0)


def _colors(rng: np.random.Generator, width: int) -> Grown:
    levels, assigned = int(rng.integers(0, 4)), bool(rng.random() < 0.4)
    kind, twin = WLOptimalAssignment, naive.wl_optimal_assignment
    if not assigned:
        kind, twin = WeisfeilerLehman, naive.weisfeiler_lehman  # type: ignore[assignment]
    return Grown(kind(levels), partial(twin, iterations=levels), 60.0)


def _shortest_path(rng: np.random.Generator, width: int) -> Grown:
    return Grown(ShortestPath(), naive.shortest_path, 200.0)


def _graphlet(rng: np.random.Generator, width: int) -> Grown:
    p, connected, presence = int(rng.integers(2, 5)), bool(rng.random() < 0.3), bool(rng.random() < 0.3)
    labeled = p < 4 and bool(rng.random() < 0.3)
    options: dict[str, Any] = {"connected": connected, "presence": presence, "labeled": labeled}
    return Grown(Graphlet(p, **options), partial(naive.graphlet, p=p, **options), 200.0)


def _random_walk(rng: np.random.Generator, width: int) -> Grown:
    decay, steps = float(rng.choice([0.1, 0.3])), int(rng.integers(0, 4))
    return Grown(RandomWalk(decay, steps=steps), partial(naive.random_walk, decay=decay, steps=steps), 60.0)


_FINITE = (_linear, _bilinear, _polynomial, _constant)
_SPARSE = (*_FINITE, _gaussian, _exponential, _matern, _rational_quadratic)
LEAVES: dict[str, tuple[Callable[[np.random.Generator, int], Grown], ...]] = {
    "vectors": (*_SPARSE, _laplacian, _power_exponential, _periodic),
    "finite": _FINITE,
    "sparse": _SPARSE,
    "strings": (
        *(_spectrum, _blended, _gapped, _mismatch, _subsequence, _local_alignment, _all_substrings, _weighted_degree),
        *(_spectrum, _spectrum, _constant),
    ),
    "graphs": (
        *(_vertex_histogram, _edge_histogram, _colors, _shortest_path, _graphlet, _random_walk),
        *(_vertex_histogram, _colors, _constant),
    ),
}


VECTOR_DOMAINS = ("vectors", "finite", "sparse")
DOMAINS = (*VECTOR_DOMAINS, "strings", "graphs")

#: Larger kernels are scaled down, so that powers and exponentials of them stay in range.
LARGEST_KERNEL = 1000.0


def random_kernel(
    rng: np.random.Generator, depth: int = 3, width: int = 4, *, domain: str = "vectors"
) -> tuple[Kernel, Twin]:
    """Return a random kernel whose tree is at least `depth` levels deep, and its naive twin (x, z) -> float.

    `width` is the number of columns. `domain` is "vectors", "finite" (vector kernels with a finite feature map),
    "sparse" (those that take CSR), "strings" or "graphs". Every kernel returned is valid by the closure rules, and its
    values are of moderate size on `random_rows`.

    >>> import numpy as np
    >>> kernel, twin = random_kernel(np.random.default_rng(3), depth=2, width=2)
    >>> X = [[0.5, 1.0], [2.0, -1.0]]
    >>> bool(np.isclose(kernel(X)[0, 1], twin(X[0], X[1])))
    True
    """
    if domain not in DOMAINS:
        raise InputError(f"random_kernel: domain must be one of {', '.join(DOMAINS)}; got {domain!r}.")
    grown = _Grower(rng, domain).grow(depth, width)
    return grown.kernel, grown.twin


def random_rows(rng: np.random.Generator, n: int = 7, width: int = 4, *, domain: str = "vectors") -> Any:
    """Return n random objects, among them a duplicate, a near duplicate and a zero (empty string, one-node graph)."""
    if domain in VECTOR_DOMAINS:
        X = rng.standard_normal((n, width))
        if domain == "sparse":
            X[rng.random((n, width)) < 0.5] = 0.0
        X[1:2], X[2:3], X[3:4] = X[0], 0.0, X[0] * (1.0 + 1e-6)
        return sp.csr_array(X) if domain == "sparse" else X
    if domain == "strings":
        texts = ["".join(rng.choice(list("abc"), size=rng.integers(3, 12))) for _ in range(n)]
        return [texts[0], texts[0], "", *texts[3:]][:n]
    graphs = [_random_graph(rng, int(rng.integers(2, 7))) for _ in range(n)]
    return [graphs[0], graphs[0], _random_graph(rng, 1), *graphs[3:]][:n]


def tree_depth(kernel: Kernel) -> int:
    """Return the number of levels below the root: 0 for a leaf."""
    return 1 + max(map(tree_depth, kernel.children)) if kernel.children else 0


def _random_graph(rng: np.random.Generator, nodes: int) -> Graph:
    edges = [(u, v) for u in range(nodes) for v in range(u) if rng.random() < 0.4]
    return Graph(nodes, edges, [str(label) for label in rng.choice(list("abc"), size=nodes)])


@dataclass
class _Grower:
    """Grows kernel and twin together, from the root down."""

    rng: np.random.Generator
    domain: str
    may_center: bool = True  # once on a path: the twin of a centered kernel evaluates its inner twin many times

    def grow(self, depth: int, width: int, unlike: tuple[str, ...] = ()) -> Grown:
        """Return a tree of at least this depth; `unlike` names the verbs that would be flattened into their parent."""
        if depth <= 0:
            return leaf(self.rng, self.domain, width)
        verbs = [verb for verb in self.verbs(width) if verb not in unlike]
        grown = self.verbs(width)[str(self.rng.choice(verbs))](depth, width)
        return self.shrunk(grown) if grown.size > LARGEST_KERNEL else grown

    def verbs(self, width: int) -> dict[str, Callable[[int, int], Grown]]:
        found: dict[str, Callable[[int, int], Grown]] = {
            "sum": self.sum, "shift": self.shift, "scale": self.scale, "product": self.product, "power": self.power,
            "polynomial": self.polynomial, "exp": self.exp, "map": self.map, "weight": self.weight,
            "normalize": self.normalize, "tanimoto": self.tanimoto,
        }  # fmt: skip
        if self.may_center:
            found["center"] = self.center
        if self.domain in VECTOR_DOMAINS and width > 1:
            found["on"] = self.on
        if self.domain == "finite":
            del found["exp"], found["tanimoto"]
        return found

    def number(self, low: float, high: float) -> float:
        return round(float(self.rng.uniform(low, high)), 2)

    def shrunk(self, grown: Grown) -> Grown:
        factor = round(100.0 / grown.size, 6)
        return grown.become(factor * grown.kernel, naive.scaled(factor, grown.twin), factor * grown.size)

    # -- one method per closure rule: the kernel by the public operators, the twin by naive -----------------------------

    def several(self, depth: int, width: int, unlike: tuple[str, ...]) -> list[Grown]:
        parts = [self.grow(depth - 1, width, unlike)]
        for _ in range(int(self.rng.integers(1, 3))):
            parts.append(self.grow(int(self.rng.integers(0, depth)), width))
        self.rng.shuffle(parts)
        return parts

    def sum(self, depth: int, width: int) -> Grown:
        first, *others = self.several(depth, width, ("sum", "shift"))
        kernel = first.kernel
        for other in others:
            kernel = kernel + other.kernel
        return joined(kernel, naive.added(*[g.twin for g in (first, *others)]), [first, *others], sum)

    def product(self, depth: int, width: int) -> Grown:
        first, *others = self.several(depth, width, ("product",))
        kernel = first.kernel
        for other in others:
            kernel = kernel * other.kernel
        twin = naive.multiplied(*[g.twin for g in (first, *others)])
        return joined(kernel, twin, [first, *others], math.prod)

    def shift(self, depth: int, width: int) -> Grown:
        inner, number = self.grow(depth - 1, width, ("sum", "shift")), self.number(0.0, 2.0)
        kernel = inner.kernel + number if self.rng.random() < 0.5 else number + inner.kernel
        twin = naive.added(inner.twin, lambda x, z: naive.constant(x, z, number))
        return inner.become(kernel, twin, inner.size + number)

    def scale(self, depth: int, width: int) -> Grown:
        inner, number = self.grow(depth - 1, width), float(self.rng.choice([0.0, 0.25, 0.7, 1.0, 2.5]))
        ways = [number * inner.kernel, inner.kernel * np.float64(number)] + ([inner.kernel / (1 / number)] if number else [])
        factor = 1.0 / (1 / number) if number else 0.0
        kernel = ways[int(self.rng.integers(len(ways)))]
        return inner.become(kernel, naive.scaled(factor, inner.twin), factor * inner.size)

    def power(self, depth: int, width: int) -> Grown:
        inner, p = self.grow(depth - 1, width), int(self.rng.choice([0, 1, 2, 2, 3, 3]))
        return inner.become(inner.kernel**p, naive.powered(p, inner.twin), inner.size**p)

    def polynomial(self, depth: int, width: int) -> Grown:
        inner = self.grow(depth - 1, width)
        coefficients = [self.number(0.0, 1.0) * int(self.rng.random() < 0.8) for _ in range(int(self.rng.integers(1, 5)))]
        size = sum(c * inner.size**i for i, c in enumerate(coefficients))
        twin = naive.polynomial_of(coefficients, inner.twin)
        return inner.become(inner.kernel.polynomial(coefficients), twin, size)

    def exp(self, depth: int, width: int) -> Grown:
        inner = self.grow(depth - 1, width)
        factor = round(min(1.0, 1.0 / max(inner.size, 1.0)), 6)
        twin = naive.exponential_of(naive.scaled(factor, inner.twin))
        return inner.become((factor * inner.kernel).exp(), twin, float(np.exp(factor * inner.size)))

    def map(self, depth: int, width: int) -> Grown:
        inner = self.grow(depth - 1, width)
        phi = MAPS[self.domain][int(self.rng.integers(len(MAPS[self.domain])))]
        return inner.become(inner.kernel.map(phi.collection), naive.mapped(phi.single, inner.twin), inner.size)

    def weight(self, depth: int, width: int) -> Grown:
        inner = self.grow(depth - 1, width)
        f = WEIGHTS[self.domain][int(self.rng.integers(len(WEIGHTS[self.domain])))]
        largest = 100.0 if self.domain == "graphs" else 1.0
        return inner.become(inner.kernel.weighted(f.collection), naive.weighted(f.single, inner.twin), largest * inner.size)

    def normalize(self, depth: int, width: int) -> Grown:
        inner = self.divisible(depth, width)
        return inner.become(inner.kernel.normalized(), naive.normalized(inner.twin), 1.0)

    def tanimoto(self, depth: int, width: int) -> Grown:
        inner = self.divisible(depth, width)
        return inner.become(inner.kernel.tanimoto(), naive.tanimoto(inner.twin), 1.0)

    def divisible(self, depth: int, width: int) -> Grown:
        inner = self.grow(depth - 1, width)
        if inner.cancels:  # dividing by what cancellation left over would compare rounding errors; added to 1 it is safe
            inner = inner.become(inner.kernel + 1.0, naive.added(inner.twin, naive.constant), inner.size + 1.0)
        return inner

    def center(self, depth: int, width: int) -> Grown:
        inner = replace(self, may_center=False).grow(depth - 1, width)
        sample = random_rows(self.rng, 4, width, domain=self.domain)
        objects = sample.toarray().tolist() if sp.issparse(sample) else list(sample)
        twin = naive.centered(objects, inner.twin)
        return replace(inner.become(inner.kernel.centered(sample), twin, 4.0 * inner.size), cancels=True)

    def on(self, depth: int, width: int) -> Grown:
        chosen = [int(c) for c in self.rng.permutation(width)[: int(self.rng.integers(1, width + 1))]]
        inner = self.grow(depth - 1, len(chosen))
        # some columns are counted from the end, as Python does
        columns = [c - width if self.rng.random() < 0.2 else c for c in chosen]
        return inner.become(inner.kernel.on(*columns), naive.on(chosen, inner.twin), inner.size)
