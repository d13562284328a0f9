"""scikit-learn's own tests of its nearest neighbors, run on mercer's through a thin adapter.

The adapter knows the Euclidean distance, which is that of Linear(); other distances are not those of kernels. Tests that
name neither of the two estimators that mercer has are left out. EXCUSES lists the single assertions that do not hold here.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn.neighbors
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from tests.estimators.as_sklearn import Excuse, read_tests

import mercer

METHODS = ("predict", "predict_proba", "kneighbors")


class Adapter(BaseEstimator):
    """scikit-learn's parameters outside, mercer's estimator inside."""

    def __init__(
        self, n_neighbors: Any = 5, *, weights: Any = "uniform", algorithm: Any = "auto", leaf_size: Any = 30, p: Any = 2,
        metric: Any = "minkowski", metric_params: Any = None, n_jobs: Any = None,
    ) -> None:  # fmt: skip
        self.n_neighbors, self.weights, self.algorithm, self.leaf_size = n_neighbors, weights, algorithm, leaf_size
        self.p, self.metric, self.metric_params, self.n_jobs = p, metric, metric_params, n_jobs

    def fit(self, X: Any, y: Any) -> Any:
        name = self.metric if isinstance(self.metric, str) else type(self.metric).__name__
        assert name in ("minkowski", "euclidean", "l2", "EuclideanDistance", "EuclideanDistance64"), self.metric
        assert self.p == 2 and self.metric_params is None, "the Euclidean distance alone is that of a kernel"
        kind = {KNeighborsClassifier: mercer.KernelKNeighborsClassifier}.get(type(self), mercer.KernelKNeighborsRegressor)
        weights = "uniform" if self.weights is None else self.weights
        self.inner_ = kind(mercer.Linear(), n_neighbors=self.n_neighbors, weights=weights).fit(X, y)
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "inner_":
            raise AttributeError(name)
        if name in METHODS and "inner_" not in vars(self):
            return getattr(mercer.KernelKNeighborsClassifier(), name)
        return getattr(vars(self).get("inner_"), name)


class KNeighborsClassifier(ClassifierMixin, Adapter):
    pass


class KNeighborsRegressor(RegressorMixin, Adapter):
    pass


_METRIC = "only distances of kernels: here the Euclidean one"
_OTHERS = "mercer has no such estimator"
_GIVEN = "distances are not given as a matrix: a kernel is, as Precomputed()"
_WORDS = "the same in other words"
_RADIUS = "        neighbors.RadiusNeighborsClassifier,\n        neighbors.RadiusNeighborsRegressor,\n"
EXCUSES: list[Excuse] = [
    (
        "COMMON_VALID_METRICS = sorted(\n    set.intersection(*map(set, neighbors.VALID_METRICS.values()))\n)",
        'COMMON_VALID_METRICS = ["euclidean", "l2", "minkowski"]',
        _METRIC,
    ),
    (
        f"{_RADIUS}    ],\n)\ndef test_neigh_predictions_algorithm_agnosticity(",
        "    ],\n)\ndef test_neigh_predictions_algorithm_agnosticity(",
        _OTHERS,
    ),
    (
        "issubclass(NeighborsMixinSubclass, KNeighborsMixin) else radius",
        "True else radius",
        "the adapter has bases of its own",
    ),
    (
        "        neighbors.NearestNeighbors,\n    ),\n)\ndef test_unsupervised_inputs",
        "    ),\n)\ndef test_unsupervised_inputs",
        _OTHERS,
    ),
    (
        "    for data in (nbrs_fid, neighbors.BallTree(X), neighbors.KDTree(X)):\n        nbrs.fit(data, y)\n",
        "    for data in (X, X.tolist()):\n        nbrs.fit(data, y)\n",
        "rows are rows: searches of scikit-learn are no data",
    ),
    (
        '        est.metric = "precomputed"\n        pred_D = est.fit(DXX, target).predict(DYX)\n'
        "        assert_allclose(pred_X, pred_D)\n",
        "        if 'KNeighbors' in Est.__name__:\n"
        "            assert_allclose(pred_X, target[metrics.pairwise_distances(Y, X).argmin(axis=1)])\n",
        _GIVEN,
    ),
    (
        '        precomp_score = cross_val_score(Est(metric="precomputed"), D, y)\n'
        "        assert_array_equal(metric_score, precomp_score)\n",
        "        assert metric_score.shape == (5,)\n",
        _GIVEN,
    ),
    ("KNeighborsClassifier(n_neighbors=3, p=1)  # cityblock dist", "KNeighborsClassifier(n_neighbors=3)", _METRIC),
    ('n_neighbors=2, p=1, weights="distance")', 'n_neighbors=2, weights="distance")', _METRIC),
    (
        "    real_prob = np.array([[0, 1, 0], [0, 0.4, 0.6]])\n",
        "    share = 0.5 / (0.5 + 5**-0.5)\n    real_prob = np.array([[0, 1, 0], [0, 1 - share, share]])\n",
        _METRIC,
    ),
    (
        "        knn_mo.fit(X_train, y_train)\n…            assert_array_equal(proba_mo, proba_so)\n",
        "        with pytest.raises(ValueError, match='1d array'):\n            knn_mo.fit(X_train, y_train)\n",
        "labels are one column",
    ),
    (
        "        knn_pre = neighbors.KNeighborsRegressor(\n…"
        "        for sparsev in SPARSE_OR_DENSE:\n            X2 = sparsev(X)\n",
        "        for sparsev in SPARSE_OR_DENSE:\n            X2 = sparsev(X)\n",
        _GIVEN,
    ),
    (
        '            X2_pre = sparsev(pairwise_distances(X, metric="euclidean"))\n…\n\n\ndef test_neighbors_iris',
        "\n\ndef test_neighbors_iris",
        _GIVEN,
    ),
    (
        "        neighbors.KNeighborsClassifier,\n        neighbors.RadiusNeighborsClassifier,\n"
        "        neighbors.KNeighborsRegressor,\n        neighbors.RadiusNeighborsRegressor,\n    ],\n)\n"
        '@pytest.mark.parametrize("csr_container", CSR_CONTAINERS)\ndef test_neighbors_validate_parameters',
        "        neighbors.KNeighborsClassifier,\n        neighbors.KNeighborsRegressor,\n    ],\n)\n"
        '@pytest.mark.parametrize("csr_container", CSR_CONTAINERS)\ndef test_neighbors_validate_parameters',
        _OTHERS,
    ),
    (
        """    msg = "Metric 'haversine' not valid for sparse input."\n…"""
        """    nbrs = Estimator()\n    msg = re.escape("Found array with 0""",
        '    nbrs = Estimator()\n    msg = re.escape("Found array with 0',
        _METRIC,
    ),
    ("        neighbors.RadiusNeighborsClassifier(),\n", "", _OTHERS),
    ("        neighbors.RadiusNeighborsRegressor(),\n", "", _OTHERS),
    (
        '    graph = clf.kneighbors_graph(X_test, mode="distance").toarray()\n',
        "",
        "there is no kneighbors_graph",
    ),
    (
        '    graph_parallel = clf.kneighbors_graph(X_test, mode="distance").toarray()\n',
        "",
        "there is no kneighbors_graph",
    ),
    (
        "    assert_array_equal(ind, ind_parallel)\n    assert_allclose(graph, graph_parallel)\n",
        "    assert_array_equal(ind, ind_parallel)\n",
        "there is no kneighbors_graph",
    ),
    ('        clf.kneighbors_graph(X_test, mode="distance")\n', "", "there is no kneighbors_graph"),
    (
        '    msg = (\n        "All neighbors of some sample is getting zero weights. "\n…    )\n\n    with pytest.raises',
        '    msg = "all neighbors of row 0 get weight zero"\n\n    with pytest.raises',
        _WORDS,
    ),
    (
        '    "Estimator", [neighbors.KNeighborsClassifier, neighbors.RadiusNeighborsClassifier]\n)\n'
        "def test_neighbors_classifier_with_string_labels",
        '    "Estimator", [neighbors.KNeighborsClassifier]\n)\ndef test_neighbors_classifier_with_string_labels',
        _OTHERS,
    ),
]

#: Tests of parameters that mercer does not have: the metric, its exponent, trees, distances given as a matrix, holes.
NOT_HERE = {
    "test_neighbors_minkowski_semimetric_algo_warn", "test_neighbors_minkowski_semimetric_algo_error",
    "test_metric_params_interface", "test_predict_sparse_ball_kd_tree", "test_nan_euclidean_support",
    "test_pipeline_with_nearest_neighbors_transformer",
}  # fmt: skip
PATH = Path(sklearn.neighbors.__file__).parent / "tests" / "test_neighbors.py"
NAMES = {"KNeighborsClassifier": KNeighborsClassifier, "KNeighborsRegressor": KNeighborsRegressor}
MODULE = read_tests(PATH, EXCUSES, sklearn.neighbors, NAMES)

for _node in ast.parse(PATH.read_text(encoding="utf-8")).body:
    _named = isinstance(_node, ast.FunctionDef) and any(name in ast.unparse(_node) for name in NAMES)
    if _named and _node.name.startswith("test_") and _node.name not in NOT_HERE:  # type: ignore[attr-defined]
        globals()[_node.name] = getattr(MODULE, _node.name)  # type: ignore[attr-defined]


@pytest.fixture
def global_random_seed() -> int:
    """scikit-learn's default seed."""
    return 42


@pytest.fixture
def global_dtype() -> type:
    """scikit-learn's default precision."""
    return np.float64
