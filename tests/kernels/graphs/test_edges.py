"""Rules for labels, refusals, large graphs, sampling, and the atlas."""

from __future__ import annotations

from math import comb
from typing import Any

import networkx as nx
import numpy as np
import pytest
from tests.kernels.graphs.random_graphs import random_graphs

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
from mercer.errors import CapabilityError, InputError
from mercer.kernels.graphs import subgraphs
from mercer.kernels.graphs.batch import Batch
from mercer.kernels.graphs.subgraphs import classes

LABELED, BARE = Graph(3, [(0, 1), (1, 2)], "COC"), Graph(3, [(0, 1), (1, 2)])
KERNELS = [
    VertexHistogram,
    lambda **rule: WeisfeilerLehman(2, **rule),
    lambda **rule: WLOptimalAssignment(2, **rule),
    ShortestPath,
    RandomWalk,
    lambda **rule: Graphlet(3, labeled=True, **rule),
]


@pytest.mark.parametrize("make", KERNELS)
def test_labeled_and_unlabeled_graphs(make: Any) -> None:
    with pytest.raises(InputError, match="1 of 2 graphs have node labels; label all of them or none, or choose what stands"):
        make()([LABELED, BARE])
    with pytest.raises(InputError, match="of one collection have node labels, those of the other have none"):
        make()([LABELED], [BARE])
    for rule in ("constant", "degree"):
        kernel = make(unlabeled=rule)
        assert f"unlabeled='{rule}'" in repr(kernel)
        K = kernel([LABELED, BARE, Graph(0)])
        assert K[0, 0] == make()([LABELED])[0, 0]
        assert K[0, 1] == 0.0  # what stands for a label is equal to no label
    assert make(unlabeled="constant")([BARE]).item() == make()([BARE]).item()
    # degrees are labels of their own kind: not equal to whole numbers that a user gave
    assert make(unlabeled="degree")([BARE, Graph(3, [(0, 1), (1, 2)], [1, 2, 1])])[0, 1] == 0.0


def test_edge_labels_follow_the_same_rule() -> None:
    bonded = Graph(2, [(0, 1)], "CC", "=")
    plain = Graph(2, [(0, 1)], "CC")
    for kernel in (EdgeHistogram(), WeisfeilerLehman(1, edge_labels=True)):
        with pytest.raises(InputError, match="1 of 2 graphs have edge labels"):
            kernel([bonded, plain])
    assert WeisfeilerLehman(1)([bonded, plain])[0, 1] == 8.0  # edge labels do not matter unless asked for
    assert WeisfeilerLehman(1, edge_labels=True, unlabeled="constant")([bonded, plain])[0, 1] == 4.0
    assert EdgeHistogram(unlabeled="degree").feature_names([Graph(3, [(0, 1), (1, 2)])]) == ["edge degrees 1, 2"]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Graphlet(6), "p must be 2, 3, 4 or 5; got 6"),
        (lambda: Graphlet(1), "p must be 2, 3, 4 or 5"),
        (lambda: Graphlet(4, labeled=True), r"labeled=True is for p = 2 and 3; got p=4"),
        (lambda: Graphlet(3, unlabeled="degree"), "labeled=False uses no labels"),
        (lambda: Graphlet(5, samples=3), "samples must be a whole number >= 100"),
        (lambda: VertexHistogram(unlabeled="size"), "unlabeled must be None, 'constant' or 'degree'; got 'size'"),
        (lambda: WeisfeilerLehman(-1), "iterations must be a whole number >= 0"),
        (lambda: RandomWalk(0.0), "decay must be a finite number > 0"),
        (lambda: RandomWalk(0.1, steps=1.5), "steps must be a whole number"),
    ],
)
def test_parameters_that_make_no_sense(make: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        make()


def test_the_atlas_is_that_of_networkx() -> None:
    for p, (everything, connected) in {2: (2, 1), 3: (4, 2), 4: (11, 6), 5: (34, 21)}.items():
        assert len(classes(p)) == everything and len(classes(p, True)) == connected
        assert len({one.name for one in classes(p)}) == everything
        atlas = [g for g in nx.graph_atlas_g() if g.number_of_nodes() == p]
        for one in classes(p):
            mine = nx.Graph(list(one.edges))
            mine.add_nodes_from(range(p))
            assert sum(nx.is_isomorphic(mine, g) for g in atlas) == 1
            assert one.parts == nx.number_connected_components(mine)


def test_every_class_counts_itself_once() -> None:
    for p in (2, 3, 4, 5):
        graphs = [Graph(p, one.edges) for one in classes(p)]
        assert np.array_equal(Graphlet(p).feature_map(graphs), np.eye(len(graphs)))


def test_counts_beyond_64_bits() -> None:
    """A star with 10^4 leaves: n^5 does not fit 64 bits, and the counts are known in closed form."""
    n = 10_000
    star = Graph(n + 1, [(0, v) for v in range(1, n + 1)])
    found = dict(zip(Graphlet(4).feature_names([star]), Graphlet(4).feature_map([star])[0].tolist(), strict=True))
    assert found["star 4"] == comb(n, 3) and found["4 nodes"] == comb(n, 4)
    assert sum(found.values()) == pytest.approx(comb(n + 1, 4), rel=1e-15)
    with pytest.raises(InputError, match=r"graph 0 of X with 10001 nodes .* connected sets .* samples=100000"):
        Graphlet(5)([star])


def test_sampled_counts_stay_within_their_error(monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = [g for g in random_graphs(11, count=12, largest=16) if g.n_nodes > 8]
    exact = Graphlet(5).feature_map(graphs)
    np.testing.assert_array_equal(Graphlet(5, samples=4000).feature_map(graphs), exact)  # exact where that is possible
    monkeypatch.setattr(subgraphs, "MOST_SETS", 0)
    drawn = Graphlet(5, samples=4000).feature_map(graphs)
    error = np.array([comb(g.n_nodes, 5) for g in graphs])[:, None] / (2.0 * np.sqrt(4000))
    assert (np.abs(drawn - exact) <= 5.0 * error).all() and np.abs(drawn - exact).max() > 0
    np.testing.assert_array_equal(Graphlet(5, samples=4000).feature_map(graphs[2:]), drawn[2:])  # whatever the company


def test_the_bound_on_connected_sets_holds() -> None:
    graphs = random_graphs(12, count=30, largest=12)
    sets = Graphlet(5, connected=True).feature_map(graphs).sum(axis=1)
    assert (subgraphs.set_bounds(Batch(graphs, None, ())) >= sets - 1e-6).all()


def test_long_paths_and_large_stars() -> None:
    path = Graph(300, [(v, v + 1) for v in range(299)])
    assert ShortestPath()([path]).item() == sum((2 * (300 - d)) ** 2 for d in range(1, 300))
    star = Graph(2001, [(0, v) for v in range(1, 2001)])
    assert WeisfeilerLehman(2)([star]).item() == 2001**2 + 2 * (1 + 2000**2)
    assert WLOptimalAssignment(1)([star]).item() == 2 * 2001
    two = Graph(130, [(v, v + 1) for v in range(129)], ["a"] * 65 + ["b"] * 65)  # more than 64 sources of a label
    names = ShortestPath().feature_names([two])
    counts = dict(zip(names, ShortestPath().feature_map([two]).toarray()[0], strict=True))
    assert counts["a b 1"] == 1 and counts["b a 129"] == 1 and counts["a a 64"] == 2


def test_equal_signatures_of_many_neighbors_are_told_apart() -> None:
    """Stars whose leaves differ in one label only: long signatures are compared in full."""
    leaves = ["a"] * 200
    graphs = [Graph(201, [(0, v) for v in range(1, 201)], ["c", *leaves[: 200 - i], *["b"] * i]) for i in range(0, 200, 40)]
    phi = WeisfeilerLehman(1).feature_map(graphs)
    names = WeisfeilerLehman(1).feature_names(graphs)
    centers = [i for i, name in enumerate(names) if name.startswith("1:c")]
    assert len(centers) == len(graphs) and (phi[:, centers].toarray() == np.eye(len(graphs))).all()


def test_many_graphs_take_the_compiled_products() -> None:
    graphs = random_graphs(13, count=1100, largest=7, labels="CNO")
    for kernel in (WeisfeilerLehman(2), ShortestPath(), WLOptimalAssignment(1)):
        phi = kernel.feature_map(graphs)
        np.testing.assert_array_equal(kernel(graphs), (phi @ phi.T).toarray())


def test_random_walks_have_no_feature_map() -> None:
    with pytest.raises(CapabilityError, match="has no finite feature map"):
        RandomWalk().feature_map([BARE])
    with pytest.raises(InputError, match="overflows"):
        RandomWalk(1e40)([Graph(4, [(0, 1), (1, 2), (2, 3)])])
