"""Pictures of the cells of a table: the distribution of each column, and where cells are missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.arrays import Indices
from mercer.errors import plural
from mercer.inputs.frames import CATEGORY, DATE, NUMBER, ORDERED, Column
from mercer.inputs.tables import as_days
from mercer.markup.html import Html, Mark, figure, shortened, text
from mercer.markup.svg import LETTER, WIDTH, element, embedded

#: Size of a small picture in units, its bins for numbers, and the categories that it has room for.
WIDE, HIGH, BINS, LEVELS = 120, 28, 20, 12

#: Columns and strips of rows in the map of missing cells, its shades, and units per column.
MAPPED, STRIPS, SHADES, ROW = 20, 60, 4, 20


def distribution(column: Column) -> Mark:
    """Return a histogram of numbers or dates, or bars of the most frequent categories; nothing for other columns."""
    here = column.observed()
    counts: Any = []
    if len(here) and column.kind in (NUMBER, DATE):
        values = here if column.kind == NUMBER else np.asarray(as_days(list(here), column.name))[:, 0]
        counts = _histogram(np.asarray(values, dtype=np.float64))
    elif column.kind == ORDERED:
        found = Counter(here)
        counts = [found[level] for level in column.levels[:LEVELS]]
    elif column.kind == CATEGORY:
        counts = [count for _, count in Counter(here).most_common(LEVELS)]
    if len(counts) == 0 or max(counts) == 0:
        return Mark("")
    step, tallest = WIDE / len(counts), max(counts)
    bars = [
        element("rect", kind="fa", x=i * step, y=HIGH - size, width=max(step - 1.0, 1.0), height=size)
        for i, size in enumerate(HIGH * float(count) / tallest for count in counts)
        if size > 0
    ]
    label = f"distribution of {shortened(column.name, 60)}"
    return Mark(element("svg", "".join(bars), viewBox=f"0 0 {WIDE} {HIGH}", kind="spark", role="img", aria_label=label))


def _histogram(values: Any) -> Any:
    """Return counts between the smallest and the largest finite value."""
    finite = values[np.isfinite(values)]
    with np.errstate(over="ignore"):
        spread = float(np.ptp(finite)) if len(finite) else np.inf
    if not np.isfinite(spread):
        return []
    return np.histogram((finite - finite.min()) / (spread or 1.0), bins=BINS)[0]


def missing_map(columns: Sequence[Column], order: Indices) -> list[Html]:  # order (n,)
    """Return a picture of the missing cells: a line per column, rows from left to right; nothing without missing cells."""
    holed = sorted((column for column in columns if column.holes.any()), key=lambda column: -int(column.holes.sum()))
    if not holed:
        return []
    n = len(order)
    edges = np.linspace(0, n, min(STRIPS, n) + 1).round().astype(int)
    shown = holed[:MAPPED]
    names = [shortened(column.name, 16) for column in shown]
    left = 10 + LETTER * max(map(len, names))
    width = (WIDTH - 8 - left) / (len(edges) - 1)
    parts = []
    for i, (name, column) in enumerate(zip(names, shown, strict=True)):
        share = np.add.reduceat(column.holes[order].astype(float), edges[:-1]) / np.diff(edges)
        parts.append(element("text", text(name), x=4, y=ROW * i + 15))
        top, height = ROW * i + 3, ROW - 4
        parts.append(element("rect", kind="fs", fill_opacity=0.1, x=left, y=top, width=WIDTH - 8 - left, height=height))
        for shade in range(1, SHADES + 1):
            places = left + width * np.flatnonzero(np.ceil(SHADES * share) == shade)
            drawn = "".join(f"M{x:.1f} {top}h{width:.1f}v{height}h-{width:.1f}z" for x in places.tolist())
            if drawn:
                parts.append(element("path", kind="fb", fill_opacity=f"{shade / SHADES:.2f}", d=drawn))
    bottom = ROW * len(shown) + 16
    parts.append(element("text", "first row", kind="soft", x=float(left), y=bottom))
    parts.append(element("text", "last row", kind="soft", x=float(WIDTH - 8), y=bottom, text_anchor="end"))
    missing = sum(int(column.holes.sum()) for column in holed)
    which = f"the {MAPPED} of {len(holed)} columns with most" if len(holed) > MAPPED else plural(len(holed), "column")
    caption = (
        f"Missing cells of {which}, darker where more are missing; training rows from left to right in the order of the "
        f"source. In all, {missing:,} of {n * len(columns):,} cells are missing."
    )
    return [figure(embedded(parts, bottom + 8, "Missing cells"), caption)]
