"""The columns: what they are, how much each matters, and what the main ones do to the prediction."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.inputs.cells import as_days
from mercer.inputs.frames import DATE, GRAPH, NUMBER, TEXT, Column
from mercer.report.document.html import Html, Section, figure, gallery, heading, join, paragraph, table
from mercer.report.document.material import Material
from mercer.report.document.numbers import human, percent
from mercer.report.document.svg import Picture, horizontal_bars, limits
from mercer.workflow.dependence import ROWS, Curve, dependence, some_rows

#: Columns drawn in the ranking, described in the table, and shown by partial dependence.
RANKED, DESCRIBED, MAIN = 12, 60, 4

#: Classes of one picture.
OUTPUTS = 3


def columns(material: Material) -> Section:
    """Relevance, partial dependence, and a table."""
    parts = []
    if material.relevance:
        parts += [paragraph(
            "How much a column moves the prediction: the mean squared change when its cells are replaced by those of "
            "other rows, "
            "as a share of all columns."
        ), gallery([figure(_ranking(material), _ranking_caption(material)), *_curves(material)])]  # fmt: skip
    parts += [heading("All columns"), _described(material)]
    return Section("columns", "The columns", join(parts))


def _ranking(material: Material) -> Html:
    best = material.relevance[:RANKED]
    return horizontal_bars(
        [name for name, _ in best],
        [share for _, share in best],
        [percent(share) for _, share in best],
        "Relevance of columns",
    )


def _ranking_caption(material: Material) -> str:
    count = len(material.relevance)
    return f"Relevance of the {RANKED} main ones of {count} columns." if count > RANKED else f"Relevance of {count} columns."


def _curves(material: Material) -> list[Html]:
    rows = material.sample[np.linspace(0, len(material.sample) - 1, min(ROWS, len(material.sample))).round().astype(int)]
    some = some_rows(material.used, rows)
    kinds = {column.name: column.kind for column in material.used}
    found: list[Html] = []
    for name, share in material.relevance:
        if len(found) == MAIN or share < 0.005:
            break
        if kinds[name] in (TEXT, GRAPH):
            continue
        curves = dependence(some, name, material.outputs)
        if curves:
            found.append(figure(_drawn(curves, material), _curve_caption(name, len(rows), material)))
    return found


def _drawn(curves: list[Curve], material: Material) -> Html:
    first = curves[0]
    chosen = _outputs(material, len(curves))
    shown = [curves[t] for t in chosen]
    y = limits(*[part for curve in shown for part in (curve.low, curve.high)])
    y_name = f"predicted {material.target}" if material.classes is None else "probability"
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
        ticks = [(float(place), _short(str(value), room)) for place, value in zip(places, first.values, strict=True)]
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
    if material.classes is not None and len(curves) > 2:
        picture.legend([(_short(str(material.classes[t]), 10), color) for t, color in zip(chosen, "abc", strict=False)])
    return picture.svg()


def _outputs(material: Material, count: int) -> list[int]:
    """The number, the second of two classes, or the most frequent classes."""
    if material.classes is None:
        return [0]
    if count == 2:
        return [1]
    labels = material.training.y_train
    sizes = np.array([np.sum(labels == label) for label in material.classes])
    return [int(i) for i in np.argsort(-sizes, kind="stable")[:OUTPUTS]]


def _numbers(curve: Curve) -> Any:
    if curve.kind == NUMBER:
        return np.array(curve.values, dtype=np.float64)
    return np.asarray(as_days(list(curve.values), curve.name))[:, 0]


def _day(value: Any) -> str:
    return str(np.datetime64(value, "D"))


def _curve_caption(name: str, rows: int, material: Material) -> str:
    what = (
        "the prediction"
        if material.classes is None
        else (f"the probability of {material.classes[1]}" if len(material.classes) == 2 else "probabilities")
    )
    return f"{name}: {what}, mean over {rows} rows with only this column changed; the band holds the middle 80 % of them."


def _described(material: Material) -> Html:
    shares = dict(material.relevance)
    rows = []
    for column in material.train[:DESCRIBED]:
        note = material.notes.get(column.name, "")
        share = percent(shares[column.name]) if column.name in shares else "–"
        holes = f"{int(column.holes.sum()):,}" if column.holes.any() else ""
        rows.append([column.name, column.kind, _cells(column), holes, share, f"left out: {note}" if note else ""])
    more = []
    if len(material.train) > DESCRIBED:
        more = [paragraph(f"The first {DESCRIBED} of {len(material.train)} columns.", "quiet")]
    return join([table(["column", "kind", "cells", "missing", "relevance", ""], rows, (3, 4)), *more])


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
        return f"{len(here):,} graphs"
    values = [str(cell) for cell in here]
    different = dict.fromkeys(values)
    return f"{len(different):,} different: {_short(', '.join(list(different)[:4]), 60)}"


def _short(words: str, longest: int) -> str:
    return words if len(words) <= longest else f"{words[: max(1, longest - 1)]}…"
