"""The rows of a table that are unlike those of another one, as one HTML file."""

from __future__ import annotations

import numpy as np

from mercer.errors import plural
from mercer.markup.html import (
    Html,
    Section,
    cards,
    facts,
    figure,
    gallery,
    human,
    join,
    page,
    paragraph,
    percent,
    shortened,
    table,
)
from mercer.markup.svg import Picture, horizontal_bars
from mercer.workflow.comparison import histogram
from mercer.workflow.novelty import NoveltyReport

#: Rows listed, and columns drawn.
LISTED, COLUMNS = 200, 12


def novelty_report(found: NoveltyReport, names: tuple[str, str], command: str = "") -> str:
    """Return the HTML page of the scores of new rows."""
    word = "novelty" if found.alarm else "no novelty beyond false alarms"
    sections = [_verdict(found, names), _scores(found, names), _rows(found), _method(found, command)]
    footer = "This file is complete: it loads nothing and sends nothing."
    return page(f"{names[1]}: {word}", f"Held against {names[0]}", sections, footer)


def _verdict(found: NoveltyReport, names: tuple[str, str]) -> Section:
    n, count = len(found.pvalues), len(found.novel)
    if found.alarm:
        words = f"{names[1]} holds rows that are unlike those of {names[0]}, more or farther out than false alarms explain."
    else:
        words = f"The rows of {names[1]} look like those of {names[0]}: no more of them stand out than false alarms explain."
    rule = f"false discoveries <= {human(found.level)}" if found.discoveries else f"p <= {human(found.level)}"
    expected = found.level * (count if found.discoveries else n)
    shown = [
        ("rows that stand out", f"{count:,} of {n:,}", rule),
        ("expected by chance", human(expected), "of those found" if found.discoveries else "if all rows are usual"),
        ("known rows", f"{found.trained:,}", f"of {found.rows:,}"),
    ]
    notes = [facts([("note", note) for note in found.notes])] if found.notes else []
    return Section("verdict", "In short", join([paragraph(words), cards(shown), *notes]))


def _scores(found: NoveltyReport, names: tuple[str, str]) -> Section:
    figures = [figure(_histograms(found, names), "Novelty of known rows, each held against the others, and of new rows.")]
    if len(found.shares):
        mean = found.shares.mean(axis=0)
        order = np.argsort(-mean, kind="stable")[:COLUMNS]
        bars = horizontal_bars(
            [shortened(found.columns[j], 24) for j in order], [float(mean[j]) for j in order],
            [percent(float(mean[j])) for j in order], "Shares of columns", ["b"] * len(order),
        )  # fmt: skip
        figures.append(figure(bars, "Columns that make rows novel: mean share in the distance to the nearest known rows."))
    return Section("scores", "How far out the rows are", gallery(figures))


def _histograms(found: NoveltyReport, names: tuple[str, str]) -> Html:
    both = np.concatenate([found.known, found.distances])
    low, high = float(both.min()), float(np.quantile(both, 0.995))
    high = high if high > low else low + 1.0
    edges = np.linspace(low, high, 30)
    left, right = (histogram(np.minimum(part, high), edges) for part in (found.known, found.distances))
    picture = Picture(
        (low, high), (0.0, 1.05 * float(max(left.max(), right.max()))), x_name="novelty", y_name="share of rows",
        title="Novelty of known and new rows",
    )  # fmt: skip
    picture.bars(edges[:-1], edges[1:], left, "a", "dot")
    picture.bars(edges[:-1], edges[1:], right, "b", "dot")
    picture.legend([(shortened(names[0], 14), "a"), (shortened(names[1], 14), "b")])
    return picture.svg()


def _rows(found: NoveltyReport) -> Section:
    listed = list(zip(found.novel.tolist(), found.reasons, strict=True))[:LISTED]
    cells = [
        [row + 1, human(found.pvalues[row], 2), human(found.distances[row]), why or "the combination of its cells"]
        for row, why in listed
    ]
    more = len(found.novel) - len(listed)
    rest = [paragraph(f"{plural(more, 'row')} more: a file that ends in .csv lists all.", "quiet")] if more else []
    body = table(["row", "p", "novelty", "cells with the largest shares"], cells, (0, 1, 2)) if cells else paragraph("None.")
    return Section("rows", "Rows that stand out, the most novel first", join([body, *rest]))


def _method(found: NoveltyReport, command: str) -> Section:
    words = (
        "Novelty is the part of a row, in the space of a kernel over the columns, that the known rows do not explain. p is "
        "the share of rows, the known ones and the new one, each held against all others, that are explained as little. "
        "Rows like the known ones have p <= a with a chance of at most a. The share of a column is its part in the distance "
        "to the five nearest known rows; shares of a row add up to 100 %."
    )
    told = [("level", human(found.level))]
    return Section("method", "How", join([paragraph(words), facts([*told, ("command", command)] if command else told)]))
