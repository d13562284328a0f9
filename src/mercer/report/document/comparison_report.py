"""A comparison of two tables as one HTML file, or as one picture."""

from __future__ import annotations

import io

import numpy as np

from mercer.arrays import Floats
from mercer.errors import plural
from mercer.estimators.tables.encoding import numbers_of
from mercer.inputs.frames import CATEGORY, DATE, NUMBER, ORDERED, Column
from mercer.markup.html import (
    Html,
    Section,
    cards,
    facts,
    figure,
    gallery,
    human,
    join,
    mark,
    page,
    paragraph,
    percent,
    rounded,
    shortened,
    table,
)
from mercer.markup.svg import LETTER, Picture, horizontal_bars
from mercer.report.drawing import BLUE, GRAY, VERMILLION, many_axes, pyplot
from mercer.report.twosample import NullDisplay
from mercer.workflow.comparison import Comparison, histogram

#: Columns drawn, columns listed, levels of a category drawn.
DRAWN, LISTED, LEVELS = 6, 60, 8


def comparison_report(found: Comparison, command: str = "") -> str:
    """Return the HTML page of a comparison."""
    names = " and ".join(found.names)
    sections = [_verdict(found), _columns(found), _method(found, command)]
    word = "differ" if found.differ else "not shown to differ"
    return page(
        f"{names}: {word}",
        "Two-sample test with kernels",
        sections,
        "This file is complete: it loads nothing and sends nothing.",
    )


def _verdict(found: Comparison) -> Section:
    changed = found.changed
    if found.differ:
        which = ", ".join(column.name for column in changed[:8]) or "none by itself"
        chance = human(found.pvalue, 2)
        words = f"The two tables do not follow the same distribution (p = {chance}). Columns that differ: {which}."
    else:
        words = f"No significant difference between the two tables was found (p = {human(found.pvalue, 2)})."
    shown = [
        ("p-value", human(found.pvalue, 2), f"level {human(found.level)}"),
        ("columns that differ", f"{len(changed)} of {len(found.columns)}", "corrected for their number"),
        ("rows compared", f"{found.used[0]:,} and {found.used[1]:,}", f"of {found.rows[0]:,} and {found.rows[1]:,}"),
    ]
    return Section("verdict", "In short", join([paragraph(words), cards(shown), *_notes(found)]))


def _notes(found: Comparison) -> list[Html]:
    return [facts([("note", note) for note in found.notes])] if found.notes else []


def _columns(found: Comparison) -> Section:
    rows = []
    for column in found.columns[:LISTED]:
        name = mark(column.name, "chosen") if column in found.changed else column.name
        share = "–" if column.share != column.share else percent(column.share)
        rows.append([name, column.kind, human(column.pvalue, 2), share, column.change])
    parts = [table(["column", "kind", "corrected p", "share", f"{found.names[0]} → {found.names[1]}"], rows, (2, 3))]
    by_name = {a.name: (a, b) for a, b in zip(*found.tables, strict=True)}
    figures = [_figure(*by_name[column.name], found) for column in found.columns[:DRAWN]]
    parts.append(gallery([one for one in figures if one]))
    words = "Share: the part of the difference (MMD²) due to this column, as a Shapley value over columns."
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
    picture.legend([(shortened(found.names[0], 14), "a"), (shortened(found.names[1], 14), "b")])
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
            names.append(f"{level} in {shortened(name, 24)}")
            values.append(share)
            labels.append(percent(share))
            colors.append(color)
    return horizontal_bars(names, values, labels, f"Levels of {a.name} in both tables", colors)


def _method(found: Comparison, command: str) -> Section:
    result = found.result
    picture = _null(result.null_distribution, result.statistic, result.pvalue)
    rows = [
        (
            "test",
            f"MMD aggregated over {plural(len(result.details), 'kernel')}: sums and products over columns",
        ),
        ("all columns together", f"p = {human(result.pvalue, 2)} before it is corrected for the test of single columns"),
        ("relabelings", f"{result.monte_carlo.drawn:,} {result.monte_carlo.resampling}"),
        ("kernel with the clearest difference", rounded(repr(result.kernel), longest=150)),
        ("unbiased MMD²", human(result.mmd2)),
    ]
    if command:
        rows.append(("command", command))
    caption = "Distribution of the statistic under relabelings; the line marks the observed value."
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


#: Columns drawn, at most, and letters of their names.
SHOWN, LETTERS = 15, 30


def comparison_picture(found: Comparison, kind: str) -> bytes:
    """Return the picture as a file of kind "png", "pdf" or "svg"."""
    plt = pyplot()
    shown = found.columns[:SHOWN]
    figure, axes = many_axes(None, 1, 2, (10.0, 1.8 + 0.26 * len(shown)))
    NullDisplay.from_result(found.result, ax=axes[0, 0])
    ax = axes[0, 1]
    colors = [VERMILLION if column in found.changed else GRAY for column in shown]
    shares = [0.0 if column.share != column.share else 100.0 * column.share for column in shown]
    ax.barh(range(len(shown)), shares, color=colors)
    ax.set_yticks(range(len(shown)), [_plain(column.name) for column in shown])
    ax.invert_yaxis()
    for row, column in enumerate(shown):
        ax.annotate(f" p = {column.pvalue:.2g}", (shares[row], row), va="center", fontsize=8, color=BLUE)
    ax.set(xlabel="share of the difference, %", title="columns")
    figure.suptitle(
        _plain(f"{found.names[0]} and {found.names[1]}: " + ("differ" if found.differ else "no difference found"), 90)
    )
    stream = io.BytesIO()
    figure.savefig(stream, format=kind, dpi=130)
    plt.close(figure)
    return stream.getvalue()


def _plain(words: str, longest: int = LETTERS) -> str:
    """Return words for matplotlib: cut, printable, and not read as a formula."""
    return "".join(c if c.isprintable() else "?" for c in shortened(words, longest)).replace("$", r"\$")
