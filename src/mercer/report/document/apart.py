"""Errors over time or by group, in a report on rows that are not exchangeable."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.errors import plural
from mercer.inputs.frames import Column
from mercer.inputs.tables import time_text
from mercer.markup.html import Section, figure, gallery, human, join, paragraph, table
from mercer.markup.svg import Picture
from mercer.report.document.report_data import ReportData

#: Groups in the table, those with the largest errors.
SHOWN = 20


def apart_section(data: ReportData) -> list[Section]:
    """Return the errors of held-out rows over time, or by group; nothing if rows were held out at random."""
    layout, units = data.training.question.layout, data.training.judged.units
    if layout is None or units is None:
        return []
    return [_over_time(data) if layout.places is not None else _by_group(data)]


def _errors(data: ReportData) -> tuple[str, Floats]:  # -> name, (units,)
    """Return the name of the measure and its value in every block or group."""
    training = data.training
    units = np.asarray(training.judged.units)
    counts = np.maximum(np.bincount(units), 1)
    if training.probabilities is None:
        squares = (np.asarray(training.y_test, dtype=np.float64) - training.predictions) ** 2
        return "RMSE", np.sqrt(np.bincount(units, weights=squares) / counts)
    wrong = (training.predictions != training.y_test).astype(np.float64)
    return "share of mistakes", np.bincount(units, weights=wrong) / counts


def _over_time(data: ReportData) -> Section:
    training = data.training
    measure, errors = _errors(data)
    units = np.asarray(training.judged.units)
    k = len(errors)
    picture = Picture(
        (0.0, float(k)), (0.0, float(errors.max()) * 1.05 or 1.0), x_name="block of held-out rows, in time", y_name=measure,
        title=f"{measure} over time",
    )  # fmt: skip
    middle = np.arange(k) + 0.5
    picture.line(middle, errors)
    picture.points(middle, errors, radius=3.5)
    columns = [column for column in data.test if column.name in training.question.layout.order]  # type: ignore[union-attr]
    rows = [
        [str(unit + 1), _from(columns, units == unit), f"{int(np.sum(units == unit)):,}", human(float(errors[unit]))]
        for unit in range(k)
    ]
    words = paragraph(
        f"The last rows were held out ({training.split}). Scores are resampled by these blocks, because neighboring rows "
        "depend on each other. A rising line says that later rows will be predicted worse."
    )
    listed = table(["block", "from", "rows", measure], rows, (0, 2, 3))
    return Section(
        "time", "Errors over time", join([words, gallery([figure(picture.svg(), f"{measure} by block.")]), listed])
    )


def _from(columns: list[Column], own: Any) -> str:
    first = int(np.argmax(own))
    cells = [column.cells[first] for column in columns]
    return " ".join(f"{cell:g}" if isinstance(cell, float) else time_text(cell)[:16] for cell in cells) or "–"


def _by_group(data: ReportData) -> Section:
    training = data.training
    measure, errors = _errors(data)
    units, question = np.asarray(training.judged.units), training.question
    assert question.groups is not None and question.layout is not None and question.layout.groups is not None
    fitted = np.isin(question.X.numbers, training.numbers)
    labels = question.groups[~fitted]
    names = [str(labels[np.argmax(units == unit)]) for unit in range(len(errors))]
    order = np.argsort(-errors, kind="stable")[:SHOWN]
    rows = [[names[unit], f"{int(np.sum(units == unit)):,}", human(float(errors[unit]))] for unit in order]
    low, middle, high = np.quantile(errors, [0.1, 0.5, 0.9])
    words = paragraph(
        f"Whole groups of {question.group} were held out: {plural(len(errors), 'group')} that the model has not seen. The "
        f"{measure} of a group has the median {human(float(middle))}; 80 % of the groups are between {human(float(low))} "
        f"and {human(float(high))}. The table lists the groups with the largest errors."
    )
    return Section("groups", "Errors by group", join([words, table([str(question.group), "rows", measure], rows, (1, 2))]))
