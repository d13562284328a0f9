"""Predictions on graphs taken apart: parts add up, a planted subgraph is found, pictures are drawn."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.kernels.graphs.random_graphs import random_graphs

import mercer
from mercer import (
    EdgeHistogram,
    Graph,
    Graphlet,
    RandomWalk,
    ShortestPath,
    Spectrum,
    VertexHistogram,
    WeisfeilerLehman,
    WLOptimalAssignment,
    explain,
)
from mercer.errors import CapabilityError, InputError

GRAPHS = [g for g in random_graphs(21, count=40, largest=9, labels="CNO", bonds="-=") if g.n_nodes]
y = np.array([float(g.n_edges) + (g.node_labels or ()).count("N") for g in GRAPHS])
KERNELS = [
    VertexHistogram(),
    EdgeHistogram() + 2.0 * VertexHistogram().normalized(),
    WeisfeilerLehman(3).normalized(),
    WeisfeilerLehman(2, edge_labels=True) + mercer.Constant(2.0),
    WLOptimalAssignment(2),
    ShortestPath().normalized(),
    Graphlet(3).normalized(),
    Graphlet(4, connected=True, presence=True),
    Graphlet(3, labeled=True),
    Graphlet(2, labeled=True, presence=True),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_parts_add_up_for_every_kernel(kernel: Any) -> None:
    model = mercer.KernelRidge(kernel, alpha=0.5).fit(GRAPHS[:25], y[:25])
    for graph in GRAPHS[25:]:
        found = explain(model, graph)
        assert found.graph == graph and found.contributions.shape == (graph.n_nodes,)
        assert abs(found.contributions.sum() + found.intercept - model.predict([graph])[0]) < 1e-8 * (1 + abs(found.value))
        total = sum(one.contribution for one in found.features)
        assert abs(total - found.contributions.sum()) < 1e-8 * (1 + abs(found.value))
        assert found.label in str(found)


@pytest.mark.parametrize("model", [mercer.SVC(WeisfeilerLehman(2)), mercer.KernelRidgeClassifier(ShortestPath(), alpha=1.0)])
def test_classifiers(model: Any) -> None:
    model.fit(GRAPHS, np.where(y > np.median(y), "many", "few"))
    found = explain(model, GRAPHS[7], target="many")
    assert abs(found.value - model.decision_function([GRAPHS[7]])[0]) < 1e-8
    assert found.label == "class 'many'"


def test_a_planted_ring_is_found() -> None:
    """Trees with and without a triangle: the nodes of the triangle speak for it."""
    rng = np.random.default_rng(0)

    def tree(n: int) -> list[tuple[int, int]]:
        return [(int(rng.integers(0, v)), v) for v in range(1, n)]

    plain = [Graph(12, tree(12)) for _ in range(30)]
    ringed = [Graph(14, [*tree(12), (3, 12), (12, 13), (3, 13)]) for _ in range(30)]
    model = mercer.SVC(Graphlet(3, connected=True).normalized(), C=100.0).fit(plain + ringed, [0] * 30 + [1] * 30)
    found = explain(model, ringed[0])
    ring = next(one for one in found.features if one.name == "triangle")
    assert ring.places == ((3, 12, 13),) and ring.contribution > 0
    assert {12, 13} <= set(np.argsort(-found.contributions)[:3].tolist())


def test_pictures(tmp_path: Path) -> None:
    odd = Graph(3, [(0, 1)], ["<a>", "b & c", None], ["="])
    model = mercer.KernelRidge(VertexHistogram(), alpha=0.1).fit([odd, Graph(1, [], ["b & c"])], [1.0, -1.0])
    found = explain(model, odd)
    ElementTree.fromstring(found.svg())
    assert "<a>" not in found.html() and "&lt;a&gt;" in found.html() and found._repr_html_() == found.html()
    assert explain(model, Graph(0)).svg().startswith("<svg")
    large = Graph(700, [(0, v) for v in range(1, 700)], ["b & c"] * 700)
    ElementTree.fromstring(explain(model, large).svg())

    from mercer.report.graphs import AtlasDisplay, GraphDisplay

    GraphDisplay.from_explanation(found).figure_.savefig(tmp_path / "graph.png")
    AtlasDisplay(3, connected=True).plot().figure_.savefig(tmp_path / "atlas.png")
    assert (tmp_path / "graph.png").stat().st_size > 1000


def test_molecules_and_tables() -> None:
    pytest.importorskip("rdkit")
    import pandas as pd

    frame = pd.DataFrame({"smiles": ["CCO", "CCN", "c1ccccc1", "CO"], "mass": [46.0, 45.0, 78.0, 32.0]})
    model = mercer.KernelRidge(WeisfeilerLehman(1).on("smiles"), alpha=0.1).fit(frame, [1.0, 2.0, 3.0, 1.0])
    found = explain(model, frame.iloc[[2]])
    assert found.graph.node_labels == ("c",) * 6 and abs(found.value - model.predict(frame)[2]) < 1e-10


def test_refusals() -> None:
    model = mercer.KernelRidge(RandomWalk(), alpha=1.0).fit(GRAPHS, y)
    with pytest.raises(CapabilityError, match=r"RandomWalk.*has no features with a name and a position"):
        explain(model, GRAPHS[0])
    model = mercer.KernelRidge(Graphlet(5), alpha=1.0).fit(GRAPHS, y)
    with pytest.raises(CapabilityError, match="a graph of 400 nodes has 83218600080 sets of 5 nodes"):
        explain(model, Graph(400))
    pytest.importorskip("rdkit")
    both = mercer.KernelRidge(Spectrum(1) + VertexHistogram(), alpha=1.0).fit(["CC", "CO"], [1.0, 2.0])
    with pytest.raises(InputError, match="is about another object"):
        explain(both, "CC")
