"""Columns in a report: their content, importance and partial dependence; parts of texts, graphs and molecules."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.errors import plural
from mercer.estimators.tables.object_explanation import by_objects
from mercer.inputs.frames import DATE, GRAPH, NUMBER, OBJECTS, Column, some_rows
from mercer.inputs.tables import as_days
from mercer.markup.html import Html, Section, figure, gallery, heading, human, join, paragraph, percent, shortened, table
from mercer.markup.svg import Picture, horizontal_bars, limits
from mercer.report.document.cells import distribution, missing_map
from mercer.report.document.report_data import ReportData
from mercer.workflow.inspection import ROWS, Curve, dependence

#: Columns in the ranking, in the table, and with a plot of partial dependence.
RANKED, DESCRIBED, MAIN = 12, 60, 4

#: Classes in one picture.
OUTPUTS = 3

#: Held-out rows that are drawn: those with the largest and the smallest predictions.
EACH = 2


def columns_section(data: ReportData) -> Section:
    """Return importance, partial dependence, and a table of all columns."""
    parts = []
    if data.relevance:
        parts += [paragraph(
            "Importance of a column: the mean squared change of the prediction when its cells are replaced by those of "
            "other rows, as a share of the sum over all columns."
        ), gallery([figure(_ranking(data), _ranking_caption(data)), *_curves(data)])]  # fmt: skip
    rows = np.argsort(data.training.numbers, kind="stable")
    parts += [heading("All columns"), _described(data), *missing_map(data.train, rows)]
    return Section("columns", "The columns", join(parts))


def _ranking(data: ReportData) -> Html:
    best = data.relevance[:RANKED]
    return horizontal_bars(
        [name for name, _ in best],
        [share for _, share in best],
        [percent(share) for _, share in best],
        "Importance of columns",
    )


def _ranking_caption(data: ReportData) -> str:
    count = len(data.relevance)
    return (
        f"Importance of the first {RANKED} of {count} columns."
        if count > RANKED
        else f"Importance of {plural(count, 'column')}."
    )


def _curves(data: ReportData) -> list[Html]:
    rows = data.sample[np.linspace(0, len(data.sample) - 1, min(ROWS, len(data.sample))).round().astype(int)]
    some = some_rows(data.used, rows)
    kinds = {column.name: column.kind for column in data.used}
    found: list[Html] = []
    for name, share in data.relevance:
        if len(found) == MAIN or share < 0.005:
            break
        if kinds[name] in OBJECTS:
            continue
        curves = dependence(some, name, data.outputs)
        if curves:
            found.append(figure(_drawn(curves, data), _curve_caption(name, len(rows), data)))
    return found


def _drawn(curves: list[Curve], data: ReportData) -> Html:
    first = curves[0]
    chosen = _outputs(data, len(curves))
    shown = [curves[t] for t in chosen]
    y = limits(*[part for curve in shown for part in (curve.low, curve.high)])
    y_name = f"predicted {data.target}" if data.classes is None else "probability"
    if first.kind in (NUMBER, DATE):
        x = _numbers(first)
        ticks = None if first.kind == NUMBER else [(x[0], _day(first.values[0])), (x[-1], _day(first.values[-1]))]
        picture = Picture(
            limits(x, margin=0.01),
            y,
            x_name=first.name,
            y_name=y_name,
            title=f"Partial dependence on {first.name}",
            x_ticks=ticks,
        )
        for curve, color in zip(shown, "abc", strict=False):
            picture.band(x, curve.low, curve.high, color)
            picture.line(x, curve.mean, color)
    else:
        places = np.arange(len(first.values)) + 0.5
        room = max(3, int(300 / len(places) / 6.6))
        ticks = [(float(place), shortened(str(value), room)) for place, value in zip(places, first.values, strict=True)]
        picture = Picture(
            (0.0, float(len(places))),
            y,
            x_name=first.name,
            y_name=y_name,
            title=f"Partial dependence on {first.name}",
            x_ticks=ticks,
        )
        for i, (curve, color) in enumerate(zip(shown, "abc", strict=False)):
            shift = 0.12 * (i - (len(shown) - 1) / 2)
            picture.whiskers(places + shift, curve.low, curve.high, color)
            picture.points(places + shift, curve.mean, color, 4.0)
    if data.classes is not None and len(curves) > 2:
        picture.legend([(shortened(str(data.classes[t]), 10), color) for t, color in zip(chosen, "abc", strict=False)])
    return picture.svg()


def _outputs(data: ReportData, count: int) -> list[int]:
    """Return the outputs to draw: the only one, the second of two classes, or the most frequent classes."""
    if data.classes is None:
        return [0]
    if count == 2:
        return [1]
    labels = data.training.y_train
    sizes = np.array([np.sum(labels == label) for label in data.classes])
    return [int(i) for i in np.argsort(-sizes, kind="stable")[:OUTPUTS]]


def _numbers(curve: Curve) -> Any:
    if curve.kind == NUMBER:
        return np.array(curve.values, dtype=np.float64)
    return np.asarray(as_days(list(curve.values), curve.name))[:, 0]


def _day(value: Any) -> str:
    return str(np.datetime64(value, "D"))


def _curve_caption(name: str, rows: int, data: ReportData) -> str:
    what = (
        "the prediction"
        if data.classes is None
        else (f"the probability of {data.classes[1]}" if len(data.classes) == 2 else "probabilities")
    )
    averaged = f"mean over {plural(rows, 'row')} in which only this column is changed"
    return f"{name}: {what}, {averaged}; the band contains 80 % of them."


def _described(data: ReportData) -> Html:
    shares = dict(data.relevance)
    rows = []
    for column in data.train[:DESCRIBED]:
        note = data.notes.get(column.name, "")
        share = percent(shares[column.name]) if column.name in shares else "–"
        holes = f"{int(column.holes.sum()):,}" if column.holes.any() else ""
        left_out = f"left out: {note}" if note else ""
        rows.append([column.name, column.kind, distribution(column), _cells(column), holes, share, left_out])
    more = []
    if len(data.train) > DESCRIBED:
        more = [paragraph(f"The first {DESCRIBED} of {len(data.train)} columns.", "quiet")]
    return join([table(["column", "kind", "distribution", "cells", "missing", "importance", ""], rows, (4, 5)), *more])


def _cells(column: Column) -> str:
    here = column.observed()
    if len(here) == 0:
        return ""
    if column.kind == NUMBER:
        low, middle, high = np.quantile(here, [0.0, 0.5, 1.0])
        return f"{human(low)} … {human(middle)} … {human(high)}"
    if column.kind == DATE:
        return f"{_day(min(here))} … {_day(max(here))}"
    if column.kind == GRAPH:
        return plural(len(here), "graph")
    values = [str(cell) for cell in here]
    different = dict.fromkeys(values)
    return f"{len(different):,} distinct: {shortened(', '.join(list(different)[:4]), 60)}"


def objects_section(data: ReportData) -> list[Section]:
    """Return the contributions of letters or atoms for some held-out rows; nothing for other models."""
    inputs = data.training.judged.inputs
    if len(data.used) != 1 or not data.m:
        return []
    predictions = data.training.predictions if data.classes is None else data.training.probabilities
    assert predictions is not None
    order = np.argsort(np.asarray(predictions).reshape(data.m, -1)[:, -1], kind="stable")
    rows = np.unique(np.concatenate([order[-EACH:], order[:EACH]]))
    target = None if data.classes is None else data.classes[-1]
    found = by_objects(data.model, {rule: table.take(rows) for rule, table in inputs.items()}, target)
    if found is None:
        return []
    words = paragraph(
        "Held-out rows with the largest and the smallest predictions. Each prediction is the sum of the intercept and of "
        "the contributions shown: blue raises it, orange lowers it. The table lists the largest parts."
    )
    return [Section("objects", "Which parts decide?", join([words, *[Html(one.html()) for one in found]]))]
