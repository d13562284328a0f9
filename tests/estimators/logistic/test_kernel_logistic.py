"""Kernel logistic regression against a generic optimizer, refits, copies of rows, its contract and its messages."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import LeaveOneOut, cross_val_predict
from sklearn.utils.estimator_checks import check_estimator

import mercer
from mercer import Gaussian, KernelLogisticRegression, KernelLogisticRegressionCV, Linear
from mercer.errors import InputError

RNG = np.random.default_rng(3)
X = RNG.normal(size=(90, 3))
TWO = (np.sin(2 * X[:, 0]) + X[:, 1] + 0.5 * RNG.normal(size=90) > 0).astype(int)
THREE = np.digitize(X[:, 0] + 0.3 * RNG.normal(size=90), [-0.5, 0.5])
K = Gaussian(1.5)


def naive(K: np.ndarray, Y: np.ndarray, C: float, w: np.ndarray) -> np.ndarray:
    """The decision values by a generic optimizer of the written objective, one column per class."""
    n, k = Y.shape
    L = np.linalg.cholesky(K + 1e-11 * np.eye(n))

    def objective(v: np.ndarray) -> tuple[float, np.ndarray]:
        V, b = v[: n * k].reshape(n, k), v[n * k :]
        F = L @ V + b
        top = F.max(axis=1, keepdims=True)
        logs = F - top - np.log(np.exp(F - top).sum(axis=1, keepdims=True))
        G = w[:, None] * (np.exp(logs) - Y)
        return -float(w @ (Y * logs).sum(axis=1)) + (V**2).sum() / (2 * C), np.append(
            (L.T @ G + V / C).ravel(), G.sum(axis=0)
        )

    found = minimize(
        objective,
        np.zeros((n + 1) * k),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 20000, "maxfun": 20000, "ftol": 1e-15, "gtol": 1e-10},
    )
    V, b = found.x[: n * k].reshape(n, k), found.x[n * k :]
    F = L @ V + b
    return np.asarray(F - F.mean(axis=1, keepdims=True))


@pytest.mark.parametrize("solver", ["exact", "nystroem"])
def test_two_classes_are_the_minimum_of_the_objective(solver: str) -> None:
    w = RNG.uniform(0.5, 2.0, 90)
    model = KernelLogisticRegression(K, C=3.0, solver=solver, n_components=90).fit(X, TWO, sample_weight=w)
    # one function f of two classes has twice the squared norm of the pair (-f/2, f/2)
    F = naive(K(X), np.eye(2)[TWO], 1.5, w)
    np.testing.assert_allclose(model.decision_function(X), F[:, 1] - F[:, 0], atol=2e-4)
    assert abs(model.duality_gap_) < 1e-6
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-model.decision_function(X))))


@pytest.mark.parametrize("solver", ["exact", "nystroem"])
def test_many_classes_are_the_minimum_of_the_objective(solver: str) -> None:
    model = KernelLogisticRegression(K, C=3.0, solver=solver, n_components=90).fit(X, THREE)
    F = model.decision_function(X)
    np.testing.assert_allclose(F - F.mean(axis=1, keepdims=True), naive(K(X), np.eye(3)[THREE], 3.0, np.ones(90)), atol=1e-3)
    assert abs(model.duality_gap_) < 1e-6
    np.testing.assert_array_equal(model.predict(X), model.classes_[model.predict_proba(X).argmax(axis=1)])


def test_a_linear_kernel_is_logistic_regression() -> None:
    model = KernelLogisticRegression(Linear(), C=0.7).fit(X, TWO)
    peer = LogisticRegression(C=0.7, tol=1e-10, max_iter=1000).fit(X, TWO)
    np.testing.assert_allclose(model.predict_proba(X), peer.predict_proba(X), atol=1e-5)


def test_the_dual_value_is_below_every_primal_value() -> None:
    best = KernelLogisticRegression(K, C=3.0).fit(X, TWO)
    with pytest.warns(ConvergenceWarning, match="within"):
        early = KernelLogisticRegression(K, C=3.0, max_iter=1).fit(X, TWO)
    assert early.duality_gap_ > 1e-3
    assert early.dual_objective_ <= best.primal_objective_ + 1e-9
    assert early.primal_objective_ >= best.primal_objective_


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_weights_are_copies_and_zero_leaves_out(y: np.ndarray, class_weight: str | None) -> None:
    weights = np.where(np.arange(90) < 20, 2.0, 1.0)
    weights[80:] = 0.0
    copies = np.concatenate([np.arange(80), np.arange(20)])
    one = KernelLogisticRegression(K, C=2.0, class_weight=class_weight).fit(X, y, sample_weight=weights)
    other = KernelLogisticRegression(K, C=2.0, class_weight=class_weight).fit(X[copies], y[copies])
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-7)


def test_class_weights_are_weights() -> None:
    given = {0: 3.0}
    one = KernelLogisticRegression(K, class_weight=given).fit(X, TWO)
    other = KernelLogisticRegression(K).fit(X, TWO, sample_weight=np.where(TWO == 0, 3.0, 1.0))
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("C", [0.5, 5.0])
def test_approximate_leave_one_out_is_near_refits(y: np.ndarray, C: float) -> None:
    kernel = Gaussian(3.0)
    model = KernelLogisticRegressionCV(kernel, Cs=[C], length_scales=[3.0]).fit(X, y)
    P = cross_val_predict(KernelLogisticRegression(kernel, C=C), X, y, cv=LeaveOneOut(), method="predict_proba")
    assert model.best_score_ == pytest.approx(-log_loss(y, P), rel=0.01)
    assert model.best_score_ < -log_loss(y, model.predict_proba(X))


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
def test_splits_are_refits(y: np.ndarray) -> None:
    splits = [(np.arange(45, 90), np.arange(45)), (np.arange(45), np.arange(45, 90))]
    grid = {"Cs": [0.5, 5.0], "length_scales": [1.0, 2.0]}
    model = KernelLogisticRegressionCV(cv=splits, **grid).fit(X, y)
    for point, score in zip(model.cv_results_["params"], model.cv_results_["split0_test_score"], strict=True):
        refit = KernelLogisticRegression(Gaussian(point["length_scale"]), C=point["C"]).fit(X[45:], y[45:])
        assert score == pytest.approx(-log_loss(y[:45], refit.predict_proba(X[:45]), labels=np.unique(y)), abs=1e-5)
    assert model.best_params_ == {"length_scale": model.best_length_scale_, "C": model.best_C_}
    again = KernelLogisticRegression(Gaussian(model.best_length_scale_), C=model.best_C_).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), again.predict_proba(X), atol=1e-7)


def test_the_search_needs_no_argument_and_says_how_it_chose() -> None:
    model = KernelLogisticRegressionCV().fit(X, TWO)
    assert model.best_score_ > -0.6
    assert "approximate leave-one-out" in str(model)
    simple = KernelLogisticRegressionCV(rule="one_standard_error").fit(X, TWO)
    assert simple.best_C_ <= model.best_C_


def test_scores_of_fits_that_ended_early_are_reported() -> None:
    with pytest.warns(ConvergenceWarning, match="the score at C = 10 is approximate, .* stopped after 1 step"):
        KernelLogisticRegressionCV(Cs=[10.0], length_scales=[1.0], max_iter=1).fit(X, TWO)


def test_more_rows_than_the_surface_takes_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mercer.estimators.logistic.kernel_logistic.SURFACE_ROWS", 60)
    model = KernelLogisticRegressionCV(Cs=[1.0], length_scales=[1.0]).fit(X, TWO)
    assert "on 60 of 90 rows" in model.surface_.how


def test_strings_graphs_tables_sparse_rows_and_given_values() -> None:
    words = ["aab", "abb", "aaa", "zzy", "zyy", "zzz"] * 3
    labels = [0, 0, 0, 1, 1, 1] * 3
    assert KernelLogisticRegression(mercer.Spectrum(1)).fit(words, labels).predict(["aa", "zz"]).tolist() == [0, 1]
    graphs = [mercer.Graph(n, [(i, (i + 1) % n) for i in range(n)]) for n in (3, 4, 7, 8) * 3]
    model = KernelLogisticRegression(mercer.ShortestPath().normalized(), C=100.0).fit(graphs, [0, 0, 1, 1] * 3)
    assert model.score(graphs, [0, 0, 1, 1] * 3) == 1.0
    sparse = KernelLogisticRegression(Linear()).fit(sp.csr_array(X), TWO)
    np.testing.assert_allclose(
        sparse.predict_proba(sp.csr_array(X)), KernelLogisticRegression(Linear()).fit(X, TWO).predict_proba(X), atol=1e-9
    )
    given = KernelLogisticRegression(mercer.Precomputed()).fit(K(X), TWO)
    np.testing.assert_allclose(
        given.predict_proba(K(X)), KernelLogisticRegression(K).fit(X, TWO).predict_proba(X), atol=1e-9
    )


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
def test_saved_and_loaded(y: np.ndarray, tmp_path) -> None:
    for model in (KernelLogisticRegression(K), KernelLogisticRegressionCV(K, Cs=[1.0, 2.0], length_scales=[1.0])):
        mercer.save(model.fit(X, y), tmp_path / "model")
        again = mercer.load(tmp_path / "model")
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_the_contract_of_scikit_learn() -> None:
    for model in (KernelLogisticRegression(), KernelLogisticRegressionCV(Cs=[1.0, 10.0], length_scales=[1.0])):
        failed = [r for r in check_estimator(model, on_fail=None, on_skip=None) if r["status"] == "failed"]
        assert not failed, [(r["check_name"], r["exception"]) for r in failed]


def test_the_route_is_planned() -> None:
    assert mercer.plan(KernelLogisticRegression(), X, TWO).route.solver == "exact"
    many = np.zeros((50_000, 2))
    assert mercer.plan(KernelLogisticRegression(), many, np.arange(50_000) % 2).route.solver == "nystroem"


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
def test_the_plan_of_a_search_holds_its_leave_one_out(y: np.ndarray) -> None:
    A, t = np.tile(X, (4, 1)) + 0.01 * RNG.normal(size=(360, 3)), np.tile(y, 4)
    model = KernelLogisticRegressionCV(K, Cs=[10.0], length_scales=[1.0])
    tracemalloc.start()
    model.fit(A, t)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 0.75 * peak <= mercer.plan(model, A, t).bytes <= 1.4 * peak


@pytest.mark.parametrize(
    ("model", "y", "message"),
    [
        (KernelLogisticRegression(C=0.0), TWO, "C must be a finite number > 0"),
        (KernelLogisticRegression(solver="lbfgs"), TWO, "solver must be one of auto, exact, nystroem"),
        (KernelLogisticRegression(), np.zeros(90), "one class only"),
        (KernelLogisticRegression(), np.where(np.arange(90) == 3, np.nan, TWO), "contains NaN"),
        (KernelLogisticRegression(class_weight={7: 1.0}), TWO, "class_weight names 7"),
        (KernelLogisticRegression(class_weight={0: 0.0}), TWO, "finite numbers > 0"),
        (KernelLogisticRegressionCV(scoring="f1"), TWO, "scoring must be one of neg_log_loss, accuracy"),
        (KernelLogisticRegressionCV(cv=[(np.flatnonzero(TWO == 0), np.arange(5))]), TWO, "trains without one"),
    ],
)
def test_bad_input_is_named(model, y: np.ndarray, message: str) -> None:
    with pytest.raises(InputError, match=message):
        model.fit(X, y)


def _in_chunks(X: np.ndarray, y: np.ndarray, w: np.ndarray, rows: int = 130) -> object:
    parts = [slice(i, i + rows) for i in range(0, len(X), rows)]
    return mercer.chunks(lambda: ((X[part], y[part], w[part]) for part in parts))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_chunks_give_the_model_of_rows_in_memory(
    n_classes: int, class_weight: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mercer.estimators.logistic.landmarks.FEWEST", 100)  # both use a sample
    monkeypatch.setattr("mercer.estimators.logistic.landmarks.ROWS_PER_LANDMARK", 8)
    rng = np.random.default_rng(5)
    A = rng.normal(size=(600, 2))
    t = np.digitize(A[:, 0] * A[:, 1] + 0.3 * rng.normal(size=600), [0.0, 0.5][: n_classes - 1])
    w = rng.integers(1, 3, 600).astype(float)
    model = KernelLogisticRegression(K, C=3.0, solver="nystroem", n_components=20, class_weight=class_weight, tol=1e-12)
    whole, parts = clone(model).fit(A, t, sample_weight=w), clone(model).fit(_in_chunks(A, t, w))
    plain = clone(model).set_params(solver="exact").fit(A, t, sample_weight=w)
    np.testing.assert_allclose(parts.predict_proba(A), whole.predict_proba(A), atol=1e-5)
    assert parts.primal_objective_ == pytest.approx(whole.primal_objective_, rel=1e-9)
    for found in (whole, parts):
        assert abs(found.duality_gap_) < 1e-6 * found.primal_objective_
        assert found.primal_objective_ >= plain.primal_objective_ - 1e-6  # landmarks span less
    zero = w * (np.arange(600) % 7 > 0)
    none = clone(model).fit(_in_chunks(A, t, zero))
    assert abs(none.duality_gap_) < 1e-6 * none.primal_objective_


def test_the_search_on_chunks_uses_a_sample_and_says_so() -> None:
    rng = np.random.default_rng(6)
    A = rng.normal(size=(500, 2))
    t, w = np.where(A[:, 0] > 0, "b", "a"), np.ones(500)
    found = KernelLogisticRegressionCV(K, Cs=[0.1, 10.0], n_components=30).fit(_in_chunks(A, t, w))
    assert found.best_C_ == 10.0
    assert "500 of 500 rows" in found.surface_.how
    assert found.score(A, t) > 0.95
    with pytest.raises(InputError, match="leave cv=None"):
        KernelLogisticRegressionCV(K, cv=3).fit(_in_chunks(A, t, w))
    with pytest.raises(InputError, match="solver='exact' needs all rows in memory"):
        KernelLogisticRegression(K, solver="exact").fit(_in_chunks(A, t, w))
    with pytest.raises(InputError, match="an iterator is read once"):
        KernelLogisticRegression(K).fit(mercer.chunks(iter([(A, t, w)])))
    route = mercer.plan(KernelLogisticRegression(K), _in_chunks(A, t, w)).route
    assert route.solver == "nystroem"
    assert route.passes > 10
