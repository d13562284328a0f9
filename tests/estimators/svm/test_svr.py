"""SVR and NuSVR against LIBSVM and an independent QP solver; intervals that cover."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import check_estimator
from tests.estimators.svm.reference import regression_dual, solve_qp

import mercer
from mercer.errors import InputError
from mercer.estimators.svm.svr import fold_predictions

G = mercer.Gaussian.from_gamma(0.3)


def curve(rng, n=120, noise=0.1):
    X = rng.uniform(-3, 3, size=(n, 2))
    return X, np.sin(X[:, 0]) + 0.3 * X[:, 1] + noise * rng.normal(size=n)


@pytest.mark.parametrize(("C", "epsilon"), [(1.0, 0.1), (50.0, 0.0), (0.2, 0.3)])
def test_everything_scikit_learn_stores(C, epsilon, rng):
    X, y = curve(rng)
    ours = mercer.SVR(G, C=C, epsilon=epsilon, tol=1e-8).fit(X, y)
    peer = svm.SVR(C=C, epsilon=epsilon, gamma=0.3, tol=1e-8).fit(X, y)
    slack = 1e-4 * max(0.1, C)  # LIBSVM holds kernel values in float32
    assert np.array_equal(ours.support_, peer.support_) and np.array_equal(ours.n_support_, peer.n_support_)
    assert ours.dual_coef_.shape == peer.dual_coef_.shape and np.allclose(ours.dual_coef_, peer.dual_coef_, atol=slack)
    assert np.allclose(ours.intercept_, peer.intercept_, atol=slack) and ours.intercept_.shape == peer.intercept_.shape
    assert np.allclose(ours.predict(X), peer.predict(X), atol=slack)
    assert isinstance(ours.n_iter_, int) and ours.fit_status_ == 0 and ours.shape_fit_ == X.shape
    c, K = peer.dual_coef_[0], G(X[peer.support_])
    assert ours.dual_objective_ == pytest.approx(regression_dual(c, K, y[peer.support_], epsilon), rel=1e-6)
    assert ours.rkhs_norm_ == pytest.approx(np.sqrt(c @ K @ c), rel=1e-5)


def test_real_data_at_the_default_tolerance():
    X, y = load_diabetes(return_X_y=True)
    X, y = X / X.std(axis=0), (y - y.mean()) / y.std()
    k = mercer.Gaussian.from_gamma(0.05)
    ours, peer = mercer.SVR(k, C=2.0).fit(X, y), svm.SVR(C=2.0, gamma=0.05).fit(X, y)
    c = peer.dual_coef_[0]
    assert ours.dual_objective_ == pytest.approx(regression_dual(c, k(X[peer.support_]), y[peer.support_], 0.1), rel=1e-4)
    assert np.abs(ours.predict(X) - peer.predict(X)).max() < 5e-3
    nu, nu_peer = mercer.NuSVR(k, C=2.0, nu=0.4).fit(X, y), svm.NuSVR(C=2.0, nu=0.4, gamma=0.05).fit(X, y)
    assert np.abs(nu.predict(X) - nu_peer.predict(X)).max() < 1e-2


@pytest.mark.parametrize("seed", range(3))
def test_an_independent_solver(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(15, 2)), rng.normal(size=15)
    K, C, epsilon = G(X), 3.0, 0.2
    model = mercer.SVR(G, C=C, epsilon=epsilon, tol=1e-8).fit(X, y)
    both, s = np.block([[K, -K], [-K, K]]), np.repeat([1.0, -1.0], 15)
    _, value = solve_qp(both, np.concatenate([epsilon - y, epsilon + y]), np.full(30, C), s[None, :], np.zeros(1))
    assert model.dual_objective_ == pytest.approx(-value, rel=1e-6)
    residual = np.abs(y - model.predict(X))
    primal = 0.5 * model.rkhs_norm_**2 + C * np.maximum(0.0, residual - epsilon).sum()
    assert model.primal_objective_ == pytest.approx(primal, rel=1e-7)


def test_nu_finds_the_tube(rng):
    X, y = curve(rng, noise=0.3)
    ours = mercer.NuSVR(G, nu=0.3, C=5.0, tol=1e-8).fit(X, y)
    peer = svm.NuSVR(nu=0.3, C=5.0, gamma=0.3, tol=1e-8).fit(X, y)
    assert np.allclose(ours.predict(X), peer.predict(X), atol=1e-4)
    residual = np.abs(y - ours.predict(X))
    assert (residual > ours.tube_ + 1e-6).mean() <= 0.3 and len(ours.support_) >= 0.3 * len(X)
    same = mercer.SVR(G, C=5.0, epsilon=ours.tube_, tol=1e-8).fit(X, y)
    assert np.allclose(same.predict(X), ours.predict(X), atol=1e-5)
    assert ours.duality_gap_ < 1e-5 * ours.dual_objective_


def test_weights_are_factors_of_c(rng):
    X, y = curve(rng)
    weights = rng.uniform(0.0, 2.0, size=120)
    weights[:20] = 0.0
    ours, peer = mercer.SVR(G, tol=1e-8), svm.SVR(gamma=0.3, tol=1e-8)
    ours.fit(X, y, sample_weight=weights)
    peer.fit(X[20:], y[20:], sample_weight=weights[20:])
    assert np.allclose(ours.predict(X), peer.predict(X), atol=1e-5)


def test_infinite_c_lets_no_row_out(rng):
    X, y = curve(rng, n=40)
    model = mercer.SVR(mercer.Gaussian(0.5), C=np.inf, epsilon=0.05, tol=1e-6).fit(X, y)
    assert np.abs(y - model.predict(X)).max() <= 0.05 + 1e-5
    assert model.rkhs_norm_ <= mercer.SVR(mercer.Gaussian(0.5), C=np.inf, epsilon=0.01, tol=1e-6).fit(X, y).rkhs_norm_


@pytest.mark.parametrize("data", ["identical", "straight"])
def test_infinite_c_without_such_a_function_is_said_so(data, rng):
    X, y = (np.zeros((4, 2)), np.arange(4.0)) if data == "identical" else (np.arange(6.0)[:, None], np.arange(6) % 2)
    with pytest.raises(InputError, match="C = inf allows no row outside the tube"):
        mercer.SVR(mercer.Linear(), C=np.inf, epsilon=0.01).fit(X, y)


def test_sparse_precomputed_strings_constant_targets(rng):
    X, y = curve(rng)
    expected = mercer.SVR(G, tol=1e-6).fit(X, y).predict(X[:9])
    assert np.allclose(mercer.SVR(G, tol=1e-6).fit(sp.csr_array(X), y).predict(sp.csr_array(X[:9])), expected, atol=1e-5)
    pre = mercer.SVR(mercer.Precomputed(), tol=1e-6).fit(G(X), y)
    assert np.allclose(pre.predict(G(X[:9], X)), expected, atol=1e-5)
    assert pre.predict_interval(G(X[:9], X), method="cv+").shape == (9, 2)
    words = ["aaa", "aab", "abb", "bbb", "bba", "baa"]
    counted = mercer.SVR(mercer.Spectrum(p=1), C=100.0, epsilon=0.01).fit(words, [3.0, 2.0, 1.0, 0.0, 1.0, 2.0])
    assert np.allclose(counted.predict(["aaa", "bbb"]), [3.0, 0.0], atol=0.05)
    flat = mercer.SVR(G).fit(X, np.full(120, 7.0))
    assert len(flat.support_) == 0 and np.allclose(flat.predict(X), 7.0, atol=0.1) and flat.rkhs_norm_ == 0.0
    line = mercer.SVR(mercer.Linear()).fit(X, np.full(120, 7.0))
    assert line.coef_.shape == (1, 2) and np.allclose(line.predict_interval(X[:3]), 7.0, atol=0.2)


@pytest.mark.parametrize("method", ["cv", "cv+"])
def test_intervals_cover(method):
    inside, widths = [], []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, y = curve(rng, n=200, noise=0.3)
        T, t = curve(rng, n=400, noise=0.3)
        model = mercer.SVR(G, C=2.0).fit(X, y)
        low, high = model.predict_interval(T, 0.8, method=method).T
        inside.append(((low <= t) & (t <= high)).mean())
        widths.append(np.median(high - low))
    assert 0.76 < np.mean(inside) < 0.87 and min(inside) > 0.6
    assert np.median(widths) < 1.3 * 2 * 1.2816 * 0.3  # the interval of the noise alone, and a little


def test_residuals_are_those_of_refitting_without_the_fold(rng):
    X, y = curve(rng, n=50)
    model = mercer.SVR(G, tol=1e-8).fit(X, y)
    residuals = model.cv_residuals_
    held = model._later["held"]
    for fold in range(10):
        out = held.folds == fold
        again = mercer.SVR(G, tol=1e-8).fit(X[~out], y[~out])
        assert np.allclose(y[out] - again.predict(X[out]), residuals[out], atol=1e-6)
        slow = again.predict(X[:3])
        assert np.allclose(slow, fold_predictions(held, G, X[:3])[:, fold], atol=1e-6)


def test_refusals(rng):
    X, y = curve(rng, n=20)
    for parameters, words in (
        ({"C": 0}, "C must be"), ({"epsilon": -0.1}, "epsilon must be"), ({"epsilon": np.inf}, "epsilon must be"),
        ({"tol": -1}, "tol must be"), ({"kernel": "rbf"}, "from_gamma"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=words):
            mercer.SVR(**parameters).fit(X, y)
    with pytest.raises(InputError, match="C must be a number > 0"):
        mercer.NuSVR(C=np.inf).fit(X, y)
    with pytest.raises(InputError, match="nu must be"):
        mercer.NuSVR(nu=1.5).fit(X, y)
    with pytest.raises(InputError, match="cv"):
        mercer.SVR(G).fit(X, y).predict_interval(X, method="jackknife")
    with pytest.raises(ValueError, match="NaN"):
        mercer.SVR(G).fit(X, np.where(y > 0, np.nan, y))
    with pytest.raises(InputError, match="two rows"):
        mercer.SVR(mercer.Gaussian(1.0)).fit(X[:1], y[:1]).predict_interval(X)
    with pytest.warns(ConvergenceWarning, match="max_iter=3"):
        early = mercer.SVR(G, C=100.0, max_iter=3).fit(X, y)
    assert early.fit_status_ == 1 and np.isfinite(early.predict(X)).all()


@pytest.mark.parametrize("kind", [mercer.SVR(G), mercer.NuSVR(G, nu=0.3)], ids=str)
@pytest.mark.parametrize("asked", [False, True], ids=["fresh", "asked"])
def test_saved_and_loaded(kind, asked, tmp_path, rng):
    X, y = curve(rng)
    model = kind.fit(X, y)
    if asked:
        model.predict_interval(X[:2])
    mercer.save(model, tmp_path / "m")
    again = mercer.load(tmp_path / "m")
    assert np.array_equal(again.predict(X), model.predict(X)) and str(again) == str(model)
    for method in ("cv", "cv+"):
        assert np.array_equal(again.predict_interval(X, 0.8, method=method), model.predict_interval(X, 0.8, method=method))


def test_summary(rng):
    X, y = curve(rng)
    text = str(mercer.SVR(G).fit(X, y))
    assert "tube" in text and "support vectors" in text and "norm of f" in text


@pytest.mark.parametrize("kind", [mercer.SVR, mercer.NuSVR])
def test_sklearn_contract(kind):
    check_estimator(kind())
