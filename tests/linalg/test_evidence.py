"""The log marginal likelihood against SciPy's normal density and finite differences; conditioning and updates."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from tests.linalg.ridge import naive

from mercer.errors import InputError, NumericalError
from mercer.linalg.cholesky import append_rows, cholesky, remove_rows
from mercer.linalg.evidence import leave_one_out, log_evidence, log_marginal_likelihood, profile, remaining_variance

N = 30


def _problem(rng: np.random.Generator, t: int = 1, q: int = 0):
    K, X = naive.gram(rng, N)
    T = np.hstack([rng.normal(size=(N, t)), *([np.ones((N, 1)), X[:, : q - 1]] if q else [])])
    return K, X, T


def _best_beta(G: np.ndarray, T: np.ndarray, t: int) -> np.ndarray:
    H, inverse = T[:, t:], np.linalg.inv(G)
    return np.linalg.solve(H.T @ inverse @ H, H.T @ inverse @ T[:, :t])


@pytest.mark.parametrize("t", [1, 3])
@pytest.mark.parametrize("noise", [np.array([0.3]), "per row"])
def test_the_value_is_the_log_density_of_a_normal(rng: np.random.Generator, t: int, noise) -> None:
    K, _, T = _problem(rng, t)
    noise = rng.uniform(0.1, 1.0, N) if isinstance(noise, str) else noise
    value = log_marginal_likelihood(K, noise, T, t).value
    law = multivariate_normal(np.zeros(N), K + np.eye(N) * noise)
    assert value == pytest.approx(sum(law.logpdf(T[:, j]) for j in range(t)), abs=1e-9)


@pytest.mark.parametrize("q", [1, 3])
def test_with_a_mean_function_it_is_the_density_at_the_best_coefficients(rng: np.random.Generator, q: int) -> None:
    K, _, T = _problem(rng, 1, q)
    G = K + 0.2 * np.eye(N)
    beta = _best_beta(G, T, 1)
    law = multivariate_normal(T[:, 1:] @ beta[:, 0], G)
    value = log_marginal_likelihood(K, np.array([0.2]), T, 1).value
    assert value == pytest.approx(law.logpdf(T[:, 0]), abs=1e-9)
    for shift in (0.1, -0.1):  # no other coefficients do better
        other = multivariate_normal(T[:, 1:] @ (beta[:, 0] + shift), G)
        assert other.logpdf(T[:, 0]) < value
    fitted = profile(T.T @ np.linalg.solve(G, T), 1)
    np.testing.assert_allclose(fitted.beta, beta, atol=1e-10)
    np.testing.assert_allclose(fitted.covariance, np.linalg.inv(T[:, 1:].T @ np.linalg.solve(G, T[:, 1:])), rtol=1e-8)


def test_best_scales_maximize_the_density_of_every_target(rng: np.random.Generator) -> None:
    K, _, T = _problem(rng, 2, 1)
    T[:, 1] *= 50.0
    G = K + 0.2 * np.eye(N)
    value = log_marginal_likelihood(K, np.array([0.2]), T, 2, best_scales=True).value
    E = T[:, :2] - T[:, 2:] @ _best_beta(G, T, 2)

    def density(scales: np.ndarray) -> float:
        return sum(multivariate_normal(np.zeros(N), s * G).logpdf(e) for s, e in zip(scales, E.T, strict=True))

    best = np.einsum("ij,ij->j", E, np.linalg.solve(G, E)) / N
    assert value == pytest.approx(density(best), abs=1e-8)
    assert density(best * [1.1, 1.0]) < value
    assert density(best * [1.0, 0.9]) < value


@pytest.mark.parametrize("best_scales", [False, True])
@pytest.mark.parametrize(("t", "q"), [(1, 0), (2, 0), (1, 2), (3, 1)])
def test_the_gradient_is_that_of_finite_differences(rng: np.random.Generator, t: int, q: int, best_scales: bool) -> None:
    K, X, T = _problem(rng, t, q)
    d2 = ((X[:, None] - X[None]) ** 2).sum(-1)
    noise = rng.uniform(0.1, 0.5, N)

    def gram(log_scale: float, log_width: float) -> np.ndarray:
        return np.exp(log_scale) * np.exp(-0.5 * d2 / np.exp(2 * log_width))

    def value(v: np.ndarray) -> float:
        return log_marginal_likelihood(gram(v[0], v[1]), np.exp(v[2]) * noise, T, t, best_scales=best_scales).value

    at = np.array([0.3, 0.1, -0.2])
    K = gram(at[0], at[1])

    def pullback(tile, values) -> np.ndarray:
        W = np.zeros((N, N))  # from tiles on and above the diagonal only
        for rows, cols in ((slice(0, 20), slice(0, 20)), (slice(0, 20), slice(20, N)), (slice(20, N), slice(20, N))):
            W[rows, cols] = tile(rows, cols)
            np.testing.assert_array_equal(values(rows, cols), K[rows, cols])  # K is still there
            W[cols, rows] = tile(rows, cols).T
        return np.array([np.sum(W * K), np.sum(W * K * d2 / np.exp(2 * at[1]))])

    found = log_marginal_likelihood(
        K.copy(), np.exp(at[2]) * noise, T, t, pullback=pullback, overwrite=True, best_scales=best_scales
    )
    assert found.kernel_gradient is not None
    steps = [(value(at + 1e-5 * e) - value(at - 1e-5 * e)) / 2e-5 for e in np.eye(3)]
    np.testing.assert_allclose(np.append(found.kernel_gradient, found.noise_gradient), steps, rtol=1e-6, atol=1e-6)


def test_a_matrix_that_is_not_positive_definite_says_so_and_counts_of_targets_are_checked(rng: np.random.Generator) -> None:
    with pytest.raises(NumericalError, match="not positive definite"):
        log_marginal_likelihood(np.array([[1.0, 2.0], [2.0, 1.0]]), np.array([0.0]), np.ones(2))
    with pytest.raises(InputError, match="n_targets must lie in 1 … 1"):
        log_marginal_likelihood(np.eye(2), np.array([1.0]), np.ones(2), 2)


def test_jitter_is_reported_for_equal_rows_without_noise() -> None:
    K = np.ones((3, 3))
    assert log_marginal_likelihood(K, np.array([0.0]), np.array([1.0, 2.0, 3.0])).jitter > 0


def test_an_empty_mean_function_leaves_the_energy_alone() -> None:
    fitted = profile(np.array([[2.0]]), 1)
    assert fitted.energy == 2.0
    assert fitted.beta.shape == (0, 1)
    assert log_evidence(0.0, 0.0, 0, 1) == 0.0


def test_a_dependent_column_of_the_mean_function_takes_nothing_away(rng: np.random.Generator) -> None:
    K, _, T = _problem(rng, 1, 2)
    doubled = np.hstack([T, 2.0 * T[:, 2:]])
    one = log_marginal_likelihood(K, np.array([0.1]), T, 1).value
    assert log_marginal_likelihood(K, np.array([0.1]), doubled, 1).value == pytest.approx(one, abs=1e-8)


def test_variances_left_over_are_those_of_the_formula(rng: np.random.Generator) -> None:
    K, _, _ = _problem(rng)
    train, new = slice(0, 20), slice(20, N)
    factor = cholesky(K[train, train], 0.1)
    G = K[train, train] + 0.1 * np.eye(20)
    wanted = np.diag(K[new, new] - K[new, train] @ np.linalg.solve(G, K[train, new]))
    np.testing.assert_allclose(remaining_variance(factor, K[train, new], np.ones(10)), wanted, atol=1e-12)
    V = factor.whiten(K[train, new].copy())
    np.testing.assert_allclose(V.T @ V, K[new, train] @ np.linalg.solve(G, K[train, new]), atol=1e-12)


@pytest.mark.parametrize("q", [0, 1, 3])
def test_leave_one_out_is_leaving_one_out(rng: np.random.Generator, q: int) -> None:
    K, _, T = _problem(rng, 2, q)
    noise = rng.uniform(0.1, 0.5, N)
    G = K + np.diag(noise)
    found = leave_one_out(cholesky(K, noise), T, 2)
    for i in (0, 7, N - 1):
        rest = np.delete(np.arange(N), i)
        Gr, Tr = G[np.ix_(rest, rest)], T[rest]
        beta = _best_beta(Gr, Tr, 2) if q else np.zeros((0, 2))
        E = Tr[:, :2] - Tr[:, 2:] @ beta
        mean = T[i, 2:] @ beta + G[i, rest] @ np.linalg.solve(Gr, E)
        solved = np.linalg.solve(Gr, np.column_stack([G[rest, i], Tr[:, 2:]]))
        variance = G[i, i] - G[i, rest] @ solved[:, 0]
        if q:
            r = T[i, 2:] - G[i, rest] @ solved[:, 1:]
            variance += r @ np.linalg.solve(Tr[:, 2:].T @ solved[:, 1:], r)
        np.testing.assert_allclose(T[i, :2] - found.residuals[i], mean, atol=1e-9)
        assert found.variance[i] == pytest.approx(variance, rel=1e-8)
        density = -0.5 * (np.log(2 * np.pi * variance) + (T[i, :2] - mean) ** 2 / variance)
        np.testing.assert_allclose(found.log_density[i], density, rtol=1e-8)


def test_a_row_that_the_mean_function_alone_explains_has_no_leave_one_out() -> None:
    H = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 1.0]])  # only the last row knows the second coefficient
    found = leave_one_out(cholesky(np.eye(3), 1.0), np.column_stack([np.array([1.0, 2.0, 3.0]), H]), 1)
    assert np.isnan(found.residuals[2, 0])
    assert np.isfinite(found.residuals[:2]).all()


@pytest.mark.parametrize("shift", [0.3, "per row"])
@pytest.mark.parametrize("m", [1, 7])
def test_added_rows_give_the_factor_of_the_whole(rng: np.random.Generator, m: int, shift) -> None:
    K, _, _ = _problem(rng)
    noise = rng.uniform(0.1, 0.5, N) if isinstance(shift, str) else np.full(N, shift)
    old, new = slice(0, N - m), slice(N - m, N)
    part = cholesky(K[old, old], noise[old] if isinstance(shift, str) else shift)
    grown = append_rows(part, K[old, new], K[new, new], noise[new])
    whole = cholesky(K, noise)
    np.testing.assert_allclose(np.tril(grown.matrix), np.tril(whole.matrix), atol=1e-10)
    np.testing.assert_allclose(grown.multiply(np.eye(N)), K + np.diag(noise), atol=1e-12)  # the kernel values came along
    assert grown.logdet == pytest.approx(whole.logdet, abs=1e-9)


@pytest.mark.parametrize("gone", [[0], [N - 1], [4], [0, 1, 2], [3, 17, 18, 29], list(range(1, N)), []])
def test_removed_rows_give_the_factor_of_the_rest(rng: np.random.Generator, gone: list[int]) -> None:
    K, _, _ = _problem(rng)
    noise = rng.uniform(0.1, 0.5, N)
    left = remove_rows(cholesky(K, noise), np.array(gone, dtype=int))
    kept = np.setdiff1d(np.arange(N), gone)
    whole = cholesky(K[np.ix_(kept, kept)], noise[kept])
    np.testing.assert_allclose(np.tril(left.matrix), np.tril(whole.matrix), atol=1e-10)
    np.testing.assert_allclose(left.multiply(np.eye(len(kept))), K[np.ix_(kept, kept)] + np.diag(noise[kept]), atol=1e-12)


def test_updates_refuse_rows_that_are_not_there() -> None:
    factor = cholesky(np.eye(3), 1.0)
    with pytest.raises(InputError, match="must lie in 0 … 2"):
        remove_rows(factor, np.array([3]))
    with pytest.raises(InputError, match="all rows would be removed"):
        remove_rows(factor, np.arange(3))
    with pytest.raises(InputError, match="the factor has 3 rows"):
        append_rows(factor, np.ones((2, 1)), np.ones((1, 1)), np.array([1.0]))


def test_removing_keeps_its_digits_where_subtracting_would_lose_them(rng: np.random.Generator) -> None:
    K, _ = naive.gram(rng, 60, d=1, length_scale=3.0)  # condition about 1e10 with this noise
    noise = 1e-9
    left = remove_rows(cholesky(K, noise), np.arange(20))
    rest = K[20:, 20:]
    np.testing.assert_allclose(np.tril(left.matrix) @ np.tril(left.matrix).T, rest + noise * np.eye(40), atol=1e-14)
