"""What `explain` returns for graphs: numbers for programs, a table for a terminal, a colored picture for a notebook."""

from __future__ import annotations

import html
from dataclasses import dataclass

import numpy as np

from mercer.arrays import Floats
from mercer.explanations.graph_picture import picture
from mercer.explanations.highlight import signed
from mercer.inputs import Graph

#: How many nodes and features are printed unless asked otherwise.
SHOWN = 10


@dataclass(frozen=True)
class SubgraphPart:
    """A feature of the explained graph: its part of the decision, its weight in the model, how often and where it occurs."""

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
    contributions : (n_nodes,) array, what each node adds
    value : the decision value; positive speaks for `label`
    intercept : what no node adds: the intercept of the model and constant terms of its kernel
    features : tuple of SubgraphPart, by the size of what they add
    label : what was explained, such as "class 'mutagenic'"
    """

    graph: Graph
    contributions: Floats
    value: float
    intercept: float
    features: tuple[SubgraphPart, ...]
    label: str

    def top(self, n: int = SHOWN) -> tuple[SubgraphPart, ...]:
        """The n features that add most, for or against."""
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
            times = "time" if one.count == 1 else "times"
            lines.append(f"  {one.name:<{width}} {signed(one.contribution):>9} ({one.count} {times})")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return self.html()

    def svg(self, width: int = 420) -> str:
        """A picture: nodes in blue speak for it, in vermillion against it, the stronger the more they add."""
        return picture(self.graph, self.contributions, width)

    def html(self) -> str:
        """The picture and a table of features."""
        rows = "".join(
            f"<tr><td><code>{html.escape(one.name)}</code></td>"
            + "".join(
                f"<td style='text-align:right'>{cell}</td>"
                for cell in (signed(one.contribution), signed(one.weight), str(one.count))
            )
            + "</tr>"
            for one in self.top()
        )
        head = "<th style='text-align:left'>feature</th><th>adds</th><th>weight</th><th>times</th>"
        return (
            f"<div class='mercer-explanation'><p>{html.escape(self._head())}</p>{self.svg()}"
            f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
        )

    def _head(self) -> str:
        nodes = float(self.contributions.sum())
        return (
            f"{self.label}: decision {self.value:.3g} = {self.intercept:.3g} (intercept) {'-' if nodes < 0 else '+'} "
            f"{abs(nodes):.3g} ({self.graph.n_nodes} nodes)"
        )
