"""Pictures of graphs: places for the nodes, and SVG that needs nothing else."""

from __future__ import annotations

import html
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.explanations.highlight import AGAINST, FOR
from mercer.inputs import Graph

#: Graphs with more nodes are drawn on a circle: places by distances take memory like n^2.
NODES_BY_DISTANCE = 600

#: Lines that a bond of a molecule is drawn with.
LINES = {"=": 2, "#": 3, "2": 2, "3": 3}


def layout(graph: Graph, steps: int = 300) -> Floats:  # -> (n, 2)
    """Places whose distances are near those in the graph: stress majorization from classical scaling."""
    n = graph.n_nodes
    if n == 1:
        return np.zeros((1, 2))
    turn = 2.0 * np.pi * np.arange(n) / max(n, 1)
    circle = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    if n > NODES_BY_DISTANCE or n == 0:
        return circle * n / 6.0
    D = _distances(graph)
    centered = D**2 - (D**2).mean(axis=0)
    B = -0.5 * (centered - centered.mean(axis=1, keepdims=True))
    values, vectors = np.linalg.eigh((B + B.T) / 2.0)
    # equal eigenvalues leave nodes on top of each other: the circle pulls them apart
    X = vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 1e-9)) + 0.01 * circle
    weights = 1.0 / np.maximum(D, 1.0) ** 2
    np.fill_diagonal(weights, 0.0)
    V = np.diag(weights.sum(axis=1)) - weights
    inverse = np.linalg.pinv(V)
    for _ in range(steps):
        apart = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))
        ratio = -weights * D / np.maximum(apart, 1e-9)
        np.fill_diagonal(ratio, 0.0)
        np.fill_diagonal(ratio, -ratio.sum(axis=1))
        X = inverse @ (ratio @ X)
    return X - X.mean(axis=0)


def _distances(graph: Graph) -> Floats:  # -> (n, n)
    """Lengths of shortest paths; parts without a path between them stand a little further apart than the longest."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import shortest_path

    u, v = graph.pairs.T
    A = csr_array((np.ones(len(u)), (u, v)), shape=(graph.n_nodes, graph.n_nodes))
    D = shortest_path(A, directed=False, unweighted=True)
    reached = D[np.isfinite(D)]
    D[~np.isfinite(D)] = reached.max(initial=0.0) + 1.5
    return np.asarray(D)


def picture(graph: Graph, parts: Floats, width: int) -> str:
    """The graph as SVG; nodes on a color as strong as their part, their numbers on hovering."""
    if graph.n_nodes == 0:
        return "<svg xmlns='http://www.w3.org/2000/svg' width='10' height='10'></svg>"
    X = layout(graph)
    low, span = X.min(axis=0), np.maximum(np.ptp(X, axis=0), 1e-9)
    margin, radius = 22.0, 11.0 if graph.n_nodes <= 60 else 5.0
    scale = min((width - 2 * margin) / span[0], 60.0) if span[0] > 1e-6 else 60.0
    places = (X - low) * scale + margin
    height = float(span[1] * scale + 2 * margin)
    largest = float(np.abs(parts).max(initial=0.0)) or 1.0
    lines = "".join(_bond(places, edge, label) for edge, label in zip(graph.edges, _bonds(graph), strict=True))
    labels = graph.node_labels or ("",) * graph.n_nodes
    nodes = "".join(
        _node(places[v], float(parts[v]), largest, radius, v, labels[v] if radius > 6 else "") for v in range(graph.n_nodes)
    )
    size = f"width='{width}' height='{height:.0f}' viewBox='0 0 {width} {height:.0f}'"
    return f"<svg xmlns='http://www.w3.org/2000/svg' {size} font-family='sans-serif' font-size='11'>{lines}{nodes}</svg>"


def _bonds(graph: Graph) -> tuple[Any, ...]:
    return graph.edge_labels if graph.edge_labels is not None else ("",) * graph.n_edges


def bond_lines(label: Any) -> tuple[int, bool]:
    """How many lines an edge is drawn with, and whether one of them is dashed (aromatic)."""
    return LINES.get(str(label), 2 if label == ":" else 1), label == ":"


def _bond(places: Floats, edge: tuple[int, int], label: Any) -> str:
    a, b = places[edge[0]], places[edge[1]]
    count, dashed = bond_lines(label)
    across = np.array([a[1] - b[1], b[0] - a[0]]) / max(float(np.hypot(*(b - a))), 1e-9)
    found = []
    for i in range(count):
        shift = across * 3.0 * (i - (count - 1) / 2.0)
        (x1, y1), (x2, y2) = a + shift, b + shift
        style = " stroke-dasharray='4 3'" if dashed and i else ""
        found.append(
            f"<line x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}' stroke='#777' stroke-width='1.4'{style}/>"
        )
    return "".join(found)


def _node(place: Floats, part: float, largest: float, radius: float, number: int, label: Any) -> str:
    x, y = place.tolist()
    strength = abs(part) / largest
    color = f"rgba({FOR if part > 0 else AGAINST},{strength:.2f})"
    text = html.escape(str(label))
    ink = "#fff" if strength > 0.6 else "#000"
    return (
        f"<g><title>node {number} {text}: {part:+.3g}</title>"
        f"<circle cx='{x:.1f}' cy='{y:.1f}' r='{radius:.0f}' fill='#fff' stroke='#777'/>"
        f"<circle cx='{x:.1f}' cy='{y:.1f}' r='{radius:.0f}' fill='{color}'/>"
        f"<text x='{x:.1f}' y='{y + 4:.1f}' text-anchor='middle' fill='{ink}'>{text}</text></g>"
    )
