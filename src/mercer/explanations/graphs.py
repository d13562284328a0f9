"""Explanations of predictions on graphs: contributions of nodes and subgraphs, and their picture."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mercer.arrays import Floats
from mercer.errors import plural
from mercer.explanations.strings import Contributions, Weigh, explanation_fragment, signed
from mercer.inputs import Graph, Rows
from mercer.kernels.features import Occurrence, Summand
from mercer.markup.html import text
from mercer.markup.svg import contribution_color, element, standalone
from mercer.numeric.encodings import projected

#: Training rows whose features are made at a time.
CHUNK = 256

#: Places of a feature that are kept for pictures.
PLACES = 20


class Places:
    """Nodes of the features of the explained graph, by name."""

    def __init__(self) -> None:
        self._found: dict[str, list[tuple[int, ...]]] = {}

    def add(self, name: str, nodes: tuple[int, ...]) -> None:
        known = self._found.setdefault(name, [])
        if len(known) < PLACES:
            known.append(nodes)

    def join(self, other: Places) -> None:
        """Add the places that another object has found."""
        for name, places in other._found.items():
            for nodes in places:
                if nodes not in self._found.get(name, ()):
                    self.add(name, nodes)

    def parts(self, letters: Contributions) -> tuple[SubgraphPart, ...]:
        """Return all features by size of contribution, with their places."""
        return tuple(
            SubgraphPart(one.name, one.contribution, one.weight, one.count, tuple(self._found.get(one.name, ())))
            for one in letters.substrings()
        )


def term_nodes(
    known: Summand, here: Summand, coefficients: Floats, places: Places, weigh: Weigh | None = None
) -> Contributions:
    """Return the contributions to one term of a kernel on graphs; see `term_positions`."""
    graph = here.rows.graphs()[0]
    found = list(known.kernel.occurrences(graph) or ())
    return term_positions(Placed(graph, graph.n_nodes, found, _named), known, here, coefficients, places, weigh)


class Placed(NamedTuple):
    """An object of n nodes or atoms, its features with their places, and how features are named."""

    thing: Any
    n: int
    occurrences: list[Occurrence]
    name: Callable[[Occurrence], str]


def term_positions(
    placed: Placed, known: Summand, here: Summand, coefficients: Floats, places: Places, weigh: Weigh | None
) -> Contributions:
    """Return the contributions to one term of the kernel.

    `known` is the term on the training rows, `here` on the explained object, `coefficients` (n,) belong to the rows.
    """
    occurrences = placed.occurrences
    if not occurrences:  # too small to contain a feature
        return Contributions(placed.thing, np.zeros(placed.n), 0.0, ())
    number: dict[Hashable, int] = {}
    which = np.array([number.setdefault(one.feature, len(number)) for one in occurrences])
    weights = (weigh or projected_weights)(known, here, coefficients, list(number))
    parts = float(here.factor[0]) * np.array([one.weight for one in occurrences]) * weights[which]
    contributions = np.zeros(placed.n)
    for one, part in zip(occurrences, parts.tolist(), strict=True):
        contributions[list(one.positions)] += part / len(one.positions)
    names = [placed.name(occurrences[i]) for i in np.unique(which, return_index=True)[1]]
    for one, feature in zip(occurrences, which.tolist(), strict=True):
        places.add(names[feature], one.positions)
    totals, counts = np.bincount(which, parts), np.bincount(which)
    features = tuple(zip(names, totals.tolist(), weights.tolist(), counts.tolist(), strict=True))
    return Contributions(placed.thing, contributions, 0.0, features)


def _named(one: Occurrence) -> str:
    return str(one.feature)


def projected_weights(known: Summand, here: Summand, coefficients: Floats, wanted: list[Hashable]) -> Floats:
    """Return w_f = sum_i a_i g(x_i) phi_f(x_i) for the features of the explained graph."""
    features = known.kernel.features
    assert features is not None  # a kernel whose features have places has features
    alone = Rows(here.rows.data, here.rows.name)  # counts that were made with other objects have columns for theirs too
    mine = known.kernel.encode(alone)
    column = {name: i for i, name in enumerate(features.names(mine))}
    a, weights = coefficients * known.factor, np.zeros(len(column))
    for start in range(0, len(known.rows), CHUNK):
        rows = slice(start, min(start + CHUNK, len(known.rows)))
        theirs = projected(known.kernel.encode(known.rows.take(rows)), mine)
        weights += np.asarray(features.matrix(theirs, True).T @ a[rows]).ravel()
    return np.array([weights[column[feature]] for feature in wanted])


#: Nodes and features printed by default.
SHOWN = 10


@dataclass(frozen=True)
class SubgraphPart:
    """A feature of the explained graph: contribution, weight in the model, number of occurrences, and some places."""

    name: str
    contribution: float
    weight: float
    count: int
    places: tuple[tuple[int, ...], ...]  # the nodes of some of its occurrences


@dataclass(frozen=True, eq=False)
class GraphExplanation:
    """One decision as a sum: intercept + contributions.sum() == value.

    Attributes
    ----------
    graph : the Graph
    contributions : (n_nodes,) array, the contribution of each node
    value : the decision value; positive values support `label`
    intercept : the intercept of the model plus the constant terms of its kernel
    features : tuple of SubgraphPart, by size of contribution
    label : what was explained, such as "class 'mutagenic'"
    """

    graph: Graph
    contributions: Floats
    value: float
    intercept: float
    features: tuple[SubgraphPart, ...]
    label: str

    def top(self, n: int = SHOWN) -> tuple[SubgraphPart, ...]:
        """Return the n features with the largest contributions of either sign."""
        return self.features[:n]

    def __str__(self) -> str:
        lines = [self._head()]
        order = np.argsort(-np.abs(self.contributions), kind="stable")[:SHOWN].tolist()
        labels = self.graph.node_labels
        for v in order:
            name = f"node {v}" if labels is None else f"node {v} ({labels[v]})"
            lines.append(f"  {name:<14} {signed(float(self.contributions[v])):>9}")
        width = max((len(one.name) for one in self.top()), default=0)
        for one in self.top():
            lines.append(f"  {one.name:<{width}} {signed(one.contribution):>9} ({plural(one.count, 'time')})")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return self.html()

    def svg(self, width: int = 420) -> str:
        """Return a picture: nodes with positive contributions in blue, with negative ones in vermillion."""
        return picture(self.graph, self.contributions, width)

    def html(self) -> str:
        """Return HTML: the picture and a table of features."""
        rows = [(one.name, one.contribution, one.weight, one.count) for one in self.top()]
        return explanation_fragment(self._head(), self.svg(), "feature", rows)

    def _head(self) -> str:
        nodes = float(self.contributions.sum())
        return (
            f"{self.label}: decision {self.value:.3g} = {self.intercept:.3g} (intercept) {'-' if nodes < 0 else '+'} "
            f"{abs(nodes):.3g} ({plural(self.graph.n_nodes, 'node')})"
        )


#: Graphs with more nodes are drawn on a circle, because places by distances need memory of order n^2.
NODES_BY_DISTANCE = 600

#: Number of lines of a chemical bond, by its label.
LINES = {"=": 2, "#": 3, "2": 2, "3": 3}


def layout(graph: Graph, steps: int = 300) -> Floats:  # -> (n, 2)
    """Return places whose distances approximate those in the graph: stress majorization from classical scaling."""
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
    # equal eigenvalues can put nodes on top of each other: the circle separates them
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
    """Return lengths of shortest paths; unconnected nodes get a distance above the longest path."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import shortest_path

    u, v = graph.pairs.T
    A = csr_array((np.ones(len(u)), (u, v)), shape=(graph.n_nodes, graph.n_nodes))
    D = shortest_path(A, directed=False, unweighted=True)
    reached = D[np.isfinite(D)]
    D[~np.isfinite(D)] = reached.max(initial=0.0) + 1.5
    return np.asarray(D)


def bond_lines(label: Any) -> tuple[int, bool]:
    """Return the number of lines of an edge, and whether one of them is dashed (aromatic)."""
    return LINES.get(str(label), 2 if label == ":" else 1), label == ":"


def picture(graph: Graph, parts: Floats, width: int) -> str:
    """Return the graph as SVG: nodes colored by their contribution, which is also their tooltip."""
    if graph.n_nodes == 0:
        return standalone((), 10, 10)
    X = layout(graph)
    low, span = X.min(axis=0), np.maximum(np.ptp(X, axis=0), 1e-9)
    margin, radius = 22.0, 11 if graph.n_nodes <= 60 else 5
    scale = min((width - 2 * margin) / span[0], 60.0) if span[0] > 1e-6 else 60.0
    places = (X - low) * scale + margin
    bonds = graph.edge_labels if graph.edge_labels is not None else ("",) * graph.n_edges
    lines = [line for edge, label in zip(graph.edges, bonds, strict=True) for line in _bond(places, edge, label)]
    labels = graph.node_labels if graph.node_labels and radius > 6 else ("",) * graph.n_nodes
    largest = float(np.abs(parts).max(initial=0.0)) or 1.0
    nodes = [_node(places[v], float(parts[v]), largest, radius, v, str(labels[v])) for v in range(graph.n_nodes)]
    return standalone([*lines, *nodes], width, float(span[1] * scale + 2 * margin))


def _bond(places: Floats, edge: tuple[int, int], label: Any) -> Iterator[str]:
    a, b = places[edge[0]], places[edge[1]]
    count, dashed = bond_lines(label)
    across = np.array([a[1] - b[1], b[0] - a[0]]) / max(float(np.hypot(*(b - a))), 1e-9)
    for i in range(count):
        shift = across * 3.0 * (i - (count - 1) / 2.0)
        (x1, y1), (x2, y2) = (a + shift).tolist(), (b + shift).tolist()
        dashes = "4 3" if dashed and i else None
        yield element("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke="#777", stroke_width="1.4", stroke_dasharray=dashes)


def _node(place: Floats, part: float, largest: float, radius: int, number: int, label: str) -> str:
    x, y = place.tolist()
    ink = "#fff" if abs(part) / largest > 0.6 else "#000"
    return element(
        "g",
        element("title", text(f"node {number} {label}: {part:+.3g}"))
        + element("circle", cx=x, cy=y, r=radius, fill="#fff", stroke="#777")
        + element("circle", cx=x, cy=y, r=radius, fill=contribution_color(part, largest))
        + element("text", text(label), x=x, y=y + 4, text_anchor="middle", fill=ink),
    )
