"""Pictures of graphs: explanations of a prediction, and the atlas of graphlets.

| display | shows |
|---|---|
| GraphDisplay | a graph whose nodes are colored by their contribution to a decision |
| AtlasDisplay | all classes of graphs with p nodes, as `Graphlet(p)` counts them |

They need matplotlib: the extra `plots`. `GraphExplanation.svg()` draws without it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.explanations.graphs import GraphExplanation, bond_lines, layout
from mercer.inputs import Graph
from mercer.kernels.graphs.subgraphs import GraphClass, classes
from mercer.report.drawing import BLUE, GRAY, VERMILLION, Drawing, Panels, many_axes, one_axes


@dataclass
class GraphDisplay(Drawing):
    """A graph with nodes colored by their contribution: blue for the label, vermillion against it.

    >>> from mercer import Graph, KernelRidgeClassifier, VertexHistogram, explain
    >>> from mercer.report.graphs import GraphDisplay
    >>> graphs = [Graph(2, [(0, 1)], "CO"), Graph(2, [(0, 1)], "CN")]
    >>> model = KernelRidgeClassifier(VertexHistogram()).fit(graphs, ["alcohol", "amine"])
    >>> GraphDisplay.from_explanation(explain(model, graphs[0])).places.shape
    (2, 2)
    """

    graph: Graph
    contributions: Floats  # (n,)
    places: Floats  # (n, 2)
    title: str

    @classmethod
    def from_explanation(cls, explanation: GraphExplanation, *, ax: Any = None) -> GraphDisplay:
        """Draw an explanation of one graph by `mercer.explain`."""
        graph = explanation.graph
        title = f"{explanation.label}: {explanation.value:+.2f}"
        return cls(graph, explanation.contributions, layout(graph), title).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> GraphDisplay:
        """Draw the graph on an axes, or on a new one."""
        self.figure_, self.ax_ = one_axes(ax, (4.5, 4.0))
        labels = self.graph.node_labels or ("",) * self.graph.n_nodes
        bonds = self.graph.edge_labels or ("",) * self.graph.n_edges
        for (u, v), bond in zip(self.graph.edges, bonds, strict=True):
            _draw_bond(self.ax_, self.places[u], self.places[v], bond)
        largest = float(np.abs(self.contributions).max(initial=0.0)) or 1.0
        size = 220.0 if self.graph.n_nodes <= 60 else 40.0
        self.ax_.scatter(*self.places.T, s=size, color="white", edgecolor=GRAY, zorder=2)
        colors = [BLUE if part > 0 else VERMILLION for part in self.contributions]
        strength = np.abs(self.contributions) / largest
        self.ax_.scatter(*self.places.T, s=size, color=colors, alpha=strength, linewidths=0.0, zorder=3)
        for place, label, strong in zip(self.places, labels, strength, strict=True):
            ink = "white" if strong > 0.6 else "black"
            self.ax_.annotate(str(label), place, ha="center", va="center", fontsize=9, color=ink, zorder=4)
        self.ax_.set_title(self.title)
        self.ax_.set_aspect("equal")
        self.ax_.margins(0.12)
        self.ax_.axis("off")
        return self


def _draw_bond(ax: Any, a: Floats, b: Floats, label: Any) -> None:
    count, dashed = bond_lines(label)
    across = np.array([a[1] - b[1], b[0] - a[0]]) / max(float(np.hypot(*(b - a))), 1e-9)
    for i in range(count):
        ends = np.stack([a, b]) + across * 0.08 * (i - (count - 1) / 2.0)
        ax.plot(*ends.T, color=GRAY, linewidth=1.4, linestyle="--" if dashed and i else "-", zorder=1)


def _on_a_circle(one: GraphClass) -> Floats:  # -> (p, 2)
    """Return positions on a circle in the order with the fewest crossings of edges, then the shortest edges."""
    turn = 2.0 * np.pi * np.arange(one.size) / one.size + np.pi / 2.0
    circle = np.stack([np.cos(turn), np.sin(turn)], axis=1)

    def cost(order: Any) -> tuple[int, float]:
        chords = [sorted((order[u], order[v])) for u, v in one.edges]
        crossings = sum(a < c < b < d for a, b in chords for c, d in chords)
        return crossings, round(sum(float(np.hypot(*(circle[a] - circle[b]))) for a, b in chords), 9)

    return np.asarray(circle[list(min(permutations(range(one.size)), key=cost))])


@dataclass
class AtlasDisplay(Panels):
    """All classes of graphs with p nodes, in the order of the columns of `Graphlet(p).feature_map`.

    >>> from mercer.report.graphs import AtlasDisplay
    >>> len(AtlasDisplay(4).plot().axes_)
    11
    """

    p: int
    connected: bool = False

    def plot(self, *, ax: Any = None) -> AtlasDisplay:
        """Draw every class with its name below."""
        found = classes(self.p, self.connected)
        columns = min(len(found), 7)
        rows = -(-len(found) // columns)
        self.figure_, grid = many_axes(ax, rows, columns, (1.75 * columns, 1.8 * rows))
        self.axes_ = grid.ravel()[: len(found)]
        for one, axes in zip(found, grid.ravel(), strict=False):
            places = _on_a_circle(one)
            for u, v in one.edges:
                axes.plot(*places[[u, v]].T, color=GRAY, zorder=1)
            axes.scatter(*places.T, s=45, color=BLUE if one.parts == 1 else VERMILLION, zorder=2)
            axes.set_title(one.name.replace(" with ", "\nwith ").replace(" less ", "\nless "), fontsize=8, y=-0.22)
        for axes in grid.ravel():
            axes.set_aspect("equal")
            axes.margins(0.2)
            axes.axis("off")
        self.ax_ = self.axes_[0]
        return self
