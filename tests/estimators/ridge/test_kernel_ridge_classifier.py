"""KernelRidgeClassifier against ridge on coded labels."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris
from sklearn.linear_model import RidgeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import Gaussian, Graph, KernelRidgeClassifier, Linear, Spectrum, VertexHistogram
from mercer.errors import InputError


@parametrize_with_checks([KernelRidgeClassifier(), KernelRidgeClassifier(alpha="loo", alphas=[0.1, 1.0])])
def test_scikit_learns_contract(estimator, check) -> None:
    check(estimator)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_linear_kernel_is_scikit_learns_ridge_classifier(classes: int) -> None:
    X, y = load_iris(return_X_y=True)
    X, y = X[y < classes], y[y < classes]
    model, peer = KernelRidgeClassifier(Linear(), alpha=2.0).fit(X, y), RidgeClassifier(alpha=2.0).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), peer.decision_function(X), atol=1e-9)
    assert np.array_equal(model.predict(X), peer.predict(X))


@pytest.mark.parametrize("classes", [2, 3])
def test_leave_one_out_predictions_equal_refits(classes: int) -> None:
    X, y = load_iris(return_X_y=True)
    X, y = X[y < classes][::4], np.array(["a", "b", "c"])[y[y < classes][::4]]
    model = KernelRidgeClassifier(Gaussian(1.0), alpha=0.1).fit(X, y)
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        refit = KernelRidgeClassifier(Gaussian(1.0), alpha=0.1).fit(X[rest], y[rest])
        assert model.loo_predictions_[i] == refit.predict(X[i : i + 1])[0]


def test_tuning_by_leave_one_out_accuracy() -> None:
    X, y = load_digits(return_X_y=True)
    train, test = slice(0, 500), slice(500, 1000)
    model = KernelRidgeClassifier(alpha="loo").fit(X[train], y[train])
    assert model.best_score_ == np.mean(model.loo_predictions_ == y[train])
    assert model.score(X[test], y[test]) > 0.93
    assert "leave-one-out accuracy" in str(model)


def test_two_classes_are_tuned_by_what_leave_one_out_predicts(rng: np.random.Generator) -> None:
    X = rng.normal(size=(120, 2))
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=120) > 0, "yes", "no")
    for cv in (None, 4):
        model = KernelRidgeClassifier(alpha="loo", cv=cv).fit(X, y)
        assert 0.75 < model.best_score_ < 1.0
        assert len(np.unique(model.surface_.scores)) > 10
    model = KernelRidgeClassifier(alpha="loo").fit(X, y)
    assert model.best_score_ == np.mean(model.loo_predictions_ == y)


def test_ties_go_to_the_first_class() -> None:
    model = KernelRidgeClassifier(Linear(), fit_intercept=False).fit([[-1.0], [1.0]], ["no", "yes"])
    assert model.predict([[0.0]]).tolist() == ["no"]


def test_strings_and_graphs() -> None:
    model = KernelRidgeClassifier(Spectrum(2), alpha=0.1).fit(["abab", "baba", "xyxy", "yxyx"], [0, 0, 1, 1])
    assert model.predict(["aba", "xyx"]).tolist() == [0, 1]
    graphs = [Graph(2, node_labels="CC"), Graph(3, node_labels="CCC"), Graph(2, node_labels="OO")]
    assert KernelRidgeClassifier(VertexHistogram(), alpha=0.1).fit(graphs, [0, 0, 1]).predict(graphs).tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    ("y", "words"), [(["a"] * 4, "one class only"), ([1.0, 2.0, np.nan, 1.0], "NaN"), ([0, 1], "one class label per row")]
)
def test_bad_labels(y: list, words: str) -> None:
    with pytest.raises(InputError, match=words):
        KernelRidgeClassifier().fit(np.arange(8.0).reshape(4, 2), y)
