"""SVCCV: the choice of a grid search, the model of a plain SVC, grids from the data, and what it says and refuses."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold, LeaveOneOut, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC as Peer  # noqa: N811
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.estimators.encodings import counted_encodings

import mercer
from mercer import SVC, SVCCV, Gaussian, Laplacian, Linear, Polynomial, Precomputed, Spectrum, plan
from mercer.errors import InputError
from mercer.estimators.progress import watched
from mercer.inputs import Rows
from mercer.selection.surface import cost_axis

SCALES, CS = [2.0, 1.0, 0.5], [0.5, 5.0, 50.0]


@parametrize_with_checks([SVCCV(Cs=[0.1, 1.0], length_scales=[1.0, 2.0], cv=3)])
def test_scikit_learns_contract(estimator, check) -> None:
    check(estimator)


@pytest.fixture
def data(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    X = rng.normal(size=(200, 3))
    return X, np.array(["a", "b", "c"])[np.digitize(X[:, 0] + X[:, 1] ** 2 + 0.3 * rng.normal(size=200), [0.0, 1.5])]


def test_the_choice_of_a_grid_search_and_the_model_of_a_plain_svc(data: tuple) -> None:
    X, y = data
    model = SVCCV(Gaussian(1.0), Cs=CS, length_scales=SCALES, tol=1e-5).fit(X, y)
    grid = {"gamma": [0.5 / scale**2 for scale in SCALES], "C": CS}
    peer = GridSearchCV(Peer(tol=1e-5), grid, cv=5).fit(X, y)
    theirs = peer.cv_results_["mean_test_score"].reshape(len(CS), len(SCALES)).T
    np.testing.assert_allclose(model.cv_results_["mean_test_score"].reshape(3, 3), theirs, atol=1.01 / len(y))
    assert model.best_score_ == pytest.approx(peer.best_score_, abs=1.01 / len(y))
    assert model.best_index_ == (SCALES.index(model.best_length_scale_), CS.index(model.best_C_))
    assert model.best_params_ == {"length_scale": model.best_length_scale_, "C": model.best_C_}
    plain = SVC(Gaussian(model.best_length_scale_), C=model.best_C_, tol=1e-5).fit(X, y)
    np.testing.assert_array_equal(model.support_, plain.support_)
    np.testing.assert_allclose(model.decision_function(X), plain.decision_function(X), atol=1e-6)
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))
    assert model.ledger_[0].n_at_bound == plain.ledger_[0].n_at_bound
    np.testing.assert_allclose(model.predict_proba(X[:5]).sum(axis=1), 1.0)


def test_no_argument_is_needed(data: tuple) -> None:
    X, y = data
    model = SVCCV().fit(X, y)
    assert model.best_score_ > 0.75
    assert len(model.surface_.params) >= 10
    assert len(model.surface_.Cs) == 11
    scales = sorted(params["length_scale"] for params in model.surface_.params)
    assert scales[0] < model.best_length_scale_ < scales[-1] or len(scales) == 16  # widened twice at most
    assert "chosen" in str(model) and "kernels x C" in str(model)


def test_ten_settings_encode_the_rows_once(data: tuple, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = data
    with counted_encodings(monkeypatch) as made:
        model = SVCCV().fit(X, y)
    assert len(model.surface_.params) >= 10
    assert made == {"encodings": 1, "scans": 1}


def test_the_table_has_the_columns_of_a_grid_search(data: tuple) -> None:
    X, y = data
    table = SVCCV(Gaussian(1.0), Cs=CS, length_scales=[1.0], tol=1e-5).fit(X, y).cv_results_
    theirs = GridSearchCV(Peer(tol=1e-5, gamma=0.5), {"C": CS}, cv=5).fit(X, y).cv_results_
    names = {name for name in theirs if "time" not in name}
    assert names <= set(table)
    for name in names - {"params", "param_C", "rank_test_score"}:
        np.testing.assert_allclose(table[name], theirs[name], atol=1.01 / 40, err_msg=name)  # one row of a fold


def test_a_class_that_a_fold_does_not_have_loses(data: tuple) -> None:
    X, y = data
    b = np.flatnonzero(y == "b")
    rest = np.setdiff1d(np.arange(len(y)), b)
    splits = [(rest[::2], np.concatenate([rest[1::2], b[:5]])), (np.arange(0, 200, 2), np.arange(1, 200, 2))]
    found = SVCCV(Gaussian(1.0), Cs=[1.0], length_scales=[1.0], cv=splits, tol=1e-5).fit(X, y).surface_.split_scores
    for number, (train, test) in enumerate(splits):
        peer = Peer(C=1.0, gamma=0.5, tol=1e-5).fit(X[train], y[train])
        assert found[0, 0, number] == pytest.approx(peer.score(X[test], y[test]), abs=1.01 / len(test))


def test_many_rows_are_narrowed_on_a_sample_first(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mercer.selection.surface.SAMPLE", 120)
    X = rng.normal(size=(300, 2))
    model = SVCCV(Cs=[1.0, 10.0]).fit(X, (X**2).sum(axis=1) > 1.5)
    assert len(model.surface_.params) == 3
    assert "round the best of" in model.surface_.how
    assert model.best_score_ > 0.9


def test_parameters_of_any_kernel(data: tuple) -> None:
    X, y = data
    sums = SVCCV(
        Gaussian(1.0) + Laplacian(1.0), Cs=[1.0], param_grid={"0__length_scale": [1.0, 3.0], "1__length_scale": [2.0]}
    )
    assert sums.fit(X, y).best_length_scale_ is None
    assert set(sums.best_params_) == {"0__length_scale", "1__length_scale", "C"}
    powers = SVCCV(Polynomial(2), Cs=[0.1, 1.0], param_grid={"degree": [1, 2, 3]}).fit(X, y)
    assert powers.best_params_["degree"] >= 2
    assert SVCCV(Linear(), Cs=CS).fit(X, y).cv_results_["params"] == [{"C": C} for C in CS]
    with pytest.raises(InputError, match="several"):
        SVCCV(Gaussian(1.0) + Laplacian(1.0), length_scales=[1.0]).fit(X, y)
    with pytest.raises(InputError, match="not both"):
        SVCCV(length_scales=[1.0], param_grid={"length_scale": [1.0]}).fit(X, y)


def test_strings_sparse_rows_and_matrices(data: tuple) -> None:
    X, y = data
    dense = SVCCV(Gaussian(1.0), Cs=CS, length_scales=SCALES).fit(X, y)
    sparse = SVCCV(Gaussian(1.0), Cs=CS, length_scales=SCALES).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(sparse.surface_.scores, dense.surface_.scores, atol=1.01 / len(y))
    given = SVCCV(Precomputed(), Cs=CS).fit(Gaussian(1.0)(X), y)
    np.testing.assert_allclose(given.surface_.scores[0], dense.surface_.scores[1], atol=1.01 / len(y))
    np.testing.assert_array_equal(
        given.predict(Gaussian(1.0)(X[:9], X)), SVC(Gaussian(1.0), C=given.best_C_).fit(X, y).predict(X[:9])
    )
    many = np.random.default_rng(0).normal(size=(600, 2))
    given_Cs = cost_axis(None, 2.0 * Precomputed(), Rows(Gaussian(1.0)(many)))  # the spread of a sample of rows, scaled
    np.testing.assert_allclose(given_Cs.values, cost_axis(None, 2.0 * Gaussian(1.0), Rows(many)).values, rtol=1e-12)
    words = ["abab", "baba", "abba", "aabb", "xyxy", "yxyx", "xyyx", "xxyy"] * 3
    text = SVCCV(Spectrum(p=2), Cs=[1.0], param_grid={"p": [1, 2]}, cv=3).fit(words, [word[0] in "ab" for word in words])
    assert text.best_score_ == 1.0


def test_weights_classes_and_groups(data: tuple, rng: np.random.Generator) -> None:
    X, y = data
    weights = rng.integers(1, 4, len(y)).astype(float)
    model = SVCCV(Gaussian(1.0), Cs=CS, length_scales=[1.0], class_weight="balanced", tol=1e-5).fit(X, y, weights)
    for column, C in enumerate(CS):
        scores = []
        for train, test in StratifiedKFold(5).split(X, y):
            # balanced by the weights of the training part alone; scikit-learn's "balanced" counts rows
            known, labels = weights[train], np.unique(y)
            balanced = {c: known.sum() / (len(labels) * known[y[train] == c].sum()) for c in labels}
            peer = Peer(C=C, gamma=0.5, class_weight=balanced, tol=1e-5).fit(X[train], y[train], known)
            scores.append(peer.score(X[test], y[test]))
        assert model.surface_.scores[0, column] == pytest.approx(np.mean(scores), abs=1.01 / len(y))
    groups = np.arange(len(y)) // 25
    by_groups = SVCCV(Gaussian(1.0), Cs=[1.0], length_scales=[1.0], cv=GroupKFold(4)).fit(X, y, groups=groups)
    assert by_groups.surface_.split_scores.shape == (1, 1, 4)
    absent = weights * (y != "c")
    assert SVCCV(Cs=[1.0], length_scales=[1.0]).fit(X, y, absent).classes_.tolist() == ["a", "b"]


def test_little_memory_takes_rows_and_gives_the_same(data: tuple) -> None:
    X, y = data
    kept = SVCCV(Gaussian(1.0), Cs=CS, length_scales=SCALES).fit(X, y)
    rows = SVCCV(Gaussian(1.0), Cs=CS, length_scales=SCALES, memory=310_000).fit(X, y)
    np.testing.assert_allclose(rows.surface_.scores, kept.surface_.scores, atol=1.01 / len(y))
    assert (kept.route_.solver, rows.route_.solver) == ("gram", "rows")


def test_a_plan_and_progress(data: tuple) -> None:
    X, y = data
    model = SVCCV(Gaussian(1.0), Cs=CS, length_scales=SCALES)
    told = str(plan(model, X * [1.0, 1.0, 1e5], y))
    assert "45 fits" in told and "warning: 2 of 3 columns" in told
    seen: list[tuple[int, int]] = []
    with watched(lambda label, done, total: seen.append((done, total))):
        model.fit(X, y)
    assert (15, 15) in seen


def test_an_interrupted_fit_leaves_nothing_behind(data: tuple) -> None:
    X, y = data
    model = SVCCV(Gaussian(1.0), Cs=CS, length_scales=SCALES).fit(X, y)
    before = dict(vars(model))

    def stop(label: str, done: int, total: int) -> None:
        raise KeyboardInterrupt

    with watched(stop), pytest.raises(KeyboardInterrupt):
        model.fit(X[:100], y[:100])
    assert vars(model) == before


def test_saved_and_loaded(data: tuple, tmp_path) -> None:
    X, y = data
    model = SVCCV(Gaussian(1.0), Cs=CS, length_scales=SCALES).fit(X, y)
    mercer.save(model, tmp_path / "model.mercer")
    again = mercer.load(tmp_path / "model.mercer")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(again.surface_.scores, model.surface_.scores)
    assert again.best_params_ == model.best_params_


def test_inside_a_pipeline(data: tuple) -> None:
    X, y = data
    pipeline = make_pipeline(StandardScaler(), SVCCV(Cs=[1.0, 10.0], length_scales=[1.0, 2.0], cv=3))
    assert clone(pipeline).fit(X * [1.0, 1e4, 1.0], y).score(X * [1.0, 1e4, 1.0], y) > 0.8


def test_bad_input_is_refused(data: tuple) -> None:
    X, y = data
    with pytest.raises(InputError, match='rule must be "best"'):
        SVCCV(rule="good").fit(X, y)
    with pytest.raises(InputError, match="Cs must be finite numbers > 0"):
        SVCCV(Cs=[1.0, 0.0]).fit(X, y)
    with pytest.raises(InputError, match="cv must be a number of folds"):
        SVCCV(cv=None).fit(X, y)
    with pytest.raises(InputError, match="cv must be a number of folds"):
        SVCCV(cv=LeaveOneOut()).fit(X, y)
    with pytest.raises(InputError, match="tol must be"):
        SVCCV(tol=0.0).fit(X, y)
    with pytest.raises(InputError, match="one class only"):
        SVCCV().fit(X, np.zeros(len(y)))
