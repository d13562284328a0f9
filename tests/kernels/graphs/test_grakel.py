"""Equal to GraKeL's matrices where definitions agree; the differences are stated."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mercer
from benchmarks.graph_sets import grakel_graphs, load
from mercer.testing.naive import subgraphs

pytest.importorskip("grakel")


@pytest.fixture(scope="module")
def molecules(shared_data: Path) -> list[Any]:
    return load("MUTAG", shared_data)[0][:60] + load("PTC_MR", shared_data)[0][:60]


def theirs(kernel: Any, graphs: list[Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return kernel.fit_transform(grakel_graphs(graphs))


@pytest.mark.parametrize("h", [0, 2, 5])
def test_weisfeiler_lehman(molecules: list[Any], h: int) -> None:
    from grakel.kernels import VertexHistogram, WeisfeilerLehman

    if h:
        kernel = WeisfeilerLehman(n_iter=h, base_graph_kernel=VertexHistogram)  # h + 1 levels, as here
    else:
        kernel = VertexHistogram()
    np.testing.assert_array_equal(theirs(kernel, molecules), mercer.WeisfeilerLehman(h)(molecules))


def test_optimal_assignment_and_shortest_paths(molecules: list[Any]) -> None:
    from grakel.kernels import ShortestPath, WeisfeilerLehmanOptimalAssignment

    few = molecules[::3]
    assigned = theirs(WeisfeilerLehmanOptimalAssignment(n_iter=3), few)
    np.testing.assert_array_equal(assigned, mercer.WLOptimalAssignment(3)(few))
    np.testing.assert_array_equal(theirs(ShortestPath(with_labels=True), few), mercer.ShortestPath()(few))


def test_graphlets_where_grakel_finds_them_all(molecules: list[Any]) -> None:
    """GraKeL 0.1.11 misses sets in some graphs, and counts one too many of each class that an earlier graph has."""
    from grakel.kernels import GraphletSampling
    from grakel.kernels.graphlet_sampling import sample_graphlets_all_connected

    few = molecules[::4]
    phi = mercer.Graphlet(3, connected=True).feature_map(few)
    adjacency = [(graph.get_adjacency_matrix() > 0).astype(int) for graph in grakel_graphs(few)]
    found = np.array([sum(1 for _ in sample_graphlets_all_connected(A, 3)) for A in adjacency])
    assert (found <= phi.sum(axis=1)).all()
    assert phi.sum(axis=1).tolist() == [float(sum(subgraphs(g, 3, True).values())) for g in few]  # ours is all of them
    whole = np.flatnonzero(found == phi.sum(axis=1))
    assert len(whole) > 10
    chosen, counts = [few[i] for i in whole], phi[whole]
    earlier = np.cumsum(counts > 0, axis=0) > 1
    counts = counts + ((counts > 0) & earlier)
    np.testing.assert_array_equal(theirs(GraphletSampling(k=3, sampling=None), chosen), counts @ counts.T)
