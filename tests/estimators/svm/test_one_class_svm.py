"""OneClassSVM against LIBSVM and an independent QP solver, and what nu promises."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import check_estimator
from tests.estimators.svm.reference import solve_qp

import mercer
from mercer.errors import InputError

G = mercer.Gaussian.from_gamma(0.3)


@pytest.mark.parametrize("nu", [0.05, 0.3])
def test_everything_scikit_learn_stores(nu, rng):
    X, new = rng.normal(size=(150, 3)), 2 * rng.normal(size=(60, 3))
    ours, peer = mercer.OneClassSVM(G, nu=nu, tol=1e-8).fit(X), svm.OneClassSVM(nu=nu, gamma=0.3, tol=1e-8).fit(X)
    assert np.array_equal(ours.support_, peer.support_) and np.array_equal(ours.n_support_, peer.n_support_)
    assert np.allclose(ours.dual_coef_, peer.dual_coef_, atol=1e-4) and ours.dual_coef_.sum() == pytest.approx(nu * 150)
    assert np.allclose(ours.offset_, peer.offset_, atol=1e-4) and np.allclose(ours.intercept_, -ours.offset_)
    assert np.array_equal(ours.predict(new), peer.predict(new))
    assert np.allclose(ours.score_samples(new), peer.score_samples(new), atol=1e-4)
    assert isinstance(ours.n_iter_, int) and ours.fit_status_ == 0 and ours.shape_fit_ == (150, 3)


@pytest.mark.parametrize("nu", [0.1, 0.5])
def test_nu_bounds_novelties_and_support_vectors(nu, rng):
    X = rng.normal(size=(200, 2))
    model = mercer.OneClassSVM(mercer.Gaussian(1.5), nu=nu).fit(X)
    assert (model.predict(X) == -1).mean() <= nu + 1e-12 and len(model.support_) >= nu * 200
    assert model.predict([[9.0, 9.0]]).tolist() == [-1]
    c, K = model.dual_coef_[0], mercer.Gaussian(1.5)(model.support_vectors_)
    assert model.margin_ == pytest.approx(float(model.offset_[0]) / np.sqrt(c @ K @ c), rel=1e-6)


def test_nu_one_is_the_sum_of_all_rows(rng):
    """Every coefficient is at its bound; scikit-learn refuses, since any offset above the largest score will do."""
    X = rng.normal(size=(40, 2))
    model = mercer.OneClassSVM(G, nu=1.0).fit(X)
    assert np.allclose(model.score_samples(X), G(X).sum(axis=1)) and (model.decision_function(X) <= 0).all()


def test_an_independent_solver(rng):
    X = rng.normal(size=(20, 2))
    model = mercer.OneClassSVM(G, nu=0.3, tol=1e-8).fit(X)
    _, value = solve_qp(G(X), np.zeros(20), np.ones(20), np.ones((1, 20)), np.array([6.0]))
    assert -model.dual_objective_ == pytest.approx(value, rel=1e-6)
    assert 0 <= model.duality_gap_ <= 1e-6 * value


def test_rows_on_demand_give_the_machine_of_the_whole_matrix(rng):
    X = rng.normal(size=(2300, 3))
    rows, whole = mercer.OneClassSVM(G, nu=0.05).fit(X), mercer.OneClassSVM(mercer.Precomputed(), nu=0.05).fit(G(X))
    assert rows.route_.solver == "rows" and rows.dual_objective_ == pytest.approx(whole.dual_objective_, rel=1e-5)
    assert np.abs(rows.decision_function(X) - whole.decision_function(G(X))).max() < 5e-3


def test_weights_are_copies(rng):
    X, copies = rng.normal(size=(60, 2)), rng.integers(0, 4, size=60)
    weighted = mercer.OneClassSVM(G, nu=0.2).fit(X, sample_weight=copies)
    repeated = mercer.OneClassSVM(G, nu=0.2).fit(np.repeat(X, copies, axis=0))
    assert np.allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-7)
    assert np.array_equal(weighted.predict(X), repeated.predict(X))


def test_sparse_precomputed_and_strings(rng):
    X, new = rng.normal(size=(80, 3)), rng.normal(size=(10, 3))
    expected = mercer.OneClassSVM(G, tol=1e-6).fit(X).decision_function(new)
    assert np.allclose(mercer.OneClassSVM(G, tol=1e-6).fit(sp.csr_array(X)).decision_function(new), expected, atol=1e-5)
    pre = mercer.OneClassSVM(mercer.Precomputed(), tol=1e-6).fit(G(X))
    assert np.allclose(pre.decision_function(G(new, X)), expected, atol=1e-5)
    model = mercer.OneClassSVM(mercer.Spectrum(p=2).normalized(), nu=0.2).fit(["abab", "baba", "ababab", "abba", "baab"])
    assert model.score_samples(["abab"])[0] > model.score_samples(["xyz"])[0]


def test_refusals_limits_and_identical_rows(rng):
    X = rng.normal(size=(60, 2))
    for parameters, words in (({"nu": 0.0}, "nu must be"), ({"nu": 2}, "nu must be"), ({"kernel": "rbf"}, "from_gamma")):
        with pytest.raises(ValueError, match=words):
            mercer.OneClassSVM(**parameters).fit(X)
    with pytest.raises(InputError, match="not every weight may be zero"):
        mercer.OneClassSVM(G).fit(X, sample_weight=np.zeros(60))
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        assert mercer.OneClassSVM(G, max_iter=1).fit(X).fit_status_ == 1
    same = mercer.OneClassSVM(mercer.Gaussian(1.0), nu=0.5).fit(np.ones((10, 2)))
    assert same.predict([[1.0, 1.0], [50.0, 1.0]]).tolist() == [1, -1]


def test_saved_and_loaded(tmp_path, rng):
    X = rng.normal(size=(60, 2))
    model = mercer.OneClassSVM(G, nu=0.2).fit(X)
    mercer.save(model, tmp_path / "m")
    again = mercer.load(tmp_path / "m")
    assert np.array_equal(again.decision_function(X), model.decision_function(X)) and str(again) == str(model)
    assert "called novel" in str(model)


def test_sklearn_contract():
    check_estimator(mercer.OneClassSVM())
