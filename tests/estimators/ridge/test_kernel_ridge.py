"""KernelRidge against scikit-learn, against its own other routes, and against brute-force refits."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge as Peer
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import Gaussian, Graph, KernelRidge, Linear, Polynomial, Precomputed, Spectrum, VertexHistogram, plan
from mercer.errors import InputError, MemoryBudgetError

N = 90


@parametrize_with_checks([KernelRidge(), KernelRidge(Polynomial(2), alpha=0.1, fit_intercept=True)])
def test_scikit_learns_contract(estimator, check) -> None:
    check(estimator)


@pytest.fixture
def data(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X = rng.normal(size=(N, 4))
    weights = rng.random(N)
    weights[[3, 50]] = 0.0
    return X, np.column_stack([np.sin(X[:, 0]) + 0.1 * rng.normal(size=N), X[:, 1] * X[:, 2] + 5.0]), weights


@pytest.mark.parametrize("alpha", [1e-3, 0.5, 30.0])
@pytest.mark.parametrize("solver", ["auto", "cholesky", "eigh", "primal", "cg"])
def test_all_routes_equal_scikit_learn(data: tuple, alpha: float, solver: str) -> None:
    X, Y, _ = data
    kernel = Polynomial(degree=2, offset=1.0)
    peer = Peer(alpha=alpha, kernel="poly", degree=2, gamma=1.0, coef0=1.0).fit(X, Y)
    model = KernelRidge(kernel, alpha=alpha, solver=solver, tol=1e-13).fit(X, Y)
    # cond(K + alpha I) reaches 1e6 at the smallest alpha: 1e-8 relative is what the dual form can promise
    np.testing.assert_allclose(model.predict(X), peer.predict(X), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(model.dual_coef_, peer.dual_coef_, rtol=1e-6, atol=1e-6 * abs(peer.dual_coef_).max())
    np.testing.assert_allclose(model.dual_coef_, (Y - model.predict(X)) / alpha, atol=1e-6 * abs(Y).max() / alpha)


def test_the_linear_kernel_is_ridge_with_and_without_intercept(data: tuple) -> None:
    X, Y, weights = data
    for intercept in (False, True):
        for solver in ("primal", "cholesky", "eigh"):
            model = KernelRidge(Linear(), alpha=2.0, fit_intercept=intercept, solver=solver).fit(X, Y, weights)
            peer = Ridge(alpha=2.0, fit_intercept=intercept).fit(X, Y, weights)
            np.testing.assert_allclose(model.predict(X), peer.predict(X), rtol=1e-8, atol=1e-10)


def test_auto_takes_the_primal_when_features_are_fewer_than_rows(data: tuple) -> None:
    X, Y, _ = data
    assert KernelRidge(Polynomial(2)).fit(X, Y).route_.solver == "primal"
    assert KernelRidge(Polynomial(2)).fit(X[:12], Y[:12]).route_.solver == "cholesky"
    assert KernelRidge(Gaussian(1.0)).fit(X, Y).route_.solver == "cholesky"


@pytest.mark.parametrize("solver", ["cholesky", "eigh", "primal"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_equals_refits(data: tuple, solver: str, intercept: bool, weighted: bool) -> None:
    X, Y, weights = data
    w = weights if weighted else np.ones(N)
    make = KernelRidge(Polynomial(2), alpha=0.3, fit_intercept=intercept, solver=solver)
    model = clone(make).fit(X, Y, w)
    for i in (0, 3, 17, 89):
        rest = np.arange(N) != i
        refit = clone(make).fit(X[rest], Y[rest], w[rest])
        np.testing.assert_allclose(model.loo_residuals_[i], Y[i] - refit.predict(X[i : i + 1])[0], rtol=1e-8, atol=1e-8)
        bumped = Y.copy()
        bumped[i] += 1.0
        moved = clone(make).fit(X, bumped, w).predict(X[i : i + 1]) - model.predict(X[i : i + 1])
        np.testing.assert_allclose(model.leverage_[i], moved[0, 0], atol=1e-8)
    np.testing.assert_allclose(model.effective_dof_, model.leverage_.sum())


def test_one_alpha_per_target(data: tuple) -> None:
    X, Y, weights = data
    for solver in ("cholesky", "eigh", "primal"):
        model = KernelRidge(Polynomial(2), alpha=[0.1, 3.0], solver=solver, fit_intercept=True).fit(X, Y, weights)
        for j, alpha in enumerate([0.1, 3.0]):
            single = KernelRidge(Polynomial(2), alpha=alpha, solver=solver, fit_intercept=True).fit(X, Y[:, j], weights)
            np.testing.assert_allclose(model.predict(X)[:, j], single.predict(X), rtol=1e-8)
            np.testing.assert_allclose(model.loo_residuals_[:, j], single.loo_residuals_, rtol=1e-6, atol=1e-9)
            np.testing.assert_allclose(model.rkhs_norm_[j], single.rkhs_norm_, rtol=1e-8)
            np.testing.assert_allclose(model.effective_dof_[j], single.effective_dof_, rtol=1e-8)


@pytest.mark.parametrize("solver", ["cholesky", "eigh", "primal", "cg"])
def test_the_rkhs_norm_is_that_of_the_weights_in_feature_space(data: tuple, solver: str) -> None:
    X, Y, _ = data
    kernel = Polynomial(2)
    model = KernelRidge(kernel, alpha=0.7, solver=solver, tol=1e-12).fit(X, Y[:, 0])
    w = kernel.feature_map(X).T @ model.dual_coef_
    np.testing.assert_allclose(model.rkhs_norm_, np.linalg.norm(w), rtol=1e-7)


def test_alpha_zero_is_minimum_norm_least_squares(rng: np.random.Generator) -> None:
    X = rng.normal(size=(20, 3))
    X = np.column_stack([X, X[:, 0] + X[:, 1]])  # rank 3
    y = rng.normal(size=20)
    wanted = X @ np.linalg.lstsq(X, y, rcond=None)[0]
    for solver in ("auto", "eigh", "primal"):
        model = KernelRidge(Linear(), alpha=0.0, solver=solver).fit(X, y)
        np.testing.assert_allclose(model.predict(X), wanted, atol=1e-10)
        assert model.rank_ == 3
    twice = KernelRidge(Gaussian(1.0), alpha=0.0).fit(np.vstack([X, X]), np.concatenate([y, y + 2.0]))
    np.testing.assert_allclose(twice.predict(X), y + 1.0, atol=1e-6)  # duplicated rows are fitted by their mean


def test_strings_graphs_tables_sparse_and_precomputed(rng: np.random.Generator) -> None:
    pd = pytest.importorskip("pandas")
    y = np.array([1.0, 2.0, 3.0, 4.0])
    strings = ["abab", "ba", "xyx", "bab"]
    graphs = [Graph(k + 1, node_labels="CCO"[: k + 1] if k < 3 else "COCO") for k in range(4)]
    frame = pd.DataFrame({"text": strings, "size": [1.0, 2.0, 3.0, 5.0]})
    table = Spectrum(2).on("text").normalized() + Gaussian(1.0).on("size")
    for kernel, X in ((Spectrum(2), strings), (VertexHistogram(), graphs), (table, frame)):
        model = KernelRidge(kernel, alpha=0.5).fit(X, y)
        K = kernel(X)
        np.testing.assert_allclose(model.predict(X), K @ np.linalg.solve(K + 0.5 * np.eye(4), y))
        assert "not vectors" in str(model)
        assert model.predict_interval(X, coverage=0.5).shape == (4, 2)
    X = rng.normal(size=(30, 6)) * (rng.random((30, 6)) < 0.5)
    y = rng.normal(size=30)
    dense = KernelRidge(Gaussian(2.0)).fit(X, y).predict(X)
    np.testing.assert_allclose(KernelRidge(Gaussian(2.0)).fit(sp.csr_matrix(X), y).predict(sp.csr_array(X)), dense)
    K = Gaussian(2.0)(X)
    np.testing.assert_allclose(KernelRidge(Precomputed()).fit(K, y).predict(K[:5]), dense[:5])


def test_grid_search_reaches_into_the_kernel(data: tuple) -> None:
    X, Y, _ = data
    pipeline = make_pipeline(StandardScaler(), KernelRidge(2.0 * Gaussian(1.0) + Linear()))
    grid = {"kernelridge__kernel__0__0__length_scale": [0.1, 1.0, 3.0], "kernelridge__alpha": [0.1, 1.0]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, Y[:, 0])
    assert search.best_estimator_[-1].kernel.get_params()["0__0__length_scale"] in (0.1, 1.0, 3.0)
    assert len(set(search.cv_results_["mean_test_score"])) == 6


def test_the_median_is_resolved_once_on_the_training_rows(data: tuple) -> None:
    X, Y, _ = data
    model = KernelRidge().fit(X, Y)
    assert model.kernel_ == Gaussian("median").resolve(X)
    assert model.kernel == Gaussian("median")


def test_huber_resists_outliers_and_its_objective_falls(rng: np.random.Generator) -> None:
    X = np.linspace(0, 6, 80).reshape(-1, 1)
    truth = np.sin(X[:, 0])
    y = truth + 0.05 * rng.normal(size=80)
    y[::10] += 8.0
    plain = KernelRidge(Gaussian(1.0), alpha=0.1).fit(X, y)
    robust = KernelRidge(Gaussian(1.0), alpha=0.1, loss="huber").fit(X, y)
    assert np.abs(robust.predict(X) - truth).max() < 0.3 < np.abs(plain.predict(X) - truth).max()
    assert np.all(np.diff(robust.huber_.objective) <= 1e-9)


def test_intervals_are_those_of_the_residuals(data: tuple) -> None:
    X, Y, _ = data
    model = KernelRidge(Gaussian(1.5), alpha=0.1).fit(X, Y[:, 0])
    radius = np.sort(np.abs(model.loo_residuals_))[int(np.ceil(0.8 * (N + 1))) - 1]
    interval = model.predict_interval(X, coverage=0.8)
    np.testing.assert_allclose(interval, model.predict(X)[:, None] + [-radius, radius])
    # jackknife+ from refits, the slow way
    new = X[:3] + 0.1
    lower, upper = [], []
    for i in range(N):
        rest = np.arange(N) != i
        f = KernelRidge(Gaussian(1.5), alpha=0.1).fit(X[rest], Y[rest, 0]).predict(new)
        lower.append(f - abs(model.loo_residuals_[i]))
        upper.append(f + abs(model.loo_residuals_[i]))
    rank = int(np.ceil(0.8 * (N + 1)))
    wanted = np.column_stack([np.sort(lower, axis=0)[N - rank], np.sort(upper, axis=0)[rank - 1]])
    np.testing.assert_allclose(model.predict_interval(new, coverage=0.8, method="jackknife+"), wanted, rtol=1e-8)


def test_prediction_memory_does_not_grow_with_test_rows(rng: np.random.Generator) -> None:
    import tracemalloc

    X = rng.normal(size=(500, 2))
    model = KernelRidge(Gaussian(1.0)).fit(X, X[:, 0])
    new = rng.normal(size=(20_000, 2))
    model.predict(new)  # what is compiled and loaded once is not counted
    tracemalloc.start()
    model.predict(new)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000 * 500 * 8 / 8  # the matrix of kernel values would be 80 MB


def test_the_plan_says_what_fit_then_does(data: tuple) -> None:
    X, Y, _ = data
    model = KernelRidge(Gaussian(1.0))
    told = plan(model, X, Y)
    assert told.route.solver == model.fit(X, Y).route_.solver == "cholesky"
    assert told.bytes >= N * N * 8
    assert told.seconds > 0
    assert "cholesky" in str(told)
    with pytest.warns(UserWarning, match="cg is taken, which is not exact"):
        small = KernelRidge(Gaussian(1.0), memory=N * N * 8).fit(X, Y[:, 0])
    assert small.route_.solver == "cg"
    np.testing.assert_allclose(small.predict(X), model.fit(X, Y[:, 0]).predict(X), atol=1e-6)
    with pytest.raises(MemoryBudgetError, match=r"no route fits.*Raise memory="):
        KernelRidge(Gaussian(1.0), memory=100).fit(X, Y)


def test_an_interrupted_refit_leaves_the_old_model(data: tuple, monkeypatch: pytest.MonkeyPatch) -> None:
    X, Y, _ = data
    model = KernelRidge(Gaussian(1.0)).fit(X, Y[:, 0])
    before = model.predict(X)

    def interrupt(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("mercer.estimators.ridge.kernel_ridge.fit_ridge", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:, :2], Y[:, 1])
    np.testing.assert_array_equal(model.predict(X), before)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"alpha": -1.0}, "alpha must be finite and >= 0"),
        ({"alpha": [1.0, 2.0]}, "2 entries for 1 target"),
        ({"alpha": "big"}, "alpha must be a number"),
        ({"solver": "qr"}, "solver must be one of"),
        ({"loss": "absolute"}, "loss must be"),
        ({"kernel": "rbf"}, r"write 'Gaussian\.from_gamma"),
        ({"kernel": Gaussian}, "is a class"),
        ({"kernel": 3}, "kernel must be a kernel"),
        ({"kernel": Gaussian(1.0), "solver": "primal"}, "finite feature map"),
    ],
)
def test_bad_parameters(data: tuple, change: dict, words: str) -> None:
    X, Y, _ = data
    with pytest.raises(InputError, match=words):
        KernelRidge(**change).fit(X, Y[:, 0])


def test_bad_data(data: tuple) -> None:
    X, Y, _ = data
    broken = Y[:, 0].copy()
    broken[4] = np.nan
    with pytest.raises(InputError, match=r"y contains NaN \(row 4\)"):
        KernelRidge().fit(X, broken)
    with pytest.raises(InputError, match=r"shape \(89,\) for 90 rows"):
        KernelRidge().fit(X, Y[1:, 0])
    with pytest.raises(InputError, match="not every weight"):
        KernelRidge().fit(X, Y, np.zeros(N))
    with pytest.raises(ValueError, match="expecting 4 features"):
        KernelRidge().fit(X, Y).predict(X[:, :2])
    with pytest.raises(TypeError, match="positional"):
        KernelRidge(Gaussian(1.0), 2.0)


def test_one_row_and_wild_scales(rng: np.random.Generator) -> None:
    one = KernelRidge(Gaussian(1.0), alpha=1.0).fit([[2.0]], [3.0])
    np.testing.assert_allclose(one.predict([[2.0]]), 1.5)
    X = rng.normal(size=(40, 3)) * [1e-8, 1.0, 1e8]
    y = rng.normal(size=40)
    model = KernelRidge(Linear(), alpha=1e-12).fit(X, y)
    assert np.isfinite(model.predict(X)).all()


def test_printing_answers_is_it_good(data: tuple) -> None:
    X, Y, _ = data
    model = KernelRidge(alpha=0.1)
    assert str(model) == "KernelRidge(alpha=0.1)"
    model.fit(X, Y[:, 0])
    assert "training error" in str(model)
    model.loo_residuals_  # noqa: B018 - asking is what computes them
    text = str(model)
    for words in ("leave-one-out error", "the mean alone", "linear ridge", "route", "median distance", "memory of the fit"):
        assert words in text
    assert "<table>" in model._repr_html_()


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_float32_factor_is_refined_to_float64_answers(
    data: tuple, monkeypatch: pytest.MonkeyPatch, intercept: bool, weighted: bool
) -> None:
    X, Y, weights = data
    w = weights + 0.5 if weighted else None
    exact = KernelRidge(Gaussian(1.5), alpha=0.3, fit_intercept=intercept).fit(X, Y, w)
    monkeypatch.setattr("mercer.estimators.ridge.mixed.MIXED_ROWS", 10)
    mixed = KernelRidge(Gaussian(1.5), alpha=0.3, fit_intercept=intercept).fit(X, Y, w)
    assert "float32 factor" in mixed._fitted.message
    for name in ("dual_coef_", "intercept_", "rkhs_norm_"):
        np.testing.assert_allclose(getattr(mixed, name), getattr(exact, name), rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(mixed._fitted.residuals, exact._fitted.residuals, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(mixed.loo_residuals_, exact.loo_residuals_, rtol=1e-10, atol=1e-11)


def test_where_float32_has_too_few_digits_the_float64_factor_answers(data: tuple, monkeypatch: pytest.MonkeyPatch) -> None:
    X, Y, weights = data
    monkeypatch.setattr("mercer.estimators.ridge.mixed.MIXED_ROWS", 10)
    for model, w in (
        (KernelRidge(Gaussian(3.0), alpha=1e-9), None),
        (KernelRidge(Gaussian(3.0), alpha=[0.1, 1.0]), None),
        (KernelRidge(Gaussian(3.0), alpha=1.0), weights),  # rows of weight zero
    ):
        assert "float32" not in model.fit(X, Y, w)._fitted.message
