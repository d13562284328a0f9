"""The compiled exponential against NumPy's in long double."""

import numpy as np
import pytest

from mercer import Exponential, Gaussian, Laplacian, Matern
from mercer.numeric.compiling import LOADING
from mercer.numeric.points import PER_VALUE, exp_scaled


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("factor", [-1.0, -0.5, -1e-3])
def test_two_units_in_the_last_place(rng: np.random.Generator, dtype: type, factor: float) -> None:
    lowest = 86.0 if dtype is np.float32 else 700.0
    x = np.concatenate([[0.0, 1e-300, 1e-9], rng.random(3000) * lowest, rng.random(2000)]).astype(dtype)
    got = exp_scaled(x, factor, compiled=True)
    argument = (x * dtype(factor)).astype(np.longdouble)  # the product itself is rounded in both
    wanted = np.exp(argument)
    eps = np.finfo(dtype).eps
    # two units of its own, and what one rounding of the argument does to the value
    assert np.all(np.abs(got - wanted) <= (2 * eps + eps * np.abs(argument)) * wanted)
    assert got[0] == 1.0


def test_underflow_is_next_to_nothing() -> None:
    assert exp_scaled(np.array([1e4, 800.0, 709.0]), -1.0, compiled=True).max() < 1e-307
    assert exp_scaled(np.array([1e4, 100.0], np.float32), -1.0, compiled=True).max() < 1e-37


def test_it_may_write_onto_its_argument(rng: np.random.Generator) -> None:
    x = rng.random((7, 1000))
    wanted = np.exp(-2.0 * x)
    assert exp_scaled(x, -2.0, compiled=True, out=x) is x
    np.testing.assert_allclose(x, wanted, rtol=1e-15)


@pytest.mark.parametrize("kernel", [Gaussian(2.0), Exponential(2.0), Laplacian(4.0), Matern(1.5, length_scale=2.0)], ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_large_grams_equal_small_ones(rng: np.random.Generator, kernel: object, dtype: type) -> None:
    n = int((LOADING / PER_VALUE) ** 0.5) + 1
    X = rng.normal(size=(n, 5)).astype(dtype)
    rows = slice(n - 40, n)
    large, small = kernel(X)[rows], kernel(X[rows], X)
    # distances are rounded round different means, so a few eps of ||x||^2 / length_scale^2 come on top
    np.testing.assert_allclose(large, small, atol=30 * np.finfo(dtype).eps)
