"""Kernel k-NN against a full matrix of distances, and against scikit-learn where the kernel distance is its own."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.utils.estimator_checks import check_estimator

import mercer
from mercer import geometry
from mercer.errors import InputError
from mercer.estimators.neighbors.kernel_neighbors import KernelKNeighborsClassifier, KernelKNeighborsRegressor


def all_distances(kernel, new, X, k):
    """The slow twin: all distances, sorted by distance and then by number."""
    D = geometry.distances(kernel, new, X)
    order = np.array([np.lexsort((np.arange(len(X)), row)) for row in D])[:, :k]
    return np.take_along_axis(D, order, axis=1), order


@pytest.mark.parametrize("kernel", [mercer.Gaussian(1.0), mercer.Polynomial(degree=2), mercer.Laplacian(1.0)], ids=str)
@pytest.mark.parametrize("k", [1, 4, 300])
def test_streaming_finds_the_nearest_of_all(kernel, k, rng):
    X, new = rng.normal(size=(600, 4)), rng.normal(size=(310, 4))
    distances, places = all_distances(kernel, new, X, k)
    ours, found = KernelKNeighborsClassifier(kernel, n_neighbors=k).fit(X, np.arange(600) % 3).kneighbors(new)
    assert np.allclose(ours, distances, atol=1e-7) and np.array_equal(found, places)


def test_ties_go_to_the_row_that_came_first(rng):
    X = np.repeat(rng.integers(0, 3, size=(90, 3)).astype(float), 6, axis=0)[rng.permutation(540)]
    new = rng.integers(0, 3, size=(300, 3)).astype(float)
    for kernel in (mercer.Linear(), mercer.Polynomial(degree=2, offset=1.0)):  # whole numbers: distances are exact
        _, places = all_distances(kernel, new, X, 9)
        assert np.array_equal(KernelKNeighborsRegressor(kernel, n_neighbors=9).fit(X, X[:, 0]).kneighbors(new)[1], places)
    noisy = np.repeat(rng.normal(size=(100, 7)), 5, axis=0)  # equal rows, whose computed values may differ in the last digit
    found = KernelKNeighborsRegressor(mercer.Gaussian(2.0), n_neighbors=5).fit(noisy, noisy[:, 0]).kneighbors(noisy)[1]
    assert np.array_equal(found, np.repeat(np.arange(500).reshape(100, 5), 5, axis=0))


@pytest.mark.parametrize("weights", ["uniform", "distance", lambda d: np.exp(-d)], ids=["uniform", "distance", "function"])
def test_the_linear_kernel_is_scikit_learns_neighbors(weights, rng):
    X, new = rng.normal(size=(200, 3)), np.vstack([rng.normal(size=(50, 3))])
    new = np.vstack([new, X[:3]])
    y, targets = rng.integers(0, 3, size=200), rng.normal(size=(200, 2))
    ours = KernelKNeighborsClassifier(mercer.Linear(), n_neighbors=7, weights=weights).fit(X, y)
    theirs = KNeighborsClassifier(n_neighbors=7, weights=weights, algorithm="brute").fit(X, y)
    assert np.allclose(ours.predict_proba(new[:50]), theirs.predict_proba(new[:50]), atol=1e-6)
    assert np.array_equal(ours.predict(new[:50]), theirs.predict(new[:50]))
    mine = KernelKNeighborsRegressor(mercer.Linear(), n_neighbors=7, weights=weights).fit(X, targets)
    other = KNeighborsRegressor(n_neighbors=7, weights=weights, algorithm="kd_tree").fit(X, targets)
    assert np.allclose(mine.predict(new[:50]), other.predict(new[:50]), atol=1e-6)
    one = KernelKNeighborsRegressor(mercer.Linear(), n_neighbors=7, weights=weights).fit(X, targets[:, 0])
    assert np.allclose(one.predict(new), mine.predict(new)[:, 0])


def test_a_question_that_is_a_training_row(rng):
    X, y = rng.normal(size=(50, 2)), rng.normal(size=50)
    model = KernelKNeighborsRegressor(mercer.Gaussian(1.0), n_neighbors=5, weights="distance").fit(X, y)
    assert np.allclose(model.predict(X), y, atol=1e-6)


def test_without_a_question_no_row_is_its_own_neighbor(rng):
    X = rng.normal(size=(300, 2))
    model = KernelKNeighborsClassifier(mercer.Gaussian(1.0), n_neighbors=3).fit(X, np.zeros(300))
    distances, places = model.kneighbors()
    D = geometry.distances(mercer.Gaussian(1.0), X)
    np.fill_diagonal(D, np.inf)
    assert np.array_equal(places, np.argsort(D, axis=1, kind="stable")[:, :3]) and (distances > 0).all()
    with pytest.raises(InputError, match="n_neighbors"):
        model.kneighbors(n_neighbors=300)


def test_equal_votes_go_to_the_first_class():
    model = KernelKNeighborsClassifier(mercer.Linear(), n_neighbors=2).fit([[0.0], [2.0]], ["b", "a"])
    assert model.predict([[1.0], [0.1]]).tolist() == ["a", "a"]


def test_strings_graphs_tables_and_one_class():
    words = ["banana", "bandana", "cabana", "kiwi", "kiwano"]
    model = KernelKNeighborsClassifier(mercer.Spectrum(p=2), n_neighbors=1).fit(words, list("bbbkk"))
    assert model.predict(["bananas", "kiwis"]).tolist() == ["b", "k"]
    graphs = [mercer.Graph(n, [], node_labels=[0] * n) for n in (2, 3, 9)]
    regressor = KernelKNeighborsRegressor(mercer.VertexHistogram(), n_neighbors=1).fit(graphs, [2.0, 3.0, 9.0])
    assert regressor.predict([mercer.Graph(8, [], node_labels=[0] * 8)]).tolist() == [9.0]
    table = pd.DataFrame({"x": [0.0, 1.0, 5.0]})
    assert KernelKNeighborsClassifier(mercer.Linear().on("x"), n_neighbors=1).fit(table, [0, 0, 1]).predict(
        table
    ).tolist() == [0, 0, 1]
    only = KernelKNeighborsClassifier(mercer.Linear(), n_neighbors=2).fit([[0.0], [1.0], [2.0]], ["z"] * 3)
    assert only.predict([[9.0]]).tolist() == ["z"] and only.predict_proba([[9.0]]).tolist() == [[1.0]]


def test_what_is_refused(rng):
    X, y = rng.normal(size=(10, 2)), np.arange(10) % 2
    with pytest.raises(InputError, match="n_neighbors <= n_samples_fit"):
        KernelKNeighborsClassifier(n_neighbors=11).fit(X, y).predict(X)
    for wrong in (0, 2.5, "all"):
        with pytest.raises(InputError, match="n_neighbors must be"):
            KernelKNeighborsClassifier(n_neighbors=wrong).fit(X, y)
    with pytest.raises(InputError, match="weights must be"):
        KernelKNeighborsRegressor(weights="near").fit(X, y)
    bad = KernelKNeighborsClassifier(mercer.Tanh(scale=1.0, offset=1.0), n_neighbors=1).fit([[2.0], [0.5]], [0, 1])
    with pytest.raises(InputError, match="imaginary"):
        bad.predict([[2.0], [0.5]])


def test_summary_and_plan(rng):
    X, y = rng.normal(size=(20, 2)), np.arange(20) % 2
    assert "neighbors" in str(KernelKNeighborsClassifier().fit(X, y))
    assert mercer.plan(KernelKNeighborsClassifier(), X).bytes > 0


def test_sklearn_contract():
    check_estimator(KernelKNeighborsClassifier())
    check_estimator(KernelKNeighborsClassifier(weights="distance"))
    check_estimator(KernelKNeighborsRegressor())


def test_a_training_row_decides_alone_about_itself(rng: np.random.Generator) -> None:
    """k(x, x) + k(z, z) - 2 k(x, z) of equal rows is rounding, not a distance."""
    X, y = rng.random((60, 3)), rng.normal(size=60)
    model = KernelKNeighborsRegressor(mercer.Linear(), weights="distance").fit(X, y)
    assert (model.kneighbors(X)[0][:, 0] == 0.0).all()
    assert (model.predict(X) == y).all()


def test_weights_that_silence_all_neighbors_are_refused(rng: np.random.Generator) -> None:
    X = rng.random((20, 2))
    for kind in (KernelKNeighborsClassifier, KernelKNeighborsRegressor):
        model = kind(mercer.Linear(), weights=np.zeros_like).fit(X, np.arange(20) % 2)
        with pytest.raises(InputError, match="all neighbors of row 0 get weight zero"):
            model.predict(X)
