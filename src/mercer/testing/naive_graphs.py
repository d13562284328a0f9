"""Slow, obvious twins of the kernels on graphs, from their definitions: dictionaries, all subsets, all permutations."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Hashable, Sequence
from functools import lru_cache
from typing import Any

from mercer.inputs import Graph


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
