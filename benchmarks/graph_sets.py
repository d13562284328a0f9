"""The real graph sets as mercer's graphs, as GraKeL's, and their classes."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@cache
def record(name: str, folder: Path = DATA) -> dict[str, Any]:
    """The file of a set."""
    with gzip.open(folder / f"graph_{name}.json.gz") as file:
        found: dict[str, Any] = json.load(file)
    return found


def load(name: str, folder: Path = DATA, edge_labels: bool = False) -> tuple[list[Any], NDArray[np.int64]]:
    """mercer's graphs of a set, and the class of each."""
    from mercer import Graph

    found = record(name, folder)
    nodes = found.get("node_labels") or [None] * len(found["n_nodes"])
    bonds = (found.get("edge_labels") if edge_labels else None) or [None] * len(nodes)
    rows = zip(found["n_nodes"], found["edges"], nodes, bonds, strict=True)
    graphs = [Graph(n, np.array(edges, dtype=np.int64).reshape(-1, 2), a, b) for n, edges, a, b in rows]
    return graphs, np.array(found["graph_labels"])


def grakel_graphs(graphs: list[Any]) -> list[Any]:
    """The same graphs as GraKeL reads them; to be made anew for every run, since GraKeL stores results in them."""
    import grakel

    out = []
    for graph in graphs:
        labels = graph.node_labels if graph.node_labels is not None else (0,) * graph.n_nodes
        # of a dictionary of edges GraKeL takes the nodes from the edges: isolated ones need dictionaries by node
        around: dict[int, dict[int, float]] = {v: {} for v in range(graph.n_nodes)}
        for u, v in graph.edges:
            around[u][v] = around[v][u] = 1.0
        out.append(grakel.Graph(around, node_labels=dict(enumerate(labels))))
    return out
