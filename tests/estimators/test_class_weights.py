"""Balanced class weights count rows by their weights, in every classifier: weight 3 equals three copies."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import mercer
from mercer.errors import InputError
from mercer.inputs.labels import class_weights

#: Every public estimator with class weights but the table models, which test_table_weights.py has.
WEIGHTED = sorted(
    name
    for name in mercer.__all__
    if inspect.isclass(getattr(mercer, name))
    and "class_weight" in inspect.signature(getattr(mercer, name)).parameters
    and not name.startswith("Table")
)
MORE: dict[str, dict[str, Any]] = {
    "SVC": {"tol": 1e-10, "C": 0.7},
    "NuSVC": {"tol": 1e-10, "nu": 0.6},
    "SVCCV": {"tol": 1e-10, "Cs": [0.1, 1.0]},
    "KernelLogisticRegression": {"C": 0.7},
    "KernelLogisticRegressionCV": {"Cs": [0.1, 1.0]},
}


def weighted_rows() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.where(X[:, 0] + rng.normal(size=60) > 0.8, "rare", "usual")
    return X, y, np.where(y == "rare", rng.integers(1, 6, 60), 1)


@pytest.mark.parametrize("name", WEIGHTED)
def test_a_row_of_weight_three_equals_three_copies(name: str) -> None:
    X, y, w = weighted_rows()
    copies = np.repeat(np.arange(len(X)), w)
    kernel = mercer.Gaussian(length_scale=1.5)
    more = dict(MORE[name])
    of_weights, of_copies = dict(more), dict(more)
    if name.endswith("CV"):  # a test part of weight 1 has the same score in both forms
        test = np.flatnonzero(w == 1)[:15]
        train = np.setdiff1d(np.arange(len(X)), test)
        of_weights["cv"] = [(train, test)]
        of_copies["cv"] = [(np.flatnonzero(np.isin(copies, train)), np.flatnonzero(np.isin(copies, test)))]
    make: Any = getattr(mercer, name)
    one = make(kernel, class_weight="balanced", **of_weights).fit(X, y, sample_weight=w)
    two = make(kernel, class_weight="balanced", **of_copies).fit(X[copies], y[copies])
    grid = np.random.default_rng(1).normal(size=(200, 2))
    np.testing.assert_allclose(one.decision_function(grid), two.decision_function(grid), atol=1e-6)
    assert (one.predict(grid) == two.predict(grid)).all()
    if name.endswith("CV"):
        np.testing.assert_allclose(one.surface_.scores, two.surface_.scores, atol=1e-6)


def test_balanced_weights_make_the_classes_equally_heavy() -> None:
    codes, w = np.array([0, 0, 1, 2, -1]), np.array([1.0, 3.0, 0.5, 2.0, 9.0])
    found = class_weights("SVC", "balanced", np.array(["a", "b", "c"]), codes, w)
    totals = [float((w * found[codes])[codes == k].sum()) for k in range(3)]
    np.testing.assert_allclose(totals, 6.5 / 3)


def test_a_training_part_without_a_class_gives_it_no_weight() -> None:
    found = class_weights("SVC", "balanced", np.array(["a", "b", "c"]), np.array([0, 2, 2]), np.array([1.0, 1.0, 0.0]))
    assert found.tolist() == [1.0, 0.0, 1.0]


@pytest.mark.parametrize("given", [{"a": 0.0}, {"a": np.inf}, {"z": 1.0}, "equal", 2.0])
def test_other_class_weights_are_refused_by_name(given: Any) -> None:
    with pytest.raises(InputError, match="class_weight"):
        class_weights("SVC", given, np.array(["a", "b"]), np.array([0, 1]), np.ones(2))
