"""The routes for many rows against the exact one: equal where nothing is left out, gradients by finite differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import mercer
from mercer import Constant, Exponential, Gaussian, Linear, Matern, Polynomial, RationalQuadratic, Spectrum
from mercer.errors import InputError
from mercer.estimators.gp.exact import ExactEngine
from mercer.estimators.gp.inducing import InducingEngine, choose_rows
from mercer.estimators.gp.problem import EngineSettings, GPProblem
from mercer.estimators.gp.vecchia import VecchiaEngine, column_steps
from mercer.kernels.base import Kernel

Array = NDArray[Any]

KERNELS = [
    2.0 * Gaussian([0.9, 1.5, 3.0]),
    1.5 * Matern(nu=1.5, length_scale=1.2) + 0.3 * Linear(),
    RationalQuadratic(length_scale=1.1, shape=0.8) * Constant(2.0) + 0.2 * Polynomial(degree=2, offset=1.0),
]


def problem(n: int = 60, columns: int = 3, targets: int = 1, ratios: bool = False, seed: int = 0) -> GPProblem:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    T = np.column_stack([np.sin(X @ rng.normal(size=(3, targets))) + 0.1 * rng.normal(size=(n, targets)), np.ones(n)])
    T = np.column_stack([T, rng.normal(size=(n, 3))])[:, :columns]
    return GPProblem(X, T, targets, rng.uniform(0.5, 2.0, n) if ratios else None)


def engines(n: int) -> list[Any]:
    return [InducingEngine(EngineSettings(n_inducing=n)), VecchiaEngine(EngineSettings(n_neighbors=n))]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("ratios", [False, True])
@pytest.mark.parametrize("which", [0, 1], ids=["inducing", "vecchia"])
def test_nothing_left_out_is_the_exact_route(kernel: Kernel, ratios: bool, which: int) -> None:
    given, noise = problem(ratios=ratios), 0.05
    engine, exact = engines(60)[which], ExactEngine()
    mine, theirs = (e.evidence(given, kernel, noise, True) for e in (engine, exact))
    scale = 1 + abs(theirs.value)
    assert abs(mine.value - theirs.value) < 1e-8 * scale
    assert np.allclose(mine.kernel_gradient, theirs.kernel_gradient, atol=1e-6 * scale)
    assert abs(mine.noise_gradient - theirs.noise_gradient) < 1e-6 * scale
    new = np.random.default_rng(1).normal(size=(20, 3))
    a, b = (e.posterior(given, kernel, noise) for e in (engine, exact))
    assert np.allclose(a.mean(new), b.mean(new), atol=1e-8)
    assert np.allclose(a.variance(new), b.variance(new), atol=1e-8)
    assert np.allclose(a.covariance(new), b.covariance(new), atol=1e-8)
    assert np.allclose(a.quadratic, b.quadratic, rtol=1e-6)
    assert np.allclose(a.logdet, b.logdet, atol=1e-6)
    mean, variance = a.moments(new)
    assert np.array_equal(mean, a.mean(new))
    assert np.array_equal(variance, a.variance(new))


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("columns", [1, 2, 5])
@pytest.mark.parametrize("which", [0, 1], ids=["inducing", "vecchia"])
def test_gradients_are_those_of_finite_differences(kernel: Kernel, columns: int, which: int) -> None:
    given, noise = problem(columns=columns, ratios=True), 0.1
    engine = [InducingEngine(EngineSettings(n_inducing=11)), VecchiaEngine(EngineSettings(n_neighbors=9))][which]
    engine.prepare(given, kernel, noise)  # type: ignore[attr-defined]
    found = engine.evidence(given, kernel, noise, True)  # type: ignore[attr-defined]
    step = 1e-5

    def value(shift: Array) -> float:
        return float(
            engine.evidence(given, kernel.with_theta(kernel.theta + shift[:-1]), noise * np.exp(shift[-1]), False).value  # type: ignore[attr-defined]
        )

    for j, slope in enumerate([*found.kernel_gradient, found.noise_gradient]):
        e = step * np.eye(len(kernel.theta) + 1)[j]
        assert abs(slope - (value(e) - value(-e)) / (2 * step)) < 2e-5 * (1 + abs(slope))


def test_the_bound_is_below_the_evidence_and_rises_to_it() -> None:
    given, kernel, noise = problem(n=150, columns=2), KERNELS[0], 0.05
    exact = ExactEngine().evidence(given, kernel, noise, False).value
    bounds = [
        InducingEngine(EngineSettings(n_inducing=m)).evidence(given, kernel, noise, False).value
        for m in (3, 10, 30, 100, 150)
    ]
    assert all(bound <= exact + 1e-6 for bound in bounds)
    assert np.all(np.diff(bounds) > -1e-6)
    assert abs(bounds[-1] - exact) < 1e-6


def test_more_neighbors_come_closer() -> None:
    given, kernel, noise = problem(n=300, columns=2), KERNELS[1], 0.05
    exact = ExactEngine().evidence(given, kernel, noise, False).value
    gaps = [
        abs(VecchiaEngine(EngineSettings(n_neighbors=k)).evidence(given, kernel, noise, False).value - exact)
        for k in (3, 12, 60, 300)
    ]
    assert gaps[0] > gaps[1] > gaps[2] > gaps[3]
    assert gaps[3] < 1e-8 * abs(exact)


def test_kept_and_repeated_factors_give_the_same() -> None:
    given, kernel = problem(n=120, columns=2), KERNELS[0]
    for make in (InducingEngine, VecchiaEngine):
        rich, poor = (make(EngineSettings(n_inducing=20, n_neighbors=20, memory=m)) for m in (2**30, 1))
        a, b = (e.evidence(given, kernel, 0.1, True) for e in (rich, poor))
        assert np.allclose(a.kernel_gradient, b.kernel_gradient, rtol=1e-9)


def test_inducing_rows_can_be_strings() -> None:
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("ab"), 8)) for _ in range(40)]
    given = GPProblem(words, rng.normal(size=(40, 1)), 1)
    kernel = 0.5 * Spectrum(p=2)
    exact = ExactEngine().evidence(given, kernel, 0.3, True)
    mine = InducingEngine(EngineSettings(n_inducing=40)).evidence(given, kernel, 0.3, True)
    assert abs(mine.value - exact.value) < 1e-6
    assert np.allclose(mine.kernel_gradient, exact.kernel_gradient, atol=1e-5)
    with pytest.raises(InputError):
        VecchiaEngine().evidence(given, kernel, 0.3, False)


def test_repeated_rows_are_chosen_once() -> None:
    X = np.repeat(np.random.default_rng(0).normal(size=(5, 2)), 20, axis=0)
    assert len(choose_rows(Gaussian(1.0), X, 50, 0)) == 5
    assert len(choose_rows(Linear(), np.zeros((7, 2)), 3, 0)) == 1, "a kernel that vanishes has no pivots"


@pytest.mark.parametrize("make", [Gaussian, Exponential, lambda s: Matern(nu=2.5, length_scale=s)])
def test_steps_are_proportional_to_length_scales(make: Any) -> None:
    X = np.random.default_rng(0).normal(size=(50, 3))
    scales = [0.1, 1.0, 7.0]
    steps = column_steps(make(scales), X) / scales
    assert np.allclose(steps, steps[0], rtol=1e-6)


def test_columns_the_kernel_does_not_see_do_not_count() -> None:
    X = np.random.default_rng(0).normal(size=(50, 3))
    X[:, 1] = 4.0
    steps = column_steps(Gaussian(1.0).on(0, 1), X)
    assert np.isinf(steps[1:]).all()
    assert np.isfinite(steps[0])
    assert np.isfinite(column_steps(Constant(2.0), X)[0]), "a kernel that sees nothing leaves distances as they are"
    assert np.array_equal(column_steps(Gaussian(1.0), np.ones((4, 2))), np.ones(2))


def test_bad_settings_are_named() -> None:
    given = problem()
    with pytest.raises(InputError, match="needs noise > 0"):
        InducingEngine().evidence(given, KERNELS[0], 0.0, False)
    with pytest.raises(InputError, match="n_inducing must be at least 1; got 0"):
        InducingEngine(EngineSettings(n_inducing=0)).prepare(given, KERNELS[0], 0.1)
    with pytest.raises(InputError, match="n_neighbors must be at least 1; got 0"):
        VecchiaEngine(EngineSettings(n_neighbors=0)).prepare(given, KERNELS[0], 0.1)


def test_a_joint_covariance_of_too_many_rows_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mercer.estimators.gp.vecchia.JOINT", 10)
    given = problem()
    posterior = VecchiaEngine(EngineSettings(n_neighbors=9)).posterior(given, KERNELS[0], 0.1)
    with pytest.raises(InputError, match="Predict fewer rows at a time"):
        posterior.covariance(given.X)


@pytest.mark.parametrize("solver", ["inducing", "vecchia"])
def test_fewer_rows_than_the_first_climb_asks_for(solver: str, rng: np.random.Generator) -> None:
    """Climbs on parts of 500, 1000 and 2000 rows come first; there may be fewer."""
    X = rng.normal(size=(600, 2))
    model = mercer.GaussianProcessRegressor(solver=solver, max_iter=2).fit(X, np.sin(X[:, 0]))
    assert np.corrcoef(model.predict(X), np.sin(X[:, 0]))[0, 1] > 0.99
