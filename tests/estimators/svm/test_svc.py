"""SVC and NuSVC against LIBSVM, an independent QP solver, their own theorems, and everything that can go wrong."""

from __future__ import annotations

import json
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog
from sklearn import svm
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import check_estimator, check_sample_weight_equivalence_on_dense_data
from tests.estimators.svm.reference import solve_qp

import mercer
from benchmarks.svm_quality import broken, compare, dual_objective, main, pair_coefficients, table
from mercer.errors import InputError
from mercer.estimators.svm.decision import _decided, screened_classes, sums_per_class, worth_screening
from mercer.estimators.svm.one_vs_one import one_against_rest, pair_values, pairs, votes
from mercer.selection.folds import class_folds

G = mercer.Gaussian.from_gamma(0.3)


def two_classes(rng, n=120, d=3, noise=0.4):
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, 0] + X[:, 1] ** 2 + noise * rng.normal(size=n) > 0.8, "yes", "no")


# -- the same machine as LIBSVM ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("data", ["two", "three"])
def test_everything_scikit_learn_stores(C, data, rng):
    X, y = two_classes(rng) if data == "two" else load_iris(return_X_y=True)
    ours = mercer.SVC(G, C=C, tol=1e-8, decision_function_shape="ovo").fit(X, y)
    peer = svm.SVC(C=C, gamma=0.3, tol=1e-8, decision_function_shape="ovo").fit(X, y)
    assert np.array_equal(ours.support_, peer.support_) and ours.support_.dtype == peer.support_.dtype
    assert np.array_equal(ours.n_support_, peer.n_support_)
    assert np.array_equal(ours.support_vectors_, peer.support_vectors_)
    assert ours.dual_coef_.shape == peer.dual_coef_.shape
    slack = 1e-5 * max(1.0, C)  # LIBSVM holds kernel values in float32
    assert np.allclose(ours.dual_coef_, peer.dual_coef_, atol=slack)
    assert np.allclose(ours.intercept_, peer.intercept_, atol=slack)
    assert np.allclose(ours.decision_function(X), peer.decision_function(X), atol=slack)
    assert np.array_equal(ours.predict(X), peer.predict(X))
    assert np.array_equal(ours.classes_, peer.classes_) and np.array_equal(ours.class_weight_, peer.class_weight_)
    assert ours.shape_fit_ == peer.shape_fit_ and ours.fit_status_ == peer.fit_status_ == 0
    assert ours.n_iter_.shape == peer.n_iter_.shape
    assert ours.dual_objective_ == pytest.approx(dual_objective(peer, G), rel=1e-7)


VOTES = pytest.mark.xfail(
    strict=True, reason="votes of pairs have 4.68 % on usps, LIBSVM's too; 4.5 % is kept one against the rest (4.33 %)"
)


@pytest.mark.parametrize("name, n", [("usps", 1500), ("letter", 2000), ("a9a", 1500), ("ijcnn1", 2500), ("mnist10k", 800)])
def test_objective_and_predictions_on_real_data(name, n, shared_data):
    record = compare(name, n, 1000)
    assert record["rows"] == n and [line for line in broken(record) if "test error" not in line] == []
    assert name in table([record])


@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param("usps", marks=VOTES), "letter", "a9a", "ijcnn1", "mnist10k"])
def test_objective_predictions_and_errors_on_all_rows(name, shared_data):
    assert broken(compare(name)) == []


def test_broken_lines_are_named(tmp_path, monkeypatch, capsys):
    good = {
        "set": "usps", "rows": 10, "relative difference": 1e-6, "own coefficients": 1e-6, "support vectors": [5, 5],
        "predictions differ": 0.0005, "LIBSVM from itself": 0.0, "test error %": 4.4, "LIBSVM test error %": 4.4,
        "against the rest %": None,
    }  # fmt: skip
    assert broken(good) == []
    assert broken({**good, "predictions differ": 0.002, "LIBSVM from itself": 0.002}) == []
    bad = {**good, "relative difference": 2e-4, "predictions differ": 0.002, "test error %": 5.0}
    assert len(broken(bad)) == 3 and len(broken({**bad, "against the rest %": 4.3})) == 3  # another rule excuses nothing
    monkeypatch.setattr("benchmarks.svm_quality.QUALITY", tmp_path)
    monkeypatch.setattr("benchmarks.svm_quality.compare", lambda name: good)
    assert main(["--sets", "usps"]) == 0 and "every line holds" in capsys.readouterr().out
    (tmp_path / "usps.json").write_text(json.dumps(bad))
    assert main(["--show"]) == 1 and "promised 4.5 %" in capsys.readouterr().out


def test_votes_and_values_of_the_rest_are_those_of_scikit_learn():
    X, y = load_digits(return_X_y=True)
    X, y = X[:600], y[:600]
    ours = mercer.SVC(mercer.Gaussian.from_gamma(0.001), tol=1e-6).fit(X, y)
    peer = svm.SVC(gamma=0.001, tol=1e-6).fit(X, y)
    assert np.allclose(ours.decision_function(X), peer.decision_function(X), atol=1e-4)
    assert np.array_equal(ours.predict(X), peer.predict(X))
    tied = mercer.SVC(mercer.Gaussian.from_gamma(0.001), break_ties=True).fit(X, y)
    assert np.array_equal(tied.predict(X), tied.decision_function(X).argmax(axis=1))


@pytest.mark.parametrize("classes", [2, 4])
def test_weights_of_classes_and_rows(classes, rng):
    X, y = make_classification(150, 6, n_informative=4, n_classes=classes, random_state=0)
    weights, of_class = rng.uniform(0.1, 3.0, size=150), {0: 2.0, 1: 0.5}
    ours = mercer.SVC(G, tol=1e-8, class_weight=of_class).fit(X, y, sample_weight=weights)
    peer = svm.SVC(gamma=0.3, tol=1e-8, class_weight=of_class).fit(X, y, sample_weight=weights)
    assert np.allclose(ours.dual_coef_, peer.dual_coef_, atol=1e-5)
    balanced = mercer.SVC(G, class_weight="balanced").fit(X, y)
    assert np.allclose(balanced.class_weight_, svm.SVC(class_weight="balanced").fit(X, y).class_weight_)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_weight_of_zero_is_a_row_left_out(classes, rng):
    X, y = rng.normal(size=(60, 3)), np.arange(60) % classes
    keep = rng.random(60) < 0.7
    without = mercer.SVC(G, tol=1e-8).fit(X[keep], y[keep])
    zero = mercer.SVC(G, tol=1e-8).fit(X, y, sample_weight=keep.astype(float))
    assert np.allclose(without.decision_function(X), zero.decision_function(X), atol=1e-7)
    assert np.array_equal(np.flatnonzero(keep)[without.support_], zero.support_)
    assert zero.loo_bound_ == without.loo_bound_


@pytest.mark.parametrize("nu", [0.1, 0.4])
def test_nu_is_scikit_learns_and_does_what_it_says(nu, rng):
    X, y = two_classes(rng)
    ours, peer = mercer.NuSVC(G, nu=nu, tol=1e-8).fit(X, y), svm.NuSVC(nu=nu, gamma=0.3, tol=1e-8).fit(X, y)
    assert np.allclose(ours.dual_coef_, peer.dual_coef_, atol=1e-5 * np.abs(peer.dual_coef_).max())
    assert np.allclose(ours.decision_function(X), peer.decision_function(X), atol=1e-3)
    signs = np.where(y == ours.classes_[1], 1.0, -1.0)
    assert (signs * ours.decision_function(X) < 1 - 1e-6).mean() <= nu + 1e-12
    assert len(ours.support_) >= nu * len(X)
    # it is the SVC whose C is the largest coefficient
    same = mercer.SVC(G, C=float(np.abs(ours.dual_coef_).max()), tol=1e-8).fit(X, y)
    assert np.allclose(same.decision_function(X), ours.decision_function(X), atol=1e-5)


def test_nu_with_many_classes_and_infeasible_nu():
    X, y = load_iris(return_X_y=True)
    ours, peer = mercer.NuSVC(G, nu=0.2, tol=1e-6).fit(X, y), svm.NuSVC(nu=0.2, gamma=0.3, tol=1e-6).fit(X, y)
    assert np.allclose(ours.decision_function(X), peer.decision_function(X), atol=1e-3)
    assert np.array_equal(ours.predict(X), peer.predict(X))
    with pytest.raises(InputError, match=r"infeasible.*at most 0\.5"):
        mercer.NuSVC(G, nu=0.9).fit(X[:67], y[:67])  # 50 against 17 rows: at most 2 * 17 / 67


# -- another solver, and optimality ------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("C", [0.5, 20.0])
def test_an_independent_solver(seed, C):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(24, 2))
    y = np.where(rng.random(24) < 0.5, -1.0, 1.0)
    k = mercer.Gaussian(0.8) + 0.1 * mercer.Linear()
    model = mercer.SVC(k, C=C, tol=1e-8).fit(X, y)
    _, value = solve_qp(np.outer(y, y) * k(X), -np.ones(24), np.full(24, C), y[None, :], np.zeros(1))
    assert model.dual_objective_ == pytest.approx(-value, rel=1e-6)
    assert 0 <= model.duality_gap_ <= 1e-6 * abs(value)


def test_the_gap_is_primal_minus_dual(rng):
    X, y = two_classes(rng)
    model = mercer.SVC(G, C=3.0, max_iter=40)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    signs, K = np.where(y == "yes", 1.0, -1.0), G(X[model.support_])
    c = model.dual_coef_[0]
    primal = 0.5 * c @ K @ c + 3.0 * np.maximum(0.0, 1 - signs * model.decision_function(X)).sum()
    assert model.primal_objective_ == pytest.approx(primal, rel=1e-6)
    assert model.dual_objective_ == pytest.approx(np.abs(c).sum() - 0.5 * c @ K @ c, rel=1e-6)
    best = mercer.SVC(G, C=3.0, tol=1e-9).fit(X, y).dual_objective_
    assert model.dual_objective_ <= best <= model.dual_objective_ + model.duality_gap_


def test_the_duality_gap_closes_with_the_tolerance():
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    models = [mercer.SVC(mercer.Gaussian.from_gamma(0.03), tol=tol, max_iter=10**7) for tol in (1e-1, 1e-3, 1e-6)]
    gaps = [model.fit(X, y).duality_gap_ for model in models]
    assert gaps[0] > gaps[1] > gaps[2] and gaps[2] < 1e-4


# -- the hard margin ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [mercer.Linear(), mercer.Gaussian(1.0), mercer.Polynomial(degree=3)], ids=str)
def test_infinite_c_is_the_hard_margin(kernel, rng):
    X = rng.normal(size=(30, 2))
    X[:, 0] += np.where(np.arange(30) % 2, 4.0, -4.0)
    y = np.where(np.arange(30) % 2, 1.0, -1.0)
    model = mercer.SVC(kernel, C=np.inf, tol=1e-8).fit(X, y)
    margins = y * model.decision_function(X)
    assert margins.min() == pytest.approx(1.0, abs=1e-6)
    _, value = solve_qp(
        np.outer(y, y) * kernel(X), -np.ones(30), np.full(30, np.abs(model.dual_coef_).max() * 10), y[None, :], np.zeros(1)
    )
    assert model.dual_objective_ == pytest.approx(-value, rel=1e-5)
    assert model.margin_ == pytest.approx(1 / np.sqrt(2 * model.dual_objective_), rel=1e-6)
    large = svm.SVC(C=1e9, kernel="precomputed", tol=1e-8).fit(kernel(X), y)
    assert np.allclose(model.decision_function(X), large.decision_function(kernel(X)), atol=1e-4)
    assert 0 <= model.duality_gap_ < 1e-6 * model.dual_objective_


def test_infinite_c_with_three_classes_and_probabilities():
    X, y = load_iris(return_X_y=True)
    model = mercer.SVC(mercer.Gaussian(0.3), C=np.inf, random_state=0).fit(X[:, :3], y)
    assert (model.predict(X[:, :3]) == y).mean() > 0.99
    assert np.allclose(model.predict_proba(X[:9, :3]).sum(axis=1), 1.0)


@pytest.mark.parametrize("data", ["overlap", "identical", "touching"])
def test_what_no_plane_separates_is_said_so(data, rng):
    X, y = rng.normal(size=(40, 2)), np.arange(40) % 2
    if data == "identical":
        X, y = np.array([[0.0, 0.0], [1.0, 1.0], [1.0, 1.0], [3.0, 1.0]]), [0, 0, 1, 1]  # type: ignore[assignment]
    if data == "touching":
        X, y = np.array([[-1.0], [0.0], [0.0], [1.0]]), [0, 0, 1, 1]  # type: ignore[assignment]
    with pytest.raises(InputError, match=r"C = inf.*not separable.*finite C"):
        mercer.SVC(mercer.Linear(), C=np.inf).fit(X, y)


# -- inputs of every kind ----------------------------------------------------------------------------------------------


def test_sparse_single_precomputed_and_frames(rng):
    X, y = two_classes(rng)
    new = rng.normal(size=(20, 3))
    model = mercer.SVC(G, tol=1e-6).fit(X, y)
    expected = model.decision_function(new)
    csr = mercer.SVC(G, tol=1e-6).fit(sp.csr_array(X), y)
    assert sp.issparse(csr.support_vectors_)
    assert np.allclose(csr.decision_function(sp.csr_array(new)), expected, atol=1e-5)
    assert np.allclose(csr.decision_function(new), expected, atol=1e-5)
    pre = mercer.SVC(mercer.Precomputed(), tol=1e-6).fit(G(X), y)
    assert np.allclose(pre.decision_function(G(new, X)), expected, atol=1e-5) and pre.support_vectors_.size == 0
    doubled = mercer.SVC(2.0 * mercer.Precomputed(), C=0.5, tol=1e-6).fit(G(X), y)
    assert np.allclose(doubled.decision_function(G(new, X)), expected, atol=1e-5)
    single = mercer.SVC(G, tol=1e-6).fit(X.astype(np.float32), y)
    assert np.allclose(single.decision_function(new.astype(np.float32)), expected, atol=1e-3)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    named = mercer.SVC(G.on("a", "b", "c"), tol=1e-6).fit(frame, y)
    assert np.allclose(named.decision_function(frame[:5]), model.decision_function(X[:5]), atol=1e-5)
    with pytest.raises(ValueError, match="features"):
        pre.predict(G(new, X)[:, :5])


def test_strings_and_graphs():
    words = ["banana", "bandana", "cabana", "kiwi", "kiwano", "kiwis"]
    model = mercer.SVC(mercer.Spectrum(p=2), C=10.0, random_state=0).fit(words, list("bbbkkk"))
    assert model.predict(["bananas", "kiwic"]).tolist() == ["b", "k"]
    assert model.predict_proba(["bananas"]).argmax() == 0 and isinstance(model.support_vectors_, list)
    graphs = [mercer.Graph(n, [], node_labels=[label] * n) for n, label in [(3, 0), (4, 0), (3, 1), (5, 1), (2, 2), (6, 2)]]
    three = mercer.SVC(mercer.VertexHistogram(), C=10.0).fit(graphs, [0, 0, 1, 1, 2, 2])
    assert three.predict(graphs).tolist() == [0, 0, 1, 1, 2, 2]


def test_any_kernel_expression(rng):
    X, y = two_classes(rng)
    k = 0.5 * mercer.Matern(nu=1.5, length_scale=1.0) * mercer.Polynomial(degree=2) + mercer.Linear()
    ours, peer = mercer.SVC(k, tol=1e-7).fit(X, y), svm.SVC(kernel="precomputed", tol=1e-7).fit(k(X), y)
    assert np.allclose(ours.decision_function(X), peer.decision_function(k(X)), atol=1e-4)
    text = mercer.SVC("Gaussian(length_scale=1.5) + Linear()").fit(X, y)
    assert text.kernel_ == mercer.Gaussian(1.5) + mercer.Linear()


def test_an_indefinite_kernel_ends(rng):
    X, y = rng.normal(size=(150, 4)), np.arange(150) % 2
    model = mercer.SVC(mercer.Tanh(scale=1.0, offset=-1.0), C=10.0, max_iter=200_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()


def test_identical_points_with_different_labels():
    X, y = np.zeros((10, 2)), np.arange(10) % 2
    model = mercer.SVC(mercer.Gaussian(1.0)).fit(X, y)
    assert np.allclose(model.decision_function(X), 0.0, atol=1e-9) and model.fit_status_ == 0
    assert np.allclose(model.predict_proba(X), 0.5)


def test_unscaled_columns(rng):
    X, y = two_classes(rng, n=200)
    X = X * [1.0, 1e4, 1e-3]
    kernel = mercer.Gaussian("median")
    ours = mercer.SVC(kernel, tol=1e-6).fit(X, y)
    peer = svm.SVC(kernel="precomputed", tol=1e-6).fit(ours.kernel_(X), y)
    c, K = peer.dual_coef_[0], ours.kernel_(X[peer.support_])
    assert ours.dual_objective_ == pytest.approx(np.abs(c).sum() - 0.5 * c @ K @ c, rel=1e-5)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        mercer.SVC(mercer.Linear(), max_iter=20_000).fit(X, y)
    assert all(issubclass(w.category, ConvergenceWarning) for w in caught)


# -- prediction --------------------------------------------------------------------------------------------------------


def test_one_product_is_the_sum_of_its_pairs(rng):
    X, y = rng.normal(size=(300, 5)), rng.integers(0, 5, size=300)
    model = mercer.SVC(G, decision_function_shape="ovo").fit(X, y)
    new = rng.normal(size=(700, 5))
    K = G(new, model.support_vectors_)
    slow = np.stack([K @ c for c in pair_coefficients(model)], axis=1) + model.intercept_
    assert np.allclose(model.decision_function(new), slow, atol=1e-10)
    sums = sums_per_class(G, new, model.support_vectors_, model.dual_coef_.T, model.n_support_)
    assert np.allclose(pair_values(sums, model.intercept_), slow)
    table = np.zeros((700, 5))
    for p, (i, j) in enumerate(pairs(5)):
        table[np.arange(700), np.where(slow[:, p] >= 0, i, j)] += 1
    assert np.array_equal(votes(slow, 5), table)
    assert np.abs(one_against_rest(slow, 5) - table).max() < 1 / 3
    assert np.array_equal(model.predict(new), table.argmax(axis=1))


@pytest.mark.parametrize("classes", [2, 6])
def test_classes_by_float32_are_those_of_float64(classes, rng):
    X, y = rng.normal(size=(700, 4)) + 1e3, rng.integers(0, classes, size=700)
    model = mercer.SVC(G, C=50.0, max_iter=20_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    new = 1.5 * rng.normal(size=(4000, 4)) + 1e3
    exact = model._winners(model._columns(new))
    assert worth_screening(model._functions(), new)
    assert np.array_equal(screened_classes(model._functions(), new), exact)
    assert np.array_equal(model.predict(new), model.classes_[exact])
    # rows on the boundary itself: without the second look many of them would come out wrong
    low, high = new[:400].copy(), new[400:800].copy()
    keep = exact[:400] != exact[400:800]
    low, high, names = low[keep], high[keep], exact[:400][keep]
    for _ in range(60):
        middle = (low + high) / 2
        same = (model._winners(model._columns(middle)) == names)[:, None]
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    close = np.tile(np.concatenate([low, high]), (6, 1)) + 1e-9 * rng.normal(size=(12 * len(low), 4))
    mixed = np.concatenate([close, *[new] * (1 + 4 * len(close) // len(new))])
    assert np.array_equal(model.predict(mixed), model.classes_[model._winners(model._columns(mixed))])


def test_votes_that_rounding_cannot_turn(rng):
    values = rng.normal(size=(3000, 6)).round(1)
    decided = _decided(values, 0.15, 4)
    for _ in range(40):
        moved = values + rng.uniform(-0.15, 0.15, size=values.shape)
        same = votes(moved, 4).argmax(axis=1) == votes(values, 4).argmax(axis=1)
        assert same[decided].all()
    assert 0.1 < decided.mean() < 0.9


@pytest.mark.parametrize("classes", [2, 3])
def test_explicit_features_give_the_same_values(classes, rng):
    X, y = rng.normal(size=(80, 3)), np.arange(80) % classes
    k = mercer.Polynomial(degree=2)
    model = mercer.SVC(k, tol=1e-6, decision_function_shape="ovo").fit(X, y)
    assert model._weights is not None
    assert np.allclose(model._functions()(X), model._columns(X), atol=1e-9)
    values = model.decision_function(X)
    assert np.allclose(k.feature_map(X) @ model.coef_.T + model.intercept_, values.reshape(80, -1))
    with pytest.raises(AttributeError, match="finite feature map"):
        mercer.SVC(G).fit(X, y).coef_  # noqa: B018
    with pytest.raises(ValueError, match="read-only"):
        model.coef_[0, 0] = 1.0


# -- probabilities -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [mercer.SVC(G, random_state=3), mercer.NuSVC(G, nu=0.2, random_state=3)])
@pytest.mark.parametrize("data", ["iris", "digits"])
def test_the_largest_probability_is_the_prediction(model, data, rng):
    X, y = load_iris(return_X_y=True) if data == "iris" else load_digits(return_X_y=True)
    X, y = X[:400] / X.max(), y[:400]
    new = rng.uniform(X.min(), X.max(), size=(500, X.shape[1]))  # far from the data: many ties and close votes
    p = model.fit(X, y).predict_proba(new)
    assert np.allclose(p.sum(axis=1), 1.0) and (p >= 0).all()
    assert np.array_equal(model.classes_[p.argmax(axis=1)], model.predict(new))
    assert np.allclose(np.exp(model.predict_log_proba(new)), p)


def test_half_at_the_boundary_and_monotone(rng):
    X, y = two_classes(rng, n=300)
    model = mercer.SVC(G, random_state=0).fit(X, y)
    new = rng.normal(size=(400, 3))
    f, p = model.decision_function(new), model.predict_proba(new)[:, 1]
    assert np.array_equal(p > 0.5, f > 0)
    order = np.argsort(f)
    assert (np.diff(p[order]) >= -1e-15).all()
    model.intercept_ = model.intercept_ - f[0]  # move the boundary onto a point
    assert model.predict_proba(new[:1])[0, 1] == pytest.approx(0.5, abs=1e-9)


def test_probabilities_are_calibrated(rng):
    def draw(n):
        y = (rng.random(n) < 0.5).astype(int)
        return rng.normal(size=(n, 2)) + 1.3 * y[:, None], y

    X, y = draw(1000)
    T, t = draw(8000)
    p = mercer.SVC(mercer.Gaussian(4.0), random_state=0).fit(X, y).predict_proba(T)[:, 1]
    for low in (0.1, 0.3, 0.5, 0.7):
        inside = (p >= low) & (p < low + 0.2)
        assert abs(t[inside].mean() - p[inside].mean()) < 0.1
    loss = -np.mean(np.log(np.where(t == 1, p, 1 - p)))
    shift = T.sum(axis=1) - 1.3
    truth = 1 / (1 + np.exp(-1.3 * shift))
    best = -np.mean(np.log(np.where(t == 1, truth, 1 - truth)))
    assert loss < best + 0.03


def test_probabilities_know_their_seed_and_nothing_of_the_order(rng):
    X, y = two_classes(rng)
    new, mix = rng.normal(size=(10, 3)), rng.permutation(120)
    p = mercer.SVC(G, random_state=1).fit(X, y).predict_proba(new)
    assert np.array_equal(p, mercer.SVC(G, random_state=1).fit(X, y).predict_proba(new))
    assert np.allclose(p, mercer.SVC(G, random_state=1).fit(X[mix], y[mix]).predict_proba(new), atol=1e-6)
    assert not np.array_equal(p, mercer.SVC(G, random_state=2).fit(X, y).predict_proba(new))


def test_probabilities_of_classes_with_one_row():
    X = np.array([[0.0], [0.2], [0.1], [5.0], [9.0], [9.1]])
    model = mercer.SVC(mercer.Gaussian(1.0), random_state=0).fit(X, [0, 0, 0, 1, 2, 2])
    assert np.array_equal(model.predict_proba(X).argmax(axis=1), model.predict(X))
    with pytest.raises(InputError, match="single row"):
        mercer.SVC(mercer.Gaussian(1.0)).fit([[0.0], [1.0]], [0, 1]).predict_proba([[0.0]])


# -- the ledger --------------------------------------------------------------------------------------------------------


def test_leave_one_out_error_is_at_most_the_share_of_support_vectors(rng):
    for classes in (2, 3):
        X = rng.normal(size=(45, 2)) + 1.5 * (np.arange(45) % classes)[:, None]
        y = np.arange(45) % classes
        model = mercer.SVC(mercer.Gaussian(1.5), C=2.0, tol=1e-6).fit(X, y)
        wrong = 0
        for i in range(45):
            rest = np.delete(np.arange(45), i)
            wrong += mercer.SVC(mercer.Gaussian(1.5), C=2.0, tol=1e-6).fit(X[rest], y[rest]).predict(X[i : i + 1])[0] != y[i]
        assert wrong / 45 <= model.loo_bound_ == len(model.support_) / 45


def test_the_ledger_in_coordinates(rng):
    X = rng.normal(size=(60, 2))
    y = (X.sum(axis=1) > 0).astype(int)
    model = mercer.SVC(mercer.Linear(), C=1.0, tol=1e-8).fit(X, y)
    assert model.margin_ == pytest.approx(1 / np.linalg.norm(model.coef_))
    assert model.radius_ == pytest.approx(np.linalg.norm(X, axis=1).max())
    ledger = model.ledger_
    assert ledger.n_support == len(model.support_) and ledger.label == 1
    assert ledger.n_at_bound == int((np.abs(model.dual_coef_) >= 1.0 - 1e-9).sum())
    assert ledger.training_error == (model.predict(X) != y).mean()
    assert "leave-one-out error" in str(model) and "margin" in str(ledger)
    many = mercer.SVC(G).fit(*load_iris(return_X_y=True))
    assert [entry.label for entry in many.ledger_] == [(0, 1), (0, 2), (1, 2)] and many.margin_.shape == (3,)


def test_the_ledger_is_made_when_asked_for_and_follows_the_fit(rng):
    X = rng.normal(size=(60, 2))
    y = (X.sum(axis=1) > 0).astype(int)
    model = mercer.SVC(mercer.Linear()).fit(X, y)
    assert "ledger_" not in vars(model)
    copied, narrow = pickle.loads(pickle.dumps(model)), model.ledger_
    assert "_pairs_found" not in vars(copied) and copied.ledger_ == narrow and copied.margin_bound_ == model.margin_bound_
    wide = model.fit(3.0 * X, y).ledger_
    assert wide.radius == pytest.approx(3.0 * narrow.radius) and model.margin_ == wide.margin
    with pytest.raises(AttributeError):
        mercer.SVC().ledger_  # noqa: B018


def test_the_margin_bound_holds_on_every_draw():
    """An easy distribution, where the bound says something, and a hard one, where it must not be too small."""
    for shift, most in ((6.0, 0.5), (0.0, 1.0)):
        said = []
        for seed in range(8):
            rng = np.random.default_rng(seed)

            def draw(n, rng=rng, shift=shift):
                y = np.where(rng.random(n) < 0.5, 1, -1)
                return rng.normal(size=(n, 2)) + shift * y[:, None] / 2, y

            X, y = draw(1500)
            T, t = draw(4000)
            model = mercer.SVC(mercer.Gaussian(8.0), C=0.05).fit(X, y)
            assert (model.predict(T) != t).mean() <= model.margin_bound_
            said.append(model.margin_bound_)
        assert np.median(said) <= most


# -- limits, refusals, the house ---------------------------------------------------------------------------------------


def test_limits_end_with_a_warning_and_a_usable_model(rng):
    X, y = two_classes(rng)
    with pytest.warns(ConvergenceWarning, match=r"max_iter=5.*can be used"):
        model = mercer.SVC(G, C=100.0, max_iter=5).fit(X, y)
    assert model.fit_status_ == 1 and model.predict(X).shape == (120,) and "stopped early" in str(model)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        mercer.SVC(G, C=1e6, time_limit=1e-4, tol=1e-9).fit(*load_digits(return_X_y=True))


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"C": 0.0}, "C must be a number > 0"), ({"C": -1.0}, "C must be"), ({"C": "1"}, "C must be"),
        ({"C": np.nan}, "C must be"), ({"tol": 0.0}, "tol must be"), ({"max_iter": 0}, "max_iter must be"),
        ({"max_iter": 1.5}, "max_iter must be"), ({"time_limit": 0}, "time_limit must be"),
        ({"decision_function_shape": "one"}, "'ovr' or 'ovo'"), ({"break_ties": "yes"}, "break_ties must be"),
        ({"class_weight": "even"}, "class_weight"), ({"kernel": "rbf"}, r"Gaussian\.from_gamma"),
    ],
)  # fmt: skip
def test_parameters_that_mean_nothing(parameters, words, rng):
    X, y = two_classes(rng, n=20)
    with pytest.raises(ValueError, match=words):
        mercer.SVC(**parameters).fit(X, y)


def test_data_that_cannot_be_fitted(rng):
    X, y = two_classes(rng, n=20)
    with pytest.raises(InputError, match="one class only"):
        mercer.SVC(G).fit(X, np.zeros(20))
    with pytest.raises(ValueError, match="NaN"):
        mercer.SVC(G).fit(np.where(X > 1, np.nan, X), y)
    with pytest.raises(InputError, match="not every weight may be zero"):
        mercer.SVC(G).fit(X, y, sample_weight=np.zeros(20))
    with pytest.raises(InputError, match="one class only"):
        mercer.SVC(G).fit(X, y, sample_weight=(y == "yes").astype(float))
    with pytest.raises(InputError, match="finite numbers >= 0"):
        mercer.SVC(G).fit(X, y, sample_weight=-np.ones(20))
    with pytest.raises(InputError, match="break_ties must be False"):
        mercer.SVC(G, break_ties=True, decision_function_shape="ovo").fit(X, y).predict(X)
    with pytest.raises(InputError, match=r"nu must be a number in \(0, 1\]"):
        mercer.NuSVC(G, nu=0.0).fit(X, y)
    with pytest.raises(TypeError):
        mercer.SVC(G, 10.0)


def test_a_failed_fit_changes_nothing(rng):
    X, y = two_classes(rng)
    model = mercer.SVC(G).fit(X, y)
    before = model.decision_function(X)
    with pytest.raises(InputError):
        model.set_params(C=-1.0).fit(X, y)
    assert np.array_equal(model.decision_function(X), before)


@pytest.mark.parametrize("asked", [False, True], ids=["fresh", "calibrated"])
@pytest.mark.parametrize("kind", [mercer.SVC(G, random_state=0), mercer.NuSVC(G, nu=0.2, random_state=0)], ids=str)
def test_saved_and_loaded(kind, asked, tmp_path):
    X, y = load_iris(return_X_y=True)
    model = kind.fit(X, np.array(["a", "b", "c"])[y])
    if asked:
        model.predict_proba(X)
    mercer.save(model, tmp_path / "m")
    again = mercer.load(tmp_path / "m")
    assert np.array_equal(again.decision_function(X), model.decision_function(X)) and str(again) == str(model)
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert str(again.ledger_[0]) == str(model.ledger_[0])
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


def test_a_calibrated_model_holds_its_support_vectors_only(rng, tmp_path):
    X = rng.normal(size=(400, 50))
    y = np.where(X[:, 0] > 0, 1, 0)
    X[:, 0] *= 8
    model = mercer.SVC(mercer.Linear()).fit(X, y)
    whole = mercer.save(model, tmp_path / "m")
    model.predict_proba(X[:1])
    assert mercer.save(model, tmp_path / "m") < whole / 2


def test_plan_and_search(rng):
    X, y = two_classes(rng)
    plan = mercer.plan(mercer.SVC(G), X, y)
    assert plan.route.solver == "gram" and mercer.plan(mercer.SVC(G), np.zeros((20_000, 2))).route.solver == "rows"
    search = GridSearchCV(mercer.SVC(), {"C": [1.0, 10.0], "kernel__length_scale": [0.5, 2.0]}, cv=3).fit(X, y)
    assert set(search.best_params_) == {"C", "kernel__length_scale"}


def test_a_small_budget_gives_the_same_machine(rng):
    X, y = two_classes(rng, n=2500)
    small, whole = mercer.SVC(G, memory="13 MB").fit(X, y), mercer.SVC(G).fit(X, y)
    assert (small.route_.solver, whole.route_.solver) == ("rows", "gram")
    assert small.dual_objective_ == pytest.approx(whole.dual_objective_, rel=1e-5)
    assert np.allclose(small.decision_function(X), whole.decision_function(X), atol=5e-3)


def test_sklearn_contract():
    check_estimator(mercer.SVC())


def test_sklearn_contract_of_nu():
    infeasible = "nu = 0.5 asks for more support vectors than the smallest class of that check has: an error, as in LIBSVM"
    checks = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")
    weighed = {"check_class_weight_classifiers": "class weights of 1000 and 0.0001 leave no feasible nu"}
    check_estimator(mercer.NuSVC(), expected_failed_checks={**dict.fromkeys(checks, infeasible), **weighed})
    check_sample_weight_equivalence_on_dense_data("NuSVC", mercer.NuSVC(nu=0.2))


@pytest.mark.parametrize("nu", [0.3, 0.5, 0.8])
def test_a_nu_without_margin_is_refused_and_every_other_fit_is_exact(nu: float) -> None:
    """Hulls of weighted means that meet have distance 0: what is divided by it is noise, however small the steps were."""
    rng, refused = np.random.default_rng(0), 0
    for _ in range(6):
        X = rng.normal(size=(60, 2))
        for y in (np.sign(X[:, 0] * X[:, 1]), rng.permutation(np.repeat([-1.0, 1.0], 30)), np.sign(X[:, 0])):
            try:
                model = mercer.NuSVC(mercer.Linear(), nu=nu).fit(X, y)
            except InputError as error:
                assert "margin" in str(error) or "infeasible" in str(error) or "nu" in str(error)
                refused += 1
            else:
                assert model.fit_status_ == 0
                assert model.duality_gap_ <= 1e-2 * abs(model.dual_objective_)
    assert 0 < refused < 18


def means_can_meet(X, y, nu):  # whether weighted means of the two classes with weights <= 2 / (nu n) can coincide
    plus = y == 1
    half = nu * len(y) / 2
    A = np.vstack([np.where(plus, 1.0, -1.0) * X.T, plus, ~plus])
    found = linprog(np.zeros(len(y)), A_eq=A, b_eq=[0.0] * X.shape[1] + [half, half], bounds=(0, 1))
    return found.status == 0


@pytest.mark.parametrize("factor", [1.0, 1e6])
def test_nu_svc_refuses_every_problem_whose_optimum_is_zero(factor):
    refused = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n, d = int(rng.integers(6, 60)), int(rng.integers(1, 4))
        X = rng.normal(size=(n, d)) if seed % 2 else rng.integers(-2, 3, (n, d)).astype(float)
        y = rng.integers(0, 2, n)
        y[:2] = 0, 1
        nu = 2 * min(y.mean(), 1 - y.mean()) * rng.uniform(0.2, 0.95)
        model = mercer.NuSVC(factor * mercer.Linear(), nu=nu, tol=10.0 ** rng.integers(-8, -2))
        if means_can_meet(X, y, nu):
            refused += 1
            with pytest.raises(InputError, match="leaves no margin"):
                model.fit(X, y)
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                model.fit(X, y)
            assert model.duality_gap_ <= abs(model.dual_objective_)
    assert 30 < refused < 60


def test_nu_svc_refuses_a_problem_of_scikit_learns_tests():
    """At nu = 0.5 weighted means of two classes coincide; LIBSVM's coefficients grow without bound as tol decreases."""
    X, y = make_classification(n_classes=4, n_informative=4, random_state=42)
    X, y = X[y % 2 == 0], y[y % 2 == 0] // 2
    assert means_can_meet(X, y, 0.5)
    assert not means_can_meet(X, y, 0.6)
    loose, fine = (np.abs(svm.NuSVC(kernel="linear", tol=tol).fit(X, y).dual_coef_).max() for tol in (1e-2, 1e-4))
    assert fine > 10 * loose
    with pytest.raises(InputError, match=r"nu=0.5 leaves no margin.* larger nu \(at most 0.98"):
        mercer.NuSVC(mercer.Linear(), nu=0.5).fit(X, y)
    assert mercer.NuSVC(mercer.Linear(), nu=0.6).fit(X, y).fit_status_ == 0


def test_a_fold_of_nu_svc_without_margin_takes_the_largest_nu():
    """The whole problem has a margin; a fold of it may have none, and probabilities are given all the same."""
    X, y = make_classification(n_classes=4, n_informative=4, random_state=42)
    X, y = X[y % 2 == 0], y[y % 2 == 0] // 2
    model = mercer.NuSVC(mercer.Linear(), nu=0.55, random_state=0).fit(X, y)
    assert any(means_can_meet(X[kept], y[kept], 0.55) for kept in class_fold_rows(X, y))
    p = model.predict_proba(X)
    assert np.isfinite(p).all()
    assert (p.argmax(axis=1) == model.predict(X)).all()


def class_fold_rows(X, y):  # rows of each fold on which probabilities are calibrated
    folds = class_folds(y, 5, 0, X)
    return [folds != fold for fold in range(5)]
