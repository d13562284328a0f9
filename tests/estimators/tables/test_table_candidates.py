"""Text as features, means of transformed targets, repeated folds, weights across folds, and landmarks of many rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mercer
from mercer import TableRegressor
from mercer.estimators.tables import fitting as fits
from mercer.estimators.tables import ridge
from mercer.estimators.tables.encoding import encoders_of, text_block
from mercer.estimators.tables.intervals import calibrate
from mercer.estimators.tables.regressor import SQUARED
from mercer.estimators.tables.search import FEW_ROWS, across, average, greedy
from mercer.estimators.tables.targets import YEO_JOHNSON_MEAN, spread_of_others, transform_of
from mercer.grams.low_rank import landmark_features
from mercer.inputs import Rows
from mercer.inputs.frames import read_columns
from mercer.inputs.tables import Table
from mercer.kernels.stationary import Gaussian, Matern
from mercer.kernels.strings.spectrum import Spectrum

QUICK = 1e-6  # seconds: the first candidate alone
WORDS = ("red", "blue", "old", "new", "big", "small", "wood", "metal")


def texts(n: int, seed: int = 0) -> tuple[dict[str, Any], np.ndarray]:
    rng = np.random.default_rng(seed)
    cells = [" ".join(rng.choice(WORDS, 3, replace=False)) + f" item {rng.integers(10**6)}" for _ in range(n)]
    x = rng.standard_normal(n)
    return {"x": x, "t": cells}, x + np.array([cell.startswith("red") for cell in cells])


def test_text_becomes_the_principal_components_of_substring_counts() -> None:
    table, _ = texts(40)
    columns = read_columns(Table({name: np.array(cells) for name, cells in table.items()}))
    assert [column.kind for column in columns] == ["number", "text"]
    block = text_block(columns[1], 3)
    assert block is not None
    Z = block(columns[1])
    K = np.asarray(Spectrum(3, shortest=1).normalized()(table["t"]))
    H = np.eye(40) - 1.0 / 40
    values, vectors = np.linalg.eigh(H @ K @ H)
    expected = vectors[:, ::-1][:, :3] * np.sqrt(values[::-1][:3] * 40 / values[-1])
    np.testing.assert_allclose(np.abs(Z), np.abs(expected), atol=1e-8)
    encoder = encoders_of(columns)["standard"]
    assert encoder.names == ["x", *[f"t {i + 1}" for i in range(12)]]
    assert set(encoder.origins) == {"x", "t"}


def test_texts_are_predicted_explained_and_saved_with_missing_cells(tmp_path: Path) -> None:
    table, y = texts(60)
    X = Table({"x": table["x"], "t": np.array(table["t"], dtype=object)})
    model = TableRegressor(time=QUICK).fit(X, y)
    tried = {attempt.scaling for attempt in model.result_.attempts}
    assert tried == {"columns"}  # the first candidate alone
    other = TableRegressor(kernel=None).fit(X, y)
    assert "standard" in {attempt.scaling for attempt in other.result_.attempts}
    mercer.save(other, tmp_path / "model.mercer")
    new = Table({"x": table["x"][:3], "t": np.array([None, *table["t"][1:3]], dtype=object)})
    found = other.predict(new)
    assert np.isfinite(found).all()
    np.testing.assert_array_equal(mercer.load(tmp_path / "model.mercer").predict(new), found)


def test_texts_with_nothing_in_common_have_no_block() -> None:
    cells = np.array([chr(0x4E00 + i) for i in range(50)], dtype=object)
    [column] = read_columns(Table({"t": cells}))
    same = text_block(column, 3)
    assert same is None or np.isfinite(same(column)).all()


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_mean_of_a_transformed_target_is_that_of_normal_residuals(sign: float) -> None:
    rng = np.random.default_rng(0)
    y = sign * np.exp(rng.standard_normal((400, 1)))
    transform = transform_of(YEO_JOHNSON_MEAN, y)
    F, noise = np.array([[-0.5], [0.0], [0.5]]), np.full((3, 1), 0.4)
    draws = rng.standard_normal(200_000)
    within = transform.within()
    for f, mean in zip(F[:, 0], transform.backward(F, noise)[:, 0], strict=True):
        sample = within.backward((f + 0.4 * draws)[:, None])[:, 0]
        assert abs(sample.mean() - mean) < 5.0 * sample.std() / 200_000**0.5 + 0.002 * abs(mean)
    extreme = transform.backward(np.array([[50.0], [-50.0]]), np.full((2, 1), 2.0))
    assert np.all((extreme >= y.min() - 1e-9) & (extreme <= y.max() + 1e-9))  # the inverse has a pole beyond them


def test_the_spread_of_the_other_residuals() -> None:
    r, w = np.array([[1.0], [-0.5], [0.25]]), np.array([1.0, 2.0, 1.0])
    np.testing.assert_allclose(spread_of_others(r, None)[0, 0], np.sqrt((0.25 + 0.0625) / 2))
    np.testing.assert_allclose(spread_of_others(r, w)[0, 0], np.sqrt((2 * 0.25 + 0.0625) / 3))


def test_a_log_normal_target_is_predicted_by_its_mean() -> None:
    rng = np.random.default_rng(1)
    x = rng.uniform(-1.0, 1.0, (100, 1))
    y, kernel = np.exp(x[:, 0] + rng.standard_normal(100)), Gaussian(1.0)
    model = TableRegressor(kernel=kernel, random_state=0).fit(x, y)
    assert YEO_JOHNSON_MEAN in {attempt.transform for attempt in model.result_.attempts}
    absolute = TableRegressor(kernel=kernel, scoring="mae", random_state=0).fit(x, y)
    assert YEO_JOHNSON_MEAN not in {attempt.transform for attempt in absolute.result_.attempts}  # the median is best there


@pytest.mark.parametrize("weighted", [False, True])
def test_few_rows_weigh_candidates_by_their_evidence(weighted: bool) -> None:
    rng = np.random.default_rng(0)
    y = rng.standard_normal((80, 1))
    noise = rng.standard_normal((80, 1))
    P = [y + noise + spread * rng.standard_normal((80, 1)) for spread in (0.1, 0.12, 0.08, 0.15)] + [y + 1.5 * noise]
    w = rng.uniform(0.5, 3.0, 80) if weighted else None
    counted = np.ones(80) if w is None else w
    losses = [np.mean((p - y) ** 2, axis=1) for p in P]
    means = [float(sum(counted * part) / sum(counted)) for part in losses]
    best = losses[int(np.argmin(means))]
    expected = []
    for part, mean in zip(losses, means, strict=True):
        excess = part - best
        middle = float(sum(counted * excess) / sum(counted))
        error = float(np.sqrt(sum((counted * (excess - middle)) ** 2)) / sum(counted))
        near = mean <= 1.25 * min(means)
        expected.append((np.exp(-0.5 * middle / error) if error > 0 else 1.0) if near else 0.0)
    assert expected[-1] == 0.0 and min(expected[:3]) > 0.03
    expected = [weight if weight >= 0.03 * sum(expected) else 0.0 for weight in expected]
    np.testing.assert_allclose(average(P, y, SQUARED.loss, w), np.array(expected) / sum(expected), rtol=1e-9)
    same = average([P[0]] * 11, y, SQUARED.loss, w)
    np.testing.assert_allclose(np.sort(same)[-8:], 1 / 8)
    assert same.max() == pytest.approx(1 / 8) and average([y, y + 1.0], y, SQUARED.loss, w).tolist() == [1.0, 0.0]


def test_weights_across_folds_do_not_see_the_targets_of_their_fold() -> None:
    rng = np.random.default_rng(0)
    y, folds = rng.standard_normal((30, 1)), np.arange(30) % 3
    P = [rng.standard_normal((30, 1)) for _ in range(4)]
    found = across(P, y, SQUARED.loss, None, folds)
    own = folds == 1
    weights = average([p[~own] for p in P], y[~own], SQUARED.loss)
    np.testing.assert_allclose(found[own], sum(w * p[own] for w, p in zip(weights, P, strict=True)))
    changed = np.where(own[:, None], 100.0 + y, y)
    np.testing.assert_allclose(across(P, changed, SQUARED.loss, None, folds)[own], found[own])


def test_weights_across_folds_follow_the_rule_for_all_rows() -> None:
    n = FEW_ROWS + 100  # without a fold there are fewer than FEW_ROWS
    rng = np.random.default_rng(0)
    y, folds = rng.standard_normal((n, 1)), np.arange(n) % 3
    P = [y + rng.standard_normal((n, 1)) for _ in range(4)]
    own = folds == 2
    weights = greedy([p[~own] for p in P], y[~own], SQUARED.loss)
    expected = sum(w * p[own] for w, p in zip(weights, P, strict=True))
    np.testing.assert_allclose(across(P, y, SQUARED.loss, None, folds)[own], expected)


def test_few_rows_are_divided_into_folds_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((50, 2)), rng.standard_normal(50)
    seen = []
    made = fits.Fitting._members

    def members(self: Any, picked: Any, *rest: Any) -> Any:
        seen.append([len(one.trial.states) for one in picked])
        return made(self, picked, *rest)

    monkeypatch.setattr(fits.Fitting, "_members", members)
    model = TableRegressor(random_state=0).fit(X, y)
    assert seen == [[10] * len(model.members_)]
    assert model.result_.folds == 5
    assert any(attempt.label == "Linear" and attempt.complete for attempt in model.result_.attempts)


@pytest.mark.parametrize("weighted", [False, True])
def test_many_rows_are_fitted_block_by_block_with_exact_residuals_of_left_out_groups(weighted: bool) -> None:
    rng = np.random.default_rng(0)
    n, m = 6000, 40
    X = rng.standard_normal((n, 2))
    Y = np.sin(2 * X[:, :1]) + 0.1 * rng.standard_normal((n, 1))
    weights = rng.uniform(0.5, 2.0, n) if weighted else None
    kernel, groups = Matern(1.5, length_scale=2.0), np.arange(20) // 2
    model, residuals = ridge.fit_and_leave_out(kernel, X, Y, 0.01, groups, m, 0, weights)
    F = landmark_features(kernel, X, m, np.random.default_rng(0))[0](X)
    w, penalty = np.ones(n) if weights is None else weights, np.diag(np.r_[np.full(m, 0.01), 0.0])

    def solved(rows: np.ndarray) -> np.ndarray:
        A = np.column_stack([F[rows], np.ones(len(rows))])
        return np.asarray(np.linalg.solve(A.T @ (A * w[rows, None]) + penalty, A.T @ (Y[rows] * w[rows, None])))

    whole = np.column_stack([F, np.ones(n)])
    np.testing.assert_allclose(model.predict(X[:50]), whole[:50] @ solved(np.arange(n)), atol=1e-8)
    own = np.array([n - 8, n - 7])
    left_out = Y[own] - whole[own] @ solved(np.setdiff1d(np.arange(n), own))
    np.testing.assert_allclose(residuals[12:14], left_out, atol=1e-8)


def test_the_spread_of_intervals_does_not_see_residuals_of_equal_rows() -> None:
    rng = np.random.default_rng(0)
    points = np.repeat(rng.standard_normal((60, 1)), 3, axis=0)
    sizes = np.repeat(np.exp(rng.standard_normal(60)), 3) * np.exp(0.01 * rng.standard_normal(180))
    found = calibrate(sizes, np.zeros(180), Rows(points), Gaussian(0.05))
    free = calibrate(sizes, np.zeros(180), Rows(points), Gaussian(0.05), groups=np.arange(180))
    # the size of a residual says nothing of other points: only its copies, which are left out with it, give it away
    assert found.spread is None
    assert free.spread is not None
