"""Lists of edges, molecules, folders in the TU format; what is wrong with each is said."""

from __future__ import annotations

import builtins
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import mercer
from mercer import Graph, Graphlet, ShortestPath, VertexHistogram, WeisfeilerLehman, read_tu
from mercer.errors import InputError, MissingExtraError
from mercer.inputs import as_graph

PATH = Graph(3, [(0, 1), (1, 2)])


def test_lists_of_edges() -> None:
    assert as_graph([(0, 1), (2, 1), (1, 0)], "X[0]") == PATH
    assert as_graph(([(0, 1), (1, 2)], "COC"), "X[0]") == Graph(3, [(0, 1), (1, 2)], "COC")
    assert as_graph(([(0, 1)], "COC"), "X[0]") == Graph(3, [(0, 1)], "COC")  # as many nodes as labels
    assert as_graph(([(np.int64(0), np.int64(1))], None), "X[0]") == Graph(2, [(0, 1)])
    assert as_graph(([[0, 1], [1, 0]], None), "X[0]") == Graph(2, [(0, 1)])  # lists of lists are matrices
    assert Graphlet(2)([[(0, 1), (1, 2)], PATH]).tolist() == [[5.0, 5.0], [5.0, 5.0]]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([(0, 0)], r"X\[0\]: Graph: edge \(0, 0\) is a loop"),
        ([(0, -1)], r"X\[0\]: Graph: edge .* outside"),
        ([(0, 0.5)], "whole node numbers"),
        (([(0, 5)], "ab"), r"X\[0\]: Graph: edge \(0, 5\) names a node outside 0 … 1"),
        (([(0, 1)], 3), r"X\[0\]: .*int"),
        ([("a", "b")], "not a graph"),
        ([], "not a graph"),
        ((np.eye(2), None), "1 on its diagonal at node 0; loops are not supported"),
        ((np.array([[0, 1], [0, 0]]), None), "not symmetric; only undirected"),
        ((np.zeros((3, 3)), "ab"), r"X\[0\]: Graph: node_labels has 2 entries for 3 nodes"),
        (nx.Graph([(0, 0)]), "has a loop at node 0"),
        (nx.DiGraph([(0, 1)]), "directed"),
    ],
)
def test_what_is_no_graph(value: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        as_graph(value, "X[0]")


def test_no_graphs_at_all() -> None:
    for kernel in (WeisfeilerLehman(), ShortestPath(), Graphlet(3)):
        with pytest.raises(InputError, match="empty"):
            kernel([])


def test_graphs_are_compact_values() -> None:
    graph = Graph(3, np.array([[2, 1], [0, 1]]), "COC", ["=", "-"])
    assert graph.pairs.dtype == np.int32 and graph.pairs.tolist() == [[0, 1], [1, 2]]
    assert graph.node_vocabulary == ("C", "O") and graph.edge_labels == ("-", "=") and graph.n_edges == 2
    with pytest.raises(ValueError, match="read-only"):
        graph.pairs[0] = 0
    with pytest.raises(AttributeError, match="a graph is a value"):
        del graph.n_nodes
    assert eval(repr(graph)) == graph
    assert graph != "COC"


# -- molecules ----------------------------------------------------------------------------------------------------------


def test_molecules() -> None:
    pytest.importorskip("rdkit")
    assert Graph.from_smiles("C=O") == Graph(2, [(0, 1)], ["C", "O"], ["="])
    nitro = Graph.from_smiles("C[N+](=O)[O-]")
    assert nitro.node_labels == ("C", "N+", "O", "O-") and nitro.edge_labels == ("-", "=", "-")
    assert Graph.from_smiles("c1ccccc1").edge_labels == (":",) * 6
    assert Graph.from_smiles("C", hydrogens=True).node_labels == ("C", "H", "H", "H", "H")
    assert Graph.from_smiles("C1CC1", rich=True).node_labels == ("C H2 ring",) * 3
    left, right = (Graph.from_smiles(text, rich=True) for text in ("C[C@H](N)O", "C[C@@H](N)O"))
    assert {left.node_labels[1], right.node_labels[1]} == {"C H1 R", "C H1 S"}
    near, far = (Graph.from_smiles(text, rich=True) for text in (r"F/C=C\F", "F/C=C/F"))
    assert near.edge_labels != far.edge_labels and Graph.from_smiles(r"F/C=C\F") == Graph.from_smiles("F/C=C/F")
    assert as_graph("CCO", "X[0]") == Graph.from_smiles("OCC") or VertexHistogram()(["CCO"], ["OCC"])[0, 0] == 5.0
    with pytest.raises(InputError, match="takes a SMILES text"):
        Graph.from_smiles(3)
    with pytest.raises(InputError, match=r"X\[2\]: 'C1CC' is not a valid SMILES"):
        WeisfeilerLehman(2)(["CCO", "C", "C1CC"])


def test_a_column_of_molecules_in_a_table() -> None:
    pytest.importorskip("rdkit")
    frame = pd.DataFrame({"smiles": ["CCO", "CCN", "c1ccccc1", "CO"], "mass": [46.0, 45.0, 78.0, 32.0]})
    kernel = WeisfeilerLehman(3).on("smiles").normalized() * mercer.Gaussian(20.0).on("mass")
    expected = WeisfeilerLehman(3).normalized()(list(frame["smiles"])) * mercer.Gaussian(20.0)(frame[["mass"]])
    np.testing.assert_allclose(kernel(frame), expected)
    model = mercer.KernelRidge(kernel, alpha=0.1).fit(frame, [1.0, 2.0, 3.0, 1.5])
    assert model.predict(frame).shape == (4,)
    with pytest.raises(InputError, match=r"X\[smiles\]\[1\]: 'xx' is not a valid SMILES|'xx' is not a valid SMILES"):
        kernel(pd.DataFrame({"smiles": ["CCO", "xx"], "mass": [1.0, 2.0]}))


def test_missing_rdkit_is_said_kindly(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name.startswith("rdkit"):
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[graphs\]"):
        Graph.from_smiles("C")


# -- the TU format ------------------------------------------------------------------------------------------------------

FILES = {
    "A": "1, 2\n2, 1\n2,3\n3,2\n5, 4\n4, 5\n",
    "graph_indicator": "1\n1\n1\n2\n2\n3\n",
    "graph_labels": "1\n-1\n1\n",
    "node_labels": "7\n8\n7\n0\n1\n2\n",
    "edge_labels": "0\n0\n1\n1\n2\n2\n",
}


def write(folder: Path, **changed: str | None) -> Path:
    for name, text in {**FILES, **changed}.items():
        if text is not None:
            (folder / f"TINY_{name}.txt").write_text(text, encoding="utf-8")
    return folder


def test_read_tu(tmp_path: Path) -> None:
    graphs, labels = read_tu(write(tmp_path))
    assert graphs == [
        Graph(3, [(0, 1), (1, 2)], [7, 8, 7], [0, 1]),
        Graph(2, [(0, 1)], [0, 1], [2]),
        Graph(1, [], [2], []),
    ]
    assert labels is not None and labels.tolist() == [1, -1, 1]


def test_read_tu_without_labels_and_with_targets(tmp_path: Path) -> None:
    folder = write(tmp_path, node_labels=None, edge_labels=None, graph_labels=None, graph_attributes="0.5\n1.5\n2\n")
    found = read_tu(str(folder))
    assert found.graphs[0] == PATH and found.labels is not None and found.labels.tolist() == [0.5, 1.5, 2.0]
    (folder / "TINY_graph_attributes.txt").unlink()
    assert read_tu(folder).labels is None


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"A": "1, 2\n1, 9\n"}, "A.txt: line 2 names a node outside 1 … 6"),
        ({"A": "1, 4\n", "edge_labels": None}, "line 1 joins nodes of two graphs"),
        ({"A": "1, 2\n1; 2\n"}, "A.txt: line 2 must hold 2 whole number"),
        ({"A": "1, 1\n", "edge_labels": None}, "graph 1 of .*loop"),
        ({"A": None}, "A.txt is missing"),
        ({"graph_indicator": "1\n2\n1\n"}, "must count graphs from 1, in order"),
        ({"graph_indicator": "0\n1\n"}, "must count graphs from 1, in order"),
        ({"node_labels": "1\n2\n"}, "node_labels.txt has 2 lines for 6 nodes"),
        ({"edge_labels": "1\n"}, "edge_labels.txt has 1 lines for 6 edges"),
        ({"graph_labels": "1\n"}, "graph_labels.txt has 1 lines for 3 graphs"),
        ({"graph_indicator": None}, "one file NAME_graph_indicator.txt; there is 0 files"),
    ],
)
def test_what_is_wrong_with_a_folder(tmp_path: Path, changed: dict[str, str | None], words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_tu(write(tmp_path, **changed))
    with pytest.raises(InputError, match="no such folder"):
        read_tu(tmp_path / "nowhere")
