"""TableQuantileRegressor: folds against a plain loop, shares below, units, mixed tables, limits, files, errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import d2_pinball_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import Gaussian, KernelQuantileRegressor, Laplacian, Linear, PowerExponential, TableQuantileRegressor
from mercer.errors import InputError
from mercer.estimators.tables import fitting, quantile_regressor
from mercer.estimators.tables.candidates import Candidate
from mercer.estimators.tables.quantile_regressor import QuantileSearch, lengthened, pinball
from mercer.estimators.tables.search import Effort, Tables
from mercer.inputs import Rows
from mercer.inputs.frames import read_columns
from mercer.selection.folds import group_folds, row_groups

Array = Any
QUICK = 1e-6  # seconds: the first candidate alone


def noisy(n: int = 90, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 6.0, (n, 2))
    return X, np.sin(X[:, 0]) + (0.1 + 0.3 * X[:, 1]) * rng.standard_normal(n)


@pytest.fixture(autouse=True)
def _few_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quantile_regressor, "PENALTIES", (0.3, 10.0))


def searched(tried: list[Candidate], X: Array, y: Array, levels: tuple[float, ...]) -> QuantileSearch:
    groups = row_groups(X)
    folds = group_folds(groups, 5, np.random.default_rng(1))
    tables = Tables({"standard": Rows(X)}, y[:, None], folds, groups)
    search = QuantileSearch(tables, levels, Effort(np.inf, lambda text: None), memory=None, adapt=True)
    search.run(tried)
    return search


@pytest.mark.slow
def test_held_out_predictions_are_those_of_a_plain_loop() -> None:
    X, y = noisy()
    tried = [
        Candidate("a", "standard", "likelihood", Laplacian("median")),
        Candidate("b", "standard", "full metric", PowerExponential(2.0, power=1.0)),
        Candidate("c", "standard", "plain", Linear()),
    ]
    search = searched(tried, X, y, (0.2, 0.9))
    folds = search.tables.folds
    checked = 0
    for tau in search.quantiles:
        for held in [trial for trial in search.trials.values() if trial.tau == tau and trial.known().all()]:
            setting = held.setting
            slow = np.empty(len(y))
            for fold in np.unique(folds):
                inside = folds != fold
                kernel = held.candidate.learn(Rows(X[inside]), y[inside, None])[-1].kernel
                kernel = lengthened(kernel, setting.multiple)
                model = KernelQuantileRegressor(kernel, quantile=tau, C=setting.C * y.std()).fit(X[inside], y[inside])
                slow[~inside] = model.predict(X[~inside])
            assert np.allclose(held.predictions[:, 0], slow, atol=1e-8)
            r = y - slow
            assert np.isclose(search.error(held)[0], np.mean(np.where(r > 0, tau * r, (tau - 1) * r)))
            checked += 1
    assert checked >= 6
    linear = [trial for trial in search.trials.values() if trial.candidate == tried[2]]
    assert linear and all(trial.setting.multiple == 1.0 for trial in linear)  # Linear has no length scale


def test_members_are_quantile_regressions_on_all_rows_and_means_are_moved_to_the_held_out_share() -> None:
    X, y = noisy()
    levels = (0.1, 0.9)
    model = TableQuantileRegressor(levels).fit(X, y)
    assert len(model.members_) == len(model.result_.chosen)
    raw = np.zeros((len(y), 2))
    for place, tau in enumerate(levels):
        members = [member for member in model.members_ if member.label.startswith(f"{tau:g}: ")]
        assert np.isclose(sum(member.weight for member in members), 1.0)
        for member in members:
            assert member.model.dual.shape == (len(y), 2)
            assert not member.model.dual[:, 1 - place].any()
            C = float(member.label.rpartition("C = ")[2])
            slow = KernelQuantileRegressor(member.model.kernel, quantile=tau, C=C * y.std())
            Z = member.model.X
            values, own = slow.fit(Z, y).predict(Z), member.predict({member.scaling: Z})[:, place]
            shift = own - values
            assert np.allclose(shift, shift[0], atol=1e-8)  # one constant for all rows
            raw[:, place] += member.weight * own
    assert np.allclose(model.predict(X), np.sort(raw, axis=1), atol=1e-8)


def test_the_constant_is_the_best_one_on_held_out_rows() -> None:
    X, y = noisy(120)
    search = searched([Candidate("a", "standard", "likelihood", Laplacian("median"))], X, y, (0.1,))
    picks, mean = search.picked(0.1)
    assert np.isclose(sum(pick.weight for pick in picks), 1.0)
    residuals = y - mean
    loss = [np.mean(pinball(0.1)(mean[:, None] + shift, y[:, None])) for shift in residuals]
    best = np.mean(pinball(0.1)(mean[:, None] + np.quantile(residuals, 0.1), y[:, None]))
    assert best <= min(loss) + 1e-12
    assert abs(np.mean(residuals <= np.quantile(residuals, 0.1)) - 0.1) < 0.01


def test_the_spread_is_found_and_beats_constant_quantiles() -> None:
    X, y = noisy(200)
    new, truth = noisy(1000, seed=1)
    levels = (0.1, 0.9)
    model = TableQuantileRegressor(levels).fit(X, y)
    found = model.predict(new)
    for place, tau in enumerate(levels):
        loss = np.mean(pinball(tau)(found[:, [place]], truth[:, None]))
        constant = np.mean(pinball(tau)(np.full((1000, 1), np.quantile(y, tau)), truth[:, None]))
        assert loss < 0.9 * constant
        assert abs(np.mean(truth <= found[:, place]) - tau) < 0.06
    widths = found[:, 1] - found[:, 0]
    assert widths[new[:, 1] > 4.0].mean() > 2.0 * widths[new[:, 1] < 2.0].mean()
    scores = [d2_pinball_score(truth, found[:, place], alpha=tau) for place, tau in enumerate(levels)]
    assert model.score(new, truth) == pytest.approx(np.mean(scores))
    assert model.result_.error < model.result_.baseline
    assert "held-out pinball loss" in str(model.result_)


def test_units_of_the_target_do_not_matter() -> None:
    X, y = noisy(60)
    small, large = (TableQuantileRegressor(0.25).fit(X, unit * y) for unit in (1.0, 1024.0))
    assert np.allclose(1024.0 * small.predict(X), large.predict(X), rtol=1e-3, atol=1e-3 * 1024.0 * y.std())
    assert np.isclose(1024.0 * small.result_.error, large.result_.error, rtol=1e-3)


def test_mixed_tables_with_holes_do_not_cross_and_are_saved(tmp_path: Path) -> None:
    X, y = noisy(80)
    words = np.where(X[:, 0] > 3.0, "high", "low")
    frame = pd.DataFrame({"kind": words, "x": X[:, 1], "same": 1.0})
    frame.loc[::7, "x"] = np.nan
    model = TableQuantileRegressor((0.1, 0.5, 0.9)).fit(frame, y)
    found = model.predict(frame)
    assert found.shape == (80, 3)
    assert (np.diff(found, axis=1) >= 0.0).all()
    assert [column.note for column in model.result_.columns] == ["", "", "constant"]
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    mercer.save(model, tmp_path / "quantiles.mercer")
    assert np.array_equal(mercer.load(tmp_path / "quantiles.mercer").predict(frame), found)
    parts = mercer.explain(model, frame[:2], target=0.9)
    raw = model.scores(model.new_inputs(frame[:2]))[:, 2]
    assert np.allclose([part.base + part.contributions.sum() for part in parts], raw)
    with pytest.raises(InputError, match=r"one of the quantiles 0\.1, 0\.5, 0\.9"):
        mercer.explain(model, frame[:1])


def test_more_rows_than_are_searched_are_all_used_and_some_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "SEARCHED", 100)
    shares = []
    for seed in range(6):
        X, y = noisy(1400, seed)
        model = TableQuantileRegressor((0.1, 0.9), kernel="Laplacian('median')").fit(X[:400], y[:400])
        shares.append(np.mean(y[400:, None] <= model.predict(X[400:]), axis=0))
    assert model.result_.searched == 100
    assert model.result_.route == "exact on 400 rows"
    # 150 rows judge: a standard deviation of 2.4 % for each seed, and a little more by the rows that are added afterwards
    assert np.allclose(np.mean(shares, axis=0), (0.1, 0.9), atol=0.04)


def test_beyond_what_one_model_takes_each_has_rows_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "SEARCHED", 100)
    monkeypatch.setattr(quantile_regressor, "EXACT", 150)
    X, y = noisy(400)
    model = TableQuantileRegressor((0.1, 0.9), kernel="Laplacian('median')").fit(X, y)
    assert "each model on 150 rows or more of 400" in str(model.result_)
    chosen = [member.model.numbers() for member in model.members_]
    assert all(len(rows) == 150 for rows in chosen)
    assert len({tuple(rows) for rows in chosen}) == len(chosen)
    columns = {column.name: column for column in read_columns(X)}
    assert np.array_equal(model.members_[0].model.X, model._encoders["standard"](columns)[chosen[0]])
    # the rows that judge are in no fit, and the constant makes their shares right
    judges = np.setdiff1d(np.arange(400), np.unique(np.concatenate(chosen)))
    assert len(judges) >= 150 - 1
    limited = TableQuantileRegressor((0.1, 0.9), kernel="Laplacian('median')", time=QUICK).fit(X[:300], y[:300])
    assert np.isfinite(limited.predict(X)).all()


def test_a_kernel_that_is_given_keeps_its_numbers() -> None:
    X, y = noisy(60)
    model = TableQuantileRegressor(kernel=Gaussian(1.5)).fit(X, y)
    assert all(member.model.kernel == Gaussian(1.5) for member in model.members_)
    assert model.predict(X).shape == (60,)


def test_length_scales_are_multiplied_and_nothing_else() -> None:
    assert np.allclose(lengthened(Laplacian((1.0, 3.0)), 2.0).length_scale, (2.0, 6.0))  # type: ignore[attr-defined]
    kernel = 3.0 * Gaussian(2.0).linear(np.array([[1.0, 0.5], [0.0, 1.0]]))
    X = noisy(6)[0]
    assert np.allclose(lengthened(kernel, 4.0)(X), kernel(X / 4.0))
    assert lengthened(Linear(), 4.0) == Linear()


@pytest.mark.parametrize(
    ("quantile", "words"),
    [((0.0, 0.5), "between 0 and 1"), ((), "rising order"), ((0.9, 0.1), "rising order"), ((0.5, 0.5), "rising order"),
     ("high", "between 0 and 1"), (None, "between 0 and 1"), (True, "between 0 and 1")],
)  # fmt: skip
def test_bad_quantiles_are_named(quantile: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        TableQuantileRegressor(quantile).fit(*noisy(20))


def test_bad_tables_and_targets_are_named() -> None:
    X, y = noisy(20)
    with pytest.raises(ValueError, match="1d array"):
        TableQuantileRegressor().fit(X, np.column_stack([y, y]))
    with pytest.raises(InputError, match="y must be numbers for TableQuantileRegressor"):
        TableQuantileRegressor().fit(X, ["a"] * 20)
    with pytest.raises(InputError, match="no usable columns"):
        TableQuantileRegressor().fit(pd.DataFrame({"a": [None] * 20}), y)
    with pytest.raises(InputError, match="at least 4 rows"):
        TableQuantileRegressor().fit(X[:3], y[:3])


def test_constant_targets_and_a_short_time() -> None:
    X, _ = noisy(40)
    model = TableQuantileRegressor((0.1, 0.9), time=QUICK).fit(X, np.full(40, 7.0))
    assert np.allclose(model.predict(X), 7.0)
    assert "the time limit was reached" in str(model.result_)


@parametrize_with_checks([TableQuantileRegressor(time=QUICK)])
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)
