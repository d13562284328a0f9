"""Functions of the space of a kernel: reproducing property, representer theorem, eigenfunctions."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.polynomial.hermite import hermval

from mercer import Gaussian, KernelRidge, Linear, Matern, Spectrum, Tanh, geometry
from mercer.errors import InputError

X = np.random.default_rng(0).normal(size=(60, 2))
Y = np.sin(X[:, 0]) * X[:, 1]


def test_inner_product_with_k_x_is_the_value_at_x() -> None:
    k, Z = Matern(2.5), X[:5] + 0.3
    f = KernelRidge(k, alpha=0.1).fit(X, Y)
    values = [geometry.inner(f, geometry.representer(k, Z[[i]])) for i in range(5)]
    np.testing.assert_allclose(values, f.predict(Z), rtol=1e-9)
    same = geometry.representer(k, X, f.dual_coef_)
    np.testing.assert_allclose(same(Z), f.predict(Z), rtol=1e-9)
    assert same.norm == pytest.approx(f.rkhs_norm_)


def test_representers_of_strings() -> None:
    k = Spectrum(2)
    f = geometry.representer(k, ["banana", "bandana"], [1.0, -1.0])
    assert f(["an"]).tolist() == [geometry.inner(f, geometry.representer(k, ["an"]))] == [0.0]


def test_an_orthogonal_part_adds_norm_and_changes_no_training_value() -> None:
    k, z = Gaussian(1.0), np.array([[0.4, -0.2]])
    f = KernelRidge(k, alpha=0.1).fit(X, Y)
    inside = np.linalg.solve(k(X), k(X, z)[:, 0])  # k(z, .) minus its projection on the span of the k(x_i, .)
    both = np.vstack([X, z])
    g = geometry.representer(k, both, np.append(f.dual_coef_ - inside, 1.0))
    np.testing.assert_allclose(g(X), f.predict(X), atol=1e-7)
    assert g.norm > f.rkhs_norm_
    part = geometry.representer(k, both, np.append(-inside, 1.0))
    assert g.norm**2 == pytest.approx(f.rkhs_norm_**2 + part.norm**2, rel=1e-6)


def test_the_inner_product_by_eigenfunctions() -> None:
    k = Gaussian(2.0)
    f, g = KernelRidge(k, alpha=0.3).fit(X, Y), KernelRidge(k, alpha=1.0).fit(X, X[:, 0])
    e = geometry.eigenfunctions(k, X)
    a, b = (e(X).T @ model.predict(X) / len(X) for model in (f, g))
    assert float(np.sum(a * b / e.values)) == pytest.approx(geometry.inner(f, g), rel=1e-4)
    np.testing.assert_allclose(e(X[:7] + 0.1) @ a, f.predict(X[:7] + 0.1), atol=1e-5)


def test_extension_agrees_with_an_eigenvector_at_the_rows() -> None:
    e = geometry.eigenfunctions(Gaussian(1.0), X, 6)
    s, U = np.linalg.eigh(Gaussian(1.0)(X))
    np.testing.assert_allclose(e.values, s[::-1][:6] / 60)
    np.testing.assert_allclose(np.abs(e(X)), np.sqrt(60) * np.abs(U[:, ::-1][:, :6]), atol=1e-8)


@pytest.mark.parametrize(("length_scale", "deviation"), [(1.0, 1.0), (0.5, 2.0), (3.0, 0.7)])
def test_hermite_functions_are_orthonormal_eigenfunctions(length_scale: float, deviation: float) -> None:
    e = geometry.gaussian_eigenfunctions(length_scale, deviation, 8)
    x = deviation * np.linspace(-14, 14, 4001)[:, None]
    p = np.exp(-0.5 * np.square(x[:, 0] / deviation))
    p /= p.sum()
    values = e(x)
    np.testing.assert_allclose(values.T @ (p[:, None] * values), np.eye(8), atol=1e-7)
    z = deviation * np.linspace(-2, 2, 9)[:, None]
    applied = Gaussian(length_scale)(z, x) @ (p[:, None] * values)
    np.testing.assert_allclose(applied, e(z) * e.values, atol=1e-7)


def test_hermite_functions_against_numpys_polynomials() -> None:
    e, x = geometry.gaussian_eigenfunctions(1.0, 1.0, 6), np.linspace(-2, 2, 11)
    a, b = 0.25, 0.5
    c = np.sqrt(a * a + 2 * a * b)
    for order in range(6):
        factor = (c / a) ** 0.25 / np.sqrt(2.0**order * np.prod(np.arange(1, order + 1)))
        wanted = factor * np.exp(-(c - a) * x**2) * hermval(np.sqrt(2 * c) * x, np.eye(6)[order])
        np.testing.assert_allclose(e(x[:, None])[:, order], wanted, atol=1e-12)


@pytest.mark.slow
def test_a_sample_of_the_normal_law_comes_close_to_the_hermite_functions() -> None:
    sample = np.random.default_rng(1).normal(size=(2000, 1))
    drawn, exact = geometry.eigenfunctions(Gaussian(1.0), sample, 4), geometry.gaussian_eigenfunctions(1.0, 1.0, 4)
    np.testing.assert_allclose(drawn.values, exact.values, rtol=0.1)
    x = np.linspace(-1.5, 1.5, 7)[:, None]
    np.testing.assert_allclose(np.abs(drawn(x)), np.abs(exact(x)), atol=0.15)


def test_refusals() -> None:
    with pytest.raises(InputError, match="not a kernel on these rows"):
        geometry.eigenfunctions(Tanh(1.0, offset=-1.0), X)
    with pytest.raises(InputError, match="whole number >= 1"):
        geometry.eigenfunctions(Linear(), X, 0)
    with pytest.raises(InputError, match="deviation must be"):
        geometry.gaussian_eigenfunctions(1.0, 0.0, 3)
    with pytest.raises(InputError, match="one column"):
        geometry.gaussian_eigenfunctions(1.0, 1.0, 3)(X)
    with pytest.raises(InputError, match="give a coefficient for each of the"):
        geometry.representer(Linear(), X)
    with pytest.raises(InputError, match="one per object"):
        geometry.representer(Linear(), X, [1.0])


def test_the_certificate_of_a_square_prints_the_sum_of_squares() -> None:
    said = " ".join(str((Linear() ** 2).certificate()).split())
    assert "c'Kc = sum_lm (sum_i c_i phi_l(x_i) phi_m(x_i))^2 >= 0" in said
    c, P = np.random.default_rng(2).normal(size=60), X
    squares = np.square(np.einsum("i,il,im->lm", c, P, P)).sum()
    assert squares == pytest.approx(c @ (Linear() ** 2)(P) @ c)
