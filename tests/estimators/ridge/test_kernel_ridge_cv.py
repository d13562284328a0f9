"""KernelRidgeCV: the surface against brute-force grid search, the choice, and what it keeps."""

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge as Peer
from sklearn.linear_model import Ridge
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneOut,
    RepeatedKFold,
    ShuffleSplit,
    TimeSeriesSplit,
    cross_val_predict,
)
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.estimators.encodings import counted_encodings

from mercer import Gaussian, Graph, KernelRidge, KernelRidgeCV, Linear, Polynomial, Spectrum, VertexHistogram, plan
from mercer.errors import InputError

N = 80
SCALES = [2.0, 2.0**0.5, 1.0, 0.4]
FEW, MANY = [0.05, 1.0], np.logspace(-2, 2, 9)


@parametrize_with_checks([KernelRidgeCV(), KernelRidgeCV(Polynomial(2), alphas=[0.1, 1.0], cv=3)])
def test_scikit_learns_contract(estimator, check) -> None:
    check(estimator)


@pytest.fixture
def data(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    X = rng.normal(size=(N, 3))
    return X, np.sin(X[:, 0]) + X[:, 1] + 0.2 * rng.normal(size=N)


SPLITTERS = [None, 5, KFold(4, shuffle=True, random_state=1), RepeatedKFold(n_splits=3, n_repeats=2, random_state=0),
             ShuffleSplit(3, random_state=0), TimeSeriesSplit(4)]  # fmt: skip


@pytest.mark.parametrize("alphas", [FEW, MANY], ids=["few", "many"])
@pytest.mark.parametrize("cv", SPLITTERS, ids=str)
def test_the_surface_equals_a_grid_search_with_refits(data: tuple, alphas: list, cv: object) -> None:
    X, y = data
    model = KernelRidgeCV(Gaussian(1.0), alphas=alphas, length_scales=SCALES, cv=cv).fit(X, y)
    for index, scale in enumerate(SCALES):
        search = GridSearchCV(
            Peer(kernel="rbf", gamma=0.5 / scale**2), {"alpha": list(alphas)}, scoring="neg_mean_squared_error",
            cv=LeaveOneOut() if cv is None else cv,
        ).fit(X, y)  # fmt: skip
        np.testing.assert_allclose(model.surface_.scores[index], search.cv_results_["mean_test_score"], rtol=1e-8)
    best = model.surface_.scores.max()
    assert model.best_score_ == best
    assert model.surface_.scores[SCALES.index(model.best_length_scale_), list(alphas).index(model.best_alpha_)] == best


def test_groups_are_passed_to_the_splitter(data: tuple) -> None:
    X, y = data
    groups = np.arange(N) // 10
    model = KernelRidgeCV(Gaussian(1.0), alphas=FEW, cv=GroupKFold(4)).fit(X, y, groups=groups)
    predicted = cross_val_predict(Peer(kernel="rbf", gamma=0.5, alpha=FEW[0]), X, y, cv=GroupKFold(4), groups=groups)
    folds = [np.mean((y - predicted)[test] ** 2) for _, test in GroupKFold(4).split(X, y, groups)]
    # ten scales stand round the kernel's own, 1.0
    own = [p["length_scale"] for p in model.surface_.params].index(1.0)
    np.testing.assert_allclose(model.surface_.scores[own, 0], -np.mean(folds), rtol=1e-8)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("n", [N, 1100], ids=["eigh", "tridiagonal"])
def test_leave_one_out_of_the_choice_is_that_of_the_plain_model(rng: np.random.Generator, intercept: bool, n: int) -> None:
    X = rng.normal(size=(n, 3))
    Y = np.column_stack([np.sin(X[:, 0]), X[:, 1]]) + 0.3 * rng.normal(size=(n, 2))
    w = rng.random(n)
    w[5] = 0.0
    model = KernelRidgeCV(Gaussian(1.0), alphas=MANY, length_scales=[2.0, 1.0], fit_intercept=intercept).fit(X, Y, w)
    assert model.surface_.route == ("eigh" if n == N else "tridiagonal")
    plain = KernelRidge(model.kernel_, alpha=model.best_alpha_, fit_intercept=intercept).fit(X, Y, w)
    np.testing.assert_allclose(model.loo_residuals_, plain.loo_residuals_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(model.predict(X), plain.predict(X), rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(model.leverage_, plain.leverage_, atol=1e-9)
    score = -np.average(model.loo_residuals_**2, axis=0, weights=w).mean()
    np.testing.assert_allclose(model.best_score_, score, rtol=1e-8)


def test_intervals_after_selection_factor_nothing(data: tuple, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = data
    model = KernelRidgeCV().fit(X, y)

    def forbidden(*arguments: object, **keywords: object) -> None:
        raise AssertionError("a factorization was made")

    for name in ("mercer.estimators.ridge.routes.gram", "mercer.estimators.ridge.kernel_ridge.diagnose_ridge"):
        monkeypatch.setattr(name, forbidden)
    interval = model.predict_interval(X)
    assert 0.85 <= np.mean((y >= interval[:, 0]) & (y <= interval[:, 1])) <= 1.0


def test_no_argument_is_good_on_a_shifted_target(data: tuple) -> None:
    X, y = data
    model = KernelRidgeCV().fit(X, y + 1e4)
    linear = np.mean((y - cross_val_predict(Ridge(1.0), X, y, cv=10)) ** 2)
    assert np.mean(model.loo_residuals_**2) < linear
    assert abs(model.predict(X).mean() - 1e4 - y.mean()) < 0.1


def test_a_grid_of_our_own_is_widened_at_its_edge(rng: np.random.Generator) -> None:
    X = rng.normal(size=(60, 2))
    model = KernelRidgeCV().fit(X, X @ [1.0, -2.0])  # linear: the widest scale of any grid is best
    assert len({repr(k) for k in model.surface_.kernels}) == len(model.surface_.kernels) > 10
    assert model.best_length_scale_ > 5.7 * Gaussian("median").resolve(X).length_scale  # type: ignore[attr-defined]


def test_many_rows_are_narrowed_on_a_sample(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mercer.selection.surface.SAMPLE", 200)
    X = rng.normal(size=(500, 2))
    model = KernelRidgeCV().fit(X, np.sin(3 * X[:, 0]))
    assert len(model.surface_.kernels) == 3
    assert "200 rows" in str(model)
    given = KernelRidgeCV(length_scales=[1.0, 0.5]).fit(X, X[:, 0])
    assert [p["length_scale"] for p in given.surface_.params] == [1.0, 0.5]


def test_one_standard_error_takes_more_penalty_and_stays_within_it(data: tuple) -> None:
    X, y = data
    y = y + 2.0 * np.random.default_rng(0).normal(size=N)
    best = KernelRidgeCV(Gaussian(2.0), alphas=MANY, length_scales=SCALES).fit(X, y)
    simple = KernelRidgeCV(Gaussian(2.0), alphas=MANY, length_scales=SCALES, rule="one_standard_error").fit(X, y)
    assert simple.best_alpha_ > best.best_alpha_
    row, column = best.best_index_
    assert simple.best_score_ >= best.best_score_ - best.surface_.standard_errors[row, column]


def test_alpha_per_target(rng: np.random.Generator) -> None:
    X = rng.normal(size=(N, 2))
    Y = np.column_stack([np.sin(X[:, 0]), np.sin(X[:, 0]) + 2 * rng.normal(size=N)])
    model = KernelRidgeCV(Gaussian(1.0), alphas=MANY, length_scales=[1.0], alpha_per_target=True).fit(X, Y)
    for j in range(2):
        single = KernelRidgeCV(Gaussian(1.0), alphas=MANY, length_scales=[1.0]).fit(X, Y[:, j])
        assert model.best_alpha_[j] == single.best_alpha_
        np.testing.assert_allclose(model.loo_residuals_[:, j], single.loo_residuals_, rtol=1e-8)
        np.testing.assert_allclose(model.predict(X)[:, j], single.predict(X), rtol=1e-8)


@pytest.mark.parametrize("scoring", ["r2", "neg_mean_absolute_error", "neg_root_mean_squared_error"])
def test_scoring_by_scikit_learns_names(data: tuple, scoring: str) -> None:
    X, y = data
    model = KernelRidgeCV(Gaussian(1.0), alphas=FEW, length_scales=[1.0], cv=4, scoring=scoring).fit(X, y)
    search = GridSearchCV(Peer(kernel="rbf", gamma=0.5), {"alpha": FEW}, scoring=scoring, cv=4).fit(X, y)
    wanted = search.cv_results_["mean_test_score"]
    if "root" in scoring:  # the mean over folds is taken before the root, as for the mean squared error
        wanted = [-np.sqrt(np.mean([search.cv_results_[f"split{i}_test_score"][a] ** 2 for i in range(4)])) for a in (0, 1)]
    np.testing.assert_allclose(model.surface_.scores[0], wanted, rtol=1e-8)


def test_cv_results_are_a_table(data: tuple) -> None:
    X, y = data
    model = KernelRidgeCV(Gaussian(1.0), alphas=FEW, length_scales=SCALES).fit(X, y)
    table = model.cv_results_
    assert len(table["params"]) == 8 == len(table["mean_test_score"]) == len(table["standard_error"])
    first = int(np.flatnonzero(table["rank_test_score"] == 1)[0])
    assert table["params"][first] == {"length_scale": model.best_length_scale_, "alpha": model.best_alpha_}
    errors = model.loo_residuals_**2
    np.testing.assert_allclose(table["standard_error"][first], errors.std(ddof=1) / N**0.5, rtol=1e-8)


@pytest.mark.parametrize("cv", [None, 4], ids=["leave-one-out", "folds"])
def test_cv_results_have_the_columns_of_a_grid_search(data: tuple, cv: int | None) -> None:
    X, y = data
    table = KernelRidgeCV(Gaussian(1.0), alphas=FEW, length_scales=[1.0], cv=cv).fit(X, y).cv_results_
    splitter = LeaveOneOut() if cv is None else cv
    peer = GridSearchCV(
        Peer(kernel="rbf", gamma=0.5), {"alpha": FEW}, scoring="neg_mean_squared_error", cv=splitter
    ).fit(X, y)  # fmt: skip
    theirs = {name for name in peer.cv_results_ if "time" not in name and (cv is not None or not name.startswith("split"))}
    assert theirs <= set(table)
    for name in theirs - {"params", "param_alpha"}:
        np.testing.assert_allclose(table[name], peer.cv_results_[name], rtol=1e-7, err_msg=name)


def test_equal_scores_have_equal_ranks(data: tuple) -> None:
    X, y = data
    table = KernelRidgeCV(Gaussian(1.0), alphas=FEW, param_grid={"length_scale": [1.0, 1.0, 2.0]}).fit(X, y).cv_results_
    scores = table["mean_test_score"]
    assert table["rank_test_score"].tolist() == [1 + int((scores > score).sum()) for score in scores]
    assert table["rank_test_score"][0] == table["rank_test_score"][2]


def test_ten_settings_encode_the_rows_once(data: tuple, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = data
    with counted_encodings(monkeypatch) as made:
        model = KernelRidgeCV(alphas=MANY).fit(X, y)
    assert len(model.surface_.params) >= 10
    assert made == {"encodings": 1, "scans": 1}
    with counted_encodings(monkeypatch) as made:  # scales per column are encoded one by one
        KernelRidgeCV(alphas=MANY, param_grid={"length_scale": [(1.0, 1.0, 2.0), (1.0, 2.0, 2.0)]}).fit(X, y)
    assert made == {"encodings": 3, "scans": 1}


def test_strings_and_graphs_choose_their_parameters() -> None:
    rng = np.random.default_rng(0)
    strings = ["".join(rng.choice(list("ab"), 12)) for _ in range(30)]
    y = [s.count("aba") for s in strings]
    model = KernelRidgeCV(Spectrum(2), param_grid={"p": [1, 2, 3]}).fit(strings, y)
    assert model.best_params_["p"] == 3
    graphs = [Graph(k % 5 + 1, node_labels="COCOC"[: k % 5 + 1]) for k in range(20)]
    assert KernelRidgeCV(VertexHistogram()).fit(graphs, [g.n_nodes for g in graphs]).best_score_ > -1e-6


def test_finite_features_take_the_primal(data: tuple) -> None:
    X, y = data
    primal = KernelRidgeCV(Polynomial(2), alphas=MANY).fit(X, y)
    assert primal.surface_.route == "primal" == primal.route_.solver
    brute = [np.mean((KernelRidge(Polynomial(2), alpha=a, solver="cholesky").fit(X, y).loo_residuals_) ** 2) for a in MANY]
    np.testing.assert_allclose(-primal.surface_.scores[0], brute, rtol=1e-7)


def test_the_plan_and_the_budget(data: tuple) -> None:
    X, y = data
    model = KernelRidgeCV(Gaussian(1.0), alphas=MANY)
    assert plan(model, X, y).route.solver == "eigh"
    tight = KernelRidgeCV(Gaussian(1.0), alphas=MANY, length_scales=[1.0], memory=N * N * 8).fit(X, y)
    assert tight.surface_.route == "cholesky"
    free = KernelRidgeCV(Gaussian(1.0), alphas=MANY, length_scales=[1.0]).fit(X, y)
    np.testing.assert_allclose(tight.surface_.scores, free.surface_.scores, rtol=1e-8)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"alphas": [-1.0]}, "alphas must be finite"),
        ({"alphas": []}, "at least one"),
        ({"rule": "two"}, "rule must be"),
        ({"scoring": "best"}, "scoring"),
        ({"kernel": Linear(), "length_scales": [1.0]}, "has none"),
        ({"kernel": Gaussian(1.0) + Gaussian(2.0), "length_scales": [1.0]}, "several: 0__length_scale, 1__length_scale"),
        ({"param_grid": {"width": [1.0]}}, "no parameter 'width'"),
        ({"param_grid": {"length_scale": [1.0]}, "length_scales": [2.0]}, "not both"),
    ],
)
def test_bad_parameters(data: tuple, change: dict, words: str) -> None:
    with pytest.raises(InputError, match=words):
        KernelRidgeCV(**change).fit(*data)


def test_one_row_cannot_be_held_out() -> None:
    with pytest.raises(InputError, match="n_samples = 1"):
        KernelRidgeCV().fit([[1.0]], [2.0])
