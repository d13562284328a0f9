"""Random graphs with every awkward case among them."""

from __future__ import annotations

import numpy as np

from mercer import Graph


def random_graph(
    rng: np.random.Generator, nodes: int, density: float, labels: str | None = None, bonds: str | None = None
) -> Graph:
    edges = [(u, v) for u in range(nodes) for v in range(u) if rng.random() < density]
    node_labels = None if labels is None else rng.choice(list(labels), nodes).tolist()
    return Graph(nodes, edges, node_labels, None if bonds is None else rng.choice(list(bonds), len(edges)).tolist())


def random_graphs(
    seed: int, count: int = 30, largest: int = 9, labels: str | None = None, bonds: str | None = None
) -> list[Graph]:
    """Sparse and dense graphs of 0 … largest nodes; the first have no node, one node, no edge, all edges."""
    rng = np.random.default_rng(seed)
    corners = [(0, 0.0), (1, 0.0), (5, 0.0), (6, 1.0), (largest, 0.1)]
    others = [(int(rng.integers(1, largest + 1)), float(rng.uniform(0.05, 0.95))) for _ in range(count - len(corners))]
    return [random_graph(rng, n, density, labels, bonds) for n, density in corners + others]


def shuffled(rng: np.random.Generator, graph: Graph) -> Graph:
    """The same graph with its nodes in another order."""
    order = rng.permutation(graph.n_nodes)
    labels = None
    if graph.node_labels is not None:
        labels = [None] * graph.n_nodes
        for v, label in enumerate(graph.node_labels):
            labels[order[v]] = label
    edges = [(int(order[u]), int(order[v])) for u, v in graph.edges]
    place = rng.permutation(len(edges)).tolist()
    bonds = None if graph.edge_labels is None else [graph.edge_labels[i] for i in place]
    return Graph(graph.n_nodes, [edges[i] for i in place], labels, bonds)
