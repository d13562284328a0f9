"""The collapsed bound against the n x n formulas it replaces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mercer.estimators.gp import inducing
from mercer.estimators.gp.inducing import Collapsed, bound_gradient, collapsed, latent_covariance, latent_variance

Array = NDArray[Any]


def naive_bound(Kff: Array, Kuf: Array, Kuu: Array, Y: Array, d: Array) -> float:
    """log N(y | 0, Q + D) - tr(D^-1 (K - Q)) / 2 with every matrix written out."""
    Q = Kuf.T @ np.linalg.solve(Kuu, Kuf)
    return log_density(Q + np.diag(d), Y) - 0.5 * Y.shape[1] * float(np.sum((np.diag(Kff) - np.diag(Q)) / d))


def log_density(G: Array, Y: Array) -> float:
    n, t = Y.shape
    return float(-0.5 * (np.sum(Y * np.linalg.solve(G, Y)) + t * np.linalg.slogdet(G)[1] + n * t * np.log(2 * np.pi)))


def gaussian(a: Array, b: Array, scales: Array) -> Array:
    return np.exp(-0.5 * (((a[:, None] - b[None]) / scales) ** 2).sum(axis=2))


@pytest.fixture(params=[(60, 12, 1, False), (60, 12, 3, True), (45, 45, 2, False), (30, 1, 1, True)], ids=str)
def problem(request: pytest.FixtureRequest) -> dict[str, Any]:
    n, m, t, heteroscedastic = request.param
    rng = np.random.default_rng(n + m)
    X, Y = rng.normal(size=(n, 2)), rng.normal(size=(n, t))
    d = rng.uniform(0.05, 0.5, n) if heteroscedastic else np.array([0.2])
    return {"X": X, "Y": Y, "d": d, "Z": X[:m], "full": np.broadcast_to(d, (n,))}


SCALES = np.array([0.8, 1.3])


def bound(state: Collapsed, n: int) -> float:
    t = len(state.quadratic)
    return -0.5 * (float(np.trace(state.quadratic)) + t * (state.logdet + state.trace) + n * t * float(np.log(2 * np.pi)))


def fit(p: dict[str, Any], scales: Array = SCALES, amplitude: float = 1.7, keep: bool = True) -> Any:
    Kuf, Kuu = (amplitude * gaussian(p["Z"], other, scales) for other in (p["X"], p["Z"]))
    state = collapsed(lambda rows: Kuf.T[rows], Kuu, np.full(len(p["X"]), amplitude), p["Y"], p["d"], keep=keep)
    return state, bound(state, len(p["X"])), Kuf, Kuu + inducing.NUGGET * amplitude * np.eye(len(Kuu))


def test_the_bound_is_the_written_out_one(problem: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inducing, "BLOCK_ROWS", 7)
    _, value, Kuf, Kuu = fit(problem)
    Kff = 1.7 * gaussian(problem["X"], problem["X"], SCALES)
    written = naive_bound(Kff, Kuf, Kuu, problem["Y"], problem["full"])
    assert abs(value - written) < 1e-8 * (1 + abs(written))
    exact = log_density(Kff + np.diag(problem["full"]), problem["Y"])
    assert value <= exact + 1e-8
    if len(problem["Z"]) == len(problem["X"]):
        assert abs(value - exact) < 1e-8 * (1 + abs(exact)), "with all rows as inducing rows nothing is lost"


def test_the_posterior_is_the_written_out_one(problem: dict[str, Any]) -> None:
    state, _, Kuf, Kuu = fit(problem)
    new = np.random.default_rng(1).normal(size=(9, 2))
    k = 1.7 * gaussian(new, problem["Z"], SCALES)
    prior = 1.7 * gaussian(new, new, SCALES)
    P = np.linalg.solve(Kuu, Kuf)
    Q, G = k @ P, Kuf.T @ P + np.diag(problem["full"])  # Q_*f and Q_ff + D: the posterior of a GP with covariance Q
    mean = Q @ np.linalg.solve(G, problem["Y"])
    covariance = prior - Q @ np.linalg.solve(G, Q.T)
    assert np.allclose(k @ state.weights, mean, atol=1e-8)
    assert np.allclose(latent_variance(state.L, state.LB, k, np.diag(prior)), np.diag(covariance), atol=1e-8)
    assert np.allclose(latent_covariance(state.L, state.LB, k, prior), covariance, atol=1e-8)
    G = Kuf.T @ P + np.diag(problem["full"])
    assert np.allclose(state.quadratic, problem["Y"].T @ np.linalg.solve(G, problem["Y"]), atol=1e-8)


@pytest.mark.parametrize("keep", [True, False])
def test_the_gradient_is_that_of_finite_differences(
    problem: dict[str, Any], keep: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inducing, "BLOCK_ROWS", 11)
    state, _, Kuf, _ = fit(problem, keep=keep)
    X, Z = problem["X"], problem["Z"]
    t = problem["Y"].shape[1]
    combine = np.eye(t) if t == 1 else np.array([[1.0, 0.0], [0.0, 1.0], [-0.3, 0.6]])[:t, :2]

    def pull(a: Array, b: Array) -> Callable[[Array], Array]:
        def back(W: Array) -> Array:  # d/d(log amplitude, log scales) of <W, K>
            K = 1.7 * gaussian(a, b, SCALES)
            squares = ((a[:, None] - b[None]) / SCALES) ** 2
            return np.concatenate([[np.vdot(W, K)], np.einsum("ij,ij,ijk->k", W, K, squares)])

        return back

    theta, noise = bound_gradient(
        state,
        lambda rows: Kuf.T[rows],
        problem["Y"],
        combine,
        lambda rows, W: pull(X[rows], Z)(W),
        pull(Z, Z),
        lambda w: np.array([1.7 * w.sum(), 0.0, 0.0]),
    )
    combined, step = {**problem, "Y": problem["Y"] @ combine}, 1e-5

    def value(shift: Array) -> float:
        p = {**combined, "d": problem["d"] * np.exp(shift[3])}
        return float(fit(p, SCALES * np.exp(shift[1:3]), 1.7 * np.exp(shift[0]))[1])

    for k, slope in enumerate([*theta, noise]):
        e = step * np.eye(4)[k]
        assert abs(slope - (value(e) - value(-e)) / (2 * step)) < 1e-5 * (1 + abs(slope))


def test_more_inducing_rows_never_lower_the_bound() -> None:
    rng = np.random.default_rng(3)
    X, Y = rng.normal(size=(80, 2)), rng.normal(size=(80, 1))
    bounds = [fit({"X": X, "Y": Y, "Z": X[:m], "d": np.array([0.1])})[1] for m in (5, 10, 20, 40, 80)]
    assert np.all(np.diff(bounds) > -1e-8)


def test_repeated_inducing_rows_are_no_failure() -> None:
    rng = np.random.default_rng(4)
    X, Y = rng.normal(size=(40, 2)), rng.normal(size=(40, 1))
    once = fit({"X": X, "Y": Y, "Z": X[:8], "d": np.array([0.1])})[1]
    twice = fit({"X": X, "Y": Y, "Z": np.vstack([X[:8], X[:8]]), "d": np.array([0.1])})[1]
    assert abs(once - twice) < 1e-3, "the same span, up to the jitter it takes"
