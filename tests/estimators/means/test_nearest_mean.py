"""NearestMean against the lectures' formulas on explicit features, its closed leave-one-out, streams and refusals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.estimator_checks import check_estimator

import mercer
from mercer.errors import InputError
from mercer.estimators.means.class_means import ClassMeans, temperature
from mercer.estimators.means.nearest_mean import NearestMean

FINITE = [mercer.Linear(), mercer.Polynomial(degree=2, offset=1.0), mercer.Polynomial(degree=3, offset=0.5)]


def two_classes(rng, n=40, d=3):
    X = rng.normal(size=(n, d))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1, -1)
    return X, y


@pytest.mark.parametrize("kernel", FINITE, ids=str)
@pytest.mark.parametrize("wrap", [lambda k: k, lambda k: k.normalized()], ids=["plain", "normalized"])
def test_the_lectures_formula_on_explicit_features(kernel, wrap, rng):
    X, y = two_classes(rng)
    new = rng.normal(size=(15, 3))
    Z, T = np.asarray(kernel.feature_map(X)), np.asarray(kernel.feature_map(new))
    if wrap(kernel) is not kernel:
        Z, T = Z / np.linalg.norm(Z, axis=1, keepdims=True), T / np.linalg.norm(T, axis=1, keepdims=True)
    plus, minus = Z[y == 1].mean(axis=0), Z[y == -1].mean(axis=0)
    half = 0.5 * (((T - minus) ** 2).sum(axis=1) - ((T - plus) ** 2).sum(axis=1))
    b = 0.5 * (plus @ plus - minus @ minus)
    model = NearestMean(wrap(kernel)).fit(X, y)
    assert np.abs(model.decision_function(new) - half).max() < 1e-10 * max(1.0, np.abs(half).max())
    assert model.intercept_ == pytest.approx(-b, abs=1e-10 * max(1.0, abs(b)))
    assert np.allclose(model.mean_norms_, [np.linalg.norm(minus), np.linalg.norm(plus)], rtol=1e-10)
    assert np.array_equal(model.predict(new), np.where(half > 0, 1, -1))


def test_both_routes_agree(rng):
    X, y = two_classes(rng, n=60)
    primal = NearestMean(mercer.Polynomial(degree=2)).fit(X, y)
    dual = NearestMean(1.0 * mercer.Polynomial(degree=2) + 0.0 * mercer.Gaussian(1.0)).fit(X, y)
    assert (primal.route_.solver, dual.route_.solver) == ("primal", "dual")
    assert np.allclose(primal.decision_function(X), dual.decision_function(X), atol=1e-10)
    assert np.allclose(primal.predict_proba(X), dual.predict_proba(X), atol=1e-8)


@pytest.mark.parametrize("classes", [2, 4])
def test_leave_one_out_is_what_refitting_gives(classes, rng):
    X, y = rng.normal(size=(25, 2)), np.arange(25) % classes
    k = mercer.Gaussian(1.0)
    model = NearestMean(k).fit(X, y)
    for i in range(25):
        rest = np.delete(np.arange(25), i)
        again = NearestMean(k).fit(X[rest], y[rest]).decision_function(X[i : i + 1])[0]
        assert np.allclose(model.loo_scores_[i], again, atol=1e-12)


def test_weights_are_copies_of_rows(rng):
    X, y = two_classes(rng, n=30)
    copies = rng.integers(0, 4, size=30)
    k, new = mercer.Gaussian(1.5), rng.normal(size=(9, 3))
    weighted = NearestMean(k).fit(X, y, sample_weight=copies)
    repeated = NearestMean(k).fit(np.repeat(X, copies, axis=0), np.repeat(y, copies))
    assert np.allclose(weighted.decision_function(new), repeated.decision_function(new), atol=1e-12)
    assert np.allclose(weighted.predict_proba(new), repeated.predict_proba(new), atol=1e-6)


@pytest.mark.parametrize("kernel", [mercer.Gaussian(1.0), mercer.Linear()], ids=str)
def test_batches_make_the_model_of_one_fit(kernel, rng):
    X, y = rng.normal(size=(50, 3)), np.array(list("abc"))[np.arange(50) % 3]
    whole = NearestMean(kernel).fit(X, y)
    stream = NearestMean(kernel)
    for part in np.array_split(np.arange(50), 7):
        stream.partial_fit(X[part], y[part], classes=list("abc"))
    assert np.allclose(stream.decision_function(X), whole.decision_function(X), atol=1e-12)
    assert np.allclose(stream.loo_scores_, whole.loo_scores_, atol=1e-12)
    assert stream.temperature_ == pytest.approx(whole.temperature_, rel=1e-6)


def test_a_class_that_has_not_come_yet_is_never_predicted():
    model = NearestMean(mercer.Linear()).partial_fit([[0.0], [1.0]], [0, 0], classes=[0, 1])
    assert model.predict([[5.0], [-5.0]]).tolist() == [0, 0]
    assert np.allclose(model.predict_proba([[5.0]]), [[1.0, 0.0]])
    model.partial_fit([[9.0]], [1])
    assert model.predict([[8.0], [0.0]]).tolist() == [1, 0]


def test_probabilities_are_calibrated(rng):
    def draw(n):
        y = rng.integers(0, 2, size=n)
        return rng.normal(size=(n, 2)) + 1.2 * y[:, None], y

    X, y = draw(1500)
    T, t = draw(6000)
    p = NearestMean(mercer.Linear()).fit(X, y).predict_proba(T)[:, 1]
    for low in (0.1, 0.3, 0.5, 0.7):
        inside = (p >= low) & (p < low + 0.2)
        assert abs(t[inside].mean() - p[inside].mean()) < 0.05
    assert np.array_equal(p > 0.5, NearestMean(mercer.Linear()).fit(X, y).decision_function(T) > 0)


def test_temperature_is_where_the_slope_vanishes(rng):
    S, A = rng.normal(size=(60, 3)), np.eye(3)[rng.integers(0, 3, size=60)]
    S += 2.0 * A
    t, own = temperature(S, A), A.argmax(axis=1)
    W = A.sum(axis=0)[own] + 3

    def loss(u):
        p = np.exp(u * S - np.logaddexp.reduce(u * S, axis=1)[:, None])
        target = np.where(A > 0, 1 - (2 / W)[:, None], 1 / W[:, None])
        return -(target * np.log(p)).sum()

    assert loss(t) <= min(loss(1.001 * t), loss(0.999 * t))


def test_ties_go_to_the_first_class():
    model = NearestMean(mercer.Linear()).fit([[-1.0], [1.0], [-3.0], [3.0]], ["b", "b", "a", "a"])
    assert model.decision_function([[7.0]])[0] == 0.0
    assert model.predict([[7.0]]).tolist() == ["a"]


def test_strings_graphs_and_tables():
    words = ["banana", "bandana", "cabana", "kiwi", "kiwano", "kiwis"]
    y = ["b"] * 3 + ["k"] * 3
    assert NearestMean(mercer.Spectrum(p=2)).fit(words, y).predict(["bananas", "kiwic"]).tolist() == ["b", "k"]
    graphs = [mercer.Graph(n, [], node_labels=[label] * n) for n, label in [(3, 0), (4, 0), (3, 1), (5, 1)]]
    assert NearestMean(mercer.VertexHistogram()).fit(graphs, [0, 0, 1, 1]).predict(graphs).tolist() == [0, 0, 1, 1]
    table = pd.DataFrame({"x": [0.0, 1.0, 5.0, 6.0], "word": ["aa", "ab", "bb", "bb"]})
    k = mercer.Gaussian(2.0).on("x") + mercer.Spectrum(p=1).on("word")
    model = NearestMean(k).fit(table, [0, 0, 1, 1])
    assert model.predict(table).tolist() == [0, 0, 1, 1]
    stream = NearestMean(k).partial_fit(table[:3], [0, 0, 1]).partial_fit(table[3:], [1])
    assert np.allclose(stream.decision_function(table), model.decision_function(table))
    both = NearestMean(mercer.Spectrum(p=2)).partial_fit(words[:4], y[:4]).partial_fit(words[4:], y[4:])
    whole = NearestMean(mercer.Spectrum(p=2)).fit(words, y)
    assert np.allclose(both.decision_function(words), whole.decision_function(words))


def test_precomputed_values(rng):
    X, y = two_classes(rng)
    k = mercer.Gaussian(1.0)
    model, direct = NearestMean(mercer.Precomputed()).fit(k(X), y), NearestMean(k).fit(X, y)
    assert np.allclose(model.decision_function(k(X[:5], X)), direct.decision_function(X[:5]))
    with pytest.raises(InputError, match="Precomputed"):
        NearestMean(mercer.Precomputed()).partial_fit(k(X), y)


def test_what_is_refused_and_what_is_not(rng):
    X, y = two_classes(rng, n=10)
    with pytest.raises(InputError, match="one class only"):
        NearestMean().fit(X, np.zeros(10))
    with pytest.raises(InputError, match="labels for 10 rows"):
        NearestMean().fit(X, [0, 1])
    with pytest.raises(ValueError, match="0 sample"):
        NearestMean().partial_fit(X[:0], y[:0])
    with pytest.raises(InputError, match="none of the classes"):
        NearestMean().partial_fit(X, y).partial_fit(X, np.full(10, 7))
    single = NearestMean(mercer.Linear()).fit([[0.0], [1.0], [5.0]], ["a", "a", "b"])  # a class with one member
    assert np.isnan(single.loo_scores_[2]) and single.predict([[4.0]]).tolist() == ["b"]
    assert np.allclose(single.predict_proba([[4.0]]).sum(), 1.0)
    alone = NearestMean(mercer.Linear()).fit([[0.0], [5.0]], ["a", "b"])
    assert alone.predict([[4.0]]).tolist() == ["b"]
    with pytest.raises(InputError, match="leave-one-out"):
        alone.predict_proba([[4.0]])


def test_a_failed_batch_changes_nothing(rng):
    X, y = two_classes(rng)
    model = NearestMean().partial_fit(X, y)
    before = model.decision_function(X)
    with pytest.raises(InputError):
        model.partial_fit(X, np.full(len(X), 9))
    assert np.array_equal(model.decision_function(X), before)


def test_summary_and_plan(rng):
    X, y = two_classes(rng)
    text = str(NearestMean().fit(X, y))
    assert "leave-one-out accuracy" in text and "largest class" in text
    assert mercer.plan(NearestMean(mercer.Linear()), X).route.solver == "primal"


def test_sums_are_all_it_needs(rng):
    S, A, d = rng.normal(size=(6, 2)), np.eye(2)[[0, 0, 0, 1, 1, 1]], np.ones(6)
    means = ClassMeans(S, A, d)
    assert np.allclose(means.weights, [3, 3]) and np.allclose(means.coefficients, A / 3)


def test_sklearn_contract():
    check_estimator(NearestMean())
