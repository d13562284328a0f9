"""A comparison of two tables as one HTML file."""

from __future__ import annotations

import numpy as np

from mercer.arrays import Floats
from mercer.estimators.tables.encoding import numbers_of
from mercer.inputs.frames import CATEGORY, DATE, NUMBER, ORDERED, Column
from mercer.report.document.html import Html, Section, cards, facts, figure, gallery, join, mark, paragraph, table
from mercer.report.document.numbers import human, percent, rounded
from mercer.report.document.page import page
from mercer.report.document.svg import LETTER, Picture, horizontal_bars
from mercer.workflow.comparison import Comparison, histogram

#: Columns drawn, columns listed, levels of a category drawn.
DRAWN, LISTED, LEVELS = 6, 60, 8


def comparison_report(found: Comparison, command: str = "") -> str:
    """The page of a comparison."""
    names = " and ".join(found.names)
    sections = [_verdict(found), _columns(found), _method(found, command)]
    word = "differ" if found.differ else "not shown to differ"
    return page(
        f"{names}: {word}",
        "Two-sample test by kernels",
        sections,
        "This file is complete: it loads nothing and sends nothing.",
    )


def _verdict(found: Comparison) -> Section:
    changed = found.changed
    if found.differ:
        which = ", ".join(column.name for column in changed[:8]) or "no single column stands out"
        chance = human(found.result.pvalue, 2)
        words = f"The two tables do not come from one source (p = {chance}). Columns that differ: {which}."
    else:
        words = f"Nothing shows that the two tables come from different sources (p = {human(found.result.pvalue, 2)})."
    shown = [
        ("p-value", human(found.result.pvalue, 2), f"level {human(found.level)}"),
        ("columns that differ", f"{len(changed)} of {len(found.columns)}", "corrected for their number"),
        ("rows compared", f"{found.used[0]:,} and {found.used[1]:,}", f"of {found.rows[0]:,} and {found.rows[1]:,}"),
    ]
    return Section("verdict", "In short", join([paragraph(words), cards(shown), *_notes(found)]))


def _notes(found: Comparison) -> list[Html]:
    return [facts([("note", note) for note in found.notes])] if found.notes else []


def _columns(found: Comparison) -> Section:
    rows = []
    for column in found.columns[:LISTED]:
        differs = column.pvalue <= found.level
        name = mark(column.name, "chosen") if differs else column.name
        share = "–" if column.share != column.share else percent(column.share)
        rows.append([name, column.kind, human(column.pvalue, 2), share, column.change])
    parts = [table(["column", "kind", "corrected p", "share", f"{found.names[0]} → {found.names[1]}"], rows, (2, 3))]
    by_name = {a.name: (a, b) for a, b in zip(*found.tables, strict=True)}
    figures = [_figure(*by_name[column.name], found) for column in found.columns[:DRAWN]]
    parts.append(gallery([one for one in figures if one]))
    words = "Share: how much of the difference (MMD²) is this column's, by Shapley values over columns."
    return Section("columns", "Column by column", join([*parts, paragraph(words, "quiet")]))


def _figure(a: Column, b: Column, found: Comparison) -> Html:
    if a.kind in (NUMBER, DATE):
        return figure(_numbers(a, b, found), f"{a.name}: share of rows by value.")
    if a.kind in (CATEGORY, ORDERED):
        return figure(_levels(a, b, found), f"{a.name}: share of rows with each level.")
    return Html("")


def _numbers(a: Column, b: Column, found: Comparison) -> Html:
    here, there = numbers_of(a), numbers_of(b)
    here, there = here[~np.isnan(here)], there[~np.isnan(there)]
    both = np.concatenate([here, there])
    if len(both) == 0:
        return Html("")
    low, high = np.quantile(both, [0.005, 0.995])
    low, high = (float(low), float(high)) if high > low else (float(low) - 0.5, float(high) + 0.5)
    edges = np.linspace(low, high, 25)
    left, right = histogram(here, edges), histogram(there, edges)
    ticks = None
    if a.kind == DATE:
        ticks = [(low, _date(low)), (high, _date(high))]
    picture = Picture(
        (low, high), (0.0, 1.05 * float(max(left.max(), right.max())) or 1.0), x_name=a.name, y_name="share of rows",
        title=f"Values of {a.name} in both tables", x_ticks=ticks,
    )  # fmt: skip
    picture.bars(edges[:-1], edges[1:], left, "a", "dot")
    picture.bars(edges[:-1], edges[1:], right, "b", "dot")
    picture.legend([(_short(found.names[0], 14), "a"), (_short(found.names[1], 14), "b")])
    return picture.svg()


def _levels(a: Column, b: Column, found: Comparison) -> Html:
    here, there = list(a.observed()), list(b.observed())
    counts: dict[object, int] = {}
    for cell in [*here, *there]:
        counts[cell] = counts.get(cell, 0) + 1
    levels = sorted(counts, key=lambda level: (-counts[level], repr(level)))[:LEVELS]
    names, values, labels, colors = [], [], [], []
    for level in levels:
        for cells, name, color in ((here, found.names[0], "a"), (there, found.names[1], "b")):
            share = cells.count(level) / max(1, len(cells))
            names.append(f"{level} in {_short(name, 24)}")
            values.append(share)
            labels.append(percent(share))
            colors.append(color)
    return horizontal_bars(names, values, labels, f"Levels of {a.name} in both tables", colors)


def _method(found: Comparison, command: str) -> Section:
    result = found.result
    picture = _null(result.null_distribution, result.statistic, result.pvalue)
    rows = [
        ("test", f"MMD aggregated over {len(result.details)} kernels: products and sums over columns at several reaches"),
        ("relabelings", f"{result.monte_carlo.drawn:,} {result.monte_carlo.resampling}"),
        ("clearest kernel", rounded(repr(result.kernel), longest=150)),
        ("unbiased MMD²", human(result.mmd2)),
    ]
    if command:
        rows.append(("command", command))
    caption = "The statistic under relabelings; the line is the one observed."
    return Section("method", "How it was tested", join([facts(rows), gallery([figure(picture, caption)])]))


def _null(null: Floats, observed: float, pvalue: float) -> Html:
    low, high = float(min(null.min(), observed)), float(max(null.max(), observed))
    margin = 0.05 * (high - low) or 0.5
    counts, edges = np.histogram(null, bins=40, range=(low - margin, high + margin))
    top = 1.05 * float(counts.max())
    picture = Picture(
        (low - margin, high + margin), (0.0, top), x_name="statistic", y_name="relabelings", title="Null distribution"
    )
    picture.bars(edges[:-1], edges[1:], counts, "s")
    picture.line([observed, observed], [0.0, top], "b")
    words = f"p = {human(pvalue, 2)}"
    picture.label(max(float(picture.x(observed)) - 4 - LETTER * len(words), picture.x.start + 2), 44, words)
    return picture.svg()


def _date(days: float) -> str:
    return str(np.datetime64(int(days), "D"))


def _short(words: str, longest: int) -> str:
    return words if len(words) <= longest else f"{words[: longest - 1]}…"
