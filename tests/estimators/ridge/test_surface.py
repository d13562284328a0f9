"""Routes, choices and grids of the surface; its values are tested through the estimators that use it."""

import dataclasses
from itertools import pairwise

import numpy as np
import pytest

from mercer import Gaussian, Linear
from mercer.errors import InputError
from mercer.estimators.ridge.problem import RidgeData
from mercer.estimators.ridge.surface import route_bytes, route_for, surface
from mercer.inputs import Rows
from mercer.selection.scoring import as_scoring
from mercer.selection.surface import PenaltyAxis, Surface, choose_point, length_scale_steps, read_grid


def made(scores: list[list[float]], errors: float = 0.0) -> Surface:
    values = np.array(scores)
    kernels = tuple(Gaussian(float(i + 1)) for i in range(len(values)))
    axis = PenaltyAxis("alpha", np.logspace(-1, 1, values.shape[1]), larger_is_simpler=True)
    return Surface(tuple({} for _ in kernels), kernels, axis, values, np.full(values.shape, errors), "eigh", "s")


def test_the_best_and_the_largest_alpha_among_ties() -> None:
    assert choose_point(made([[1.0, 3.0, 2.0], [0.0, 2.5, np.nan]]), "best") == (0, 1)
    assert choose_point(made([[3.0, 3.0, 2.0], [0.0, 2.5, 3.0]]), "best") == (1, 2)
    with pytest.raises(InputError, match="no point"):
        choose_point(made([[np.nan, np.nan]]), "best")


def test_one_standard_error_prefers_penalty_then_score() -> None:
    assert choose_point(made([[3.0, 2.5, 2.1], [2.9, 2.8, 2.2]], errors=0.85), "one_standard_error") == (1, 2)
    assert choose_point(made([[3.0, 2.5, 2.1], [2.9, 2.8, 2.2]], errors=0.3), "one_standard_error") == (1, 1)


def test_routes() -> None:
    many = np.logspace(-3, 3, 20)
    assert route_for(many, 500, 30, True) == "primal"
    assert route_for(many[:3], 5000, None, True) == "cholesky"
    assert route_for(many, 5000, None, True) == "tridiagonal"
    assert route_for(many, 5000, None, False) == "eigh"
    assert route_for(np.append(many, 0.0), 5000, None, True) == "eigh"
    assert route_for(many, 500, None, True) == "eigh"
    assert [route_bytes(name, 100, None) // 80_000 for name in ("cholesky", "tridiagonal", "eigh")] == [1, 2, 3]


def test_squaring_chains_give_the_same_surface_as_fresh_grams(rng: np.random.Generator) -> None:
    X, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    kernels = [Gaussian(s) for s in length_scale_steps(1.0, -3, 4)]
    assert all(b.is_square_of(a) for a, b in pairwise(kernels))
    params = [{} for _ in kernels]
    alphas = PenaltyAxis("alpha", np.array([0.1, 1.0]), True)
    for weights in (None, np.arange(60.0) + 1, np.arange(60.0)):  # the last has a row of weight zero
        data = RidgeData(Rows(X), y, weights, True, None)
        chained = surface(params, kernels, data, alphas, as_scoring(None), "cholesky", lambda done, total: None)
        fresh = surface(params, kernels, data, alphas, as_scoring(None), "eigh", lambda done, total: None)
        # each squaring doubles the relative error of a value: 2^7 eps at the end of the chain
        np.testing.assert_allclose(chained.scores, fresh.scores, rtol=1e-10)


def test_grids_chosen_from_the_kernel() -> None:
    grid = read_grid(2.0 * Gaussian(3.0), None, None)
    assert grid.path == "0__length_scale"
    scales = [s["0__length_scale"] for s in grid.settings]
    assert len(scales) == 10
    assert 3.0 in [round(s, 12) for s in scales]
    assert read_grid(Linear(), None, None).settings == ({},)
    assert read_grid(Gaussian((1.0, 2.0)), None, None).settings == ({},)  # ARD scales are left as they are
    both = read_grid(Gaussian(1.0) + Gaussian(2.0), None, {"0__length_scale": [1.0, 3.0], "1__length_scale": [5.0]})
    assert [tuple(setting.values()) for setting in both.settings] == [(1.0, 5.0), (3.0, 5.0)]


def test_mean_scores_average_over_targets() -> None:
    one = made([[1.0, 2.0]])
    two = dataclasses.replace(one, scores=np.array([[[1.0, 3.0], [2.0, 4.0]]]))
    np.testing.assert_array_equal(two.mean_scores, [[2.0, 3.0]])
