"""From a table in files to a fitted model, with its rows read by the workers of a cluster and never brought together.

The same steps as in `mercer.workflow.training`, and the same result: a table model with what a report is made of. What is
looked at row by row, the held-out rows, those that calibrate and a sample of the others, is brought here and is of bounded
size; everything else is a sum over chunks.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from mercer.arrays import Indices
from mercer.estimators.tables.base import MEASURED, TableEstimator
from mercer.estimators.tables.intervals import calibrate
from mercer.estimators.tables.members import Member
from mercer.estimators.tables.probabilities import calibrated
from mercer.estimators.tables.result import Attempt, TableResult
from mercer.estimators.tables.targets import CODES, NONE
from mercer.inputs.frames import like, read_columns
from mercer.inputs.tables import Table
from mercer.workflow.chunk_candidates import (
    LIMITS,
    NEAR,
    SCALING,
    Fitted,
    Tried,
    chosen_fit,
    fit_again,
    listed,
    placed,
    tried,
)
from mercer.workflow.chunk_split import CALIBRATING, FITTED, HELD_OUT
from mercer.workflow.chunk_table import ChunkedTable
from mercer.workflow.columns import Question
from mercer.workflow.rivals import BASELINE, Rival, rivals
from mercer.workflow.settings import Settings, Wish
from mercer.workflow.training import Elsewhere, Training, make_model, peak_bytes, scores_of, versions

Tell = Callable[[str], None]


def train_on_chunks(
    wish: Wish, settings: Settings, *, client: Any = None, rows: int | None = None, command: str = "",
    tell: Tell = lambda step: None,
) -> Training:  # fmt: skip
    """Fit on some rows, judge on the others; workers of `client` read and sum, or this process chunk by chunk.

    `rows` is the size of a chunk, `tell` hears which step begins.
    """
    started = time.perf_counter()
    table = ChunkedTable(wish, settings, client, rows)
    roll = table.roll
    here = table.take(np.unique(np.concatenate([
        roll.rows(HELD_OUT), roll.rows(CALIBRATING), roll.rows(FITTED, sampled=True)
    ])))  # fmt: skip
    read = time.perf_counter()
    tell("fit")
    found = _search(table, here)
    best = min(found, key=lambda one: one.error)
    fitted = chosen_fit(best.kernel, table.encoded(), table.reading.transform, settings.memory)
    model = _model(table, here, found, best, fitted)
    chosen = time.perf_counter()
    model.result_ = replace(model.result_, seconds=chosen - started)
    tell("judge")
    judged = _judged(table, here, model)
    done = time.perf_counter()
    tell("fit all")
    final = fit_again(fitted.model, table.encoded(everything=True), settings.memory)
    places = {
        "judged": roll.numbers(FITTED, fitted.index),
        "final": roll.numbers(None, final.index),
        "sample": roll.rows(FITTED, sampled=True),
    }
    whole = _with_landmarks(table, here, places)
    passes = table.passes + sum(one.passes for one in found) + fitted.passes + final.passes
    seconds = {"read": read - started, "fit": chosen - read, "judge": done - chosen, "fit all": time.perf_counter() - done}
    away = _elsewhere(table, client, passes)
    return _training(table, whole, model, (fitted, final), places, judged, seconds, away, command)


def _search(table: ChunkedTable, here: Table) -> list[Tried]:
    """All candidates on the rows of the fit."""
    rows, reading, memory = table.encoded(), table.reading, table.settings.memory
    some = _drawn(table, here, NEAR)
    near = reading.vectors(some), reading.targets(some[table.wish.target].to_numpy())
    names = listed(table.settings.kernel, list(reading.used))
    return [tried(label, kernel, rows, near, reading.transform, memory) for label, kernel in names]


# -- the model -----------------------------------------------------------------------------------------------------------


def _model(table: ChunkedTable, here: Table, found: list[Tried], best: Tried, fitted: Fitted) -> Any:
    """The table model of a fit: what `TableRegressor.fit` would have stored, from sums over chunks."""
    reading = table.reading
    model: Any = make_model(table.task, table.settings)
    model.n_features_in_ = len(table.names)
    model._used = list(reading.used)
    model._encoders = {SCALING: reading.encoding}
    model.members_ = (Member(best.label, SCALING, reading.transform, fitted.model, 1.0),)
    _calibrate(model, table, here)
    measured = reading.vectors(_drawn(table, here, MEASURED))
    model._importances = model._importance(table.names, {SCALING: measured})
    model.result_ = _result(table, found, best, fitted)
    return model


def _calibrate(model: TableEstimator, table: ChunkedTable, here: Table) -> None:
    """Widths of intervals, or the way from scores to probabilities, by rows that the fit has not seen."""
    reading = table.reading
    rows = _some(here, table.roll.rows(CALIBRATING))
    Z, y = reading.vectors(rows), rows[table.wish.target].to_numpy()
    scores = model._predictions({SCALING: Z})
    if table.classes is None:
        model._calibration = calibrate(reading.labels(y) - scores[:, 0], scores[:, 0], Z, None)
        return
    model.classes_ = table.classes
    model.floor_, model.power_ = calibrated(scores, reading.targets(y))


def _result(table: ChunkedTable, found: list[Tried], best: Tried, fitted: Fitted) -> TableResult:
    n, transform = sum(table.roll.lengths(FITTED)), NONE if table.classes is None else CODES
    attempts = tuple(
        Attempt(one.label, SCALING, transform, one.error, one.standard_error, True, float(one is best))
        for one in sorted(found, key=lambda one: one.error)
    )
    notes = _notes(table, ", ".join(attempt.label for attempt in attempts))
    return TableResult(
        table.task, "RMSE" if table.classes is None else "Brier score", n, n, n, table.column_notes, attempts,
        fitted.error[0], table.constant_error, f"{len(fitted.index):,} landmarks for {n:,} rows", 0.0, notes,
    )  # fmt: skip


def _notes(table: ChunkedTable, tried: str) -> tuple[str, ...]:
    """What differs from a fit to rows in one place."""
    roll, what = table.roll, "the intervals" if table.classes is None else "the probabilities"
    judge, adjust = len(roll.rows(HELD_OUT)), len(roll.rows(CALIBRATING))
    fitted, sample = sum(roll.lengths(FITTED)), len(roll.rows(FITTED, sampled=True))
    return (
        f"the rows were read in chunks and not brought together; candidates were limited to {tried}",
        f"what a row is for follows from a hash of its number and the seed: {judge:,} judge, {adjust:,} calibrate {what}",
        f"the rivals and the pictures have a sample of {sample:,} of the {fitted:,} fitted rows",
    )


# -- what is brought here ------------------------------------------------------------------------------------------------


def _some(table: Table, numbers: Indices) -> Table:
    """Rows of a table by their numbers in the file; all of them are there."""
    found: Table = table[np.searchsorted(table.numbers, numbers)]
    return found


def _drawn(table: ChunkedTable, here: Table, count: int) -> Table:
    """Some of the sample, in any order: the first rows of a file may be alike."""
    sample = _some(here, table.roll.rows(FITTED, sampled=True))
    found: Table = sample[np.random.default_rng(table.settings.seed).permutation(len(sample))[:count]]
    return found


def _with_landmarks(table: ChunkedTable, here: Table, places: dict[str, Indices]) -> Table:
    """The rows that are here and those that are landmarks of either fit, in the order of the file."""
    more = np.setdiff1d(np.concatenate([places["judged"], places["final"]]), here.numbers)
    if not len(more):
        return here
    both = here.vstack(table.take(more))
    numbers = np.concatenate([here.numbers, more])
    order = np.argsort(numbers)
    return Table({name: both[name].to_numpy()[order] for name in both.columns}, numbers[order])


def _judged(table: ChunkedTable, here: Table, model: Any) -> dict[str, Any]:
    """What the model and its rivals say of the held-out rows."""
    rows = _some(here, table.roll.rows(HELD_OUT))
    X, y = rows[table.names], table.reading.labels(rows[table.wish.target].to_numpy())
    said: dict[str, Any] = {"intervals": None, "probabilities": None}
    if table.classes is None:
        said |= {"predictions": model.predict(X), "intervals": model.predict_interval(X, table.settings.coverage)}
    else:
        P = model.predict_proba(X)
        said |= {"predictions": model.classes_[P.argmax(axis=1)], "probabilities": P}
    answer = said["predictions"] if table.classes is None else said["probabilities"]
    scores = tuple(scores_of(y, answer, table.classes))
    return said | {"X_test": X, "y_test": y, "scores": scores, "rivals": _rivals(table, here, X)}


def _rivals(table: ChunkedTable, here: Table, X_test: Table) -> tuple[Rival, ...]:
    """The rivals on a sample, but the constant, which is that of all rows of the fit."""
    sample = _some(here, table.roll.rows(FITTED, sampled=True))
    y = table.reading.labels(sample[table.wish.target].to_numpy())
    used = list(table.reading.used)
    columns = like(read_columns(sample[[column.name for column in used]]), used)
    n, m = sum(table.roll.lengths(FITTED)), len(X_test)
    found = []
    for rival in rivals(columns, y, read_columns(X_test), table.classes, table.settings.seed):
        if rival.key == BASELINE:
            constant = table.facts.target.fitted.mean if table.classes is None else table.shares()
            found.append(replace(rival, predictions=np.tile(constant, m if table.classes is None else (m, 1))))
        else:
            part = "" if len(sample) == n else f", from a sample of {len(sample):,} of {n:,} rows"
            found.append(replace(rival, how=rival.how + part))
    return tuple(found)


def _elsewhere(table: ChunkedTable, client: Any, passes: int) -> Elsewhere:
    threads = {} if client is None else client.nthreads()
    rows = sum(table.roll.lengths(None))
    return Elsewhere(rows, len(threads), sum(threads.values()), len(table.parts), table.bytes, passes, LIMITS)


def _training(
    table: ChunkedTable, whole: Table, model: Any, fits: tuple[Fitted, Fitted], places: dict[str, Indices],
    judged: dict[str, Any], seconds: dict[str, float], away: Elsewhere, command: str,
) -> Training:  # fmt: skip
    """Everything for the report, landmarks called by their places in the tables that are here."""
    wish, labels = table.wish, table.reading.labels
    train = _some(whole, np.union1d(places["sample"], places["judged"]))
    final = copy.copy(model)
    for one, found, rows, into in ((model, fits[0], "judged", train), (final, fits[1], "final", whole)):
        own = placed(found, np.searchsorted(into.numbers, places[rows]))
        one.members_ = tuple(replace(member, model=own) for member in one.members_)
    ids = None if wish.id is None else whole[wish.id].to_numpy()
    question = Question(
        wish.name, whole[table.names], wish.target, labels(whole[wish.target].to_numpy()), table.task, table.reason, wish.id,
        ids, table.notes,
    )  # fmt: skip
    return Training(
        question, table.settings, model, train[table.names], labels(train[wish.target].to_numpy()), judged["X_test"],
        judged["y_test"], judged["predictions"], judged["intervals"], judged["probabilities"], judged["rivals"],
        judged["scores"], seconds, peak_bytes(), command, final, versions(), away,
    )  # fmt: skip
