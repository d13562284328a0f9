"""Fitted scikit-learn models read in: the same predictions, and what else then works on them."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import datasets, decomposition, gaussian_process, kernel_approximation, kernel_ridge, linear_model, svm
from sklearn.gaussian_process import kernels as gp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from mercer import from_sklearn
from mercer.errors import InputError

#: Rounding: sums of some hundred terms of size one.
TOL = 1e-12


def scaled(load):
    X, y = load(return_X_y=True)
    return StandardScaler().fit_transform(X), y


IRIS, DIABETES, CANCER = scaled(datasets.load_iris), scaled(datasets.load_diabetes), scaled(datasets.load_breast_cancer)
KERNELS = [
    {"kernel": "linear"},
    {"kernel": "rbf", "gamma": "scale"},
    {"kernel": "poly", "degree": 2, "gamma": "auto", "coef0": 1.0},
    {"kernel": "sigmoid", "gamma": 0.01, "coef0": 0.1},
]


def agree(ours, theirs, size=0.0):
    """Equal to 1e-12 of the largest value, or of `size`: the sum of absolute terms, whose rounding errors do not cancel."""
    assert np.shape(ours) == np.shape(theirs)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=TOL * max(1.0, size, np.abs(theirs).max()))


def again(model, path):
    mercer.save(model, path)
    return mercer.load(path)


@pytest.mark.parametrize("options", KERNELS, ids=lambda o: o["kernel"])
@pytest.mark.parametrize("kind", [svm.SVC, svm.NuSVC])
@pytest.mark.parametrize("data", [IRIS, CANCER], ids=["iris", "cancer"])
def test_classifiers(kind, options, data, tmp_path):
    X, y = data
    more = {"nu": 0.2} if kind is svm.NuSVC else {}
    original = kind(**options, **more).fit(X, y)
    ours = again(from_sklearn(original), tmp_path / "m")
    agree(ours.decision_function(X), original.decision_function(X))
    assert (ours.predict(X) == original.predict(X)).all()
    assert "scikit-learn" in str(ours)


@pytest.mark.parametrize("options", KERNELS, ids=lambda o: o["kernel"])
@pytest.mark.parametrize("kind", [svm.SVR, svm.NuSVR, svm.OneClassSVM])
def test_regressors_and_one_class(kind, options, tmp_path):
    X, y = DIABETES
    original = kind(**options).fit(X, y / 100)
    ours = again(from_sklearn(original), tmp_path / "m")
    if kind is svm.OneClassSVM:
        agree(ours.decision_function(X), original.decision_function(X))
        agree(ours.score_samples(X), original.score_samples(X))
        away = np.abs(original.decision_function(X)) > 1e-9
        assert (ours.predict(X) == original.predict(X))[away].all()
    else:
        agree(ours.predict(X), original.predict(X))


def test_sparse_rows_and_precomputed_values():
    X, y = IRIS
    original = svm.SVC().fit(sp.csr_matrix(X), y)
    agree(from_sklearn(original).decision_function(X), original.decision_function(sp.csr_matrix(X)))
    K = X @ X.T
    original = svm.SVC(kernel="precomputed").fit(K, y)
    agree(from_sklearn(original).decision_function(K), original.decision_function(K))


@pytest.mark.parametrize(
    "options", [*KERNELS[:1], {"kernel": "rbf"}, {"kernel": "laplacian", "gamma": 0.1}, {"kernel": gp.RBF(2)}]
)
@pytest.mark.parametrize("targets", [1, 2])
def test_kernel_ridge(options, targets, tmp_path):
    X, y = DIABETES
    Y = y if targets == 1 else np.column_stack([y, y[::-1]])
    original = kernel_ridge.KernelRidge(alpha=0.3, **options).fit(X, Y)
    ours = again(from_sklearn(original), tmp_path / "m")
    terms = np.abs(ours.kernel_(X)) @ np.abs(original.dual_coef_)
    agree(ours.predict(X), original.predict(X), terms.max())
    with pytest.raises(InputError, match=r"does not hold.*ConformalRegressor"):
        ours.predict_interval(X)
    with pytest.raises(InputError, match="does not hold"):
        _ = ours.loo_residuals_


GP_KERNELS = [
    None,
    2.0 * gp.Matern(2.0, nu=1.5),
    gp.RBF(2.0) + gp.WhiteKernel(0.1),
    gp.DotProduct(1.0) + gp.Matern(3.0, nu=2.5),
]


@pytest.mark.parametrize("kernel", GP_KERNELS, ids=str)
@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("targets", [1, 2])
def test_gaussian_process(kernel, normalize, targets, tmp_path):
    X, y = DIABETES[0][:120], DIABETES[1][:120] / 100
    Y = y if targets == 1 else np.column_stack([y, y[::-1]])
    original = gaussian_process.GaussianProcessRegressor(kernel, alpha=0.05, normalize_y=normalize, optimizer=None)
    original.fit(X, Y)
    ours = again(from_sklearn(original), tmp_path / "m")
    mean, std = original.predict(X[::3] + 0.1, return_std=True)
    white = 0.1 if kernel is not None and "White" in str(kernel) else 0.0
    noise = np.full(len(mean), white) if white else False
    own_mean, own_std = ours.predict(X[::3] + 0.1, return_std=True, include_noise=noise)
    agree(own_mean, mean)
    np.testing.assert_allclose(own_std, std, rtol=1e-9)
    value = original.log_marginal_likelihood_value_
    scale = original._y_train_std
    np.testing.assert_allclose(ours.log_marginal_likelihood_value_, value - len(Y) * np.sum(np.log(scale)), rtol=1e-9)


def test_noise_per_row_of_a_gaussian_process():
    X, y = DIABETES[0][:60], DIABETES[1][:60] / 100
    original = gaussian_process.GaussianProcessRegressor(gp.RBF(2.0), alpha=np.linspace(0.1, 0.4, 60)).fit(X, y)
    ours = from_sklearn(original)
    agree(ours.predict(X), original.predict(X))
    np.testing.assert_allclose(ours.predict(X, return_std=True)[1], original.predict(X, return_std=True)[1], rtol=1e-8)


@pytest.mark.parametrize("options", [{"kernel": "rbf"}, {"kernel": "poly", "gamma": 0.1}, {"kernel": "linear"}])
def test_kernel_pca(options, tmp_path):
    X = IRIS[0]
    original = decomposition.KernelPCA(n_components=3, **options).fit(X)
    ours = again(from_sklearn(original), tmp_path / "m")
    agree(ours.transform(X[::2] + 0.1), original.transform(X[::2] + 0.1))


@pytest.mark.parametrize(
    "linear",
    [
        linear_model.Ridge(0.1),
        linear_model.LogisticRegression(),
        linear_model.RidgeClassifier(),
        svm.LinearSVC(),
        svm.LinearSVR(),
    ],
    ids=lambda m: type(m).__name__,
)
@pytest.mark.parametrize("data", [IRIS, CANCER], ids=["iris", "cancer"])
def test_nystroem_pipelines(linear, data, tmp_path):
    X, y = data
    original = make_pipeline(StandardScaler(), kernel_approximation.Nystroem(n_components=20, random_state=0), linear)
    original.fit(X, y)
    ours = again(from_sklearn(original), tmp_path / "m")
    assert len(ours.steps) == 2 and type(ours[-1]).__module__.startswith("mercer")
    for method in ("predict_proba", "decision_function", "predict"):
        if hasattr(original, method):
            agree(getattr(ours, method)(X), getattr(original, method)(X))


def pair(x, z, offset=1.0, gamma=1.0):
    """A kernel of two rows, as outside support vector machines."""
    return gamma * float(x @ z) + offset


@pytest.mark.parametrize(
    ("original", "method"),
    [
        (kernel_ridge.KernelRidge(kernel=pair, kernel_params={"offset": 2.0}), "predict"),
        (decomposition.KernelPCA(2, kernel=pair), "transform"),
        (kernel_approximation.Nystroem(pair, n_components=20, random_state=0), "transform"),
        (
            gaussian_process.GaussianProcessRegressor(gp.PairwiseKernel(0.5, metric=pair), alpha=1.0, optimizer=None),
            "predict",
        ),
    ],
    ids=["ridge", "pca", "nystroem", "process"],
)
def test_functions_of_two_rows(original, method):
    X, y = DIABETES[0][:60], DIABETES[1][:60] / 100
    original.fit(X, y)
    agree(getattr(from_sklearn(original), method)(X[:5]), getattr(original, method)(X[:5]))


@pytest.mark.parametrize("kind", [svm.SVC, svm.SVR, svm.OneClassSVM])
def test_machines_with_a_function_of_matrices(kind):
    X, y = IRIS
    original = kind(kernel=lambda A, B: A @ B.T + 1.0).fit(X, y)
    method = "predict" if kind is svm.SVR else "decision_function"
    agree(getattr(from_sklearn(original, X), method)(X), getattr(original, method)(X))
    with pytest.raises(InputError, match=r"keeps no support vectors; give the rows .* from_sklearn\(model, X\)"):
        from_sklearn(original)
    with pytest.raises(InputError, match=r"fitted to 150 rows; X has shape \(10, 4\)"):
        from_sklearn(original, X[:10])


def test_nystroem_before_a_model_without_counterpart(tmp_path):
    from sklearn.ensemble import RandomForestClassifier

    X, y = IRIS
    forest = RandomForestClassifier(5, random_state=0)
    original = make_pipeline(kernel_approximation.Nystroem(n_components=20, random_state=0), forest).fit(X, y)
    ours = from_sklearn(original)
    agree(ours[0].transform(X), original[0].transform(X))
    agree(ours.predict_proba(X), original.predict_proba(X))
    agree(again(ours[0], tmp_path / "m").transform(X), original[0].transform(X))
    assert ours[0].get_feature_names_out().shape == (20,)


def test_names_of_columns_are_kept():
    pd = pytest.importorskip("pandas")
    X, y = IRIS
    frame = pd.DataFrame(X, columns=list("abcd"))
    ours = from_sklearn(svm.SVC().fit(frame, y))
    assert ours.feature_names_in_.tolist() == list("abcd")
    with pytest.raises(InputError, match="feature names"):
        ours.predict(frame.rename(columns={"a": "z"}))


def test_an_unfitted_estimator_stays_unfitted():
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        from_sklearn(kernel_ridge.KernelRidge()).predict(IRIS[0])
    assert from_sklearn(svm.SVC(C=2.0, gamma=1.0).fit(*IRIS)).get_params()["C"] == 2.0


def test_what_needs_the_training_rows_is_refused():
    ours = from_sklearn(svm.SVC().fit(*CANCER))
    with pytest.raises(InputError, match=r"SVC: intervals and probabilities need the training rows"):
        ours.predict_proba(CANCER[0])
    with pytest.raises(InputError, match="margin bounds"):
        _ = ours.ledger_
    with pytest.raises(InputError, match="ConformalRegressor"):
        from_sklearn(svm.SVR().fit(*DIABETES)).predict_interval(DIABETES[0])


@pytest.mark.parametrize("data", [IRIS, CANCER], ids=["iris", "cancer"])
@pytest.mark.parametrize("method", ["marginal", "class", "local"])
def test_sets_of_classes_need_calibration_rows_only(data, method, tmp_path):
    X, y = data
    order = np.random.default_rng(0).permutation(len(y))
    fitted, other, new = np.split(order, [len(y) // 3, 2 * len(y) // 3])
    ours = again(from_sklearn(svm.SVC().fit(X[fitted], y[fitted])), tmp_path / "m")
    sets = ours.predict_set(X[new], 0.9, method=method, calibration=(X[other], y[other]))
    assert sets.shape == (len(new), len(ours.classes_))
    assert sets[np.arange(len(new)), y[new]].mean() >= 0.8
    if method != "class":  # one threshold for all classes: the predicted one is in the set, if any is
        assert (sets[np.arange(len(new)), ours.predict(X[new])] | ~sets.any(axis=1)).all()


def test_shapley_values_of_a_machine_add_up():
    X, y = CANCER
    ours = from_sklearn(svm.SVC().fit(X, y))
    found = mercer.explain(ours, X[:5], background=X[:50])
    base = ours.decision_function(X[:50]).mean()
    for row, one in zip(ours.decision_function(X[:5]), found, strict=True):
        np.testing.assert_allclose(sum(one.contributions) + base, row, atol=1e-8)
