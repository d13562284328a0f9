"""Rivals and scores: every kind of column is taken, unseen classes have their place, intervals hold the truth."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.metrics import log_loss, mean_squared_error, r2_score, roc_auc_score, roc_curve

from mercer.inputs.frames import read_columns
from mercer.workflow import rivals as rivals_module
from mercer.workflow.rivals import rivals
from mercer.workflow.scores import (
    Resampled,
    classification_difference,
    classification_scores,
    regression_difference,
    regression_scores,
    roc,
)


def mixed(n: int, rng: np.random.Generator) -> tuple[pl.DataFrame, np.ndarray]:
    age, city = rng.normal(size=n), rng.choice(["Rome", "Oslo", "Bonn"], n)
    y = 2.0 * age + (city == "Oslo") + 0.1 * rng.normal(size=n)
    frame = pl.DataFrame(
        {
            "age": [None if i % 7 == 0 else value for i, value in enumerate(age.tolist())],
            "city": [None if i % 5 == 0 else value for i, value in enumerate(city.tolist())],
            "day": [datetime.date(2024, 1, 1) + datetime.timedelta(days=int(i)) for i in rng.integers(0, 900, n)],
            "note": [f"some words {i} {rng.integers(10**6)}" for i in range(n)],
        }
    )
    return frame, y


def test_rivals_take_every_kind_of_column(rng: np.random.Generator) -> None:
    frame, y = mixed(300, rng)
    found = rivals(read_columns(frame[:200]), y[:200], read_columns(frame[200:]), None)
    assert [rival.key for rival in found] == ["baseline", "linear", "boosting"]
    errors = {rival.key: mean_squared_error(y[200:], rival.predictions) for rival in found}
    assert errors["linear"] < 0.6 * errors["baseline"] and errors["boosting"] < 0.6 * errors["baseline"]
    assert "text, graphs and molecules left out: note" in found[1].how


def test_classes_stand_in_the_model_s_order(rng: np.random.Generator) -> None:
    frame, y = mixed(300, rng)
    labels = np.where(y > 1, "high", np.where(y > -1, "mid", "low"))
    classes = np.array(["high", "low", "mid", "never"])
    found = rivals(read_columns(frame[:200]), labels[:200], read_columns(frame[200:]), classes)
    for rival in found:
        assert rival.predictions.shape == (100, 4)
        assert (rival.predictions[:, 3] == 0).all()
        np.testing.assert_allclose(rival.predictions.sum(axis=1), 1.0)
    assert np.mean(classes[found[2].predictions.argmax(axis=1)] == labels[200:]) > 0.6


def test_many_rows_are_sampled_and_said(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rivals_module, "MOST_CELLS", 60)
    X, y = rng.normal(size=(100, 2)), rng.normal(size=100)
    found = rivals(read_columns(X), y, read_columns(X[:5]), None)
    assert "fitted to 60 of 100 rows" in found[1].how


def test_regression_scores_are_scikit_learn_s(rng: np.random.Generator) -> None:
    y = rng.normal(size=400)
    p = y + 0.5 * rng.normal(size=400)
    by_name = {score.measure: score for score in regression_scores(y, p, Resampled(400))}
    assert by_name["RMSE"].value == pytest.approx(mean_squared_error(y, p) ** 0.5)
    assert by_name["R²"].value == pytest.approx(r2_score(y, p))
    for score in by_name.values():
        assert score.low < score.value < score.high
    rmse = by_name["RMSE"]
    assert rmse.high - rmse.low == pytest.approx(2 * 1.96 * rmse.value / np.sqrt(2 * 400), rel=0.3)  # for normal errors


def test_classification_scores_are_scikit_learn_s(rng: np.random.Generator) -> None:
    codes = rng.integers(0, 2, 300)
    score = np.round(np.clip(0.5 + 0.2 * (codes - 0.5) + 0.2 * rng.normal(size=300), 0.01, 0.99), 2)  # with ties
    P = np.column_stack([1 - score, score])
    by_name = {found.measure: found for found in classification_scores(codes, P, Resampled(300))}
    assert by_name["log-loss"].value == pytest.approx(log_loss(codes, P))
    assert by_name["AUC"].value == pytest.approx(roc_auc_score(codes, score))
    false, true = roc(codes, score)
    expected: Any = roc_curve(codes, score, drop_intermediate=False)
    np.testing.assert_allclose(false, expected[0])
    np.testing.assert_allclose(true, expected[1])


def test_differences_are_paired(rng: np.random.Generator) -> None:
    """Two models with the same large errors, one a little better on every row: the pairs show it, the intervals do not."""
    y, noise = rng.normal(size=200), rng.normal(size=200)
    mine, other = y + noise, y + 1.02 * noise
    resampled = Resampled(200)
    gap = regression_difference(y, mine, other, resampled)
    assert 0 < gap.low < gap.value < gap.high
    codes = rng.integers(0, 3, 200)
    P = np.eye(3)[codes]
    worse = np.eye(3)[np.where(np.arange(200) < 20, (codes + 1) % 3, codes)]
    assert classification_difference(codes, P, worse, resampled).value == pytest.approx(0.1)


def test_many_held_out_rows_are_drawn_in_blocks(rng: np.random.Generator) -> None:
    y = rng.normal(size=20_000)
    found = regression_scores(y, np.zeros(20_000), Resampled(20_000))[0]
    assert found.value == pytest.approx(float(np.sqrt(np.mean(y**2))))
    assert found.high - found.low == pytest.approx(2 * 1.96 / np.sqrt(2 * 20_000), rel=0.25)


def test_a_table_of_text_has_a_linear_rival(rng: np.random.Generator) -> None:
    words = np.array(["good", "fine", "bad", "poor", "so", "a"])
    rows = [[*rng.choice(words, 6), f"n{i}"] for i in range(300)]
    y = np.array([sum(word in ("good", "fine") for word in row) for row in rows], dtype=float)
    frame = pd.DataFrame({"text": [" ".join(row) for row in rows]})
    found = rivals(read_columns(frame[:200]), y[:200], read_columns(frame[200:]), None)
    assert [rival.key for rival in found] == ["baseline", "linear"]
    assert mean_squared_error(y[200:], found[1].predictions) < 0.5 * mean_squared_error(y[200:], found[0].predictions)
    labels = np.where(y > 2, "many", "few")
    tokens = pd.DataFrame({"tokens": rows})
    classes = np.array(["few", "many", "none"])
    both = rivals(read_columns(tokens[:200]), labels[:200], read_columns(tokens[200:]), classes)
    assert both[1].predictions.shape == (100, 3)
    assert np.mean(classes[both[1].predictions.argmax(axis=1)] == labels[200:]) > 0.8
