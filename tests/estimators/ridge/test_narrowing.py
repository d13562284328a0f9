"""Parameters chosen on some of many rows: what was compared on which rows, and that the choice is as good as any."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import mercer
from mercer import Gaussian, KernelRidge, KernelRidgeClassifier, KernelRidgeCV, Matern
from mercer.errors import InputError
from mercer.estimators.ridge import grid_narrowing, narrowing
from mercer.selection.scoring import as_scoring
from mercer.selection.surface import SCORED_ON, choose_point

N = 420


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Narrow from 200 rows on: 60 rows, then 120, or landmarks on 150 and on all."""
    monkeypatch.setattr("mercer.selection.surface.SAMPLE", 60)
    monkeypatch.setattr("mercer.estimators.ridge.kernel_ridge_cv.MOST_EXACT", 200)
    for name, value in {"FINE_ROWS": 120, "LANDMARK_ROWS": 150, "SCORED_ROWS": 100}.items():
        monkeypatch.setattr(narrowing, name, value)


@pytest.fixture
def data(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    X = rng.normal(size=(N, 2))
    return X, np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=N)


def all_rows(data: tuple) -> KernelRidgeCV:
    return KernelRidgeCV(solver="exact").fit(*data)


def loo_error(data: tuple, model: KernelRidgeCV) -> tuple[float, float]:
    """Leave-one-out error of the chosen parameters on all rows, and its standard error."""
    fit = KernelRidge(model.kernel_, alpha=float(model.best_alpha_), fit_intercept=True, solver="cholesky").fit(*data)
    squares = fit.loo_residuals_**2
    return float(squares.mean()), float(squares.std() / len(squares) ** 0.5)


def test_the_choice_is_within_one_standard_error_of_the_exact_surface(few: None, data: tuple) -> None:
    whole, narrowed = all_rows(data), KernelRidgeCV().fit(*data)
    (best, error), (found, _) = loo_error(data, whole), loo_error(data, narrowed)
    assert found <= best + error
    assert narrowed.route_.solver == "cholesky" and narrowed.route_.exact
    on_landmarks = KernelRidgeCV(solver="nystroem", n_components=60).fit(*data)
    assert loo_error(data, on_landmarks)[0] <= best + error


def test_the_result_says_on_how_many_rows_each_point_was_scored(few: None, data: tuple) -> None:
    model = KernelRidgeCV().fit(*data)
    rows = model.cv_results_[SCORED_ON]
    assert set(rows.tolist()) <= {0, 60, 120} and (rows == 120).sum() >= 3
    assert rows[model.cv_results_["rank_test_score"] == 1].min() == 120
    assert "that could win on 120 rows, after 10 kernels on 60 rows" in model.surface_.how
    assert "120 rows" in str(model)
    landmarks = KernelRidgeCV(solver="nystroem", n_components=40).fit(*data)
    assert set(landmarks.cv_results_[SCORED_ON].tolist()) <= {0, 60, 150, N}
    assert "on all rows, the best of" in landmarks.surface_.how


def test_points_on_the_most_rows_have_the_scores_of_these_rows(few: None, data: tuple) -> None:
    model = KernelRidgeCV().fit(*data)
    order = np.sort(np.random.default_rng(0).choice(N, 120, replace=False))
    row, column = model.best_index_
    fit = KernelRidge(model.surface_.kernels[row], alpha=model.surface_.alphas[column], fit_intercept=True)
    fit.fit(data[0][order], data[1][order])
    assert model.best_score_ == pytest.approx(-np.mean(fit.loo_residuals_**2), rel=1e-9)


def test_the_last_fit_on_landmarks_is_that_of_kernel_ridge(few: None, data: tuple) -> None:
    found = KernelRidgeCV(solver="nystroem", n_components=40).fit(*data)
    same = KernelRidge(found.kernel_, alpha=float(found.best_alpha_), fit_intercept=True, solver="nystroem", n_components=40)
    same.fit(*data)
    # both solve the same normal equations; the sums were divided by the triangle at the end or on the way
    np.testing.assert_allclose(found.predict(data[0]), same.predict(data[0]), atol=1e-6)
    np.testing.assert_allclose(found.loo_residuals_, same.loo_residuals_, atol=1e-6)


def test_leave_one_out_on_all_rows_is_scored_at_a_sample_of_them(few: None, data: tuple) -> None:
    found = KernelRidgeCV(solver="nystroem", n_components=40).fit(*data)
    rows = np.sort(np.random.default_rng(0).choice(N, 100, replace=False))
    assert found.best_score_ == pytest.approx(-np.mean(found.loo_residuals_[rows] ** 2), rel=1e-5)


def test_given_grids_folds_and_few_rows_are_compared_on_all_rows(few: None, data: tuple) -> None:
    X, y = data
    for model in (
        KernelRidgeCV(length_scales=[0.5, 1.0]), KernelRidgeCV(alphas=[0.1, 1.0, 10.0]), KernelRidgeCV(cv=3),
        KernelRidgeCV(param_grid={"length_scale": [0.5]}), KernelRidgeCV(solver="exact"),
    ):  # fmt: skip
        assert SCORED_ON not in model.fit(X, y).cv_results_
    assert SCORED_ON not in KernelRidgeCV().fit(X[:200], y[:200]).cv_results_
    grouped = KernelRidgeCV().fit(X, y, groups=np.arange(N) % 5)
    assert SCORED_ON not in grouped.cv_results_ and grouped.surface_.route == "eigh"


def test_a_classifier_and_several_targets(few: None, data: tuple) -> None:
    X, y = data
    labels = np.digitize(y, [-0.4, 0.4])
    model = KernelRidgeClassifier(alpha="loo").fit(X, labels)
    assert model.surface_.columns[SCORED_ON].max() == 120
    assert model.score(X, labels) > 0.6
    both = KernelRidgeCV(alpha_per_target=True).fit(X, np.column_stack([y, X[:, 1]]))
    compared = both.surface_.compared[both.best_index_[0]]
    assert all(compared[np.searchsorted(both.surface_.alphas, alpha)] for alpha in both.best_alpha_)


def test_weights_and_equal_rows(few: None, data: tuple) -> None:
    X, y = data
    weights = np.where(np.arange(N) % 5 == 0, 0.0, 1.0)
    model = KernelRidgeCV().fit(X, y, sample_weight=weights)
    assert model.surface_.columns[SCORED_ON].max() == 120
    doubled = KernelRidgeCV().fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    assert doubled.best_alpha_ > 1e-3  # a copy in the training part would make the smallest alpha best


def test_a_kernel_without_length_scale_moves_along_alpha_only(few: None, data: tuple) -> None:
    kernel = Gaussian(1.0) + Gaussian(0.3)
    model = KernelRidgeCV(kernel).fit(*data)
    assert len(model.surface_.kernels) == 1
    assert model.surface_.columns[SCORED_ON].max() == 120


def test_a_score_of_all_rows_at_once(few: None, data: tuple) -> None:
    model = KernelRidgeCV(scoring="r2").fit(*data)
    assert model.surface_.columns[SCORED_ON].max() == 120


def test_plan_names_the_route(few: None, data: tuple) -> None:
    planned = mercer.plan(KernelRidgeCV(), data[0], data[1])
    assert planned.route.solver == "cholesky" and 'solver="exact"' in planned.route.reason
    assert planned.seconds < mercer.plan(KernelRidgeCV(solver="exact"), np.zeros((6000, 2))).seconds


def test_an_unknown_solver_is_refused(data: tuple) -> None:
    with pytest.raises(InputError, match="solver must be one of auto, exact, nystroem, fourier"):
        KernelRidgeCV(solver="cholesky").fit(*data)


def test_descend_finds_the_top_of_a_slanted_ridge() -> None:
    def score(steps: int, columns: Sequence[int]) -> list[float]:
        return [-((steps + (c - 9)) ** 2) - 0.1 * (steps - 2) ** 2 for c in columns]

    seen = narrowing.descend(score, 9, 21, True, lambda point: True)
    assert max(seen, key=seen.__getitem__) == (2, 7)
    alone = narrowing.descend(lambda steps, columns: [-abs(c - 12.0) for c in columns], 9, 21, False, lambda point: True)
    assert max(alone, key=alone.__getitem__) == (0, 12) and all(i == 0 for i, _ in alone)


def test_what_is_worse_in_every_row_cannot_win(data: tuple) -> None:
    X, y = data
    surface = KernelRidgeCV(length_scales=[1.0], alphas=[1e-8, 1.0, 1e8], fit_intercept=True).fit(X, y).surface_
    alive = narrowing.can_win(surface, y, None, as_scoring(None))
    assert alive[choose_point(surface)] and alive.sum() == 1


@pytest.fixture
def on_grid(few: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neighborhoods of 60 rows."""
    pytest.importorskip("finufft")
    for name, value in {"PLACES": 2, "NEAR_ROWS": 60, "HELD": 60}.items():
        monkeypatch.setattr(grid_narrowing, name, value)


def waves(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    X = rng.random((n, 1))
    return X, np.sin(25 * X[:, 0]) + 0.05 * rng.normal(size=n)


def test_a_grid_of_frequencies_chooses_as_well_as_all_rows(on_grid: None) -> None:
    data = waves(900)
    whole = KernelRidgeCV(Matern(1.5), solver="exact").fit(*data)
    found = KernelRidgeCV(Matern(1.5), solver="fourier").fit(*data)
    (best, error), (own, _) = loo_error(data, whole), loo_error(data, found)
    assert own <= best + error
    assert found.route_.solver == "fourier" and "neighborhoods" in found.surface_.how
    assert set(found.cv_results_[SCORED_ON].tolist()) == {0, 60, 840}
    X, y = waves(1000)
    assert np.sqrt(np.mean((found.predict(X[900:]) - y[900:]) ** 2)) < 0.08


def test_scores_on_the_grid_are_those_of_the_exact_fit_at_held_out_rows(
    on_grid: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grid_narrowing, "TOLERANCE", 1e-8)
    X, y = waves(400)
    found = KernelRidgeCV(Matern(1.5), solver="fourier").fit(X, y)
    test = np.sort(np.random.default_rng(0).choice(400, 40, replace=False))
    train = np.setdiff1d(np.arange(400), test)
    row, column = found.best_index_
    twin = KernelRidge(found.surface_.kernels[row], alpha=found.surface_.alphas[column], fit_intercept=True)
    errors = y[test] - twin.fit(X[train], y[train]).predict(X[test])
    assert found.best_score_ == pytest.approx(-np.mean(errors**2), rel=0.02)  # the grid misses 1e-5 of k(0)


def test_few_columns_take_the_grid_where_the_matrix_does_not_fit(on_grid: None, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = waves(400)
    small = KernelRidgeCV(Matern(1.5), memory="1 MB")
    assert mercer.plan(small, X, y, memory="100 MB").route.solver == "cholesky"
    solvers = [route.solver for route in mercer.plan(small, X, y, memory="1 GB").offered]
    assert solvers == ["cholesky", "fourier"]
    monkeypatch.setattr("mercer.estimators.ridge.kernel_ridge_cv.has_transform", lambda: False)
    offered = mercer.plan(small, X, y, memory="1 GB").offered
    assert [route.solver for route in offered] == ["cholesky", "nystroem"] and "pip install" in offered[1].reason
