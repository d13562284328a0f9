"""Vecchia's product of conditionals against the dense likelihood and against conditionals written out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mercer.errors import InputError, NumericalError
from mercer.estimators.gp.vecchia import (
    NearBlock,
    blocks,
    conditional_gradient,
    conditionals,
    farthest_first,
    leaves,
    local_posterior,
)

Array = NDArray[Any]
SCALES = np.array([0.9, 1.4])


def kernel(a: Array, b: Array, scales: Array = SCALES, amplitude: float = 1.3) -> Array:
    return amplitude * np.exp(-np.sqrt((((a[:, None] - b[None]) / scales) ** 2).sum(axis=2) + 1e-3))


def log_density(G: Array, Y: Array) -> float:
    n, t = Y.shape
    return float(-0.5 * (np.sum(Y * np.linalg.solve(G, Y)) + t * np.linalg.slogdet(G)[1] + n * t * np.log(2 * np.pi)))


def likelihood(parts: list[NearBlock], K: Array, Y: Array, noise: Array) -> float:
    found = conditionals(parts, lambda rows: K[np.ix_(rows, rows)], Y, noise)
    assert found.jitter == 0.0
    n, t = Y.shape
    return -0.5 * (float(np.trace(found.quadratic)) + t * found.logdet + n * t * float(np.log(2 * np.pi)))


def data(n: int = 70, t: int = 2, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)), rng.normal(size=(n, t))


@pytest.mark.parametrize("size", [1, 4, 70, 100])
@pytest.mark.parametrize("heteroscedastic", [False, True])
def test_all_earlier_rows_give_the_exact_likelihood(size: int, heteroscedastic: bool) -> None:
    X, Y = data()
    d = np.random.default_rng(1).uniform(0.1, 1.0, 70) if heteroscedastic else np.array([0.2])
    K = kernel(X, X)
    assert abs(likelihood(blocks(X, size, 70), K, Y, d) - log_density(K + d * np.eye(70), Y)) < 1e-8


@pytest.mark.parametrize(("size", "k"), [(1, 5), (6, 10), (6, 0)])
def test_it_is_the_product_of_conditionals_written_out(size: int, k: int) -> None:
    X, Y = data(t=1)
    G = kernel(X, X) + 0.2 * np.eye(70)
    parts = blocks(X, size, k)
    total = 0.0
    for part in parts:
        c, g = part.given, part.targets
        B = np.linalg.solve(G[np.ix_(c, c)], G[np.ix_(c, g)]) if len(c) else np.empty((0, len(g)))
        covariance = G[np.ix_(g, g)] - G[np.ix_(g, c)] @ B
        total += log_density(covariance, Y[g] - B.T @ Y[c])
    K = kernel(X, X)
    assert abs(likelihood(parts, K, Y, np.array([0.2])) - total) < 1e-9


@pytest.mark.parametrize(("size", "k"), [(1, 69), (5, 12), (70, 0)])
@pytest.mark.parametrize("keep", [False, True])
def test_the_gradient_is_that_of_finite_differences(size: int, k: int, keep: bool) -> None:
    X, Y = data(t=3)
    d = np.random.default_rng(1).uniform(0.1, 1.0, 70)
    combine = np.array([[1.0, 0.0], [0.0, 1.0], [-0.3, 0.6]])
    parts = blocks(X, size, k)
    step = 1e-5

    def value(shift: Array) -> float:
        K = kernel(X, X, SCALES * np.exp(shift[1:3]), 1.3 * np.exp(shift[0]))
        return likelihood(parts, K, Y @ combine, d * np.exp(shift[3]))

    moved = [kernel(X, X, SCALES * np.exp(s * e)) for e in np.eye(2) for s in (step, -step)]
    slopes = [(moved[0] - moved[1]) / (2 * step), (moved[2] - moved[3]) / (2 * step)]
    K = kernel(X, X)

    def pull(rows: Array, W: Array) -> Array:
        return np.array([np.vdot(W, one[np.ix_(rows, rows)]) for one in (K, *slopes)])

    def gram(rows: Array) -> Array:
        return K[np.ix_(rows, rows)]

    factors = conditionals(parts, gram, Y, d, keep=keep).factors
    assert (factors is not None) == keep
    theta, noise = conditional_gradient(parts, gram, pull, Y, combine, d, factors)
    for j, slope in enumerate([*theta, noise]):
        e = step * np.eye(4)[j]
        assert abs(slope - (value(e) - value(-e)) / (2 * step)) < 1e-5 * (1 + abs(slope))


def test_all_rows_near_give_the_exact_posterior() -> None:
    X, Y = data()
    new = np.random.default_rng(2).normal(size=(6, 2))
    K, cross = kernel(X, X), kernel(new, X)
    near = np.tile(np.arange(70), (6, 1))
    joint = lambda i, rows: (K[np.ix_(rows, rows)], cross[i, rows], 1.3 * np.exp(-np.sqrt(1e-3)))  # noqa: E731
    mean, variance = local_posterior(near, joint, Y, np.array([0.2]))
    G = K + 0.2 * np.eye(70)
    assert np.allclose(mean, cross @ np.linalg.solve(G, Y), atol=1e-8)
    exact = kernel(new, new).diagonal() - np.einsum("ij,ji->i", cross, np.linalg.solve(G, cross.T))
    assert np.allclose(variance, exact, atol=1e-8)


# -- the graph ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "size", "k"), [(500, 1, 10), (500, 16, 30), (37, 5, 100), (1, 4, 3), (600, 7, 0)])
def test_blocks_have_the_nearest_earlier_rows(n: int, size: int, k: int) -> None:
    X = np.random.default_rng(n).normal(size=(n, 3))
    parts = blocks(X, size, k)
    assert sorted(np.concatenate([part.targets for part in parts]).tolist()) == list(range(n))
    earlier: list[int] = []
    for part in parts:
        assert 1 <= len(part.targets) <= size
        distances = np.linalg.norm(X[earlier] - X[part.targets].mean(axis=0), axis=1)
        expected = np.sort(distances)[:k]
        found = np.linalg.norm(X[part.given] - X[part.targets].mean(axis=0), axis=1)
        assert set(part.given.tolist()) <= set(earlier)
        assert np.allclose(np.sort(found), expected)
        earlier += part.targets.tolist()


def test_leaves_of_repeated_rows_stay_small() -> None:
    cells = leaves(np.zeros((100, 2)), 8)
    assert max(len(cell) for cell in cells) <= 8
    assert sorted(np.concatenate(cells).tolist()) == list(range(100))


def test_farthest_first_is_what_it_says() -> None:
    points = np.random.default_rng(0).normal(size=(40, 2))
    order = farthest_first(points)
    assert sorted(order.tolist()) == list(range(40))
    for i in range(1, 40):
        distances = np.linalg.norm(points[:, None] - points[None, order[:i]], axis=2).min(axis=1)
        assert distances[order[i]] == distances.max()


def test_a_matrix_that_is_no_covariance_is_named() -> None:
    K = np.array([[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(NumericalError, match="not positive semi-definite"):
        conditionals([NearBlock(np.array([0]), np.array([1]))], lambda rows: K.copy(), np.ones((2, 1)), np.array([0.0]))
    same = conditionals(
        [NearBlock(np.array([0]), np.array([1]))], lambda rows: np.ones((2, 2)), np.ones((2, 1)), np.array([0.0])
    )
    assert 0 < same.jitter < 1e-7, "equal rows without noise take jitter, and say so"


def test_bad_sizes_are_refused() -> None:
    with pytest.raises(InputError, match="at least 1 row and 0 neighbors; got 0 and 3"):
        blocks(np.zeros((3, 1)), 0, 3)
    assert NearBlock(np.array([1]), np.array([2])).rows.tolist() == [1, 2]
