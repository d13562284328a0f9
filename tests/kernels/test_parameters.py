"""Parameters by path and as a vector; kernels as values: equality, hash, copies, scikit-learn's protocol."""

from __future__ import annotations

import copy
import dataclasses
import io
import pickle
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.base import clone

from mercer import Bilinear, Constant, Function, Gaussian, Linear, Matern, Polynomial, RationalQuadratic
from mercer.errors import InputError

k = 2.0 * Gaussian(1.5) + Matern(2.5, length_scale=(1.0, 3.0)) * Polynomial(3, offset=0.5).normalized()


def test_paths_number_the_children_of_wrappers_too() -> None:
    params = k.get_params()
    assert params["0__scale"] == 2.0
    assert params["0__0__length_scale"] == 1.5
    assert params["0__0"] == Gaussian(1.5)
    assert params["1__0__length_scale"] == (1.0, 3.0)
    assert params["1__1__0__degree"] == 3
    assert k.get_params(deep=False) == {}
    assert Gaussian(2.0).get_params(deep=False) == {"length_scale": 2.0}


def test_setting_returns_a_new_kernel() -> None:
    changed = k.set_params(**{"0__0__length_scale": 9.0, "1__1__0__degree": 2})
    assert changed.get_params()["0__0__length_scale"] == 9.0
    assert changed.get_params()["1__1__0__degree"] == 2
    assert k.get_params()["0__0__length_scale"] == 1.5
    assert (Gaussian() + Linear()).set_params(**{"0__length_scale": 3.0}) == Gaussian(3.0) + Linear()


def test_a_child_and_what_lies_inside_it_at_once() -> None:
    changed = (Gaussian() + Linear()).set_params(**{"1__offset": 2.0, "1": Polynomial(3)})
    assert changed == Gaussian() + Polynomial(3, offset=2.0)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"length_scale": 1.0}, "no parameter 'length_scale'; it has 0, 0__scale"),
        ({"7__scale": 1.0}, "no parameter '7__scale'"),
        ({"0__0__gamma": 1.0}, "no parameter 'gamma'"),
        ({"0": 3.0}, "parameter '0' is a kernel; got 3.0"),
        ({"0__scale": -1.0}, "closure rules"),
        ({"0__scale": "a"}, "scale must be a finite number >= 0"),
        ({"0__0__length_scale": 0.0}, "length_scale must be"),
    ],
)
def test_parameters_that_are_refused(params: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        k.set_params(**params)


def test_theta_is_one_walk_over_the_tree_in_logarithms() -> None:
    assert k.theta_names == [
        "0__scale", "0__0__length_scale", "1__0__length_scale[0]", "1__0__length_scale[1]", "1__1__0__offset",
    ]  # fmt: skip
    np.testing.assert_allclose(k.theta, np.log([2.0, 1.5, 1.0, 3.0, 0.5]), rtol=1e-15)
    moved = k.with_theta(k.theta + 0.5)
    np.testing.assert_allclose(moved.theta, k.theta + 0.5, rtol=0, atol=1e-15)
    assert isinstance(moved.get_params()["1__0__length_scale"], tuple)


def test_what_is_not_free_is_not_in_theta() -> None:
    zeros = [Polynomial(2, offset=0.0), Constant(0.0), 0.0 * Linear()]
    for kernel in (Linear(), Bilinear(np.eye(2)), *zeros, Gaussian("median")):
        assert kernel.theta.shape == (0,)
        assert kernel.with_theta([]) == kernel
    assert RationalQuadratic(1.0, shape=2.0).theta_names == ["length_scale", "shape"]


def test_theta_of_the_wrong_length_is_refused() -> None:
    with pytest.raises(InputError, match=r"has 5 entries; got shape \(2,\)"):
        k.with_theta([1.0, 2.0])
    with pytest.raises(InputError, match="length_scale must be"):
        Gaussian().with_theta([np.inf])


def test_pullback_wants_weights_of_the_shape_of_the_matrix() -> None:
    X = np.ones((3, 2))
    with pytest.raises(InputError, match=r"weights has shape \(2, 2\); it must be that of k\(X, Z\), \(3, 3\)"):
        Gaussian().pullback(X, weights=np.ones((2, 2)))
    assert Linear().pullback(X, weights=np.ones((3, 3))).shape == (0,)


def test_gradients_over_several_tiles_are_the_sum_of_their_tiles() -> None:
    X = np.random.default_rng(0).normal(size=(600, 2))
    W = np.random.default_rng(1).normal(size=(600, 600))
    kernel = 2.0 * Gaussian(1.5) * Matern(2.5, length_scale=(1.0, 3.0))
    cuts = [(0, 200), (200, 600)]
    parts = [kernel.pullback(X[a:b], X[c:d], weights=W[a:b, c:d]) for a, b in cuts for c, d in cuts]
    np.testing.assert_allclose(kernel.pullback(X, weights=W), np.sum(parts, axis=0), rtol=1e-9, atol=1e-9)


# -- values ----------------------------------------------------------------------------------------------------------------


def test_equal_by_content() -> None:
    assert Gaussian(1) == Gaussian(1.0) == Gaussian(np.float64(1.0))
    assert hash(Gaussian(1)) == hash(Gaussian(np.float32(1.0)))
    assert Gaussian([1, 2]) == Gaussian((1.0, 2.0)) == Gaussian(np.array([1.0, 2.0]))
    assert Bilinear([[0.0]]) == Bilinear([[-0.0]])
    assert hash(Bilinear([[0.0]])) == hash(Bilinear([[-0.0]]))
    assert Gaussian(1.0) != Gaussian((1.0,))
    assert Gaussian(1.0) != Matern(1.0)  # type: ignore[comparison-overlap]
    assert Gaussian() + Linear() != Linear() + Gaussian()
    assert len({Gaussian(1.0), Gaussian(1), Gaussian(2.0)}) == 2


def test_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Gaussian().length_scale = 2.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        k.terms = ()  # type: ignore[attr-defined]


def test_copies_of_every_kind_are_equal() -> None:
    buffer = io.BytesIO()
    joblib.dump(k, buffer)
    buffer.seek(0)
    for again in (copy.copy(k), copy.deepcopy(k), pickle.loads(pickle.dumps(k)), joblib.load(buffer)):
        assert again == k
        assert hash(again) == hash(k)
        assert repr(again) == repr(k)


def test_clone_returns_the_kernel_itself() -> None:
    assert clone(k) is k


def test_a_kernel_works_inside_a_scikit_learn_estimator() -> None:
    """A callable kernel is what SVC of scikit-learn takes; clone and get_params of the estimator reach into it."""
    from sklearn.svm import SVC

    X = np.random.default_rng(0).normal(size=(40, 2))
    y = (X[:, 0] > 0).astype(int)
    model = clone(SVC(kernel=Gaussian(1.0) + Linear())).fit(X, y)
    assert model.score(X, y) > 0.9


def test_a_symmetric_weight_matrix_may_come_as_tiles(rng: np.random.Generator) -> None:
    X = rng.normal(size=(300, 3))  # more than one tile
    W = rng.normal(size=(300, 300))
    W = W + W.T
    asked = []

    def tile(rows: slice, cols: slice) -> np.ndarray:
        asked.append((rows.start, cols.start))
        return W[rows, cols]

    for kernel in (2.0 * Gaussian([1.0, 2.0, 3.0]) + Linear(), Function(lambda A, B: np.tanh(A @ B.T)) * Gaussian(2.0)):
        asked.clear()
        np.testing.assert_allclose(kernel.pullback(X, weights=tile), kernel.pullback(X, weights=W), rtol=1e-10)
        assert all(i <= j for i, j in asked)  # also where the kernel promises no symmetry and all tiles are made


def test_known_values_of_the_kernel_are_believed(rng: np.random.Generator) -> None:
    X, W = rng.normal(size=(300, 3)), rng.normal(size=(300, 300))
    W = W + W.T
    for kernel in (
        2.0 * Gaussian([1.0, 2.0, 3.0]),
        2.0 * Matern(1.5, length_scale=0.7),
        Gaussian(1.0) + Linear() * Gaussian(2.0),
    ):
        K = kernel(X)
        known = kernel.pullback(X, weights=lambda r, c: W[r, c], values=lambda r, c, K=K: K[r, c])
        np.testing.assert_allclose(known, kernel.pullback(X, weights=W), rtol=1e-9, atol=1e-9)
    kernel = 2.0 * Gaussian([1.0, 2.0, 3.0])
    doubled = kernel.pullback(X, weights=lambda r, c: W[r, c], values=lambda r, c: 2.0 * kernel(X)[r, c])
    np.testing.assert_allclose(doubled, 2.0 * kernel.pullback(X, weights=W), rtol=1e-9)  # nothing was computed again


def test_an_overall_scale_is_found_where_there_is_one(rng: np.random.Generator) -> None:
    X = rng.normal(size=(5, 2))
    having = (2.0 * Gaussian(), Constant(3.0), 2.0 * Gaussian() + Constant(1.0), Gaussian() * (2.0 * Linear()))
    for kernel in having:
        louder = kernel.amplified(3.0)
        assert louder is not None
        np.testing.assert_allclose(louder(X), 3.0 * kernel(X), rtol=1e-12)
    lacking = (Gaussian(), 2.0 * Gaussian() + Linear(), (2.0 * Gaussian()).normalized(), 0.0 * Gaussian(), Constant(0.0))
    assert all(kernel.amplified(3.0) is None for kernel in lacking)


@pytest.mark.parametrize("shape", [5e-324, 1e-310, 1e-200, 1e-40, 1e-18])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_rational_quadratic_of_any_shape_is_a_number(shape: float, dtype: type) -> None:
    """(1 + t / shape)^(-shape) tends to 1 for shape -> 0; on the diagonal it is 1."""
    X = np.array([[0.0], [1e-3], [2.0]], dtype=dtype)
    kernel = RationalQuadratic(1.0, shape=shape)
    np.testing.assert_allclose(kernel(X), np.ones((3, 3)), atol=1e-6 if dtype == np.float32 else 1e-15)
    assert (np.diagonal(kernel(X)) == 1.0).all()
    assert np.isfinite(kernel.pullback(X.astype(float), weights=np.ones((3, 3)))).all()
