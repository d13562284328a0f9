"""scikit-learn's contract for every estimator with five kinds of kernels, and what all estimators say to text."""

import inspect

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import check_estimator

import mercer
from mercer import Constant, Gaussian, Laplacian, Linear, Polynomial, PowerExponential
from mercer.errors import InputError

KERNELS = {
    "leaf": Gaussian(2.0),
    "sum": Laplacian(2.0) + Constant(1.0),
    "product": Gaussian(3.0) * Polynomial(2),
    "normalized": Polynomial(2).normalized(),
    "l1": Laplacian(2.0),
}
ESTIMATORS = {
    name: getattr(mercer, name)
    for name in mercer.__all__
    if inspect.isclass(getattr(mercer, name)) and issubclass(getattr(mercer, name), BaseEstimator)
}
#: Models of tables have a contract of their own: kernels name columns there, and text is a kind of column.
ESTIMATORS = {
    name: kind
    for name, kind in ESTIMATORS.items()
    if "kernel" in inspect.signature(kind).parameters and not name.startswith("Table")
}
CASES = [(name, kind) for name in ESTIMATORS for kind in KERNELS]

#: Estimators whose checks take a quarter of a minute or more each.
SLOW = (
    "SVCCV",
    "NuSVR",
    "GaussianProcessRegressor",
    "KernelQuantileRegressor",
    "RFMRegressor",
    "RFMClassifier",
    "SVR",
    "GaussianProcessClassifier",
    "KernelLogisticRegressionCV",
    "NuSVC",
)

#: One kind per estimator in the ordinary run; all of them in the slow one.
SOME = [(name, list(KERNELS)[i % len(KERNELS)]) for i, name in enumerate(ESTIMATORS) if name not in SLOW]

INFEASIBLE = "nu = 0.5 asks for more support vectors than the smallest class of that check has: an error, as in LIBSVM"
NO_MARGIN = "labels are noise, or rows so far from 0 that all have the same direction: no margin at nu = 0.5, refused"
CHOSEN = "C is chosen on folds of rows, and copies of a row fall into several folds where a weight falls into one"

#: Single checks that an estimator is excused from, with the reason.
DRAWN = "random starts of repeated and of weighted rows differ; with given starts the clusters are equal"
ONE_COPY = "leave-one-out leaves one of several copies out, but a weighted row as a whole, so that another C may be chosen"
THEMSELVES = "training rows explain themselves: asked as new rows none of them is novel"
EXCUSED: dict[str, dict[str, str]] = {
    "NoveltyDetector": dict.fromkeys(("check_outliers_train", "check_outliers_fit_predict"), THEMSELVES),
    "KernelKMeans": {
        "check_sample_weight_equivalence_on_dense_data": DRAWN,
        "check_sample_weight_equivalence_on_sparse_data": DRAWN,
    },
    "KernelLogisticRegressionCV": {
        "check_sample_weight_equivalence_on_dense_data": ONE_COPY,
        "check_sample_weight_equivalence_on_sparse_data": ONE_COPY,
    },
    "NuSVC": {
        "check_sample_weight_equivalence_on_dense_data": INFEASIBLE,
        "check_sample_weight_equivalence_on_sparse_data": INFEASIBLE,
        "check_class_weight_classifiers": INFEASIBLE,
    },
    "SVCCV": {
        "check_sample_weight_equivalence_on_dense_data": CHOSEN,
        "check_sample_weight_equivalence_on_sparse_data": CHOSEN,
        "check_class_weight_classifiers": "the C chosen on noise with class weights of 1000 and 0.0001 is the smallest",
    },
}

#: The same for one kind of kernel.
EXCUSED_WITH = {
    ("SVC", "product"): {"check_class_weight_classifiers": "0.82 of the rows go to the heavy class where the check wants "
                         "0.87; LIBSVM with this kernel gives 0.82 as well"},
    ("SVCCV", "product"): {"check_classifiers_train": "one row of 300 has a vote for each class: predict takes the first, "
                           "decision_function breaks the tie by the values of the pairs, as in scikit-learn"},
    ("NuSVC", "normalized"): dict.fromkeys(
        ("check_estimator_sparse_tag", "check_fit_idempotent", "check_fit_check_is_fitted", "check_n_features_in"), NO_MARGIN
    ),
}  # fmt: skip

#: Parameters other than the defaults: the ball of largest radius holds all training rows, which a check forbids; the time of
#: a fit of DriftMonitor grows with the run length that it simulates.
OPTIONS = {"NoveltyBall": {"quantile": 0.9}, "DriftMonitor": {"run_length": 50}}


#: A learned metric needs slopes in x, which the family of PowerExponential has: five of that one, others are refused.
WITH_SLOPES = {
    "leaf": PowerExponential(),
    "sum": PowerExponential(norm=1.5),
    "product": PowerExponential(power=2.0),
    "normalized": PowerExponential(power=0.7),
    "l1": PowerExponential(norm=1.0),
}


def model_of(name, kind):
    if name.startswith("RFM"):
        return ESTIMATORS[name](WITH_SLOPES[kind])
    kernel = Gaussian(2.0) if name == "RandomFourierFeatures" and kind in ("product", "normalized") else KERNELS[kind]
    return ESTIMATORS[name](kernel, **OPTIONS.get(name, {}))


def check(name, kind):
    model = model_of(name, kind)
    with np.errstate(all="ignore"):
        results = check_estimator(model, on_fail=None, on_skip=None)
    excused = {**EXCUSED.get(name, {}), **EXCUSED_WITH.get((name, kind), {})}
    if not model.__sklearn_tags__().input_tags.sparse:
        excused["check_sample_weight_equivalence_on_sparse_data"] = "scikit-learn 1.6 runs it whatever the tag says"
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed" and r["check_name"] not in excused}
    assert not failed, failed


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "kind"), SOME)
def test_contract(name, kind):
    check(name, kind)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "kind"), [case for case in CASES if case not in SOME])
def test_contract_with_all_kernels(name, kind):
    check(name, kind)


@pytest.mark.parametrize(
    "kernel", [*KERNELS.values(), mercer.Periodic(1.0), Linear().on(0), Linear() + Laplacian(1.0)], ids=str
)
def test_the_sparse_tag_is_true(kernel):
    X = sp.csr_array(np.random.default_rng(0).normal(size=(6, 2)))
    y = np.arange(6.0)
    for name in ("KernelRidge", "KernelKNeighborsRegressor", "SVR"):
        model = ESTIMATORS[name](kernel)
        if model.__sklearn_tags__().input_tags.sparse:
            model.fit(X, y).predict(X[:2])
        else:
            with pytest.raises(InputError, match="takes dense arrays; X is sparse"):
                model.fit(X, y)


WORDS = ["abc", "de", "fgh", "ijk"]
MESSAGE = (
    "holds str 'abc' at row 0, not a number. Vector kernels need numbers; for text use a string kernel such as Spectrum"
)


@pytest.mark.parametrize(
    "words", [WORDS, np.array(WORDS), np.array(WORDS, dtype=object), tuple(WORDS)], ids=["list", "U", "O", "tuple"]
)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_says_the_same_to_text(name, words):
    with pytest.raises(InputError, match=MESSAGE):
        ESTIMATORS[name](Gaussian(1.0)).fit(words, [0, 1, 0, 1])


@pytest.mark.parametrize(
    "call",
    [
        lambda: Gaussian()(WORDS), lambda: Gaussian()(np.ones((2, 2)), WORDS), lambda: Linear().feature_map(WORDS),
        lambda: Gaussian("median").resolve(WORDS), lambda: Linear().diag(WORDS), lambda: mercer.gram(Gaussian(), WORDS),
        lambda: mercer.GramOperator(Gaussian(), WORDS), lambda: mercer.geometry.distances(Gaussian(), WORDS),
        lambda: mercer.mmd_test(WORDS, WORDS, Gaussian()), lambda: mercer.hsic_test(WORDS, WORDS, Gaussian(), Gaussian()),
        lambda: mercer.hsic_test(WORDS, WORDS),
        lambda: mercer.KernelRidge(Gaussian()).fit(np.eye(4), range(4)).predict(WORDS),
    ],
)  # fmt: skip
def test_everything_else_too(call):
    with pytest.raises(InputError, match=MESSAGE):
        call()


def test_a_class_whose_rows_weigh_nothing_is_none():
    X, y = np.random.default_rng(0).normal(size=(20, 2)), np.r_[np.zeros(10, int), np.ones(10, int)]
    for alpha in (1.0, "loo"):
        with pytest.raises(InputError, match="one class only"):
            mercer.KernelRidgeClassifier(Gaussian(1.0), alpha=alpha).fit(X, y, sample_weight=1.0 - y)
    y[3] = 2
    model = mercer.KernelRidgeClassifier(Gaussian(1.0)).fit(X, y, sample_weight=(y < 2).astype(float))
    assert model.classes_.tolist() == [0, 1] and model.decision_function(X).ndim == 1
