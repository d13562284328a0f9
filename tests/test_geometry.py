"""Geometry from kernel values against geometry with explicit features."""

import numpy as np
import pytest

from mercer import Function, Gaussian, Linear, Polynomial, Spectrum, geometry
from mercer.errors import InputError

KERNELS = [Linear(), Polynomial(degree=3, offset=0.5), Polynomial(degree=2, offset=0.0) + 2.0 * Linear()]


@pytest.fixture(params=KERNELS, ids=str)
def case(request: pytest.FixtureRequest, rng: np.random.Generator) -> tuple:
    k = request.param
    X, Z = rng.normal(size=(30, 4)), rng.normal(size=(7, 4))
    return k, X, Z, k.feature_map(X), k.feature_map(Z), rng


def test_norms_and_distances_of_combinations(case: tuple) -> None:
    k, X, _, P, _, rng = case
    a, b = rng.normal(size=(2, 30))
    for first in ((k(X),), (k, X)):
        np.testing.assert_allclose(geometry.norm(*first, a), np.linalg.norm(P.T @ a))
        np.testing.assert_allclose(geometry.distance(*first, a, b), np.linalg.norm(P.T @ (a - b)))
        np.testing.assert_allclose(geometry.mean_norm(*first), np.linalg.norm(P.mean(axis=0)))
        np.testing.assert_allclose(geometry.spread(*first), np.mean(np.sum((P - P.mean(axis=0)) ** 2, axis=1)))
        np.testing.assert_allclose(geometry.projection(*first, a), P @ (P.T @ a) / np.linalg.norm(P.T @ a))


def test_distances_between_points(case: tuple) -> None:
    k, X, Z, P, Q, _ = case
    wanted = np.linalg.norm(P[:, None] - Q[None], axis=2)
    np.testing.assert_allclose(geometry.distances(k, X, Z), wanted, rtol=1e-6)
    own = geometry.distances(k, X)
    np.testing.assert_allclose(own, np.linalg.norm(P[:, None] - P[None], axis=2), atol=1e-6)
    np.testing.assert_allclose(geometry.distances(k(X)), own, atol=1e-6)
    assert np.all(np.diagonal(own) == 0)


def test_normalizing_and_centering(case: tuple) -> None:
    k, X, Z, P, Q, _ = case
    unit, mean = P / np.linalg.norm(P, axis=1, keepdims=True), P.mean(axis=0)
    for first in ((k(X),), (k, X)):
        np.testing.assert_allclose(geometry.normalize(*first), unit @ unit.T, atol=1e-12)
        np.testing.assert_allclose(geometry.center(*first), (P - mean) @ (P - mean).T, atol=1e-9)
    new = (Q - mean) @ (P - mean).T
    np.testing.assert_allclose(geometry.center(k, X, Z), new, atol=1e-9)
    np.testing.assert_allclose(geometry.center(k(X), k(Z, X)), new, atol=1e-9)
    np.testing.assert_allclose(geometry.center(k, X), k.centered(X)(X), atol=1e-9)


def test_projection_of_new_points(case: tuple) -> None:
    k, X, Z, P, Q, rng = case
    a = rng.normal(size=30)
    w = P.T @ a
    np.testing.assert_allclose(geometry.projection(k, X, a, Z), Q @ w / np.linalg.norm(w))
    np.testing.assert_allclose(geometry.projection(k(X), a, k(Z, X)), Q @ w / np.linalg.norm(w))


def test_centering_gives_the_smallest_trace_of_all_origins(rng: np.random.Generator) -> None:
    X = rng.normal(size=(25, 3))
    k = Gaussian(1.0)
    K = k(X)
    best = np.trace(geometry.center(K))
    np.testing.assert_allclose(best, 25 * geometry.spread(K))
    for _ in range(50):  # any other origin sum_j b_j phi(x_j)
        b = rng.dirichlet(np.ones(25))
        assert np.trace(K) - 2 * K.sum(axis=0) @ b + 25 * b @ K @ b >= best - 1e-12


def test_strings_have_lengths_too() -> None:
    np.testing.assert_allclose(geometry.norm(Spectrum(2), ["abab", "ba"], [1.0, -1.0]), 2.0)
    np.testing.assert_allclose(geometry.distances("Spectrum(p=2)", ["abab", "ba"]), [[0, 2], [2, 0]])


def test_zero_rows_are_zero_after_normalizing() -> None:
    assert geometry.normalize(np.diag([4.0, 0.0])).tolist() == [[1.0, 0.0], [0.0, 0.0]]


def test_what_is_not_psd_has_no_lengths() -> None:
    K = np.array([[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(InputError, match="not positive semi-definite"):
        geometry.norm(K, [1.0, -1.0])
    with pytest.raises(InputError, match=r"pair \(0, 1\) is imaginary.*repair"):
        geometry.distances(K)
    with pytest.raises(InputError, match="not positive semi-definite"):
        geometry.spread(Function(lambda A, B: -A @ B.T), np.ones((2, 1)))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda K: geometry.norm(K, [1.0]), "one per point"),
        (lambda K: geometry.norm(K), "must follow"),
        (lambda K: geometry.distance(K, [1.0, 0.0]), "must follow"),
        (lambda K: geometry.norm(Linear()), "needs the collection"),
        (lambda K: geometry.norm(np.ones((2, 3)), [1.0, 1.0]), "square"),
        (lambda K: geometry.spread(np.array([[1.0, np.nan], [np.nan, 1.0]])), "NaN"),
        (lambda K: geometry.spread(np.array([[1.0, 2.0], [0.0, 1.0]])), "symmetric"),
        (lambda K: geometry.projection(K, [0.0, 0.0]), "length 0"),
        (lambda K: geometry.center(K, np.ones((1, 3))), "against all 2 training points"),
        (lambda K: geometry.normalize(-K), "not a Gram matrix"),
    ],
)
def test_bad_input_names_the_rule(call: object, words: str) -> None:
    with pytest.raises(InputError, match=words):
        call(np.eye(2))
