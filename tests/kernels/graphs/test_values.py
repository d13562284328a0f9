"""Every kernel on graphs equals its definition, on hundreds of random graphs."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from tests.kernels.graphs.random_graphs import random_graphs, shuffled

import mercer
from mercer import (
    EdgeHistogram,
    Graph,
    Graphlet,
    RandomWalk,
    ShortestPath,
    VertexHistogram,
    WeisfeilerLehman,
    WLOptimalAssignment,
)
from mercer.kernels.base import Kernel
from mercer.testing import check_kernel, naive
from mercer.testing import naive as twins

OPTIONS = [
    {"p": p, "connected": connected, "presence": presence}
    for p in (2, 3, 4, 5)
    for connected in (False, True)
    for presence in (False, True)
]
CASES: list[tuple[Kernel, naive.Twin]] = [
    (VertexHistogram(), naive.vertex_histogram),
    (EdgeHistogram(), twins.edge_histogram),
    *[(WeisfeilerLehman(h), partial(twins.weisfeiler_lehman, iterations=h)) for h in (0, 1, 3)],
    (WeisfeilerLehman(2, edge_labels=True), partial(twins.weisfeiler_lehman, iterations=2, edge_labels=True)),
    *[(WLOptimalAssignment(h), partial(twins.wl_optimal_assignment, iterations=h)) for h in (0, 2)],
    (ShortestPath(), twins.shortest_path),
    *[(Graphlet(**one), partial(twins.graphlet, **one)) for one in OPTIONS],
    *[
        (Graphlet(p, connected=c, labeled=True), partial(twins.graphlet, p=p, connected=c, labeled=True))
        for p in (2, 3)
        for c in (False, True)
    ],
    (RandomWalk(), twins.random_walk),
    (RandomWalk(0.7, steps=3), partial(twins.random_walk, decay=0.7, steps=3)),
]
IDS = [str(kernel) for kernel, _ in CASES]
DEGREE: list[tuple[Kernel, naive.Twin]] = [
    (WeisfeilerLehman(2, unlabeled="degree"), partial(twins.weisfeiler_lehman, iterations=2, unlabeled="degree")),
    (ShortestPath(unlabeled="degree"), partial(twins.shortest_path, unlabeled="degree")),
    (RandomWalk(unlabeled="degree"), partial(twins.random_walk, unlabeled="degree")),
]


def expected(graphs: list[Graph], twin: naive.Twin) -> Any:
    return [[twin(g, h) for h in graphs] for g in graphs]


@pytest.mark.parametrize(("kernel", "twin"), CASES, ids=IDS)
@pytest.mark.parametrize("labels", [None, "CNO"])
def test_equal_to_the_definition(kernel: Kernel, twin: naive.Twin, labels: str | None) -> None:
    deep = isinstance(kernel, Graphlet) and kernel.p > 3
    graphs = random_graphs(3, count=14 if deep else 24, largest=7 if deep else 9, labels=labels, bonds=labels)
    np.testing.assert_allclose(kernel(graphs), expected(graphs, twin), rtol=1e-12)


@pytest.mark.parametrize(("kernel", "twin"), DEGREE, ids=[str(kernel) for kernel, _ in DEGREE])
def test_degrees_as_labels(kernel: Kernel, twin: naive.Twin) -> None:
    graphs = random_graphs(4, count=20)
    np.testing.assert_allclose(kernel(graphs), expected(graphs, twin), rtol=1e-12)


def test_graphlets_of_hundreds_of_graphs() -> None:
    """Features against all subsets of nodes, class by class, p = 2 … 5."""
    graphs = random_graphs(5, count=200, largest=8)
    for p in (2, 3, 4, 5):
        phi = Graphlet(p).feature_map(graphs)
        found = [sorted(row[row > 0].tolist()) for row in phi]
        assert found == [sorted(map(float, twins.subgraphs(g, p).values())) for g in graphs]
        assert phi.sum(axis=1).tolist() == [float(np.prod(np.arange(g.n_nodes - p + 1, g.n_nodes + 1)) // np.prod(
            np.arange(1, p + 1))) if g.n_nodes >= p else 0.0 for g in graphs]  # fmt: skip


@pytest.mark.parametrize(("kernel", "twin"), CASES, ids=IDS)
def test_laws(kernel: Kernel, twin: naive.Twin) -> None:
    graphs = random_graphs(6, count=8, largest=6, labels="CO", bonds="-=")
    check_kernel(kernel, graphs, graphs[2:5], twin=twin)
    check_kernel(kernel.normalized() + 0.5 * kernel, graphs)


@pytest.mark.parametrize("kernel", [kernel for kernel, _ in CASES + DEGREE], ids=str)
def test_values_depend_on_the_two_graphs_only(kernel: Kernel) -> None:
    """Alone, in company, as rows or as columns, in any order of the nodes: always the same bits."""
    labels = None if "degree" in str(kernel) else "CNOS"
    graphs = random_graphs(7, count=20, largest=12, labels=labels, bonds=labels)
    K, rng = kernel(graphs), np.random.default_rng(0)
    for i, j in ((0, 4), (5, 3), (7, 7), (9, 12), (19, 18)):
        assert kernel([graphs[i]], [graphs[j]])[0, 0] == K[i, j]
    np.testing.assert_array_equal(kernel(graphs[5:], graphs[:11]), K[5:, :11])
    np.testing.assert_array_equal(kernel.diag(graphs), np.diagonal(K))
    np.testing.assert_allclose(kernel([shuffled(rng, g) for g in graphs]), K, rtol=1e-13)


@pytest.mark.parametrize("kernel", [kernel for kernel, _ in CASES + DEGREE], ids=str)
def test_text_and_proof(kernel: Kernel) -> None:
    assert mercer.parse(repr(kernel)) == kernel
    assert kernel.certificate().status == "valid"


@pytest.mark.parametrize("kernel", [k for k, _ in CASES if not isinstance(k, RandomWalk)], ids=str)
def test_features_and_names(kernel: Kernel) -> None:
    graphs = random_graphs(8, count=12, largest=7, labels="CN", bonds="-=")
    phi, names = kernel.feature_map(graphs), kernel.feature_names(graphs)
    assert phi.shape[1] == len(names) == len(set(names))
    np.testing.assert_allclose((phi @ phi.T if isinstance(phi, np.ndarray) else (phi @ phi.T).toarray()), kernel(graphs))
    # the columns of another collection, and their names, are the same whatever they are counted with
    other = kernel.feature_map(graphs[:5], like=graphs)
    assert abs(other - phi[:5]).max() == 0
    few = dict(zip(kernel.feature_names(graphs[3:5]), range(len(names)), strict=False))
    assert set(few) <= set(names)


def test_the_optimal_assignment_is_optimal() -> None:
    from scipy.optimize import linear_sum_assignment

    graphs = random_graphs(9, count=12, largest=7, labels="CNO")
    K = WLOptimalAssignment(2)(graphs)
    for i, g in enumerate(graphs):
        for j, h in enumerate(graphs):
            levels = [_node_colors(x) for x in (g, h)]
            alike = np.array(
                [[sum(a == b for a, b in zip(p, q, strict=True)) for q in levels[1]] for p in levels[0]], dtype=float
            ).reshape(g.n_nodes, h.n_nodes)
            assert K[i, j] == alike[linear_sum_assignment(-alike)].sum()


def _node_colors(graph: Graph) -> list[tuple[str, ...]]:
    colors = [[str(label) for label in graph.node_labels or ()]]
    for _ in range(2):
        last = colors[-1]
        around = [[last[u] for e in graph.edges if v in e for u in e if u != v] for v in range(graph.n_nodes)]
        colors.append([f"{last[v]}({','.join(sorted(around[v]))})" for v in range(graph.n_nodes)])
    return list(zip(*colors, strict=True))
