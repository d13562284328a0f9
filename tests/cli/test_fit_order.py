"""`mercer fit --order` and `--group`: which rows are held out, what is said, and the sections of the report."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.cli.tables import QUICK, invoke, table

from mercer.inputs.tables import Table
from mercer.workflow.question import FitSettings, ask, asked_order
from mercer.workflow.scores import Resampled, classification_scores, regression_scores
from mercer.workflow.training import split, train, units_of


def series(n: int = 120) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    date = (np.datetime64("2026-01-01") + np.arange(n)).astype(str)
    return {"date": date, "patient": np.array([f"p{i % 15}" for i in range(n)]), "y": np.cumsum(rng.normal(size=n))}


def test_a_dated_table_holds_out_its_last_rows_and_says_so(tmp_path: Path) -> None:
    data = table(tmp_path / "d.csv", 120, **series())
    result = invoke(
        "fit",
        data,
        "--target",
        "y",
        "--drop",
        "patient",
        "--out",
        tmp_path / "out",
        "--kernel",
        "Laplacian(1.0).on('small')",
    )
    assert result.exit_code == 0, result.stderr
    assert "the column 'date' increases with the row number, so the last rows are held out" in result.stderr
    assert "24 held out (the last rows by date)" in result.stdout
    metrics = json.loads((tmp_path / "out" / "metrics.json").read_text())
    assert metrics["split"] == "the last rows by date" and metrics["rows"]["held_out"] == 24
    report = (tmp_path / "out" / "report.html").read_text()
    assert "Errors over time" in report and "2026-04-07" in report
    new = table(tmp_path / "n.csv", 3, date=np.array(["2026-05-01"] * 3))
    said = invoke("predict", tmp_path / "out", new)
    assert said.exit_code == 0 and "3 rows are later than the last training row by 'date' (2026-04-30)" in said.stderr
    result = invoke(
        "fit", data, "--target", "y", "--order", "none", "--out", tmp_path / "r", "--drop", "patient,date", *QUICK
    )
    assert result.exit_code == 0 and "increases" not in result.stderr and "at random" not in result.stdout


def test_groups_are_held_out_whole_and_not_learned_from(tmp_path: Path) -> None:
    data = table(tmp_path / "d.csv", 120, **series())
    result = invoke("fit", data, "--target", "y", "--group", "patient", "--drop", "date", "--out", tmp_path / "out", *QUICK)
    assert result.exit_code == 0, result.stderr
    assert "24 held out (whole groups of patient)" in result.stdout
    report = (tmp_path / "out" / "report.html").read_text()
    assert "Errors by group" in report and "3 groups that the model has not seen" in report
    metrics = json.loads((tmp_path / "out" / "metrics.json").read_text())
    assert "patient" not in [column["name"] for column in metrics["columns"]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--order", "when"], "there is no column 'when'"),
        (["--order", "patient"], "column 'patient' holds category cells"),
        (["--group", "y"], "'y' is both the target and the group"),
        (["--group", "constant"], "one group only"),
        (["--group", "house"], "there is no column 'house'"),
    ],
)
def test_wrong_columns_are_named(tmp_path: Path, options: list[str], message: str) -> None:
    data = table(tmp_path / "d.csv", 120, **series())
    result = invoke("fit", data, "--target", "y", "--out", tmp_path / "out", *options, *QUICK)
    assert result.exit_code == 64 and message in result.stderr


def test_splits_by_time_and_group() -> None:
    rng = np.random.default_rng(0)
    year, x = rng.integers(2000, 2020, 300).astype(float), rng.normal(size=300)
    T = Table({"year": year, "x": x, "g": rng.integers(0, 30, 300).astype(str), "y": x + rng.normal(size=300)})
    question = ask("t", T, "y", order=["year"])
    train_rows, test_rows = split(question, FitSettings())
    assert year[train_rows].max() < year[test_rows].min() and abs(len(test_rows) - 60) < 20
    units = units_of(question.layout, test_rows)
    assert units is not None and (np.diff(units[np.argsort(year[test_rows], kind="stable")]) >= 0).all()
    question = ask("t", T, "y", group="g")
    assert question.groups is not None and question.names == ("year", "x")
    train_rows, test_rows = split(question, FitSettings())
    assert not set(question.groups[train_rows]) & set(question.groups[test_rows]) and abs(len(test_rows) - 60) < 15
    plain = ask("t", T, "y", order=False)
    assert plain.layout is None and units_of(None, test_rows) is None
    assert asked_order(["a,b", "rows"], "rows") == ["rows"] and asked_order(["a"], "rows") is True
    assert asked_order(["a"], "none") is False and asked_order(["a"], "a, b") == ["a", "b"] and asked_order([], None) is None
    assert asked_order(["a,b"], "a,b") == ["a,b"]


def test_intervals_of_dependent_rows_are_those_of_their_units() -> None:
    """With equal rows in each of k units the interval is that of k rows, with Student's t; rows at random are too sure."""
    rng = np.random.default_rng(0)
    errors = np.repeat(rng.normal(size=12), 50)
    by_unit = regression_scores(errors, np.zeros(600), Resampled(600, np.repeat(np.arange(12), 50)))[0]
    by_row = regression_scores(errors, np.zeros(600), Resampled(600))[0]
    alone = regression_scores(errors[::50], np.zeros(12), Resampled(12))[0]
    assert by_unit.value == pytest.approx(by_row.value)
    assert by_unit.high - by_unit.low > 4 * (by_row.high - by_row.low)
    stretch = 2.201 / 1.96 * (12 / 11) ** 0.5
    assert np.log(by_unit.high / by_unit.value) == pytest.approx(stretch * np.log(alone.value / alone.low), rel=1e-3)
    assert np.log(by_unit.value / by_unit.low) == pytest.approx(stretch * np.log(alone.high / alone.value), rel=1e-3)


def test_errors_of_a_few_groups_have_an_interval_that_reaches_further_up() -> None:
    """The mean of 12 squared effects is skewed: samples without the worst groups are more frequent."""
    inside = []
    for seed in range(200):
        effects = np.random.default_rng(seed).standard_normal(12)
        errors = np.repeat(effects, 5)
        found = regression_scores(errors, np.zeros(60), Resampled(60, np.repeat(np.arange(12), 5)))[0]
        assert found.low > 0.0 and found.high - found.value > found.value - found.low
        inside.append(found.low <= 1.0 <= found.high)
    assert np.mean(inside) >= 0.87
    none = regression_scores(np.zeros(60), np.zeros(60), Resampled(60, np.repeat(np.arange(12), 5)))[0]
    assert (none.low, none.value, none.high) == (0.0, 0.0, 0.0)


def test_area_and_average_precision_are_those_of_scikit_learn() -> None:
    from sklearn.metrics import average_precision_score, roc_auc_score

    rng = np.random.default_rng(0)
    codes, score = rng.integers(0, 2, 200), np.round(rng.random(200), 1)  # with ties
    P = np.column_stack([1 - score, score])
    for units in (None, np.repeat(np.arange(20), 10)):
        found = {one.measure: one for one in classification_scores(codes, P, Resampled(200, units))}
        assert found["AUC"].value == pytest.approx(roc_auc_score(codes, score))
        assert found["average precision"].value == pytest.approx(average_precision_score(codes, score))
        assert 0 <= found["AUC"].low < found["AUC"].value < found["AUC"].high <= 1


def test_the_promise_of_a_series_holds_and_that_of_random_rows_does_not() -> None:
    from benchmarks.table_promise import electricity, reached

    T = electricity(700)
    settings = FitSettings(kernel="Laplacian('median')")
    known, later = T[np.arange(500)], T[np.arange(500, 700)]
    honest = train(ask("t", known, "class"), settings)
    naive = train(ask("t", known, "class", order=False), settings)
    assert honest.split == "the last rows by date" and naive.split == "rows at random"
    assert naive.scores[0].low > reached(naive, later)
    score = honest.scores[0]
    assert score.low <= reached(honest, later) <= score.high or any("may change again" in note for note in honest.notes)
