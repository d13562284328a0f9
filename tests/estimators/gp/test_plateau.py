"""Length scales that a part of the rows sends to infinity come back when all rows are asked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mercer import Gaussian, GaussianProcessRegressor
from mercer.errors import NumericalError
from mercer.estimators.gp import search
from mercer.estimators.gp.problem import read_parameters
from mercer.linalg.bfgs import Ascent


def fitted(X: np.ndarray, y: np.ndarray) -> GaussianProcessRegressor:
    kernel = 1.0 * Gaussian((1.0,) * X.shape[1])
    model = GaussianProcessRegressor(kernel, mean="zero", normalize_y=False, priors=None, solver="exact", n_restarts=0)
    return model.fit(X, y)


@pytest.mark.slow
def test_a_climb_over_parts_ends_no_lower_than_one_on_all_rows(shared_data, monkeypatch):
    """On 400 rows of elevators a column seems silent that is worth five units of the likelihood on 1,000."""
    with np.load(shared_data / "reg_elevators.npz") as file:
        rows = np.random.default_rng(0).permutation(len(file["y"]))[:1000]
        X, y = file["X"][rows].astype(np.float64), file["y"][rows].astype(np.float64)
    X = X[:, X.std(axis=0) > 0][:, :8]
    X, y = (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()
    by_parts = fitted(X, y).log_marginal_likelihood_value_
    monkeypatch.setattr(search, "SUBSET", 10**9)
    assert by_parts > fitted(X, y).log_marginal_likelihood_value_ - 0.01


def test_only_length_scales_come_back_and_the_curvature_there_is_measured():
    X = np.random.default_rng(4).normal(size=(60, 4))
    given = read_parameters(2.0 * Gaussian((1.0,) * 4), X, 1.0, noise=None, fit=True, bounds=None, fixed=(), priors=None)
    assert given.widths.tolist() == [False, True, True, True, True, False]
    H = np.diag([2.0, 4.0, -3.0, 8.0, 6.0, 4.0]) + 0.1

    def parabola(v):
        return -0.5 * float(v @ H @ v), -H @ v

    ended = Ascent(np.zeros(6), 0.0, 0.0, True, 1, 1, "", np.eye(6))
    near = replace(ended, vector=given.typical + np.array([5.0, 0.5, 0.9, -6.0, 0.9, 4.0]))
    vector, curvature = search._brought_back(parabola, given, near)
    np.testing.assert_array_equal(vector, near.vector)
    np.testing.assert_array_equal(curvature, np.eye(6))
    far = replace(ended, vector=given.typical + np.array([5.0, 0.5, 6.0, -6.0, 0.9, 4.0]))
    vector, curvature = search._brought_back(parabola, given, far)
    np.testing.assert_allclose(vector - given.typical, [5.0, 0.5, search.FAR, -6.0, 0.9, 4.0])
    sizes, axes = np.linalg.eigh(H)
    np.testing.assert_allclose(curvature, (axes * np.abs(sizes)) @ axes.T, atol=1e-9)


def test_an_undefined_neighbor_leaves_the_curvature_that_was_learned():
    X = np.random.default_rng(4).normal(size=(60, 4))
    given = read_parameters(Gaussian((1.0,) * 4), X, 1.0, noise=None, fit=True, bounds=None, fixed=(), priors=None)

    def undefined(v):
        raise NumericalError("no")

    p = len(given.names)
    far = Ascent(given.typical + 3.0, 0.0, 0.0, True, 1, 1, "", 2.0 * np.eye(p))
    vector, curvature = search._brought_back(undefined, given, far)
    assert (vector[given.widths] == given.typical[given.widths] + search.FAR).all()
    np.testing.assert_array_equal(curvature, 2.0 * np.eye(p))
