"""The doors for graphs: networkx, adjacency matrices, lists of edges, molecules as SMILES."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.errors import InputError, describe
from mercer.inputs.graphs import Graph
from mercer.inputs.molecules import is_molecule, molecule_graph, read_molecule


def as_graph(value: Any, where: str) -> Graph:
    """Return the Graph behind one of the forms that kernels on graphs take; `where` names it in messages.

    A Graph; a networkx graph, whose attribute "label" counts; a pair (adjacency, node labels or None) with a square matrix;
    a list of edges, each a tuple of two node numbers; a pair (list of edges, node labels or None); a SMILES text; a molecule
    of RDKit.
    """
    if isinstance(value, Graph):
        return value
    if isinstance(value, str):
        return Graph(*molecule_graph(read_molecule(value, where))).with_smiles(value)
    if is_molecule(value):
        return Graph(*molecule_graph(value))
    if hasattr(value, "nodes") and hasattr(value, "edges") and hasattr(value, "is_directed"):
        return _from_networkx(value, where)
    if is_edge_list(value):
        return _from_edges(value, None, where)
    if isinstance(value, tuple) and len(value) == 2:
        if is_edge_list(value[0]):
            return _from_edges(value[0], value[1], where)
        if _is_matrix(value[0]):
            return _from_adjacency(value[0], value[1], where)
    raise InputError(
        f"{where} is {describe(value)}, not a graph. Give mercer.Graph(n_nodes, edges, …), a networkx graph, "
        "a list of edges such as [(0, 1), (1, 2)], a pair (adjacency matrix or list of edges, node labels or None), or "
        "a SMILES text."
    )


def is_edge_list(value: Any) -> bool:
    """Whether a value is a list of tuples of two numbers; rows of a matrix are lists, so that the two cannot be confused."""
    return (
        isinstance(value, list)
        and len(value) > 0
        and all(isinstance(edge, tuple) and len(edge) == 2 and not np.ndim(edge[0]) for edge in value)
        and not any(isinstance(node, (str, bytes)) for edge in value for node in edge)
    )


def _is_matrix(value: Any) -> bool:
    try:
        return bool(sp.issparse(value)) or np.ndim(value) == 2
    except ValueError:  # rows of different lengths
        return False


def _from_edges(edges: Any, labels: Any, where: str) -> Graph:
    """Nodes are 0 … the largest number that occurs, or as many as there are labels."""
    try:
        nodes = None if labels is None else list(labels)
        largest = max(max(edge) for edge in edges)
        return Graph(int(largest) + 1 if nodes is None else len(nodes), edges, nodes)
    except (InputError, TypeError) as error:
        raise InputError(f"{where}: {error}") from None


def _from_networkx(graph: Any, where: str) -> Graph:
    if graph.is_directed() or graph.is_multigraph():
        raise InputError(f"{where} is a directed or multi graph; give an undirected simple one (networkx.Graph(g)).")
    number = {node: i for i, node in enumerate(graph.nodes)}
    loop = next((u for u, v in graph.edges if u == v), None)
    if loop is not None:
        raise InputError(
            f"{where} has a loop at node {loop!r}; loops are not supported: "
            "g.remove_edges_from(list(networkx.selfloop_edges(g)))."
        )
    node_labels = [data.get("label") for _, data in graph.nodes(data=True)]
    triples = [(number[u], number[v], data.get("label")) for u, v, data in graph.edges(data=True)]
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
    matrix = sp.coo_array(adjacency)
    if matrix.shape[0] != matrix.shape[1]:
        raise InputError(f"{where}: the adjacency matrix must be square; got shape {matrix.shape}.")
    if matrix.dtype.kind not in "fiub" or not np.isfinite(matrix.data).all():
        raise InputError(f"{where}: the adjacency matrix must hold finite numbers.")
    matrix = sp.csr_array(matrix, dtype=np.float64)
    difference = abs(matrix - matrix.T)
    if difference.nnz and difference.max() > 0:
        raise InputError(f"{where}: the adjacency matrix is not symmetric; only undirected graphs are supported.")
    if matrix.diagonal().any():
        node = int(np.flatnonzero(matrix.diagonal())[0])
        raise InputError(
            f"{where}: the adjacency matrix has {matrix.diagonal()[node]:g} on its diagonal at node {node}; loops are not "
            "supported, set the diagonal to 0."
        )
    upper = sp.coo_array(sp.triu(matrix, k=1))
    kept = upper.data != 0
    try:
        nodes = None if labels is None else list(labels)
        return Graph(matrix.shape[0], np.stack([upper.row[kept], upper.col[kept]], axis=1), nodes)
    except (InputError, TypeError) as error:
        raise InputError(f"{where}: {error}") from None
