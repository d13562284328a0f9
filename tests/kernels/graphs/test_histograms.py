"""The vertex histogram on graphs from every door."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from mercer import Graph, VertexHistogram
from mercer.errors import InputError

WATER, METHANE = Graph(3, [(0, 1), (0, 2)], node_labels="OHH"), Graph(5, node_labels="CHHHH")


def labeled(labels: str) -> nx.Graph:
    graph = nx.path_graph(len(labels))
    nx.set_node_attributes(graph, dict(enumerate(labels)), "label")
    return graph


def test_values_by_hand() -> None:
    assert VertexHistogram()([WATER, METHANE]).tolist() == [[5, 8], [8, 17]]
    assert VertexHistogram()([Graph(2), Graph(3), Graph(0)]).tolist() == [[4, 6, 0], [6, 9, 0], [0, 0, 0]]


def test_every_door() -> None:
    pair = (np.array([[0, 1, 1], [1, 0, 0], [1, 0, 0]]), ["O", "H", "H"])
    sparse = (sp.csr_array(pair[0]), "OHH")
    assert (VertexHistogram()([WATER, labeled("OHH"), pair, sparse]) == 5).all()
    assert VertexHistogram()([nx.path_graph(4)]).tolist() == [[16]]
    assert VertexHistogram()([(np.zeros((2, 2)), None)]).tolist() == [[4]]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ([WATER, Graph(2)], "1 of 2 graphs have node labels; label all of them or none"),
        ([1, 2], r"X\[0\] is int 1, not a graph"),
        (["CCO", "C1CC"], r"X\[1\]: 'C1CC' is not a valid SMILES"),
        ([""], r"X\[0\]: '' is not a valid SMILES"),
        (WATER, "not a collection"),
        ([None], "not a graph"),
        ([nx.DiGraph()], "directed"),
        ([nx.MultiGraph()], "multi"),
        ([(np.ones((2, 3)), None)], "square"),
        ([(np.triu(np.ones((2, 2))), None)], "not symmetric"),
        ([(np.full((2, 2), np.nan), None)], "finite numbers"),
        ([([[1, 2], [3]], None)], "not a graph"),
        ([(np.zeros((2, 2)), "abc")], "3 entries for 2 nodes"),
        (np.ones((2, 2)), "takes a list of graphs"),
    ],
)
def test_what_is_no_collection_of_graphs(data: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        VertexHistogram()(data)


def test_labeled_against_unlabeled_graphs_are_refused() -> None:
    plain = [Graph(3, [(0, 1)]), Graph(2)]
    for X, Z in (([WATER, METHANE], plain), (plain, [WATER])):
        with pytest.raises(InputError, match="have node labels, those of the other have none; label all"):
            VertexHistogram()(X, Z)
        with pytest.raises(InputError, match="label all"):
            (VertexHistogram() + 2.0 * VertexHistogram().normalized())(X, Z)
    # graphs without nodes are neither, and None is a label like any other
    assert VertexHistogram()([WATER], [Graph(0)]).tolist() == [[0.0]]
    assert VertexHistogram()([WATER], [Graph(2, node_labels=[None, "H"])]).tolist() == [[2.0]]
