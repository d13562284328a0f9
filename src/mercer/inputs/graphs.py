"""The graph value and the doors that turn other libraries' graphs into it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.errors import InputError, describe


@dataclass(frozen=True)
class Graph:
    """An undirected graph with optional labels, as an immutable value.

    Nodes are 0 … n_nodes - 1. Each edge is a pair of two different nodes; its direction and repetition do not matter
    (edges are stored once, smaller node first, sorted). Labels are any hashable values.

    >>> Graph(3, [(0, 1), (2, 1), (1, 0)]).edges
    ((0, 1), (1, 2))
    >>> Graph(2, [(0, 1)], node_labels="CO") == Graph(2, [(1, 0)], node_labels=["C", "O"])
    True
    """

    n_nodes: int
    edges: tuple[tuple[int, int], ...] = ()
    node_labels: tuple[Hashable, ...] | None = None
    edge_labels: tuple[Hashable, ...] | None = None

    def __init__(
        self,
        n_nodes: int,
        edges: Iterable[Sequence[int]] = (),
        node_labels: Iterable[Hashable] | None = None,
        edge_labels: Iterable[Hashable] | None = None,
    ) -> None:
        count = _node_count(n_nodes)
        pairs = [_edge(edge, count) for edge in edges]
        labels = None if edge_labels is None else tuple(edge_labels)
        if labels is not None and len(labels) != len(pairs):
            raise InputError(f"Graph: edge_labels has {len(labels)} entries for {len(pairs)} edges; give one per edge.")
        merged: dict[tuple[int, int], Hashable] = {}
        for position, pair in enumerate(pairs):
            label = None if labels is None else labels[position]
            if pair in merged and merged[pair] != label:
                raise InputError(f"Graph: edge {pair} comes twice with labels {merged[pair]!r} and {label!r}.")
            merged[pair] = label
        kept = sorted(merged)
        nodes = None if node_labels is None else tuple(node_labels)
        if nodes is not None and len(nodes) != count:
            raise InputError(f"Graph: node_labels has {len(nodes)} entries for {count} nodes; give one per node.")
        for word, values in (("node_labels", nodes), ("edge_labels", labels)):
            _check_hashable(values, word)
        object.__setattr__(self, "n_nodes", count)
        object.__setattr__(self, "edges", tuple(kept))
        object.__setattr__(self, "node_labels", nodes)
        object.__setattr__(self, "edge_labels", None if labels is None else tuple(merged[pair] for pair in kept))


def as_graph(value: Any, where: str) -> Graph:
    """Return the Graph behind a Graph, a networkx graph, or a pair (adjacency, labels)."""
    if isinstance(value, Graph):
        return value
    if hasattr(value, "nodes") and hasattr(value, "edges") and hasattr(value, "is_directed"):
        return _from_networkx(value, where)
    if isinstance(value, tuple) and len(value) == 2 and _is_matrix(value[0]):
        return _from_adjacency(value[0], value[1], where)
    raise InputError(
        f"{where} is {describe(value)}, not a graph. Give mercer.Graph(n_nodes, edges, …), a networkx graph, "
        "or a pair (adjacency matrix, node labels or None)."
    )


def _is_matrix(value: Any) -> bool:
    try:
        return bool(sp.issparse(value)) or np.ndim(value) == 2
    except ValueError:  # rows of different lengths
        return False


def _node_count(n_nodes: Any) -> int:
    if isinstance(n_nodes, bool) or not isinstance(n_nodes, (int, np.integer)) or n_nodes < 0:
        raise InputError(f"Graph: n_nodes must be a whole number >= 0; got {n_nodes!r}.")
    return int(n_nodes)


def _check_hashable(labels: tuple[Any, ...] | None, word: str) -> None:
    try:
        hash(labels)
    except TypeError:
        raise InputError(f"Graph: {word} must be hashable values, such as strings or tuples; got {labels!r}.") from None


def _edge(edge: Sequence[int], count: int) -> tuple[int, int]:
    try:
        u, v = (int(node) for node in edge)
        whole = [u, v] == list(edge)
    except (TypeError, ValueError):
        raise InputError(f"Graph: an edge is a pair of node numbers; got {edge!r}.") from None
    if not whole:
        raise InputError(f"Graph: an edge is a pair of whole node numbers; got {edge!r}.")
    if not (0 <= u < count and 0 <= v < count):
        raise InputError(f"Graph: edge {edge!r} names a node outside 0 … {count - 1}.")
    if u == v:
        raise InputError(f"Graph: edge {edge!r} is a loop; loops are not supported, remove it.")
    return (u, v) if u < v else (v, u)


def _from_networkx(graph: Any, where: str) -> Graph:
    if graph.is_directed() or graph.is_multigraph():
        raise InputError(f"{where} is a directed or multi graph; give an undirected simple one (networkx.Graph(g)).")
    number = {node: i for i, node in enumerate(graph.nodes)}
    node_labels = [data.get("label") for _, data in graph.nodes(data=True)]
    triples = [(number[u], number[v], data.get("label")) for u, v, data in graph.edges(data=True) if u != v]
    return Graph(
        len(number),
        [(u, v) for u, v, _ in triples],
        _all_or_none(node_labels, f"{where}: node labels"),
        _all_or_none([label for _, _, label in triples], f"{where}: edge labels"),
    )


def _all_or_none(labels: list[Any], where: str) -> list[Any] | None:
    missing = sum(label is None for label in labels)
    if missing == len(labels):
        return None
    if missing:
        raise InputError(f"{where}: {missing} of {len(labels)} are missing; label all or none (attribute 'label').")
    return labels


def _from_adjacency(adjacency: Any, labels: Any, where: str) -> Graph:
    matrix = sp.coo_matrix(adjacency)
    if matrix.shape[0] != matrix.shape[1]:
        raise InputError(f"{where}: the adjacency matrix must be square; got shape {matrix.shape}.")
    if matrix.dtype.kind not in "fiub" or not np.isfinite(matrix.data).all():
        raise InputError(f"{where}: the adjacency matrix must hold finite numbers.")
    dense_difference = abs(matrix - matrix.T)
    if dense_difference.nnz and dense_difference.max() > 0:
        raise InputError(f"{where}: the adjacency matrix is not symmetric; only undirected graphs are supported.")
    upper = sp.triu(matrix, k=1).tocoo()
    edges = [(int(u), int(v)) for u, v, w in zip(upper.row, upper.col, upper.data, strict=True) if w != 0]
    return Graph(matrix.shape[0], edges, None if labels is None else list(labels))
