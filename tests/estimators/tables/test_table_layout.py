"""Order and groups in table models: folds, gaps, the rule that finds an order, notes on later rows; filled holes."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import mercer
from mercer import TableClassifier, TableRegressor
from mercer.errors import InputError
from mercer.estimators.tables import fitting
from mercer.estimators.tables.candidates import given
from mercer.estimators.tables.layout import Layout, find_order, gap_of, layout_of, neighbor_correlation
from mercer.estimators.tables.regressor import SQUARED
from mercer.estimators.tables.search import CandidateSearch
from mercer.inputs.frames import noted, read_columns

ONE = "Laplacian(1.0)"  # one candidate: a quick fit


def walk(n: int, seed: int, stay: float = 0.95) -> np.ndarray:
    rng, found = np.random.default_rng(seed), np.zeros(n)
    for i in range(1, n):
        found[i] = stay * found[i - 1] + np.sqrt(1 - stay**2) * rng.standard_normal()
    return found


def dated(n: int = 240, seed: int = 0) -> tuple[pl.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    start = datetime.date(2024, 1, 1)
    x = rng.standard_normal(n)
    frame = pl.DataFrame({"date": [start + datetime.timedelta(days=i) for i in range(n)], "x": x})
    return frame, np.sin(x) + walk(n, seed)


def columns_of(X: Any) -> list[Any]:
    return noted(read_columns(X))


# -- the rule ---------------------------------------------------------------------------------------------------------


def test_a_date_column_that_increases_is_an_order_and_a_shuffled_one_is_not() -> None:
    frame, y = dated()
    found = find_order(columns_of(frame), y[:, None])
    assert found is not None and found.order == ("date",) and "'date' increases with the row number" in found.reason
    mixed = np.random.default_rng(0).permutation(len(y))
    assert find_order(columns_of(frame[mixed]), y[mixed, None]) is None
    few = frame.with_columns(date=pl.lit(datetime.date(2024, 1, 1)))
    assert (
        find_order(
            columns_of(few.with_columns(x=pl.Series(np.arange(240) % 7))), np.random.default_rng(1).normal(size=(240, 1))
        )
        is None
    )
    numbers = frame.with_columns(date=pl.Series(np.linspace(0, 1, 240)))  # as the electricity table has it
    assert find_order(columns_of(numbers), y[:, None]) is not None


def test_neighbors_that_depend_on_each_other_are_an_order_and_a_sorted_table_is_not() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3))
    y = X[:, :1] + walk(300, 1)[:, None]
    found = find_order(columns_of(X), y)
    assert found is not None and found.order == () and found.reason.startswith("neighboring rows have similar errors")
    mixed = rng.permutation(300)
    assert find_order(columns_of(X[mixed]), y[mixed]) is None
    x = np.sort(rng.uniform(0, 6, 300))[:, None]
    assert neighbor_correlation(columns_of(x), np.sin(x) + 0.1 * rng.standard_normal((300, 1))) is None
    classes = np.eye(3)[np.repeat([0, 1, 2], 100)]
    X = classes.argmax(axis=1)[:, None] + 0.5 * rng.standard_normal((300, 2))
    assert find_order(columns_of(X), classes) is None  # sorted by class: the last rows would be of one class
    assert find_order(columns_of(X), np.sort(X[:, :1] + rng.standard_normal((300, 1)), axis=0)) is None


def test_rows_in_random_order_are_rarely_taken_for_a_series() -> None:
    rng = np.random.default_rng(0)
    taken = [find_order(columns_of(rng.standard_normal((80, 2))), rng.standard_t(2, (80, 1))) for _ in range(40)]
    assert taken.count(None) == 40


# -- folds ------------------------------------------------------------------------------------------------------------


def test_blocks_are_predicted_from_the_past_with_a_gap() -> None:
    n = 300
    X, y = np.random.default_rng(0).standard_normal((n, 2)), np.random.default_rng(1).standard_normal((n, 1))
    times = np.random.default_rng(2).permutation(n)
    fit = fitting.Fitting(columns_of(X), y, SQUARED, layout=Layout(times))
    rows = fit.searched(n)
    tables = fit.tables(rows)
    assert tables.places is not None
    np.testing.assert_array_equal(tables.places, times[rows])
    starts = []
    for fold in range(tables.n_folds):
        train, test, together = tables.parts(fold)
        assert tables.places[train].max() < tables.places[test].min() - gap_of(n) + 1 and set(together) == {0}
        starts.append(int(tables.places[test].min()))
    assert starts == sorted(starts, reverse=True) and tables.tested.sum() == n // 2
    # the predictions of a block are those of a fit to the rows before it
    search = CandidateSearch(tables, SQUARED, fit.effort())
    [candidate] = given(mercer.parse(ONE), "standard", "one")
    [(_, state, predicted, _)] = search.one_fold(candidate, 0)
    train, test, _ = tables.parts(0)
    Z, Y = tables.inputs["standard"].data, tables.targets
    twin = mercer.KernelRidge(state.kernel, alpha=state.alpha, fit_intercept=True).fit(Z[train], Y[train, 0])
    np.testing.assert_allclose(predicted[:, 0], twin.predict(Z[test]), atol=1e-8)


def test_a_row_is_left_out_with_its_whole_group() -> None:
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 12, 120)
    X, y = rng.standard_normal((120, 2)), rng.standard_normal((12, 1))[groups]
    fit = fitting.Fitting(columns_of(X), y, SQUARED, layout=Layout(groups=groups))
    tables = fit.tables(fit.searched(120))
    assert all(len(set(tables.folds[tables.groups == group])) == 1 for group in range(12))
    search = CandidateSearch(tables, SQUARED, fit.effort())
    [candidate] = given(mercer.parse(ONE), "standard", "one")
    [(_, state, predicted, _)] = search.one_fold(candidate, 1)
    _, test, own = tables.parts(1)
    Z, Y = tables.inputs["standard"].data, tables.targets[:, 0]
    for group in np.unique(own):
        out = tables.groups == group
        twin = mercer.KernelRidge(state.kernel, alpha=state.alpha, fit_intercept=True).fit(Z[~out], Y[~out])
        np.testing.assert_allclose(predicted[own == group, 0], twin.predict(Z[test[own == group]]), atol=1e-8)


@pytest.mark.parametrize("grouped", [True, False])
def test_judges_of_a_long_table_are_late_or_of_groups_that_no_metric_has_seen(grouped: bool) -> None:
    rng = np.random.default_rng(0)
    n = 3000
    groups = rng.integers(0, 200, n)
    layout = Layout(groups=groups) if grouped else Layout(rng.permutation(n))
    X, y = rng.standard_normal((n, 2)), rng.standard_normal((n, 1))
    first, fit = (fitting.Fitting(columns_of(X), y, SQUARED, layout=layout, kernel=mercer.parse("Linear()")) for _ in "ab")
    judges = first.judges
    rows = first.searched(n, judges)
    assert 0 < len(judges) <= 620 and len(rows) == fitting.SEARCHED and not set(rows) & set(judges)
    if layout.places is not None:
        assert layout.places[rows].max() < layout.places[judges].min() - gap_of(n) + 1
    else:
        assert not set(groups[rows]) & set(groups[judges])
    outcome = fit.run()
    assert len(outcome.held_out) == len(judges) and outcome.result.rows == n
    [member] = outcome.members
    out = np.isin(np.arange(n), np.concatenate([judges, layout.near(judges)]))
    if not grouped:  # the slow twin: a fit without the judges and the rows near them
        Z = outcome.encoders["standard"]({c.name: c for c in columns_of(X)})
        assert not isinstance(Z, dict)
        center, spread = member.transform.center[0], member.transform.spread[0]
        twin = mercer.KernelRidge(member.model.kernel, alpha=member.model.alpha, fit_intercept=True)
        twin.fit(Z[~out], (y[~out, 0] - center) / spread)
        np.testing.assert_allclose(outcome.held_out[:, 0], twin.predict(Z[judges]) * spread + center, atol=1e-7)


# -- models -----------------------------------------------------------------------------------------------------------


def test_the_error_of_a_series_is_that_of_later_rows() -> None:
    frame, y = dated(400)
    honest = TableRegressor(kernel="Laplacian('median')").fit(frame[:300], y[:300])
    naive = TableRegressor(kernel="Laplacian('median')", order=False).fit(frame[:300], y[:300])
    reached = np.sqrt(np.mean((honest.predict(frame[300:]) - y[300:]) ** 2))
    assert naive.result_.error < 0.6 * reached  # rows between training rows are easy
    assert honest.result_.error > 1.5 * naive.result_.error
    assert "so later rows judge" in honest.result_.notes[0] and "blocks of later rows by 'date'" in str(honest.result_)
    assert naive.result_.split == "" and "at random" not in str(naive.result_)


def test_time_enters_a_model_only_if_it_helps_on_later_rows() -> None:
    rng = np.random.default_rng(0)
    n = 300
    days = [datetime.date(2022, 1, 1) + datetime.timedelta(days=int(i)) for i in range(n)]
    x = rng.standard_normal(n)
    frame = pl.DataFrame({"date": days, "x": x})
    alone = TableRegressor(order="date", time=1.0).fit(frame, np.sin(2 * x) + walk(n, 3, 0.99))
    notes = {note.name: note.note for note in alone.result_.columns}
    assert notes["x"] == ""
    week = TableRegressor(order="date", time=1.0).fit(frame, x + 2 * np.sin(2 * np.pi * np.arange(n) / 7))
    assert {note.name: note.note for note in week.result_.columns}["date"] == ""
    assert week.result_.error < 0.7 * week.result_.baseline


def test_later_rows_and_new_holes_are_counted_in_notes(tmp_path: Path) -> None:
    frame, y = dated(120)
    model = TableRegressor(kernel=ONE + ".on('x')", order="date").fit(frame[:100], y[:100])
    assert model.notes(frame[:100]) == []
    [note] = model.notes(frame[90:])
    assert note == "20 rows are later than the last training row by 'date' (2024-04-09): the model extrapolates"
    holed = frame[:5].with_columns(x=pl.Series([None, 1.0, None, 0.0, 0.0]))
    assert model.notes(holed) == ["'x' has 2 missing cells, and had none in training: filled with a typical value"]
    mercer.save(model, tmp_path / "m.mercer")
    again = mercer.load(tmp_path / "m.mercer")
    assert again.notes(frame[90:]) == [note] and again.result_.split == model.result_.split
    np.testing.assert_array_equal(again.predict(holed), model.predict(holed))
    whole = model.refitted(read_columns(frame), y)
    assert whole is not None and whole.notes(frame[90:]) == []
    several = pl.DataFrame(
        {"year": [2020] * 50 + [2021] * 50, "month": np.tile(np.repeat(np.arange(1, 11), 5), 2), "x": frame["x"][:100]}
    )
    model = TableRegressor(kernel=ONE + ".on('x')", order=("year", "month")).fit(several, y[:100])
    new = pl.DataFrame({"year": [2021, 2021, 2022], "month": [10, 11, 1], "x": [0.0, 0.0, 0.0]})
    assert model.notes(new) == [
        "2 rows are later than the last training row by 'year', 'month' (2021 10): the model extrapolates"
    ]


def test_groups_and_order_of_a_classifier() -> None:
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(24), 8)
    X = np.column_stack([rng.standard_normal(192), rng.standard_normal(24)[groups]])
    labels = np.where(rng.standard_normal(24)[groups] > 0, "a", "b")  # known by the group alone
    naive = TableClassifier(kernel="Laplacian('median')", order=False).fit(X, labels)
    honest = TableClassifier(kernel="Laplacian('median')", order=False).fit(X, labels, groups=groups)
    assert naive.result_.error < 0.3 < 0.6 < honest.result_.error
    assert "whole groups of rows" in str(honest.result_)
    both = layout_of(columns_of(X), "x0", groups, np.eye(2)[(labels == "a").astype(int)])
    assert both is not None and both.places is not None
    assert all(len(set(both.places[groups == group])) == 1 for group in range(24))


def test_a_wrong_order_is_refused() -> None:
    frame, y = dated(80)
    frame = frame.with_columns(word=pl.Series(["a", "b"] * 40), gap=pl.Series([None, *range(79)]), one=pl.lit(1.0))
    for order, message in (
        ("when", "there is no column 'when'; the columns are 'date', 'x', 'word'"),
        ("word", "column 'word' holds category cells"),
        ("gap", "column 'gap' has a missing cell at row 0"),
        ("one", "the same value in every row"),
        ((), "no column is named"),
    ):
        with pytest.raises(InputError, match=message):
            TableRegressor(order=order).fit(frame, y)
    with pytest.raises(InputError, match="groups has 2 labels for 80 rows"):
        TableRegressor().fit(frame, y, groups=[1, 2])


# -- holes ------------------------------------------------------------------------------------------------------------


def test_holes_are_filled_and_marked() -> None:
    from mercer.estimators.tables.encoding import encode, encoders_of

    frame = pl.DataFrame({
        "a": [1.0, None, 3.0, 8.0], "c": ["u", None, "v", "u"],
        "o": pl.Series(["s", "l", "s", None], dtype=pl.Enum(["s", "l"])),
        "d": [datetime.date(2024, 1, 1), None, datetime.date(2024, 1, 3), datetime.date(2024, 1, 2)],
        "w": [1.0, 2.0, 3.0, 5.0],
    })  # fmt: skip
    encoders = encoders_of(columns_of(frame))
    assert set(encoders) == {"standard", "quantile", "columns"}
    names = encoders["standard"].names
    assert names == ["a", "a missing", "c=u", "c=v", "c missing", "c=other", "o", "o missing", "d", "d missing", "w"]
    Z = encode(encoders, columns_of(frame))["standard"].data
    column = dict(zip(names, Z.T, strict=True))
    scaled = (3.0 - 4.0) / np.std([1.0, 3.0, 8.0])
    assert column["a"][1] == pytest.approx(scaled) and column["a missing"].tolist() == [0, 1, 0, 0]
    assert column["c missing"].tolist() == [0, 1, 0, 0] and column["d"][1] == column["d"][3]
    new = encode(encoders, columns_of(frame.with_columns(w=pl.lit(None, dtype=pl.Float64))))["standard"].data
    assert (new[:, names.index("w")] == (2.5 - 2.75) / np.std([1.0, 2.0, 3.0, 5.0])).all()


def test_nothing_is_refused_at_predict() -> None:
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abcd"), 6)) for _ in range(80)]
    frame = pl.DataFrame({"x": rng.standard_normal(80), "c": rng.choice(list("uvw"), 80).tolist(), "t": words})
    y = frame["x"].to_numpy() + 1.0
    for kernel in (None, "Laplacian(1.0).on('x') * Categorical().on('c')"):
        model = TableRegressor(kernel=kernel, time=0.2).fit(frame, y)
        for name in model.feature_names_in_:
            empty = frame[:3].with_columns(pl.lit(None, dtype=frame[name].dtype).alias(name))
            assert np.isfinite(model.predict(empty)).all() and np.isfinite(model.predict_interval(empty)).all()
