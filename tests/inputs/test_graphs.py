"""The graph value."""

from __future__ import annotations

import pickle
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from mercer import Graph
from mercer.errors import InputError
from mercer.inputs import as_graph


def test_edges_are_stored_once_smaller_node_first_and_sorted() -> None:
    assert Graph(4, [(3, 1), (1, 3), (0, 2)]).edges == ((0, 2), (1, 3))
    assert Graph(3, np.array([[0, 1], [2, 1]])).edges == ((0, 1), (1, 2))


def test_equal_by_content_and_hashable() -> None:
    first = Graph(2, [(0, 1)], node_labels="CO", edge_labels=["single"])
    second = Graph(2, [(1, 0)], node_labels=["C", "O"], edge_labels=("single",))
    assert first == second
    assert hash(first) == hash(second)
    assert first != Graph(2, [(0, 1)], node_labels="CC", edge_labels=["single"])
    assert pickle.loads(pickle.dumps(first)) == first
    with pytest.raises(AttributeError):
        first.n_nodes = 3


def test_edge_labels_follow_their_edges() -> None:
    graph = Graph(3, [(2, 1), (1, 0)], edge_labels=["double", "single"])
    assert graph.edges == ((0, 1), (1, 2))
    assert graph.edge_labels == ("single", "double")
    assert Graph(2, [(0, 1), (1, 0)], edge_labels=["a", "a"]).edge_labels == ("a",)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"n_nodes": -1}, "whole number >= 0"),
        ({"n_nodes": 1.5}, "whole number >= 0"),
        ({"n_nodes": True}, "whole number >= 0"),
        ({"n_nodes": 2, "edges": [(0, 2)]}, "outside 0 … 1"),
        ({"n_nodes": 2, "edges": [(-1, 0)]}, "outside 0 … 1"),
        ({"n_nodes": 2, "edges": [(1, 1)]}, "loop"),
        ({"n_nodes": 2, "edges": [(0, 0.5)]}, "whole node numbers"),
        ({"n_nodes": 2, "edges": [("0", "1")]}, "whole node numbers"),
        ({"n_nodes": 2, "edges": [(0, 1, 1)]}, "pair of node numbers"),
        ({"n_nodes": 2, "edges": [0]}, "pair of node numbers"),
        ({"n_nodes": 2, "node_labels": "abc"}, "3 entries for 2 nodes"),
        ({"n_nodes": 2, "edges": [(0, 1)], "edge_labels": []}, "0 entries for 1 edge"),
        ({"n_nodes": 2, "edges": [(0, 1), (1, 0)], "edge_labels": "ab"}, "comes twice with labels 'a' and 'b'"),
        ({"n_nodes": 1, "node_labels": [["C"]]}, "node_labels must be hashable"),
        ({"n_nodes": 2, "edges": [(0, 1)], "edge_labels": [{}]}, "edge_labels must be hashable"),
    ],
)
def test_what_is_refused(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        Graph(**arguments)


def test_networkx_with_labels_on_all_or_none() -> None:
    graph = nx.Graph()
    graph.add_node("u", label="C")
    graph.add_node("v", label="O")
    graph.add_edge("u", "v", label=2)
    assert as_graph(graph, "X[0]") == Graph(2, [(0, 1)], "CO", [2])
    graph.add_node("w")
    with pytest.raises(InputError, match=r"X\[0\]: node labels: 1 of 3 are missing; label all or none"):
        as_graph(graph, "X[0]")


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array, lambda A: A.tolist(), lambda A: A.astype(bool)])
def test_adjacency_matrices(make: Any) -> None:
    A = np.array([[0, 1, 0], [1, 0, 2], [0, 2, 0]])
    assert as_graph((make(A), "abc"), "X[0]") == Graph(3, [(0, 1), (1, 2)], "abc")
    assert as_graph((make(A), None), "X[0]").node_labels is None
