"""The Matern family: every nu against scikit-learn, the closed forms, extremes of nu and of the distance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.gaussian_process import kernels as gp

from mercer import Exponential, Gaussian, Matern
from mercer.errors import InputError
from mercer.testing import naive

NUS = [0.5, 0.7, 1.0, 1.5, 2.5, 3.5, 4.2]


@pytest.mark.usefixtures("both_loops")
@pytest.mark.parametrize("d", [1, 2, 5, 50])
@pytest.mark.parametrize("nu", NUS)
def test_values_are_those_of_scikit_learn(nu: float, d: int, hard_pairs: Callable[[int], Any]) -> None:
    X, Z = hard_pairs(d)
    scale = 1.3 * d**0.5
    kernel, peer = Matern(nu, length_scale=scale), gp.Matern(scale, nu=nu)
    assert np.abs(kernel(X) - peer(X)).max() < 1e-12
    assert np.abs(kernel(X, Z) - peer(X, Z)).max() < 1e-12


def test_one_half_is_the_exponential() -> None:
    X = np.random.default_rng(0).normal(size=(20, 4))
    assert np.abs(Matern(0.5, length_scale=1.7)(X) - Exponential(1.7)(X)).max() < 1e-15


@pytest.mark.parametrize("nu", [1.5, 2.5, 3.5])
def test_the_closed_forms_meet_the_general_one(nu: float) -> None:
    """Half-integer nu have polynomials; a nu next to them goes through Bessel functions."""
    X = np.random.default_rng(0).normal(size=(30, 3))
    near = Matern(nu * (1 + 1e-9), length_scale=1.2)(X)
    assert np.abs(near - Matern(nu, length_scale=1.2)(X)).max() < 1e-8


def test_large_nu_tends_to_the_gaussian() -> None:
    t = np.linspace(0.0, 3.0, 20)[:, None]
    errors = [np.abs(Matern(nu)(t) - Gaussian()(t)).max() for nu in (20.0, 80.0, 320.0)]
    assert errors[0] > 3 * errors[1] > 9 * errors[2] > 0  # the difference falls like 1/nu


@pytest.mark.parametrize("nu", [0.1, 0.7, 1.2, 30.0, 500.0])
@pytest.mark.parametrize("t", [0.0, 1e-300, 1e-30, 1e-12, 1e-3, 1.0, 1e2, 1e6])
def test_extremes_are_finite_and_between_zero_and_one(nu: float, t: float) -> None:
    value = Matern(nu)([[0.0]], [[t]])[0, 0]
    assert 0.0 <= value <= 1.0
    if t == 0.0 or (nu > 1 and t <= 1e-12):
        assert value == pytest.approx(1.0, abs=1e-10)
    if t >= 1e6:
        assert value < 1e-6


@pytest.mark.parametrize("nu", [0.0, -1.0, np.inf, np.nan, "a", True])
def test_nu_must_be_positive(nu: Any) -> None:
    with pytest.raises(InputError, match="nu must be a finite number > 0"):
        Matern(nu)


def test_nu_is_not_a_free_parameter() -> None:
    assert Matern(1.5, length_scale=2.0).theta_names == ["length_scale"]


@pytest.mark.parametrize("nu", [50.5, 80.5])
def test_large_nu_has_all_its_digits(nu: float) -> None:
    """From nu = 50 on an expansion takes over; the naive twin sums the closed form of half-integer nu."""
    for t in (1e-6, 0.1, 0.5, 1.0, 2.0, 5.0):
        assert Matern(nu)([[0.0]], [[t]])[0, 0] == pytest.approx(naive.matern([0.0], [t], nu), abs=1e-12)


@pytest.mark.parametrize("nu", [0.7, 1.2, 3.3, 30.0])
def test_far_beyond_the_length_scale_it_is_zero(nu):
    """The Bessel function has no value there; the series for small distances took its place, and said 1."""
    X = np.array([[0.0], [1e-3], [1.0], [1e6]])
    K = Matern(nu, length_scale=1e-13)(X)
    assert np.array_equal(K, np.eye(4))
