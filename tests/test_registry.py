"""A new estimator is one class and one registration: everything else finds it."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import RegressorMixin
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import check_is_fitted

import mercer
from mercer import registry
from mercer.errors import InputError
from mercer.estimators.base import DualModel
from mercer.estimators.summary import Summary
from mercer.planning import Route

NARROW = mercer.Gaussian(0.3)


@registry.estimator
class KernelSmoother(RegressorMixin, DualModel):
    """Nadaraya-Watson: the mean of all targets, weighted by k(x, x_i)."""

    def __init__(self, kernel: Any = NARROW, *, memory: Any = None, verbose: bool | None = None) -> None:
        self.kernel = kernel
        self.memory = memory
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelSmoother:
        return self._fit(X, y, sample_weight)

    def _read_y(self, y: Any, n: int) -> Any:
        return self._read_targets(y, n)

    def _routes(self, shape: Any) -> tuple[Route, ...]:
        return (Route("tiles", 16 * shape.n, 1e-9 * shape.n, "nothing is solved"),)

    def _solve(self, data: Any, route: Route, meter: Any) -> Any:
        weights = np.ones(data.n) if data.weights is None else data.weights
        Y = data.y.reshape(data.n, -1)
        return np.column_stack([weights[:, None] * Y, weights])  # (n, t + 1)

    def _store(self, data: Any, solution: Any) -> None:
        self.dual_coef_, self.intercept_ = solution, 0.0
        self._single = data.y.ndim == 1

    def predict(self, X: Any) -> Any:
        check_is_fitted(self)
        sums = self._decision(X)
        means = sums[:, :-1] / sums[:, -1:]
        return means[:, 0] if self._single else means

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = tags.target_tags.single_output = True
        return tags

    def _summary(self) -> Summary:
        return Summary(repr(self), (("kernel", str(self.kernel_)), ("route", self.route_.solver)))


X = np.random.default_rng(0).normal(size=(40, 2))
Y = np.sin(X[:, 0])


def test_a_toy_estimator_is_saved_loaded_planned_and_summarized(tmp_path: Path) -> None:
    model = KernelSmoother(mercer.Gaussian(0.5)).fit(X, Y)
    k = mercer.Gaussian(0.5)(X)
    np.testing.assert_allclose(model.predict(X), k @ Y / k.sum(axis=1), rtol=1e-12)
    mercer.save(model, tmp_path / "toy.mercer")
    again = mercer.load(tmp_path / "toy.mercer")
    assert type(again) is KernelSmoother
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert mercer.plan(KernelSmoother(), X, Y).bytes == 16 * 40
    assert "Gaussian(length_scale=0.5)" in str(model)
    assert model.route_.solver == "tiles"


def test_a_toy_estimator_keeps_the_contract_of_scikit_learn() -> None:
    check_estimator(KernelSmoother())


def test_a_toy_estimator_takes_strings() -> None:
    model = KernelSmoother(mercer.Spectrum(2)).fit(["banana", "kiwi"], [1.0, 0.0])
    assert model.predict(["ananas"]).tolist() == [1.0]


def test_a_name_belongs_to_one_class() -> None:
    with pytest.raises(InputError, match="has registered 'SVC'"):
        registry.estimator(type(mercer.SVC.__name__, (), {"__module__": "elsewhere"}))


def test_every_public_estimator_is_registered() -> None:
    modules = registry.public_names()
    names = [name for name, module in modules.items() if module.startswith("mercer.estimators.")]
    names = [name for name in names if isinstance(getattr(mercer, name), type)]  # functions about estimators stand there too
    assert len(names) >= 15
    assert [name for name in names if registry.find_estimator(name) is not getattr(mercer, name)] == []


def test_a_file_cannot_name_what_nobody_registered() -> None:
    assert registry.find_estimator("Pipeline") is None
    assert registry.find_estimator("Kernel") is None
    assert registry.find_record("dict") is None


def test_what_a_record_states_about_its_parts_is_about_its_fields() -> None:
    for name in mercer.__all__:
        getattr(mercer, name)
    wrong = {
        kind.__name__: sorted({path.split(".")[0] for path in vars(kind).get("_stored", {})} - fields)
        for kind in set(registry._records.values())
        if (fields := {field.name for field in dataclasses.fields(kind)}) is not None
    }
    assert {name: paths for name, paths in wrong.items() if paths} == {}
