"""Parameters of a type that no fit can use are refused by name, before anything is read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mercer
from mercer.errors import ArgumentError, InputError

X = np.random.default_rng(0).normal(size=(20, 2))
Y = np.arange(20) % 2

CASES = [
    ("fit_intercept", None, "fit_intercept must be True or False; got None"),
    ("fit_intercept", "x", "fit_intercept must be True or False; got str 'x'"),
    ("fit_intercept", np.zeros(2), "fit_intercept must be True or False"),
    ("memory", [], "memory: a budget is a positive number of bytes"),
    ("memory", np.zeros(2), "memory: a budget is a positive number of bytes"),
    ("random_state", "x", "random_state must be None, a whole number >= 0"),
    ("verbose", "x", "verbose must be None, True or False"),
]


@pytest.mark.parametrize(("name", "value", "message"), CASES)
@pytest.mark.parametrize(
    "model",
    [
        mercer.KernelLogisticRegressionCV(),
        mercer.KernelRidge(),
        mercer.SVC(),
        mercer.NoveltyDetector(),
        mercer.KernelCCA(),
        mercer.TableRegressor(),
        mercer.TableClassifier(),
    ],
)
def test_shared_parameters(model: Any, name: str, value: Any, message: str) -> None:
    if name not in model.get_params():
        pytest.skip(f"{type(model).__name__} has no {name}")
    given = {**model.get_params(deep=False), name: value}
    with pytest.raises(InputError, match=message):
        type(model)(**given).fit([X, X] if isinstance(model, mercer.KernelCCA) else X, Y)


@pytest.mark.parametrize("model", [mercer.KernelLogisticRegressionCV, mercer.KernelRidgeCV, mercer.SVCCV])
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"cv": 0}, r"cv=0: .*n_splits"),
        ({"cv": "x"}, r"cv='x': Expected `cv` as an integer"),
        ({"cv": 1000}, r"cv=1000: .*n_splits=1000"),
        ({"cv": np.zeros(2)}, "cv="),
        ({"length_scales": -1.0}, "length_scales must be None or a list of finite numbers > 0; got"),
        ({"length_scales": "x"}, "length_scales must be None or a list"),
        ({"length_scales": [1.0, -1.0]}, "length_scales must be a list"),
        ({"length_scales": {}}, "length_scales must be None or a list"),
        ({"param_grid": "x"}, "param_grid must be None or a dict of names"),
        ({"param_grid": {"length_scale": 1.0}}, "param_grid must be None or a dict of names"),
        ({"param_grid": 3}, "param_grid must be None or a dict of names"),
    ],
)
def test_grids_and_splits(model: Any, given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        model(**given).fit(X, Y)


def test_numbers_beyond_floats_are_refused() -> None:
    with pytest.raises(InputError, match="C must be a finite number > 0"):
        mercer.KernelLogisticRegression(C=10**400).fit(X, Y)


@pytest.mark.parametrize("seed", [None, 0, np.int64(3), np.random.default_rng(0)])
def test_seeds_that_numpy_takes(seed: Any) -> None:
    assert mercer.NoveltyDetector(random_state=seed).fit(X) is not None


def test_parameters_by_position_are_refused_with_their_names() -> None:
    with pytest.raises(ArgumentError, match=r"KernelPCA takes 1 positional argument, got 2; .* KernelPCA\(kernel, n_comp"):
        mercer.KernelPCA(mercer.Gaussian(), 2)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (mercer.TableRegressor(kernel=5), "kernel must be a kernel such as"),
        (mercer.TableRegressor(kernel=mercer.Gaussian), "Gaussian is a class; write"),
        (mercer.TableRegressor(time="x"), "time must be a number of seconds > 0"),
        (mercer.TableRegressor(scoring=[]), "scoring must be one of"),
        (mercer.TableQuantileRegressor("x"), "quantile must be a number between 0 and 1"),
        (mercer.TableClassifier(scoring="x"), "scoring must be"),
        (mercer.TableClassifier(scoring={(0, 1): "x"}), "a cost in scoring must be a finite number; got str 'x'"),
        (mercer.TableClassifier(class_weight={0: "x"}), "class_weight must hold finite numbers > 0"),
        (mercer.SVC(class_weight={0: None}), "class_weight must hold finite numbers > 0"),
    ],
)
def test_parameters_of_table_models_and_classes(model: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        model.fit(X, Y)
