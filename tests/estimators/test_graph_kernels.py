"""Estimators, tests, low rank and files on graphs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from tests.kernels.graphs.random_graphs import random_graph

import mercer
from mercer import Graph, Graphlet, RandomWalk, ShortestPath, WeisfeilerLehman, WLOptimalAssignment

RNG = np.random.default_rng(5)
SPARSE = [random_graph(RNG, int(RNG.integers(5, 10)), 0.2, "CNO") for _ in range(24)]
DENSE = [random_graph(RNG, int(RNG.integers(5, 10)), 0.7, "CNO") for _ in range(24)]
GRAPHS, CLASSES = SPARSE + DENSE, np.array([0] * 24 + [1] * 24)
BARE = [Graph(g.n_nodes, g.edges) for g in GRAPHS]
COUNTS = np.array([float(g.n_edges) for g in GRAPHS])
KERNELS = [
    WeisfeilerLehman(2).normalized(), WLOptimalAssignment(2), ShortestPath(),
    Graphlet(3, connected=True).normalized(), RandomWalk(0.1, steps=3).normalized(),
]  # fmt: skip


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_classifiers_learn(kernel: Any) -> None:
    for model in (mercer.SVC(kernel, C=10.0), mercer.NearestMean(kernel), mercer.KernelRidgeClassifier(kernel, alpha=0.1)):
        assert cross_val_score(model, BARE, CLASSES, cv=4).mean() > 0.8


def test_regressors_and_the_rest() -> None:
    kernel = Graphlet(2).normalized() + WeisfeilerLehman(1).normalized()
    gp = mercer.GaussianProcessRegressor(1.0 * kernel, n_restarts=0).fit(GRAPHS, COUNTS)
    assert np.corrcoef(gp.predict(GRAPHS), COUNTS)[0, 1] > 0.9
    assert gp.predict(GRAPHS[:3], return_std=True)[1].shape == (3,)
    cv = mercer.KernelRidgeCV(WeisfeilerLehman(1).normalized(), param_grid={"0__iterations": [0, 1, 2]}).fit(GRAPHS, COUNTS)
    assert cv.predict_interval(GRAPHS[:2]).shape == (2, 2)
    assert mercer.NoveltyBall(kernel).fit(SPARSE).predict(DENSE[:5]).shape == (5,)
    assert mercer.KernelKNeighborsClassifier(kernel).fit(GRAPHS, CLASSES).score(GRAPHS, CLASSES) > 0.8
    grid = GridSearchCV(mercer.SVC(WeisfeilerLehman(1)), {"kernel__iterations": [0, 2], "C": [1.0, 10.0]}, cv=3)
    assert grid.fit(GRAPHS, CLASSES).best_score_ > 0.7
    assert clone(mercer.SVC(WeisfeilerLehman(3))).kernel == WeisfeilerLehman(3)


def test_two_samples() -> None:
    kernel = WeisfeilerLehman(2).normalized()
    assert mercer.mmd_test(SPARSE, DENSE, kernel, n_permutations=199, random_state=0).pvalue <= 0.01
    assert mercer.mmd_test(SPARSE[:12], SPARSE[12:], kernel, n_permutations=199, random_state=0).pvalue > 0.01


def test_low_rank_and_explicit_features() -> None:
    kernel = WeisfeilerLehman(1).normalized()
    Z = mercer.Nystroem(kernel, n_components=48, random_state=0).fit(GRAPHS).transform(GRAPHS)
    assert np.abs(Z @ Z.T - kernel(GRAPHS)).max() < 1e-6
    phi = kernel.feature_map(GRAPHS)
    primal = mercer.KernelRidge(mercer.Linear(), alpha=0.1).fit(phi, COUNTS)
    dual = mercer.KernelRidge(kernel, alpha=0.1).fit(GRAPHS, COUNTS)
    np.testing.assert_allclose(primal.predict(phi), dual.predict(GRAPHS), atol=1e-6)


@pytest.mark.parametrize("kernel", [*KERNELS, WeisfeilerLehman(2, unlabeled="degree"), Graphlet(3, labeled=True)], ids=str)
def test_models_come_back_from_files(kernel: Any, tmp_path: Path) -> None:
    bonded = [Graph(g.n_nodes, g.edges, g.node_labels, ["-"] * g.n_edges) for g in GRAPHS]
    model = mercer.SVC(kernel).fit(bonded, CLASSES)
    mercer.save(model, tmp_path / "model.mercer")
    loaded = mercer.load(tmp_path / "model.mercer")
    np.testing.assert_array_equal(loaded.decision_function(bonded[:9]), model.decision_function(bonded[:9]))
    assert mercer.plan(model, bonded).bytes > 0
