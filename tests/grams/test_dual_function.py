"""The record of a fitted expansion."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import SVC, Gaussian, KernelPerceptron, KernelRidge, NearestMean
from mercer.grams.dual_function import DualFunction, HasDualFunction
from mercer.registry import find_record


def _rows() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    return X, (X[:, 0] + 0.3 * rng.normal(size=40) > 0).astype(int)


def test_the_record_of_older_files_is_this_one() -> None:
    assert find_record("Expansion") is DualFunction is find_record("DualFunction")


@pytest.mark.parametrize("t", [None, 1, 3])
def test_values_are_those_of_the_whole_matrix(t: int | None) -> None:
    X, _ = _rows()
    rng, shape = np.random.default_rng(1), () if t is None else (t,)
    dual, intercept = rng.normal(size=(40, *shape)), rng.normal(size=shape)
    f = DualFunction(Gaussian(1.0), X, dual, intercept)
    new = rng.normal(size=(7, 3))
    assert f.predict(new).shape == (7, *shape)
    np.testing.assert_allclose(f.predict(new), Gaussian(1.0)(new, X) @ dual + intercept)
    a, b = f.columns()
    assert a.shape == (40, t or 1) and b.shape == (t or 1,)
    np.testing.assert_array_equal(a.reshape(dual.shape), dual)


def test_row_numbers_count_from_zero_unless_given() -> None:
    X, _ = _rows()
    f = DualFunction(Gaussian(1.0), X[:3], np.ones(3))
    assert f.numbers().tolist() == [0, 1, 2]
    assert DualFunction(Gaussian(1.0), X[:3], np.ones(3), rows=np.array([7, 1, 4])).numbers().tolist() == [7, 1, 4]


@pytest.mark.parametrize("model", [KernelRidge(), NearestMean(), KernelPerceptron(), SVC()], ids=lambda m: type(m).__name__)
def test_models_give_their_function(model: object) -> None:
    X, y = _rows()
    fitted = model.fit(X, y)  # type: ignore[attr-defined]
    assert isinstance(fitted, HasDualFunction)
    values = fitted.predict(X) if isinstance(fitted, KernelRidge) else fitted.decision_function(X)  # type: ignore[attr-defined]
    np.testing.assert_allclose(np.ravel(fitted.dual_function().predict(X)), values, rtol=1e-8, atol=1e-10)
