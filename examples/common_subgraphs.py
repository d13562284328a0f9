"""Common subgraphs of two graphs

Subgraphs of p = 3 nodes: four classes, their counts in two graphs, and the kernel as an inner product.

    python examples/common_subgraphs.py [--out FOLDER]

Three nodes can have no edge, one, two or three. K(G1, G2) multiplies the counts class by class (`Graphlet(3)`), or counts
the classes that both graphs have (`presence=True`).
"""

from __future__ import annotations

import numpy as np
from lecture import folder, save, show

from mercer import Graph, Graphlet

HOUSE = Graph(5, [(0, 1), (1, 2), (2, 3), (3, 0), (2, 4), (3, 4)])
STAR = Graph(5, [(0, 1), (0, 2), (0, 3), (0, 4)])
NAMES = ("3 nodes, no edge", "one edge", "path", "triangle")
SHAPES = ((), ((0, 1),), ((0, 1), (1, 2)), ((0, 1), (1, 2), (2, 0)))
PLACES = {
    "house": np.array([[0, 0], [1, 0], [1, 1], [0, 1], [0.5, 1.8]]),
    "star": np.array([[0.5, 0.6], [0, 0], [1, 0], [0, 1.2], [1, 1.2]]),
}


def counts(p: int = 3) -> np.ndarray:
    """Rows are the house and the star, columns the classes with no, one, two and three edges."""
    found = np.asarray(Graphlet(p).feature_map([HOUSE, STAR]))
    return found.toarray() if hasattr(found, "toarray") else found


def brute_force(graph: Graph) -> list[int]:
    """Edges among every three nodes, counted."""
    from itertools import combinations

    edges = {frozenset((int(u), int(v))) for u, v in graph.edges}
    inside = [
        sum(frozenset(pair) in edges for pair in combinations(nodes, 2)) for nodes in combinations(range(graph.n_nodes), 3)
    ]
    return np.bincount(inside, minlength=4).tolist()


def main() -> None:
    """Print counts and values, draw the graphs above the classes."""
    out = folder(__doc__)
    from mercer.report.drawing import BLUE, GRAY, VERMILLION, pyplot

    table = [brute_force(HOUSE), brute_force(STAR)]
    show(("graph   ", *NAMES), [("house", *table[0]), ("star", *table[1])])
    print(
        f"\nK(house, star) = {Graphlet(3)([HOUSE], [STAR])[0, 0]:.0f} = "
        + " + ".join(f"{a}·{b}" for a, b in zip(*table, strict=True))
    )
    print(f"classes in common: {Graphlet(3, presence=True)([HOUSE], [STAR])[0, 0]:.0f}")
    figure, axes = pyplot().subplots(1, 6, figsize=(11, 2.6), layout="constrained")
    corners = np.array([[0, 0], [0.5, 0.9], [1, 0]])
    drawn = [("house", HOUSE.edges, PLACES["house"], BLUE), ("star", STAR.edges, PLACES["star"], VERMILLION)]
    drawn += [(name, edges, corners, GRAY) for name, edges in zip(NAMES, SHAPES, strict=True)]
    for ax, (name, edges, places, color) in zip(axes, drawn, strict=True):
        for u, v in edges:
            ax.plot(*places[[u, v]].T, color=GRAY, zorder=1)
        ax.scatter(*places.T, s=60, color=color, zorder=2)
        title = name if name not in NAMES else f"{name}\n{table[0][NAMES.index(name)]} · {table[1][NAMES.index(name)]}"
        ax.set_title(title, fontsize=10)
        ax.set_aspect("equal")
        ax.margins(0.25)
        ax.axis("off")
    save(figure, out / "common_subgraphs.png")


if __name__ == "__main__":
    main()
