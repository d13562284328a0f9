"""Intervals of tables: conformal quantiles against sorted lists, groups of similar predictions, the choice between them."""

from __future__ import annotations

import numpy as np
import pytest

import mercer
from mercer.errors import InputError
from mercer.estimators.intervals import conformal_radius
from mercer.estimators.tables.intervals import Calibration, calibrate, grouped, interval


def test_the_conformal_quantile_is_that_of_a_sorted_list() -> None:
    """ceil(0.9 * 20) = 18 of 19 scores; too few scores have no quantile."""
    scores = np.random.default_rng(0).permutation(19) + 1.0
    assert conformal_radius(scores, 0.9) == 18.0
    assert conformal_radius(scores[:8], 0.9) == np.inf


def test_groups_equal_a_loop_over_groups() -> None:
    """The slow twin: quantiles of tenths, a straight line between their medians, a factor for each fifth."""
    rng = np.random.default_rng(1)
    at, new = rng.normal(size=500), rng.normal(size=40)
    scores = np.abs(rng.normal(size=500)) * (1.0 + np.abs(at))
    order = np.argsort(at)
    middles, levels = [], []
    for k in range(10):
        part = order[50 * k : 50 * (k + 1)]
        middles.append(np.median(at[part]))
        levels.append(sorted(scores[part])[int(np.ceil(0.8 * 51)) - 1])

    def line(x: float) -> float:
        if x <= middles[0]:
            return levels[0]
        for left in range(9):
            if x <= middles[left + 1]:
                share = (x - middles[left]) / (middles[left + 1] - middles[left])
                return levels[left] + share * (levels[left + 1] - levels[left])
        return levels[-1]

    ends, factors = [], []
    for k in range(5):
        part = order[100 * k : 100 * (k + 1)]
        ends.append(at[part].max())
        factors.append(sorted(scores[i] / line(at[i]) for i in part)[int(np.ceil(0.8 * 101)) - 1])

    def group(x: float) -> int:
        return next((k for k in range(4) if x <= ends[k]), 4)

    found = grouped(scores, at, 5, new, 0.8)
    np.testing.assert_allclose(found, [factors[group(x)] * line(x) for x in new], rtol=1e-12)


def test_every_group_is_covered_where_the_noise_peaks_inside_one() -> None:
    """One factor for all groups left 81 % in the group of the peak."""
    rng = np.random.default_rng(4)
    at, new = rng.uniform(size=2000), rng.uniform(size=20_000)
    size = lambda f: 0.1 + 3.0 * np.exp(-(((f - 0.7) / 0.06) ** 2))  # noqa: E731
    inside = np.abs(size(new) * rng.normal(size=20_000)) <= grouped(
        size(at) * np.abs(rng.normal(size=2000)), at, 5, new, 0.9
    )
    for part in np.array_split(np.argsort(new), 5):
        assert abs(inside[part].mean() - 0.9) < 0.04  # 400 rows: a standard error of 1.5 points


def test_equal_predictions_are_one_group() -> None:
    """Groups are intervals of predictions, and the last one is never empty."""
    rng = np.random.default_rng(5)
    scores = np.abs(rng.normal(size=600))
    for at in (np.zeros(600), np.repeat([0.0, 1.0], 300), np.repeat([0.0, 1.0], [20, 580])):
        found = grouped(scores, at, 5, np.array([-1.0, 0.0, 0.5, 1.0, 2.0]), 0.9)
        assert np.isfinite(found).all() and (found > 0).all()
    assert np.all(grouped(scores, np.zeros(600), 5, np.zeros(2), 0.9) == conformal_radius(scores, 0.9))


def test_a_coverage_too_high_for_a_group_is_taken_over_all_rows() -> None:
    """100 residuals have no quantile 0.995; 500 have."""
    rng = np.random.default_rng(2)
    at, scores = rng.normal(size=500), np.abs(rng.normal(size=500))
    assert np.all(grouped(scores, at, 5, at[:3], 0.995) == conformal_radius(scores, 0.995))


def test_noise_by_size_of_prediction_is_covered_in_every_fifth() -> None:
    """Noise that jumps with the prediction and with no column: a constant width covers 75 % where it is largest."""
    rng = np.random.default_rng(3)
    inside, flat = np.zeros(5), np.zeros(5)
    for _ in range(8):
        at, new = rng.uniform(size=1000), rng.uniform(size=2000)
        size = lambda f: np.where(f > 0.8, 3.0, 1.0)  # noqa: E731
        residuals, truth = size(at) * rng.normal(size=1000), size(new) * rng.normal(size=2000)
        Z, fresh = rng.normal(size=(1000, 2)), rng.normal(size=(2000, 2))
        found = calibrate(residuals, at, Z, mercer.Laplacian(3.0))
        low, high = interval(found, found.width(fresh), 0.9, new).T - new
        held = (low <= truth) & (truth <= high)
        constant = np.abs(truth) <= conformal_radius(np.abs(residuals), 0.9)
        for k, part in enumerate(np.array_split(np.argsort(new), 5)):
            inside[k] += held[part].mean() / 8
            flat[k] += constant[part].mean() / 8
    assert flat.min() < 0.75
    assert inside.min() > 0.85
    assert abs(inside.mean() - 0.9) < 0.01


@pytest.mark.parametrize("product", [False, True])
def test_a_model_that_is_nearly_constant_covers_new_rows(product: bool) -> None:
    """A left-out row moves the mean against its own target: predictions near the mean are those of small residuals."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(1600, 12))
    y = X[:, 0] * X[:, 1] * (rng.normal(size=1600) if product else 0.0) + rng.normal(size=1600)
    model = mercer.TableRegressor(kernel="Laplacian()").fit(X[:600], y[:600])
    assert np.std(model.predict(X[600:])) < 0.2 * np.std(y)
    low, high = model.predict_interval(X[600:], 0.9).T
    assert 0.86 < np.mean((low <= y[600:]) & (y[600:] <= high)) < 0.94  # 600 and 1,000 rows: a standard error of 1.5 points


def test_predictions_that_only_repeat_the_residuals_are_one_group() -> None:
    rng = np.random.default_rng(8)
    residuals = rng.normal(size=800)
    Z, at = rng.normal(size=(800, 3)), rng.uniform(size=800)
    left_out = -residuals / 799  # of a mean, without each row
    assert calibrate(residuals, left_out, Z, mercer.Laplacian(3.0)).groups == 1
    assert calibrate(residuals * np.where(at > 0.8, 3.0, 1.0), at, Z, mercer.Laplacian(3.0)).groups == 5


def test_even_noise_mostly_gets_a_constant_width() -> None:
    """Where nothing varies a varying width is chosen by chance alone."""
    chosen = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        found = calibrate(rng.normal(size=600), rng.normal(size=600), rng.normal(size=(600, 3)), mercer.Laplacian(3.0))
        chosen.append(found.spread is None and found.groups == 1)
    assert sum(chosen) >= 6


def test_equal_residuals_are_one_group() -> None:
    """Every score is covered, and no test can be made."""
    found = calibrate(np.ones(600), np.arange(600.0), np.arange(600.0)[:, None], mercer.Laplacian(3.0))
    assert found.groups == 1
    assert np.all(found.radius(np.zeros(2), 0.9) * found.width(np.zeros((2, 1))) >= 0.99)


@pytest.mark.parametrize("groups", [0, -1, 11, True])
def test_forged_numbers_of_groups_are_refused(groups: int) -> None:
    """A file may not ask for more groups than residuals."""
    from mercer.persist.stored import check_stored

    with pytest.raises(InputError, match="groups"):
        check_stored(Calibration(np.ones(10), None, 0.0, np.arange(10.0), groups))


def test_a_file_without_groups_is_read_as_one_group() -> None:
    """Models saved before there were groups."""
    from mercer.registry import make_record

    found = make_record(Calibration, {"scores": np.arange(1.0, 20.0), "spread": None, "center": 0.0})
    assert np.all(found.radius(np.zeros(3), 0.9) == 18.0)


def test_local_intervals_of_a_given_kernel_on_mixed_columns():
    """The kernel of the model guards the shifts, so that it need not be told what its columns are."""
    rng = np.random.default_rng(1)
    table = np.column_stack([rng.normal(size=200).astype(object), rng.choice(["a", "b"], 200).astype(object)])
    y = table[:, 0].astype(float) + np.where(table[:, 1] == "a", 0.1, 1.0) * rng.normal(size=200)
    kernel = mercer.Gaussian(1.0).on(0) * mercer.Categorical().on(1)
    model = mercer.TableRegressor(kernel=kernel).fit(table, y)
    widths = np.diff(model.predict_interval(table, 0.8, method="local"))[:, 0]
    assert widths[table[:, 1] == "b"].mean() > 2.0 * widths[table[:, 1] == "a"].mean()


def test_local_intervals_on_request(tmp_path):
    """Held-out rows are kept for them; the kernel of the shifts is one on the encoded rows."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 4.0, (300, 1))
    y = X[:, 0] + (0.1 + X[:, 0]) * rng.normal(size=300)
    model = mercer.TableRegressor(kernel=mercer.Gaussian(1.0)).fit(X[:200], y[:200])
    for shift in (None, mercer.Gaussian(0.5)):
        low, high = model.predict_interval(X[200:], 0.8, method="local", shift=shift).T
        inside = (low <= y[200:]) & (y[200:] <= high)
        assert 0.68 < inside.mean() < 0.92
        assert np.corrcoef(high - low, X[200:, 0])[0, 1] > 0.5
    mercer.save(model, tmp_path / "m")
    again = mercer.load(tmp_path / "m").predict_interval(X[200:210], 0.8, method="local")
    np.testing.assert_allclose(again, model.predict_interval(X[200:210], 0.8, method="local"), rtol=1e-12)
    with pytest.raises(InputError, match='shift= is for method="local"'):
        model.predict_interval(X, shift=mercer.Gaussian(1.0))
    with pytest.raises(InputError, match="method"):
        model.predict_interval(X, method="jackknife")
    with pytest.raises(InputError, match=r"coverage 0.999 needs at least 999 calibration rows"):
        model.predict_interval(X, 0.999, method="local")
    weighted = mercer.TableRegressor(kernel=mercer.Gaussian(1.0)).fit(X[:60], y[:60], sample_weight=X[:60, 0] + 1.0)
    with pytest.raises(InputError, match="fitted with sample_weight"):
        weighted.predict_interval(X, method="local")
