"""Both versions side by side: what from_sklearn returns computes what the original does."""

import numpy as np
import pytest
from sklearn import decomposition, gaussian_process, kernel_ridge, svm
from sklearn.gaussian_process import kernels as gp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from mercer import from_sklearn
from mercer.errors import ArgumentError, InputError
from mercer.translation import TranslationWarning

RNG = np.random.default_rng(0)
X, NEW = RNG.normal(size=(60, 3)), RNG.normal(size=(20, 3))
Y = np.sin(X[:, 0]) + 0.1 * RNG.normal(size=60)
LABELS = (X[:, 0] * X[:, 1] > 0).astype(int)

GP_KERNELS = [
    gp.RBF(1.5),
    gp.RBF([1.0, 2.0, 3.0]),
    gp.Matern(2.0, nu=0.5),
    gp.Matern(2.0, nu=1.5),
    gp.Matern([1.0, 2.0, 3.0], nu=2.5),
    gp.Matern(1.0, nu=0.8),
    gp.Matern(1.0, nu=np.inf),
    gp.RationalQuadratic(1.5, alpha=0.7),
    gp.DotProduct(2.0),
    gp.DotProduct(0.0),
    gp.ConstantKernel(3.0),
    gp.ConstantKernel(2.0) * gp.RBF(1.0) + gp.DotProduct(1.0),
    gp.RBF(1.0) * gp.Matern(2.0),
    gp.Exponentiation(gp.DotProduct(1.0), 3),
    gp.Exponentiation(gp.RBF(1.0), 0.5),
    gp.PairwiseKernel(gamma=0.3, metric="rbf"),
    gp.PairwiseKernel(gamma=0.3, metric="laplacian"),
]


@pytest.mark.parametrize("kernel", GP_KERNELS, ids=str)
def test_kernels_of_gaussian_processes(kernel):
    np.testing.assert_allclose(from_sklearn(kernel)(X, NEW), kernel(X, NEW), rtol=1e-10, atol=1e-12)


def test_the_periodic_kernel_in_one_column():
    with pytest.warns(TranslationWarning, match="same for one column"):
        kernel = from_sklearn(gp.ExpSineSquared(0.7, periodicity=2.0))
    np.testing.assert_allclose(kernel(X[:, :1]), gp.ExpSineSquared(0.7, periodicity=2.0)(X[:, :1]), rtol=1e-10)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("gamma", [0.2, "scale", "auto"])
@pytest.mark.parametrize(("kind", "options"), [(svm.SVC, {"C": 2.0}), (svm.NuSVC, {"nu": 0.11})])
def test_classifiers(kernel, gamma, kind, options):
    labels = (X[:, 0] + 0.2 * np.random.default_rng(3).normal(size=60) > 0).astype(int)
    original = kind(kernel=kernel, gamma=gamma, coef0=0.5, tol=1e-6, **options).fit(X, labels)
    ours = from_sklearn(original).fit(X, labels)
    again = from_sklearn(kind(**original.get_params()), X).fit(X, labels)
    np.testing.assert_allclose(ours.decision_function(NEW), original.decision_function(NEW), atol=2e-3)
    np.testing.assert_allclose(ours.decision_function(NEW), again.decision_function(NEW), atol=1e-6)


def test_sigmoid():
    from sklearn.metrics.pairwise import sigmoid_kernel

    kernel = from_sklearn(svm.SVC(kernel="sigmoid", gamma=0.2, coef0=0.5)).kernel
    np.testing.assert_allclose(kernel(X), sigmoid_kernel(X, gamma=0.2, coef0=0.5), rtol=1e-12)


@pytest.mark.parametrize(
    "original", [svm.SVR(C=2.0, gamma=0.3), svm.NuSVR(C=2.0, gamma=0.3, nu=0.4), svm.OneClassSVM(gamma=0.3, nu=0.2)], ids=str
)
def test_regression_and_one_class(original):
    ours = from_sklearn(original)
    if isinstance(original, svm.OneClassSVM):
        a, b = ours.fit(X).decision_function(NEW), original.fit(X).decision_function(NEW)
    else:
        a, b = ours.fit(X, Y).predict(NEW), original.fit(X, Y).predict(NEW)
    np.testing.assert_allclose(a, b, atol=0.02)


@pytest.mark.parametrize(
    "options",
    [
        {"kernel": "rbf", "gamma": 0.2},
        {"kernel": "linear"},
        {"kernel": "laplacian", "gamma": 0.1},
        {"kernel": "poly", "gamma": 0.5, "degree": 2, "coef0": 1.0},
        {"kernel": gp.RBF(2.0)},
    ],
    ids=str,
)
def test_kernel_ridge(options):
    original = kernel_ridge.KernelRidge(alpha=0.3, **options)
    np.testing.assert_allclose(from_sklearn(original).fit(X, Y).predict(NEW), original.fit(X, Y).predict(NEW), rtol=1e-6)


def test_kernel_ridge_without_gamma_takes_the_columns():
    original = kernel_ridge.KernelRidge(kernel="rbf").fit(X, Y)
    np.testing.assert_allclose(from_sklearn(original).fit(X, Y).predict(NEW), original.predict(NEW), rtol=1e-6)


def test_gaussian_processes():
    fixed = gaussian_process.GaussianProcessRegressor(2.0 * gp.RBF(1.0) + gp.WhiteKernel(0.1), optimizer=None).fit(X, Y)
    ours = from_sklearn(fixed).fit(X, Y)
    np.testing.assert_allclose(ours.predict(NEW), fixed.predict(NEW), rtol=1e-6)
    learned = gaussian_process.GaussianProcessRegressor(1.0 * gp.RBF(1.0) + gp.WhiteKernel(0.1), random_state=0).fit(X, Y)
    again = from_sklearn(learned).fit(X, Y)
    assert again.log_marginal_likelihood_value_ >= learned.log_marginal_likelihood_value_ - 0.05
    np.testing.assert_allclose(again.predict(NEW), learned.predict(NEW), atol=0.05)


def test_kernel_pca():
    original = decomposition.KernelPCA(2, kernel="rbf", gamma=0.2).fit(X)
    ours = from_sklearn(original).fit(X)
    np.testing.assert_allclose(np.abs(ours.transform(NEW)), np.abs(original.transform(NEW)), atol=1e-6)


def test_pipelines():
    original = make_pipeline(StandardScaler(), svm.SVC(C=2.0, gamma=0.3)).fit(X, LABELS)
    ours = from_sklearn(original).fit(X, LABELS)
    assert isinstance(ours[-1], mercer.SVC) and isinstance(ours[0], StandardScaler)
    np.testing.assert_allclose(ours.decision_function(NEW), original.decision_function(NEW), atol=0.02)


def test_gamma_that_depends_on_data_is_said():
    with pytest.warns(TranslationWarning, match="a number only beside data"):
        assert from_sklearn(svm.SVC()).kernel == mercer.Gaussian("median")
    assert from_sklearn(svm.SVC(), X).kernel == mercer.Gaussian.from_gamma(1 / (3 * X.var()))


def test_what_has_no_counterpart():
    from sklearn.linear_model import Lasso

    for given, words in (
        (Lasso(), "has no counterpart here. Translated are GaussianProcessRegressor"),
        (3, "takes a kernel or an estimator"),
        (gp.WhiteKernel(1.0), "the noise of the targets"),
        (gp.CompoundKernel([gp.RBF()]), "several matrices"),
        (svm.SVC(kernel="chi2"), "no counterpart"),
    ):
        with pytest.raises(InputError, match=words):
            from_sklearn(given)
    assert from_sklearn(mercer.Linear()) == mercer.Linear()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: mercer.SVC(kernel="rbf", gamma=0.1), r"Gaussian\.from_gamma\(0\.1\).*from_sklearn"),  # type: ignore[call-arg]
        (lambda: mercer.SVC(probability=True), "predict_proba is always there.*from_sklearn"),  # type: ignore[call-arg]
        (lambda: mercer.KernelRidge(gamma=0.2), "no parameter 'gamma'.*from_sklearn"),  # type: ignore[call-arg]
        (lambda: mercer.SVR(cache_size=200), "memory=.*from_sklearn"),  # type: ignore[call-arg]
        (lambda: mercer.GaussianProcessRegressor(n_restarts_optimizer=3), "n_restarts here"),  # type: ignore[call-arg]
    ],
)
def test_parameters_of_scikit_learn_name_the_way(call, words):
    with pytest.raises(ArgumentError, match=words) as caught:
        call()
    assert isinstance(caught.value, TypeError) and isinstance(caught.value, ValueError)


def test_kernel_objects_of_scikit_learn_name_the_way():
    with pytest.raises(InputError, match=r"mercer\.from_sklearn\(kernel\)"):
        mercer.KernelRidge(gp.RBF(1.0)).fit(X, Y)
