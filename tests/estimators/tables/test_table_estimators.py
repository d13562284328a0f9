"""TableRegressor and TableClassifier: mixed tables, holes, odd input, intervals, budgets, saving, scikit-learn's checks."""

from __future__ import annotations

import datetime
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import TableClassifier, TableRegressor
from mercer.errors import InputError
from mercer.inputs.tables import Table

QUICK = 1e-6  # seconds: the first candidate alone


def mixed(n: int = 150, holes: float = 0.0, seed: int = 0) -> tuple[dict[str, list[Any]], np.ndarray]:
    rng = np.random.default_rng(seed)
    age, city = rng.normal(40, 10, n), rng.choice(["Rome", "Oslo", "Bonn"], n)
    when = [datetime.datetime(2026, 1, 1) + datetime.timedelta(hours=5 * i) for i in range(n)]
    y = 0.1 * age + np.where(city == "Rome", 2.0, 0.0) + np.sin(np.arange(n) * 5 / 24 * 2 * np.pi / 7)
    table: dict[str, list[Any]] = {"age": age.tolist(), "city": city.tolist(), "when": when, "row": list(range(n))}
    for name in ("age", "city"):
        table[name] = [None if rng.random() < holes else cell for cell in table[name]]
    return table, y + 0.1 * rng.standard_normal(n)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_a_mixed_table_is_learned_and_says_what_it_did(make: Any) -> None:
    table, y = mixed()
    frame = make(table)
    model = TableRegressor(time=QUICK, random_state=0).fit(frame[:120], y[:120])
    assert np.corrcoef(model.predict(frame[120:]), y[120:])[0, 1] > 0.8
    text = str(model.result_)
    assert "'row', identifier" in text
    assert "held-out RMSE" in text
    assert model.result_.error < 0.6 * model.result_.baseline
    assert sum(attempt.weight for attempt in model.result_.attempts) == pytest.approx(1.0)
    assert model.feature_importances_.shape == (4,)
    assert model.feature_importances_[3] == 0.0
    assert np.isclose(model.feature_importances_.sum(), 1.0)


def test_holes_are_learned_by_a_psd_kernel() -> None:
    table, y = mixed(200, holes=0.3)
    frame = pl.DataFrame(table)
    model = TableRegressor(time=QUICK).fit(frame[:160], y[:160])
    assert all(member.model.kernel.certificate().status == "valid" for member in model.members_)
    tried = {attempt.scaling for attempt in model.result_.attempts}
    assert tried == {"standard", "quantile", "columns"} or model.result_.notes  # all candidates compete if time allows
    assert np.corrcoef(model.predict(frame[160:]), y[160:])[0, 1] > 0.6
    assert "missing cells" in str(model.result_)


def test_dates_keep_their_periods_beside_holes() -> None:
    rng = np.random.default_rng(0)
    hours = rng.permutation(24 * 40)[:240]
    start = datetime.datetime(2026, 1, 1)
    x = [None if rng.random() < 0.2 else float(rng.standard_normal()) for _ in hours]
    frame = pl.DataFrame({"when": [start + datetime.timedelta(hours=int(hour)) for hour in hours], "x": x})
    y = np.sin(2 * np.pi * hours / 24) + 0.05 * rng.standard_normal(240)
    model = TableRegressor(time=QUICK).fit(frame[:180], y[:180])
    assert np.sqrt(np.mean((model.predict(frame[180:]) - y[180:]) ** 2)) < 0.3


def test_text_helps_where_it_matters() -> None:
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abcd"), 8)) for _ in range(160)]
    x = rng.standard_normal(160)
    y = x + np.array([word.count("ab") for word in words]) * 2.0
    frame = pl.DataFrame({"x": x, "word": words})
    with_text = TableRegressor(time=QUICK).fit(frame[:120], y[:120])
    without = TableRegressor(time=QUICK).fit(frame[["x"]][:120], y[:120])
    errors = [np.mean((m.predict(f[120:]) - y[120:]) ** 2) for m, f in ((with_text, frame), (without, frame[["x"]]))]
    assert errors[0] < 0.6 * errors[1]


def test_categories_unseen_before_and_columns_in_another_order() -> None:
    table, y = mixed()
    model = TableRegressor(time=QUICK).fit(pl.DataFrame(table), y)
    new = pl.DataFrame({name: cells[:3] for name, cells in table.items()}).with_columns(city=pl.lit("Lima"))
    assert np.isfinite(model.predict(new)).all()
    classifier = TableClassifier(time=QUICK).fit(pl.DataFrame(table), np.where(y > y.mean(), "up", "down"))
    assert classifier.predict_proba(new).shape == (3, 2)


def test_what_cannot_be_learned_or_predicted_is_said() -> None:
    table, y = mixed()
    frame = pl.DataFrame(table)
    with pytest.raises(InputError, match="at least 4 rows"):
        TableRegressor().fit(frame[:1], y[:1])
    with pytest.raises(InputError, match="one class"):
        TableClassifier().fit(frame, ["only"] * 150)
    with pytest.raises(InputError, match=r"NaN \(row 3\)"):
        TableRegressor().fit(frame, np.where(np.arange(150) == 3, np.nan, y))
    with pytest.raises(InputError, match=r"NaN \(row 0\)"):
        TableClassifier().fit(frame, [None, *["a", "b"] * 74, "a"])
    with pytest.raises(InputError, match="two columns named 'a'"):
        TableRegressor().fit(pd.DataFrame(np.zeros((9, 2)), columns=["a", "a"]), np.arange(9.0))
    with pytest.raises(InputError, match="time must be"):
        TableRegressor(time=-1.0).fit(frame, y)
    with pytest.raises(InputError, match="no usable columns"):
        TableRegressor().fit(pl.DataFrame({"a": [None] * 9}), np.arange(9.0))
    model = TableRegressor(time=QUICK).fit(frame, y)
    with pytest.raises(InputError, match="'age' changed its type"):
        model.predict(frame[:2].with_columns(age=pl.lit("old")))


def test_an_all_missing_column_is_left_out_and_named() -> None:
    table, y = mixed()
    model = TableRegressor(time=QUICK).fit(pl.DataFrame({**table, "empty": [None] * 150}), y)
    assert "'empty', all missing" in str(model.result_)


@pytest.mark.filterwarnings("ignore:.*all rows are equal")
@pytest.mark.parametrize("X", [np.ones((40, 2)), pl.DataFrame({"a": ["x"] * 40})], ids=["numbers", "text"])
@pytest.mark.parametrize("kernel", [None, "Gaussian(1.0)"])
def test_rows_without_any_difference_have_one_prediction(X: Any, kernel: str | None) -> None:
    """Equal rows are left out together, but there must be others to fit."""
    y = np.random.default_rng(0).normal(size=40)
    model = TableRegressor(kernel=kernel).fit(X, y)
    low, high = model.predict_interval(X).T
    np.testing.assert_allclose(model.predict(X), y.mean(), atol=0.1 * y.std())
    assert 0.8 <= np.mean((low <= y) & (y <= high)) <= 1.0


def test_many_columns_and_a_constant_target() -> None:
    X = np.random.default_rng(0).standard_normal((30, 10_000))
    model = TableRegressor(time=QUICK).fit(X, X[:, 0])
    assert np.isfinite(model.predict(X[:2])).all()
    flat = TableRegressor(time=QUICK).fit(X[:, :3], np.full(30, 7.0))
    assert np.allclose(flat.predict(X[:4, :3]), 7.0)


def test_intervals_are_wider_where_the_noise_is_and_cover() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (900, 2))
    y = np.sin(3 * X[:, 0]) + np.where(X[:, 1] > 0, 0.5, 0.05) * rng.standard_normal(900)
    model = TableRegressor(time=QUICK).fit(X[:400], y[:400])
    low, high = model.predict_interval(X[400:], 0.9).T
    inside = (low <= y[400:]) & (y[400:] <= high)
    assert 0.86 < inside.mean() < 0.95  # 500 rows: a standard deviation of 1.3 %
    wide = X[400:, 1] > 0
    assert (high - low)[wide].mean() > 2.0 * (high - low)[~wide].mean()
    with pytest.raises(InputError, match="coverage must lie"):
        model.predict_interval(X[:2], 1.5)


def test_more_rows_than_are_searched_are_all_used(monkeypatch: pytest.MonkeyPatch) -> None:
    from mercer.estimators.tables import fitting

    monkeypatch.setattr(fitting, "SEARCHED_20", 200)
    monkeypatch.setattr(fitting, "JUDGES", 100)
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (800, 2))
    y = np.sin(5 * X[:, 0]) + 0.1 * rng.standard_normal(800)
    model = TableRegressor(time=QUICK).fit(X[:600], y[:600])
    assert len(model.members_[0].model.dual) == 600
    low, high = model.predict_interval(X[600:], 0.9).T
    assert 0.82 < np.mean((low <= y[600:]) & (y[600:] <= high)) < 0.97
    few = TableRegressor(time=QUICK, memory="2 MB").fit(X[:600], y[:600])
    assert "landmarks" in few.result_.route


def test_the_same_seed_gives_the_same_model_and_files_keep_it(tmp_path: Path) -> None:
    table, y = mixed(120, holes=0.2)
    frame = pl.DataFrame(table)
    first, second = (TableRegressor(time=QUICK, random_state=3).fit(frame, y) for _ in range(2))
    assert np.array_equal(first.predict(frame), second.predict(frame))
    mercer.save(first, tmp_path / "table.mercer")
    again = mercer.load(tmp_path / "table.mercer")
    assert np.array_equal(again.predict(frame), first.predict(frame))
    assert np.array_equal(again.predict_interval(frame[:9]), first.predict_interval(frame[:9]))
    assert str(again.result_) == str(first.result_)


def test_without_a_limit_several_candidates_are_averaged() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(90)
    model = TableRegressor(random_state=0).fit(X, y)
    assert len({attempt.label.split(",")[0] for attempt in model.result_.attempts}) >= 4
    assert 1 <= len(model.members_) <= 8
    best = min(attempt.error for attempt in model.result_.attempts if attempt.complete)
    assert model.result_.error <= 1.1 * best  # its weights are chosen without the rows that it is measured on


def test_a_skewed_target_is_tried_after_a_transform() -> None:
    from mercer.estimators.tables.targets import YEO_JOHNSON, transform_of

    y = np.exp(np.random.default_rng(0).standard_normal(200) * 1.5)[:, None] - 3.0
    transform = transform_of(YEO_JOHNSON, y)
    assert np.allclose(transform.backward(transform.forward(y)), y, rtol=1e-6, atol=1e-8)
    assert abs(float(np.mean(transform.forward(y) ** 3))) < 0.2 * abs(float(np.mean(((y - y.mean()) / y.std()) ** 3)))
    X = np.random.default_rng(1).standard_normal((60, 1))
    model = TableRegressor().fit(X, np.exp(2 * X[:, 0]))
    assert any(attempt.transform == YEO_JOHNSON for attempt in model.result_.attempts)


@parametrize_with_checks([TableRegressor(time=QUICK), TableClassifier(time=QUICK)])
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def test_names_are_matched_and_tables_without_names_go_by_place(rng: np.random.Generator) -> None:
    X, y = rng.normal(size=(40, 3)), rng.normal(size=40)
    frame, table = pl.DataFrame(X, schema=["a", "b", "c"]), Table({name: X[:, i] for i, name in enumerate("abc")})
    kinds = {"array": X, "frame": frame, "table": table}
    models = {kind: TableRegressor(kernel="Gaussian(1.0)").fit(data, y) for kind, data in kinds.items()}
    expected = models["array"].predict(X)
    for fitted, given, words in (
        ("frame", "array", "does not have valid feature names"),
        ("array", "frame", "was fitted without feature names"),
    ):
        with pytest.warns(UserWarning, match=words):
            np.testing.assert_allclose(models[fitted].predict(kinds[given]), expected, rtol=1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for fitted, given in (("frame", "table"), ("table", "frame"), ("table", "array"), ("array", "array")):
            np.testing.assert_allclose(models[fitted].predict(kinds[given]), expected, rtol=1e-12)
        # by name: other columns and another order do not matter to a table of ours
        other = Table({"d": X[:, 0], "c": X[:, 2], "a": X[:, 0], "b": X[:, 1]})
        np.testing.assert_allclose(models["frame"].predict(other), expected, rtol=1e-12)
        np.testing.assert_allclose(models["table"].predict(frame.select("c", "a", "b", d="a")), expected, rtol=1e-12)
    with pytest.raises(ValueError, match="Feature names must be in the same order"):
        models["frame"].predict(frame.select("c", "a", "b"))
    with pytest.raises(InputError, match="X has no column 'c'"):
        models["table"].predict(frame.select("a", "b"))


@pytest.mark.parametrize("frame", ["pandas", "polars", "arrow"])
def test_frames_are_matched_by_name_if_a_table_was_fitted(frame: str) -> None:
    """What `mercer fit` writes takes columns in any order from every kind of data frame, Arrow tables too."""
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"a": rng.normal(size=60), "b": 10.0 * rng.normal(size=60), "c": rng.choice(["u", "v"], 60)})
    model = TableRegressor(time=QUICK).fit(Table({name: data[name].to_numpy() for name in data}), 3.0 * data["a"])
    new, other = data.head(4), data[["c", "b", "a"]].head(4).assign(more=1.0)
    made = {"pandas": other, "polars": pl.from_pandas(other), "arrow": pa.Table.from_pandas(other, preserve_index=False)}
    np.testing.assert_array_equal(model.predict(made[frame]), model.predict(new))
    odd = {"pandas": new.assign(a=["1", "x", "2", "3"]), "polars": pl.from_pandas(new.assign(a=["1", "x", "2", "3"]))}
    for table in odd.values():
        with pytest.raises(InputError, match="numbers in training, categories now, such as 'x'"):
            model.predict(table)
