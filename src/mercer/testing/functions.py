"""Functions for `.map` and `.weighted` in random kernels: each on a collection, and beside it the same on one object.

They live at the top of a module so that kernels made from them can be pickled.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Array
from mercer.inputs import Graph


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
