"""Slow, obvious twins of every kernel: the formula on two objects, in Python floats.

They are written from the formulas in the docstrings and share no line with the fast code, so that a test which compares
the two can fail. Each leaf is a function of two objects; each closure rule takes twins and returns a twin. Kernels on graphs
follow their definitions: dictionaries, all subsets, all permutations.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache
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


def power_exponential(x: Vector, z: Vector, norm: float = 2.0, power: float = 1.0, length_scale: Scale = 1.0) -> float:
    """exp(-(sum_k |(x_k - z_k) / l_k|^p)^(q/p))."""
    total = math.fsum(abs(step) ** norm for step in _steps(x, z, length_scale))
    return math.exp(-(total ** (power / norm)))


def categorical(x: Any, z: Any, similarity: float = 0.0) -> float:
    """1 if equal, else similarity."""
    return 1.0 if x == z else similarity


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


_PAIRS = {"A": "T", "C": "G", "G": "C", "T": "A", "N": "N", "a": "t", "c": "g", "g": "c", "t": "a", "n": "n"}


def other_strand(u: Sequence[Any]) -> tuple[Any, ...]:
    """The reverse complement of DNA; None stands for a free place."""
    return tuple(None if letter is None else _PAIRS[letter] for letter in reversed(u))


def same_on_a_strand(u: Sequence[Any], v: Sequence[Any]) -> bool:
    """Whether two substrings of DNA are equal up to the strand they are read on."""
    return tuple(u) == tuple(v) or other_strand(u) == tuple(v)


def blended(
    s: Sequence[Hashable], t: Sequence[Hashable], p: int, shortest: int, weights: Sequence[float], presence: bool = False
) -> float:
    """The sum of the spectrum kernels of several lengths, each with its weight."""
    return math.fsum(w * spectrum(s, t, p, presence) for p, w in zip(range(shortest, p + 1), weights, strict=True))


def strands(s: Sequence[Any], t: Sequence[Any], p: int, presence: bool = False) -> float:
    """The spectrum kernel of DNA that may be read on either strand."""
    left = [tuple(s[i : i + p]) for i in range(len(s) - p + 1)]
    right = [tuple(t[i : i + p]) for i in range(len(t) - p + 1)]
    if presence:
        return float(len({min(u, other_strand(u)) for u in left} & {min(v, other_strand(v)) for v in right}))
    return float(sum(same_on_a_strand(u, v) for u in left for v in right))


def gapped_spectrum(s: Sequence[Any], t: Sequence[Any], p: int, gaps: int = 1, reverse_complement: bool = False) -> float:
    """The number of pairs of windows and of ways to keep p places in them such that what is kept is equal."""
    left, right = ([_keep(w, m) for w in _windows(x, p + gaps) for m in _masks(p, gaps)] for x in (s, t))
    same = same_on_a_strand if reverse_complement else operator.eq
    return float(sum(same(u, v) for u in left for v in right))


def _masks(p: int, gaps: int) -> list[tuple[int, ...]]:
    return [m for m in itertools.product((0, 1), repeat=p + gaps) if sum(m) == p]


def _keep(window: Sequence[Any], mask: Sequence[int]) -> tuple[Any, ...]:
    return tuple(letter if kept else None for letter, kept in zip(window, mask, strict=True))


def _windows(s: Sequence[Any], width: int) -> list[tuple[Any, ...]]:
    return [tuple(s[i : i + width]) for i in range(len(s) - width + 1)]


def mismatch(
    s: Sequence[Any], t: Sequence[Any], p: int, mismatches: int, alphabet: Sequence[Any], reverse_complement: bool = False
) -> float:
    """sum over all words u of (windows of s near u) (windows of t near u); with both strands, over pairs of words."""

    def near(x: Sequence[Any], u: tuple[Any, ...]) -> int:
        known = [w for w in _windows(x, p) if all(letter in alphabet for letter in w)]
        return sum(sum(a != b for a, b in zip(w, u, strict=True)) <= mismatches for w in known)

    total = 0
    for u in itertools.product(alphabet, repeat=p):
        if not reverse_complement:
            total += near(s, u) * near(t, u)
        elif u <= other_strand(u):
            both = {u, other_strand(u)}
            total += sum(near(s, v) for v in both) * sum(near(t, v) for v in both)
    return float(total)


def subsequence(s: Sequence[Any], t: Sequence[Any], p: int, decay: float = 0.5) -> float:
    """sum over all choices of p places in s and in t with the same letters of decay^(span in s + span in t)."""
    found: list[dict[tuple[Any, ...], float]] = []
    for x in (s, t):
        sums: dict[tuple[Any, ...], float] = {}
        for places in itertools.combinations(range(len(x)), p):
            u = tuple(x[i] for i in places)
            sums[u] = sums.get(u, 0.0) + decay ** (places[-1] - places[0] + 1)
        found.append(sums)
    return math.fsum(value * found[1].get(u, 0.0) for u, value in found[0].items())


def local_alignment(
    s: Sequence[Any], t: Sequence[Any], beta: float, score: Callable[[Any, Any], float], gap_open: float, gap_extend: float
) -> float:
    """The sum over all local alignments, which are pairs of places that rise in both strings, of exp(beta score).

    Every alignment but the empty one ends with a pair of places, and is new or continues one that ends before both.
    """

    def cost(gap: int) -> float:
        return gap_open + (gap - 1) * gap_extend if gap else 0.0

    def total(x: Sequence[Any], z: Sequence[Any]) -> float:
        ending: dict[tuple[int, int], float] = {}
        for i, j in itertools.product(range(len(x)), range(len(z))):
            before = [
                ending[k, m] * math.exp(-beta * (cost(i - k - 1) + cost(j - m - 1))) for k in range(i) for m in range(j)
            ]
            ending[i, j] = math.exp(beta * score(x[i], z[j])) * (1.0 + math.fsum(before))
        return 1.0 + math.fsum(ending.values())

    return total(s, t) / math.sqrt(total(s, s) * total(t, t))


def all_substrings(s: Sequence[Any], t: Sequence[Any], decay: float = 0.5, longest: int | None = None) -> float:
    """sum over pairs of equal substrings of decay^length."""
    lengths = range(1, min(len(s), len(t), longest or len(s)) + 1)
    return math.fsum(decay**n * sum(u == v for u in _windows(s, n) for v in _windows(t, n)) for n in lengths)


def weighted_degree(s: Sequence[Any], t: Sequence[Any], degree: int = 3, shift: int = 0) -> float:
    """sum over lengths d of b_d times the number of places where both have the same d letters, or near places."""
    terms = []
    for d in range(1, degree + 1):
        for i, u in enumerate(_windows(s, d)):
            for j, v in enumerate(_windows(t, d)):
                if abs(i - j) <= shift and u == v:
                    nearness = 1.0 if i == j else 0.5 / (abs(i - j) + 1)
                    terms.append(2.0 * (degree - d + 1) / (degree * (degree + 1)) * nearness)
    return math.fsum(terms)


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


def tanimoto(twin: Twin) -> Twin:
    """k(x, z) / (k(x, x) + k(z, z) - k(x, z)), and 0 where k(x, x) = k(z, z) = 0."""

    def value(x: Any, z: Any) -> float:
        a, b, c = twin(x, x), twin(z, z), twin(x, z)
        return c / (a + b - c) if a > 0.0 or b > 0.0 else 0.0

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


def labels_of(graph: Graph, unlabeled: str | None = None) -> list[Hashable]:
    """The labels of the nodes, or what stands for them."""
    if graph.node_labels is not None:
        return list(graph.node_labels)
    if unlabeled != "degree":
        return ["nothing"] * graph.n_nodes
    return [("degree", sum(v in edge for edge in graph.edges)) for v in range(graph.n_nodes)]


@lru_cache(maxsize=1024)
def _neighbors(graph: Graph) -> list[list[int]]:
    return [[u for u in range(graph.n_nodes) if (min(u, v), max(u, v)) in set(graph.edges)] for v in range(graph.n_nodes)]


def _inner(left: Counter[Any], right: Counter[Any]) -> float:
    return float(sum(count * right[feature] for feature, count in left.items()))


def edge_histogram(g: Graph, h: Graph) -> float:
    """The number of pairs of edges, one in g and one in h, with equal labels."""
    left, right = (Counter(x.edge_labels or [None] * len(x.edges)) for x in (g, h))
    return _inner(left, right)


@lru_cache(maxsize=1024)
def colors(graph: Graph, iterations: int, unlabeled: str | None = None, edge_labels: bool = False) -> Counter[Any]:
    """How often each Weisfeiler-Lehman color occurs; a color is its level and the whole tree that it stands for."""
    around, current = _neighbors(graph), [repr(label) for label in labels_of(graph, unlabeled)]
    bonds = dict(zip(graph.edges, graph.edge_labels or [None] * len(graph.edges), strict=True)) if edge_labels else {}
    found = Counter((0, color) for color in current)
    for level in range(1, iterations + 1):
        current = [
            f"{current[v]}<{sorted((current[u], repr(bonds.get((min(u, v), max(u, v))))) for u in around[v])}>"
            for v in range(graph.n_nodes)
        ]
        found.update((level, color) for color in current)
    return found


def weisfeiler_lehman(
    g: Graph, h: Graph, iterations: int = 5, unlabeled: str | None = None, edge_labels: bool = False
) -> float:
    """sum over levels and colors of (count in g) (count in h)."""
    return _inner(colors(g, iterations, unlabeled, edge_labels), colors(h, iterations, unlabeled, edge_labels))


def wl_optimal_assignment(g: Graph, h: Graph, iterations: int = 5) -> float:
    """sum over levels and colors of min(count in g, count in h)."""
    return float((colors(g, iterations) & colors(h, iterations)).total())


@lru_cache(maxsize=1024)
def paths(graph: Graph, unlabeled: str | None = None) -> Counter[Any]:
    """Ordered pairs of different nodes by labels and distance, from distances by Floyd and Warshall."""
    n, labels = graph.n_nodes, labels_of(graph, unlabeled)
    far = [[0.0 if u == v else math.inf for v in range(n)] for u in range(n)]
    for u, v in graph.edges:
        far[u][v] = far[v][u] = 1.0
    for w, u, v in itertools.product(range(n), repeat=3):
        far[u][v] = min(far[u][v], far[u][w] + far[w][v])
    pairs = [(u, v) for u in range(n) for v in range(n) if 0 < far[u][v] < math.inf]
    return Counter((labels[u], labels[v], far[u][v]) for u, v in pairs)


def shortest_path(g: Graph, h: Graph, unlabeled: str | None = None) -> float:
    """sum over labels a, b and distances of (pairs in g) (pairs in h)."""
    return _inner(paths(g, unlabeled), paths(h, unlabeled))


@lru_cache(maxsize=1024)
def subgraphs(graph: Graph, p: int, connected: bool = False, labeled: bool = False) -> Counter[Any]:
    """All sets of p nodes by the smallest way to write down what they induce, over all orders of the nodes."""
    edges, labels = set(graph.edges), labels_of(graph) if labeled else [0] * graph.n_nodes
    found: Counter[Any] = Counter()
    for nodes in itertools.combinations(range(graph.n_nodes), p):
        if not connected or _connected(nodes, edges):
            found[min(_written(order, edges, labels) for order in itertools.permutations(nodes))] += 1
    return found


def _written(order: Sequence[int], edges: set[tuple[int, int]], labels: list[Any]) -> Any:
    joined = [(min(u, v), max(u, v)) in edges for u, v in itertools.combinations(order, 2)]
    return tuple(joined), tuple(str(labels[v]) for v in order)


def _connected(nodes: Sequence[int], edges: set[tuple[int, int]]) -> bool:
    reached = {nodes[0]}
    for _ in nodes:
        reached |= {v for v in nodes if any((min(u, v), max(u, v)) in edges for u in reached)}
    return len(reached) == len(nodes)


def graphlet(
    g: Graph, h: Graph, p: int = 3, connected: bool = False, presence: bool = False, labeled: bool = False
) -> float:
    """sum over classes of (induced subgraphs in g) (induced subgraphs in h)."""
    left, right = (subgraphs(x, p, connected, labeled) for x in (g, h))
    return float(len(left.keys() & right.keys())) if presence else _inner(left, right)


def random_walk(g: Graph, h: Graph, decay: float = 0.1, steps: int = 10, unlabeled: str | None = None) -> float:
    """sum over l of decay^l 1' A^l 1 with A the adjacency of the direct product graph."""
    left, right = labels_of(g, unlabeled), labels_of(h, unlabeled)
    nodes = [(u, v) for u in range(g.n_nodes) for v in range(h.n_nodes) if left[u] == right[v]]
    first, second = _neighbors(g), _neighbors(h)
    count = dict.fromkeys(nodes, 1.0)
    terms = [float(len(nodes))]
    for step in range(1, steps + 1):
        count = {(u, v): math.fsum(count.get((a, b), 0.0) for a in first[u] for b in second[v]) for u, v in nodes}
        terms.append(decay**step * math.fsum(count.values()))
    return math.fsum(terms)
