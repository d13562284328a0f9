"""Distances of data far from 0, inner products, functions of the user's own."""

import warnings

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import mercer
from mercer import Bilinear, Function, Gaussian, KernelRidge, Linear, NearestMean, NoveltyBall, Polynomial, geometry
from mercer.errors import InputError
from mercer.grams.differences import PrecisionWarning

X = np.random.default_rng(0).normal(size=(40, 3))
B = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 1.0]])
SHIFTED = X + 1e8
EXACT = SHIFTED - 1e8  # what is left of X after it was written down that far from 0


@pytest.mark.parametrize(
    "kernel",
    [Linear(), 2.0 * Linear() + Gaussian(1.0), Bilinear(B), Gaussian(2.0), Linear() + 3.0, Linear().on(0, 1, 2)],
    ids=str,
)
def test_distances_of_data_far_from_zero(kernel):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        far, near = geometry.distances(kernel, SHIFTED), geometry.distances(kernel, EXACT)
        np.testing.assert_allclose(far, near, atol=2e-8, rtol=1e-7)
        np.testing.assert_allclose(geometry.distances(kernel, SHIFTED, SHIFTED[:5]), near[:, :5], atol=1e-7, rtol=1e-7)
    assert geometry.spread(kernel, SHIFTED) == pytest.approx(geometry.spread(kernel, EXACT), rel=1e-7)
    a, b = np.eye(40)[0], np.eye(40)[1]
    assert geometry.distance(kernel, SHIFTED, a, b) == pytest.approx(near[0, 1], rel=1e-7)


def test_linear_distances_are_euclidean_to_the_last_digit():
    np.testing.assert_allclose(geometry.distances(Linear(), SHIFTED), cdist(SHIFTED, SHIFTED), rtol=1e-12, atol=1e-12)


def test_where_it_cannot_be_helped_it_is_said():
    with pytest.warns(PrecisionWarning, match="cancels for Polynomial"):
        geometry.distances(Polynomial(2), SHIFTED)
    with pytest.warns(PrecisionWarning, match="Subtract the column means"):
        NoveltyBall(Linear()).fit(SHIFTED)
    with pytest.warns(PrecisionWarning, match="NearestMean"):
        NearestMean(Linear()).fit(SHIFTED, X[:, 0] > 0)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2), Gaussian(1.0), Linear().normalized()], ids=str)
def test_no_alarm_on_ordinary_data(kernel):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        geometry.distances(kernel, X)
        NoveltyBall(kernel).fit(X)
        NearestMean(kernel).fit(X, X[:, 0] > 0)
        mercer.KernelKNeighborsClassifier(kernel, n_neighbors=3).fit(X, X[:, 0] > 0).predict(X)


@pytest.mark.parametrize("offset", [0.0, 1e4, 1e8])
def test_nearest_neighbors_far_from_zero(offset):
    from sklearn.neighbors import NearestNeighbors

    new = np.random.default_rng(1).normal(size=(30, 3)) + offset
    ours = mercer.KernelKNeighborsRegressor(Linear(), n_neighbors=3).fit(X + offset, X[:, 0])
    distances, places = ours.kneighbors(new)
    theirs = NearestNeighbors(n_neighbors=3, algorithm="brute").fit(X + offset - offset).kneighbors(new - offset)
    assert np.array_equal(places, theirs[1])
    np.testing.assert_allclose(distances, theirs[0], rtol=1e-6)


def test_inner_products():
    a, b = np.random.default_rng(2).normal(size=(2, 40))
    phi = Polynomial(2).feature_map(X)
    assert geometry.inner(Polynomial(2), X, a, b) == pytest.approx((a @ phi) @ (b @ phi))
    assert geometry.inner(Polynomial(2)(X), a, b) == pytest.approx((a @ phi) @ (b @ phi))
    assert geometry.inner(Linear(), X, a, a) == pytest.approx(geometry.norm(Linear(), X, a) ** 2)


def test_inner_product_of_fitted_functions():
    y, z = X[:, 0] ** 2, X[:, 1]
    f, g = KernelRidge(Polynomial(2), alpha=0.1).fit(X, y), KernelRidge(Polynomial(2), alpha=0.1).fit(X[:30], z[:30])
    w, v = (model.dual_coef_ @ Polynomial(2).feature_map(model.X_fit_) for model in (f, g))
    assert geometry.inner(f, g) == pytest.approx(w @ v)
    assert geometry.inner(f, f) == pytest.approx(f.rkhs_norm_**2)
    other = KernelRidge(Gaussian(1.0)).fit(X, y)
    with pytest.raises(InputError, match="different spaces"):
        geometry.inner(f, other)
    with pytest.raises(InputError, match="a second fitted model is needed"):
        geometry.inner(f, 3)
    with pytest.raises(InputError, match="must have one target"):
        geometry.inner(f, KernelRidge(Polynomial(2)).fit(X, np.c_[y, z]))


def product(A, Z):
    return A @ Z.T


def lopsided(A, Z):
    return A @ np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]) @ Z.T


def test_functions_after_a_look_at_their_symmetry():
    a = np.ones(40)
    assert geometry.norm(Function(product), X, a) == pytest.approx(geometry.norm(Linear(), X, a))
    np.testing.assert_allclose(geometry.distances(Function(product), X), geometry.distances(Linear(), X), atol=1e-6)
    for call in (lambda: geometry.norm(Function(lopsided), X, a), lambda: geometry.distances(Function(lopsided), X)):
        with pytest.raises(InputError, match="is not symmetric"):
            call()
