"""Gaussian processes for targets with several columns and holes: against the written-out block matrix."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import mercer
from mercer import Gaussian, GaussianProcessRegressor, Linear, Spectrum, Tasks
from mercer.errors import InputError

RNG = np.random.default_rng(0)
B = np.array([[1.0, 0.6, -0.3], [0.6, 1.5, 0.1], [-0.3, 0.1, 0.8]])
V = np.array([[0.9], [0.7], [-0.4]])
OWN = (0.3, 0.5, 0.2)
KERNEL = Tasks(names=("p", "q", "r"), loadings=V.ravel(), own=OWN) * Gaussian(1.3)


def _data(n: int, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 6.0, (n, 2))
    Y = np.column_stack([np.sin(X[:, 0]), np.sin(X[:, 0]) + 0.3 * X[:, 1], 2.0 - np.sin(X[:, 0])])
    return X, Y + 0.1 * rng.normal(size=Y.shape)


def _block_matrix(X: Any, Z: Any, length_scale: float = 1.3) -> Any:
    """k((x, c), (z, d)) = B[c, d] k(x, z), one cell at a time; pairs row by row."""
    full = V @ V.T + np.diag(OWN)
    K = Gaussian(length_scale)(X, Z)
    return np.array(
        [[full[c, d] * K[i, j] for j in range(len(Z)) for d in range(3)] for i in range(len(X)) for c in range(3)]
    )


def _by_hand(X: Any, Y: Any, new: Any, noise: float) -> tuple[Any, Any, Any]:
    """Mean, variance and log density of a zero-mean process, from the known cells of the block matrix."""
    known = np.isfinite(Y).ravel()
    G = _block_matrix(X, X)[np.ix_(known, known)] + noise * np.eye(known.sum())
    y, cross = Y.ravel()[known], _block_matrix(new, X)[:, known]
    mean = cross @ np.linalg.solve(G, y)
    variance = _block_matrix(new, new) - cross @ np.linalg.solve(G, cross.T)
    value = -0.5 * (y @ np.linalg.solve(G, y) + np.linalg.slogdet(G)[1] + len(y) * np.log(2 * np.pi))
    return mean.reshape(len(new), 3), variance, value


@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.parametrize("solver", ["auto", "exact"])
def test_equal_to_the_block_matrix(holes: bool, solver: str) -> None:
    X, Y = _data(14)
    if holes:
        Y[RNG.random(Y.shape) < 0.3] = np.nan
    new = X[:5] + 0.2
    model = GaussianProcessRegressor(KERNEL, noise=0.05, mean="zero", normalize_y=False, optimizer=None, solver=solver).fit(
        X, Y
    )
    assert model.route_.solver == ("exact" if holes or solver == "exact" else "kronecker")
    mean, covariance, value = _by_hand(X, Y, new, 0.05)
    f, std = model.predict(new, return_std=True)
    assert np.allclose(f, mean, atol=1e-10)
    assert np.allclose(std**2, covariance.diagonal().reshape(5, 3), atol=1e-10)
    assert abs(model.log_marginal_likelihood_value_ - value) < 1e-9
    within = model.predict(new, return_cov=True)[1]
    assert np.allclose(within, np.einsum("icjc->ijc", covariance.reshape(5, 3, 5, 3)), atol=1e-10)
    noisy = model.predict(new, return_std=True, include_noise=True)[1]
    assert np.allclose(noisy**2, std**2 + 0.05)


def test_kronecker_is_the_factorization_of_all_pairs() -> None:
    X, Y = _data(15)
    for kernel in (Tasks(2) * Gaussian(1.0), Linear() * Tasks() * Gaussian(1.0)):
        settings: dict[str, Any] = {"noise": 0.2, "mean": "linear", "optimizer": None}
        fast = GaussianProcessRegressor(kernel, **settings).fit(X, Y)
        slow = GaussianProcessRegressor(kernel, **settings, solver="exact").fit(X, Y)
        assert (fast.route_.solver, slow.route_.solver) == ("kronecker", "exact")
        theta = fast.theta_ + 0.1 * RNG.normal(size=len(fast.theta_))
        value, gradient = fast.log_marginal_likelihood(theta, eval_gradient=True)
        again, slopes = slow.log_marginal_likelihood(theta, eval_gradient=True)
        assert abs(value - again) < 1e-8
        assert np.allclose(gradient, slopes, atol=1e-7)
        assert np.allclose(fast.predict(X), slow.predict(X), atol=1e-9)
        assert np.allclose(fast.coef_, slow.coef_, atol=1e-8)
        assert np.allclose(fast.intercept_, slow.intercept_, atol=1e-8)


def test_holes_are_deleted_cells() -> None:
    """A column of task names in X, with the unknown cells left out, is the same model."""
    X, Y = _data(20)
    Y[RNG.random(Y.shape) < 0.4] = np.nan
    rows, tasks = np.nonzero(np.isfinite(Y))
    table = np.column_stack([X[rows], tasks])
    settings: dict[str, Any] = {"noise": 0.1, "mean": "zero", "normalize_y": False, "optimizer": None}
    by_cells = GaussianProcessRegressor(KERNEL, **settings).fit(X, Y)
    numbered = Tasks(names=(0, 1, 2), loadings=V.ravel(), own=OWN).on(2) * Gaussian(1.3).on(0, 1)
    by_rows = GaussianProcessRegressor(numbered, **settings).fit(table, Y[rows, tasks])
    assert np.allclose(by_cells.predict(X)[rows, tasks], by_rows.predict(table), atol=1e-10)
    assert abs(by_cells.log_marginal_likelihood_value_ - by_rows.log_marginal_likelihood_value_) < 1e-9
    assert np.allclose(by_cells.loo_mean_[rows, tasks], by_rows.loo_mean_, atol=1e-9)
    assert np.isnan(by_cells.loo_mean_).sum() == np.isnan(Y).sum()


def test_without_tasks_holes_leave_the_columns_apart() -> None:
    X, Y = _data(20)
    Y[:6, 0], Y[10:, 2] = np.nan, np.nan
    settings: dict[str, Any] = {"noise": 0.1, "mean": "constant", "optimizer": None}
    model = GaussianProcessRegressor(Gaussian(1.0), **settings, normalize_y=False).fit(X, Y)
    for c in range(3):
        known = np.isfinite(Y[:, c])
        alone = GaussianProcessRegressor(Gaussian(1.0), **settings).fit(X[known], Y[known, c])
        assert np.allclose(model.predict(X)[:, c], alone.predict(X), atol=1e-9)
        assert np.allclose(model.predict(X, return_std=True)[1][:, c], alone.predict(X, return_std=True)[1], atol=1e-9)
        assert np.isclose(model.intercept_[c], alone.intercept_)


def _two_tasks(n: int, correlation: float, seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = np.linspace(0.0, 0.35 * n, n)[:, None]
    root = np.linalg.cholesky(Gaussian(1.0)(X) + 1e-10 * np.eye(n))
    mixing = np.linalg.cholesky([[1.0, correlation], [correlation, 1.0]])
    return X, root @ rng.normal(size=(n, 2)) @ mixing.T + 0.1 * rng.normal(size=(n, 2))


@pytest.mark.parametrize(("correlation", "seed"), [(0.9, 0), (0.9, 1), (-0.9, 2)])
def test_learns_the_correlation_of_two_tasks(correlation: float, seed: int) -> None:
    X, Y = _two_tasks(150, correlation, seed)
    model = GaussianProcessRegressor(Tasks(rank=1) * Gaussian(1.0), n_restarts=0).fit(X, Y)
    tasks = next(node for node in model.kernel_.walk() if isinstance(node, Tasks))
    assert abs(tasks.correlation[0, 1] - correlation) < 0.05
    assert model.route_.solver == "kronecker"


def test_files_frames_strings_and_draws(tmp_path: Path) -> None:
    X, Y = _data(12)
    Y[3, 1] = np.nan
    settings: dict[str, Any] = {"noise": 0.1, "optimizer": None}
    model = GaussianProcessRegressor(KERNEL, **settings).fit(X, Y)
    whole = GaussianProcessRegressor(KERNEL, **settings).fit(X, np.nan_to_num(Y))
    for fitted in (model, whole):
        mercer.save(fitted, tmp_path / "model")
        again = mercer.load(tmp_path / "model")
        for a, b in zip(again.predict(X, return_std=True), fitted.predict(X, return_std=True), strict=True):
            assert np.array_equal(a, b)
    by_name = Tasks(names=("p", "q", "r"), loadings=V.ravel(), own=OWN) * Gaussian(1.3).on("a", "b")
    for frame in (pd.DataFrame(X, columns=["a", "b"], index=range(5, 17)), pl.DataFrame(X, schema=["a", "b"])):
        framed = GaussianProcessRegressor(by_name, **settings).fit(frame, Y)
        assert np.allclose(framed.predict(frame), model.predict(X))
    draws = model.sample_y(X[:2], 4000, random_state=0)
    assert draws.shape == (2, 3, 4000)
    assert np.allclose(draws.mean(axis=2), model.predict(X[:2]), atol=0.1)
    texts = ["abab", "bbba", "aaab", "abba", "baba"]
    Z = np.array([[text.count("a"), float(len(text))] for text in texts])
    Z[1, 0] = np.nan
    spelled = GaussianProcessRegressor(Tasks() * Spectrum(1), noise=0.01, optimizer=None).fit(texts, Z)
    mercer.save(spelled, tmp_path / "texts")
    assert np.array_equal(mercer.load(tmp_path / "texts").predict(texts), spelled.predict(texts))
    assert "known cells" in str(spelled)


def test_messages() -> None:
    X, Y = _data(10)
    model = GaussianProcessRegressor(KERNEL, noise=0.1, optimizer=None)
    with pytest.raises(InputError, match="has 3 tasks, and y has 2 columns"):
        model.fit(X, Y[:, :2])
    with pytest.raises(InputError, match="column 1 of y has no known value"):
        model.fit(X, np.where(np.arange(3) == 1, np.nan, Y))
    with pytest.raises(InputError, match="infinity"):
        model.fit(X, np.where(np.arange(3) == 1, np.inf, Y))
    with pytest.raises(InputError, match="noise per row is not available for several tasks"):
        model.fit(X, Y, noise=np.ones(10))
    fitted = GaussianProcessRegressor(KERNEL, noise=0.1, optimizer=None, solver="exact").fit(X, Y)
    with pytest.raises(InputError, match="add_rows is not available for a target that is read by cells"):
        fitted.add_rows(X[:1], Y[:1])
    with pytest.raises(InputError, match="contains NaN"):
        GaussianProcessRegressor(Gaussian(1.0)).fit(X, np.where(np.arange(10) == 2, np.nan, Y[:, 0]))
    with pytest.raises(InputError, match=r"bounds\['loadings'\] must be finite"):
        GaussianProcessRegressor(KERNEL, bounds={"loadings": (1.0, -1.0)}).fit(X, Y)
    bounded = GaussianProcessRegressor(KERNEL, bounds={"loadings": (-0.5, 0.5)}, n_restarts=0, max_iter=3).fit(X, Y)
    assert max(abs(value) for value in bounded.kernel_.get_params()["0__0__loadings"]) <= 0.5 + 1e-12
    prior = {"loadings": (0.0, 0.1)}
    assert GaussianProcessRegressor(KERNEL, priors=prior, n_restarts=0, max_iter=2).fit(X, Y).n_iter_ <= 2
    with pytest.raises(InputError, match="standard deviation > 0"):
        GaussianProcessRegressor(KERNEL, priors={"loadings": (0.0, 0.0)}).fit(X, Y)
