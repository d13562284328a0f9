"""The twins themselves, against numbers worked out by hand and against scikit-learn and scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import kv
from sklearn.gaussian_process import kernels as gp
from sklearn.metrics import pairwise

from mercer import Graph
from mercer.testing import naive

X, Z = [1.0, -2.0, 0.5], [0.25, 1.0, 2.0]
A, B = np.array([X]), np.array([Z])


def test_inner_products_by_hand() -> None:
    assert naive.linear(X, Z) == 0.25 - 2.0 + 1.0
    assert naive.bilinear(X[:2], Z[:2], [[1.0, 2.0], [3.0, 4.0]]) == 1 * 0.25 + 2 * 1.0 - 2 * (3 * 0.25 + 4 * 1.0)
    assert naive.polynomial(X, Z, 3, 2.0) == (-0.75 + 2.0) ** 3
    assert naive.tanh(X, Z, 2.0, 1.0) == math.tanh(-0.5)
    assert naive.constant("a", None, 2.5) == 2.5


@pytest.mark.parametrize(
    ("value", "peer"),
    [
        (naive.gaussian(X, Z, 1.3), gp.RBF(1.3)),
        (naive.gaussian(X, Z, [1.0, 2.0, 0.5]), gp.RBF([1.0, 2.0, 0.5])),
        (naive.exponential(X, Z, 1.3), gp.Matern(1.3, nu=0.5)),
        (naive.rational_quadratic(X, Z, 1.3, 0.8), gp.RationalQuadratic(1.3, 0.8)),
        *[(naive.matern(X, Z, nu, 1.3), gp.Matern(1.3, nu=nu)) for nu in (0.5, 0.7, 1.0, 1.5, 2.5, 3.5, 4.2)],
    ],
)
def test_stationary_twins_are_those_of_scikit_learn(value: float, peer: gp.Kernel) -> None:
    assert value == pytest.approx(peer(A, B)[0, 0], rel=1e-13)


def test_laplacian_and_periodic() -> None:
    assert naive.laplacian(X, Z, 2.0) == pytest.approx(pairwise.laplacian_kernel(A, B, gamma=0.5)[0, 0], rel=1e-14)
    assert naive.periodic([0.3], [1.7], 0.7, 2.5) == pytest.approx(gp.ExpSineSquared(0.7, 2.5)([[0.3]], [[1.7]])[0, 0])
    assert naive.periodic([0.3, 5.0], [2.8, 5.0], 0.7, 2.5) == pytest.approx(1.0)


@pytest.mark.parametrize("nu", [0.3, 0.7, 1.0, 2.2, 4.2])
@pytest.mark.parametrize("t", [1e-8, 1e-3, 0.5, 3.0, 40.0])
def test_the_bessel_function_has_all_its_digits(nu: float, t: float) -> None:
    assert naive._bessel_k(nu, t) == pytest.approx(float(kv(nu, t)), rel=1e-13)


def test_matern_is_one_at_distance_zero() -> None:
    assert naive.matern(X, X, 0.7) == 1.0


def test_strings_by_hand() -> None:
    assert naive.spectrum("abab", "ba", 2) == 1
    assert naive.spectrum("abab", "abab", 2) == 5
    assert naive.spectrum("abab", "abab", 2, presence=True) == 2
    assert naive.spectrum("a", "abc", 2) == 0
    assert naive.spectrum(["to", "be"], ["be", "to", "be"], 2) == 1


def test_graphs_by_hand() -> None:
    water, methane = Graph(3, node_labels="OHH"), Graph(5, node_labels="CHHHH")
    assert naive.vertex_histogram(water, methane) == 8
    assert naive.vertex_histogram(Graph(2), Graph(3)) == 6


def test_closure_rules_by_hand() -> None:
    k = naive.linear  # -0.75 between X and Z, 5.25 at X
    assert naive.added(k, k)(X, Z) == -1.5
    assert naive.multiplied(k, k, k)(X, Z) == -(0.75**3)
    assert naive.scaled(2.0, k)(X, Z) == -1.5
    assert naive.powered(2, k)(X, Z) == 0.5625
    assert naive.powered(0, k)(X, Z) == 1.0
    assert naive.polynomial_of([1.0, 2.0, 4.0], k)(X, Z) == 1.0 - 1.5 + 4 * 0.5625
    assert naive.exponential_of(k)(X, Z) == math.exp(-0.75)
    assert naive.mapped(lambda x: x[:1], k)(X, Z) == 0.25
    assert naive.weighted(lambda x: x[0], k)(X, Z) == 1.0 * -0.75 * 0.25
    assert naive.normalized(k)(X, Z) == pytest.approx(-0.75 / math.sqrt(5.25 * 5.0625))
    assert naive.normalized(k)(X, [0.0, 0.0, 0.0]) == 0.0
    assert naive.on([2, 0], k)(X, Z) == 1.25
    mean = [(a + b) / 2 for a, b in zip(X, Z, strict=True)]
    shifted = naive.linear([a - c for a, c in zip(X, mean, strict=True)], [b - c for b, c in zip(Z, mean, strict=True)])
    assert naive.centered([X, Z], k)(X, Z) == pytest.approx(shifted)
