"""Files written by older versions load, and predict the same digits. The folders of fixtures are never written again."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from tests.persist.fixtures.write import MODELS, answers

import mercer

FOLDER = Path(__file__).parent / "fixtures"
#: What a support vector machine computes by fits in folds, after loading.
REFITTED = ("predict_proba", "predict_interval")
#: Estimators whose intervals have become wider since: they account for parameters that were chosen on few rows.
WIDENED = ("GaussianProcessRegressor", "KernelRidgeCV")
#: Methods that an estimator did not have when the files were written.
ADDED = {"KernelKNeighborsRegressor": {"predict_interval"}}
FILES = sorted(FOLDER.glob("*/*.mercer"))


FIRST = {
    "GaussianProcessRegressor", "KernelKNeighborsClassifier", "KernelKNeighborsRegressor", "KernelPerceptron",
    "KernelRidge", "KernelRidgeCV", "KernelRidgeClassifier", "NearestMean", "NoveltyBall", "NuSVC", "NuSVR",
    "OneClassSVM", "SVC", "SVCCV", "SVR",
}  # fmt: skip
SECOND = {
    "KernelPCA", "KernelQuantileRegressor", "Nystroem", "RFMClassifier", "RFMRegressor", "RandomFourierFeatures",
    "TableClassifier", "TableQuantileRegressor", "TableRegressor",
}  # fmt: skip


@pytest.mark.parametrize(("version", "names"), [("0.1.0", FIRST), ("0.2.0", FIRST | SECOND)])
def test_there_is_a_file_of_every_estimator_of_a_version(version: str, names: set[str]) -> None:
    assert {type(MODELS[path.stem][0]).__name__ for path in FILES if path.parent.name == version} == names


def tolerance(name: str, kind: type, method: str) -> tuple[float, float]:
    """Relative and absolute: the last bits, which another BLAS or another order of a sum may change, and two things more.

    A machine that is fitted again in folds when asked ends its solver's path within its tolerance. The fast Fourier
    transform of rows off the grid has an accuracy of its own, at which its versions differ.
    """
    if name.endswith("_grid"):
        return 1e-12, 1e-8
    if method in REFITTED and ".svm." in kind.__module__:
        return (1e-6 if name.endswith("_landmarks") else 1e-8), 1e-13
    return 1e-12, 1e-13


@pytest.mark.parametrize("path", FILES, ids=[f"{path.parent.name}-{path.stem}" for path in FILES])
def test_it_loads_and_says_what_it_said(path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = mercer.load(path)
    assert type(model) is type(MODELS[path.stem][0])
    expected = np.load(path.with_suffix(".npz"))
    given = answers(path.stem, model, MODELS[path.stem][3])
    assert set(given) - ADDED.get(type(model).__name__, set()) == set(expected.files)
    for method in expected.files:
        values = given[method]
        if values.dtype.kind in "fc":
            rtol, atol = tolerance(path.stem, type(model), method)
            if method == "predict_interval" and type(model).__name__ in WIDENED:
                assert (np.diff(values, axis=1) > 0.99 * np.diff(expected[method], axis=1)).all()
                np.testing.assert_allclose(values.sum(axis=1), expected[method].sum(axis=1), rtol=1e-11, atol=1e-8)
                continue
            np.testing.assert_allclose(values, expected[method], rtol=rtol, atol=atol, err_msg=method)
        else:
            np.testing.assert_array_equal(values, expected[method], err_msg=method)
    assert str(model)


def test_surfaces_of_both_kinds_have_become_one() -> None:
    ridge = mercer.load(FOLDER / "0.1.0" / "kernel_ridge_cv.mercer").surface_
    svm = mercer.load(FOLDER / "0.1.0" / "svc_cv.mercer").surface_
    assert type(ridge) is type(svm)
    assert (ridge.axis.name, svm.axis.name) == ("alpha", "C")
    assert ridge.scores.shape == (len(ridge.params), len(ridge.alphas))
    np.testing.assert_array_equal(svm.scores, svm.split_scores.mean(axis=2))
    assert svm.columns["mean_support_vectors"].shape == (len(svm.params), len(svm.Cs))
