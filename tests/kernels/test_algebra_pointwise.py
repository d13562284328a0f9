"""Powers, polynomials and exponentials of a kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mercer import Gaussian, Linear, Polynomial, Spectrum
from mercer.errors import CapabilityError, ClosureError, InputError

X = np.random.default_rng(0).normal(size=(9, 3))
k = Linear()


@pytest.mark.parametrize("p", [0, 1, 2, 3, 7])
def test_powers(p: int) -> None:
    assert np.allclose((k**p)(X), (X @ X.T) ** p, rtol=1e-12)
    assert np.allclose((k**p).diag(X), (X * X).sum(axis=1) ** p, rtol=1e-12)
    phi = (k**p).feature_map(X)
    assert np.allclose(phi @ phi.T, (X @ X.T) ** p, rtol=1e-11, atol=1e-11)


def test_the_square_of_linear_is_the_square() -> None:
    assert np.array_equal((k**2).feature_map(X, combined=False), Polynomial(2, offset=0.0).feature_map(X, combined=False))
    assert (k**2).feature_map(X).shape[1] == 6


def test_polynomials() -> None:
    kernel = k.polynomial([0.5, 0.0, 2.0])
    assert np.allclose(kernel(X), 0.5 + 2.0 * (X @ X.T) ** 2, rtol=1e-13)
    phi = kernel.feature_map(X)
    assert phi.shape[1] == kernel.n_features(X) == 1 + 6
    assert np.allclose(phi @ phi.T, kernel(X), rtol=1e-12)
    assert (k.polynomial([0.0])(X) == 0.0).all()
    assert k.polynomial([0.0]).feature_map(X).shape == (9, 1)
    assert k.polynomial(np.array([1, 2])) == k.polynomial((1.0, 2.0))


def test_sparse_features_of_a_power_are_combined_too() -> None:
    kernel = Spectrum(1) ** 3
    texts = ["abc", "aab", "c", ""]
    phi = kernel.feature_map(texts)
    assert phi.shape[1] == kernel.n_features(texts) == 10
    assert np.allclose((phi @ phi.T).toarray(), kernel(texts))


def test_exponential() -> None:
    kernel = (0.1 * k).exp()
    assert np.allclose(kernel(X), np.exp(0.1 * X @ X.T), rtol=1e-14)
    with pytest.raises(CapabilityError, match=r"\.exp\(\) has no finite feature map"):
        kernel.feature_map(X)


def test_an_exponential_that_overflows_says_what_to_do() -> None:
    with pytest.raises(InputError, match=r"exp overflows.*scale the inner kernel down"):
        k.exp()(np.full((2, 2), 1e3))
    with pytest.raises(InputError, match="overflows float32"):
        k.exp()(np.full((2, 1), 10.0, dtype=np.float32))


@pytest.mark.parametrize("coefficients", [[1.0, -1.0], [-1e-9], (0.0, 2.0, -3.0)])
def test_a_negative_coefficient_is_refused_by_the_rule(coefficients: Any) -> None:
    with pytest.raises(ClosureError, match=r"coefficient c\d = .* is negative.*closure rules"):
        Gaussian().polynomial(coefficients)


@pytest.mark.parametrize("coefficients", [[], 5, "12", [np.nan], [np.inf], ["a"], None, [10**400]])
def test_coefficients_that_are_no_numbers(coefficients: Any) -> None:
    with pytest.raises(InputError, match="polynomial"):
        Gaussian().polynomial(coefficients)
