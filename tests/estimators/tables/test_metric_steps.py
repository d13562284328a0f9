"""Recursive feature machines against their definition written out slowly, and the leave-one-out forms they stand on."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import PowerExponential
from mercer.estimators.tables import learned_metrics, ridge
from mercer.kernels.stationary import Gaussian, Laplacian
from mercer.selection.folds import group_folds, row_groups


def data(n: int = 40, d: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, (np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] ** 2)[:, None]


def slow_kernel(X: np.ndarray, Z: np.ndarray, S: np.ndarray, norm: float, power: float, scale: float) -> np.ndarray:
    """exp(-(||S(x - z)||_p / L)^q) with one loop per pair."""
    matrix = np.diag(S) if S.ndim == 1 else S
    out = np.empty((len(X), len(Z)))
    for i, x in enumerate(X):
        for j, z in enumerate(Z):
            step = matrix @ (x - z)
            out[i, j] = np.exp(-((np.sum(np.abs(step) ** norm) ** (1.0 / norm) / scale) ** power))
    return out


def slow_metric(X: np.ndarray, dual: np.ndarray, S: np.ndarray, norm: float, power: float, scale: float) -> np.ndarray:
    """The average gradient outer product by central differences of f without each row's own term."""
    n, d = X.shape
    gradients = np.zeros((n, d))
    for j in range(n):
        others = np.delete(np.arange(n), j)
        for k in range(d):
            h = 1e-4
            move = h * np.eye(d)[k]
            # fourth order: the error of 1e-8 is that of the differences
            at = [slow_kernel(X[[j]] + m * move, X[others], S, norm, power, scale)[0] @ dual[others] for m in (-2, -1, 1, 2)]
            gradients[j, k] = (at[0] - 8 * at[1] + 8 * at[2] - at[3]) / (12 * h)
    M = gradients.T @ gradients
    return M / np.abs(M).max()


@pytest.mark.parametrize(("norm", "power"), [(2.0, 1.0), (2.0, 2.0), (1.0, 1.0), (2.0, 1.4), (1.5, 1.2)])
@pytest.mark.parametrize("full", [False, True])
def test_every_round_is_the_definition(norm: float, power: float, full: bool) -> None:
    X, Y = data(18, 3)
    S_slow = np.eye(3) if full else np.ones(3)
    for step in learned_metrics.metric_steps(PowerExponential(norm, power=power), X, Y, full, 2):
        assert np.allclose(step.S, S_slow, atol=1e-7)
        scale = step.kernel.get_params()["0__length_scale"]
        K = slow_kernel(X, X, S_slow, norm, power, scale)
        G = np.linalg.inv(K + step.fit.alpha * np.eye(len(X)))
        ones = np.ones(len(X))
        C = G - np.outer(G @ ones, ones @ G) / (ones @ G @ ones)
        assert np.allclose(step.fit.dual, C @ Y, atol=1e-8 * np.abs(C @ Y).max())
        M = slow_metric(X, step.fit.dual[:, 0], S_slow, norm, power, scale)
        fast = learned_metrics.outer_product(step.kernel, X, step.fit.dual, full)
        assert np.abs(fast - (M if full else np.diagonal(M))).max() < 1e-8 * (1 if norm == 2.0 or power == norm else 100)
        S_slow = learned_metrics.root(fast)


def test_leave_one_out_residuals_are_those_of_refits() -> None:
    X, Y = data(15)
    K = Gaussian(1.5)(X)
    found = ridge.solve(K, Y, 0.1)
    assert found is not None
    for i in range(15):
        keep = np.delete(np.arange(15), i)
        refit = ridge.solve(K[np.ix_(keep, keep)], Y[keep], 0.1)
        assert refit is not None
        prediction = K[i, keep] @ refit.dual + refit.intercept
        assert np.allclose(Y[i] - prediction, found.residuals[i], atol=1e-10)


def test_all_penalties_from_one_eigendecomposition() -> None:
    X, Y = data(30)
    K = Gaussian(1.5)(X)
    error = ridge.smallest_error(K, Y)
    errors = [found.error for a in ridge.ALPHAS if (found := ridge.solve(K, Y, a)) is not None]
    assert np.isclose(error, min(errors), rtol=1e-6)
    chosen = ridge.choose(K, Y)
    assert np.isclose(chosen.error, error, rtol=1e-6)
    grid = float(np.trace(K)) / len(K) * ridge.ALPHAS
    assert np.isclose(chosen.alpha, grid[np.argmin(ridge.errors_of(K, Y, grid))])


def test_a_constant_target_keeps_the_metric() -> None:
    X, _ = data(20)
    *_, last = learned_metrics.metric_steps(PowerExponential(), X, np.zeros((20, 1)), False, 2)
    assert np.array_equal(last.S, np.ones(4))


def test_landmarks_at_every_row_are_the_exact_fit() -> None:
    X, Y = data(60)
    exact = ridge.fit(Laplacian(4.0), X, Y, 0.1)
    near = ridge.fit(Laplacian(4.0), X, Y, 0.1, n_landmarks=60)
    assert np.allclose(exact.predict(X[:7] + 0.1), near.predict(X[:7] + 0.1), atol=1e-6)


def test_the_gradient_of_the_likelihood_is_its_difference() -> None:
    X, Y = data(30)
    problem = learned_metrics.LikelihoodObjective(Laplacian((2.0, 3.0, 1.0, 2.0)), X, Y)
    point = np.append(problem.start + np.array([0.1, -0.2, 0.3, 0.0]), np.log(0.1))
    value, slope = problem(point)
    for i in range(5):
        move = 1e-6 * np.eye(5)[i]
        assert np.isclose(slope[i], (problem(point + move)[0] - problem(point - move)[0]) / 2e-6, atol=1e-4)
    kernel, alpha = learned_metrics.by_likelihood(problem.kernel, X, Y, max_iter=15)
    assert problem(np.append(kernel.theta, np.log(alpha)))[0] < value


def test_equal_rows_share_a_fold() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(200, 2)).astype(float)
    X[0] = -0.0
    groups = row_groups(X)
    folds = group_folds(groups, 3, rng)
    for group in np.unique(groups):
        assert len(set(folds[groups == group])) == 1
    assert np.bincount(folds, minlength=3).min() > 40
    labels = np.repeat([0, 1], [150, 50])
    spread = group_folds(np.arange(200), 5, rng, labels)
    assert [int((labels[spread == fold] == 1).sum()) for fold in range(5)] == [10] * 5


@pytest.mark.parametrize("landmarks", [None, 70])
def test_rows_left_out_with_their_group_are_predicted_as_by_a_fit_without_them(landmarks: int | None) -> None:
    X, Y = data(70)
    groups = np.array([0, 1, 1, 2, 3, 3, 3, 4])
    found, residuals = ridge.fit_and_leave_out(Laplacian(4.0), X, Y, 0.1, groups, landmarks)
    assert np.allclose(found.predict(X[:5]), ridge.fit(Laplacian(4.0), X, Y, 0.1).predict(X[:5]), atol=1e-6)
    for group in range(5):
        out = 62 + np.flatnonzero(groups == group)
        without = ridge.fit(Laplacian(4.0), np.delete(X, out, axis=0), np.delete(Y, out, axis=0), 0.1)
        assert np.allclose(Y[out] - without.predict(X[out]), residuals[out - 62], atol=1e-6)


def test_a_penalty_by_a_third_of_the_rows_is_that_of_their_leave_one_out_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    X, Y = data(120)
    Y = Y + 0.3 * np.random.default_rng(1).standard_normal(Y.shape)
    K = Gaussian(2.0)(X)
    monkeypatch.setattr(ridge, "FEWER", 50)
    alpha = ridge.penalty(K, Y, 0.03)
    errors = {}
    for power in (-0.5, 0.0, 0.5):
        found = ridge.solve(K, Y, alpha * 10.0**power)
        assert found is not None
        errors[power] = float(np.mean(found.residuals[80:] ** 2))
    assert min(errors, key=lambda power: errors[power]) == 0.0
