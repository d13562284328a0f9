"""Which route a Gaussian process takes for a shape, what it says about it, and fits by the routes for many rows."""

from __future__ import annotations

import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import pytest

import mercer
from mercer import Gaussian, GaussianProcessRegressor, Spectrum
from mercer.errors import InputError, MemoryBudgetError
from mercer.estimators.gp import inducing as gp_inducing
from mercer.estimators.gp import routes as gp_routes
from mercer.estimators.gp import vecchia as gp_vecchia
from mercer.estimators.gp.problem import EngineSettings, GPProblem
from mercer.planning import Shape

VECTORS = frozenset({"vectors"})


def names(shape: Shape, solver: str = "auto", views: frozenset[str] = VECTORS, given: bool = False) -> list[str]:
    return [route.solver for route in gp_routes.gp_routes(shape, solver, EngineSettings(), views, given)]


def test_the_order_of_routes() -> None:
    assert names(Shape(5000, width=5)) == ["exact", "vecchia", "inducing"]
    assert names(Shape(50_000, width=5)) == ["vecchia", "inducing", "exact"]
    assert names(Shape(50_000, width=11)) == ["inducing", "exact"], "near rows are far away in many columns"
    assert names(Shape(50_000), views=frozenset({"strings"})) == ["inducing", "exact"]
    assert names(Shape(50_000, width=3), given=True) == ["exact"]
    for solver in ("exact", "inducing", "vecchia"):
        assert names(Shape(100, width=50), solver) == [solver]
    with pytest.raises(InputError, match="solver must be one of auto, exact, inducing, vecchia, fourier; got 'fast'"):
        names(Shape(10), "fast")


def test_routes_stay_within_their_budget() -> None:
    """Less memory keeps less between value and gradient, so that even small budgets have a route."""
    rich, poor = (
        gp_routes.gp_routes(Shape(50_000, width=5), "auto", EngineSettings(memory=m), VECTORS) for m in (2**33, 2**28)
    )
    assert poor[0].bytes < rich[0].bytes
    assert poor[0].bytes < 2**28
    assert poor[1].bytes < rich[1].bytes


def test_memory_decides_for_few_rows_and_is_said() -> None:
    X, y = np.random.default_rng(0).normal(size=(400, 2)), np.arange(400.0)
    model = GaussianProcessRegressor(Gaussian(1.0), noise=0.1, optimizer=None, memory="2 MB", n_neighbors=9)
    with pytest.warns(UserWarning, match="so vecchia is taken, which is not exact"):
        model.fit(X, y)
    assert model.route_.solver == "vecchia"
    assert mercer.plan(model, X, y).route.solver == "vecchia"
    with pytest.raises(MemoryBudgetError, match="no route fits"):
        GaussianProcessRegressor(Gaussian(1.0), memory="1 KB").fit(X, y)


def test_many_rows_leave_the_exact_route_with_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gp_routes, "EXACT_ROWS", 100)
    X, y = np.random.default_rng(0).normal(size=(150, 2)), np.arange(150.0)
    kernel = Gaussian(1.0)
    with pytest.warns(UserWarning, match="150 rows are more than 100, therefore solver='vecchia' is used"):
        GaussianProcessRegressor(kernel, noise=0.1, optimizer=None).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GaussianProcessRegressor(kernel, noise=0.1, optimizer=None, solver="vecchia").fit(X, y)


@pytest.fixture
def wave() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (600, 2))
    f = np.sin(2 * X[:, 0]) * X[:, 1]
    return X[:500], f[:500] + 0.1 * rng.normal(size=500), X[500:], f[500:]


@pytest.mark.parametrize("solver", ["inducing", "vecchia"])
def test_a_fit_by_each_route(
    solver: str, wave: tuple[np.ndarray, ...], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    X, y, new, truth = wave
    for engine in (gp_inducing.InducingEngine, gp_vecchia.VecchiaEngine):
        monkeypatch.setattr(engine, "part_rows", 200)
    model = GaussianProcessRegressor(
        Gaussian((1.0, 1.0)), solver=solver, n_inducing=60, n_neighbors=40, n_restarts=0, mean="linear"
    ).fit(X, y)
    mean, std = model.predict(new, return_std=True)
    assert np.sqrt(np.mean((mean - truth) ** 2)) < 0.06
    assert np.mean(np.abs(mean - truth) < 3 * std) > 0.9
    assert 0.007 < model.noise_ < 0.014
    exact = GaussianProcessRegressor(model.kernel_, noise=model.noise_, mean="linear", optimizer=None).fit(X, y)
    assert np.abs(exact.predict(new) - mean).max() < 0.1
    assert abs(exact.log_marginal_likelihood_value_ - model.log_marginal_likelihood_value_) < 25
    value = model.log_marginal_likelihood(model.theta_)
    assert np.isclose(value, model.log_marginal_likelihood_value_, rtol=1e-9), "asked again, the same rows are chosen"
    assert model.sample_y(new[:20], 3).shape == (20, 3)
    assert solver in str(model)
    with pytest.raises(InputError, match="needs the exact route"):
        _ = model.loo_
    mercer.save(model, tmp_path / "model.mercer")
    again = mercer.load(tmp_path / "model.mercer")
    assert np.array_equal(np.stack(again.predict(new, return_std=True)), np.stack([mean, std]))


def test_same_data_same_model(wave: tuple[np.ndarray, ...]) -> None:
    X, y, new, _ = wave
    for solver in ("inducing", "vecchia"):
        one, two = (
            GaussianProcessRegressor(Gaussian(1.0), noise=0.01, solver=solver, n_inducing=30, n_neighbors=20, optimizer=None)
            .fit(X, y)
            .predict(new)
            for _ in range(2)
        )
        assert np.array_equal(one, two)


def test_a_new_row_is_predicted_alone_as_among_others(wave: tuple[np.ndarray, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gp_vecchia, "BATCH", 33)
    X, y, new, _ = wave
    model = GaussianProcessRegressor(Gaussian(1.0), noise=0.01, solver="vecchia", n_neighbors=20, optimizer=None).fit(X, y)
    assert np.allclose(model.predict(new)[7], model.predict(new[7:8])[0], atol=1e-12)


def test_strings_by_inducing_rows() -> None:
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("acgt"), 12)) for _ in range(150)]
    y = np.array([word.count("ac") - word.count("t") for word in words], dtype=float)
    model = GaussianProcessRegressor(Spectrum(p=2), noise=0.05, solver="inducing", n_inducing=40, optimizer=None)
    assert np.corrcoef(model.fit(words, y).predict(words), y)[0, 1] > 0.95
    with pytest.raises(InputError):
        GaussianProcessRegressor(Spectrum(p=2), noise=0.05, solver="vecchia", optimizer=None).fit(words, y)


@pytest.mark.parametrize("solver", ["inducing", "vecchia"])
@pytest.mark.parametrize("memory", [2**22, 2**30])
def test_an_evaluation_stays_below_what_the_route_says(solver: str, memory: int) -> None:
    rng = np.random.default_rng(0)
    n = 8000
    problem = GPProblem(rng.normal(size=(n, 3)), rng.normal(size=(n, 1)), 1)
    settings = EngineSettings(n_inducing=64, n_neighbors=24, memory=memory)
    [route] = gp_routes.gp_routes(Shape(n, width=3), solver, settings, VECTORS)
    engine, kernel = gp_routes.engine(solver, settings), 1.0 * Gaussian((1.0, 1.0, 1.0))
    engine.evidence(problem, kernel, 0.1, True)  # compiled loops are loaded, inducing rows and neighbors chosen
    tracemalloc.start()
    engine.prepare(problem, kernel, 0.1)
    engine.evidence(problem, kernel, 0.1, True)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < route.bytes
