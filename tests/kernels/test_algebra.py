"""Sums, products and scalings: how trees are built, printed, priced in features, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import Constant, Gaussian, Laplacian, Linear, Polynomial, Precomputed, Spectrum
from mercer.errors import CapabilityError, InputError
from mercer.kernels.algebra import Product, Scaled, Sum

X = np.random.default_rng(0).normal(size=(12, 3))
g, h, k = Gaussian(1.0), Laplacian(2.0), Linear()


def test_sums_and_products_flatten_by_exact_type() -> None:
    assert ((g + h) + k).children == (g + (h + k)).children == (g, h, k)
    assert ((g * h) * k).children == (g * (h * k)).children == (g, h, k)
    assert (g * h + k).children == (g * h, k)
    assert ((g + h) * k).children == (g + h, k)
    assert (g + 2.0 * (h + k)).children == (g, 2.0 * (h + k))


def test_the_tree_stays_as_written() -> None:
    """No simplification: paths of parameters stay predictable."""
    assert (g + g).children == (g, g)
    assert 2.0 * (3.0 * g) == Scaled(2.0, inner=Scaled(3.0, inner=g))
    assert 1.0 * g != g


def test_values() -> None:
    assert np.allclose((g + h + 2.0)(X), g(X) + h(X) + 2.0, rtol=0, atol=1e-15)
    assert np.allclose((g * h * k)(X), g(X) * h(X) * k(X), rtol=0, atol=1e-14)
    assert np.allclose((0.5 * g)(X), 0.5 * g(X), rtol=0, atol=0)
    assert ((0.0 * g)(X) == 0.0).all()


def test_features_side_by_side_and_multiplied_out() -> None:
    poly = Polynomial(2)
    a, b = poly.feature_map(X), k.feature_map(X)
    assert np.array_equal((poly + k).feature_map(X), np.hstack([a, b]))
    both = (poly * k).feature_map(X)
    assert both.shape == (12, a.shape[1] * 3)
    assert np.allclose(both[0], np.kron(a[0], b[0]))
    assert np.allclose((4.0 * k).feature_map(X), 2.0 * X)


def test_an_infinite_term_is_named_with_what_to_do() -> None:
    with pytest.raises(CapabilityError) as caught:
        (k + 2.0 * g * Polynomial(2)).feature_map(X)
    message = str(caught.value)
    assert message.startswith("Gaussian(length_scale=1.0) has no finite feature map")
    assert "a term of Linear() + 2.0 * Gaussian(length_scale=1.0) * Polynomial" in message
    assert "RandomFourierFeatures" in message
    assert (k + g).n_features(X) is None


def test_two_kernels_at_least() -> None:
    with pytest.raises(InputError, match="at least two"):
        Sum((g,))
    with pytest.raises(InputError, match="takes kernels"):
        Product((g, 2.0))


def test_precomputed_combines_with_scalars_and_its_kind_only() -> None:
    K = np.array([[2.0, 1.0], [1.0, 3.0]])
    assert np.array_equal((2.0 * Precomputed() + 1.0)(K), 2.0 * K + 1.0)
    assert np.array_equal((Precomputed() * Precomputed() * Constant(3.0))(K), 3.0 * K * K)
    for other in (k, g, Spectrum(), Constant(1.0) * k):
        with pytest.raises(InputError, match="Precomputed"):
            Precomputed() + other


def test_mixed_precision_stays_single() -> None:
    single = X.astype(np.float32)
    for kernel in (g + 1.0, 1.0 + g, 2.0 * g * h, Constant(2.0) * k):
        assert kernel(single).dtype == np.float32
    assert (g + h)(single, X).dtype == np.float64
    assert Constant(1.0)(single).dtype == np.float64
